// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of libaio, by the programs of src/bpf in a machine that is made up: from io_submit() to
 * aio_complete(), in whichever order their functions return and end.
 */
#include "kernel/machine.h"

enum { SIZE = 4096, PREAD = 0, PWRITE = 1, FSYNC = 2, PREADV = 7, FD = 5, LEVEL = 0x10000 };

struct request_of_aio {
	struct aio_kiocb k;
	struct iocb copy;
};

struct block_io {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

static struct ktask task, kworker;
static struct kfile file, device;
static struct kdisk disk;
static struct request_of_aio a, b, c;
static struct block_io io[2];

static void aio_init(struct request_of_aio *r, u32 opcode)
{
	*r = (struct request_of_aio){ .k.rw = { .ki_filp = &file.f, .ki_pos = 777 },
				      .copy = { .aio_lio_opcode = opcode,
						.aio_fildes = FD,
						.aio_nbytes = 31,
						.aio_offset = 8192 } };
}

static void start(void)
{
	machine_start();
	conf.async = conf.aio = 1;
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	file_init(&device, "devtmpfs", 5, 29, 0020000);
	disk_init(&disk, 8, 0, true);
	task_init(&task, 1103, 1103, "submits", 0);
	task_init(&kworker, 37, 37, "kworker", PF_KTHREAD);
	aio_init(&a, PREAD);
	aio_init(&b, PWRITE);
	aio_init(&c, FSYNC);
	cpu_is(1, &task);
}

/* aio_read(), aio_write() and aio_fsync() are called, and return. */
static void aio_in(struct request_of_aio *r)
{
	u64 ctx[5] = { (u64)&r->k, (u64)&r->copy };

	if (r->copy.aio_lio_opcode == FSYNC)
		RUN(enter_aio_fsync, ctx);
	else if (r->copy.aio_lio_opcode == PWRITE)
		RUN(enter_aio_write, ctx);
	else
		RUN(enter_aio_read, ctx);
}

static void aio_out(struct request_of_aio *r, int ret)
{
	u64 ctx[5] = { (u64)&r->k, (u64)&r->copy, 0, 0, (u32)ret };

	if (r->copy.aio_lio_opcode == FSYNC) {
		ctx[3] = (u32)ret;
		RUN(leave_aio_fsync, ctx);
	} else if (r->copy.aio_lio_opcode == PWRITE) {
		RUN(leave_aio_write, ctx);
	} else {
		RUN(leave_aio_read, ctx);
	}
}

static void aio_ends(struct request_of_aio *r, long res)
{
	r->k.ki_res.res = res;
	EVENT(enter_aio_complete, &r->k);
}

static void q(struct block_io *i, u32 op)
{
	bio_init(&i->bio, &disk, op, 0, SIZE);
	EVENT(on_bio_queue, &i->bio);
}

static void g(struct block_io *i)
{
	request_init(&i->rq, &i->mq_ctx, &disk, &i->bio);
	EVENT(on_getrq, &i->bio);
}

static void is_over(void)
{
	assert_nothing_kept();
	assert_int_equal(lost_all(), 0);
}

static void assert_count(u64 n)
{
	assert_int_equal(ops_counted(OP_AIO, NULL).count, n);
	assert_int_equal(lost_all(), 0);
}

#define STRATA(...) ((u64[ST_N]){ __VA_ARGS__ })

/* A request that completes at once, within io_submit(). */
static void test_at_once(void **state)
{
	(void)state;
	start();
	aio_in(&a);
	tick(2);
	EVENT(enter_read, &a);
	tick(3);
	EVENT(leave_read, &a);
	tick(5);
	aio_out(&a, 0);
	tick(7);
	aio_ends(&a, 31);
	assert_ops(OP_AIO, 1, 17, STRATA([ST_SYSCALL] = 14, [ST_FS] = 3));
	assert_int_equal(ops_counted(OP_AIO, NULL).bytes, 31);
	/* it ends before its function returns */
	aio_in(&a);
	tick(2);
	aio_ends(&a, -5);
	tick(3);
	aio_out(&a, 0);
	assert_ops(OP_AIO, 2, 17, STRATA([ST_SYSCALL] = 16, [ST_FS] = 3));
	assert_int_equal(ops_counted(OP_AIO, NULL).errors, 1);
	aio_ends(&a, 31); /* the backup finds nothing */
	assert_count(2);
	is_over();
}

/* A result may be of more than 32 bits. */
static void test_result(void **state)
{
	(void)state;
	start();
	aio_in(&b);
	aio_out(&b, 0);
	aio_ends(&b, 1L << 33);
	assert_true(ops_counted(OP_AIO, NULL).bytes == 1ULL << 33);
}

/* A refused request has no event, and is no operation. */
static void test_refused(void **state)
{
	(void)state;
	start();
	for (u32 i = 0; i < 3; i++) {
		struct request_of_aio *r = i == 0 ? &a : i == 1 ? &b : &c;

		aio_in(r);
		tick(2);
		aio_out(r, -22);
		assert_int_equal(async_index((u64)&r->k), 0);
		aio_ends(r, 0);
		assert_count(0);
		aio_in(r);
		tick(3);
		aio_out(r, 0);
		tick(5);
		aio_ends(r, 0);
		assert_count(1);
		start();
	}
	/* nothing of it is left that a call would find */
	aio_in(&a);
	aio_out(&a, -22);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sys_exit(0);
	is_over();
}

/* Direct I/O: an interrupt ends it, which the bio's request completes in; on any CPU, whoever was
 * interrupted there. */
static void direct(struct ktask *interrupted, u32 level)
{
	start();
	file.f.f_flags = O_DIRECT;
	aio_in(&a);
	tick(2);
	q(&io[0], REQ_OP_READ);
	tick(3);
	g(&io[0]);
	tick(5);
	aio_out(&a, 0);
	tick(7);
	EVENT(on_rq_issue, &io[0].rq);
	cpu_is(2, interrupted);
	tick(11);
	machine.level = level;
	complete_bytes(&io[0].rq, 0, SIZE);
	tick(13);
	aio_ends(&a, SIZE);
	completion_is_over();
	machine.level = 0;
	assert_ops(OP_AIO, 1, 41,
		   STRATA([ST_SYSCALL] = 10, [ST_QUEUE] = 7, [ST_DEVICE] = 11, [ST_COMPLETE] = 13));
	assert_int_equal(ops_counted(OP_AIO, NULL).device_bytes, SIZE);
	is_over();
}

static void test_direct(void **state)
{
	struct ktask another;

	(void)state;
	task_init(&another, 1201, 1201, "another", 0);
	direct(&idle[2], LEVEL);
	direct(&idle[2], 0x100);
	direct(&idle[2], 0);
	direct(&another, LEVEL);
	direct(&task, LEVEL);
}

/* A buffered read that submits a bio is done at once: the bio reads ahead. */
static void test_buffered(void **state)
{
	(void)state;
	start();
	aio_in(&a);
	tick(2);
	q(&io[0], REQ_OP_READ);
	g(&io[0]);
	EVENT(on_rq_issue, &io[0].rq);
	tick(3);
	complete_bytes(&io[0].rq, 0, SIZE);
	completion_is_over();
	tick(5);
	aio_out(&a, 0);
	tick(7);
	aio_ends(&a, SIZE);
	assert_ops(OP_AIO, 1, 17, STRATA([ST_SYSCALL] = 17));
	is_over();
}

/* A buffered read is done in io_submit(), and its thread waits for the bio: these waits are an
 * operation of the thread. */
static void test_waits_in_submission(void **state)
{
	(void)state;
	start();
	conf.waits = conf.submit_waits = 1;
	aio_in(&a);
	tick(2);
	q(&io[0], REQ_OP_READ);
	g(&io[0]);
	EVENT(on_rq_issue, &io[0].rq);
	switch_to(&idle[1], true);
	tick(3);
	completes_for(&io[0].rq, SIZE, &task);
	tick(5);
	aio_out(&a, 0);
	assert_int_equal(ops_counted(OP_SUBMIT, NULL).count, 0);
	aio_ends(&a, SIZE);
	assert_ops(OP_SUBMIT, 1, 55, STRATA([ST_DEVICE] = 3, [ST_COMPLETE] = 23, [ST_RUNQ] = 29));
	assert_ops(OP_AIO, 1, 62,
		   STRATA([ST_SYSCALL] = 7, [ST_DEVICE] = 3, [ST_COMPLETE] = 23, [ST_RUNQ] = 29));
	assert_int_equal(ops_counted(OP_AIO, NULL).device_bytes, SIZE);
	assert_int_equal(ops_counted(OP_SUBMIT, NULL).device_bytes, 0);
	assert_int_equal(ops_counted(OP_SUBMIT, NULL).bytes, 0);
	is_over();
}

/* A buffered read of a thread that has polled a ring of io_uring before. */
static void test_buffered_after_polls(void **state)
{
	(void)state;
	start();
	task_get(current_task())->uring_polls = 1;
	aio_in(&a);
	q(&io[0], REQ_OP_READ);
	g(&io[0]);
	aio_out(&a, 0);
	EVENT(on_rq_issue, &io[0].rq);
	tick(3);
	complete_bytes(&io[0].rq, 0, SIZE);
	completion_is_over();
	tick(7);
	aio_ends(&a, SIZE);
	assert_ops(OP_AIO, 1, 10, STRATA([ST_SYSCALL] = 10));
}

/* An iocb of which nothing more is known ends later, by anybody. */
static void test_later(void **state)
{
	(void)state;
	start();
	aio_in(&a);
	tick(2);
	aio_out(&a, 0);
	aio_in(&b);
	tick(3);
	aio_out(&b, 0);
	tick(5);
	aio_ends(&a, SIZE);
	assert_ops(OP_AIO, 1, 10, STRATA([ST_SYSCALL] = 2, [ST_SLEEP] = 8));
	tick(7);
	aio_ends(&b, SIZE);
	assert_ops(OP_AIO, 2, 15, STRATA([ST_SYSCALL] = 2 + 3 + 12, [ST_SLEEP] = 8));
	is_over();
}

/* An iocb on a file system with a traced server waits for the server's answer, whoever ends it; on
 * another file system, for nothing that is known. */
static void test_server(void **state)
{
	(void)state;
	for (int traced = 0; traced < 2; traced++) {
		start();
		file_init(&file, "virtiofs", 5, 23, S_IFREG);
		if (traced) {
			conf.n_server_fs = 2;
			memcpy(conf.server_fs, "nfs4\0\0\0\0virtiofs", 16);
		}
		aio_in(&a);
		tick(2);
		aio_out(&a, 0);
		tick(5);
		cpu_is(1, &kworker);
		aio_ends(&a, SIZE);
		assert_ops(OP_AIO, 1, 7,
			   STRATA([ST_SYSCALL] = 2, [ST_SERVER] = traced ? 5 : 0,
				  [ST_SLEEP] = traced ? 0 : 5));
		is_over();
	}
}

/* Another thread submits a request at the address of the first thread's last request. */
static void test_address_of_another(void **state)
{
	struct ktask another;

	(void)state;
	start();
	task_init(&another, 1201, 1201, "another", 0);
	aio_in(&a);
	aio_out(&a, 0);
	cpu_is(2, &another);
	aio_ends(&a, SIZE);
	aio_in(&a);
	tick(2);
	aio_out(&a, 0);
	cpu_is(1, &task);
	tick(3);
	aio_ends(&a, SIZE);
	assert_ops(OP_AIO, 2, 5, STRATA([ST_SYSCALL] = 2, [ST_SLEEP] = 3));
	/* after that the thread has no last one: what comes next is not its own */
	aio_in(&a);
	aio_out(&a, 0);
	aio_ends(&a, SIZE);
	assert_int_equal(task_get((u64)&task)->async, 0);
	is_over();
}

/* An fsync is left to a worker whose waits are known. */
static void test_fsync(void **state)
{
	(void)state;
	start();
	cpu_is(2, &kworker);
	switch_to(&idle[2], true);
	cpu_is(1, &task);
	aio_in(&c);
	tick(2);
	aio_out(&c, 0);
	tick(3);
	cpu_is(2, &idle[2]);
	switch_to(&kworker, false);
	q(&io[0], REQ_OP_WRITE);
	g(&io[0]);
	tick(5);
	switch_to(&idle[2], true);
	EVENT(on_rq_issue, &io[0].rq);
	tick(7);
	machine.level = LEVEL;
	complete_bytes(&io[0].rq, 0, SIZE);
	wake(&kworker);
	completion_is_over();
	machine.level = 0;
	tick(11);
	switch_to(&kworker, false);
	tick(13);
	aio_ends(&c, 0);
	assert_ops(OP_AIO, 1, 41,
		   STRATA([ST_SYSCALL] = 2, [ST_HELPER] = 3 + 5 + 13, [ST_DEVICE] = 7,
			  [ST_RUNQ] = 11));
	is_over();
}

/* An fsync is left to a worker whose waits are not known. */
static void test_fsync_of_unknown(void **state)
{
	(void)state;
	start();
	aio_in(&c);
	tick(2);
	aio_out(&c, 0);
	cpu_is(2, &kworker);
	tick(3);
	aio_ends(&c, 0);
	assert_ops(OP_AIO, 1, 5, STRATA([ST_SYSCALL] = 2, [ST_HELPER] = 3));
	cpu_is(1, &task);
	aio_in(&c);
	aio_out(&c, 0);
	tick(7);
	aio_ends(&c, 0); /* not by a worker, but one has had it */
	assert_ops(OP_AIO, 2, 7, STRATA([ST_SYSCALL] = 2, [ST_HELPER] = 10));
}

/* A read is not left to one. */
static void test_read_by_unknown(void **state)
{
	struct ktask another;

	(void)state;
	start();
	task_init(&another, 1201, 1201, "another", 0);
	aio_in(&a);
	aio_out(&a, 0);
	cpu_is(2, &another);
	tick(7);
	aio_ends(&a, 0);
	assert_ops(OP_AIO, 1, 7, STRATA([ST_SLEEP] = 7));
}

/* O_DSYNC: after its bio was done, a worker goes on with a write. */
static void test_dsync(void **state)
{
	(void)state;
	start();
	file.f.f_flags = O_DIRECT;
	cpu_is(2, &kworker);
	switch_to(&idle[2], true);
	cpu_is(1, &task);
	aio_in(&b);
	tick(2);
	q(&io[0], REQ_OP_WRITE);
	g(&io[0]);
	aio_out(&b, 0);
	EVENT(on_rq_issue, &io[0].rq);
	cpu_is(2, &idle[2]);
	tick(3);
	machine.level = LEVEL;
	complete_bytes(&io[0].rq, 0, SIZE);
	wake(&kworker);
	completion_is_over();
	machine.level = 0;
	tick(5);
	switch_to(&kworker, false);
	tick(7);
	q(&io[1], REQ_OP_WRITE);
	g(&io[1]);
	switch_to(&idle[2], true);
	EVENT(on_rq_issue, &io[1].rq);
	tick(11);
	machine.level = LEVEL;
	complete_bytes(&io[1].rq, 0, SIZE);
	wake(&kworker);
	completion_is_over();
	machine.level = 0;
	switch_to(&kworker, false);
	tick(13);
	aio_ends(&b, SIZE);
	assert_ops(OP_AIO, 1, 41,
		   STRATA([ST_SYSCALL] = 2, [ST_DEVICE] = 3 + 11, [ST_RUNQ] = 5,
			  [ST_HELPER] = 7 + 13));
	is_over();
}

/* The return of a function was not seen: the thread begins the next, or completes it. */
static void test_return_not_seen(void **state)
{
	(void)state;
	start();
	aio_in(&a);
	tick(2);
	aio_in(&b);
	tick(3);
	aio_ends(&a, SIZE);
	assert_ops(OP_AIO, 1, 5, STRATA([ST_SYSCALL] = 2, [ST_SLEEP] = 3));
	tick(5);
	aio_out(&b, 0);
	aio_ends(&b, SIZE);
	assert_ops(OP_AIO, 2, 8, STRATA([ST_SYSCALL] = 10, [ST_SLEEP] = 3));
	/* until it ended its thread executed it */
	file.f.f_flags = O_DIRECT;
	aio_in(&a);
	q(&io[0], REQ_OP_READ);
	tick(2);
	g(&io[0]);
	EVENT(on_rq_issue, &io[0].rq);
	tick(3);
	complete_bytes(&io[0].rq, 0, SIZE);
	completion_is_over();
	tick(5);
	aio_ends(&a, SIZE);
	assert_ops(OP_AIO, 3, 10, STRATA([ST_SYSCALL] = 20, [ST_SLEEP] = 3));
	is_over();
}

/* Somebody ends it while its thread is said to execute it: when that stopped is not known. */
static void test_ends_elsewhere(void **state)
{
	struct ktask another;

	(void)state;
	start();
	task_init(&another, 1201, 1201, "another", 0);
	aio_in(&a);
	cpu_is(2, &another);
	task_get((u64)&another);
	aio_ends(&a, SIZE);
	cpu_is(1, &task);
	assert_count(0);
	aio_out(&a, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	assert_int_equal(lost_all(), 1);
}

/* A return without an entry: of a thread that is not known, or that executes a request of
 * io_uring, which goes on. */
static void test_entry_not_seen(void **state)
{
	static const u8 kinds[URING_OPS] = { [22] = OP_READ };
	struct io_ring_ctx ring_ctx = {};
	struct io_kiocb r = { .file = &file.f, .opcode = 22, .ctx = &ring_ctx };

	(void)state;
	start();
	aio_out(&a, 0);
	data_set(uring_kinds, kinds, sizeof(kinds));
	conf.uring = 1;
	uring_submit(&r);
	tick(2);
	aio_out(&a, 0);
	aio_out(&a, -22);
	tick(3);
	uring_wait(&ring_ctx);
	uring_complete(&r, 0);
	assert_ops(OP_URING, 1, 5, STRATA([ST_SYSCALL] = 5));
	sys_enter(NR_STAT, 0, 0, 0, 0);
	tick(2);
	aio_out(&a, 0);
	tick(3);
	sys_exit(0);
	assert_ops(OP_META, 1, 5, STRATA([ST_SYSCALL] = 5));
	is_over();
}

/* Requests are not traced before all probes are live, nor if they are not asked for. */
static void test_not_asked_for(void **state)
{
	(void)state;
	start();
	live.since_ns = 0;
	aio_in(&a);
	aio_out(&a, 0);
	aio_ends(&a, SIZE);
	assert_count(0);
	live.since_ns = machine.now;
	conf.tool_tgid = 1103;
	aio_in(&a);
	aio_out(&a, 0);
	aio_ends(&a, SIZE);
	assert_count(0);
	conf.tool_tgid = TOOL;
	a.k.rw.ki_filp = &device.f;
	aio_in(&a);
	aio_out(&a, 0);
	aio_ends(&a, SIZE);
	assert_count(0);
	conf.process_filter = conf.n_pids = 1;
	aio_in(&b);
	aio_out(&b, 0);
	aio_ends(&b, SIZE);
	assert_count(0);
	is_over();
}

/* A request for which no slot is free is lost. */
static void test_no_room(void **state)
{
	(void)state;
	start();
	conf.async_slots = 1;
	aio_in(&a);
	aio_out(&a, 0);
	aio_in(&b);
	aio_out(&b, 0);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	aio_ends(&b, SIZE);
	aio_ends(&a, SIZE);
	assert_int_equal(ops_counted(OP_AIO, NULL).count, 1);
	aio_in(&b); /* the memory of the first was given back */
	aio_out(&b, 0);
	aio_ends(&b, SIZE);
	assert_int_equal(ops_counted(OP_AIO, NULL).count, 2);
	assert_int_equal(lost_all(), 1);
}

static void one(struct request_of_aio *r)
{
	aio_in(r);
	tick(7);
	aio_out(r, 0);
	aio_ends(r, SIZE);
}

/* The members of the record of a request of libaio. */
static void test_record(void **state)
{
	const struct slow_op *r;

	(void)state;
	start();
	conf.records = conf.file_details = 1;
	one(&a);
	r = newest_record();
	assert_int_equal(r->call, CALL_AIO | PREAD);
	assert_int_equal(r->offset, 8192);
	assert_int_equal(r->len, 31);
	assert_int_equal(r->ino, 23);
	assert_int_equal(r->ret, SIZE);
	one(&b);
	r = newest_record();
	assert_int_equal(r->call, CALL_AIO | PWRITE);
	assert_int_equal(r->offset, 8192);
	assert_int_equal(r->len, 31);
	aio_init(&a, PREADV);
	one(&a);
	r = newest_record();
	assert_int_equal(r->call, CALL_AIO | PREADV);
	assert_int_equal(r->offset, 8192);
	assert_true(r->len == ~0ULL);
	one(&c);
	r = newest_record();
	assert_int_equal(r->call, CALL_AIO | FSYNC);
	assert_true(r->offset == OFFSET_UNKNOWN);
	assert_true(r->len == ~0ULL);
	file.f.f_flags = O_APPEND;
	one(&b);
	assert_true(newest_record()->offset == OFFSET_UNKNOWN);
	assert_int_equal(newest_record()->len, 31);
	file.f.f_flags = 0;
	one(&b);
	assert_int_equal(newest_record()->offset, 8192);
}

static void test_sent(void **state)
{
	(void)state;
	start();
	conf.sent_ops = conf.op_extras = conf.rings = 1;
	one(&a);
	assert_int_equal(newest_sent()->fd, FD);
	assert_int_equal(newest_sent()->len, 31);
	assert_int_equal(newest_sent()->kind, OP_AIO);
}

/* Requests of libaio with kprobes instead of fentry. */
static void test_kprobes(void **state)
{
	struct pt_regs regs = { .di = (u64)&a.k, .si = (u64)&a.copy };

	(void)state;
	start();
	RUN(kenter_aio_read, &regs);
	tick(7);
	RUN(kleave_aio_read, &regs); /* ax is 0 */
	tick(11);
	RUN(kenter_aio_complete, &regs);
	assert_ops(OP_AIO, 1, 18, STRATA([ST_SYSCALL] = 18));
	RUN(kenter_aio_write, &regs);
	regs.ax = -22;
	RUN(kleave_aio_write, &regs);
	RUN(kenter_aio_complete, &regs);
	assert_count(1);
	is_over();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_buffered),
		cmocka_unit_test(test_waits_in_submission),
		cmocka_unit_test(test_buffered_after_polls),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_address_of_another),
		cmocka_unit_test(test_fsync),
		cmocka_unit_test(test_fsync_of_unknown),
		cmocka_unit_test(test_read_by_unknown),
		cmocka_unit_test(test_dsync),
		cmocka_unit_test(test_return_not_seen),
		cmocka_unit_test(test_ends_elsewhere),
		cmocka_unit_test(test_entry_not_seen),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_kprobes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
