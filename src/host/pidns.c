// SPDX-License-Identifier: GPL-2.0-only
#include "host/pidns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"

enum { PROC_PID_INIT_INO = 0xEFFFFFFC }; /* include/linux/proc_ns.h */

int pidns_check(struct reason *why)
{
	char text[32];
	ssize_t len = readlink("/proc/self", text, sizeof(text) - 1);

	if (len < 0) {
		reason_set(why, EXIT_FAILED, "cannot tell processes: /proc is not mounted");
		return reason_hint(why, "mount -t proc proc /proc");
	}
	text[len] = '\0';
	if (atoi(text) == getpid())
		return 0;
	reason_set(why, EXIT_FAILED,
		   "/proc belongs to another pid namespace: its processes have other "
		   "ids there");
	return reason_hint(why, "mount -t proc proc /proc, or with unshare: --mount-proc");
}

bool pidns_below_first(unsigned long long *ret_dev, unsigned long long *ret_ino)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == PROC_PID_INIT_INO)
		return false;
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	return true;
}

bool pidns_is_first(void)
{
	unsigned long long dev, ino;

	return !pidns_below_first(&dev, &ino);
}

/* NSpid has an id for each pid namespace, from the namespace of /proc down to the process's own. */
bool pidns_is_below(unsigned long long pid)
{
	char path[64], line[128];
	unsigned int outer, inner;
	bool below = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%llu/status", pid);
	f = fopen(path, "re");
	while (f && !below && fgets(line, sizeof(line), f))
		below = sscanf(line, "NSpid: %u %u", &outer, &inner) == 2;
	if (f)
		fclose(f);
	return below;
}
