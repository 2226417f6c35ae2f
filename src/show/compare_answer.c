// SPDX-License-Identifier: GPL-2.0-only
/* compare_answer.c - the result of a comparison in a sentence; see compare.h. */
#include "show/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"

enum { STRATA_NAMED = 3, OTHERS_NAMED = 2 };

#define SEEN_MOST   10   /* larger shares than this say that nothing can be seen */
#define SAME_WITHIN 0.25 /* more than that is not worth to be called the same */

void compare_name(char *dst, size_t cap, const struct series_key *key)
{
	const char *where = key->where[0] ? key->where : NULL;

	if (key->is_request)
		snprintf(dst, cap, "%s request of %s", key->what, where ? where : "?");
	else
		snprintf(dst, cap, "%s%s%s%s%s%s%s%s", key->what, where ? " on " : "",
			 where ? where : "", key->by ? " of " : "", key->by ? key->by : "",
			 key->comm[0] ? " (" : "", key->comm, key->comm[0] ? ")" : "");
}

struct text_num compare_signed_ns(int64_t ns)
{
	struct text_num t = text_ns(ns < 0 ? -(uint64_t)ns : (uint64_t)ns), s;

	snprintf(s.s, sizeof(s.s), "%s%.20s", ns < 0 ? "-" : ns ? "+" : "", t.s);
	return s;
}

const char *compare_verdict(const struct compare *c, const struct compare_figure *f)
{
	if (f->sure)
		return compare_is_between_runs(c) ? "sure" : "differs";
	return f->tested ? "not sure" : "too few";
}

/* A share without a sign: "18 %", "3.4 %", "0.25 %"; more than tenfold: "12 times". */
static struct text_num share(double part)
{
	double pct = fabs(part) * 100;
	struct text_num t;

	if (pct >= 1000)
		snprintf(t.s, sizeof(t.s), "%.*g times", pct < 1e6 ? 3 : 2, pct / 100);
	else
		snprintf(t.s, sizeof(t.s), "%.*f %%", pct < 0.995 ? 2 : pct < 9.95 ? 1 : 0, pct);
	return t;
}

/* A share that is not smaller than @part, with two digits. */
static struct text_num share_up(double part)
{
	double pct = part * 100, step = pct < 1 ? 0.01 : pct < 10 ? 0.1 : 1;

	return share(ceil(pct / step - 1e-9) * step / 100);
}

struct text_num compare_percent(double difference, double base)
{
	struct text_num t = { "-" }, s;

	if (base == 0)
		return t;
	s = share(difference / base);
	snprintf(t.s, sizeof(t.s), "%s%.20s",
		 difference < 0   ? "-"
		 : difference > 0 ? "+"
				  : "",
		 s.s);
	return t;
}

/* The disk in which requests spend nine tenths of their time in devices, or NULL if there is
 * none. */
static const char *only_disk(const struct compare *c)
{
	double most = 0, all = 0, of_disk;
	const char *disk = NULL;

	for (size_t i = c->n_ops; i < c->n_rows; i++) {
		of_disk = 0;
		for (size_t o = c->n_ops; o < c->n_rows; o++)
			if (!strcmp(c->rows[o].key->where, c->rows[i].key->where))
				of_disk += c->rows[o].figures[FIG_DEPTH].value[NEW];
		all += c->rows[i].figures[FIG_DEPTH].value[NEW];
		if (of_disk > most) {
			most = of_disk;
			disk = c->rows[i].key->where;
		}
	}
	return most > 0 && most >= 0.9 * all ? disk : NULL;
}

static uint64_t size_of(int64_t ns)
{
	return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

/* The sure stratum with the largest difference below @below, or FIG_N if there is none. */
static enum figure stratum_next(const struct compare_row *row, uint64_t below)
{
	enum figure next = FIG_N;
	uint64_t largest = 0, size;

	for (int f = FIG_STRATA; f < FIG_N; f++) {
		size = size_of(compare_difference(row, f));
		if (!row->figures[f].sure || size >= below || size <= largest)
			continue;
		largest = size;
		next = f;
	}
	return next;
}

/* ": +1.10 ms device vda, +210 us run queue" */
static void put_strata(FILE *f, const struct compare *c, const struct compare_row *row)
{
	uint64_t whole = size_of(compare_difference(row, FIG_MEAN)), below = UINT64_MAX;
	const char *disk = row->key->is_request ? NULL : only_disk(c);
	enum figure st;

	for (int n = 0; n < STRATA_NAMED; n++) {
		st = stratum_next(row, below);
		if (st == FIG_N)
			return;
		below = size_of(compare_difference(row, st));
		if (n && below < whole / 20)
			return;
		fprintf(f, "%s%s %s%s%s", n ? ", " : ": ",
			compare_signed_ns(compare_difference(row, st)).s,
			stratum_label(st - FIG_STRATA),
			disk && st == FIG_STRATA + ST_DEVICE ? " " : "",
			disk && st == FIG_STRATA + ST_DEVICE ? disk : "");
	}
}

/* "18 % longer per fsync on ext4 (7.55 ms -> 8.90 ms, +1.35 ms, 95 % between ... and ...)" */
static void put_mean(FILE *f, const struct compare_row *row, bool whole)
{
	const struct compare_figure *m = &row->figures[FIG_MEAN];
	int64_t ns = compare_difference(row, FIG_MEAN), half = llround(compare_half(m));
	char name[COMPARE_NAME];

	compare_name(name, sizeof(name), row->key);
	if (m->value[BASE] > 0)
		fprintf(f, "%s ", share((m->value[NEW] - m->value[BASE]) / m->value[BASE]).s);
	fprintf(f, "%s per %s (%s -> %s", ns < 0 ? "less" : "longer", name,
		text_ns(row->mean_ns[BASE]).s, text_ns(row->mean_ns[NEW]).s);
	if (whole)
		fprintf(f, ", %s, 95 %% between %s and %s", compare_signed_ns(ns).s,
			compare_signed_ns(ns - half).s, compare_signed_ns(ns + half).s);
	fprintf(f, ")");
}

/* A figure other than the mean: "fsync on ext4: higher p99 in new (+18 %)". */
static void put_figure(FILE *f, const struct compare_row *row, enum figure fig)
{
	static const char *const names[FIG_STRATA][2] = {
		[FIG_RATE] = { "lower rate", "higher rate" },
		[FIG_P50] = { "lower p50", "higher p50" },
		[FIG_P99] = { "lower p99", "higher p99" },
		[FIG_P999] = { "lower p99.9", "higher p99.9" },
		[FIG_BYTES] = { "smaller mean size", "larger mean size" },
		[FIG_DEPTH] = { "lower queue depth", "higher queue depth" },
	};
	const struct compare_figure *v = &row->figures[fig];
	bool higher = v->value[NEW] > v->value[BASE];
	char name[COMPARE_NAME];

	compare_name(name, sizeof(name), row->key);
	fprintf(f, "%s: ", name);
	if (fig >= FIG_STRATA)
		fprintf(f, "%s time in %s", higher ? "more" : "less",
			stratum_label(fig - FIG_STRATA));
	else if (fig == FIG_BESIDE)
		fprintf(f, "%s %s", higher ? "more" : "fewer",
			row->key->is_request ? "merges each" : "requests each");
	else
		fprintf(f, "%s", names[fig][higher]);
	fprintf(f, " in new");
	if (v->value[BASE] > 0)
		fprintf(f, " (%s)",
			compare_percent(v->value[NEW] - v->value[BASE], v->value[BASE]).s);
}

/* "fsync on ext4 takes 12.4 s in base, 2.86 s in new (-77 %): 6,004 and 1,503 of them" */
static void put_sum(FILE *f, const struct compare_row *row, enum figure fig)
{
	const struct compare_figure *t = &row->figures[fig], *n = &row->figures[FIG_COUNT];
	char name[COMPARE_NAME];

	compare_name(name, sizeof(name), row->key);
	if (fig == FIG_TOTAL)
		fprintf(f, "%s takes %s in base, %s in new (%s): ", name,
			text_ns(row->total_ns[BASE]).s, text_ns(row->total_ns[NEW]).s,
			compare_percent(t->value[NEW] - t->value[BASE], t->value[BASE]).s);
	else
		fprintf(f, "%s: ", name);
	fprintf(f, "%s in base, %s in new", text_count(llround(n->value[BASE])).s,
		text_count(llround(n->value[NEW])).s);
}

/* The rows of operations, then those of requests, whose mean has changed for sure. */
static const struct compare_row *sure_next(const struct compare *c, const struct compare_row *last)
{
	const struct compare_row *row = last ? last + 1 : c->rows;

	for (; row < c->rows + c->n_rows; row++)
		if (row->figures[FIG_MEAN].sure)
			return row;
	return NULL;
}

/* "; reads on ext4 are the same within 2 %", of those with the largest total. */
static void put_same(FILE *f, const struct compare *c)
{
	const struct compare_row *largest = NULL;
	const struct compare_figure *m;
	char name[COMPARE_NAME];
	double within;

	for (size_t i = 0; i < c->n_ops; i++) {
		m = &c->rows[i].figures[FIG_MEAN];
		if (m->tested && !m->sure && m->value[BASE] > 0 &&
		    (!largest || c->rows[i].total_ns[BASE] > largest->total_ns[BASE]))
			largest = &c->rows[i];
	}
	if (!largest)
		return;
	m = &largest->figures[FIG_MEAN];
	within = (fabs(m->value[NEW] - m->value[BASE]) + compare_half(m)) / m->value[BASE];
	compare_name(name, sizeof(name), largest->key);
	if (within <= SAME_WITHIN)
		fprintf(f, "; %s is the same within %s", name, share_up(within).s);
}

static void put_means(FILE *f, const struct compare *c)
{
	const struct compare_row *row = sure_next(c, NULL);
	bool of_requests = row->key->is_request;

	fprintf(f, "new takes ");
	put_mean(f, row, true);
	put_strata(f, c, row);
	for (int n = 0; n < OTHERS_NAMED; n++) {
		row = sure_next(c, row);
		if (!row || row->key->is_request != of_requests)
			break;
		fprintf(f, "; ");
		put_mean(f, row, false);
	}
	put_same(f, c);
}

/*
 * The first sure figure of any row, those that say most first. Returns false if there is none to
 * tell: all that is sure is a stratum's difference of less than half a nanosecond.
 */
static bool put_any(FILE *f, const struct compare *c)
{
	static const enum figure order[] = { FIG_TOTAL, FIG_P99,    FIG_P50,   FIG_P999, FIG_RATE,
					     FIG_COUNT, FIG_BESIDE, FIG_BYTES, FIG_DEPTH };
	enum figure st;

	for (size_t i = 0; i < c->n_rows; i++) {
		st = c->rows[i].figures[FIG_TOTAL].sure ? FIG_TOTAL
							: stratum_next(&c->rows[i], UINT64_MAX);
		for (size_t n = 0; n < sizeof(order) / sizeof(*order) && st == FIG_N; n++)
			st = c->rows[i].figures[order[n]].sure ? order[n] : FIG_N;
		if (st == FIG_N)
			continue;
		(st == FIG_TOTAL || st == FIG_COUNT ? put_sum : put_figure)(f, &c->rows[i], st);
		put_same(f, c);
		return true;
	}
	return false;
}

static const char *article(const char *name)
{
	return strchr("aeo", name[0]) || !strncmp(name, "fs", 2) ? "an" : "a";
}

static int total_order(const void *a, const void *b)
{
	const struct compare_row *x = *(const struct compare_row *const *)a;
	const struct compare_row *y = *(const struct compare_row *const *)b;

	if (x->total_ns[BASE] != y->total_ns[BASE])
		return x->total_ns[BASE] < y->total_ns[BASE] ? 1 : -1;
	return (x > y) - (x < y);
}

/* The smallest difference of the mean that would have been seen, as a share of base. */
static double seen_share(const struct compare *c, const struct compare_row *row)
{
	const struct compare_figure *m = &row->figures[FIG_MEAN];

	return m->value[BASE] > 0 ? compare_seen(c, m) / m->value[BASE] : INFINITY;
}

/* "no difference that these runs can show: one of 3 % or more in a read would have been seen" */
static void put_none(FILE *f, const struct compare *c)
{
	const struct compare_row **rows = calloc(c->n_rows + 1, sizeof(*rows));
	char name[COMPARE_NAME];
	size_t n = 0;

	for (size_t i = 0; i < c->n_rows && rows; i++)
		if (c->rows[i].figures[FIG_MEAN].tested && seen_share(c, &c->rows[i]) < SEEN_MOST &&
		    (!n || c->rows[i].key->is_request == rows[0]->key->is_request))
			rows[n++] = &c->rows[i];
	if (n)
		qsort(rows, n, sizeof(*rows), total_order);
	fprintf(f, "no difference that these runs can show");
	for (size_t i = 0; i < n && i <= OTHERS_NAMED; i++) {
		compare_name(name, sizeof(name), rows[i]->key);
		fprintf(f, "%s%s or more in %s %s", i ? ", " : ": one of ",
			share_up(seen_share(c, rows[i])).s, article(name), name);
	}
	fprintf(f, n ? " would have been seen" : ": not even a tenfold one would have been seen");
	free(rows);
}

static uint64_t events_of(const struct compare *c, enum compare_side side)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n_runs[side]; i++)
		n += c->runs[side][i].ops + c->runs[side][i].requests;
	return n;
}

/* Why nothing could be tested. */
static void put_untested(FILE *f, const struct compare *c)
{
	uint64_t most = 0, few;

	for (int side = 0; side < SIDES; side++) {
		if (events_of(c, side))
			continue;
		fprintf(f, "nothing to compare: %s no operation and no request",
			events_of(c, SIDES - 1 - side) ? side == BASE ? "base has" : "new has"
						       : "both sides have");
		return;
	}
	if (!c->n_rows) {
		fprintf(f, "nothing to compare: base and new have no operation and no request in "
			   "common");
		return;
	}
	for (size_t i = 0; i < c->n_rows; i++) {
		few = c->rows[i].count[BASE] < c->rows[i].count[NEW] ? c->rows[i].count[BASE]
								     : c->rows[i].count[NEW];
		most = few > most ? few : most;
	}
	if (most < COMPARE_COUNT)
		fprintf(f,
			"too little to tell a difference from chance: each side needs %d "
			"operations of the same kind, and there are %llu",
			COMPARE_COUNT, (unsigned long long)most);
	else
		fprintf(f,
			"chance cannot be judged: each side needs operations of the same kind "
			"in %d intervals, or %d runs",
			COMPARE_FILLED, COMPARE_RUNS);
}

char *compare_answer(const struct compare *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (c->identical)
		fprintf(f, "base and new are the same: every figure is equal");
	else if (sure_next(c, NULL))
		put_means(f, c);
	else if (!c->n_tests)
		put_untested(f, c);
	else if (!c->n_sure || !put_any(f, c))
		put_none(f, c);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

/* "blocks of 1.20 s", "blocks of 1.20 s to 2.40 s" */
static void put_blocks(FILE *f, const struct compare *c)
{
	uint64_t least = UINT64_MAX, most = 0, ns;

	for (size_t i = 0; i < c->n_rows; i++) {
		for (int side = 0; side < SIDES; side++) {
			ns = c->rows[i].figures[FIG_MEAN].tested ? c->rows[i].block_ns[side] : 0;
			least = ns && ns < least ? ns : least;
			most = ns > most ? ns : most;
		}
	}
	fprintf(f, "Compared by blocks of time, each %s long", text_ns(least).s);
	if (text_ns(least).s[0] && strcmp(text_ns(least).s, text_ns(most).s) != 0)
		fprintf(f, " to %s", text_ns(most).s);
	fprintf(f, ", drawn again at random. ");
}

char *compare_how(const struct compare *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (c->method != COMPARE_BLOCKS)
		fprintf(f, "Compared by runs, %zu and %zu, %s. ", c->n_runs[BASE], c->n_runs[NEW],
			c->method == COMPARE_WELCH ? "with Welch's test of their means"
						   : "exchanged at random");
	else
		fprintf(f,
			"%s: runs of the same work may differ as much. Only %d runs or more on "
			"each side show it. ",
			c->n_runs[BASE] == 1 && c->n_runs[NEW] == 1 ? "One run each"
								    : "Fewer than 3 runs on a side",
			COMPARE_RUNS);
	if (c->method == COMPARE_BLOCKS && c->n_tests)
		put_blocks(f, c);
	if (c->n_tests && compare_is_between_runs(c))
		fprintf(f,
			"%zu figure%s tested, %zu sure: at most %.0f %% of the sure ones are "
			"chance.",
			c->n_tests, text_plural(c->n_tests), c->n_sure, COMPARE_FALSE * 100);
	else if (c->n_tests)
		fprintf(f,
			"%zu figure%s tested, %zu differ%s: chance within the runs explains at "
			"most %.0f %% of the differences.",
			c->n_tests, text_plural(c->n_tests), c->n_sure, c->n_sure == 1 ? "s" : "",
			COMPARE_FALSE * 100);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}
