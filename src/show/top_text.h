/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_text.h - who makes the I/O, as biotop(8) prints it: a table for each interval.
 */
#ifndef IOSTRATA_TOP_TEXT_H
#define IOSTRATA_TOP_TEXT_H

#include "show/top_list.h"

struct top_text {
	enum top_view view;
	struct top_names *names;
	const char *head;		/* the first line; safe */
	const char *gone;		/* filter targets that are gone; "" or NULL: none; safe */
	const char *sort;		/* name of one of top_columns_text() */
	uint64_t max_rows;
	int width;
	bool uncut;			/* no path is cut to fit into it */
	bool clear;			/* the terminal, before the first line */
	const struct missing *missing;
};

/* Prints and flushes. 0 or -errno (-ENOMEM, or of a failed write). */
int top_text(FILE *f, const struct top_text *v, const struct snapshot *sn);

#endif
