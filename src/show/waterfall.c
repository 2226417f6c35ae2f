// SPDX-License-Identifier: GPL-2.0-only
/*
 * waterfall.c - bars of strata; see waterfall.h.
 */
#include "waterfall.h"

#include <string.h>

#include "names.h"

enum {
	NAME_COLUMNS = 10,
	FIXED_COLUMNS = 2 + NAME_COLUMNS + 1 + 1 + 7 + 1 + 10,	/* of a line, all but the bar */
};

int view_width(const struct breakdown_view *v)
{
	return v->width > 80 ? v->width : 80;
}

struct text_num view_cell(const struct breakdown_view *v, uint64_t ns)
{
	return v->milliseconds ? text_ms(ns) : text_ns(ns);
}

struct text_num view_time(const struct breakdown_view *v, uint64_t ns)
{
	struct text_num t = view_cell(v, ns);

	if (v->milliseconds)
		strcat(t.s, " ms");
	return t;
}

const char *view_paint(const struct breakdown_view *v, enum paint p)
{
	static const char *const sgr[] = { "\033[0m",  "\033[1m",  "\033[32m", "\033[33m",
					   "\033[34m", "\033[35m", "\033[36m" };

	return v->color ? sgr[p] : "";
}

static enum paint stratum_paint(int st)
{
	static const enum paint paints[ST_N] = {
		PAINT_CPU,	/* syscall */
		PAINT_CPU,	/* vfs */
		PAINT_CPU,	/* fs */
		PAINT_QUEUE,	/* throttle */
		PAINT_QUEUE,	/* tag */
		PAINT_QUEUE,	/* queue */
		PAINT_DEVICE,	/* device */
		PAINT_DEVICE,	/* complete */
		PAINT_RUNQ,	/* runq */
		PAINT_RUNQ,	/* preempt */
		PAINT_OTHER,	/* helper */
		PAINT_OTHER,	/* sleep */
	};

	return paints[st];
}

static int scale(uint64_t part, uint64_t whole, int columns)
{
	double at = whole ? (double)part * columns / whole + 0.5 : 0;

	return at < columns ? at : columns;
}

/* A bar from @from to @to of @total; what is too small for a column is a dot. */
static void put_bar(struct text_out *o, uint64_t from, uint64_t to, uint64_t total, int columns)
{
	int begin = scale(from, total, columns), end = scale(to, total, columns);

	if (begin == columns)
		begin--;
	text_fill(o, ' ', begin);
	text_fill(o, '#', end - begin);
	if (end <= begin) {
		text_put(o, ".");
		end = begin + 1;
	}
	text_fill(o, ' ', columns - end);
}

/* Name of a stratum in its column; that of the file system for ST_FS. */
static void put_name(struct text_out *o, const char *fs, int st)
{
	char safe[TEXT_SAFE_CAP(FS_NAME_LEN)], fit[sizeof(safe)];
	int cols;

	text_safe_n(safe, sizeof(safe), fs, strnlen(fs, FS_NAME_LEN));
	cols = text_fit(fit, sizeof(fit), st == ST_FS && *safe ? safe : stratum_name(st),
			NAME_COLUMNS, TEXT_CUT_TAIL);
	text_put(o, "  %s", fit);
	text_fill(o, ' ', NAME_COLUMNS + 1 - cols);
}

static void put_stratum(struct text_out *o, const struct breakdown_view *v,
			const struct waterfall *w, int st, uint64_t before)
{
	uint64_t ns = w->strata[st], from = w->stairs ? before : 0;

	put_name(o, w->fs, st);
	text_put(o, "%s", view_paint(v, stratum_paint(st)));
	put_bar(o, from, from + ns, w->total_ns, view_width(v) - FIXED_COLUMNS);
	text_put(o, "%s %7s %10s\n", view_paint(v, PAINT_OFF), text_percent(ns, w->total_ns).s,
		 view_time(v, ns / w->count).s);
}

static void put_sum(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w,
		    uint64_t sum)
{
	int bar = view_width(v) - FIXED_COLUMNS;
	char text[96];

	if (sum == w->total_ns)
		snprintf(text, sizeof(text), "= total %s", view_time(v, sum).s);
	else
		snprintf(text, sizeof(text), "%s, but total %s", view_time(v, sum).s,
			 view_time(v, w->total_ns).s);
	text_put(o, "  %-*s %-*s %7s %10s\n", NAME_COLUMNS, "sum", bar, text,
		 text_percent(sum, w->total_ns).s, view_time(v, sum / w->count).s);
}

void waterfall_put(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w)
{
	uint64_t sum = 0;

	if (!w->count)
		return;
	for (int st = 0; st < ST_N; st++) {
		if (w->strata[st])
			put_stratum(o, v, w, st, sum);
		sum += w->strata[st];
	}
	put_sum(o, v, w, sum);
}
