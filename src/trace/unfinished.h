/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unfinished.h - operations that have not ended: read from the states of threads, which are mapped
 * into user space, and from the map of requests that no thread executes. The programs do nothing
 * for it.
 */
#ifndef IOSTRATA_TRACE_UNFINISHED_H
#define IOSTRATA_TRACE_UNFINISHED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/snapshot.h"
#include "bpf/conf.h"

struct bpf_object;

/* Where the programs keep the states of operations and bios, from their BTF. */

/* Where things are in the programs' variables, in bytes; from BTF. */
struct state_layout {
	size_t tasks, task_size, n_tasks; /* the array */
	size_t ios, io_size, n_ios;       /* the array */
	/* in an operation */
	size_t progress, layer, kind, throttled, locked, submitted, start, last_bio, fs;
	size_t dev, ino, mode, generation, file;
	/* in an element of tasks; its operation comes first */
	size_t id, task, collisions;
	size_t off, asleep, waking_at, waking_asleep;
	size_t key, q, g, d, io_throttled, bio_based; /* in an element of ios or io_hash */
	/* of an element of async_ops */
	size_t async_size, async_task, async_op, queued;
	int async;      /* that map, or -1: not in this run */
	int io_hash;    /* the map of the states of bios without a slot */
	bool has_file;  /* dev, ino and mode are set in this run */
	bool has_names; /* so is generation, and rows are by file */
};

/* @conf: of these programs, which are loaded. 0, or -ENOENT if they lack any of this. */
int state_layout_init(struct state_layout *l, const struct bpf_object *obj,
		      const struct bpf_conf *conf);

/*
 * Adds to @sn the operations in progress at @now, oldest first, except those younger than @min_ns.
 * Where the run looks at files, theirs are named as in the rows of @sn, else by device and inode.
 * Threads that share a slot of tasks with another (@tasks_overflown) are left out, and counted as
 * such. @bss: the variables. 0 or -errno.
 */
int unfinished_read(const struct state_layout *l, const void *bss, const struct fs_entry *types,
		    uint64_t now, uint64_t min_ns, struct snapshot *sn);

#endif
