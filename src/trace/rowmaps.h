/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rowmaps.h - the sizes of the maps of rows: no larger than a run needs, however many CPUs a
 * machine may have.
 */
#ifndef IOSTRATA_ROWMAPS_H
#define IOSTRATA_ROWMAPS_H

#include <stdbool.h>

#include "event.h"

struct bpf_object;
struct bpf_conf;

/* What a run has rows of. */
struct rowmaps {
	bool ops, requests;
	bool calls;		/* a row for each system call */
	bool helpers, why;
	enum by_key by;
	unsigned int cpus;	/* possible ones */
	unsigned int disks;
};

/* Entries of each map; 1 for a map that is not needed. */
struct rowmaps_size {
	unsigned int op_rows, rq_rows, helper_rows, why_rows;
	unsigned int file_names, task_names, dirtiers;
	unsigned int slot_cells, slot_hists, slot_rq_cells;
	bool hists_apart;
};

void rowmaps_size(const struct rowmaps *r, struct rowmaps_size *ret_size);

/* Sets what the programs must know of the sizes. */
void rowmaps_conf(const struct rowmaps_size *size, struct bpf_conf *c);

/* Call it before the object is loaded. */
void rowmaps_resize(const struct rowmaps_size *size, struct bpf_object *obj);

/* Whether rows of requests are keyed by their submitter. */
bool rowmaps_rq_by(enum by_key by);

/* Whether there are few enough rows for each to have a slot. */
bool rowmaps_in_slots(const struct rowmaps *r);

#endif
