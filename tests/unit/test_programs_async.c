// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of io_uring, by the programs of src/bpf in a machine that is made up: when each begins
 * and ends, and for what its time counts, whoever executes it.
 */
#define FUNCTIONS /* as for kernels that bear them: bios are looked at in steps */
#include "kernel/machine.h"

enum {
	SIZE = 4096,
	NOP = 0,
	FSYNC = 3,
	OPEN = 18,
	CLOSE = 19,
	READ = 22,
	WRITE = 23,
	SPLICE = 30,
	FD = 2,
	LEVEL = 0x10000 /* of an interrupt */
};

struct block_io {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

static struct ktask task, leader, worker;
static struct io_worker io_worker;
static struct kfile file, device;
static struct kdisk disk;
static struct io_ring_ctx ring_ctx;
static struct io_kiocb a, b, c;
static struct block_io io[5];

static void req_init(struct io_kiocb *r, u8 opcode)
{
	*r = (struct io_kiocb){ .opcode = opcode, .ctx = &ring_ctx };
	if (opcode != OPEN && opcode != CLOSE)
		r->file = &file.f;
	r->rw.kiocb.ki_pos = opcode == READ || opcode == WRITE ? 8192 : 0;
}

static void start(void)
{
	static const u8 kinds[URING_OPS] = {
		[FSYNC] = OP_FSYNC, [OPEN] = OP_OPEN,   [CLOSE] = OP_CLOSE,
		[READ] = OP_READ,   [WRITE] = OP_WRITE, [SPLICE] = OP_COPY,
	};

	machine_start();
	conf.async = conf.uring = 1;
	data_set(uring_kinds, kinds, sizeof(kinds));
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	file_init(&device, "devtmpfs", 5, 29, 0020000);
	disk_init(&disk, 8, 0, true);
	task_init(&task, 1103, 1103, "submits", 0);
	task.fd[FD] = &file.f;
	task_init(&leader, 1103, 1103, "leads", 0);
	task.t.group_leader = &leader.t;
	task_init(&worker, 1103, 1109, "iou-wrk", PF_IO_WORKER);
	worker.t.group_leader = &leader.t;
	worker.t.set_child_tid = (int *)&io_worker;
	ring_ctx = (struct io_ring_ctx){};
	req_init(&a, READ);
	req_init(&b, WRITE);
	req_init(&c, FSYNC);
	cpu_is(1, &task);
}

/* A bio is submitted, gets a request, and is sent to the driver; the request completes in an
 * interrupt. */
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

static void d(struct block_io *i)
{
	EVENT(on_rq_issue, &i->rq);
}

static void done(struct block_io *i, u32 bytes)
{
	machine.level = LEVEL;
	complete_bytes(&i->rq, 0, bytes);
	completion_is_over();
	machine.level = 0;
}

static void is_over(void)
{
	assert_nothing_kept();
	assert_int_equal(lost_all(), 0);
}

#define STRATA(...) ((u64[ST_N]){ __VA_ARGS__ })

/* Requests that are done at once: each until the next begins, then they wait for each other. */
static void test_batch(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	tick(7);
	uring_submit(&b);
	tick(11);
	uring_complete(&a, 31);
	tick(13);
	uring_complete(&b, -5);
	assert_ops(OP_URING, 2, 24, STRATA([ST_SYSCALL] = 7 + 11, [ST_COMPLETE] = 11 + 13));
	assert_int_equal(ops_counted(OP_URING, NULL).bytes, 31);
	assert_int_equal(ops_counted(OP_URING, NULL).errors, 1);
	is_over();
}

/* A request was waited for if it completes after its thread went to wait, or left the call. */
static void test_later(void **state)
{
	(void)state;
	start();
	uring_wait(&ring_ctx); /* of a thread that has done nothing */
	uring_submit(&a);
	tick(7);
	uring_wait(&ring_ctx);
	tick(11);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 18, STRATA([ST_SYSCALL] = 7, [ST_SLEEP] = 11));
	start();
	sys_enter(426, 5, 1, 0, 0);
	uring_submit(&a);
	tick(7);
	sys_exit(1);
	tick(11);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 18, STRATA([ST_SYSCALL] = 7, [ST_SLEEP] = 11));
	is_over();
}

/* A wait without a request in progress ends the batch, too. */
static void test_wait_after_completion(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	uring_submit(&b);
	tick(3);
	uring_complete(&b, 0);
	uring_wait(&ring_ctx);
	tick(11);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 2, 14, STRATA([ST_SYSCALL] = 3, [ST_SLEEP] = 14));
}

/* After a completion the next submission begins another batch. */
static void test_next_batch(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	uring_submit(&b);
	tick(3);
	uring_complete(&a, 0);
	assert_ops(OP_URING, 1, 3, STRATA([ST_COMPLETE] = 3));
	tick(5);
	uring_submit(&c);
	tick(7);
	uring_complete(&b, 0); /* of the one before: b was parked when a completed */
	assert_ops(OP_URING, 2, 15, STRATA([ST_SYSCALL] = 3, [ST_COMPLETE] = 3, [ST_SLEEP] = 12));
	uring_complete(&c, 0);
	assert_ops(OP_URING, 3, 15,
		   STRATA([ST_SYSCALL] = 3 + 7, [ST_COMPLETE] = 3, [ST_SLEEP] = 12));
	is_over();
}

/* Another thread completes the request: not along with the batch of its own thread. */
static void test_other_completes(void **state)
{
	struct ktask another;

	(void)state;
	start();
	task_init(&another, 1103, 1117, "another", 0);
	uring_submit(&a);
	tick(7);
	uring_wait(&ring_ctx);
	cpu_is(2, &another);
	uring_submit(&c);
	tick(11);
	uring_complete(&a, 5);
	assert_ops(OP_URING, 1, 18, STRATA([ST_SYSCALL] = 7, [ST_SLEEP] = 11));
	assert_int_equal(ops_counted(OP_URING, NULL).bytes, 5);
}

/* The time in the file system's function, and the file, which is learnt there. */
static void test_file_system(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	tick(2);
	EVENT(enter_read, &a);
	tick(3);
	EVENT(leave_read, &a);
	tick(5);
	a.file = NULL;
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 10, STRATA([ST_SYSCALL] = 7, [ST_FS] = 3));
	assert_true(live.rows[0].fs != FS_UNKNOWN);
	is_over();
}

static struct row_slot row_of(u32 kind)
{
	for (int i = 0; i < ROW_SLOTS; i++)
		if (WHAT_OP(live.rows[i].what) == kind)
			return live.rows[i];
	return (struct row_slot){};
}

static u64 fs_of_row(void)
{
	return row_of(OP_URING).fs;
}

static void one(struct io_kiocb *r, int res)
{
	uring_submit(r);
	tick(7);
	uring_complete(r, res);
}

static void assert_count(u64 n)
{
	assert_int_equal(ops_counted(OP_URING, NULL).count, n);
	assert_int_equal(lost_all(), 0);
}

/* The file is that of the request. */
static void test_file(void **state)
{
	(void)state;
	start();
	one(&a, 0);
	assert_true(fs_of_row() == (u64)&file.type);
	a.file = &device.f;
	one(&a, 0);
	assert_count(1);
	conf.all_files = 1;
	one(&a, 0);
	assert_count(2);
	is_over();
}

/* An open's file is known by the descriptor that it returns; one that fails has none. */
static void test_open(void **state)
{
	(void)state;
	start();
	req_init(&a, OPEN);
	a.file = &device.f;
	one(&a, FD);
	assert_count(1);
	assert_true(fs_of_row() == (u64)&file.type);
	start();
	task.fd[3] = &device.f;
	req_init(&a, OPEN);
	one(&a, 3);
	assert_count(0);
	one(&a, -2);
	assert_count(1);
	assert_int_equal(fs_of_row(), FS_UNKNOWN);
	assert_int_equal(ops_counted(OP_URING, NULL).errors, 1);
	start();
	req_init(&a, OPEN);
	task.fd[0] = &device.f;
	a.open.file_slot = 1; /* into the ring's own table */
	one(&a, 0);
	assert_count(1);
	assert_int_equal(fs_of_row(), FS_UNKNOWN);
	conf.file_filter = 1;
	one(&a, 0);
	one(&a, -2);
	assert_count(1);
}

/* The file of a close is looked up before the file is closed. */
static void test_close(void **state)
{
	(void)state;
	start();
	req_init(&a, CLOSE);
	a.close.fd = FD;
	uring_submit(&a);
	task.fd[FD] = NULL;
	tick(7);
	a.close.fd = 0;
	uring_complete(&a, 0);
	assert_count(1);
	assert_true(fs_of_row() == (u64)&file.type);
	task.fd[FD] = &device.f;
	a.close.fd = FD;
	one(&a, 0);
	assert_count(1);
	start();
	req_init(&a, CLOSE);
	a.close.file_slot = 1; /* of the ring's own table */
	task.fd[0] = &device.f;
	one(&a, 0);
	assert_count(1);
	assert_int_equal(fs_of_row(), FS_UNKNOWN);
	conf.file_filter = 1;
	one(&a, 0);
	assert_count(1);
}

/* A splice is of whichever is not a pipe. */
static void test_splice(void **state)
{
	(void)state;
	start();
	req_init(&a, SPLICE);
	a.splice.splice_fd_in = 3;
	task.fd[3] = &device.f;
	one(&a, 31);
	assert_count(1);
	assert_true(fs_of_row() == (u64)&file.type);
	assert_int_equal(ops_counted(OP_URING, NULL).bytes, 31);
	a.file = &device.f;
	a.splice.splice_fd_in = FD;
	one(&a, 31);
	assert_count(2);
	a.splice.splice_fd_in = 3;
	one(&a, 31);
	assert_count(2);
	a.splice.flags = SPLICE_F_FD_IN_FIXED;
	one(&a, 31);
	assert_count(3);
}

/* Only a splice looks at its input file. */
static void test_no_splice(void **state)
{
	(void)state;
	start();
	a.file = &device.f;
	one(&a, 0);
	assert_count(0);
	a.file = NULL;
	one(&a, 0);
	assert_count(1);
	req_init(&a, SPLICE);
	a.file = NULL;
	one(&a, 0);
	assert_count(2);
	assert_int_equal(fs_of_row(), FS_UNKNOWN);
}

static void test_not_asked_for(void **state)
{
	(void)state;
	start();
	req_init(&a, NOP);
	one(&a, 0);
	a.opcode = URING_OPS + READ;
	one(&a, 0);
	assert_count(0);
	a.opcode = READ;
	conf.process_filter = conf.n_pids = 1;
	lists.pids[0] = 17;
	one(&a, 0);
	assert_count(0);
	lists.pids[0] = 1103;
	one(&a, 0);
	assert_count(1);
	conf.process_filter = conf.n_pids = 0;
	conf.tool_tgid = 1103;
	task.t.tgid = 1103;
	one(&a, 0);
	assert_count(1);
	/* what is not asked for ends what was executed before, all the same */
	conf.tool_tgid = TOOL;
	uring_submit(&a);
	tick(7);
	req_init(&b, NOP);
	uring_submit(&b);
	tick(11);
	uring_complete(&a, 0);
	assert_ops(OP_URING, 2, 18, STRATA([ST_SYSCALL] = 14, [ST_COMPLETE] = 11));
	is_over();
}

/* A request that fails at once has no other event; of one that was seen, this tells nothing new. */
static void test_failed(void **state)
{
	(void)state;
	start();
	uring_fail(&a);
	tick(7);
	uring_complete(&a, -22);
	assert_ops(OP_URING, 1, 7, STRATA([ST_SYSCALL] = 7));
	assert_int_equal(ops_counted(OP_URING, NULL).errors, 1);
	uring_submit(&a);
	tick(5);
	uring_fail(&a);
	tick(3);
	uring_complete(&a, -22);
	assert_ops(OP_URING, 2, 8, STRATA([ST_SYSCALL] = 15));
	is_over();
}

/* A request that has no completion if it succeeds is counted as begun only. */
static void test_skip(void **state)
{
	(void)state;
	start();
	a.flags = REQ_F_CQE_SKIP;
	uring_submit(&a);
	tick(7);
	uring_complete(&a, 0);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	uring_fail(&a);
	tick(7);
	uring_complete(&a, -22);
	a.flags = ~(u32)REQ_F_CQE_SKIP;
	one(&a, 0);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 2);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
}

static void test_submit_sqe(void **state)
{
	(void)state;
	start();
	EVENT(on_uring_submit_sqe, &a);
	tick(7);
	uring_complete(&a, 0);
	assert_ops(OP_URING, 1, 7, STRATA([ST_SYSCALL] = 7));
	a.flags = REQ_F_CQE_SKIP;
	EVENT(on_uring_submit_sqe, &a);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
}

/* Direct I/O: parked when its thread waits, it then waits for its bio. */
static void submits_bio(struct io_kiocb *r, u32 op)
{
	uring_submit(r);
	tick(2);
	EVENT(enter_read, r);
	tick(3);
	q(&io[0], op);
	tick(5);
	g(&io[0]);
	tick(7);
	EVENT(leave_read, r);
}

/* 15 in the file system, 2 before that. */
static void test_direct(void **state)
{
	struct op_sums s;

	(void)state;
	start();
	file.f.f_flags = O_DIRECT;
	submits_bio(&a, REQ_OP_READ);
	tick(11);
	uring_wait(&ring_ctx);
	tick(13);
	d(&io[0]);
	tick(17);
	done(&io[0], SIZE);
	tick(19);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 77,
		   STRATA([ST_SYSCALL] = 13, [ST_FS] = 15, [ST_QUEUE] = 13, [ST_DEVICE] = 17,
			  [ST_COMPLETE] = 19));
	s = ops_counted(OP_URING, NULL);
	assert_int_equal(s.device_bytes, SIZE);
	assert_int_equal(s.bytes, SIZE);
	is_over();
}

/* A direct read is in flight, for which its thread waits: 17 ns so far, 2 and 15 of them on the
 * CPU. */
static void direct_in_flight(void)
{
	start();
	file.f.f_flags = O_DIRECT;
	submits_bio(&a, REQ_OP_READ);
	uring_wait(&ring_ctx);
	d(&io[0]);
}

/* The request's thread slept, was woken for the completion, and waited for its CPU: as after a read
 * by a call. */
static void test_run_queue(void **state)
{
	(void)state;
	direct_in_flight();
	tick(3);
	switch_to(&idle[1], true);
	tick(13);
	done(&io[0], SIZE);
	tick(5);
	wake(&task);
	tick(101);
	switch_to(&task, false);
	tick(7);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 146,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_DEVICE] = 16, [ST_COMPLETE] = 12,
			  [ST_RUNQ] = 101));
	/* the next wait is another one */
	tick(1000);
	submits_bio(&b, REQ_OP_READ);
	uring_wait(&ring_ctx);
	d(&io[0]);
	done(&io[0], SIZE);
	tick(19);
	uring_complete(&b, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).strata[ST_RUNQ], 101);
	assert_int_equal(ops_counted(OP_URING, NULL).strata[ST_COMPLETE], 12 + 19);
	is_over();
}

/* The request's thread was taken off the CPU before the completion, and got the CPU after it. */
static void test_preempted(void **state)
{
	(void)state;
	direct_in_flight();
	switch_to(&idle[1], false);
	tick(13);
	done(&io[0], SIZE);
	tick(101);
	switch_to(&task, false);
	tick(7);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 138,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_DEVICE] = 13, [ST_COMPLETE] = 7,
			  [ST_PREEMPT] = 101));
	is_over();
}

/* A waking that was not seen tells nothing, nor does one of a sleep before. */
static void test_waking_missed(void **state)
{
	(void)state;
	direct_in_flight();
	switch_to(&idle[1], true);
	wake(&task);
	switch_to(&task, false);
	switch_to(&idle[1], true);
	tick(13);
	done(&io[0], SIZE);
	tick(101);
	switch_to(&task, false);
	tick(7);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 138,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_DEVICE] = 13, [ST_COMPLETE] = 108));
	is_over();
}

/* The cache class of the only row. */
static u32 cache_of_row(void)
{
	for (int i = 0; i < ROW_SLOTS; i++)
		if (WHAT_OP(live.rows[i].what) == OP_URING)
			return WHAT_CACHE(live.rows[i].what);
	return CACHE_N;
}

static void by_cache(void)
{
	conf.op_extras = conf.file_details = 1;
	conf.by = BY_CACHE;
}

/* A buffered read that completes beside others did not wait for what it reads ahead. */
static void test_buffered_in_batch(void **state)
{
	(void)state;
	start();
	by_cache();
	submits_bio(&a, REQ_OP_READ);
	tick(11);
	uring_submit(&b);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 58, STRATA([ST_SYSCALL] = 13, [ST_FS] = 15, [ST_COMPLETE] = 30));
	assert_int_equal(cache_of_row(), CACHE_HIT);
}

/* A direct one did. */
static void test_direct_in_batch(void **state)
{
	(void)state;
	start();
	by_cache();
	file.f.f_flags = O_DIRECT;
	submits_bio(&a, REQ_OP_READ);
	tick(11);
	uring_submit(&b);
	tick(3);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 61,
		   STRATA([ST_SYSCALL] = 13, [ST_FS] = 15, [ST_QUEUE] = 3, [ST_DEVICE] = 13,
			  [ST_COMPLETE] = 17));
	assert_int_equal(cache_of_row(), CACHE_DIRECT);
}

/* A buffered read that completes later waited for its bio. */
static void test_buffered_later(void **state)
{
	(void)state;
	start();
	by_cache();
	submits_bio(&a, REQ_OP_READ);
	uring_wait(&ring_ctx);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 47,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_DEVICE] = 13, [ST_COMPLETE] = 17));
	assert_int_equal(cache_of_row(), CACHE_MISS);
}

/* One without a bio of its own waited for somebody else's. */
static void test_waits_for_other(void **state)
{
	(void)state;
	start();
	by_cache();
	uring_submit(&a);
	uring_wait(&ring_ctx);
	tick(17);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 17, STRATA([ST_SLEEP] = 17));
	assert_int_equal(cache_of_row(), CACHE_READAHEAD);
}

/* A direct read, or a write, did not. */
static void test_waits_for_unknown(void **state)
{
	(void)state;
	start();
	by_cache();
	file.f.f_flags = O_DIRECT;
	uring_submit(&a);
	uring_wait(&ring_ctx);
	uring_complete(&a, SIZE);
	assert_int_equal(cache_of_row(), CACHE_DIRECT);
	start();
	by_cache();
	uring_submit(&b);
	uring_wait(&ring_ctx);
	uring_complete(&b, SIZE);
	assert_int_equal(cache_of_row(), CACHE_HIT);
}

/* A write waits for what it submits, and reads nothing. */
static void test_write(void **state)
{
	(void)state;
	start();
	by_cache();
	submits_bio(&b, REQ_OP_WRITE);
	uring_wait(&ring_ctx);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	uring_complete(&b, SIZE);
	assert_ops(OP_URING, 1, 47,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_DEVICE] = 13, [ST_COMPLETE] = 17));
	assert_int_equal(cache_of_row(), CACHE_HIT);
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, 0);
}

/* Parked before its bio has a request, as when that is scarce. */
static void test_tag(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	tick(2);
	q(&io[0], REQ_OP_READ);
	uring_wait(&ring_ctx);
	tick(3);
	g(&io[0]);
	tick(5);
	d(&io[0]);
	tick(7);
	done(&io[0], SIZE);
	tick(11);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 28,
		   STRATA([ST_SYSCALL] = 2, [ST_TAG] = 3, [ST_QUEUE] = 5, [ST_DEVICE] = 7,
			  [ST_COMPLETE] = 11));
}

/* A thread completes a request, and was not seen to stop executing it. The thread stopped when it
 * had submitted its last bio. */
static void test_stopped_unseen(void **state)
{
	(void)state;
	start();
	file.f.f_flags = O_DIRECT;
	submits_bio(&a, REQ_OP_READ);
	d(&io[0]);
	tick(11);
	done(&io[0], SIZE);
	tick(13);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 41,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 3, [ST_TAG] = 5, [ST_QUEUE] = 7,
			  [ST_DEVICE] = 11, [ST_COMPLETE] = 13));
	is_over();
}

/* A request's last bio was done while the thread went on to execute the request. */
static void test_done_before_parked(void **state)
{
	(void)state;
	start();
	submits_bio(&a, REQ_OP_READ);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	uring_wait(&ring_ctx);
	tick(19);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 66, STRATA([ST_SYSCALL] = 32, [ST_FS] = 15, [ST_COMPLETE] = 19));
}

/* Bios of a request before, or that it did not submit, are not its own. */
static void test_bio_of_another(void **state)
{
	(void)state;
	start();
	submits_bio(&a, REQ_OP_READ);
	tick(1);
	uring_submit(&b);
	uring_wait(&ring_ctx);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	uring_complete(&b, SIZE);
	assert_ops(OP_URING, 1, 30, STRATA([ST_SLEEP] = 30));
	uring_complete(&a, SIZE);
	is_over();
}

/* A bio of a read ahead may outlive its request. Then a buffered read at the same address may wait
 * for the bio; no other request at this address does. */
static void outlives(struct io_kiocb *next)
{
	submits_bio(&a, REQ_OP_READ);
	uring_complete(&a, SIZE);
	tick(5);
	a.opcode = next->opcode;
	uring_submit(&a);
	uring_wait(&ring_ctx);
	tick(3);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	uring_complete(&a, SIZE);
	is_over();
}

static void test_outlived(void **state)
{
	(void)state;
	start();
	by_cache();
	outlives(&a);
	assert_ops(OP_URING, 2, 33,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_QUEUE] = 3, [ST_DEVICE] = 13,
			  [ST_COMPLETE] = 17));
	start();
	outlives(&c);
	assert_ops(OP_URING, 2, 33, STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_SLEEP] = 33));
	start();
	file.f.f_flags = O_DIRECT;
	outlives(&a);
	assert_ops(OP_URING, 2, 33, STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_SLEEP] = 33));
}

/* If it is done between the two, nobody waits for it. */
static void test_done_between(void **state)
{
	(void)state;
	start();
	submits_bio(&a, REQ_OP_READ);
	uring_complete(&a, SIZE);
	d(&io[0]);
	done(&io[0], SIZE);
	uring_submit(&a);
	uring_wait(&ring_ctx);
	tick(17);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 2, 17, STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_SLEEP] = 17));
}

/* A bio of its own tells more than one of an earlier request. */
static void test_outlived_and_own(void **state)
{
	(void)state;
	start();
	submits_bio(&a, REQ_OP_READ);
	uring_complete(&a, SIZE);
	uring_submit(&a);
	q(&io[1], REQ_OP_READ);
	g(&io[1]);
	uring_wait(&ring_ctx);
	d(&io[0]);
	d(&io[1]);
	tick(13);
	done(&io[1], SIZE);
	tick(3);
	done(&io[0], SIZE);
	tick(17);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 2, 33,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_DEVICE] = 13, [ST_COMPLETE] = 20));
	is_over();
	/* the other way about: the later of its own */
	uring_submit(&a);
	q(&io[0], REQ_OP_READ);
	g(&io[0]);
	uring_complete(&a, SIZE);
	uring_submit(&a);
	q(&io[1], REQ_OP_READ);
	g(&io[1]);
	uring_wait(&ring_ctx);
	d(&io[0]);
	d(&io[1]);
	tick(13);
	done(&io[0], SIZE);
	tick(3);
	done(&io[1], SIZE);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).strata[ST_DEVICE], 13 + 16);
}

/* The last of two bios counts. */
static void test_last_bio(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	for (int i = 0; i < 2; i++) {
		q(&io[i], REQ_OP_READ);
		g(&io[i]);
	}
	uring_wait(&ring_ctx);
	d(&io[0]);
	tick(2);
	d(&io[1]);
	tick(3);
	done(&io[0], SIZE);
	tick(5);
	done(&io[1], SIZE);
	tick(7);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 17, STRATA([ST_QUEUE] = 2, [ST_DEVICE] = 8, [ST_COMPLETE] = 7));
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, 2 * SIZE);
	is_over();
}

/* @r submits bio @i, which is merged behind the one before, in the request of the first. */
enum { CHAIN = 41 };
static struct block_io chain[CHAIN];

static void merges(struct io_kiocb *r, int i)
{
	uring_submit(r);
	q(&chain[i], REQ_OP_READ);
	if (i) {
		chain[i - 1].bio.bi_next = &chain[i].bio;
		chain[0].rq.__data_len += SIZE;
		EVENT(on_backmerge, &chain[i].bio);
	} else {
		g(&chain[0]);
	}
}

/* The first bio of the request's rest is number @i. */
static void part_done(int i, u32 bytes)
{
	done(&chain[0], bytes);
	chain[0].rq.__data_len -= bytes;
	chain[0].rq.bio = &chain[i].bio;
}

/* A request of the disk is for two of io_uring: each waits until its own part of it is done. */
static void test_merged(void **state)
{
	(void)state;
	start();
	b.opcode = READ;
	merges(&a, 0);
	merges(&b, 1);
	uring_wait(&ring_ctx);
	assert_int_equal(live.async_bios, 1);
	tick(2);
	d(&chain[0]);
	tick(3);
	done(&chain[0], 2 * SIZE);
	tick(5);
	uring_complete(&a, SIZE);
	uring_complete(&b, SIZE);
	assert_ops(OP_URING, 2, 10, STRATA([ST_QUEUE] = 4, [ST_DEVICE] = 6, [ST_COMPLETE] = 10));
	is_over();
	merges(&a, 0);
	merges(&b, 1);
	uring_wait(&ring_ctx);
	d(&chain[0]);
	tick(3);
	part_done(1, SIZE);
	tick(7);
	part_done(0, SIZE);
	tick(5);
	uring_complete(&a, SIZE);
	uring_complete(&b, SIZE);
	assert_ops(OP_URING, 4, 15,
		   STRATA([ST_QUEUE] = 4, [ST_DEVICE] = 6 + 3 + 10, [ST_COMPLETE] = 10 + 12 + 5));
	is_over();
}

/* One of many bios; what is done in the middle of a bio does not end that. */
static void test_many_merged(void **state)
{
	(void)state;
	start();
	conf.io_slots_per_cpu = 1024;
	for (int i = 0; i < CHAIN; i++)
		merges(i == 36 ? &b : &a, i);
	assert_int_equal(live.async_bios, CHAIN - 1);
	d(&chain[0]);
	tick(3);
	part_done(36, 36 * SIZE + SIZE / 2);
	assert_int_equal(live.async_bios, CHAIN - 36);
	chain[36].bio.bi_iter.bi_size = SIZE / 2;
	uring_wait(&ring_ctx);
	tick(5);
	part_done(37, SIZE / 2);
	assert_int_equal(live.async_bios, CHAIN - 37);
	uring_complete(&b, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).strata[ST_DEVICE], 3 + 5);
	part_done(0, (CHAIN - 37) * SIZE);
	assert_int_equal(live.async_bios, 0);
	assert_nothing_kept();
}

/* At most BIO_WALK bios of a request are looked at. */
static void test_too_many_merged(void **state)
{
	static struct bio bios[BIO_WALK + 2];
	struct async_ref ref = { .at = 1 };

	(void)state;
	start();
	map_of(&async_bios)->max = BIO_WALK + 2;
	for (u64 i = 0; i < BIO_WALK + 2; i++) {
		u64 key = (u64)&bios[i];

		bios[i] = (struct bio){ .bi_next = i < BIO_WALK + 1 ? &bios[i + 1] : NULL,
					.bi_iter.bi_size = 512 };
		bpf_map_update_elem(&async_bios, &key, &ref, BPF_NOEXIST);
		live.async_bios++;
	}
	async_bios_done((u64)bios, ~0U, 0);
	assert_int_equal(live.async_bios, 2);
	conf.async = 0;
	async_bios_done((u64)&bios[BIO_WALK], ~0U, 0);
	assert_int_equal(live.async_bios, 2);
	conf.async = 1;
	async_bios_done((u64)&bios[BIO_WALK], 2 * 512 - 1, 0);
	assert_int_equal(live.async_bios, 1);
	async_bios_done((u64)&bios[BIO_WALK + 1], 512, 0);
	assert_int_equal(live.async_bios, 0);
}

/* A bio whose slot is taken is in the hash, and may end without a request. */
static void test_hashed_bio(void **state)
{
	u64 ctx[2] = {};

	(void)state;
	start();
	conf.io_slots_per_cpu = 1;
	cpu_is(1, &leader);
	q(&io[0], REQ_OP_READ);
	cpu_is(1, &task);
	uring_submit(&a);
	q(&io[1], REQ_OP_READ);
	assert_int_equal(live.async_bios, 1);
	g(&io[1]);
	uring_wait(&ring_ctx);
	d(&io[1]);
	tick(3);
	done(&io[1], SIZE);
	tick(5);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 8, STRATA([ST_DEVICE] = 3, [ST_COMPLETE] = 5));
	assert_int_equal(live.async_bios, 0);
	uring_submit(&a);
	q(&io[1], REQ_OP_READ);
	assert_int_equal(live.async_bios, 1);
	ctx[1] = (u64)&io[0].bio;
	RUN(on_bio_complete, ctx);
	assert_int_equal(live.async_bios, 1);
	ctx[1] = (u64)&io[1].bio;
	RUN(on_bio_complete, ctx);
	uring_complete(&a, SIZE);
	is_over();
}

/* A device that has no requests: it works on a bio from when that is submitted. */
static void test_bio_based(void **state)
{
	u64 ctx[2] = { 0, (u64)&io[0].bio };
	struct kdisk stacked;

	(void)state;
	start();
	disk_init(&stacked, 253, 0, false);
	uring_submit(&a);
	bio_init(&io[0].bio, &stacked, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_queue, &io[0].bio);
	uring_wait(&ring_ctx);
	tick(3);
	RUN(on_bio_complete, ctx);
	tick(5);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 8, STRATA([ST_DEVICE] = 3, [ST_COMPLETE] = 5));
	is_over();
}

/* A completion whose mark is gone tells nothing; nor does one for a slot that is none. */
static void test_no_mark(void **state)
{
	(void)state;
	start();
	async_bio_done(1, 0, 3, 0);
	assert_int_equal(async_at(1)->last.thread, 0);
	marks[3].times.c = 17;
	async_bio_done(1, 0, 3, 0);
	assert_int_equal(async_at(1)->last.thread, 1);
	async_bio_done(ASYNC_SLOTS + 1, 0, 3, 0);
}

/* A worker is known to wait from the first time that it sleeps. */
static void worker_starts(void)
{
	cpu_is(2, &worker);
	switch_to(&idle[2], true);
	cpu_is(1, &task);
}

static void worker_takes(struct io_kiocb *r)
{
	io_worker.cur_work = r ? &r->work : NULL;
	cpu_is(2, &idle[2]);
	switch_to(&worker, false);
}

/* The worker reads a block: 2 until it sleeps, in the queue 3, in the device 5, 7 until it is
 * woken, 11 until it runs. */
static void worker_reads(void)
{
	q(&io[0], REQ_OP_READ);
	g(&io[0]);
	tick(2);
	switch_to(&idle[2], true);
	tick(3);
	d(&io[0]);
	tick(5);
	machine.level = LEVEL;
	complete_bytes(&io[0].rq, 0, SIZE);
	tick(7);
	wake(&worker);
	completion_is_over();
	machine.level = 0;
	tick(11);
	switch_to(&worker, false);
}

/* A request that a worker executes is charged by what that waits for. */
static void test_worker(void **state)
{
	(void)state;
	start();
	by_cache();
	worker_starts();
	uring_submit(&a);
	tick(13);
	uring_queue(&a);
	tick(17);
	worker_takes(&a);
	worker_reads();
	tick(19);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 77,
		   STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 17 + 2 + 19, [ST_QUEUE] = 3,
			  [ST_DEVICE] = 5, [ST_COMPLETE] = 7, [ST_RUNQ] = 11));
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, SIZE);
	assert_int_equal(cache_of_row(), CACHE_MISS);
	is_over();
}

/* One whose waits are not known is all the worker's. */
static void test_unknown_worker(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	tick(13);
	uring_queue(&a);
	tick(17);
	worker_takes(&a);
	tick(19);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 49, STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 36));
	is_over();
}

/* A worker submits the bio of a request, and somebody else completes the request when the bio is
 * done. */
static void test_worker_submits_only(void **state)
{
	(void)state;
	start();
	file.f.f_flags = O_DIRECT;
	worker_starts();
	uring_submit(&a);
	q(&io[1], REQ_OP_READ);
	tick(13);
	uring_queue(&a);
	tick(17);
	worker_takes(&a);
	q(&io[0], REQ_OP_READ);
	tick(3);
	g(&io[0]);
	io_worker.cur_work = NULL;
	tick(5);
	d(&io[0]);
	tick(7);
	done(&io[0], SIZE);
	cpu_is(1, &task);
	tick(11);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 56,
		   STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 17, [ST_TAG] = 3, [ST_QUEUE] = 5,
			  [ST_DEVICE] = 7, [ST_COMPLETE] = 11));
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, 2 * SIZE);
	assert_int_equal(lost_all(), 0);
}

/* Without a bio nobody knows more than that a worker had it. */
static void test_queued_only(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	tick(13);
	uring_queue(&a);
	tick(17);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 30, STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 17));
	/* a worker that works on something else */
	uring_submit(&b);
	uring_queue(&b);
	tick(3);
	worker_takes(&a);
	uring_complete(&b, SIZE);
	assert_ops(OP_URING, 2, 30, STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 20));
	/* the next at the same address has none */
	cpu_is(1, &task);
	uring_submit(&b);
	uring_wait(&ring_ctx);
	tick(5);
	uring_complete(&b, SIZE);
	assert_ops(OP_URING, 3, 30, STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 20, [ST_SLEEP] = 5));
}

/* A request is left to a worker only after somebody took it up again. */
static void test_queued_later(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	tick(13);
	uring_wait(&ring_ctx);
	tick(17);
	uring_queue(&a);
	tick(19);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 49, STRATA([ST_SYSCALL] = 13, [ST_SLEEP] = 17, [ST_HELPER] = 19));
	uring_queue(&a); /* it has ended */
	/* the thread executes another meanwhile, and goes on with that */
	uring_submit(&a);
	tick(2);
	uring_submit(&b);
	tick(3);
	uring_queue(&a);
	tick(5);
	uring_wait(&ring_ctx);
	uring_complete(&b, SIZE);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 3, 49,
		   STRATA([ST_SYSCALL] = 13 + 2 + 8, [ST_SLEEP] = 17 + 3, [ST_HELPER] = 19 + 5));
	is_over();
}

/* A worker completes what was not left to it. */
static void test_worker_of_unknown(void **state)
{
	(void)state;
	start();
	submits_bio(&a, REQ_OP_READ);
	uring_wait(&ring_ctx);
	d(&io[0]);
	tick(13);
	done(&io[0], SIZE);
	tick(17);
	worker_takes(&a);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 47,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 15, [ST_DEVICE] = 13, [ST_COMPLETE] = 17));
}

/* The file is learnt when a worker is to have it, in the submitter's context. */
static void test_queued_file(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	uring_queue(&a);
	a.file = &device.f;
	uring_complete(&a, SIZE);
	assert_true(fs_of_row() == (u64)&file.type);
	a.file = &device.f;
	uring_submit(&a);
	uring_queue(&a);
	uring_complete(&a, SIZE);
	assert_count(1);
}

/* A worker's bios are those of its request, while it is in progress; others' bios of nobody. */
static void test_worker_bios(void **state)
{
	(void)state;
	start();
	conf.records = 1;
	uring_submit(&a);
	q(&io[3], REQ_OP_WRITE);
	uring_queue(&a);
	worker_takes(&a);
	q(&io[0], REQ_OP_READ);
	q(&io[1], REQ_OP_WRITE);
	tick(7);
	uring_complete(&a, SIZE);
	assert_int_equal(newest_record()->n_requests, 3);
	assert_int_equal(newest_record()->device_bytes, SIZE);
	q(&io[2], REQ_OP_READ);
	assert_int_equal(io_slot((u64)&io[2].bio, 2)->async, 0);
	cpu_is(1, &task);
	uring_submit(&a);
	uring_queue(&a);
	tick(7);
	uring_complete(&a, SIZE);
	assert_int_equal(newest_record()->n_requests, 0);
	assert_int_equal(newest_record()->device_bytes, 0);
	uring_submit(&a);
	uring_queue(&a);
	cpu_is(2, &worker);
	q(&io[2], REQ_OP_WRITE);
	tick(7);
	uring_complete(&a, SIZE);
	assert_int_equal(newest_record()->n_requests, 1);
	assert_int_equal(newest_record()->device_bytes, 0);
	assert_int_equal(newest_record()->cache, CACHE_HIT);
	io_worker.cur_work = &b.work;
	q(&io[4], REQ_OP_READ);
	assert_int_equal(lost_all(), 0);
}

/* A ring that is polled shows nothing after the bio: that is when its thread stopped. */
static void polls(struct ktask *by)
{
	cpu_is(1, by);
	uring_submit(&a);
	tick(2);
	EVENT(enter_read, &a);
	tick(3);
	q(&io[0], REQ_OP_READ);
	tick(5);
	g(&io[0]);
	tick(7);
	d(&io[0]);
	tick(11);
	done(&io[0], SIZE);
	tick(13);
	uring_complete(&a, SIZE);
	is_over();
}

#define POLLED                                                                                     \
	STRATA([ST_SYSCALL] = 2, [ST_FS] = 3, [ST_TAG] = 5, [ST_QUEUE] = 7, [ST_DEVICE] = 11,      \
	       [ST_COMPLETE] = 13)

static void test_polls(void **state)
{
	(void)state;
	start();
	ring_ctx.flags = 2 | IORING_SETUP_IOPOLL;
	polls(&task);
	assert_ops(OP_URING, 1, 41, POLLED);
	/* IORING_SETUP_SQPOLL: a thread of io_uring submits */
	start();
	polls(&worker);
	assert_ops(OP_URING, 1, 41, POLLED);
	/* neither */
	start();
	ring_ctx.flags = 2;
	polls(&task);
	assert_ops(OP_URING, 1, 41, STRATA([ST_SYSCALL] = 2, [ST_FS] = 39));
}

/* Further bios of the same request, which its thread goes on to submit. */
static void test_polls_on(void **state)
{
	(void)state;
	start();
	conf.records = 1;
	ring_ctx.flags = IORING_SETUP_IOPOLL;
	uring_submit(&a);
	tick(2);
	EVENT(enter_read, &a);
	q(&io[0], REQ_OP_READ);
	g(&io[0]);
	tick(3);
	q(&io[1], REQ_OP_READ);
	tick(5);
	g(&io[1]);
	d(&io[0]);
	d(&io[1]);
	done(&io[0], SIZE);
	tick(11);
	done(&io[1], SIZE);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 21,
		   STRATA([ST_SYSCALL] = 2, [ST_FS] = 3, [ST_TAG] = 5, [ST_DEVICE] = 11));
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, 2 * SIZE);
	assert_int_equal(newest_record()->n_requests, 2);
	is_over();
}

static void start_by_file(void)
{
	start();
	conf.by = BY_FILE;
	conf.rq_by = conf.issuers = conf.file_details = 1;
}

/* How many bios were for this file; NULL: for none. */
static u64 bios_of(const struct kfile *f)
{
	u64 by[2] = {};

	if (f) {
		by[0] = FILE_KEY(f->sb.s_dev, false, 0);
		by[1] = f->inode.i_ino;
	}
	return requests_of(disk.dev, RQ_READ, by).count;
}

/* A bio that is private to @private, and reads @data. */
static void reads_for(struct block_io *i, void *private, struct kfile *data)
{
	static struct page page;
	static struct bio_vec vec = { &page };

	bio_init(&i->bio, &disk, REQ_OP_READ, 0, SIZE);
	i->bio.bi_private = private;
	page.mapping = data ? &data->mapping : NULL;
	i->bio.bi_io_vec = &vec;
	EVENT(on_bio_queue, &i->bio);
	g(i);
	d(i);
	done(i, SIZE);
}

static void reads(struct block_io *i)
{
	reads_for(i, &a, NULL);
}

/* With --by file a bio that has no page of a file is for the file of the request that it is for,
 * though the thread that polls for that has stopped to execute it. */
static void test_bio_of_file(void **state)
{
	(void)state;
	for (u32 polls = 0; polls <= IORING_SETUP_IOPOLL; polls += IORING_SETUP_IOPOLL) {
		start_by_file();
		ring_ctx.flags = polls;
		uring_submit(&a);
		reads(&io[0]);
		reads(&io[1]);
		uring_complete(&a, SIZE);
		assert_int_equal(bios_of(&file), 2);
		reads(&io[2]); /* for no request */
		assert_int_equal(bios_of(NULL), 1);
		is_over();
	}
}

/* A thread that polls goes on with other requests, too, and with whatever else it does; and devices
 * pass on what it submits. */
static void test_polls_for_others(void **state)
{
	struct kfile other;

	(void)state;
	start_by_file();
	file_init(&other, "xfs", 8 << MINOR_BITS | 2, 31, S_IFREG);
	ring_ctx.flags = IORING_SETUP_IOPOLL;
	uring_submit(&a);
	reads_for(&io[0], &a, NULL);
	task.t.bio_list = (void *)&io;
	reads_for(&io[1], &io, NULL);
	task.t.bio_list = NULL;
	assert_int_equal(bios_of(&file), 2);
	reads_for(&io[1], NULL, &other);
	reads_for(&io[1], &b, &other);
	assert_int_equal(bios_of(&other), 2);
	reads_for(&io[1], &b, NULL);
	task.t.bio_list = (void *)&io;
	reads_for(&io[2], &io, NULL);
	task.t.bio_list = NULL;
	assert_int_equal(bios_of(NULL), 2);
	reads_for(&io[1], &a, NULL);
	task.t.bio_list = (void *)&io;
	reads_for(&io[2], &io, NULL);
	task.t.bio_list = NULL;
	assert_int_equal(bios_of(&file), 4);
	assert_int_equal(async_at(async_index((u64)&a))->op.requests, 4);
	reads_for(&io[1], &b, NULL);
	uring_complete(&a, SIZE);
	uring_submit(&a); /* in the same slot */
	reads_for(&io[0], &a, NULL);
	task.t.bio_list = (void *)&io;
	reads_for(&io[2], &io, NULL);
	task.t.bio_list = NULL;
	uring_complete(&a, SIZE);
	assert_int_equal(bios_of(NULL), 3);
	assert_int_equal(bios_of(&file), 6);
	uring_submit(&b);
	reads_for(&io[0], NULL, NULL);
	reads_for(&io[1], NULL, &other); /* readahead, say, is private to nothing */
	assert_int_equal(bios_of(&file), 7);
	assert_int_equal(bios_of(&other), 3);
	uring_complete(&b, SIZE);
	/* a direct read of one bio may be private to nothing, too */
	file.f.f_flags = O_DIRECT;
	uring_submit(&c);
	reads_for(&io[0], NULL, NULL);
	assert_int_equal(bios_of(&file), 8);
	reads_for(&io[1], NULL, &other);
	assert_int_equal(async_at(async_index((u64)&c))->op.device_bytes, SIZE);
	uring_complete(&c, SIZE);
	is_over();
}

/* A worker's bios have the file of their request. A request got its file when it was submitted, or
 * gets its file when it is executed. */
static void test_worker_bio_of_file(void **state)
{
	(void)state;
	for (int late = 0; late <= 1; late++) {
		start_by_file();
		a.file = late ? NULL : &file.f;
		uring_submit(&a);
		uring_queue(&a);
		a.file = &file.f;
		worker_takes(&a);
		reads(&io[0]);
		a.file = &device.f; /* is not looked at again */
		uring_complete(&a, SIZE);
		assert_int_equal(bios_of(&file), 1);
		assert_count(1);
		reads(&io[1]);
		assert_int_equal(bios_of(NULL), 1);
		is_over();
	}
	start_by_file();
	conf.file_filter = conf.n_files = 1; /* none of these */
	a.file = NULL;
	uring_submit(&a);
	uring_queue(&a);
	a.file = &file.f;
	worker_takes(&a);
	reads(&io[0]);
	uring_complete(&a, SIZE);
	assert_count(0);
}

/* Nobody saw that a worker gets it: the slot still has the file of the last one. */
static void test_worker_unseen(void **state)
{
	(void)state;
	start_by_file();
	uring_submit(&a);
	uring_queue(&a);
	uring_complete(&a, SIZE);
	uring_submit(&a);
	worker_takes(&a);
	reads(&io[0]);
	assert_int_equal(bios_of(NULL), 1);
}

/* blk-throttle keeps back a bio that current submits. */
static void throttled(struct block_io *i)
{
	bio_init(&i->bio, &disk, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_throttled, &i->bio);
}

/* A timer moves it on to the cgroup above, which keeps it back, too. */
static void throttled_above(struct block_io *i)
{
	machine.level = SOFT_INTERRUPT;
	EVENT(on_bio_throttled, &i->bio);
	machine.level = 0;
}

static void kthrotld_on(u32 cpu)
{
	static struct ktask kthrotld;

	task_init(&kthrotld, 17, 17, "kworker/0:1", PF_KTHREAD | PF_WQ_WORKER);
	strcpy(kthrotld.queue, "kthrotld");
	cpu_is(cpu, &kthrotld);
}

static void queued_by_kthrotld(struct block_io *i)
{
	kthrotld_on(0);
	EVENT(on_bio_queue, &i->bio);
}

/* blk-throttle's worker queues the bio, and the bio is done. */
static void goes_on(struct block_io *i)
{
	queued_by_kthrotld(i);
	tick(3);
	g(i);
	tick(5);
	d(i);
	tick(7);
	done(i, SIZE);
	tick(11);
	cpu_is(1, &task);
}

/* A throttled bio was throttled since its thread submitted it. */
static void test_throttled(void **state)
{
	u64 wanted[ST_N] = {
		[ST_SYSCALL] = 13, [ST_TAG] = 3, [ST_QUEUE] = 5, [ST_DEVICE] = 7, [ST_COMPLETE] = 11
	};

	(void)state;
	for (int i = 0; i < 4; i++) {
		start();
		conf.issuers = i == 1;
		conf.arg_pause *= i != 2; /* the kernel does not tell of throttling */
		wanted[ST_THROTTLE] = i != 2 ? 17 : 0;
		wanted[ST_SLEEP] = i == 2 ? 17 : 0;
		ring_ctx.flags = i == 3 ? IORING_SETUP_IOPOLL : 0;
		file.f.f_flags = O_DIRECT;
		uring_submit(&a);
		tick(13);
		throttled(&io[0]);
		throttled_above(&io[0]);
		if (i != 3)
			uring_wait(&ring_ctx);
		tick(17);
		goes_on(&io[0]);
		uring_complete(&a, SIZE);
		assert_ops(OP_URING, 1, 56, wanted);
		assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, SIZE);
		assert_int_equal(requests_counted(disk.dev, RQ_READ).count, 1);
		is_over();
	}
}

/* A worker's throttled bio was throttled since the worker submitted it. Until then the request
 * waited for the worker. */
static void test_throttled_worker(void **state)
{
	(void)state;
	start();
	file.f.f_flags = O_DIRECT;
	worker_starts();
	uring_submit(&a);
	tick(13);
	uring_queue(&a);
	tick(19);
	worker_takes(&a);
	throttled(&io[0]);
	io_worker.cur_work = NULL;
	tick(17);
	goes_on(&io[0]);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 75,
		   STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 19, [ST_THROTTLE] = 17, [ST_TAG] = 3,
			  [ST_QUEUE] = 5, [ST_DEVICE] = 7, [ST_COMPLETE] = 11));
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, SIZE);
	is_over();
}

/* A worker's own waits are told for each bio for which the worker waited. */
static void test_throttled_worker_waits(void **state)
{
	(void)state;
	start();
	worker_starts();
	uring_submit(&a);
	tick(13);
	uring_queue(&a);
	tick(19);
	worker_takes(&a);
	for (int i = 0; i < 2; i++) {
		throttled(&io[i]);
		switch_to(&idle[2], true);
		tick(1000);
		queued_by_kthrotld(&io[i]);
		g(&io[i]);
		d(&io[i]);
		tick(100);
		machine.level = LEVEL;
		complete_bytes(&io[i].rq, 0, SIZE);
		wake(&worker);
		completion_is_over();
		machine.level = 0;
		cpu_is(2, &idle[2]);
		switch_to(&worker, false);
	}
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 2232,
		   STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 19, [ST_THROTTLE] = 2000,
			  [ST_DEVICE] = 200));
	is_over();
}

/* A throttled bio of a read ahead may outlive its request: the next request at this address has not
 * waited for the bio. */
static void test_throttled_outlives(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	throttled(&io[0]);
	tick(5);
	uring_complete(&a, SIZE);
	req_init(&a, FSYNC);
	uring_submit(&a);
	uring_wait(&ring_ctx);
	tick(1000);
	queued_by_kthrotld(&io[0]);
	assert_int_equal(io_slot((u64)&io[0].bio, 0)->async, 0);
	g(&io[0]);
	d(&io[0]);
	done(&io[0], SIZE);
	cpu_is(1, &task);
	uring_complete(&a, 0);
	assert_ops(OP_URING, 2, 1000, STRATA([ST_SYSCALL] = 5, [ST_SLEEP] = 1000));
	is_over();
}

/* Ways for the rest of a throttled bio to go on. */
enum rest { ALONE, SPLIT_AGAIN, BEHIND, IN_FRONT };

static void split_off(struct block_io *from, struct block_io *part)
{
	bio_init(&part->bio, &disk, REQ_OP_READ, 0, SIZE);
	part->bio.bi_private = &from->bio;
	EVENT(on_split, &part->bio);
	from->bio.bi_iter.bi_size -= SIZE;
	g(part);
	d(part);
}

/* kthrotld lets go of the rest of io[0]. Returns whose request it is in. */
static struct block_io *rest_goes_on(enum rest how)
{
	if (how == SPLIT_AGAIN) {
		split_off(&io[0], &io[2]);
		EVENT(on_bio_throttled, &io[0].bio);
		done(&io[2], SIZE);
		tick(1000);
	}
	if (how <= SPLIT_AGAIN) {
		g(&io[0]);
		assert_int_equal(bio_io(&io[0].bio)->throttled, THROTTLED);
		return &io[0];
	}
	q(&io[3], REQ_OP_READ); /* kept back before */
	g(&io[3]);
	if (how == BEHIND) {
		EVENT(on_backmerge, &io[0].bio);
		io[3].bio.bi_next = &io[0].bio;
	} else {
		EVENT(on_frontmerge, &io[0].bio);
		io[0].bio.bi_next = &io[3].bio;
		io[3].rq.bio = &io[0].bio;
	}
	io[3].rq.__data_len += SIZE;
	return &io[3];
}

/* The rest of a split bio may be throttled until it has a request, although the bio was queued
 * before. */
static void test_throttled_rest(void **state)
{
	static const u32 kthrotld_cpus[] = { 0, 1 };
	struct block_io *of;
	u64 throttled;

	(void)state;
	for (int i = 0; i < 8; i++) {
		start();
		throttled = i / 2 == SPLIT_AGAIN ? 2000 : 1000;
		file.f.f_flags = O_DIRECT;
		uring_submit(&a);
		tick(13);
		bio_init(&io[0].bio, &disk, REQ_OP_READ, 0, (2 + (i / 2 == SPLIT_AGAIN)) * SIZE);
		EVENT(on_bio_queue, &io[0].bio);
		split_off(&io[0], &io[1]);
		EVENT(on_bio_throttled, &io[0].bio);
		assert_null(bpf_map_lookup_elem(&ios, &(u64){ (u64)&io[0].bio }));
		uring_wait(&ring_ctx);
		done(&io[1], SIZE);
		tick(1000);
		kthrotld_on(kthrotld_cpus[i % 2]);
		of = rest_goes_on(i / 2);
		tick(5);
		d(of);
		tick(7);
		done(of, of->rq.__data_len);
		tick(11);
		cpu_is(1, &task);
		uring_complete(&a, 2 * SIZE);
		assert_ops(OP_URING, 1, 36 + throttled,
			   STRATA([ST_SYSCALL] = 13, [ST_THROTTLE] = throttled, [ST_QUEUE] = 5,
				  [ST_DEVICE] = 7, [ST_COMPLETE] = 11));
		assert_int_equal(requests_counted(disk.dev, RQ_READ).tag_ns, 0);
		assert_int_equal(requests_counted(disk.dev, RQ_READ).unqueued, 0);
		is_over();
	}
}

/* The thread is on another CPU when the rest is kept back than when the bio was queued. */
static void test_throttled_rest_migrated(void **state)
{
	(void)state;
	start();
	sys_enter(NR_STAT, 0, 0, 0, 0);
	q(&io[0], REQ_OP_WRITE);
	switch_to(&idle[1], false);
	cpu_is(3, &idle[3]);
	switch_to(&task, false);
	EVENT(on_bio_throttled, &io[0].bio);
	assert_int_equal(bio_io(&io[0].bio)->throttled, THROTTLED_AGAIN);
	assert_int_equal(io_slot((u64)&io[0].bio, 1)->key, 0);
}

/* The note of another bio at the same address, whose end was not seen, remains unchanged. */
static void test_throttled_rest_and_stale(void **state)
{
	u64 key = (u64)&io[0].bio;
	struct async_ref stale = { .q = 1 };

	(void)state;
	start();
	uring_submit(&a);
	bio_init(&io[0].bio, &disk, REQ_OP_READ, 0, 2 * SIZE);
	EVENT(on_bio_queue, &io[0].bio);
	split_off(&io[0], &io[1]);
	EVENT(on_bio_throttled, &io[0].bio);
	assert_int_equal(bpf_map_update_elem(&async_bios, &key, &stale, BPF_NOEXIST), 0);
	live.async_bios++;
	kthrotld_on(1);
	g(&io[0]);
	assert_int_equal(((struct async_ref *)bpf_map_lookup_elem(&async_bios, &key))->q, 1);
}

/* A bio of two blocks is queued, and split; blk-throttle keeps back the rest. */
static void rest_throttled(u32 op)
{
	bio_init(&io[0].bio, &disk, op, 0, 2 * SIZE);
	EVENT(on_bio_queue, &io[0].bio);
	split_off(&io[0], &io[1]);
	EVENT(on_bio_throttled, &io[0].bio);
}

static struct ktask helper;

/* The request of @i is done, which wakes the helper: that runs 3 later. */
static void done_for_helper(struct block_io *i)
{
	machine.level = LEVEL;
	complete_bytes(&i->rq, 0, SIZE);
	wake(&helper);
	completion_is_over();
	machine.level = 0;
	tick(3);
	cpu_is(2, &idle[2]);
	switch_to(&helper, false);
}

/* kthrotld lets go of io[0], and its request is done; 9 after the helper runs it wakes us. */
static void helper_wakes(bool queued)
{
	kthrotld_on(0);
	if (queued)
		EVENT(on_bio_queue, &io[0].bio);
	g(&io[0]);
	tick(5);
	d(&io[0]);
	tick(7);
	done_for_helper(&io[0]);
	tick(9);
	wake(&task);
	cpu_is(1, &idle[1]);
	switch_to(&task, false);
}

static void start_with_helper(bool known)
{
	start();
	task_init(&task, 1103, 1107, "submits", 0);
	cpu_is(1, &task);
	task_init(&helper, 55, 55, "kworker/3:1", PF_KTHREAD | PF_WQ_WORKER);
	if (!known)
		return;
	cpu_is(2, &helper);
	switch_to(&idle[2], true);
	cpu_is(1, &task);
}

/* The throttled bio of a thread explains the thread's sleep if a helper ends the sleep, whatever
 * the helper's own waits are. */
static void test_throttled_helper_wakes(void **state)
{
	bool rest;

	(void)state;
	for (int i = 0; i < 4; i++) {
		rest = i & 1;
		start_with_helper(i & 2);
		sys_enter(NR_STAT, 0, 0, 0, 0);
		tick(13);
		if (rest)
			rest_throttled(REQ_OP_WRITE);
		else
			throttled(&io[0]);
		switch_to(&idle[1], true);
		tick(50);
		if (rest) {
			done_for_helper(&io[1]);
			tick(4);
			switch_to(&idle[2], true);
		}
		tick(1000);
		helper_wakes(!rest);
		sys_exit(0);
		assert_ops(
			OP_META, 1, 1087 + 7 * rest,
			STRATA([ST_SYSCALL] = 13, [ST_THROTTLE] = 1050 + 7 * rest, [ST_QUEUE] = 5,
			       [ST_DEVICE] = 7, [ST_RUNQ] = i ? 3 : 0, [ST_HELPER] = i ? 9 : 12));
		is_over();
	}
}

/* The helper's own wait after the bio was done is told, too. */
static void test_throttled_helper_goes_on(void **state)
{
	(void)state;
	start_with_helper(true);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	throttled(&io[0]);
	switch_to(&idle[1], true);
	tick(1000);
	kthrotld_on(0);
	EVENT(on_bio_queue, &io[0].bio);
	g(&io[0]);
	d(&io[0]);
	tick(7);
	done_for_helper(&io[0]);
	q(&io[1], REQ_OP_READ);
	g(&io[1]);
	d(&io[1]);
	switch_to(&idle[2], true);
	tick(500);
	done_for_helper(&io[1]);
	tick(9);
	wake(&task);
	cpu_is(1, &idle[1]);
	switch_to(&task, false);
	sys_exit(0);
	assert_ops(OP_META, 1, 1522,
		   STRATA([ST_THROTTLE] = 1000, [ST_DEVICE] = 507, [ST_RUNQ] = 6, [ST_HELPER] = 9));
	is_over();
}

/* A throttled bio does not explain the sleep of a later call: neither if this call submitted
 * nothing, nor if it submitted another bio, throttled or not. */
static void test_throttled_earlier(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		start_with_helper(false);
		sys_enter(NR_STAT, 0, 0, 0, 0);
		throttled(&io[0]);
		sys_exit(0);
		if (i == 1)
			queued_by_kthrotld(&io[0]);
		tick(2);
		cpu_is(1, &task);
		sys_enter(NR_STAT, 0, 0, 0, 0);
		if (i == 1) {
			throttled(&io[2]);
		} else if (i == 2) {
			q(&io[2], REQ_OP_WRITE);
			g(&io[2]);
		}
		switch_to(&idle[1], true);
		helper_wakes(i != 1);
		sys_exit(0);
		assert_ops(OP_META, 2, 24, STRATA([ST_HELPER] = 24));
		assert_int_equal(lost_all(), 0);
	}
}

/* A request of an earlier call that is done during a sleep whose waking is not seen is not what
 * that was for. */
static void test_waking_unseen(void **state)
{
	(void)state;
	start();
	sys_enter(NR_STAT, 0, 0, 0, 0);
	q(&io[0], REQ_OP_WRITE);
	g(&io[0]);
	d(&io[0]);
	sys_exit(0);
	tick(2);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	switch_to(&idle[1], true);
	tick(7);
	done(&io[0], SIZE);
	tick(3);
	cpu_is(1, &idle[1]);
	switch_to(&task, false);
	sys_exit(0);
	assert_ops(OP_META, 2, 10, STRATA([ST_SLEEP] = 10));
	is_over();
}

/* Until a worker begins, its request waits for that; only then for what is kept back. */
static void test_throttled_rest_of_worker(void **state)
{
	(void)state;
	start();
	file.f.f_flags = O_DIRECT;
	worker_starts();
	uring_submit(&a);
	tick(13);
	uring_queue(&a);
	tick(500);
	worker_takes(&a);
	rest_throttled(REQ_OP_READ);
	io_worker.cur_work = NULL;
	done(&io[1], SIZE);
	tick(17);
	kthrotld_on(0);
	EVENT(on_bio_throttled, &io[0].bio);
	g(&io[0]);
	tick(5);
	d(&io[0]);
	tick(7);
	done(&io[0], SIZE);
	tick(11);
	cpu_is(1, &task);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 553,
		   STRATA([ST_SYSCALL] = 13, [ST_HELPER] = 500, [ST_THROTTLE] = 17, [ST_QUEUE] = 5,
			  [ST_DEVICE] = 7, [ST_COMPLETE] = 11));
	is_over();
}

/* A device passes the bio itself on to one that keeps it back, and is not traced. */
static void test_throttled_passed_on(void **state)
{
	struct kdisk md;

	(void)state;
	start();
	disk_init(&md, 9, 0, false);
	conf.n_devs = 1;
	lists.devs[0] = md.dev;
	uring_submit(&a);
	tick(13);
	bio_init(&io[0].bio, &md, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_queue, &io[0].bio);
	io[0].bio.bi_bdev = &disk.whole;
	EVENT(on_bio_throttled, &io[0].bio);
	uring_wait(&ring_ctx);
	tick(1000);
	kthrotld_on(0);
	g(&io[0]);
	d(&io[0]);
	tick(7);
	done(&io[0], SIZE);
	cpu_is(1, &task);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 1020,
		   STRATA([ST_SYSCALL] = 13, [ST_THROTTLE] = 1000, [ST_DEVICE] = 7));
}

/* A device has passed on the first part of a bio when the rest is kept back: the call waits for
 * that then, whatever a timer interrupts. */
static void test_throttled_last(void **state)
{
	const struct op *op;
	struct kdisk stacked;

	(void)state;
	start();
	disk_init(&stacked, 253, 0, false);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	op = &current_lookup()->op;
	bio_init(&io[0].bio, &stacked, REQ_OP_READ, 0, 2 * SIZE);
	EVENT(on_bio_queue, &io[0].bio);
	q(&io[1], REQ_OP_READ);
	assert_true(op->last_bio == (u64)&io[1].bio);
	throttled_above(&io[0]);
	assert_true(op->last_bio == (u64)&io[1].bio);
	EVENT(on_bio_throttled, &io[0].bio);
	assert_true(op->last_bio == (u64)&io[0].bio);
	sys_exit(0);
	/* one that has submitted nothing is not who waits for it */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	EVENT(on_bio_throttled, &io[0].bio);
	assert_int_equal(op->submitted, 0);
	sys_exit(0);
}

/* A bio of a read ahead is passed on after another request has begun in the slot of the bio's
 * request. The bio is not for that other request. */
static void test_throttled_stacked_outlives(void **state)
{
	u64 ctx[2] = { 0, (u64)&io[0].bio };
	struct kdisk stacked;

	(void)state;
	start();
	disk_init(&stacked, 253, 0, false);
	uring_submit(&a);
	bio_init(&io[0].bio, &stacked, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_throttled, &io[0].bio);
	tick(5);
	queued_by_kthrotld(&io[0]);
	tick(3);
	cpu_is(1, &task);
	uring_complete(&a, SIZE);
	req_init(&a, WRITE);
	file.f.f_flags = O_DIRECT;
	uring_submit(&a);
	uring_wait(&ring_ctx);
	tick(100);
	cpu_is(0, &idle[0]);
	q(&io[1], REQ_OP_READ);
	g(&io[1]);
	d(&io[1]);
	tick(7);
	machine.level = LEVEL;
	complete_bytes(&io[1].rq, 0, SIZE);
	RUN(on_bio_complete, ctx);
	completion_is_over();
	machine.level = 0;
	tick(11);
	cpu_is(1, &task);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).strata[ST_THROTTLE], 0);
	assert_int_equal(ops_counted(OP_URING, NULL).strata[ST_SLEEP], 118);
	is_over();
}

/* The note of a bio whose end was not seen is replaced by the note of the next bio at its address.
 */
static void test_throttled_stale_note(void **state)
{
	(void)state;
	start();
	sys_enter(NR_STAT, 0, 0, 0, 0);
	throttled(&io[0]);
	sys_exit(0);
	file.f.f_flags = O_DIRECT;
	uring_submit(&a);
	tick(13);
	bio_init(&io[0].bio, &disk, REQ_OP_READ, 8, SIZE);
	EVENT(on_bio_throttled, &io[0].bio);
	assert_int_equal(live.hashed, 1);
	uring_wait(&ring_ctx);
	tick(17);
	goes_on(&io[0]);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).strata[ST_THROTTLE], 17);
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, SIZE);
	is_over();
}

/* A bio of a device without requests is throttled (@above), or the bio which this device passes on
 * is. kthrotld queues the throttled bio then. @seen: the bio passed on has a request. */
static void stacked_is_throttled(struct kdisk *stacked, bool above, bool seen)
{
	u64 ctx[2] = { 0, (u64)&io[0].bio };

	bio_init(&io[0].bio, stacked, REQ_OP_READ, 0, SIZE);
	if (above) {
		EVENT(on_bio_throttled, &io[0].bio);
	} else {
		EVENT(on_bio_queue, &io[0].bio);
		task.t.bio_list = (void *)&io[0];
		throttled(&io[1]);
		task.t.bio_list = NULL;
	}
	uring_wait(&ring_ctx);
	tick(17);
	if (above)
		queued_by_kthrotld(&io[0]);
	tick(2);
	if (!above)
		queued_by_kthrotld(&io[1]);
	else if (seen)
		q(&io[1], REQ_OP_READ);
	if (seen) {
		g(&io[1]);
		tick(3);
		d(&io[1]);
	}
	tick(7);
	machine.level = LEVEL;
	if (seen)
		complete_bytes(&io[1].rq, 0, SIZE);
	RUN(on_bio_complete, ctx);
	completion_is_over();
	machine.level = 0;
	tick(11);
	cpu_is(1, &task);
}

/* A bio that was kept back above is merged below, into a request that is there: no time counts
 * twice. */
static void test_throttled_stacked_merged(void **state)
{
	u64 ctx[2] = { 0, (u64)&io[0].bio };
	struct kdisk stacked;

	(void)state;
	start();
	disk_init(&stacked, 253, 0, false);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	bio_init(&io[0].bio, &stacked, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_throttled, &io[0].bio);
	switch_to(&idle[1], true);
	tick(990);
	kthrotld_on(0);
	q(&io[2], REQ_OP_READ);
	g(&io[2]);
	tick(10);
	EVENT(on_bio_queue, &io[0].bio);
	q(&io[1], REQ_OP_READ);
	EVENT(on_backmerge, &io[1].bio);
	io[2].bio.bi_next = &io[1].bio;
	io[2].rq.__data_len += SIZE;
	tick(3);
	d(&io[2]);
	tick(7);
	machine.level = LEVEL;
	complete_bytes(&io[2].rq, 0, 2 * SIZE);
	RUN(on_bio_complete, ctx);
	wake(&task);
	completion_is_over();
	machine.level = 0;
	cpu_is(1, &idle[1]);
	switch_to(&task, false);
	sys_exit(0);
	assert_ops(OP_META, 1, 1010, STRATA([ST_THROTTLE] = 1000, [ST_QUEUE] = 3, [ST_DEVICE] = 7));
	is_over();
}

static void test_throttled_stacked(void **state)
{
	static const struct {
		bool above, seen;
		u64 strata[ST_N];
	} cases[] = {
		{ true,
		  false,
		  { [ST_SYSCALL] = 13, [ST_THROTTLE] = 17, [ST_DEVICE] = 9, [ST_COMPLETE] = 11 } },
		{ true,
		  true,
		  { [ST_SYSCALL] = 13,
		    [ST_THROTTLE] = 19,
		    [ST_QUEUE] = 3,
		    [ST_DEVICE] = 7,
		    [ST_COMPLETE] = 11 } },
		{ false,
		  true,
		  { [ST_SYSCALL] = 13,
		    [ST_THROTTLE] = 19,
		    [ST_QUEUE] = 3,
		    [ST_DEVICE] = 7,
		    [ST_COMPLETE] = 11 } },
	};
	struct kdisk stacked;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		start();
		disk_init(&stacked, 253, 0, false);
		file.f.f_flags = O_DIRECT;
		uring_submit(&a);
		tick(13);
		stacked_is_throttled(&stacked, cases[i].above, cases[i].seen);
		uring_complete(&a, SIZE);
		assert_ops(OP_URING, 1, 50 + 3 * cases[i].seen, cases[i].strata);
		assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, SIZE);
		is_over();
	}
}

/* A bio outside of any operation is not noted, unless the owners of requests are asked for, or the
 * interrupt level is not known. */
static void test_throttled_noted(void **state)
{
	struct io_state *note;

	(void)state;
	start();
	throttled(&io[0]);
	assert_int_equal(live.hashed, 0);
	EVENT(on_bio_throttled_no_level, &io[0].bio);
	assert_int_equal(live.hashed, 1);
	start();
	sys_enter(NR_STAT, 0, 0, 0, 0);
	throttled(&io[0]);
	throttled_above(&io[0]);
	note = bpf_map_lookup_elem(&ios, &(u64){ (u64)&io[0].bio });
	assert_non_null(note); /* for who asks what the call waits for now */
	assert_int_equal(note->q, 0);
	assert_int_equal(note->throttled, THROTTLED_NOT);
	goes_on(&io[0]);
	sys_exit(0);
	is_over();
	start();
	conf.issuers = 1;
	throttled(&io[0]);
	assert_int_equal(live.hashed, 1);
	live.hashed = THROTTLED_MOST;
	throttled(&io[1]);
	assert_int_equal(live.hashed, THROTTLED_MOST + 1);
}

/* If there are very many, nothing is noted of more; what that loses is counted. */
static void test_throttled_many(void **state)
{
	(void)state;
	start();
	live.hashed = THROTTLED_MOST - 1;
	EVENT(on_bio_throttled_no_level, &io[0].bio);
	assert_int_equal(live.hashed, THROTTLED_MOST);
	EVENT(on_bio_throttled_no_level, &io[1].bio);
	throttled(&io[2]);
	assert_int_equal(lost_all(), 0);
	cpu_is(2, &worker);
	conf.uring = 0;
	EVENT(on_bio_throttled_no_level, &io[1].bio);
	assert_int_equal(lost_all(), 0);
	conf.uring = 1;
	EVENT(on_bio_throttled_no_level, &io[1].bio);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	cpu_is(1, &task);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	throttled(&io[2]);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	EVENT(on_bio_throttled_no_level, &io[1].bio);
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	bio_init(&io[4].bio, &disk, REQ_OP_WRITE, 0, SIZE);
	EVENT(on_bio_throttled_no_level, &io[4].bio);
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	conf.waits = 0;
	EVENT(on_bio_throttled_no_level, &io[1].bio);
	assert_int_equal(live.lost[LOST_MAP_FULL], 2);
	conf.waits = 1;
	sys_exit(0);
	file.f.f_flags = O_DIRECT;
	uring_submit(&a);
	throttled(&io[3]);
	assert_int_equal(live.lost[LOST_MAP_FULL], 3);
	EVENT(on_bio_throttled_no_level, &io[4].bio);
	assert_int_equal(live.lost[LOST_MAP_FULL], 4);
	assert_int_equal(live.hashed, THROTTLED_MOST);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, SIZE);
}

/* A timer, or kthrotld, moves it on to the cgroup above: whose it is was not seen, and is not who
 * runs there. */
static void test_throttled_before(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	for (u32 level = SOFT_INTERRUPT; level <= LEVEL;
	     level = level < LEVEL ? LEVEL : LEVEL + 1) {
		machine.level = level;
		throttled(&io[0]);
		machine.level = 0;
		assert_int_equal(live.hashed, 0);
	}
	task.t.flags = PF_WQ_WORKER;
	strcpy(task.queue, "kthrotld");
	throttled(&io[0]);
	assert_int_equal(live.hashed, 0);
	task.t.flags = 0;
	tick(3);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, 0);
	is_over();
}

/* A bio is nobody's if the polled request has ended, or is another thread's, when its thread
 * submits the bio. */
static void test_polls_no_more(void **state)
{
	struct ktask another;

	(void)state;
	start();
	ring_ctx.flags = IORING_SETUP_IOPOLL;
	uring_submit(&a);
	q(&io[0], REQ_OP_READ);
	uring_complete(&a, SIZE);
	q(&io[1], REQ_OP_READ);
	assert_int_equal(io_slot((u64)&io[1].bio, 1)->async, 0);
	/* another thread submits it again */
	uring_submit(&a);
	q(&io[2], REQ_OP_READ);
	task_init(&another, 1103, 1117, "another", 0);
	cpu_is(2, &another);
	uring_complete(&a, SIZE);
	uring_submit(&a);
	q(&io[3], REQ_OP_READ);
	cpu_is(1, &task);
	tick(7);
	q(&io[4], REQ_OP_READ);
	cpu_is(2, &another);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, 3 * SIZE);
	assert_int_equal(lost_all(), 0);
}

/* A polled request that does not wait for a bio ends when the next thing is seen. */
static void test_polls_without_bio(void **state)
{
	(void)state;
	start();
	ring_ctx.flags = IORING_SETUP_IOPOLL;
	uring_submit(&a);
	tick(7);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 7, STRATA([ST_SYSCALL] = 7));
}

/* The thread of linked requests executes the first request after it has submitted the last. */
static void test_linked(void **state)
{
	(void)state;
	start();
	by_cache();
	uring_submit(&a);
	tick(2);
	uring_submit(&b);
	uring_link(&b, &a);
	tick(3);
	req_init(&c, READ);
	uring_submit(&c);
	uring_link(&c, &a);
	tick(5);
	EVENT(enter_read, &a);
	tick(7);
	EVENT(leave_read, &a);
	tick(11);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 28, STRATA([ST_SYSCALL] = 2 + 3 + 5 + 11, [ST_FS] = 7));
	assert_int_equal(cache_of_row(), CACHE_HIT);
	uring_wait(&ring_ctx);
	tick(13);
	uring_complete(&b, SIZE);
	assert_ops(OP_URING, 2, 39, STRATA([ST_SYSCALL] = 21, [ST_FS] = 7, [ST_SLEEP] = 39));
	tick(17);
	uring_complete(&c, SIZE);
	assert_ops(OP_URING, 3, 53, STRATA([ST_SYSCALL] = 21, [ST_FS] = 7, [ST_SLEEP] = 39 + 53));
	/* all hits: a linked read waits for those before it */
	for (int i = 0; i < ROW_SLOTS; i++)
		if (live.rows[i].what && !(live.rows[i].what & ROW_REQUESTS))
			assert_int_equal(WHAT_CACHE(live.rows[i].what), CACHE_HIT);
	is_over();
}

/* A link that is seen when its thread executes nothing, or is in a call, changes nothing of that;
 * the first is taken up again, and another may complete it. */
static void test_linked_later(void **state)
{
	struct ktask another;

	(void)state;
	start();
	task_init(&another, 1103, 1117, "another", 0);
	uring_submit(&a);
	uring_submit(&b);
	uring_wait(&ring_ctx);
	tick(3);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	uring_link(&b, &a);
	tick(5);
	sys_exit(0);
	assert_ops(OP_META, 1, 5, STRATA([ST_SYSCALL] = 5));
	uring_link(&b, &a);
	tick(7);
	cpu_is(2, &another);
	uring_complete(&a, 0);
	assert_count(0);
	uring_complete(&b, 0);
	assert_ops(OP_URING, 1, 15, STRATA([ST_SLEEP] = 15));
	/* or a worker gets it */
	start();
	uring_submit(&a);
	uring_submit(&b);
	uring_link(&b, &a);
	tick(2);
	uring_queue(&a);
	tick(3);
	uring_complete(&a, 0);
	assert_ops(OP_URING, 1, 5, STRATA([ST_SYSCALL] = 2, [ST_HELPER] = 3));
}

/* A completion that finds no room in its ring: the request that a worker executes. */
static void test_overflow_of_worker(void **state)
{
	(void)state;
	start();
	a.cqe = (struct io_cqe){ 7ULL << 40, 31 };
	uring_submit(&a);
	tick(2);
	uring_queue(&a);
	worker_takes(&a);
	tick(3);
	uring_overflow(&ring_ctx, 7ULL << 40, 31);
	assert_ops(OP_URING, 1, 5, STRATA([ST_SYSCALL] = 2, [ST_HELPER] = 3));
	assert_int_equal(ops_counted(OP_URING, NULL).bytes, 31);
	uring_overflow(&ring_ctx, 7ULL << 40, 31);
	assert_count(1);
	is_over();
}

/* Many requests of a batch, linked as they complete. */
enum { BATCH = 13 };
static struct io_kiocb batch[BATCH];

static void batch_submit(void)
{
	for (int i = 0; i < BATCH; i++) {
		req_init(&batch[i], READ);
		batch[i].cqe = (struct io_cqe){ 100 + i, i };
		batch[i].comp_list.next = i + 1 < BATCH ? &batch[i + 1].comp_list : NULL;
		uring_submit(&batch[i]);
	}
	ring_ctx.submit_state.compl_reqs.first = &batch[0].comp_list;
}

static void overflows(int i)
{
	uring_overflow(&ring_ctx, 100 + i, i);
}

/* The next after the last one, or the first of them. */
static void test_overflow(void **state)
{
	(void)state;
	start();
	batch_submit();
	overflows(0);
	assert_count(1);
	for (int i = 1; i < BATCH; i++)
		overflows(i);
	assert_count(BATCH);
	is_over();
}

/* An overflow after requests without a completion, or whose completion was seen. */
static void test_overflow_after(void **state)
{
	(void)state;
	start();
	batch_submit();
	uring_complete(&batch[0], 0);
	overflows(4); /* the fourth after that */
	assert_count(2);
	overflows(9); /* the fifth is too far, but among the first it is the tenth */
	assert_count(2);
	overflows(7);
	assert_count(3);
	start();
	batch_submit();
	overflows(7);
	assert_count(1);
	start();
	batch_submit();
	overflows(8);
	assert_count(0);
}

/* An overflow of another request or ring, or of a request not in progress, is not taken for a
 * request in progress. */
static void test_overflow_of_others(void **state)
{
	struct io_ring_ctx another = {};

	(void)state;
	start();
	batch_submit();
	uring_overflow(&ring_ctx, 100, 1);
	uring_overflow(&ring_ctx, 101, 0);
	another.submit_state = ring_ctx.submit_state;
	uring_overflow(&another, 100, 0);
	assert_count(0);
	req_init(&a, READ);
	a.cqe = (struct io_cqe){ 100, 0 };
	a.comp_list.next = &batch[0].comp_list;
	ring_ctx.submit_state.compl_reqs.first = &a.comp_list;
	overflows(0); /* a is not in progress */
	assert_count(1);
	overflows(0);
	assert_count(1);
	io_worker.cur_work = &batch[1].work; /* of no meaning: current is no worker */
	task.t.set_child_tid = (int *)&io_worker;
	ring_ctx.submit_state.compl_reqs.first = NULL;
	cpu_is(3, &leader);
	leader.t.set_child_tid = (int *)&io_worker;
	overflows(1);
	assert_count(1);
}

/* An ended request is not taken for an overflow, though another request is just like it. */
static void test_overflow_alike(void **state)
{
	(void)state;
	start();
	uring_submit(&a);
	batch_submit();
	batch[1].cqe = batch[0].cqe;
	overflows(0);
	uring_complete(&a, 0); /* the batch is looked through from its first */
	assert_count(2);
	overflows(0);
	assert_count(3);
}

/* A request begins where one was in progress, whose end was not seen. */
static void test_unmatched(void **state)
{
	struct ktask another;

	(void)state;
	start();
	uring_submit(&a);
	tick(5);
	uring_wait(&ring_ctx);
	uring_submit(&a);
	tick(7);
	uring_complete(&a, 0);
	assert_ops(OP_URING, 1, 7, STRATA([ST_SYSCALL] = 7));
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	/* its thread still executes it, but by now it is another's */
	uring_submit(&a);
	task_init(&another, 1103, 1117, "another", 0);
	cpu_is(2, &another);
	uring_submit(&a); /* in the same nanosecond */
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	cpu_is(1, &task);
	uring_wait(&ring_ctx);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 3);
	cpu_is(2, &another);
	tick(11);
	uring_complete(&a, 0);
	assert_ops(OP_URING, 2, 11, STRATA([ST_SYSCALL] = 7 + 11));
	assert_int_equal(lost_all(), 3);
	/* of the same thread, which did so again */
	uring_submit(&a);
	cpu_is(1, &task);
	uring_submit(&a);
	uring_complete(&a, 0);
	tick(1);
	uring_submit(&a);
	uring_complete(&a, 0);
	assert_int_equal(lost_all(), 4);
}

/* A thread that is said to execute a request which another completes: nothing is known of that,
 * whatever was parked there before. */
static void test_executed_elsewhere(void **state)
{
	struct ktask another;

	(void)state;
	start();
	task_init(&another, 1103, 1117, "another", 0);
	for (int i = 0; i < 2; i++) {
		uring_submit(&a);
		tick(3);
		if (i)
			uring_wait(&ring_ctx);
		if (i)
			uring_submit(&a);
		cpu_is(2, &another);
		uring_complete(&a, 0);
		cpu_is(1, &task);
		uring_wait(&ring_ctx);
		assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	}
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 3);
}

/* Each of them finds its slot while there is room; when it was idle for long enough, another may
 * have it. */
static void test_slots(void **state)
{
	u64 now, at[16];

	(void)state;
	for (u64 seed = 1; seed < 8; seed++) {
		start();
		conf.async_slots = 16;
		now = machine.now;
		for (u64 i = 0; i < 16; i++) {
			at[i] = async_new(seed * 0x9e3779b1 + i * 256, now);
			assert_in_range(at[i], 1, 16);
			async_at(at[i])->task = 1;
			for (u64 k = 0; k < i; k++)
				assert_int_not_equal(at[i], at[k]);
		}
		assert_int_equal(async_new(17, now), 0);
		assert_int_equal(live.lost[LOST_MAP_FULL], 1);
		now += 7;
		async_over(async_at(at[5]), now);
		assert_int_equal(async_new(17, now + ASYNC_IDLE_NS), 0);
		assert_int_equal(async_new(17, now + ASYNC_IDLE_NS + 1), at[5]);
		assert_int_equal(async_index(17), at[5]);
		assert_int_equal(async_index(seed * 0x9e3779b1 + 5 * 256), 0);
		assert_int_equal(map_count(&slots_taken), 0);
	}
}

/* A slot that is being claimed is not given to others; 16 places are tried, not more. */
static void test_claims(void **state)
{
	u32 key, second;

	(void)state;
	start();
	key = ROW_SLOTS + FS_SLOTS + async_place(17, 0) + 1;
	second = async_place(17, 1) + 1;
	bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST);
	assert_int_equal(async_new(17, machine.now), second);
	assert_int_equal(map_count(&slots_taken), 1);
	start();
	for (u32 try = 0; try < 16; try++) {
		struct async_op *u = async_at(async_place(17, try) + 1);

		u->req = 100 + try;
		u->task = 1;
	}
	assert_int_equal(async_new(17, machine.now), 0);
	async_at(async_place(17, 15) + 1)->req = ASYNC_GONE;
	assert_int_equal(async_new(17, machine.now), async_place(17, 15) + 1);
	/* a slot that was never used ends the search */
	async_at(async_place(17, 7) + 1)->req = 0;
	assert_int_equal(async_index(17), 0);
}

/* Another CPU claims the first place of request 17. */
static void claim_usual(void)
{
	struct async_op *u = async_at(async_place(17, 0) + 1);

	u->req = 19;
	u->task = 1;
}

/* Another CPU may claim a slot after this CPU found it free. Then the slot remains the other CPU's,
 * and this CPU holds on to nothing. */
static void test_claimed_between(void **state)
{
	(void)state;
	start();
	map_of(&slots_taken)->before_update = claim_usual;
	assert_int_equal(async_new(17, machine.now), async_place(17, 1) + 1);
	assert_int_equal(async_at(async_place(17, 0) + 1)->req, 19);
	assert_int_equal(map_count(&slots_taken), 0);
	assert_int_equal(lost_all(), 0);
}

/* A request, by @by, that another thread than its own completes. */
static void owned(u32 by)
{
	struct ktask another;

	start();
	conf.op_owner = 1;
	conf.by = by;
	conf.row_slots = 0;
	task_init(&another, 1201, 1203, "another", 0);
	uring_submit(&a);
	tick(7);
	uring_wait(&ring_ctx);
	cpu_is(2, &another);
	uring_complete(&a, 0);
}

static const struct op_key *only_key(void)
{
	assert_int_equal(map_count(&op_rows_even), 1);
	return (const void *)map_of(&op_rows_even)->entries->key;
}

static void assert_named(u64 id, const char *name)
{
	const struct thread_name *found = bpf_map_lookup_elem(&thread_names_even, &id);

	assert_non_null(found);
	assert_string_equal(found->comm, name);
}

static void test_owner(void **state)
{
	char comm[COMM_LEN] = "submits";

	(void)state;
	owned(BY_PID);
	assert_int_equal(only_key()->by[0], 1103);
	assert_named(1103, "leads");
	owned(BY_TID);
	assert_int_equal(only_key()->by[0], 1103);
	assert_named(1103, "submits");
	owned(BY_COMM);
	assert_memory_equal(only_key()->by, comm, COMM_LEN);
	owned(BY_CGROUP);
	assert_int_equal(only_key()->by[0], 8103);
	/* a thread of io_uring's is known by its process's name */
	start();
	conf.op_owner = 1;
	conf.by = BY_TID;
	conf.row_slots = 0;
	cpu_is(2, &worker);
	one(&a, 0);
	assert_named(1109, "leads");
	/* else it is that of who completes it */
	start();
	conf.by = BY_TID;
	conf.row_slots = 0;
	one(&a, 0);
	assert_int_equal(only_key()->by[0], 1103);
	assert_int_equal(async_at(async_index((u64)&a))->who.tid, 0);
}

/* The members of the record of a request of io_uring. */
static void test_record(void **state)
{
	const struct slow_op *r;

	(void)state;
	start();
	conf.records = 1;
	a.rw.len = 31;
	one(&a, 17);
	r = newest_record();
	assert_int_equal(r->call, CALL_URING | READ);
	assert_int_equal(r->offset, 8192);
	assert_int_equal(r->len, 31);
	assert_int_equal(r->ret, 17);
	assert_int_equal(r->total_ns, 7);
	b.rw.kiocb.ki_pos = 0;
	b.rw.len = 37;
	one(&b, 17);
	r = newest_record();
	assert_int_equal(r->offset, 0);
	assert_int_equal(r->len, 37);
	b.rw.kiocb.ki_pos = -1; /* the file's own position */
	one(&b, 17);
	assert_true(newest_record()->offset == OFFSET_UNKNOWN);
	one(&c, 0);
	r = newest_record();
	assert_true(r->offset == OFFSET_UNKNOWN);
	assert_true(r->len == ~0ULL);
}

/* Buffers in a vector have a number, but no known length. An append has no known offset. */
static void test_record_unknown(void **state)
{
	enum { READV = 1, READV_FIXED = 60, WRITE_FIXED = 5 };
	static const u8 kinds[URING_OPS] = { [READV] = OP_READ,
					     [WRITE_FIXED] = OP_WRITE,
					     [WRITE] = OP_WRITE,
					     [READV_FIXED] = OP_READ };

	(void)state;
	start();
	data_set(uring_kinds, kinds, sizeof(kinds));
	conf.records = 1;
	for (int i = 0; i < 2; i++) {
		req_init(&a, i ? READV_FIXED : READV);
		a.rw.len = 4;
		a.rw.kiocb.ki_pos = 8192;
		one(&a, 4 * SIZE);
		assert_true(newest_record()->len == ~0ULL);
		assert_int_equal(newest_record()->offset, 8192);
	}
	req_init(&b, WRITE_FIXED);
	b.rw.len = 37;
	b.rw.flags = RWF_APPEND;
	one(&b, 37);
	assert_int_equal(newest_record()->len, 37);
	assert_true(newest_record()->offset == OFFSET_UNKNOWN);
	for (int known_early = 0; known_early < 2; known_early++) {
		req_init(&b, WRITE);
		file.f.f_flags = O_APPEND;
		uring_submit(&b);
		if (known_early) {
			EVENT(enter_write, &b);
			EVENT(leave_write, &b);
		}
		uring_complete(&b, 37);
		assert_true(newest_record()->offset == OFFSET_UNKNOWN);
		file.f.f_flags = 0;
	}
	one(&b, 37);
	assert_int_equal(newest_record()->offset, 8192);
}

static void test_sent(void **state)
{
	(void)state;
	start();
	conf.sent_ops = conf.op_extras = conf.rings = 1;
	a.rw.len = 31;
	one(&a, 17);
	assert_int_equal(newest_sent()->fd, -1);
	assert_int_equal(newest_sent()->len, 31);
	assert_int_equal(newest_sent()->kind, OP_URING);
}

static void starts_with_waits(void)
{
	start();
	conf.waits = conf.submit_waits = 1;
}

/* The thread executes @r, and waits meanwhile: 7 on the CPU, 11 asleep, 13 for a CPU, 17 on it. */
static void waits_in_submission(struct io_kiocb *r)
{
	uring_submit(r);
	tick(7);
	switch_to(&idle[1], true);
	tick(11);
	cpu_is(2, &idle[2]);
	wake(&task);
	cpu_is(1, &idle[1]);
	tick(13);
	switch_to(&task, false);
	tick(17);
}

/* The waits alone are a separate operation, with the file of the request. */
static void assert_waits(u32 n)
{
	struct op_sums s = ops_counted(OP_SUBMIT, NULL);

	assert_ops(OP_SUBMIT, n, 24, STRATA([ST_SLEEP] = n * 11, [ST_RUNQ] = n * 13));
	assert_int_equal(s.bytes + s.device_bytes + s.errors, 0);
	assert_int_equal(WHAT_CALL(row_of(OP_SUBMIT).what), 0);
	assert_true(row_of(OP_SUBMIT).fs == (u64)&file.type);
}

static void test_waits_in_submission(void **state)
{
	(void)state;
	starts_with_waits();
	waits_in_submission(&a);
	q(&io[0], REQ_OP_READ);
	uring_wait(&ring_ctx);
	assert_int_equal(ops_counted(OP_SUBMIT, NULL).count, 0);
	tick(19);
	uring_complete(&a, SIZE);
	assert_ops(OP_URING, 1, 67,
		   STRATA([ST_SYSCALL] = 24, [ST_SLEEP] = 11 + 19, [ST_RUNQ] = 13));
	assert_waits(1);
	assert_int_equal(ops_counted(OP_URING, NULL).device_bytes, SIZE);
	g(&io[0]);
	d(&io[0]);
	done(&io[0], SIZE);
	/* and of a request that is done before the call ends */
	waits_in_submission(&a);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 2);
	assert_waits(2);
	/* a request without waits has none */
	uring_submit(&a);
	tick(7);
	uring_complete(&a, SIZE);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 3);
	assert_waits(2);
	/* likewise if nobody asked, or it is not known when a polling thread stops executing */
	conf.submit_waits = 0;
	waits_in_submission(&a);
	uring_complete(&a, SIZE);
	conf.submit_waits = 1;
	ring_ctx.flags = IORING_SETUP_IOPOLL;
	waits_in_submission(&a);
	uring_complete(&a, SIZE);
	assert_waits(2);
	is_over();
}

/* The time after the thread has left the request to a worker is no wait of the thread. */
static void test_waits_then_leaves_to_worker(void **state)
{
	(void)state;
	starts_with_waits();
	worker_starts();
	waits_in_submission(&a);
	uring_queue(&a);
	tick(19);
	worker_takes(&a);
	worker_reads();
	uring_complete(&a, SIZE);
	assert_waits(1);
	assert_ops(OP_URING, 1, 95,
		   STRATA([ST_SYSCALL] = 24, [ST_HELPER] = 19 + 2, [ST_SLEEP] = 11, [ST_QUEUE] = 3,
			  [ST_DEVICE] = 5, [ST_COMPLETE] = 7, [ST_RUNQ] = 13 + 11));
	/* nor is the time in which the thread turned to something else */
	starts_with_waits();
	waits_in_submission(&a);
	uring_wait(&ring_ctx);
	tick(23);
	uring_queue(&a);
	tick(29);
	uring_complete(&a, SIZE);
	assert_waits(1);
	assert_ops(
		OP_URING, 1, 100,
		STRATA([ST_SYSCALL] = 24, [ST_SLEEP] = 11 + 23, [ST_RUNQ] = 13, [ST_HELPER] = 29));
	is_over();
}

/* The worker's bio is held back, which is known to be the helper's time before the end. */
static void test_waits_then_worker_throttled(void **state)
{
	(void)state;
	starts_with_waits();
	file.f.f_flags = O_DIRECT;
	worker_starts();
	waits_in_submission(&a);
	uring_queue(&a);
	tick(19);
	worker_takes(&a);
	tick(2);
	throttled(&io[0]);
	assert_int_equal(async_at(async_index((u64)&a))->op.strata[ST_HELPER], 21);
	tick(3);
	uring_complete(&a, SIZE);
	assert_waits(1);
	assert_int_equal(ops_counted(OP_URING, NULL).total_ns, 48 + 24);
}

/* The thread was busy with the wait, if it ends the request itself. */
static void test_busy_with_waits(void **state)
{
	(void)state;
	starts_with_waits();
	conf.busiest = 1;
	waits_in_submission(&a);
	uring_complete(&a, SIZE);
	assert_int_equal(current_lookup()->io_ns, 24);
	waits_in_submission(&a);
	uring_wait(&ring_ctx);
	cpu_is(2, &leader);
	uring_complete(&a, SIZE);
	cpu_is(1, &task);
	assert_int_equal(current_lookup()->io_ns, 24);
	assert_waits(2);
}

/* The record before the newest. */
static const struct slow_op *record_before(void)
{
	struct message *newest = messages;
	const struct slow_op *r;

	messages = messages->next;
	r = newest_record();
	messages = newest;
	return r;
}

/* Records of the wait and of its request: both begin with the request, which has all of the time,
 * and the order of the time. */
static void test_record_of_waits(void **state)
{
	const struct slow_op *r;

	(void)state;
	starts_with_waits();
	conf.records = conf.segments = 1;
	uring_submit(&a);
	q(&io[0], REQ_OP_READ);
	uring_complete(&a, SIZE); /* the slot has a list of segments from here on */
	waits_in_submission(&a);
	q(&io[0], REQ_OP_READ);
	uring_wait(&ring_ctx);
	uring_complete(&a, SIZE);
	r = record_before();
	assert_int_equal(r->kind, OP_SUBMIT);
	assert_int_equal(r->call, CALL_URING_ENTER);
	assert_int_equal(r->start_ns, machine.now - 48);
	assert_int_equal(r->total_ns, 24);
	assert_int_equal(r->strata[ST_SLEEP], 11);
	assert_int_equal(r->n_requests + r->device_bytes + r->ret, 0);
	assert_false(r->has_segments);
	assert_int_equal(r->who.tid, 1103);
	r = newest_record();
	assert_int_equal(r->kind, OP_URING);
	assert_int_equal(r->call, CALL_URING | READ);
	assert_int_equal(r->total_ns, 48);
	assert_int_equal(r->n_requests, 1);
	assert_int_equal(r->device_bytes, SIZE);
	assert_int_equal(r->ret, SIZE);
	assert_true(r->has_segments);
}

static int throttled_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_throttled_worker),
		cmocka_unit_test(test_throttled_worker_waits),
		cmocka_unit_test(test_throttled_outlives),
		cmocka_unit_test(test_throttled_rest),
		cmocka_unit_test(test_throttled_rest_migrated),
		cmocka_unit_test(test_throttled_rest_and_stale),
		cmocka_unit_test(test_throttled_helper_wakes),
		cmocka_unit_test(test_throttled_helper_goes_on),
		cmocka_unit_test(test_throttled_earlier),
		cmocka_unit_test(test_waking_unseen),
		cmocka_unit_test(test_throttled_rest_of_worker),
		cmocka_unit_test(test_throttled_passed_on),
		cmocka_unit_test(test_throttled_last),
		cmocka_unit_test(test_throttled_stacked_outlives),
		cmocka_unit_test(test_throttled_stale_note),
		cmocka_unit_test(test_throttled_stacked_merged),
		cmocka_unit_test(test_throttled_stacked),
		cmocka_unit_test(test_throttled_noted),
		cmocka_unit_test(test_throttled_many),
		cmocka_unit_test(test_throttled_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

static int submission_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_in_submission),
		cmocka_unit_test(test_waits_then_leaves_to_worker),
		cmocka_unit_test(test_waits_then_worker_throttled),
		cmocka_unit_test(test_busy_with_waits),
		cmocka_unit_test(test_record_of_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_wait_after_completion),
		cmocka_unit_test(test_next_batch),
		cmocka_unit_test(test_other_completes),
		cmocka_unit_test(test_file_system),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_splice),
		cmocka_unit_test(test_no_splice),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_submit_sqe),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_run_queue),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_waking_missed),
		cmocka_unit_test(test_buffered_in_batch),
		cmocka_unit_test(test_direct_in_batch),
		cmocka_unit_test(test_buffered_later),
		cmocka_unit_test(test_waits_for_other),
		cmocka_unit_test(test_waits_for_unknown),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_tag),
		cmocka_unit_test(test_stopped_unseen),
		cmocka_unit_test(test_done_before_parked),
		cmocka_unit_test(test_bio_of_another),
		cmocka_unit_test(test_outlived),
		cmocka_unit_test(test_done_between),
		cmocka_unit_test(test_outlived_and_own),
		cmocka_unit_test(test_last_bio),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_many_merged),
		cmocka_unit_test(test_too_many_merged),
		cmocka_unit_test(test_hashed_bio),
		cmocka_unit_test(test_bio_based),
		cmocka_unit_test(test_no_mark),
		cmocka_unit_test(test_worker),
		cmocka_unit_test(test_unknown_worker),
		cmocka_unit_test(test_worker_submits_only),
		cmocka_unit_test(test_queued_only),
		cmocka_unit_test(test_queued_later),
		cmocka_unit_test(test_worker_of_unknown),
		cmocka_unit_test(test_queued_file),
		cmocka_unit_test(test_worker_bios),
		cmocka_unit_test(test_polls),
		cmocka_unit_test(test_polls_on),
		cmocka_unit_test(test_bio_of_file),
		cmocka_unit_test(test_polls_for_others),
		cmocka_unit_test(test_worker_bio_of_file),
		cmocka_unit_test(test_worker_unseen),
		cmocka_unit_test(test_polls_no_more),
		cmocka_unit_test(test_polls_without_bio),
		cmocka_unit_test(test_linked),
		cmocka_unit_test(test_linked_later),
		cmocka_unit_test(test_overflow_of_worker),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_overflow_after),
		cmocka_unit_test(test_overflow_of_others),
		cmocka_unit_test(test_overflow_alike),
		cmocka_unit_test(test_unmatched),
		cmocka_unit_test(test_executed_elsewhere),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_claimed_between),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_unknown),
		cmocka_unit_test(test_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + throttled_tests() + submission_tests();
}
