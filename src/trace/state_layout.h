/* SPDX-License-Identifier: GPL-2.0-only */
/* state_layout.h - where the programs keep the states of operations and bios, from their BTF. */
#ifndef IOSTRATA_STATE_LAYOUT_H
#define IOSTRATA_STATE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/conf.h"

struct bpf_object;

/* Where things are in the programs' variables, in bytes; from BTF. */
struct state_layout {
	size_t tasks, task_size, n_tasks;	/* the array */
	size_t ios, io_size, n_ios;		/* the array */
	/* in an operation */
	size_t progress, layer, kind, throttled, locked, submitted, start, last_bio, fs;
	size_t dev, ino, mode, generation, file;
	/* in an element of tasks; its operation comes first */
	size_t id, task, collisions;
	size_t off, asleep, waking_at, waking_asleep;
	size_t key, q, g, d, io_throttled, bio_based;	/* in an element of ios or io_hash */
	/* of an element of async_ops */
	size_t async_size, async_task, async_op, queued;
	int async;				/* that map, or -1: not in this run */
	int io_hash;				/* the map of the states of bios without a slot */
	bool has_file;				/* dev, ino and mode are set in this run */
	bool has_names;				/* so is generation, and rows are by file */
};

/* @conf: of these programs, which are loaded. 0, or -ENOENT if they lack any of this. */
int state_layout_init(struct state_layout *l, const struct bpf_object *obj,
		      const struct bpf_conf *conf);

#endif
