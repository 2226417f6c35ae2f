/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * disk_times.h - the requests of disks by interval of time. The time in flight of a request is in
 * all bins in which the request lives; count, bytes and errors are in the bin of its end. Fixed
 * memory. Knows no names.
 */
#ifndef IOSTRATA_ANALYSE_DISK_TIMES_H
#define IOSTRATA_ANALYSE_DISK_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/cube.h"

enum { DISK_TIMES = 64 }; /* rows; further ones share the last */

/* Requests of one kind and disk. */
struct disk_times {
	uint32_t dev, host;
	uint8_t op;     /* enum rq_op */
	bool is_others; /* of all disks without a row */
	struct disk_cell {
		uint64_t count, errors, bytes;
		uint64_t ended_ns;  /* the whole time of those that ended here */
		uint64_t flight_ns; /* time in flight here */
	} * cells; /* CUBE_BINS + 1: the first one is the time before the page; owned */
	uint64_t total_ns, bytes;
};

/* At first all 0. */
struct disks {
	struct disk_times rows[DISK_TIMES];
	size_t n;
};

/* A request: when, in ns since the begin of the page, and what. */
struct disk_request {
	uint32_t dev, host;
	uint8_t op;
	bool failed;
	uint32_t n;       /* parts of a bio, each of which counts as a request; else 1 */
	int64_t begin_ns; /* negative: before the page */
	uint64_t end_ns, total_ns, bytes;
};

/* Adds a request with its end in the bins of 1 << @shift ns. Returns 0 or -ENOMEM. */
int disks_add(struct disks *d, const struct disk_request *rq, unsigned int shift);

/* Joins bins in pairs. */
void disks_halve(struct disks *d);

void disks_done(struct disks *d);

#endif
