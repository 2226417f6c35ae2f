/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * list.h - which rows of a table are shown, and in what order; and lines about all of them.
 */
#ifndef IOSTRATA_TOP_LIST_H
#define IOSTRATA_TOP_LIST_H

#include "top/columns.h"

struct top_order {
	const struct column *by; /* of the table's columns */
	bool reverse;            /* smallest first */
	const char *filter;      /* rows with this text in their name; NULL: all */
};

/* Rows of a table, which owns them; the list must be freed. Marked rows come first. */
struct top_list {
	struct top_row **rows;
	size_t n;
};

/* 0 or -ENOMEM. */
int top_list_init(struct top_list *l, const struct top_figures *f, const struct top_order *order);
void top_list_done(struct top_list *l);

enum { TOP_LINE = 512 };

/* Sums up all rows of @sn in a line: operations and requests, by what they do. @per_second_of: as
 * in struct top_figures. The last sums are left out if they do not fit in @width columns. */
void top_sum_text(char dst[TOP_LINE], const struct snapshot *sn, uint64_t per_second_of,
		  size_t width);

/* What was charged to another than its submitter, or to nobody, what was lost, and what could not
 * be measured (@m); "" if there is nothing to say. Safe. */
void top_foot_text(char dst[TOP_LINE], enum top_view view, const struct snapshot *sn,
		   const struct missing *m);

#endif
