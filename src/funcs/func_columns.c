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

static void get_name(struct value *ret, const void *row, const void *ctx)
{
	ret->text = func_of(row, ctx)->name;
}

static void get_shown(struct value *ret, const void *row, const void *ctx)
{
	ret->text = func_shown(func_of(row, ctx));
}

static void get_demangled(struct value *ret, const void *row, const void *ctx)
{
	ret->text = func_of(row, ctx)->demangled;
}

static void get_module(struct value *ret, const void *row, const void *ctx)
{
	ret->text = func_of(row, ctx)->where;
}

static void get_key(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	ret->text = r->by;
}

static void get_count(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	ret->n = r->sum.count + r->unreturned;
}

/* Sets a figure known only for calls that returned. */
static void known(struct value *ret, const struct func_row *r, uint64_t n)
{
	ret->unknown = !r->sum.count;
	ret->n = n;
}

static void get_total(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	known(ret, r, r->sum.total_ns);
}

static void get_self(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	known(ret, r, r->sum.self_ns);
}

static void get_mean(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	known(ret, r, r->sum.count ? r->sum.total_ns / r->sum.count : 0);
}

static void get_min(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	known(ret, r, r->sum.min_ns);
}

static void get_max(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	known(ret, r, r->sum.max_ns);
}

/* A percentile, never below the shortest call: a bucket may begin below it. */
static uint64_t percentile(const struct func_row *r, double pct)
{
	uint64_t ns = hist_percentile(&r->hist, pct, r->sum.max_ns);

	return ns < r->sum.min_ns ? r->sum.min_ns : ns;
}

static void get_p50(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	known(ret, r, percentile(r, 50));
}

static void get_p99(struct value *ret, const void *row, const void *ctx)
{
	const struct func_row *r = row;

	(void)ctx;
	known(ret, r, percentile(r, 99));
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
	{},
};

static void node_label(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct funcs_node *)row)->label;
}

static void node_count(struct value *ret, const void *row, const void *ctx)
{
	get_count(ret, ((const struct funcs_node *)row)->row, ctx);
}

static void node_total(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct funcs_node *)row)->row->sum.total_ns;
}

static void node_self(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct funcs_node *)row)->row->sum.self_ns;
}

static void node_mean(struct value *ret, const void *row, const void *ctx)
{
	get_mean(ret, ((const struct funcs_node *)row)->row, ctx);
}

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

/* Equal rows keep their order: by function, then by key. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct func_row *x = *(const struct func_row *const *)a;
	const struct func_row *y = *(const struct func_row *const *)b;
	const struct funcs_view *v = arg;
	const struct columns cols = { .list = funcs_columns, .ctx = v };
	int order = columns_compare(&cols, columns_find(funcs_columns, v->sort), x, y);

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
