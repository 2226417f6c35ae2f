/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * print.h - an interval of top as one line of JSON, schema "iostrata.top/1", and as text.
 *
 * A contract for other programs: members are added, never renamed, removed or given another
 * meaning.
 *
 *	schema, kernel, time (seconds since 1970), duration_ns
 *	by		the kind of key of a row: pid, tid, comm, file, dev, cgroup, container
 *	rows		requests: a row per key, disk, operation and on_behalf: pid, tid, comm,
 *			cgroup, container, file, key (of the kind "by", as text; null: nobody, or no
 *			file), dev ("8:0"), major, minor, disk, op (as blkparse: R W F D ...),
 *			on_behalf (why the request counts for the key, which did not submit it:
 *			"writeback", "helper"; null: the key submitted it), count, errors, bytes,
 *			total_ns (sum of the next three), tag_ns, queue_ns, device_ns, max_ns and
 *			p99_ns (of the total)
 *	ops		operations on files: a row per key and kind: pid, tid, comm, cgroup,
 *			container, file, key, op, count, errors, bytes, total_ns, max_ns, p99_ns,
 *			strata
 *	missing		figures that could not be measured: names of strata, "requests", "calls",
 *			"uring", "aio", "fault"
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
	uint64_t until_ns; /* when the interval ended, since 1970 */
	const struct missing *missing;
};

/* Writes the line and flushes. 0 or -errno. */
int top_json(FILE *f, const struct top_json *v, const struct snapshot *sn);

/*
 * A table for each interval, as biotop(8) prints it.
 */

struct top_text {
	enum top_view view;
	struct top_names *names;
	const char *head; /* the first line; safe */
	const char *gone; /* targets of filters (processes, disks, cgroups) that are gone; "" or
			     NULL: none */
	const char *sort; /* name of one of top_columns_text() */
	uint64_t max_rows;
	int width;
	bool uncut; /* paths are not cut to the width */
	bool clear; /* clear the terminal first */
	const struct missing *missing;
};

/* Prints and flushes. 0 or -errno (-ENOMEM, or of a failed write). */
int top_text(FILE *f, const struct top_text *v, const struct snapshot *sn);

#endif
