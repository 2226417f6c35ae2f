/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stream.h - the rings in which the programs send finished operations and requests (struct sent_...
 * in event.h): one for each group of CPUs, a lane for each CPU, and one for the names of files.
 *
 * Owns the rings. Does not know what is in the records.
 */
#ifndef IOSTRATA_STREAM_H
#define IOSTRATA_STREAM_H

#include <stddef.h>

#include "bpf/conf.h"

struct bpf_map;
struct reason;
struct ring_buffer;
struct session_conf;
struct trace_bpf;

/* A record, or several of struct sent_op, one behind the other. */
typedef void stream_fn(void *arg, const void *data, size_t len);

struct stream_target {
	stream_fn *record, *name; /* NULL: nobody listens yet */
	void *arg;
	unsigned int left; /* records that may still be delivered in this call */
};

struct stream {
	struct ring_buffer *rings[MAX_RINGS], *names;
	int fds[MAX_RINGS];
	unsigned int n;
	struct lane *lanes;       /* the programs' */
	struct sent_op *lane_ops; /* mapped, lane_ops_len bytes; NULL: there are no lanes */
	size_t lane_ops_len;
	unsigned int lane_size; /* records */
	struct stream_target *target;
};

/* Makes the rings of @obj, which is loaded, of @bytes in total (at least a page each). 0, or -1
 * with @why; call stream_close() in either case. @target outlives the stream. */
int stream_open(struct stream *s, const struct trace_bpf *obj, const struct bpf_conf *c,
		size_t bytes, struct stream_target *target, struct reason *why);
void stream_close(struct stream *s); /* fine if @s is all 0 */

/* The programs' configuration; for use before the object is loaded. */
void stream_conf(const struct session_conf *sc, struct bpf_conf *c);

/* Delivers what is there, up to a limit, so that it ends even if records keep coming. True if there
 * may be more. */
int stream_consume(struct stream *s);

/* Delivers the names sent up to now. */
void stream_names(struct stream *s);

/* Adds to @epoll a descriptor that becomes readable when a ring fills up. 0 or -errno. */
int stream_watch(const struct stream *s, int epoll);

#endif
