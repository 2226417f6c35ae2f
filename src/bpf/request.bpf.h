/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * request.bpf.h - a request from its dispatch (D) to its completion (C).
 *
 * A bio has a state from Q until the bio is done, or merged into another. The state of a request's
 * first bio is also the request's, until the request is finished for good. A request without such a
 * bio gets a state at its first dispatch. States are dropped at once, since bios and requests are
 * soon used again. C is block_rq_complete: also raised for batched completion, and sometimes
 * several times for one request.
 */
#ifndef IOSTRATA_REQUEST_BPF_H
#define IOSTRATA_REQUEST_BPF_H

#include "bio.bpf.h"

/* The state of @rq: the state of its first bio, @bio, or a separate one. NULL: none, or not in the
 * usual place. */
static __always_inline struct io_state *request_io(struct request *rq, struct bio *bio)
{
	struct io_state *io = NULL;

	if (bio)
		io = io_find(bio_key(bio), rq->mq_ctx->cpu);
	return io ? io : io_hashed(request_key(rq));
}

/* Like request_io(), but looks in all places. */
static __always_inline struct io_state *request_io_anywhere(struct request *rq, struct bio *bio)
{
	struct io_state *io = request_io(rq, bio);

	if (!io && bio && io_search(bio_key(bio)))
		io = io_hashed(bio_key(bio));
	return io;
}

static __always_inline void path_learn(u32 path, u32 disk)
{
	if (bpf_map_lookup_elem(&paths, &path))
		return;
	if (bpf_map_update_elem(&paths, &path, &disk, BPF_ANY))
		count_lost(LOST_MAP_FULL);
	live.paths = 1;
}

/* The device number of the disk of @rq (of the whole disk if @rq was sent by a path), or 0 if @rq
 * has no disk. */
static __always_inline u32 request_dev(struct request *rq)
{
	struct gendisk *disk = request_disk(rq);
	u32 dev = disk ? disk_dev(disk) : 0;
	u32 *whole = live.paths ? bpf_map_lookup_elem(&paths, &dev) : NULL;

	return whole ? *whole : dev;
}

/* Current, with state @t or none, submits @io, which has no bio: its owner, and the keys of its
 * row.
 */
static __always_inline void io_own(struct io_state *io, struct task_state *t, u64 id)
{
	struct file_info f = {};

	io->tid = id;
	if (t)
		op_file(&t->op, &f);
	if (CONF(rq_by))
		key_set_by(io->by, &f);
	if (CONF(by) == BY_THREAD)
		current_name(&io->name, bpf_ktime_get_ns());
	else if (CONF(rq_by) && BY_NAMES_THREADS(CONF(by)))
		row_name_submitter(io->by[0]);
	if (CONF(sent_requests)) {
		who_set(&io->who, NULL);
		io->file.key = file_key_of(&f);
		io->file.ino = f.ino;
	}
}

/* @io is a driver command (from SG_IO, an ioctl of NVMe, io_uring's command). It has no submitted
 * bio. Its owner is current, who hands it to the driver; but a kernel thread does so for others.
 */
static __always_inline void command_own(struct io_state *io)
{
	struct task_state *t = current_lookup();
	u64 id = bpf_get_current_pid_tgid();

	if (io->op != RQ_OTHER || !id || current_flags() & PF_KTHREAD)
		return;
	io->counted = dev_wanted(io->dev) && current_wanted(id);
	io_own(io, t, id);
}

/* Creates a state for @rq, whose bio has none. Returns NULL if there is no room. */
static __always_inline struct io_state *request_new(struct request *rq)
{
	struct io_state io = {
		.key = request_key(rq),
		.dev = request_dev(rq),
		.op = rq_op(rq->cmd_flags),
	};

	/* a flush, say, has no owner */
	io.counted = dev_wanted(io.dev) && !CONF(process_filter);
	command_own(&io);
	io_hash(&io);
	return io_hashed(io.key);
}

/* The bio of @other comes after the first bio of the request @io. The earlier submitter owns the
 * request. */
static __always_inline void io_absorb(struct io_state *io, const struct io_state *other)
{
	/* 0 (not known) counts as later than all times */
	if (other->q - 1 < io->q - 1) {
		io->q = other->q;
		io->tid = other->tid;
		io->throttled = other->throttled;
		io->outside = other->outside;
		if (CONF(rq_by)) {
			io->by[0] = other->by[0];
			io->by[1] = other->by[1];
		}
		if (CONF(by) == BY_THREAD)
			io->name = other->name;
		if (CONF(helpers))
			io->helper = other->helper;
		if (CONF(sent_requests)) {
			io->who = other->who;
			io->file = other->file;
		}
		io->counted = other->counted;
	}
	if (other->g - 1 < io->g - 1)
		io->g = other->g;
}

/* Like bios_unhash(), for at most BIO_STEP bios. */
GLOBAL u64 bios_unhash_step(u64 key)
{
#pragma clang loop unroll_count(BIO_UNROLL)
	for (int i = 0; i < BIO_STEP && key; i++) {
		if (bpf_map_delete_elem(&ios, &key))
			break;
		atomic_add(&live.hashed, -1);
		key = (u64)BPF_CORE_READ((struct bio *)key, bi_next);
	}
	return key;
}

/* Ends the states of the bio @key and the bios after it, up to the first whose state is not in the
 * hash. Returns the key of this bio, or 0 if there is none. */
GLOBAL u64 bios_unhash(u64 key)
{
	u64 next;

	for (int i = 0; i < BIO_WALK / BIO_STEP && key; i++) {
		next = bios_unhash_step(key);
		if (next == key)
			break;
		key = next;
	}
	return key;
}

/* The state of the bio @key, a part of @rq, or NULL if the state is not in its slot. */
static __always_inline struct io_state *behind_slot(struct request *rq, u64 key)
{
	struct io_state *io = io_slot(key, request_untrusted(rq)->mq_ctx->cpu);

	return io->key == key ? io : NULL;
}

/*
 * The bios after the first of @rq may have separate states: the first bio before a front merge, or
 * a discard. Discards are merged without an event. These states are in the hash. Only the last may
 * be in a slot, if its bio was the first before all merges.
 *
 * At dispatch the request's state @io takes these states over. Only ABSORB_WALK states in the hash
 * are taken over, since each is costly to verify; the others are dropped.
 */
static __always_inline void request_absorb(struct request *rq, struct bio *bio, struct io_state *io)
{
	struct io_state *other;
	u64 key;

	bio = bio_untrusted(bio)->bi_next;
	for (int i = 0; i < ABSORB_WALK && bio; i++) {
		other = io_hashed(bio_key(bio));
		if (!other)
			break;
		io_absorb(io, other);
		io_unhash(bio_key(bio));
		bio = bio->bi_next;
	}
	key = bios_unhash(number(bio_key(bio)));
	other = key ? behind_slot(rq, key) : NULL;
	if (!other)
		return;
	io_absorb(io, other);
	io_parts(other);
	io_drop(other);
}

/* @rq is merged into another request, with all its bios. Discards keep their states, as if each had
 * been merged alone: more discards may follow them. */
static __always_inline void request_merged(struct request *rq)
{
	struct bio *bio = rq->bio;
	struct io_state *io = request_io_anywhere(rq, bio), *other;
	u64 key;

	if (!io || io->op == RQ_DISCARD)
		return;
	if (io->hashed && bio) {
		key = bios_unhash(number(bio_key(bio_untrusted(bio)->bi_next)));
		other = key ? behind_slot(rq, key) : NULL;
		if (other) {
			io_parts(other);
			io_drop(other);
		}
	}
	merged_note(io);
	io_parts(io);
	io_drop(io);
}

/* When the flush machinery of @dev began to work for a request allocated at @g; @otherwise if this
 * is not known. */
static __always_inline u64 flush_since(u32 dev, u64 g, u64 otherwise)
{
	u64 *d = bpf_map_lookup_elem(&flushes, &dev);

	return d && *d >= g && *d < otherwise ? *d : otherwise;
}

/* A device without requests passed its bio @io on to a device with requests, and does not see when
 * the bio is done. The bio counts as a request of the other device, unless this is only a path to
 * the first. */
static __always_inline void bio_passed_on(struct io_state *io, struct request *rq)
{
	struct gendisk *disk = request_disk(rq);
	u32 dev;

	io->bio_based = 0;
	io->op = rq_op(rq->cmd_flags);
	if (!disk)
		return;
	dev = disk_dev(disk);
	if (disk_is_hidden(disk)) {
		path_learn(dev, io->dev);
		return;
	}
	io->dev = dev;
	if (!CONF(process_filter))
		io->counted = dev_wanted(dev);
}

/* Notes the members that only records show. */
static __always_inline void request_note(struct io_state *io, struct request *rq, struct bio *bio)
{
	u32 bios = 0;

	io->sector = rq->__sector;
	io->cmd_flags = rq->cmd_flags;
	if (bio)
		bio = bio_untrusted(bio)->bi_next;
	for (int i = 0; i < BIO_WALK && bio; i++) {
		bios++;
		bio = bio->bi_next;
	}
	io->merges = bios;
}

/* The bio of @rq has the state @io and was dispatched before. Whether it is sent again by another
 * path of its disk: the former path has failed, and gave its bios back without an event. */
static __always_inline bool bio_is_sent_again(const struct io_state *io, struct request *rq)
{
	struct gendisk *disk = live.paths && io->key != request_key(rq) ? request_disk(rq) : NULL;

	return disk && disk_is_hidden(disk);
}

/* D: @rq is dispatched. */
static __always_inline void request_issued(struct request *rq)
{
	u64 now = bpf_ktime_get_ns(), key = request_key(rq);
	struct bio *bio = rq->bio;
	struct io_state *io = request_io_anywhere(rq, bio);
	u32 dev;

	if (io && io->requeued) {
		io->requeued = 0;
		io->d = now;
		return;
	}
	if (io && io->d && bio_is_sent_again(io, rq)) {
		io->requeues++;
	} else if (io && io->d) {
		if (io->counted)
			count_lost(LOST_UNMATCHED_REQUESTS);
		if (io->key == key) {
			io_drop(io);
			io = NULL;
		}
	}
	if (!io && bio)
		io = split_passed_on(bio_key(bio));
	if (!io)
		io = request_new(rq);
	if (!io)
		return;
	if (io->bio_based)
		bio_passed_on(io, rq);
	if (io->hashed && bio)
		request_absorb(rq, bio, io);
	if (io->g < io->q)
		io->g = io->q;
	io->bytes = 0;
	io->d = now;
	if (CONF(sent_requests))
		request_note(io, rq, bio);
	else if (CONF(rq_accesses))
		io->sector = rq->__sector;
	dev = io->dev;
	if (io->op == RQ_FLUSH) {
		if (bpf_map_update_elem(&flushes, &dev, &now, BPF_ANY))
			count_lost(LOST_MAP_FULL);
	} else if (request_in_flush_sequence(rq)) {
		io->d = flush_since(dev, io->g, now);
	}
}

static __always_inline void request_requeued(struct request *rq)
{
	struct io_state *io = request_io(rq, rq->bio);

	if (!io || !io->d)
		return;
	io->requeued = 1;
	io->requeues++;
}

/* The times of the request @io, in order. It completes at @now. */
static __always_inline struct rq_times request_times(const struct io_state *io, u64 now)
{
	struct rq_times times = { .held = io->q, .q = io->q, .g = io->g, .d = io->d, .c = now };

	if (!io->q)
		times.held = times.q = times.g = times.d;
	if (times.d < times.g)
		times.d = times.g;
	if (times.c < times.d)
		times.c = times.d;
	if (io->throttled && CONF(arg_pause))
		times.held = 0; /* the throttle stratum is measured */
	return times;
}

/* The request @io is finished for good. */
static __always_inline void request_finish(const struct io_state *io, u64 now, bool level_known)
{
	struct rq_times times = request_times(io, now);

	if (io->counted)
		request_done(io, &times, 1);
	completion_announce(&times, io->tid, io->op == RQ_READ, now + REQUEST_END_NS, level_known);
}

/* Whether @rq completes with no bytes, after all its bios: dm-multipath ends the bios along with
 * those of the clone. False for driver commands: they have no bio from the start. */
static __always_inline bool request_has_ended(struct request *rq, u32 bytes)
{
	return !bytes && !rq->bio && (rq->cmd_flags & REQ_OP_MASK) < REQ_OP_DRV;
}

/* The bios that a completion covers: none is done; all that are left; or some, and the request goes
 * on. */
enum covered { COVERED_NONE, COVERED_ALL, COVERED_SOME };

/*
 * C: @rq completes. A completion is not final while data remain, nor for a data step of a flush
 * sequence (preflush, data, postflush). A further completion, after RQF_FLUSH_SEQ was cleared,
 * wakes the waiters. The internal flush request has this flag, too, but ends for good. A flush
 * without data was never dispatched itself: its times are those of its bio and of the internal
 * flush.
 *
 * Returns the bios that are done. The mark of this completion has their times.
 */
static __always_inline enum covered request_completed(struct request *rq, int error, u32 bytes,
						      bool level_known)
{
	u64 now = bpf_ktime_get_ns();
	struct io_state *io = request_io_anywhere(rq, rq->bio);
	bool in_sequence = request_in_flush_sequence(rq);
	struct rq_times times;

	if (!io) {
		if (!in_sequence && !request_has_ended(rq, bytes) && !CONF(process_filter) &&
		    dev_wanted(request_dev(rq)))
			count_lost(LOST_UNMATCHED_END);
		return COVERED_NONE;
	}
	if (!io->d) {
		if (io->bio_based)
			bio_passed_on(io, rq);
		if (io->g < io->q)
			io->g = io->q;
		io->bytes = 0;
		io->d = flush_since(io->dev, io->g, now);
	}
	if (error) {
		io->failed = 1;
		io->error = error;
	} else {
		io->bytes += bytes;
	}
	if (bytes < rq->__data_len) {
		times = request_times(io, now);
		if (CONF(async) && !in_sequence)
			mark_set(&times, io->tid, io->op == RQ_READ, now + BIO_END_NS,
				 interrupt_level(level_known));
		/* the first bio may be done: the next completion will have another */
		if (io->key != request_key(rq))
			io_move(io, request_key(rq));
		return in_sequence ? COVERED_NONE : COVERED_SOME;
	}
	if (in_sequence && io->op != RQ_FLUSH)
		return COVERED_NONE;
	request_finish(io, now, level_known);
	if (CONF(async) && io->async)
		async_bio_done(io->async, io->q,
			       mark_number(current_cpu(), interrupt_level(level_known)), ~0ULL);
	io_drop(io);
	return in_sequence ? COVERED_NONE : COVERED_ALL;
}

/* The bios in the first @bytes of @rq are done; the mark of this completion has the times. */
static __always_inline void request_bios_done(struct request *rq, u32 bytes, bool level_known)
{
	if (live.async_bios)
		async_bios_done((u64)BPF_CORE_READ(rq, bio), bytes,
				mark_number(current_cpu(), interrupt_level(level_known)));
}

#endif
