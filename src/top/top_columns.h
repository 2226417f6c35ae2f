/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_columns.h - the columns of top. The text, the screen, the members of JSON and the sort keys
 * all come from here.
 */
#ifndef IOSTRATA_TOP_TOP_COLUMNS_H
#define IOSTRATA_TOP_TOP_COLUMNS_H

#include "base/columns.h"
#include "top/top_table.h"

enum { TOP_COLUMNS_MAX = 24 }; /* the empty last one included */

/* The table and the unit of its figures: .ctx of all columns. */
struct top_figures {
	struct top_table *table; /* not const: percentiles are computed on demand */
	uint64_t per_second_of;  /* ns; counts and bytes are divided by this time. 0: as they are */
};

/* @n as the figures have it: per second, or with @per_second_of 0 as it is. */
uint64_t top_per_second(uint64_t per_second_of, uint64_t n);

struct top_columns {
	struct column list[TOP_COLUMNS_MAX];
};

/* The figures of operations and requests. */
extern const struct column top_figure_columns[];

/* The figures of operations, by function, line or library. */
extern const struct column top_caller_columns[];

/* How busy a disk is: with --by dev. */
extern const struct column top_disk_columns[];

/* The columns of the screen: the key of @view, and the figures of operations and requests. */
struct top_columns top_columns_whole(enum top_view view);

/* The columns of biotop(8), for a table of requests; and the column of requests called @sort, if
 * biotop has none. Of callers, the figures of operations. */
struct top_columns top_columns_text(enum top_view view, const char *sort);

/* Members of JSON, the same in all views; null where the view does not have them. */
extern const struct column top_json_requests[], top_json_ops[];

/* The column that sorts rows of @view if the user names none. */
const char *top_sort_usual(enum top_view view);

/* The name of a row, hostile: the name of a process or thread, else the key of @view. */
const char *top_row_name(enum top_view view, const struct top_row *r);

#endif
