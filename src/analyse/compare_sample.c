// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/compare_sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double compare_percentile(const double *bins, const struct compare_buckets *b, double count,
			  double pct, double *ret_width)
{
	double rank = count * pct / 100, seen = 0, low = 0;
	unsigned int i = 0;

	while (i + 1 < b->n && seen + bins[i] < rank)
		seen += bins[i++];
	*ret_width = 0;
	if (!b->n)
		return 0;
	low = hist_low(b->at[i]);
	*ret_width = hist_low(b->at[i] + 1) - low;
	return bins[i] > 0 ? low + *ret_width * fmin(1, (rank - seen) / bins[i]) : low;
}

void compare_figures(const double *sums, double *ret, const void *arg)
{
	static const double pct[] = { 50, 99, 99.9 };
	const struct compare_buckets *b = arg;
	double count = sums[COL_COUNT], s = sums[COL_NS] / 1e9, width;
	double of = count > 0 ? count : 1, a_second = s > 0 ? 1 / s : 0;

	ret[FIG_COUNT] = count;
	ret[FIG_RATE] = count * a_second;
	ret[FIG_MEAN] = sums[COL_TOTAL] / of;
	for (int i = 0; i < 3; i++)
		ret[FIG_P50 + i] = compare_percentile(sums + COL_BINS, b, count, pct[i], &width);
	ret[FIG_TOTAL] = sums[COL_TOTAL];
	ret[FIG_BYTES] = sums[COL_BYTES] / of;
	ret[FIG_BESIDE] = sums[COL_BESIDE] / of;
	/* Little, "A proof for the queuing formula L = lambda W" (1961) */
	ret[FIG_DEPTH] = sums[COL_STRATA + ST_DEVICE] * a_second / 1e9;
	for (int i = 0; i < ST_N; i++)
		ret[FIG_STRATA + i] = sums[COL_STRATA + i] / of;
}

static void buckets_find(const struct compare *c, const struct series_key *key, bool used[HIST_N])
{
	const struct series_row *row;
	const struct series *run;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < c->n_runs[side]; i++) {
			run = &c->runs[side][i];
			row = compare_find(run, key);
			for (unsigned int at = 0; row && at < run->intervals; at++)
				for (unsigned int n = 0; n < row->cells[at].hist.n; n++)
					used[row->cells[at].hist.bins[n].bucket] = true;
		}
	}
}

void compare_buckets_fill(const struct compare *c, const struct series_key *key,
			  struct compare_buckets *ret_buckets)
{
	bool used[HIST_N] = {};

	buckets_find(c, key, used);
	ret_buckets->n = 0;
	for (unsigned int i = 0; i < HIST_N; i++)
		if (used[i])
			ret_buckets->at[ret_buckets->n++] = i;
}

/* @cell NULL: there was nothing in that interval. */
static void interval_fill(double *x, const struct series_cell *cell, uint64_t length_ns,
			  const struct compare_buckets *b)
{
	unsigned int to = 0;

	x[COL_NS] = length_ns;
	if (!cell)
		return;
	x[COL_COUNT] = cell->count;
	x[COL_SAMPLES] = cell->samples ? cell->samples : cell->count;
	x[COL_TOTAL] = cell->total_ns;
	x[COL_BYTES] = cell->bytes;
	x[COL_BESIDE] = cell->beside;
	for (int i = 0; i < ST_N; i++)
		x[COL_STRATA + i] = cell->strata[i];
	for (unsigned int n = 0; n < cell->hist.n; n++) {
		while (b->at[to] != cell->hist.bins[n].bucket)
			to++;
		x[COL_BINS + to] = cell->hist.bins[n].count;
	}
}

int compare_sample_fill(struct compare_sample *s, const struct compare *c, enum compare_side side,
			const struct series_key *key, const struct compare_buckets *b)
{
	const struct series_row *row;
	const struct series *run;
	double *x;

	*s = (struct compare_sample){ .columns = COL_BINS + b->n };
	for (size_t i = 0; i < c->n_runs[side]; i++)
		s->intervals += c->runs[side][i].intervals;
	x = s->x = calloc((s->intervals + 1UL) * s->columns, sizeof(*x));
	if (!x)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_runs[side]; i++) {
		run = &c->runs[side][i];
		row = compare_find(run, key);
		for (unsigned int at = 0; at < run->intervals; at++, x += s->columns) {
			interval_fill(x, row ? &row->cells[at] : NULL, run->length_ns[at], b);
			s->filled += x[COL_COUNT] > 0;
		}
	}
	for (unsigned int at = 0; at < s->intervals; at++)
		for (unsigned int i = 0; i < s->columns; i++)
			x[i] += s->x[(size_t)at * s->columns + i];
	s->sums = x;
	return 0;
}
