// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/func_print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/json.h"
#include "base/schema.h"
#include "funcs/func_columns.h"
#include "show/breakdown_members.h"
#include "show/view_parts.h"

enum { INDENT = 2, INDENTED = 12, DEPTH_MAX = 64 };

static int by_parent(const void *a, const void *b)
{
	const struct func_row *const *x = a, *const *y = b;

	if ((*x)->parent != (*y)->parent)
		return (*x)->parent < (*y)->parent ? -1 : 1;
	if ((*x)->sum.total_ns != (*y)->sum.total_ns)
		return (*x)->sum.total_ns > (*y)->sum.total_ns ? -1 : 1;
	return (*x)->func < (*y)->func ? -1 : 1;
}

/* Rows sorted by the path of the row above them. */
struct index {
	const struct func_row **rows;
	size_t n;
};

static size_t first_below(const struct index *x, uint64_t parent)
{
	size_t lo = 0, hi = x->n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (x->rows[mid]->parent < parent)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool has_path(const struct func_snapshot *sn, uint64_t path)
{
	for (size_t i = 0; i < sn->n_tree; i++)
		if (sn->tree[i].path == path)
			return true;
	return false;
}

static int node_add(struct funcs_tree *t, const struct funcs_view *v, const struct func_row *row,
		    int depth)
{
	const char *name = func_shown(&v->funcs->at[row->func]);
	char *label;
	int len;

	if (depth <= INDENTED)
		len = asprintf(&label, "%*s%s", depth * INDENT, "", name);
	else
		len = asprintf(&label, "%*s(%d) %s", INDENTED * INDENT, "", depth, name);
	if (len < 0)
		return -ENOMEM;
	t->at[t->n++] = (struct funcs_node){ .row = row, .label = label, .depth = depth };
	return 0;
}

/* Adds the rows below @parent, each followed by the functions it called. Never adds more rows than
 * there are, no matter what their paths say. */
static int branch_add(struct funcs_tree *t, const struct funcs_view *v, const struct index *x,
		      uint64_t parent)
{
	size_t at[DEPTH_MAX + 1];
	uint64_t path[DEPTH_MAX + 1];
	int depth = 0, err = 0;

	path[0] = parent;
	at[0] = first_below(x, parent);
	while (depth >= 0 && !err && t->n < x->n) {
		const struct func_row *row = at[depth] < x->n ? x->rows[at[depth]] : NULL;

		if (!row || row->parent != path[depth]) {
			depth--;
			continue;
		}
		at[depth]++;
		err = node_add(t, v, row, depth);
		if (depth == DEPTH_MAX)
			continue;
		path[++depth] = row->path;
		at[depth] = first_below(x, row->path);
	}
	return err;
}

/* Adds, at the top level, rows whose caller has not returned in this interval. */
static int orphans_add(struct funcs_tree *t, const struct funcs_view *v,
		       const struct func_snapshot *sn, const struct index *x)
{
	uint64_t last = 0;
	int err = 0;

	for (size_t i = 0; i < x->n && !err; i++) {
		if (!x->rows[i]->parent || x->rows[i]->parent == last)
			continue;
		last = x->rows[i]->parent;
		if (!has_path(sn, last))
			err = branch_add(t, v, x, last);
	}
	return err;
}

int func_tree_init(struct funcs_tree *t, const struct funcs_view *v, const struct func_snapshot *sn)
{
	struct index x = { .rows = calloc(sn->n_tree + 1, sizeof(*x.rows)), .n = sn->n_tree };
	int err = 0;

	*t = (struct funcs_tree){ .at = calloc(sn->n_tree + 1, sizeof(*t->at)) };
	if (!x.rows || !t->at)
		err = -ENOMEM;
	for (size_t i = 0; i < x.n && !err; i++)
		x.rows[i] = &sn->tree[i];
	if (!err) {
		qsort(x.rows, x.n, sizeof(*x.rows), by_parent);
		err = branch_add(t, v, &x, 0);
	}
	if (!err)
		err = orphans_add(t, v, sn, &x);
	free(x.rows);
	if (err)
		func_tree_done(t);
	return err;
}

void func_tree_done(struct funcs_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i].label);
	free(t->at);
	*t = (struct funcs_tree){};
}

static const struct member cost_members[] = {
	{ "call_ns", MEMBER_TIME, .what = "time which a call takes longer" },
	{ "inside_ns", MEMBER_TIME, .what = "part of call_ns inside the call's own time" },
	{ "subtracted", MEMBER_BOOL,
	  .what = "whether the cost is subtracted from all times (--subtract)" },
	{}
};
static const struct object cost_object = { NULL, "a cost", cost_members };

static const struct member function_members[] = {
	{ .columns = funcs_columns },
	{ "mostly_probe", MEMBER_BOOL,
	  .what = "whether half or more of the measured time is that of the probes, or of waits "
		  "for "
		  "a CPU: sorted by a time, such rows are last" },
	{ "hist", MEMBER_COUNT,
	  .what = "histogram of the times of the calls: its ranges that are not empty, each as "
		  "[low, high, "
		  "count]",
	  .unit = "ns, ns, count", .list = 2, .length = 3,
	  .item = "lowest and highest time in the range, and count" },
	{}
};
static const struct object function_object = { "function", "calls of a function",
					       function_members };

static const struct member name_members[] = {
	{ "name", MEMBER_TEXT, .what = "name of the function's symbol" },
	{ "demangled", MEMBER_TEXT, .what = "name of a C++ function, with its parameters",
	  .null = "not of C++" },
	{}
};

static const struct member node_members[] = {
	{ "depth", MEMBER_COUNT, .what = "traced callers above" },
	{ .also = name_members },
	{ "count", MEMBER_COUNT, .what = "calls that returned" },
	{ "total_ns", MEMBER_TIME, .what = "time from entry to return" },
	{ "self_ns", MEMBER_TIME, .what = "total_ns without the time in the rows below" },
	{}
};
static const struct object node_object = { "node",
					   "calls of a function from one caller, which is the last "
					   "row before with a depth of one less",
					   node_members };

static const struct member refused_members[] = {
	{ .also = name_members },
	{ "module", MEMBER_TEXT,
	  .what = "module of the function, or path of the program or library",
	  .null = "the kernel itself" },
	{ "why", MEMBER_ASCII, .what = "reason why the function cannot be probed" },
	{}
};
static const struct object refused_object = { "refused", "a function without a probe",
					      refused_members };

static const char *loss_name(unsigned int what)
{
	return func_loss_name(what);
}

static const char *loss_help(unsigned int what)
{
	return func_loss_text(what);
}

static const struct word_list loss_words = { loss_name, .from = 0, .to = FUNC_LOSS_N,
					     .help = loss_help };

static const struct member loss_members[] = { { .each = &loss_words, .type = MEMBER_COUNT }, {} };
static const struct object loss_object = { NULL, "lost calls by kind", loss_members };

static const struct member funcs_members[] = {
	{ "kernel", MEMBER_ASCII, .what = "release of the kernel, as uname -r prints it" },
	{ "time", MEMBER_ASCII, .what = "local time at the end of the interval, by RFC 3339 in ms",
	  .null = "not known", .pattern = PATTERN_TIME },
	{ "duration_ns", MEMBER_TIME, .what = "length of the interval" },
	{ "probe", MEMBER_ASCII,
	  .what = "how functions are probed, as in --probe: kprobe.session, kprobe.multi, "
		  "fsession, "
		  "fentry, "
		  "kprobe, uprobe.session, uprobe.multi, uprobe; or two of these" },
	{ "cost", MEMBER_OBJECT,
	  .what = "cost of the probes themselves, measured on a function that does nothing",
	  .object = &cost_object },
	{ "counted_only", MEMBER_TEXT,
	  .what = "why calls are only counted: the program switches stacks, and its returns are "
		  "not "
		  "probed. All calls are unreturned then",
	  .null = "times are measured" },
	{ "functions", MEMBER_OBJECT, .what = "a row for each called function and key of --by",
	  .object = &function_object, .list = 1 },
	{ "tree", MEMBER_OBJECT, .what = "who called whom, each function below its caller",
	  .null = "without --tree", .object = &node_object, .list = 1 },
	{ "refused", MEMBER_OBJECT, .what = "matching functions which cannot be traced",
	  .object = &refused_object, .list = 1 },
	{ "missed", MEMBER_COUNT, .what = "the same as in lost" },
	{ "lost", MEMBER_OBJECT, .what = "lost calls by kind", .object = &loss_object },
	{ "overhead", MEMBER_OBJECT, .what = "cost of the BPF programs so far",
	  .null = "without --overhead", .object = &overhead_object },
	{}
};
static const struct object funcs_object = { NULL, "one interval", funcs_members };

const struct schema funcs_schema = { "iostrata.funcs/1",
				     .what = "a line of funcs --json: an interval",
				     .first = &funcs_object };

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
	int err = func_rows_init(&rows, v, sn);

	if (err)
		return err;
	json_put_begin(j, "functions", '[');
	for (size_t i = 0; i < rows.n; i++) {
		json_put_begin(j, NULL, '{');
		columns_json(j, &cols, rows.at[i]);
		json_put_bool(j, "mostly_probe", func_is_mostly_probe(v, rows.at[i]));
		put_hist(j, rows.at[i]);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	func_rows_done(&rows);
	return 0;
}

static void put_names(struct json *j, const struct func *f)
{
	json_put_string(j, "name", f->name);
	if (f->demangled)
		json_put_string(j, "demangled", f->demangled);
	else
		json_put_null(j, "demangled");
}

/* Writes the tree. The caller of a row is the last row before it with a depth less by one. */
static int json_tree(struct json *j, const struct funcs_view *v, const struct func_snapshot *sn)
{
	struct funcs_tree tree;
	int err;

	if (!v->tree) {
		json_put_null(j, "tree");
		return 0;
	}
	err = func_tree_init(&tree, v, sn);
	if (err)
		return err;
	json_put_begin(j, "tree", '[');
	for (size_t i = 0; i < tree.n; i++) {
		const struct func_row *r = tree.at[i].row;

		json_put_begin(j, NULL, '{');
		json_put_uint(j, "depth", tree.at[i].depth);
		put_names(j, &v->funcs->at[r->func]);
		json_put_uint(j, "count", r->sum.count);
		json_put_uint(j, "total_ns", r->sum.total_ns);
		json_put_uint(j, "self_ns", r->sum.self_ns);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	func_tree_done(&tree);
	return 0;
}

static void json_refused(struct json *j, const struct funcs_view *v)
{
	json_put_begin(j, "refused", '[');
	for (size_t i = 0; i < v->funcs->n; i++) {
		const struct func *f = &v->funcs->at[i];

		if (!f->refused)
			continue;
		json_put_begin(j, NULL, '{');
		put_names(j, f);
		json_put_string(j, "module", f->where);
		json_put_string(j, "why", f->refused);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void json_lost(struct json *j, const struct func_snapshot *sn)
{
	json_put_uint(j, "missed", sn->lost[FUNC_LOSS_MISSED]);
	json_put_begin(j, "lost", '{');
	for (int i = 0; i < FUNC_LOSS_N; i++)
		json_put_uint(j, func_loss_name(i), sn->lost[i]);
	json_put_end(j, '}');
}

static void json_overhead(struct json *j, const struct func_snapshot *sn)
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

/* Why there are no times; null: there are. */
static void put_no_times(struct json *j, const struct funcs_view *v)
{
	if (v->funcs->no_times)
		json_put_string(j, "counted_only", v->funcs->no_times);
	else
		json_put_null(j, "counted_only");
}

int func_json(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn)
{
	struct json j = { .out = { .f = f } };
	int err;

	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", funcs_schema.id);
	json_put_string(&j, "kernel", v->kernel);
	json_put_time(&j, "time", v->until_ns);
	json_put_uint(&j, "duration_ns", sn->duration_ns);
	json_put_string(&j, "probe", v->probe);
	json_put_begin(&j, "cost", '{');
	json_put_uint(&j, "call_ns", v->cost->call_ns);
	json_put_uint(&j, "inside_ns", v->cost->inside_ns);
	json_put_bool(&j, "subtracted", v->subtract);
	json_put_end(&j, '}');
	put_no_times(&j, v);
	err = put_functions(&j, v, sn);
	if (!err)
		err = json_tree(&j, v, sn);
	json_refused(&j, v);
	json_lost(&j, sn);
	json_overhead(&j, sn);
	json_put_end(&j, '}');
	return err ? err : json_end_line(&j);
}

enum { WIDTH = 80, NAME_COLUMNS = 40 };

static int width_of(const struct funcs_view *v)
{
	return v->width ? v->width : WIDTH;
}

/* Puts @text made safe for a terminal, cut to @width columns. */
static void put_safe(struct text_out *o, const char *text, int width)
{
	char safe[1024], fit[1024];

	text_safe(safe, sizeof(safe), text);
	text_fit(fit, sizeof(fit), safe, width, TEXT_CUT_TAIL);
	text_put(o, "%s", fit);
}

static void put_head(struct text_out *o, const struct funcs_view *v, const struct func_snapshot *sn)
{
	size_t traced = func_traced(v->funcs);

	text_put(o, "%s%s%s", v->every_ns ? text_clock(v->until_ns, v->every_ns).s : "traced",
		 v->every_ns ? ", " : " ", text_ns(sn->duration_ns).s);
	if (v->kernel && !v->every_ns) {
		text_put(o, " on Linux ");
		put_safe(o, v->kernel, 40);
	}
	text_put(o, "\n%s function%s by %s; a probe costs %s a call%s\n", text_count(traced).s,
		 text_plural(traced), v->probe, text_ns(v->cost->call_ns).s,
		 v->subtract ? ", which is subtracted" : "");
}

/* Puts how many functions could not be traced, and the first of them. */
static void put_refused(struct text_out *o, const struct funcs_view *v)
{
	const struct func *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < v->funcs->n; i++) {
		if (!v->funcs->at[i].refused)
			continue;
		first = first ? first : &v->funcs->at[i];
		n++;
	}
	if (!n)
		return;
	text_put(o, "\n%s of the requested functions %s not traced; ", text_count(n).s,
		 n == 1 ? "is" : "are");
	put_safe(o, func_shown(first), NAME_COLUMNS);
	text_put(o, ":\n  %s\n", first->refused);
}

static void put_lost(struct text_out *o, const struct func_snapshot *sn)
{
	bool any = false;

	for (int i = 0; i < FUNC_LOSS_N; i++) {
		if (!sn->lost[i])
			continue;
		text_put(o, "%s  %s %s\n", any ? "" : "\nlost:\n", text_count(sn->lost[i]).s,
			 func_loss_text(i));
		any = true;
	}
}

static void put_overhead(struct text_out *o, const struct func_snapshot *sn)
{
	if (sn->has_overhead)
		text_put(o, "\noverhead so far: %s in %s runs of the programs\n",
			 text_ns(sn->bpf_run_ns).s, text_count(sn->bpf_run_cnt).s);
}

static uint64_t unreturned(const struct func_snapshot *sn)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sn->n_rows; i++)
		sum += sn->rows[i].unreturned;
	return sum;
}

static void put_unreturned(struct text_out *o, const struct funcs_view *v,
			   const struct func_snapshot *sn)
{
	uint64_t n = unreturned(sn);

	if (n && !v->funcs->no_times)
		text_put(o, "\n%s call%s not seen to return: included in count, but in no time\n",
			 text_count(n).s, n == 1 ? " was" : "s were");
}

enum { PROBES_NAMED = 3 };

/* Whether at least half of the time of a usual call, as measured, is the probe's. */
static bool is_mostly_probe(const struct funcs_view *v, const struct func_row *r)
{
	double usual_ns = hist_percentile(&r->hist, 50, r->sum.max_ns);

	if (!v->subtract)
		usual_ns -= v->cost->inside_ns;
	return r->sum.count && usual_ns < v->cost->inside_ns;
}

/* Names the functions among the first @n rows whose times tell more about the probes than about the
 * function. */
static void put_mostly_probe(struct text_out *o, const struct funcs_view *v,
			     const struct funcs_rows *rows, size_t n)
{
	char name[1024], line[PROBES_NAMED * sizeof(name) + 256];
	size_t found = 0, len = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_mostly_probe(v, rows->at[i]) || found++ >= PROBES_NAMED)
			continue;
		text_safe(name, sizeof(name), func_shown(&v->funcs->at[rows->at[i]->func]));
		len += snprintf(line + len, sizeof(line) - len, "%s%s",
				found == 1 ? "half or more of a usual call is the probe: " : ", ",
				name);
	}
	if (!found)
		return;
	if (found > PROBES_NAMED)
		len += snprintf(line + len, sizeof(line) - len, " and %s more",
				text_count(found - PROBES_NAMED).s);
	snprintf(line + len, sizeof(line) - len,
		 "; sums of such calls also have what probes cost above %s, and preemption",
		 text_ns(v->cost->inside_ns).s);
	text_wrap(o, line, 0, INDENT, width_of(v));
}

/* The heading of rows that have no rank among the others. */
static const char *unsure_text(const struct funcs_view *v)
{
	if (v->subtract && v->cost->preempted_known)
		return "half or more of the time measured in these was the probes', or spent "
		       "waiting for a CPU; they are not ranked with the others:";
	return "half or more of the time measured in these was the probes'; they are not ranked "
	       "with the others:";
}

static void put_table(struct text_out *o, const struct funcs_view *v, const struct funcs_rows *rows)
{
	const struct columns cols = { .list = funcs_columns,
				      .ctx = v,
				      .width = width_of(v),
				      .milliseconds = v->milliseconds };
	size_t n = v->most && v->most < rows->n ? v->most : rows->n;
	size_t sure = rows->n_sure < n ? rows->n_sure : n;

	if (sure) {
		text_put(o, "\n");
		columns_text(o, &cols, (const void *const *)rows->at, sure);
	}
	if (sure < n) {
		text_put(o, "\n");
		text_wrap(o, unsure_text(v), 0, INDENT, width_of(v));
		columns_text(o, &cols, (const void *const *)rows->at + sure, n - sure);
	}
	if (n < rows->n)
		text_put(o, "%s more rows; -n 0 shows all\n", text_count(rows->n - n).s);
	if (!v->funcs->no_times)
		text_put(o, "\nself time of all: %s\n", text_ns(rows->self_ns).s);
	if (!v->funcs->no_times)
		put_mostly_probe(o, v, rows, sure);
}

static void put_hists(struct text_out *o, const struct funcs_view *v, const struct funcs_rows *rows)
{
	size_t n = v->most && v->most < rows->n ? v->most : rows->n;

	for (size_t i = 0; i < n; i++) {
		const struct func_row *r = rows->at[i];

		if (!r->sum.count)
			continue;
		text_put(o, "\n");
		put_safe(o, func_shown(&v->funcs->at[r->func]), NAME_COLUMNS);
		if (r->by) {
			text_put(o, ", %s ", v->by);
			put_safe(o, r->by, NAME_COLUMNS / 2);
		}
		text_put(o, "\n");
		hist_put(o, &r->hist, r->sum.max_ns, v->milliseconds, width_of(v));
	}
}

static int put_tree(struct text_out *o, const struct funcs_view *v, const struct func_snapshot *sn)
{
	const struct columns cols = { .list = funcs_tree_columns,
				      .ctx = v,
				      .width = width_of(v),
				      .milliseconds = v->milliseconds };
	struct funcs_tree tree;
	const void **rows;
	int err = func_tree_init(&tree, v, sn);

	if (err)
		return err;
	rows = calloc(tree.n + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < tree.n; i++)
		rows[i] = &tree.at[i];
	text_put(o, "\n");
	if (rows)
		columns_text(o, &cols, rows, tree.n);
	else
		err = -ENOMEM;
	free(rows);
	func_tree_done(&tree);
	return err;
}

int func_text(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn)
{
	struct text_out o = { .f = f };
	struct funcs_rows rows;
	int err = func_rows_init(&rows, v, sn);

	if (err)
		return err;
	put_head(&o, v, sn);
	if (!rows.n)
		text_put(&o, "\nno call of these functions was traced%s\n",
			 v->every_ns ? "\n" : "");
	else
		put_table(&o, v, &rows);
	if (rows.n && v->tree)
		err = put_tree(&o, v, sn);
	if (v->histograms)
		put_hists(&o, v, &rows);
	put_unreturned(&o, v, sn);
	put_refused(&o, v);
	put_lost(&o, sn);
	put_overhead(&o, sn);
	func_rows_done(&rows);
	return err ? err : text_end(&o);
}

/* Puts a whole name into a line for other programs, with characters of @separators replaced. */
static void put_name(struct text_out *o, const char *name, const char *separators)
{
	size_t cap = TEXT_SAFE_CAP(strlen(name));
	char *safe = malloc(cap);

	if (!safe) {
		o->err = o->err ? o->err : -ENOMEM;
		return;
	}
	text_safe(safe, cap, name);
	for (char *c = safe; *c; c++)
		if (strchr(separators, *c))
			*c = '_';
	text_put(o, "%s", safe);
	free(safe);
}

int func_csv(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn)
{
	struct text_out o = { .f = f };
	struct funcs_rows rows;
	int err = func_rows_init(&rows, v, sn);

	if (err)
		return err;
	for (size_t i = 0; i < rows.n && (!v->most || i < v->most); i++) {
		const struct func_row *r = rows.at[i];

		put_name(&o, v->funcs->at[r->func].name, ",\"");
		text_put(&o, "(),%llu,%llu.%03llu\n",
			 (unsigned long long)(r->sum.count + r->unreturned),
			 (unsigned long long)r->sum.total_ns / 1000,
			 (unsigned long long)r->sum.total_ns % 1000);
	}
	func_rows_done(&rows);
	return text_end(&o);
}

int func_folded(FILE *f, const struct funcs_view *v, const struct func_snapshot *sn)
{
	const struct funcs_node *stack[64 + 1];
	struct text_out o = { .f = f };
	struct funcs_tree tree;
	int err = func_tree_init(&tree, v, sn);

	if (err)
		return err;
	for (size_t i = 0; i < tree.n; i++) {
		stack[tree.at[i].depth] = &tree.at[i];
		for (int d = 0; d <= tree.at[i].depth; d++) {
			text_put(&o, "%s", d ? ";" : "");
			put_name(&o, v->funcs->at[stack[d]->row->func].name, "; ");
		}
		text_put(&o, " %llu\n", (unsigned long long)tree.at[i].row->sum.self_ns);
	}
	func_tree_done(&tree);
	return text_end(&o);
}

int func_list_text(FILE *f, const struct func_list *l)
{
	struct text_out o = { .f = f };
	size_t refused = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct func *fn = &l->at[i];

		put_name(&o, func_shown(fn), "");
		if (*fn->where) {
			text_put(&o, " [");
			put_safe(&o, fn->where, 1000);
			text_put(&o, "]");
		}
		if (fn->refused)
			text_put(&o, ": not traced: %s", fn->refused);
		text_put(&o, "\n");
		refused += !!fn->refused;
	}
	text_put(&o, "%s function%s", text_count(l->n).s, text_plural(l->n));
	text_put(&o, refused ? ", %s of them not traced\n" : "\n", text_count(refused).s);
	return text_end(&o);
}
