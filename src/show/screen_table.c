// SPDX-License-Identifier: GPL-2.0-only
#include "show/screen_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void screen_table(int y, const struct columns *t, const void *const *rows, size_t n,
		  enum screen_style (*style)(const void *ctx, size_t i), const void *ctx)
{
	char *text = NULL, *save, *line;
	struct text_out o = {};
	size_t len;

	o.f = open_memstream(&text, &len);
	if (!o.f)
		return;
	columns_text(&o, t, rows, n);
	fclose(o.f);
	line = text ? strtok_r(text, "\n", &save) : NULL;
	screen_cell(y++, 0, screen_width(), false, STYLE_TITLES, line ? line : "");
	for (size_t i = 0; line && (line = strtok_r(NULL, "\n", &save)); i++)
		screen_cell(y++, 0, screen_width(), false, style ? style(ctx, i) : STYLE_NORMAL,
			    line);
	free(text);
}

/* 1, 2, 5, 10 ... times a tenth of a second, up to a minute. */
static const uint64_t intervals_ms[] = { 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000 };

enum { INTERVALS = sizeof(intervals_ms) / sizeof(*intervals_ms) };

uint64_t interval_faster(uint64_t interval_ns)
{
	for (int i = INTERVALS - 1; i >= 0; i--)
		if (intervals_ms[i] * NS_PER_MS < interval_ns)
			return intervals_ms[i] * NS_PER_MS;
	return interval_ns;
}

uint64_t interval_slower(uint64_t interval_ns)
{
	for (int i = 0; i < INTERVALS; i++)
		if (intervals_ms[i] * NS_PER_MS > interval_ns)
			return intervals_ms[i] * NS_PER_MS;
	return interval_ns;
}
