// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_trend.c - whether all operations became slower: from a moment on, or bit by bit. Medians
 * of equally many operations each, in the order of their beginnings, tell.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"
#include "analyse/stats.h"
#include "base/text.h"

enum {
	EACH_LEAST = 20, /* operations of a group */
	GROUPS_LEAST = 6,
	SIDE_LEAST = 3, /* groups before and after a step */
	TWELVE = 12,    /* parts for growth */
	BIN_BITS = 4,
};

#define STEP_FACTOR     2 /* between the medians before and after */
#define STEP_P          1e-4
#define STEP_OF_LINE    0.8  /* squares left by a step, of those left by a line, at most */
#define LEFT_MOST       0.45 /* squares left by a step or a line, of all */
#define GROWTH_TAU      0.75
#define GROWTH_P        1e-3
#define GROWTH_FACTOR   1.8
#define SLOW_PART_LEAST 0.5 /* of the slow ones are after the step */

unsigned int explain_trend_groups(uint64_t n)
{
	if (n >= (uint64_t)EACH_LEAST * TREND_GROUPS)
		return TREND_GROUPS;
	return n / EACH_LEAST > GROUPS_LEAST ? n / EACH_LEAST : GROUPS_LEAST;
}

/* Bins a 16th of an octave wide. */
unsigned int explain_trend_bin(uint64_t ns)
{
	unsigned int shift;

	if (ns < 1 << BIN_BITS)
		return ns;
	shift = 63 - __builtin_clzll(ns) - BIN_BITS;
	return ((shift + 1) << BIN_BITS) + (ns >> shift) - (1 << BIN_BITS);
}

/* The logarithm of the middle of a bin. */
static double bin_log(unsigned int bin)
{
	unsigned int shift;

	if (bin < 1 << BIN_BITS)
		return log(bin + 0.5);
	shift = (bin >> BIN_BITS) - 1;
	return log(ldexp((bin & ((1 << BIN_BITS) - 1)) + (1 << BIN_BITS) + 0.5, shift));
}

static double median_log(const uint32_t *bins)
{
	uint64_t all = 0, seen = 0;

	for (int b = 0; b < TREND_BINS; b++)
		all += bins[b];
	for (int b = 0; b < TREND_BINS; b++) {
		seen += bins[b];
		if (2 * seen >= all)
			return bin_log(b);
	}
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(const double *x, unsigned int n)
{
	double sorted[TREND_GROUPS];

	for (unsigned int i = 0; i < n; i++)
		sorted[i] = x[i];
	qsort(sorted, n, sizeof(*sorted), compare_numbers);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double mean_of(const double *x, unsigned int n)
{
	double sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

/* Squares of the deviations from the mean. */
static double squares_of(const double *x, unsigned int n)
{
	double mean = mean_of(x, n), sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

/* Squares left by the best line through the groups. */
static double squares_beside_line(const double *x, unsigned int n)
{
	double mean = mean_of(x, n), sxy = 0, sxx = 0, t;

	for (unsigned int i = 0; i < n; i++) {
		t = i - (n - 1) / 2.0;
		sxy += t * (x[i] - mean);
		sxx += t * t;
	}
	return squares_of(x, n) - sxy * sxy / sxx;
}

/* The probability that the first @k of @n are as much above or below the others by chance: Mann and
 * Whitney (1947), exact if all are, else by the normal approximation. */
static double sides_p(const double *x, unsigned int k, unsigned int n)
{
	double above = 0, pairs = (double)k * (n - k), p = 2;

	for (unsigned int i = 0; i < k; i++)
		for (unsigned int j = k; j < n; j++)
			above += x[i] > x[j] ? 1 : x[i] == x[j] ? 0.5 : 0;
	if (above == 0 || above == pairs) {
		for (unsigned int i = 1; i <= k; i++)
			p *= (double)i / (n - k + i);
		return p;
	}
	return erfc((fabs(above - pairs / 2) - 0.5) / sqrt(pairs * (n + 1) / 12) / M_SQRT2);
}

/* Where two levels fit best. Sets what the step leaves over. */
static unsigned int step_find(const double *x, unsigned int n, double *ret_left)
{
	unsigned int best = 0;
	double left;

	*ret_left = INFINITY;
	for (unsigned int k = SIDE_LEAST; k + SIDE_LEAST <= n; k++) {
		left = squares_of(x, k) + squares_of(x + k, n - k);
		if (left >= *ret_left)
			continue;
		*ret_left = left;
		best = k;
	}
	return best;
}

/* Sets a finding about all operations whose rank is in a part of the order. */
static int ranks_set(const struct scan *s, uint64_t from, uint64_t to, double p,
		     struct explain_finding *ret)
{
	uint64_t slow = 0, rank;

	ret->has = calloc(bits_words(s->n_list) + 1, sizeof(*ret->has));
	if (!ret->has)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_list; i++) {
		rank = starts_rank(&s->starts, s->list[i].start_ns);
		if (rank < from || rank >= to)
			continue;
		bit_set(ret->has, i);
		slow++;
	}
	slow = slow * ((double)s->e->n_slow / s->n_list);
	ret->expected = (double)(to - from) * s->e->n_slow / s->e->n;
	explain_chance_set(&s->population, slow, to - from > slow ? to - from : slow, p, ret);
	ret->at_most = ceil(ret->expected + 3 * sqrt(ret->expected));
	return 0;
}

static int step_tell(const struct scan *s, const double *x, unsigned int n, unsigned int at,
		     struct explain_finding *ret)
{
	double before = exp(median_of(x, at)), after = exp(median_of(x + at, n - at));
	uint64_t rank = s->e->n * at / n;
	bool slower = after > before;
	int err;

	ret->attribute = ATTR_STEP;
	err = ranks_set(s, slower ? rank : 0, slower ? s->e->n : rank, n * sides_p(x, at, n), ret);
	if (err || ret->slow < SLOW_PART_LEAST * s->e->n_slow)
		return err;
	return asprintf(&ret->text, "%s %s%s, %s slower (median %s, %s %s)",
			slower ? "from" : "before",
			text_ns(starts_time(&s->starts, rank) - s->base_ns + s->conf->from_ns).s,
			slower ? " on" : "", slower ? "since when all are" : "when all were",
			text_ns(slower ? after : before).s, slower ? "before" : "later",
			text_ns(slower ? before : after).s) < 0
		       ? -ENOMEM
		       : 1;
}

/* Kendall's tau of @n numbers in order, and its probability by the normal approximation. */
static double kendall(const double *x, unsigned int n, double *ret_p)
{
	double sum = 0, pairs = n * (n - 1) / 2.0;

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = i + 1; j < n; j++)
			sum += (x[j] > x[i]) - (x[j] < x[i]);
	*ret_p = erfc(fabs(sum) / sqrt(n * (n - 1.0) * (2 * n + 5) / 18) / M_SQRT2);
	return sum / pairs;
}

static int growth_tell(const struct scan *s, const double *x, unsigned int n,
		       struct explain_finding *ret)
{
	unsigned int parts = n < TWELVE ? n : TWELVE, quarter = (parts + 3) / 4;
	double part[TWELVE], tau, p, first, last;
	uint64_t third = s->e->n / 3;
	int err;

	for (unsigned int i = 0; i < parts; i++)
		part[i] = median_of(x + n * i / parts, n * (i + 1) / parts - n * i / parts);
	tau = kendall(part, parts, &p);
	first = exp(mean_of(part, quarter));
	last = exp(mean_of(part + parts - quarter, quarter));
	if (fabs(tau) < GROWTH_TAU || p > GROWTH_P ||
	    fmax(first, last) < GROWTH_FACTOR * fmin(first, last) ||
	    squares_beside_line(x, n) > LEFT_MOST * squares_of(x, n))
		return 0;
	ret->attribute = ATTR_GROWTH;
	/* the probability of the line, by the F test: its square is that of Student's t */
	p = stats_t_p(sqrt((squares_of(x, n) / squares_beside_line(x, n) - 1) * (n - 2)), n - 2);
	err = ranks_set(s, tau > 0 ? s->e->n - third : 0, tau > 0 ? s->e->n : third, p, ret);
	if (err)
		return err;
	return asprintf(&ret->text,
			"in the %s third, while all %s (median %s in the first quarter, "
			"%s in the last)",
			tau > 0 ? "last" : "first",
			tau > 0 ? "grow slower all the time" : "become faster all the time",
			text_ns(first).s, text_ns(last).s) < 0
		       ? -ENOMEM
		       : 1;
}

/* Pulls the farthest tenths of both ends in: a program often begins with reads of cached files. */
static void ends_clip(double *x, unsigned int n)
{
	double sorted[TREND_GROUPS];
	unsigned int tenth = n / 10;

	memcpy(sorted, x, n * sizeof(*x));
	qsort(sorted, n, sizeof(*sorted), compare_numbers);
	for (unsigned int i = 0; i < n; i++)
		x[i] = fmin(fmax(x[i], sorted[tenth]), sorted[n - 1 - tenth]);
}

int explain_trend_tell(const struct scan *s, struct explain_finding *ret)
{
	unsigned int n = explain_trend_groups(s->e->n), at;
	double x[TREND_GROUPS], left, all;

	if (s->e->n < (uint64_t)EACH_LEAST * GROUPS_LEAST)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		x[i] = median_log(s->trend[i]);
	ends_clip(x, n);
	at = step_find(x, n, &left);
	all = squares_of(x, n);
	if (at && left < STEP_OF_LINE * squares_beside_line(x, n) && left < LEFT_MOST * all &&
	    fabs(median_of(x, at) - median_of(x + at, n - at)) > log(STEP_FACTOR) &&
	    n * sides_p(x, at, n) < STEP_P) {
		int got = step_tell(s, x, n, at, ret);

		if (got)
			return got;
		free(ret->has);
		*ret = (struct explain_finding){};
	}
	return growth_tell(s, x, n, ret);
}
