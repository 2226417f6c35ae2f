// SPDX-License-Identifier: GPL-2.0-only
/* explain_json.c - findings for programs; see explain.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/names.h"
#include "show/explain.h"

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
		put_same(j, v->e, i);
		json_put_end(j, '}');
		free(command);
	}
	json_put_end(j, ']');
}

static void put_strata(struct json *j, const char *name, const struct explain *e,
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
	json_put_string(&j, "schema", "iostrata.explain/1");
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
	put_strata(&j, "slow_strata", e, e->slow_ns);
	put_strata(&j, "others_strata", e, e->others_ns);
	put_findings(&j, v);
	json_put_uint(&j, "uncovered", e->n_slow ? e->uncovered : 0);
	json_put_bool(&j, "uncovered_sampled", e->is_sampled);
	put_missing(&j, e);
	json_put_end(&j, '}');
	free(answer);
	return answer ? json_end_line(&j) : -ENOMEM;
}
