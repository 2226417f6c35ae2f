/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * limits.h - the limits of I/O that the kernel keeps, as its files have them now: io.max of a
 * cgroup or of one above, wbt_lat_usec of disks ... A recording notes them while it is made.
 *
 * A limit is a text: its value, a tab, and the path of the cgroup that has it ("": none has). The
 * path is hostile, and may have tabs, too. A value names disks, not their numbers:
 * "sda wbps=1048576 wiops=100; sdb wbps=4096", "weight=50", "sda wbt_lat_usec=2000",
 * "vm.dirty_ratio=20".
 */
#ifndef IOSTRATA_HOST_LIMITS_H
#define IOSTRATA_HOST_LIMITS_H

#include <stdint.h>

#include "event.h"

struct limit_places {
	const char *cgroups; /* where version 2 is mounted */
	const char *disks;   /* /sys/block */
	const char *vm;      /* /proc/sys/vm */
	const char *backing; /* /sys/class/bdi */
};

/* Those of this machine. */
const struct limit_places *limit_places(void);

/* For which operations a limit holds. */
enum limit_side { LIMIT_BOTH, LIMIT_READS, LIMIT_WRITES };

/* The one for operations of kind @op. */
enum limit_side limit_side(unsigned int op);

/* The number of a limit in recordings. */
uint64_t limit_id(uint64_t cgroup, enum limit_side side, enum io_limit limit);
enum io_limit limit_of_id(uint64_t id);

/* The text of @limit for the cgroup with the path @cgroup. The caller frees it. Returns NULL if
 * none is found, or out of memory. */
char *limit_read(const struct limit_places *at, const char *cgroup, enum limit_side side,
		 enum io_limit limit);

/* The same for the cgroup @id of this machine. */
char *limit_of_cgroup(uint64_t id, enum limit_side side, enum io_limit limit);

#endif
