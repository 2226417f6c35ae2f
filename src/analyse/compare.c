// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_sample.h"
#include "analyse/compare_verdicts.h"
#include "analyse/stats.h"
#include "base/names.h"
#include "base/reason.h"

const struct series_row *compare_find(const struct series *run, const struct series_key *key)
{
	size_t low = 0, high = run->n_rows, mid;
	int order;

	while (low < high) {
		mid = (low + high) / 2;
		order = series_key_compare(&run->rows[mid].key, key);
		if (!order)
			return &run->rows[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static bool side_has(const struct compare *c, enum compare_side side, const struct series_key *key)
{
	for (size_t i = 0; i < c->n_runs[side]; i++)
		if (compare_find(&c->runs[side][i], key))
			return true;
	return false;
}

static bool both_have(const struct series_key *key, const void *arg)
{
	return side_has(arg, BASE, key) && side_has(arg, NEW, key);
}

/* Where keys were left out, a key of one side may merely have been left out on the other. */
static int keys_fold(struct compare *c)
{
	bool left_out = false;

	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			left_out |= c->runs[side][i].more_keys > 0;
	for (int side = 0; side < SIDES && left_out; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			if (series_fold(&c->runs[side][i], both_have, c))
				return -ENOMEM;
	return 0;
}

/* Sums of a key on one side. */
struct sums {
	uint64_t count, errors;
	unsigned __int128 total, strata[ST_N];
};

static void sums_of(const struct compare *c, enum compare_side side, const struct series_key *key,
		    struct sums *ret_sums)
{
	const struct series_row *row;

	*ret_sums = (struct sums){};
	for (size_t i = 0; i < c->n_runs[side]; i++) {
		row = compare_find(&c->runs[side][i], key);
		for (unsigned int at = 0; row && at < c->runs[side][i].intervals; at++) {
			const struct series_cell *cell = &row->cells[at];

			ret_sums->count += cell->count;
			ret_sums->errors += cell->errors;
			ret_sums->total += cell->total_ns;
			for (int st = 0; st < ST_N; st++)
				ret_sums->strata[st] += cell->strata[st];
		}
	}
}

/*
 * Means in whole ns that add up. Each is rounded down, as the mean of the whole is. The ns still
 * missing from this mean go to the means with the largest remainders.
 */
static void means_spread(const struct sums *s, uint64_t *ret_mean, uint64_t ret_strata[ST_N])
{
	unsigned __int128 rest[ST_N];
	uint64_t left;
	int largest;

	left = *ret_mean = s->total / s->count;
	for (int i = 0; i < ST_N; i++) {
		ret_strata[i] = s->strata[i] / s->count;
		rest[i] = s->strata[i] % s->count;
		left -= ret_strata[i];
	}
	for (; left; left--) {
		largest = 0;
		for (int i = 1; i < ST_N; i++)
			if (rest[i] > rest[largest])
				largest = i;
		ret_strata[largest]++;
		rest[largest] = 0;
	}
}

/* Whether strata add up to the total, and fit into its numbers. */
static bool is_sane(const struct sums *s)
{
	unsigned __int128 sum = 0;

	for (int i = 0; i < ST_N; i++)
		sum += s->strata[i];
	return s->count && sum == s->total && sum >> 62 == 0;
}

/* 1: a row, 0: only one side has it; -1: its sums make no sense. */
static int row_fill(const struct compare *c, const struct series_row *from,
		    struct compare_row *ret_row, struct compare_lone *ret_lone)
{
	bool has[SIDES];
	struct sums s;

	*ret_row = (struct compare_row){ .key = &from->key, .kind = from->kind };
	for (int side = 0; side < SIDES; side++) {
		has[side] = side_has(c, side, &from->key);
		if (!has[side])
			continue;
		sums_of(c, side, &from->key, &s);
		if (!is_sane(&s))
			return -1;
		ret_row->count[side] = s.count;
		ret_row->errors[side] = s.errors;
		ret_row->total_ns[side] = s.total / c->n_runs[side];
		means_spread(&s, &ret_row->mean_ns[side], ret_row->strata_ns[side]);
		*ret_lone = (struct compare_lone){ .key = &from->key,
						   .kind = from->kind,
						   .side = side,
						   .count = s.count,
						   .total_ns = s.total };
	}
	return has[BASE] && has[NEW];
}

static int row_from_compare(const void *a, const void *b)
{
	return series_key_compare(&(*(const struct series_row *const *)a)->key,
				  &(*(const struct series_row *const *)b)->key);
}

/* A row of each key, in order. The caller frees the result; NULL if out of memory. */
static const struct series_row **keys_list(const struct compare *c, size_t *ret_n)
{
	const struct series_row **list;
	size_t n = 0, unique = 0;

	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			n += c->runs[side][i].n_rows;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return NULL;
	n = 0;
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			for (size_t r = 0; r < c->runs[side][i].n_rows; r++)
				list[n++] = &c->runs[side][i].rows[r];
	qsort(list, n, sizeof(*list), row_from_compare);
	for (size_t i = 0; i < n; i++)
		if (!unique || row_from_compare(&list[unique - 1], &list[i]))
			list[unique++] = list[i];
	*ret_n = unique;
	return list;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static int row_order(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	uint64_t dx = apart(x->total_ns[BASE], x->total_ns[NEW]);
	uint64_t dy = apart(y->total_ns[BASE], y->total_ns[NEW]);

	if (x->key->is_request != y->key->is_request)
		return x->key->is_request - y->key->is_request;
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return series_key_compare(x->key, y->key);
}

static int lone_order(const void *a, const void *b)
{
	const struct compare_lone *x = a, *y = b;

	if (x->key->is_request != y->key->is_request)
		return x->key->is_request - y->key->is_request;
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return series_key_compare(x->key, y->key);
}

static int rows_fill(struct compare *c, const struct series_row **keys, size_t n,
		     struct reason *why)
{
	int got;

	c->rows = calloc(n + 1, sizeof(*c->rows));
	c->lone = calloc(n + 1, sizeof(*c->lone));
	if (!c->rows || !c->lone)
		return reason_no_memory(why);
	for (size_t i = 0; i < n; i++) {
		got = row_fill(c, keys[i], &c->rows[c->n_rows], &c->lone[c->n_lone]);
		if (got < 0)
			return reason_set(why, EXIT_FAILED,
					  "times of '%.60s' make no sense: their "
					  "strata do not add up",
					  keys[i]->key.what);
		c->n_rows += got;
		c->n_lone += !got;
	}
	qsort(c->rows, c->n_rows, sizeof(*c->rows), row_order);
	qsort(c->lone, c->n_lone, sizeof(*c->lone), lone_order);
	while (c->n_ops < c->n_rows && !c->rows[c->n_ops].key->is_request)
		c->n_ops++;
	return 0;
}

/* Whether a time is one, and not damage: below 73 years. */
static bool fits(__int128 ns)
{
	return ns > -(1LL << 61) && ns < 1LL << 61;
}

/*
 * The total is the sum over all rows of n m, so many operations of this mean. "Slower" is the sum
 * of n_new (m_new - m_base) over the rows of both sides. "More" is (N_new - N_base) M_base, with
 * the N and M of all rows. "Mix" is the rest.
 */
static void change_split(struct compare *c)
{
	__int128 n[SIDES] = {}, of_run[SIDES], total[SIDES] = {}, slower = 0, more, mix;

	for (size_t i = 0; i < c->n_ops; i++) {
		const struct compare_row *row = &c->rows[i];

		for (int side = 0; side < SIDES; side++) {
			of_run[side] = row->count[side] / c->n_runs[side];
			n[side] += of_run[side];
			total[side] += row->total_ns[side];
		}
		if (of_run[BASE])
			slower += row->total_ns[NEW] -
				  of_run[NEW] * row->total_ns[BASE] / of_run[BASE];
	}
	for (size_t i = 0; i < c->n_lone; i++) {
		const struct compare_lone *l = &c->lone[i];

		if (l->key->is_request)
			continue;
		n[l->side] += l->count / c->n_runs[l->side];
		total[l->side] += l->total_ns / c->n_runs[l->side];
	}
	if (!n[BASE] || !n[NEW])
		return;
	more = (n[NEW] - n[BASE]) * total[BASE] / n[BASE];
	mix = total[NEW] - total[BASE] - more - slower;
	if (!fits(total[BASE]) || !fits(total[NEW]) || !fits(more) || !fits(mix) || !fits(slower))
		return;
	c->change = (struct compare_change){ true, { total[BASE], total[NEW] }, more, mix, slower };
}

static bool row_is_identical(const struct compare_row *row)
{
	for (int f = 0; f < FIG_N; f++)
		if (row->figures[f].known &&
		    row->figures[f].value[BASE] != row->figures[f].value[NEW])
			return false;
	return true;
}

static void durations(struct compare *c)
{
	for (int side = 0; side < SIDES; side++) {
		unsigned __int128 sum = 0;

		for (size_t i = 0; i < c->n_runs[side]; i++)
			sum += c->runs[side][i].duration_ns;
		c->duration_ns[side] = sum / c->n_runs[side];
	}
}

int compare_runs(struct compare *c, struct reason *why)
{
	const struct series_row **keys;
	size_t n;
	int err;

	if (keys_fold(c))
		return reason_no_memory(why);
	durations(c);
	keys = keys_list(c, &n);
	err = keys ? rows_fill(c, keys, n, why) : reason_no_memory(why);
	free(keys);
	if (err)
		return err;
	change_split(c);
	if (compare_verdicts(c) || compare_doubt(c))
		return reason_no_memory(why);
	c->identical = c->n_rows && !c->n_lone;
	for (size_t i = 0; i < c->n_rows; i++)
		c->identical &= row_is_identical(&c->rows[i]);
	return 0;
}

int64_t compare_difference(const struct compare_row *row, enum figure f)
{
	const double *v = row->figures[f].value;

	if (f == FIG_MEAN)
		return row->mean_ns[NEW] - row->mean_ns[BASE];
	if (f == FIG_TOTAL)
		return row->total_ns[NEW] - row->total_ns[BASE];
	if (f >= FIG_STRATA)
		return row->strata_ns[NEW][f - FIG_STRATA] - row->strata_ns[BASE][f - FIG_STRATA];
	return llround(v[NEW]) - llround(v[BASE]);
}

struct compare_range compare_range(const struct compare_figure *f)
{
	double base = f->typical[BASE] + f->start, half;

	if (!f->tested)
		return (struct compare_range){};
	half = f->error * stats_t_beyond(0.05, f->df);
	return (struct compare_range){ base * expm1(f->change - half),
				       base * expm1(f->change + half) };
}

bool compare_has_ratio(const struct compare_figure *f)
{
	return f->typical[BASE] > 0 && f->typical[NEW] > 0;
}

/* The logarithm of 1 + x, where chance may have made x less than -1. */
static double log_of(double x)
{
	return log1p(x > -0.9999 ? x : -0.9999);
}

struct compare_ratios compare_ratios(const struct compare_figure *f)
{
	struct compare_range range = compare_range(f);
	double base = f->typical[BASE];

	return (struct compare_ratios){ log(f->typical[NEW] / base), log_of(range.low / base),
					log_of(range.high / base) };
}

/* The standard errors of a difference that is called so at @level with the probability @power,
 * where Holm's procedure begins. */
static double errors_shown(const struct compare *c, double df, double level, double power)
{
	double first = c->n_first ? c->n_first : 1;

	return stats_t_beyond(level / first, df) + stats_t_beyond(2 * (1 - power), df);
}

/* exp(x) - 1, but never infinite. */
static double grown(double x)
{
	return expm1(fmin(x, 100));
}

double compare_seen(const struct compare *c, const struct compare_figure *f)
{
	return (f->typical[BASE] + f->start) *
	       grown(f->error * errors_shown(c, f->df, COMPARE_SURE, 0.95));
}

double compare_shows(const struct compare *c, const struct compare_figure *f)
{
	return grown(f->error * errors_shown(c, f->df, COMPARE_LIKELY, COMPARE_POWER));
}

unsigned int compare_runs_for(const struct compare *c, const struct compare_figure *f, double share)
{
	double one = f->error / sqrt(1.0 / f->runs[BASE] + 1.0 / f->runs[NEW]);

	for (unsigned int n = COMPARE_RUNS; n <= COMPARE_RUNS_MOST; n++)
		if (one * sqrt(2.0 / n) *
			    errors_shown(c, 2 * n - 2, COMPARE_LIKELY, COMPARE_POWER) <=
		    log1p(share))
			return n;
	return 0;
}

const char *compare_figure_name(const struct compare_row *row, enum figure f)
{
	static const char *const names[FIG_STRATA] = {
		[FIG_COUNT] = "count", [FIG_RATE] = "rate",   [FIG_MEAN] = "mean",
		[FIG_P50] = "p50",     [FIG_P99] = "p99",     [FIG_P999] = "p999",
		[FIG_TOTAL] = "total", [FIG_BYTES] = "bytes", [FIG_DEPTH] = "depth",
	};

	if (f == FIG_BESIDE)
		return row->key->is_request ? "merges" : "requests";
	return f < FIG_STRATA ? names[f] : stratum_name(f - FIG_STRATA);
}

bool compare_figure_is_time(enum figure f)
{
	return f == FIG_MEAN || f == FIG_TOTAL || f >= FIG_STRATA ||
	       (f >= FIG_P50 && f <= FIG_P999);
}

void compare_done(struct compare *c)
{
	free(c->rows);
	free(c->lone);
	free(c->claims);
	free(c->work);
	free(c->order[BASE]);
	free(c->order[NEW]);
	for (size_t i = 0; i < c->n_doubts; i++)
		free(c->doubts[i]);
	free(c->doubts);
}

bool compare_is_between_runs(const struct compare *c)
{
	return c->method == COMPARE_STUDENT || c->method == COMPARE_WELCH;
}

bool compare_is_estimated(const struct compare *c, const struct series_key *key)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			if (c->runs[side][i].stacks.sampled && !(key && key->is_request))
				return true;
	return false;
}

bool compare_is_one_after_the_other(const struct compare *c)
{
	return c->blocked > 0.5;
}

bool compare_is_of_commands(const struct compare *c)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < c->n_runs[side]; i++)
			if (!c->runs[side][i].of_command || c->parts)
				return false;
	return true;
}
