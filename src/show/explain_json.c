// SPDX-License-Identifier: GPL-2.0-only
/* explain_json.c - findings for programs; see explain.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/names.h"
#include "base/schema.h"
#include "show/explain.h"
#include "show/breakdown_members.h"

static const char *attribute_name(unsigned int attribute)
{
	return explain_attribute_name(attribute);
}

static const struct word_list attribute_words = { attribute_name, .from = 0, .to = ATTR_N };

static const struct member property_members[] = {
	{ "attribute", MEMBER_ASCII, .what = "kind of the property", .words = &attribute_words },
	{ "text", MEMBER_TEXT, .what = "the property, as the end of \"these were ...\"" },
	{ "slow", MEMBER_COUNT, .what = "slow ones with the property" },
	{ "others", MEMBER_COUNT, .what = "others with the property" },
	{ "coverage", MEMBER_SHARE, .what = "share of the slow ones with the property" },
	{ "others_share", MEMBER_SHARE, .what = "share of the others with the property" },
	{ "lift", MEMBER_SHARE, .what = "quotient of coverage and others_share",
	  .null = "no other has the property" },
	{ "chance", MEMBER_COUNT, .what = "slow ones that would have the property by chance",
	  .fraction = true },
	{ "chance_at_most", MEMBER_COUNT,
	  .what = "number that chance exceeds in at most one of 100 cases" },
	{ "p", MEMBER_SHARE, .what = "probability of so many by chance, corrected for all tests" },
	{ "from_ns", MEMBER_TIME,
	  .what = "beginning of a time in which many of these slow ones are, from the beginning of "
		  "the "
		  "recording" },
	{ "to_ns", MEMBER_TIME, .what = "end of this time" },
	{ "incident", MEMBER_BOOL,
	  .what = "whether the property is one moment: p tells that there was a moment, and "
		  "nothing about its cause" },
	{ "estimated", MEMBER_BOOL,
	  .what = "whether slow and others are estimated, from the user stacks that were taken" },
	{ "note", MEMBER_TEXT, .what = "a further sentence about these operations",
	  .null = "there is none" },
	{}
};
static const struct object same_object = { "same",
					   "a property that most of the same slow ones have",
					   property_members };

static const struct member then_members[] = {
	{ "text", MEMBER_TEXT, .what = "what somebody did" },
	{ "requests", MEMBER_COUNT, .what = "requests during the incident" },
	{ "requests_all", MEMBER_COUNT, .what = "requests in the recording" },
	{ "before_ns", MEMBER_TIME,
	  .what = "time from the first of these requests to the incident, about; 0 if it came "
		  "later" },
	{}
};
static const struct object then_object = { "then", "who was different during an incident",
					   then_members };

static const struct member finding_members[] = {
	{ .also = property_members },
	{ "command", MEMBER_TEXT, .what = "the command line which shows such slow ones" },
	{ "then", MEMBER_OBJECT,
	  .what = "who was different during the incident or the bursts: a coincidence, no proof",
	  .object = &then_object, .list = 1 },
	{ "same", MEMBER_OBJECT, .what = "properties that most of the same slow ones have",
	  .object = &same_object, .list = 1 },
	{}
};
static const struct object finding_object = { "finding", "a finding", finding_members };

static const struct object nearest_object = { "nearest", "a property that chance may explain",
					      property_members };

static const struct member explain_members[] = {
	{ "answer", MEMBER_TEXT, .what = "the result, in sentences" },
	{ "file", MEMBER_TEXT, .what = "name of the recording" },
	{ "kernel", MEMBER_TEXT, .what = "release of the kernel", .null = "not known" },
	{ "host", MEMBER_TEXT, .what = "name of the machine", .null = "not known" },
	{ "duration_ns", MEMBER_TIME,
	  .what = "length of the recording, or of the part that was looked at" },
	{ "lost", MEMBER_COUNT, .what = "events lost" },
	{ "cut_off", MEMBER_BOOL, .what = "whether the recording is cut off or damaged" },
	{ "condition", MEMBER_TEXT, .what = "the condition, as it was given" },
	{ "threshold_ns", MEMBER_TIME, .what = "the limit: slow ones took longer" },
	{ "count", MEMBER_COUNT, .what = "operations or requests of that kind" },
	{ "slow", MEMBER_COUNT, .what = "the slow ones among these" },
	{ "window_ns", MEMBER_TIME,
	  .what = "time after the beginning of an operation; requests of others in flight within "
		  "it are "
		  "beside the operation" },
	{ "block_ns", MEMBER_TIME,
	  .what = "length of the blocks of time within which chance exchanges slow ones and "
		  "others" },
	{ "tests", MEMBER_COUNT, .what = "properties judged, for which findings are corrected" },
	{ "false_discovery_rate", MEMBER_SHARE,
	  .what = "at most this share of the findings is chance" },
	{ "slow_strata", MEMBER_OBJECT,
	  .what = "sums of the time in each stratum, of the slow ones", .object = &strata_object },
	{ "others_strata", MEMBER_OBJECT, .what = "sums of the time in each stratum, of the others",
	  .object = &strata_object },
	{ "findings", MEMBER_OBJECT, .what = "what the slow ones have in common, the best first",
	  .object = &finding_object, .list = 1 },
	{ "nearest", MEMBER_OBJECT,
	  .what = "properties that chance may explain, the least probable first",
	  .object = &nearest_object, .list = 1 },
	{ "uncovered", MEMBER_COUNT, .what = "slow ones in no finding" },
	{ "uncovered_sampled", MEMBER_BOOL,
	  .what = "whether uncovered is estimated from a sample of the slow ones" },
	{ "missing", MEMBER_ASCII, .what = "properties which the recording does not hold",
	  .list = 1, .item = "a property that could not be looked at" },
	{}
};
static const struct object explain_object = { NULL, "findings", explain_members };

const struct schema explain_schema = { "iostrata.explain/1", .what = "the line of explain --json",
				       .first = &explain_object };

static void put_share(struct json *j, const char *name, uint64_t n, uint64_t of)
{
	if (of)
		json_put_real(j, name, (double)n / of);
	else
		json_put_null(j, name);
}

static void put_counts(struct json *j, const struct explain *e, const struct explain_finding *f)
{
	double share = (double)f->slow / e->n_slow, others = e->n - e->n_slow;

	json_put_string(j, "attribute", explain_attribute_name(f->attribute));
	json_put_string(j, "text", f->text);
	json_put_uint(j, "slow", f->slow);
	json_put_uint(j, "others", f->others);
	put_share(j, "coverage", f->slow, e->n_slow);
	put_share(j, "others_share", f->others, e->n - e->n_slow);
	if (f->others)
		json_put_real(j, "lift", share * others / f->others);
	else
		json_put_null(j, "lift");
	json_put_real(j, "chance", f->expected);
	json_put_uint(j, "chance_at_most", f->at_most);
	json_put_real(j, "p", f->p);
	json_put_uint(j, "from_ns", f->from_ns);
	json_put_uint(j, "to_ns", f->to_ns);
	json_put_bool(j, "incident", f->is_incident);
	json_put_bool(j, "estimated", f->is_estimated);
	if (f->note)
		json_put_string(j, "note", f->note);
	else
		json_put_null(j, "note");
}

static void put_same(struct json *j, const struct explain *e, size_t chosen)
{
	json_put_begin(j, "same", '[');
	for (size_t i = e->n_chosen; i < e->n_findings; i++) {
		if (e->same[i] != chosen)
			continue;
		json_put_begin(j, NULL, '{');
		put_counts(j, e, &e->findings[i]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_then(struct json *j, const struct explain *e, const struct explain_finding *f)
{
	json_put_begin(j, "then", '[');
	for (size_t i = 0; i < e->n_then && f->attribute == ATTR_TIME; i++) {
		json_put_begin(j, NULL, '{');
		json_put_string(j, "text", e->then[i].text);
		json_put_uint(j, "requests", e->then[i].requests);
		json_put_uint(j, "requests_all", e->then[i].all);
		json_put_uint(j, "before_ns", e->then[i].before_ns);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_findings(struct json *j, const struct explain_view *v)
{
	char *command;

	json_put_begin(j, "findings", '[');
	for (size_t i = 0; i < v->e->n_chosen; i++) {
		const struct explain_finding *f = &v->e->findings[i];

		command = v->command(v->arg, f);
		json_put_begin(j, NULL, '{');
		put_counts(j, v->e, f);
		json_put_string(j, "command", command);
		put_then(j, v->e, f);
		put_same(j, v->e, i);
		json_put_end(j, '}');
		free(command);
	}
	json_put_end(j, ']');
}

static void put_nearest(struct json *j, const struct explain *e)
{
	json_put_begin(j, "nearest", '[');
	for (size_t i = 0; i < e->n_nearest; i++) {
		json_put_begin(j, NULL, '{');
		put_counts(j, e, &e->nearest[i]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

void explain_put_strata(struct json *j, const char *name, const struct explain *e,
			const uint64_t sums[ST_N])
{
	json_put_begin(j, name, '{');
	for (int st = 0; st < ST_N; st++) {
		if (e->strata_missing >> st & 1 && !sums[st])
			json_put_null(j, stratum_name(st));
		else
			json_put_uint(j, stratum_name(st), sums[st]);
	}
	json_put_end(j, '}');
}

static void put_missing(struct json *j, const struct explain *e)
{
	char *text;

	json_put_begin(j, "missing", '[');
	for (size_t i = 0; (text = explain_missing(e, i)); i++) {
		json_put_string(j, NULL, text);
		free(text);
	}
	json_put_end(j, ']');
}

int explain_json(FILE *f, const struct explain_view *v)
{
	struct json j = { .out = { .f = f } };
	const struct explain *e = v->e;
	char *answer = explain_answer(v);

	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", explain_schema.id);
	json_put_string(&j, "answer", answer);
	json_put_string(&j, "file", e->name);
	json_put_string(&j, "kernel", e->kernel);
	json_put_string(&j, "host", e->host);
	json_put_uint(&j, "duration_ns", e->duration_ns);
	json_put_uint(&j, "lost", e->lost);
	json_put_bool(&j, "cut_off", e->is_cut_off);
	json_put_string(&j, "condition", v->condition);
	json_put_uint(&j, "threshold_ns", e->threshold_ns);
	json_put_uint(&j, "count", e->n);
	json_put_uint(&j, "slow", e->n_slow);
	json_put_uint(&j, "window_ns", e->window_ns);
	json_put_uint(&j, "block_ns", e->block_ns);
	json_put_uint(&j, "tests", e->tests);
	json_put_real(&j, "false_discovery_rate", EXPLAIN_FALSE);
	explain_put_strata(&j, "slow_strata", e, e->slow_ns);
	explain_put_strata(&j, "others_strata", e, e->others_ns);
	put_findings(&j, v);
	put_nearest(&j, e);
	json_put_uint(&j, "uncovered", e->n_slow ? e->uncovered : 0);
	json_put_bool(&j, "uncovered_sampled", e->is_sampled);
	put_missing(&j, e);
	json_put_end(&j, '}');
	free(answer);
	return answer ? json_end_line(&j) : -ENOMEM;
}
