/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * heat.h - latencies as a map: time across, latency up, darker where there are more of them. For
 * the page of a row in top, and for report --heat.
 */
#ifndef IOSTRATA_HEAT_H
#define IOSTRATA_HEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hist.h"

enum {
	HEAT_COLUMNS = 60, /* intervals that are kept */
	HEAT_LOG2 = 42,    /* rows by power of two of ns */
};

struct heat {
	uint64_t counts[HEAT_COLUMNS][HEAT_LOG2];
	int n;              /* intervals so far, HEAT_COLUMNS at most */
	int next;           /* where the next one goes */
	uint64_t column_ns; /* of heat_add_at() */
};

/* Adds an interval; when all are in use, replaces the oldest. */
void heat_add(struct heat *h, const struct hist *more);

/* Adds what took @took_ns and ended @at_ns after the beginning. Columns get wider as the time gets
 * longer, so that none is replaced; do not mix with heat_add(). */
void heat_add_at(struct heat *h, uint64_t at_ns, uint64_t took_ns);

/* The rows of a map: powers of two from the smallest to the largest that counts anything, grouped
 * if there are too many. */
struct heat_rows {
	int low, high, step;
	uint64_t most; /* the largest count in any place */
};

/* Divides @h into at most @height rows. False: it counts nothing. */
bool heat_rows(const struct heat *h, int height, struct heat_rows *ret_rows);

/* The row of latencies from 2^@low ns on, as a text of the last @shown intervals. */
void heat_row(const struct heat *h, const struct heat_rows *rows, int low, int shown,
	      char ret_line[HEAT_COLUMNS + 1]);

/* Draws the last @width intervals in at most @height lines from line @y, column @x on. */
void heat_draw(const struct heat *h, int y, int x, int width, int height);

/* Writes the map of heat_add_at() as text from the beginning to @end_ns, what it is of above it and
 * the time below. Columns get as wide as that takes. 0 or -errno. */
int heat_text(FILE *f, struct heat *h, const char *title, uint64_t end_ns);

#endif
