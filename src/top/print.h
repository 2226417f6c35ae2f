/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * print.h - an interval of top as one line of JSON, schema "iostrata.top/1".
 *
 * Others rely on it: members are added, never renamed, removed or given another meaning.
 *
 *	schema, kernel, time (seconds since 1970), duration_ns
 *	by		what a row stands for: pid, tid, comm, file, dev, cgroup, container
 *	rows		requests: a row per key, disk, operation and on_behalf: pid, tid, comm,
 *			cgroup, container, file, key (what "by" asks for, as text; null: nobody,
 *			or of no file), dev ("8:0"), major, minor, disk, op (as blkparse:
 *			R W F D ...), on_behalf (why it is charged to another than its submitter:
 *			"writeback", "helper"; null: it is not), count, errors, bytes, total_ns
 *			(sum of the next three), tag_ns, queue_ns, device_ns, max_ns and p99_ns (of
 *			the total)
 *	ops		operations on files: a row per key and kind: pid, tid, comm, cgroup,
 *			container, file, key, op, count, errors, bytes, total_ns, max_ns, p99_ns,
 *			strata
 *	missing		names of what could not be measured: strata, "requests", "calls"
 *	lost		as in breakdown
 *
 * Members of the key that "by" does not determine are null. Times are in ns. Text is as in
 * breakdown.
 */
#ifndef IOSTRATA_TOP_PRINT_H
#define IOSTRATA_TOP_PRINT_H

#include "top/columns.h"
#include "top/list.h"

struct top_json {
	enum top_view view;
	struct top_names *names;
	const char *kernel;
	uint64_t time_s;
	const struct missing *missing;
};

/* Writes the line and flushes. 0 or -errno. */
int top_json(FILE *f, const struct top_json *v, const struct snapshot *sn);

/*
 * Who makes the I/O, as biotop(8) prints it: a table for each interval.
 */

struct top_text {
	enum top_view view;
	struct top_names *names;
	const char *head; /* the first line; safe */
	const char *gone; /* filter targets that are gone; "" or NULL: none; safe */
	const char *sort; /* name of one of top_columns_text() */
	uint64_t max_rows;
	int width;
	bool uncut; /* no path is cut to fit into it */
	bool clear; /* the terminal, before the first line */
	const struct missing *missing;
};

/* Prints and flushes. 0 or -errno (-ENOMEM, or of a failed write). */
int top_text(FILE *f, const struct top_text *v, const struct snapshot *sn);

#endif
