/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * request.bpf.h - block I/O from a bio's submission (Q) over its request (G), dispatch (D) to the
 * completion (C).
 *
 * A bio is known from Q until a request is dispatched with it, or another takes it in; a request
 * from its first dispatch until it is finished for good. Both are keyed by pointer, and dropped
 * at once, for the pointers are soon used again. C is block_rq_complete, which also covers
 * batched completion; it may come several times for one request.
 */
#ifndef IOSTRATA_REQUEST_BPF_H
#define IOSTRATA_REQUEST_BPF_H

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

	if (!conf.twins)
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

/* Adds one finished request, or bio of a bio-based device. */
static __always_inline void request_count(u32 dev, u8 op, bool bio_based, const struct cut *cut,
					  bool queued_known, u64 bytes, u32 requeues, bool failed)
{
	struct rq_key key = { .dev = dev, .op = op, .epoch = live.epoch, .bio_based = bio_based };
	u64 device = cut->c - cut->d, queue = cut->d - cut->g, tag = cut->g - cut->q, shown;
	struct rq_cell *cell = bpf_map_lookup_elem(&rq_cells, &key);

	if (!cell) {
		bpf_map_update_elem(&rq_cells, &key, zeroes, BPF_NOEXIST);
		cell = bpf_map_lookup_elem(&rq_cells, &key);
	}
	if (!cell) {
		count_lost(LOST_MAP_FULL);
		return;
	}
	shown = conf.queued ? cut->c - cut->q : device;
	__sync_fetch_and_add(&cell->count, 1);
	__sync_fetch_and_add(&cell->device_ns, device);
	__sync_fetch_and_add(&cell->hist[hist_bucket(shown)], 1);
	cell_max(&cell->max_ns, shown);
	cell_sum(cell->queue_ns, queue);
	cell_sum(cell->tag_ns, tag);
	cell_sum(cell->requeues, requeues);
	if (!queued_known)
		__sync_fetch_and_add(&cell->unqueued, 1);
	if (failed)
		__sync_fetch_and_add(&cell->errors, 1);
	else
		cell_sum(cell->bytes, bytes);
}

/* Tells the waits that this request is done: those that are woken by this very completion, and
 * the owner, should somebody else wake it. */
static __always_inline void request_tell(const struct cut *cut, u32 tid, bool is_read,
					 bool level_known)
{
	u32 slot = tid % DONE_SLOTS;
	struct done *d;

	if (!conf.waits)
		return;
	mark_set(cut, is_read, level_known);
	if (!tid)
		return;
	d = bpf_map_lookup_elem(&dones, &slot);
	if (!d)
		return;
	d->tid = tid;
	d->is_read = is_read;
	d->cut = *cut;
}

/* Q */
static __always_inline void bio_queued(struct bio *bio)
{
	struct gendisk *disk = bio_disk(bio);
	u64 key = (u64)bio, now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct bio_state b = {
		.q = now,
		.tid = id,
		.dev = disk_dev(disk),
		.bytes = bio->bi_iter.bi_size,
		.op = rq_op(bio->bi_opf),
		.bio_based = !disk->queue->mq_ops,
	};
	struct task_state *t = NULL;
	struct helper *h;

	if (conf.waits)
		t = task_lookup(b.tid);
	b.counted = (dev_wanted(b.dev) || dev_wanted(bio_part_dev(bio))) && current_wanted(id);
	if (bpf_map_update_elem(&bios, &key, &b, BPF_ANY))
		count_lost(LOST_MAP_FULL);
	if (!conf.waits)
		return;
	if (t && t->active) {
		t->last_bio = key;
		t->requests++;
		t->own_reads |= b.op == RQ_READ;
	} else if (!t) {
		h = bpf_map_lookup_elem(&helpers, &b.tid);
		if (h)
			h->last_bio = key;
	}
}

/* G */
static __always_inline void bio_got_request(struct bio *bio)
{
	u64 id = (u64)bio;
	struct bio_state *b = bpf_map_lookup_elem(&bios, &id);

	if (b)
		b->g = bpf_ktime_get_ns();
}

/* Joined to the end of a request that has its times already. */
static __always_inline void bio_taken_in(struct bio *bio)
{
	u64 id = (u64)bio;

	bpf_map_delete_elem(&bios, &id);
}

/* @split is the first part of the bio that its bi_private points to; it has no Q of its own. */
static __always_inline void bio_split_off(struct bio *split)
{
	u64 id = (u64)split, parent = (u64)split->bi_private;
	struct bio_state *b = bpf_map_lookup_elem(&bios, &parent), first;

	if (!b || b->bio_based)
		return;
	first = *b;
	first.bytes = split->bi_iter.bi_size;
	if (bpf_map_update_elem(&bios, &id, &first, BPF_ANY))
		count_lost(LOST_MAP_FULL);
}

/* Binds the bios at the front of @rq that have a state of their own (more than one only after
 * front merges and merges of requests); the first to be submitted owns the request. */
static __always_inline void request_bind_bios(struct request *rq, struct request_state *r)
{
	struct bio *bio = rq->bio;
	struct bio_state *b;
	u64 id;

	for (int i = 0; i < BIO_WALK && bio; i++) {
		id = (u64)bio;
		b = bpf_map_lookup_elem(&bios, &id);
		if (!b)
			break;
		if (!r->q || b->q < r->q) {
			r->q = b->q;
			r->tid = b->tid;
			r->counted = b->counted;
		}
		if (b->g && (!r->g || b->g < r->g))
			r->g = b->g;
		bpf_map_delete_elem(&bios, &id);
		bio = bio->bi_next;
	}
	if (r->q && r->g < r->q)
		r->g = r->q;
	r->held = r->q;
}

/* A new entry for @rq with what is known of its past; NULL if there is no room. */
static __always_inline struct request_state *request_new(struct request *rq)
{
	u64 id = (u64)rq;
	struct request_state *r;

	bpf_map_update_elem(&requests, &id, zeroes, BPF_ANY);
	r = bpf_map_lookup_elem(&requests, &id);
	if (!r) {
		count_lost(LOST_MAP_FULL);
		return NULL;
	}
	r->dev = request_dev(rq);
	r->op = rq_op(rq->cmd_flags);
	request_bind_bios(rq, r);
	/* without a bio of its own it is nobody's: a flush, passthrough */
	if (!r->q)
		r->counted = !conf.process_filter && dev_wanted(r->dev);
	return r;
}

/* When the flush machinery of @dev began to work for a request that was allocated at @g. */
static __always_inline u64 flush_since(u32 dev, u64 g, u64 otherwise)
{
	u64 *d = bpf_map_lookup_elem(&flushes, &dev);

	return d && *d >= g && *d < otherwise ? *d : otherwise;
}

/* D */
static __always_inline void request_issued(struct request *rq)
{
	u64 id = (u64)rq, now = bpf_ktime_get_ns();
	struct request_state *r = bpf_map_lookup_elem(&requests, &id);
	u32 dev;

	if (r && r->requeued) {
		r->requeued = 0;
		r->d = now;
		return;
	}
	if (r && r->counted)
		count_lost(LOST_UNMATCHED_START);
	r = request_new(rq);
	if (!r)
		return;
	r->d = now;
	dev = r->dev;
	if (r->op == RQ_FLUSH) {
		if (bpf_map_update_elem(&flushes, &dev, &now, BPF_ANY))
			count_lost(LOST_MAP_FULL);
	} else if (request_in_flush_sequence(rq)) {
		r->d = flush_since(dev, r->g, now);
	}
}

static __always_inline void request_requeued(struct request *rq)
{
	u64 id = (u64)rq;
	struct request_state *r = bpf_map_lookup_elem(&requests, &id);

	if (!r)
		return;
	r->requeued = 1;
	r->requeues++;
}

/* A request that is finished for good. */
static __always_inline void request_finish(struct request_state *r, u64 now, bool level_known)
{
	bool queued_known = r->q;
	struct cut cut = { .held = r->held, .q = r->q, .g = r->g, .d = r->d, .c = now };

	if (!queued_known)
		cut.held = cut.q = cut.g = cut.d;
	if (cut.d < cut.g)
		cut.d = cut.g;
	if (cut.c < cut.d)
		cut.c = cut.d;
	if (r->counted)
		request_count(r->dev, r->op, false, &cut, queued_known, r->bytes, r->requeues,
			      r->failed);
	request_tell(&cut, r->tid, r->op == RQ_READ, level_known);
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
	u64 id = (u64)rq, now = bpf_ktime_get_ns();
	struct request_state *r = bpf_map_lookup_elem(&requests, &id);
	bool in_sequence = request_in_flush_sequence(rq), begun = r;

	if (!r)
		r = request_new(rq);
	if (!r)
		return;
	if (!begun && !r->q) {
		if (!in_sequence && r->counted)
			count_lost(LOST_UNMATCHED_END);
		bpf_map_delete_elem(&requests, &id);
		return;
	}
	if (!begun)
		r->d = flush_since(r->dev, r->g, now);
	if (error)
		r->failed = 1;
	else
		r->bytes += bytes;
	if (bytes < rq->__data_len || (in_sequence && r->op != RQ_FLUSH))
		return;
	request_finish(r, now, level_known);
	bpf_map_delete_elem(&requests, &id);
}

/* The completion of a bio-based device's bio, and of bios that never became a request. */
static __always_inline void bio_completed(struct bio *bio, bool level_known)
{
	u64 id = (u64)bio, now = bpf_ktime_get_ns();
	struct bio_state *b = bpf_map_lookup_elem(&bios, &id), done;
	struct mark *m;
	struct cut cut;

	if (!b)
		return;
	done = *b;
	bpf_map_delete_elem(&bios, &id);
	if (!done.bio_based)
		return;
	cut = (struct cut){ .held = done.q, .q = done.q, .g = done.q, .d = done.q, .c = now };
	if (done.counted)
		request_count(done.dev, done.op, true, &cut, true, done.bytes, 0, bio->bi_status);
	/* the request below, whose completion this is part of, says more */
	m = conf.waits ? mark_current(level_known) : NULL;
	if (m && m->cut.held >= done.q) {
		cut = m->cut;
		cut.held = done.q;
	}
	request_tell(&cut, done.tid, done.op == RQ_READ, level_known);
}

#endif
