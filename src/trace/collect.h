/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * collect.h - the kernel's cells as rows: reads the maps of one interval, adds up the CPUs, gives
 * the keys their names.
 */
#ifndef IOSTRATA_COLLECT_H
#define IOSTRATA_COLLECT_H

#include <stdbool.h>

#include "mounts.h"
#include "snapshot.h"

struct fs_seen;
struct row_slot;

/* Descriptors of the maps, not owned. */
struct cell_maps {
	int ops, rqs, file_names;		/* -1: not there */
	int n_cpus;
	bool per_cpu;				/* the ops map has a cell per CPU */
	struct op_cell *direct;			/* DIRECT_CELLS() or NULL; emptied */
	struct rq_cell *direct_rqs;		/* likewise */
	const struct row_slot *slots;		/* ROW_SLOTS of them, whose cells the two have */
	const struct fs_seen *fs_seen;		/* FS_SLOTS of them */
	unsigned int op_key_size;
	enum by_key by;
};

/*
 * Moves the rows of interval @epoch out of the maps into @sn, whose lists the caller frees with
 * snapshot_free(), on failure too. Nobody may write to that epoch any more. 0 or -errno.
 */
int collect(const struct cell_maps *maps, unsigned char epoch, struct snapshot *sn);

/* Name of a file system by identity, looked for in the FS_SLOTS of @seen; "" if not known. */
void collect_fs_name(const struct fs_seen *seen, unsigned long long fs,
		     char ret_name[FS_NAME_LEN]);

/* Name of a disk or file system by kernel dev_t: "vda", "/mnt", else "8:0". */
void collect_dev_name(const struct mounts *mounts, unsigned int dev, char *name, size_t cap);

#endif
