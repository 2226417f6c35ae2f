// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on the waits of threads: the waker of each, and the facts known of the
 * waker. These are cases which the storm of test_programs.c does not reach, or does not tell apart.
 * See kernel/machine.h.
 */
#include "kernel/machine.h"

static struct ktask alice, kthread, deeper, bob;
static struct kdisk disk;

static int start(void **state)
{
	(void)state;
	machine_start();
	disk_init(&disk, 8, 0, true);
	task_init(&alice, 1100, 1101, "alice", 0);
	task_init(&bob, 1200, 1201, "bob", 0);
	task_init(&kthread, 300, 300, "kthread", PF_KTHREAD);
	task_init(&deeper, 301, 301, "deeper", PF_KTHREAD);
	/* helpers are known from their first sleep on */
	cpu_is(2, &kthread);
	switch_to(&idle[2], true);
	cpu_is(3, &deeper);
	switch_to(&idle[3], true);
	cpu_is(0, &alice);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	return 0;
}

static void sleeps(struct ktask *t, u32 cpu)
{
	cpu_is(cpu, t);
	switch_to(&idle[cpu], true);
}

static void runs(struct ktask *t, u32 cpu)
{
	cpu_is(cpu, &idle[cpu]);
	switch_to(t, false);
}

/* @by wakes @t, at @level of interrupts. */
static void wakes_up(struct ktask *by, u32 cpu, struct ktask *t, u32 level)
{
	cpu_is(cpu, by);
	machine.level = level;
	wake(t);
	machine.level = 0;
}

static struct op_sums ends(void)
{
	cpu_is(0, &alice);
	sys_exit(0);
	return ops_counted(OP_META, NULL);
}

struct io {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

/* Current submits a request: Q, then G after 3 ns and D after 5 more. */
static void submits(struct io *io, u32 op)
{
	bio_init(&io->bio, &disk, op, 8, 4096);
	EVENT(on_bio_queue, &io->bio);
	tick(3);
	request_init(&io->rq, &io->mq_ctx, &disk, &io->bio);
	EVENT(on_getrq, &io->bio);
	tick(5);
	EVENT(on_rq_issue, &io->rq);
}

/* @io ends in an interrupt on @cpu, and with it the mark. */
static void is_done(struct io *io, u32 cpu)
{
	cpu_is(cpu, &idle[cpu]);
	machine.level = 0x10000;
	complete_bytes(&io->rq, 0, 4096);
	completion_is_over();
	machine.level = 0;
}

static void assert_strata(const struct op_sums *s, u64 queue, u64 device, u64 complete, u64 runq,
			  u64 helper, u64 sleep)
{
	assert_int_equal(s->strata[ST_QUEUE], queue);
	assert_int_equal(s->strata[ST_DEVICE], device);
	assert_int_equal(s->strata[ST_COMPLETE], complete);
	assert_int_equal(s->strata[ST_RUNQ], runq);
	assert_int_equal(s->strata[ST_HELPER], helper);
	assert_int_equal(s->strata[ST_SLEEP], sleep);
	assert_int_equal(lost_all(), 0);
}

/* Another thread wakes Alice some time after her own request is done: the time between is not
 * explained. */
static void test_own_request(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	submits(&io, REQ_OP_READ);
	sleeps(&alice, 0);
	tick(101);
	is_done(&io, 1);
	tick(23);
	wakes_up(&bob, 1, &alice, 0);
	tick(7);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 101, 0, 7, 0, 23);
}

/* Alice sleeps, in @task_state. @late ns after a request of @by is done on CPU 1, she is woken
 * there, both at @level. How long she waited for the completion. */
static u64 completing(struct ktask *by, bool asleep_before, u32 task_state, u64 late, u32 level)
{
	struct op_sums s;
	struct io io;

	cpu_is(0, &alice);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	cpu_is(by == &alice ? 0 : 2, by);
	submits(&io, REQ_OP_READ);
	if (asleep_before)
		sleeps(&alice, 0);
	tick(101);
	cpu_is(1, &idle[1]);
	machine.level = level;
	complete_bytes(&io.rq, 0, 4096);
	machine.level = 0;
	if (!asleep_before)
		sleeps(&alice, 0);
	alice.state = task_state;
	tick(late);
	wakes_up(&idle[1], 1, &alice, level);
	machine.level = level;
	completion_is_over();
	machine.level = 0;
	runs(&alice, 0);
	s = ends();
	return s.strata[ST_COMPLETE];
}

/* A hypervisor took the CPU from a completion. A late completion is believed only of an interrupt
 * which wakes the submitter. The submitter must have slept before the request was done, and must
 * not be woken by signals. Another thread that signals wake waits for no request of his at all. */
static void test_late_completion(void **state)
{
	const u64 usual = REQUEST_END_NS, late = REQUEST_END_LATE_NS;
	const struct {
		struct ktask *by;
		bool asleep_before;
		u32 task_state, level;
		u64 longest;
	} cases[] = {
		{ &alice, true, 0x2, 0x100, late },
		{ &alice, true, 0x102, 0x100, late }, /* killable */
		{ &alice, true, 0x1, 0x100, usual },
		{ &alice, false, 0x2, 0x100, usual },
		{ &bob, true, 0x2, 0x100, usual },
		{ &bob, true, 0x102, 0x100, usual },
		{ &bob, true, 0x1, 0x100, 0 }, /* it waits for something else: a timer */
		{ &alice, true, 0x2, 0, usual },
	};
	u64 complete = 0, now;

	(void)state;
	ends();
	tick(late); /* so that no time is less than that */
	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (u32 more = 0; more < 2; more++) {
			now = completing(cases[i].by, cases[i].asleep_before, cases[i].task_state,
					 cases[i].longest + more, cases[i].level);
			assert_int_equal(now - complete, more ? 0 : cases[i].longest);
			complete = now;
		}
	}
}

/* A late completion of a helper's own request: the helper's client waited for the request. */
static void test_late_completion_for_a_helper(void **state)
{
	struct op_sums s;
	struct io io;

	for (u64 more = 0; more < 2; more++) {
		start(state);
		wakes_up(&alice, 0, &kthread, 0);
		sleeps(&alice, 0);
		runs(&kthread, 2);
		submits(&io, REQ_OP_READ);
		sleeps(&kthread, 2);
		tick(101);
		cpu_is(1, &idle[1]);
		machine.level = 0x100;
		complete_bytes(&io.rq, 0, 4096);
		machine.level = 0;
		tick(REQUEST_END_LATE_NS + more);
		wakes_up(&idle[1], 1, &kthread, 0x100);
		runs(&kthread, 2);
		wakes_up(&kthread, 2, &alice, 0);
		runs(&alice, 0);
		s = ends();
		assert_int_equal(s.strata[ST_DEVICE], more ? 0 : 101);
		assert_int_equal(s.strata[ST_COMPLETE], more ? 0 : REQUEST_END_LATE_NS);
		assert_int_equal(s.strata[ST_SLEEP],
				 more ? 8 + 101 + REQUEST_END_LATE_NS + more : 0);
	}
}

/* A request that was submitted before the operation began, or done before the sleep began, explains
 * no sleep. */
static void test_request_of_before(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	submits(&io, REQ_OP_READ);
	ends();
	tick(1);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(101);
	is_done(&io, 1);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	submits(&io, REQ_OP_READ);
	is_done(&io, 1);
	sleeps(&alice, 0);
	tick(11);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	assert_false(current_lookup()->op.waited_read);
	s = ends();
	assert_strata(&s, 0, 0, 0, 0, 0, 112);
}

/* A bio that was submitted before the operation explains no sleep, though a device without requests
 * passes it on later. */
static void test_bio_of_before(void **state)
{
	struct op_sums s;
	struct kdisk dm;
	struct bio upper;
	struct io io;

	(void)state;
	disk_init(&dm, 253, 0, false);
	bio_init(&upper, &dm, REQ_OP_READ, 8, 4096);
	EVENT(on_bio_queue, &upper);
	ends();
	tick(1);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(37);
	cpu_is(2, &kthread);
	submits(&io, REQ_OP_READ);
	tick(101);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, 4096);
	bio_ends(&upper);
	completion_is_over();
	machine.level = 0;
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 0);
	assert_strata(&s, 0, 0, 0, 0, 0, 37 + 8 + 101);
}

/* A request of another thread is not the thread's own, though both threads hash to the same place.
 */
static void test_request_of_another(void **state)
{
	struct ktask other;
	struct op_sums s;
	struct io io;

	(void)state;
	task_init(&other, 9, 1101 + DONE_SLOTS, "other", 0);
	cpu_is(1, &other);
	tick(1);
	submits(&io, REQ_OP_READ);
	sleeps(&alice, 0);
	tick(101);
	is_done(&io, 1);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 0, 0, 101);
}

/* When its waking was not seen, its own request may still tell. */
static void test_waking_not_seen(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	submits(&io, REQ_OP_READ);
	sleeps(&alice, 0);
	tick(101);
	is_done(&io, 1);
	tick(5);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 101, 0, 0, 0, 5);
	/* nor is the waking of a sleep before believed for this one */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(3);
	wakes_up(&bob, 1, &alice, 0);
	tick(4);
	runs(&alice, 0);
	sleeps(&alice, 0);
	tick(50);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_RUNQ], 4);
	assert_int_equal(s.strata[ST_SLEEP], 5 + 3 + 50);
}

/* Woken while it was still on its CPU: the sleep is a wait for a CPU only. */
static void test_woken_before_it_sleeps(void **state)
{
	struct op_sums s;

	(void)state;
	tick(2);
	wakes_up(&bob, 1, &alice, 0);
	tick(3);
	alice.state = 1;
	sleeps(&alice, 0);
	tick(17);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 17, 0, 0);
	assert_int_equal(s.strata[ST_SYSCALL], 5);
}

/* A waker of an earlier sleep is late, and writes what that one was for while the thread sleeps
 * again. */
static void test_late_waker(void **state)
{
	struct task_state *t = current_lookup();
	struct op_sums s;

	(void)state;
	tick(2);
	sleeps(&alice, 0);
	tick(30);
	t->waking.asleep = machine.now - 32;
	t->waking.split.device = 20;
	t->waking.at = machine.now;
	tick(4);
	runs(&alice, 0);
	assert_false(t->op.waited_read);
	s = ends();
	assert_strata(&s, 0, 0, 0, 4, 0, 30);
	/* what it says is more than the sleep was: nothing of it is believed */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(30);
	t->waking.asleep = machine.now - 30;
	t->waking.split.device = 31;
	t->waking.at = machine.now;
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 4, 0, 60);
	/* as much as that is */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(30);
	t->waking.asleep = machine.now - 30;
	t->waking.split.device = 30;
	t->waking.at = machine.now;
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 30, 0, 4, 0, 60);
}

/* A helper that is interrupted is not the waker; an idle thread is none that works for anybody. */
static void test_interrupted_helper(void **state)
{
	struct op_sums s;

	(void)state;
	sleeps(&alice, 0);
	runs(&kthread, 2);
	tick(11);
	wakes_up(&kthread, 2, &alice, 0x10000);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 0, 0, 11);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(13);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 0, 13, 11);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(17);
	wakes_up(&idle[1], 1, &alice, 0x100);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 0, 13, 28);
}

/* A helper that waited for another helper, which waited for a request (a loop device on a journal).
 */
static void by_helper_of_a_helper(u32 op_code)
{
	struct op_sums s;
	struct io io;

	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	tick(11);
	wakes_up(&kthread, 2, &deeper, 0);
	sleeps(&kthread, 2);
	runs(&deeper, 3);
	tick(13);
	submits(&io, op_code);
	sleeps(&deeper, 3);
	tick(101);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, 4096);
	tick(2);
	wake(&deeper);
	completion_is_over();
	machine.level = 0;
	tick(5);
	runs(&deeper, 3);
	tick(7);
	wakes_up(&deeper, 3, &kthread, 0);
	tick(17);
	runs(&kthread, 2);
	tick(19);
	wakes_up(&kthread, 2, &alice, 0);
	tick(23);
	runs(&alice, 0);
	assert_int_equal(current_lookup()->op.waited_read, op_code == REQ_OP_READ);
	assert_int_equal(current_lookup()->op.own_reads, 0);
	s = ends();
	/* its own wait, for the other's request: Q to G 3, G to D 5, then D to C; what came after C
	 * and before kthread's waking is complete */
	assert_int_equal(s.strata[ST_TAG], 3);
	assert_strata(&s, 5, 101, 2 + 5 + 7, 17 + 23, 11 + 13 + 19, 0);
}

static void test_helper_of_a_helper(void **state)
{
	by_helper_of_a_helper(REQ_OP_WRITE);
	start(state);
	by_helper_of_a_helper(REQ_OP_READ);
}

/* A helper that shows no wait for the request, which the thread submitted itself: that tells, and
 * the helper's wait for a CPU as well, as long as the two can both be in the sleep. */
static void own_request_and_helper(u64 device, u64 runq, u64 rest)
{
	struct op_sums s;
	struct io io;

	submits(&io, REQ_OP_WRITE);
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	tick(20);
	runs(&kthread, 2);
	tick(device - 20);
	is_done(&io, 1);
	tick(60 - device);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, device, 0, runq, rest, 0);
}

static void test_own_request_and_helper(void **state)
{
	own_request_and_helper(30, 20, 10);
	start(state);
	own_request_and_helper(40, 20, 0);
	start(state);
	own_request_and_helper(41, 0, 19);
}

/* A helper's earlier wait is not its wait for this client. */
static void test_waits_of_a_helper(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	submits(&io, REQ_OP_WRITE);
	sleeps(&kthread, 2);
	tick(101);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, 4096);
	wake(&kthread);
	completion_is_over();
	machine.level = 0;
	runs(&kthread, 2);
	cpu_is(2, &kthread);
	switch_to(&idle[2], true);
	tick(53);
	wakes_up(&bob, 1, &kthread, 0);
	tick(2);
	runs(&kthread, 2);
	cpu_is(2, &kthread);
	switch_to(&idle[2], false); /* preempted */
	tick(59);
	runs(&kthread, 2);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	/* before it was woken, it did not work: what it waited for is not known */
	assert_strata(&s, 0, 101, 0, 2 + 59, 0, 8 + 53);
}

/* The last eight waits of a helper are kept; what is older is the helper's. */
static void test_many_waits_of_a_helper(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	for (int i = 0; i < HELPER_WAITS + 3; i++) {
		cpu_is(2, &kthread);
		submits(&io, REQ_OP_WRITE);
		sleeps(&kthread, 2);
		tick(100 + i);
		cpu_is(1, &idle[1]);
		machine.level = 0x10000;
		complete_bytes(&io.rq, 0, 4096);
		wake(&kthread);
		completion_is_over();
		machine.level = 0;
		tick(1);
		runs(&kthread, 2);
	}
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	/* of the first three nothing is known: their 100 + 101 + 102 ns, and the 1 ns after each */
	assert_strata(&s, 0, 103 + 104 + 105 + 106 + 107 + 108 + 109 + 110, 0, 8, 8 * 11 + 303 + 3,
		      0);
}

/* A throttled bio is throttled until it was queued, as far as this is known. */
static void test_throttled_by_the_block_layer(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	conf.issuers = 1;
	bio_init(&io.bio, &disk, REQ_OP_READ, 8, 4096);
	EVENT(on_bio_throttled, &io.bio);
	sleeps(&alice, 0);
	tick(100);
	task_init(&bob, 8, 8, "kworker/1:1", PF_KTHREAD | PF_WQ_WORKER);
	strcpy(bob.queue, "kthrotld");
	cpu_is(1, &bob);
	submits(&io, REQ_OP_READ);
	tick(30);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, 4096);
	wake(&alice);
	completion_is_over();
	machine.level = 0;
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_THROTTLE], 100);
	assert_int_equal(s.strata[ST_TAG], 3);
	assert_strata(&s, 5, 30, 0, 0, 0, 0);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).device_ns, 30);
}

/* A thread with a throttled bio sleeps for another request: this request's completion explains the
 * sleep. */
static void test_throttled_meanwhile(void **state)
{
	struct op_sums s;
	struct io io, kept_back;

	(void)state;
	submits(&io, REQ_OP_READ);
	bio_init(&kept_back.bio, &disk, REQ_OP_READ, 16, 4096);
	EVENT(on_bio_throttled, &kept_back.bio);
	for (int queued = 0; queued <= 1; queued++) {
		sleeps(&alice, 0);
		if (queued) {
			task_init(&bob, 8, 8, "kworker/0:1", PF_KTHREAD | PF_WQ_WORKER);
			strcpy(bob.queue, "kthrotld");
			cpu_is(0, &bob);
			EVENT(on_bio_queue, &kept_back.bio); /* and no request is free */
			submits(&io, REQ_OP_READ);
		}
		tick(101);
		cpu_is(1, &idle[1]);
		machine.level = 0x10000;
		complete_bytes(&io.rq, 0, 4096);
		wake(&alice);
		completion_is_over();
		machine.level = 0;
		runs(&alice, 0);
	}
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 3);
	assert_strata(&s, 5, 101 + 101, 0, 0, 0, 0);
	assert_int_equal(s.device_bytes, 2 * 4096);
}

/* A helper that finds no room is told; one that exits gets none. */
static void test_no_room_for_helpers(void **state)
{
	struct ktask late, exiting;

	(void)state;
	task_init(&late, 310, 310, "late", PF_KTHREAD);
	task_init(&exiting, 311, 311, "exiting", PF_KTHREAD | PF_EXITING);
	sleeps(&exiting, 1);
	assert_int_equal(map_count(&helpers), 2);
	map_of(&helpers)->refusals = 1;
	sleeps(&late, 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	sleeps(&late, 1);
	assert_int_equal(map_count(&helpers), 3);
	cpu_is(1, &late);
	EVENT(on_thread_exit, &late);
	assert_int_equal(map_count(&helpers), 2);
}

/* --why: where it slept, if nothing else explains it. */
static void test_why(void **state)
{
	const struct site_key *key;
	struct site_sums *sums;
	struct entry *e;

	(void)state;
	conf.sites = 1;
	alice.stack[0] = 0xa;
	alice.stack[1] = 0xb;
	for (int i = 0; i < 3; i++) {
		sleeps(&alice, 0);
		tick(10 + i);
		wakes_up(&bob, 1, &alice, 0);
		tick(5);
		runs(&alice, 0);
	}
	alice.stack[1] = 0xc;
	sleeps(&alice, 0);
	tick(100);
	wakes_up(&kthread, 2, &alice, 0); /* known: a helper */
	runs(&alice, 0);
	e = map_of(&site_rows_even)->entries;
	assert_int_equal(map_count(&site_rows_even), 1);
	key = (const void *)e->key;
	sums = (void *)e->value;
	assert_int_equal(key->at[0], 0xa);
	assert_int_equal(key->at[1], 0xb);
	assert_int_equal(key->op, OP_META);
	assert_int_equal(sums->count, 3);
	assert_int_equal(sums->total_ns, 33);
	assert_int_equal(sums->max_ns, 12);
	map_of(&site_rows_even)->refusals = 1;
	sleeps(&alice, 0);
	tick(1);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* Wakings are not looked at where no waits are traced. */
static void test_without_waits(void **state)
{
	struct op_sums s;

	(void)state;
	conf.waits = 0;
	sleeps(&alice, 0);
	wakes_up(&kthread, 2, &alice, 0);
	tick(9);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_SLEEP], 9);
	assert_int_equal(s.strata[ST_HELPER], 0);
}

/* The pause of balance_dirty_pages is one of its last arguments, by kernel; 0: it does not sleep.
 */
static void test_pause(void **state)
{
	u64 ctx[12] = {};
	struct op_sums s;

	(void)state;
	for (int i = 0; i < 4; i++) {
		memset(ctx, 0, sizeof(ctx));
		conf.arg_pause = i & 1 ? 10 : 6;
		ctx[conf.arg_pause] = i < 2 ? 1 : 0;
		ctx[16 - conf.arg_pause] = i < 2 ? 0 : 1;
		cpu_is(0, &alice);
		on_throttle(ctx);
		sleeps(&alice, 0);
		tick(100);
		wakes_up(&bob, 1, &alice, 0);
		runs(&alice, 0);
	}
	s = ends();
	assert_int_equal(s.strata[ST_THROTTLE], 200);
	assert_int_equal(s.strata[ST_SLEEP], 200);
}

/* A bio that has no request yet: its thread waits for a tag, unless it is a bio-based device's. */
static void test_tag(void **state)
{
	struct op_sums s;
	struct kdisk zram;
	struct io io;

	(void)state;
	bio_init(&io.bio, &disk, REQ_OP_READ, 8, 4096);
	EVENT(on_bio_queue, &io.bio);
	sleeps(&alice, 0);
	tick(41);
	wakes_up(&bob, 1, &alice, 0);
	tick(2);
	runs(&alice, 0);
	cpu_is(0, &alice);
	EVENT(on_getrq, &io.bio);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	sleeps(&alice, 0); /* it has one: what it waits for now is not known */
	tick(43);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 41);
	assert_int_equal(s.strata[ST_RUNQ], 2);
	assert_int_equal(s.strata[ST_SLEEP], 43);
	disk_init(&zram, 252, 0, false);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	bio_init(&io.bio, &zram, REQ_OP_READ, 8, 4096);
	EVENT(on_bio_queue, &io.bio);
	sleeps(&alice, 0);
	tick(47);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 41);
	assert_int_equal(s.strata[ST_SLEEP], 90);
}

/* A helper that waits for a tag: its client does, too. */
static void test_tag_of_a_helper(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	cpu_is(2, &kthread);
	bio_init(&io.bio, &disk, REQ_OP_WRITE, 8, 4096);
	EVENT(on_bio_queue, &io.bio);
	sleeps(&kthread, 2);
	tick(53);
	wakes_up(&bob, 1, &kthread, 0);
	tick(3);
	runs(&kthread, 2);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	assert_false(current_lookup()->op.waited_read);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 53);
	assert_strata(&s, 0, 0, 0, 3, 0, 0);
}

/* Where several programs may be in an operation at once, a switch leaves one alone that is
 * charging. */
static void test_charging(void **state)
{
	struct task_state *t = current_lookup();
	struct op_sums s;

	(void)state;
	sleeps(&alice, 0);
	tick(7);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	tick(10);
	t->op.charging = 1;
	sleeps(&alice, 0);
	tick(20);
	runs(&alice, 0);
	t->op.charging = 0;
	s = ends();
	assert_int_equal(s.strata[ST_SYSCALL], 30);
	assert_int_equal(s.strata[ST_SLEEP], 7);
	assert_int_equal(s.strata[ST_RUNQ] + s.strata[ST_PREEMPT], 0);
}

/* Reads are told from writes in what an operation waited for: only then the page cache had a miss.
 */
static void test_what_was_read(void **state)
{
	struct op_sums s;
	struct io io;
	struct op *op;

	(void)state;
	for (u32 op_code = REQ_OP_READ; op_code <= REQ_OP_WRITE; op_code++) {
		for (int by_mark = 0; by_mark < 2; by_mark++) {
			cpu_is(0, &alice);
			submits(&io, op_code);
			sleeps(&alice, 0);
			tick(5);
			cpu_is(1, &idle[1]);
			machine.level = 0x10000;
			complete_bytes(&io.rq, 0, 4096);
			if (by_mark)
				wake(&alice);
			completion_is_over();
			machine.level = 0;
			if (!by_mark)
				wakes_up(&bob, 1, &alice, 0);
			runs(&alice, 0);
			op = &current_lookup()->op;
			assert_int_equal(op->waited_read, op_code == REQ_OP_READ);
			assert_int_equal(op->own_reads, op_code == REQ_OP_READ);
			assert_int_equal(op->requests, 1);
			s = ends();
			sys_enter(NR_STAT, 0, 0, 0, 0);
		}
	}
	assert_int_equal(s.device_bytes, 2 * 4096);
	assert_int_equal(s.strata[ST_DEVICE], 20);
}

/* @io, which another has submitted, ends, and wakes @t. */
static void is_done_for(struct io *io, struct ktask *t)
{
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io->rq, 0, 4096);
	wake(t);
	completion_is_over();
	machine.level = 0;
}

/* A bio-based device keeps a bio for some time before it passes it on: that is the device's. */
static void test_held_by_a_device(void **state)
{
	struct op_sums s;
	struct kdisk dm;
	struct bio upper;
	struct io io;

	(void)state;
	disk_init(&dm, 253, 0, false);
	bio_init(&upper, &dm, REQ_OP_READ, 8, 4096);
	EVENT(on_bio_queue, &upper);
	sleeps(&alice, 0);
	tick(37);
	cpu_is(2, &kthread);
	submits(&io, REQ_OP_READ);
	tick(101);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, 4096);
	bio_ends(&upper);
	tick(2);
	wake(&alice);
	completion_is_over();
	machine.level = 0;
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 3);
	assert_strata(&s, 5, 37 + 101, 2, 0, 0, 0);
}

/* The request below is that of another bio, too, which its device had kept since before; both were
 * passed on only after this one was submitted. */
static void test_held_longer_for_another(void **state)
{
	struct kdisk dm[2];
	struct bio upper[2];
	struct op_sums s;
	struct io io;

	(void)state;
	for (int i = 0; i < 2; i++) {
		disk_init(&dm[i], 253, i, false);
		bio_init(&upper[i], &dm[i], REQ_OP_READ, 8, 4096);
		cpu_is(1 - i, i ? &alice : &bob);
		EVENT(on_bio_queue, &upper[i]);
		tick(1 - i);
	}
	sleeps(&alice, 0);
	tick(37);
	cpu_is(2, &kthread);
	submits(&io, REQ_OP_READ);
	tick(101);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, 4096);
	bio_ends(&upper[0]);
	bio_ends(&upper[1]);
	tick(2);
	wake(&alice);
	completion_is_over();
	machine.level = 0;
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 3);
	assert_strata(&s, 5, 37 + 101, 2, 0, 0, 0);
}

/* Two helpers in a chain: a wait of the second before the first slept is no part of the first's
 * sleep. */
static void test_helper_of_a_helper_before(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	for (u64 before = 0; before < 2; before++) {
		start(NULL);
		runs(&deeper, 3);
		submits(&io, REQ_OP_READ);
		sleeps(&deeper, 3);
		tick(100);
		is_done_for(&io, &deeper);
		runs(&deeper, 3);
		tick(before);
		wakes_up(&alice, 0, &kthread, 0);
		runs(&kthread, 2);
		sleeps(&kthread, 2); /* as the request is done, or after that */
		sleeps(&alice, 0);
		tick(13);
		wakes_up(&deeper, 3, &kthread, 0);
		runs(&kthread, 2);
		wakes_up(&kthread, 2, &alice, 0);
		runs(&alice, 0);
		assert_false(current_lookup()->op.waited_read);
		s = ends();
		assert_strata(&s, 0, 0, 0, 0, 13, 0);
	}
}

/* Two helpers in a chain: the second sent a request to the device before the first slept. The
 * first's sleep has the rest of this request. */
static void test_helper_of_a_helper_in_flight(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	runs(&deeper, 3);
	submits(&io, REQ_OP_READ);
	sleeps(&deeper, 3);
	tick(17);
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	sleeps(&kthread, 2);
	tick(101);
	is_done_for(&io, &deeper);
	runs(&deeper, 3);
	tick(7);
	wakes_up(&deeper, 3, &kthread, 0);
	runs(&kthread, 2);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 101, 7, 0, 0, 0);
}

/* A helper that was woken as its client began to sleep has read nothing for that, but waited for a
 * CPU. */
static void test_helper_that_was_woken_before(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	runs(&kthread, 2);
	submits(&io, REQ_OP_READ);
	sleeps(&kthread, 2);
	tick(100);
	is_done_for(&io, &kthread);
	sleeps(&alice, 0);
	tick(19);
	runs(&kthread, 2);
	tick(23);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	assert_false(current_lookup()->op.waited_read);
	s = ends();
	assert_strata(&s, 0, 0, 0, 19, 23, 0);
}

/* If the helper shows a request, however short, the thread's own one does not matter. */
static void test_helpers_request_and_own(void **state)
{
	static const u64 device[] = { 1, 2, 8, 13 };
	struct io own, helpers;
	struct op_sums s;

	(void)state;
	for (size_t i = 0; i < sizeof(device) / sizeof(*device); i++) {
		start(NULL);
		submits(&own, REQ_OP_READ);
		wakes_up(&alice, 0, &kthread, 0);
		sleeps(&alice, 0);
		runs(&kthread, 2);
		bio_init(&helpers.bio, &disk, REQ_OP_WRITE, 8, 4096);
		EVENT(on_bio_queue, &helpers.bio);
		sleeps(&kthread, 2);
		tick(3);
		request_init(&helpers.rq, &helpers.mq_ctx, &disk, &helpers.bio);
		EVENT(on_getrq, &helpers.bio);
		tick(5);
		EVENT(on_rq_issue, &helpers.rq);
		tick(device[i]);
		is_done_for(&helpers, &kthread);
		runs(&kthread, 2);
		tick(29);
		is_done(&own, 1);
		tick(31);
		wakes_up(&kthread, 2, &alice, 0);
		runs(&alice, 0);
		assert_false(current_lookup()->op.waited_read);
		s = ends();
		assert_int_equal(s.strata[ST_TAG], 3);
		assert_strata(&s, 5, device[i], 0, 0, 29 + 31, 0);
	}
}

/* Notes about a helper for the helper's own rows are none of its waits. */
static void test_helper_with_rows_of_its_own(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	conf.helpers = conf.issuers = conf.behalf = 1;
	task_init(&kthread, 300, 300, "kworker/2:1", PF_KTHREAD | PF_WQ_WORKER);
	strcpy(kthread.queue, "loop0");
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	submits(&io, REQ_OP_WRITE);
	sleeps(&kthread, 2);
	tick(101);
	is_done_for(&io, &kthread);
	runs(&kthread, 2);
	tick(31);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG] + s.strata[ST_THROTTLE], 0);
	assert_strata(&s, 0, 101, 0, 0, 8 + 31, 0);
}

/* Alice waits @ns for the lock @lock, which @by lets go on CPU 1 at @level. */
static void waits_for_lock(u64 lock, u64 ns, struct ktask *by, u32 level)
{
	u64 ctx[2] = { lock, 0 };

	cpu_is(0, &alice);
	on_lock_wanted(ctx);
	sleeps(&alice, 0);
	tick(ns);
	wakes_up(by, 1, &alice, level);
	runs(&alice, 0);
	EVENT(on_lock_taken, lock);
}

static const struct slow_op *recorded(void)
{
	ends();
	assert_non_null(newest_record());
	return newest_record();
}

/* Locks of those who are in no operation, or were never seen, do not matter; nor does the end of
 * another lock, or of one that spins. */
static void test_locks_of_others(void **state)
{
	u64 lock[2] = { 0x77, 0 }, other[2] = { 0x78, 0 }, spin[2] = { 0x99, LCB_F_SPIN };
	struct op_sums s;

	(void)state;
	cpu_is(1, &bob); /* who has no state */
	on_lock_wanted(lock);
	on_lock_taken(lock);
	assert_null(current_lookup());
	cpu_is(0, &alice);
	on_lock_wanted(lock);
	on_lock_taken(other);
	sleeps(&alice, 0);
	tick(17);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	on_lock_taken(lock);
	sleeps(&alice, 0);
	tick(19);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_LOCK], 17);
	assert_int_equal(s.strata[ST_SLEEP], 19);
	/* one that it waited for outside of any operation */
	on_lock_wanted(lock);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	on_lock_wanted(spin);
	sleeps(&alice, 0);
	tick(23);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_LOCK], 17);
	assert_int_equal(s.strata[ST_SLEEP], 19 + 23);
}

/* The longest wait for a lock has its last holder: nobody known if an interrupt released the lock,
 * whatever the holder before did. */
static void test_who_held_a_lock(void **state)
{
	const struct waker nobody = {};
	const struct slow_op *r;
	struct ktask carol;

	(void)state;
	conf.records = conf.call_noted = 1;
	task_init(&carol, 1300, 1303, "carol", 0); /* who has no state */
	cpu_is(1, &bob);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 11, &bob, 0);
	waits_for_lock(0x78, 13, &carol, 0);
	r = recorded();
	assert_int_equal(r->lock_ns, 13);
	assert_int_equal(r->lock_holder.pid, 1300);
	assert_int_equal(r->lock_holder.tid, 1303);
	assert_int_equal(r->lock_holder.op, OP_NONE);
	assert_int_equal(r->lock_holder.stratum, 0);
	assert_string_equal(r->lock_holder.comm, "carol");
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 11, &bob, 0);
	waits_for_lock(0x77, 17, &bob, 0x10000);
	r = recorded();
	assert_int_equal(r->lock_ns, 17);
	assert_memory_equal(&r->lock_holder, &nobody, sizeof(nobody));
	/* a shorter one than that of the operation before */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 7, &bob, 0);
	r = recorded();
	assert_int_equal(r->lock_ns, 7);
	assert_int_equal(r->lock_holder.tid, 1201);
}

/* The thread that ends the longest sleep without a reason is told, unless it is a helper or an
 * interrupt; and no sleep for a lock counts. */
static void test_who_ended_a_sleep(void **state)
{
	const struct waker nobody = {};
	const struct slow_op *r;

	(void)state;
	conf.records = conf.call_noted = 1;
	sleeps(&alice, 0);
	tick(13);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	sleeps(&alice, 0);
	tick(7);
	wakes_up(&kthread, 2, &alice, 0x10000);
	runs(&alice, 0);
	waits_for_lock(0x77, 17, &bob, 0);
	r = recorded();
	assert_int_equal(r->slept_ns, 13);
	assert_int_equal(r->woken_by.pid, 1200);
	assert_int_equal(r->woken_by.tid, 1201);
	assert_string_equal(r->woken_by.comm, "bob");
	/* a shorter one than in the operation before, and a longer one by an interrupt */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(7);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	sleeps(&alice, 0);
	tick(11);
	wakes_up(&bob, 1, &alice, 0x10000);
	runs(&alice, 0);
	r = recorded();
	assert_int_equal(r->slept_ns, 11);
	assert_memory_equal(&r->woken_by, &nobody, sizeof(nobody));
	/* a waking that was missed */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	tick(19);
	runs(&alice, 0);
	r = recorded();
	assert_int_equal(r->slept_ns, 19);
	assert_memory_equal(&r->woken_by, &nobody, sizeof(nobody));
	/* none */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	tick(5);
	r = recorded();
	assert_int_equal(r->total_ns, 5);
	assert_int_equal(r->slept_ns, 0);
}

/* Alice sleeps for @ns until @by wakes her. */
static void sleeps_until(u64 ns, struct ktask *by)
{
	sleeps(&alice, 0);
	tick(ns);
	wakes_up(by, 1, &alice, 0);
	runs(&alice, 0);
}

static void assert_who(const struct slow_op *r, enum who who, u64 ns, const char *comm)
{
	assert_int_equal(r->by.thread.who, who);
	if (!who)
		return;
	assert_int_equal(r->by.ns, ns);
	assert_string_equal(r->by.thread.comm, comm);
}

/* The longest wait that somebody else ended, or was due to, has a kind and a thread. */
static void test_who_a_wait_was_due_to(void **state)
{
	struct ktask carol;

	(void)state;
	task_init(&carol, 1300, 1303, "carol", 0);
	conf.records = conf.call_noted = conf.segments = conf.who = 1;
	cpu_is(0, &alice);
	current_lookup()->op.segments = 1;
	sleep_site_is(1, 1, WHO_SCANNER);
	alice.stack[1] = 0x1000; /* returns to the beginning: not called by this function */
	sys_exit(0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 200000, &bob, 0);
	waits_for_lock(0x77, 150000, &carol, 0);
	sleeps_until(170000, &carol);
	waits_for_lock(0x77, 300000, &carol, 0x10000);
	assert_who(recorded(), WHO_LOCK, 200000, "bob");
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 99999, &bob, 0);
	assert_who(recorded(), WHO_NONE, 0, NULL);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps_until(100000, &carol);
	assert_who(recorded(), WHO_WAKER, 100000, "carol");
	alice.stack[1] = 0x2000;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps_until(110000, &carol);
	assert_who(recorded(), WHO_SCANNER, 110000, "carol");
	sleep_site_is(2, 5, SITE_CONNECT);
	alice.stack[1] = 0x5010;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps_until(120000, &carol);
	assert_who(recorded(), WHO_WAKER, 120000, "carol");
	alice.stack[1] = 0x2000;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	current_lookup()->op.kind = OP_LOCK;
	sleeps_until(130000, &carol);
	sys_exit(0);
	assert_who(newest_record(), WHO_FILE_LOCK, 130000, "carol");
	/* a wait that a signal ended was not ended by the holder */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	current_lookup()->op.kind = OP_LOCK;
	sleeps_until(140000, &carol);
	sys_exit(-4 /* EINTR */);
	assert_who(newest_record(), WHO_WAKER, 140000, "carol");
}

/* Every function of the lists has a place, and its name has no more characters than programs read.
 */
static void test_names_of_sleep_sites(void **state)
{
#define WHO_FUNCTIONS(number, id, name, before, after, functions, strata) functions,

#define LIMIT_FUNCTIONS(number, id, name, functions) functions,
	static const char *const all[] = { WHO_LIST(WHO_FUNCTIONS) LIMIT_LIST(LIMIT_FUNCTIONS) };
	size_t n = 1, len;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const char *name = all[i]; *name; name += len + !!name[len]) {
			len = strcspn(name, " ");
			assert_true(len && len < FUNCTION_WORDS * sizeof(u64));
			n++;
		}
	assert_int_equal(n, SLEEP_SITES);
}

/* The function that returns to an address is found by its name, once, or by its code where programs
 * cannot name functions. A name that could not be read is read again. */
static void test_sleep_sites(void **state)
{
	enum { SAME_PLACE = 4 * SITE_ANSWERS };
	u64 named;

	(void)state;
	sleep_site_is(0, 1, WHO_SCANNER);
	sleep_site_is(SLEEP_SITES - 1, 0xffffffff81234, SITE_CONNECT);
	for (int names = 0; names < 2; names++) {
		conf.names_functions = names;
		assert_int_equal(site_find(0), 0);
		assert_int_equal(site_find(0x1000), 0);
		assert_int_equal(site_find(0x1001), WHO_SCANNER);
		assert_int_equal(site_find(0x2000), WHO_SCANNER);
		assert_int_equal(site_find(0x2001), 0);
		assert_int_equal(site_find(0xffffffff81234010), SITE_CONNECT);
	}
	named = machine.names;
	assert_int_equal(site_find(0xffffffff81234010), SITE_CONNECT);
	assert_int_equal(machine.names, named);
	assert_int_equal(site_find(0x1010), WHO_SCANNER);
	assert_int_equal(site_find(0x1010 + SAME_PLACE), WHO_SCANNER);
	assert_int_equal(site_find(0x1010 + 4 * SAME_PLACE), 0);
	assert_int_equal(site_find(0x1010), WHO_SCANNER);
	assert_int_equal(machine.names, named + 4);
	machine.names_nothing = true;
	assert_int_equal(site_find(0x1080), 0);
	machine.names_nothing = false;
	assert_int_equal(site_find(0x1080), WHO_SCANNER);
}

/* Where an interrupt that wakes looks like the thread that it interrupted, only a waker in an
 * operation is told. */
static void test_who_without_interrupt_level(void **state)
{
	const struct slow_op *r;
	struct ktask carol;

	(void)state;
	task_init(&carol, 1300, 1303, "carol", 0);
	conf.records = conf.call_noted = conf.segments = conf.who = conf.no_level = 1;
	cpu_is(0, &alice);
	current_lookup()->op.segments = 1;
	sys_exit(0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps_until(100000, &carol);
	r = recorded();
	assert_who(r, WHO_NONE, 0, NULL);
	assert_int_equal(r->slept_ns, 100000);
	assert_int_equal(r->woken_by.tid, 0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 110000, &carol, 0);
	assert_who(recorded(), WHO_LOCK, 110000, "carol");
	cpu_is(1, &carol);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	cpu_is(0, &alice);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps_until(120000, &carol);
	r = recorded();
	assert_who(r, WHO_WAKER, 120000, "carol");
	assert_int_equal(r->woken_by.tid, 1303);
}

static const struct who_sums *who_sums_of(const struct ktask *t, u32 op, enum who who)
{
	struct who_key key = { .pid = t->t.tgid, .op = op, .who = who };

	memcpy(key.comm, t->t.comm, sizeof(key.comm));
	return bpf_map_lookup_elem(&who_rows_even, &key);
}

/* The row of the waits of alice for @limit, in the cgroup 4711 if alice is in one. */
static const struct who_sums *limit_sums_of(u32 op, enum io_limit limit)
{
	struct who_key key = { .pid = alice.t.tgid, .op = op, .who = WHO_LIMIT, .limit = limit };

	key.cgroup = alice.t.cgroups ? 4711 : 0;
	return bpf_map_lookup_elem(&who_rows_even, &key);
}

/* alice waits for a request that is held for @held_ns, and then for the device. */
static void sleeps_throttled(u64 held_ns, u64 device_ns)
{
	struct io held;

	bio_init(&held.bio, &disk, REQ_OP_READ, 800, 4096);
	EVENT(on_bio_throttled, &held.bio);
	sleeps(&alice, 0);
	tick(held_ns);
	task_init(&bob, 8, 8, "kworker/1:1", PF_KTHREAD | PF_WQ_WORKER);
	strcpy(bob.queue, "kthrotld");
	cpu_is(1, &bob);
	submits(&held, REQ_OP_READ);
	tick(device_ns);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&held.rq, 0, 4096);
	wake(&alice);
	completion_is_over();
	machine.level = 0;
	runs(&alice, 0);
}

/* A wait for a request is due to a limit if it was in a limit's function; a wait of a throttled bio
 * always is. */
static void test_limits(void **state)
{
	struct kernfs_node node = { .id = 4711 };
	struct cgroup group = { .kn = &node };
	struct css_set set = { .dfl_cgrp = &group };
	const struct who_sums *s;
	struct io io;

	(void)state;
	alice.t.cgroups = &set;
	conf.who = conf.who_rows = conf.issuers = 1;
	sleep_site_is(2, 1, WHO_LIMIT | LIMIT_WBT << 8);
	sleep_site_is(3, 3, WHO_SCANNER);
	bio_init(&io.bio, &disk, REQ_OP_READ, 8, 4096);
	EVENT(on_bio_queue, &io.bio);
	alice.stack[1] = 0x2000;
	sleeps_until(230000, &bob);
	sleeps_until(99999, &bob);
	alice.stack[1] = 0x3001; /* of nobody who has requests wait */
	sleeps_until(250000, &bob);
	alice.stack[1] = 0x5000;
	sleeps_until(260000, &bob);
	assert_int_equal(current_lookup()->op.strata[ST_TAG], 230000 + 99999 + 250000 + 260000);
	assert_int_equal(map_count(&who_rows_even), 1);
	s = limit_sums_of(OP_META, LIMIT_WBT);
	assert_int_equal(s->count, 1);
	assert_int_equal(s->total_ns, 230000);
	sys_exit(0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps_throttled(310000, 30);
	sleeps_throttled(99999, 70000); /* the device is no limit */
	assert_int_equal(limit_sums_of(OP_META, LIMIT_IO_MAX)->total_ns, 310000);
	assert_int_equal(map_count(&who_rows_even), 2);
	alice.t.cgroups = NULL;
}

/* Rows have all waits of 100 us, not only the longest of each operation, and not those of threads
 * in no operation. A wait that a signal ended was not ended by the holder of the file lock. */
static void test_rows_of_waits(void **state)
{
	const struct who_sums *s;
	struct ktask carol;

	(void)state;
	task_init(&carol, 1300, 1303, "carol", 0);
	conf.who = conf.who_rows = 1;
	cpu_is(0, &alice);
	waits_for_lock(0x77, 200000, &bob, 0);
	waits_for_lock(0x77, 150000, &carol, 0);
	waits_for_lock(0x77, 300000, &carol, 0x10000);
	waits_for_lock(0x77, 99999, &bob, 0);
	sleeps_until(170000, &carol);
	sys_exit(0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 130000, &bob, 0);
	current_lookup()->op.kind = OP_LOCK;
	sleeps_until(110000, &carol);
	alice.t.pending.signal.sig[0] = 1 << 14;
	sleeps_until(120000, &carol);
	alice.t.blocked.sig[0] = 1 << 14;
	sleeps_until(190000, &carol);
	alice.signal.shared_pending.signal.sig[0] = 1 << 9; /* for any thread of the process */
	sleeps_until(140000, &carol);
	current_lookup()->op.progress = OP_SLEEPS; /* it may be in no operation at all */
	sleeps_until(210000, &carol);
	current_lookup()->op.progress = OP_AWAITS; /* likewise */
	sleeps_until(210000, &carol);
	current_lookup()->op.progress = OP_ACTIVE;
	sys_exit(0);
	s = who_sums_of(&bob, OP_META, WHO_LOCK);
	assert_non_null(s);
	assert_int_equal(s->count, 2);
	assert_int_equal(s->total_ns, 330000);
	assert_int_equal(s->max_ns, 200000);
	assert_int_equal(who_sums_of(&carol, OP_META, WHO_LOCK)->total_ns, 150000);
	assert_int_equal(who_sums_of(&carol, OP_META, WHO_WAKER)->total_ns, 170000);
	assert_int_equal(who_sums_of(&carol, OP_LOCK, WHO_FILE_LOCK)->total_ns, 300000);
	assert_int_equal(who_sums_of(&carol, OP_LOCK, WHO_WAKER)->total_ns, 120000 + 140000);
	assert_int_equal(map_count(&who_rows_even), 5);
	assert_int_equal(live.who_rows_made[0], 5);
	/* a sleep in no operation, and a row for which there is no room */
	sleeps_until(230000, &carol);
	assert_int_equal(map_count(&who_rows_even), 5);
	map_of(&who_rows_even)->refusals = 1;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	current_lookup()->op.kind = OP_FSYNC;
	sleeps_until(230000, &carol);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* @t stays in balance_dirty_pages() since @start, after @pages pages. */
static void dirties(struct ktask *t, struct bdi_writeback *wb, u64 pages, u64 start)
{
	u64 ctx[8] = { (u64)wb, [4] = pages, [6] = 1, [7] = start };

	cpu_is(0, t);
	on_throttle(ctx);
}

/* The process that made most pages dirty on a device is the one for whom all wait, in this window
 * of time or in the one before. A stay counts once, however often it is told. */
static void test_who_made_pages_dirty(void **state)
{
	struct backing_dev_info *bdis = (void *)0x10000;
	struct bdi_writeback wb = { bdis }, other = { (void *)0x20400 };
	struct ktask carol;

	(void)state;
	task_init(&carol, 1300, 1303, "carol", 0);
	conf.who = conf.who_rows = 1;
	conf.arg_pause = 6;
	tick((1ULL << 32) - machine.now % (1ULL << 32));
	dirties(&carol, &wb, 60, 1);
	dirties(&bob, &wb, 50, 2);
	dirties(&bob, &wb, 50, 2);
	dirties(&bob, &other, 500, 3);
	dirties(&alice, &wb, 3, 4);
	sleeps(&alice, 0);
	tick(200000);
	wakes_up(&bob, 1, &alice, 0x10000); /* the timer's interrupt */
	runs(&alice, 0);
	assert_int_equal(who_sums_of(&carol, OP_META, WHO_DIRTIER)->total_ns, 200000);
	assert_int_equal(map_count(&who_rows_even), 1);
	/* the next window has three pages, the one before 113 */
	tick(1ULL << 32);
	dirties(&alice, &wb, 3, 5);
	sleeps_until(300000, &carol);
	assert_int_equal(who_sums_of(&carol, OP_META, WHO_DIRTIER)->total_ns, 500000);
	/* all that is too long ago when the sleep ends: only the limit is known */
	dirties(&alice, &wb, 3, 5);
	sleeps_until(1ULL << 34, &carol);
	assert_int_equal(map_count(&who_rows_even), 2);
	assert_int_equal(limit_sums_of(OP_META, LIMIT_DIRTY)->total_ns, 1ULL << 34);
	assert_int_equal(who_sums_of(&carol, OP_META, WHO_DIRTIER)->total_ns, 500000);
	/* nobody made more than half */
	tick(1ULL << 33);
	dirties(&bob, &wb, 5, 6);
	dirties(&carol, &wb, 5, 7);
	dirties(&alice, &wb, 5, 8);
	sleeps_until(300000, &carol);
	assert_int_equal(map_count(&who_rows_even), 2);
	assert_int_equal(limit_sums_of(OP_META, LIMIT_DIRTY)->total_ns, (1ULL << 34) + 300000);
	/* the window before the last one is none that counts */
	dirties(&carol, &wb, 999, 9);
	tick(1ULL << 33);
	dirties(&bob, &wb, 11, 10);
	dirties(&alice, &wb, 3, 11);
	sleeps_until(310000, &carol);
	assert_int_equal(who_sums_of(&bob, OP_META, WHO_DIRTIER)->total_ns, 310000);
}

/* A wait of 1 ms for a CPU is due to the thread that ran for 0.5 ms there last, unless the CPU was
 * idle. */
static void test_who_ran_instead(void **state)
{
	struct ktask carol;

	(void)state;
	task_init(&carol, 1300, 1303, "carol", 0);
	conf.records = conf.call_noted = conf.segments = conf.who = conf.who_rows = 1;
	cpu_is(0, &alice);
	current_lookup()->op.segments = 1;
	sys_exit(0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	tick(7000); /* it runs */
	switch_to(&bob, false);
	tick(999000);
	switch_to(&carol, false);
	tick(1000);
	switch_to(&alice, false);
	assert_who(recorded(), WHO_CPU, 1000000, "bob");
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	wakes_up(&carol, 1, &alice, 0);
	cpu_is(0, &bob);
	tick(1000003);
	switch_to(&alice, false);
	assert_who(recorded(), WHO_CPU, 1000003, "bob");
	assert_int_equal(who_sums_of(&bob, OP_META, WHO_CPU)->count, 2);
	assert_int_equal(who_sums_of(&bob, OP_META, WHO_CPU)->total_ns, 2000003);
	/* shorter, or by many who ran for less than 0.5 ms */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	switch_to(&bob, false);
	tick(999999);
	switch_to(&alice, false);
	tick(5);
	for (int i = 0; i < 7; i++) {
		switch_to(i % 2 ? &carol : &bob, false);
		tick(400000);
	}
	switch_to(&alice, false);
	assert_who(recorded(), WHO_NONE, 0, NULL);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sleeps(&alice, 0);
	wakes_up(&carol, 1, &alice, 0);
	tick(2000000);
	runs(&alice, 0);
	assert_who(recorded(), WHO_NONE, 0, NULL);
}

/* By the numbers of the tool's own pid namespace; who is not in that is not known. */
static void test_who_held_a_lock_in_a_namespace(void **state)
{
	const struct waker nobody = {};
	const struct slow_op *r;

	(void)state;
	conf.records = conf.call_noted = 1;
	conf.pidns_ino = 1; /* where every id is 1,000 less */
	waits_for_lock(0x77, 13, &bob, 0);
	r = recorded();
	assert_int_equal(r->lock_holder.pid, 200);
	assert_int_equal(r->lock_holder.tid, 201);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	waits_for_lock(0x77, 17, &kthread, 0);
	assert_memory_equal(&recorded()->lock_holder, &nobody, sizeof(nobody));
}

/* The first of equally long waits is kept. */
static void test_equally_long_waits_for_locks(void **state)
{
	const struct slow_op *r;

	(void)state;
	conf.records = conf.call_noted = 1;
	waits_for_lock(0x77, 13, &kthread, 0);
	waits_for_lock(0x77, 13, &bob, 0);
	waits_for_lock(0x77, 7, &bob, 0);
	r = recorded();
	assert_int_equal(r->lock_ns, 13);
	assert_int_equal(r->lock_holder.tid, 300);
	assert_int_equal(r->strata[ST_LOCK], 13 + 13 + 7);
}

/* Alice sleeps for @ns, until @by wakes her at @level. */
static void helped_for(u64 ns, struct ktask *by, u32 level)
{
	sleeps(&alice, 0);
	runs(by, 2);
	tick(ns);
	wakes_up(by, 2, &alice, level);
	runs(&alice, 0);
}

/* The helper that ended the longest sleep is told; who is no helper, or is interrupted, is none. */
static void test_who_helped(void **state)
{
	const struct slow_op *r;

	(void)state;
	conf.records = conf.segments = conf.call_noted = 1;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	helped_for(13, &deeper, 0);
	helped_for(17, &kthread, 0);
	helped_for(17, &deeper, 0);
	helped_for(101, &bob, 0);
	helped_for(103, &deeper, 0x10000);
	r = recorded();
	assert_int_equal(r->strata[ST_HELPER], 13 + 17 + 17);
	assert_int_equal(r->helper.tid, kthread.t.pid);
	assert_string_equal(r->helper.comm, kthread.t.comm);
	/* nothing of it is left for the next operation */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	helped_for(19, &bob, 0);
	assert_int_equal(recorded()->helper.tid, 0);
	/* nor is it looked for if the order is not wanted */
	conf.segments = 0;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	helped_for(23, &kthread, 0);
	assert_int_equal(recorded()->helper.tid, 0);
}

/* Once a segment had no place, a later one in the stratum of the last has none either. */
static void test_segments_without_a_place(void **state)
{
	const struct slow_op *r;

	(void)state;
	machine_start();
	conf.records = conf.segments = conf.call_noted = 1; /* from the first of alice on */
	cpu_is(2, &kthread);
	switch_to(&idle[2], true);
	cpu_is(0, &alice);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	for (int i = 0; i < SEGMENTS_MAX; i++) {
		helped_for(11, &kthread, 0);
		cpu_is(0, &alice);
		tick(2);
	}
	r = recorded();
	assert_true(r->has_segments);
	assert_int_equal(r->segments.n, SEGMENTS_MAX);
	assert_true(r->segments.merged);
	for (int i = 0; i < SEGMENTS_MAX; i++)
		assert_int_equal(SEGMENT_NS(r->segments.at[i]),
				 SEGMENT_STRATUM(r->segments.at[i]) == ST_HELPER ? 11 : 2);
}

/* Woken as soon as the operation begins: what comes after that is a wait for a CPU. */
static void test_woken_at_once(void **state)
{
	struct op_sums s;

	(void)state;
	sleeps(&alice, 0);
	wakes_up(&bob, 1, &alice, 0);
	tick(9);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 9, 0, 0);
}

/* A request that was not seen to be allocated, but to be sent to the device, is no wait for a tag.
 */
static void test_dispatched_unseen(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	bio_init(&io.bio, &disk, REQ_OP_READ, 8, 4096);
	EVENT(on_bio_queue, &io.bio);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	sleeps(&alice, 0);
	tick(47);
	wakes_up(&bob, 1, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 0);
	assert_strata(&s, 0, 0, 0, 0, 0, 47);
}

/* A sleep whose waking was not seen has no known waker. Earlier wakers are not used: neither a
 * completion, nor a helper, nor the holder of a lock. */
static void test_waking_not_seen_after_others(void **state)
{
	const struct waker nobody = {};
	u64 lock[2] = { 0x77, 0 };
	const struct slow_op *r;
	struct io io;

	(void)state;
	conf.records = conf.call_noted = 1;
	submits(&io, REQ_OP_READ);
	sleeps(&alice, 0);
	tick(101);
	is_done_for(&io, &alice);
	runs(&alice, 0);
	sleeps(&alice, 0);
	tick(103);
	runs(&alice, 0);
	sleeps(&alice, 0);
	tick(107);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	sleeps(&alice, 0);
	tick(109);
	runs(&alice, 0);
	on_lock_wanted(lock);
	sleeps(&alice, 0);
	tick(113);
	runs(&alice, 0);
	on_lock_taken(lock);
	r = recorded();
	assert_int_equal(r->strata[ST_DEVICE], 101);
	assert_int_equal(r->strata[ST_HELPER], 107);
	assert_int_equal(r->strata[ST_SLEEP], 103 + 109);
	assert_int_equal(r->strata[ST_LOCK], 113);
	assert_int_equal(r->lock_ns, 113);
	assert_memory_equal(&r->lock_holder, &nobody, sizeof(nobody));
}

/* Kthread waits for a request, n times. */
static void waits_for_requests(u32 op, int n)
{
	struct io io;

	for (int i = 0; i < n; i++) {
		cpu_is(2, &kthread);
		submits(&io, op);
		sleeps(&kthread, 2);
		tick(101);
		is_done_for(&io, &kthread);
		runs(&kthread, 2);
	}
}

/* The waits that a helper's last ones took the place of leave nothing there: of these nothing is
 * known but their times. */
static void test_waits_after_many(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	runs(&kthread, 2);
	waits_for_requests(REQ_OP_READ, HELPER_WAITS);
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	for (int i = 0; i < HELPER_WAITS - 1; i++) {
		cpu_is(2, &kthread);
		switch_to(&idle[2], i & 1); /* its waking is not seen, or it is preempted */
		tick(11);
		runs(&kthread, 2);
	}
	/* the last one is for a tag */
	cpu_is(2, &kthread);
	bio_init(&io.bio, &disk, REQ_OP_WRITE, 8, 4096);
	EVENT(on_bio_queue, &io.bio);
	sleeps(&kthread, 2);
	tick(53);
	runs(&kthread, 2);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	assert_false(current_lookup()->op.waited_read);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 53);
	/* it worked from its last waking that was not seen on: not before, as far as is known */
	assert_strata(&s, 0, 0, 0, 4 * 11, 0, 3 * 11);
}

/* A helper that is preempted waits for a CPU, whoever wakes it meanwhile: it had set its state, but
 * did not sleep. */
static void test_preempted_helper_is_woken(void **state)
{
	struct op_sums s;

	(void)state;
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	tick(3);
	cpu_is(2, &kthread);
	switch_to(&idle[2], false);
	tick(31);
	wakes_up(&bob, 1, &kthread, 0);
	tick(9);
	runs(&kthread, 2);
	tick(5);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 31 + 9, 3 + 5, 0);
}

/* A helper's waker that is late writes what another sleep of it was for: that is not believed, but
 * when it came. */
static void test_late_waker_of_a_helper(void **state)
{
	struct helper *h = bpf_map_lookup_elem(&helpers, &(u32){ 300 });
	struct op_sums s;

	(void)state;
	wakes_up(&alice, 0, &kthread, 0);
	sleeps(&alice, 0);
	runs(&kthread, 2);
	sleeps(&kthread, 2);
	tick(30);
	h->waking = (struct helper_waking){
		.at = machine.now,
		.asleep = machine.now - 32,
		.times = { .held = 1, .q = 1, .g = 1, .d = machine.now - 20, .c = machine.now },
		.is_read = 1,
	};
	tick(4);
	runs(&kthread, 2);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	assert_false(current_lookup()->op.waited_read);
	s = ends();
	assert_strata(&s, 0, 0, 0, 4, 0, 30);
}

/* A helper that works for nobody who is known has no row of its own for what was no wait for a
 * request. */
static void test_helper_without_work(void **state)
{
	(void)state;
	conf.helpers = conf.issuers = 1;
	runs(&kthread, 2);
	for (int i = 0; i < HELPER_WAITS + 1; i++) {
		sleeps(&kthread, 2);
		tick(11);
		wakes_up(&bob, 1, &kthread, 0);
		runs(&kthread, 2);
		tick(13);
	}
	assert_int_equal(map_count(&helper_rows_even), 0);
	waits_for_requests(REQ_OP_READ, 1);
	sleeps(&kthread, 2);
	assert_true(map_count(&helper_rows_even) > 0);
}

/* A worker has worked for somebody else, and sleeps until the answer to alice comes from the
 * network. The worker works for her only after the answer. If the worker asks another helper, this
 * helper works for her, too. */
static void test_idle_helper(void **state)
{
	struct op_sums s;

	(void)state;
	runs(&kthread, 2);
	sleeps(&alice, 0);
	tick(5);
	sleeps(&kthread, 2);
	tick(40000);
	wakes_up(&idle[1], 1, &kthread, 0x100);
	tick(3);
	runs(&kthread, 2);
	tick(11);
	wakes_up(&kthread, 2, &deeper, 0);
	sleeps(&kthread, 2);
	runs(&deeper, 3);
	tick(13);
	wakes_up(&deeper, 3, &kthread, 0);
	runs(&kthread, 2);
	tick(17);
	wakes_up(&kthread, 2, &alice, 0);
	tick(7);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 0, 0, 3 + 7, 11 + 13 + 17, 5 + 40000);
}

/* A worker works for alice after a request of her own, which was done before the worker began to
 * work. */
static void test_idle_helper_and_own(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	submits(&io, REQ_OP_READ);
	sleeps(&alice, 0);
	tick(101);
	is_done(&io, 1);
	tick(23);
	wakes_up(&bob, 1, &kthread, 0);
	runs(&kthread, 2);
	tick(11);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_strata(&s, 0, 101, 0, 0, 11, 23);
}

/* A helper that was woken for a request, but slept before that was submitted, was idle until then.
 */
static void test_helper_woken_by_a_request_of_others(void **state)
{
	struct op_sums s;
	struct io io;

	(void)state;
	runs(&kthread, 2);
	sleeps(&kthread, 2);
	sleeps(&alice, 0);
	tick(1000);
	cpu_is(1, &bob);
	submits(&io, REQ_OP_READ);
	tick(101);
	is_done_for(&io, &kthread);
	runs(&kthread, 2);
	tick(19);
	wakes_up(&kthread, 2, &alice, 0);
	runs(&alice, 0);
	s = ends();
	assert_int_equal(s.strata[ST_TAG], 3);
	assert_strata(&s, 5, 101, 0, 0, 19, 1000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_own_request),
		TEST(test_request_of_before),
		TEST(test_bio_of_before),
		TEST(test_request_of_another),
		TEST(test_waking_not_seen),
		TEST(test_woken_before_it_sleeps),
		TEST(test_late_waker),
		TEST(test_own_request_and_helper),
		TEST(test_waits_of_a_helper),
		TEST(test_interrupted_helper),
		TEST(test_helper_of_a_helper),
		TEST(test_late_completion),
		TEST(test_late_completion_for_a_helper),
		TEST(test_many_waits_of_a_helper),
		TEST(test_throttled_by_the_block_layer),
		TEST(test_throttled_meanwhile),
		TEST(test_no_room_for_helpers),
		TEST(test_why),
		TEST(test_without_waits),
		TEST(test_pause),
		TEST(test_tag),
		TEST(test_tag_of_a_helper),
		TEST(test_charging),
		TEST(test_what_was_read),
		TEST(test_held_by_a_device),
		TEST(test_held_longer_for_another),
		TEST(test_helper_of_a_helper_before),
		TEST(test_helper_of_a_helper_in_flight),
		TEST(test_helper_that_was_woken_before),
		TEST(test_helpers_request_and_own),
		TEST(test_helper_with_rows_of_its_own),
		TEST(test_locks_of_others),
		TEST(test_who_held_a_lock),
		TEST(test_who_ended_a_sleep),
		TEST(test_who_a_wait_was_due_to),
		TEST(test_names_of_sleep_sites),
		TEST(test_sleep_sites),
		TEST(test_who_without_interrupt_level),
		TEST(test_limits),
		TEST(test_rows_of_waits),
		TEST(test_who_made_pages_dirty),
		TEST(test_who_ran_instead),
		TEST(test_who_held_a_lock_in_a_namespace),
		TEST(test_equally_long_waits_for_locks),
		TEST(test_who_helped),
		TEST(test_segments_without_a_place),
		TEST(test_woken_at_once),
		TEST(test_dispatched_unseen),
		TEST(test_waking_not_seen_after_others),
		TEST(test_waits_after_many),
		TEST(test_preempted_helper_is_woken),
		TEST(test_late_waker_of_a_helper),
		TEST(test_helper_without_work),
		TEST(test_idle_helper),
		TEST(test_idle_helper_and_own),
		TEST(test_helper_woken_by_a_request_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
