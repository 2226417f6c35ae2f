// SPDX-License-Identifier: GPL-2.0-only
#include "export/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"

static int out_of_memory(struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "out of memory");
}

static int list_reserve(void **list, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap + *cap / 2 + 64;
	void *p;

	if (n < *cap)
		return 0;
	p = reallocarray(*list, more, size);
	if (!p)
		return -ENOMEM;
	*list = p;
	*cap = more;
	return 0;
}

/* Starts the next chunk. 0 or -ENOMEM. */
static int mark_add(struct order_marks *m)
{
	if (list_reserve((void **)&m->after, &m->cap, m->n, sizeof(*m->after)))
		return -ENOMEM;
	m->after[m->n++] = UINT64_MAX;
	return 0;
}

static void mark_lower(struct order_marks *m, uint64_t ns)
{
	if (m->after[m->n - 1] > ns)
		m->after[m->n - 1] = ns;
}

/* Turns the earliest time of each chunk into the earliest time of all chunks behind it. */
static void marks_finish(struct order_marks *m)
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

static void event_learn(struct order *o, const struct cap_event *ev)
{
	uint64_t end;

	if (ev->kind == CHUNK_OPS) {
		end = ev->op.start_ns + cap_op_total(&ev->op);
		mark_lower(&o->ops, end);
		span_add(&o->span, ev->op.start_ns, end);
	} else if (ev->kind == CHUNK_REQUESTS) {
		mark_lower(&o->requests, ev->request.q_ns);
		span_add(&o->span, ev->request.q_ns, cap_request_end(&ev->request));
	} else {
		span_add(&o->span, ev->loss.from_ns, ev->loss.to_ns);
	}
}

/* The reader moves on only when it takes a chunk: its position tells whether this is a new one. */
static bool chunk_is_new(const struct recording *rec, uint64_t *at)
{
	bool is_new = rec->reader.bytes != *at;

	*at = rec->reader.bytes;
	return is_new;
}

int order_learn(struct order *o, FILE *f, const char *name, struct reason *why)
{
	struct recording rec;
	struct cap_event ev;
	uint64_t at = 0;
	int got = recording_open(&rec, f, name, why), err = got;

	*o = (struct order){ .span = { .first_ns = UINT64_MAX } };
	while (!err && (got = recording_next(&rec, &ev, why)) > 0) {
		if (chunk_is_new(&rec, &at) && ev.kind != CHUNK_LOSSES)
			err = mark_add(ev.kind == CHUNK_OPS ? &o->ops : &o->requests);
		if (!err)
			event_learn(o, &ev);
	}
	o->cut_off = got < 0;
	if (o->span.first_ns > o->span.last_ns)
		o->span.first_ns = o->span.last_ns = rec.header.monotonic_ns;
	marks_finish(&o->ops);
	marks_finish(&o->requests);
	recording_close(&rec);
	return err == -ENOMEM ? out_of_memory(why) : err;
}

void order_done(struct order *o)
{
	free(o->ops.after);
	free(o->requests.after);
	*o = (struct order){};
}

/* Read, but not delivered yet. */
struct waiting {
	struct cap_op *ops;
	size_t n_ops, ops_cap;
	struct request_event *steps;
	size_t n_steps, steps_cap;
	uint64_t requests;		/* so far */
};

static int by_end(const void *a, const void *b)
{
	const struct cap_op *x = a, *y = b;
	uint64_t ex = x->start_ns + cap_op_total(x), ey = y->start_ns + cap_op_total(y);

	if (ex != ey)
		return ex < ey ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Steps of one request at the same time stay in their order. */
static int by_time(const void *a, const void *b)
{
	const struct request_event *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (int)x->step - (int)y->step;
}

/* Delivers the operations that end before @safe_ns. */
static int ops_deliver(struct waiting *w, const struct recording *rec, uint64_t safe_ns,
		       const struct order_target *to, struct reason *why)
{
	size_t n = 0;
	int err = 0;

	if (!w->n_ops)
		return 0;
	qsort(w->ops, w->n_ops, sizeof(*w->ops), by_end);
	while (n < w->n_ops && !err &&
	       w->ops[n].start_ns + cap_op_total(&w->ops[n]) < safe_ns)
		err = to->op(to->arg, rec, &w->ops[n++], why);
	memmove(w->ops, w->ops + n, (w->n_ops - n) * sizeof(*w->ops));
	w->n_ops -= n;
	return err;
}

static int steps_deliver(struct waiting *w, const struct recording *rec, uint64_t safe_ns,
			 const struct order_target *to, struct reason *why)
{
	size_t n = 0;
	int err = 0;

	if (!w->n_steps)
		return 0;
	qsort(w->steps, w->n_steps, sizeof(*w->steps), by_time);
	while (n < w->n_steps && !err && w->steps[n].at_ns < safe_ns)
		err = to->request(to->arg, rec, &w->steps[n++], why);
	memmove(w->steps, w->steps + n, (w->n_steps - n) * sizeof(*w->steps));
	w->n_steps -= n;
	return err;
}

static int op_wait(struct waiting *w, const struct cap_op *op)
{
	if (list_reserve((void **)&w->ops, &w->ops_cap, w->n_ops, sizeof(*w->ops)))
		return -ENOMEM;
	w->ops[w->n_ops++] = *op;
	return 0;
}

static int request_wait(struct waiting *w, const struct cap_request *rq)
{
	uint64_t at[] = { rq->q_ns, rq->q_ns + rq->tag_ns + rq->queue_ns, cap_request_end(rq) };

	for (int step = REQUEST_BEGINS; step <= REQUEST_ENDS; step++) {
		if (step == REQUEST_ISSUED && rq->flags & CAP_RQ_BIO_BASED)
			continue;
		if (list_reserve((void **)&w->steps, &w->steps_cap, w->n_steps,
				 sizeof(*w->steps)))
			return -ENOMEM;
		w->steps[w->n_steps++] =
			(struct request_event){ at[step], w->requests, step, *rq };
	}
	w->requests++;
	return 0;
}

int order_deliver(const struct order *o, struct recording *rec, const struct order_target *to,
		  struct reason *why)
{
	uint64_t at = 0, ops_safe = 0, steps_safe = 0;
	size_t op_chunk = 0, rq_chunk = 0;
	struct waiting w = {};
	struct cap_event ev;
	int got = 0, err = 0;
	bool is_new;

	while (!err && (got = recording_next(rec, &ev, why)) > 0) {
		is_new = chunk_is_new(rec, &at);
		if (is_new && ev.kind == CHUNK_OPS) {
			err = ops_deliver(&w, rec, ops_safe, to, why);
			ops_safe = op_chunk < o->ops.n ? o->ops.after[op_chunk++] : 0;
		} else if (is_new && ev.kind == CHUNK_REQUESTS) {
			err = steps_deliver(&w, rec, steps_safe, to, why);
			steps_safe = rq_chunk < o->requests.n ? o->requests.after[rq_chunk++] : 0;
		}
		if (err)
			break;
		if (ev.kind == CHUNK_LOSSES)
			err = to->loss(to->arg, &ev.loss, why);
		else if (ev.kind == CHUNK_OPS ? op_wait(&w, &ev.op) :
						request_wait(&w, &ev.request))
			err = out_of_memory(why);
	}
	if (!err)
		err = ops_deliver(&w, rec, UINT64_MAX, to, why);
	if (!err)
		err = steps_deliver(&w, rec, UINT64_MAX, to, why);
	free(w.ops);
	free(w.steps);
	return err ? err : got < 0;
}
