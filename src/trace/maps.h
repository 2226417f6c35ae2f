/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maps.h - which maps a run has, how large they are on this machine, and the cells mapped into our
 * memory. Reads no cell.
 */
#ifndef IOSTRATA_MAPS_H
#define IOSTRATA_MAPS_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_conf;
struct bpf_map;
struct bpf_object;
struct feature;
struct reason;
struct rowmaps_size;
struct session_conf;

/* Chooses types and sizes of the maps of @obj, which is not loaded yet. */
void maps_configure(struct bpf_object *obj, const struct session_conf *sc,
		    const struct bpf_conf *c, const struct feature *f);

/* How many rows a run with @sc may have, on this machine. */
void maps_rows_size(const struct session_conf *sc, struct rowmaps_size *ret_size);

/* Whether a run with @sc counts requests. */
bool maps_have_requests(const struct session_conf *sc);

/* Maps a kernel array into our memory, *@ret_len bytes for munmap(). 0, or -1 with @why. */
int maps_map(const struct bpf_map *array, void **ret_map, size_t *ret_len, struct reason *why);

#endif
