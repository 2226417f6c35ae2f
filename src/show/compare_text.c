// SPDX-License-Identifier: GPL-2.0-only
/* compare_text.c - a comparison for people, in 80 columns; see compare.h. */
#include "show/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"

enum {
	WIDTH = 80,
	BAR = 11,       /* columns on each side of a bar's axis */
	LONE_SHOWN = 5, /* of each side, without detail */
};

struct text_view {
	struct text_out out;
	const struct compare_view *v;
	const struct compare *c;
};

static const char *paint(const struct text_view *t, const char *sgr)
{
	return t->v->color ? sgr : "";
}

#define GREY  "\033[90m"
#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

/* Writes raw text in lines of WIDTH. */
static void put_wrapped(struct text_view *t, const char *raw, int indent)
{
	size_t cap = TEXT_SAFE_CAP(raw ? strlen(raw) : 0);
	char *safe = raw ? malloc(cap) : NULL;

	if (!safe) {
		t->out.err = t->out.err ? t->out.err : -ENOMEM;
		return;
	}
	text_safe(safe, cap, raw);
	text_wrap_whole(&t->out, safe, 0, indent, WIDTH);
	free(safe);
}

/* Writes raw text that is ours to free. */
static void put_owned(struct text_view *t, char *raw)
{
	put_wrapped(t, raw, 2);
	free(raw);
}

static void put_side(struct text_view *t, enum compare_side side)
{
	static const char *const names[] = { "base ", "new " }, *const parts[] = { "before ",
										   "after " };
	const struct series *run = &t->c->runs[side][0];
	uint64_t ops = 0, requests = 0;
	size_t n = t->c->n_runs[side];
	char more[40] = "", *text;

	for (size_t i = 0; i < n; i++) {
		ops += t->c->runs[side][i].ops;
		requests += t->c->runs[side][i].requests;
	}
	if (n > 1)
		snprintf(more, sizeof(more), " and %zu more", n - 1);
	if (asprintf(&text, "%s%s%s%s: %s, %s operation%s, %s request%s", names[side],
		     t->v->at ? parts[side] : "", t->v->at ? t->v->at : run->name, more,
		     text_ns(t->c->duration_ns[side]).s, text_count(ops).s, text_plural(ops),
		     text_count(requests).s, text_plural(requests)) < 0)
		text = NULL;
	put_owned(t, text);
}

static void put_change(struct text_view *t)
{
	const struct compare_change *ch = &t->c->change;
	char *text;

	if (!ch->known || ch->total_ns[BASE] == ch->total_ns[NEW])
		return;
	if (asprintf(&text,
		     "Time in operations%s: %s -> %s, %s (%s: %s operations; %s: different kinds; "
		     "%s: %s each).",
		     t->c->n_runs[BASE] + t->c->n_runs[NEW] > 2 ? " of a run" : "",
		     text_ns(ch->total_ns[BASE]).s, text_ns(ch->total_ns[NEW]).s,
		     compare_signed_ns(ch->total_ns[NEW] - ch->total_ns[BASE]).s,
		     compare_signed_ns(ch->more_ns).s, ch->more_ns < 0 ? "fewer" : "more",
		     compare_signed_ns(ch->mix_ns).s, compare_signed_ns(ch->slower_ns).s,
		     ch->slower_ns < 0 ? "faster" : "slower") < 0)
		text = NULL;
	put_owned(t, text);
}

/* A figure as it is shown. */
static struct text_num value_text(const struct compare_row *row, enum figure f,
				  enum compare_side side)
{
	double v = row->figures[f].value[side];
	struct text_num t;

	switch (f) {
	case FIG_COUNT:
		return text_count(llround(v));
	case FIG_RATE:
		return text_rate(llround(v * 1000), 1000000000000);
	case FIG_MEAN:
		return text_ns(row->mean_ns[side]);
	case FIG_BYTES:
		return text_bytes(llround(v));
	case FIG_BESIDE:
	case FIG_DEPTH:
		snprintf(t.s, sizeof(t.s), v < 1e6 ? "%.2f" : "%.3g", v);
		return t;
	default:
		return text_ns(f >= FIG_STRATA ? row->strata_ns[side][f - FIG_STRATA]
					       : (uint64_t)llround(v));
	}
}

/* The difference as it is shown: in the same unit as the figure. */
static struct text_num difference_text(const struct compare_row *row, enum figure f)
{
	double d = row->figures[f].value[NEW] - row->figures[f].value[BASE];
	struct compare_row apart = { .key = row->key };
	struct text_num size, t;

	if (f == FIG_MEAN || f == FIG_TOTAL || f >= FIG_STRATA || (f >= FIG_P50 && f <= FIG_P999))
		return compare_signed_ns(compare_difference(row, f));
	apart.figures[f].value[NEW] = fabs(d);
	size = value_text(&apart, f, NEW);
	snprintf(t.s, sizeof(t.s), "%s%.20s", d < 0 ? "-" : d > 0 ? "+" : "", size.s);
	return t;
}

static const char *label(const struct compare_row *row, enum figure f)
{
	static const char *const labels[FIG_STRATA] = {
		[FIG_COUNT] = "count", [FIG_RATE] = "rate",        [FIG_MEAN] = "mean",
		[FIG_P50] = "p50",     [FIG_P99] = "p99",          [FIG_P999] = "p99.9",
		[FIG_TOTAL] = "total", [FIG_BYTES] = "bytes each", [FIG_DEPTH] = "queue depth",
	};

	if (f == FIG_BESIDE)
		return row->key->is_request ? "merges each" : "requests each";
	return f < FIG_STRATA ? labels[f] : stratum_label(f - FIG_STRATA);
}

/* "+14 to +21 %" of base: where the difference is with 95 % confidence. */
static void interval_text(char dst[24], const struct compare_figure *f)
{
	double d = f->value[NEW] - f->value[BASE], half = compare_half(f), base = f->value[BASE];
	double low = (d - half) / base * 100, high = (d + half) / base * 100;
	int digits = fabs(low) < 9.95 && fabs(high) < 9.95 ? 1 : 0;

	if (!f->tested || base <= 0 || fabs(low) > 99999 || fabs(high) > 99999)
		strcpy(dst, "-");
	else if (fabs(low) >= 999.5 || fabs(high) >= 999.5)
		snprintf(dst, 24, "%+.0f to %+.0f x", low / 100, high / 100);
	else
		snprintf(dst, 24, "%+.*f to %+.*f %%", digits, low, digits, high);
}

/* The difference itself, in 8 columns; more than tenfold: "+47 x". */
static struct text_num part_text(const struct compare_figure *f)
{
	double d = f->value[NEW] - f->value[BASE], base = f->value[BASE];
	struct text_num t;

	if (base <= 0 || fabs(d) < 9.995 * base)
		return compare_percent(d, base);
	snprintf(t.s, sizeof(t.s), fabs(d) < 99999 * base ? "%+.0f x" : "%+.0e x", d / base);
	return t;
}

static void put_figure(struct text_view *t, const struct compare_row *row, enum figure f)
{
	const struct compare_figure *v = &row->figures[f];
	char interval[24];

	interval_text(interval, v);
	text_put(&t->out, "%s  %-13s%10s%10s%11s%9s%15s %8s%s\n", v->sure ? "" : paint(t, GREY),
		 label(row, f), value_text(row, f, BASE).s, value_text(row, f, NEW).s,
		 difference_text(row, f).s, part_text(v).s, interval, compare_verdict(t->c, v),
		 v->sure ? "" : paint(t, PLAIN));
}

/* A difference to the left or to the right of an axis. */
static void bar_text(char dst[2 * BAR + 2], int64_t ns, uint64_t largest)
{
	int n = largest ? lround((double)(ns < 0 ? -ns : ns) * BAR / largest) : 0;

	memset(dst, ' ', 2 * BAR + 1);
	dst[BAR] = '|';
	dst[2 * BAR + 1] = '\0';
	memset(ns < 0 ? dst + BAR - n : dst + BAR + 1, '#', n);
}

static void put_stratum(struct text_view *t, const struct compare_row *row, enum figure f,
			uint64_t largest)
{
	const struct compare_figure *v = &row->figures[f];
	int64_t ns = compare_difference(row, f);
	char bar[2 * BAR + 2];

	bar_text(bar, ns, largest);
	text_put(&t->out, "%s  %-13s%10s%10s%11s %s %8s%s\n", v->sure ? "" : paint(t, GREY),
		 label(row, f), value_text(row, f, BASE).s, value_text(row, f, NEW).s,
		 compare_signed_ns(ns).s, bar, compare_verdict(t->c, v),
		 v->sure ? "" : paint(t, PLAIN));
}

static uint64_t size_of(int64_t ns)
{
	return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

static void put_strata(struct text_view *t, const struct compare_row *row)
{
	uint64_t largest = 0, size;

	for (int f = FIG_STRATA; f < FIG_N; f++) {
		size = size_of(compare_difference(row, f));
		largest = size > largest ? size : largest;
	}
	for (int f = FIG_STRATA; f < FIG_N; f++)
		if (row->strata_ns[BASE][f - FIG_STRATA] || row->strata_ns[NEW][f - FIG_STRATA])
			put_stratum(t, row, f, largest);
	text_put(&t->out, "  %-13s%10s%10s%11s\n", "sum", text_ns(row->mean_ns[BASE]).s,
		 text_ns(row->mean_ns[NEW]).s,
		 compare_signed_ns(compare_difference(row, FIG_MEAN)).s);
}

static bool any_sure(const struct compare_row *row)
{
	for (int f = 0; f < FIG_N; f++)
		if (row->figures[f].sure)
			return true;
	return false;
}

/* The name of a row, and its share of how all totals have changed. */
static void put_title(struct text_view *t, const struct compare_row *row)
{
	char name[COMPARE_NAME], safe[TEXT_SAFE_CAP(COMPARE_NAME)], fit[256];

	compare_name(name, sizeof(name), row->key);
	text_safe(safe, sizeof(safe), name);
	text_fit(fit, sizeof(fit), safe, WIDTH, TEXT_CUT_MIDDLE);
	text_put(&t->out, "%s%s%s\n", paint(t, BOLD), fit, paint(t, PLAIN));
}

/* Whether a figure is shown of rows that are sure: those of the sizes only where they say more. */
static bool is_shown(const struct compare_view *v, const struct compare_row *row, enum figure f)
{
	if (f == FIG_LOAD || !row->figures[f].known)
		return false;
	return v->detail || row->key->is_request || row->figures[f].sure ||
	       (f != FIG_BYTES && f != FIG_BESIDE);
}

static void put_row(struct text_view *t, const struct compare_row *row)
{
	put_title(t, row);
	if (!t->v->detail && !any_sure(row)) {
		put_figure(t, row, FIG_MEAN);
		return;
	}
	for (int f = 0; f < FIG_STRATA; f++)
		if (is_shown(t->v, row, f))
			put_figure(t, row, f);
	put_strata(t, row);
}

static void put_rows(struct text_view *t, size_t first, size_t end)
{
	size_t shown = end - first < t->v->rows_max ? end : first + t->v->rows_max;

	if (first == end)
		return;
	text_put(&t->out, "\n%-15s%10s%10s%11s%9s%15s\n", first ? "requests" : "operations", "base",
		 "new", "change", "of base", "95 % between");
	for (size_t i = first; i < shown; i++)
		put_row(t, &t->c->rows[i]);
	if (shown < end)
		text_put(&t->out, "%zu more row%s; a larger -n shows them\n", end - shown,
			 text_plural(end - shown));
}

static void put_lone(struct text_view *t, enum compare_side side)
{
	size_t n = 0, shown = t->v->detail ? SIZE_MAX : LONE_SHOWN;
	char name[COMPARE_NAME], *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < t->c->n_lone && f; i++) {
		const struct compare_lone *l = &t->c->lone[i];

		if (l->side != side || n++ >= shown)
			continue;
		compare_name(name, sizeof(name), l->key);
		fprintf(f, "%s%s (%s, %s)",
			n > 1          ? ", "
			: side == BASE ? "Only in base: "
				       : "Only in new: ",
			name, text_count(l->count).s, text_ns(l->total_ns).s);
	}
	if (f && n > shown)
		fprintf(f, " and %zu more; -v shows them", n - shown);
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	if (n)
		text_put(&t->out, "\n");
	if (n || !f)
		put_owned(t, text);
	else
		free(text);
}

static void put_limits(struct text_view *t)
{
	static const char *const states[] = {
		[FAIL_IF_ABSENT] = "not judged: no such row is on both sides",
		[FAIL_IF_FEW] = "not judged: there are too few",
		[FAIL_IF_HELD] = "held",
		[FAIL_IF_FAILED] = "FAILED",
	};
	char name[COMPARE_NAME], *text;

	for (size_t i = 0; i < t->v->n_limits; i++) {
		const struct fail_if *l = &t->v->limits[i];

		if (l->row)
			compare_name(name, sizeof(name), l->row->key);
		if (asprintf(&text, "%s: %s%s%s", l->text, states[l->state], l->row ? ", " : "",
			     l->row ? name : "") < 0)
			text = NULL;
		put_owned(t, text);
	}
}

int compare_text(FILE *f, const struct compare_view *v)
{
	struct text_view t = { .out = { .f = f }, .v = v, .c = v->c };
	char *doubt;

	for (size_t i = 0; i < t.c->n_doubts; i++)
		put_owned(&t, asprintf(&doubt, "doubtful: %s", t.c->doubts[i]) < 0 ? NULL : doubt);
	put_owned(&t, compare_answer(t.c));
	text_put(&t.out, "\n");
	put_side(&t, BASE);
	put_side(&t, NEW);
	put_owned(&t, compare_how(t.c));
	put_change(&t);
	put_limits(&t);
	put_rows(&t, 0, t.c->n_ops);
	put_rows(&t, t.c->n_ops, t.c->n_rows);
	put_lone(&t, BASE);
	put_lone(&t, NEW);
	return text_end(&t.out);
}
