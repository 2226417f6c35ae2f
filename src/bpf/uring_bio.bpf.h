/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * uring_bio.bpf.h - the operations of io_uring (see uring.bpf.h) that are not a thread's, and which
 * bios are theirs: when a bio is done, its times go to its request.
 */
#ifndef IOSTRATA_URING_BIO_BPF_H
#define IOSTRATA_URING_BIO_BPF_H

#include "completion.bpf.h"
#include "function.bpf.h"
#include "op.bpf.h"

/* An operation of io_uring. Who writes what is told in uring.bpf.h. */
struct uring_op {
	struct op op;    /* as it was parked; stage 0: a thread executes it */
	u64 parked;      /* since when nobody does */
	u64 task;        /* who submitted it */
	u16 batch;       /* of that thread's, when it was parked */
	u8 queued;       /* for a worker */
	u8 linked;       /* to a request that comes first */
	u8 polls;        /* its thread, for requests or for their completion */
	u8 vague;        /* nobody saw when its thread stopped to execute it */
	u8 worker_reads; /* the worker submitted bios that read */
	u32 worker_bios;
	struct sent_who who; /* only with op_owner */
	struct done last;    /* its own bio that was done last; whose: 1, | DONE_READ */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct uring_op);
} uring_ops SEC(".maps");

/* The request that a bio belongs to. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, u64);
} uring_bios SEC(".maps");

_Static_assert(sizeof(zeroes) >= sizeof(struct uring_op), "uring_op");

static __always_inline struct uring_op *uring_find(u64 req)
{
	return bpf_map_lookup_elem(&uring_ops, &req);
}

/* The request that current executes, if it is a worker of io_uring; else of no meaning. */
static __always_inline u64 uring_worker_request(void)
{
	struct io_worker *worker = (void *)task_kthread((void *)current_task());
	u64 work = (u64)BPF_CORE_READ(worker, cur_work);

	return work - bpf_core_field_offset(struct io_kiocb, work);
}

static __always_inline void uring_bio_add(u64 bio, u64 req)
{
	if (!bpf_map_update_elem(&uring_bios, &bio, &req, BPF_NOEXIST))
		atomic_add(&live.uring_bios, 1);
	else if (bpf_map_update_elem(&uring_bios, &bio, &req, BPF_EXIST))
		count_lost(LOST_MAP_FULL);
}

/* Current is a worker, and has submitted @bio; false: it does not work on an operation. */
static __always_inline bool uring_worker_bio(u64 bio, bool is_read)
{
	u64 req = uring_worker_request();
	struct uring_op *u = uring_find(req);

	if (!u)
		return false;
	u->worker_bios++;
	u->worker_reads |= is_read;
	uring_bio_add(bio, req);
	return true;
}

/* @split is the first part of @bio. */
static __always_inline void uring_bio_split(u64 bio, u64 split)
{
	u64 *req = live.uring_bios ? bpf_map_lookup_elem(&uring_bios, &bio) : NULL;

	if (req)
		uring_bio_add(split, *req);
}

/* @bio ends, or ended before it had a request: no room, and its submitter does not wait. */
static __always_inline void uring_bio_forget(u64 bio)
{
	if (!bpf_map_delete_elem(&uring_bios, &bio))
		atomic_add(&live.uring_bios, -1);
}

#define URING_BIOS_END (~0ULL)

/* @bio is done, as mark @nr tells, which this program has just set. (Where it can be preempted, a
 * switch may have cleared that.) */
GLOBAL int uring_bio_done(u64 bio, u64 nr)
{
	struct mark *m = mark_at(nr);
	struct done last = {};
	struct uring_op *u;
	u64 *found, req;

	if (!CONF(uring))
		return 0;
	found = bpf_map_lookup_elem(&uring_bios, &bio);
	if (!found)
		return 0;
	req = *found;
	uring_bio_forget(bio);
	u = uring_find(req);
	if (!u || !m->times.c)
		return 0;
	last.whose = 1 | (m->is_read ? DONE_READ : 0);
	last.times = m->times;
	last.check = done_check(&last);
	u->last = last;
	return 0;
}

/* As uring_bios_done(), for at most BIO_STEP of them. Returns how many bytes are left, or
 * URING_BIOS_END. */
GLOBAL u64 uring_bios_step(u64 bio, u64 bytes, u64 nr)
{
	u64 size;

	for (int i = 0; i < BIO_STEP; i++) {
		size = BPF_CORE_READ((struct bio *)bio, bi_iter.bi_size);
		if (size > bytes)
			return URING_BIOS_END;
		bytes -= size;
		uring_bio_done(bio, nr);
		bio = (u64)BPF_CORE_READ((struct bio *)bio, bi_next);
		if (!bio)
			return URING_BIOS_END;
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
GLOBAL int uring_bios_done(u64 bio, u64 bytes, u64 nr)
{
	if (!CONF(uring))
		return 0;
	for (int i = 0; i < BIO_WALK / BIO_STEP && bio; i++) {
		bytes = uring_bios_step(bio, bytes, nr);
		if (bytes == URING_BIOS_END)
			break;
		bio = bio_after_step(bio);
	}
	return 0;
}

#endif
