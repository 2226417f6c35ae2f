/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maps.h - which maps a run has, their sizes on this machine, and their cells in our memory. Reads
 * no cell.
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

/* Kinds of rows of a run. They decide the sizes of the maps of rows, so that no map is larger than
 * the run needs, however many CPUs the machine has. */
struct rowmaps {
	bool ops, requests;
	bool by_call; /* operations have a row for each system call */
	bool helpers, sites;
	bool allocates; /* the kernel lets programs allocate entries: feature.map_alloc */
	enum by_key by;
	unsigned int cpus; /* maps_cpus() */
	unsigned int disks;
};

/* Entries of each map; 1 for an unneeded map. */
struct rowmaps_size {
	unsigned int op_rows, rq_rows, helper_rows, site_rows;
	unsigned int file_names, thread_names, dirtiers;
	unsigned int slot_cells, slot_hists, slot_rq_cells;
	bool hists_apart, rq_in_cells;
};

void rowmaps_size(const struct rowmaps *r, struct rowmaps_size *ret_size);

/* Sets the members of @c derived from the sizes. */
void rowmaps_conf(const struct rowmaps_size *size, struct bpf_conf *c);

/* Applies the sizes to the maps of @obj. @obj is not loaded yet. */
void rowmaps_resize(const struct rowmaps_size *size, struct bpf_object *obj);

/* Whether rows of requests are keyed by their submitter with --by @by. */
bool rowmaps_rq_by(enum by_key by);

/* Whether there are few enough rows of operations to give each a slot. */
bool rowmaps_in_slots(const struct rowmaps *r);

/* Chooses types and sizes of the maps of @obj. @obj is not loaded yet. */
void maps_configure(struct bpf_object *obj, const struct session_conf *sc, const struct bpf_conf *c,
		    struct feature *f);

/*
 * Fills each CPU's reserve of rows of operations, for programs that add rows in an interrupt: the
 * kernel refills a reserve only between interrupts. It begins with one row, and is refilled to some
 * 24 when one is taken, see struct bpf_mem_alloc. CPUs on which this thread may not run keep one.
 * For kernels with feature.map_alloc.
 */
void maps_fill_reserves(struct bpf_object *obj);

/* Computes how many rows a run with @sc may have on this machine. @cpus is from maps_cpus(). */
void maps_rows_size(const struct session_conf *sc, const struct feature *f, unsigned int cpus,
		    struct rowmaps_size *ret_size);

/* The number of CPUs up to the last one online. The sizes of maps depend on this number. A machine
 * may have room for many more CPUs. If such a CPU comes online during the run, its operations and
 * requests get their rows in hashes, and its records go through rings. */
unsigned int maps_cpus(void);

/* The number of CPUs up to the last one in a list such as "0-3,8-11", or 0 if @list is no such
 * list. */
unsigned int maps_cpus_in(const char *list);

/* Whether a run with @sc counts requests. */
bool maps_have_requests(const struct session_conf *sc);

/* Slots for patterns of files and disks: a power of two. */
unsigned int maps_access_slots(enum by_key by);

/* Entries for the sizes without a place in these slots. */
enum { ACCESS_SIZE_ROWS = 8192 };

/* Slots for rows of NFS, or 0 if SunRPC is not traced. */
unsigned int maps_server_slots(const struct bpf_conf *c);

/* Maps the array into our memory; the caller frees it with munmap() of *@ret_len bytes. Returns 0,
 * or -1 with @why. */
int maps_map(const struct bpf_map *array, void **ret_map, size_t *ret_len, struct reason *why);

/* Number of rings for sent records, and number of CPUs with a lane, of @cpus. */
unsigned int maps_rings(unsigned int cpus);
unsigned int maps_lanes(unsigned int cpus);

#endif
