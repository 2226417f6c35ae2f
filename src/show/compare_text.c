// SPDX-License-Identifier: GPL-2.0-only
/* compare_text.c - a comparison for people, in 80 columns; see compare.h. */
#include "show/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_told(const struct compare_figure *f)
{
	return f->verdict >= VERDICT_DRIFT;
}

/* "+27.5 % to +95.9 %" */
static void interval_text(char dst[48], const struct compare_figure *f)
{
	struct compare_ratios r;

	dst[0] = '\0';
	if (!f->tested || !compare_has_ratio(f))
		return;
	r = compare_ratios(f);
	snprintf(dst, 48, "%.20s to %.20s", compare_ratio(r.low).s, compare_ratio(r.high).s);
}

/* The values of a figure that are shown: of a typical run, if runs are compared. */
static double shown(const struct text_view *t, const struct compare_figure *f,
		    enum compare_side side)
{
	return compare_is_between_runs(t->c) && f->tested ? f->typical[side] : f->value[side];
}

static struct text_num change_text(const struct text_view *t, const struct compare_figure *f)
{
	double base = shown(t, f, BASE), new = shown(t, f, NEW);

	return compare_percent(new - base, base);
}

static void put_line(struct text_view *t, const char *label, const struct text_num *values,
		     const struct compare_figure *f)
{
	char interval[48];

	interval_text(interval, f);
	text_put(&t->out, "%s  %-13s%10s%10s%10s", is_told(f) ? "" : paint(t, GREY), label,
		 values[BASE].s, values[NEW].s, change_text(t, f).s);
	if (t->c->method != COMPARE_NONE)
		text_put(&t->out, " %23s %10s", interval, compare_verdict(f));
	text_put(&t->out, "%s\n", is_told(f) ? "" : paint(t, PLAIN));
}

static void put_figure(struct text_view *t, const struct compare_row *row, enum figure f)
{
	const struct compare_figure *v = &row->figures[f];
	const struct text_num values[SIDES] = { compare_value(f, shown(t, v, BASE)),
						compare_value(f, shown(t, v, NEW)) };

	put_line(t, compare_label(row->key, f), values, v);
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

static int64_t stratum_difference(const struct text_view *t, const struct compare_figure *f)
{
	return llround(shown(t, f, NEW)) - llround(shown(t, f, BASE));
}

static void put_stratum(struct text_view *t, const struct compare_row *row, enum figure f,
			uint64_t largest)
{
	const struct compare_figure *v = &row->figures[f];
	int64_t ns = stratum_difference(t, v);
	char bar[2 * BAR + 2];

	bar_text(bar, ns, largest);
	text_put(&t->out, "%s  %-13s%10s%10s%10s %s", is_told(v) ? "" : paint(t, GREY),
		 compare_label(row->key, f), text_ns(llround(shown(t, v, BASE))).s,
		 text_ns(llround(shown(t, v, NEW))).s, compare_signed_ns(ns).s, bar);
	if (t->c->method != COMPARE_NONE)
		text_put(&t->out, " %10s", compare_verdict(v));
	text_put(&t->out, "%s\n", is_told(v) ? "" : paint(t, PLAIN));
}

static uint64_t size_of(int64_t ns)
{
	return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

static void put_strata(struct text_view *t, const struct compare_row *row)
{
	uint64_t largest = 0, size;

	for (int f = FIG_STRATA; f < FIG_N; f++) {
		size = size_of(stratum_difference(t, &row->figures[f]));
		largest = row->figures[f].known && size > largest ? size : largest;
	}
	for (int f = FIG_STRATA; f < FIG_N; f++) {
		const struct compare_figure *v = &row->figures[f];

		if (v->known && (is_told(v) || (t->v->detail && (v->value[BASE] || v->value[NEW]))))
			put_stratum(t, row, f, largest);
	}
}

static bool row_is_told(const struct compare_row *row)
{
	for (int f = 0; f < FIG_N; f++)
		if (is_told(&row->figures[f]))
			return true;
	return false;
}

/* ": -9.68 s a run, 83 % of the change" */
static void gain_text(char dst[80], const struct text_view *t, const struct compare_row *row)
{
	const struct compare_change *ch = &t->c->change;
	int64_t gain = row->total_ns[NEW] - row->total_ns[BASE];
	int64_t all = ch->total_ns[NEW] - ch->total_ns[BASE];

	dst[0] = '\0';
	if (t->c->parts)
		return;
	if (row->key->is_request || !ch->known || !all)
		snprintf(dst, 80, ": %s a run", compare_signed_ns(gain).s);
	else
		snprintf(dst, 80, ": %s a run, %.0f %% of the change", compare_signed_ns(gain).s,
			 fmax(-999, fmin(999, round(100.0 * gain / all))) + 0.0);
}

/* The name of a row, and its part in how the time of a run has changed. */
static void put_title(struct text_view *t, const struct compare_row *row)
{
	char name[COMPARE_NAME], safe[TEXT_SAFE_CAP(COMPARE_NAME)], fit[256], gain[80];

	compare_name(name, sizeof(name), row->key);
	text_safe(safe, sizeof(safe), name);
	gain_text(gain, t, row);
	text_fit(fit, sizeof(fit), safe, WIDTH - (int)strlen(gain), TEXT_CUT_MIDDLE);
	text_put(&t->out, "%s%s%s%s\n", paint(t, BOLD), fit, paint(t, PLAIN), gain);
}

/* Whether a figure is shown: without detail, what is told, and of runs that are not judged the
 * number and the mean. */
static bool is_shown(const struct text_view *t, const struct compare_row *row, enum figure f)
{
	enum figure number = compare_is_of_commands(t->c) ? FIG_COUNT : FIG_RATE;

	if (!row->figures[f].known)
		return false;
	if (t->v->detail || is_told(&row->figures[f]))
		return true;
	return t->c->method == COMPARE_NONE && (f == number || f == FIG_MEAN);
}

static void put_row(struct text_view *t, const struct compare_row *row)
{
	put_title(t, row);
	for (int f = 0; f < FIG_STRATA; f++)
		if (is_shown(t, row, f))
			put_figure(t, row, f);
	put_strata(t, row);
}

static void put_head(struct text_view *t, const char *title)
{
	text_put(&t->out, "\n%-15s%10s%10s%10s%s\n", title, "base", "new", "change",
		 t->c->method == COMPARE_NONE ? "" : "            95 % between");
}

/* The figures of a whole run. */
static void put_whole(struct text_view *t)
{
	put_head(t, t->c->whole_is_of_requests ? "all requests" : "all operations");
	for (int w = 0; w < WHOLE_N; w++) {
		static const char *const labels[] = { "time", "less CPU wait", "number" };
		const struct compare_figure *f = &t->c->whole[w];
		const struct text_num values[SIDES] = {
			compare_whole_value(t->c, w, f->typical[BASE]),
			compare_whole_value(t->c, w, f->typical[NEW])
		};

		if (f->known)
			put_line(t, labels[w], values, f);
	}
}

static void put_rows(struct text_view *t, size_t first, size_t end)
{
	uint64_t n = 0;

	for (size_t i = first; i < end; i++) {
		if (!t->v->detail && t->c->method != COMPARE_NONE && !row_is_told(&t->c->rows[i]))
			continue;
		if (!n)
			put_head(t, first ? "requests" : "operations");
		if (n++ < t->v->rows_max)
			put_row(t, &t->c->rows[i]);
	}
	if (n > t->v->rows_max)
		text_put(&t->out, "%llu more row%s; a larger -n shows them\n",
			 (unsigned long long)(n - t->v->rows_max), text_plural(n - t->v->rows_max));
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
	for (size_t i = 0; i < t->v->n_limits; i++)
		put_owned(t, compare_limit(t->c, &t->v->limits[i]));
}

/* Writes the lines of the answer. */
static void put_answer(struct text_view *t)
{
	char *answer = compare_answer(t->c), *rest = answer, *line;

	if (!answer)
		t->out.err = t->out.err ? t->out.err : -ENOMEM;
	while (rest) {
		line = strsep(&rest, "\n");
		put_wrapped(t, line, 2);
	}
	free(answer);
}

/* Rows that are not shown, and how many of these are too small to be judged. */
static void put_hidden(struct text_view *t)
{
	enum figure number = compare_is_of_commands(t->c) ? FIG_COUNT : FIG_RATE;
	size_t n = 0, small = 0;

	for (size_t i = 0; i < t->c->n_rows; i++) {
		const struct compare_row *row = &t->c->rows[i];
		const struct compare_figure *f = &row->figures[number];

		if (row_is_told(row))
			continue;
		n++;
		small += f->tested && f->verdict == VERDICT_NONE;
	}
	if (!n || t->v->detail || t->c->method == COMPARE_NONE)
		return;
	text_put(&t->out, "\n%zu row%s without a shown difference; -v shows all figures\n", n,
		 text_plural(n));
	if (small)
		text_put(&t->out, "%zu of these %s below 1 %% of a run: %s number is not judged\n",
			 small, small == 1 ? "is" : "are", small == 1 ? "its" : "their");
}

int compare_text(FILE *f, const struct compare_view *v)
{
	struct text_view t = { .out = { .f = f }, .v = v, .c = v->c };
	char *doubt;

	for (size_t i = 0; i < t.c->n_doubts; i++)
		put_owned(&t, asprintf(&doubt, "doubtful: %s", t.c->doubts[i]) < 0 ? NULL : doubt);
	put_answer(&t);
	put_limits(&t);
	text_put(&t.out, "\n");
	put_side(&t, BASE);
	put_side(&t, NEW);
	put_owned(&t, compare_how(t.c));
	if (v->detail || !compare_is_between_runs(t.c))
		put_change(&t);
	if (compare_is_between_runs(t.c))
		put_whole(&t);
	put_rows(&t, 0, t.c->n_ops);
	put_rows(&t, t.c->n_ops, t.c->n_rows);
	put_hidden(&t);
	put_lone(&t, BASE);
	put_lone(&t, NEW);
	return text_end(&t.out);
}
