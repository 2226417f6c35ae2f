/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reap.bpf.h - an operation of io_uring from its completion until its thread takes the completion
 * out of the ring: the stratum reap.
 *
 * No event tells when a thread takes completions: it moves the head of the ring in memory that it
 * shares with the kernel. So a finished operation waits in the list of its ring. When a thread
 * enters the ring, the completions before the head have been taken since a thread last left it. The
 * time from there to the entry is the thread's own, so reap ends where the thread left.
 *
 * The lists of all rings share async_ops' second half, and overlap there: separate ones would take
 * many times the memory, and few rings are deep at a time. A place in use has the number of its
 * ring in @req. A CPU that completes requests of the ring claims a free place by it. The place is
 * free again when the completion is taken.
 *
 * If the ring is not known, or the list is full, an operation ends at its completion. So does one
 * of a ring with a polling thread (IORING_SETUP_SQPOLL): its owner need not enter it at all. These
 * operations are counted in live.unreaped.
 *
 * A thread's wait for completions is an operation, too, of kind getevents. It begins when the
 * kernel has found too few completions in the ring, and ends when the thread returns to user space.
 * It counts only if an operation of the ring completed meanwhile: else the thread waited for a
 * socket or a timer. Its file is that of the last operation. Only its thread writes it.
 *
 * The head is memory of user space, and may be any number. A wrong one makes reap shorter or
 * longer, and nothing else: a list has REAP_PLACES places, and each is taken once.
 */
#ifndef IOSTRATA_REAP_BPF_H
#define IOSTRATA_REAP_BPF_H

#include "async.bpf.h"

#define IORING_SETUP_SQPOLL    2
#define IORING_SETUP_CQE_MIXED (1 << 18) /* 6.18; completions have 16 or 32 bytes */

enum {
	RING_TRIES = 8,
	RING_IDLE_NS = 1000000000,
	RING_RACES = 4, /* completions from the reading of a tail to its use, at most */
};

/* The ring with the number @nr, not 0. */
static __always_inline struct uring_ring *ring_at(u32 nr)
{
	u64 at = nr - 1;

	barrier_var(at); /* the verifier of 6.1 needs the mask */
	return &uring_rings[at % REAP_RINGS];
}

static __always_inline u32 ring_place(u64 ctx, u32 try)
{
	return ((low_half(ctx) * HASH_FACTOR >> (32 - REAP_RINGS_LOG2)) + try) &
	       (CONF(reap_rings) - 1);
}

/* The number of the ring @ctx, or 0 if it is not known. */
GLOBAL u32 ring_find(u64 ctx)
{
	u32 nr;

	for (u32 try = 0; try < RING_TRIES; try++) {
		nr = ring_place(ctx, try) + 1;
		if (ring_at(nr)->ctx == ctx)
			return nr;
	}
	return 0;
}

/* The slot of async_ops for completion number @n of the ring @nr. It may belong to another ring. */
static __always_inline u32 ring_slot(u32 nr, u32 n)
{
	u32 first = (nr - 1) * (CONF(async_slots) / REAP_RINGS);

	return CONF(async_slots) + 1 + ((first + n % REAP_PLACES) & (CONF(async_slots) - 1));
}

/* Takes @e out of its list. False: another CPU took @e first. */
static __always_inline bool reap_claim(struct async_op *e)
{
	u64 task = e->task;

	return task && __sync_val_compare_and_swap(&e->task, task, 0) == task;
}

/* Counts the oldest completion in the list of ring @nr if it lies before @head, or with @all; or
 * passes over a place of another ring. Returns whether it did. A function: the verifier walks it
 * once, instead of once for each place. */
GLOBAL u32 ring_take(u32 nr, u32 head, u32 all)
{
	struct uring_ring *r = ring_at(nr);
	u32 got = r->got, at = ring_slot(nr, got);
	struct async_op *e = CONF(reap_rings) && got != r->put ? async_at(at) : NULL;

	if (!e)
		return 0;
	if (e->req == nr) {
		if (!all && (int)(head - e->position) <= 0)
			return 0;
		if (reap_claim(e)) {
			op_charge(&e->op, ST_REAP, r->left);
			async_keep(at, (long)e->ret);
			e->op.stage = 0;
			barrier();
			e->req = 0;
		}
	}
	r->got = got + 1;
	return 1;
}

/* The completions of ring @nr before @head were taken; with @all, all of them. */
static __always_inline void ring_reap(u32 nr, u32 head, bool all)
{
	for (u32 i = 0; CONF(reap_rings) && i < REAP_PLACES; i++)
		if (!ring_take(nr, head, all))
			break;
}

/* Counts all completions of ring @nr. */
GLOBAL int ring_empty(u32 nr)
{
	ring_reap(nr, 0, true);
	return 0;
}

/* Finds a place for the ring @ctx. Returns 0 if there is none. If the place belonged to an idle
 * ring, its list may still have completions. A ring whose thread waits in it is not idle, nor is
 * one that a thread has entered for the first time. */
static __always_inline u32 ring_claim(u64 ctx, u64 now)
{
	struct uring_ring *r;
	u64 former;
	u32 nr;

	for (u32 try = 0; try < RING_TRIES; try++) {
		nr = ring_place(ctx, try) + 1;
		r = ring_at(nr);
		former = r->ctx;
		if (former && (r->entered || (s64)(now - r->left) < RING_IDLE_NS))
			continue;
		if (__sync_val_compare_and_swap(&r->ctx, former, ctx) != former)
			continue;
		return nr;
	}
	return 0;
}

/*
 * Whether @tail, read as a thread entered the ring @r, belongs to another ring at the same address:
 * a new ring begins at 0. A tail that is lower by a few is the same ring's: since it was read,
 * another CPU has completed so many requests, or a completion was counted before the kernel moved
 * the tail.
 */
static __always_inline bool ring_is_new(const struct uring_ring *r, u32 tail)
{
	return (!tail && r->tail) || (int)(tail - r->tail) < -RING_RACES;
}

/* Counts completions from @tail on, which was read as a thread entered @r. A tail that is too low
 * because of a race stays as it was counted. If it is too low twice, it was counted too high. */
static __always_inline void ring_set_tail(struct uring_ring *r, u32 tail, bool all)
{
	bool behind = (int)(tail - r->tail) < 0;

	if (all || !behind || r->behind)
		r->tail = tail;
	r->behind = behind;
}

/* Current enters the ring @ctx, whose completions before @head were taken, and whose tail is @tail.
 */
GLOBAL int ring_enters(u64 ctx, u32 head, u32 tail, u32 ring_flags)
{
	struct task_state *t = CONF(reap_rings) ? current_lookup() : NULL;
	struct uring_ring *r;
	u32 nr, all;

	if (!t)
		return 0;
	nr = ring_find(ctx);
	all = !nr;
	if (!nr)
		nr = ring_claim(ctx, bpf_ktime_get_ns());
	t->ring = nr;
	t->ring_entered = 1;
	if (!nr)
		return 0;
	t->rings = 1;
	r = ring_at(nr);
	r->task = t->task;
	r->entered = 1;
	r->mixed = !!(ring_flags & IORING_SETUP_CQE_MIXED);
	all |= ring_is_new(r, tail);
	ring_set_tail(r, tail, all);
	if (r->put != r->got)
		ring_reap(nr, head, all);
	return 0;
}

/* Current waits for completions of the ring @ctx: an operation begins. Its offset has the ring, its
 * length the number of completions so far. */
static __always_inline void ring_wait_begins(struct task_state *t, u64 ctx)
{
	struct op *op = &t->op;

	if (!CONF(ring_waits) || !t->ring || op->stage)
		return;
	op->call = CALL_URING_ENTER;
	op->acts = 0;
	row_clear(&op->file);
	op->fd = -1;
	op->offset = ctx;
	op->len = ring_at(t->ring)->put;
	op_start(op, OP_GETEVENTS, OP_AWAITS, bpf_ktime_get_ns());
}

/* Current waits for completions of the ring @ctx. */
static __always_inline void ring_waits(u64 ctx)
{
	struct io_ring_ctx *c = (void *)ctx;
	struct task_state *t = current_lookup();
	u32 flags;

	if (!t)
		return;
	flags = BPF_CORE_READ(c, flags);
	if (flags & IORING_SETUP_SQPOLL)
		return;
	if (!t->ring_entered)
		ring_enters(ctx, BPF_CORE_READ(c, rings, cq.head), BPF_CORE_READ(c, cached_cq_tail),
			    flags);
	ring_wait_begins(t, ctx);
}

/* Current returns to user space. If this call has entered a ring, current leaves the ring; else
 * @t has the number of the ring that was entered in a former call. */
static __always_inline void ring_left(struct task_state *t, u64 now)
{
	u32 nr = t->ring;

	if (!t->ring_entered)
		return;
	t->ring_entered = 0;
	if (!nr)
		return;
	ring_at(nr)->left = now;
	ring_at(nr)->entered = 0;
}

/* Current returns to user space at @now from its wait for completions. Returns whether the wait
 * counts. If the ring has lost its place meanwhile, nobody knows. */
GLOBAL u32 ring_waited(u64 now)
{
	struct task_state *t = CONF(ring_waits) ? current_lookup() : NULL;
	struct uring_ring *r;
	struct async_op *e;
	struct op *op;
	u32 put;

	if (!t || !t->ring)
		return 0;
	ring_left(t, now);
	op = &t->op;
	r = ring_at(t->ring);
	put = r->put;
	if (r->ctx != op->offset || put == (u32)op->len)
		return 0;
	e = async_at(ring_slot(t->ring, put - 1));
	if (e && e->req == t->ring)
		op->file = e->op.file;
	op->offset = OFFSET_UNKNOWN;
	op->len = ~0ULL;
	return 1;
}

/* Counts all completions of ring @nr, and gives up its place. */
static __always_inline void ring_forget(u32 nr)
{
	ring_empty(nr);
	ring_at(nr)->ctx = 0;
	ring_at(nr)->task = 0;
	ring_at(nr)->entered = 0;
}

/* Current submits to the ring @ctx. A thread of the kernel polls it. The ring may have the address
 * of a former one. Nobody would take its completions out of the former's list. */
GLOBAL int ring_polled(u64 ctx)
{
	u32 nr = CONF(reap_rings) ? ring_find(ctx) : 0;

	if (nr)
		ring_forget(nr);
	return 0;
}

/* Gives up the place of ring @nr if @task entered it last. A function, as the next: else the
 * verifier walks it anew for each ring. */
GLOBAL int ring_forget_of(u32 nr, u64 task)
{
	if (CONF(reap_rings) && ring_at(nr)->task == task)
		ring_forget(nr);
	return 0;
}

GLOBAL int rings_forget(u64 task)
{
	if (!CONF(reap_rings))
		return 0;
#pragma clang loop unroll(disable)
	for (u32 nr = 1; nr <= REAP_RINGS; nr++)
		ring_forget_of(nr, task);
	return 0;
}

/* The thread @task ends. Other threads of its rings get a place again when they enter one. */
static __always_inline void ring_exits(u64 task)
{
	struct task_state *t = task_lookup(task);

	if (t && t->rings)
		rings_forget(task);
}

/* Reads the tail of the ring @ctx, number @nr: a completion of 32 bytes moves it by two, and so may
 * one at the end of the ring. Kernels with such rings move it before the event. */
GLOBAL int ring_read_tail(u64 ctx, u32 nr)
{
	ring_at(nr)->tail = BPF_CORE_READ((struct io_ring_ctx *)ctx, cached_cq_tail);
	return 0;
}

/* A completion comes into the ring @ctx, of any request. The number of the ring, or 0 if it is not
 * known. */
static __always_inline u32 ring_completes(u64 ctx)
{
	u32 nr = ctx ? ring_find(ctx) : 0;

	if (nr && unlikely(ring_at(nr)->mixed))
		ring_read_tail(ctx, nr);
	else if (nr)
		ring_at(nr)->tail++;
	return nr;
}

/* The operation in slot @at has completed in the ring @nr at @now, with @res; it is charged until
 * then. Puts it into the list of the ring. Returns 0 if the list is full, or another ring has the
 * place: the next completion tries the next one. */
GLOBAL u32 ring_put(u32 at, u32 nr, int res, u64 now)
{
	struct async_op *u = CONF(reap_rings) ? async_at(at) : NULL, *e;
	struct uring_ring *r = ring_at(nr);
	u32 slot = ring_slot(nr, r->put);

	e = u && r->put - r->got < REAP_PLACES ? async_at(slot) : NULL;
	if (!e)
		return 0;
	if (__sync_val_compare_and_swap(&e->req, 0, (u64)nr)) {
		r->put++;
		return 0;
	}
	if (CONF(segments) && !e->op.segments)
		e->op.segments = TASK_SLOTS + slot;
	op_move(&e->op, &u->op);
	if (CONF(op_owner))
		e->who = u->who;
	if (CONF(stacks)) {
		e->stack_weight = u->stack_weight;
		e->submission = u->submission;
	}
	e->parked = now;
	e->flags = 0;
	e->posted = 1;
	e->ret = res;
	e->position = r->tail - 1;
	e->task = u->task;
	barrier();
	r->put++;
	return 1;
}

#endif
