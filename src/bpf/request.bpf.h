/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * request.bpf.h - block I/O from a bio's submission (Q) over its request (G), dispatch (D) to the
 * completion (C).
 *
 * A bio is known from Q until it is done, or another takes it in. If it is the first of a request,
 * its state is also that request's, until it is finished for good; a request without such a bio has
 * one from its first dispatch. They are dropped at once, for bios and requests are soon used again.
 * C is block_rq_complete, which also covers batched completion; it may come several times for one
 * request.
 */
#ifndef IOSTRATA_REQUEST_BPF_H
#define IOSTRATA_REQUEST_BPF_H

#include "row.bpf.h"
#include "wait.bpf.h"

#define REQ_OP_MASK 0xff /* include/linux/blk_types.h, as are the operations; 5.4 to 7.2 */

enum {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_FLUSH = 2,
	REQ_OP_DISCARD = 3,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_DRV = 32,	/* first of passthrough: SCSI (old) and driver private */
};

static __always_inline u8 rq_op(u32 flags)
{
	switch (flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		return RQ_READ;
	case REQ_OP_WRITE:
		return RQ_WRITE;
	case REQ_OP_FLUSH:
		return RQ_FLUSH;
	case REQ_OP_DISCARD:
		return RQ_DISCARD;
	case REQ_OP_SECURE_ERASE:
		return RQ_SECURE_ERASE;
	case REQ_OP_WRITE_ZEROES:
		return RQ_WRITE_ZEROES;
	}
	return (flags & REQ_OP_MASK) >= REQ_OP_DRV ? RQ_OTHER : RQ_ZONE;
}

/* Block tracepoints whose programs have twins. */
enum block_event {
	EV_BIO_QUEUE = 1, EV_GETRQ, EV_BACKMERGE, EV_FRONTMERGE, EV_RQ_MERGE, EV_SPLIT, EV_ISSUE,
	EV_REQUEUE, EV_COMPLETE, EV_BIO_COMPLETE,
};

/*
 * Whether this program is to deal with the event @ev of @obj. Where programs can be preempted, each
 * has a twin behind it with the cookie 1. The first leaves word that it was there, under the thread
 * that both run in; a twin that finds none knows that the first was refused.
 */
static __always_inline bool first_to_see(void *ctx, enum block_event ev, const void *obj)
{
	struct handled *h;
	u32 tid, i;

	if (!CONF(twins))
		return true;
	tid = bpf_get_current_pid_tgid();
	h = &handled[tid % HANDLED_SLOTS];
	if (!bpf_get_attach_cookie(ctx)) {
		if (h->tid != tid)
			h->event[0] = 0;
		h->tid = tid;
		i = h->event[0] ? 1 : 0;
		h->obj[i] = (u64)obj;
		h->event[i] = ev;
		return true;
	}
	for (i = 0; i < 2; i++) {
		if (h->tid == tid && h->event[i] == ev && h->obj[i] == (u64)obj) {
			h->event[i] = 0;
			return false;
		}
	}
	return true;
}

/* The row of @io in the hash. NULL: no room. */
static __always_inline struct rq_cell *request_row_hashed(const struct io_state *io)
{
	struct rq_key key = { .dev = io->dev, .op = io->op, .epoch = live.epoch,
			      .bio_based = io->bio_based };
	struct rq_cell *cell = bpf_map_lookup_elem(&rq_cells, &key);

	if (!cell) {
		bpf_map_update_elem(&rq_cells, &key, zeroes, BPF_NOEXIST);
		cell = bpf_map_lookup_elem(&rq_cells, &key);
	}
	if (!cell)
		count_lost(LOST_MAP_FULL);
	return cell;
}

static __always_inline struct rq_cell *request_row(const struct io_state *io)
{
	bool is_new;
	u64 slot = slot_find(io->dev, REQUESTS_WHAT(io->op, io->bio_based), &is_new);
	struct rq_cell *cell = NULL;
	u32 i;

	if (slot < ROW_SLOTS) {
		i = DIRECT_CELL(current_cpu() % RQ_CPUS, live.epoch, slot);
		cell = bpf_map_lookup_elem(&direct_rq_cells, &i);
	}
	return cell ? cell : request_row_hashed(io);
}

/* Adds one finished request, or bio of a bio-based device. */
static __always_inline void request_count(const struct io_state *io, const struct cut *cut)
{
	u64 device = cut->c - cut->d, queue = cut->d - cut->g, tag = cut->g - cut->q, shown;
	struct rq_cell *cell = request_row(io);

	if (!cell)
		return;
	shown = CONF(queued) ? cut->c - cut->q : device;
	atomic_add(&cell->count, 1);
	atomic_add(&cell->device_ns, device);
	atomic_add(&cell->hist[hist_bucket(shown)], 1);
	cell_max(&cell->max_ns, shown);
	cell_sum(false, cell->queue_ns, queue);
	cell_sum(false, cell->tag_ns, tag);
	cell_sum(false, cell->requeues, io->requeues);
	if (!io->q)
		atomic_add(&cell->unqueued, 1);
	if (io->failed)
		atomic_add(&cell->errors, 1);
	else
		cell_sum(false, cell->bytes, io->bytes);
}

/* Tells the waits that this request is done: those that are woken by this very completion, and
 * the owner, should somebody else wake it. */
static __always_inline void request_tell(const struct cut *cut, u32 tid, bool is_read,
					 bool level_known)
{
	struct done *d = &dones[tid % DONE_SLOTS];

	if (!CONF(waits))
		return;
	mark_set(cut, is_read, level_known);
	if (!tid)
		return;
	d->tid = tid;
	d->is_read = is_read;
	d->cut = *cut;
}

static __always_inline void io_fill(struct io_state *io, struct bio *bio, u32 dev, u8 op, u64 id)
{
	io->key = bio_key(bio);
	io->q = bpf_ktime_get_ns();
	io->g = 0;
	io->d = 0;
	io->bytes = bio->bi_iter.bi_size;
	io->tid = id;
	io->dev = dev;
	io->requeues = 0;
	io->op = op;
	io->failed = 0;
	io->requeued = 0;
	io->bio_based = 0;
	io->counted = (dev_wanted(dev) || dev_wanted(bio_part_dev(bio))) && current_wanted(id);
}

/* Current, whose thread id is @tid, has submitted @bio. */
static __always_inline void submitter_note(u32 tid, struct bio *bio, u32 cpu, bool is_read)
{
	struct task_state *t = current_lookup();
	struct helper *h;

	if (t && t->stage) {
		t->last_bio = bio_key(bio);
		t->bio_cpu = cpu;
		t->requests = t->submitted ? t->requests + 1 : 1;
		t->submitted = 1;
		if (is_read)
			t->own_reads = 1;
	} else if (!t) {
		h = bpf_map_lookup_elem(&helpers, &tid);
		if (!h)
			return;
		h->last_bio = bio_key(bio);
		h->bio_cpu = cpu;
	}
}

/* Q */
static __always_inline void bio_queued(struct bio *bio)
{
	struct gendisk *disk = bio_disk(bio);
	u64 id = bpf_get_current_pid_tgid();
	u64 cpu = current_cpu();
	u32 dev = disk_dev(disk);
	struct io_state *slot = io_slot_for(bio_key(bio), cpu), io = {};
	u8 op = rq_op(bio->bi_opf);

	/* nothing tells which CPU was that of a bio without a request when it is done */
	if (slot && disk->queue->mq_ops) {
		io_fill(slot, bio, dev, op, id);
	} else {
		io_fill(&io, bio, dev, op, id);
		io.bio_based = !disk->queue->mq_ops;
		io_hash(&io);
	}
	if (CONF(waits))
		submitter_note(id, bio, cpu, op == RQ_READ);
}

/* State of @bio in an event that follows its submission; NULL: that was not seen. */
static __always_inline struct io_state *bio_io(struct bio *bio)
{
	u64 key = bio_key(bio);
	struct io_state *io = io_find(key, current_cpu());

	if (!io && io_search(key))
		io = io_hashed(key);
	return io;
}

/* G */
static __always_inline void bio_got_request(struct bio *bio)
{
	struct io_state *io = bio_io(bio);

	if (io)
		io->g = bpf_ktime_get_ns();
}

/* Put before the first bio of a request, whose software queue is not that of its own CPU. */
static __always_inline void bio_front_merged(struct bio *bio)
{
	struct io_state *io = bio_io(bio);

	if (!io)
		return;
	io->g = bpf_ktime_get_ns();
	if (!io->hashed)
		io_move(io, io->key);
}

/* Joined to the end of a request that has its times already. */
static __always_inline void io_taken_in(struct io_state *io)
{
	if (io)
		io_drop(io);
}

/* @split is the first part of the bio that its bi_private points to; it has no Q of its own. */
static __always_inline void bio_split_off(struct bio *split)
{
	struct io_state *io = bio_io(split->bi_private), first;

	if (!io || io->bio_based)
		return;
	first = *io;
	first.key = bio_key(split);
	first.bytes = split->bi_iter.bi_size;
	io_hash(&first);
}

/* State of @rq: of its first bio, @bio, or its own. NULL: none, or not in the usual place. */
static __always_inline struct io_state *request_io(struct request *rq, struct bio *bio)
{
	struct io_state *io = NULL;

	if (bio)
		io = io_find(bio_key(bio), rq->mq_ctx->cpu);
	return io ? io : io_hashed(request_key(rq));
}

/* The same, wherever it is. */
static __always_inline struct io_state *request_io_anywhere(struct request *rq, struct bio *bio)
{
	struct io_state *io = request_io(rq, bio);

	if (!io && bio && io_search(bio_key(bio)))
		io = io_hashed(bio_key(bio));
	return io;
}

/* A state for @rq, whose bio has none; NULL if there is no room. */
static __always_inline struct io_state *request_new(struct request *rq)
{
	struct io_state io = {
		.key = request_key(rq),
		.dev = request_dev(rq),
		.op = rq_op(rq->cmd_flags),
	};

	/* of which process it is can only be told by a bio: a flush, say, is nobody's */
	io.counted = dev_wanted(io.dev) && !CONF(process_filter);
	io_hash(&io);
	return io_hashed(io.key);
}

/* The bio of @other is behind the first of the request @io: who was submitted first owns it. */
static __always_inline void io_absorb(struct io_state *io, const struct io_state *other)
{
	/* 0, not known, is later than all */
	if (other->q - 1 < io->q - 1) {
		io->q = other->q;
		io->tid = other->tid;
		io->counted = other->counted;
	}
	if (other->g - 1 < io->g - 1)
		io->g = other->g;
}

/*
 * Takes over from the bios behind @bio, the first of @rq, that have a state of their own. There are
 * some only after merges to its front. Those are in the hash; the last may be in a slot, that was
 * the first bio before them.
 */
static __always_inline void request_absorb(struct request *rq, struct bio *bio, u64 key)
{
	struct io_state *io = io_hashed(key), *other;

	if (!io || !bio)
		return;
	bio = bio_untrusted(bio)->bi_next;
	for (int i = 0; i < BIO_WALK && bio; i++) {
		other = io_hashed(bio_key(bio));
		if (!other)
			break;
		io_absorb(io, other);
		io_unhash(bio_key(bio));
		bio = bio->bi_next;
	}
	if (!bio)
		return;
	other = io_slot(bio_key(bio), request_untrusted(rq)->mq_ctx->cpu);
	if (other->key == bio_key(bio)) {
		io_absorb(io, other);
		io_drop(other);
	}
}

/* When the flush machinery of @dev began to work for a request that was allocated at @g. */
static __always_inline u64 flush_since(u32 dev, u64 g, u64 otherwise)
{
	u64 *d = bpf_map_lookup_elem(&flushes, &dev);

	return d && *d >= g && *d < otherwise ? *d : otherwise;
}

/* A device without requests gave its bio @io to one that has them, and is not told when it is done:
 * it is counted as a request of the other, unless that is hidden (paths of NVMe multipath). */
static __always_inline void bio_passed_on(struct io_state *io, struct request *rq)
{
	u32 dev = request_dev(rq);

	io->bio_based = 0;
	if (!dev)
		return;
	io->dev = dev;
	if (!CONF(process_filter))
		io->counted = dev_wanted(dev);
}

/* D */
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
	if (io && io->d) {
		if (io->counted)
			count_lost(LOST_UNMATCHED_START);
		if (io->key == key) {
			io_drop(io);
			io = NULL;
		}
	}
	if (!io)
		io = request_new(rq);
	if (!io)
		return;
	if (io->bio_based)
		bio_passed_on(io, rq);
	if (io->hashed)
		request_absorb(rq, bio, io->key);
	if (io->g < io->q)
		io->g = io->q;
	io->bytes = 0;
	io->d = now;
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

/* A request that is finished for good. */
static __always_inline void request_finish(const struct io_state *io, u64 now, bool level_known)
{
	struct cut cut = { .held = io->q, .q = io->q, .g = io->g, .d = io->d, .c = now };

	if (!io->q)
		cut.held = cut.q = cut.g = cut.d;
	if (cut.d < cut.g)
		cut.d = cut.g;
	if (cut.c < cut.d)
		cut.c = cut.d;
	if (io->counted)
		request_count(io, &cut);
	request_tell(&cut, io->tid, io->op == RQ_READ, level_known);
}

/*
 * C. Not final while data remain, nor for a data step of a flush sequence (preflush, data,
 * postflush: waiters are woken by a further completion, after RQF_FLUSH_SEQ was cleared); the
 * internal flush request has that flag too, but ends for good. A flush without data was never
 * dispatched itself: its times are those of its bio and of the internal flush.
 */
static __always_inline void request_completed(struct request *rq, int error, u32 bytes,
					      bool level_known)
{
	u64 now = bpf_ktime_get_ns();
	struct io_state *io = request_io_anywhere(rq, rq->bio);
	bool in_sequence = request_in_flush_sequence(rq);

	if (!io) {
		if (!in_sequence && !CONF(process_filter) && dev_wanted(request_dev(rq)))
			count_lost(LOST_UNMATCHED_END);
		return;
	}
	if (!io->d) {
		if (io->g < io->q)
			io->g = io->q;
		io->bytes = 0;
		io->d = flush_since(io->dev, io->g, now);
	}
	if (error)
		io->failed = 1;
	else
		io->bytes += bytes;
	if (bytes < rq->__data_len) {
		/* the first bio may be done, and will not be that of the next completion */
		if (io->key != request_key(rq))
			io_move(io, request_key(rq));
		return;
	}
	if (in_sequence && io->op != RQ_FLUSH)
		return;
	request_finish(io, now, level_known);
	io_drop(io);
}

/* The completion of a bio-based device's bio, and of bios that never became a request. */
static __always_inline void bio_completed(struct bio *bio, bool level_known)
{
	struct io_state *io = bio_io(bio), done;
	struct mark *m;
	struct cut cut;

	if (!io)
		return;
	done = *io;
	io_drop(io);
	if (!done.bio_based)
		return;
	done.failed = !!bio->bi_status;
	cut = (struct cut){ .held = done.q, .q = done.q, .g = done.q, .d = done.q,
			    .c = bpf_ktime_get_ns() };
	if (done.counted)
		request_count(&done, &cut);
	/* the request below, whose completion this is part of, says more */
	m = CONF(waits) ? mark_current(level_known) : NULL;
	if (m && m->cut.held >= done.q) {
		cut = m->cut;
		cut.held = done.q;
	}
	request_tell(&cut, done.tid, done.op == RQ_READ, level_known);
}

#endif
