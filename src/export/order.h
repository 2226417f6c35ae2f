/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * order.h - sorts a recording by time: calls by their end; overlapping requests, of disks, io_uring
 * and libaio, by their steps (begin, dispatch, end).
 *
 * A recording is nearly sorted, per CPU. It is read twice: the first pass learns, for each chunk,
 * the earliest time in all chunks behind it. The second holds only overlapping records, so memory
 * does not grow with the recording.
 */
#ifndef IOSTRATA_EXPORT_ORDER_H
#define IOSTRATA_EXPORT_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/recording.h"

struct reason;

enum step { STEP_BEGIN, STEP_ISSUED, STEP_END };

/* A step of a request to a disk or a server, or of an operation with order_has_steps(). */
struct step_event {
	uint64_t at_ns;
	uint64_t number; /* the same in all steps of a request or operation */
	enum step step;
	enum chunk_kind kind;    /* selects one of the members below, CHUNK_OPS ... */
	const uint8_t *segments; /* of an operation, op.segments bytes; hostile */
	union {
		struct stored_request rq;
		struct stored_op op;
		struct stored_server_request server_rq;
	};
};

/* Whether an operation is delivered in steps, begin and end: a request of io_uring or libaio that
 * moves or syncs data. */
bool order_has_steps(const struct stored_op *op);

/* Callbacks, called in order of time. Each returns 0, or -1 with @why: this ends the delivery.
 * Events of .op are of kind CHUNK_OPS, also calls of kind OP_HANDLE. */
struct order_target {
	int (*op)(void *arg, const struct recording *rec, const struct stored_event *ev,
		  struct reason *why);
	int (*step)(void *arg, const struct recording *rec, const struct step_event *ev,
		    struct reason *why);
	int (*loss)(void *arg, const struct stored_loss *loss, struct reason *why);
	void *arg;
	bool server_requests; /* steps of requests to servers are wanted, too */
};

/* Known before the first record is delivered. */
struct order_span {
	uint64_t first_ns, last_ns; /* earliest beginning, latest end; CLOCK_MONOTONIC */
};

/* For each chunk of a kind: the time before which its records can be delivered. */
struct order_bounds {
	uint64_t *after; /* no record after chunk i began earlier */
	size_t n, cap;
};

struct order {
	struct order_span span;
	/* private */
	struct order_bounds ops, asyncs; /* of the same chunks */
	struct order_bounds requests, server_requests;
	bool cut_off; /* the recording is damaged behind these chunks */
};

/* The first pass over @f. It must be seekable. Returns 0, or -1 with @why if nothing is readable. A
 * truncated recording is used up to the damage. */
int order_learn(struct order *o, FILE *f, const char *name, struct reason *why);

/* The second pass. 0; 1 with @why: truncated, but all before the damage was delivered; -1 with
 * @why. */
int order_deliver(const struct order *o, struct recording *rec, const struct order_target *to,
		  struct reason *why);

void order_done(struct order *o);

#endif
