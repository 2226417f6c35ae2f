// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf in a machine that is made up: threads on CPUs do at random what threads
 * do in the kernel, and the test knows the stratum of each nanosecond of each operation. The
 * programs must count the same, to the nanosecond.
 */
#include "kernel/machine.h"

#include "capture/segments.h"

enum { THREADS = 7, HELPERS = 2, REQUESTS = 8, SIZE = 4096 };

/* Where a thread is. */
enum where { ON_CPU, READY, ASLEEP };

/* Why a thread sleeps. */
enum reason { NOTHING, FOR_REQUEST, FOR_TAG, FOR_LOCK, FOR_THROTTLE, FOR_HELPER, FOR_UNKNOWN };

struct actor;
struct io {
	struct actor *owner; /* NULL: free */
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
	u64 q, g, d, c;
	bool waited; /* the owner sleeps for it */
	bool requeued;
	struct kdisk *disk;
};

struct actor {
	struct ktask task;
	enum where where;
	enum reason reason;
	u32 cpu;
	struct io *io; /* that it submitted last and that has not ended; only one at a time */
	struct actor *helper; /* that works for it, or for whom it works */
	/* of its operation */
	u32 kind;              /* OP_NONE: it is in none */
	u32 depth[2];          /* of calls of the VFS and of the file system */
	u32 calls[8], n_calls; /* the functions that it is in: 0 VFS, 1 file system */
	u64 start;
	u64 truth[ST_N];
	struct segments order;
	u64 asleep[ST_N]; /* of the sleep in progress */
	u32 stratum;      /* of the time that passes now */
	bool wants_lock;
	u32 n_ios;     /* of a helper, for its client: with the first, its waits are kept */
	u64 in_device; /* of the request that it waits for, since its last dispatch */
};

static struct actor actors[THREADS + HELPERS];
static struct actor *on_cpu[CPUS];
static struct io ios_made[REQUESTS];
static struct kfile file;
static struct kdisk disk;
static u64 strata[OP_N][ST_N], counts[OP_N], bytes[OP_N], errors[OP_N], max_ns[OP_N],
	hist[OP_N][HIST_N];
static struct rq_sums requests;
static unsigned int seed;

static u32 pick(u32 n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static bool is_kernel_thread(const struct actor *a)
{
	return a >= actors + THREADS;
}

static void order_add(struct segments *order, u32 stratum, u64 ns)
{
	if (order->n && !order->merged && SEGMENT_STRATUM(order->at[order->n - 1]) == stratum)
		order->at[order->n - 1] += SEGMENT(0, ns);
	else if (order->n < SEGMENTS_MAX)
		order->at[order->n++] = SEGMENT(stratum, ns);
	else
		order->merged++;
}

static void spend(u64 ns)
{
	struct actor *a;

	for (a = actors; a < actors + THREADS; a++) {
		if (a->kind) {
			a->truth[a->stratum] += ns;
			if (a->where == ASLEEP)
				a->asleep[a->stratum] += ns;
			else
				order_add(&a->order, a->stratum, ns);
		}
		if (a->kind && a->stratum == ST_DEVICE)
			a->in_device += ns;
	}
	tick(ns);
}

static void some_time(void)
{
	spend(1 + pick(pick(8) ? 300 : 30000));
}

static struct ktask *who_is_on(u32 cpu)
{
	return on_cpu[cpu] ? &on_cpu[cpu]->task : &idle[cpu];
}

/* @a, which runs, is current from now on. */
static void be(struct actor *a)
{
	cpu_is(a->cpu, &a->task);
	machine.level = 0;
}

static u32 layer_of(const struct actor *a)
{
	return a->depth[1] ? ST_FS : a->depth[0] ? ST_VFS : ST_SYSCALL;
}

/* The stratum of a thread which sleeps for its request @io. */
static u32 waits_in(const struct io *io)
{
	return io->c ? ST_COMPLETE : io->d && !io->requeued ? ST_DEVICE : ST_QUEUE;
}

/* Sets the stratum of a helper's client, which sleeps for the helper. */
static void client_waits(struct actor *helper)
{
	struct actor *client = helper->helper;

	if (!client || client->where != ASLEEP || client->reason != FOR_HELPER)
		return;
	if (helper->where == READY)
		client->stratum = ST_RUNQ;
	else if (helper->where == ASLEEP && helper->reason == FOR_REQUEST)
		client->stratum = waits_in(helper->io);
	else
		client->stratum = ST_HELPER;
}

static void leave_cpu(struct actor *a, struct actor *next, bool sleeps, enum reason why,
		      u32 stratum)
{
	be(a);
	a->where = sleeps ? ASLEEP : READY;
	a->reason = why;
	if (a->kind)
		a->stratum = sleeps ? stratum : ST_PREEMPT;
	on_cpu[a->cpu] = next;
	if (next) {
		next->cpu = a->cpu;
		next->where = ON_CPU;
		if (next->kind)
			next->stratum = layer_of(next);
	}
	switch_to(next ? &next->task : &idle[a->cpu], sleeps);
	client_waits(a);
	if (next)
		client_waits(next);
}

/* The parts of a sleep are in the order in which one request has them, and what is left comes last:
 * what a helper did first, or a request that was put back, is not told. */
static void order_add_sleep(struct actor *a)
{
	for (u32 st = ST_THROTTLE; st < ST_N; st++)
		if (a->asleep[st])
			order_add(&a->order, st, a->asleep[st]);
	memset(a->asleep, 0, sizeof(a->asleep));
}

/* @a is woken by whoever is on @cpu, at @level. */
static void wake_up(struct actor *a, u32 cpu, u32 level)
{
	cpu_is(cpu, who_is_on(cpu));
	machine.level = level;
	wake(&a->task);
	machine.level = 0;
	order_add_sleep(a);
	a->where = READY;
	if (a->kind)
		a->stratum = ST_RUNQ;
	client_waits(a);
}

static void go_on(struct actor *a, u32 cpu)
{
	cpu_is(cpu, &idle[cpu]);
	a->cpu = cpu;
	a->where = ON_CPU;
	on_cpu[cpu] = a;
	switch_to(&a->task, false);
	a->reason = NOTHING;
	if (a->kind)
		a->stratum = layer_of(a);
	client_waits(a);
}

static void op_begins(struct actor *a)
{
	static const u32 kinds[] = { OP_READ, OP_WRITE, OP_FSYNC, OP_META };
	static const u64 nrs[] = { NR_READ, NR_WRITE, NR_FSYNC, NR_STAT };
	u32 i = pick(4);

	be(a);
	sys_enter(nrs[i], 2, 0, SIZE, 0);
	a->kind = kinds[i];
	a->start = machine.now;
	a->stratum = ST_SYSCALL;
	memset(a->truth, 0, sizeof(a->truth));
	a->order.n = a->order.merged = 0;
}

static void order_print(const char *what, const struct segments *s)
{
	char text[SEGMENTS_TEXT];

	segments_text(text, s);
	fprintf(stderr, "%s: %s\n", what, text);
}

/* An operation that never left the CPU keeps only the times of its layers. */
static void order_settle(struct actor *a)
{
	struct segments layers = {};

	for (u32 st = 0; st < ST_N; st++) {
		if (st > ST_FS && a->truth[st])
			return;
		if (a->truth[st])
			order_add(&layers, st, a->truth[st]);
	}
	a->order = layers;
}

/* The record of an operation that has ended has its segments as they were. */
static void assert_order(struct actor *a)
{
	const struct slow_op *r = newest_record();

	order_settle(a);
	assert_non_null(r);
	if (!r->has_segments || r->segments.n != a->order.n ||
	    !r->segments.merged != !a->order.merged ||
	    memcmp(r->segments.at, a->order.at, a->order.n * sizeof(*a->order.at)) != 0) {
		order_print("is ", &r->segments);
		order_print("was", &a->order);
		fail();
	}
	messages_free();
}

static void op_ends(struct actor *a)
{
	long ret = pick(5) ? (long)pick(SIZE) : -5;
	u64 total = machine.now - a->start;
	u32 kind = a->kind;

	be(a);
	sys_exit(ret);
	if (conf.segments && total)
		assert_order(a);
	counts[kind]++;
	if (ret < 0)
		errors[kind]++;
	else if (kind == OP_READ || kind == OP_WRITE)
		bytes[kind] += ret;
	max_ns[kind] = total > max_ns[kind] ? total : max_ns[kind];
	hist[kind][hist_bucket(total)]++;
	for (int st = 0; st < ST_N; st++)
		strata[kind][st] += a->truth[st];
	a->kind = OP_NONE;
}

static void call(struct actor *a, u32 layer)
{
	be(a);
	if (layer)
		fs_in(a->kind, &file);
	else
		vfs_in(a->kind, &file);
	a->calls[a->n_calls++] = layer;
	a->depth[layer]++;
	a->stratum = layer_of(a);
}

static void call_returns(struct actor *a)
{
	u32 layer = a->calls[--a->n_calls];

	be(a);
	if (layer)
		fs_out(a->kind, 0);
	else
		vfs_out(a->kind, 0);
	a->depth[layer]--;
	a->stratum = layer_of(a);
}

/* An operation without VFS functions of its own enters no layer. */
static bool may_call(const struct actor *a)
{
	return a->kind && a->kind != OP_META && a->n_calls < 5;
}

static void io_queue(struct actor *a, bool read)
{
	struct io *io = NULL;

	for (int i = 0; i < REQUESTS && !io; i++)
		if (!ios_made[i].owner)
			io = &ios_made[i];
	if (!io)
		return;
	be(a);
	*io = (struct io){ .owner = a, .q = machine.now, .disk = &disk };
	bio_init(&io->bio, &disk, read ? REQ_OP_READ : REQ_OP_WRITE, pick(1000), SIZE);
	EVENT(on_bio_queue, &io->bio);
	request_init(&io->rq, &io->mq_ctx, &disk, &io->bio);
	a->io = io;
}

static void io_allocate(struct actor *a)
{
	be(a);
	a->io->g = machine.now;
	a->io->mq_ctx.cpu = a->cpu;
	EVENT(on_getrq, &a->io->bio);
}

static void io_dispatch(struct io *io, u32 cpu)
{
	cpu_is(cpu, who_is_on(cpu));
	EVENT(on_rq_issue, &io->rq);
	io->d = machine.now;
	io->requeued = false;
	io->owner->in_device = 0;
	if (io->owner->helper)
		io->owner->helper->in_device = 0;
	if (io->waited && io->owner->kind)
		io->owner->stratum = ST_DEVICE;
	if (io->waited)
		client_waits(io->owner);
}

/* A request that is put back was in the queue until its next dispatch. */
static void was_in_queue(struct actor *a)
{
	a->truth[ST_DEVICE] -= a->in_device;
	a->truth[ST_QUEUE] += a->in_device;
	if (a->asleep[ST_DEVICE] >= a->in_device) { /* else it is awake, and its sleep was added */
		a->asleep[ST_DEVICE] -= a->in_device;
		a->asleep[ST_QUEUE] += a->in_device;
	}
	a->in_device = 0;
}

static void io_requeue(struct io *io, u32 cpu)
{
	struct actor *client = io->owner->helper;

	cpu_is(cpu, who_is_on(cpu));
	EVENT(on_rq_requeue, &io->rq);
	io->requeued = true;
	requests.requeues++;
	was_in_queue(io->owner);
	if (is_kernel_thread(io->owner) && client && client->where == ASLEEP)
		was_in_queue(client);
	if (io->waited && io->owner->kind)
		io->owner->stratum = ST_QUEUE;
	if (io->waited)
		client_waits(io->owner);
}

static void io_count(const struct io *io)
{
	requests.count++;
	requests.bytes += SIZE;
	requests.tag_ns += io->g - io->q;
	requests.queue_ns += io->d - io->g;
	requests.device_ns += io->c - io->d;
	if (io->c - io->d > requests.max_ns)
		requests.max_ns = io->c - io->d;
}

/* @io completes in an interrupt on @cpu. The interrupt wakes the owner; or, if @later, somebody
 * else wakes the owner afterwards. */
static void io_complete(struct io *io, u32 cpu, bool later)
{
	struct actor *a = io->owner;

	cpu_is(cpu, who_is_on(cpu));
	machine.level = 0x10000;
	io->c = machine.now;
	complete_bytes(&io->rq, 0, SIZE);
	io_count(io);
	if (io->waited && !later) {
		if (a->kind)
			a->stratum = ST_COMPLETE;
		client_waits(a);
		spend(1 + pick(2000));
		wake_up(a, cpu, 0x10000);
	}
	cpu_is(cpu, who_is_on(cpu));
	machine.level = 0x10000;
	completion_is_over();
	machine.level = 0;
	if (io->waited && later) {
		if (a->kind)
			a->stratum = ST_SLEEP;
		a->reason = FOR_UNKNOWN;
	}
	a->io = NULL;
	io->owner = NULL;
}

/* Somebody who runs on another CPU than @a; an idle thread, if there is nobody. A helper would take
 * the sleep for its own work. */
static u32 other_cpu(const struct actor *a)
{
	u32 cpu = pick(CPUS);

	for (u32 i = 0; i < CPUS; i++, cpu = (cpu + 1) % CPUS)
		if (on_cpu[cpu] && on_cpu[cpu] != a && !is_kernel_thread(on_cpu[cpu]))
			return cpu;
	return CPUS;
}

static struct actor *ready_one(void)
{
	u32 i = pick(THREADS);

	for (u32 n = 0; n < THREADS; n++, i = (i + 1) % THREADS)
		if (actors[i].where == READY)
			return &actors[i];
	return NULL;
}

static void sleeps_for_lock(struct actor *a)
{
	u64 ctx[2] = { 0x1000 + a->task.t.pid, 0 };

	be(a);
	on_lock_wanted(ctx);
	a->wants_lock = true;
	leave_cpu(a, ready_one(), true, FOR_LOCK, ST_LOCK);
}

static void sleeps_throttled(struct actor *a)
{
	u64 ctx[8] = { [6] = 10 };

	be(a);
	on_throttle(ctx);
	leave_cpu(a, ready_one(), true, FOR_THROTTLE, ST_THROTTLE);
}

/* Wakes its helper, which has nothing to do, and sleeps until that is done. */
static void sleeps_for_helper(struct actor *a)
{
	struct actor *h = &actors[THREADS + pick(HELPERS)];

	if (h->where != ASLEEP || h->helper || a->io)
		return;
	h->helper = a;
	h->n_ios = 0;
	a->helper = h;
	wake_up(h, a->cpu, 0);
	leave_cpu(a, NULL, true, FOR_HELPER, ST_HELPER);
	client_waits(h);
}

static void helper_step(struct actor *h)
{
	struct actor *client = h->helper;

	be(h);
	if (h->io && !h->io->g) {
		io_allocate(h);
	} else if (h->io && !h->io->waited) {
		h->io->waited = true;
		leave_cpu(h, ready_one(), true, FOR_REQUEST, ST_SLEEP);
	} else if (client && h->n_ios < HELPER_WAITS - 1 && pick(3)) {
		io_queue(h, false);
		h->n_ios++;
	} else {
		if (client) {
			h->helper = client->helper = NULL;
			wake_up(client, h->cpu, 0);
		}
		leave_cpu(h, ready_one(), true, NOTHING, ST_SLEEP);
	}
}

/* The next step of @a, which runs. */
static void actor_step(struct actor *a)
{
	u64 taken[2] = { 0x1000 + a->task.t.pid, 0 };
	u32 what = pick(16);

	if (is_kernel_thread(a)) {
		helper_step(a);
		return;
	}
	if (a->wants_lock) {
		be(a);
		on_lock_taken(taken);
		a->wants_lock = false;
	}
	if (!a->kind) {
		if (what < 8)
			op_begins(a);
		else
			leave_cpu(a, ready_one(), what < 10, FOR_UNKNOWN, ST_SLEEP);
	} else if (a->io && !a->io->g) {
		if (what < 4 && other_cpu(a) < CPUS)
			leave_cpu(a, ready_one(), true, FOR_TAG, ST_TAG);
		else
			io_allocate(a);
	} else if (a->io && what < 10) {
		a->io->waited = true;
		leave_cpu(a, ready_one(), true, FOR_REQUEST, waits_in(a->io));
	} else if (what < 4 && may_call(a)) {
		call(a, a->n_calls && (a->n_calls == 1 || pick(2)));
	} else if (what < 7 && a->n_calls) {
		call_returns(a);
	} else if (what < 9 && !a->io && a->n_calls) {
		io_queue(a, a->kind == OP_READ);
	} else if (what == 9 && !a->n_calls && !a->io) {
		op_ends(a);
	} else if (what == 10) {
		sleeps_for_lock(a);
	} else if (what == 11) {
		sleeps_throttled(a);
	} else if (what == 12) {
		sleeps_for_helper(a);
	} else if (what == 13 && !a->io) {
		leave_cpu(a, ready_one(), true, FOR_UNKNOWN, ST_SLEEP);
	} else if (what == 14) {
		leave_cpu(a, ready_one(), false, NOTHING, 0);
	} else if (!a->n_calls && !a->io) {
		op_ends(a);
	}
}

static void io_step(struct io *io)
{
	u32 cpu = pick(CPUS);

	if (!io->g)
		return;
	if (!io->d || io->requeued)
		io_dispatch(io, cpu);
	else if (!pick(8))
		io_requeue(io, cpu);
	else if (io->waited || pick(4) == 0)
		io_complete(io, cpu,
			    io->waited && !is_kernel_thread(io->owner) && io->owner->kind &&
				    !pick(5) && other_cpu(io->owner) < CPUS);
}

/* Somebody wakes @a, whose request, helper or such does not. */
static void wake_step(struct actor *a)
{
	u32 cpu = other_cpu(a);
	bool irq = pick(2);

	if (a->where != ASLEEP || a->reason == FOR_REQUEST || a->reason == FOR_HELPER ||
	    is_kernel_thread(a))
		return;
	if (cpu == CPUS)
		cpu = pick(CPUS), irq = true;
	if (a->reason != FOR_TAG && irq)
		wake_up(a, cpu, 0x10000);
	else if (cpu < CPUS)
		wake_up(a, cpu, on_cpu[cpu] && !is_kernel_thread(on_cpu[cpu]) ? 0 : 0x10000);
}

/* A thread that runs or waits for a CPU is woken once more. */
static void wake_for_nothing(struct actor *a)
{
	u32 cpu = other_cpu(a);

	if (a->where != ON_CPU || cpu == CPUS)
		return;
	cpu_is(cpu, who_is_on(cpu));
	wake(&a->task);
}

static void step(void)
{
	u32 i = pick(THREADS + HELPERS), cpu = pick(CPUS);
	struct actor *a = &actors[i];

	some_time();
	switch (pick(6)) {
	case 0:
	case 1:
		if (on_cpu[cpu])
			actor_step(on_cpu[cpu]);
		break;
	case 2:
		if (a->where == READY && !on_cpu[cpu])
			go_on(a, cpu);
		break;
	case 3:
		wake_step(a);
		break;
	case 4:
		if (ios_made[i % REQUESTS].owner)
			io_step(&ios_made[i % REQUESTS]);
		break;
	default:
		if (!pick(4))
			wake_for_nothing(a);
	}
}

/* All operations end: whoever is in one goes on with it alone. */
static void finish(void)
{
	bool busy = true;

	for (int n = 0; busy && n < 1000000; n++) {
		step();
		busy = false;
		for (int i = 0; i < THREADS + HELPERS; i++)
			busy |= actors[i].kind || actors[i].io || actors[i].helper;
		for (int i = 0; i < THREADS; i++) {
			struct actor *a = &actors[i];

			if (n > 1000 && a->where == ON_CPU && a->kind && !a->io) {
				while (a->n_calls)
					call_returns(a);
				op_ends(a);
			}
		}
	}
	assert_false(busy);
}

static void storm_start(unsigned int with_seed)
{
	machine_start();
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	disk_init(&disk, 8, 0, true);
	memset(actors, 0, sizeof(actors));
	memset(ios_made, 0, sizeof(ios_made));
	memset(on_cpu, 0, sizeof(on_cpu));
	memset(strata, 0, sizeof(strata));
	memset(counts, 0, sizeof(counts));
	memset(bytes, 0, sizeof(bytes));
	memset(errors, 0, sizeof(errors));
	memset(max_ns, 0, sizeof(max_ns));
	memset(hist, 0, sizeof(hist));
	memset(&requests, 0, sizeof(requests));
	seed = with_seed;
	for (int i = 0; i < THREADS + HELPERS; i++) {
		task_init(&actors[i].task, 100 + i / 2, 101 + i, "actor",
			  i < THREADS ? 0 : PF_KTHREAD);
		actors[i].task.fd[2] = &file.f;
		actors[i].where = READY;
	}
	/* the waits of helpers are known from their first sleep on */
	for (int i = THREADS; i < THREADS + HELPERS; i++) {
		go_on(&actors[i], 0);
		leave_cpu(&actors[i], NULL, true, NOTHING, 0);
	}
}

static void assert_counted(void)
{
	u64 shown[HIST_N];
	struct op_sums s;

	for (u32 kind = OP_READ; kind < OP_N; kind++) {
		memset(shown, 0, sizeof(shown));
		s = ops_counted(kind, shown);
		assert_int_equal(s.count, counts[kind]);
		assert_int_equal(s.errors, errors[kind]);
		assert_int_equal(s.bytes, bytes[kind]);
		assert_int_equal(s.max_ns, max_ns[kind]);
		for (int st = 0; st < ST_N; st++) {
			if (s.strata[st] != strata[kind][st])
				fprintf(stderr, "seed %u: kind %u: stratum %d\n", seed, kind, st);
			assert_int_equal(s.strata[st], strata[kind][st]);
			s.total_ns -= s.strata[st];
		}
		assert_int_equal(s.total_ns, 0);
		assert_memory_equal(shown, hist[kind], sizeof(shown));
	}
}

static void assert_requests_counted(void)
{
	struct rq_sums r = requests_counted(disk.dev, RQ_READ),
		       w = requests_counted(disk.dev, RQ_WRITE);

	assert_int_equal(r.count + w.count, requests.count);
	assert_int_equal(r.bytes + w.bytes, requests.bytes);
	assert_int_equal(r.tag_ns + w.tag_ns, requests.tag_ns);
	assert_int_equal(r.queue_ns + w.queue_ns, requests.queue_ns);
	assert_int_equal(r.device_ns + w.device_ns, requests.device_ns);
	assert_int_equal(r.max_ns > w.max_ns ? r.max_ns : w.max_ns, requests.max_ns);
	assert_int_equal(r.requeues + w.requeues, requests.requeues);
	assert_int_equal(r.unqueued + w.unqueued + r.errors + w.errors, 0);
}

static void storm(unsigned int with_seed, u32 steps)
{
	storm_start(with_seed);
	for (u32 i = 0; i < steps; i++)
		step();
	finish();
	assert_counted();
	assert_requests_counted();
	assert_nothing_kept();
	assert_int_equal(lost_all(), 0);
}

static void test_storm(void **state)
{
	(void)state;
	for (unsigned int s = 1; s <= 23; s++)
		storm(s, 4001);
}

static void test_storm_in_order(void **state)
{
	(void)state;
	for (unsigned int s = 1; s <= 5; s++) {
		storm_start(s);
		conf.records = conf.segments = 1;
		for (u32 i = 0; i < 4001; i++)
			step();
		finish();
		assert_counted();
		assert_int_equal(lost_all(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_storm_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
