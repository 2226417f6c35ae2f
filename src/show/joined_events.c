// SPDX-License-Identifier: GPL-2.0-only
#include "show/joined_events.h"

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"
#include "base/names.h"
#include "show/breakdown_members.h"

static void get_client(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct joined *)row)->client;
}

static void get_served_by(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct joined *)row)->served_by;
}

static void get_server(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct joined *)row)->server;
}

static void get_op(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct joined *)row)->op;
}

static void get_stratum(struct value *ret, const struct joined *one, enum stratum st)
{
	ret->n = one->strata[st];
	ret->unknown = !ret->n && one->missing >> st & 1;
}

#define STRATUM(name, st)                                                                          \
	static void get_in_##name(struct value *ret, const void *row, const void *ctx)             \
	{                                                                                          \
		(void)ctx;                                                                         \
		get_stratum(ret, row, st);                                                         \
	}

STRATUM(syscall, ST_SYSCALL)
STRATUM(vfs, ST_VFS)
STRATUM(fs, ST_FS)
STRATUM(throttle, ST_THROTTLE)
STRATUM(tag, ST_TAG)
STRATUM(queue, ST_QUEUE)
STRATUM(device, ST_DEVICE)
STRATUM(complete, ST_COMPLETE)
STRATUM(runq, ST_RUNQ)
STRATUM(preempt, ST_PREEMPT)
STRATUM(helper, ST_HELPER)
STRATUM(sleep, ST_SLEEP)
STRATUM(lock, ST_LOCK)
STRATUM(server, ST_SERVER)
STRATUM(reap, ST_REAP)

_Static_assert(ST_REAP == ST_N - 1, "each stratum has a column");

#define TEXT_COLUMN(col, text)                                                                     \
	{                                                                                          \
		.name = #col, .title = #col, .kind = VALUE_TEXT, .get = get_##col, .help = text,   \
		.null = "not known"                                                                \
	}
#define COLUMN(col, which, text)                                                                   \
	{                                                                                          \
		.name = #col, .title = #col, .kind = which, .at = offsetof(struct joined, col),    \
		.help = text                                                                       \
	}
#define STRATUM_COLUMN(st)                                                                         \
	{                                                                                          \
		.name = "served_" #st "_ns", .title = "served_" #st "_ns", .kind = VALUE_TIME,     \
		.get = get_in_##st, .help = "part of served_ns in the stratum " #st,               \
		.null = "not measured on the server"                                               \
	}

const struct column joined_event_columns[] = {
	TEXT_COLUMN(client, "host of the client"),
	TEXT_COLUMN(server, "address to which the request was sent"),
	TEXT_COLUMN(served_by, "host of the server"),
	TEXT_COLUMN(op, "kind of the request, as NFS calls it"),
	COLUMN(xid, VALUE_ID, "number of the request, the same on both hosts"),
	COLUMN(start_ns, VALUE_TIME, "beginning of the request, by CLOCK_MONOTONIC of the client"),
	COLUMN(served_from_ns, VALUE_TIME,
	       "beginning of the server's operation, by CLOCK_MONOTONIC of the server: its "
	       "start_ns in the list of operations"),
	COLUMN(total_ns, VALUE_TIME, "time of the request at the client, to the answer"),
	COLUMN(tag_ns, VALUE_TIME, "part of total_ns until a slot was free"),
	COLUMN(queue_ns, VALUE_TIME, "part of total_ns from the slot until the request was sent"),
	COLUMN(network_ns, VALUE_TIME,
	       "part of total_ns from the sending to the answer, without served_ns: the network, "
	       "and queues of both hosts' network stacks and of nfsd"),
	COLUMN(served_ns, VALUE_TIME, "part of total_ns in the server's operation"),
	STRATUM_COLUMN(syscall),
	STRATUM_COLUMN(vfs),
	STRATUM_COLUMN(fs),
	STRATUM_COLUMN(throttle),
	STRATUM_COLUMN(tag),
	STRATUM_COLUMN(queue),
	STRATUM_COLUMN(device),
	STRATUM_COLUMN(complete),
	STRATUM_COLUMN(runq),
	STRATUM_COLUMN(preempt),
	STRATUM_COLUMN(helper),
	STRATUM_COLUMN(sleep),
	STRATUM_COLUMN(lock),
	STRATUM_COLUMN(server),
	STRATUM_COLUMN(reap),
	{}
};

static const struct columns columns = { .list = joined_event_columns };

/* Text: one line; the last column can have any length. */

static void text_head(struct text_out *o)
{
	text_put(o, "%15s %9s %9s %9s %9s %9s  %-17s %-15s %s\n", "TIME", "TOOK", "TAG", "QUEUE",
		 "NETWORK", "SERVED", "MOST OF SERVED", "REQUEST", "SERVER");
}

static enum stratum most_of(const struct joined *one)
{
	int most = 0;

	for (int i = 1; i < ST_N; i++)
		most = one->strata[i] > one->strata[most] ? i : most;
	return most;
}

static void text_row(struct text_out *o, const struct joined *one)
{
	char op[TEXT_SAFE_CAP(SERVER_OP_LEN)], server[TEXT_SAFE_CAP(SERVER_LEN)];
	enum stratum most = most_of(one);
	int64_t since = one->since_ns; /* the request may have begun before its recording */
	uint64_t ns = since < 0 ? -(uint64_t)since : (uint64_t)since;
	char share[64], when[32];

	text_safe(op, sizeof(op), *one->op ? one->op : "-");
	text_safe(server, sizeof(server), *one->server ? one->server : "-");
	snprintf(share, sizeof(share), "%s %s", text_ns(one->strata[most]).s, stratum_name(most));
	snprintf(when, sizeof(when), "%s%llu.%09llu", since < 0 ? "-" : "",
		 (unsigned long long)ns / 1000000000, (unsigned long long)ns % 1000000000);
	text_put(o, "%15s %9s %9s %9s %9s %9s  %-17s ", when, text_ns(one->total_ns).s,
		 text_ns(one->tag_ns).s, text_ns(one->queue_ns).s, text_ns(one->network_ns).s,
		 text_ns(one->served_ns).s, share);
	text_put(o, "%s", op);
	text_fill(o, ' ', 16 - text_width(op));
	text_put(o, "%s\n", server);
}

void joined_events_head(struct text_out *o, enum events_format format)
{
	struct json j = { .out = *o };

	if (format == EVENTS_TEXT) {
		text_head(o);
		return;
	}
	if (format == EVENTS_CSV) {
		columns_csv_titles(o, &columns);
		return;
	}
	json_put_begin(&j, NULL, '{');
	json_put_string(&j, "schema", joined_schema.id);
	json_put_end(&j, '}');
	text_put(&j.out, "\n");
	*o = j.out;
}

void joined_events_put(struct text_out *o, enum events_format format, const struct joined *one)
{
	struct json j = { .out = *o };

	if (format == EVENTS_TEXT) {
		text_row(o, one);
		return;
	}
	if (format == EVENTS_CSV) {
		columns_csv(o, &columns, one);
		return;
	}
	json_put_begin(&j, NULL, '{');
	columns_json(&j, &columns, one);
	json_put_end(&j, '}');
	text_put(&j.out, "\n");
	*o = j.out;
}
