// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/compare_verdicts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_blocks.h"
#include "analyse/compare_runs.h"
#include "analyse/compare_sample.h"
#include "analyse/stats.h"

#define ROW_SHARE   0.01 /* smaller parts of a run are not judged */
#define LARGE_SHARE 0.1  /* of its row's mean: smaller strata are not judged */

enum { WORK_LEAST = 30 }; /* least number of operations in a run for a difference of work */
#define WORK_SHARE  0.1
#define WORK_ERRORS 4 /* standard errors, if events came at random */

/* Whether a figure exists for such a row and was measured on both sides. */
static bool is_known(const struct compare *c, const struct compare_row *row, enum figure f)
{
	bool is_part = f == FIG_STRATA + ST_TAG || f == FIG_STRATA + ST_QUEUE ||
		       f == FIG_STRATA + ST_DEVICE;

	if (f == FIG_DEPTH)
		return row->key->is_request;
	if (f < FIG_STRATA)
		return true;
	if (row->key->is_request)
		return is_part;
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			if (c->runs[side][i].strata_missing >> (f - FIG_STRATA) & 1)
				return false;
	return true;
}

/* The totals of a run: of operations, and of requests. */
struct run_sums {
	double count[2], total_ns[2];
};

/* A row's parts of its runs: means of the shares in each run. */
struct row_part {
	double count, total; /* shares */
	double number;       /* events of a run */
	bool has_bytes;
};

/* Adds what run @i of a side has of @key. */
static void part_add(const struct series *run, const struct series_key *key,
		     const struct run_sums *sums, double n, struct row_part *part)
{
	const struct series_row *row = compare_find(run, key);
	int which = key->is_request;

	for (unsigned int at = 0; row && at < run->intervals; at++) {
		const struct series_cell *cell = &row->cells[at];

		part->count += cell->count / sums->count[which] / n;
		if (sums->total_ns[which] > 0)
			part->total += cell->total_ns / sums->total_ns[which] / n;
		part->number += cell->count / n;
		part->has_bytes |= cell->bytes > 0;
	}
}

/* Everything that the choice of figures needs. */
struct judging {
	struct compare *c;
	struct run_sums *sums[SIDES]; /* of each run; owned */
	struct compare_figure **list; /* to be judged together; owned */
	size_t n, cap;
};

static void sums_of(const struct series *run, struct run_sums *ret_sums)
{
	*ret_sums = (struct run_sums){};
	for (size_t r = 0; r < run->n_rows; r++) {
		const struct series_row *row = &run->rows[r];

		for (unsigned int at = 0; at < run->intervals; at++) {
			ret_sums->count[row->key.is_request] += row->cells[at].count;
			ret_sums->total_ns[row->key.is_request] += row->cells[at].total_ns;
		}
	}
}

static struct row_part part_of(const struct judging *j, const struct series_key *key)
{
	const struct compare *c = j->c;
	struct row_part part = {};

	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			part_add(&c->runs[side][i], key, &j->sums[side][i],
				 c->n_runs[BASE] + c->n_runs[NEW], &part);
	return part;
}

static int list_add(struct judging *j, struct compare_figure *f)
{
	struct compare_figure **list = j->list;

	if (j->n == j->cap) {
		list = reallocarray(list, 2 * j->cap + 64, sizeof(struct compare_figure *));
		if (!list)
			return -ENOMEM;
		j->list = list;
		j->cap = 2 * j->cap + 64;
	}
	j->list[j->n++] = f;
	f->first = true;
	return 0;
}

/* The figure which tells how many there are: in a recording without a command a second, since its
 * length is no result. */
static enum figure number_figure(const struct compare *c)
{
	return compare_is_of_commands(c) ? FIG_COUNT : FIG_RATE;
}

static bool is_large_stratum(const struct compare_row *row, const struct compare_figure *f)
{
	return (f->typical[BASE] + f->typical[NEW]) / 2 + f->start >
	       LARGE_SHARE * row->typical_mean_ns;
}

/* Whether a figure of a row is judged together with all others. */
static bool is_first(const struct compare *c, const struct compare_row *row, enum figure f,
		     const struct row_part *part)
{
	if (!row->figures[f].tested)
		return false;
	if (f == number_figure(c))
		return part->count >= ROW_SHARE;
	if (part->number < COMPARE_EVENTS)
		return false;
	if (f == FIG_BYTES)
		return part->count >= ROW_SHARE && part->has_bytes;
	if (f == FIG_MEAN || f == FIG_P50)
		return part->total >= ROW_SHARE;
	return f >= FIG_STRATA && part->total >= ROW_SHARE &&
	       is_large_stratum(row, &row->figures[f]);
}

/* Whether a difference is worth telling. */
static bool is_worth(const struct compare_row *row, enum figure which,
		     const struct compare_figure *f)
{
	if (fabs(f->change) < log1p(COMPARE_LEAST))
		return false;
	return !row || which < FIG_STRATA ||
	       fabs(f->typical[NEW] - f->typical[BASE]) >= COMPARE_LEAST * row->typical_mean_ns;
}

static int row_test_runs(const struct compare *c, struct compare_row *row)
{
	struct compare_numbers numbers;
	struct compare_values v;

	if (compare_values_fill(c, row->key, &v))
		return -ENOMEM;
	row->typical_mean_ns = v.mean_ns;
	for (int f = 0; f < FIG_N; f++) {
		struct compare_figure *fig = &row->figures[f];

		for (int side = 0; side < SIDES; side++)
			fig->value[side] = v.sums[side][f];
		numbers = compare_numbers_of(&v, f);
		compare_test(c, &numbers, fig);
		fig->tested &= fig->known;
	}
	compare_values_done(&v);
	return 0;
}

static int row_test(struct judging *j, struct compare_row *row)
{
	const struct compare *c = j->c;
	struct row_part part = part_of(j, row->key);
	int err;

	for (int f = 0; f < FIG_N; f++)
		row->figures[f].known = is_known(c, row, f);
	err = c->method == COMPARE_BLOCKS ? compare_blocks_test(c, row) : row_test_runs(c, row);
	for (int f = 0; f < FIG_N && !err; f++)
		if (is_first(c, row, f, &part))
			err = list_add(j, &row->figures[f]);
	return err;
}

/* A key of one side: no run of the other has any. */
static int lone_test(struct judging *j, struct compare_lone *l)
{
	const struct compare *c = j->c;
	struct compare_numbers numbers;
	struct compare_values v;

	if (c->method == COMPARE_BLOCKS)
		return 0;
	if (compare_values_fill(c, l->key, &v))
		return -ENOMEM;
	l->number.known = true;
	for (int side = 0; side < SIDES; side++)
		l->number.value[side] = v.sums[side][number_figure(c)];
	numbers = compare_numbers_of(&v, number_figure(c));
	compare_test(c, &numbers, &l->number);
	compare_values_done(&v);
	if (l->number.tested && part_of(j, l->key).count >= ROW_SHARE)
		return list_add(j, &l->number);
	return 0;
}

/* Adjusts the probabilities of @n figures for one another. Returns 0 or -ENOMEM. */
static int adjust(struct compare_figure **list, size_t n)
{
	double *p = calloc(4 * n + 1, sizeof(*p)), *drift_p = p + n, *adjusted = p + 2 * n;
	int err = p ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		p[i] = list[i]->p;
		drift_p[i] = list[i]->drift_p;
	}
	if (!err)
		err = stats_holm(p, n, adjusted);
	if (!err)
		err = stats_holm(drift_p, n, adjusted + n);
	for (size_t i = 0; i < n && !err; i++) {
		list[i]->adjusted = adjusted[i];
		list[i]->drift_adjusted = adjusted[n + i];
	}
	free(p);
	return err;
}

/* The least adjusted probabilities of what has moved in a row; 1: nothing has. */
struct moved {
	double adjusted, drift_adjusted;
};

static struct moved moved(const struct compare_row *row)
{
	struct moved least = { 1, 1 };

	for (int i = 0; i < FIG_N; i++) {
		const struct compare_figure *f = &row->figures[i];

		if (!f->first || !is_worth(row, i, f))
			continue;
		least.adjusted = fmin(least.adjusted, f->adjusted);
		least.drift_adjusted = fmin(least.drift_adjusted, f->drift_adjusted);
	}
	return least;
}

/* The figures below what has moved: high percentiles, and requests each. */
static int row_second(struct compare *c, struct compare_row *row)
{
	static const enum figure below[] = { FIG_P99, FIG_P999, FIG_BESIDE };
	struct compare_figure *list[sizeof(below) / sizeof(*below)];
	struct moved least = moved(row);
	size_t n = 0;

	if (least.adjusted > COMPARE_LIKELY)
		return 0;
	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
		if (row->figures[below[i]].tested)
			list[n++] = &row->figures[below[i]];
	if (adjust(list, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i]->adjusted = fmax(list[i]->adjusted, least.adjusted);
		list[i]->drift_adjusted = fmax(list[i]->drift_adjusted, least.drift_adjusted);
		list[i]->verdict = VERDICT_NOT_SURE;
	}
	c->n_tests += n;
	return 0;
}

/* If one side was recorded after the other, a steady change over all runs looks like a difference.
 * Then the levels hold for the difference beyond such a change, too. */
static enum verdict verdict_of(const struct compare *c, const struct compare_figure *f)
{
	double adjusted = f->adjusted;

	if (c->method == COMPARE_BLOCKS)
		return adjusted <= COMPARE_SURE ? VERDICT_DIFFERS : VERDICT_NOT_SURE;
	if (adjusted > COMPARE_LIKELY)
		return VERDICT_NOT_SURE;
	if (compare_is_one_after_the_other(c))
		adjusted = fmax(adjusted, f->drift_adjusted);
	if (adjusted > COMPARE_LIKELY)
		return VERDICT_DRIFT;
	return adjusted <= COMPARE_SURE ? VERDICT_SURE : VERDICT_LIKELY;
}

/* Whether a figure may be likely at most: the cache makes the number and the size of requests
 * two-valued, and even exchanging all values reaches 1 % only from 5 against 5 on. */
static bool is_two_valued(const struct series_key *key, enum figure which,
			  const struct compare_figure *f)
{
	return key && key->is_request &&
	       (which == FIG_COUNT || which == FIG_RATE || which == FIG_BYTES) &&
	       (f->runs[BASE] < COMPARE_RUNS_CACHE || f->runs[NEW] < COMPARE_RUNS_CACHE);
}

/* The row, or the whole run, of which a claim is made. */
struct subject {
	const struct series_key *key; /* NULL: the whole run */
	const struct compare_row *row;
	const struct compare_lone *lone;
	int which;
	int64_t gain_ns;
};

/* Sets the verdict of a judged figure, and adds a claim if it is worth one. */
static void judge(struct compare *c, struct compare_figure *f, const struct subject *s)
{
	if (!f->first && f->verdict == VERDICT_NONE)
		return;
	f->verdict = VERDICT_NOT_SURE;
	if (!is_worth(s->row, s->which, f))
		return;
	f->verdict = verdict_of(c, f);
	if (f->verdict == VERDICT_SURE && is_two_valued(s->key, s->which, f))
		f->verdict = VERDICT_LIKELY;
	c->n_sure += f->verdict == VERDICT_SURE;
	if (f->verdict == VERDICT_NOT_SURE)
		return;
	c->claims[c->n_claims++] =
		(struct compare_claim){ f, s->row, s->lone, s->which, s->gain_ns };
}

static int64_t gain_of(const struct compare_row *row)
{
	return row->total_ns[NEW] - row->total_ns[BASE];
}

static int64_t gain_of_lone(const struct compare *c, const struct compare_lone *l)
{
	int64_t ns = l->total_ns / c->n_runs[l->side];

	return l->side == NEW ? ns : -ns;
}

static void all_judge(struct compare *c)
{
	int64_t whole = c->change.total_ns[NEW] - c->change.total_ns[BASE];

	for (int f = 0; f < WHOLE_N; f++) {
		struct subject s = { .which = f, .gain_ns = whole };

		judge(c, &c->whole[f], &s);
	}
	for (size_t i = 0; i < c->n_rows; i++) {
		for (int f = 0; f < FIG_N; f++) {
			struct compare_row *row = &c->rows[i];
			struct subject s = { row->key, row, NULL, f, gain_of(row) };

			judge(c, &row->figures[f], &s);
		}
	}
	for (size_t i = 0; i < c->n_lone; i++) {
		struct compare_lone *l = &c->lone[i];
		struct subject s = { l->key, NULL, l, number_figure(c), gain_of_lone(c, l) };

		judge(c, &l->number, &s);
	}
}

static uint64_t size_of(int64_t ns)
{
	return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

static int claim_order(const void *a, const void *b)
{
	const struct compare_claim *x = a, *y = b;
	bool x_whole = !x->row && !x->lone, y_whole = !y->row && !y->lone;

	if (x->figure->verdict != y->figure->verdict)
		return x->figure->verdict < y->figure->verdict ? 1 : -1;
	if (x_whole != y_whole)
		return y_whole - x_whole;
	if (size_of(x->gain_ns) != size_of(y->gain_ns))
		return size_of(x->gain_ns) < size_of(y->gain_ns) ? 1 : -1;
	return x->figure < y->figure ? -1 : x->figure > y->figure;
}

/* A run and its side, to be put in order. */
struct begun {
	uint64_t at_ns;
	size_t at, side;
};

static int begun_order(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->side != y->side ? (int)x->side - (int)y->side : (x->at > y->at) - (x->at < y->at);
}

/* The squared correlation of the side with the order. */
static double blocked_of(const struct begun *runs, size_t n, size_t n_new)
{
	double mean_order = (n - 1) / 2.0, mean_side = (double)n_new / n, so = 0, oo = 0;

	for (size_t i = 0; i < n; i++) {
		so += (runs[i].side - mean_side) * (i - mean_order);
		oo += (i - mean_order) * (i - mean_order);
	}
	return so * so / (oo * n * mean_side * (1 - mean_side));
}

/* Sets c->order and c->blocked. Returns 0 or -ENOMEM. */
static int order_set(struct compare *c)
{
	size_t n = c->n_runs[BASE] + c->n_runs[NEW], at = 0;
	struct begun *runs = calloc(n, sizeof(*runs));
	bool is_known = true;

	for (int side = 0; side < SIDES; side++)
		c->order[side] = calloc(c->n_runs[side], sizeof(**c->order));
	if (!runs || !c->order[BASE] || !c->order[NEW]) {
		free(runs);
		return -ENOMEM;
	}
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < c->n_runs[side]; i++) {
			runs[at++] = (struct begun){ c->runs[side][i].began_ns, i, side };
			is_known &= c->runs[side][i].began_ns > 0;
		}
	}
	qsort(runs, n, sizeof(*runs), begun_order);
	for (size_t i = 0; i < n; i++) {
		c->order[runs[i].side][runs[i].at] = i;
		is_known &= !i || runs[i].at_ns != runs[i - 1].at_ns;
	}
	c->blocked = is_known ? blocked_of(runs, n, c->n_runs[NEW]) : -1;
	free(runs);
	return 0;
}

/* Operations of one side and operations of both, as numbers of a run. */
static void work_add(struct compare *c, const struct series_key *key, unsigned int kind,
		     const double number[SIDES], int64_t gain_ns)
{
	double least = fmin(number[BASE], number[NEW]), most = fmax(number[BASE], number[NEW]);

	if (key->is_request || kind == OP_FAULT || most < WORK_LEAST ||
	    compare_is_estimated(c, key) || most < (1 + WORK_SHARE) * fmax(1, least) ||
	    most - least < WORK_ERRORS * sqrt(most + least))
		return;
	c->work[c->n_work++] = (struct compare_work){ key, { number[BASE], number[NEW] }, gain_ns };
}

static int work_order(const void *a, const void *b)
{
	const struct compare_work *x = a, *y = b;

	if (size_of(x->gain_ns) != size_of(y->gain_ns))
		return size_of(x->gain_ns) < size_of(y->gain_ns) ? 1 : -1;
	return series_key_compare(x->key, y->key);
}

/* Sets c->work: the times of so few runs say nothing, but the number of operations does. */
static void work_set(struct compare *c)
{
	for (size_t i = 0; i < c->n_rows; i++) {
		const struct compare_row *row = &c->rows[i];
		double number[SIDES];

		for (int side = 0; side < SIDES; side++)
			number[side] = (double)row->count[side] / c->n_runs[side];
		work_add(c, row->key, row->kind, number, gain_of(row));
	}
	for (size_t i = 0; i < c->n_lone; i++) {
		const struct compare_lone *l = &c->lone[i];
		double number[SIDES] = {};

		number[l->side] = (double)l->count / c->n_runs[l->side];
		work_add(c, l->key, l->kind, number, gain_of_lone(c, l));
	}
	qsort(c->work, c->n_work, sizeof(*c->work), work_order);
}

static int judging_begin(struct judging *j)
{
	struct compare *c = j->c;

	for (int side = 0; side < SIDES; side++) {
		j->sums[side] = calloc(c->n_runs[side], sizeof(**j->sums));
		for (size_t i = 0; i < c->n_runs[side] && j->sums[side]; i++)
			sums_of(&c->runs[side][i], &j->sums[side][i]);
	}
	c->claims = calloc(c->n_rows * FIG_N + c->n_lone + WHOLE_N, sizeof(*c->claims));
	c->work = calloc(c->n_rows + c->n_lone + 1, sizeof(*c->work));
	return j->sums[BASE] && j->sums[NEW] && c->claims && c->work ? 0 : -ENOMEM;
}

static int figures_test(struct judging *j)
{
	struct compare *c = j->c;
	int err = compare_whole(c);

	for (int f = 0; f < WHOLE_N && !err; f++)
		if (c->whole[f].tested)
			err = list_add(j, &c->whole[f]);
	for (size_t i = 0; i < c->n_rows && !err; i++)
		err = row_test(j, &c->rows[i]);
	for (size_t i = 0; i < c->n_lone && !err; i++)
		err = lone_test(j, &c->lone[i]);
	return err;
}

static int figures_judge(struct judging *j)
{
	struct compare *c = j->c;
	int err = adjust(j->list, j->n);

	c->n_first = c->n_tests = j->n;
	for (size_t i = 0; i < c->n_rows && !err; i++)
		err = row_second(c, &c->rows[i]);
	if (err)
		return err;
	all_judge(c);
	qsort(c->claims, c->n_claims, sizeof(*c->claims), claim_order);
	return 0;
}

static enum compare_method method_of(const struct compare *c)
{
	if (c->parts)
		return COMPARE_BLOCKS;
	if (c->n_runs[BASE] < COMPARE_RUNS || c->n_runs[NEW] < COMPARE_RUNS)
		return COMPARE_NONE;
	return c->n_runs[BASE] == c->n_runs[NEW] ? COMPARE_STUDENT : COMPARE_WELCH;
}

int compare_verdicts(struct compare *c)
{
	struct judging j = { .c = c };
	int err = order_set(c);

	c->method = method_of(c);
	for (int side = 0; side < SIDES && c->method != COMPARE_BLOCKS; side++)
		for (size_t i = 0; i < c->n_runs[side] && !err; i++)
			err = series_join(&c->runs[side][i], 1);
	if (!err)
		err = judging_begin(&j);
	if (!err)
		err = figures_test(&j);
	if (!err)
		err = figures_judge(&j);
	if (!err && c->method == COMPARE_NONE)
		work_set(c);
	free(j.sums[BASE]);
	free(j.sums[NEW]);
	free(j.list);
	return err;
}
