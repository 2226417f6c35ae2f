/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unfinished.h - operations still in progress. They are read from the states of threads, mapped
 * into user space, and from the map of requests not executed by any thread. The programs do no work
 * for it.
 *
 * Only reads: changes no state.
 */
#ifndef IOSTRATA_TRACE_UNFINISHED_H
#define IOSTRATA_TRACE_UNFINISHED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/snapshot.h"
#include "bpf/conf.h"

struct bpf_object;

/* Where the programs keep the states of operations and bios: offsets and sizes in bytes, from the
 * BTF of the programs. */
struct state_layout {
	size_t tasks, task_size, n_tasks; /* array of the states of threads */
	size_t ios, io_size, n_ios;       /* array of the states of bios */
	/* in a struct op */
	size_t progress, layer, kind, throttled, locked, submitted, start, last_bio, fs;
	size_t dev, ino, mode, generation, file;
	/* in an element of tasks; the element begins with its operation */
	size_t id, kernel_tid, task, collisions;
	size_t off, asleep, waking_at, waking_asleep;
	/* in an element of ios and of io_hash */
	size_t key, io_tid, q, g, d, io_throttled, bio_based, io_dev;
	/* in an element of async_ops */
	size_t async_size, async_task, async_op, queued, posted;
	size_t served_size, server_task, server_dev, server_name; /* in an entry of served */
	int served;     /* map server_requests; -1: this run has none */
	int async;      /* map async_ops; -1: this run has none */
	int io_hash;    /* map with the states of bios without a slot in ios */
	bool has_file;  /* this run sets dev, ino and mode */
	bool has_names; /* this run also sets generation, and has rows by file */
	/* the files that the user named, and their names */
	const struct filter_file *files;
	const char *const *file_names;
	size_t n_files;
};

/* Fills in @l from the BTF of @obj. @obj is loaded and configured by @conf. Returns 0, or -ENOENT
 * if a variable or member is not there. */
int state_layout_init(struct state_layout *l, const struct bpf_object *obj,
		      const struct bpf_conf *conf);

/*
 * Adds to @sn the operations in progress at @now of at least @min_ns, oldest first.
 *
 * If the run looks at files, each operation has the file's name from the rows of @sn, or else its
 * device and inode. Threads without a slot in tasks (their state is in tasks_overflown) are left
 * out and counted in sn.unfinished_lost. @bss: the variables of the programs. @types: FS_SLOTS
 * types. Returns 0 or -errno.
 */
int unfinished_read(const struct state_layout *l, const void *bss, const struct fs_entry *types,
		    uint64_t now, uint64_t min_ns, struct snapshot *sn);

/* Whether thread @tid has a state: whether it has begun or ended a traced call since the tracing
 * began. Returns 1 or 0, or -1 if not known, as some threads have no slot in tasks. */
int unfinished_has_state(const struct state_layout *l, const void *bss, unsigned int tid);

#endif
