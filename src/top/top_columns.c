// SPDX-License-Identifier: GPL-2.0-only
#include "top/top_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/protocols.h"
#include "base/schema.h"
#include "host/processes.h"
#include "show/columns.h"

#define NOT_BY_KEY "the key of --by does not tell"

/* The kinds of key of a row. */
#define TOP_WHO_COLUMNS(in_container)                                                              \
	{ .name = "pid",                                                                           \
	  .title = "PID",                                                                          \
	  .kind = VALUE_ID,                                                                        \
	  .get = top_get_pid,                                                                      \
	  .help = "id of the process",                                                             \
	  .null = NOT_BY_KEY },                                                                    \
		{ .name = "tid",                                                                   \
		  .title = "TID",                                                                  \
		  .kind = VALUE_ID,                                                                \
		  .get = top_get_tid,                                                              \
		  .help = "id of the thread",                                                      \
		  .null = NOT_BY_KEY },                                                            \
		{ .name = "comm",                                                                  \
		  .title = "COMM",                                                                 \
		  .kind = VALUE_TEXT,                                                              \
		  .get = top_get_comm,                                                             \
		  .max = 16,                                                                       \
		  .help = "name of the process or thread",                                         \
		  .null = NOT_BY_KEY },                                                            \
		{ .name = "cgroup",                                                                \
		  .title = "CGROUP",                                                               \
		  .kind = VALUE_TEXT,                                                              \
		  .get = top_get_cgroup,                                                           \
		  .cut = TEXT_CUT_HEAD,                                                            \
		  .help = "path of the cgroup",                                                    \
		  .null = NOT_BY_KEY },                                                            \
		{ .name = "container",                                                             \
		  .title = "CONTAINER",                                                            \
		  .kind = VALUE_TEXT,                                                              \
		  .get = top_get_##in_container,                                                   \
		  .max = 20,                                                                       \
		  .help = "id or name of the container",                                           \
		  .null = "in none, or " NOT_BY_KEY },                                             \
	{                                                                                          \
		.name = "file", .title = "FILE", .kind = VALUE_TEXT, .get = top_get_file,          \
		.cut = TEXT_CUT_HEAD, .help = "path of the file",                                  \
		.null = "no file, or " NOT_BY_KEY                                                  \
	}

static const struct top_table *table_of(const void *ctx)
{
	return ((const struct top_figures *)ctx)->table;
}

/* The name of a row by container, or NULL if not known. */
static const char *container_name(const struct top_row *r)
{
	if (r->container)
		return *r->container->title ? r->container->title : r->container->id;
	return r->cgroup && container_is_path(r->cgroup) ? CONTAINER_NONE : r->cgroup;
}

const char *top_row_name(enum top_view view, const struct top_row *r)
{
	const char *name = NULL;

	switch (view) {
	case TOP_FILE:
		name = r->file;
		break;
	case TOP_DISK:
		name = r->disk;
		break;
	case TOP_CGROUP:
		name = r->cgroup;
		break;
	case TOP_CONTAINER:
		name = container_name(r);
		break;
	case TOP_SERVER:
		name = r->server ? r->server->key.server : NULL;
		break;
	case TOP_CALLER_FUNCTION:
	case TOP_CALLER_LINE:
	case TOP_CALLER_LIBRARY:
		name = r->caller;
		break;
	default:
		name = r->thread ? r->thread->comm : NULL;
	}
	return name ? name : "";
}

/* The columns of the key. The id of a process comes from the ids of its threads. */

static uint64_t thread_id(const struct top_row *r)
{
	return r->thread ? r->thread->id : 0;
}

/* The figure @name of the server of @row. */
static void get_of_server(struct value *v, const void *row, const char *name)
{
	const struct server_row *server = ((const struct top_row *)row)->server;

	if (server)
		columns_find(server_columns, name)->get(v, server, NULL);
}

/* Getters of struct column; each row is a struct top_row. */
GETTER(get_server, top_row, get_of_server(v, r, "server"))
GETTER(get_mount, top_row, get_of_server(v, r, "mount"))
GETTER(get_server_op, top_row, get_of_server(v, r, "op"))

static void top_get_pid(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	if (r->server) {
		get_of_server(v, row, "pid");
		return;
	}
	v->n = thread_id(r) >> 32;
	v->unknown = !r->thread || table_of(ctx)->view > TOP_THREAD;
}

GETTER(top_get_tid, top_row,
       value_number(v, (uint32_t)thread_id(r), r->thread &&table_of(ctx)->view == TOP_THREAD))

static void top_get_comm(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	if (!r->thread || table_of(ctx)->view > TOP_COMM)
		return;
	v->text = r->thread->comm;
	v->max = COMM_LEN;
}

GETTER(top_get_file, top_row, v->text = r->file)

static void top_get_cgroup(struct value *v, const void *row, const void *ctx)
{
	enum top_view view = table_of(ctx)->view;

	if (view == TOP_CGROUP || view <= TOP_THREAD)
		v->text = ((const struct top_row *)row)->cgroup;
}

static void top_get_container(struct value *v, const void *row, const void *ctx)
{
	enum top_view view = table_of(ctx)->view;
	const struct top_row *r = row;

	if (r->container && (view == TOP_CONTAINER || view == TOP_CGROUP || view <= TOP_THREAD))
		v->text = r->container->id;
}

/* Tables show the short id. */
GETTER(top_get_container_name, top_row,
       value_text(v, container_name(r),
		  r->container && !*r->container->title ? r->container->shown : SIZE_MAX))

/* Member "key" of JSON: tells one row from the others. */
static void top_get_key(struct value *v, const void *row, const void *ctx)
{
	enum top_view view = table_of(ctx)->view;
	const struct top_row *r = row;
	const char *name =
		view == TOP_CONTAINER && r->container ? r->container->id : top_row_name(view, r);

	if (view <= TOP_THREAD && r->thread)
		snprintf(v->buf, sizeof(v->buf), "%llu",
			 view == TOP_THREAD ? r->thread->id & 0xffffffff : r->thread->id >> 32);
	else if (view > TOP_THREAD && *name)
		v->text = name;
	if (view == TOP_COMM)
		v->max = COMM_LEN;
}

GETTER(get_caller, top_row, v->text = r->caller)
GETTER(get_disk, top_row, v->text = r->disk)
GETTER(get_dev, top_row, snprintf(v->buf, sizeof(v->buf), "%u:%u", r->major, r->minor))
GETTER(get_major, top_row, v->n = r->major)
GETTER(get_minor, top_row, v->n = r->minor)
GETTER(get_rq_op, top_row, v->text = rq_op_code(r->key.op & 0xff))
GETTER(get_on_behalf, top_row, v->text = behalf_name(r->key.op >> 8))
GETTER(get_op, top_row, v->text = op_name(r->key.op))

/* Figures. */

uint64_t top_per_second(uint64_t per_second_of, uint64_t n)
{
	return per_second_of ? (uint64_t)((double)n * 1e9 / per_second_of + 0.5) : n;
}

static uint64_t per_second(const void *ctx, uint64_t n)
{
	return top_per_second(((const struct top_figures *)ctx)->per_second_of, n);
}

static void get_mean(struct value *v, const struct top_side *s, uint64_t ns)
{
	v->unknown = !s->count;
	v->n = s->count ? ns / s->count : 0;
}

/* @side is a part of @r. */
static void p99_value(struct value *v, const void *ctx, const struct top_row *r,
		      const struct top_side *side)
{
	top_row_p99(table_of(ctx), (struct top_row *)r); /* not const in its table */
	value_number(v, side->p99_ns, side->count);
}

GETTER(get_ops, top_row, v->n = per_second(ctx, r->ops.count))
GETTER(get_ops_bytes, top_row, v->n = per_second(ctx, r->ops.bytes))
GETTER(get_ops_mean, top_row, get_mean(v, &r->ops, r->ops.total_ns))
GETTER(get_ops_total, top_row, v->n = per_second(ctx, r->ops.total_ns))
GETTER(get_ops_p99, top_row, p99_value(v, ctx, r, &r->ops))

static void get_where(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;
	struct top_strata strata = top_row_strata(table_of(ctx), r);
	unsigned int st = top_strata_largest(&strata);

	if (st < ST_N)
		snprintf(v->buf, sizeof(v->buf), "%s %.0f%%", stratum_label(st),
			 100.0 * strata.ns[st] / r->ops.total_ns);
}

GETTER(get_rqs, top_row, v->n = per_second(ctx, r->rqs.count))
GETTER(get_rqs_bytes, top_row,
       value_number(v, per_second(ctx, r->rqs.bytes),
		    !r->server || protocol_at(r->server->key.protocol)->has_bytes))
GETTER(get_kbytes, top_row, get_rqs_bytes(v, r, ctx), v->n = (v->n + 512) / 1024)
GETTER(get_rqs_mean, top_row, get_mean(v, &r->rqs, r->rqs.total_ns))
GETTER(get_rqs_p99, top_row, p99_value(v, ctx, r, &r->rqs))

static void get_queue(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	(void)ctx;
	get_mean(v, &r->rqs, r->tag_ns + r->queue_ns);
	/* in the server's time */
	v->unknown |= r->server && !protocol_at(r->server->key.protocol)->has_waits;
}

GETTER(get_behalf_bytes, top_row, v->n = per_second(ctx, r->behalf_bytes))

#define AT(member) .at = offsetof(struct top_row, member)

#define COLUMN_DISK                                                                                \
	{                                                                                          \
		.name = "disk", .title = "DISK", .kind = VALUE_TEXT, .get = get_disk, .max = 16,   \
		.help = "name of the disk"                                                         \
	}

/* The figures of one side, in JSON. */
#define COLUMNS_SUMS(side)                                                                         \
	{ .name = "count",                                                                         \
	  AT(side.count),                                                                          \
	  .help = "number of requests or operations",                                              \
	  .json.least = 1 },                                                                       \
		{ .name = "errors", AT(side.errors), .help = "number of failures" },               \
	{                                                                                          \
		.name = "bytes", .kind = VALUE_BYTES, AT(side.bytes), .help = "bytes moved"        \
	}

#define COLUMNS_SLOWEST(side, get_p99)                                                             \
	{ .name = "max_ns", .kind = VALUE_TIME, AT(side.max_ns), .help = "time of the slowest" },  \
	{                                                                                          \
		.name = "p99_ns", .kind = VALUE_TIME, .get = get_p99,                              \
		.help = "99th percentile of their time"                                            \
	}

#define COLUMN_CALLER(called, shown)                                                               \
	{                                                                                          \
		.name = (called), .title = (shown), .kind = VALUE_TEXT, .get = get_caller,         \
		.cut = TEXT_CUT_TAIL                                                               \
	}

static const struct column keys[] = {
	TOP_WHO_COLUMNS(container_name),
	COLUMN_DISK,
	{ .name = "server",
	  .title = "SERVER",
	  .kind = VALUE_TEXT,
	  .get = get_server,
	  .cut = TEXT_CUT_TAIL },
	{ .name = "mount",
	  .title = "MOUNT",
	  .kind = VALUE_TEXT,
	  .get = get_mount,
	  .cut = TEXT_CUT_MIDDLE },
	COLUMN_CALLER("function", "FUNCTION"),
	COLUMN_CALLER("line", "LINE"),
	COLUMN_CALLER("library", "LIBRARY"),
	{},
};

/* The names of the columns of a view's key. */
static const char *const of_view[TOP_VIEWS][3] = {
	[TOP_PROCESS] = { "pid", "comm" },
	[TOP_THREAD] = { "tid", "comm" },
	[TOP_COMM] = { "comm" },
	[TOP_FILE] = { "file" },
	[TOP_DISK] = { "disk" },
	[TOP_CGROUP] = { "cgroup" },
	[TOP_CONTAINER] = { "container" },
	[TOP_SERVER] = { "server", "pid", "mount" },
	[TOP_CALLER_FUNCTION] = { "function" },
	[TOP_CALLER_LINE] = { "line" },
	[TOP_CALLER_LIBRARY] = { "library" },
};

/* On a narrow screen, columns with the highest rank are dropped first. */
const struct column top_figure_columns[] = {
	{ .name = "ops",
	  .title = "OPS",
	  .get = get_ops,
	  .max = 7,
	  .min = 6,
	  .rank = 5,
	  .help = "finished operations on files" },
	{ .name = "data",
	  .title = "DATA",
	  .kind = VALUE_BYTES,
	  .get = get_ops_bytes,
	  .max = 8,
	  .min = 8,
	  .rank = 6,
	  .help = "bytes that these operations read or wrote" },
	{ .name = "time",
	  .title = "TIME",
	  .kind = VALUE_TIME,
	  .get = get_ops_mean,
	  .max = 7,
	  .min = 7,
	  .rank = 7,
	  .help = "mean time of these operations" },
	{ .name = "t99",
	  .title = "T99",
	  .kind = VALUE_TIME,
	  .get = get_ops_p99,
	  .max = 7,
	  .min = 7,
	  .rank = 9,
	  .help = "99th percentile of the time of these operations" },
	{ .name = "where",
	  .title = "WHERE",
	  .kind = VALUE_TEXT,
	  .get = get_where,
	  .max = 18,
	  .min = 13,
	  .rank = 4,
	  .help = "largest stratum of the time of these operations" },
	{ .name = "io",
	  .title = "I/O",
	  .get = get_rqs,
	  .max = 7,
	  .min = 6,
	  .rank = 1,
	  .help = "requests that disks completed, or that servers answered" },
	{ .name = "bytes",
	  .title = "BYTES",
	  .kind = VALUE_BYTES,
	  .get = get_rqs_bytes,
	  .max = 8,
	  .min = 8,
	  .help = "bytes that these requests moved" },
	{ .name = "avg",
	  .title = "AVG",
	  .kind = VALUE_TIME,
	  .get = get_rqs_mean,
	  .max = 7,
	  .min = 7,
	  .rank = 2,
	  .help = "mean time of these requests from submission to completion; for a server, from "
		  "sending to answer" },
	{ .name = "p99",
	  .title = "P99",
	  .kind = VALUE_TIME,
	  .get = get_rqs_p99,
	  .max = 7,
	  .min = 7,
	  .rank = 8,
	  .help = "99th percentile of the time of these requests" },
	{ .name = "queue",
	  .title = "QUEUE",
	  .kind = VALUE_TIME,
	  .get = get_queue,
	  .max = 7,
	  .min = 7,
	  .rank = 10,
	  .help = "mean time of these requests from submission to the driver; until they were "
		  "sent to a server, unknown for FUSE" },
	{ .name = "for",
	  .title = "FOR",
	  .kind = VALUE_BYTES,
	  .get = get_behalf_bytes,
	  .max = 8,
	  .rank = 11,
	  .optional = true,
	  .help = "bytes that kernel threads or others submitted on behalf of the row" },
	{},
};

/* The command line of a process, without the directory of its program. */
static void get_command(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;
	char *command = r->thread ? process_command(thread_id(r) >> 32) : NULL;

	(void)ctx;
	if (!command)
		return;
	snprintf(v->buf, sizeof(v->buf), "%s", process_command_short(command));
	v->text = v->buf;
	free(command);
}

static const struct column command = { .title = "COMMAND",
				       .kind = VALUE_TEXT,
				       .get = get_command,
				       .rank = 12,
				       .optional = true,
				       .cut = TEXT_CUT_MIDDLE };

static const struct column whole_disk = { .name = "disk",
					  .title = "DISK",
					  .kind = VALUE_TEXT,
					  .get = get_disk,
					  .max = 9,
					  .rank = 3,
					  .help = "disk with most of these bytes" };

static const struct disk_busy *disk_of(const struct top_row *r, const void *ctx)
{
	return r->disk ? snapshot_disk(table_of(ctx)->sn, r->disk) : NULL;
}

static void get_busy(struct value *v, const void *row, const void *ctx)
{
	const struct disk_busy *disk = disk_of(row, ctx);

	bool known = disk && disk->busy_ns != BUSY_UNKNOWN;

	v->n = known ? disk->busy_ns : 0;
	v->of = known ? table_of(ctx)->sn->disks_ns : 0;
}

static void get_depth(struct value *v, const void *row, const void *ctx)
{
	const struct disk_busy *disk = disk_of(row, ctx);

	v->n = disk ? disk->requests_ns : 0;
	v->of = disk ? table_of(ctx)->sn->disks_ns : 0;
}

const struct column top_caller_columns[] = {
	{ .name = "total",
	  .title = "TOTAL",
	  .kind = VALUE_TIME,
	  .get = get_ops_total,
	  .max = 7,
	  .min = 7,
	  .rank = 1,
	  .help = "time of these operations together" },
	{},
};

const struct column top_disk_columns[] = {
	{ .name = "busy",
	  .title = "BUSY",
	  .kind = VALUE_SHARE,
	  .get = get_busy,
	  .max = 5,
	  .min = 5,
	  .rank = 3,
	  .help = "time in which the disk had requests in progress, as the kernel counts it",
	  .null = "a recording, or the kernel does not tell" },
	{ .name = "depth",
	  .title = "DEPTH",
	  .kind = VALUE_MEAN,
	  .get = get_depth,
	  .max = 6,
	  .min = 5,
	  .rank = 4,
	  .help = "mean number of requests in progress, as the kernel counts it; in a recording, "
		  "of its requests",
	  .null = "the kernel does not tell" },
	{},
};

/* The columns of biotop(8), with its titles. */
static const struct column text[] = {
	{ .title = "D", .kind = VALUE_TEXT, .get = get_rq_op, .max = 2 },
	{ .title = "MAJ", .kind = VALUE_ID, .get = get_major, .help = "of the disk" },
	{ .title = "MIN", .kind = VALUE_ID, .get = get_minor, .help = "of the disk" },
	COLUMN_DISK,
	{ .name = "io", .title = "I/O", .kind = VALUE_ID, .get = get_rqs },
	{ .name = "bytes", .title = "Kbytes", .kind = VALUE_ID, .get = get_kbytes },
	{ .name = "avg", .title = "AVGms", .kind = VALUE_TIME, .get = get_rqs_mean },
	{ .title = "VIA",
	  .kind = VALUE_TEXT,
	  .get = get_on_behalf,
	  .max = 9,
	  .optional = true,
	  .help = "writeback or helper, if a kernel thread submitted them on behalf of the row's "
		  "owner" },
	{},
};

/* The columns of `top -b` for servers. */
static const struct column server_text[] = {
	{ .title = "REQUEST", .kind = VALUE_TEXT, .get = get_server_op, .max = 20 },
	{ .name = "io", .title = "I/O", .kind = VALUE_ID, .get = get_rqs },
	{ .name = "bytes", .title = "Kbytes", .kind = VALUE_ID, .get = get_kbytes },
	{ .name = "avg", .title = "AVGms", .kind = VALUE_TIME, .get = get_rqs_mean },
	{},
};

/* The first column of `top -b` for callers. */
static const struct column caller_text[] = {
	{ .title = "OPERATION", .kind = VALUE_TEXT, .get = get_op, .max = 9 },
	{},
};

/* Adds the columns of @list before the one called @end; NULL: all. */
static void add_until(struct top_columns *to, const struct column *list, const char *end)
{
	size_t n = 0;

	while (column_is(&to->list[n]))
		n++;
	for (; column_is(list) && n < TOP_COLUMNS_MAX - 1; list++) {
		if (end && list->name && !strcmp(list->name, end))
			break;
		to->list[n++] = *list;
	}
}

static void add(struct top_columns *to, const struct column *list)
{
	add_until(to, list, NULL);
}

enum { PID_WIDTH = 7 }; /* digits of the largest id of a process */

/* The name of a thread in text; without a thread, why there is none. */
static void get_comm_or_why(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	top_get_comm(v, row, ctx);
	if (v->text)
		return;
	v->text = (r->key.op & 0xff) == RQ_FLUSH && table_of(ctx)->split == TOP_REQUESTS
			  ? "(disk's cache)"
			  : "(not known)";
}

static void add_keys(struct top_columns *to, enum top_view view)
{
	struct column key[2] = {};

	for (int i = 0; i < 3 && of_view[view][i]; i++) {
		key[0] = *columns_find(keys, of_view[view][i]);
		key[0].optional = view == TOP_SERVER; /* NFS has no process and no mount */
		if (key[0].get == top_get_comm)
			key[0].get = get_comm_or_why;
		add(to, key);
	}
}

const char *top_sort_usual(enum top_view view)
{
	return top_view_callers(view) ? "total" : "bytes";
}

/* The figures of callers: those of operations. */
static void add_caller_figures(struct top_columns *to)
{
	add(to, top_caller_columns);
	add_until(to, top_figure_columns, "io");
}

struct top_columns top_columns_whole(enum top_view view)
{
	bool of_requests = view == TOP_DISK || view == TOP_SERVER;
	struct top_columns c = {};

	add_keys(&c, view);
	if (top_view_callers(view)) {
		add_caller_figures(&c);
		return c;
	}
	/* columns stay where they are from interval to interval */
	for (struct column *k = c.list; column_is(k) && view <= TOP_COMM; k++)
		k->min = k->kind == VALUE_ID ? PID_WIDTH : COMM_LEN - 1;
	/* the disk of an operation is not known */
	add(&c, of_requests ? columns_find(top_figure_columns, "io") : top_figure_columns);
	if (view == TOP_DISK)
		add(&c, top_disk_columns);
	if (!of_requests)
		add(&c, (const struct column[]){ whole_disk, {} });
	if (view <= TOP_THREAD)
		add(&c, (const struct column[]){ command, {} });
	return c;
}

struct top_columns top_columns_text(enum top_view view, const char *sort)
{
	const struct column *more = columns_find(columns_find(top_figure_columns, "io"), sort);
	struct top_columns c = {};

	if (view != TOP_DISK)
		add_keys(&c, view);
	if (top_view_callers(view)) {
		add(&c, caller_text);
		add_caller_figures(&c);
		return c;
	}
	add(&c, view == TOP_SERVER ? server_text : text);
	if (more && !columns_find(c.list, more->name))
		add(&c, (const struct column[]){ *more, {} });
	return c;
}

const struct column top_json_requests[] = {
	TOP_WHO_COLUMNS(container),
	{ .name = "key",
	  .kind = VALUE_TEXT,
	  .get = top_get_key,
	  .help = "value of the key of --by, as text",
	  .null = "nobody, or no file" },
	{ .name = "dev",
	  .kind = VALUE_TEXT,
	  .get = get_dev,
	  .help = "device number of the disk, \"major:minor\"",
	  .json.pattern = PATTERN_DEVICE },
	{ .name = "major", .kind = VALUE_ID, .get = get_major, .help = "major device number" },
	{ .name = "minor", .kind = VALUE_ID, .get = get_minor, .help = "minor device number" },
	COLUMN_DISK,
	{ .name = "op",
	  .kind = VALUE_TEXT,
	  .get = get_rq_op,
	  .help = "operation, as in blkparse: R, W, F (flush), D (discard) and others",
	  .json.words = &rq_words },
	{ .name = "on_behalf",
	  .kind = VALUE_TEXT,
	  .get = get_on_behalf,
	  .help = "why the requests count for the key, which did not submit them: writeback "
		  "(the key made the data dirty) or helper (the key woke the submitter)",
	  .null = "the key submitted them",
	  .json.words = &behalf_words },
	COLUMNS_SUMS(rqs),
	{ .name = "total_ns",
	  .kind = VALUE_TIME,
	  AT(rqs.total_ns),
	  .help = "time from submission to completion: sum of tag_ns, queue_ns and device_ns" },
	{ .name = "tag_ns",
	  .kind = VALUE_TIME,
	  AT(tag_ns),
	  .help = "time until the request was allocated" },
	{ .name = "queue_ns",
	  .kind = VALUE_TIME,
	  AT(queue_ns),
	  .help = "time from the allocation of the request to the driver" },
	{ .name = "device_ns",
	  .kind = VALUE_TIME,
	  AT(device_ns),
	  .help = "time from the driver to the completion" },
	COLUMNS_SLOWEST(rqs, get_rqs_p99),
	{},
};

const struct column top_json_ops[] = {
	TOP_WHO_COLUMNS(container),
	{ .name = "key",
	  .kind = VALUE_TEXT,
	  .get = top_get_key,
	  .help = "value of the key of --by, as text",
	  .null = "nobody, or no file" },
	{ .name = "op",
	  .kind = VALUE_TEXT,
	  .get = get_op,
	  .help = "kind of the operation; copy_to, by file: copies that wrote to it, whose times "
		  "are "
		  "with what they read",
	  .json.words = &row_words },
	COLUMNS_SUMS(ops),
	{ .name = "total_ns",
	  .kind = VALUE_TIME,
	  AT(ops.total_ns),
	  .help = "time of all operations together" },
	COLUMNS_SLOWEST(ops, get_ops_p99),
	{},
};
