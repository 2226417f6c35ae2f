// SPDX-License-Identifier: GPL-2.0-only
#include "show/heat.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "show/screen.h"

/* Characters, so that no colour is needed; not more than an eye can tell apart. */
static const char shades[] = " .:-=+*#%@";

enum {
	SHADES = sizeof(shades) - 2, /* without the blank */
	LABEL = 8,                   /* columns of a row's latency */
};

static int row_of(uint64_t ns)
{
	int row = ns ? 63 - __builtin_clzll(ns) : 0;

	return row < HEAT_LOG2 ? row : HEAT_LOG2 - 1;
}

void heat_add(struct heat *h, const struct hist *more)
{
	uint64_t *column = h->counts[h->next];

	memset(column, 0, sizeof(h->counts[0]));
	for (unsigned int i = 0; i < more->n; i++)
		column[row_of(hist_low(more->bins[i].bucket))] += more->bins[i].count;
	h->next = (h->next + 1) % HEAT_COLUMNS;
	if (h->n < HEAT_COLUMNS)
		h->n++;
}

/* Makes columns twice as wide, and half as many. */
static void columns_merge(struct heat *h)
{
	for (int c = 0; c < HEAT_COLUMNS; c++) {
		for (int i = 0; i < HEAT_LOG2; i++) {
			uint64_t count = h->counts[c][i];

			h->counts[c][i] = 0;
			h->counts[c / 2][i] += count;
		}
	}
	h->column_ns *= 2;
	h->n = (h->n + 1) / 2;
}

void heat_add_at(struct heat *h, uint64_t at_ns, uint64_t took_ns)
{
	int column;

	if (!h->column_ns)
		h->column_ns = 1000000;
	while (at_ns / h->column_ns >= HEAT_COLUMNS)
		columns_merge(h);
	column = at_ns / h->column_ns;
	h->counts[column][row_of(took_ns)]++;
	h->n = column < h->n ? h->n : column + 1;
	h->next = h->n % HEAT_COLUMNS;
}

/* Count of times from 2^@low to below 2^(@low + @step) ns, @ago intervals before the last. */
static uint64_t count_at(const struct heat *h, int ago, int low, int step)
{
	const uint64_t *column = h->counts[(h->next + 2 * HEAT_COLUMNS - 1 - ago) % HEAT_COLUMNS];
	uint64_t sum = 0;

	for (int i = low; i < low + step && i < HEAT_LOG2; i++)
		sum += column[i];
	return sum;
}

/* The smallest and largest power of two with a count. Returns false if the map is empty. */
static bool range_of(const struct heat *h, int *ret_low, int *ret_high)
{
	int low = HEAT_LOG2, high = -1;

	for (int ago = 0; ago < h->n; ago++) {
		for (int i = 0; i < HEAT_LOG2; i++) {
			if (!count_at(h, ago, i, 1))
				continue;
			low = i < low ? i : low;
			high = i > high ? i : high;
		}
	}
	*ret_low = low;
	*ret_high = high;
	return high >= 0;
}

/* The shade goes by the logarithm of the count, since latencies have long tails. */
static char shade_of(uint64_t count, uint64_t most)
{
	int bits = count ? 64 - __builtin_clzll(count) : 0;
	int all = most ? 64 - __builtin_clzll(most) : 1;
	int shade = bits ? (bits * SHADES + all - 1) / all : 0;

	return shades[shade > SHADES ? SHADES : shade];
}

static uint64_t most_of(const struct heat *h, int low, int high, int step)
{
	uint64_t most = 0, count;

	for (int ago = 0; ago < h->n; ago++) {
		for (int i = low; i <= high; i += step) {
			count = count_at(h, ago, i, step);
			most = count > most ? count : most;
		}
	}
	return most;
}

bool heat_rows(const struct heat *h, int height, struct heat_rows *ret_rows)
{
	struct heat_rows r = { .step = 1 };

	if (height < 1 || !range_of(h, &r.low, &r.high))
		return false;
	while ((r.high - r.low) / r.step + 1 > height)
		r.step++;
	r.most = most_of(h, r.low, r.high, r.step);
	*ret_rows = r;
	return true;
}

/* Writes the row of latencies from 2^@low ns on as text, for the last @shown intervals. */
static void heat_row(const struct heat *h, const struct heat_rows *rows, int low, int shown,
		     char ret_line[HEAT_COLUMNS + 1])
{
	int ago;

	for (int c = 0; c < shown; c++) {
		ago = shown - 1 - c;
		ret_line[c] =
			ago < h->n ? shade_of(count_at(h, ago, low, rows->step), rows->most) : ' ';
	}
	ret_line[shown] = '\0';
}

void heat_draw(const struct heat *h, int y, int x, int width, int height)
{
	int shown = width - LABEL - 1;
	char line[HEAT_COLUMNS + 1];
	struct heat_rows r;

	if (shown < 1 || !heat_rows(h, height, &r))
		return;
	shown = shown < HEAT_COLUMNS ? shown : HEAT_COLUMNS;
	for (int i = r.low + (r.high - r.low) / r.step * r.step; i >= r.low; i -= r.step, y++) {
		heat_row(h, &r, i, shown, line);
		screen_cell_right(y, x, LABEL, STYLE_DIM, text_ns(1ULL << i).s);
		screen_put(y, x + LABEL + 1, shown, STYLE_SHARE + SHARE_DEVICE, line);
	}
}

/* Extends the map to @end_ns; columns without events stay empty. */
static void columns_reach(struct heat *h, uint64_t end_ns)
{
	int n;

	while (end_ns / h->column_ns >= HEAT_COLUMNS)
		columns_merge(h);
	n = (end_ns + h->column_ns - 1) / h->column_ns;
	h->n = n > h->n ? n : h->n;
	h->next = h->n % HEAT_COLUMNS;
}

int heat_text(FILE *f, struct heat *h, const char *title, uint64_t end_ns)
{
	struct text_num end = text_ns(end_ns);
	struct text_out o = { .f = f };
	char line[HEAT_COLUMNS + 1];
	struct heat_rows r = {};
	int len = strlen(end.s);

	if (!h->column_ns) {
		text_put(&o, "%s: none\n\n", title);
		return text_end(&o);
	}
	columns_reach(h, end_ns);
	heat_rows(h, HEAT_LOG2, &r); /* the map is not empty */
	text_put(&o, "%s: each column is %s; the densest place has %s\n", title,
		 text_ns(h->column_ns).s, text_count(r.most).s);
	for (int i = r.high; i >= r.low; i -= r.step) {
		heat_row(h, &r, i, h->n, line);
		text_put(&o, "%*s |%s\n", LABEL, text_ns(1ULL << i).s, line);
	}
	text_put(&o, "%*s 0", LABEL, "");
	text_fill(&o, ' ', h->n > len + 4 ? h->n - len : 4);
	text_put(&o, "%s\n\n", end.s);
	return text_end(&o);
}
