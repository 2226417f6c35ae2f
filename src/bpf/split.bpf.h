/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * split.bpf.h - an interval cut by the times of the request that was waited for.
 */
#ifndef IOSTRATA_SPLIT_BPF_H
#define IOSTRATA_SPLIT_BPF_H

#include "completion.bpf.h"
#include "task.bpf.h"

/* Length of the overlap of [a, b) and [x, y). */
static __always_inline u64 overlap(u64 a, u64 b, u64 x, u64 y)
{
	u64 lo = x + positive(a - x);
	u64 hi = b - positive(b - y);

	return positive(hi - lo);
}

/* Adds to @s how [from, to) was spent, given the request that was waited for. */
static __always_inline void split_add(struct split *s, const struct rq_times *c, u64 from, u64 to)
{
	u64 held = overlap(from, to, c->held, c->q);
	u64 throttled = held & (s64)(c->held - 1) >> 63; /* all, if c->held is 0 */

	s->throttle += throttled;
	s->device += held - throttled + overlap(from, to, c->d, c->c);
	s->tag += overlap(from, to, c->q, c->g);
	s->queue += overlap(from, to, c->g, c->d);
	s->complete += overlap(from, to, c->c, to);
}

/* At @to a request was submitted that is done as thread @tid wakes up: if one of its own since
 * @start was merged into that, it was in the queue until then. */
static __always_inline void split_add_merged(struct split *s, u32 tid, u64 start, u64 from, u64 to)
{
	struct done d;

	if (merged_get(tid, start, &d))
		s->queue += overlap(from, to, d.times.q, to);
}

static __always_inline u64 split_sum(const struct split *s)
{
	return s->throttle + s->tag + s->queue + s->device + s->complete + s->runq;
}

/* Charges what is in @s, unless it would reach beyond @to. */
static __always_inline void split_charge(struct op *op, const struct split *s, u64 to)
{
	u64 sum = split_sum(s);

	if (sum > positive(to - op->at[AT_CHARGED]))
		return;
	op->strata[ST_THROTTLE] += s->throttle;
	op->strata[ST_TAG] += s->tag;
	op->strata[ST_QUEUE] += s->queue;
	op->strata[ST_DEVICE] += s->device;
	op->strata[ST_COMPLETE] += s->complete;
	op->strata[ST_RUNQ] += s->runq;
	op->at[AT_CHARGED] += sum;
}

#endif
