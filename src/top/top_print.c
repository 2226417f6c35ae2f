// SPDX-License-Identifier: GPL-2.0-only
#include "top/top_print.h"

#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "base/schema.h"
#include "capture/header_members.h"
#include "show/breakdown_json.h"
#include "show/breakdown_members.h"
#include "show/stacks_json.h"
#include "show/stacks_text.h"

static void put_table(struct text_out *o, const struct top_text *v, const struct columns *t,
		      const struct top_list *l)
{
	size_t n = l->n < v->max_rows ? l->n : v->max_rows;

	columns_text(o, t, (const void *const *)l->rows, n);
	if (l->n > n)
		text_put(o, "(%s more)\n", text_count(l->n - n).s);
}

/* How many stacks were taken, and how they ended. */
static void put_stacks(struct text_out *o, const struct top_text *v, const struct stacks *s)
{
	char text[STACKS_WORDS];

	stacks_taken_text(text, sizeof(text), s);
	text_wrap(o, text, 0, 2, v->width);
	for (unsigned int end = 0; end < STACK_END_N; end++)
		if (stacks_ended_text(text, sizeof(text), s, end))
			text_wrap(o, text, 0, 2, v->width);
	if (v->view != TOP_CALLER_LIBRARY && stacks_unnamed_text(text, sizeof(text), s))
		text_wrap(o, text, 0, 2, v->width);
}

int top_text(FILE *f, const struct top_text *v, const struct snapshot *sn)
{
	struct top_columns c = top_columns_text(v->view, v->sort);
	struct text_out o = { .f = f };
	struct top_table table;
	struct top_figures figures = { .table = &table };
	struct columns t = { .list = c.list,
			     .ctx = &figures,
			     .width = v->width,
			     .uncut = v->uncut,
			     .milliseconds = !top_view_callers(v->view) };
	struct top_order order = { .by = columns_find(c.list, v->sort) };
	struct top_list list;
	char foot[TOP_LINE];
	int err = top_table_init(&table, sn, v->view,
				 top_view_callers(v->view) ? TOP_OPS : TOP_REQUESTS, v->names);

	if (!err)
		err = top_list_init(&list, &figures, &order);
	if (err) {
		top_table_done(&table);
		return err;
	}
	text_put(&o, "%s%s\n\n", v->clear ? "\033[H\033[2J" : "", v->head);
	put_table(&o, v, &t, &list);
	if (sn->stacks)
		put_stacks(&o, v, sn->stacks);
	top_busy_text(foot, sn);
	if (*foot)
		text_wrap(&o, foot, 0, 2, v->width);
	if (v->gone && *v->gone)
		text_wrap(&o, v->gone, 0, 2, v->width);
	top_foot_text(foot, v->view, sn, v->missing);
	if (*foot)
		text_wrap(&o, foot, 0, 2, v->width);
	text_put(&o, "\n");
	top_list_done(&list);
	top_table_done(&table);
	return text_end(&o);
}

static const char *view_name(unsigned int view)
{
	return top_view_name(view);
}

static const struct word_list view_words = { view_name, .from = 0, .to = TOP_VIEWS };

static const struct member request_members[] = { { .columns = top_json_requests }, {} };
static const struct object request_object = {
	"request", "a row of block requests, charged to whom they were for", request_members
};

static const struct member op_members[] = {
	{ .columns = top_json_ops },
	{ "strata", MEMBER_OBJECT,
	  .what = "time in each stratum; the sum is total_ns. All time on the CPU is in syscall",
	  .object = &strata_object },
	{}
};
static const struct object op_object = { "op", "a row of operations", op_members };

static const struct member top_members[] = {
	{ "kernel", MEMBER_ASCII, .what = "release of the kernel, as uname -r prints it" },
	{ "time", MEMBER_COUNT, .what = "end of the interval, in seconds since 1970", .unit = "s" },
	{ "local_time", MEMBER_ASCII, .what = "the same as local time, by RFC 3339 in ms",
	  .null = "not known", .pattern = PATTERN_TIME },
	{ "duration_ns", MEMBER_TIME, .what = "length of the interval" },
	{ "by", MEMBER_ASCII, .what = "key of the rows, as in --by", .words = &view_words },
	{ "rows", MEMBER_OBJECT,
	  .what = "block requests: a row for each key, disk and kind, and one more for requests "
		  "which "
		  "others submitted on behalf of the key, for each reason; empty with --by server "
		  "and by callers",
	  .object = &request_object, .list = 1 },
	{ "ops", MEMBER_OBJECT,
	  .what = "operations: a row for each key and kind; empty with --by dev and server",
	  .object = &op_object, .list = 1 },
	{ "missing", MEMBER_ASCII,
	  .what = "things which could not be measured: strata, requests, calls (all operations), "
		  "uring, "
		  "aio and fault",
	  .words = &missing_words, .list = 1, .item = "name of such a thing" },
	{ "lost", MEMBER_OBJECT, .what = "lost events by kind", .object = &lost_object },
	{ "disks", MEMBER_OBJECT, .what = "how busy each disk was that had requests in progress",
	  .null = "no requests, or the kernel does not tell", .object = &disk_object, .list = 1 },
	{ "servers", MEMBER_OBJECT,
	  .what = "requests of file systems to servers and daemons, with any key",
	  .only = "if there were any", .object = &server_object, .list = 1 },
	{ "stacks", MEMBER_OBJECT, .what = "the stacks from which callers come",
	  .only = "with --by function, line and library", .object = &stacks_object },
	{}
};
static const struct object top_object = { NULL, "one interval", top_members };

const struct schema top_schema = { "iostrata.top/1", .what = "a line of top --json: an interval",
				   .first = &top_object };

static void put_strata(struct json *j, const struct top_json *v, struct top_strata strata)
{
	json_put_begin(j, "strata", '{');
	for (int i = 0; i < ST_N; i++) {
		if (v->missing && v->missing->stratum[i])
			json_put_null(j, stratum_name(i));
		else
			json_put_uint(j, stratum_name(i), strata.ns[i]);
	}
	json_put_end(j, '}');
}

/* Writes the rows of @sn as a list: of requests to disks, or with TOP_OPS of operations. */
static int put_rows(struct json *j, const struct top_json *v, const struct snapshot *sn,
		    enum top_split split)
{
	struct top_table table;
	struct top_figures figures = { .table = &table };
	struct columns t = { .list = split == TOP_OPS ? top_json_ops : top_json_requests,
			     .ctx = &figures };
	int err = top_table_init(&table, sn, v->view, split, v->names);

	if (err)
		return err;
	json_put_begin(j, split == TOP_OPS ? "ops" : "rows", '[');
	for (size_t i = 0; i < table.n && v->view != TOP_SERVER; i++) {
		json_put_begin(j, NULL, '{');
		columns_json(j, &t, &table.rows[i]);
		if (split == TOP_OPS)
			put_strata(j, v, top_row_strata(&table, &table.rows[i]));
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	top_table_done(&table);
	return 0;
}

static void put_missing(struct json *j, const struct missing *m)
{
	json_put_begin(j, "missing", '[');
	for (int i = 0; i < ST_N; i++)
		if (m && m->stratum[i])
			json_put_string(j, NULL, stratum_name(i));
	if (m && m->requests)
		json_put_string(j, NULL, "requests");
	if (m && m->syscalls)
		json_put_string(j, NULL, "calls");
	if (m && m->uring)
		json_put_string(j, NULL, op_name(OP_URING));
	if (m && m->aio)
		json_put_string(j, NULL, op_name(OP_AIO));
	if (m && m->faults)
		json_put_string(j, NULL, op_name(OP_FAULT));
	json_put_end(j, ']');
}

static void put_lost(struct json *j, const struct snapshot *sn)
{
	json_put_begin(j, "lost", '{');
	for (int i = 0; i < LOST_N; i++)
		json_put_uint(j, lost_name(i), sn->lost[i]);
	json_put_uint(j, "missed", sn->missed);
	json_put_end(j, '}');
}

int top_json(FILE *f, const struct top_json *v, const struct snapshot *sn)
{
	struct json j = { .out = { .f = f } };
	int err;

	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", top_schema.id);
	json_put_string(&j, "kernel", v->kernel);
	json_put_uint(&j, "time", v->until_ns / 1000000000);
	json_put_time(&j, "local_time", v->until_ns);
	json_put_uint(&j, "duration_ns", sn->duration_ns);
	json_put_string(&j, "by", top_view_name(v->view));
	err = put_rows(&j, v, sn, TOP_REQUESTS);
	if (!err)
		err = put_rows(&j, v, sn, TOP_OPS);
	if (!err && sn->n_servers)
		err = breakdown_json_servers(&j, sn, v->missing);
	if (err)
		return err;
	put_missing(&j, v->missing);
	put_lost(&j, sn);
	breakdown_json_disks(&j, sn);
	if (sn->stacks)
		stacks_json(&j, sn->stacks, v->missing);
	json_put_end(&j, '}');
	return json_end_line(&j);
}
