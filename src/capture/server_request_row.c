// SPDX-License-Identifier: GPL-2.0-only
#include "capture/server_request_row.h"

#include <stddef.h>

#include "base/protocols.h"

void server_request_row_fill(struct server_request_row *ret, const struct recording *rec,
			     const struct stored_server_request *rq)
{
	*ret = (struct server_request_row){
		.rec = rec,
		.protocol = protocol_at(SERVER_NFS)->name, /* no others are recorded */
		.server = catalog_server_text(&rec->catalog, rq->server),
		.op = catalog_server_text(&rec->catalog, rq->op),
		.start_ns = rq->q_ns,
		.total_ns = stored_server_request_end(rq) - rq->q_ns,
		.tag_ns = rq->tag_ns,
		.queue_ns = rq->queue_ns,
		.server_ns = rq->server_ns,
		.xid = rq->xid - 1,
		.has_xid = rq->xid,
	};
}

#define GETTER(name, ...)                                                                          \
	static void get_##name(struct value *v, const void *row, const void *ctx)                  \
	{                                                                                          \
		const struct server_request_row *s = row;                                          \
                                                                                                   \
		(void)ctx;                                                                         \
		__VA_ARGS__;                                                                       \
	}

GETTER(protocol, v->text = s->protocol)
GETTER(server, v->text = s->server[0] ? s->server : NULL)
GETTER(op, v->text = s->op[0] ? s->op : NULL)
GETTER(xid, v->n = s->xid; v->unknown = !s->has_xid)

#define NUMBER(col, which, text)                                                                   \
	{                                                                                          \
		.name = #col, .title = #col, .kind = which,                                        \
		.at = offsetof(struct server_request_row, col), .help = text                       \
	}
#define COLUMN(col, which, text)                                                                   \
	{                                                                                          \
		.name = #col, .title = #col, .kind = which, .get = get_##col, .help = text         \
	}

const struct column server_request_columns[] = {
	NUMBER(start_ns, VALUE_TIME, "beginning of the request, by CLOCK_MONOTONIC"),
	NUMBER(total_ns, VALUE_TIME, "time from the beginning to the answer"),
	COLUMN(protocol, VALUE_TEXT, "protocol of the request; only those of nfs are recorded"),
	COLUMN(server, VALUE_TEXT, "address to which the request was sent"),
	COLUMN(op, VALUE_TEXT, "kind of the request, as the protocol calls it"),
	NUMBER(tag_ns, VALUE_TIME, "time until a slot was free"),
	NUMBER(queue_ns, VALUE_TIME, "time from the slot until the request was sent"),
	NUMBER(server_ns, VALUE_TIME, "time from the sending to the answer"),
	COLUMN(xid, VALUE_ID, "number of the request, the same on both hosts; null: not known"),
	{},
};
