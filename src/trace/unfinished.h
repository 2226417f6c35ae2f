/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unfinished.h - operations that have not ended: read from the states of threads, which are mapped
 * into user space, and from the map of requests that no thread executes. The programs do nothing
 * for it.
 */
#ifndef IOSTRATA_UNFINISHED_H
#define IOSTRATA_UNFINISHED_H

#include "base/snapshot.h"
#include "trace/state_layout.h"

/*
 * Adds to @sn the operations in progress at @now, oldest first, except those younger than @min_ns.
 * Where the run looks at files, theirs are named as in the rows of @sn, else by device and inode.
 * Threads that share a slot of tasks with another (@tasks_overflown) are left out, and counted as
 * such. @bss: the variables. 0 or -errno.
 */
int unfinished_read(const struct state_layout *l, const void *bss, const struct fs_entry *types,
		    uint64_t now, uint64_t min_ns, struct snapshot *sn);

#endif
