/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * async_bio.bpf.h - the operations that are not a thread's (see async.bpf.h), and which bios are
 * theirs: when a bio is done, its times go to its operation.
 */
#ifndef IOSTRATA_ASYNC_BIO_BPF_H
#define IOSTRATA_ASYNC_BIO_BPF_H

#include "completion.bpf.h"
#include "function.bpf.h"
#include "op.bpf.h"

/* A request of io_uring or libaio. Who writes what is told in async.bpf.h. */
struct async_op {
	struct op op;    /* as it was parked; stage 0: a thread executes it */
	u64 parked;      /* since when nobody does */
	u64 task;        /* who submitted it */
	u64 begun;       /* op.start, also while a thread executes it */
	u16 batch;       /* of that thread's, when it was parked */
	u8 queued;       /* for a worker */
	u8 linked;       /* to a request that comes first */
	u8 polls;        /* its thread, for requests or for their completion */
	u8 vague;        /* nobody saw when its thread stopped to execute it */
	u32 worker_bios; /* that the worker submitted */
	u64 worker_reads; /* bytes, as op.device_bytes */
	struct sent_who who; /* only with op_owner */
	struct done last;    /* the bio that was done last; whose: 1, | DONE_READ, | DONE_EARLIER */
};

/* A bio that read ahead for an earlier request at this address, and outlived it. A buffered read
 * may have waited for it; any other request has not. */
#define DONE_EARLIER (1ULL << 33)

/* What a bio belongs to. A request's address alone may be another's by the time the bio is done. */
struct async_ref {
	u64 req;
	u64 begun;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct async_op);
} async_ops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct async_ref);
} async_bios SEC(".maps");

_Static_assert(sizeof(zeroes) >= sizeof(struct async_op), "async_op");

static __always_inline struct async_op *async_find(u64 req)
{
	return bpf_map_lookup_elem(&async_ops, &req);
}

static __always_inline void async_bio_add(u64 bio, u64 req, u64 begun)
{
	struct async_ref ref = { req, begun };

	if (!bpf_map_update_elem(&async_bios, &bio, &ref, BPF_NOEXIST))
		atomic_add(&live.async_bios, 1);
	else if (bpf_map_update_elem(&async_bios, &bio, &ref, BPF_EXIST))
		count_lost(LOST_MAP_FULL);
}

/* @split is the first part of @bio. */
static __always_inline void async_bio_split(u64 bio, u64 split)
{
	struct async_ref *ref = live.async_bios ? bpf_map_lookup_elem(&async_bios, &bio) : NULL;

	if (ref)
		async_bio_add(split, ref->req, ref->begun);
}

/* @bio ends, or ended before it had a request: no room, and its submitter does not wait. */
static __always_inline void async_bio_forget(u64 bio)
{
	if (!bpf_map_delete_elem(&async_bios, &bio))
		atomic_add(&live.async_bios, -1);
}

#define ASYNC_BIOS_END (~0ULL)

/* @bio is done, as mark @nr tells, which this program has just set. (Where it can be preempted, a
 * switch may have cleared that.) */
GLOBAL int async_bio_done(u64 bio, u64 nr)
{
	struct mark *m = mark_at(nr);
	struct done last = {};
	struct async_ref *found, ref;
	struct async_op *u;

	if (!CONF(async))
		return 0;
	found = bpf_map_lookup_elem(&async_bios, &bio);
	if (!found)
		return 0;
	ref = *found;
	async_bio_forget(bio);
	u = async_find(ref.req);
	if (!u || !m->times.c)
		return 0;
	last.whose = 1 | (m->is_read ? DONE_READ : 0);
	if (u->begun != ref.begun) {
		if (u->last.whose && !(u->last.whose & DONE_EARLIER))
			return 0;
		last.whose |= DONE_EARLIER;
	}
	last.times = m->times;
	last.check = done_check(&last);
	u->last = last;
	return 0;
}

/* As async_bios_done(), for at most BIO_STEP of them. Returns how many bytes are left, or
 * ASYNC_BIOS_END. */
GLOBAL u64 async_bios_step(u64 bio, u64 bytes, u64 nr)
{
	u64 size;

	for (int i = 0; i < BIO_STEP; i++) {
		size = BPF_CORE_READ((struct bio *)bio, bi_iter.bi_size);
		if (size > bytes)
			return ASYNC_BIOS_END;
		bytes -= size;
		async_bio_done(bio, nr);
		bio = (u64)BPF_CORE_READ((struct bio *)bio, bi_next);
		if (!bio)
			return ASYNC_BIOS_END;
	}
	return bytes;
}

/* The bio that comes BIO_STEP bios after @bio. */
GLOBAL u64 bio_after_step(u64 bio)
{
	for (int i = 0; i < BIO_STEP; i++)
		bio = (u64)BPF_CORE_READ((struct bio *)bio, bi_next);
	return bio;
}

/* The bios in the first @bytes of a request are done, as mark @nr tells; @bio is the first. */
GLOBAL int async_bios_done(u64 bio, u64 bytes, u64 nr)
{
	if (!CONF(async))
		return 0;
	for (int i = 0; i < BIO_WALK / BIO_STEP && bio; i++) {
		bytes = async_bios_step(bio, bytes, nr);
		if (bytes == ASYNC_BIOS_END)
			break;
		bio = bio_after_step(bio);
	}
	return 0;
}

#endif
