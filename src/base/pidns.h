/* SPDX-License-Identifier: GPL-2.0-only */
/* pidns.h - the pid namespace of this process, by which all ids of processes are told. */
#ifndef IOSTRATA_PIDNS_H
#define IOSTRATA_PIDNS_H

#include <stdbool.h>

struct reason;

/* Whether ids in /proc are those of this namespace: 0, or -1 with @why. Without that, a process of
 * a container would be taken for another of the host's. */
int pidns_check(struct reason *why);

/* Whether this is the first namespace, which has an id for every process. */
bool pidns_is_first(void);

/* Whether process @pid is in a namespace below this one. */
bool pidns_is_below(unsigned long long pid);

#endif
