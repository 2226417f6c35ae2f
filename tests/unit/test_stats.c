// SPDX-License-Identifier: GPL-2.0-only
/* Statistics: on figures from tables and papers, and on many made-up runs whose truth is known. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "analyse/stats.h"

/* cmocka's own compares floats. */
static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.9g is not %.9g", got, want);
}

/* Critical values as every table of Student's distribution has them. */
static void test_t(void **state)
{
	(void)state;
	near(stats_t_p(12.7062, 1), 0.05, 1e-6);
	near(stats_t_p(2.22814, 10), 0.05, 1e-6);
	near(stats_t_p(-2.22814, 10), 0.05, 1e-6);
	near(stats_t_p(8.61030, 4), 0.001, 1e-7);
	near(stats_t_p(1.959964, 1e9), 0.05, 1e-6);
	near(stats_t_p(0, 7), 1, 1e-12);
	near(stats_t_p(1, 1), 0.5, 1e-12); /* Cauchy's */
	near(stats_t_beyond(0.05, 10), 2.228139, 1e-6);
	near(stats_t_beyond(0.05, 1), 12.706205, 1e-5);
	near(stats_t_beyond(0.001, 4), 8.610302, 1e-5);
	near(stats_t_beyond(0.1, 1e9), 1.644854, 1e-5);
	for (double df = 1; df < 1e6; df *= 3)
		for (double p = 0.9; p > 1e-12; p /= 7)
			near(stats_t_p(stats_t_beyond(p, df), df) / p, 1, 1e-6);
}

/* The extremes have figures, too. */
static void test_no_nan(void **state)
{
	struct stats_side a = { 0, 0, 2 }, b = { 0, 0, 2 };
	struct stats_difference d;
	double same[100] = {};

	(void)state;
	assert_true(stats_t_p(1e300, 1) >= 0 && stats_t_p(1e300, 1e9) >= 0);
	stats_welch(&a, &b, &d);
	assert_true(d.p == 1 && d.error == 0 && d.df == 2);
	b.value = 1e18;
	stats_welch(&a, &b, &d);
	assert_true(d.p == 0 && d.value == 1e18);
	a.variance = 1e300;
	stats_welch(&a, &b, &d);
	assert_true(d.p >= 0 && d.p <= 1 && d.df == 1);
	for (unsigned int n = 1; n <= 100; n++)
		assert_true(stats_block_length(same, n) >= 1);
}

/* t is 2 / sqrt(3), and the degrees of freedom are 9 / (1/9 + 4/19). */
static void test_welch(void **state)
{
	struct stats_side a = { 10, 1, 10 }, b = { 12, 2, 20 };
	struct stats_difference d;

	(void)state;
	stats_welch(&a, &b, &d);
	near(d.value, 2, 0);
	near(d.error, sqrt(3), 1e-12);
	near(d.df, 9 / (1 / 9.0 + 4 / 19.0), 1e-9);
	near(d.p, stats_t_p(2 / sqrt(3), d.df), 1e-12);
}

/* The binomial tail, summed up. */
static double tail(int k, int n, double share)
{
	double sum = 0;

	for (int i = k; i <= n; i++)
		sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(share) +
			   (n - i) * log1p(-share));
	return sum;
}

static void test_binomial(void **state)
{
	(void)state;
	for (int n = 1; n < 400; n = 2 * n + 1)
		for (int k = 1; k <= n; k += 1 + n / 7)
			for (double share = 0.001; share < 1; share *= 3)
				near(stats_binomial_above(k, n, share) /
					     fmax(tail(k, n, share), 1e-280),
				     tail(k, n, share) > 1e-280, 1e-9);
	near(stats_binomial_above(0, 5, 0.1), 1, 0);
	near(stats_binomial_above(5, 5, 1), 1, 0);
	near(stats_binomial_above(5, 5, 0), 0, 0);
	near(stats_binomial_above(1000100, 2000000, 0.5), 0.4436, 1e-3);
	/* between whole numbers it is between their values */
	assert_true(stats_binomial_above(2.5, 9, 0.2) < stats_binomial_above(2, 9, 0.2));
	assert_true(stats_binomial_above(2.5, 9, 0.2) > stats_binomial_above(3, 9, 0.2));
}

static void test_hypergeometric(void **state)
{
	(void)state;
	/* of 4 marked among 10, at least 3 among 5: (4 * 15 + 6) / 252 */
	near(stats_hypergeometric_above(3, 5, 4, 10), 66.0 / 252, 1e-12);
	near(stats_hypergeometric_above(0, 5, 4, 10), 1, 0);
	near(stats_hypergeometric_above(5, 5, 4, 10), 0, 0);
	near(stats_hypergeometric_above(2, 8, 4, 10), 1, 0); /* two must be */
	near(stats_hypergeometric_above(3, 8, 4, 10), 39.0 / 45, 1e-12);
	near(stats_hypergeometric_above(1100, 100000, 100000, 10000000), 9.2e-4, 2e-4);
}

/* Skewness 2 is an exponential distribution, and root of 2 one of shape 2; a small one is nearly
 * normal. */
static void test_pearson(void **state)
{
	(void)state;
	for (double x = -0.9; x < 40; x += 0.7) {
		double y = 2 + x * M_SQRT2;

		near(stats_pearson_above(x, 2) / exp(-1 - x), 1, 1e-9);
		if (y > 0)
			near(stats_pearson_above(x, M_SQRT2) / (exp(-y) * (1 + y)), 1, 1e-9);
	}
	near(stats_pearson_above(-1.5, 2), 1, 0);
	near(stats_pearson_above(2, 0.05), 0.0241, 1e-4);
	near(stats_pearson_above(0, 0.05), 0.4967, 1e-3);
}

/* Values of Abramowitz and Stegun, table 26.8. */
static void test_chi_squared(void **state)
{
	(void)state;
	near(stats_chi_squared_above(18.307, 10), 0.05, 5e-4);
	near(stats_chi_squared_above(124.342, 100), 0.05, 5e-4);
	near(stats_chi_squared_above(149.449, 100), 0.001, 5e-5);
	near(stats_chi_squared_above(0, 5), 1, 1e-3);
}

/* Four tests: the smallest of n counts n times, and none is adjusted below one before it. */
static void test_holm(void **state)
{
	const double p[] = { 0.03, 0.005, 0.04, 0.01 }, want[] = { 0.06, 0.02, 0.06, 0.03 };
	const double large[] = { 0.6, 0.7 };
	double adjusted[4];

	(void)state;
	assert_int_equal(stats_holm(p, 4, adjusted), 0);
	for (int i = 0; i < 4; i++)
		near(adjusted[i], want[i], 1e-12);
	assert_int_equal(stats_holm(large, 2, adjusted), 0);
	assert_true(adjusted[0] == 1 && adjusted[1] == 1);
	assert_int_equal(stats_holm(NULL, 0, adjusted), 0);
}

/* A normal number (Box and Muller, 1958). */
static double normal(struct stats_random *r)
{
	double u = (stats_random(r) >> 11) + 0.5, v = (stats_random(r) >> 11) + 0.5;

	u /= 1ULL << 53;
	v /= 1ULL << 53;
	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* @n numbers with variance 1; each is correlated by @keeps with the one before. */
static void series_make(double *x, unsigned int n, double keeps, struct stats_random *r)
{
	double now = normal(r);

	for (unsigned int i = 0; i < n; i++) {
		x[i] = now;
		now = keeps * now + sqrt(1 - keeps * keeps) * normal(r);
	}
}

static void test_block_length(void **state)
{
	struct stats_random r = { 1 };
	double x[180], sum = 0;

	(void)state;
	series_make(x, 180, 0, &r);
	assert_int_equal(stats_block_length(x, 180), 14); /* the root */
	for (int i = 0; i < 20; i++) {
		series_make(x, 180, 0.8, &r);
		sum += stats_block_length(x, 180);
	}
	assert_true(sum / 20 > 25 && sum / 20 < 50);
	for (unsigned int n = 1; n <= 180; n++)
		assert_true(stats_block_length(x, n) <= (n / 3 ? n / 3 : 1));
}

static void ratio(const double *sums, double *ret, const void *arg)
{
	(void)arg;
	ret[0] = sums[1] / sums[0];
}

/* For independent numbers the variance of a mean is known. */
static void test_bootstrap(void **state)
{
	struct stats_sample s = {
		.intervals = 180, .columns = 2, .block = 1, .figures = ratio, .n_figures = 1
	};
	struct stats_random r = { 2 };
	double x[180][2], variance, again, squares = 0, mean = 0;

	(void)state;
	for (int i = 0; i < 180; i++) {
		x[i][0] = 1;
		x[i][1] = 5 + normal(&r);
		mean += x[i][1] / 180;
	}
	for (int i = 0; i < 180; i++)
		squares += (x[i][1] - mean) * (x[i][1] - mean);
	s.x = &x[0][0];
	assert_int_equal(stats_bootstrap(&s, 4000, &variance), 0);
	near(variance / (squares / 179 / 180), 1, 0.07);
	assert_int_equal(stats_bootstrap(&s, 4000, &again), 0);
	assert_true(variance == again);
	s.block = 60; /* three blocks */
	assert_int_equal(stats_bootstrap(&s, 400, &variance), 0);
	assert_true(variance > 0 && variance < 1);
}

/* One side of a made-up comparison: its mean is @truth. */
static void side_make(struct stats_side *ret, double truth, double keeps, struct stats_random *r)
{
	struct stats_sample s = {
		.intervals = 150, .columns = 2, .figures = ratio, .n_figures = 1
	};
	double off[150], x[150][2], mean = 0;

	series_make(off, 150, keeps, r);
	for (int i = 0; i < 150; i++) {
		x[i][0] = 1;
		x[i][1] = truth + off[i];
		mean += x[i][1] / 150;
	}
	s.x = &x[0][0];
	s.block = stats_block_length(off, 150);
	assert_int_equal(stats_bootstrap(&s, 100, &ret->variance), 0);
	ret->value = mean;
	ret->n = 150.0 / s.block;
}

/* How often of @rounds the interval of the difference has the truth, and how often it is found. */
static void simulate(double keeps, double truth, int rounds, double *ret_covered, double *ret_found)
{
	struct stats_random r = { 3 };
	struct stats_side a, b;
	struct stats_difference d;

	*ret_covered = *ret_found = 0;
	for (int i = 0; i < rounds; i++) {
		side_make(&a, 0, keeps, &r);
		side_make(&b, truth, keeps, &r);
		stats_welch(&a, &b, &d);
		*ret_covered += fabs(d.value - truth) <= d.error * stats_t_beyond(0.05, d.df);
		*ret_found += d.p < 0.001;
	}
	*ret_covered /= rounds;
	*ret_found /= rounds;
}

/* 95 % are 95 % for what is independent, and not much less for what is correlated. */
static void test_coverage(void **state)
{
	double covered, found;

	(void)state;
	simulate(0, 0, 400, &covered, &found);
	assert_true(covered > 0.92 && covered < 0.985 && found <= 0.01);
	simulate(0.5, 0.5, 400, &covered, &found);
	assert_true(covered > 0.90 && covered < 0.985);
	simulate(0.8, 0, 400, &covered, &found);
	assert_true(covered > 0.86 && found <= 0.02);
}

/* A difference of eight standard errors is found, whatever the correlation. */
static void test_planted(void **state)
{
	double covered, found;

	(void)state;
	simulate(0, 8 * sqrt(2 / 150.0), 200, &covered, &found);
	assert_true(found > 0.98 && covered > 0.9);
	simulate(0.5, 8 * sqrt(2 * 3 / 150.0), 200, &covered, &found); /* n is a third */
	assert_true(found > 0.95 && covered > 0.88);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_t),
		cmocka_unit_test(test_no_nan),
		cmocka_unit_test(test_welch),
		cmocka_unit_test(test_binomial),
		cmocka_unit_test(test_chi_squared),
		cmocka_unit_test(test_hypergeometric),
		cmocka_unit_test(test_pearson),
		cmocka_unit_test(test_holm),
		cmocka_unit_test(test_block_length),
		cmocka_unit_test(test_bootstrap),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_planted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
