/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * heat.h - a latency heat map: time across, latency up, darker where there are more events. For the
 * page of a row in top, and for report --heat.
 */
#ifndef IOSTRATA_SHOW_HEAT_H
#define IOSTRATA_SHOW_HEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hist.h"

enum {
	HEAT_COLUMNS = 60, /* intervals kept */
	HEAT_LOG2 = 42,    /* one row for each power of two of ns */
};

struct heat {
	uint64_t counts[HEAT_COLUMNS][HEAT_LOG2];
	int n;              /* intervals so far, HEAT_COLUMNS at most */
	int next;           /* index of the next interval */
	uint64_t column_ns; /* width of a column; only heat_add_at() uses it */
};

/* Adds an interval; when all columns are in use, replaces the oldest. */
void heat_add(struct heat *h, const struct hist *more);

/* Adds an event that took @took_ns and ended @at_ns after the beginning. Columns get wider with
 * time, so none is replaced. Do not mix with heat_add(). */
void heat_add_at(struct heat *h, uint64_t at_ns, uint64_t took_ns);

/* The rows of a map: from the smallest to the largest power of two with a count, grouped if there
 * are too many. */
struct heat_rows {
	int low, high, step;
	uint64_t most; /* largest count of one cell */
};

/* Divides @h into at most @height rows. Returns false if the map is empty. */
bool heat_rows(const struct heat *h, int height, struct heat_rows *ret_rows);

/* Draws the last @width intervals in at most @height lines from line @y, column @x on. */
void heat_draw(const struct heat *h, int y, int x, int width, int height);

/* Writes the map of heat_add_at() as text from the beginning to @end_ns, with @title above and the
 * time below. Widens the columns until @end_ns fits. Returns 0 or -errno. */
int heat_text(FILE *f, struct heat *h, const char *title, uint64_t end_ns);

#endif
