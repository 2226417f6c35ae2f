// SPDX-License-Identifier: GPL-2.0-only
/*
 * hist_text.c - folds the log-linear buckets into powers of two and prints them.
 */
#include "show/hist_text.h"

#include <string.h>

enum {
	ROWS = HIST_MAX_LOG2 + 1,
	FIXED_COLUMNS = 39,	/* of a line, without the bar */
	BAR_LEAST = 1,
	BAR_MOST = 60,		/* even on wide terminals */
};

/* Row r counts what is in [2^r, 2^(r+1)); row 0 also counts 0. */
static void fold(const struct hist *h, uint64_t rows[ROWS])
{
	for (int i = 0; i < ROWS; i++)
		rows[i] = 0;
	for (unsigned int i = 0; i < h->n; i++)
		rows[hist_log2(hist_low(h->bins[i].bucket) | 1)] += h->bins[i].count;
}

static struct text_num time_text(uint64_t ns, bool milliseconds)
{
	return milliseconds ? text_ms(ns) : text_ns(ns);
}

static void put_row(struct text_out *o, int row, uint64_t count, uint64_t most, uint64_t max_ns,
		    bool ms, int bar)
{
	uint64_t low = row ? 1ULL << row : 0, end = 2ULL << row;
	int stars = (double)count * bar / most + 0.5;

	if (row == ROWS - 1 && max_ns > end)
		end = max_ns;
	text_put(o, "  %8s -> %-8s : %11s |", time_text(low, ms).s, time_text(end, ms).s,
		 text_count(count).s);
	text_fill(o, '*', stars);
	text_fill(o, ' ', bar - stars);
	text_put(o, "|\n");
}

void hist_put(struct text_out *o, const struct hist *h, uint64_t max_ns, bool milliseconds,
	      int width)
{
	uint64_t rows[ROWS], most = 0;
	int first = ROWS, last = -1, bar = width - FIXED_COLUMNS;

	fold(h, rows);
	for (int i = 0; i < ROWS; i++) {
		if (!rows[i])
			continue;
		first = first < i ? first : i;
		last = i;
		most = most > rows[i] ? most : rows[i];
	}
	if (last < 0)
		return;
	bar = bar < BAR_LEAST ? BAR_LEAST : bar > BAR_MOST ? BAR_MOST : bar;
	text_put(o, "  %8s    %-8s   %11s%s\n", "from", milliseconds ? "to (ms)" : "to", "count",
		 bar < (int)strlen("distribution") ? "" : "  distribution");
	for (int i = first; i <= last; i++)
		put_row(o, i, rows[i], most, max_ns, milliseconds, bar);
}
