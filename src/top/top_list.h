/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_list.h - the shown rows of a table, and their order; and the lines of text about all rows.
 */
#ifndef IOSTRATA_TOP_TOP_LIST_H
#define IOSTRATA_TOP_TOP_LIST_H

#include "top/top_columns.h"

struct top_order {
	const struct column *by; /* one of the table's columns */
	bool reverse;            /* smallest first */
	const char *filter; /* only rows with this text in name, ids, disk or cgroup; NULL: all */
};

/* Rows of a table. The table owns them; top_list_done() frees the list. Pinned rows come first. */
struct top_list {
	struct top_row **rows;
	size_t n;
};

/* Returns 0 or -ENOMEM. */
int top_list_init(struct top_list *l, const struct top_figures *f, const struct top_order *order);
void top_list_done(struct top_list *l);

enum { TOP_LINE = 512 }; /* bytes of a line of text, NUL included */

/* Writes the sums of all rows of @sn as a line: operations, requests by operation, and the busiest
 * disk.
 * @per_second_of: as in struct top_figures. Leaves out the last figures if the line is wider than
 * @width. */
void top_sum_text(char dst[TOP_LINE], const struct snapshot *sn, uint64_t per_second_of,
		  size_t width);

/* Leaves out the last figures of @text if the text is wider than @width: " ..." stands for them.
 * Commas or semicolons separate figures. */
void top_cut_figures(char *text, size_t width);

/* Writes how busy each disk was that had requests in progress; "" if none had, or the kernel does
 * not tell. Safe. */
void top_busy_text(char dst[TOP_LINE], const struct snapshot *sn);

/* Writes that figures of callers are estimates, with their error, and which stacks have no row. ""
 * if there is nothing to say. Safe. */
void top_stacks_text(char dst[TOP_LINE], const struct stacks *s);

/* Writes the line below a table: losses, bytes submitted by kernel threads for others, bytes of
 * unknown processes, and the figures missing (@m). "" if there is nothing to say. Safe. */
void top_foot_text(char dst[TOP_LINE], enum top_view view, const struct snapshot *sn,
		   const struct missing *m);

#endif
