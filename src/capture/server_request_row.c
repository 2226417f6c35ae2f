// SPDX-License-Identifier: GPL-2.0-only
#include "capture/server_request_row.h"

#include "base/protocols.h"
#include "capture/header.h"

void server_request_row_fill(struct server_request_row *ret, const struct recording *rec,
			     const struct stored_server_request *rq)
{
	unsigned int protocol = rq->protocol < SERVER_PROTOCOLS ? rq->protocol : SERVER_PROTOCOLS;
	const struct header_mount *mount =
		rq->dev ? header_mount(&rec->header, (unsigned int)rq->dev) : NULL;

	*ret = (struct server_request_row){
		.rec = rec,
		.protocol = protocol_at(protocol)->name,
		.mount = mount ? mount->point : NULL,
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

/* The columns; they are only appended. A row has its name, its kind, how its value @v is set from
 * @r, and the help. */
/* clang-format off */
#define SERVER_REQUEST_COLUMNS(COLUMN)                                                             \
	COLUMN(start_ns, TIME, v->n = r->start_ns,                                                 \
	       "beginning of the request, by CLOCK_MONOTONIC")                                     \
	COLUMN(total_ns, TIME, v->n = r->total_ns, "time from the beginning to the answer")        \
	COLUMN(protocol, TEXT, v->text = r->protocol,                                              \
	       "protocol of the request")                                                          \
	COLUMN(server, TEXT, v->text = r->server[0] ? r->server : NULL,                            \
	       "address of an NFS server; name of an SMB server or a FUSE daemon; virtiofs; of "   \
	       "9p the mount's source")                                                            \
	COLUMN(op, TEXT, v->text = r->op[0] ? r->op : NULL,                                        \
	       "kind of the request, as the protocol calls it")                                    \
	COLUMN(tag_ns, TIME, v->n = r->tag_ns, "of NFS: time until a slot was free")               \
	COLUMN(queue_ns, TIME, v->n = r->queue_ns,                                                 \
	       "of NFS: time from the slot until the request was sent")                            \
	COLUMN(server_ns, TIME, v->n = r->server_ns, "time from the sending to the answer")        \
	COLUMN(xid, ID, value_number(v, r->xid, r->has_xid),                                       \
	       "number of the request, the same on both hosts; null: not known")                   \
	COLUMN(mount, TEXT, v->text = r->mount, "of FUSE: where its file system was mounted")
/* clang-format on */

#define COLUMN_GETTER(name, kind, set, help) GETTER(get_##name, server_request_row, set)
#define COLUMN_ROW(name_, kind_, set, help_)                                                       \
	{ .name = #name_,                                                                          \
	  .title = #name_,                                                                         \
	  .kind = VALUE_##kind_,                                                                   \
	  .get = get_##name_,                                                                      \
	  .help = help_ },

SERVER_REQUEST_COLUMNS(COLUMN_GETTER)

const struct column server_request_columns[] = { SERVER_REQUEST_COLUMNS(COLUMN_ROW){} };
