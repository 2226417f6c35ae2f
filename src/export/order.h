/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * order.h - the records of a recording in the order that traces want: operations as they ended, and
 * the beginnings, dispatches and ends of requests as they happened.
 *
 * A recording is only about in order, by CPU. It is read twice: first to learn how early what comes
 * later began. So only what overlaps is held in memory, however long the recording is.
 */
#ifndef IOSTRATA_ORDER_H
#define IOSTRATA_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/recording.h"

struct reason;

enum request_step { REQUEST_BEGINS, REQUEST_ISSUED, REQUEST_ENDS };

struct request_event {
	uint64_t at_ns;
	uint64_t number;		/* of the request, the same in all its steps */
	enum request_step step;
	struct cap_request rq;
};

/* To whom they are delivered. Each returns 0, or -1 with @why: then no more comes. */
struct order_target {
	int (*op)(void *arg, const struct recording *rec, const struct cap_op *op,
		  struct reason *why);
	int (*request)(void *arg, const struct recording *rec, const struct request_event *ev,
		       struct reason *why);
	int (*loss)(void *arg, const struct cap_loss *loss, struct reason *why);
	void *arg;
};

/* What is known of a recording before the first record is delivered. */
struct order_span {
	uint64_t first_ns, last_ns;	/* earliest beginning, latest end; CLOCK_MONOTONIC */
};

/* The latest times that are safe, by chunk of a kind. */
struct order_marks {
	uint64_t *after;		/* nothing that comes after chunk i began before */
	size_t n, cap;
};

struct order {
	struct order_span span;
	/* its own */
	struct order_marks ops, requests;
	bool cut_off;			/* the recording is damaged behind so many chunks */
};

/* Reads all of @f once, which can be read again from its beginning. 0, or -1 with @why: nothing of
 * it makes sense. A recording that is cut off is in order up to there. */
int order_learn(struct order *o, FILE *f, const char *name, struct reason *why);

/* Reads it again and delivers. 0; 1 with @why: it is cut off, all before was delivered; -1 with
 * @why. */
int order_deliver(const struct order *o, struct recording *rec, const struct order_target *to,
		  struct reason *why);

void order_done(struct order *o);

#endif
