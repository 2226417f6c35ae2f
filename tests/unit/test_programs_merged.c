// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on requests that are merged with others: whoever waits for one was in the
 * queue for a time of its own, which the times of the other's request do not tell.
 */
#define FUNCTIONS /* as for kernels that bear them: bios are looked at in steps */
#include "kernel/machine.h"

enum { SIZE = 4096, LEVEL = 0x10000, READ = 22 };

struct kio {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

static struct kio above, own, other, third; /* @above is passed on as @own */
static struct kdisk disk, stacked;
static struct ktask alice, bob, kworker;
static struct kfile file;
static struct io_ring_ctx ring_ctx;
static struct io_kiocb req;

/* How Alice waits, on which disk, and whose request takes the other in. */
struct how {
	bool uring, is_stacked, into_younger, late; /* Bob's gets it late */
	bool throttled;
};

static void start(void)
{
	u8 kinds[URING_OPS] = { [READ] = OP_READ };

	machine_start();
	conf.async = conf.uring = 1;
	data_set(uring_kinds, kinds, sizeof(kinds));
	memset(&above, 0, sizeof(above));
	memset(&own, 0, sizeof(own));
	memset(&other, 0, sizeof(other));
	memset(&third, 0, sizeof(third));
	disk_init(&disk, 8, 16, true);
	disk_init(&stacked, 253, 3, false);
	task_init(&alice, 1100, 1101, "alice", 0);
	task_init(&bob, 1200, 1201, "bob", 0);
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	ring_ctx = (struct io_ring_ctx){};
	req = (struct io_kiocb){ .opcode = READ, .ctx = &ring_ctx, .file = &file.f };
	tick(1000);
}

static void queued(struct kio *io, struct kdisk *d, u64 sector)
{
	bio_init(&io->bio, d, REQ_OP_READ, sector, SIZE);
	EVENT(on_bio_queue, &io->bio);
}

static void gets_request(struct kio *io)
{
	request_init(&io->rq, &io->mq_ctx, &disk, &io->bio);
	EVENT(on_getrq, &io->bio);
}

static void is_behind(struct kio *io, struct kio *last)
{
	last->bio.bi_next = &io->bio;
	last->rq.__data_len += SIZE;
}

/* Alice's operation begins: the device above, if there is one, holds her bio for 2 ns. */
static void alice_submits(const struct how *how)
{
	cpu_is(0, &alice);
	if (how->uring)
		uring_submit(&req);
	else
		sys_enter(NR_STAT, 0, 0, 0, 0);
	if (how->is_stacked) {
		queued(&above, &stacked, 0);
		tick(2);
		alice.t.bio_list = (void *)&above;
	}
	queued(&own, &disk, 16);
	alice.t.bio_list = NULL;
}

static void alice_waits(const struct how *how)
{
	cpu_is(0, &alice);
	if (how->uring)
		uring_wait(&ring_ctx);
	else
		switch_to(&idle[0], true);
}

static void bob_submits(const struct how *how)
{
	cpu_is(2, &bob);
	queued(&other, &disk, 8);
	if (how->throttled)
		io_slot(bio_key(&other.bio), 2)->throttled = 1;
	if (!how->late)
		gets_request(&other);
}

/* Alice's bio is queued; its request comes after 1 ns and is merged into one that Bob submits after
 * 40 more. She goes on with another, which is soon done. Returns the times of hers. */
static struct rq_times into_younger(const struct how *how)
{
	struct rq_times times = { .held = machine.now };

	alice_submits(how);
	times.q = machine.now;
	times.g = times.q + !how->uring; /* of a bio of io_uring only the first is kept */
	tick(1);
	gets_request(&own);
	alice_waits(how);
	tick(40);
	bob_submits(how);
	EVENT(on_rq_merge, &own.rq);
	is_behind(&own, &other);
	if (how->uring) {
		cpu_is(0, &alice);
		queued(&third, &disk, 800);
		gets_request(&third);
		EVENT(on_rq_issue, &third.rq);
		complete_bytes(&third.rq, 0, SIZE);
		completion_is_over();
	}
	return times;
}

/* Alice's bio is merged into the request that Bob submitted 9 ns before, and may get after hers. */
static struct rq_times into_older(const struct how *how)
{
	struct rq_times times = { .q = machine.now, .g = machine.now };

	bob_submits(how);
	tick(9);
	times.held = machine.now;
	alice_submits(how);
	if (how->late) {
		tick(1);
		times.g = machine.now;
		gets_request(&other);
	}
	EVENT(on_backmerge, &own.bio);
	is_behind(&own, &other);
	alice_waits(how);
	return times;
}

/* The times that a thread woken by the completion in progress learns. */
static const struct rq_times *marked(void)
{
	return &mark_current(machine.now, machine.level)->times;
}

/* Both bios are done, after 5 ns in the queue and 7 in the device, in an interrupt on CPU 1; Alice
 * goes on 3 ns later. @times, unless NULL, are told to all who wait for her bio. */
static void both_done(const struct how *how, struct rq_times *times)
{
	tick(5);
	EVENT(on_rq_issue, &other.rq);
	tick(7);
	cpu_is(1, &idle[1]);
	machine.level = LEVEL;
	complete_bytes(&other.rq, 0, 2 * SIZE);
	if (how->is_stacked) {
		bio_ends(&above.bio);
		times->d = machine.now - 7;
		times->c = machine.now;
		assert_memory_equal(marked(), times, sizeof(*times));
	}
	if (!how->uring)
		wake(&alice);
	completion_is_over();
	machine.level = 0;
	tick(3);
	if (!how->uring)
		switch_to(&alice, false);
	cpu_is(0, &alice);
	if (how->uring)
		uring_complete(&req, SIZE);
	else
		sys_exit(0);
}

/* Returns what Alice's operation went to. */
static struct op_sums merged(struct how how)
{
	struct rq_times times;

	start();
	if (how.throttled)
		conf.arg_pause = 1;
	times = how.into_younger ? into_younger(&how) : into_older(&how);
	both_done(&how, &times);
	assert_int_equal(lost_all(), 0);
	assert_int_equal(live.async_bios, 0);
	return ops_counted(how.uring ? OP_URING : OP_META, NULL);
}

static void assert_queue(struct how how, u64 queue)
{
	struct op_sums s = merged(how);

	assert_int_equal(s.count, 1);
	assert_int_equal(s.strata[ST_QUEUE], queue);
	assert_int_equal(s.strata[ST_SLEEP], 0);
	assert_int_equal(s.strata[ST_THROTTLE], 0);
	assert_int_equal(s.strata[ST_DEVICE], 7);
	assert_int_equal(s.strata[ST_TAG], 0);
	assert_int_equal(s.strata[how.uring ? ST_COMPLETE : ST_RUNQ], 3);
}

static void test_into_younger(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		assert_queue((struct how){ i & 1, i & 2, .into_younger = true }, 40 + 5);
}

static void test_into_older(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		assert_queue((struct how){ i & 1, i & 2, .late = i & 4 }, 5);
}

/* blk-throttle kept back Bob's bio, since when is not known. Alice's was in the queue. */
static void test_into_throttled(void **state)
{
	(void)state;
	assert_queue((struct how){ .uring = true, .into_younger = true, .throttled = true },
		     40 + 5);
}

/* Alice sleeps; Bob's request, which he submits 11 ns later, wakes her. */
static struct op_sums sleeps_for_another(void)
{
	struct how how = {};

	alice_waits(&how);
	tick(11);
	bob_submits(&how);
	both_done(&how, NULL);
	assert_int_equal(lost_all(), 0);
	return ops_counted(OP_META, NULL);
}

/* A request merged in the operation before explains no sleep in this operation. */
static void test_merged_before(void **state)
{
	struct op_sums s;

	(void)state;
	merged((struct how){ .into_younger = true });
	tick(1);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	s = sleeps_for_another();
	assert_int_equal(s.strata[ST_QUEUE], 45 + 5);
	assert_int_equal(s.strata[ST_SLEEP], 11);
}

/* A bio was not in the queue before its device passed it on later, in another thread. */
static void test_passed_on_later(void **state)
{
	(void)state;
	merged((struct how){ .into_younger = true });
	queued(&above, &stacked, 0);
	tick(13);
	cpu_is(2, &bob);
	queued(&own, &disk, 16);
	gets_request(&own);
	EVENT(on_rq_issue, &own.rq);
	complete_bytes(&own.rq, 0, SIZE);
	bio_ends(&above.bio);
	assert_int_equal(marked()->held, machine.now - 13);
	assert_int_equal(marked()->q, machine.now);
}

/* A request of this operation explains no sleep if it was done, not merged. */
static void test_done_before(void **state)
{
	struct how how = {};
	struct op_sums s;

	(void)state;
	start();
	alice_submits(&how);
	gets_request(&own);
	EVENT(on_rq_issue, &own.rq);
	complete_bytes(&own.rq, 0, SIZE);
	completion_is_over();
	tick(1);
	s = sleeps_for_another();
	assert_int_equal(s.strata[ST_QUEUE], 5);
	assert_int_equal(s.strata[ST_SLEEP], 11);
}

/* A bio that blk-throttle kept back was so until it was submitted, not until the older one was. */
static void test_throttled_into_older(void **state)
{
	u64 q;

	(void)state;
	start();
	conf.arg_pause = 1;
	bob_submits(&(struct how){});
	tick(9);
	task_init(&kworker, 300, 300, "kworker/0:1", PF_KTHREAD | PF_WQ_WORKER);
	strcpy(kworker.queue, "kthrotld");
	cpu_is(0, &kworker);
	q = machine.now;
	queued(&above, &stacked, 0);
	queued(&own, &disk, 16);
	EVENT(on_backmerge, &own.bio);
	is_behind(&own, &other);
	EVENT(on_rq_issue, &other.rq);
	complete_bytes(&other.rq, 0, 2 * SIZE);
	bio_ends(&above.bio);
	assert_int_equal(marked()->held, 0);
	assert_int_equal(marked()->q, q);
}

/* The later of two bios for the device above is merged: the earlier bio keeps its own times. */
static void test_later_merged(void **state)
{
	struct how how = { .is_stacked = true };
	struct kio later = {};
	u64 q;

	(void)state;
	start();
	alice_submits(&how);
	q = machine.now;
	gets_request(&own);
	tick(3);
	queued(&later, &disk, 16);
	gets_request(&later);
	alice_waits(&how);
	bob_submits(&how);
	EVENT(on_rq_merge, &later.rq);
	is_behind(&later, &other);
	EVENT(on_rq_issue, &own.rq);
	tick(7);
	complete_bytes(&own.rq, 0, SIZE);
	bio_ends(&above.bio);
	assert_int_equal(marked()->held, q - 2);
	assert_int_equal(marked()->q, q);
	assert_int_equal(marked()->g, q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_into_younger),   cmocka_unit_test(test_into_older),
		cmocka_unit_test(test_into_throttled), cmocka_unit_test(test_throttled_into_older),
		cmocka_unit_test(test_merged_before),  cmocka_unit_test(test_passed_on_later),
		cmocka_unit_test(test_done_before),    cmocka_unit_test(test_later_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
