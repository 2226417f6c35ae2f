/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server_request_row.h - a recorded request to a server with its names, and the table of its
 * columns. Parquet, and the arguments in traces, are written from this one table.
 */
#ifndef IOSTRATA_CAPTURE_SERVER_REQUEST_ROW_H
#define IOSTRATA_CAPTURE_SERVER_REQUEST_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/columns.h"
#include "capture/recording.h"

/* Text is hostile, and valid until the next record is read. */
struct server_request_row {
	const struct recording *rec;
	const char *protocol, *server, *op, *mount;
	uint64_t start_ns, total_ns;
	uint64_t tag_ns, queue_ns, server_ns;
	uint64_t xid;
	bool has_xid;
};

/* Looks up the names of @rq, a request of @rec. */
void server_request_row_fill(struct server_request_row *ret, const struct recording *rec,
			     const struct stored_server_request *rq);

/* The columns of a struct server_request_row. */
extern const struct column server_request_columns[];

#endif
