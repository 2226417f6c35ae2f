/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stats.h - tells a difference from chance: numbers in, numbers out. docs/design/compare.md says
 * why these methods were chosen.
 *
 * No result is ever NaN or infinite if the input is finite. Random numbers come from a fixed seed,
 * so the same input gives the same result everywhere.
 */
#ifndef IOSTRATA_ANALYSE_STATS_H
#define IOSTRATA_ANALYSE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Pseudorandom numbers: splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", 2014). */
struct stats_random {
	uint64_t state;
};

uint64_t stats_random(struct stats_random *r);
unsigned int stats_random_below(struct stats_random *r, unsigned int n); /* n > 0 */

/*
 * Student's t distribution with @df > 0 degrees of freedom, as a regularised incomplete beta
 * function (Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.1 and 26.5.8).
 *
 * stats_t_p(): the probability of a value further from 0 than @t. stats_t_beyond(): the value
 * for which this probability is @p, 0 < p < 1.
 */
double stats_t_p(double t, double df);
double stats_t_beyond(double p, double df);

/*
 * How probable it is that at least @k of @n happen, if each happens with probability @share: the
 * tail of the binomial distribution, as a regularised incomplete beta function (Abramowitz and
 * Stegun, 26.5.24). @k and @n, 0 <= @k <= @n, need not be whole numbers.
 */
double stats_binomial_above(double k, double n, double share);

/*
 * How probable a chi-squared value of at least @x is with @df > 0 degrees of freedom, by the
 * approximation of Wilson and Hilferty (Abramowitz and Stegun, 26.4.17).
 */
double stats_chi_squared_above(double x, double df);

/*
 * How probable a value of at least @x is in a Pearson distribution of type III with mean 0,
 * variance 1 and skewness @skew > 0: a shifted gamma distribution (Abramowitz and Stegun, 26.1.31),
 * whose tail is an incomplete gamma function (6.5.29 and 6.5.31).
 */
double stats_pearson_above(double x, double skew);

/*
 * How probable it is that at least @k of @n, drawn without replacement, are among @marked of @all:
 * the tail of the hypergeometric distribution (26.1.21). All are whole numbers.
 */
double stats_hypergeometric_above(double k, double n, double marked, double all);

/*
 * The length in intervals, of @n, of blocks that are about independent: twice the choice of Politis
 * and White, "Automatic block-length selection for the dependent bootstrap" (2004), for circular
 * blocks, with the correction of Patton, Politis and White (2009). Their choice makes the variance
 * as exact as possible, so it is too small as often as too large; therefore twice. Never less than
 * the root of n: correlations too weak to be seen among so few still count. At most n / 3, but 1 at
 * least.
 */
unsigned int stats_block_length(const double *x, unsigned int n);

/* Figures of a sample: computes @n_figures numbers from the sums of its columns. */
typedef void stats_figures_fn(const double *sums, double *ret_figures, const void *arg);

/* Intervals of time, one after the other: @columns numbers each. */
struct stats_sample {
	const double *x;
	unsigned int intervals, columns;
	unsigned int block; /* intervals to be drawn together */
	stats_figures_fn *figures;
	unsigned int n_figures;
	const void *arg; /* for figures() */
};

/*
 * The variance of each figure, by the circular block bootstrap (Politis and Romano, "A circular
 * block-resampling procedure for stationary data", 1992): @rounds times as many intervals as there
 * are, in blocks with beginnings anywhere. The variance is raised by n / (n - 1) for n blocks,
 * since deviations are from the sample's own mean. Returns 0 or -ENOMEM.
 */
int stats_bootstrap(const struct stats_sample *s, unsigned int rounds, double *ret_variances);

/* A figure of one side, from @n independent values. */
struct stats_side {
	double value, variance; /* variance: of the value itself, not of one of the n */
	double n;               /* at least 2 */
};

/* A difference, the second side less the first. */
struct stats_difference {
	double value, error; /* standard error */
	double df;           /* degrees of freedom of its t distribution */
	double p;            /* how probable one as large is by chance alone */
};

/* Welch, "The generalization of 'Student's' problem when several different population variances are
 * involved" (1947). */
void stats_welch(const struct stats_side *a, const struct stats_side *b,
		 struct stats_difference *ret_difference);

/*
 * Probabilities of @n tests, adjusted so that all of them together keep a level: Holm, "A simple
 * sequentially rejective multiple test procedure" (1979). Returns 0 or -ENOMEM.
 */
int stats_holm(const double *p, size_t n, double *ret_adjusted);

#endif
