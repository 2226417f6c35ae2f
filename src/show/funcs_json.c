// SPDX-License-Identifier: GPL-2.0-only
/* funcs_json.c - writes calls of functions as JSON; see funcs_text.h. */
#include "base/hist.h"
#include "base/json.h"
#include "show/funcs_text.h"

static void put_hist(struct json *j, const struct func_row *r)
{
	json_put_begin(j, "hist", '[');
	for (unsigned int i = 0; i < r->hist.n; i++) {
		unsigned int b = r->hist.bins[i].bucket;
		uint64_t high = b == HIST_N - 1 ? r->sum.max_ns : hist_low(b + 1) - 1;

		json_put_begin(j, NULL, '[');
		json_put_uint(j, NULL, hist_low(b));
		json_put_uint(j, NULL, high);
		json_put_uint(j, NULL, r->hist.bins[i].count);
		json_put_end(j, ']');
	}
	json_put_end(j, ']');
}

static int put_functions(struct json *j, const struct funcs_view *v, const struct func_snapshot *sn)
{
	const struct columns cols = { .list = funcs_columns, .ctx = v };
	struct funcs_rows rows;
	int err = funcs_rows_init(&rows, v, sn);

	if (err)
		return err;
	json_put_begin(j, "functions", '[');
	for (size_t i = 0; i < rows.n; i++) {
		json_put_begin(j, NULL, '{');
		columns_json(j, &cols, rows.at[i]);
		put_hist(j, rows.at[i]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	funcs_rows_done(&rows);
	return 0;
}

/* The caller of a row is the last row before it whose depth is less by one. */
static int put_tree(struct json *j, const struct funcs_view *v, const struct func_snapshot *sn)
{
	struct funcs_tree tree;
	int err;

	if (!v->tree) {
		json_put_null(j, "tree");
		return 0;
	}
	err = funcs_tree_init(&tree, v, sn);
	if (err)
		return err;
	json_put_begin(j, "tree", '[');
	for (size_t i = 0; i < tree.n; i++) {
		const struct func_row *r = tree.at[i].row;

		json_put_begin(j, NULL, '{');
		json_put_uint(j, "depth", tree.at[i].depth);
		json_put_string(j, "name", v->funcs->at[r->func].name);
		json_put_uint(j, "count", r->sum.count);
		json_put_uint(j, "total_ns", r->sum.total_ns);
		json_put_uint(j, "self_ns", r->sum.self_ns);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	funcs_tree_done(&tree);
	return 0;
}

static void put_refused(struct json *j, const struct funcs_view *v)
{
	json_put_begin(j, "refused", '[');
	for (size_t i = 0; i < v->funcs->n; i++) {
		const struct func *f = &v->funcs->at[i];

		if (!f->refused)
			continue;
		json_put_begin(j, NULL, '{');
		json_put_string(j, "name", f->name);
		json_put_string(j, "module", f->where);
		json_put_string(j, "why", f->refused);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_lost(struct json *j, const struct func_snapshot *sn)
{
	json_put_uint(j, "missed", sn->lost[FUNC_LOSS_MISSED]);
	json_put_begin(j, "lost", '{');
	for (int i = 0; i < FUNC_LOSS_N; i++)
		json_put_uint(j, funcs_loss_name(i), sn->lost[i]);
	json_put_end(j, '}');
}

static void put_overhead(struct json *j, const struct func_snapshot *sn)
{
	if (!sn->has_overhead) {
		json_put_null(j, "overhead");
		return;
	}
	json_put_begin(j, "overhead", '{');
	json_put_uint(j, "bpf_run_ns", sn->bpf_run_ns);
	json_put_uint(j, "bpf_run_cnt", sn->bpf_run_cnt);
	json_put_end(j, '}');
}

int funcs_json(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn)
{
	struct json j = { .out = { .f = f } };
	int err;

	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", "iostrata.funcs/1");
	json_put_string(&j, "kernel", v->kernel);
	json_put_time(&j, "time", v->until_ns);
	json_put_uint(&j, "duration_ns", sn->duration_ns);
	json_put_string(&j, "probe", v->probe);
	json_put_begin(&j, "cost", '{');
	json_put_uint(&j, "call_ns", v->cost->call_ns);
	json_put_uint(&j, "inside_ns", v->cost->inside_ns);
	json_put_bool(&j, "subtracted", v->subtract);
	json_put_end(&j, '}');
	err = put_functions(&j, v, sn);
	if (!err)
		err = put_tree(&j, v, sn);
	put_refused(&j, v);
	put_lost(&j, sn);
	put_overhead(&j, sn);
	json_put_end(&j, '}');
	return err ? err : json_end_line(&j);
}
