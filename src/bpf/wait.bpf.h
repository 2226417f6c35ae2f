/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wait.bpf.h - what a thread waited for: an interval off the CPU is cut along the critical path
 * through whoever woke it. All of this runs with the run-queue lock held or in interrupts, so it
 * allocates nothing.
 *
 * The last waking before a thread runs again is the waking that ended its sleep: a thread that is
 * already awake gets no further sched_waking. It may come before the sched_switch that takes the
 * thread off its CPU (the waker does not wait for that); then all of the wait is for a CPU.
 */
#ifndef IOSTRATA_WAIT_BPF_H
#define IOSTRATA_WAIT_BPF_H

#include "io.bpf.h"
#include "task.bpf.h"

/* @v, 0 if it is negative. By arithmetic: the verifier follows both ways of each branch, and there
 * would be dozens in a row. */
static __always_inline s64 positive(s64 v)
{
	barrier_var(v); /* the compiler would make branches of it */
	return v & ~(v >> 63);
}

/* Length of what [a, b) and [x, y) have in common. */
static __always_inline u64 overlap(u64 a, u64 b, u64 x, u64 y)
{
	u64 lo = x + positive(a - x);
	u64 hi = b - positive(b - y);

	return positive(hi - lo);
}

/* Adds to @s how [from, to) was spent, given the request that was waited for. */
static __always_inline void split_add(struct split *s, const struct cut *c, u64 from, u64 to)
{
	s->device += overlap(from, to, c->held, c->q) + overlap(from, to, c->d, c->c);
	s->tag += overlap(from, to, c->q, c->g);
	s->queue += overlap(from, to, c->g, c->d);
	s->complete += overlap(from, to, c->c, to);
}

static __always_inline u64 split_sum(const struct split *s)
{
	return s->tag + s->queue + s->device + s->complete + s->runq;
}

/* The completion that the running code is part of, or NULL. A mark that was left behind by an
 * interrupt or another thread on this CPU is not ours: level and thread tell. */
static __always_inline struct mark *mark_current(bool level_known)
{
	u64 cpu = current_cpu();
	struct mark *m = &marks[cpu % MARK_SLOTS];

	if (!m->cut.c || m->cpu != cpu || m->pid != (u32)bpf_get_current_pid_tgid() ||
	    m->level != interrupt_level(level_known))
		return NULL;
	return m;
}

static __always_inline void mark_set(const struct cut *cut, bool is_read, bool level_known)
{
	u64 cpu = current_cpu();
	struct mark *m = &marks[cpu % MARK_SLOTS];

	m->cut = *cut;
	m->cpu = cpu;
	m->level = interrupt_level(level_known);
	m->pid = bpf_get_current_pid_tgid();
	m->is_read = is_read;
}

static __always_inline void mark_clear(void)
{
	marks[current_cpu() % MARK_SLOTS].cut.c = 0;
}

/* The last thing @h waited for before now, if it was a request that was on its way after @since. */
static __always_inline const struct helper_wait *helper_last_request(struct helper *h, u64 since)
{
	const struct helper_wait *w = &h->waits[(h->n - 1) % HELPER_WAITS];

	return h->n && w->cut.c > since ? w : NULL;
}

/* How [from, to), the sleep of somebody whom @h woke, was spent by @h itself. Its waits are
 * disjoint, so no instant is counted twice. */
static __always_inline void helper_split(struct helper *h, struct task_state *t, u64 from, u64 to)
{
	struct helper_wait *w;
	u64 lo, hi;

	for (u32 i = 0; i < HELPER_WAITS; i++) {
		w = &h->waits[i];
		if (w->in <= from || w->out >= to)
			continue;
		t->split.runq += overlap(from, to, w->wake, w->in);
		if (!w->cut.c)
			continue;
		lo = from > w->out ? from : w->out;
		hi = to < w->wake ? to : w->wake;
		if (lo >= hi)
			continue;
		split_add(&t->split, &w->cut, lo, hi);
		t->waited_read |= w->is_read;
	}
}

/*
 * The waker could not say which request [from, to) was spent on: then it may have been this
 * thread's own last one (a helper that is busy with many completions has no waits to show).
 */
static __always_inline void own_request_split(struct task_state *t, u32 tid, u64 from, u64 to)
{
	const struct done *d = &dones[tid % DONE_SLOTS];
	u64 runq = t->split.runq;

	if (t->split.tag + t->split.queue + t->split.device)
		return;
	if (d->tid != tid || d->cut.c <= from || d->cut.held < t->start)
		return;
	split_add(&t->split, &d->cut, from, to);
	/* after the completion it waited for the helper, which is a stratum of its own */
	t->split.complete = 0;
	if (split_sum(&t->split) > to - from)
		t->split.runq -= runq;
	t->waited_read |= d->is_read;
}

/* Notes when and by whom thread @tid is woken, and cuts its sleep so far. */
static __always_inline void task_woken(struct task_state *t, u32 tid, u64 now, bool level_known)
{
	u32 waker = bpf_get_current_pid_tgid();
	struct helper *h;
	struct mark *m;

	t->wake = now;
	t->helped = 0;
	if (t->on != OFF_ASLEEP || t->throttled)
		return;
	__builtin_memset(&t->split, 0, sizeof(t->split));
	t->helped = waker && !interrupt_level(level_known) && is_helper(current_flags());
	m = mark_current(level_known);
	if (m) {
		/* without block_io_done (6.5) nothing tells when a completion is over: a helper
		 * whose own request was done at once may have worked on since, and what the cut
		 * leaves is its time */
		split_add(&t->split, &m->cut, t->mark, now);
		t->waited_read |= m->is_read;
		return;
	}
	h = t->helped ? bpf_map_lookup_elem(&helpers, &waker) : NULL;
	if (h)
		helper_split(h, t, t->mark, now);
	own_request_split(t, tid, t->mark, now);
}

static __always_inline void helper_woken(struct helper *h, u64 now, bool level_known)
{
	u32 waker = bpf_get_current_pid_tgid();
	const struct helper_wait *w;
	struct helper *by;
	struct mark *m;

	h->wake = now;
	h->cut.c = 0;
	m = mark_current(level_known);
	if (m) {
		h->cut = m->cut;
		h->current_is_read = m->is_read;
		return;
	}
	if (!waker || interrupt_level(level_known) || !is_helper(current_flags()))
		return;
	by = bpf_map_lookup_elem(&helpers, &waker);
	if (!by)
		return;
	w = helper_last_request(by, h->out);
	if (!w)
		return;
	h->cut = w->cut;
	h->current_is_read = w->is_read;
}

/* Whether thread @tid still waits for a request for @last_bio, submitted on @cpu. */
static __always_inline bool waits_for_tag(u64 last_bio, u32 cpu, u32 tid)
{
	struct io_state *io;

	if (!last_bio)
		return false;
	io = io_find(last_bio, cpu);
	return io && io->tid == tid && !io->g && !io->d && !io->bio_based;
}

static __always_inline void task_off(struct task_state *t, bool asleep, u64 now)
{
	task_charge_cpu(t, now);
	t->on = asleep ? OFF_ASLEEP : OFF_PREEMPTED;
	if (t->waited)
		return;
	t->waited = 1;
	if (t->wake < t->start)
		t->wake = 0;
	__builtin_memset(t->strata + ST_FS + 1, 0, (ST_N - ST_FS - 1) * sizeof(*t->strata));
}

/* Charges the sleep [t->mark, wake) to its parts; what is left has no better name. */
static __always_inline void task_charge_sleep(struct task_state *t, u32 tid, u64 wake)
{
	u64 len = wake > t->mark ? wake - t->mark : 0;
	u64 sum = split_sum(&t->split);

	if (t->throttled) {
		task_charge(t, ST_THROTTLE, wake);
	} else if (t->submitted && waits_for_tag(t->last_bio, t->bio_cpu, tid)) {
		task_charge(t, ST_TAG, wake);
	} else if (sum && sum <= len) {
		t->strata[ST_TAG] += t->split.tag;
		t->strata[ST_QUEUE] += t->split.queue;
		t->strata[ST_DEVICE] += t->split.device;
		t->strata[ST_COMPLETE] += t->split.complete;
		t->strata[ST_RUNQ] += t->split.runq;
		t->mark += sum;
	}
	task_charge(t, t->helped ? ST_HELPER : ST_SLEEP, wake);
}

static __always_inline void task_on_cpu(struct task_state *t, u32 tid, u64 now)
{
	if (t->on == OFF_ASLEEP) {
		/* a waking that was not seen (its CPU ran no programs just then): when it came is
		 * not known, but what this thread waited for may be */
		if (!t->wake)
			own_request_split(t, tid, t->mark, now);
		task_charge_sleep(t, tid, t->wake && t->wake < now ? t->wake : now);
		task_charge(t, ST_RUNQ, now);
	} else if (t->on == OFF_PREEMPTED) {
		task_charge(t, ST_PREEMPT, now);
	}
	if (t->on == OFF_ASLEEP)
		t->throttled = 0;
	__builtin_memset(&t->split, 0, sizeof(t->split));
	t->on = ON_CPU;
	t->wake = 0;
	t->helped = 0;
}

static __always_inline void helper_off(struct helper *h, bool asleep, u64 now)
{
	h->on = asleep ? OFF_ASLEEP : OFF_PREEMPTED;
	h->out = now;
	/* woken before it was off (see above): keep that */
	if (!asleep)
		h->wake = now;
}

static __always_inline void helper_on_cpu(struct helper *h, u32 tid, u64 now)
{
	struct helper_wait *w = &h->waits[h->n % HELPER_WAITS];

	if (h->on == ON_CPU)
		return;
	w->out = h->out;
	w->wake = h->wake > h->out ? h->wake : h->out;
	w->in = now;
	w->cut = h->cut;
	w->is_read = h->current_is_read;
	if (waits_for_tag(h->last_bio, h->bio_cpu, tid)) {
		w->cut = (struct cut){ .held = w->out, .q = w->out, .g = w->wake,
				       .d = w->wake, .c = w->wake };
	}
	h->n++;
	h->on = ON_CPU;
	h->wake = 0;
	h->cut.c = 0;
}

#endif
