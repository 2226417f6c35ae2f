// SPDX-License-Identifier: GPL-2.0-only
#include "host/memory_limit.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define MEMORY_LEAST (1ULL << 30)

void memory_limit(void)
{
	uint64_t page = sysconf(_SC_PAGESIZE), part = sysconf(_SC_PHYS_PAGES) * page / 4;
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	struct rlimit limit;

	part = part > MEMORY_LEAST ? part : MEMORY_LEAST;
	if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) == 1 &&
	    !getrlimit(RLIMIT_DATA, &limit) && limit.rlim_cur > pages * page + part) {
		limit.rlim_cur = pages * page + part;
		setrlimit(RLIMIT_DATA, &limit);
	}
	if (f)
		fclose(f);
}
