// SPDX-License-Identifier: GPL-2.0-only
#include "capture/slow_requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "capture/replay.h"

int recent_add(struct recent_requests *r, const struct stored_request *rq)
{
	if (!r->ring)
		r->ring = calloc(RECENT_REQUESTS, sizeof(*r->ring));
	if (!r->ring)
		return -ENOMEM;
	r->ring[r->n++ % RECENT_REQUESTS] = *rq;
	return 0;
}

void recent_done(struct recent_requests *r)
{
	free(r->ring);
	*r = (struct recent_requests){};
}

/* Whether a segment of @op in the stratum device ends at @ns. */
static bool device_wait_ends(const struct slow_op *op, uint64_t ns)
{
	uint64_t at = op->start_ns;

	for (unsigned int i = 0; op->has_segments && i < op->segments.n; i++) {
		at += SEGMENT_NS(op->segments.at[i]);
		if (at == ns && SEGMENT_STRATUM(op->segments.at[i]) == ST_DEVICE)
			return true;
	}
	return false;
}

bool request_belongs(const struct slow_op *op, const struct stored_request *rq, unsigned int tid)
{
	uint64_t begin = op->start_ns, end = begin + op->total_ns;
	uint64_t done = stored_request_end(rq);
	bool sync = !async_is_request(op->kind, op->call);

	if (rq->q_ns >= end || done <= begin)
		return false;
	if (sync && tid && tid == op->who.tid && rq->q_ns >= begin)
		return true;
	return (tid && tid == op->helper.tid) || device_wait_ends(op, done);
}

static uint64_t request_ns(const struct slow_request *r)
{
	return r->tag_ns + r->queue_ns + r->device_ns;
}

/* Makes a place for a request that took @ns and was submitted at @at_ns, in order; the shortest one
 * goes if there is no room. NULL: all others took longer. */
static struct slow_request *place_make(struct slow_requests *s, uint64_t ns, int64_t at_ns)
{
	size_t i = 0;

	if (s->n == SLOW_REQUESTS) {
		for (size_t k = 1; k < s->n; k++)
			i = request_ns(&s->list[k]) < request_ns(&s->list[i]) ? k : i;
		if (request_ns(&s->list[i]) >= ns)
			return NULL;
		s->n--;
		memmove(&s->list[i], &s->list[i + 1], (s->n - i) * sizeof(*s->list));
	}
	for (i = s->n++; i > 0 && s->list[i - 1].at_ns > at_ns; i--)
		s->list[i] = s->list[i - 1];
	return &s->list[i];
}

static int request_fill(struct slow_request *to, const struct slow_op *op,
			const struct recording *rec, const struct stored_request *rq)
{
	const struct catalog_thread *t = catalog_thread(&rec->catalog, rq->owner);
	char *disk = device_text(rec, rq->dev);

	if (!disk)
		return -ENOMEM;
	*to = (struct slow_request){
		.at_ns = rq->q_ns - op->start_ns,
		.tag_ns = rq->tag_ns,
		.queue_ns = rq->queue_ns,
		.device_ns = rq->device_ns,
		.bytes = rq->bytes,
		.op = rq->op,
		.failed = rq->flags & STORED_RQ_FAILED,
		.unqueued = rq->flags & STORED_RQ_UNQUEUED,
		.who = { .pid = t->pid, .tid = t->tid, .cgroup = t->cgroup },
	};
	memcpy(to->who.comm, t->comm, COMM_LEN);
	snprintf(to->disk, sizeof(to->disk), "%s", disk);
	free(disk);
	return 0;
}

int slow_request_add(struct slow_op *op, const struct recording *rec,
		     const struct stored_request *rq)
{
	unsigned int tid = catalog_thread(&rec->catalog, rq->owner)->tid;
	uint64_t ns = rq->tag_ns + rq->queue_ns + rq->device_ns;
	struct slow_request *place, made;
	int err;

	if (!request_belongs(op, rq, tid))
		return 0;
	if (!op->requests)
		op->requests = calloc(1, sizeof(*op->requests));
	if (!op->requests)
		return -ENOMEM;
	err = request_fill(&made, op, rec, rq);
	if (err)
		return err;
	op->requests->count++;
	place = place_make(op->requests, ns, made.at_ns);
	if (place)
		*place = made;
	return 0;
}

int slow_requests_find(struct slow_op *op, const struct recording *rec,
		       const struct recent_requests *recent)
{
	uint64_t first = recent->n > RECENT_REQUESTS ? recent->n - RECENT_REQUESTS : 0;
	int err = 0;

	for (uint64_t i = first; i < recent->n && !err; i++)
		err = slow_request_add(op, rec, &recent->ring[i % RECENT_REQUESTS]);
	return err;
}
