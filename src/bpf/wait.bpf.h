/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wait.bpf.h - the reasons of a thread's waits: each interval off the CPU is cut along the critical
 * path through the thread's waker. All of this runs with the run-queue lock held or in interrupts,
 * so nothing is allocated here.
 *
 * Writers: three write to a thread's state. These are the thread itself, sched_switch on the CPU
 * that the thread leaves or gets, and sched_waking on any CPU. The first two never write at the
 * same time. The third may write at the same time as either, so it writes only a separate struct,
 * the waking. Wakers exclude each other: a waker holds the thread's pi_lock from before
 * sched_waking until the thread is awake. There are two exceptions: a thread waking itself, and an
 * interrupt waking the thread it interrupted. In both cases the thread is on its CPU, so the waking
 * ends no sleep, and is ignored.
 *
 * The last waking before a thread runs again ends its sleep, since a thread gets no further waking
 * while it is awake. Such a waking may come
 *
 * - after the switch, usually. The waker sees the beginning of the sleep, and cuts the sleep. The
 *   waker is done before the CPU can switch to the thread.
 * - before the switch or during it. The thread has set its state, but is still on its CPU, or was
 *   preempted there. The waker does not wait for the switch. If the switch wins, the thread does
 *   sleep, but only until the waker goes on. The waking is older than this sleep, so all of the
 *   sleep counts as waiting for a CPU. If the waker wins, the thread is runnable again at the
 *   switch, and does not sleep. The waking names the sleep cut, and is used for no other sleep.
 * - from a signal: the same as before the switch. A thread with a signal pending is not put to
 *   sleep, although it has set its state; see task_sleeps().
 * - twice: the second waker finds the thread awake, and there is no second sched_waking.
 * - late: a thread with its state set might not sleep after all. Its waker may still be writing
 *   when the thread is in its next operation, or when its state belongs to another thread. The next
 *   waking overwrites these remains, and the next sleep does not end before the next waking.
 *
 * So no waking has to be taken back. The time of a waking shows if it was used before. The reader
 * checks a copy of the waking. The strata add up, no matter what the copy says.
 */
#ifndef IOSTRATA_WAIT_BPF_H
#define IOSTRATA_WAIT_BPF_H

#include "completion.bpf.h"
#include "task.bpf.h"
#include "io.bpf.h"
#include "row.bpf.h"
#include "who.bpf.h"

/*
 * An interval is cut by the times of the request for which the thread waited.
 */

/* Length of the overlap of [a, b) and [x, y). */
static __always_inline u64 overlap(u64 a, u64 b, u64 x, u64 y)
{
	u64 lo = x + positive(a - x);
	u64 hi = b - positive(b - y);

	return positive(hi - lo);
}

/* Adds to @s how [from, to) was spent, given the times @c of the request for which the thread
 * waited. */
static __always_inline void split_add(struct split *s, const struct rq_times *c, u64 from, u64 to)
{
	u64 held = overlap(from, to, c->held, c->q);
	u64 throttled = held & (s64)(c->held - 1) >> 63; /* all, if c->held is 0 */

	u64 worked = overlap(from, to, c->d, c->c), served = worked & (0 - c->server);

	s->throttle += throttled;
	s->device += held - throttled + worked - served;
	s->server += served;
	s->tag += overlap(from, to, c->q, c->g);
	s->queue += overlap(from, to, c->g, c->d);
	s->complete += overlap(from, to, c->c, to);
}

/* At @to a request was submitted. It is done as thread @tid wakes up. If an own request of the
 * thread since @start was merged into this request, the own request was in the queue until @to. */
static __always_inline void split_add_merged(struct split *s, u32 tid, u64 start, u64 from, u64 to)
{
	struct done d;

	if (merged_get(tid, start, &d))
		s->queue += overlap(from, to, d.times.q, to);
}

static __always_inline u64 split_sum(const struct split *s)
{
	return s->throttle + s->tag + s->queue + s->device + s->complete + s->runq + s->server;
}

static __always_inline void part_charge(struct op *op, struct segments *list, u32 stratum, u64 ns)
{
	op->strata[stratum] += ns;
	segment_add(list, stratum, ns);
}

/* split_charge() with conf.segments. The parts of a sleep are in the order
 * in which one request has them. */
GLOBAL int split_charge_in_order(struct op *op, const struct split *s)
{
	struct segments *list;

	if (!op || !s || !CONF(segments))
		return 0;
	list = op_segment_list(op);
	part_charge(op, list, ST_THROTTLE, s->throttle);
	part_charge(op, list, ST_TAG, s->tag);
	part_charge(op, list, ST_QUEUE, s->queue);
	part_charge(op, list, ST_DEVICE, s->device);
	part_charge(op, list, ST_SERVER, s->server);
	part_charge(op, list, ST_COMPLETE, s->complete);
	part_charge(op, list, ST_RUNQ, s->runq);
	return 0;
}

/* Charges the times in @s, unless they would reach beyond @to. */
static __always_inline void split_charge(struct op *op, const struct split *s, u64 to)
{
	u64 sum = split_sum(s);

	if (sum > positive(to - op->at[AT_CHARGED]))
		return;
	op->at[AT_CHARGED] += sum;
	if (CONF(segments)) {
		split_charge_in_order(op, s);
		return;
	}
	op->strata[ST_THROTTLE] += s->throttle;
	op->strata[ST_TAG] += s->tag;
	op->strata[ST_QUEUE] += s->queue;
	op->strata[ST_DEVICE] += s->device;
	op->strata[ST_COMPLETE] += s->complete;
	op->strata[ST_RUNQ] += s->runq;
	op->strata[ST_SERVER] += s->server;
}

/*
 * Waits for the kernel's own locks: of an inode, a journal, a frozen file system.
 *
 * Writers: the lock and the longest wait belong to the operation, so its thread writes them, and
 * the CPU when it switches to the thread. The struct waker is part of the waking (see the head of
 * this file).
 */

/* flags of contention_begin(); see include/trace/events/lock.h */
enum { LCB_F_SPIN = 1, LCB_F_READ = 2, LCB_F_PERCPU = 16 };

/* Whether @lock, for which @op waits, belongs to a frozen file system: super_block.s_writers, the
 * only locks of their kind in a super block. A call by path waits for no other lock of this kind,
 * and overlayfs for that of another file system. */
static __always_inline bool lock_is_freeze(const struct op *op, u64 lock, u32 flags)
{
	u64 file = op->file.file; /* local, or CO-RE would search the kernel for it */
	struct super_block *sb;

	if (!(flags & LCB_F_READ) || !(flags & LCB_F_PERCPU))
		return false;
	if (!file || !(op->progress == OP_ASYNC || op->progress > OP_BEGUN))
		return true;
	sb = BPF_CORE_READ((struct file *)file, f_inode, i_sb);
	return lock - (u64)sb < bpf_core_type_size(struct super_block) ||
	       BPF_CORE_READ(sb, s_magic) == OVERLAYFS_SUPER_MAGIC;
}

/*
 * Current begins to wait for @lock. Until it has the lock, it may sleep several times, and spin for
 * the internal locks of @lock. A spinning thread stays on its CPU, so spinning is ignored.
 */
static __always_inline void lock_wanted(u64 lock, u32 flags)
{
	struct task_state *t;

	if (flags & LCB_F_SPIN)
		return;
	t = current_lookup();
	if (!t || !t->op.stage)
		return;
	t->op.lock = lock;
	barrier();
	t->op.locked = lock_is_freeze(&t->op, lock, flags) ? LOCKED_FROZEN : LOCKED;
}

static __always_inline void lock_taken(u64 lock)
{
	struct task_state *t = current_lookup();

	if (t && t->op.stage && t->op.locked && t->op.lock == lock)
		t->op.locked = LOCKED_NOT;
}

/* Charges the wait for a lock. It ended when @waker gave the lock up at @wake. The longest wait is
 * noted for the record. */
static __always_inline void lock_waited(struct op *op, const struct waker *waker, u64 wake)
{
	u64 waited = positive(wake - op->at[AT_CHARGED]);

	op_charge(op, ST_LOCK, wake);
	if (!CONF(records) || (op->noted & NOTED_LOCK && op->lock_ns >= waited))
		return;
	op->lock_ns = waited;
	op->lock_holder = *waker;
	op->noted |= NOTED_LOCK;
}

/* The helper @waker ended a sleep and was at work for @ns of it. Notes this if no helper was at
 * work for longer, unless @waker only ended a request that took @request_ns. */
static __always_inline void helper_waited(struct op *op, const struct waker *waker, u64 ns,
					  u64 request_ns)
{
	if (ns <= request_ns || (op->noted & NOTED_HELPER && op->helped_ns >= ns))
		return;
	op->helped_ns = ns;
	op->helper = *waker;
	op->noted |= NOTED_HELPER;
}

/* The thread @waker ended a sleep of @slept ns for an unknown reason. Notes this if no such sleep
 * was longer. */
static __always_inline void sleep_waited(struct op *op, const struct waker *waker, u64 slept)
{
	if (op->noted & NOTED_SLEEP && op->slept_ns >= slept)
		return;
	op->slept_ns = slept;
	op->woken_by = *waker;
	if (!waker_is_sure(waker))
		op->woken_by.tid = 0;
	op->noted |= NOTED_SLEEP;
}

/* The last wait of @h, if it was for a request still in flight after @since; else NULL. */
static __always_inline const struct helper_wait *helper_last_request(struct helper *h, u64 since)
{
	const struct helper_wait *w = &h->waits[(h->n - 1) % HELPER_WAITS];

	return h->n && w->times.c > since ? w : NULL;
}

/*
 * Adds to @wk how @h itself spent [from, to), the sleep of the thread woken by @h. The waits of @h
 * are disjoint, so no instant is counted twice.
 *
 * A helper may have done nothing for most of the sleep, as a worker that an answer from the network
 * wakes. So wk->unhelped is the time before the helper began to work, as far as the helper did not
 * wait for a request.
 */
static __always_inline void helper_split(struct helper *h, struct waking *wk, u64 from, u64 to)
{
	u64 working = h->working, idle = positive(working - from), lo, hi;
	struct helper_wait *w;

	for (u32 i = 0; i < HELPER_WAITS; i++) {
		w = &h->waits[i];
		if (w->in <= from || w->out >= to)
			continue;
		wk->split.runq += overlap(from, to, w->wake, w->in);
		idle -= overlap(from, working, w->wake, w->in);
		if (!w->times.c)
			continue;
		lo = from > w->out ? from : w->out;
		hi = to < w->wake ? to : w->wake;
		if (lo >= hi)
			continue;
		split_add(&wk->split, &w->times, lo, hi);
		/* the request's times cut this wait from held on */
		idle -= overlap(lo, hi, w->times.held, working);
		wk->is_read |= w->is_read;
	}
	wk->unhelped = positive(idle);
}

/* The last request submitted by thread @tid itself in @op, if the request was done after @from.
 * Returns false if there is none. A throttled bio has no submission time: accept its request if @op
 * submitted a throttled bio and the request was queued since @op began. */
static __always_inline bool own_request(struct done *ret, u32 tid, const struct op *op, u64 from)
{
	u64 throttled = op->submitted & SUBMITTED_THROTTLED, since;

	if (!done_get(tid, ret) || ret->times.c <= from)
		return false;
	since = ret->times.held;
	since |= ret->times.q & (s64)(since - 1) >> 63; /* a throttled bio: queued since */
	return since >= op->start && (ret->times.held | throttled);
}

/* The time when such a request of a throttled bio was done; @from: there is none. Until then the
 * thread itself knows more than a helper, since no thread waits for blk-throttle. */
static __always_inline u64 throttled_until(u32 tid, const struct op *op, u64 from)
{
	struct done d;

	if (likely(!(op->submitted & SUBMITTED_THROTTLED)) || !own_request(&d, tid, op, from) ||
	    d.times.held)
		return from;
	return d.times.c;
}

/*
 * If the waker cannot tell for which request [from, to) was spent, the thread may have waited for
 * its own request @d. (A helper busy with many completions has no waits to show.) True if @d was a
 * read.
 */
static __always_inline bool own_request_split(struct split *s, const struct done *d, u64 from,
					      u64 to)
{
	u64 runq = s->runq;

	split_add(s, &d->times, from, to);
	/* after the completion the thread waited for the helper: a separate stratum */
	s->complete = 0;
	if (split_sum(s) > to - from)
		s->runq -= runq;
	return d->thread & DONE_READ;
}

/* The thread id of current, the waker, if current is a helper and not interrupted; else 0. */
static __always_inline u32 waker_helper(u32 level)
{
	return !level && is_helper(current_flags()) ? bpf_get_current_pid_tgid() : 0;
}

#define TASK_INTERRUPTIBLE 1 /* as in task_state_bits() */

/* The completion as part of which current wakes @p at @now, or NULL if there is none. @p sleeps
 * since @asleep. An interrupt may wake @p after a request of @p was done during this sleep. Such a
 * waking is part of the completion, even if late (REQUEST_END_LATE_NS), unless signals can wake @p,
 * too: such sleeps also end with time. */
static __always_inline struct mark *mark_of_waking(struct task_struct *p, u64 asleep, u64 now,
						   u32 level)
{
	struct mark *m = mark_of_current(level);

	if (!m || now <= m->until)
		return m;
	if (!level || m->tid != (u32)p->pid || asleep >= m->times.c ||
	    task_state_bits(p) & TASK_INTERRUPTIBLE)
		return NULL;
	return now > m->times.c + REQUEST_END_LATE_NS ? NULL : m;
}

/* Whether the answer to thread @tid's own last request to an NFS server came in this sleep in @op,
 * since @asleep. Until then, the thread knows more than its waker: who ends a request of NFS goes
 * on with others, leaves their marks and waits for them, and may let a third wake the thread. */
static __always_inline bool own_answer(struct done *ret, u32 tid, const struct op *op, u64 asleep)
{
	return CONF(at.rpc_msg) && own_request(ret, tid, op, asleep) && ret->times.server;
}

/* Cuts the sleep of a thread, from @from on, by the mark @m of its waking at @now. */
static __always_inline void waking_split_mark(struct waking *w, const struct mark *m, u32 tid,
					      u64 op_start, u64 from, u64 now)
{
	/* without block_io_done (6.5) no event ends a completion: a helper whose own request was
	 * done at once may have worked on since, and the rest of the sleep is charged to the
	 * helper */
	split_add(&w->split, &m->times, from, now);
	if (unlikely(m->times.held > from))
		split_add_merged(&w->split, tid, op_start, from, m->times.held);
	w->is_read |= m->is_read;
	w->completed = 1;
	/* without work of the helper: what @m does not tell of a server's request */
	w->unhelped = (now - from) & (0 - m->times.server);
}

/* Whether the completion of @m tells nothing of the sleep of @p in @op: it belongs to a request of
 * another thread, and signals can end the sleep. A thread waits so for its own requests, for any of
 * libaio, and for other things, such as a timer. For pages that others read it does not. */
static __always_inline bool mark_is_strange(const struct mark *m, struct task_struct *p,
					    const struct op *op)
{
	return m->tid && m->tid != (u32)p->pid && op->kind != OP_AIO &&
	       task_state_bits(p) & TASK_INTERRUPTIBLE;
}

/* Cuts the sleep of @p in @op, into @w. Current is the waker. */
static __always_inline void waking_split(struct waking *w, struct task_struct *p,
					 const struct op *op, u64 now, u32 level)
{
	struct mark *m = mark_of_waking(p, w->asleep, now, level);
	u64 from = w->asleep, since, working = 0;
	u32 waker = waker_helper(level);
	struct helper *h;
	struct done own;

	w->helped = waker != 0;
	if (waker && op->progress == OP_SLEEPS)
		w->written = current_works_in(current_flags(), "writeback");
	if (m && mark_is_strange(m, p, op))
		m = NULL;
	if (!(m && m->tid == (u32)p->pid) && own_answer(&own, p->pid, op, from)) {
		split_add(&w->split, &own.times, from, own.times.c);
		w->is_read = !!(own.thread & DONE_READ);
		from = own.times.c;
		if (now <= from + REQUEST_END_NS) {
			w->split.complete = positive(now - from);
			w->completed = 1;
			return;
		}
	}
	if (m) {
		waking_split_mark(w, m, p->pid, op->start, from, now);
		return;
	}
	since = from == w->asleep ? throttled_until(p->pid, op, from) : from;
	h = waker ? bpf_map_lookup_elem(&helpers, &waker) : NULL;
	if (h) {
		helper_split(h, w, since, now);
		working = h->working;
	}
	if (from == w->asleep &&
	    (since != from ||
	     !(w->split.tag + w->split.queue + w->split.device + w->split.server)) &&
	    own_request(&own, p->pid, op, w->asleep)) {
		w->is_read |= own_request_split(&w->split, &own, w->asleep, now);
		w->unhelped = positive(w->unhelped -
				       overlap(since, working, own.times.held, own.times.c));
	}
}

/* Notes the time of the waking of @p, and its waker, and cuts the sleep so far. */
static __always_inline void task_woken(struct task_state *t, struct task_struct *p, u64 now,
				       u32 level)
{
	struct waking *w = &t->waking;

	__builtin_memset(w, 0, offsetof(struct waking, waker));
	w->asleep = *(volatile u64 *)&t->wait.asleep;
	if (w->asleep)
		waking_split(w, p, &t->op, now, level);
	if (CONF(records) || (CONF(segments) && w->helped) || who_is_wanted(now - w->asleep))
		waker_note(&w->waker, level);
	w->at = now;
}

/* The same for helper @p, whose sleep is not cut: its request is noted. */
static __always_inline void helper_woken(struct helper *h, struct task_struct *p, u64 now,
					 u32 level)
{
	struct helper_waking *woken = &h->waking;
	const struct helper_wait *w;
	struct helper *by;
	struct mark *m;
	u32 waker;

	__builtin_memset(woken, 0, sizeof(*woken));
	woken->at = now;
	woken->asleep = *(volatile u64 *)&h->wait.asleep;
	m = mark_of_waking(p, woken->asleep, now, level);
	if (m) {
		woken->times = m->times;
		woken->is_read = m->is_read;
		return;
	}
	waker = waker_helper(level);
	by = waker ? bpf_map_lookup_elem(&helpers, &waker) : NULL;
	if (!by)
		return;
	woken->working = by->working | 1; /* never 0 */
	w = helper_last_request(by, woken->asleep);
	if (!w)
		return;
	woken->times = w->times;
	woken->is_read = w->is_read;
}

/* Whether @t, in no operation, may have requests of io_uring or libaio in progress: such a request
 * ends late if the thread then waits for a CPU. */
static __always_inline bool async_waits(const struct task_state *t)
{
	return CONF(async) && t->async_at;
}

/* Whether @t belongs to a thread of a FUSE daemon, in a turn; see daemon.bpf.h. */
static __always_inline bool in_turn(const struct task_state *t)
{
	return CONF(daemons) && t->turn == TURN_NOW;
}

/* Current wakes @p. */
static __always_inline void woken(struct task_struct *p, bool level_known)
{
	struct task_state *t;
	struct helper *h;
	u32 tid = p->pid;

	/* @p is on its CPU; see the head of this file */
	if (!CONF(waits) || (u64)p == current_task())
		return;
	if (may_have_op(p->flags)) {
		t = task_lookup((u64)p);
		if (t && (t->op.stage || in_turn(t)))
			task_woken(t, p, bpf_ktime_get_ns(), interrupt_level(level_known));
		else if (t && async_waits(t))
			t->waking.at = bpf_ktime_get_ns();
	}
	if (!is_helper(p->flags))
		return;
	h = bpf_map_lookup_elem(&helpers, &tid);
	if (h)
		helper_woken(h, p, bpf_ktime_get_ns(), interrupt_level(level_known));
}

/* Whether thread @tid still waits for a request for its bio @last_bio, submitted on @cpu. A
 * dispatched bio has io->g set, even if the request's allocation was not seen: request_issued()
 * does this. For a throttled bio only kthrotld may wait. */
static __always_inline bool waits_for_tag(u64 last_bio, u32 cpu, u32 tid)
{
	struct io_state *io;

	if (!last_bio)
		return false;
	io = io_find(last_bio, cpu);
	return io && io->tid == tid && !io->g && io->q && !io->throttled && !io->bio_based;
}

/*
 * Whether @p sleeps. The CPU is being switched away from it. This reads the state of @p. The
 * tracepoint's argument (5.18) is no use: it is the state before the kernel reset it for a pending
 * signal. If @p does sleep, its state is not 0 now: a waker coming now leaves it at TASK_WAKING
 * until the switch is done.
 */
static __always_inline bool task_sleeps(struct task_struct *p, bool preempted)
{
	return !preempted && task_state_bits(p);
}

static __always_inline void wait_begin(struct wait *w, bool asleep, u64 now)
{
	w->off = now;
	w->asleep = asleep ? now : 0;
}

static __always_inline void wait_end(struct wait *w)
{
	w->off = 0;
	w->asleep = 0;
}

/* Whether the waking at @at ends the sleep @w. A waking used before does not. In this case the
 * waking at the end of @w was missed: it came in an interrupt while the CPU was already in the
 * program. */
static __always_inline bool wait_takes(struct wait *w, u64 at)
{
	if (at == w->woken)
		return false;
	w->woken = at;
	return true;
}

static __always_inline void task_off(struct task_state *t, bool asleep, u64 now)
{
	if (t->op.charging)
		return;
	op_settle(&t->op, t->op.layer, now);
	wait_begin(&t->wait, asleep, t->op.at[AT_CHARGED]);
}

/* Charges @sum ns to @stratum, but no time after @to. */
static __always_inline void op_charge_sum(struct op *op, u32 stratum, u64 sum, u64 to)
{
	u64 end = op->at[AT_CHARGED] + sum;

	op_charge(op, stratum, end - positive(end - to));
}

/* The time of an operation in sleeps that rows of sites have. @frozen: also the time in its waits
 * for locks. */
static __always_inline u64 site_time(const struct op *op, bool frozen)
{
	return op->strata[ST_SLEEP] + (frozen ? op->strata[ST_LOCK] : 0);
}

/* @t, in an operation, gets a CPU at @now; its time until it wanted one is charged. Notes the wait
 * for the CPU: a request of @t that completes now was late by it. */
static __always_inline void cpu_waited(struct task_state *t, bool slept, u64 now)
{
	if (!CONF(ring_waits))
		return;
	t->cpu_wait.from = t->op.at[AT_CHARGED];
	t->cpu_wait.to = now;
	t->cpu_wait.asleep = slept;
}

/* Charges the sleep of @p that ends now. The part up to the waking goes to the strata of the
 * reason, if this is known; the rest goes to the wait for a CPU. */
static __always_inline void task_charge_sleep(struct task_state *t, struct task_struct *p, u64 now)
{
	struct waking wk = t->waking;
	struct op *op = &t->op;
	bool frozen = CONF(sites) && op->locked == LOCKED_FROZEN;
	u64 from = t->wait.asleep, wake = now, unknown = site_time(op, frozen);
	u64 slept = op->strata[ST_SLEEP];
	u32 tid = p->pid, rest;
	struct done own;

	barrier(); /* use only the copy from here on */
	if (wk.at >= op->start && wait_takes(&t->wait, wk.at)) {
		wake -= positive(now - wk.at);
	} else {
		/* the time of the waking is not known, but the thread's own request may be */
		__builtin_memset(&wk, 0, sizeof(wk));
		wk.asleep = from;
		if (own_request(&own, tid, op, from))
			wk.is_read = own_request_split(&wk.split, &own, from, now);
	}
	if (!op->pauses && !op->locked && op->submitted &&
	    waits_for_tag(op->last_bio, op->bio_cpu, tid))
		op->pauses = PAUSES_TAG;
	if (wk.at && who_is_wanted(wk.at - from))
		who_note(t, p, wake);
	rest = wk.helped ? ST_HELPER : ST_SLEEP;
	if (op->pauses) {
		op_charge(op, op->pauses == PAUSES_TAG ? ST_TAG : ST_THROTTLE, wake);
		op->pauses = PAUSES_NOT;
	} else if (op->locked) {
		lock_waited(op, wk.at ? &t->waking.waker : (const struct waker *)zeroes, wake);
	} else if (op->submitted & SUBMITTED_ASKED && !wk.completed) {
		op_charge(op, ST_SERVER, wake);
		op->waited_read |= op->own_reads;
	} else if (wk.asleep == from) {
		if (CONF(segments) && wk.helped)
			helper_waited(op, &t->waking.waker, positive(wake - from - wk.unhelped),
				      wk.completed ? split_sum(&wk.split) : 0);
		/* the helper began to work later */
		op_charge_sum(op, ST_SLEEP, wk.unhelped, wake - split_sum(&wk.split));
		/* a request that ended the sleep was submitted by others: they come first */
		if (CONF(segments) && wk.completed)
			op_charge(op, rest, wake - split_sum(&wk.split));
		split_charge(op, &wk.split, wake);
		op->waited_read |= wk.is_read;
	}
	op_charge(op, rest, wake);
	if (CONF(records) && op->strata[ST_SLEEP] != slept)
		sleep_waited(op,
			     wk.at && !wk.helped && !wk.completed ? &t->waking.waker
								  : (const struct waker *)zeroes,
			     op->strata[ST_SLEEP] - slept);
	/* of a sleep in no operation, only the kernel's word says that it is for storage; and a
	 * wait for completions counts only at its end */
	if (CONF(sites) && site_time(op, frozen) != unknown &&
	    ((op->progress != OP_SLEEPS && op->progress != OP_AWAITS) || op->acts))
		site_note(op, p, site_time(op, frozen) - unknown);
	who_ran_note(t, now);
	cpu_waited(t, true, now);
	op_charge(op, ST_RUNQ, now);
}

static __always_inline void task_on_cpu(struct task_state *t, struct task_struct *p, u64 now)
{
	if (!t->wait.off)
		return;
	if (t->wait.asleep) {
		task_charge_sleep(t, p, now);
	} else {
		who_ran_note(t, now);
		cpu_waited(t, false, now);
		op_charge(&t->op, ST_PREEMPT, now);
	}
	wait_end(&t->wait);
}

/* @t is in no operation and gets a CPU: notes how long it has waited for the CPU. */
static __always_inline void cpu_wait_note(struct task_state *t, u64 now)
{
	u64 from = t->wait.off, at = t->waking.at;

	if (!from)
		return;
	t->cpu_wait.asleep = !!t->wait.asleep;
	if (t->wait.asleep) /* if the waking was missed, nothing is known */
		from = wait_takes(&t->wait, at) ? from + positive(at - from) : now;
	t->cpu_wait.from = from;
	t->cpu_wait.to = now;
	wait_end(&t->wait);
}

/* The waits of helper thread @p, or NULL if there is none. An exiting thread gets no new entry:
 * nothing would use or remove the entry. */
static __always_inline struct helper *helper_get(struct task_struct *p)
{
	u32 tid = p->pid;
	struct helper *h = bpf_map_lookup_elem(&helpers, &tid);

	if (h || p->flags & PF_EXITING)
		return h;
	if (bpf_map_update_elem(&helpers, &tid, zeroes, BPF_NOEXIST))
		count_lost(LOST_MAP_FULL);
	return bpf_map_lookup_elem(&helpers, &tid);
}

static __always_inline u64 earlier(u64 a, u64 b)
{
	return a - positive(a - b);
}

/* @a, or @b if @choose_b is all ones instead of 0: without a branch, for the verifier. */
static __always_inline u64 either(u64 a, u64 b, u64 choose_b)
{
	barrier_var(choose_b);
	return (a & ~choose_b) | (b & choose_b);
}

/* Since when helper @h has been at work, after the wait @w. Before its waking, the helper was idle,
 * unless it waited for a request to a disk, or for another helper, at work since @waker_working. */
static __always_inline u64 helper_working(const struct helper *h, const struct helper_wait *w,
					  u64 waker_working)
{
	u64 no_disk = (u64)((s64)(w->times.c - 1) >> 63) | (0 - w->times.server), since;
	u64 no_helper = (s64)(waker_working - 1) >> 63;

	since = earlier(w->wake, either(w->times.held, w->wake, no_disk));
	since = earlier(since, either(waker_working, w->wake, no_helper));
	return either(h->working, since, (s64)(w->out - since) >> 63);
}

static __always_inline void helper_on_cpu(struct helper *h, u32 tid, u64 now)
{
	struct helper_wait *w = &h->waits[h->n % HELPER_WAITS];
	struct helper_waking wk = h->waking;
	u64 from = h->wait.off, wake = from, waker_working = 0;

	barrier(); /* use only the copy from here on */
	if (!from)
		return;
	__builtin_memset(&w->times, 0, sizeof(w->times));
	w->is_read = 0;
	if (h->wait.asleep && !wait_takes(&h->wait, wk.at)) {
		wake = now;
	} else if (h->wait.asleep) {
		wake += positive(wk.at - from);
		if (wk.asleep == from) {
			w->times = wk.times;
			w->is_read = wk.is_read;
			waker_working = wk.working;
		}
	}
	if (waits_for_tag(h->last_bio, h->bio_cpu, tid))
		w->times = (struct rq_times){
			.held = from, .q = from, .g = wake, .d = wake, .c = wake
		};
	w->out = from;
	w->wake = wake;
	w->in = now;
	h->working = helper_working(h, w, waker_working);
	h->n++;
	wait_end(&h->wait);
}

#endif
