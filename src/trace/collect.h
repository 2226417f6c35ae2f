/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * collect.h - the kernel's rows of one epoch: reads the maps, adds up the CPUs, turns keys into
 * names.
 */
#ifndef IOSTRATA_COLLECT_H
#define IOSTRATA_COLLECT_H

#include <stdbool.h>

#include "base/devices.h"
#include "base/filenames.h"
#include "base/mounts.h"
#include "base/snapshot.h"
#include "base/tasknames.h"

struct fs_entry;
struct live;

/* Where the programs keep their rows. Owns nothing. */
struct cell_maps {
	/* descriptors, by epoch */
	int ops[2], rqs[2], helpers[2], whys[2], file_names[2], task_names[2];
	int n_cpus;
	struct op_cell *slots;    /* SLOT_CELLS() or NULL; emptied */
	unsigned int *hists;      /* [HIST_CPUS], if they are apart; else NULL */
	struct rq_cell *slot_rqs; /* [RQ_CPUS] at most, or NULL; emptied */
	const struct live *live;  /* says which row a slot has */
	enum by_key by;
};

/* What is collected. */
struct collected {
	struct rows rows;
	struct filenames files;
	struct tasknames tasks; /* of the tasks that have rows */
	struct devices devices; /* all of the machine's, those that have rows as they are now */
};

/* Moves the rows of @epoch out of the maps and adds them to @to, and the names of files and tasks.
 * Nothing may write to that epoch any more. 0 or -errno. */
int collect(const struct cell_maps *maps, unsigned int epoch, struct collected *to);

/* Name of a file system by identity, looked up in the FS_SLOTS of @seen; "" if not known. */
void collect_fs_name(const struct fs_entry *seen, unsigned long long fs,
		     char ret_name[FS_NAME_LEN]);

#endif
