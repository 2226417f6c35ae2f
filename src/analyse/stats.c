// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEED = 4711,
	LAGS_INSIDE = 5, /* after so many autocorrelations of chance, no real one follows */
	LAGS_MAX = 64,
	FRACTION_STEPS = 20000, /* at most; some roots of the largest argument are needed */
};

uint64_t stats_random(struct stats_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

unsigned int stats_random_below(struct stats_random *r, unsigned int n)
{
	return (stats_random(r) >> 32) * n >> 32;
}

/* The continued fraction of the incomplete beta function (26.5.8), from its front (Lentz's
 * method). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f, step;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m <= FRACTION_STEPS; m++) {
		for (int odd = 0; odd < 2; odd++) {
			step = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
				   : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
			d = 1 + step * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + step / c;
			c = fabs(c) < tiny ? tiny : c;
			f *= c * d;
		}
		if (fabs(c * d - 1) < 1e-14)
			break;
	}
	return f;
}

/* The regularised incomplete beta function, 0 <= x <= 1. */
static double beta_share(double a, double b, double x)
{
	double front;
	int sign;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
		    b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_p(double t, double df)
{
	double p = beta_share(df / 2, 0.5, df / (df + t * t));

	return p < 0 ? 0 : p > 1 ? 1 : p;
}

double stats_binomial_above(double k, double n, double share)
{
	double p;

	if (k <= 0 || share >= 1)
		return 1;
	p = beta_share(k, n - k + 1, share);
	return p < 0 ? 0 : p > 1 ? 1 : p;
}

double stats_chi_squared_above(double x, double df)
{
	double part = 2 / (9 * df);

	return erfc((cbrt(x / df) - 1 + part) / sqrt(2 * part)) / 2;
}

/* The upper incomplete gamma function of shape @a, regularised. */
static double gamma_above(double a, double x)
{
	int sign;
	double front, sum = 1 / a, term = sum, b, c, d, f, step;

	if (x <= 0)
		return 1;
	front = exp(a * log(x) - x - lgamma_r(a, &sign));
	if (x < a + 1) { /* the series of the lower part */
		for (int i = 1; i <= FRACTION_STEPS && term > sum * 1e-15; i++) {
			term *= x / (a + i);
			sum += term;
		}
		f = 1 - front * sum;
		return f > 0 ? f : 0;
	}
	/* the continued fraction of the upper part, from its front (Lentz's method) */
	b = x + 1 - a;
	c = 1e300;
	d = 1 / b;
	f = d;
	for (int i = 1; i <= FRACTION_STEPS; i++) {
		b += 2;
		d = 1 / (-i * (i - a) * d + b);
		c = b - i * (i - a) / c;
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return front * f;
}

double stats_pearson_above(double x, double skew)
{
	double shape = 4 / (skew * skew), p = gamma_above(shape, shape + x * sqrt(shape));

	return p < 0 ? 0 : p > 1 ? 1 : p;
}

/* The logarithm of "n over k". */
static double log_choose(double n, double k)
{
	int sign;

	return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

double stats_hypergeometric_above(double k, double n, double marked, double all)
{
	double most = n < marked ? n : marked, least = n + marked - all, term, sum = 0;

	if (k <= 0 || k <= least)
		return 1;
	if (k > most)
		return 0;
	term = exp(log_choose(marked, k) + log_choose(all - marked, n - k) - log_choose(all, n));
	for (; k <= most && term > sum * 1e-15; k++) {
		sum += term;
		term *= (marked - k) * (n - k) / ((k + 1) * (all - marked - n + k + 1));
	}
	return sum < 1 ? sum : 1;
}

/* The density of the t distribution. */
static double t_density(double t, double df)
{
	int sign;

	return exp(lgamma_r((df + 1) / 2, &sign) - lgamma_r(df / 2, &sign) -
		   (df + 1) / 2 * log1p(t * t / df)) /
	       sqrt(df * M_PI);
}

/* Newton's method on the logarithm of the probability; halving where a step would leave the known
 * bounds. */
double stats_t_beyond(double p, double df)
{
	double low = 0, high = 1e15, t = 2, got, density, next;

	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		got = stats_t_p(t, df);
		if (got > p)
			low = t;
		else
			high = t;
		density = t_density(t, df);
		next = density > 0 && got > 0 ? t + log(got / p) * got / (2 * density) : high;
		if (!(next > low && next < high))
			next = high < 1e15 ? (low + high) / 2 : 2 * low;
		if (fabs(next - t) < 1e-12 * t)
			break;
		t = next;
	}
	return t;
}

/* Autocovariances of lags 0 to @max. */
static void autocovariances(const double *x, unsigned int n, unsigned int max, double *ret_r)
{
	double mean = 0;

	for (unsigned int i = 0; i < n; i++)
		mean += x[i] / n;
	for (unsigned int lag = 0; lag <= max; lag++) {
		ret_r[lag] = 0;
		for (unsigned int i = lag; i < n; i++)
			ret_r[lag] += (x[i] - mean) * (x[i - lag] - mean) / n;
	}
}

/* The last lag whose autocorrelation is not that of chance: LAGS_INSIDE after it are. */
static unsigned int last_lag(const double *r, unsigned int n, unsigned int max)
{
	double limit = 2 * sqrt(log10(n) / n) * r[0];
	unsigned int inside = 0, last = 0;

	for (unsigned int lag = 1; lag <= max && inside < LAGS_INSIDE; lag++) {
		if (fabs(r[lag]) < limit) {
			inside++;
			continue;
		}
		last = lag;
		inside = 0;
	}
	return last;
}

/* The choice of Politis and White, not rounded; 0: nothing is correlated. */
static double block_choice(const double *x, unsigned int n)
{
	unsigned int max = ceil(sqrt(n)) + LAGS_INSIDE, last, m;
	double r[LAGS_MAX + 1], g = 0, spectrum, weight;

	max = max < n - 1 ? max : n - 1;
	max = max < LAGS_MAX ? max : LAGS_MAX;
	autocovariances(x, n, max, r);
	last = r[0] > 0 ? last_lag(r, n, max) : 0;
	if (!last)
		return 0;
	m = 2 * last < max ? 2 * last : max;
	spectrum = r[0];
	for (unsigned int lag = 1; lag <= m; lag++) {
		weight = 2 * lag <= m ? 1 : 2 * (1 - (double)lag / m);
		g += 2 * weight * lag * r[lag];
		spectrum += 2 * weight * r[lag];
	}
	if (spectrum <= 0)
		return 0;
	/* 2 g^2 / (4/3 spectrum^2), times n: its third root */
	return cbrt(1.5 * g * g / (spectrum * spectrum) * n);
}

unsigned int stats_block_length(const double *x, unsigned int n)
{
	double length = n < 9 ? 1 : 2 * ceil(block_choice(x, n)), least = ceil(sqrt(n));
	unsigned int most = n / 3 ? n / 3 : 1;

	length = length < least ? least : length;
	return length < most ? length : most;
}

/* For each number of intervals from 0 on: the sums of the columns of the first so many. */
static void sums_running(const struct stats_sample *s, double *ret_running)
{
	const double *x = s->x;
	double *next = ret_running + s->columns;

	for (size_t i = 0; i < s->columns; i++)
		ret_running[i] = 0;
	for (size_t i = 0; i < (size_t)s->intervals * s->columns; i++)
		next[i] = ret_running[i] + x[i];
}

/* Adds the sums of intervals @from to before @to. */
static void range_add(const struct stats_sample *s, const double *running, unsigned int from,
		      unsigned int to, double *sums)
{
	const double *before = running + (size_t)from * s->columns;
	const double *after = running + (size_t)to * s->columns;

	for (unsigned int i = 0; i < s->columns; i++)
		sums[i] += after[i] - before[i];
}

/* Sums of as many intervals as there are, in blocks with random beginnings. The first interval
 * follows the last. */
static void resample(const struct stats_sample *s, const double *running,
		     struct stats_random *random, double *ret_sums)
{
	unsigned int left = s->intervals, from, to;

	memset(ret_sums, 0, s->columns * sizeof(*ret_sums));
	while (left) {
		from = stats_random_below(random, s->intervals);
		to = from + (s->block < left ? s->block : left);
		left -= to - from;
		range_add(s, running, from, to < s->intervals ? to : s->intervals, ret_sums);
		if (to > s->intervals)
			range_add(s, running, 0, to - s->intervals, ret_sums);
	}
}

/* Adds @x as the @n-th value: Welford, "Note on a method for calculating corrected sums of squares
 * and products" (1962). */
static void moments_add(double x, unsigned int n, double *mean, double *squares)
{
	double off = x - *mean;

	*mean += off / n;
	*squares += off * (x - *mean);
}

int stats_bootstrap(const struct stats_sample *s, unsigned int rounds, double *ret_variances)
{
	size_t running_n = (s->intervals + 1UL) * s->columns;
	double *running = calloc(running_n + s->columns + 3UL * s->n_figures, sizeof(*running));
	double *sums = running + running_n, *figures = sums + s->columns;
	double *means = figures + s->n_figures, *squares = means + s->n_figures;
	double blocks = (double)s->intervals / s->block;
	struct stats_random random = { SEED };

	if (!running)
		return -ENOMEM;
	sums_running(s, running);
	for (unsigned int n = 1; n <= rounds; n++) {
		resample(s, running, &random, sums);
		s->figures(sums, figures, s->arg);
		for (unsigned int i = 0; i < s->n_figures; i++)
			moments_add(figures[i], n, &means[i], &squares[i]);
	}
	blocks = blocks < 2 ? 2 : blocks;
	for (unsigned int i = 0; i < s->n_figures; i++)
		ret_variances[i] = squares[i] / (rounds - 1) * blocks / (blocks - 1);
	free(running);
	return 0;
}

void stats_welch(const struct stats_side *a, const struct stats_side *b,
		 struct stats_difference *ret_difference)
{
	double value = b->value - a->value, variance = a->variance + b->variance;
	double least = (a->n < b->n ? a->n : b->n) - 1, most = a->n + b->n - 2, df = most, shares;

	if (variance > 0) {
		shares = a->variance / variance;
		df = 1 / (shares * shares / (a->n - 1) + (1 - shares) * (1 - shares) / (b->n - 1));
	}
	df = df < least ? least : df > most ? most : df;
	*ret_difference = (struct stats_difference){
		.value = value,
		.error = sqrt(variance),
		.df = df,
		.p = value == 0,
	};
	if (variance > 0)
		ret_difference->p = stats_t_p(value / ret_difference->error, df);
}

struct ordered {
	double p;
	size_t at;
};

static int p_compare(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	return x->p != y->p ? (x->p > y->p ? 1 : -1) : (x->at > y->at) - (x->at < y->at);
}

int stats_holm(const double *p, size_t n, double *ret_adjusted)
{
	struct ordered *list = calloc(n + 1, sizeof(*list));
	double most = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		list[i] = (struct ordered){ p[i], i };
	qsort(list, n, sizeof(*list), p_compare);
	for (size_t i = 0; i < n; i++) {
		most = fmax(most, fmin(1, (n - i) * list[i].p));
		ret_adjusted[list[i].at] = most;
	}
	free(list);
	return 0;
}
