/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * async_bio.bpf.h - the table of requests of io_uring and libaio (see async.bpf.h), and the bios of
 * each request: when a bio is done, its times go to its request.
 */
#ifndef IOSTRATA_ASYNC_BIO_BPF_H
#define IOSTRATA_ASYNC_BIO_BPF_H

#include "completion.bpf.h"
#include "function.bpf.h"
#include "io.bpf.h"
#include "op.bpf.h"

static __always_inline struct async_op *async_at(u32 at)
{
	return bpf_map_lookup_elem(&async_ops, &at);
}

/* The place for address @req at the given @try. Steps are odd and depend on the address: two
 * addresses with a place in common do not share the next. */
static __always_inline u32 async_place(u64 req, u32 try)
{
	u64 hash = (u64)low_half(req) * HASH_FACTOR;

	return ((hash >> 32) + try * (hash >> 12 | 1)) & (CONF(async_slots) - 1);
}

/* The slot of address @req, or 0 if there is none. (CONF(async) is for the verifier. Before 6.8 it
 * also walks functions that only dead code calls, and refuses those with a map that was not
 * created.) */
GLOBAL u64 async_index(u64 req)
{
	struct async_op *u;
	u32 at;

	for (u32 try = 0; CONF(async) && try < ASYNC_TRIES; try++) {
		at = async_place(req, try) + 1;
		u = async_at(at);
		if (!u || !u->req)
			break;
		if (u->req == req)
			return at;
	}
	return 0;
}

/* Like async_index(), but looks at the usual place without a function call. */
static __always_inline u32 async_slot(u64 req)
{
#ifdef FUNCTIONS
	u32 at = async_place(req, 0) + 1;
	struct async_op *u = async_at(at);

	if (likely(u && u->req == req))
		return at;
#endif
	return async_index(req);
}

/* The request at address @req, if it is in progress in slot @at; else NULL. */
static __always_inline struct async_op *async_find_at(u64 req, u32 at)
{
	struct async_op *u = async_at(at);

	return u && u->req == req && u->task ? u : NULL;
}

/* The request in progress at address @req, or NULL if there is none. */
static __always_inline struct async_op *async_find(u64 req)
{
	return async_find_at(req, async_slot(req));
}

/* @bio ends, or ended before it got a request: none was free, and its submitter does not wait. */
static __always_inline void async_bio_forget(u64 bio)
{
	/* subtracts 1 if there was an entry, without a branch */
	atomic_add(&live.async_bios, ~(bpf_map_delete_elem(&async_bios, &bio) >> 63));
}

/* A bio submitted at @q for the request in slot @at is done. This program has just set mark @nr,
 * with the times. (Where the program can be preempted, a thread switch may have cleared the mark.)
 * @of_request: 0 if the mark is of the bio itself; ~0 if it is of a block request, into which the
 * bio's own request may have been merged. If the request in the slot has ended, nothing reads the
 * result. */
GLOBAL int async_bio_done(u32 at, u64 q, u64 nr, u64 of_request)
{
	struct async_op *u = CONF(async) ? async_at(at) : NULL;
	struct mark *m = mark_at(nr);
	struct done last = {};
	u64 earlier, held, sooner;

	if (!u)
		return 0;
	earlier = (q - u->begun) >> 63; /* no branches: the verifier walks this for each bio */
	barrier_var(earlier);
	last.times = m->times;
	/* if its request was merged into a younger one, it was in the queue until then */
	held = last.times.held;
	held |= last.times.q & (s64)(held - 1) >> 63; /* @held is 0 after a throttled bio */
	sooner = (s64)(q - held) >> 63 & of_request;
	barrier_var(sooner);
	last.times.held += (q - last.times.held) & sooner;
	last.times.q += (q - last.times.q) & sooner;
	last.times.g += (q - last.times.g) & sooner;
	last.thread = 1 | (u64)m->is_read << 32 | earlier << 33;
	last.check = done_check(&last);
	if (!last.times.c || (earlier && u->last.thread && !(u->last.thread & DONE_EARLIER)))
		return 0;
	u->last = last;
	return 0;
}

/* The same for @bio, whose state is gone: async_bios has the slot of its request. */
static __always_inline void async_parted_done(u64 bio, u64 nr)
{
	struct async_ref *found = bpf_map_lookup_elem(&async_bios, &bio), ref;

	if (!found)
		return;
	ref = *found;
	async_bio_forget(bio);
	async_bio_done(ref.at, ref.q, nr, ~0ULL);
}

#define ASYNC_BIOS_END (~0ULL)

/* Like async_bios_done(), for at most BIO_STEP bios. Returns how many bytes are left, or
 * ASYNC_BIOS_END. */
GLOBAL u64 async_bios_step(u64 bio, u64 bytes, u64 nr)
{
	u64 size;

#pragma clang loop unroll_count(BIO_UNROLL)
	for (int i = 0; CONF(async) && i < BIO_STEP; i++) {
		size = BPF_CORE_READ((struct bio *)bio, bi_iter.bi_size);
		if (size > bytes)
			return ASYNC_BIOS_END;
		bytes -= size;
		async_parted_done(bio, nr);
		bio = (u64)BPF_CORE_READ((struct bio *)bio, bi_next);
		if (!bio)
			return ASYNC_BIOS_END;
	}
	return bytes;
}

/* The bio BIO_STEP bios after @bio. */
GLOBAL u64 bio_after_step(u64 bio)
{
	for (int i = 0; i < BIO_STEP; i++)
		bio = (u64)BPF_CORE_READ((struct bio *)bio, bi_next);
	return bio;
}

/* The bios in the first @bytes of a block request are done; mark @nr has the times. @bio is the
 * first. This is for bios whose state is gone. */
GLOBAL int async_bios_done(u64 bio, u64 bytes, u64 nr)
{
	if (!CONF(async))
		return 0;
	for (int i = 1; bio; i++) {
		bytes = async_bios_step(bio, bytes, nr);
		if (bytes == ASYNC_BIOS_END || i == BIO_WALK / BIO_STEP)
			break;
		bio = bio_after_step(bio);
	}
	return 0;
}

#endif
