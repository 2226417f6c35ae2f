/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * offsets.h - where in a file, or on a disk, reads and writes go: as a map of offset and time, and
 * as shares of sequential, strided and random accesses. Fixed size, whatever is added. Knows no
 * names.
 */
#ifndef IOSTRATA_ANALYSE_OFFSETS_H
#define IOSTRATA_ANALYSE_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	OFFSETS_TIMES = 96,  /* intervals of time, at most */
	OFFSETS_PLACES = 64, /* ranges of offsets, at most */
	ACCESS_STREAMS = 8,
	ACCESS_SIZES = 8,
};

/* Accesses of one direction. All others are random. */
struct access_kind {
	uint64_t count, bytes, max_bytes;
	uint64_t sequential; /* began where one of the last ACCESS_STREAMS accesses ended */
	uint64_t strided;    /* as far from the last access as that was from the one before */
	uint64_t distance;   /* bytes from the end of the last access, summed up */
	/* the first different sizes; count 0: free */
	struct {
		uint64_t bytes, count;
	} sizes[ACCESS_SIZES];
};

enum { ACCESS_READ, ACCESS_WRITE, ACCESS_KINDS };

/* At first all 0. */
struct access {
	struct access_kind kinds[ACCESS_KINDS];
	/* private */
	uint64_t ends[ACCESS_STREAMS];
	unsigned int n; /* accesses so far; stops at ACCESS_STREAMS */
	unsigned int next;
	uint64_t last; /* where the last access began */
	int64_t stride;
};

/* Adds an access to @bytes bytes from @offset on. */
void access_add(struct access *a, bool is_write, uint64_t offset, uint64_t bytes);

/* The most frequent of the known sizes, and how many accesses had it; 0: none. */
uint64_t access_size(const struct access_kind *k, uint64_t *ret_count);

/* A map. At first all 0. */
struct offset_map {
	struct access access;
	uint32_t cells[OFFSETS_TIMES][OFFSETS_PLACES][ACCESS_KINDS]; /* accesses */
	unsigned int time_shift;  /* an interval is 1 << time_shift ns */
	unsigned int place_shift; /* a range is 1 << place_shift bytes */
};

/* Adds an access which ended @at_ns after the begin. Intervals and ranges get wider as needed. */
void offset_map_add(struct offset_map *m, uint64_t at_ns, bool is_write, uint64_t offset,
		    uint64_t bytes);

#endif
