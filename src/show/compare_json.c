// SPDX-License-Identifier: GPL-2.0-only
/* compare_json.c - a comparison for programs; see compare.h. */
#include "show/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

static const char *const side_names[SIDES] = { "base", "new" };

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
	static const char *const names[] = { "blocks", "welch", "permutation" };
	char *how = compare_how(c);

	json_put_begin(j, "method", '{');
	json_put_string(j, "name", names[c->method]);
	json_put_string(j, "text", how);
	json_put_bool(j, "between_runs", compare_is_between_runs(c));
	json_put_uint(j, "tests", c->n_tests);
	json_put_uint(j, "sure", c->n_sure);
	json_put_real(j, "false_discovery_rate", COMPARE_FALSE);
	json_put_real(j, "confidence", 0.95);
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

static void put_tested(struct json *j, const struct compare *c, const struct names *n,
		       const struct compare_figure *f)
{
	double difference = f->value[NEW] - f->value[BASE], half = compare_half(f);

	if (f->tested) {
		json_put_real(j, n->low, difference - half);
		json_put_real(j, n->high, difference + half);
		json_put_real(j, n->seen, compare_seen(c, f));
		json_put_real(j, "p", f->p);
	} else {
		json_put_null(j, n->low);
		json_put_null(j, n->high);
		json_put_null(j, n->seen);
		json_put_null(j, "p");
	}
	json_put_bool(j, "sure", f->sure);
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
	put_tested(j, c, n, v);
	json_put_end(j, '}');
}

/* Whether the figure exists for such a row, measured or not. */
static bool has_figure(const struct compare_row *row, enum figure f)
{
	if (f == FIG_LOAD)
		return false;
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
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_limits(struct json *j, const struct compare_view *v)
{
	static const char *const states[] = { "absent", "too few", "held", "failed" };

	json_put_begin(j, "fail_if", '[');
	for (size_t i = 0; i < v->n_limits; i++) {
		json_put_begin(j, NULL, '{');
		json_put_string(j, "limit", v->limits[i].text);
		json_put_string(j, "state", states[v->limits[i].state]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

int compare_json(FILE *f, const struct compare_view *v)
{
	struct json j = { .out = { .f = f } };
	const struct compare *c = v->c;
	char *answer = compare_answer(c);

	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", "iostrata.compare/1");
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

static void csv_figure(struct text_out *o, const struct compare *c, const struct compare_row *row,
		       enum figure f)
{
	const struct compare_figure *v = &row->figures[f];
	double difference = v->value[NEW] - v->value[BASE], half = compare_half(v);

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
		text_put(o, "%.6f,%.6f,%.6f", v->value[BASE], v->value[NEW], difference);
	if (v->tested)
		text_put(o, ",%.3f,%.3f,%.3g,%s\n", difference - half, difference + half, v->p,
			 compare_verdict(c, v));
	else
		text_put(o, ",,,,too few\n");
}

int compare_csv(FILE *f, const struct compare_view *v)
{
	struct text_out o = { .f = f };

	text_put(&o, "kind,op,where,key,figure,unit,base,new,diff,low,high,p,verdict\n");
	for (size_t i = 0; i < v->c->n_rows; i++)
		for (int fig = 0; fig < FIG_N; fig++)
			if (fig != FIG_LOAD)
				csv_figure(&o, v->c, &v->c->rows[i], fig);
	return text_end(&o);
}
