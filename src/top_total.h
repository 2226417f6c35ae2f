/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_total.h - adds up the intervals of a run, in up to TOP_TOTAL_ROWS rows.
 */
#ifndef IOSTRATA_TOP_TOTAL_H
#define IOSTRATA_TOP_TOTAL_H

#include "base/snapshot.h"

/* Of each kind; further rows are left out and counted as lost (map_full). */
enum { TOP_TOTAL_ROWS = 32768 };

struct top_total {
	struct rows rows;
	struct snapshot sum;	/* points into rows; owns only its list of tasks */
};

/* Adds an interval; t->sum is valid until the next. 0 or -ENOMEM. */
int top_total_add(struct top_total *t, const struct snapshot *sn);

void top_total_done(struct top_total *t);

#endif
