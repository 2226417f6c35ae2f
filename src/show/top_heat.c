// SPDX-License-Identifier: GPL-2.0-only
#include "show/top_heat.h"

#include <string.h>

#include "base/text.h"
#include "show/screen.h"

/* As many steps as can be told apart; characters, so that no colour is needed. */
static const char shades[] = " .:-=+*#%@";

enum { SHADES = sizeof(shades) - 2, LABEL = 8 };

void top_heat_add(struct top_heat *h, const struct hist *more)
{
	uint64_t *column = h->counts[h->next];

	memset(column, 0, sizeof(h->counts[0]));
	for (unsigned int i = 0; i < more->n; i++) {
		uint64_t low = hist_low(more->bins[i].bucket);
		int row = low ? 63 - __builtin_clzll(low) : 0;

		column[row < HEAT_LOG2 ? row : HEAT_LOG2 - 1] += more->bins[i].count;
	}
	h->next = (h->next + 1) % HEAT_COLUMNS;
	if (h->n < HEAT_COLUMNS)
		h->n++;
}

/* How many took 2^@low to below 2^(@low + @step) ns, in the interval @ago intervals ago. */
static uint64_t count_at(const struct top_heat *h, int ago, int low, int step)
{
	const uint64_t *column = h->counts[(h->next + 2 * HEAT_COLUMNS - 1 - ago) % HEAT_COLUMNS];
	uint64_t sum = 0;

	for (int i = low; i < low + step && i < HEAT_LOG2; i++)
		sum += column[i];
	return sum;
}

/* The smallest and largest power of two that counts anything. False: none does. */
static bool range_of(const struct top_heat *h, int *ret_low, int *ret_high)
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

/* By its logarithm, since latencies have long tails. */
static char shade_of(uint64_t count, uint64_t most)
{
	int bits = count ? 64 - __builtin_clzll(count) : 0;
	int all = most ? 64 - __builtin_clzll(most) : 1;
	int shade = bits ? (bits * SHADES + all - 1) / all : 0;

	return shades[shade > SHADES ? SHADES : shade];
}

static uint64_t most_of(const struct top_heat *h, int low, int high, int step)
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

void top_heat_draw(const struct top_heat *h, int y, int x, int width, int height)
{
	int low, high, step = 1, shown = width - LABEL - 1;
	uint64_t most;

	if (height < 1 || shown < 1 || !range_of(h, &low, &high))
		return;
	while ((high - low) / step + 1 > height)
		step++;
	most = most_of(h, low, high, step);
	shown = shown < HEAT_COLUMNS ? shown : HEAT_COLUMNS;
	for (int i = low + (high - low) / step * step; i >= low; i -= step, y++) {
		char line[HEAT_COLUMNS + 1];

		for (int c = 0; c < shown; c++) {
			int ago = shown - 1 - c;

			line[c] = ago < h->n ? shade_of(count_at(h, ago, i, step), most) : ' ';
		}
		line[shown] = '\0';
		screen_cell(y, x, LABEL, true, STYLE_DIM, text_ns(1ULL << i).s);
		screen_put(y, x + LABEL + 1, shown, STYLE_DEVICE, line);
	}
}
