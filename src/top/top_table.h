/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_table.h - who makes the I/O: the rows of a snapshot joined by process, thread, command, file,
 * disk, cgroup or container. The kernel side counts operations and requests in separate rows; here
 * they become the two sides of one row. By server, rows have requests to servers instead of disks.
 * By function, line or library, rows have operations alone.
 */
#ifndef IOSTRATA_TOP_TOP_TABLE_H
#define IOSTRATA_TOP_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "base/rows.h"
#include "base/snapshot.h"
#include "base/stacks.h"
#include "host/container.h"

struct top_names;

/* The kind of key of a row. */
enum top_view {
	TOP_PROCESS,
	TOP_THREAD,
	TOP_COMM,
	TOP_FILE,
	TOP_DISK,
	TOP_CGROUP,
	TOP_CONTAINER,
	TOP_SERVER,          /* a server, or a daemon's process with a mount */
	TOP_CALLER_FUNCTION, /* callers: operations alone, after stack_join() of the snapshot */
	TOP_CALLER_LINE,
	TOP_CALLER_LIBRARY,
	TOP_VIEWS,
};

/* "pid", "tid" ...: as the user types it. */
const char *top_view_name(enum top_view view);

/* BY_FUNCTION, BY_LINE or BY_LIBRARY for views of callers, else BY_NONE. */
enum by_key top_view_callers(enum top_view view);

/* How rows are split, in addition to the key of the view. */
enum top_split {
	TOP_WHOLE,    /* nothing: operations and requests in one row */
	TOP_REQUESTS, /* requests only, by disk and operation; for servers by operation */
	TOP_OPS,      /* operations only, by kind */
};

struct top_key {
	uint64_t who[2]; /* process, thread, name, file ..., as the view has it */
	uint32_t dev;    /* disk of requests, kernel dev_t; 0: any */
	uint32_t op;     /* enum op_kind, or enum rq_op | behalf << 8; 0 with TOP_WHOLE; of
			  * servers any number */
};

/* The sums of one side. */
struct top_side {
	uint64_t count, errors, bytes, total_ns, max_ns;
	uint64_t p99_ns; /* see top_row_p99() */
};

struct top_row {
	struct top_key key;
	const struct thread *thread;       /* thread of the first of its rows; NULL: not known */
	const char *file;                  /* path, with TOP_FILE; hostile */
	const char *caller;                /* with views of callers; hostile */
	const char *disk;                  /* disk with most bytes; "" or NULL: none; hostile */
	const char *cgroup;                /* NULL: not known; hostile */
	const struct container *container; /* NULL: none, or not known */
	unsigned int major, minor;         /* of the disk */
	const struct server_row *server;   /* with TOP_SERVER: the first of its rows */
	struct top_side ops;
	struct top_side rqs; /* total_ns: from submission to completion; of servers: server_ns */
	uint64_t tag_ns, queue_ns, device_ns;
	uint64_t behalf_bytes; /* of rqs.bytes, submitted by other threads for the row */
	bool p99_known;
	bool pinned;
	/* private: first of its rows in the snapshot, as index + 1, or 0 if there is none */
	unsigned int first_op, first_rq;
	uint64_t disk_bytes;
};

struct top_table {
	enum top_view view;
	enum top_split split;
	const struct snapshot *sn;
	struct top_row *rows;
	size_t n;
	unsigned int *next_op, *next_rq; /* private: next row of the same table row, + 1 */
	bool *stacked;                   /* private: see top_stacked() */
	unsigned int *index;             /* private: by hash of the key, index of a row + 1, or 0 */
	size_t index_len;
};

/*
 * For each row of requests of @sn: whether the requests reached its disk through another disk,
 * since who they count for has requests on a disk that lies on this one. Sums have each byte once,
 * on the disk next to the file system. (If the same process also uses another partition of the
 * lower disk directly, these requests are left out, too.) The caller frees the result; NULL if out
 * of memory.
 */
bool *top_stacked(const struct snapshot *sn);

/*
 * Joins the rows of @sn, in no order. @sn and @names (of the cgroups) must live as long as @t.
 * Returns 0 or -ENOMEM.
 */
int top_table_init(struct top_table *t, const struct snapshot *sn, enum top_view view,
		   enum top_split split, struct top_names *names);
void top_table_done(struct top_table *t);

/* Computes the percentiles of @r, once. */
void top_row_p99(const struct top_table *t, struct top_row *r);

/* Histograms of a row's operations and requests; the caller frees hist.bins. Returns 0 or
 * -ENOMEM. */
int top_row_hists(const struct top_table *t, const struct top_row *r, struct hist *ret_ops,
		  struct hist *ret_rqs);

/* The row of @key, or NULL. */
struct top_row *top_table_find(const struct top_table *t, const struct top_key *key);

/* The strata of a row's operations, ns. */
struct top_strata {
	uint64_t ns[ST_N];
};

struct top_strata top_row_strata(const struct top_table *t, const struct top_row *r);

/* The stratum with most time; ST_N if there is none. */
unsigned int top_strata_largest(const struct top_strata *s);

/*
 * Names of cgroups and containers.
 */

/* A cgroup, looked up. */
struct top_name {
	uint64_t id;
	char *path;                 /* hostile; NULL: not known */
	struct container container; /* its id is "": the cgroup is in none */
	uint64_t owner; /* id of the first cgroup of the same container, or of no container */
	UT_hash_handle hh;
};

/* Cgroups by id. */
struct top_names {
	/* result for free(); NULL: not known */
	char *(*cgroup_path)(void *arg, unsigned long long id);
	void *arg;                          /* of cgroup_path */
	struct container_names *containers; /* NULL: names are not looked up */
	struct top_name *list;              /* in the order of lookups */
	bool by_file; /* rows are of files, so key.by[1] is an inode and no behalf */
};

/* The names of cgroup @id, or NULL if out of memory. Valid until top_names_done(). */
const struct top_name *top_names_find(struct top_names *names, uint64_t id);

void top_names_done(struct top_names *names);

/*
 * Adds up the intervals of a run, in up to TOP_TOTAL_ROWS rows.
 */

/* Most rows of operations, and of requests; further rows are left out and counted as lost
 * (map_full). */
enum { TOP_TOTAL_ROWS = 32768 };

struct top_total {
	struct rows rows;
	struct snapshot sum;  /* points into rows; owns only its list of threads */
	struct stacks stacks; /* only sums; sum.stacks, if intervals have stacks */
};

/* Adds an interval; t->sum is valid until the next. Returns 0 or -ENOMEM. */
int top_total_add(struct top_total *t, const struct snapshot *sn);

void top_total_done(struct top_total *t);

#endif
