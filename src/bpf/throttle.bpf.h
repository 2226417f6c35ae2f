/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * throttle.bpf.h - what blk-throttle keeps back. What is noted here of a bio ends when kthrotld
 * queues it (owner.bpf.h).
 */
#ifndef IOSTRATA_THROTTLE_BPF_H
#define IOSTRATA_THROTTLE_BPF_H

#include "bio.bpf.h"

/* Half of what the smallest machine has room for: other states need some. */
enum { KEPT_BACK_MOST = 1024 };

static __always_inline bool notes_are_full(void)
{
	return !CONF(issuers) && live.hashed >= KEPT_BACK_MOST;
}

/* Whether an operation has something to tell of a bio that current submits: a call of a read, whose
 * bytes count; a request of io_uring or libaio of each, which it waits for. */
static __always_inline bool bio_matters(bool reads, u32 flags)
{
	struct task_state *t = current_lookup();

	if (!t)
		return CONF(uring) && flags & PF_IO_WORKER;
	return t->async || (reads && t->op.stage);
}

/* The operation that current is in, whose bio is kept back; NULL: none, or current is anybody. */
static __always_inline struct op *op_throttled(u32 level)
{
	struct task_state *t = CONF(waits) && !level ? current_lookup() : NULL;

	if (!t || !t->op.stage || !t->op.submitted)
		return NULL;
	t->op.submitted |= SUBMITTED_KEPT_BACK;
	return &t->op;
}

/* blk-throttle keeps back what remains of a bio that was split, which has the state @io and which
 * current submits. A timer may do so again, for a cgroup above. */
static __always_inline void bio_rest_throttled(struct io_state *io, u32 level)
{
	struct op *op = op_throttled(level);

	if (op) /* a device may have passed on the first part since */
		op->last_bio = io->key;
	if (CONF(async) && !io->throttled)
		async_bio_throttled(io_async(io));
	io->throttled = THROTTLED_AGAIN;
}

/* blk-throttle keeps back @bio, which current submits. It may do so again for each cgroup above
 * that has a limit; then current may be any thread, and kthrotld. If nobody sees it queued later,
 * this becomes the state of its request. */
static __always_inline void bio_throttled(struct bio *bio, bool level_known)
{
	u64 id = bpf_get_current_pid_tgid(), key = bio_key(bio);
	struct io_state io = {
		.key = key,
		.tid = id,
		.dev = disk_dev(bio_disk(bio)),
		.g = bpf_ktime_get_ns(), /* since then; see kept_back_async() */
		.bytes = bio->bi_iter.bi_size,
		.sector = bio->bi_iter.bi_sector,
		.op = rq_op(bio->bi_opf),
		.hashed = 1,
	};
	u32 flags = current_flags(), level = interrupt_level(level_known);
	struct io_state *seen = bio_io(bio);
	struct op *op;
	bool outside;

	if (seen && seen->q) {
		bio_rest_throttled(seen, level);
		return;
	}
	/* for a cgroup above, and nobody saw it the first time */
	if (!bio_dev_wanted(bio, io.dev) || level || current_is_kthrotld(flags))
		return;
	if (seen && seen->sector == io.sector && seen->bytes == io.bytes)
		return; /* for a cgroup above, by whatever thread */
	if (seen) /* of another bio at this address, whose end was not seen */
		io_unhash(key);
	/* or it would be taken for another bio when a cgroup above keeps it back */
	if (!level_known && notes_are_full()) {
		if (CONF(waits) && bio_matters(io.op == RQ_READ, flags))
			count_lost(LOST_MAP_FULL);
		return;
	}
	if (CONF(waits))
		submitter_note(id, bio, current_cpu(), bio_reads(bio, io.op), &outside, &io.async);
	op = op_throttled(level);
	if (CONF(async))
		async_bio_throttled(io.async);
	if (notes_are_full()) {
		if (io.async)
			count_lost(LOST_MAP_FULL);
		return;
	}
	/* nobody asks for it; but where the level is not known, this tells that it was seen */
	if (!CONF(issuers) && !op && !io.async && level_known)
		return;
	if (CONF(rq_by) && io_set_by(&io, bio, id, false))
		current_name(&io.name, bpf_ktime_get_ns());
	if (CONF(sent_requests))
		io_note_who(&io, bio, id, false);
	io.counted = own_bio_wanted(bio, id);
	if (!bpf_map_update_elem(&ios, &key, &io, BPF_NOEXIST))
		atomic_add(&live.hashed, 1);
	else
		count_lost(LOST_MAP_FULL);
}

#endif
