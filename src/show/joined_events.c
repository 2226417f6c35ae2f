// SPDX-License-Identifier: GPL-2.0-only
#include "show/joined_events.h"

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"
#include "base/names.h"
#include "show/breakdown_members.h"

static void stratum_value(struct value *v, const struct joined *r, enum stratum st)
{
	v->n = r->strata[st];
	v->unknown = !v->n && r->missing >> st & 1;
}

/* The columns; they are only appended. A row has its name, its kind, how its value @v is set from
 * @r, the help, and further members of the column. Those of the strata come after them. */
/* clang-format off */
#define JOINED_COLUMNS(COLUMN)                                                                     \
	COLUMN(client, TEXT, v->text = r->client, "host of the client", NOT_KNOWN)                 \
	COLUMN(server, TEXT, v->text = r->server, "address to which the request was sent",         \
	       NOT_KNOWN)                                                                          \
	COLUMN(served_by, TEXT, v->text = r->served_by, "host of the server", NOT_KNOWN)           \
	COLUMN(op, TEXT, v->text = r->op, "kind of the request, as NFS calls it", NOT_KNOWN)       \
	COLUMN(xid, ID, v->n = r->xid, "number of the request, the same on both hosts")            \
	COLUMN(start_ns, TIME, v->n = r->start_ns,                                                 \
	       "beginning of the request, by CLOCK_MONOTONIC of the client")                       \
	COLUMN(served_from_ns, TIME, v->n = r->served_from_ns,                                     \
	       "beginning of the server's operation, by CLOCK_MONOTONIC of the server: its "       \
	       "start_ns in the list of operations")                                               \
	COLUMN(total_ns, TIME, v->n = r->total_ns,                                                 \
	       "time of the request at the client, to the answer")                                 \
	COLUMN(tag_ns, TIME, v->n = r->tag_ns, "part of total_ns until a slot was free")           \
	COLUMN(queue_ns, TIME, v->n = r->queue_ns,                                                 \
	       "part of total_ns from the slot until the request was sent")                        \
	COLUMN(network_ns, TIME, v->n = r->network_ns,                                             \
	       "part of total_ns from the sending to the answer, without served_ns: the network, " \
	       "and queues of both hosts' network stacks and of nfsd")                             \
	COLUMN(served_ns, TIME, v->n = r->served_ns, "part of total_ns in the server's operation")
/* clang-format on */

#define NOT_KNOWN .null = "not known"

#define COLUMN_GETTER(name, kind, set, ...) GETTER(get_##name, joined, set)
#define STRATUM_GETTER(id, name, ...)                                                              \
	GETTER(get_served_##name##_ns, joined, stratum_value(v, r, ST_##id))

JOINED_COLUMNS(COLUMN_GETTER)
STRATUM_LIST(STRATUM_GETTER)

#define COLUMN_ROW(name_, kind_, set, help_, ...)                                                  \
	{ .name = #name_,                                                                          \
	  .title = #name_,                                                                         \
	  .kind = VALUE_##kind_,                                                                   \
	  .get = get_##name_,                                                                      \
	  .help = help_,                                                                           \
	  __VA_ARGS__ },
#define STRATUM_ROW(id, name, ...)                                                                 \
	COLUMN_ROW(served_##name##_ns, TIME, , "part of served_ns in the stratum " #name,          \
		   .null = "not measured on the server")

const struct column joined_event_columns[] = { JOINED_COLUMNS(COLUMN_ROW)
						       STRATUM_LIST(STRATUM_ROW){} };

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
