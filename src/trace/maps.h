/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maps.h - which maps a run has, how large they are on this machine, and the cells mapped into our
 * memory. Reads no cell.
 */
#ifndef IOSTRATA_TRACE_MAPS_H
#define IOSTRATA_TRACE_MAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"

struct bpf_conf;
struct bpf_map;
struct bpf_object;
struct feature;
struct reason;
struct session_conf;

/*
 * The sizes of the maps of rows: no larger than a run needs, however many CPUs a
 * machine may have.
 */

/* What a run has rows of. */
struct rowmaps {
	bool ops, requests;
	bool calls; /* a row for each system call */
	bool helpers, why;
	enum by_key by;
	unsigned int cpus; /* possible ones */
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

/* Chooses types and sizes of the maps of @obj, which is not loaded yet. */
void maps_configure(struct bpf_object *obj, const struct session_conf *sc, const struct bpf_conf *c,
		    const struct feature *f);

/* How many rows a run with @sc may have, on this machine. */
void maps_rows_size(const struct session_conf *sc, struct rowmaps_size *ret_size);

/* Whether a run with @sc counts requests. */
bool maps_have_requests(const struct session_conf *sc);

/* Maps a kernel array into our memory, *@ret_len bytes for munmap(). 0, or -1 with @why. */
int maps_map(const struct bpf_map *array, void **ret_map, size_t *ret_len, struct reason *why);

/* How many rings the programs send records to, and how many CPUs have a lane. */
unsigned int maps_rings(void);
unsigned int maps_lanes(void);

#endif
