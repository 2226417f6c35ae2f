// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/compare_statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/compare_sample.h"
#include "analyse/stats.h"

enum { ROUNDS = 400 }; /* the error itself is known within 4 % */

/* The length of blocks, in intervals: long enough to keep the correlation of the counts, and of the
 * times less their mean. Returns 0 if out of memory. */
static unsigned int block_of(const struct compare_sample *s)
{
	double *off = calloc(2UL * s->intervals, sizeof(*off)), *counts = off + s->intervals;
	const double *x = s->x, *sums = s->sums;
	double mean = sums[COL_COUNT] > 0 ? sums[COL_TOTAL] / sums[COL_COUNT] : 0;
	double rate = sums[COL_NS] > 0 ? sums[COL_COUNT] / sums[COL_NS] : 0;
	unsigned int of_times, of_counts;

	if (!off)
		return 0;
	for (unsigned int i = 0; i < s->intervals; i++, x += s->columns) {
		off[i] = x[COL_TOTAL] - mean * x[COL_COUNT];
		counts[i] = x[COL_COUNT] - rate * x[COL_NS];
	}
	of_times = stats_block_length(off, s->intervals);
	of_counts = stats_block_length(counts, s->intervals);
	free(off);
	return of_times > of_counts ? of_times : of_counts;
}

/* Adds to the variances of @runs runs: a figure is no more exact than one event more or less in
 * each run, and a percentile no more than its bucket. */
static void variances_floor(double *variances, const double *values, const double *sums,
			    const struct compare_buckets *b, size_t runs)
{
	static const double pct[] = { 50, 99, 99.9 };
	double s = sums[COL_NS] / 1e9, mean = values[FIG_MEAN], count = sums[COL_COUNT], width;

	variances[FIG_COUNT] += runs;
	variances[FIG_TOTAL] += runs * mean * mean;
	if (s > 0) {
		variances[FIG_RATE] += runs / (s * s);
		variances[FIG_LOAD] += runs * mean * mean / (s * s);
	}
	for (int i = 0; i < 3; i++) {
		compare_percentile(sums + COL_BINS, b, count, pct[i], &width);
		variances[FIG_P50 + i] += width * width / 12;
	}
	for (int f = FIG_BYTES; f <= FIG_BESIDE && count > 0; f++)
		variances[f] += runs * values[f] * values[f] / (count * count);
}

/* Counts and totals are of one run. */
static void per_run(double *values, double *variances, size_t n)
{
	static const enum figure of_sums[] = { FIG_COUNT, FIG_TOTAL };

	for (int i = 0; i < 2; i++) {
		values[of_sums[i]] /= n;
		variances[of_sums[i]] /= n * n;
	}
}

/* One side of a row by the bootstrap. Returns 0 or -ENOMEM. */
static int side_bootstrap(const struct compare *c, struct compare_row *row, enum compare_side side,
			  const struct compare_buckets *b, struct stats_side ret[FIG_N])
{
	double values[FIG_N], variances[FIG_N], blocks;
	struct stats_sample sample;
	struct compare_sample s;

	if (compare_sample_fill(&s, c, side, row->key, b))
		return -ENOMEM;
	sample = (struct stats_sample){
		s.x, s.intervals, s.columns, block_of(&s), compare_figures, FIG_N, b
	};
	if (!sample.block || stats_bootstrap(&sample, ROUNDS, variances)) {
		free(s.x);
		return -ENOMEM;
	}
	compare_figures(s.sums, values, b);
	variances_floor(variances, values, s.sums, b, c->n_runs[side]);
	per_run(values, variances, c->n_runs[side]);
	blocks = (double)s.filled / sample.block;
	row->block_ns[side] = s.sums[COL_NS] / s.intervals * sample.block;
	for (int f = 0; f < FIG_N; f++)
		ret[f] = (struct stats_side){ values[f], variances[f], blocks < 2 ? 2 : blocks };
	free(s.x);
	return 0;
}

/* The figures of each run: figure by figure, n_runs each. */
struct of_runs {
	double *values[SIDES]; /* owned */
};

/* One side of a row by its runs. Returns 0 or -ENOMEM. */
static int side_runs(const struct compare *c, const struct compare_row *row, enum compare_side side,
		     const struct compare_buckets *b, struct stats_side ret[FIG_N],
		     double *ret_values)
{
	double values[FIG_N], floors[FIG_N] = {};
	size_t n = c->n_runs[side];
	struct compare_sample s;

	if (compare_sample_fill(&s, c, side, row->key, b))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) { /* runs have been joined: each is an interval */
		compare_figures(s.x + i * s.columns, values, b);
		for (int f = 0; f < FIG_N; f++)
			ret_values[f * n + i] = values[f];
	}
	compare_figures(s.sums, values, b);
	variances_floor(floors, values, s.sums, b, n);
	per_run(values, floors, n);
	for (int f = 0; f < FIG_N; f++) {
		stats_mean(ret_values + f * n, n, &ret[f]);
		ret[f].value = values[f];
		ret[f].variance += floors[f];
	}
	free(s.x);
	return 0;
}

/* Whether both sides have enough operations or requests for a test of figure @f. */
static bool is_enough(const struct compare_row *row, enum figure f)
{
	uint64_t least = row->count[BASE] < row->count[NEW] ? row->count[BASE] : row->count[NEW];
	uint64_t need = f == FIG_P99 ? 100 : f == FIG_P999 ? 1000 : f == FIG_P50 ? 2 : 0;

	return least >= COMPARE_COUNT && least >= need * COMPARE_BEYOND;
}

/* Whether a figure exists for such a row and was measured on both sides. */
static bool is_known(const struct compare *c, const struct compare_row *row, enum figure f)
{
	bool is_part = f == FIG_STRATA + ST_TAG || f == FIG_STRATA + ST_QUEUE ||
		       f == FIG_STRATA + ST_DEVICE;

	if (f == FIG_DEPTH || (f == FIG_BESIDE && row->key->is_request))
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

/* The number of intervals of a side with any operation or request. */
static unsigned int filled(const struct compare *c, enum compare_side side,
			   const struct series_key *key)
{
	const struct series_row *row;
	unsigned int n = 0;

	for (size_t i = 0; i < c->n_runs[side]; i++) {
		row = compare_find(&c->runs[side][i], key);
		for (unsigned int at = 0; row && at < c->runs[side][i].intervals; at++)
			n += row->cells[at].count > 0;
	}
	return n;
}

/* Whether the sides are equal and do not vary, but for rounding: there is nothing to test. */
static bool is_nothing(const struct compare_figure *f, const struct stats_difference *d)
{
	double rounding = 1e-9 * fabs(f->value[BASE]);

	return fabs(f->value[NEW] - f->value[BASE]) <= rounding && d->error <= rounding;
}

static void row_judge(const struct compare *c, struct compare_row *row, bool testable,
		      struct stats_side sides[SIDES][FIG_N])
{
	struct stats_difference d;

	for (int i = 0; i < FIG_N; i++) {
		struct compare_figure *f = &row->figures[i];

		stats_welch(&sides[BASE][i], &sides[NEW][i], &d);
		f->known = is_known(c, row, i);
		f->value[BASE] = sides[BASE][i].value;
		f->value[NEW] = sides[NEW][i].value;
		f->tested = f->known && testable && is_enough(row, i) && !is_nothing(f, &d);
		if (!f->tested)
			continue;
		f->p = d.p;
		f->error = d.error;
		f->df = d.df;
	}
}

/* With runs, by exchanging them. */
static void row_exchange(const struct compare *c, struct compare_row *row,
			 const struct of_runs *runs)
{
	size_t n = c->n_runs[BASE], m = c->n_runs[NEW];

	for (int i = 0; i < FIG_N; i++)
		if (row->figures[i].tested)
			row->figures[i].p = stats_permutation(runs->values[BASE] + i * n, n,
							      runs->values[NEW] + i * m, m);
}

static int row_test(struct compare *c, struct compare_row *row, struct compare_buckets *b)
{
	struct stats_side sides[SIDES][FIG_N];
	struct of_runs runs = {};
	bool testable = true;
	int err = 0;

	compare_buckets_fill(c, row->key, b);
	for (int side = 0; side < SIDES && !err; side++) {
		if (c->method == COMPARE_BLOCKS) {
			testable &= filled(c, side, row->key) >= COMPARE_FILLED;
			err = side_bootstrap(c, row, side, b, sides[side]);
			continue;
		}
		runs.values[side] = calloc(FIG_N * c->n_runs[side], sizeof(double));
		err = runs.values[side] ? side_runs(c, row, side, b, sides[side], runs.values[side])
					: -ENOMEM;
	}
	if (!err)
		row_judge(c, row, testable, sides);
	if (!err && c->method == COMPARE_PERMUTATION)
		row_exchange(c, row, &runs);
	free(runs.values[BASE]);
	free(runs.values[NEW]);
	return err;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/*
 * A longer run has more operations, and a higher rate may only mean a shorter run. So a count and a
 * total must differ as such and by the second, unless each run was a command's: then its length is
 * a result. Load is not tested separately.
 */
static void row_combine(const struct compare *c, struct compare_row *row)
{
	struct compare_figure *f = row->figures;

	if (c->method == COMPARE_BLOCKS || !compare_is_of_commands(c)) {
		f[FIG_COUNT].p = larger(f[FIG_COUNT].p, f[FIG_RATE].p);
		f[FIG_TOTAL].p = larger(f[FIG_TOTAL].p, f[FIG_LOAD].p);
	}
	f[FIG_LOAD].tested = f[FIG_LOAD].known = false;
}

static int chance_tell(struct compare *c)
{
	double *p = calloc(c->n_rows * FIG_N + 1, sizeof(*p)), largest;

	if (!p)
		return -ENOMEM;
	c->n_tests = 0;
	for (size_t i = 0; i < c->n_rows; i++) {
		row_combine(c, &c->rows[i]);
		for (int f = 0; f < FIG_N; f++)
			if (c->rows[i].figures[f].tested)
				p[c->n_tests++] = c->rows[i].figures[f].p;
	}
	largest = stats_false_discovery(p, c->n_tests, COMPARE_FALSE);
	free(p);
	for (size_t i = 0; i < c->n_rows; i++) {
		for (int n = 0; n < FIG_N; n++) {
			struct compare_figure *f = &c->rows[i].figures[n];

			f->sure = f->tested && f->p <= largest;
			c->n_sure += f->sure;
		}
	}
	return 0;
}

static int rows_test(struct compare *c)
{
	struct compare_buckets *b = malloc(sizeof(*b));
	int err = b ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->n_rows && !err; i++)
		err = row_test(c, &c->rows[i], b);
	free(b);
	return err;
}

/* The number of figures to test: those of which both sides have enough. At least 1. */
static size_t tests_expected(const struct compare *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_rows; i++)
		for (int f = 0; f < FIG_N; f++)
			n += is_known(c, &c->rows[i], f) && is_enough(&c->rows[i], f) &&
			     f != FIG_LOAD;
	return n ? n : 1;
}

int compare_statistics(struct compare *c)
{
	size_t n = c->n_runs[BASE], m = c->n_runs[NEW];

	c->method = COMPARE_BLOCKS;
	if (n >= COMPARE_RUNS && m >= COMPARE_RUNS) {
		c->method = COMPARE_WELCH;
		if (n + m <= STATS_VALUES &&
		    stats_permutation_least(n, m) <= COMPARE_FALSE / tests_expected(c))
			c->method = COMPARE_PERMUTATION;
		for (int side = 0; side < SIDES; side++)
			for (size_t i = 0; i < c->n_runs[side]; i++)
				if (series_join(&c->runs[side][i], 1))
					return -ENOMEM;
	}
	if (rows_test(c))
		return -ENOMEM;
	return chance_tell(c);
}
