/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * columns.h - the columns of top: what a row of a table shows. The text, the screen, the
 * members of JSON and the sort keys come from here.
 */
#ifndef IOSTRATA_TOP_COLUMNS_H
#define IOSTRATA_TOP_COLUMNS_H

#include "base/columns.h"
#include "top/table.h"

enum { TOP_COLUMNS_MAX = 24 };

/* What the figures of a table are of; the context of all columns. */
struct top_figures {
	struct top_table *table; /* percentiles are computed on demand */
	uint64_t per_second_of;  /* ns: counts and bytes per second. 0: as they are */
};

/* @n things in an interval as the figures have them; @per_second_of as above. */
uint64_t top_per_second(uint64_t per_second_of, uint64_t n);

struct top_columns {
	struct column list[TOP_COLUMNS_MAX];
};

/* The figures of both sides. */
extern const struct column top_figure_columns[];

/* The columns of a row with both sides, for the screen: its key and the figures. */
struct top_columns top_columns_whole(enum top_view view);

/* The columns of biotop(8), for a table of requests; and that of requests called @sort, if it is
 * none of them. */
struct top_columns top_columns_text(enum top_view view, const char *sort);

/* Members of JSON, the same in all views; those that a view does not have are unknown. */
extern const struct column top_json_requests[], top_json_ops[];

/* The name of a row, hostile: for a process, its name; else the view's key. */
const char *top_row_name(enum top_view view, const struct top_row *r);

#endif
