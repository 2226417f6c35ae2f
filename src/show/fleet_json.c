// SPDX-License-Identifier: GPL-2.0-only
/* fleet_json.c - bad hosts for programs; see fleet.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/names.h"
#include "show/breakdown_members.h"
#include "show/fleet.h"

static const char *attribute_name(unsigned int attribute)
{
	return fleet_attribute_name(attribute);
}

static const struct word_list attribute_words = { attribute_name, .from = 0,
						  .to = FLEET_ATTRIBUTES };

static const struct member finding_members[] = {
	{ "attribute", MEMBER_ASCII, .what = "kind of the property", .words = &attribute_words },
	{ "text", MEMBER_TEXT, .what = "the property, as the end of \"the slow ones were ...\"" },
	{ "note", MEMBER_TEXT, .what = "what these hosts also have in common",
	  .null = "there is nothing" },
	{ "within", MEMBER_BOOL,
	  .what = "whether operations with the property were compared with others of the same "
		  "hosts, not hosts with hosts" },
	{ "hosts", MEMBER_COUNT, .what = "hosts with the property", .least = 1 },
	{ "count", MEMBER_COUNT, .what = "operations or requests with the property" },
	{ "slow", MEMBER_COUNT, .what = "slow ones among these" },
	{ "others_count", MEMBER_COUNT, .what = "operations or requests without the property" },
	{ "others_slow", MEMBER_COUNT, .what = "slow ones among these" },
	{ "p", MEMBER_SHARE,
	  .what = "probability of such a difference by chance among equal hosts, corrected for all "
		  "tests" },
	{ "command", MEMBER_TEXT,
	  .what = "the command line which explains the recording with most of these slow ones" },
	{}
};
static const struct object finding_object = { "finding", "a finding about hosts", finding_members };

static const struct member host_members[] = {
	{ "host", MEMBER_TEXT,
	  .what = "name of the host; of a recording without one, name of the file" },
	{ "recordings", MEMBER_COUNT, .what = "number of its recordings" },
	{ "count", MEMBER_COUNT, .what = "operations or requests" },
	{ "slow", MEMBER_COUNT, .what = "the slow ones among these" },
	{ "file", MEMBER_TEXT, .what = "its recording with most slow ones" },
	{}
};
static const struct object host_object = { "host", "a host", host_members };

static const struct member fleet_members[] = {
	{ "answer", MEMBER_TEXT, .what = "the result, in sentences" },
	{ "recordings", MEMBER_COUNT, .what = "number of recordings" },
	{ "damaged", MEMBER_COUNT,
	  .what = "recordings that are damaged or cut off: counted as far as they can be read" },
	{ "lost", MEMBER_COUNT, .what = "events lost" },
	{ "condition", MEMBER_TEXT, .what = "the condition, as it was given" },
	{ "threshold_ns", MEMBER_TIME, .what = "the limit: slow ones took longer" },
	{ "count", MEMBER_COUNT, .what = "operations or requests of that kind on all hosts" },
	{ "slow", MEMBER_COUNT, .what = "the slow ones among these" },
	{ "tests", MEMBER_COUNT,
	  .what = "hosts and properties judged, for which findings are corrected" },
	{ "false_rate", MEMBER_SHARE,
	  .what = "probability that equal hosts give any finding, at most" },
	{ "slow_strata", MEMBER_OBJECT,
	  .what = "sums of the time in each stratum, of the slow ones", .object = &strata_object },
	{ "others_strata", MEMBER_OBJECT, .what = "sums of the time in each stratum, of the others",
	  .object = &strata_object },
	{ "findings", MEMBER_OBJECT, .what = "bad hosts, and what bad hosts have in common",
	  .object = &finding_object, .list = 1 },
	{ "nearest", MEMBER_OBJECT, .what = "what came nearest, if nothing was found",
	  .object = &finding_object, .list = 1, .most = 1 },
	{ "hosts", MEMBER_OBJECT, .what = "all hosts, the one with most slow ones first",
	  .object = &host_object, .list = 1 },
	{ "missing", MEMBER_ASCII, .what = "properties which not all recordings hold", .list = 1,
	  .item = "a property that could not be looked at everywhere" },
	{}
};
static const struct object fleet_object = { NULL, "findings about hosts", fleet_members };

const struct schema fleet_schema = { "iostrata.fleet/1",
				     .what = "the line of explain --json of several recordings",
				     .first = &fleet_object };

static void put_text(struct json *j, const char *name, const char *text)
{
	if (text)
		json_put_string(j, name, text);
	else
		json_put_null(j, name);
}

static void put_finding(struct json *j, const struct fleet_view *v,
			const struct fleet_finding *found)
{
	char *command = v->command(v->arg, found);

	json_put_begin(j, NULL, '{');
	json_put_string(j, "attribute", fleet_attribute_name(found->attribute));
	json_put_string(j, "text", found->text);
	put_text(j, "note", found->note);
	json_put_bool(j, "within", found->is_within);
	json_put_uint(j, "hosts", found->hosts);
	json_put_uint(j, "count", found->n);
	json_put_uint(j, "slow", found->slow);
	json_put_uint(j, "others_count", found->others_n);
	json_put_uint(j, "others_slow", found->others_slow);
	json_put_real(j, "p", found->p);
	json_put_string(j, "command", command);
	json_put_end(j, '}');
	free(command);
}

static void put_hosts(struct json *j, const struct fleet_view *v)
{
	json_put_begin(j, "hosts", '[');
	for (size_t i = 0; i < v->f->n_hosts; i++) {
		const struct fleet_host *h = &v->f->hosts[i];

		json_put_begin(j, NULL, '{');
		json_put_string(j, "host", h->name);
		json_put_uint(j, "recordings", h->recordings);
		json_put_uint(j, "count", h->n);
		json_put_uint(j, "slow", h->slow);
		json_put_string(j, "file", v->names[h->worst]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_findings(struct json *j, const struct fleet_view *v)
{
	json_put_begin(j, "findings", '[');
	for (size_t i = 0; i < v->f->n_findings; i++)
		put_finding(j, v, &v->f->findings[i]);
	json_put_end(j, ']');
	json_put_begin(j, "nearest", '[');
	if (v->f->nearest.text && !v->f->n_findings)
		put_finding(j, v, &v->f->nearest);
	json_put_end(j, ']');
}

static void put_missing(struct json *j, const struct fleet *f)
{
	char *text;

	json_put_begin(j, "missing", '[');
	for (size_t i = 0; (text = fleet_missing(f, i)); i++) {
		json_put_string(j, NULL, text);
		free(text);
	}
	json_put_end(j, ']');
}

int fleet_json(FILE *f, const struct fleet_view *v)
{
	struct json j = { .out = { .f = f } };
	const struct explain *e = &v->f->sums;
	char *answer = fleet_answer(v);

	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", fleet_schema.id);
	json_put_string(&j, "answer", answer);
	json_put_uint(&j, "recordings", v->f->n_recordings);
	json_put_uint(&j, "damaged", v->f->n_damaged);
	json_put_uint(&j, "lost", e->lost);
	json_put_string(&j, "condition", v->sums.condition);
	json_put_uint(&j, "threshold_ns", e->threshold_ns);
	json_put_uint(&j, "count", e->n);
	json_put_uint(&j, "slow", e->n_slow);
	json_put_uint(&j, "tests", v->f->tests);
	json_put_real(&j, "false_rate", FLEET_FALSE);
	explain_put_strata(&j, "slow_strata", e, e->slow_ns);
	explain_put_strata(&j, "others_strata", e, e->others_ns);
	put_findings(&j, v);
	put_hosts(&j, v);
	put_missing(&j, v->f);
	json_put_end(&j, '}');
	free(answer);
	return answer ? json_end_line(&j) : -ENOMEM;
}
