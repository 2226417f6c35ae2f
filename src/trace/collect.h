/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * collect.h - the rows of one epoch: reads the maps, adds up the CPUs, turns keys into names. Does
 * not turn the epoch, and must not run while programs still write to it.
 */
#ifndef IOSTRATA_TRACE_COLLECT_H
#define IOSTRATA_TRACE_COLLECT_H

#include <stdbool.h>

#include "base/rows.h"
#include "host/cgroups.h"
#include "host/devices.h"
#include "host/filenames.h"
#include "host/mounts.h"
#include "host/threadnames.h"

struct fs_entry;
struct live;
struct server_slot;

/* Where the programs keep their rows. Owns none of the maps. */
struct cell_maps {
	/* descriptors of hash maps; one of each pair for each epoch */
	int ops[2], rqs[2], helpers[2], sites[2], whos[2], servers[2], file_names[2],
		thread_names[2];
	int access_sizes[2];
	struct access_slot *accesses; /* n_accesses; collect() takes their sums; NULL: there are
				       * no patterns */
	unsigned int n_accesses;
	int n_cpus;
	bool requests;            /* there may be rows of requests */
	struct op_cell *slots;    /* SLOT_CELLS(), or NULL; collect() empties them; the cell of a
				   * row of requests is a struct rq_cell */
	unsigned int *hists;      /* [HIST_CPUS] if separate from the sums, else NULL */
	struct rq_cell *slot_rqs; /* [RQ_CPUS] at most; collect() empties them; NULL: in @slots, or
				   * there are no such rows */
	struct server_slot *server_slots; /* [SERVER_SLOTS]; collect() empties their cells; NULL:
					   * there are none */
	const struct live *live;          /* tells which row each slot holds */
	enum by_key by;
};

/* Rows and names collected so far. */
struct collected {
	struct rows rows;
	struct filenames files;
	struct threadnames threads; /* names of the threads and processes with rows */
	struct devices devices;     /* all of the machine's; up to date for those with rows */
	struct cgroups cgroups;
};

/* Moves the rows of @epoch, and the names of files and threads, out of the maps and adds them to
 * @to. No program may write to that epoch any more. Returns 0 or -errno. */
int collect(const struct cell_maps *maps, unsigned int epoch, struct collected *to);

/* Type of the file system with identity @fs, looked up in @seen (FS_SLOTS entries); "" if not
 * known. */
void collect_fs_name(const struct fs_entry *seen, unsigned long long fs,
		     char ret_name[FS_NAME_LEN]);

#endif
