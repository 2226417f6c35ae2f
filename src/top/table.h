/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - who makes the I/O: the rows of a snapshot joined by process, thread, command, file,
 * disk, cgroup or container. What a process asked of files and what reached disks for it come from
 * different rows of the kernel's; here they become the two sides of one.
 */
#ifndef IOSTRATA_TOP_TABLE_H
#define IOSTRATA_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "base/container.h"
#include "base/snapshot.h"

/*
 * What the rows of top are called: views, cgroups, containers.
 */

enum top_view {
	TOP_PROCESS,
	TOP_THREAD,
	TOP_COMM,
	TOP_FILE,
	TOP_DISK,
	TOP_CGROUP,
	TOP_CONTAINER,
	TOP_VIEWS,
};

/* "pid", "tid" ...: as the user types it. */
const char *top_view_name(enum top_view view);

/* A cgroup that was looked up. */
struct top_name {
	uint64_t id;
	char *path;                 /* hostile; NULL: not known */
	struct container container; /* its id is "": none */
	uint64_t owner;             /* id of the first cgroup of this container, or of none */
	UT_hash_handle hh;
};

/* Cgroups by id. */
struct top_names {
	char *(*cgroup_path)(unsigned long long id); /* for free(); NULL: not known */
	struct top_name *list;                       /* in the order of lookups */
	bool by_file; /* rows are of files, in any view: key.by[1] tells no behalf */
};

/* The names of cgroup @id; NULL: out of memory. Valid until top_names_done(). */
const struct top_name *top_names_find(struct top_names *names, uint64_t id);

void top_names_done(struct top_names *names);

/* What separates the rows of a table, besides the view's key. */
enum top_split {
	TOP_WHOLE,    /* nothing: operations and requests in one row */
	TOP_REQUESTS, /* requests only, by disk and operation */
	TOP_OPS,      /* operations only, by kind */
};

struct top_key {
	uint64_t who[2]; /* process, thread, name, file ...; by the view */
	uint32_t dev;    /* of requests, kernel dev_t; 0: any */
	uint32_t op;     /* enum op_kind, or enum rq_op | behalf << 8; 0 with TOP_WHOLE */
};

/* The sums of one side. */
struct top_side {
	uint64_t count, errors, bytes, total_ns, max_ns;
	uint64_t p99_ns; /* see top_row_p99() */
};

struct top_row {
	struct top_key key;
	const struct task *task;           /* of the first of its rows; NULL: not known */
	const char *file;                  /* path, with TOP_FILE; hostile */
	const char *disk;                  /* the one with most bytes; "" or NULL: none; hostile */
	const char *cgroup;                /* NULL: not known; hostile */
	const struct container *container; /* NULL: none, or not known */
	unsigned int major, minor;         /* of the disk */
	struct top_side ops;
	struct top_side rqs; /* total_ns: from submission to completion */
	uint64_t tag_ns, queue_ns, device_ns;
	uint64_t behalf_bytes; /* of rqs.bytes, those that others submitted for it */
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
	unsigned int *next_op, *next_rq; /* of the same row */
	unsigned int *index;             /* by hash of the key: number of a row + 1, or 0 */
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

/*
 * Adds up the intervals of a run, in up to TOP_TOTAL_ROWS rows.
 */

/* Of each kind; further rows are left out and counted as lost (map_full). */
enum { TOP_TOTAL_ROWS = 32768 };

struct top_total {
	struct rows rows;
	struct snapshot sum; /* points into rows; owns only its list of tasks */
};

/* Adds an interval; t->sum is valid until the next. 0 or -ENOMEM. */
int top_total_add(struct top_total *t, const struct snapshot *sn);

void top_total_done(struct top_total *t);

#endif
