// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/compare_blocks.h"

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

/* Adds to the variances: a figure is no more exact than one event more or less, and a percentile no
 * more than its bucket. */
static void variances_floor(double *variances, const double *values, const double *sums,
			    const struct compare_buckets *b)
{
	static const double pct[] = { 50, 99, 99.9 };
	double s = sums[COL_NS] / 1e9, mean = values[FIG_MEAN], count = sums[COL_COUNT], width;

	variances[FIG_COUNT] += 1;
	variances[FIG_TOTAL] += mean * mean;
	if (s > 0)
		variances[FIG_RATE] += 1 / (s * s);
	for (int i = 0; i < 3; i++) {
		compare_percentile(sums + COL_BINS, b, count, pct[i], &width);
		variances[FIG_P50 + i] += width * width / 12;
	}
	for (int f = FIG_BYTES; f <= FIG_BESIDE && count > 0; f++)
		variances[f] += values[f] * values[f] / (count * count);
}

/* The figures of one side. */
struct side_figures {
	double value[FIG_N], variance[FIG_N], blocks;
	bool testable;
};

/* One side of a row by the bootstrap. Returns 0 or -ENOMEM. */
static int side_bootstrap(const struct compare *c, struct compare_row *row, enum compare_side side,
			  const struct compare_buckets *b, struct side_figures *ret)
{
	struct stats_sample sample;
	struct compare_sample s;

	if (compare_sample_fill(&s, c, side, row->key, b))
		return -ENOMEM;
	sample = (struct stats_sample){
		s.x, s.intervals, s.columns, block_of(&s), compare_figures, FIG_N, b
	};
	if (!sample.block || stats_bootstrap(&sample, ROUNDS, ret->variance)) {
		free(s.x);
		return -ENOMEM;
	}
	compare_figures(s.sums, ret->value, b);
	variances_floor(ret->variance, ret->value, s.sums, b);
	ret->blocks = fmax(2, (double)s.filled / sample.block);
	ret->testable = s.filled >= COMPARE_FILLED;
	row->block_ns[side] = s.sums[COL_NS] / s.intervals * sample.block;
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

/* A figure as the logarithm of (value + start), with the error that follows from its variance. */
static void figure_test(struct compare_row *row, enum figure f, const struct side_figures s[SIDES])
{
	struct compare_figure *fig = &row->figures[f];
	struct stats_side logs[SIDES];
	struct stats_difference d;
	double at;

	fig->start = f >= FIG_STRATA ? COMPARE_LEAST * row->typical_mean_ns : 0;
	fig->p = fig->drift_p = fig->adjusted = fig->drift_adjusted = 1;
	for (int side = 0; side < SIDES; side++) {
		fig->value[side] = fig->typical[side] = s[side].value[f];
		fig->runs[side] = 1;
		at = fig->value[side] + fig->start;
		if (at <= 0)
			return;
		logs[side] = (struct stats_side){ log(at), s[side].variance[f] / (at * at),
						  s[side].blocks };
	}
	stats_welch(&logs[BASE], &logs[NEW], &d);
	fig->change = d.value;
	fig->error = d.error;
	fig->df = d.df;
	fig->p = fig->drift_p = d.p;
	fig->tested = fig->known && s[BASE].testable && s[NEW].testable && is_enough(row, f) &&
		      d.error > 0;
}

int compare_blocks_test(const struct compare *c, struct compare_row *row)
{
	struct compare_buckets *b = malloc(sizeof(*b));
	struct side_figures sides[SIDES];
	int err = b ? 0 : -ENOMEM;

	if (!err)
		compare_buckets_fill(c, row->key, b);
	for (int side = 0; side < SIDES && !err; side++)
		err = side_bootstrap(c, row, side, b, &sides[side]);
	free(b);
	if (err)
		return err;
	row->typical_mean_ns = sqrt(sides[BASE].value[FIG_MEAN] * sides[NEW].value[FIG_MEAN]);
	for (int f = 0; f < FIG_N; f++)
		figure_test(row, f, sides);
	return 0;
}
