/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_table.h - who makes the I/O: the rows of a snapshot joined by process, thread, command, file,
 * disk, cgroup or container. What a process asked of files and what reached disks for it come from
 * different rows of the kernel's; here they become the two sides of one.
 */
#ifndef IOSTRATA_TOP_TABLE_H
#define IOSTRATA_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/snapshot.h"
#include "show/top_names.h"

/* What separates the rows of a table, besides the view's key. */
enum top_split {
	TOP_WHOLE,		/* nothing: operations and requests in one row */
	TOP_REQUESTS,		/* requests only, by disk and operation */
	TOP_OPS,		/* operations only, by kind */
};

struct top_key {
	uint64_t who[2];	/* process, thread, name, file ...; by the view */
	uint32_t dev;		/* of requests, kernel dev_t; 0: any */
	uint32_t op;		/* enum op_kind, or enum rq_op | behalf << 8; 0 with TOP_WHOLE */
};

/* The sums of one side. */
struct top_side {
	uint64_t count, errors, bytes, total_ns, max_ns;
	uint64_t p99_ns;	/* see top_row_p99() */
};

struct top_row {
	struct top_key key;
	const struct task *task;	/* of the first of its rows; NULL: not known */
	const char *file;		/* path, with TOP_FILE; hostile */
	const char *disk;		/* the one with most bytes; "" or NULL: none; hostile */
	const char *cgroup;		/* NULL: not known; hostile */
	const struct container *container; /* NULL: none, or not known */
	unsigned int major, minor;	/* of the disk */
	struct top_side ops;
	struct top_side rqs;		/* total_ns: from submission to completion */
	uint64_t tag_ns, queue_ns, device_ns;
	uint64_t behalf_bytes;		/* of rqs.bytes, those that others submitted for it */
	bool p99_known;
	bool marked;
	/* private to the table: its rows in the snapshot, as numbers + 1 */
	unsigned int first_op, first_rq;
	uint64_t disk_bytes;
};

struct top_table {
	enum top_view view;
	enum top_split split;
	const struct snapshot *sn;
	struct top_row *rows;
	size_t n;
	unsigned int *next_op, *next_rq;	/* of the same row */
	unsigned int *index;			/* by hash of the key: number of a row + 1, or 0 */
	size_t index_len;
};

/*
 * Joins the rows of @sn; the result is in no order. @sn and @names (of the cgroups) must live as
 * long as @t. 0 or -ENOMEM.
 */
int top_table_init(struct top_table *t, const struct snapshot *sn, enum top_view view,
		   enum top_split split, struct top_names *names);
void top_table_done(struct top_table *t);

/* Computes the percentiles of @r, once. */
void top_row_p99(const struct top_table *t, struct top_row *r);

/* Histograms of a row's operations and requests; the caller frees hist.bins. 0 or -ENOMEM. */
int top_row_hists(const struct top_table *t, const struct top_row *r, struct hist *ret_ops,
		  struct hist *ret_rqs);

/* The row of @key, or NULL. */
struct top_row *top_table_find(const struct top_table *t, const struct top_key *key);

/* The strata of a row's operations, ns. */
struct top_strata {
	uint64_t ns[ST_N];
};

struct top_strata top_row_strata(const struct top_table *t, const struct top_row *r);

/* Stratum that took most of the time; ST_N if there is none. */
unsigned int top_strata_largest(const struct top_strata *s);

#endif
