// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two programs on a tracepoint: one of them handles each event. The first may be refused, since
 * another program was interrupted on that CPU. The machine is made up; see kernel/machine.h.
 */
#include "kernel/machine.h"

static struct ktask alice, bob; /* whose notes have the same place */
static struct bio a, b, c;

static int start(void **state)
{
	(void)state;
	machine_start();
	memset(handled, 0, sizeof(handled));
	conf.backups = 1;
	task_init(&alice, 1103, 1103, "alice", 0);
	task_init(&bob, 1103 + HANDLED_SLOTS, 1103 + HANDLED_SLOTS, "bob", 0);
	cpu_is(1, &alice);
	return 0;
}

/* Whether current's first program, and its backup, handle an event. */
static bool first(enum block_event ev, const struct bio *bio)
{
	u64 ctx[1];

	machine.cookie = 0;
	return first_to_see(ctx, ev, bio);
}

static bool backup(enum block_event ev, const struct bio *bio)
{
	u64 ctx[1];

	machine.cookie = 1;
	return first_to_see(ctx, ev, bio);
}

/* Each event is handled once, whether or not the first was refused; the same event may come again
 * at once. */
static void test_once(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(first(EV_BIO_QUEUE, &a));
		assert_false(backup(EV_BIO_QUEUE, &a));
		assert_true(backup(EV_BIO_QUEUE, &a)); /* the first was refused */
	}
	assert_true(first(EV_BIO_QUEUE, &a));
	assert_true(backup(EV_GETRQ, &a));
	assert_true(backup(EV_BIO_QUEUE, &b));
	assert_false(backup(EV_BIO_QUEUE, &a));
}

/* Where no program can be refused there is one, which handles all. */
static void test_no_backups(void **state)
{
	(void)state;
	conf.backups = 0;
	assert_true(first(EV_BIO_QUEUE, &a));
	assert_true(backup(EV_BIO_QUEUE, &a));
	assert_int_equal(handled[1103].tid, 0);
}

/* An interrupt between the two has an event of its own. */
static void test_interrupted(void **state)
{
	(void)state;
	assert_true(first(EV_BIO_QUEUE, &a));
	assert_true(first(EV_COMPLETE, &b));
	assert_false(backup(EV_COMPLETE, &b));
	assert_false(backup(EV_BIO_QUEUE, &a));
	assert_true(first(EV_BIO_QUEUE, &a));
	assert_true(first(EV_COMPLETE, &b));
	assert_false(backup(EV_COMPLETE, &b));
	assert_true(first(EV_COMPLETE, &c));
	assert_false(backup(EV_COMPLETE, &c));
	assert_false(backup(EV_BIO_QUEUE, &a));
	assert_true(backup(EV_COMPLETE, &b));
}

/* The events which one thread has handled say nothing about another thread whose notes have the
 * same place. */
static void test_threads_of_a_place(void **state)
{
	(void)state;
	assert_true(first(EV_BIO_QUEUE, &a));
	cpu_is(2, &bob);
	assert_true(backup(EV_BIO_QUEUE, &a));
	cpu_is(1, &alice);
	assert_false(backup(EV_BIO_QUEUE, &a));
	assert_true(first(EV_BIO_QUEUE, &a));
	assert_true(first(EV_COMPLETE, &b));
	cpu_is(2, &bob); /* which takes the place over */
	assert_true(first(EV_BIO_QUEUE, &c));
	assert_true(backup(EV_COMPLETE, &b));
	assert_false(backup(EV_BIO_QUEUE, &c));
	assert_true(backup(EV_BIO_QUEUE, &a));
}

/* Threads of other places, and the idle threads of all CPUs, which are all thread 0, have their
 * own. */
static void test_places(void **state)
{
	static const u32 tids[] = { 1, 2, HANDLED_SLOTS / 2, HANDLED_SLOTS - 1, HANDLED_SLOTS - 2 };
	struct ktask others[5];
	struct bio bios[5 + CPUS];

	(void)state;
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < 5 + CPUS; i++) {
			if (i < 5)
				task_init(&others[i], tids[i], tids[i], "other", 0);
			cpu_is(i < 5 ? 1 : i - 5, i < 5 ? &others[i] : &idle[i - 5]);
			assert_int_equal(pass ? backup(EV_COMPLETE, &bios[i])
					      : first(EV_COMPLETE, &bios[i]),
					 !pass);
		}
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_once),        TEST(test_no_backups),
		TEST(test_interrupted), TEST(test_threads_of_a_place),
		TEST(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
