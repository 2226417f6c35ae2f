// SPDX-License-Identifier: GPL-2.0-only
/* compare_answer.c - the result of a comparison in some lines; see compare.h. */
#include "show/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"

enum {
	CLAIMS_NAMED = 3,
	WORK_NAMED = 4,
	LONE_PERCENT = 5, /* the least part of a side's time that is told though it is not judged */
};

/* Measured, see docs/design/compare.md. */
#define EQUAL_PAIRS                                                                                \
	"equal runs of five programs on a busy machine were x1.2 apart in half of the pairs, "     \
	"x1.9 in 5 of 100"

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

const char *compare_verdict(const struct compare_figure *f)
{
	static const char *const words[] = {
		[VERDICT_NONE] = "not judged", [VERDICT_NOT_SURE] = "not sure",
		[VERDICT_DRIFT] = "drift",     [VERDICT_DIFFERS] = "differs",
		[VERDICT_LIKELY] = "likely",   [VERDICT_SURE] = "sure",
	};

	return f->tested ? words[f->verdict] : "too few";
}

struct text_num compare_value(enum figure f, double v)
{
	struct text_num t;

	if (compare_figure_is_time(f))
		return text_ns(llround(v));
	switch (f) {
	case FIG_COUNT:
		return text_count(llround(v));
	case FIG_RATE:
		return text_rate(llround(v * 1000), 1000000000000);
	case FIG_BYTES:
		return text_bytes(llround(v));
	default:
		snprintf(t.s, sizeof(t.s), v < 1e6 ? "%.2f" : "%.3g", v);
		return t;
	}
}

const char *compare_whole_label(const struct compare *c, enum whole_figure f)
{
	bool of_run = compare_is_of_commands(c);

	if (f == WHOLE_TIME && c->whole_is_of_requests)
		return of_run ? "time in requests" : "time in requests a second";
	if (f == WHOLE_TIME)
		return of_run ? "I/O time of a run" : "I/O time a second";
	if (f == WHOLE_NOWAIT)
		return "I/O time less waiting for a CPU";
	return of_run ? "number" : "number a second";
}

struct text_num compare_whole_value(const struct compare *c, enum whole_figure f, double v)
{
	if (f != WHOLE_COUNT)
		return text_ns(llround(v));
	return compare_value(compare_is_of_commands(c) ? FIG_COUNT : FIG_RATE, v);
}

const char *compare_label(const struct series_key *key, enum figure f)
{
	static const char *const labels[FIG_STRATA] = {
		[FIG_COUNT] = "number", [FIG_RATE] = "rate",        [FIG_MEAN] = "time each",
		[FIG_P50] = "p50",      [FIG_P99] = "p99",          [FIG_P999] = "p99.9",
		[FIG_TOTAL] = "total",  [FIG_BYTES] = "bytes each", [FIG_DEPTH] = "queue depth",
	};

	if (f == FIG_BESIDE)
		return key->is_request ? "merges each" : "requests each";
	return f < FIG_STRATA ? labels[f] : stratum_label(f - FIG_STRATA);
}

/* Three digits: "58", "0.31", "1.20". */
static void digits(char *dst, size_t cap, double x)
{
	double size = fabs(x);
	int after = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

	if (size == 0)
		snprintf(dst, cap, "0");
	else if (size >= 1e6)
		snprintf(dst, cap, "%.0e", x);
	else
		snprintf(dst, cap, "%.*f", after, x);
}

struct text_num compare_ratio(double logs)
{
	double times = exp(fmin(logs, 100)), share = (times - 1) * 100;
	char text[16];
	struct text_num t;

	digits(text, sizeof(text), times < 5 ? fabs(share) : times);
	if (times >= 5)
		snprintf(t.s, sizeof(t.s), "x%s", text);
	else
		snprintf(t.s, sizeof(t.s), "%s%s %%", share < 0 ? "-" : "+", text);
	return t;
}

struct text_num compare_percent(double difference, double base)
{
	struct text_num t = { "-" };

	return base > 0 && base + difference > 0 ? compare_ratio(log1p(difference / base)) : t;
}

/* "fsync on ext4: time each", "all operations: number" */
static void put_claim_name(FILE *f, const struct compare *c, const struct compare_claim *claim)
{
	const struct series_key *key = claim->row    ? claim->row->key
				       : claim->lone ? claim->lone->key
						     : NULL;
	char name[COMPARE_NAME];

	if (key)
		compare_name(name, sizeof(name), key);
	fprintf(f, "%s: %s",
		key                       ? name
		: c->whole_is_of_requests ? "all requests"
					  : "all operations",
		key ? compare_label(key, claim->which) : compare_whole_label(c, claim->which));
}

/* The stratum of a row that explains most of a longer or shorter time; FIG_N: none is told. */
static enum figure stratum_told(const struct compare_row *row, enum verdict least)
{
	enum figure most = FIG_N;
	double largest = 0, size;

	for (int f = FIG_STRATA; f < FIG_N; f++) {
		const struct compare_figure *v = &row->figures[f];

		size = fabs(v->typical[NEW] - v->typical[BASE]);
		if (v->verdict < least || size <= largest)
			continue;
		largest = size;
		most = f;
	}
	return most;
}

/* "; +8.40 ms device" */
static void put_stratum(FILE *f, const struct compare_claim *claim)
{
	bool is_time = claim->row && (claim->which == FIG_MEAN || claim->which == FIG_P50);
	enum figure st = is_time ? stratum_told(claim->row, VERDICT_DIFFERS) : FIG_N;

	if (st == FIG_N)
		return;
	fprintf(f, "; %s %s",
		compare_signed_ns(llround(claim->row->figures[st].typical[NEW]) -
				  llround(claim->row->figures[st].typical[BASE]))
			.s,
		stratum_label(st - FIG_STRATA));
}

/* "+58 % (+27.5 % to +95.9 %)"; what is 0 on a side has no ratio: "0 ns -> 9.27 ms each" */
static void put_claim(FILE *f, const struct compare *c, const struct compare_claim *claim)
{
	const struct compare_figure *v = claim->figure;
	bool is_stratum = claim->row && claim->which >= FIG_STRATA;
	struct compare_ratios r;

	put_claim_name(f, c, claim);
	if (is_stratum || !compare_has_ratio(v)) {
		fprintf(f, " %s -> %s%s", compare_value(claim->which, v->typical[BASE]).s,
			compare_value(claim->which, v->typical[NEW]).s, is_stratum ? " each" : "");
		return;
	}
	r = compare_ratios(v);
	fprintf(f, " %s (%s to %s", compare_ratio(r.change).s, compare_ratio(r.low).s,
		compare_ratio(r.high).s);
	put_stratum(f, claim);
	fprintf(f, ")");
}

/* Whether a claim of the same row, or of the whole run, comes before. */
static bool is_repeated(const struct compare *c, size_t at)
{
	const struct compare_claim *claim = &c->claims[at];

	for (size_t i = 0; i < at; i++)
		if (c->claims[i].figure->verdict == claim->figure->verdict &&
		    c->claims[i].row == claim->row && c->claims[i].lone == claim->lone)
			return true;
	return false;
}

/* "sure: A; B; C; and 13 more": one of the whole run, and of each row the one that says most. */
static size_t put_claims(FILE *f, const struct compare *c, enum verdict verdict)
{
	size_t n = 0, named = 0;

	for (size_t i = 0; i < c->n_claims; i++) {
		if (c->claims[i].figure->verdict != verdict)
			continue;
		n++;
		if (named == CLAIMS_NAMED || is_repeated(c, i))
			continue;
		if (named++)
			fprintf(f, "; ");
		else
			fprintf(f, "%s: ", compare_verdict(c->claims[i].figure));
		put_claim(f, c, &c->claims[i]);
	}
	if (n > named)
		fprintf(f, "; and %zu more", n - named);
	if (n)
		fprintf(f, "\n");
	return n;
}

static size_t put_drift(FILE *f, const struct compare *c)
{
	const struct compare_claim *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->n_claims; i++) {
		if (c->claims[i].figure->verdict != VERDICT_DRIFT)
			continue;
		first = first ? first : &c->claims[i];
		n++;
	}
	if (!first)
		return 0;
	fprintf(f, "drift: ");
	put_claim_name(f, c, first);
	fprintf(f, " %s", compare_ratio(first->figure->change).s);
	if (n > 1)
		fprintf(f, " and %zu more", n - 1);
	fprintf(f, ". One side was recorded after the other, and a steady change over all runs "
		   "explains this as well: record them in turn ('iostrata record --alternate').\n");
	return n;
}

/* "+154 % in I/O time of a run, +138 % in I/O time less waiting for a CPU" */
static void put_shown(FILE *f, const struct compare *c)
{
	const char *between = "";

	for (int w = WHOLE_TIME; w <= WHOLE_NOWAIT; w++) {
		if (!c->whole[w].tested)
			continue;
		fprintf(f, "%s%s in %s", between,
			compare_ratio(log1p(compare_shows(c, &c->whole[w]))).s,
			compare_whole_label(c, w));
		between = ", ";
	}
}

/* "17 runs a side; less waiting for a CPU: 15" */
static void put_needed(FILE *f, const struct compare *c)
{
	const char *between = "to see +50 % in ";
	unsigned int n;

	for (int w = WHOLE_TIME; w <= WHOLE_NOWAIT; w++) {
		if (!c->whole[w].tested)
			continue;
		n = compare_runs_for(c, &c->whole[w], 0.5);
		fprintf(f, "%s%s: ", between, compare_whole_label(c, w));
		if (n)
			fprintf(f, "%u runs a side", n);
		else
			fprintf(f, "more than %d runs a side", COMPARE_RUNS_MOST);
		between = "; ";
	}
	if (between[0] == ';')
		fprintf(f, "\n");
}

/* What only one side has, with most time: "only in new: fsync on ext4 of f (178, 632 ms): not
 * judged". Callers that are not known are no difference. */
static void put_lone(FILE *f, const struct compare *c)
{
	const struct compare_lone *most = NULL;
	char name[COMPARE_NAME];

	for (size_t i = 0; i < c->n_lone; i++) {
		const struct compare_lone *l = &c->lone[i];

		if (!l->key->is_request && !(l->key->by && *l->key->by == '(') &&
		    (!most || l->total_ns > most->total_ns))
			most = l;
	}
	if (!most || !c->change.known ||
	    100.0 * most->total_ns <
		    (double)LONE_PERCENT * c->change.total_ns[most->side] * c->n_runs[most->side])
		return;
	compare_name(name, sizeof(name), most->key);
	fprintf(f, "only in %s: %s (%s, %s): %s\n", most->side == BASE ? "base" : "new", name,
		text_count(most->count).s, text_ns(most->total_ns).s,
		compare_verdict(&most->number));
}

static void put_verdicts(FILE *f, const struct compare *c)
{
	size_t sure = put_claims(f, c, VERDICT_SURE);
	size_t less = put_claims(f, c, VERDICT_LIKELY) + put_drift(f, c);

	if (!sure && !less) {
		fprintf(f, "no difference shown");
		if (c->whole[WHOLE_TIME].tested) {
			fprintf(f, ": these runs would have shown ");
			put_shown(f, c);
			fprintf(f, ", in 4 of 5 comparisons");
		}
		fprintf(f, "\n");
		put_lone(f, c);
	}
	if (!sure)
		put_needed(f, c);
}

/* A change of a number: "616 operations instead of 4,272 (-85.6 %)". */
static void put_numbers(FILE *f, double base, double new)
{
	fprintf(f, "%s operations instead of %s", text_count(llround(new)).s,
		text_count(llround(base)).s);
	if (llround(base) != llround(new) && base > 0 && new > 0)
		fprintf(f, " (%s)", compare_ratio(log(new / base)).s);
}

/* What two runs, or some, say about the work. */
static void put_work(FILE *f, const struct compare *c)
{
	const double *number = c->whole[WHOLE_COUNT].typical;
	char name[COMPARE_NAME];

	if (!compare_is_of_commands(c)) {
		fprintf(f,
			"work: %s operations instead of %s; not all of these are recordings of "
			"a command, so another number is no other work\n",
			compare_value(FIG_RATE, number[NEW]).s,
			compare_value(FIG_RATE, number[BASE]).s);
		return;
	}
	if (compare_is_estimated(c, NULL)) {
		fprintf(f, "work: ");
		put_numbers(f, number[BASE], number[NEW]);
		fprintf(f, ", estimated, so another number is no other work\n");
		return;
	}
	fprintf(f, "%s: ", c->n_work ? "other work" : "same work");
	put_numbers(f, number[BASE], number[NEW]);
	if (!c->n_work)
		fprintf(f, ", and no operation's number differs by 10 %% or more");
	for (size_t i = 0; i < c->n_work && i < WORK_NAMED; i++) {
		compare_name(name, sizeof(name), c->work[i].key);
		fprintf(f, "%s%s %s -> %s", i ? ", " : ": ", name,
			text_count(llround(c->work[i].number[BASE])).s,
			text_count(llround(c->work[i].number[NEW])).s);
	}
	if (c->n_work > WORK_NAMED)
		fprintf(f, ", and %zu more", c->n_work - WORK_NAMED);
	fprintf(f, "\n");
}

/* What so few runs cannot say. */
static void put_unjudged(FILE *f, const struct compare *c)
{
	const double *ns = c->whole[WHOLE_TIME].typical;

	if (!c->whole_is_of_requests)
		put_work(f, c);
	fprintf(f, "times: not judged with %zu and %zu runs. %s: %s -> %s", c->n_runs[BASE],
		c->n_runs[NEW], compare_whole_label(c, WHOLE_TIME), text_ns(llround(ns[BASE])).s,
		text_ns(llround(ns[NEW])).s);
	if (ns[BASE] > 0 && ns[NEW] > 0)
		fprintf(f, " (%s)", compare_ratio(log(ns[NEW] / ns[BASE])).s);
	fprintf(f,
		"; " EQUAL_PAIRS "\n"
		"to judge: %d runs a side at least, 5 or more for times, in turn: 'iostrata record "
		"--runs 5 --alternate OLD NEW'\n",
		COMPARE_RUNS);
}

static uint64_t events_of(const struct compare *c, enum compare_side side)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n_runs[side]; i++)
		n += c->runs[side][i].ops + c->runs[side][i].requests;
	return n;
}

/* Says that a side has nothing. Returns false if both have something. */
static bool put_empty(FILE *f, const struct compare *c)
{
	for (int side = 0; side < SIDES; side++) {
		if (events_of(c, side))
			continue;
		fprintf(f, "nothing to compare: %s no operation and no request\n",
			events_of(c, SIDES - 1 - side) ? side == BASE ? "base has" : "new has"
						       : "both sides have");
		return true;
	}
	return false;
}

/* Two parts of a run. */
static void put_parts(FILE *f, const struct compare *c)
{
	if (!c->n_first)
		fprintf(f,
			"chance cannot be judged: each part needs %d operations of the same kind, "
			"in %d intervals of time\n",
			COMPARE_COUNT, COMPARE_FILLED);
	else if (!put_claims(f, c, VERDICT_DIFFERS))
		fprintf(f, "no difference beyond chance within the run\n");
}

static void put_answer(FILE *f, const struct compare *c)
{
	if (c->identical)
		fprintf(f, "base and new are the same: every figure is equal\n");
	else if (put_empty(f, c))
		return;
	else if (c->method == COMPARE_NONE)
		put_unjudged(f, c);
	else if (c->method == COMPARE_BLOCKS)
		put_parts(f, c);
	else
		put_verdicts(f, c);
}

char *compare_answer(const struct compare *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	put_answer(f, c);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

/* "Blocks of time, each 1.20 s long", "Blocks of time, each 1.20 s to 2.40 s long" */
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
	if (!most)
		return;
	fprintf(f, " Blocks of time, each %s", text_ns(least).s);
	if (strcmp(text_ns(least).s, text_ns(most).s) != 0)
		fprintf(f, " to %s", text_ns(most).s);
	fprintf(f, " long, were drawn again at random.");
}

static const char *order_text(const struct compare *c)
{
	if (c->blocked < 0)
		return "in an order that is not known";
	return compare_is_one_after_the_other(c) ? "one side after the other" : "in turn";
}

char *compare_how(const struct compare *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (compare_is_between_runs(c))
		fprintf(f,
			"%zu runs of base, %zu of new, %s. %zu figure%s judged together: of 100 "
			"comparisons of equal runs 1 says \"sure\" of anything, 5 \"likely\".",
			c->n_runs[BASE], c->n_runs[NEW], order_text(c), c->n_first,
			text_plural(c->n_first));
	else if (c->method == COMPARE_BLOCKS)
		fprintf(f, "Two parts of one run: a whole part may be slower for a reason that "
			   "chance within the run does not show, so nothing is sure.");
	else
		fprintf(f, "Fewer than %d runs on a side: no time is judged.", COMPARE_RUNS);
	if (c->method == COMPARE_BLOCKS)
		put_blocks(f, c);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}
