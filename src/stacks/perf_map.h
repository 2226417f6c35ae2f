/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf_map.h - names of code that was made at run time: a runtime that is asked to writes them into
 * /tmp/perf-PID.map, a line "START LENGTH NAME" (hexadecimal) for each piece. For the deputy:
 * everybody can write there, and all of it is hostile.
 */
#ifndef IOSTRATA_STACKS_PERF_MAP_H
#define IOSTRATA_STACKS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "stacks/frame_names.h"

struct perf_code {
	uint64_t start, len;
	size_t name; /* in .text */
};

struct perf_map {
	char *text; /* owned, as is @codes */
	struct perf_code *codes;
	size_t n;
};

/* Reads the map from @fd. What is beyond 64 MiB is left out. Returns 0 or -ENOMEM. */
int perf_map_read(struct perf_map *m, int fd);
void perf_map_done(struct perf_map *m);

/* The name of the code at @address, or NULL. Where pieces overlap, the one written last is it. */
const char *perf_map_find(const struct perf_map *m, uint64_t address);

/* Fills in function, source and line from a name as Java and Node write it. */
void perf_map_name(const char *name, struct frame_name *ret_name);

#endif
