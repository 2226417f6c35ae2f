/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * offsets.h - where in a file, or on a disk, reads and writes go: as a map of offset and time, with
 * their patterns. The size is fixed, no matter what is added. Knows no names.
 */
#ifndef IOSTRATA_ANALYSE_OFFSETS_H
#define IOSTRATA_ANALYSE_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/access.h"

enum {
	OFFSETS_TIMES = 96,  /* intervals of time, at most */
	OFFSETS_PLACES = 64, /* ranges of offsets, at most */
};

enum { ACCESS_READ, ACCESS_WRITE, ACCESS_KINDS };

/* A map. At first all 0. */
struct offset_map {
	struct access access[ACCESS_KINDS];
	uint32_t cells[OFFSETS_TIMES][OFFSETS_PLACES][ACCESS_KINDS]; /* accesses */
	unsigned int time_shift;  /* an interval is 1 << time_shift ns */
	unsigned int place_shift; /* a range is 1 << place_shift bytes */
};

/* Adds an access that ended @at_ns after the begin. Intervals and ranges get wider as needed. */
void offset_map_add(struct offset_map *m, uint64_t at_ns, bool is_write, uint64_t offset,
		    uint64_t bytes);

#endif
