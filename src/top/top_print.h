/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_print.h - an interval of top as text, and as one line of JSON: a contract for other programs.
 * Members are added, never renamed, removed or given another meaning.
 */
#ifndef IOSTRATA_TOP_TOP_PRINT_H
#define IOSTRATA_TOP_TOP_PRINT_H

#include "top/top_columns.h"
#include "top/top_list.h"

struct top_json {
	enum top_view view;
	struct top_names *names;
	const char *kernel;
	uint64_t until_ns; /* when the interval ended, since 1970 */
	const struct missing *missing;
};

extern const struct schema top_schema;

/* Writes the line and flushes. Returns 0 or -errno. */
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

/* Prints and flushes. Returns 0 or -errno (-ENOMEM, or of a failed write). */
int top_text(FILE *f, const struct top_text *v, const struct snapshot *sn);

#endif
