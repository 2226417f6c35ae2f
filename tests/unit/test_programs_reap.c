// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completions of io_uring, by the programs of src/bpf in a machine that is made up: how long each
 * lies in its ring until a thread takes it.
 */
#define FUNCTIONS
#include "kernel/machine.h"

enum {
	READ = 22,
	ENTER = 426,
	SIZE = 4096,
	SQPOLL = 2,
	CQE_MIXED = 1 << 18,
	MANY = REAP_PLACES + 7,
	LONG_NS = 1500000000, /* after which an idle ring gives up its place */
};

static struct ktask task, other;
static struct kfile file;
static struct io_rings shared;
static struct io_ring_ctx uring = { .rings = &shared };
static struct io_kiocb a, b, c;
static bool counted_before; /* the tail counts a completion before its event */

#define STRATA(...) ((u64[ST_N]){ __VA_ARGS__ })

static void req_init(struct io_kiocb *r)
{
	*r = (struct io_kiocb){ .opcode = READ, .ctx = &uring, .file = &file.f };
}

static void start(bool before)
{
	static const u8 kinds[URING_OPS] = { [READ] = OP_READ };

	machine_start();
	conf.async = conf.uring = 1;
	conf.reap_rings = 1;
	data_set(uring_kinds, kinds, sizeof(kinds));
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	task_init(&task, 1103, 1103, "submits", 0);
	task_init(&other, 1103, 1109, "takes", 0);
	counted_before = before;
	shared.cq.head = 0;
	uring.cached_cq_tail = 0;
	uring.flags = 0;
	req_init(&a);
	req_init(&b);
	req_init(&c);
	cpu_is(1, &task);
}

static void submit(struct io_kiocb *r)
{
	sys_enter(ENTER, 5, 1, 0, 0);
	uring_submit(r);
}

static void completes(struct io_kiocb *r)
{
	r->ctx->cached_cq_tail += counted_before;
	uring_complete(r, SIZE);
	r->ctx->cached_cq_tail += !counted_before;
}

static void takes(u32 n)
{
	shared.cq.head += n;
}

/* A thread submits two requests in two calls, and takes their completions after the second. */
static void taken_after_another_submission(bool before)
{
	start(before);
	submit(&a);
	tick(7);
	sys_exit(1);
	tick(100);
	submit(&b);
	completes(&a);
	tick(11);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	tick(1000);
	submit(&c); /* nothing is taken yet */
	assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	tick(13);
	sys_exit(1);
	takes(1);
	tick(1000); /* the thread's own time */
	sys_enter(ENTER, 5, 0, 1, 1);
	uring_wait(&uring);
	assert_ops(OP_URING, 1, 107 + 11 + 1000 + 13,
		   STRATA([ST_SYSCALL] = 7, [ST_SLEEP] = 100, [ST_REAP] = 11 + 1000 + 13));
	assert_int_equal(ops_counted(OP_URING, NULL).bytes, SIZE);
	assert_int_equal(lost_all(), 0);
}

static void test_taken(void **state)
{
	(void)state;
	taken_after_another_submission(true);
	taken_after_another_submission(false);
}

/* Two of three are taken. */
static void test_some(void **state)
{
	(void)state;
	for (int before = 0; before < 2; before++) {
		start(before);
		submit(&a);
		uring_submit(&b);
		uring_submit(&c);
		uring_wait(&uring);
		tick(7);
		completes(&a);
		completes(&b);
		completes(&c);
		tick(11);
		sys_exit(3);
		takes(2);
		submit(&a);
		assert_ops(OP_URING, 2, 18, STRATA([ST_SLEEP] = 2 * 7, [ST_REAP] = 2 * 11));
		takes(1);
		sys_exit(1);
		tick(100);
		submit(&b);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
		assert_int_equal(lost_all(), 0);
	}
}

/* A completion that comes when its thread is in user space, and is taken there. */
static void test_taken_in_user_space(void **state)
{
	(void)state;
	start(true);
	submit(&a);
	sys_exit(1);
	tick(7);
	completes(&a);
	tick(11);
	takes(1);
	submit(&b);
	assert_ops(OP_URING, 1, 7, STRATA([ST_SLEEP] = 7));
}

/* A call in which a thread enters no ring is no leaving of the ring that it entered before. */
static void test_call_without_ring(void **state)
{
	struct io_ring_ctx polled = { .rings = &shared, .flags = SQPOLL };

	(void)state;
	start(true);
	submit(&a);
	sys_exit(1);
	tick(7);
	completes(&a);
	tick(11);
	b.ctx = &polled;
	submit(&b);
	sys_exit(1);
	uring_complete(&b, SIZE);
	takes(1);
	submit(&c);
	assert_ops(OP_URING, 2, 7, STRATA([ST_SLEEP] = 7));
	assert_int_equal(lost_all(), 0);
}

/* A thread ends without a look, or another thread enters the ring. */
static void test_ends(void **state)
{
	(void)state;
	start(true);
	submit(&a);
	uring_wait(&uring);
	tick(7);
	completes(&a);
	tick(11);
	sys_exit(1);
	tick(100);
	EVENT(on_uring_exit, &task.t);
	assert_ops(OP_URING, 1, 18, STRATA([ST_SLEEP] = 7, [ST_REAP] = 11));
	assert_int_equal(lost_all(), 0);
}

/* Without a place in the list or room in the ring, or with a thread of the kernel that polls, an
 * operation ends at its completion. */
static void test_not_followed(void **state)
{
	(void)state;
	start(true);
	for (int i = 0; i < MANY; i++) {
		submit(&a);
		tick(3);
		sys_exit(1);
		completes(&a);
	}
	assert_int_equal(ops_counted(OP_URING, NULL).count, MANY - REAP_PLACES);
	assert_int_equal(live.unreaped, MANY - REAP_PLACES);
	takes(MANY);
	submit(&a);
	assert_int_equal(ops_counted(OP_URING, NULL).count, MANY);

	start(true);
	uring.flags = SQPOLL;
	submit(&a);
	completes(&a);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
	assert_int_equal(live.unreaped, 1);
	assert_int_equal(lost_all(), 0);

	start(true);
	submit(&a);
	a.cqe = (struct io_cqe){ 100, SIZE };
	uring.submit_state.compl_reqs.first = &a.comp_list;
	uring_overflow(&uring, 100, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
	assert_int_equal(live.unreaped, 1);
}

/* A ring that a thread of the kernel polls has the address of a former ring. Nobody enters it. */
static void test_polled_at_former_address(void **state)
{
	(void)state;
	start(true);
	submit(&a);
	completes(&a);
	sys_exit(1);
	uring.cached_cq_tail = 0;
	uring.flags = SQPOLL;
	for (int i = 1; i <= 3; i++) {
		submit(&b);
		completes(&b);
		sys_exit(1);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 1 + i);
	}
	assert_int_equal(live.unreaped, 3);
	assert_int_equal(lost_all(), 0);
}

/* The thread which entered a ring last ends. Requests of the ring that complete later end at their
 * completion, and the place is free for another ring at once. */
static void test_completes_after_the_end(void **state)
{
	struct io_ring_ctx second = { .rings = &shared };

	(void)state;
	start(true);
	submit(&a);
	uring_submit(&b);
	completes(&a);
	sys_exit(2);
	EVENT(on_uring_exit, &task.t);
	EVENT(on_exit, &task.t);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
	cpu_is(1, &other);
	completes(&b);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 2);
	assert_int_equal(live.unreaped, 1);
	c.ctx = &second;
	submit(&c);
	uring_complete(&c, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 2);
	assert_int_equal(live.unreaped, 1);
}

/* A thread is killed in its ring. The next thread with its state is not in a ring. */
static void test_killed_in_ring(void **state)
{
	struct io_ring_ctx second = { .rings = &shared };

	(void)state;
	start(true);
	submit(&a);
	EVENT(on_uring_exit, &task.t);
	EVENT(on_exit, &task.t);
	b.ctx = &second;
	submit(&b);
	uring_complete(&b, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	assert_int_equal(live.unreaped, 0);
}

/* A ring is at the address of a former ring, which left a completion. */
static void test_address_again(void **state)
{
	(void)state;
	start(true);
	submit(&a);
	sys_exit(1);
	completes(&a);
	uring.cached_cq_tail = 0;
	submit(&b);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
}

/* User space owns the head: any value counts each operation once. */
static void test_hostile_head(void **state)
{
	static const u32 heads[] = { 0x80000000, 0xffffffff, 1, 0, 0x7fffffff };

	(void)state;
	start(true);
	for (int i = 0; i < 5; i++) {
		shared.cq.head = heads[i];
		submit(&a);
		completes(&a);
		sys_exit(1);
	}
	EVENT(on_uring_exit, &task.t);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 5);
}

/* A thread has submitted @a, and begins to wait for the ring 3 ns later. */
static void waits_start(void)
{
	start(true);
	conf.waits = conf.ring_waits = 1;
	submit(&a);
	tick(3);
	/* left by an earlier operation */
	current_lookup()->op.acts = ~0;
	current_lookup()->op.fd = 5;
	current_lookup()->op.file.fs = 99;
	uring_wait(&uring);
	assert_int_equal(current_lookup()->op.acts, 0);
	assert_int_equal(current_lookup()->op.fd, -1);
	assert_int_equal(current_lookup()->op.file.fs, FS_UNKNOWN);
}

/* The thread sleeps for 100 ns, and then waits 11 ns for its CPU. */
static void sleeps(void)
{
	tick(7);
	switch_to(&other, true);
	tick(100);
	wake(&task);
	tick(11);
	switch_to(&task, false);
}

static u64 fs_of_row(u32 kind)
{
	for (u32 i = 0; i < ROW_SLOTS; i++)
		if (WHAT_OP(live.rows[i].what) == kind)
			return live.rows[i].fs;
	return FS_UNKNOWN;
}

/* A thread waits for its ring: this is an operation on the file whose request completed, and its
 * sleep is cut as any other. */
static void test_waits(void **state)
{
	const struct task_state *t;

	(void)state;
	waits_start();
	sleeps();
	t = current_lookup();
	/* a request that completes now was late by this */
	assert_int_equal(t->cpu_wait.to - t->cpu_wait.from, 11);
	assert_int_equal(t->cpu_wait.asleep, 1);
	switch_to(&other, false);
	tick(17);
	switch_to(&task, false);
	assert_int_equal(t->cpu_wait.to - t->cpu_wait.from, 17);
	assert_int_equal(t->cpu_wait.asleep, 0);
	completes(&a);
	tick(5);
	sys_exit(1);
	assert_ops(OP_GETEVENTS, 1, 7 + 100 + 11 + 17 + 5,
		   STRATA([ST_SYSCALL] = 12, [ST_SLEEP] = 100, [ST_RUNQ] = 11, [ST_PREEMPT] = 17));
	/* it has no place in a file, and asked for no bytes */
	assert_true(t->op.offset == OFFSET_UNKNOWN && t->op.len == ~0ULL);
	assert_true(fs_of_row(OP_GETEVENTS) == (u64)&file.type);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).bytes, 0);
	tick(1000); /* the thread's own time */
	takes(1);
	submit(&b);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 1);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

/* No operation completed: the thread waited for something else, or in vain. */
static void test_waits_for_nothing(void **state)
{
	struct io_kiocb poll;

	(void)state;
	waits_start();
	sleeps();
	req_init(&poll);
	poll.opcode = 6;
	completes(&poll);
	sys_exit(-62);
	assert_int_equal(current_lookup()->op.stage, 0);
	submit(&b);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);
	assert_int_equal(lost_all(), 0);

	/* the ring has lost its place meanwhile */
	waits_start();
	ring_forget(1);
	completes(&a);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);

	/* another ring has taken the place */
	waits_start();
	completes(&a);
	ring_at(current_lookup()->ring)->ctx = 1;
	sys_exit(1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);

	/* a ring with a polling thread: nobody knows which thread takes what completes */
	waits_start();
	sys_exit(0);
	uring.flags = SQPOLL;
	sys_enter(ENTER, 5, 0, 1, 1);
	uring_wait(&uring);
	assert_int_not_equal(current_lookup()->op.progress, OP_AWAITS);
	sys_exit(0);

	/* a wait in a call that is an operation itself */
	start(true);
	conf.waits = conf.ring_waits = 1;
	submit(&a);
	sys_exit(1);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	uring_wait(&uring);
	assert_int_equal(current_lookup()->op.kind, OP_META);
	completes(&a);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_META, NULL).count, 1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);

	/* waits are not asked for */
	start(true);
	submit(&a);
	uring_wait(&uring);
	completes(&a);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);
	assert_int_equal(lost_all(), 0);
}

/* A thread is killed in its wait. */
static void test_killed_in_wait(void **state)
{
	(void)state;
	waits_start();
	tick(7);
	EVENT(on_uring_exit, &task.t);
	EVENT(on_exit, &task.t);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);
	cpu_is(1, &other);
	submit(&b);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);
}

/* A thread waits in its ring for long, or has entered it for the first time. Another ring does not
 * take the place. When the thread is in user space for long, another ring does. */
static void test_place_of_a_waiting_thread(void **state)
{
	struct io_ring_ctx second = { .rings = &shared };

	(void)state;
	start(true);
	tick(LONG_NS);
	submit(&a);
	cpu_is(2, &other);
	b.ctx = c.ctx = &second;
	submit(&c);
	uring_complete(&c, SIZE);
	sys_exit(1);
	assert_int_equal(live.unreaped, 1);
	cpu_is(1, &task);
	uring_wait(&uring);
	tick(LONG_NS);
	cpu_is(2, &other);
	submit(&c);
	uring_complete(&c, SIZE);
	sys_exit(1);
	assert_int_equal(live.unreaped, 2);
	completes(&a);
	assert_int_equal(live.unreaped, 2);
	cpu_is(1, &task);
	sys_exit(1);
	tick(LONG_NS);
	cpu_is(2, &other);
	submit(&b);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
	uring_complete(&b, SIZE);
	assert_int_equal(live.unreaped, 2);
	assert_int_equal(lost_all(), 0);
}

/* Current submits @r, and reads a tail that is lower by @races. */
static void submit_in_race(struct io_kiocb *r, u32 races)
{
	uring.cached_cq_tail -= races;
	submit(r);
	uring.cached_cq_tail += races;
}

/* Workers complete requests after a thread has read the tail, before the thread uses it. Nothing is
 * taken by this, and positions stay right. */
static void test_tail_read_early(void **state)
{
	(void)state;
	for (u32 races = 1; races <= 2; races++) {
		start(true);
		submit(&a);
		uring_submit(&b);
		uring_submit(&c);
		sys_exit(3);
		completes(&a);
		takes(1);
		submit(&a);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
		sys_exit(1);
		completes(&b);
		completes(&c);
		submit_in_race(&b, races);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
		sys_exit(1);
		completes(&a);
		takes(2);
		submit(&a);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
		sys_exit(1);
		takes(1);
		submit(&c);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 4);
		assert_int_equal(lost_all(), 0);
	}
}

/* A completion is in the tail that a thread reads, and is counted once more by its event. The next
 * but one entry has the right tail again. */
static void test_tail_counted_twice(void **state)
{
	(void)state;
	start(true);
	submit(&a);
	uring_submit(&b);
	sys_exit(2);
	completes(&a);
	uring.cached_cq_tail++; /* b, before its event */
	submit(&c);
	sys_exit(1);
	uring_complete(&b, SIZE);
	for (int i = 0; i < 2; i++) {
		sys_enter(ENTER, 5, 0, 1, 1);
		uring_wait(&uring);
		sys_exit(0);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	}
	completes(&c);
	takes(3);
	submit(&a);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
	assert_int_equal(lost_all(), 0);
}

static void many_complete(struct io_kiocb *r, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		submit(r);
		tick(3);
		sys_exit(1);
		completes(r);
		tick(11);
	}
}

/* The lists of two rings overlap. A completion without a free place ends, and the next one tries
 * the next place. What a thread takes are the completions of its ring alone. Later the other ring
 * has all places of its list. */
static void test_lists_overlap(void **state)
{
	struct io_rings seconds = {};
	struct io_ring_ctx second = { .rings = &seconds };
	u32 apart = ASYNC_SLOTS / REAP_RINGS;

	(void)state;
	start(true);
	conf.reap_rings = 2;
	b.ctx = &second;
	many_complete(&a, apart + 3);
	assert_int_equal(live.unreaped, 0);
	cpu_is(2, &other);
	many_complete(&b, apart + 3);
	assert_int_equal(live.unreaped, 3);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
	cpu_is(1, &task);
	takes(apart + 3);
	submit(&a);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 3 + apart + 3);
	sys_exit(1);
	cpu_is(2, &other);
	seconds.cq.head += apart + 3;
	submit(&b);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 2 * (apart + 3));
	sys_exit(1);
	completes(&b);
	many_complete(&b, REAP_PLACES - 1);
	assert_int_equal(live.unreaped, 3);
	many_complete(&b, 1);
	assert_int_equal(live.unreaped, 4);
	seconds.cq.head += REAP_PLACES + 1;
	submit(&b);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 2 * (apart + 3) + REAP_PLACES + 1);
	assert_int_equal(lost_all(), 0);
}

/* A thread waits for its ring. Another ring, whose list begins before, has the place of the
 * completion that ends the wait: its file says nothing about the wait. */
static void test_waits_for_place_of_another(void **state)
{
	struct io_rings seconds = {};
	struct io_ring_ctx many[16] = {}, *second = many;
	struct io_kiocb *before = &a, *after = &b;

	(void)state;
	start(true);
	conf.reap_rings = 2;
	conf.waits = conf.ring_waits = 1;
	while (ring_place((u64)second, 0) == ring_place((u64)&uring, 0))
		assert_true(++second < many + 16);
	second->rings = &seconds;
	b.ctx = second;
	if (ring_place((u64)second, 0) == 0) {
		before = &b;
		after = &a;
	}
	many_complete(before, ASYNC_SLOTS / REAP_RINGS + 1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 0);
	cpu_is(2, &other);
	submit(after);
	uring_wait(after->ctx);
	tick(13);
	completes(after);
	sys_exit(1);
	assert_int_equal(live.unreaped, 1);
	assert_int_equal(ops_counted(OP_GETEVENTS, NULL).count, 1);
	assert_int_equal(fs_of_row(OP_GETEVENTS), FS_UNKNOWN);
}

/* In a ring with completions of 16 and 32 bytes, one of 32 bytes takes two places. */
static void test_completions_of_two_sizes(void **state)
{
	(void)state;
	start(true);
	uring.flags = CQE_MIXED;
	submit(&a);
	uring_submit(&b);
	uring_submit(&c);
	sys_exit(3);
	uring.cached_cq_tail++;
	completes(&a);
	completes(&b);
	uring.cached_cq_tail++;
	completes(&c);
	for (int i = 1; i <= 3; i++) {
		takes(i == 2 ? 1 : 2);
		submit(&a);
		assert_int_equal(ops_counted(OP_URING, NULL).count, i);
		completes(&a);
		sys_exit(1);
	}
	assert_int_equal(lost_all(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_taken, machine_stop),
		cmocka_unit_test_teardown(test_some, machine_stop),
		cmocka_unit_test_teardown(test_taken_in_user_space, machine_stop),
		cmocka_unit_test_teardown(test_call_without_ring, machine_stop),
		cmocka_unit_test_teardown(test_ends, machine_stop),
		cmocka_unit_test_teardown(test_not_followed, machine_stop),
		cmocka_unit_test_teardown(test_polled_at_former_address, machine_stop),
		cmocka_unit_test_teardown(test_completes_after_the_end, machine_stop),
		cmocka_unit_test_teardown(test_killed_in_ring, machine_stop),
		cmocka_unit_test_teardown(test_address_again, machine_stop),
		cmocka_unit_test_teardown(test_hostile_head, machine_stop),
		cmocka_unit_test_teardown(test_waits, machine_stop),
		cmocka_unit_test_teardown(test_waits_for_nothing, machine_stop),
		cmocka_unit_test_teardown(test_killed_in_wait, machine_stop),
		cmocka_unit_test_teardown(test_place_of_a_waiting_thread, machine_stop),
		cmocka_unit_test_teardown(test_tail_read_early, machine_stop),
		cmocka_unit_test_teardown(test_tail_counted_twice, machine_stop),
		cmocka_unit_test_teardown(test_completions_of_two_sizes, machine_stop),
		cmocka_unit_test_teardown(test_lists_overlap, machine_stop),
		cmocka_unit_test_teardown(test_waits_for_place_of_another, machine_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
