// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on a FUSE daemon: what its threads do with the requests which they read
 * and answer. In a machine that is made up; see kernel/machine.h.
 */
#include <stddef.h>

#include "kernel/fuse.h"
#include "kernel/machine.h"

/* Members of the kernel's structures which the programs read. */
struct copy {
	u64 before;
	struct fuse_request *req;
};

enum { SIZE = 4096, LEVEL = 0x10000, CPU_OF_DAEMON = 1, CPU_OF_HELPER = 2, AGAIN = -11 };

static struct ktask alice, daemon_thread, second_thread, kworker;
static struct kfile file;
static struct kdisk disk;
static const struct connection connection = { .dev = 23 };
static const struct fuse_mount_point mount_point = { .connection = &connection };
static struct fuse_request request, another;

static int start(void **state)
{
	(void)state;
	machine_start();
	conf.servers = conf.daemons = 1;
	fuse_offsets_set();
	conf.at.fuse_copy_req = offsetof(struct copy, req);
	file_init(&file, "ext4", 8 << MINOR_BITS | 17, 29, S_IFREG);
	disk_init(&disk, 8, 16, true);
	task_init(&alice, 1100, 1101, "alice", 0);
	task_init(&daemon_thread, 1300, 1301, "daemon", 0);
	task_init(&second_thread, 1300, 1302, "daemon", 0);
	task_init(&kworker, 300, 300, "kworker/0:1", PF_KTHREAD | PF_WQ_WORKER);
	daemon_thread.fd[2] = &file.f;
	request = (struct fuse_request){ .in = { 80, 15, 1 }, .mount = &mount_point };
	another = (struct fuse_request){ .in = { 80, 15, 2 }, .mount = &mount_point };
	cpu_is(CPU_OF_HELPER, &kworker);
	switch_to(&idle[CPU_OF_HELPER], true);
	cpu_is(0, &alice);
	return 0;
}

/* Alice makes a request, on CPU 0. */
static void asks(struct fuse_request *req)
{
	cpu_is(0, &alice);
	EVENT(on_fuse_send, req);
}

/* Current reads from /dev/fuse: it gets @req, or what is no request, and the call returns @ret. */
static void reads_as(struct fuse_request *req, long ret)
{
	struct copy copy = { .req = req };
	u64 ctx[8] = { [2] = (u64)&copy, [4] = (u64)ret };

	RUN(on_fuse_read, ctx);
}

/* @t, a thread of the daemon, on its CPU, reads @req. */
static void reads(struct ktask *t, struct fuse_request *req)
{
	cpu_is(CPU_OF_DAEMON, t);
	reads_as(req, 80);
}

static void answers(struct ktask *t, struct fuse_request *req)
{
	cpu_is(CPU_OF_DAEMON, t);
	EVENT(on_fuse_end, req);
}

static void off(struct ktask *t, bool sleeps)
{
	cpu_is(CPU_OF_DAEMON, t);
	switch_to(&idle[CPU_OF_DAEMON], sleeps);
}

static void on(struct ktask *t)
{
	cpu_is(CPU_OF_DAEMON, &idle[CPU_OF_DAEMON]);
	switch_to(t, false);
}

/* An interrupt on CPU 3 wakes @t. */
static void wake_by_interrupt(struct ktask *t)
{
	cpu_is(3, &idle[3]);
	machine.level = LEVEL;
	wake(t);
	machine.level = 0;
}

/* The daemon's thread sleeps for @ns, and gets a CPU @runq later. */
static void sleeps(u64 ns, u64 runq)
{
	off(&daemon_thread, true);
	tick(ns);
	wake_by_interrupt(&daemon_thread);
	tick(runq);
	on(&daemon_thread);
}

static void is_preempted(u64 ns)
{
	off(&daemon_thread, false);
	tick(ns);
	on(&daemon_thread);
}

/* The sums of all rows of servers; checked: the parts of all requests, which are split, add up. */
static struct server_sums all_rows(void)
{
	struct server_sums all = {}, *s;

	for (struct entry *e = map_of(&server_rows_even)->entries; e; e = e->hh.next) {
		s = (void *)e->value;
		all.count += s->count;
		all.server_ns += s->server_ns;
		all.split += s->split;
		all.before_read_ns += s->before_read_ns;
		for (int i = 0; i < ST_N; i++)
			all.daemon_ns[i] += s->daemon_ns[i];
	}
	return all;
}

static void assert_adds_up(const struct server_sums *s)
{
	u64 sum = s->before_read_ns;

	for (int i = 0; i < ST_N; i++)
		sum += s->daemon_ns[i];
	assert_int_equal(s->split, s->count);
	assert_int_equal(sum, s->server_ns);
}

/* All requests are split, into @before and @daemon. */
static void assert_split(u64 count, u64 before, const u64 daemon[ST_N])
{
	struct server_sums all = all_rows();

	assert_int_equal(all.count, count);
	assert_int_equal(all.before_read_ns, before);
	for (int i = 0; i < ST_N; i++) {
		if (all.daemon_ns[i] != daemon[i])
			fprintf(stderr, "stratum %d: %llu\n", i, all.daemon_ns[i]);
		assert_int_equal(all.daemon_ns[i], daemon[i]);
	}
	assert_adds_up(&all);
	assert_int_equal(lost_all(), 0);
}

static void assert_unsplit(u64 count)
{
	struct server_sums all = all_rows();

	assert_int_equal(all.count, count);
	assert_int_equal(all.split | all.before_read_ns, 0);
	for (int i = 0; i < ST_N; i++)
		assert_int_equal(all.daemon_ns[i], 0);
}

#define STRATA(...) ((u64[ST_N]){ __VA_ARGS__ })

static void test_waits_outside_operations(void **state)
{
	(void)state;
	asks(&request);
	tick(1000);
	reads(&daemon_thread, &request);
	tick(100);
	sleeps(300, 20);
	tick(3);
	is_preempted(31);
	sleeps(500, 0);
	answers(&daemon_thread, &request);
	assert_split(
		1, 1000,
		STRATA([ST_SYSCALL] = 103, [ST_SLEEP] = 800, [ST_RUNQ] = 20, [ST_PREEMPT] = 31));
}

/* The strata of its operations, of which some began before the wait which is charged. */
static void test_waits_in_operations(void **state)
{
	u64 lock[2] = { 0x77, 0 };

	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	tick(5);
	for (int i = 0; i < 2; i++) {
		sys_enter(NR_READ, 2, 0, SIZE, 0);
		vfs_in(OP_READ, &file);
		tick(7);
		on_lock_wanted(lock);
		sleeps(200, 11);
		on_lock_taken(lock);
		tick(13);
		is_preempted(17);
		sleeps(19, 0);
		vfs_out(OP_READ, SIZE);
		sys_exit(SIZE);
		sleeps(23, 29);
	}
	answers(&daemon_thread, &request);
	assert_split(1, 0,
		     STRATA([ST_SYSCALL] = 5 + 2 * 20, [ST_LOCK] = 400, [ST_RUNQ] = 2 * (11 + 29),
			    [ST_PREEMPT] = 34, [ST_SLEEP] = 2 * (19 + 23)));
	/* the operations have their own times, as ever */
	assert_ops(OP_READ, 2, 7 + 200 + 11 + 13 + 17 + 19,
		   STRATA([ST_VFS] = 2 * 20, [ST_LOCK] = 400, [ST_RUNQ] = 22, [ST_PREEMPT] = 34,
			  [ST_SLEEP] = 38));
}

/* The daemon's thread waits for a disk; Q to G 2 ns, G to D 3, D to C 70; it is woken 5 ns later,
 * and gets a CPU after 7. */
static void waits_for_disk(void)
{
	static struct blk_mq_ctx mq_ctx;
	static struct request rq;
	static struct bio bio;

	bio_init(&bio, &disk, REQ_OP_READ, 8, SIZE);
	EVENT(on_bio_queue, &bio);
	off(&daemon_thread, true);
	tick(2);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_getrq, &bio);
	tick(3);
	EVENT(on_rq_issue, &rq);
	tick(70);
	cpu_is(3, &idle[3]);
	machine.level = LEVEL;
	complete_bytes(&rq, 0, SIZE);
	tick(5);
	wake(&daemon_thread);
	completion_is_over();
	machine.level = 0;
	tick(7);
	on(&daemon_thread);
}

static void test_disk_in_operation(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	sys_enter(NR_READ, 2, 0, SIZE, 0);
	vfs_in(OP_READ, &file);
	waits_for_disk();
	vfs_out(OP_READ, SIZE);
	sys_exit(SIZE);
	answers(&daemon_thread, &request);
	assert_split(1, 0,
		     STRATA([ST_TAG] = 2, [ST_QUEUE] = 3, [ST_DEVICE] = 70, [ST_COMPLETE] = 5,
			    [ST_RUNQ] = 7));
}

/* The daemon does not pass the filter, so it has no operations: its disk is known all the same. */
static void test_disk_of_filtered_daemon(void **state)
{
	(void)state;
	conf.process_filter = conf.thread_filter = 1;
	conf.n_pids = 1;
	lists.pids[0] = 1100;
	asks(&request);
	reads(&daemon_thread, &request);
	sys_enter(NR_READ, 2, 0, SIZE, 0);
	vfs_in(OP_READ, &file);
	waits_for_disk();
	sleeps(11, 0);
	vfs_out(OP_READ, SIZE);
	sys_exit(SIZE);
	answers(&daemon_thread, &request);
	assert_split(1, 0,
		     STRATA([ST_TAG] = 2, [ST_QUEUE] = 3, [ST_DEVICE] = 70, [ST_COMPLETE] = 5,
			    [ST_RUNQ] = 7, [ST_SLEEP] = 11));
	assert_int_equal(ops_counted(OP_READ, NULL).count, 0);
}

/* A worker of the kernel, which was idle at first, wakes the daemon's thread. */
static void test_helper(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	off(&daemon_thread, true);
	tick(100);
	wake_by_interrupt(&kworker);
	cpu_is(CPU_OF_HELPER, &idle[CPU_OF_HELPER]);
	switch_to(&kworker, false);
	tick(40);
	wake(&daemon_thread);
	on(&daemon_thread);
	answers(&daemon_thread, &request);
	assert_split(1, 0, STRATA([ST_SLEEP] = 100, [ST_HELPER] = 40));
}

/* No event tells when a sleep ended; or only that of the sleep before. */
static void test_waking_unseen(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	for (int i = 0; i < 2; i++) {
		off(&daemon_thread, true);
		tick(100);
		on(&daemon_thread);
		sleeps(i ? 0 : 50, 7);
	}
	answers(&daemon_thread, &request);
	assert_split(1, 0, STRATA([ST_SLEEP] = 250, [ST_RUNQ] = 14));
}

/* The waking comes while the thread is still on its CPU: it waited for the CPU alone. */
static void test_waking_before_switch(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	tick(3);
	wake_by_interrupt(&daemon_thread);
	tick(5);
	off(&daemon_thread, true);
	tick(100);
	on(&daemon_thread);
	answers(&daemon_thread, &request);
	assert_split(1, 0, STRATA([ST_SYSCALL] = 8, [ST_RUNQ] = 100));
}

/* The daemon's thread sleeps for 100 ns in a turn, and @waking tells of the sleep; if asleep is not
 * 0, of another one. */
static void sleeps_as(const struct waking *waking)
{
	struct waking *w;
	u64 asleep;

	asks(&request);
	reads(&daemon_thread, &request);
	off(&daemon_thread, true);
	tick(100);
	wake_by_interrupt(&daemon_thread);
	w = &task_lookup((u64)&daemon_thread)->waking;
	asleep = waking->asleep ? waking->asleep : w->asleep;
	*w = (struct waking){ .at = w->at,
			      .asleep = asleep,
			      .split = waking->split,
			      .unhelped = waking->unhelped,
			      .helped = waking->helped };
	on(&daemon_thread);
	answers(&daemon_thread, &request);
}

static void test_parts_of_sleep(void **state)
{
	(void)state;
	sleeps_as(
		&(struct waking){ .split = { 1, 2, 3, 4, 5, 6, 7 }, .unhelped = 10, .helped = 1 });
	assert_split(1, 0,
		     STRATA([ST_THROTTLE] = 1, [ST_TAG] = 2, [ST_QUEUE] = 3, [ST_DEVICE] = 4,
			    [ST_COMPLETE] = 5, [ST_RUNQ] = 6, [ST_SERVER] = 7, [ST_SLEEP] = 10,
			    [ST_HELPER] = 62));
}

/* A waking may be written while it is read: the parts still add up. */
static void test_torn_waking(void **state)
{
	(void)state;
	sleeps_as(&(struct waking){ .asleep = 1, .split = { .device = 50 } });
	sleeps_as(&(struct waking){ .split = { .device = 101 } });
	sleeps_as(&(struct waking){ .unhelped = 101, .helped = 1 });
	assert_split(3, 0, STRATA([ST_SLEEP] = 300));
}

/* The waker's clock is ahead. */
static void test_waking_later_than_switch(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	off(&daemon_thread, true);
	tick(100);
	wake_by_interrupt(&daemon_thread);
	machine.now -= 10;
	on(&daemon_thread);
	answers(&daemon_thread, &request);
	assert_split(1, 0, STRATA([ST_SLEEP] = 90));
}

/* Time of the thread before its first read, and between its turns, is in no turn. */
static void test_between_turns(void **state)
{
	(void)state;
	cpu_is(CPU_OF_DAEMON, &daemon_thread);
	tick(17);
	sleeps(1000, 19);
	for (int i = 0; i < 3; i++) {
		asks(&request);
		reads(&daemon_thread, &request);
		tick(5);
		sleeps(10, 3);
		answers(&daemon_thread, &request);
		tick(7);
		sleeps(100, 50);
		is_preempted(70);
	}
	assert_split(3, 0, STRATA([ST_SYSCALL] = 15, [ST_SLEEP] = 30, [ST_RUNQ] = 9));
}

/* An answer by another thread, or by one whose turn is for another request, has no split. */
static void test_answered_by_another(void **state)
{
	(void)state;
	asks(&request);
	asks(&another);
	reads(&daemon_thread, &request);
	tick(10);
	answers(&second_thread, &request);
	reads(&second_thread, &another);
	answers(&daemon_thread, &another);
	assert_unsplit(2);
}

/* A thread reads again before it answers: only the second request is split. */
static void test_reads_twice(void **state)
{
	struct server_sums all;

	(void)state;
	asks(&request);
	asks(&another);
	reads(&daemon_thread, &request);
	sleeps(50, 0);
	reads(&daemon_thread, &another);
	sleeps(7, 0);
	answers(&daemon_thread, &request);
	assert_unsplit(1);
	answers(&daemon_thread, &another);
	all = all_rows();
	assert_int_equal(all.count, 2);
	assert_int_equal(all.split, 1);
	assert_int_equal(all.before_read_ns, 50);
	assert_int_equal(all.daemon_ns[ST_SLEEP], 7);
}

/* A read without a request leaves the turn as it is: of nothing, or of a message without an answer.
 */
static void test_reads_no_request(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	tick(5);
	reads_as(&request, AGAIN);
	reads_as(&request, 0);
	reads_as(NULL, 40);
	tick(7);
	answers(&daemon_thread, &request);
	assert_split(1, 0, STRATA([ST_SYSCALL] = 12));
	reads_as(NULL, 40);
	assert_int_equal(map_count(&turns), 1);
}

/* The request read has ended; a new one has the same address, and who read it was not seen. */
static void test_address_used_again(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	tick(5);
	answers(&second_thread, &request);
	tick(1);
	asks(&request);
	tick(9);
	answers(&daemon_thread, &request);
	assert_unsplit(2);
}

/* A request of before the tracing has no row, and its turn ends. */
static void test_beginning_unseen(void **state)
{
	(void)state;
	reads(&daemon_thread, &request);
	answers(&daemon_thread, &request);
	assert_int_equal(map_count(&server_rows_even), 0);
	assert_int_equal(task_lookup((u64)&daemon_thread)->turn, TURN_OVER);
}

/* A request of a client which the filters reject has no row either, and its turn ends. */
static void test_filtered_client(void **state)
{
	(void)state;
	conf.process_filter = conf.thread_filter = 1;
	conf.n_pids = 1;
	lists.pids[0] = 4711;
	asks(&request);
	reads(&daemon_thread, &request);
	answers(&daemon_thread, &request);
	assert_int_equal(map_count(&server_rows_even), 0);
	assert_int_equal(task_lookup((u64)&daemon_thread)->turn, TURN_OVER);
}

/* A thread ends in its turn: another one with the same state is in none. */
static void test_exits_in_turn(void **state)
{
	struct task_state *t;

	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	t = task_lookup((u64)&daemon_thread);
	EVENT(on_exit, &daemon_thread);
	assert_int_equal(map_count(&turns), 0);
	assert_int_equal(t->turn, TURN_NONE);
	EVENT(on_exit, &alice);
	answers(&second_thread, &request);
	assert_unsplit(1);
}

/* Two threads whose states share a slot are in turns at once. */
static void test_overflown(void **state)
{
	struct ktask *a, *b;

	(void)state;
	rivals(&a, &b);
	task_init(a, 1300, 1303, "daemon", 0);
	task_init(b, 1300, 1304, "daemon", 0);
	asks(&request);
	asks(&another);
	reads(a, &request);
	reads(b, &another);
	off(b, true);
	tick(100);
	cpu_is(3, a);
	wake(b);
	EVENT(on_fuse_end, &request);
	on(b);
	answers(b, &another);
	assert_split(2, 0, STRATA([ST_SYSCALL] = 100, [ST_SLEEP] = 100));
	EVENT(on_exit, a);
	EVENT(on_exit, b);
	assert_int_equal(map_count(&turns), 0);
}

/* More threads than there is room for: some requests have no split. */
static void test_no_room(void **state)
{
	static struct ktask crowd[70];
	struct server_sums all;

	(void)state;
	for (int i = 0; i < 70; i++) {
		task_init(&crowd[i], 1300, 1400 + i, "daemon", 0);
		asks(&request);
		reads(&crowd[i], &request);
		tick(3);
		answers(&crowd[i], &request);
	}
	all = all_rows();
	assert_int_equal(all.count, 70);
	assert_int_equal(all.split, 64);
	assert_int_equal(all.daemon_ns[ST_SYSCALL], 64 * 3);
	for (int i = 0; i < 70; i++)
		EVENT(on_exit, &crowd[i]);
	assert_int_equal(map_count(&turns), 0);
}

/* The tool's own thread, and one whose waits nobody follows. */
static void test_threads_without_turn(void **state)
{
	struct ktask tool, worker;

	(void)state;
	task_init(&tool, TOOL, TOOL, "iostrata", 0);
	task_init(&worker, 1300, 1305, "iou-wrk-1300", PF_IO_WORKER);
	for (int i = 0; i < 2; i++) {
		asks(&request);
		reads(i ? &worker : &tool, &request);
		tick(3);
		answers(i ? &worker : &tool, &request);
	}
	assert_unsplit(2);
}

/* If the clock steps back, nothing is split that does not add up. */
static void test_clock_steps_back(void **state)
{
	(void)state;
	asks(&request);
	reads(&daemon_thread, &request);
	sleeps(100, 0);
	machine.now -= 50;
	answers(&daemon_thread, &request);
	assert_unsplit(1);
}

/* A thread with requests of io_uring has its waits for a CPU noted, too. */
static void test_waits_of_async(void **state)
{
	struct task_state *t;

	(void)state;
	conf.async = conf.uring = 1;
	asks(&request);
	reads(&daemon_thread, &request);
	t = task_lookup((u64)&daemon_thread);
	t->async_at = 1;
	sleeps(100, 30);
	assert_int_equal(t->cpu_wait.to - t->cpu_wait.from, 30);
	answers(&daemon_thread, &request);
	assert_split(1, 0, STRATA([ST_SLEEP] = 100, [ST_RUNQ] = 30));
}

/* Without rows of daemons, nothing is noted. */
static void test_not_asked_for(void **state)
{
	(void)state;
	conf.daemons = 0;
	asks(&request);
	reads(&daemon_thread, &request);
	sleeps(100, 30);
	answers(&daemon_thread, &request);
	assert_unsplit(1);
	assert_int_equal(map_count(&turns), 0);
	assert_null(task_lookup((u64)&daemon_thread));
}

/* A virtual machine's host has no thread here. */
static void test_virtiofs(void **state)
{
	(void)state;
	asks(&request);
	tick(10);
	cpu_is(CPU_OF_HELPER, &kworker);
	EVENT(on_fuse_end, &request);
	assert_unsplit(1);
}

static u64 seed = 46;

static u64 random_to(u64 n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

/* One thing that a thread does; adds its time to @expected. */
static void step(u64 expected[ST_N], bool *in_op)
{
	u64 ns = random_to(1000), runq = random_to(50);
	u64 lock[2] = { 0x77, 0 };
	bool locks = *in_op && random_to(2);

	switch (random_to(4)) {
	case 0:
		tick(ns);
		expected[ST_SYSCALL] += ns;
		break;
	case 1:
		if (locks)
			on_lock_wanted(lock);
		sleeps(ns, runq);
		if (locks)
			on_lock_taken(lock);
		expected[locks ? ST_LOCK : ST_SLEEP] += ns;
		expected[ST_RUNQ] += runq;
		break;
	case 2:
		is_preempted(ns);
		expected[ST_PREEMPT] += ns;
		break;
	default:
		if (*in_op)
			sys_exit(0);
		else
			sys_enter(NR_FSYNC, 2, 0, 0, 0);
		*in_op = !*in_op;
	}
}

static void test_at_random(void **state)
{
	u64 expected[ST_N] = {}, before = 0, waits;
	bool in_op = false;

	(void)state;
	for (int turn = 0; turn < 500; turn++) {
		asks(&request);
		waits = random_to(100);
		tick(waits);
		before += waits;
		reads(&daemon_thread, &request);
		for (u64 n = random_to(20); n; n--)
			step(expected, &in_op);
		answers(&daemon_thread, &request);
		for (u64 n = random_to(3); n; n--)
			step((u64[ST_N]){}, &in_op);
	}
	assert_split(500, before, expected);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_waits_outside_operations),
		TEST(test_waits_in_operations),
		TEST(test_disk_in_operation),
		TEST(test_disk_of_filtered_daemon),
		TEST(test_helper),
		TEST(test_waking_unseen),
		TEST(test_waking_before_switch),
		TEST(test_parts_of_sleep),
		TEST(test_torn_waking),
		TEST(test_waking_later_than_switch),
		TEST(test_between_turns),
		TEST(test_answered_by_another),
		TEST(test_reads_twice),
		TEST(test_reads_no_request),
		TEST(test_address_used_again),
		TEST(test_beginning_unseen),
		TEST(test_filtered_client),
		TEST(test_exits_in_turn),
		TEST(test_overflown),
		TEST(test_no_room),
		TEST(test_threads_without_turn),
		TEST(test_clock_steps_back),
		TEST(test_waits_of_async),
		TEST(test_not_asked_for),
		TEST(test_virtiofs),
		TEST(test_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
