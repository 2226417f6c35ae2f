/* SPDX-License-Identifier: GPL-2.0-only */
/* pidns.h - the pid namespace of this process: all process ids in output belong to this
 * namespace. */
#ifndef IOSTRATA_HOST_PIDNS_H
#define IOSTRATA_HOST_PIDNS_H

#include <stdbool.h>

struct reason;

/* Checks that ids in /proc belong to this namespace. Returns 0, or -1 with @why. Otherwise, a
 * process of a container would be taken for another of the host's. */
int pidns_check(struct reason *why);

/* Whether this is the first namespace: it has an id for every process. */
bool pidns_is_first(void);

/* Whether this is another namespace than the first. If so, also the device and inode of its file:
 * the kernel identifies a namespace by these. */
bool pidns_below_first(unsigned long long *ret_dev, unsigned long long *ret_ino);

/* Whether process @pid is in a namespace below this one. */
bool pidns_is_below(unsigned long long pid);

#endif
