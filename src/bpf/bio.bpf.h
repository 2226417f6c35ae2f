/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bio.bpf.h - a bio from its submission (Q) until it gets a request (G), or until its end if it
 * gets none; and throttled bios.
 *
 * The owner of a bio is known at its submission. The state of the first bio of a request becomes
 * the state of the request (request.bpf.h). The state of a bio ends when the bio is merged into
 * another bio or request.
 */
#ifndef IOSTRATA_BIO_BPF_H
#define IOSTRATA_BIO_BPF_H

#include "done.bpf.h"
#include "helper.bpf.h"
#include "uring.bpf.h"
#include "wait.bpf.h"

#define REQ_OP_MASK 0xff /* this and the operations: include/linux/blk_types.h, 5.4 to 7.2 */

enum {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_FLUSH = 2,
	REQ_OP_DISCARD = 3,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_DRV = 32, /* the first passthrough operation: SCSI (old) and driver private */
};

/* include/linux/blk_types.h, 4.13 to 7.2: a bio that must not wait (REQ_NOWAIT) would have to. */
enum { BLK_STS_AGAIN = 12 };

/* A table: after each case of a switch, the verifier would walk the rest of the program anew. User
 * space makes a write of this kernel's number of a zone append (13; since 6.3: 7). */
const volatile unsigned char rq_ops[REQ_OP_MASK + 1] = {
	[REQ_OP_READ] = RQ_READ,
	[REQ_OP_WRITE] = RQ_WRITE,
	[REQ_OP_FLUSH] = RQ_FLUSH,
	[REQ_OP_DISCARD] = RQ_DISCARD,
	[4] = RQ_ZONE,
	[REQ_OP_SECURE_ERASE] = RQ_SECURE_ERASE,
	[6 ... 8] = RQ_ZONE,
	[REQ_OP_WRITE_ZEROES] = RQ_WRITE_ZEROES,
	[10 ... REQ_OP_DRV - 1] = RQ_ZONE,
	[REQ_OP_DRV... REQ_OP_MASK] = RQ_OTHER,
};

static __always_inline u8 rq_op(u32 flags)
{
	return rq_ops[flags & REQ_OP_MASK];
}

/* The operation of @bio, of @size bytes, on a device that has requests or not. A write without data
 * is a flush. With requests, the flush machinery turns the flush into a separate request. */
static __always_inline u8 bio_op(struct bio *bio, bool has_requests, u32 size)
{
	u8 op = rq_op(bio->bi_opf);

	return op == RQ_WRITE && !has_requests && !size ? RQ_FLUSH : op;
}

/* Whether the disk or the partition of @bio is traced. */
static __always_inline bool bio_dev_wanted(struct bio *bio, u32 dev)
{
	return dev_wanted(dev) || dev_wanted(bio_part_dev(bio));
}

/* The submission of a bio. */
struct submission {
	u64 now;
	u64 id; /* of current; 0 in an interrupt: no owner is known */
	u32 dev, size;
	u32 flags; /* of current, with conf.behalf */
	u32 async; /* as in struct io_state */
	u8 op;
	bool has_requests; /* the device */
	bool throttled;    /* current is kthrotld and queues a throttled bio */
	bool outside;
};

/* With conf.issuers: notes in @io the owner of @bio, and whether the filters pass the bio. */
static __always_inline void io_fill_issuer(struct io_state *io, struct bio *bio,
					   const struct submission *s)
{
	bool behalf = false, is_current = false, helps = false;

	if (CONF(sent_requests)) {
		io->error = 0;
		io->sector = bio->bi_iter.bi_sector;
		io->cmd_flags = bio->bi_opf;
		io->merges = 0;
		io_note_who(io, bio, s->id, s->throttled);
	}
	if (CONF(rq_by))
		is_current = io_set_by(io, bio, s->id, s->throttled);
	if (CONF(by) == BY_THREAD)
		behalf = io_set_behalf(io, bio, s->flags);
	if (is_current && !behalf)
		current_name(&io->name, io->q);
	if (CONF(helpers))
		helps = io_set_helper(io, bio, s->id && !s->throttled ? s->flags : 0);
	if (!bio_dev_wanted(bio, s->dev))
		io->counted = COUNTED_NOT;
	else if (s->id)
		io->counted = bio_wanted(bio, s->id, s->throttled, behalf, &io->tid);
	else
		io->counted = behalf || !CONF(process_filter);
	if (helps && !io->counted && bio_dev_wanted(bio, s->dev))
		io->counted = COUNTED_HELPER;
}

/* Fills @io for @bio at its submission. */
static __always_inline void io_fill(struct io_state *io, struct bio *bio,
				    const struct submission *s)
{
	bool counted;

	io->key = bio_key(bio);
	io->q = s->now;
	io->g = 0;
	io->d = 0;
	io->bytes = s->size;
	io->tid = s->id;
	io->dev = s->dev;
	io->requeues = 0;
	io->op = s->op;
	io->failed = 0;
	io->requeued = 0;
	io->bio_based = 0;
	io->throttled = s->throttled;
	/* the owner of a throttled bio may have been in an operation */
	io->outside = s->outside && !s->throttled;
	if (CONF(async))
		io->async = s->async;
	if (CONF(rq_accesses))
		io->sector = bio->bi_iter.bi_sector;
	if (CONF(issuers)) {
		io_fill_issuer(io, bio, s);
		return;
	}
	io->counted = bio_dev_wanted(bio, s->dev) && (!s->id || !is_tool(s->id));
	if (s->throttled)
		throttled_end(io->key, &io->tid, &counted);
}

static __always_inline u32 bio_reads(u8 op, u32 size)
{
	return op == RQ_READ ? size : 0;
}

/* Current, thread @tid, submits @bio at @now to read @read_bytes: notes this. Returns false if
 * current is in no operation, and never was in one. @ret_async: as in struct io_state. */
static __always_inline bool submitter_note(u32 tid, struct bio *bio, u32 cpu, u32 read_bytes,
					   u64 now, bool *ret_outside, u32 *ret_async)
{
	struct task_state *t = current_lookup();
	struct helper *h;

	*ret_outside = !t || !t->op.stage;
	if (!*ret_outside)
		op_submitted(&t->op, bio_key(bio), cpu, read_bytes);
	if (CONF(async) && (t ? t->async : CONF(uring) && current_flags() & PF_IO_WORKER)) {
		*ret_async = async_bio_queued(number((u64)bio->bi_private),
					      bio_is_passed_on() ? 0 : read_bytes, now);
		if (*ret_async)
			*ret_outside = false;
	}
	if (!t || (CONF(served) && t->op.kind == OP_SERVED)) {
		h = bpf_map_lookup_elem(&helpers, &tid);
		if (!h)
			return t;
		h->last_bio = bio_key(bio);
		h->bio_cpu = cpu;
		if (CONF(helpers))
			helper_submits(h);
	}
	return t;
}

/* Like io_fill(), for a bio without a slot: its state goes into the hash. */
static __always_inline void bio_hash(struct bio *bio, const struct submission *s)
{
	struct io_state io = {};

	io_fill(&io, bio, s);
	io.bio_based = !s->has_requests;
	if (s->has_requests)
		io_parts(&io);
	io_hash(&io);
}

/* Q: @bio is submitted. In an interrupt current is not the submitter. */
static __always_inline void bio_queued(struct bio *bio, bool level_known)
{
	const bool waits = CONF(waits);
	struct gendisk *disk = bio_disk(bio);
	u64 cpu = current_cpu();
	struct io_state *slot = io_slot_for(bio_key(bio), cpu);
	struct submission s = {
		.now = bpf_ktime_get_ns(),
		.id = interrupt_level(level_known) ? 0 : bpf_get_current_pid_tgid(),
		.dev = disk_dev(disk),
		.size = bio->bi_iter.bi_size,
		.has_requests = disk->queue->mq_ops,
		.throttled = waits || CONF(issuers),
		.outside = waits,
	};

	s.op = bio_op(bio, s.has_requests, s.size);
	if (waits && s.id)
		s.throttled = !submitter_note(s.id, bio, cpu, bio_reads(s.op, s.size), s.now,
					      &s.outside, &s.async);
	if (CONF(behalf))
		s.flags = current_flags();
	if (s.throttled)
		s.throttled = s.id && current_is_kthrotld(CONF(behalf) ? s.flags : current_flags());
	if (CONF(async) && s.throttled)
		s.async = throttled_async(bio_key(bio));
	/* Two kinds of bios get no slot. When a bio of a device without requests is done, nothing
	 * tells which CPU submitted it. Discards are merged without an event; see
	 * request_absorb(). */
	if (slot && s.has_requests && s.op != RQ_DISCARD)
		io_fill(slot, bio, &s);
	else
		bio_hash(bio, &s);
}

/* The state of @bio, for an event after its submission, or NULL if the submission was not seen. */
static __always_inline struct io_state *bio_io(struct bio *bio)
{
	u64 key = bio_key(bio);
	struct io_state *io = io_find(key, current_cpu());

	if (!io && io_search(key))
		io = io_hashed(key);
	return io;
}

static __always_inline void split_keep(struct io_state *io)
{
	u64 key = io->key;

	io->async = 0;
	if (bpf_map_update_elem(&splits, &key, io, BPF_ANY))
		count_lost(LOST_MAP_FULL);
	live.splits = 1;
}

/* A device with requests has received the bio @key. The bio has no state. Returns the state from
 * splits, or NULL if the bio was not split off. */
static __always_inline struct io_state *split_passed_on(u64 key)
{
	struct io_state *split, io;

	if (likely(!live.splits))
		return NULL;
	split = bpf_map_lookup_elem(&splits, &key);
	if (!split)
		return NULL;
	io = *split;
	bpf_map_delete_elem(&splits, &key);
	io_hash(&io);
	return io_hashed(key);
}

/* @io has a request now. The rest of a split bio has no second Q: if blk-throttle held the rest
 * back, it did so until now. */
static __always_inline void bio_let_go(struct io_state *io)
{
	u64 bio = io->key, now;
	struct async_ref *ref;

	if (likely(io->throttled != THROTTLED_AGAIN))
		return;
	now = bpf_ktime_get_ns();
	ref = CONF(async) && live.async_bios ? bpf_map_lookup_elem(&async_bios, &bio) : NULL;
	if (ref && ref->q == io->q)
		ref->q = now;
	io->q = now;
	io->throttled = THROTTLED;
}

/* G: a request was allocated for @bio. */
static __always_inline void bio_got_request(struct bio *bio)
{
	struct io_state *io = bio_io(bio);

	if (!io)
		io = split_passed_on(bio_key(bio));
	if (!io)
		return;
	bio_let_go(io);
	if (!io->d) /* else it is sent again: see bio_is_sent_again() */
		io->g = bpf_ktime_get_ns();
}

/* @bio is merged before the first bio of a request. The request's software queue may belong to a
 * CPU other than @bio's, so the state moves into the hash. */
static __always_inline void bio_front_merged(struct bio *bio)
{
	struct io_state *io = bio_io(bio);

	if (!io)
		return;
	bio_let_go(io);
	io->g = bpf_ktime_get_ns();
	if (!io->hashed)
		io_move(io, io->key);
}

/* The bio @io is merged at the end of a request. The request already has its times. */
static __always_inline void bio_back_merged(struct io_state *io)
{
	if (!io)
		return;
	bio_let_go(io);
	io_parts(io);
	io_drop(io);
}

enum { PART_DEPTH = 4 }; /* of a bio submitted, of its part, of the part's part ... */

/* A part was split off the bio @io. */
static __always_inline void part_count(struct io_state *io)
{
	io->merges += io->bio_based != BIO_BASED_COUNTED;
}

/* A device without requests counts @bio in its statistics. @bio may be a part of a part of the bio
 * that was submitted: parts lead to their whole by bi_private. md splits some bios without an
 * event, so the number of parts is the number of those counted. */
static __always_inline void bio_accounted(u64 bio)
{
	struct gendisk *disk = BPF_CORE_READ((struct bio *)bio, bi_bdev, bd_disk);
	u32 dev = DEV_OF(BPF_CORE_READ(disk, major), BPF_CORE_READ(disk, first_minor));
	struct io_state *io = NULL;

	for (int i = 0; i < PART_DEPTH && !io && bio; i++) {
		io = io_hashed(bio);
		if (!io)
			bio = (u64)BPF_CORE_READ((struct bio *)bio, bi_private);
	}
	if (!io || io->dev != dev || !io->bio_based)
		return;
	if (io->bio_based == BIO_BASED_COUNTED) {
		io->merges++;
		return;
	}
	io->bio_based = BIO_BASED_COUNTED;
	io->merges = 0;
}

/*
 * A bio is split. The block layer tells of the first part, @split, whose bi_private points to the
 * bio: no event tells the Q of the part. Device mapper does the same before 5.18; since then it
 * cuts the first part off and tells of the bio itself, whose bi_private is its submitter's.
 *
 * A device without requests counts each part as a request, and tells the end of the whole bio only:
 * so the parts have the times of the bio.
 */
static __always_inline void bio_split_off(struct bio *split)
{
	struct io_state *io = io_find(bio_key(split), current_cpu()), first;

	if (io && io->bio_based && io->bytes > split->bi_iter.bi_size) {
		part_count(io);
		return;
	}
	io = split->bi_private ? bio_io(split->bi_private) : NULL;
	if (!io)
		return;
	first = *io;
	first.async = io_async(io);
	first.key = bio_key(split);
	first.bytes = split->bi_iter.bi_size;
	if (io->bio_based) {
		part_count(io);
		first.merges = 0;
		split_keep(&first);
		return;
	}
	io_parts(&first);
	io_hash(&first);
}

/*
 * The bio @io of a device without requests is done along with a request of the device below. Turns
 * @times, the times of the request, into those of the bio.
 *
 * The request may be older than the bio, if the bio below was merged into it. Or the request may be
 * younger, if the request of the bio below was merged into it. This other request was in the queue
 * before; since when, the bio's operation or its thread knows. Earlier still, the device held the
 * bio back, or blk-throttle did at the device below.
 */
static __always_inline void times_from(struct rq_times *times, const struct io_state *io)
{
	const struct async_op *u = CONF(async) && io->async ? async_at(io->async) : NULL;
	struct done merged;

	if (u && u->last.times.c == times->c) {
		times->q = u->last.times.q;
		times->g = u->last.times.g;
	} else if (merged_get(io->tid, io->q, &merged) && merged.times.q < times->q) {
		times->q = merged.times.q;
		times->g = merged.times.g;
	}
	if (times->held)
		times->held = io->q;
}

/* Notes how the bio @io ended. io_uring submits a bio that must not wait; after BLK_STS_AGAIN, a
 * worker submits the same once more. So nothing failed, and nothing was read or written. */
static __always_inline void bio_note_status(struct io_state *io, u8 status)
{
	io->failed = status && status != BLK_STS_AGAIN;
	if (status)
		io->bytes = 0;
}

/* The completion of a bio of a device without requests, or of a bio that never got a request. NVMe
 * multipath raises the event for other bios, too, just before the event of their request, whether
 * the request was dispatched or not (nvme_host_path_error()). */
static __always_inline void bio_completed(struct bio *bio, bool level_known)
{
	struct io_state *io = bio_io(bio), done;
	struct mark *m;
	struct rq_times times;
	u64 until;

	if (!io || io->d || (io->bio_based && io->g))
		return;
	done = *io;
	io_drop(io);
	if (!done.bio_based) {
		if (CONF(async) && live.async_bios)
			async_bio_forget(done.key);
		return;
	}
	done.bio_based = BIO_BASED;
	bio_note_status(&done, bio->bi_status);
	times = (struct rq_times){
		.held = done.q, .q = done.q, .g = done.q, .d = done.q, .c = bpf_ktime_get_ns()
	};
	if (done.counted)
		request_done(&done, &times, 1 + done.merges);
	until = times.c + BIO_END_NS;
	/* if this is part of the completion of the request below, the request's times say more */
	m = CONF(waits) ? mark_current(times.c, interrupt_level(level_known)) : NULL;
	if (m && m->times.d >= done.q) {
		until = m->until;
		times = m->times;
		times_from(&times, &done);
	}
	if (done.throttled && CONF(arg_pause)) {
		times.held = 0;
		times.q += positive(done.q - times.q);
		times.g += positive(times.q - times.g); /* the bio was merged at the device below */
	}
	completion_announce(&times, done.tid, done.op == RQ_READ, until, level_known);
	if (CONF(async) && done.async)
		async_bio_done(done.async, done.q,
			       mark_number(current_cpu(), interrupt_level(level_known)), 0);
}

/*
 * Throttled bios: blk-throttle holds them back. The note of a throttled bio, a state in the hash,
 * ends when kthrotld queues the bio (see owner.bpf.h).
 */

/* A note is added only while the hash has fewer states: half of the room on the smallest machine,
 * since other states need the rest. */
enum { THROTTLED_MOST = 1024 };

static __always_inline bool notes_are_full(void)
{
	return !CONF(issuers) && live.hashed >= THROTTLED_MOST;
}

/* Whether a bio of current matters to an operation: a read counts the bytes of its bios, and a
 * request of io_uring or libaio waits for each of its bios. */
static __always_inline bool bio_matters(bool reads, u32 flags)
{
	struct task_state *t = current_lookup();

	if (!t)
		return CONF(uring) && flags & PF_IO_WORKER;
	return t->async || (reads && t->op.stage);
}

/* The operation of current, whose bio is throttled. Returns NULL if there is none, or an interrupt
 * runs and current may be any thread. */
static __always_inline struct op *op_throttled(u32 level)
{
	struct task_state *t = CONF(waits) && !level ? current_lookup() : NULL;

	if (!t || !t->op.stage || !t->op.submitted)
		return NULL;
	t->op.submitted |= SUBMITTED_THROTTLED;
	return &t->op;
}

/* blk-throttle holds back the rest of a split bio that current submits. The bio has the state @io.
 * A timer may cause this again, for a cgroup above. */
static __always_inline void bio_rest_throttled(struct io_state *io, u32 level)
{
	struct op *op = op_throttled(level);

	if (op) /* a device may have passed on the first part since */
		op->last_bio = io->key;
	if (CONF(async) && !io->throttled)
		async_bio_throttled(io_async(io));
	io->throttled = THROTTLED_AGAIN;
}

/* blk-throttle holds back @bio. Current submits it. This may happen again for each cgroup above
 * with a limit; current may then be any thread, even kthrotld. If kthrotld is not seen to queue the
 * bio, this note becomes the state of its request. */
static __always_inline void bio_throttled(struct bio *bio, bool level_known)
{
	u64 id = bpf_get_current_pid_tgid(), key = bio_key(bio);
	struct io_state io = {
		.key = key,
		.tid = id,
		.dev = disk_dev(bio_disk(bio)),
		.g = bpf_ktime_get_ns(), /* held back since; see throttled_async() */
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
	/* held back for a cgroup above, and the first time was not seen */
	if (!bio_dev_wanted(bio, io.dev) || level || current_is_kthrotld(flags))
		return;
	if (seen && seen->sector == io.sector && seen->bytes == io.bytes)
		return; /* held back again for a cgroup above, by any thread */
	if (seen)       /* of an earlier bio at this address: its end was missed */
		io_unhash(key);
	/* without a note, the bio would count once more, as a new one, if a cgroup above holds it
	 * back */
	if (!level_known && notes_are_full()) {
		if (CONF(waits) && bio_matters(io.op == RQ_READ, flags))
			count_lost(LOST_MAP_FULL);
		return;
	}
	if (CONF(waits))
		submitter_note(id, bio, current_cpu(), bio_reads(io.op, io.bytes), io.g, &outside,
			       &io.async);
	op = op_throttled(level);
	if (CONF(async))
		async_bio_throttled(io.async);
	if (notes_are_full()) {
		if (io.async)
			count_lost(LOST_MAP_FULL);
		return;
	}
	/* nothing needs the note; but where the level is not known, it shows the bio as seen */
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
