/* SPDX-License-Identifier: GPL-2.0-only */
/* compare_sample.h - a row of a comparison as numbers: a line of sums for each interval of a side.
 * Figures are computed from sums of such lines. */
#ifndef IOSTRATA_ANALYSE_COMPARE_SAMPLE_H
#define IOSTRATA_ANALYSE_COMPARE_SAMPLE_H

#include "analyse/compare.h"

/* The columns of a sample. */
enum {
	COL_NS, /* length of the interval */
	COL_COUNT,
	COL_SAMPLES, /* from which the count is estimated, or the count */
	COL_TOTAL,   /* ns */
	COL_BYTES,
	COL_BESIDE,                   /* as in struct series_cell */
	COL_STRATA,                   /* ST_N of them */
	COL_BINS = COL_STRATA + ST_N, /* counts of the buckets */
};

/* The histogram buckets used by either side of a row. */
struct compare_buckets {
	unsigned short at[HIST_N];
	unsigned int n;
};

/* A row's intervals on one side. */
struct compare_sample {
	double *x;          /* a line for each interval; for free() */
	const double *sums; /* of all lines */
	unsigned int intervals, columns;
	unsigned int filled; /* intervals with any operation or request */
};

void compare_buckets_fill(const struct compare *c, const struct series_key *key,
			  struct compare_buckets *ret_buckets);

/* The intervals of all runs of a side, one after the other. Returns 0 or -ENOMEM, with nothing to
 * free. */
int compare_sample_fill(struct compare_sample *s, const struct compare *c, enum compare_side side,
			const struct series_key *key, const struct compare_buckets *b);

/* The FIG_N figures of sums; @arg: struct compare_buckets. For stats_bootstrap(). */
void compare_figures(const double *sums, double *ret, const void *arg);

/* The value in the histogram that @pct percent of the values do not exceed. The values in a bucket
 * are assumed to be evenly spread. @ret_width: width of this bucket. */
double compare_percentile(const double *bins, const struct compare_buckets *b, double count,
			  double pct, double *ret_width);

/* The row of @key in @run, or NULL if there is none. */
const struct series_row *compare_find(const struct series *run, const struct series_key *key);

#endif
