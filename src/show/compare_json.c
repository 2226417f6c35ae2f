// SPDX-License-Identifier: GPL-2.0-only
/* compare_json.c - a comparison for programs; see compare.h. */
#include "show/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "base/schema.h"
#include "base/text.h"

static const char *const side_names[SIDES] = { "base", "new" };
static const char *const method_names[] = { "none", "blocks", "student", "welch" };
static const char *const limit_states[] = { "absent", "held", "undecided", "broken" };
static const char *const limit_ways[] = { "test", "values", "count", "nothing" };
static const char *const verdict_names[] = { "not judged", "not sure", "drift",  "differs",
					     "likely",     "sure",     "too few" };
static const char *const order_names[] = { "unknown", "in turn", "one after the other" };

static const struct word_list side_words = { .list = side_names, .to = SIDES };
static const struct word_list method_words = { .list = method_names, .to = 4 };
static const struct word_list state_words = { .list = limit_states, .to = 4 };
static const struct word_list way_words = { .list = limit_ways, .to = 4 };
static const struct word_list verdict_words = { .list = verdict_names, .to = 7 };
static const struct word_list order_words = { .list = order_names, .to = 3 };
static const struct word_list caller_by_words = { by_name, .from = BY_FUNCTION, .to = BY_STACK };
static const struct word_list later_by_words = { by_name, .from = BY_CONTAINER,
						 .to = BY_CONTAINER + 1, .more = &caller_by_words };
static const struct word_list by_words = { by_name, .from = BY_PID, .to = BY_THREAD,
					   .more = &later_by_words };

#define TOO_LITTLE "there is too little on a side"
#define NO_RATIO   "there is too little on a side, or the figure may be 0"

/* What chance says about a figure. */
static const struct member chance_members[] = {
	{ "p", MEMBER_SHARE, .what = "probability of such a difference by chance alone",
	  .null = TOO_LITTLE },
	{ "p_adjusted", MEMBER_SHARE, .what = "the same, adjusted for all figures that were judged",
	  .null = "the figure was not judged" },
	{ "verdict", MEMBER_ASCII,
	  .what = "sure or likely: of 100 comparisons of equal runs, 1 or 5 call anything so; "
		  "drift: a steady change over all runs explains it as well; differs: two parts of "
		  "one run differ beyond chance within it",
	  .words = &verdict_words },
	{ "sure", MEMBER_BOOL, .what = "whether the verdict is sure" },
	{}
};

/* A figure of a typical run. */
static const struct member ratio_members[] = {
	{ "ratio", MEMBER_SHARE, .what = "new divided by base, in typical runs", .null = NO_RATIO },
	{ "ratio_low", MEMBER_SHARE, .what = "the ratio is at least this, with 95 % confidence",
	  .null = NO_RATIO },
	{ "ratio_high", MEMBER_SHARE, .what = "the ratio is at most this, with 95 % confidence",
	  .null = NO_RATIO },
	{}
};

/* The members of a figure, whose names end in @ns. @real: base, new and diff have fractions. */
#define MEMBERS_FIGURE(ns, type, real)                                                             \
	{                                                                                          \
		{ "base" ns, type, .what = "value in base", .fraction = real },                    \
			{ "new" ns, type, .what = "value in new", .fraction = real },              \
			{ "diff" ns, type, .what = "new less base", .negative = true,              \
			  .fraction = real },                                                      \
			{ "low" ns,                                                                \
			  type,                                                                    \
			  "the difference is at least this, with 95 % confidence",                 \
			  .null = TOO_LITTLE,                                                      \
			  .negative = true,                                                        \
			  .fraction = true },                                                      \
			{ "high" ns,                                                               \
			  type,                                                                    \
			  "the difference is at most this, with 95 % confidence",                  \
			  .null = TOO_LITTLE,                                                      \
			  .negative = true,                                                        \
			  .fraction = true },                                                      \
			{ "seen" ns, type,                                                         \
			  .what = "the smallest difference that would have been sure in 95 of "    \
				  "100 "                                                           \
				  "comparisons",                                                   \
			  .null = TOO_LITTLE, .fraction = true },                                  \
			{ .also = ratio_members }, { .also = chance_members },                     \
		{                                                                                  \
		}                                                                                  \
	}

static const struct member time_members[] = MEMBERS_FIGURE("_ns", MEMBER_TIME, false);
static const struct member number_members[] = MEMBERS_FIGURE("", MEMBER_COUNT, false);
static const struct member amount_members[] = MEMBERS_FIGURE("", MEMBER_COUNT, true);
static const struct member rate_members[] = MEMBERS_FIGURE("", MEMBER_RATE, true);
static const struct member size_members[] = MEMBERS_FIGURE("", MEMBER_BYTES, true);

static const struct object time_object = { "time", "a time", time_members };
static const struct object number_object = { "number", "a number", number_members };
static const struct object amount_object = { "amount", "a number with a fraction", amount_members };
static const struct object rate_object = { "rate", "a rate", rate_members };
static const struct object size_object = { "size", "a size", size_members };

static const struct member run_members[] = {
	{ "file", MEMBER_TEXT, .what = "name of the file" },
	{ "recording", MEMBER_BOOL,
	  .what = "whether it is a recording; else it is the output of breakdown --json" },
	{ "kernel", MEMBER_TEXT, .what = "release of the kernel", .null = "not known" },
	{ "host", MEMBER_TEXT, .what = "name of the machine", .null = "not known" },
	{ "duration_ns", MEMBER_TIME,
	  .what = "length of the run, or of the part that was compared" },
	{ "ops", MEMBER_COUNT, .what = "operations compared" },
	{ "requests", MEMBER_COUNT, .what = "requests compared" },
	{ "lost", MEMBER_COUNT, .what = "events lost" },
	{ "cut_off", MEMBER_BOOL, .what = "whether the file is cut off or damaged" },
	{}
};
static const struct object run_object = { "run", "a run", run_members };

static const struct member method_members[] = {
	{ "name", MEMBER_ASCII,
	  .what = "a test of runs, student or welch; blocks of time of two parts of one run; none: "
		  "too few runs, nothing is judged",
	  .words = &method_words },
	{ "text", MEMBER_ASCII, .what = "the method, in sentences" },
	{ "between_runs", MEMBER_BOOL,
	  .what = "whether differences between runs of a side were counted: each side had three "
		  "runs or more" },
	{ "tests", MEMBER_COUNT, .what = "figures judged" },
	{ "together", MEMBER_COUNT,
	  .what = "figures of the first level, judged together; the others are below those that "
		  "moved" },
	{ "sure", MEMBER_COUNT, .what = "figures that are sure" },
	{ "false_discovery_rate", MEMBER_SHARE,
	  .what = "at most this share of the differences called sure is chance" },
	{ "confidence", MEMBER_SHARE, .what = "confidence of low_ns and the like" },
	{ "order", MEMBER_ASCII, .what = "in which order the runs began", .words = &order_words },
	{}
};
static const struct object method_object = { NULL, "how chance was judged", method_members };

static const struct member change_members[] = {
	{ "base_ns", MEMBER_TIME, .what = "time in base" },
	{ "new_ns", MEMBER_TIME, .what = "time in new" },
	{ "diff_ns", MEMBER_TIME, .what = "new less base", .negative = true },
	{ "more_ns", MEMBER_TIME, .what = "cost of the number of operations, at the mean of base",
	  .negative = true },
	{ "mix_ns", MEMBER_TIME,
	  .what = "cost of the shares of operations, and of operations on one side only",
	  .negative = true },
	{ "slower_ns", MEMBER_TIME, .what = "cost of the same operations being slower",
	  .negative = true },
	{}
};
static const struct object change_object = { NULL, "a change", change_members };

static const struct member errors_members[] = { { "base", MEMBER_COUNT, .what = "number in base" },
						{ "new", MEMBER_COUNT, .what = "number in new" },
						{} };
static const struct object errors_object = { NULL, "failures", errors_members };

static const struct member block_members[] = { { "base_ns", MEMBER_TIME, .what = "length in base" },
					       { "new_ns", MEMBER_TIME, .what = "length in new" },
					       {} };
static const struct object block_object = { NULL, "lengths", block_members };

static const struct member row_members[] = {
	{ "errors", MEMBER_OBJECT, .what = "operations or requests that failed",
	  .object = &errors_object },
	{ "block", MEMBER_OBJECT, .what = "length of the blocks of time that were drawn again",
	  .null = "runs were compared", .object = &block_object },
	{ "count", MEMBER_OBJECT, .what = "number, of a run", .object = &number_object },
	{ "rate", MEMBER_OBJECT, .what = "number per second", .object = &rate_object },
	{ "mean", MEMBER_OBJECT, .what = "mean time of one", .object = &time_object },
	{ "p50", MEMBER_OBJECT, .what = "half take at most so long; requests, in the device",
	  .object = &time_object },
	{ "p99", MEMBER_OBJECT, .what = "99 % take at most so long; requests, in the device",
	  .object = &time_object },
	{ "p999", MEMBER_OBJECT, .what = "99.9 % take at most so long; requests, in the device",
	  .object = &time_object },
	{ "total", MEMBER_OBJECT, .what = "time of all, of a run", .object = &time_object },
	{ "bytes", MEMBER_OBJECT, .what = "bytes of one, in the mean", .object = &size_object },
	{}
};

static const struct member op_strata_members[] = { { .each = &strata_words,
						     .type = MEMBER_OBJECT,
						     .what = "time in the stratum",
						     .object = &time_object,
						     .null = "not measured on both sides" },
						   {} };
static const struct object op_strata_object = { NULL, "strata", op_strata_members };

static const struct member op_members[] = {
	{ "op", MEMBER_TEXT, .what = "kind of the operation, \"uring read\" for one of io_uring" },
	{ "fs", MEMBER_TEXT, .what = "type of the file system", .null = "not known" },
	{ "key", MEMBER_TEXT, .what = "value of the key of --by", .null = "without --by" },
	{ "comm", MEMBER_TEXT, .what = "name of the process or thread in key",
	  .null = "--by is not pid or tid" },
	{ .also = row_members },
	{ "requests", MEMBER_OBJECT, .what = "requests that one operation submitted, in the mean",
	  .object = &amount_object },
	{ "strata", MEMBER_OBJECT,
	  .what = "mean time of one operation in each stratum; the differences add up to that of "
		  "mean",
	  .object = &op_strata_object },
	{}
};
static const struct object op_object = { "op", "a row of operations", op_members };

static const struct word_list request_strata = { stratum_name, .from = ST_TAG,
						 .to = ST_DEVICE + 1 };

static const struct member request_strata_members[] = { { .each = &request_strata,
							  .type = MEMBER_OBJECT,
							  .what = "time in the stratum",
							  .object = &time_object },
							{} };
static const struct object request_strata_object = { NULL, "strata", request_strata_members };

static const struct member request_members[] = {
	{ "op", MEMBER_TEXT, .what = "kind of the request" },
	{ "dev", MEMBER_TEXT, .what = "name of the disk", .null = "not known" },
	{ .also = row_members },
	{ "merges", MEMBER_OBJECT, .what = "bios that were merged into one request, in the mean",
	  .object = &amount_object },
	{ "depth", MEMBER_OBJECT, .what = "requests in the device at a time, in the mean",
	  .object = &amount_object },
	{ "strata", MEMBER_OBJECT,
	  .what = "mean time of one request in each stratum; the differences add up to that of "
		  "mean",
	  .object = &request_strata_object },
	{}
};
static const struct object request_object = { "request", "a row of requests", request_members };

static const struct member whole_members[] = {
	{ "of_requests", MEMBER_BOOL,
	  .what = "whether requests are meant: there are no operations" },
	{ "per_second", MEMBER_BOOL,
	  .what = "whether the figures are divided by the seconds of a run: these are no "
		  "recordings "
		  "of a command" },
	{ "time", MEMBER_OBJECT, .what = "time in operations", .object = &time_object },
	{ "nowait", MEMBER_OBJECT, .what = "the same without waiting for a CPU",
	  .null = "not measured, or of requests", .object = &time_object },
	{ "count", MEMBER_OBJECT, .what = "number of operations", .object = &amount_object },
	{}
};
static const struct object whole_object = { NULL, "a whole run", whole_members };

static const struct member work_members[] = {
	{ "op", MEMBER_TEXT, .what = "kind of the operation" },
	{ "fs", MEMBER_TEXT, .what = "type of the file system", .null = "not known" },
	{ "key", MEMBER_TEXT, .what = "value of the key of --by", .null = "without --by" },
	{ "base", MEMBER_COUNT, .what = "number in base, of a run", .fraction = true },
	{ "new", MEMBER_COUNT, .what = "number in new, of a run", .fraction = true },
	{}
};
static const struct object work_object = { NULL, "other work", work_members };

static const struct member lone_members[] = {
	{ "side", MEMBER_ASCII, .what = "the side that has it", .words = &side_words },
	{ "request", MEMBER_BOOL, .what = "whether these are requests of a disk; else operations" },
	{ "op", MEMBER_TEXT, .what = "kind of the operation or request" },
	{ "where", MEMBER_TEXT, .what = "type of the file system, or name of the disk",
	  .null = "not known" },
	{ "key", MEMBER_TEXT, .what = "value of the key of --by",
	  .null = "without --by, or of requests" },
	{ "comm", MEMBER_TEXT, .what = "name of the process or thread in key",
	  .null = "--by is not pid or tid" },
	{ "count", MEMBER_COUNT, .what = "number, of all runs" },
	{ "total_ns", MEMBER_TIME, .what = "time of all, of all runs" },
	{ .also = chance_members },
	{}
};
static const struct object lone_object = { "lone", "a row of one side", lone_members };

static const struct member limit_members[] = {
	{ "limit", MEMBER_TEXT, .what = "as it was given" },
	{ "state", MEMBER_ASCII,
	  .what = "absent: no such row is on both sides; undecided: the runs are too few, or "
		  "differ "
		  "too much",
	  .words = &state_words },
	{ "by", MEMBER_ASCII,
	  .what = "what decided: a test; values that are the same in every run; a count, with "
		  "fewer "
		  "than three runs on a side; nothing",
	  .words = &way_words, .null = "absent" },
	{ "ratio", MEMBER_SHARE, .what = "new divided by base, in the row that decided",
	  .null = "no test" },
	{ "ratio_low", MEMBER_SHARE, .what = "above this in 95 of 100 comparisons",
	  .null = "no test" },
	{ "ratio_high", MEMBER_SHARE, .what = "below this in 95 of 100 comparisons",
	  .null = "no test" },
	{ "runs_needed", MEMBER_COUNT,
	  .what = "runs on each side that would decide, if the change is as found",
	  .null = "decided, no test, or more than 300" },
	{ "holds", MEMBER_SHARE, .what = "the limit that these runs can hold; 0.5 is +50 %",
	  .null = "no test", .negative = true },
	{ "text", MEMBER_TEXT, .what = "the limit and its result, in a sentence" },
	{}
};
static const struct object limit_object = { NULL, "a limit", limit_members };

static const struct member compare_members[] = {
	{ "answer", MEMBER_TEXT, .what = "the result, in lines" },
	{ "doubts", MEMBER_ASCII, .what = "reasons why the comparison may mislead", .list = 1,
	  .item = "a reason, in a sentence" },
	{ "base", MEMBER_OBJECT, .what = "the runs of base", .object = &run_object, .list = 1 },
	{ "new", MEMBER_OBJECT, .what = "the runs of new", .object = &run_object, .list = 1 },
	{ "at", MEMBER_TEXT, .what = "value of --at", .null = "not given" },
	{ "by", MEMBER_ASCII, .what = "value of --by", .null = "not given", .words = &by_words },
	{ "method", MEMBER_OBJECT, .what = "how chance was judged", .object = &method_object },
	{ "change", MEMBER_OBJECT,
	  .what = "time in operations, of a run; the last three add up to the difference",
	  .null = "a side has no operation", .object = &change_object },
	{ "whole", MEMBER_OBJECT, .what = "figures of a whole run", .object = &whole_object },
	{ "work", MEMBER_OBJECT,
	  .what = "with fewer than three runs on a side: operations whose number differs by 10 % "
		  "or "
		  "more, and more than chance explains",
	  .object = &work_object, .list = 1 },
	{ "ops", MEMBER_OBJECT,
	  .what = "a row for each operation, file system and key on both sides; the largest change "
		  "of "
		  "total first",
	  .object = &op_object, .list = 1 },
	{ "requests", MEMBER_OBJECT,
	  .what = "a row for each disk and kind of request on both sides; the largest change of "
		  "total "
		  "first",
	  .object = &request_object, .list = 1 },
	{ "one_side", MEMBER_OBJECT, .what = "a row for each key on one side only",
	  .object = &lone_object, .list = 1 },
	{ "fail_if", MEMBER_OBJECT, .what = "the limits of --fail-if", .object = &limit_object,
	  .list = 1 },
	{}
};
static const struct object compare_object = { NULL, "a comparison", compare_members };

const struct schema compare_schema = { "iostrata.compare/2", .what = "the line of compare --json",
				       .first = &compare_object };

#define RATIO_MOST 1e15

/* Larger ratios are not told. */
static double ratio(double logs)
{
	return fmin(exp(logs), RATIO_MOST);
}

static bool is_whole(enum figure f)
{
	return f == FIG_COUNT || compare_figure_is_time(f);
}

/* A figure of one side, in whole numbers where the row has these. */
static uint64_t whole_of(const struct compare_row *row, enum figure f, enum compare_side side)
{
	if (f == FIG_MEAN)
		return row->mean_ns[side];
	if (f == FIG_TOTAL)
		return row->total_ns[side];
	if (f >= FIG_STRATA)
		return row->strata_ns[side][f - FIG_STRATA];
	return llround(row->figures[f].value[side]);
}

static void put_run(struct json *j, const struct series *run)
{
	json_put_begin(j, NULL, '{');
	json_put_string(j, "file", run->name);
	json_put_bool(j, "recording", run->is_recording);
	json_put_string(j, "kernel", run->kernel);
	json_put_string(j, "host", run->host);
	json_put_uint(j, "duration_ns", run->duration_ns);
	json_put_uint(j, "ops", run->ops);
	json_put_uint(j, "requests", run->requests);
	json_put_uint(j, "lost", run->lost);
	json_put_bool(j, "cut_off", run->is_cut_off);
	json_put_end(j, '}');
}

static void put_sides(struct json *j, const struct compare *c)
{
	for (int side = 0; side < SIDES; side++) {
		json_put_begin(j, side_names[side], '[');
		for (size_t i = 0; i < c->n_runs[side]; i++)
			put_run(j, &c->runs[side][i]);
		json_put_end(j, ']');
	}
}

static void put_method(struct json *j, const struct compare *c)
{
	char *how = compare_how(c);

	json_put_begin(j, "method", '{');
	json_put_string(j, "name", method_names[c->method]);
	json_put_string(j, "text", how);
	json_put_bool(j, "between_runs", compare_is_between_runs(c));
	json_put_uint(j, "tests", c->n_tests);
	json_put_uint(j, "together", c->n_first);
	json_put_uint(j, "sure", c->n_sure);
	json_put_real(j, "false_discovery_rate", COMPARE_SURE);
	json_put_real(j, "confidence", 0.95);
	json_put_string(j, "order",
			order_names[c->blocked < 0                      ? 0
				    : compare_is_one_after_the_other(c) ? 2
									: 1]);
	json_put_end(j, '}');
	free(how);
}

static void put_change(struct json *j, const struct compare_change *ch)
{
	if (!ch->known) {
		json_put_null(j, "change");
		return;
	}
	json_put_begin(j, "change", '{');
	json_put_int(j, "base_ns", ch->total_ns[BASE]);
	json_put_int(j, "new_ns", ch->total_ns[NEW]);
	json_put_int(j, "diff_ns", ch->total_ns[NEW] - ch->total_ns[BASE]);
	json_put_int(j, "more_ns", ch->more_ns);
	json_put_int(j, "mix_ns", ch->mix_ns);
	json_put_int(j, "slower_ns", ch->slower_ns);
	json_put_end(j, '}');
}

/* The names of a figure's members; those of times have their unit. */
struct names {
	const char *base, *new, *diff, *low, *high, *seen;
};

static const struct names numbers = { "base", "new", "diff", "low", "high", "seen" };
static const struct names times = {
	"base_ns", "new_ns", "diff_ns", "low_ns", "high_ns", "seen_ns"
};

static void put_chance(struct json *j, const struct compare_figure *f)
{
	if (f->tested)
		json_put_real(j, "p", f->p);
	else
		json_put_null(j, "p");
	if (f->tested && f->verdict != VERDICT_NONE)
		json_put_real(j, "p_adjusted", f->adjusted);
	else
		json_put_null(j, "p_adjusted");
	json_put_string(j, "verdict", compare_verdict(f));
	json_put_bool(j, "sure", f->verdict == VERDICT_SURE);
}

static void put_ratio(struct json *j, const struct compare_figure *f, bool may_be_zero)
{
	struct compare_ratios r;

	if (!f->tested || may_be_zero || !compare_has_ratio(f)) {
		json_put_null(j, "ratio");
		json_put_null(j, "ratio_low");
		json_put_null(j, "ratio_high");
		return;
	}
	r = compare_ratios(f);
	json_put_real(j, "ratio", ratio(r.change));
	json_put_real(j, "ratio_low", ratio(r.low));
	json_put_real(j, "ratio_high", ratio(r.high));
}

/* What tests say about a figure. */
static void put_tested(struct json *j, const struct compare *c, const struct names *n,
		       const struct compare_figure *f, bool may_be_zero)
{
	struct compare_range range = compare_range(f);

	if (f->tested) {
		json_put_real(j, n->low, range.low);
		json_put_real(j, n->high, range.high);
		json_put_real(j, n->seen, compare_seen(c, f));
	} else {
		json_put_null(j, n->low);
		json_put_null(j, n->high);
		json_put_null(j, n->seen);
	}
	put_ratio(j, f, may_be_zero);
	put_chance(j, f);
}

static void put_figure(struct json *j, const struct compare *c, const struct compare_row *row,
		       enum figure f)
{
	const struct compare_figure *v = &row->figures[f];
	const struct names *n = compare_figure_is_time(f) ? &times : &numbers;
	const char *name = compare_figure_name(row, f);

	if (!v->known) {
		json_put_null(j, name);
		return;
	}
	json_put_begin(j, name, '{');
	if (is_whole(f)) {
		json_put_uint(j, n->base, whole_of(row, f, BASE));
		json_put_uint(j, n->new, whole_of(row, f, NEW));
		json_put_int(j, n->diff, compare_difference(row, f));
	} else {
		json_put_real(j, n->base, v->value[BASE]);
		json_put_real(j, n->new, v->value[NEW]);
		json_put_real(j, n->diff, v->value[NEW] - v->value[BASE]);
	}
	put_tested(j, c, n, v, f >= FIG_STRATA);
	json_put_end(j, '}');
}

/* @ns, not negative, as a whole number. A hostile run has any time in a duration of 1 ns. */
static int64_t whole_ns(double ns)
{
	return ns < 0x1p63 ? llround(ns) : INT64_MAX;
}

static void put_whole(struct json *j, const struct compare *c)
{
	static const char *const names[] = { "time", "nowait", "count" };

	json_put_begin(j, "whole", '{');
	json_put_bool(j, "of_requests", c->whole_is_of_requests);
	json_put_bool(j, "per_second", !compare_is_of_commands(c));
	for (int w = 0; w < WHOLE_N; w++) {
		const struct compare_figure *f = &c->whole[w];
		const struct names *n = w == WHOLE_COUNT ? &numbers : &times;

		if (!f->known) {
			json_put_null(j, names[w]);
			continue;
		}
		json_put_begin(j, names[w], '{');
		if (w == WHOLE_COUNT) {
			json_put_real(j, n->base, f->typical[BASE]);
			json_put_real(j, n->new, f->typical[NEW]);
			json_put_real(j, n->diff, f->typical[NEW] - f->typical[BASE]);
		} else {
			json_put_uint(j, n->base, whole_ns(f->typical[BASE]));
			json_put_uint(j, n->new, whole_ns(f->typical[NEW]));
			json_put_int(j, n->diff,
				     whole_ns(f->typical[NEW]) - whole_ns(f->typical[BASE]));
		}
		put_tested(j, c, n, f, false);
		json_put_end(j, '}');
	}
	json_put_end(j, '}');
}

static void put_work(struct json *j, const struct compare *c)
{
	json_put_begin(j, "work", '[');
	for (size_t i = 0; i < c->n_work; i++) {
		const struct compare_work *w = &c->work[i];

		json_put_begin(j, NULL, '{');
		json_put_string(j, "op", w->key->what);
		json_put_string(j, "fs", w->key->where);
		json_put_string(j, "key", w->key->by);
		json_put_real(j, "base", w->number[BASE]);
		json_put_real(j, "new", w->number[NEW]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

/* Whether the figure exists for such a row, measured or not. */
static bool has_figure(const struct compare_row *row, enum figure f)
{
	if (!row->key->is_request)
		return f != FIG_DEPTH;
	return f < FIG_STRATA || row->figures[f].known;
}

static void put_key(struct json *j, const struct series_key *key)
{
	json_put_string(j, "op", key->what);
	json_put_string(j, key->is_request ? "dev" : "fs", key->where);
	if (key->is_request)
		return;
	json_put_string(j, "key", key->by);
	json_put_string(j, "comm", key->comm);
}

/* How long the blocks are that were drawn; null where runs were compared. */
static void put_blocks(struct json *j, const struct compare_row *row)
{
	if (!row->block_ns[BASE]) {
		json_put_null(j, "block");
		return;
	}
	json_put_begin(j, "block", '{');
	json_put_uint(j, "base_ns", row->block_ns[BASE]);
	json_put_uint(j, "new_ns", row->block_ns[NEW]);
	json_put_end(j, '}');
}

static void put_row(struct json *j, const struct compare *c, const struct compare_row *row)
{
	json_put_begin(j, NULL, '{');
	put_key(j, row->key);
	json_put_begin(j, "errors", '{');
	json_put_uint(j, "base", row->errors[BASE]);
	json_put_uint(j, "new", row->errors[NEW]);
	json_put_end(j, '}');
	put_blocks(j, row);
	for (int f = 0; f < FIG_STRATA; f++)
		if (has_figure(row, f))
			put_figure(j, c, row, f);
	json_put_begin(j, "strata", '{');
	for (int f = FIG_STRATA; f < FIG_N; f++)
		if (has_figure(row, f))
			put_figure(j, c, row, f);
	json_put_end(j, '}');
	json_put_end(j, '}');
}

static void put_rows(struct json *j, const struct compare *c)
{
	json_put_begin(j, "ops", '[');
	for (size_t i = 0; i < c->n_ops; i++)
		put_row(j, c, &c->rows[i]);
	json_put_end(j, ']');
	json_put_begin(j, "requests", '[');
	for (size_t i = c->n_ops; i < c->n_rows; i++)
		put_row(j, c, &c->rows[i]);
	json_put_end(j, ']');
}

static void put_lone(struct json *j, const struct compare *c)
{
	json_put_begin(j, "one_side", '[');
	for (size_t i = 0; i < c->n_lone; i++) {
		const struct compare_lone *l = &c->lone[i];

		json_put_begin(j, NULL, '{');
		json_put_string(j, "side", side_names[l->side]);
		json_put_bool(j, "request", l->key->is_request);
		json_put_string(j, "op", l->key->what);
		json_put_string(j, "where", l->key->where);
		json_put_string(j, "key", l->key->by);
		json_put_string(j, "comm", l->key->comm);
		json_put_uint(j, "count", l->count);
		json_put_uint(j, "total_ns", l->total_ns);
		put_chance(j, &l->number);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

/* The range of a limit's change, if it was tested. */
static void put_limit_range(struct json *j, const struct fail_if *l)
{
	const struct fail_if_result *r = &l->result;

	if (r->state == FAIL_IF_ABSENT || r->way != FAIL_IF_BY_TEST) {
		json_put_null(j, "ratio");
		json_put_null(j, "ratio_low");
		json_put_null(j, "ratio_high");
		json_put_null(j, "runs_needed");
		json_put_null(j, "holds");
		return;
	}
	json_put_real(j, "ratio", ratio(r->figure.change));
	json_put_real(j, "ratio_low", ratio(r->low));
	json_put_real(j, "ratio_high", ratio(r->high));
	if (r->runs_needed)
		json_put_uint(j, "runs_needed", r->runs_needed);
	else
		json_put_null(j, "runs_needed");
	json_put_real(j, "holds", fmin(fail_if_holds(l), RATIO_MOST));
}

static void put_limits(struct json *j, const struct compare_view *v)
{
	json_put_begin(j, "fail_if", '[');
	for (size_t i = 0; i < v->n_limits; i++) {
		const struct fail_if *l = &v->limits[i];
		char *text = compare_limit(v->c, l);

		json_put_begin(j, NULL, '{');
		json_put_string(j, "limit", l->text);
		json_put_string(j, "state", limit_states[l->result.state]);
		json_put_string(j, "by",
				l->result.state == FAIL_IF_ABSENT ? NULL
								  : limit_ways[l->result.way]);
		put_limit_range(j, l);
		json_put_string(j, "text", text);
		json_put_end(j, '}');
		free(text);
	}
	json_put_end(j, ']');
}

int compare_json(FILE *f, const struct compare_view *v)
{
	struct json j = { .out = { .f = f } };
	const struct compare *c = v->c;
	char *answer = compare_answer(c);

	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", compare_schema.id);
	json_put_string(&j, "answer", answer);
	json_put_begin(&j, "doubts", '[');
	for (size_t i = 0; i < c->n_doubts; i++)
		json_put_string(&j, NULL, c->doubts[i]);
	json_put_end(&j, ']');
	put_sides(&j, c);
	json_put_string(&j, "at", v->at);
	json_put_string(&j, "by", v->by ? by_name(v->by) : NULL);
	put_method(&j, c);
	put_change(&j, &c->change);
	put_whole(&j, c);
	put_work(&j, c);
	put_rows(&j, c);
	put_lone(&j, c);
	put_limits(&j, v);
	json_put_end(&j, '}');
	free(answer);
	return answer ? json_end_line(&j) : -ENOMEM;
}

/* Text in quotes (RFC 4180). */
static void put_quoted(struct text_out *o, const char *text)
{
	size_t cap = TEXT_SAFE_CAP(text ? strlen(text) : 0);
	char *safe = malloc(cap);

	if (!safe) {
		o->err = o->err ? o->err : -ENOMEM;
		return;
	}
	text_safe(safe, cap, text ? text : "");
	text_put(o, "\"");
	for (const char *s = safe; *s; s++)
		text_put(o, *s == '"' ? "\"\"" : "%c", *s);
	text_put(o, "\",");
	free(safe);
}

static const char *unit(enum figure f)
{
	if (compare_figure_is_time(f))
		return "ns";
	return f == FIG_RATE ? "1/s" : f == FIG_BYTES ? "bytes" : "1";
}

static void csv_figure(struct text_out *o, const struct compare_row *row, enum figure f)
{
	const struct compare_figure *v = &row->figures[f];
	struct compare_range range = compare_range(v);

	if (!v->known)
		return;
	text_put(o, "%s,", row->key->is_request ? "request" : "op");
	put_quoted(o, row->key->what);
	put_quoted(o, row->key->where);
	put_quoted(o, row->key->by);
	text_put(o, "%s,%s,", compare_figure_name(row, f), unit(f));
	if (is_whole(f))
		text_put(o, "%llu,%llu,%lld", (unsigned long long)whole_of(row, f, BASE),
			 (unsigned long long)whole_of(row, f, NEW),
			 (long long)compare_difference(row, f));
	else
		text_put(o, "%.6f,%.6f,%.6f", v->value[BASE], v->value[NEW],
			 v->value[NEW] - v->value[BASE]);
	if (v->tested)
		text_put(o, ",%.3f,%.3f,%.3g,%s\n", range.low, range.high, v->p,
			 compare_verdict(v));
	else
		text_put(o, ",,,,too few\n");
}

int compare_csv(FILE *f, const struct compare_view *v)
{
	struct text_out o = { .f = f };

	text_put(&o, "kind,op,where,key,figure,unit,base,new,diff,low,high,p,verdict\n");
	for (size_t i = 0; i < v->c->n_rows; i++)
		for (int fig = 0; fig < FIG_N; fig++)
			csv_figure(&o, &v->c->rows[i], fig);
	return text_end(&o);
}
