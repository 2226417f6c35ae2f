/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * submissions.h - brings finished requests of io_uring and libaio together with the stack of the
 * call that submitted them. Either may come first.
 */
#ifndef IOSTRATA_STACKS_SUBMISSIONS_H
#define IOSTRATA_STACKS_SUBMISSIONS_H

#include <stddef.h>

#include "event.h"

enum {
	SUBMISSIONS_MOST = 1 << 14,       /* calls whose stack is kept: some 6 MB */
	SUBMITTED_WAITING_MOST = 1 << 14, /* requests that wait for their stack: 4 MB */
};

struct submission;

/* Receives a request with its stack, as SENT_STACK. */
typedef void submitted_fn(void *arg, const struct sent_stack *s);

struct submissions {
	struct submission *list; /* the oldest first */
	size_t n, waiting;
	submitted_fn *fn;
	void *arg;
};

/* A request is done. @s: as sent, without frames. */
void submissions_request(struct submissions *m, const struct sent_stack *s);

/* The stack of a call that submitted requests has come, with an operation or alone. */
void submissions_stack(struct submissions *m, const struct sent_stack *s);

/* Hands out the requests that still wait for their stack: as without one. */
void submissions_flush(struct submissions *m);

void submissions_done(struct submissions *m);

#endif
