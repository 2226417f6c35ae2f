/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cube.h - sums of operations by combination (operation, call, file, disk, process) and by interval
 * of time, from which a page computes all its tables and pictures.
 *
 * The time of an operation is in all intervals in which the operation lives; its count, bytes,
 * errors and maximum are in the interval of its end. Memory does not grow with the recording:
 * intervals are joined in pairs as the recording gets longer. If there are too many cells, those
 * of quiet combinations are joined, then quiet combinations lose their file. Sums lose nothing.
 */
#ifndef IOSTRATA_ANALYSE_CUBE_H
#define IOSTRATA_ANALYSE_CUBE_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/spread.h"

enum {
	CUBE_BINS = 256,      /* at most; more than half as many, if the recording is long */
	CUBE_LEVELS = 4,      /* at most 1 << CUBE_LEVELS bins of a combination are joined */
	CUBE_CELLS = 65536,   /* in memory */
	CUBE_COMBOS = 16384,  /* likewise */
	CUBE_FIRST_SHIFT = 16 /* bins are 65 us long at first */
};

/* A combination. Without padding: compared as bytes. */
struct cube_key {
	uint32_t file, thread; /* numbers given by the caller, or 0 for all others */
	uint32_t dev;          /* disk of the file */
	uint16_t call;
	uint8_t kind, fs; /* enum op_kind; number given by the caller */
};

/* The sums of a combination in some bins. */
struct cube_cell {
	uint32_t bin; /* the first bin + 1, or 0 for the time before the page begins */
	uint64_t count, errors, bytes, max_ns;
	uint64_t ended_ns; /* the whole time of those that ended here */
	uint64_t shares[SHARE_N];
};

struct cube_combo {
	struct cube_key key;
	uint32_t n, cap;
	unsigned int level; /* a cell is 1 << level bins */
	uint64_t total_ns;
	struct cube_cell *cells; /* by bin; owned */
};

/* At first all 0. */
struct cube {
	unsigned int shift; /* a bin is 1 << shift ns; set by the caller at the beginning */
	struct cube_combo *combos;
	size_t n, n_cells;
	/* private */
	size_t cap, index_len;
	uint32_t *index; /* of combos, + 1, by hash of the key */
};

/* An operation: when, in ns since the begin of the page, and what. */
struct cube_op {
	int64_t begin_ns; /* negative: before the page */
	uint64_t end_ns;
	struct spread spread;
	uint64_t bytes;
	unsigned int errors;
};

/* Adds an operation with its end in the bins: end_ns >> shift < CUBE_BINS. Returns 0 or -ENOMEM. */
int cube_add(struct cube *c, const struct cube_key *key, const struct cube_op *op);

/* Joins bins in pairs. */
void cube_halve(struct cube *c);

/*
 * Joins cells, and then combinations, until there are at most @cells and @combos; the quiet ones
 * first. More may be left if none can be joined any more. Returns 0 or -ENOMEM.
 */
int cube_limit(struct cube *c, size_t cells, size_t combos);

void cube_done(struct cube *c);

#endif
