// SPDX-License-Identifier: GPL-2.0-only
#include "show/waterfall.h"

#include <string.h>

#include "base/names.h"
#include "show/view_text.h"

enum {
	NAME_COLUMNS = 13,
	FIXED_COLUMNS = NAME_COLUMNS + 1 + 7 + 1 + 10 + 2,	/* of a line, without the bar */
	BAR_COLUMNS = 40,	/* even on wide terminals: longer bars say no more */
};

static enum paint stratum_paint(int st)
{
	static const enum paint paints[ST_N] = {
		[ST_SYSCALL] = PAINT_CPU,    [ST_VFS] = PAINT_CPU,	   [ST_FS] = PAINT_CPU,
		[ST_THROTTLE] = PAINT_QUEUE, [ST_TAG] = PAINT_QUEUE,	   [ST_QUEUE] = PAINT_QUEUE,
		[ST_DEVICE] = PAINT_DEVICE,  [ST_COMPLETE] = PAINT_DEVICE, [ST_RUNQ] = PAINT_RUNQ,
		[ST_PREEMPT] = PAINT_RUNQ,   [ST_HELPER] = PAINT_OTHER,	   [ST_SLEEP] = PAINT_OTHER,
	};

	return paints[st];
}

/* A share too small for a column is a dot. */
static void put_bar(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w,
		    uint64_t ns)
{
	int columns = view_width(v) - w->indent - FIXED_COLUMNS;
	double length;

	columns = columns < BAR_COLUMNS ? columns : BAR_COLUMNS;
	length = w->total_ns ? (double)ns * columns / w->total_ns + 0.5 : 0;
	if (length < 1 && columns > 0)
		text_put(o, ".");
	else
		text_fill(o, '#', length < columns ? length : columns);
}

/* Name of a stratum in its column; for ST_FS, that of the file system. */
static void put_name(struct text_out *o, const char *fs, int st)
{
	char safe[TEXT_SAFE_CAP(FS_NAME_LEN)], fit[sizeof(safe)];
	int cols;

	text_safe_n(safe, sizeof(safe), fs, strnlen(fs, FS_NAME_LEN));
	cols = text_fit(fit, sizeof(fit), st == ST_FS && *safe ? safe : stratum_label(st),
			NAME_COLUMNS, TEXT_CUT_TAIL);
	text_put(o, "%s", fit);
	text_fill(o, ' ', NAME_COLUMNS + 1 - cols);
}

static void put_stratum(struct text_out *o, const struct breakdown_view *v,
			const struct waterfall *w, int st)
{
	uint64_t ns = w->strata[st];

	put_name(o, w->fs, st);
	text_put(o, "%7s %10s  %s", text_percent(ns, w->total_ns).s, view_time(v, ns / w->count).s,
		 view_paint(v, stratum_paint(st)));
	put_bar(o, v, w, ns);
	text_put(o, "%s\n", view_paint(v, PAINT_OFF));
}

static void put_sum(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w)
{
	char text[128], fit[128];
	uint64_t sum = 0;

	for (int st = 0; st < ST_N; st++)
		sum += w->strata[st];
	snprintf(text, sizeof(text), "%-*s %7s %10s  = total %s%s%s", NAME_COLUMNS, "sum",
		 text_percent(sum, w->total_ns).s, view_time(v, sum / w->count).s,
		 view_time(v, sum).s, sum == w->total_ns ? "" : ", but was ",
		 sum == w->total_ns ? "" : view_time(v, w->total_ns).s);
	text_fit(fit, sizeof(fit), text, view_cut(v) - w->indent, TEXT_CUT_TAIL);
	text_put(o, "%s\n", fit);
}

/* The strata without a line of their own. */
static void put_rest(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w,
		     const int *list, int n)
{
	char text[256], fit[256];
	uint64_t sum = 0;
	int len = 0;

	for (int i = 0; i < n; i++) {
		sum += w->strata[list[i]];
		len += snprintf(text + len, sizeof(text) - len, "%s%s %.1f", i ? ", " : "",
				stratum_label(list[i]), 100.0 * w->strata[list[i]] / w->total_ns);
	}
	text_fit(fit, sizeof(fit), text, view_cut(v) - w->indent - FIXED_COLUMNS, TEXT_CUT_TAIL);
	text_put(o, "%-*s %7s %10s  %s\n", NAME_COLUMNS, "other", text_percent(sum, w->total_ns).s,
		 view_time(v, sum / w->count).s, fit);
}

/* The strata that are not 0; with @by_size, biggest first. Returns how many. */
static int strata_list(const uint64_t *strata, bool by_size, int list[ST_N])
{
	int n = 0, at;

	for (int st = 0; st < ST_N; st++) {
		if (!strata[st])
			continue;
		for (at = n++; by_size && at > 0 && strata[list[at - 1]] < strata[st]; at--)
			list[at] = list[at - 1];
		list[at] = st;
	}
	return n;
}

void waterfall_put(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w)
{
	int list[ST_N], n = strata_list(w->strata, w->lines || w->by_size, list);
	int lines = w->lines && n > w->lines ? w->lines - 1 : n, at = w->at;

	if (!w->count)
		return;
	for (int i = 0; i < lines; i++, at = 0) {
		text_fill(o, ' ', w->indent - at);
		put_stratum(o, v, w, list[i]);
	}
	text_fill(o, ' ', lines < n || !w->lines ? w->indent - at : 0);
	if (lines < n)
		put_rest(o, v, w, list + lines, n - lines);
	else if (!w->lines)
		put_sum(o, v, w);
}
