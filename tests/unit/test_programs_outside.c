// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeps for storage in no other operation, by the programs of src/bpf in a machine that is made
 * up: which are operations, of which kind and call, and for how long.
 */
#include "kernel/machine.h"

enum { SIZE = 4096, NR_UMOUNT = 166, NR_VFORK = 58, ALL_KINDS = 13, DEAD = 0x80 };

static struct ktask task, other;
static struct kdisk disk;
static struct bio bio;
static struct request rq;
static struct blk_mq_ctx mq_ctx;

static void start(void)
{
	machine_start();
	conf.outside = ALL_KINDS;
	disk_init(&disk, 8, 0, true);
	task_init(&task, 1103, 1103, "outside", 0);
	task_init(&other, 1109, 1109, "other", 0);
	cpu_is(1, &task);
	/* it has a state */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sys_exit(0);
	task.regs.orig_ax = NR_UMOUNT;
}

/* Current writes a block and waits for it: 11 until it sleeps, in the device 19, then 23 until it
 * is woken and 29 until it runs. */
static void writes(void)
{
	bio_init(&bio, &disk, REQ_OP_WRITE, 0, SIZE);
	EVENT(on_bio_queue, &bio);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_getrq, &bio);
	EVENT(on_rq_issue, &rq);
	tick(11);
	switch_to(&idle[1], true);
	tick(19);
	completes_for(&rq, SIZE, &task);
}

static void assert_written(u32 kind, u64 count)
{
	assert_ops(kind, count, 19 + 23 + 29,
		   (u64[ST_N]){ [ST_DEVICE] = 19 * count,
				[ST_COMPLETE] = 23 * count,
				[ST_RUNQ] = 29 * count });
}

static void assert_none(void)
{
	for (u32 kind = OP_EXIT; kind <= OP_OUTSIDE; kind++)
		assert_int_equal(ops_counted(kind, NULL).count, 0);
}

static u32 call_of_row(u32 op)
{
	for (int i = 0; i < ROW_SLOTS; i++)
		if (WHAT_OP(live.rows[i].what) == op)
			return WHAT_CALL(live.rows[i].what);
	return ~0U;
}

/* A sleep that a completion ended is an operation, with the call in which or after which it was. */
static void test_after_call(void **state)
{
	(void)state;
	start();
	writes();
	writes();
	assert_written(OP_OUTSIDE, 2);
	assert_int_equal(call_of_row(OP_OUTSIDE), NR_UMOUNT);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	writes();
	sys_exit(0);
	assert_written(OP_OUTSIDE, 2);
	assert_int_equal(ops_counted(OP_META, NULL).count, 2);
	assert_int_equal(lost_all(), 0);
	assert_nothing_kept();
}

static void sleeps(u32 state, struct ktask *waker)
{
	u64 ctx[] = { 0, (u64)&task, (u64)waker };

	task.state = state;
	on_sched_switch(ctx);
	cpu_is(1, waker);
	tick(31);
	wake(&task);
	switch_to(&task, false);
}

/* A sleep which another thread ended is none, as in vfork() and for a semaphore; unless the kernel
 * calls the sleep one for I/O. */
static void test_not_for_storage(void **state)
{
	(void)state;
	start();
	sleeps(2, &other);
	sleeps(1, &other);
	sleeps(0x402, &other);
	assert_none();
	task.t.in_iowait = 1;
	sleeps(1, &other);
	sleeps(0x402, &other);
	assert_none();
	sleeps(2, &other);
	assert_ops(OP_OUTSIDE, 1, 31, (u64[ST_N]){ [ST_SLEEP] = 31 });
	assert_int_equal(lost_all(), 0);
}

/* A sleep that a worker ended is one for storage if the worker writes dirty pages back: it may have
 * waited for no request itself. */
static void test_writeback(void **state)
{
	struct ktask kworker;

	(void)state;
	start();
	task_init(&kworker, 300, 300, "kworker/u4:1", PF_KTHREAD | PF_WQ_WORKER);
	strcpy(kworker.queue, "events_unbound");
	sleeps(2, &kworker);
	assert_none();
	strcpy(kworker.queue, "writeback");
	sleeps(2, &kworker);
	assert_int_equal(ops_counted(OP_OUTSIDE, NULL).count, 1);
	sleeps(2, &other);
	assert_int_equal(ops_counted(OP_OUTSIDE, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

/* A request to a FUSE daemon: its thread can be interrupted, and its answer ends the sleep. Later
 * sleeps are for other things. */
static void test_server(void **state)
{
	struct server_request r = {};

	(void)state;
	start();
	server_request_fill(&r, machine.now);
	assert_int_equal(current_lookup()->asked, 1);
	task.state = 1;
	on_sched_switch((u64[]){ 0, (u64)&task, (u64)&other });
	assert_int_equal(task_lookup((u64)&task)->op.kind, OP_OUTSIDE);
	cpu_is(1, &other);
	wake(&task);
	switch_to(&task, false);
	assert_none();
	assert_int_equal(current_lookup()->asked, 0);
	sleeps(1, &other);
	assert_none();
	/* in an operation nothing is noted */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	server_request_fill(&r, machine.now);
	sys_exit(0);
	assert_int_equal(current_lookup()->asked, 0);
}

/* A thread that sleeps while it exits, or dumps core, has operations of these kinds, until the
 * kernel frees it. */
static void test_exit(void **state)
{
	(void)state;
	start();
	task.t.flags = PF_DUMPCORE;
	writes();
	assert_written(OP_CORE, 1);
	task.t.flags = PF_EXITING;
	writes();
	EVENT(on_exit, &task);
	EVENT(on_exit, &task); /* the backup */
	writes();
	assert_written(OP_EXIT, 2);
	assert_int_equal(call_of_row(OP_EXIT), 0);
	sleeps(DEAD, &other);
	assert_non_null(task_lookup((u64)&task));
	EVENT(on_free, &task);
	assert_null(task_lookup((u64)&task));
	assert_int_equal(map_count(&task_owners), 0);
	EVENT(on_free, &task);
	assert_int_equal(lost_all(), 0);
}

/* Rows by process are for the sleeping thread, which is not the one that leaves the CPU to it. */
static void test_owner(void **state)
{
	const struct op_key *key;

	(void)state;
	start();
	conf.by = BY_PID;
	conf.row_slots = 0;
	conf.op_owner = 1;
	writes();
	assert_int_equal(map_count(&op_rows_even), 1);
	key = (const void *)map_of(&op_rows_even)->entries->key;
	assert_int_equal(key->by[0], 1103);
}

/* Kinds that are not asked for are none; nor are threads of other processes. */
static void test_not_asked_for(void **state)
{
	(void)state;
	start();
	conf.outside = 1 << (OP_EXIT - OP_EXIT);
	writes();
	assert_none();
	conf.outside = 0;
	writes();
	conf.outside = ALL_KINDS;
	conf.process_filter = conf.n_pids = 1;
	lists.pids[0] = 17;
	writes();
	assert_none();
	lists.pids[0] = 1103;
	writes();
	assert_written(OP_OUTSIDE, 1);
}

/* A sleep whose end was not seen is forgotten when the next call begins or ends. */
static void test_end_missed(void **state)
{
	(void)state;
	start();
	switch_to(&idle[1], true);
	cpu_is(1, &task);
	sys_exit(0);
	assert_int_equal(current_lookup()->op.stage, 0);
	writes();
	assert_written(OP_OUTSIDE, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_after_call, machine_stop),
		cmocka_unit_test_teardown(test_not_for_storage, machine_stop),
		cmocka_unit_test_teardown(test_writeback, machine_stop),
		cmocka_unit_test_teardown(test_server, machine_stop),
		cmocka_unit_test_teardown(test_exit, machine_stop),
		cmocka_unit_test_teardown(test_owner, machine_stop),
		cmocka_unit_test_teardown(test_not_asked_for, machine_stop),
		cmocka_unit_test_teardown(test_end_missed, machine_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
