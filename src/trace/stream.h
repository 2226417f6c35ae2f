/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stream.h - receives the finished operations and requests sent by the programs (struct sent_... in
 * event.h). They arrive through a ring for each group of CPUs, a lane for each CPU, and a ring for
 * the names of files.
 *
 * Owns the rings and the mapped lanes. Does not interpret the records.
 */
#ifndef IOSTRATA_TRACE_STREAM_H
#define IOSTRATA_TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/conf.h"

struct bpf_map;
struct reason;
struct ring_buffer;
struct session_conf;
struct trace_bpf;

/* Receives one record, or several struct sent_op in a row. */
typedef void stream_fn(void *arg, const void *data, size_t len);

struct stream_target {
	stream_fn *record, *name; /* NULL: nobody listens yet */
	void *arg;
	unsigned int left; /* records to deliver at most in this call of stream_consume() */
};

struct stream {
	struct ring_buffer *rings[MAX_RINGS], *names;
	int fds[MAX_RINGS];
	unsigned int n;
	struct lane *lanes;       /* of the programs */
	struct sent_op *lane_ops; /* mapped, lane_ops_len bytes; NULL: there are no lanes */
	size_t lane_ops_len;
	unsigned int lanes_n, lane_size; /* lane_size: records */
	struct stream_target *target;
};

/* Makes the rings of the loaded @obj, @bytes in total (at least a page each), and maps its lanes.
 * Returns 0, or -1 with @why; call stream_close() in either case. @target outlives the stream. */
int stream_open(struct stream *s, const struct trace_bpf *obj, const struct bpf_conf *c,
		size_t bytes, struct stream_target *target, struct reason *why);
void stream_close(struct stream *s); /* fine if @s is all 0 */

/* Sets the sizes of rings and lanes in @c, whose number of CPUs is set. @lanes: there may be lanes.
 * Call it before the object is loaded. */
void stream_conf(const struct session_conf *sc, bool lanes, struct bpf_conf *c);

/* Delivers waiting records, up to a limit, so that the call ends even if records keep coming.
 * Returns whether there may be more. */
int stream_consume(struct stream *s);

/* Delivers the names of files sent up to now. */
void stream_names(struct stream *s);

/* Lets the programs of @obj send the names of all files again. */
void stream_names_again(const struct trace_bpf *obj);

/* Adds the rings to @epoll, which becomes readable when one fills up. Returns 0 or -errno. */
int stream_watch(const struct stream *s, int epoll);

#endif
