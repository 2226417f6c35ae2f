// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on calls which a signal interrupts: one operation if the kernel begins
 * the call again, a failed one if not. In a machine that is made up; see kernel/machine.h.
 */
#include "kernel/machine.h"

enum { EXT4_DEV = 8 << MINOR_BITS | 1, NR_FLOCK = 73, NR_EXECVE = 59, NR_SIGRETURN = 15 };
enum { SIGNAL_ALARM = 14, SIGNAL_TERM = 15, SIGNAL_CHILD = 17, SIGNAL_TSTP = 20, SIGNAL_URG = 23 };
enum { STACK = 0x7ff000, HANDLER = 0x400123 };

static struct kfile ext4, other;
static struct ktask alice, bob;

static int start(void **state)
{
	unsigned short made[CALL_MAX] = {
		[NR_READ] = CALL_DESC(OP_READ, FILE_ARG0) | CALL_THROUGH_VFS,
		[NR_WRITE] = CALL_DESC(OP_WRITE, FILE_ARG0) | CALL_THROUGH_VFS,
		[NR_STAT] = CALL_DESC(OP_META, FILE_NONE),
		[NR_OPEN] = CALL_DESC(OP_OPEN, FILE_RESULT),
		[NR_FSYNC] = CALL_DESC(OP_FSYNC, FILE_ARG0),
		[NR_FLOCK] = CALL_DESC(OP_LOCK, FILE_ARG0),
		[NR_EXECVE] = CALL_DESC(OP_EXEC, FILE_RESULT),
		[NR_SIGRETURN] = CALL_DESC(OP_META, FILE_BY_ARGS),
	};
	unsigned short where[CALL_MAX] = { [NR_SIGRETURN] = OFFSET_SIGRETURN };

	(void)state;
	machine_start();
	data_set(calls, made, sizeof(made));
	data_set(call_offsets, where, sizeof(where));
	file_init(&ext4, "ext4", EXT4_DEV, 23, S_IFREG);
	file_init(&other, "ext4", EXT4_DEV, 29, S_IFREG);
	task_init(&alice, 1100, 1101, "alice", 0);
	task_init(&bob, 1200, 1201, "bob", 0);
	for (struct ktask *t = &alice; t; t = t == &alice ? &bob : NULL) {
		t->fd[2] = &ext4.f;
		t->fd[3] = &other.f;
	}
	cpu_is(1, &alice);
	return 0;
}

/* Current enters call @nr on @fd with its stack pointer at @sp. */
static void enter(u64 nr, u64 fd, u64 sp)
{
	struct pt_regs *regs = &machine.current->regs;
	u64 ctx[] = { (u64)regs, nr };

	*regs = (struct pt_regs){ .di = fd, .orig_ax = nr, .sp = sp };
	on_sys_enter(ctx);
}

/* A signal is pending for current, with this handler and these flags. */
static void signal_comes(u32 sig, u64 handler, u64 flags)
{
	struct ktask *t = machine.current;

	t->t.pending.signal.sig[0] |= SIGNAL(sig);
	t->sighand.action[sig - 1].sa.sa_handler = (void *)handler;
	t->sighand.action[sig - 1].sa.sa_flags = flags;
}

static void signals_are_taken(void)
{
	machine.current->t.pending.signal.sig[0] = 0;
	machine.current->signal.shared_pending.signal.sig[0] = 0;
}

/* The handler of a signal returns: no call is in the registers when rt_sigreturn does. */
static void handler_ends(void)
{
	enter(NR_SIGRETURN, 0, STACK - 512);
	machine.current->regs.orig_ax = ~0ULL;
	sys_exit(0);
}

/* Current sleeps for 100 ns and waits 5 ns for a CPU. */
static void sleeps(void)
{
	struct ktask *t = machine.current;

	switch_to(&idle[1], true);
	tick(100);
	wake(t);
	tick(5);
	switch_to(t, false);
}

/* Current calls flock(), sleeps, and is interrupted. */
static void flock_interrupted(long ret)
{
	enter(NR_FLOCK, 2, STACK);
	tick(2);
	sleeps();
	tick(3);
	sys_exit(ret);
	tick(1);
	signals_are_taken();
}

/* It goes on, sleeps again and succeeds. */
static void flock_again(void)
{
	enter(NR_FLOCK, 2, STACK);
	tick(4);
	sleeps();
	tick(6);
	sys_exit(0);
}

static const u64 twice[ST_N] = { [ST_SYSCALL] = 2 + 3 + 4 + 6, [ST_SLEEP] = 200, [ST_RUNQ] = 10 };

static const u64 once[ST_N] = { [ST_SYSCALL] = 5, [ST_SLEEP] = 100, [ST_RUNQ] = 5 };

static void assert_one(u32 kind, u64 errors)
{
	struct op_sums s = ops_counted(kind, NULL);

	assert_int_equal(s.count, 1);
	assert_int_equal(s.errors, errors);
	assert_int_equal(map_count(&interrupted), 0);
	assert_int_equal(lost_all(), 0);
}

/* A call that begins again after a handler is one operation without an error. The handler's time is
 * not in it, and the handler's calls are operations of their own. */
static void test_after_a_handler(void **state)
{
	const u64 handlers[ST_N] = { [ST_SYSCALL] = 7 };

	(void)state;
	signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	assert_int_equal(ops_counted(OP_LOCK, NULL).count, 0);
	tick(1000);
	enter(NR_FSYNC, 3, STACK - 256);
	tick(7);
	sys_exit(-5);
	sleeps(); /* in no operation */
	handler_ends();
	tick(50);
	sleeps();
	flock_again();
	assert_ops(OP_LOCK, 1, 225, twice);
	assert_ops(OP_FSYNC, 1, 7, handlers);
	assert_int_equal(ops_counted(OP_META, NULL).count, 0);
	assert_one(OP_LOCK, 0);
	/* the next one is another operation */
	enter(NR_FLOCK, 2, STACK);
	tick(9);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_LOCK, NULL).count, 2);
	assert_int_equal(lost_all(), 0);
}

/* A call which a handler without SA_RESTART interrupts fails with EINTR; so does one that no
 * handler lets begin again, except for ERESTARTNOINTR. */
static void test_with_a_handler_that_fails_it(void **state)
{
	static const struct {
		u64 flags;
		long ret;
		u64 errors;
	} cases[] = {
		{ 0, -RESTART_SYS, 1 },
		{ SA_RESTART, -RESTART_NOHAND, 1 },
		{ SA_RESTART, -RESTART_BLOCK, 1 },
		{ 0, -RESTART_NOINTR, 0 },
		{ SA_RESTART, -RESTART_SYS, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		start(state);
		conf.records = 1;
		signal_comes(SIGNAL_ALARM, HANDLER, cases[i].flags);
		flock_interrupted(cases[i].ret);
		if (cases[i].errors) {
			assert_ops(OP_LOCK, 1, 110, once);
			assert_int_equal(newest_record()->ret, -ERROR_INTR);
		} else {
			handler_ends();
			flock_again();
		}
		assert_one(OP_LOCK, cases[i].errors);
		machine_stop(state);
	}
	start(state);
}

/* Without a handler, a call begins again at once: after work for the thread, or while its process
 * stops and goes on. Signals that are ignored or blocked are none. */
static void test_at_once(void **state)
{
	for (int i = 0; i < 5; i++) {
		start(state);
		if (i == 1)
			signal_comes(SIGNAL_TSTP, HANDLER_DEFAULT, 0);
		if (i == 2)
			signal_comes(SIGNAL_CHILD, HANDLER_DEFAULT, 0);
		if (i == 3)
			signal_comes(SIGNAL_TERM, HANDLER_IGNORE, 0);
		if (i == 4) {
			signal_comes(SIGNAL_TERM, HANDLER, 0);
			alice.t.blocked.sig[0] = SIGNAL(SIGNAL_TERM);
		}
		flock_interrupted(-RESTART_SYS);
		assert_int_equal(ops_counted(OP_LOCK, NULL).count, 0);
		sleeps(); /* stopped */
		flock_again();
		assert_ops(OP_LOCK, 1, 225, twice);
		assert_one(OP_LOCK, 0);
		machine_stop(state);
	}
	start(state);
}

/* A call whose thread the signal kills has failed. */
static void test_killed(void **state)
{
	(void)state;
	alice.sighand.action[8].sa.sa_handler = (void *)HANDLER_DEFAULT;
	alice.signal.shared_pending.signal.sig[0] = SIGNAL_KILL;
	signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	EVENT(on_exit, &alice);
	assert_ops(OP_LOCK, 1, 110, once);
	assert_one(OP_LOCK, 1);
}

/* The first signal is the one which the kernel delivers first: that of an exception, then the
 * thread's own, then its process's, each by its number. */
static void test_which_signal_is_first(void **state)
{
	(void)state;
	signal_comes(SIGNAL_TERM, HANDLER, SA_RESTART);
	signal_comes(31, HANDLER, 0); /* SIGSYS */
	flock_interrupted(-RESTART_SYS);
	assert_one(OP_LOCK, 1);
	alice.sighand.action[0].sa.sa_handler = (void *)HANDLER; /* SIGHUP, of the process */
	alice.signal.shared_pending.signal.sig[0] = SIGNAL(1);
	signal_comes(SIGNAL_URG, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	assert_int_equal(ops_counted(OP_LOCK, NULL).count, 1);
	assert_int_equal(map_count(&interrupted), 1);
	handler_ends();
	flock_again();
	assert_int_equal(ops_counted(OP_LOCK, NULL).count, 2);
	assert_int_equal(ops_counted(OP_LOCK, NULL).errors, 1);
	assert_int_equal(lost_all(), 0);
}

/* Of more signals without effect than are looked at, nothing is known: the call has ended. */
static void test_many_signals(void **state)
{
	(void)state;
	for (u32 sig = 34; sig < 34 + SIGNALS_TRIED; sig++)
		signal_comes(sig, HANDLER_IGNORE, 0);
	flock_interrupted(-RESTART_SYS);
	assert_one(OP_LOCK, 1);
}

/* A handler is interrupted by another: the return of the inner one does not make calls of the outer
 * one the interrupted call, also of the same number. */
static void test_nested_handlers(void **state)
{
	(void)state;
	signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	handler_ends(); /* of another signal */
	enter(NR_FLOCK, 3, STACK - 256);
	tick(11);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_LOCK, NULL).total_ns, 11);
	handler_ends();
	flock_again();
	assert_int_equal(ops_counted(OP_LOCK, NULL).count, 2);
	assert_int_equal(ops_counted(OP_LOCK, NULL).total_ns, 11 + 225);
	assert_int_equal(map_count(&interrupted), 0);
	assert_int_equal(lost_all(), 0);
}

/* The same call is interrupted again and again. */
static void test_interrupted_again(void **state)
{
	u64 strata[ST_N] = { [ST_SYSCALL] = 7 * 5 + 10, [ST_SLEEP] = 800, [ST_RUNQ] = 40 };

	(void)state;
	for (int i = 0; i < 7; i++) {
		signal_comes(SIGNAL_ALARM, i & 1 ? HANDLER : HANDLER_IGNORE, SA_RESTART);
		flock_interrupted(-RESTART_SYS);
		tick(1000);
		if (i & 1)
			handler_ends();
	}
	flock_again();
	assert_ops(OP_LOCK, 1, 885, strata);
	assert_one(OP_LOCK, 0);
}

/* A handler that never returns leaves its operation behind: it is lost with the next interrupted
 * call, or with the thread. */
static void test_handler_that_does_not_return(void **state)
{
	(void)state;
	signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	for (int i = 0; i < 3; i++) {
		enter(NR_FSYNC, 2, STACK);
		tick(7);
		sys_exit(0);
	}
	assert_int_equal(ops_counted(OP_FSYNC, NULL).count, 3);
	assert_int_equal(lost_all(), 0);
	signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	assert_int_equal(map_count(&interrupted), 1);
	EVENT(on_exit, &alice);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	assert_int_equal(map_count(&interrupted), 0);
	/* the next thread there begins anew */
	enter(NR_FLOCK, 2, STACK);
	tick(5);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_LOCK, NULL).total_ns, 5);
}

/* A thread ends before its call begins again: the operation is lost once. */
static void test_ends_before_it_goes_on(void **state)
{
	(void)state;
	flock_interrupted(-RESTART_SYS);
	EVENT(on_exit, &alice);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	assert_int_equal(lost_all(), 1);
	assert_int_equal(map_count(&interrupted), 0);
}

/* No room to put an operation aside: it ends, and this is counted. */
static void test_no_room(void **state)
{
	(void)state;
	map_of(&interrupted)->refusals = 1;
	flock_interrupted(-RESTART_SYS);
	assert_int_equal(ops_counted(OP_LOCK, NULL).errors, 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(lost_all(), 1);
}

/* A read through the layers: the layers of both parts count. */
static void test_read_through_layers(void **state)
{
	const u64 strata[ST_N] = {
		[ST_SYSCALL] = 1 + 5 + 6 + 10, [ST_VFS] = 2 + 4 + 7 + 9, [ST_FS] = 3 + 8
	};

	(void)state;
	enter(NR_READ, 2, STACK);
	tick(1);
	vfs_in(OP_READ, &ext4);
	tick(2);
	fs_in(OP_READ, &ext4);
	tick(3);
	fs_out(OP_READ, -RESTART_SYS);
	tick(4);
	vfs_out(OP_READ, -RESTART_SYS);
	tick(5);
	sys_exit(-RESTART_SYS);
	tick(1000);
	enter(NR_READ, 2, STACK);
	tick(6);
	vfs_in(OP_READ, &ext4);
	tick(7);
	fs_in(OP_READ, &ext4);
	tick(8);
	fs_out(OP_READ, 100);
	tick(9);
	vfs_out(OP_READ, 100);
	tick(10);
	sys_exit(100);
	assert_ops(OP_READ, 1, 55, strata);
	assert_int_equal(ops_counted(OP_READ, NULL).bytes, 100);
	assert_one(OP_READ, 0);
}

/* Calls whose file is known at their end only: a read that reaches no function, an open, an exec.
 */
static void test_file_at_the_end(void **state)
{
	struct mm_struct mm = { .exe_file = &other.f };
	const u64 nrs[] = { NR_READ, NR_OPEN, NR_EXECVE };
	const u32 kinds[] = { OP_READ, OP_OPEN, OP_EXEC };

	(void)state;
	conf.records = conf.file_details = 1;
	alice.t.mm = &mm;
	for (int i = 0; i < 3; i++) {
		enter(nrs[i], 2, STACK);
		tick(5);
		sys_exit(-RESTART_NOINTR);
		tick(1000);
		enter(nrs[i], 2, STACK);
		tick(7);
		sys_exit(i == 1 ? 3 : 0);
		assert_int_equal(ops_counted(kinds[i], NULL).total_ns, 12);
		assert_one(kinds[i], 0);
		assert_int_equal(newest_record()->ino, i ? 29 : 23);
	}
}

/* Page faults: not traced while the call may begin again at any moment, else operations. */
static void test_faults(void **state)
{
	struct vm_area_struct area = { .vm_start = 0x1000, .vm_file = &ext4.f };

	(void)state;
	conf.faults = conf.all_faults = 1;
	signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	fault_at(0x2000);
	tick(13);
	fault_handled(&area, BY_USER, 0);
	assert_int_equal(ops_counted(OP_FAULT, NULL).total_ns, 13);
	handler_ends();
	fault_at(0x2000);
	tick(13);
	fault_handled(&area, BY_USER, 0);
	assert_int_equal(ops_counted(OP_FAULT, NULL).count, 1);
	flock_again();
	assert_ops(OP_LOCK, 1, 225, twice);
	assert_one(OP_LOCK, 0);
}

/* Other calls of the thread, and other threads, have nothing to do with it. */
static void test_beside_others(void **state)
{
	(void)state;
	flock_interrupted(-RESTART_SYS);
	cpu_is(2, &bob);
	flock_again();
	assert_int_equal(ops_counted(OP_LOCK, NULL).total_ns, 115);
	cpu_is(1, &alice);
	enter(39, 0, STACK); /* getpid, which is not traced */
	sys_exit(1100);
	flock_again();
	assert_int_equal(ops_counted(OP_LOCK, NULL).total_ns, 115 + 225);
	assert_int_equal(ops_counted(OP_LOCK, NULL).count, 2);
	assert_int_equal(lost_all(), 0);
}

/* Another call than the expected one begins: it is an operation, and takes nothing over. */
static void test_another_call_instead(void **state)
{
	(void)state;
	flock_interrupted(-RESTART_SYS);
	enter(NR_FSYNC, 2, STACK - 128);
	tick(7);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).total_ns, 7);
	assert_int_equal(lost_all(), 0);
	EVENT(on_exit, &alice);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
}

/* Calls timed as a whole: without the time between. */
static void test_layer_of_calls(void **state)
{
	(void)state;
	conf.layer = LAYER_SYSCALL;
	flock_interrupted(-RESTART_SYS);
	tick(1000);
	flock_again();
	assert_int_equal(ops_counted(OP_LOCK, NULL).total_ns, 225);
	assert_one(OP_LOCK, 0);
}

/* The order of the time: known if no other call came between, else begun anew. */
static void test_order(void **state)
{
	const struct segments *list;

	for (int handled = 0; handled < 2; handled++) {
		start(state);
		conf.segments = 1;
		if (handled)
			signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
		flock_interrupted(-RESTART_SYS);
		if (handled) {
			enter(NR_FSYNC, 2, STACK - 256);
			sleeps();
			sys_exit(0);
			handler_ends();
		}
		enter(NR_FLOCK, 2, STACK);
		tick(4);
		sleeps();
		list = op_segment_list(&task_lookup((u64)&alice)->op);
		assert_int_equal(list->n, handled ? 3 : 6);
		assert_int_equal(SEGMENT_STRATUM(list->at[0]), ST_SYSCALL);
		assert_int_equal(SEGMENT_NS(list->at[0]), handled ? 4 : 2);
		machine_stop(state);
	}
	start(state);
}

/* The thread keeps its state while an operation is put aside. */
static void test_exec_that_is_not_traced(void **state)
{
	(void)state;
	signal_comes(SIGNAL_ALARM, HANDLER, SA_RESTART);
	flock_interrupted(-RESTART_SYS);
	conf.process_filter = conf.thread_filter = conf.n_comms = lists.n_comms = 1;
	enter(NR_EXECVE, 0, STACK);
	sys_exit(-2);
	EVENT(on_exit, &alice);
	assert_int_equal(map_count(&interrupted), 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_after_a_handler),
		TEST(test_with_a_handler_that_fails_it),
		TEST(test_at_once),
		TEST(test_killed),
		TEST(test_which_signal_is_first),
		TEST(test_many_signals),
		TEST(test_nested_handlers),
		TEST(test_interrupted_again),
		TEST(test_handler_that_does_not_return),
		TEST(test_ends_before_it_goes_on),
		TEST(test_no_room),
		TEST(test_read_through_layers),
		TEST(test_file_at_the_end),
		TEST(test_faults),
		TEST(test_beside_others),
		TEST(test_another_call_instead),
		TEST(test_layer_of_calls),
		TEST(test_order),
		TEST(test_exec_that_is_not_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
