// SPDX-License-Identifier: GPL-2.0-only
#include "export/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "base/list.h"
#include "base/reason.h"
#include "capture/segments.h"

bool order_has_steps(const struct stored_op *op)
{
	unsigned int acts = async_acts(op->kind, op->call);

	return async_is_request(op->kind, op->call) && op->file &&
	       (acts == OP_READ || acts == OP_WRITE || acts == OP_FSYNC || acts == OP_COPY);
}

/* Starts the next chunk. Returns 0 or -ENOMEM. */
static int bound_add(struct order_bounds *m)
{
	if (list_reserve((void **)&m->after, &m->cap, m->n, sizeof(*m->after)))
		return -ENOMEM;
	m->after[m->n++] = UINT64_MAX;
	return 0;
}

static bool is_of_ops(unsigned int kind)
{
	return kind == CHUNK_OPS || kind == CHUNK_HANDLES;
}

/* Starts the next chunk of @kind. Returns 0 or -ENOMEM. */
static int bounds_add(struct order *o, unsigned int kind)
{
	if (kind == CHUNK_REQUESTS)
		return bound_add(&o->requests);
	if (kind == CHUNK_SERVER_REQUESTS)
		return bound_add(&o->server_requests);
	if (!is_of_ops(kind))
		return 0;
	return bound_add(&o->ops) || bound_add(&o->asyncs) ? -ENOMEM : 0;
}

static void bound_lower(struct order_bounds *m, uint64_t ns)
{
	if (m->after[m->n - 1] > ns)
		m->after[m->n - 1] = ns;
}

/* Turns the earliest time of each chunk into the earliest time of all chunks behind it. */
static void bounds_finish(struct order_bounds *m)
{
	uint64_t least = UINT64_MAX, own;

	for (size_t i = m->n; i--;) {
		own = m->after[i];
		m->after[i] = least;
		least = own < least ? own : least;
	}
}

static void span_add(struct order_span *s, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns < s->first_ns)
		s->first_ns = first_ns;
	if (last_ns > s->last_ns)
		s->last_ns = last_ns;
}

static void event_learn(struct order *o, const struct stored_event *ev)
{
	uint64_t end;

	if (is_of_ops(ev->kind)) {
		end = ev->op.start_ns + stored_op_total(&ev->op);
		if (order_has_steps(&ev->op))
			bound_lower(&o->asyncs, ev->op.start_ns);
		else
			bound_lower(&o->ops, end);
		span_add(&o->span, ev->op.start_ns, end);
	} else if (ev->kind == CHUNK_REQUESTS) {
		bound_lower(&o->requests, ev->request.q_ns);
		span_add(&o->span, ev->request.q_ns, stored_request_end(&ev->request));
	} else if (ev->kind == CHUNK_SERVER_REQUESTS) {
		bound_lower(&o->server_requests, ev->server_request.q_ns);
		span_add(&o->span, ev->server_request.q_ns,
			 stored_server_request_end(&ev->server_request));
	} else {
		span_add(&o->span, ev->loss.from_ns, ev->loss.to_ns);
	}
}

/* Whether a new chunk was begun: the reader's position changes only with chunks. */
static bool chunk_is_new(const struct recording *rec, uint64_t *at)
{
	bool is_new = rec->reader.bytes != *at;

	*at = rec->reader.bytes;
	return is_new;
}

int order_learn(struct order *o, FILE *f, const char *name, struct reason *why)
{
	struct recording rec;
	struct stored_event ev;
	uint64_t at = 0;
	int got = recording_open(&rec, f, name, why), err = got;

	*o = (struct order){ .span = { .first_ns = UINT64_MAX } };
	rec.server_requests = true;
	while (!err && (got = recording_next(&rec, &ev, why)) > 0) {
		if (chunk_is_new(&rec, &at))
			err = bounds_add(o, ev.kind);
		if (!err)
			event_learn(o, &ev);
	}
	o->cut_off = got < 0;
	if (o->span.first_ns > o->span.last_ns)
		o->span.first_ns = o->span.last_ns = rec.header.monotonic_ns;
	bounds_finish(&o->ops);
	bounds_finish(&o->asyncs);
	bounds_finish(&o->requests);
	bounds_finish(&o->server_requests);
	recording_close(&rec);
	return err == -ENOMEM ? reason_no_memory(why) : err;
}

void order_done(struct order *o)
{
	free(o->ops.after);
	free(o->asyncs.after);
	free(o->requests.after);
	free(o->server_requests.after);
	*o = (struct order){};
}

/* A copy freed by the caller. Returns NULL if out of memory. */
static uint8_t *memdup(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len);

	return copy ? memcpy(copy, bytes, len) : NULL;
}

struct steps {
	struct step_event *at;
	size_t n, cap;
};

/* Events read, but not delivered yet. The bytes of the segments of an operation are owned. */
struct waiting {
	struct stored_event *ops;
	size_t n_ops, ops_cap;
	struct steps asyncs, requests, server_requests;
	uint64_t numbers; /* given so far */
};

static int by_end(const void *a, const void *b)
{
	const struct stored_event *x = a, *y = b;
	uint64_t ex = stored_event_end(x), ey = stored_event_end(y);

	if (ex != ey)
		return ex < ey ? -1 : 1;
	return (x->op.start_ns > y->op.start_ns) - (x->op.start_ns < y->op.start_ns);
}

/* Steps of one request at the same time stay in their order. */
static int by_time(const void *a, const void *b)
{
	const struct step_event *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (int)x->step - (int)y->step;
}

/* Delivers operations without steps that end before @safe_ns. */
static int ops_deliver(struct waiting *w, const struct recording *rec, uint64_t safe_ns,
		       const struct order_target *to, struct reason *why)
{
	size_t n = 0;
	int err = 0;

	if (!w->n_ops)
		return 0;
	qsort(w->ops, w->n_ops, sizeof(*w->ops), by_end);
	while (n < w->n_ops && !err && stored_event_end(&w->ops[n]) < safe_ns) {
		err = to->op(to->arg, rec, &w->ops[n], why);
		free((void *)w->ops[n++].segments);
	}
	memmove(w->ops, w->ops + n, (w->n_ops - n) * sizeof(*w->ops));
	w->n_ops -= n;
	return err;
}

/* The last step of an operation frees the segments. */
static void step_free(const struct step_event *ev)
{
	if (ev->kind == CHUNK_OPS && ev->step == STEP_END)
		free((void *)ev->segments);
}

static int steps_deliver(struct steps *s, const struct recording *rec, uint64_t safe_ns,
			 const struct order_target *to, struct reason *why)
{
	size_t n = 0;
	int err = 0;

	if (!s->n)
		return 0;
	qsort(s->at, s->n, sizeof(*s->at), by_time);
	while (n < s->n && !err && s->at[n].at_ns < safe_ns) {
		err = to->step(to->arg, rec, &s->at[n], why);
		step_free(&s->at[n++]);
	}
	memmove(s->at, s->at + n, (s->n - n) * sizeof(*s->at));
	s->n -= n;
	return err;
}

static int step_wait(struct steps *s, const struct step_event *ev)
{
	if (list_reserve((void **)&s->at, &s->cap, s->n, sizeof(*s->at)))
		return -ENOMEM;
	s->at[s->n++] = *ev;
	return 0;
}

/* Owns @segments. Returns 0 or -ENOMEM. */
static int async_wait(struct waiting *w, const struct stored_op *op, uint8_t *segments)
{
	struct step_event ev = { .at_ns = op->start_ns,
				 .number = w->numbers++,
				 .step = STEP_BEGIN,
				 .kind = CHUNK_OPS,
				 .segments = segments,
				 .op = *op };

	if (step_wait(&w->asyncs, &ev)) {
		free(segments);
		return -ENOMEM;
	}
	ev.at_ns += stored_op_total(op);
	ev.step = STEP_END;
	if (!step_wait(&w->asyncs, &ev))
		return 0;
	w->asyncs.n--;
	free(segments);
	return -ENOMEM;
}

static int op_wait(struct waiting *w, const struct stored_event *ev)
{
	struct stored_event waits = { .kind = CHUNK_OPS, .op = ev->op };
	uint8_t *segments = NULL;

	/* a handle has none; more bytes are hostile */
	if (ev->kind != CHUNK_OPS || ev->op.segments > SEGMENTS_BYTES)
		waits.op.segments = 0;
	if (waits.op.segments && !(segments = memdup(ev->segments, waits.op.segments)))
		return -ENOMEM;
	if (order_has_steps(&ev->op))
		return async_wait(w, &waits.op, segments);
	if (list_reserve((void **)&w->ops, &w->ops_cap, w->n_ops, sizeof(*w->ops))) {
		free(segments);
		return -ENOMEM;
	}
	waits.segments = segments;
	w->ops[w->n_ops++] = waits;
	return 0;
}

/* The steps of @ev wait in @s; @at has their times. @is_issued: it has the step in the middle. */
static int steps_wait(struct steps *s, struct step_event *ev, const uint64_t at[3], bool is_issued)
{
	for (int step = STEP_BEGIN; step <= STEP_END; step++) {
		if (step == STEP_ISSUED && !is_issued)
			continue;
		ev->at_ns = at[step];
		ev->step = step;
		if (step_wait(s, ev))
			return -ENOMEM;
	}
	return 0;
}

static int request_wait(struct waiting *w, const struct stored_request *rq)
{
	uint64_t at[] = { rq->q_ns, rq->q_ns + rq->tag_ns + rq->queue_ns, stored_request_end(rq) };
	struct step_event ev = { .number = w->numbers++, .kind = CHUNK_REQUESTS, .rq = *rq };

	return steps_wait(&w->requests, &ev, at, !(rq->flags & STORED_RQ_BIO_BASED));
}

static int server_request_wait(struct waiting *w, const struct stored_server_request *rq)
{
	uint64_t at[] = { rq->q_ns, rq->q_ns + rq->tag_ns + rq->queue_ns,
			  stored_server_request_end(rq) };
	struct step_event ev = { .number = w->numbers++,
				 .kind = CHUNK_SERVER_REQUESTS,
				 .server_rq = *rq };

	return steps_wait(&w->server_requests, &ev, at, true);
}

/* Keeps a record until its turn. Returns 0 or -ENOMEM. */
static int event_wait(struct waiting *w, const struct stored_event *ev)
{
	if (is_of_ops(ev->kind))
		return op_wait(w, ev);
	return ev->kind == CHUNK_REQUESTS ? request_wait(w, &ev->request)
					  : server_request_wait(w, &ev->server_request);
}

/* Waiting events before this time can be delivered before @chunk is read. */
static uint64_t bounds_safe(const struct order_bounds *m, size_t chunk)
{
	return chunk && chunk <= m->n ? m->after[chunk - 1] : 0;
}

/* A chunk of @kind begins, after @before chunks of this kind. */
static int chunk_begins(const struct order *o, struct waiting *w, const struct recording *rec,
			unsigned int kind, size_t before, const struct order_target *to,
			struct reason *why)
{
	int err;

	if (kind == CHUNK_REQUESTS)
		return steps_deliver(&w->requests, rec, bounds_safe(&o->requests, before), to, why);
	if (kind == CHUNK_SERVER_REQUESTS)
		return steps_deliver(&w->server_requests, rec,
				     bounds_safe(&o->server_requests, before), to, why);
	err = ops_deliver(w, rec, bounds_safe(&o->ops, before), to, why);
	return err ? err : steps_deliver(&w->asyncs, rec, bounds_safe(&o->asyncs, before), to, why);
}

static int all_deliver(struct waiting *w, const struct recording *rec,
		       const struct order_target *to, struct reason *why)
{
	int err = ops_deliver(w, rec, UINT64_MAX, to, why);

	if (!err)
		err = steps_deliver(&w->asyncs, rec, UINT64_MAX, to, why);
	if (!err)
		err = steps_deliver(&w->requests, rec, UINT64_MAX, to, why);
	return err ? err : steps_deliver(&w->server_requests, rec, UINT64_MAX, to, why);
}

static void waiting_done(struct waiting *w)
{
	for (size_t i = 0; i < w->n_ops; i++)
		free((void *)w->ops[i].segments);
	for (size_t i = 0; i < w->asyncs.n; i++)
		step_free(&w->asyncs.at[i]);
	free(w->ops);
	free(w->asyncs.at);
	free(w->requests.at);
	free(w->server_requests.at);
}

int order_deliver(const struct order *o, struct recording *rec, const struct order_target *to,
		  struct reason *why)
{
	size_t chunks[CHUNK_KINDS] = {};
	struct waiting w = {};
	struct stored_event ev;
	int got = 0, err = 0;
	uint64_t at = 0;
	unsigned int kind;

	rec->server_requests = to->server_requests;
	while (!err && (got = recording_next(rec, &ev, why)) > 0) {
		kind = is_of_ops(ev.kind) ? CHUNK_OPS : ev.kind; /* handles are operations */
		if (chunk_is_new(rec, &at) && kind != CHUNK_LOSSES)
			err = chunk_begins(o, &w, rec, kind, chunks[kind]++, to, why);
		if (err)
			break;
		if (ev.kind == CHUNK_LOSSES)
			err = to->loss(to->arg, &ev.loss, why);
		else if (event_wait(&w, &ev))
			err = reason_no_memory(why);
	}
	if (!err)
		err = all_deliver(&w, rec, to, why);
	waiting_done(&w);
	return err ? err : got < 0;
}
