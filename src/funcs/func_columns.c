// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"

static const struct func *func_of(const struct func_row *r, const void *ctx)
{
	const struct funcs_view *v = ctx;

	return &v->funcs->at[r->func];
}

GETTER(get_name, func_row, v->text = func_of(r, ctx)->name)
GETTER(get_shown, func_row, v->text = func_shown(func_of(r, ctx)))
GETTER(get_demangled, func_row, v->text = func_of(r, ctx)->demangled)
GETTER(get_module, func_row, v->text = func_of(r, ctx)->where)
GETTER(get_key, func_row, v->text = r->by)
GETTER(get_count, func_row, v->n = r->sum.count + r->unreturned)

/* Sets a figure known only for calls that returned. */
static void known(struct value *ret, const struct func_row *r, uint64_t n)
{
	ret->unknown = !r->sum.count;
	ret->n = n;
}

GETTER(get_total, func_row, known(v, r, r->sum.total_ns))
GETTER(get_self, func_row, known(v, r, r->sum.self_ns))
GETTER(get_mean, func_row, known(v, r, r->sum.count ? r->sum.total_ns / r->sum.count : 0))
GETTER(get_min, func_row, known(v, r, r->sum.min_ns))
GETTER(get_max, func_row, known(v, r, r->sum.max_ns))

/* A percentile, never below the shortest call: a bucket may begin below it. */
static uint64_t percentile(const struct func_row *r, double pct)
{
	uint64_t ns = hist_percentile(&r->hist, pct, r->sum.max_ns);

	return ns < r->sum.min_ns ? r->sum.min_ns : ns;
}

GETTER(get_p50, func_row, known(v, r, percentile(r, 50)))
GETTER(get_p99, func_row, known(v, r, percentile(r, 99)))

/* The probes' time in the calls of @r. */
static uint64_t probe_ns(const struct funcs_view *v, const struct func_row *r)
{
	uint64_t ns = r->sum.count * v->cost->inside_ns;

	if (v->subtract)
		return r->sum.probe_ns;
	return ns < r->sum.total_ns ? ns : r->sum.total_ns;
}

/* The share of the measured time that says nothing about the function. */
static void get_probe_share(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;
	const struct funcs_view *v = ctx;

	ret->n = probe_ns(v, r) + r->sum.preempted_ns;
	ret->of = r->sum.total_ns + r->sum.probe_ns;
	ret->unknown = !r->sum.count || !ret->of;
}

bool func_is_mostly_probe(const struct funcs_view *v, const struct func_row *r)
{
	struct value share = {};

	get_probe_share(&share, r, v);
	return !share.unknown && share.n >= share.of - share.n;
}

static void get_probe(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	known(ret, r, r->sum.probe_ns);
	ret->unknown |= !((const struct funcs_view *)ctx)->subtract;
}

static void get_preempted(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	known(ret, r, r->sum.preempted_ns);
	ret->unknown |= !((const struct funcs_view *)ctx)->cost->preempted_known;
}

#define AT(member) offsetof(struct func_row, member)

#define NO_RETURN "no call returned"

const struct column funcs_columns[] = {
	{ NULL, "function", VALUE_TEXT, .get = get_shown,
	  .help = "name of the function; of a C++ function with its parameters" },
	{ "name", NULL, VALUE_TEXT, .get = get_name, .help = "name of the function's symbol" },
	{ "demangled", NULL, VALUE_TEXT, .get = get_demangled,
	  .help = "name of a C++ function, with its parameters", .null = "not of C++" },
	{ "module", "module", VALUE_TEXT, .get = get_module, .max = 16, .rank = 3, .optional = true,
	  .cut = TEXT_CUT_HEAD, .help = "module of the function, or path of the program or library",
	  .null = "the kernel itself" },
	{ "key", "key", VALUE_TEXT, .get = get_key, .max = 24, .optional = true,
	  .cut = TEXT_CUT_HEAD, .help = "value of the key of --by",
	  .null = "without --by, or not known" },
	{ "count", "count", VALUE_COUNT, .get = get_count,
	  .help = "number of calls, including those without a traced return" },
	{ "total_ns", "total", VALUE_TIME, .get = get_total,
	  .help = "time from entry to return; a call inside another of the same function counts in "
		  "both",
	  .null = NO_RETURN },
	{ "self_ns", "self", VALUE_TIME, .get = get_self,
	  .help = "total without the time of traced functions called in between",
	  .null = NO_RETURN },
	{ "mean_ns", "mean", VALUE_TIME, .get = get_mean, .rank = 1,
	  .help = "total divided by the number of calls that returned", .null = NO_RETURN },
	{ "min_ns", "min", VALUE_TIME, .get = get_min, .rank = 5,
	  .help = "time of the shortest call", .null = NO_RETURN },
	{ "p50_ns", "p50", VALUE_TIME, .get = get_p50, .rank = 4,
	  .help = "half of the calls took at most this long", .null = NO_RETURN },
	{ "p99_ns", "p99", VALUE_TIME, .get = get_p99, .rank = 2,
	  .help = "99 % of the calls took at most this long", .null = NO_RETURN },
	{ "max_ns", "max", VALUE_TIME, .get = get_max, .rank = 1,
	  .help = "time of the longest call", .null = NO_RETURN },
	{ "unreturned", NULL, VALUE_COUNT, AT(unreturned),
	  .help = "number of calls without a traced return: they are in count, but in no time" },
	{ NULL, "probe", VALUE_SHARE, .get = get_probe_share, .rank = 4, .optional = true,
	  .help = "share of the measured time that belongs to the probes; with --subtract also to "
		  "waits for a CPU",
	  .null = NO_RETURN },
	{ "probe_ns", NULL, VALUE_TIME, .get = get_probe,
	  .help = "time of the probes of these calls and of the traced calls below; not in "
		  "total_ns",
	  .null = "without --subtract; or " NO_RETURN },
	{ "preempted_ns", NULL, VALUE_TIME, .get = get_preempted,
	  .help = "part of total_ns in which the threads were ready and waited for a CPU",
	  .null = "without --subtract; or the kernel does not count it; or " NO_RETURN },
	{},
};

GETTER(node_label, funcs_node, v->text = r->label)
GETTER(node_count, funcs_node, get_count(v, r->row, ctx))
GETTER(node_total, funcs_node, v->n = r->row->sum.total_ns)
GETTER(node_self, funcs_node, v->n = r->row->sum.self_ns)
GETTER(node_mean, funcs_node, get_mean(v, r->row, ctx))

const struct column funcs_tree_columns[] = {
	{ NULL, "called", VALUE_TEXT, .get = node_label, .help = "by the function above" },
	{ NULL, "count", VALUE_COUNT, .get = node_count, .help = "" },
	{ NULL, "total", VALUE_TIME, .get = node_total, .help = "" },
	{ NULL, "self", VALUE_TIME, .get = node_self, .help = "" },
	{ NULL, "mean", VALUE_TIME, .get = node_mean, .help = "" },
	{},
};

size_t func_traced(const struct func_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += !l->at[i].refused;
	return n;
}

static bool is_by_time(const struct funcs_view *v)
{
	const struct column *c = columns_find(funcs_columns, v->sort);

	return c && c->kind == VALUE_TIME;
}

/* Equal rows keep their order: by function, then by key. Times that are mostly the probes' have no
 * rank among the others. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct func_row *x = *(const struct func_row *const *)a;
	const struct func_row *y = *(const struct func_row *const *)b;
	const struct funcs_view *v = arg;
	const struct columns cols = { .list = funcs_columns, .ctx = v };
	int order = is_by_time(v) ? func_is_mostly_probe(v, x) - func_is_mostly_probe(v, y) : 0;

	if (order)
		return order;
	order = columns_compare(&cols, columns_find(funcs_columns, v->sort), x, y);
	if (order)
		return v->reverse ? -order : order;
	order = (x->func > y->func) - (x->func < y->func);
	return order || !x->by ? order : strcmp(x->by, y->by);
}

int func_rows_init(struct funcs_rows *r, const struct funcs_view *v, const struct func_snapshot *sn)
{
	*r = (struct funcs_rows){ .at = calloc(sn->n_rows + 1, sizeof(*r->at)) };
	if (!r->at)
		return -ENOMEM;
	for (size_t i = 0; i < sn->n_rows; i++) {
		r->at[r->n++] = &sn->rows[i];
		r->self_ns += sn->rows[i].sum.self_ns;
		r->n_sure += !is_by_time(v) || !func_is_mostly_probe(v, &sn->rows[i]);
	}
	qsort_r(r->at, r->n, sizeof(*r->at), compare, (void *)v);
	return 0;
}

void func_rows_done(struct funcs_rows *r)
{
	free(r->at);
}

static const struct {
	const char *name, *text;
} losses[FUNC_LOSS_N] = {
	[FUNC_LOSS_THREADS] = { "threads", "calls by threads without room for their state" },
	[FUNC_LOSS_ROWS] = { "rows", "calls without room for their row" },
	[FUNC_LOSS_DEPTH] = { "depth", "calls nested in more than 64 traced functions" },
	[FUNC_LOSS_END] = { "unmatched_end", "calls with a traced return but no traced beginning" },
	[FUNC_LOSS_RETURN] = { "returns", "more calls without a traced return" },
	[FUNC_LOSS_MISSED] = { "missed", "entries or returns missed by the kernel's probes" },
};

const char *func_loss_name(enum func_loss what)
{
	return losses[what].name;
}

const char *func_loss_text(enum func_loss what)
{
	return losses[what].text;
}
