// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/fail_if.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_runs.h"
#include "analyse/stats.h"
#include "base/names.h"
#include "base/reason.h"

enum { WORDS = 4, WORD = 64 };

#define LEVEL 0.05 /* a broken or a held limit is wrong in at most so many comparisons */

static int invalid(const char *text, const char *what, struct reason *why)
{
	reason_set(why, EXIT_USAGE, "invalid value '%.60s' for --fail-if: %s", text, what);
	return reason_hint(why,
			   "an operation, any, request or all; a figure (mean, p50, p99, p99.9, "
			   "total, count, rate, bytes, requests, a stratum; of all: total, nowait, "
			   "count); a change: 'fsync p99 +10%%'");
}

/* "+10%", "-5%", "+2.5%", "+0%". Returns false if it is no such thing, or less than nothing. */
static bool share_parse(const char *text, struct fail_if *limit)
{
	char *end;

	if ((text[0] != '+' && text[0] != '-') || text[1] < '0' || text[1] > '9' ||
	    strspn(text + 1, "0123456789.") + 2 != strlen(text))
		return false;
	limit->share = strtod(text, &end) / 100;
	limit->less = text[0] == '-';
	return !strcmp(end, "%") && limit->share > -1;
}

struct figure_name {
	const char *name;
	int which;
};

static bool name_find(const struct figure_name *names, size_t n, const char *text, int *ret_which)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(names[i].name, text) != 0)
			continue;
		*ret_which = names[i].which;
		return true;
	}
	return false;
}

static bool figure_parse(const char *text, struct fail_if *limit)
{
	static const struct figure_name of_rows[] = {
		{ "mean", FIG_MEAN },   { "p50", FIG_P50 },         { "p99", FIG_P99 },
		{ "p99.9", FIG_P999 },  { "rate", FIG_RATE },       { "total", FIG_TOTAL },
		{ "count", FIG_COUNT }, { "requests", FIG_BESIDE }, { "bytes", FIG_BYTES },
	};
	static const struct figure_name of_whole[] = { { "total", WHOLE_TIME },
						       { "nowait", WHOLE_NOWAIT },
						       { "count", WHOLE_COUNT } };

	if (limit->whole)
		return name_find(of_whole, sizeof(of_whole) / sizeof(*of_whole), text,
				 &limit->which);
	for (int st = 0; st < ST_N; st++) {
		if (strcmp(stratum_name(st), text) != 0)
			continue;
		limit->which = FIG_STRATA + st;
		return true;
	}
	return name_find(of_rows, sizeof(of_rows) / sizeof(*of_rows), text, &limit->which);
}

static bool is_kind(const char *text)
{
	return op_called(text) || !strcmp(text, "any") || !strcmp(text, "request") ||
	       !strcmp(text, "all");
}

/* Words between blanks. Returns how many; more than WORDS: too many, or one is too long. */
static int words_of(const char *text, char words[WORDS][WORD])
{
	size_t len;
	int n = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		len = strcspn(text, " ");
		if (n == WORDS || len >= WORD)
			return WORDS + 1;
		memcpy(words[n], text, len);
		words[n++][len] = '\0';
		text += len;
	}
	return n;
}

int fail_if_parse(const char *text, struct fail_if *ret_limit, struct reason *why)
{
	struct fail_if limit = { .text = text, .what = "any" };
	char words[WORDS][WORD];
	int n = words_of(text, words);

	if (n > WORDS)
		return invalid(text, "too many words", why);
	if (n < 2)
		return invalid(text, "a figure and a change at least", why);
	if (!share_parse(words[n - 1], &limit))
		return invalid(text, "the change is like +10% or -5%", why);
	limit.whole = n > 2 && !strcmp(words[0], "all");
	if (!figure_parse(words[n - 2], &limit))
		return invalid(text, "no such figure", why);
	if (n > 2 && !is_kind(words[0]))
		return invalid(text, "no such operation", why);
	if (n > 3 && limit.whole)
		return invalid(text, "all has no file system", why);
	if (n > 2)
		snprintf(limit.what, sizeof(limit.what), "%.31s", words[0]);
	if (n > 3)
		memcpy(limit.where, words[1], WORD);
	*ret_limit = limit;
	return 0;
}

static bool is_meant(const struct fail_if *limit, const struct series_key *key, unsigned int kind)
{
	if (limit->where[0] && strcmp(limit->where, key->where) != 0)
		return false;
	if (key->is_request)
		return !strcmp(limit->what, "request") && limit->which != FIG_BESIDE;
	return !strcmp(limit->what, "any") || !strcmp(limit->what, op_name(kind));
}

/* Whether a change is beyond the limit. */
static bool is_beyond(const struct fail_if *limit, double base, double new)
{
	double edge = base * (1 + limit->share);

	return limit->less ? new < edge : new > edge;
}

static bool is_number(const struct fail_if *limit)
{
	if (limit->whole)
		return limit->which == WHOLE_COUNT;
	return limit->which == FIG_COUNT || limit->which == FIG_BYTES || limit->which == FIG_BESIDE;
}

static enum fail_if_state state_of(bool broken)
{
	return broken ? FAIL_IF_BROKEN : FAIL_IF_HELD;
}

/* The least number of runs a side that would decide, or 0 if they are too many. */
static unsigned int runs_needed(const struct compare_figure *f, double away)
{
	double one = f->error / sqrt(1.0 / f->runs[BASE] + 1.0 / f->runs[NEW]), df;

	for (unsigned int n = COMPARE_RUNS; n <= COMPARE_RUNS_MOST; n++) {
		df = 2 * n - 2;
		if (one * sqrt(2.0 / n) *
			    (stats_t_beyond(2 * LEVEL, df) +
			     stats_t_beyond(2 * (1 - COMPARE_POWER), df)) <=
		    away)
			return n;
	}
	return 0;
}

/* Where the change is, with errors for one of @rows rows that may be broken by chance. */
static void range_judge(const struct fail_if *limit, unsigned int rows, struct fail_if_result *r)
{
	const struct compare_figure *f = &r->figure;
	double edge = log1p(limit->share),
	       broken = f->error * stats_t_beyond(2 * LEVEL / rows, f->df);
	double held = f->error * stats_t_beyond(2 * LEVEL, f->df);

	r->way = FAIL_IF_BY_TEST;
	r->low = f->change - (limit->less ? held : broken);
	r->high = f->change + (limit->less ? broken : held);
	if (limit->less ? r->high < edge : r->low > edge)
		r->state = FAIL_IF_BROKEN;
	else if (limit->less ? r->low > edge : r->high < edge)
		r->state = FAIL_IF_HELD;
	else
		r->runs_needed = runs_needed(f, fabs(f->change - edge));
}

/* Judges r->figure, of one of @rows rows. */
static void figure_judge(const struct fail_if *limit, const struct compare *c, unsigned int rows,
			 struct fail_if_result *r)
{
	const struct compare_figure *f = &r->figure;

	r->state = FAIL_IF_UNDECIDED;
	r->way = FAIL_IF_BY_NOTHING;
	if (f->constant && is_number(limit) && !compare_is_estimated(c, r->key)) {
		r->way = FAIL_IF_BY_VALUES;
		r->state = state_of(is_beyond(limit, f->typical[BASE], f->typical[NEW]));
	} else if (f->tested) {
		range_judge(limit, rows, r);
	}
}

/* With too few runs for a test, a number is what was counted. */
static void counted_judge(const struct fail_if *limit, const struct compare *c, double base,
			  double new, struct fail_if_result *r)
{
	bool is_count = limit->which == (limit->whole ? (int)WHOLE_COUNT : (int)FIG_COUNT);

	r->state = FAIL_IF_UNDECIDED;
	r->way = FAIL_IF_BY_NOTHING;
	if (!is_count || compare_is_estimated(c, r->key))
		return;
	r->figure.typical[BASE] = base;
	r->figure.typical[NEW] = new;
	r->way = FAIL_IF_AS_COUNTED;
	r->state = state_of(is_beyond(limit, base, new));
}

/* How far the change is beyond the limit, in the direction of the limit. */
static double excess(const struct fail_if *limit, const struct fail_if_result *r)
{
	return limit->less ? -r->figure.change : r->figure.change;
}

/* Keeps the result that decides: broken before undecided before held; then the largest change. A
 * row without a test decides only if no other row does. */
static void result_keep(struct fail_if *limit, const struct fail_if_result *r)
{
	bool was_few = limit->result.way == FAIL_IF_BY_NOTHING;
	bool is_few = r->way == FAIL_IF_BY_NOTHING;

	limit->few += is_few;
	if (limit->result.state != FAIL_IF_ABSENT && is_few)
		return;
	if (limit->result.state == FAIL_IF_ABSENT || was_few || r->state > limit->result.state ||
	    (r->state == limit->result.state && excess(limit, r) > excess(limit, &limit->result)))
		limit->result = *r;
}

/* Judges the row of @key. Returns 0 or -ENOMEM. */
static int row_judge(struct fail_if *limit, const struct compare *c, const struct series_key *key,
		     const double number[SIDES])
{
	struct fail_if_result r = { .key = key };
	struct compare_numbers numbers;
	struct compare_values v;

	if (!compare_is_between_runs(c)) {
		counted_judge(limit, c, number[BASE], number[NEW], &r);
		result_keep(limit, &r);
		return 0;
	}
	if (compare_values_fill(c, key, &v))
		return -ENOMEM;
	numbers = compare_numbers_of(&v, limit->which);
	r.figure.known = true;
	compare_test(c, &numbers, &r.figure);
	figure_judge(limit, c, limit->rows, &r);
	compare_values_done(&v);
	result_keep(limit, &r);
	return 0;
}

static void whole_judge(struct fail_if *limit, const struct compare *c)
{
	struct fail_if_result r = { .figure = c->whole[limit->which] };
	const struct compare_figure *f = &r.figure;

	limit->rows = 1;
	if (compare_is_between_runs(c))
		figure_judge(limit, c, 1, &r);
	else
		counted_judge(limit, c, f->typical[BASE], f->typical[NEW], &r);
	result_keep(limit, &r);
}

/* Whether a row of one side only is judged: its number on the other side is 0. */
static bool is_lone_meant(const struct fail_if *limit, const struct compare_lone *l)
{
	return limit->which == FIG_COUNT && is_meant(limit, l->key, l->kind);
}

static int rows_judge(struct fail_if *limit, const struct compare *c)
{
	int err = 0;

	for (size_t i = 0; i < c->n_rows && !err; i++) {
		const struct compare_row *row = &c->rows[i];
		const double number[SIDES] = { (double)row->count[BASE] / c->n_runs[BASE],
					       (double)row->count[NEW] / c->n_runs[NEW] };

		if (is_meant(limit, row->key, row->kind) && row->figures[limit->which].known)
			err = row_judge(limit, c, row->key, number);
	}
	for (size_t i = 0; i < c->n_lone && !err; i++) {
		const struct compare_lone *l = &c->lone[i];
		double number[SIDES] = {};

		number[l->side] = (double)l->count / c->n_runs[l->side];
		if (is_lone_meant(limit, l))
			err = row_judge(limit, c, l->key, number);
	}
	return err;
}

int fail_if_judge(struct fail_if *limit, const struct compare *c)
{
	limit->result = (struct fail_if_result){};
	limit->rows = limit->few = 0;
	if (limit->whole) {
		whole_judge(limit, c);
		return 0;
	}
	for (size_t i = 0; i < c->n_rows; i++)
		limit->rows += is_meant(limit, c->rows[i].key, c->rows[i].kind) &&
			       c->rows[i].figures[limit->which].known;
	for (size_t i = 0; i < c->n_lone; i++)
		limit->rows += is_lone_meant(limit, &c->lone[i]);
	return rows_judge(limit, c);
}

double fail_if_holds(const struct fail_if *limit)
{
	return expm1(limit->less ? limit->result.low : limit->result.high);
}
