// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/submissions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

/* A finished request, or a wait in its submission, that waits for its stack. */
struct waiting_request {
	struct waiting_request *next;
	struct sent_stack *s; /* only SUBMITTED_BYTES of it */
};

struct submission_key {
	unsigned int tid, number;
};

struct submission {
	struct submission_key key;
	struct sent_stack *stack; /* up to its last frame; NULL: it has not come */
	unsigned int left;        /* requests that have not come, if @stack */
	struct waiting_request *waiting;
	UT_hash_handle hh;
};

enum { SUBMITTED_BYTES = offsetof(struct sent_stack, frames) };

/* The first @len bytes of a stack. Returns NULL if out of memory. */
static struct sent_stack *copy_of(const struct sent_stack *s, size_t len)
{
	struct sent_stack *copy = malloc(len);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}

/* Whether @s is a request. A wait in a submission comes before its request, as part of it. */
static bool is_request(const struct sent_stack *s)
{
	return s->kind != OP_SUBMIT;
}

/* Hands out the request with the stack of its submission; NULL: with reason @end. */
static void hand_out(struct submissions *m, const struct sent_stack *request,
		     const struct sent_stack *stack, enum stack_end end)
{
	struct sent_stack s;

	memcpy(&s, request, SUBMITTED_BYTES);
	s.what = SENT_STACK;
	s.end = end;
	s.n = 0;
	s.by_frame_pointers = 0;
	if (stack) {
		s.end = stack->end;
		s.by_frame_pointers = stack->by_frame_pointers;
		s.process_start = stack->process_start;
		s.n = stack->n;
		memcpy(s.frames, stack->frames, stack->n * sizeof(*s.frames));
	}
	m->fn(m->arg, &s);
}

/* Hands out all requests that wait in @one. */
static void waiting_end(struct submissions *m, struct submission *one)
{
	struct waiting_request *w;

	while ((w = one->waiting)) {
		one->waiting = w->next;
		m->waiting--;
		hand_out(m, w->s, one->stack, STACK_NO_SUBMISSION);
		free(w->s);
		free(w);
	}
}

static void submission_end(struct submissions *m, struct submission *one)
{
	waiting_end(m, one);
	HASH_DEL(m->list, one);
	m->n--;
	free(one->stack);
	free(one);
}

static struct submission *submission_find(const struct submissions *m, const struct sent_stack *s)
{
	struct submission_key key = { s->who.tid, s->submission };
	struct submission *one;

	HASH_FIND(hh, m->list, &key, sizeof(key), one);
	return one;
}

/* Returns NULL if out of memory. The oldest one gives up its place. */
static struct submission *submission_new(struct submissions *m, const struct sent_stack *s)
{
	struct submission *one;

	if (m->n == SUBMISSIONS_MOST)
		submission_end(m, m->list);
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->key = (struct submission_key){ s->who.tid, s->submission };
	HASH_ADD(hh, m->list, key, sizeof(one->key), one);
	m->n++;
	return one;
}

/* Keeps a copy of the request. Returns false if there is no room. */
static bool waiting_add(struct submissions *m, struct submission *one, const struct sent_stack *s)
{
	struct waiting_request *w = NULL;

	if (one && m->waiting < SUBMITTED_WAITING_MOST)
		w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	w->s = copy_of(s, SUBMITTED_BYTES);
	if (!w->s) {
		free(w);
		return false;
	}
	w->next = one->waiting;
	one->waiting = w;
	m->waiting++;
	return true;
}

/* The thread with this number may be another one by now: a request is submitted before its call
 * ends. */
static bool is_former(const struct submission *one, const struct sent_stack *request)
{
	return one->stack && request->start_ns > one->stack->start_ns + one->stack->total_ns;
}

void submissions_request(struct submissions *m, const struct sent_stack *s)
{
	struct submission *one;

	if (!s->submission) {
		hand_out(m, s, NULL, s->end);
		return;
	}
	one = submission_find(m, s);
	if (one && is_former(one, s)) {
		submission_end(m, one);
		one = NULL;
	}
	if (one && one->stack) {
		hand_out(m, s, one->stack, STACK_WHOLE);
		if (is_request(s) && !--one->left)
			submission_end(m, one);
		return;
	}
	if (!one)
		one = submission_new(m, s);
	if (!waiting_add(m, one, s))
		hand_out(m, s, NULL, STACK_NO_SUBMISSION);
}

void submissions_stack(struct submissions *m, const struct sent_stack *s)
{
	struct submission *one = submission_find(m, s);
	unsigned int waited = 0;

	if (s->n > STACK_FRAMES)
		return;
	if (one && one->stack) {
		submission_end(m, one);
		one = NULL;
	}
	if (!one)
		one = submission_new(m, s);
	if (!one)
		return;
	one->stack = copy_of(s, SUBMITTED_BYTES + s->n * sizeof(*s->frames));
	for (const struct waiting_request *w = one->waiting; w; w = w->next)
		waited += is_request(w->s);
	waiting_end(m, one);
	if (!one->stack || s->submitted <= waited)
		submission_end(m, one);
	else
		one->left = s->submitted - waited;
}

void submissions_flush(struct submissions *m)
{
	struct submission *one, *next;

	HASH_ITER (hh, m->list, one, next)
		if (!one->stack)
			submission_end(m, one);
}

void submissions_done(struct submissions *m)
{
	struct submission *one, *next;
	struct waiting_request *w;

	HASH_ITER (hh, m->list, one, next) {
		HASH_DEL(m->list, one);
		while ((w = one->waiting)) {
			one->waiting = w->next;
			free(w->s);
			free(w);
		}
		free(one->stack);
		free(one);
	}
	*m = (struct submissions){};
}
