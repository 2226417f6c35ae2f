/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rows.h - rows by key, added up over many drains until they are taken as a snapshot.
 *
 * Rows are in one array that grows, with an index of 4 bytes per entry: 100,000 of them are usual
 * with --by. Knows nothing of the kernel.
 */
#ifndef IOSTRATA_BASE_ROWS_H
#define IOSTRATA_BASE_ROWS_H

#include "base/snapshot.h"

/* Rows that begin with their key; private to rows.c. */
struct row_table {
	char *rows;
	size_t n, cap;
	unsigned int *index; /* number of a row + 1, or 0; by the key's hash */
	size_t index_len;    /* a power of two, or 0 */
};

struct rows {
	struct row_table ops, rqs, helpers, sites, servers, whos;
};

/*
 * The row of @key, without regard to its bucket. A new row is 0 except for its key. Valid until the
 * next call. Returns NULL if out of memory.
 */
struct op_row *rows_op(struct rows *r, const struct op_key *key);
struct rq_row *rows_rq(struct rows *r, const struct rq_key *key);
struct helper_row *rows_helper(struct rows *r, const struct helper_key *key);
struct site_row *rows_site(struct rows *r, const struct site_key *key);
struct server_row *rows_server(struct rows *r, const struct server_key *key);
struct who_row *rows_who(struct rows *r, const struct who_key *key);

/* The row of @key, or NULL if there is no such row. Valid until the next row is added. */
struct op_row *rows_op_find(const struct rows *r, const struct op_key *key);

void op_row_add(struct op_row *row, const struct op_sums *s);
void rq_row_add(struct rq_row *row, const struct rq_sums *s);
void helper_row_add(struct helper_row *row, const struct helper_sums *s);
void site_row_add(struct site_row *row, const struct site_sums *s);
void server_row_add(struct server_row *row, const struct server_sums *s);
void who_row_add(struct who_row *row, const struct who_sums *s);

/* Add the sums and the histogram of another row, but not its names. Returns 0 or -ENOMEM. */
int op_row_merge(struct op_row *row, const struct op_row *more);
int rq_row_merge(struct rq_row *row, const struct rq_row *more);

/* The part of the time of @s in which threads ran or were blocked; see breakdown_thread_ns(). */
uint64_t op_sums_thread_ns(const struct op_sums *s, bool is_async);

/* Moves all rows to @sn. The caller owns the lists of @sn. */
void rows_take(struct rows *r, struct snapshot *sn);

/* Joins rows of operations or requests of @sn with the same key. Returns 0 or -ENOMEM. */
int rows_join(struct snapshot *sn);

void rows_done(struct rows *r);

#endif
