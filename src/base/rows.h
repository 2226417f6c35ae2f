/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rows.h - rows by key, added up over many drains until they are taken as a snapshot.
 *
 * Rows are in one array that grows, with an index of 4 bytes per entry: 100,000 of them are usual
 * with --by. Knows nothing of the kernel.
 */
#ifndef IOSTRATA_ROWS_H
#define IOSTRATA_ROWS_H

#include "base/snapshot.h"

/* Rows that begin with their key; private to rows.c. */
struct row_table {
	char *rows;
	size_t n, cap;
	unsigned int *index;	/* number of a row + 1, or 0; by the key's hash */
	size_t index_len;	/* a power of two, or 0 */
};

struct rows {
	struct row_table ops, rqs, helpers, whys;
};

/*
 * The row of @key, whose bucket does not matter; a new one, all 0 but for the key, if there is
 * none. Valid until the next call. NULL: out of memory.
 */
struct op_row *rows_op(struct rows *r, const struct op_key *key);
struct rq_row *rows_rq(struct rows *r, const struct rq_key *key);
struct helper_row *rows_helper(struct rows *r, const struct helper_key *key);
struct why_row *rows_why(struct rows *r, const struct why_key *key);

void op_row_add(struct op_row *row, const struct op_sums *s);
void rq_row_add(struct rq_row *row, const struct rq_sums *s);
void helper_row_add(struct helper_row *row, const struct helper_sums *s);
void why_row_add(struct why_row *row, const struct why_sums *s);

/* Add the sums and the histogram of another row, and nothing of who it is. 0 or -ENOMEM. */
int op_row_merge(struct op_row *row, const struct op_row *more);
int rq_row_merge(struct rq_row *row, const struct rq_row *more);

/* Adds the counts of a cell's histogram to @h and empties the cell's. 0 or -ENOMEM. */
int hist_take(struct hist *h, unsigned int counts[HIST_N]);

/* Moves the rows to @sn and leaves none. The caller owns the lists of @sn. */
void rows_take(struct rows *r, struct snapshot *sn);

void rows_done(struct rows *r);

#endif
