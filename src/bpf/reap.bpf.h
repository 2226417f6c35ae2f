/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reap.bpf.h - an operation of io_uring from its completion until its thread takes the completion
 * out of the ring: the stratum reap.
 *
 * No event tells when a thread takes completions: it moves the head of the ring in memory which it
 * shares with the kernel. So a finished operation waits in the list of its ring. When a thread
 * enters the ring, the completions before the head have been taken since a thread last left it. The
 * time from there to the entry is the thread's own, so reap ends where the thread left.
 *
 * If the list of the ring is full, or the ring has no place, an operation ends at its completion,
 * which is counted as lost (LOST_MAP_FULL). So does one of a ring with a polling thread
 * (IORING_SETUP_SQPOLL), which is no loss: its owner need not enter it at all.
 *
 * A list has the slots of operations. A finished one stays in its slot until its thread enters the
 * ring, or until the kernel begins another request at the same address; see async_make_room().
 *
 * The head is memory of user space, and may be any number. A wrong one makes reap shorter or
 * longer, and nothing else: a list has REAP_PLACES places, and each is taken once.
 */
#ifndef IOSTRATA_REAP_BPF_H
#define IOSTRATA_REAP_BPF_H

#include "async.bpf.h"

#define IORING_SETUP_SQPOLL 2

enum { RING_TRIES = 4, RING_IDLE_NS = 1000000000 };

/* The ring of number @nr, which is not 0. */
static __always_inline struct uring_ring *ring_at(u32 nr)
{
	u64 at = nr - 1;

	barrier_var(at); /* the verifier of 6.1 needs the mask */
	return &uring_rings[at % REAP_RINGS];
}

static __always_inline u32 ring_place(u64 ctx, u32 try)
{
	return (((u64)low_half(ctx) * HASH_FACTOR >> 32) + try) & (CONF(reap_rings) - 1);
}

/* The number of the ring @ctx; 0: it is not known. */
static __always_inline u32 ring_find(u64 ctx)
{
	u32 nr;

	for (u32 try = 0; try < RING_TRIES; try++) {
		nr = ring_place(ctx, try) + 1;
		if (ring_at(nr)->ctx == ctx)
			return nr;
	}
	return 0;
}

/* The place in @uring_posted of completion number @n of the ring @nr. */
static __always_inline u32 ring_posted(u32 nr, u32 n)
{
	return (nr - 1) * REAP_PLACES + n % REAP_PLACES;
}

/* Counts the oldest completion in the list of ring @nr if it lies before @head, or with @all. 1: it
 * did. A function, which the verifier walks once instead of once for each place. */
GLOBAL u32 ring_take(u32 nr, u32 head, u32 all)
{
	struct uring_ring *r = ring_at(nr);
	u32 got = r->got, *place = posted_place(ring_posted(nr, got)), at = *place;
	struct async_op *e = CONF(reap_rings) ? async_at(at) : NULL;

	if (!e || (!all && (int)(head - e->position) <= 0))
		return 0;
	if (at && posted_take(place, at, 0)) {
		op_charge(&e->op, ST_REAP, r->left);
		async_keep(at, (long)e->ret);
		e->op.stage = 0;
		barrier();
		e->posted = 0;
	}
	r->got = got + 1;
	return 1;
}

/* The completions of ring @nr before @head were taken; with @all, all of them. */
static __always_inline void ring_reap(u32 nr, u32 head, bool all)
{
	struct uring_ring *r = ring_at(nr);

	for (u32 i = 0; CONF(reap_rings) && i < REAP_PLACES; i++)
		if (r->put == r->got || !ring_take(nr, head, all))
			break;
}

/* Counts all completions of ring @nr. */
GLOBAL int ring_empty(u32 nr)
{
	ring_reap(nr, 0, true);
	return 0;
}

/* Finds a place for the ring @ctx. 0: there is none. If the place was of an idle ring, its list may
 * still have completions. */
static __always_inline u32 ring_claim(u64 ctx, u64 now)
{
	struct uring_ring *r;
	u64 former;
	u32 nr;

	for (u32 try = 0; try < RING_TRIES; try++) {
		nr = ring_place(ctx, try) + 1;
		r = ring_at(nr);
		former = r->ctx;
		if (former && r->task && (s64)(now - r->left) < RING_IDLE_NS)
			continue;
		if (__sync_val_compare_and_swap(&r->ctx, former, ctx) != former)
			continue;
		return nr;
	}
	return 0;
}

/* Current enters the ring @ctx, whose completions before @head were taken, and whose tail is @tail.
 */
GLOBAL int ring_enters(u64 ctx, u32 head, u32 tail)
{
	struct task_state *t = CONF(reap_rings) ? task_get(current_task()) : NULL;
	struct uring_ring *r;
	u64 claimed = 0;
	u32 nr;

	if (!t)
		return 0;
	nr = ring_find(ctx);
	if (unlikely(!nr)) {
		claimed = bpf_ktime_get_ns();
		nr = ring_claim(ctx, claimed);
	}
	t->ring = nr;
	t->ring_entered = 1;
	if (!nr)
		return 0;
	r = ring_at(nr);
	r->task = t->task;
	/* a tail that went back is of another ring at the same address */
	ring_reap(nr, head, claimed || (int)(tail - r->tail) < 0);
	if (claimed)
		r->left = claimed;
	r->tail = tail;
	return 0;
}

/* Current, which has a state, waits for completions of the ring @ctx, which it has not entered. */
static __always_inline void ring_waits(u64 ctx)
{
	struct io_ring_ctx *c = (void *)ctx;

	if (!(BPF_CORE_READ(c, flags) & IORING_SETUP_SQPOLL))
		ring_enters(ctx, BPF_CORE_READ(c, rings, cq.head),
			    BPF_CORE_READ(c, cached_cq_tail));
}

/* Current, which had entered a ring, returns to user space. */
static __always_inline void ring_left(struct task_state *t, u64 now)
{
	u32 nr = t->ring;

	t->ring_entered = 0;
	if (nr)
		ring_at(nr)->left = now;
}

/* The thread @task ends. If other threads use its ring, the next one to enter takes the place
 * again. */
static __always_inline void ring_exits(u64 task)
{
#pragma clang loop unroll(disable)
	for (u32 nr = 1; nr <= REAP_RINGS && nr <= CONF(reap_rings); nr++) {
		if (ring_at(nr)->task != task)
			continue;
		ring_empty(nr);
		ring_at(nr)->task = 0;
	}
}

/* A completion comes into the ring @ctx, of any request. The number of the ring; 0: it is not
 * known. */
static __always_inline u32 ring_completes(u64 ctx)
{
	u32 nr = ctx ? ring_find(ctx) : 0;

	if (nr)
		ring_at(nr)->tail++;
	return nr;
}

/* Whether an operation of ring @ctx that ends at its completion is to be told as a loss. */
static __always_inline bool ring_is_missed(u64 ctx)
{
	return ctx && !(BPF_CORE_READ((struct io_ring_ctx *)ctx, flags) & IORING_SETUP_SQPOLL);
}

/* The operation @u in slot @at has completed in the ring @nr at @now, with @res; it is charged
 * until then. Puts it into the list of the ring. False: the list is full. */
static __always_inline bool ring_put(struct async_op *u, u32 at, u32 nr, int res, u64 now)
{
	struct uring_ring *r = ring_at(nr);
	u32 put = r->put, place = ring_posted(nr, put);

	if (put - r->got >= REAP_PLACES)
		return false;
	u->position = r->tail - 1;
	u->place = place;
	u->ret = res;
	u->parked = now;
	u->posted = u->task;
	*posted_place(place) = at;
	barrier();
	u->task = 0;
	r->put = put + 1;
	return true;
}

#endif
