/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_heat.h - latencies of the last intervals as a map: time across, latency up, darker where
 * there are more of them.
 */
#ifndef IOSTRATA_TOP_HEAT_H
#define IOSTRATA_TOP_HEAT_H

#include "base/hist.h"

enum {
	HEAT_COLUMNS = 60,	/* intervals that are kept */
	HEAT_LOG2 = 42,		/* rows by power of two of ns */
};

struct top_heat {
	uint64_t counts[HEAT_COLUMNS][HEAT_LOG2];
	int n;			/* intervals so far, HEAT_COLUMNS at most */
	int next;		/* where the next one goes */
};

/* Adds an interval; when all are in use, replaces the oldest. */
void top_heat_add(struct top_heat *h, const struct hist *more);

/* Draws the last @width intervals in at most @height lines from line @y, column @x on: powers of
 * two from the smallest to the largest that counts anything, grouped if there are too many. */
void top_heat_draw(const struct top_heat *h, int y, int x, int width, int height);

#endif
