// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios and requests at random: merged, split, requeued, completed in parts, passed on, flushed,
 * with and without a filter or keys, by programs that are refused now and then. The test knows
 * whose each of them is and when what happened to it; what the programs count must be that,
 * exactly.
 */
#include "kernel/machine.h"

enum {
	PEOPLE = 5,
	NOBODY = PEOPLE,
	BIOS = 40,
	REQUESTS = 13,
	DISKS = 3,
	HIDDEN = DISKS,
	MAX_STATES = 7
};

/* A thread that submits bios, on a CPU of its own, as far as there are CPUs. */
struct person {
	struct ktask task;
	bool in_op;
	u32 slot;   /* of the request of libaio that it executes; 0: of none */
	bool known; /* passes the filter */
};

/* The note that a request of libaio has of its last completed bio. */
struct last {
	u64 thread; /* 0: none was done */
	struct rq_times times;
};

struct r;
struct b {
	struct bio bio;
	struct kdisk *disk; /* NULL: free */
	u64 q, g;
	u32 who, slot;
	bool outside, counted, has_file;
	bool has_state; /* that its request is to take over when it is dispatched */
	struct r *rq;   /* NULL: it waits for one */
	u32 bytes;      /* when it was submitted */
	u32 left;       /* of these, not done yet */
	u32 parts;      /* that were split off, if it is stacked */
	bool stacked;   /* submitted to a device without requests */
};

struct r {
	struct request rq; /* q NULL: free */
	struct blk_mq_ctx mq_ctx;
	struct kdisk *disk;
	u64 q, g, d;
	u32 who, op, requeues, merges;
	u64 bytes;
	int error;
	bool outside, counted, has_file, issued, requeued, in_sequence, no_bio, stacked, cached;
};

struct counts {
	u64 count, errors, bytes, requeues, unqueued, outside, tag, queue, device, max;
};

static struct person people[PEOPLE];
static struct b bios[BIOS];
static struct r rqs[REQUESTS];
static struct kdisk disks[DISKS + 1]; /* the last but one has no requests, the last is hidden */
static struct counts truth[DISKS + 1][RQ_N][PEOPLE + 1];
static u64 flushed[DISKS + 1]; /* when its last flush was dispatched */
static struct last lasts[ASYNC_SLOTS + 1];
static struct kfile file;
static struct page pages[2];
static struct bio_vec vec = { &pages[0] };
static unsigned int seed;

static u32 pick(u32 n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* An event that may have two programs, of which the first may be refused. Or an interrupt comes
 * between the two, and has events of its own. */
static void fire(int (*program)(u64 *), u64 a, u64 b, u64 c)
{
	u64 ctx[8] = { a, b, c };
	bool refused = CONF(backups) && !pick(4);

	if (!refused)
		program(ctx);
	if (CONF(backups)) {
		machine.cookie = 1;
		program(ctx);
		machine.cookie = 0;
	}
}

static void on_any_cpu(void)
{
	machine.now += 1 + pick(997);
	machine.level = pick(3) ? 0 : pick(2) ? 0x10000 : SOFT_INTERRUPT;
	cpu_is(pick(CPUS), pick(4) ? &people[pick(PEOPLE)].task : &idle[pick(CPUS)]);
}

static u32 op_of(const struct bio *bio)
{
	return rq_op(bio->bi_opf);
}

static struct b *bio_free(void)
{
	for (u32 i = pick(BIOS), n = 0; n < BIOS; n++, i = (i + 1) % BIOS)
		if (!bios[i].disk)
			return &bios[i];
	return NULL;
}

static struct r *rq_free(void)
{
	for (u32 i = pick(REQUESTS), n = 0; n < REQUESTS; n++, i = (i + 1) % REQUESTS)
		if (!rqs[i].disk)
			return &rqs[i];
	return NULL;
}

static bool disk_listed(const struct kdisk *d)
{
	return !CONF(n_devs) || d->dev == lists.devs[0];
}

/* The thread for which requests of @who count in the rows. */
static u32 counts_for(u32 who)
{
	return CONF(rq_by) ? who : NOBODY;
}

static void bio_step(void)
{
	static const u32 ops[] = {
		REQ_OP_READ, REQ_OP_WRITE, REQ_OP_WRITE, REQ_OP_DISCARD, 5, 9, 13, 7
	};
	bool irq = !pick(8);
	u32 who = pick(PEOPLE), cpu = who % CPUS;
	struct person *p = &people[who];
	struct b *b = bio_free();

	if (!b)
		return;
	*b = (struct b){ .disk = &disks[pick(DISKS)], .q = machine.now, .who = irq ? NOBODY : who };
	bio_init(&b->bio, b->disk, ops[pick(8)] | pick(2) << 11, 8 * pick(1000),
		 512 * (1 + pick(64)));
	b->has_file = pick(2);
	b->bio.bi_io_vec = b->has_file ? &vec : NULL;
	b->left = b->bytes = b->bio.bi_iter.bi_size;
	b->stacked = !b->disk->q.mq_ops;
	b->outside = CONF(waits) && (irq || (!p->in_op && !p->slot));
	b->slot = irq ? 0 : p->slot;
	b->counted = disk_listed(b->disk) && (!CONF(process_filter) || (!irq && p->known));
	cpu_is(cpu, &p->task);
	machine.level = irq ? 0x10000 : 0;
	b->has_state = true;
	fire(on_bio_queue, (u64)&b->bio, 0, 0);
}

static struct b *bio_waiting(void)
{
	for (u32 i = pick(BIOS), n = 0; n < BIOS; n++, i = (i + 1) % BIOS)
		if (bios[i].disk && !bios[i].rq)
			return &bios[i];
	return NULL;
}

/* A request that @b may be merged into. */
static struct r *rq_for(const struct kdisk *d, u32 op, const struct r *except)
{
	for (u32 i = pick(REQUESTS), n = 0; n < REQUESTS; n++, i = (i + 1) % REQUESTS)
		if (rqs[i].disk == d && !rqs[i].issued && rqs[i].op == op && rqs[i].rq.bio &&
		    !rqs[i].in_sequence && !rqs[i].stacked && &rqs[i] != except)
			return &rqs[i];
	return NULL;
}

static struct b *first_of(struct r *r)
{
	return (struct b *)r->rq.bio;
}

static struct b *after(const struct b *b)
{
	return (struct b *)b->bio.bi_next;
}

static struct b *last_of(struct r *r)
{
	struct b *b = first_of(r);

	while (after(b))
		b = after(b);
	return b;
}

static u32 states_of(struct r *r)
{
	u32 n = 0;

	for (struct b *b = first_of(r); b; b = after(b))
		n += b->has_state;
	return n;
}

static void gets_request(struct b *b, struct kdisk *d)
{
	struct r *r = rq_free();

	if (!r)
		return;
	cpu_is(b->who == NOBODY || !pick(8) ? pick(CPUS) : b->who % CPUS,
	       &people[pick(PEOPLE)].task);
	*r = (struct r){ .disk = d, .op = op_of(&b->bio), .stacked = b->stacked };
	request_init(&r->rq, &r->mq_ctx, d, &b->bio);
	if (!pick(8)) { /* it was allocated earlier, together with others */
		r->mq_ctx.cpu = pick(CPUS);
		r->cached = true;
	}
	b->rq = r;
	b->g = machine.now;
	fire(on_getrq, (u64)&b->bio, 0, 0);
	if (r->op == RQ_WRITE && !b->stacked && !pick(3)) {
		r->in_sequence = true;
		r->rq.rq_flags = 1;
	}
}

static void bio_freed(struct b *b)
{
	b->disk = NULL;
}

/* @b is done. A bio of a read ahead may have outlived an earlier request in this slot: such a bio
 * is noted only if no bio of the slot's own request was. */
static void slot_knows(const struct b *b, struct rq_times t)
{
	struct last *last = &lasts[b->slot];
	bool earlier;

	if (!b->slot)
		return;
	earlier = b->q < async_at(b->slot)->begun;
	if (earlier && last->thread && !(last->thread & DONE_EARLIER))
		return;
	if (b->q < t.held) /* it was merged into one that came after it */
		t.held = t.q = t.g = b->q;
	last->times = t;
	last->thread =
		1 | (op_of(&b->bio) == RQ_READ ? DONE_READ : 0) | (earlier ? DONE_EARLIER : 0);
}

static void bio_ends_alone(struct b *b)
{
	struct counts *c = &truth[b->disk - disks][op_of(&b->bio)][counts_for(b->who)];
	u64 took = machine.now - b->q, n = 1 + b->parts;
	bool failed = !pick(5);

	b->bio.bi_status = failed ? 10 : 0;
	if (b->stacked && b->counted) {
		c->count += n;
		c->device += n * took;
		c->max = took > c->max ? took : c->max;
		c->outside += b->outside ? n : 0;
		c->errors += failed ? n : 0;
		c->bytes += failed ? 0 : b->bytes;
	}
	if (b->stacked)
		slot_knows(b, (struct rq_times){ b->q, b->q, b->q, b->q, machine.now, 0 });
	cpu_is(pick(CPUS), &idle[0]);
	fire(on_bio_complete, 0, (u64)&b->bio, 0);
	completion_is_over();
	bio_freed(b);
}

static void is_back_merged(struct b *b, struct r *r)
{
	if (states_of(r) > MAX_STATES)
		return;
	if (r->op != RQ_DISCARD) {
		fire(on_backmerge, (u64)&b->bio, 0, 0);
		b->has_state = false;
	}
	last_of(r)->bio.bi_next = &b->bio;
	r->rq.__data_len += b->bio.bi_iter.bi_size;
	b->rq = r;
}

static void is_front_merged(struct b *b, struct r *r)
{
	if (r->op == RQ_DISCARD || r->cached || states_of(r) > MAX_STATES)
		return;
	b->g = machine.now;
	fire(on_frontmerge, (u64)&b->bio, 0, 0);
	b->bio.bi_next = r->rq.bio;
	r->rq.bio = &b->bio;
	r->rq.__sector = b->bio.bi_iter.bi_sector;
	r->rq.__data_len += b->bio.bi_iter.bi_size;
	b->rq = r;
}

/* Device mapper cuts the first part of @b off, and tells of @b itself. */
static void is_cut(struct b *b, u32 bytes)
{
	b->bio.bi_private = pick(2) ? NULL : &bios[pick(BIOS)].bio;
	b->left = b->bio.bi_iter.bi_size -= bytes;
	b->bio.bi_iter.bi_sector += bytes / 512;
	b->parts++;
	fire(on_split, (u64)&b->bio, 0, 0);
}

/* The first part of @b becomes a bio of its own, which has no Q. */
static void is_split(struct b *b)
{
	struct b *part = bio_free();
	u32 bytes = 512 * (1 + pick(8));

	if (!part || bytes >= b->bio.bi_iter.bi_size)
		return;
	if (b->stacked && pick(2)) {
		is_cut(b, bytes);
		return;
	}
	b->parts += b->stacked;
	*part = *b;
	part->left = part->bio.bi_iter.bi_size = bytes;
	part->bio.bi_private = &b->bio;
	part->has_state = !b->stacked;
	fire(on_split, (u64)&part->bio, 0, 0);
	b->left = b->bio.bi_iter.bi_size -= bytes;
	b->bio.bi_iter.bi_sector += bytes / 512;
	if (b->stacked) /* nothing is known of the part */
		bio_freed(part);
}

static void waiting_step(void)
{
	struct b *b = bio_waiting();
	u32 what = pick(16);
	struct r *r;

	if (!b)
		return;
	cpu_is(pick(8) ? b->who % CPUS : pick(CPUS), &people[pick(PEOPLE)].task);
	if (b->stacked) {
		if (what < 9)
			bio_ends_alone(b);
		else if (what < 11)
			is_split(b);
		else
			gets_request(b, &disks[what < 13 ? HIDDEN : 0]);
		return;
	}
	r = rq_for(b->disk, op_of(&b->bio), NULL);
	if (r && what < 5)
		is_back_merged(b, r);
	else if (r && what < 9)
		is_front_merged(b, r);
	else if (what == 9)
		is_split(b);
	else if (what == 10)
		bio_ends_alone(b);
	else
		gets_request(b, b->disk);
}

static void rq_merge(struct r *into, struct r *r)
{
	if (states_of(into) + states_of(r) > MAX_STATES)
		return;
	last_of(into)->bio.bi_next = r->rq.bio;
	into->rq.__data_len += r->rq.__data_len;
	fire(on_rq_merge, (u64)&r->rq, 0, 0);
	for (struct b *b = first_of(r); b; b = after(b)) {
		b->rq = into;
		b->has_state &= r->op == RQ_DISCARD;
	}
	r->disk = NULL;
}

/* The owner and the begin of @r are those of its first bio. */
static void rq_settles(struct r *r)
{
	struct b *b = first_of(r);

	r->merges = 0;
	r->q = b->q;
	r->g = b->g;
	r->who = b->who;
	r->outside = b->outside;
	r->counted = b->counted;
	r->has_file = b->has_file;
	for (b = after(b); b; b = after(b)) {
		r->merges++;
		if (!b->has_state)
			continue;
		b->has_state = false;
		if (b->q < r->q) {
			r->q = b->q;
			r->who = b->who;
			r->outside = b->outside;
			r->counted = b->counted;
			r->has_file = b->has_file;
			r->has_file = b->has_file;
		}
		if (b->g && b->g < r->g)
			r->g = b->g;
	}
	if (r->g < r->q)
		r->g = r->q;
	b = first_of(r);
	b->has_state = true;
	if (!r->stacked)
		return;
	/* it counts on the device that has requests, but if that is hidden */
	r->stacked = r->disk == &disks[HIDDEN];
	if (r->stacked)
		r->disk = b->disk;
	else if (!CONF(process_filter))
		r->counted = disk_listed(r->disk);
	r->stacked = false;
}

static u64 flush_time(const struct kdisk *d, u64 g, u64 otherwise)
{
	u64 f = flushed[d - disks];

	return f && f >= g && f < otherwise ? f : otherwise;
}

/* A command is given to its driver: it is the current thread's. */
static void command_owned(struct r *r)
{
	for (u32 i = 0; i < PEOPLE; i++) {
		if (machine.current != &people[i].task)
			continue;
		r->who = i;
		r->counted = disk_listed(r->disk) && (!CONF(process_filter) || people[i].known);
	}
}

static void rq_issue(struct r *r)
{
	if (r->no_bio && r->op == RQ_OTHER && !r->issued)
		command_owned(r);
	if (r->requeued) {
		r->requeued = false;
		r->d = machine.now;
	} else if (r->no_bio) {
		r->d = machine.now;
	} else {
		rq_settles(r);
		r->d = r->in_sequence ? flush_time(r->disk, r->g, machine.now) : machine.now;
	}
	if (r->op == RQ_FLUSH && !r->requeues)
		flushed[r->disk - disks] = machine.now;
	r->issued = true;
	fire(on_rq_issue, (u64)&r->rq, 0, 0);
}

static void rq_requeue(struct r *r)
{
	r->requeued = true;
	r->requeues++;
	fire(on_rq_requeue, (u64)&r->rq, 0, 0);
}

static void rq_count(struct r *r)
{
	struct counts *c = &truth[r->disk - disks][r->op][counts_for(r->who)];
	u64 device = machine.now - r->d;

	if (!r->counted)
		return;
	c->count++;
	c->errors += !!r->error;
	c->bytes += r->error ? 0 : r->bytes;
	c->requeues += r->requeues;
	c->unqueued += !r->q;
	c->outside += r->outside;
	if (r->q) {
		c->tag += r->g - r->q;
		c->queue += r->d - r->g;
	}
	c->device += device;
	c->max = device > c->max ? device : c->max;
}

static u64 data_of(u32 who)
{
	return who == NOBODY ? 0 : 7000 + people[who].task.t.tgid;
}

/* The record that was sent last. */
static void assert_sent(struct r *r)
{
	const struct sent_request *s = newest_of_records();
	u32 id = r->who == NOBODY ? 0 : people[r->who].task.t.pid;

	assert_int_equal(s->what, SENT_REQUEST);
	assert_int_equal(s->op, r->op);
	assert_int_equal(s->flags, (r->error ? SENT_FAILED : 0) | (r->outside ? SENT_OUTSIDE : 0));
	assert_int_equal(s->dev, r->disk->dev);
	assert_int_equal(s->error, r->error);
	assert_int_equal(s->requeues, r->requeues);
	assert_int_equal(s->merges, r->merges);
	assert_int_equal(s->bytes, r->bytes);
	assert_int_equal(s->q, r->q);
	assert_int_equal(s->g, r->q ? r->g : r->d);
	assert_int_equal(s->d, r->d);
	assert_int_equal(s->c, machine.now);
	assert_int_equal(s->sector, r->rq.__sector);
	assert_int_equal(s->cmd_flags, r->rq.cmd_flags);
	assert_int_equal(s->bio_based, 0);
	assert_int_equal(s->file.ino, r->has_file ? 23 : 0);
	assert_int_equal(s->file.key, r->has_file ? file.sb.s_dev : 0);
	assert_int_equal(s->who.tid, id);
	assert_int_equal(s->who.pid, id ? people[r->who].task.t.tgid : 0);
	assert_string_equal(s->who.comm, id ? people[r->who].task.t.comm : "");
	assert_int_equal(s->who.cgroup, id ? data_of(r->who) : 0);
}

/* Completes the first @bytes of @r; the completion's times are known. */
static void bios_done(struct r *r, u32 bytes)
{
	struct rq_times t = { r->q, r->q, r->g, r->d, machine.now, 0 };
	struct b *b = first_of(r);

	while (b && b->left <= bytes) {
		slot_knows(b, t);
		bytes -= b->left;
		r->rq.bio = b->bio.bi_next;
		bio_freed(b);
		b = first_of(r);
	}
	if (b) {
		b->left -= bytes;
		b->bio.bi_iter.bi_size -= bytes;
	}
}

/* @bytes of @r are done, or have failed. After a failure @r has failed, too, whatever becomes of
 * the rest. Returns the error, or 0. */
static int rq_part_done(struct r *r, u32 bytes)
{
	int error = pick(5) ? 0 : -5;

	if (error)
		r->error = error;
	else
		r->bytes += bytes;
	return error;
}

static void rq_ends_in_part(struct r *r, u32 bytes)
{
	fire(on_rq_complete, (u64)&r->rq, (u32)rq_part_done(r, bytes), bytes);
	completion_is_over();
	bios_done(r, bytes);
	r->rq.__data_len -= bytes;
}

/* The data of a write that is flushed before or after are there; its end comes later. */
static void rq_data_complete(struct r *r)
{
	r->bytes += r->rq.__data_len;
	fire(on_rq_complete, (u64)&r->rq, 0, r->rq.__data_len);
	first_of(r)->bio.bi_iter.bi_size = 0;
	first_of(r)->left = 0;
	r->rq.__data_len = 0;
}

/* Threads which this completion wakes learn the request's times. The submitter learns them whoever
 * wakes it. */
static void assert_announced(const struct r *r)
{
	struct rq_times t = { r->q, r->q, r->g, r->d, machine.now, 0 };
	struct mark *m = mark_current(machine.now + REQUEST_END_NS, machine.level);
	struct done d;

	if (!r->q)
		t.held = t.q = t.g = t.d;
	assert_non_null(m);
	assert_memory_equal(&m->times, &t, sizeof(t));
	assert_int_equal(m->is_read, r->op == RQ_READ);
	assert_null(mark_current(machine.now + REQUEST_END_NS + 1, machine.level));
	if (r->who == NOBODY)
		return;
	assert_true(done_get(people[r->who].task.t.pid, &d));
	assert_memory_equal(&d.times, &t, sizeof(t));
	assert_int_equal(!!(d.thread & DONE_READ), r->op == RQ_READ);
}

static void rq_ends(struct r *r)
{
	int error = rq_part_done(r, r->rq.__data_len);

	rq_count(r);
	r->rq.rq_flags = 0;
	fire(on_rq_complete, (u64)&r->rq, (u32)error, r->rq.__data_len);
	if (CONF(marks))
		assert_announced(r);
	completion_is_over();
	assert_null(mark_current(machine.now, machine.level));
	if (CONF(sent_requests) && r->counted)
		assert_sent(r);
	bios_done(r, r->rq.__data_len);
	r->disk = NULL;
}

/* A request that no bio has: a flush, or a command. */
static void rq_without_bio(void)
{
	struct r *r = rq_free();
	struct bio none;

	if (!r)
		return;
	*r = (struct r){ .disk = &disks[pick(2)], .no_bio = true, .who = NOBODY };
	bio_init(&none, r->disk, pick(2) ? REQ_OP_FLUSH : REQ_OP_DRV + pick(3), 0, 0);
	request_init(&r->rq, &r->mq_ctx, r->disk, &none);
	r->rq.bio = NULL;
	r->op = op_of(&none);
	if (r->op == RQ_OTHER)
		r->rq.__data_len = 512 * pick(3);
	else
		r->rq.rq_flags = pick(2);
	r->counted = disk_listed(r->disk) && !CONF(process_filter);
}

static void rq_step(void)
{
	struct r *r = &rqs[pick(REQUESTS)], *into;
	u32 what = pick(16);

	if (!r->disk)
		return;
	if (!r->issued && !r->no_bio && !r->in_sequence && !r->stacked && what < 4) {
		into = rq_for(r->disk, r->op, r);
		if (into)
			rq_merge(into, r);
	} else if (!r->issued || r->requeued) {
		rq_issue(r);
	} else if (what < 3) {
		rq_requeue(r);
	} else if (r->in_sequence && r->rq.__data_len) {
		rq_data_complete(r);
	} else if (what < 9 && r->rq.__data_len > 512 && !r->in_sequence) {
		rq_ends_in_part(r, 512 * (1 + pick(r->rq.__data_len / 512 - 1)));
	} else {
		rq_ends(r);
	}
}

static void person_step(void)
{
	u32 who = pick(PEOPLE);
	struct person *p = &people[who];
	struct task_state *t;

	cpu_is(who % CPUS, &p->task);
	machine.level = 0;
	t = current_lookup();
	if (p->in_op) {
		sys_exit(0);
		p->in_op = false;
	} else if (p->slot) {
		t->op.stage = 0;
		async_over(async_at(p->slot), machine.now);
		p->slot = 0;
	} else if (who == PEOPLE - 1) { /* is never in one */
	} else if (CONF(async) && pick(2)) {
		t = task_get(current_task());
		p->slot = async_new(0x5000 + 64 * who, machine.now);
		async_begins(t, 0x5000 + 64 * who, p->slot, OP_AIO, OP_READ, CALL_AIO, machine.now);
		lasts[p->slot].thread = 0;
	} else {
		sys_enter(NR_STAT, 0, 0, 0, 0);
		p->in_op = true;
	}
}

static void assert_slots_know(void)
{
	struct async_op *u;

	for (u32 i = 1; i <= ASYNC_SLOTS; i++) {
		u = async_at(i);
		assert_int_equal(u->last.thread, lasts[i].thread);
		if (lasts[i].thread)
			assert_memory_equal(&u->last.times, &lasts[i].times, sizeof(u->last.times));
	}
}

static void step(void)
{
	on_any_cpu();
	switch (pick(8)) {
	case 0:
	case 1:
		bio_step();
		break;
	case 2:
	case 3:
		waiting_step();
		break;
	case 4:
		if (!pick(4))
			rq_without_bio();
		break;
	case 5:
		if (!pick(4))
			person_step();
		break;
	default:
		rq_step();
	}
	if (CONF(async))
		assert_slots_know();
}

static void finish(void)
{
	bool busy = true;

	for (int n = 0; busy && n < 100000; n++) {
		on_any_cpu();
		if (pick(2))
			waiting_step();
		else
			rq_step();
		busy = false;
		for (int i = 0; i < BIOS; i++)
			busy |= !!bios[i].disk;
		for (int i = 0; i < REQUESTS; i++)
			busy |= !!rqs[i].disk;
	}
	assert_false(busy);
}

enum mode { BY_NAME, PROCESS, DEVICE, BACKUPS, SENT, NO_WAITS, ASYNC, MODES };

static void mode_set(u32 modes)
{
	if (modes & 1 << BY_NAME) {
		conf.by = modes & 1 << SENT ? BY_COMM : BY_THREAD;
		conf.rq_by = conf.issuers = 1;
		conf.behalf = conf.by == BY_THREAD;
	}
	if (modes & 1 << PROCESS) {
		conf.process_filter = conf.thread_filter = conf.issuers = conf.n_pids = 1;
		lists.pids[0] = people[1].task.t.tgid;
	}
	if (modes & 1 << DEVICE) {
		conf.n_devs = 1;
		lists.devs[0] = disks[0].dev;
	}
	if (modes & 1 << BACKUPS)
		conf.backups = 1;
	if (modes & 1 << SENT)
		conf.sent_requests = conf.issuers = conf.rings = 1;
	if (modes & 1 << NO_WAITS)
		conf.waits = conf.marks = 0;
	if (modes & 1 << ASYNC)
		conf.async = conf.aio = 1;
}

static void storm_start(u32 modes)
{
	machine_start();
	memset(bios, 0, sizeof(bios));
	memset(rqs, 0, sizeof(rqs));
	memset(truth, 0, sizeof(truth));
	memset(lasts, 0, sizeof(lasts));
	memset(flushed, 0, sizeof(flushed));
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	pages[0].mapping = &file.mapping;
	for (u32 i = 0; i < DISKS; i++)
		disk_init(&disks[i], 8, 16 * i, i < DISKS - 1);
	disk_init(&disks[HIDDEN], 0, 0, true);
	conf.io_slots_per_cpu = 16;
	for (u32 i = 0; i < PEOPLE; i++) {
		people[i] = (struct person){};
		task_init(&people[i].task, 2101 + i / 2, 2101 + i, "submitter ", 0);
		people[i].task.t.comm[10] = 'a' + i;
		people[i].known = people[i].task.t.tgid == 2101;
	}
	mode_set(modes);
}

static int differs(const char *what, u64 got, u64 want)
{
	if (got != want)
		print_error("%s: %llu, not %llu\n", what, got, want);
	return got != want;
}

static bool counts_differ(const struct rq_sums *s, const struct counts *c)
{
	return differs("count", s->count, c->count) | differs("errors", s->errors, c->errors) |
	       differs("bytes", s->bytes, c->bytes) |
	       differs("requeues", s->requeues, c->requeues) |
	       differs("unqueued", s->unqueued, c->unqueued) |
	       differs("outside", s->outside, c->outside) | differs("tag", s->tag_ns, c->tag) |
	       differs("queue", s->queue_ns, c->queue) |
	       differs("device", s->device_ns, c->device) | differs("max", s->max_ns, c->max);
}

/* The key of @who's row. */
static void key_of(u32 who, u64 ret_by[2])
{
	const struct task_struct *t;

	memset(ret_by, 0, 16);
	if (who == NOBODY)
		return;
	t = &people[who].task.t;
	if (CONF(by) == BY_COMM)
		memcpy(ret_by, t->comm, 16);
	else
		ret_by[0] = (u64)(u32)t->tgid << 32 | (u32)t->pid;
}

static void assert_named(u32 who, u64 id)
{
	struct thread_name *name = bpf_map_lookup_elem(&thread_names_even, &id);

	assert_non_null(name);
	assert_string_equal(name->comm, people[who].task.t.comm);
	assert_int_equal(name->cgroup, people[who].task.cgroup);
}

static void assert_counted(void)
{
	u64 by[2];

	for (u32 d = 0; d < DISKS; d++) {
		for (u32 op = 0; op < RQ_N; op++) {
			for (u32 who = 0; who <= PEOPLE; who++) {
				struct counts *c = &truth[d][op][who];
				struct rq_sums s;

				if (!CONF(rq_by) && who < PEOPLE)
					continue;
				key_of(who, by);
				s = requests_of(disks[d].dev, op, by);
				if (CONF(by) == BY_THREAD && c->count && who < PEOPLE)
					assert_named(who, by[0]);
				if (counts_differ(&s, c))
					fail_msg("disk %u, op %u, who %u", d, op, who);
			}
		}
	}
}

static void storm(unsigned int with_seed, u32 modes, u32 steps)
{
	seed = with_seed;
	storm_start(modes);
	for (u32 i = 0; i < steps; i++)
		step();
	finish();
	assert_counted();
	assert_nothing_kept();
	assert_int_equal(lost_all(), 0);
}

static void test_storm(void **state)
{
	(void)state;
	for (u32 modes = 0; modes < 1 << MODES; modes++)
		if (!(modes & 1 << NO_WAITS) || !(modes & 1 << ASYNC))
			storm(1 + modes, modes, 499);
}

/* A request of its own for each of the tests below. */
static struct bio one;
static struct request rq;
static struct blk_mq_ctx mq_ctx;

static void one_queued(u32 op)
{
	storm_start(0);
	bio_init(&one, &disks[0], op, 8, 4096);
	cpu_is(0, &people[0].task);
	EVENT(on_bio_queue, &one);
	request_init(&rq, &mq_ctx, &disks[0], &one);
}

static void assert_one(u32 op, u64 tag, u64 queue, u64 device)
{
	struct rq_sums s = requests_counted(disks[0].dev, op);

	assert_int_equal(s.count, 1);
	assert_int_equal(s.tag_ns, tag);
	assert_int_equal(s.queue_ns, queue);
	assert_int_equal(s.device_ns, device);
	assert_nothing_kept();
}

/* A request whose allocation was not seen had it at once. */
static void test_no_allocation(void **state)
{
	(void)state;
	one_queued(REQ_OP_READ);
	tick(5);
	EVENT(on_rq_issue, &rq);
	tick(7);
	complete_bytes(&rq, 0, 4096);
	assert_one(RQ_READ, 0, 5, 7);
}

/* No time is negative if the clock steps back. */
static void test_clock_back(void **state)
{
	(void)state;
	one_queued(REQ_OP_READ);
	tick(11);
	EVENT(on_getrq, &one);
	tick(-3);
	EVENT(on_rq_issue, &rq);
	tick(-1);
	complete_bytes(&rq, 0, 4096);
	assert_one(RQ_READ, 11, 0, 0);
	one_queued(REQ_OP_READ);
	tick(11);
	EVENT(on_getrq, &one);
	tick(5);
	EVENT(on_rq_issue, &rq);
	tick(-3);
	complete_bytes(&rq, 0, 4096);
	assert_one(RQ_READ, 11, 5, 0);
}

/* A flush without data is not dispatched itself: it was with the device since the internal flush
 * that came after it. */
static void test_flush_alone(void **state)
{
	struct request flush = { .q = &disks[0].q, .mq_ctx = &mq_ctx, .cmd_flags = REQ_OP_FLUSH };

	(void)state;
	for (u32 allocated = 0; allocated < 2; allocated++) {
		one_queued(REQ_OP_WRITE);
		tick(3);
		if (allocated)
			EVENT(on_getrq, &one);
		tick(5);
		EVENT(on_rq_issue, &flush);
		tick(7);
		complete_bytes(&flush, 0, 0);
		tick(11);
		rq.__data_len = 0;
		complete_bytes(&rq, 0, 0);
		assert_one(RQ_WRITE, allocated ? 3 : 0, allocated ? 5 : 8, 18);
		assert_int_equal(requests_counted(disks[0].dev, RQ_WRITE).bytes, 0);
		assert_int_equal(requests_counted(disks[0].dev, RQ_FLUSH).device_ns, 7);
	}
}

/* A request that is dispatched again at the same address has ended unseen. */
static void test_unseen_end(void **state)
{
	(void)state;
	for (u32 listed = 0; listed < 2; listed++) {
		one_queued(REQ_OP_READ);
		EVENT(on_rq_issue, &rq);
		tick(3);
		EVENT(on_rq_issue, &rq);
		assert_int_equal(live.lost[LOST_UNMATCHED_REQUESTS], 1);
		EVENT(on_bio_queue, &one); /* the bio is used again, and dispatched by now */
		assert_int_equal(live.lost[LOST_UNMATCHED_REQUESTS], 2);
		EVENT(on_rq_issue, &rq);
		complete_bytes(&rq, 0, 4096);
		assert_one(RQ_READ, 0, 0, 0);

		rq.bio = NULL; /* now one of its own */
		rq.cmd_flags = REQ_OP_DRV;
		conf.n_devs = 1;
		lists.devs[0] = listed ? disks[0].dev : 1;
		EVENT(on_rq_issue, &rq);
		EVENT(on_rq_requeue, &rq);
		EVENT(on_rq_requeue, &rq);
		EVENT(on_rq_issue, &rq);
		EVENT(on_rq_issue, &rq);
		complete_bytes(&rq, 0, 4096);
		assert_int_equal(live.lost[LOST_UNMATCHED_REQUESTS], 2 + listed);
		assert_int_equal(requests_counted(disks[0].dev, RQ_OTHER).count, listed);
		assert_int_equal(requests_counted(disks[0].dev, RQ_OTHER).requeues, 0);
		assert_nothing_kept();
	}
}

/* The end of a request whose beginning was not seen is told, once. */
static void test_unseen_begin(void **state)
{
	(void)state;
	one_queued(REQ_OP_READ);
	EVENT(on_backmerge, &one);
	EVENT(on_rq_requeue, &rq);
	rq.rq_flags = 1;
	complete_bytes(&rq, 0, 4096);
	rq.rq_flags = 0;
	conf.n_devs = 1;
	complete_bytes(&rq, 0, 4096);
	conf.n_devs = 0;
	conf.process_filter = 1;
	complete_bytes(&rq, 0, 4096);
	conf.process_filter = 0;
	assert_int_equal(lost_all(), 0);
	complete_bytes(&rq, 0, 4096);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	complete_bytes(&rq, 0, 0); /* its bio is not done yet */
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 2);
	rq.bio = NULL;
	complete_bytes(&rq, 0, 0); /* all its bios are */
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 2);
	complete_bytes(&rq, 0, 4096);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 3);
	rq.cmd_flags = REQ_OP_DRV;
	complete_bytes(&rq, 0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 4);
	assert_int_equal(requests_counted(disks[0].dev, RQ_READ).count, 0);
}

/* A state that finds no room is counted as lost. */
static void test_no_room(void **state)
{
	(void)state;
	one_queued(REQ_OP_READ);
	map_of(&flushes)->refusals = map_of(&ios)->refusals = 1;
	rq.bio = NULL;
	rq.cmd_flags = REQ_OP_FLUSH;
	EVENT(on_rq_issue, &rq);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(live.hashed, 0);
	EVENT(on_rq_issue, &rq);
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	assert_int_equal(live.hashed, 1);
}

/* Each operation of the kernel's is counted as what blkparse calls it; a zone append, whose number
 * differs between kernels, as the write that it is. */
static void test_operations(void **state)
{
	static const u8 write = RQ_WRITE;
	static const u8 kinds[] = {
		RQ_READ,         RQ_WRITE, RQ_FLUSH, RQ_DISCARD, RQ_ZONE,
		RQ_SECURE_ERASE, RQ_ZONE,  RQ_ZONE,  RQ_ZONE,    RQ_WRITE_ZEROES
	};

	(void)state;
	for (u32 op = 0; op <= REQ_OP_MASK; op++)
		assert_int_equal(rq_op(op | 1 << 11), op < 10           ? kinds[op]
						      : op < REQ_OP_DRV ? RQ_ZONE
									: RQ_OTHER);
	data_set(&rq_ops[7], &write, 1);
	assert_int_equal(rq_op(7 | 1 << 11), RQ_WRITE);
	assert_int_equal(rq_op(8 | 1 << 11), RQ_ZONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),      cmocka_unit_test(test_no_allocation),
		cmocka_unit_test(test_clock_back), cmocka_unit_test(test_flush_alone),
		cmocka_unit_test(test_unseen_end), cmocka_unit_test(test_unseen_begin),
		cmocka_unit_test(test_no_room),    cmocka_unit_test(test_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
