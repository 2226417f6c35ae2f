// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/compare_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_sample.h"
#include "analyse/stats.h"

#define FLOOR 0.01 /* a time of two runs is never more equal than to 1 % */
#define START 0.01 /* of the mean: added to what may be 0 */

/* The least number of events of a run that give figure @f. */
static double events_least(enum figure f)
{
	switch (f) {
	case FIG_COUNT:
	case FIG_RATE:
		return 0;
	case FIG_TOTAL:
		return 1;
	case FIG_P50:
		return 20;
	case FIG_P99:
		return 100;
	case FIG_P999:
		return 1000;
	default:
		return COMPARE_EVENTS;
	}
}

static int side_fill(const struct compare *c, enum compare_side side, const struct series_key *key,
		     const struct compare_buckets *b, struct compare_values *v)
{
	size_t n = v->n[side] = c->n_runs[side];
	struct compare_sample s;
	double values[FIG_N];

	if (compare_sample_fill(&s, c, side, key, b))
		return -ENOMEM;
	v->x[side] = calloc(n * FIG_N, sizeof(double));
	for (size_t i = 0; i < n && v->x[side]; i++) {
		const double *sums = s.x + i * s.columns;

		compare_figures(sums, values, b);
		for (int f = 0; f < FIG_N; f++)
			v->x[side][f * n + i] =
				sums[COL_SAMPLES] < events_least(f) ? NAN : values[f];
		if (sums[COL_NS] > 0)
			v->start_of_rate += 1e9 / sums[COL_NS] / (c->n_runs[BASE] + c->n_runs[NEW]);
	}
	compare_figures(s.sums, v->sums[side], b);
	v->sums[side][FIG_COUNT] /= n;
	v->sums[side][FIG_TOTAL] /= n;
	free(s.x);
	return v->x[side] ? 0 : -ENOMEM;
}

/* The geometric mean of the times of one operation, over all runs that have it. */
static double mean_of(const struct compare_values *v)
{
	double sum = 0, n = 0, x;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < v->n[side]; i++) {
			x = v->x[side][FIG_MEAN * v->n[side] + i];
			if (!(x > 0))
				continue;
			sum += log(x);
			n++;
		}
	}
	return n ? exp(sum / n) : 0;
}

int compare_values_fill(const struct compare *c, const struct series_key *key,
			struct compare_values *ret_values)
{
	struct compare_buckets *b = malloc(sizeof(*b));
	struct compare_values v = {};
	int err = b ? 0 : -ENOMEM;

	if (!err)
		compare_buckets_fill(c, key, b);
	for (int side = 0; side < SIDES && !err; side++)
		err = side_fill(c, side, key, b, &v);
	free(b);
	if (err) {
		compare_values_done(&v);
		return err;
	}
	v.mean_ns = mean_of(&v);
	*ret_values = v;
	return 0;
}

void compare_values_done(struct compare_values *v)
{
	free(v->x[BASE]);
	free(v->x[NEW]);
}

/* The mean of all numbers of both sides, or 0 if there is none. */
static double mean_of_all(const struct compare_numbers *numbers)
{
	double sum = 0, n = 0;

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < numbers->n[side]; i++) {
			if (isnan(numbers->x[side][i]))
				continue;
			sum += numbers->x[side][i];
			n++;
		}
	}
	return n ? sum / n : 0;
}

/* A number of events: one more or less in a run is no difference. */
static void scale_count(struct compare_numbers *numbers, double one)
{
	double mean = mean_of_all(numbers);

	numbers->start = one;
	numbers->floor = one > 0 ? 1 / ((mean / one + 1) * (mean / one + 1)) : 0;
}

struct compare_numbers compare_numbers_of(const struct compare_values *v, enum figure f)
{
	struct compare_numbers numbers = { .n = { v->n[BASE], v->n[NEW] },
					   .floor = FLOOR * FLOOR,
					   .may_be_zero = f >= FIG_STRATA };

	for (int side = 0; side < SIDES; side++)
		numbers.x[side] = v->x[side] + f * v->n[side];
	if (f == FIG_COUNT || f == FIG_RATE)
		scale_count(&numbers, f == FIG_COUNT ? 1 : v->start_of_rate);
	else if (f >= FIG_STRATA)
		numbers.start = START * v->mean_ns;
	else if (!compare_figure_is_time(f))
		numbers.start = START * mean_of_all(&numbers);
	return numbers;
}

/* The logarithms of a side. */
struct logs {
	unsigned int n;
	double mean, variance; /* of one value */
	bool is_low;           /* a number cannot have a logarithm */
};

static struct logs logs_of(const struct compare_numbers *numbers, enum compare_side side)
{
	struct logs l = {};
	double off, squares = 0, x;

	for (size_t i = 0; i < numbers->n[side]; i++) {
		x = numbers->x[side][i] + numbers->start;
		if (isnan(x))
			continue;
		if (!(x > 0)) {
			l.is_low = true;
			continue;
		}
		off = log(x) - l.mean;
		l.mean += off / ++l.n;
		squares += off * (log(x) - l.mean);
	}
	l.variance = l.n > 1 ? squares / (l.n - 1) : 0;
	return l;
}

/* A mean of the numbers of a side. */
static double typical(const struct compare_numbers *numbers, enum compare_side side)
{
	double logs = 0, sum = 0, n = 0, x;
	bool has_zero = false;

	for (size_t i = 0; i < numbers->n[side]; i++) {
		x = numbers->x[side][i];
		if (isnan(x))
			continue;
		sum += x;
		has_zero |= x <= 0;
		logs += has_zero ? 0 : log(x);
		n++;
	}
	if (!n)
		return 0;
	return has_zero || numbers->may_be_zero ? sum / n : exp(logs / n);
}

/* Student's t if both sides have as many values, else Welch's. */
static void error_set(const struct logs l[SIDES], double floor, struct compare_figure *f)
{
	double n = l[BASE].n, m = l[NEW].n, a, b;

	if (l[BASE].n == l[NEW].n) {
		f->df = n + m - 2;
		a = ((n - 1) * l[BASE].variance + (m - 1) * l[NEW].variance) / f->df + floor;
		f->error = sqrt(a * (1 / n + 1 / m));
		return;
	}
	a = (l[BASE].variance + floor) / n;
	b = (l[NEW].variance + floor) / m;
	f->error = sqrt(a + b);
	f->df = (a + b) * (a + b) / (a * a / (n - 1) + b * b / (m - 1));
}

/* Sums over all observations: side and order of a run, and its logarithm. */
struct moments {
	double n, s, o, y, ss, oo, so, yy, sy, oy;
};

static void moments_add(struct moments *m, double s, double o, double y)
{
	m->n++;
	m->s += s;
	m->o += o;
	m->y += y;
	m->ss += s * s;
	m->oo += o * o;
	m->so += s * o;
	m->yy += y * y;
	m->sy += s * y;
	m->oy += o * y;
}

/* Sums of products of deviations from the means. */
static void moments_center(struct moments *m)
{
	m->ss -= m->s * m->s / m->n;
	m->oo -= m->o * m->o / m->n;
	m->so -= m->s * m->o / m->n;
	m->yy -= m->y * m->y / m->n;
	m->sy -= m->s * m->y / m->n;
	m->oy -= m->o * m->y / m->n;
}

/* The probability of the difference if a straight line over the order of all runs is fitted, too:
 * least squares of y = a + d side + c order. */
static double drift_p(const struct compare *c, const struct compare_numbers *numbers, double middle,
		      const struct compare_figure *f)
{
	double det, d, slope, rest, variance, x;
	struct moments m = {};

	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < numbers->n[side]; i++) {
			x = numbers->x[side][i] + numbers->start;
			if (x > 0)
				moments_add(&m, side, c->order[side][i], log(x) - middle);
		}
	}
	if (m.n < 5)
		return f->p;
	moments_center(&m);
	det = m.ss * m.oo - m.so * m.so;
	if (det <= 1e-9 * m.ss * m.oo)
		return f->p;
	d = (m.sy * m.oo - m.oy * m.so) / det;
	slope = (m.oy * m.ss - m.sy * m.so) / det;
	rest = m.yy - d * m.sy - slope * m.oy;
	variance = (rest > 0 ? rest : 0) / (m.n - 3) + numbers->floor;
	return stats_t_p(d / sqrt(variance * m.oo / det), m.n - 3);
}

/* Whether a number is the same in every run of a side. */
static bool is_constant(const struct compare_numbers *numbers, enum compare_side side)
{
	const double *x = numbers->x[side];

	for (size_t i = 0; i < numbers->n[side]; i++)
		if (!(x[i] == x[0]))
			return false;
	return true;
}

void compare_test(const struct compare *c, const struct compare_numbers *numbers,
		  struct compare_figure *f)
{
	struct logs l[SIDES] = { logs_of(numbers, BASE), logs_of(numbers, NEW) };

	f->start = numbers->start;
	for (int side = 0; side < SIDES; side++) {
		f->typical[side] = typical(numbers, side);
		f->runs[side] = l[side].n;
	}
	f->tested = l[BASE].n >= COMPARE_RUNS && l[NEW].n >= COMPARE_RUNS && !l[BASE].is_low &&
		    !l[NEW].is_low;
	f->constant = is_constant(numbers, BASE) && is_constant(numbers, NEW);
	f->p = f->drift_p = f->adjusted = f->drift_adjusted = 1;
	if (!f->tested)
		return;
	f->change = l[NEW].mean - l[BASE].mean;
	error_set(l, numbers->floor, f);
	f->p = stats_t_p(f->change / f->error, f->df);
	f->drift_p =
		compare_is_one_after_the_other(c) ? drift_p(c, numbers, l[BASE].mean, f) : f->p;
}

/* The numbers of a whole run. */
static void whole_of(const struct compare *c, const struct series *run, double ret[WHOLE_N])
{
	double per = compare_is_of_commands(c) || !run->duration_ns ? 1 : run->duration_ns / 1e9;
	uint64_t total = 0, waits = 0, count = 0;

	for (size_t r = 0; r < run->n_rows; r++) {
		const struct series_row *row = &run->rows[r];

		for (unsigned int at = 0; at < run->intervals; at++) {
			if (row->key.is_request != c->whole_is_of_requests)
				continue;
			total += row->cells[at].total_ns;
			count += row->cells[at].count;
			waits += row->cells[at].strata[ST_RUNQ] + row->cells[at].strata[ST_PREEMPT];
		}
	}
	ret[WHOLE_TIME] = total / per;
	ret[WHOLE_NOWAIT] = (total - waits) / per;
	ret[WHOLE_COUNT] = count / per;
}

static bool any_ops(const struct compare *c)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			if (c->runs[side][i].ops)
				return true;
	return false;
}

/* Whether a stratum with waits for a CPU is missing on a side. */
static bool waits_missing(const struct compare *c)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			if (c->runs[side][i].strata_missing & (1U << ST_RUNQ | 1U << ST_PREEMPT))
				return true;
	return false;
}

static double mean_second(const struct compare *c)
{
	double sum = 0;

	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			if (c->runs[side][i].duration_ns)
				sum += 1e9 / c->runs[side][i].duration_ns;
	return sum / (c->n_runs[BASE] + c->n_runs[NEW]);
}

int compare_whole(struct compare *c)
{
	size_t n = c->n_runs[BASE] + c->n_runs[NEW], at = 0;
	double *x = calloc(n * WHOLE_N, sizeof(*x)), of_run[WHOLE_N];

	if (!x)
		return -ENOMEM;
	c->whole_is_of_requests = !any_ops(c);
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; i < c->n_runs[side]; i++, at++) {
			whole_of(c, &c->runs[side][i], of_run);
			for (int f = 0; f < WHOLE_N; f++)
				x[f * n + at] = of_run[f];
		}
	}
	for (int f = 0; f < WHOLE_N; f++) {
		struct compare_numbers numbers = { { x + f * n, x + f * n + c->n_runs[BASE] },
						   { c->n_runs[BASE], c->n_runs[NEW] },
						   0,
						   FLOOR * FLOOR,
						   false };

		if (f == WHOLE_COUNT)
			scale_count(&numbers, compare_is_of_commands(c) ? 1 : mean_second(c));
		c->whole[f].known =
			f != WHOLE_NOWAIT || (!c->whole_is_of_requests && !waits_missing(c));
		compare_test(c, &numbers, &c->whole[f]);
		memcpy(c->whole[f].value, c->whole[f].typical, sizeof(c->whole[f].value));
		c->whole[f].tested &= c->whole[f].known;
	}
	free(x);
	return 0;
}
