// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf with -T: calls of one layer alone, each timed as a whole. In a machine
 * that is made up; see kernel/machine.h.
 */
#include "kernel/machine.h"

static struct kfile ext4, lower, pipe_end;
static struct ktask alice;

static int start(void **state)
{
	(void)state;
	machine_start();
	conf.layer = LAYER_VFS;
	conf.waits = conf.cpu_split = 0;
	file_init(&ext4, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	file_init(&lower, "ext4", 8 << MINOR_BITS | 1, 29, S_IFREG);
	file_init(&pipe_end, "pipefs", 12, 31, 0010000);
	task_init(&alice, 1100, 1101, "alice", 0);
	alice.fd[2] = &ext4.f;
	cpu_is(1, &alice);
	return 0;
}

/* Functions of the VFS by their frames: @at is where they are on the stack, which grows down. */
struct call {
	u64 args[8];
};

/* A stack, whose deeper calls have lower addresses. */
static struct call stack[16];

static struct call *at(u32 depth)
{
	return &stack[15 - depth];
}

static void read_in(u32 depth, struct kfile *f)
{
	at(depth)->args[0] = (u64)&f->f;
	enter_vfs_read(at(depth)->args);
}

static void read_out(u32 depth, long ret)
{
	at(depth)->args[4] = ret;
	leave_vfs_read(at(depth)->args);
}

static void write_in(u32 depth, struct kfile *f)
{
	at(depth)->args[0] = (u64)&f->f;
	enter_vfs_write(at(depth)->args);
}

static void write_out(u32 depth, long ret)
{
	at(depth)->args[4] = ret;
	leave_vfs_write(at(depth)->args);
}

static void assert_timed(u32 kind, u64 count, u64 total, u64 bytes, u64 errors)
{
	struct op_sums s = ops_counted(kind, NULL);

	assert_int_equal(s.count, count);
	assert_int_equal(s.total_ns, total);
	assert_int_equal(s.bytes, bytes);
	assert_int_equal(s.errors, errors);
}

static void test_calls(void **state)
{
	u64 hist[HIST_N] = {};

	(void)state;
	read_in(0, &ext4);
	tick(101);
	read_out(0, 4096);
	read_in(0, &ext4);
	tick(1009);
	read_out(0, -5);
	write_in(0, &ext4);
	tick(23);
	write_out(0, 0);
	read_in(0, &pipe_end);
	tick(7);
	read_out(0, 1);
	assert_timed(OP_READ, 2, 1110, 4096, 1);
	assert_timed(OP_WRITE, 1, 23, 0, 0);
	ops_counted(OP_READ, hist);
	assert_int_equal(hist[hist_bucket(101)], 1);
	assert_int_equal(hist[hist_bucket(1009)], 1);
	assert_int_equal(ops_counted(OP_READ, NULL).max_ns, 1009);
	assert_int_equal(ops_counted(OP_READ, NULL).strata[ST_SYSCALL], 0);
	assert_int_equal(lost_all(), 0);
}

/* A read within a read on the same file counts once. A read within one on another file (overlayfs),
 * or within another kind, counts, too. */
static void test_nested(void **state)
{
	(void)state;
	read_in(0, &ext4);
	tick(1);
	read_in(1, &ext4);
	tick(2);
	read_out(1, 5);
	read_out(0, 5);
	assert_timed(OP_READ, 1, 3, 5, 0);
	read_in(0, &ext4);
	tick(4);
	read_in(1, &lower);
	tick(8);
	read_out(1, 5);
	tick(16);
	read_out(0, 5);
	assert_timed(OP_READ, 3, 3 + 28 + 8, 15, 0);
	write_in(0, &ext4);
	tick(32);
	read_in(1, &ext4);
	tick(64);
	read_out(1, 0);
	write_out(0, 0);
	assert_timed(OP_READ, 4, 39 + 64, 15, 0);
	assert_timed(OP_WRITE, 1, 96, 0, 0);
	assert_int_equal(lost_all(), 0);
}

/* Deeper than there are frames: the outer ones are timed, the others told as lost. */
static void test_deep(void **state)
{
	static struct kfile files[FRAMES + 2];

	(void)state;
	for (int i = 0; i < FRAMES + 2; i++) {
		file_init(&files[i], "fs", 3, i, S_IFREG);
		read_in(i, &files[i]);
		tick(1);
	}
	for (int i = FRAMES + 1; i >= 0; i--)
		read_out(i, 0);
	assert_timed(OP_READ, FRAMES, 8 + 7 + 6 + 5 + 4 + 3, 0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	read_in(0, &ext4);
	read_out(0, 0);
	assert_timed(OP_READ, FRAMES + 1, 33, 0, 0);
	assert_int_equal(lost_all(), 2);
}

/* Returns that were not seen: a call that begins where one was, or above, ends that. */
static void test_returns_missed(void **state)
{
	(void)state;
	read_in(1, &ext4);
	write_in(2, &ext4);
	read_in(1, &ext4);
	tick(10);
	read_out(1, 0);
	assert_timed(OP_READ, 1, 10, 0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	write_in(1, &ext4);
	read_in(2, &ext4); /* deeper: it is within the other */
	tick(5);
	read_out(2, 0);
	write_out(1, 0);
	assert_timed(OP_READ, 2, 15, 0, 0);
	assert_timed(OP_WRITE, 1, 5, 0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	read_out(0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	write_in(0, &ext4);
	read_out(0, 0); /* of something else: nothing in progress is believed */
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 2);
	write_out(0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 3);
	assert_timed(OP_WRITE, 1, 5, 0, 0);
}

/* A thread that was never seen has no frames, and nothing is told of it. */
static void test_return_of_a_stranger(void **state)
{
	(void)state;
	read_out(0, 0);
	assert_int_equal(lost_all(), 0);
	assert_int_equal(map_count(&task_owners), 0);
}

/* A read by @kiocb that outlives its function, which takes @ns. */
static void read_queued(struct kiocb *kiocb, u64 ns)
{
	u64 *args = at(0)->args;

	kiocb->ki_filp = &ext4.f;
	args[0] = (u64)kiocb;
	enter_read(args);
	tick(ns);
	args[2] = -EIOCBQUEUED;
	leave_read(args);
}

static void layer_is_fs(void)
{
	conf.layer = LAYER_FS;
	conf.completes[0] = 0x111;
	conf.completes[1] = 0x222;
}

/* I/O that goes on after its function has returned ends with its request of io_uring. */
static void test_queued_uring(void **state)
{
	static struct io_ring_ctx ring_ctx;
	static struct io_kiocb req[2];
	u64 hist[HIST_N] = {};

	(void)state;
	layer_is_fs();
	for (int i = 0; i < 2; i++) {
		req[i] = (struct io_kiocb){ .ctx = &ring_ctx };
		req[i].rw.kiocb.ki_complete = (void *)0x111;
		read_queued(&req[i].rw.kiocb, 7);
	}
	assert_timed(OP_READ, 0, 0, 0, 0);
	tick(101);
	uring_complete(&req[1], 4096);
	tick(11);
	uring_complete(&req[0], -5);
	uring_complete(&req[0], -5); /* a completion of nothing in progress */
	assert_timed(OP_READ, 2, 108 + 126, 4096, 1);
	ops_counted(OP_READ, hist);
	assert_int_equal(hist[hist_bucket(108)], 1);
	assert_int_equal(lost_all(), 0);
	assert_int_equal(map_count(&queued_calls), 0);
	assert_int_equal(live.queued_calls, 0);
}

/* I/O that goes on after its function has returned ends with its iocb of libaio, and counts for the
 * thread which submitted the iocb. */
static void test_queued_aio(void **state)
{
	static struct aio_kiocb iocb;
	const struct op_key *key;
	struct ktask other;

	(void)state;
	layer_is_fs();
	conf.by = BY_TID;
	conf.op_owner = 1;
	conf.row_slots = 0;
	iocb = (struct aio_kiocb){ .rw.ki_complete = (void *)0x222, .ki_res.res = 512 };
	read_queued(&iocb.rw, 7);
	task_init(&other, 1200, 1201, "other", 0);
	cpu_is(2, &other);
	tick(23);
	EVENT(enter_aio_complete, &iocb);
	assert_timed(OP_READ, 1, 30, 512, 0);
	key = (const void *)map_of(&op_rows_even)->entries->key;
	assert_int_equal(key->by[0], 1101);
	assert_int_equal(lost_all(), 0);
}

/* No end is seen of other I/O, of loop devices and overlayfs, nor where an address is used again.
 */
static void test_queued_unseen(void **state)
{
	static struct io_kiocb req;
	struct kiocb kiocb = { .ki_complete = (void *)0x333 };
	u64 *args = at(0)->args;

	(void)state;
	layer_is_fs();
	read_queued(&kiocb, 7);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	req.rw.kiocb.ki_complete = (void *)0x111;
	read_queued(&req.rw.kiocb, 7);
	read_queued(&req.rw.kiocb, 7);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	assert_int_equal(live.queued_calls, 1);
	args[0] = (u64)&req;
	enter_read(args);
	args[2] = 31;
	leave_read(args);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 3);
	assert_int_equal(live.queued_calls, 0);
	uring_complete(&req, 31);
	assert_timed(OP_READ, 1, 0, 31, 0);
	map_of(&queued_calls)->refusals = 1;
	read_queued(&req.rw.kiocb, 7);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(lost_all(), 4);
	assert_int_equal(map_count(&queued_calls), 0);
}

/* An error is a small negative number; what is below is an address. */
static void test_results(void **state)
{
	(void)state;
	read_in(0, &ext4);
	read_out(0, -MAX_ERRNO);
	read_in(0, &ext4);
	read_out(0, -MAX_ERRNO - 1);
	assert_timed(OP_READ, 2, 0, 0, 1);
}

static void test_min(void **state)
{
	(void)state;
	conf.min_ns = 100;
	for (u64 ns = 99; ns <= 101; ns++) {
		read_in(0, &ext4);
		tick(ns);
		read_out(0, 0);
	}
	assert_timed(OP_READ, 2, 201, 0, 0);
}

/* vfs_open(path, file): the file has no inode before it is open. */
static void test_open(void **state)
{
	u64 *args = at(0)->args;
	struct inode empty = {};

	(void)state;
	for (long ret = 0; ret >= -2; ret -= 2) {
		ext4.f.f_inode = &empty;
		args[1] = (u64)&ext4.f;
		enter_vfs_open(args);
		tick(13);
		ext4.f.f_inode = &ext4.inode;
		args[2] = ret;
		leave_vfs_open(args);
	}
	assert_timed(OP_OPEN, 1, 13, 0, 0);
	ext4.f.f_inode = &pipe_end.inode;
	enter_vfs_open(args);
	args[2] = 0;
	leave_vfs_open(args);
	assert_timed(OP_OPEN, 1, 13, 0, 0);
	assert_int_equal(lost_all(), 0);
}

/* Each of the VFS's functions, by the kind and the argument that it has its file in. */
#define FUNCTION(name, kind, file_arg, n_args)                                                     \
	do {                                                                                       \
		u64 before_ = ops_counted(kind, NULL).count, *args_ = at(0)->args;                 \
		memset(args_, 0, sizeof(struct call));                                             \
		args_[file_arg] = (u64)&ext4.f;                                                    \
		enter_##name(args_);                                                               \
		tick(3);                                                                           \
		args_[n_args] = (u64)-5;                                                           \
		leave_##name(args_);                                                               \
		assert_int_equal(ops_counted(kind, NULL).count, before_ + 1);                      \
		errors_ += ops_counted(kind, NULL).errors;                                         \
	} while (0)

static void test_functions(void **state)
{
	u64 errors_ = 0, *args = at(0)->args;
	struct kiocb kiocb = { .ki_filp = &ext4.f };

	(void)state;
	FUNCTION(vfs_read, OP_READ, 0, 4);
	FUNCTION(vfs_readv, OP_READ, 0, 5);
	FUNCTION(vfs_iter_read, OP_READ, 0, 4);
	assert_int_equal(errors_, 1 + 2 + 3);
	FUNCTION(vfs_write, OP_WRITE, 0, 4);
	FUNCTION(vfs_writev, OP_WRITE, 0, 5);
	FUNCTION(vfs_iter_write, OP_WRITE, 0, 4);
	FUNCTION(vfs_open, OP_OPEN, 1, 2);
	FUNCTION(vfs_fsync_range, OP_FSYNC, 0, 4);
	FUNCTION(vfs_copy_file_range, OP_COPY, 0, 6);
	FUNCTION(vfs_fallocate, OP_META, 0, 4);
	FUNCTION(iterate_dir, OP_META, 0, 2);
	assert_int_equal(errors_, 6 + 6 + 1 + 1 + 1 + 1 + 2);
	/* file systems' own */
	FUNCTION(fsync, OP_FSYNC, 0, 4);
	FUNCTION(open, OP_OPEN, 1, 2);
	for (int i = 0; i < 2; i++) {
		args[0] = (u64)&kiocb;
		args[2] = 5;
		(i ? enter_write : enter_read)(args);
		tick(3);
		(i ? leave_write : leave_read)(args);
	}
	assert_int_equal(ops_counted(OP_READ, NULL).count, 4);
	assert_int_equal(ops_counted(OP_READ, NULL).bytes, 5);
	assert_int_equal(ops_counted(OP_WRITE, NULL).bytes, 5);
	/* where vfs_fsync_range() is inlined: do_fsync(fd, datasync) */
	args[0] = 2;
	args[2] = 0;
	enter_do_fsync(args);
	leave_do_fsync(args);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).count, 3);
	assert_int_equal(lost_all(), 0);
}

/* Layers by kprobes, which have arguments and results in registers. */
static void test_kprobes(void **state)
{
	struct kiocb kiocb = { .ki_filp = &ext4.f };
	struct pt_regs regs = { .di = (u64)&ext4.f, .si = 7, .sp = 5000 };

	(void)state;
	kenter_vfs_read(&regs);
	tick(29);
	regs.ax = 31;
	kleave_vfs_read(&regs);
	assert_timed(OP_READ, 1, 29, 31, 0);
	regs = (struct pt_regs){ .di = 7, .si = (u64)&ext4.f, .sp = 5000 };
	kenter_vfs_open(&regs);
	tick(37);
	kleave_vfs_open(&regs);
	assert_timed(OP_OPEN, 1, 37, 0, 0);
	regs = (struct pt_regs){ .di = (u64)&kiocb, .sp = 5000 };
	kenter_write(&regs);
	tick(41);
	regs.ax = 43;
	kleave_write(&regs);
	assert_timed(OP_WRITE, 1, 41, 43, 0);
	/* by the stack pointer: a call as high as one whose return was missed ends it */
	regs = (struct pt_regs){ .di = (u64)&ext4.f, .sp = 5000 };
	kenter_vfs_write(&regs);
	regs.sp = 5001;
	kenter_vfs_write(&regs);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	regs.di = (u64)&lower.f;
	regs.sp = 4999;
	kenter_vfs_write(&regs);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
}

/* Threads that are not asked for have no frames. */
static void test_filter(void **state)
{
	(void)state;
	conf.process_filter = conf.thread_filter = conf.n_pids = 1;
	lists.pids[0] = 1;
	read_in(0, &ext4);
	read_out(0, 0);
	assert_timed(OP_READ, 0, 0, 0, 0);
	lists.pids[0] = 1100;
	read_in(0, &ext4);
	read_out(0, 0);
	assert_timed(OP_READ, 1, 0, 0, 0);
	conf.tool_tgid = 1100;
	read_in(0, &ext4);
	read_out(0, 0);
	assert_timed(OP_READ, 2, 0, 0, 0); /* it has a state already */
	assert_int_equal(lost_all(), 0);
}

/* No room for a row: the call is told as lost; in the hash there may be some. */
static void test_hash(void **state)
{
	(void)state;
	conf.row_slots = 0;
	read_in(0, &ext4);
	tick(5);
	read_out(0, 3);
	assert_timed(OP_READ, 1, 5, 3, 0);
	map_of(&op_rows_even)->refusals = 1;
	write_in(0, &ext4);
	write_out(0, 3);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* -T syscall: functions only tell the file, and no layer is entered. */
static void test_syscall_alone(void **state)
{
	struct op_sums s;

	(void)state;
	conf.layer = LAYER_SYSCALL;
	conf.op_extras = conf.call_noted = 1;
	sys_enter(NR_READ, 2, 0, 0, 0);
	tick(5);
	read_in(0, &ext4);
	tick(7);
	sys_exit(3);
	s = ops_counted(OP_READ, NULL);
	assert_int_equal(s.total_ns, 12);
	assert_int_equal(s.bytes, 3);
	sys_enter(NR_READ, 2, 0, 0, 0);
	read_in(0, &pipe_end); /* dup2() in between */
	sys_exit(3);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 1);
}

/* All returns were missed, as deep as they are kept: none of them holds up the next call. */
static void test_all_returns_missed(void **state)
{
	(void)state;
	for (u32 depth = 1; depth <= FRAMES; depth++)
		(depth & 1 ? read_in : write_in)(depth, &ext4);
	read_in(0, &ext4);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], FRAMES);
	tick(31);
	read_out(0, 1);
	assert_timed(OP_READ, 1, 31, 1, 0);
	assert_int_equal(lost_all(), FRAMES);
	read_out(0, 1);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
}

/* A return of another kind than the call's ends all that is in progress, not only the last. */
static void test_return_of_another_kind(void **state)
{
	(void)state;
	write_in(0, &ext4);
	read_in(1, &ext4);
	write_out(0, 1);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	write_out(0, 1);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 2);
	assert_timed(OP_WRITE, 0, 0, 0, 0);
}

/* Within operations: the functions of a file system are probed while calls are in them. Such a call
 * has no entry, and is not lost; a call that began later is told. */
static void test_probed_meanwhile(void **state)
{
	(void)state;
	conf.layer = LAYER_OPS;
	conf.waits = conf.cpu_split = 1;
	conf.misses_counted = 0;
	live.layers_ns = ~0ULL; /* functions are being probed */
	for (int i = 0; i < 3; i++) {
		tick(1);
		sys_enter(NR_READ, 2, 0, 0, 0);
		vfs_in(OP_READ, &ext4);
		tick(5);
		if (i == 1)
			live.layers_ns = machine.now;
		fs_out(OP_READ, 7);
		vfs_out(OP_READ, 7);
		sys_exit(7);
		assert_int_equal(lost_all(), i / 2);
	}
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 3);
	assert_int_equal(ops_counted(OP_READ, NULL).strata[ST_VFS], 15);
}

/* A layer entered earlier, for a file known at once, says nothing about a file that is being
 * opened. */
static void test_open_after_others(void **state)
{
	u64 *args = at(0)->args;
	struct inode empty = {};

	(void)state;
	read_in(0, &lower);
	read_out(0, 1);
	ext4.f.f_inode = &empty;
	args[1] = (u64)&ext4.f;
	enter_vfs_open(args);
	tick(17);
	ext4.f.f_inode = &ext4.inode;
	args[2] = 0;
	leave_vfs_open(args);
	assert_timed(OP_OPEN, 1, 17, 0, 0);
}

/* In which row a call is: its operation and file system alone, in a slot if it has one. */
static void test_row(void **state)
{
	const struct op_key *key;

	(void)state;
	read_in(0, &ext4);
	read_out(0, 1);
	assert_int_equal(map_count(&op_rows_even), 0);
	assert_timed(OP_READ, 1, 0, 1, 0);
	conf.row_slots = 0;
	read_in(0, &ext4);
	read_out(0, 1);
	assert_int_equal(map_count(&op_rows_even), 1);
	key = (const void *)map_of(&op_rows_even)->entries->key;
	assert_int_equal(key->op, OP_READ);
	assert_int_equal(key->fs, (u64)&ext4.type);
	assert_int_equal(key->call, 0);
	assert_int_equal(key->cache, CACHE_NONE);
	assert_timed(OP_READ, 2, 0, 2, 0);
}

static struct io_ring_ctx ring_ctx;
static struct io_kiocb req;

/* Whole operations are asked for, and alice submits a request to read @f. */
static void submit_read(struct kfile *f)
{
	static const u8 kinds[URING_OPS] = { [22] = OP_READ };

	data_set(uring_kinds, kinds, sizeof(kinds));
	conf.layer = LAYER_OPS;
	conf.waits = conf.cpu_split = conf.async = conf.uring = 1;
	conf.records = conf.file_details = conf.call_noted = 1;
	req = (struct io_kiocb){ .opcode = 22, .ctx = &ring_ctx, .file = &f->f };
	uring_submit(&req);
}

/* The file system's function is called with the struct kiocb that is at @kiocb. */
static void executes(const void *kiocb)
{
	u64 ctx[8] = { (u64)kiocb, 4096 };

	tick(3);
	enter_read(ctx);
	tick(5);
	leave_read(ctx);
	tick(7);
}

/* A request of io_uring is on the file that its file system's function is called with, whatever it
 * points to when it completes. */
static void test_file_of_a_request(void **state)
{
	const struct slow_op *r;

	(void)state;
	ext4.f.f_flags = 0;
	submit_read(&ext4);
	executes(&req);
	req.file = &pipe_end.f;
	uring_complete(&req, 1);
	assert_ops(OP_URING, 1, 15, (u64[ST_N]){ [ST_SYSCALL] = 10, [ST_FS] = 5 });
	r = newest_record();
	assert_int_equal(r->ino, 23);
	assert_int_equal(r->cache, CACHE_HIT);
	ext4.f.f_flags = O_DIRECT;
	submit_read(&ext4);
	executes(&req);
	uring_complete(&req, 1);
	assert_int_equal(newest_record()->cache, CACHE_DIRECT);
	/* the first one counts: it has a file now */
	submit_read(&lower);
	executes(&req);
	req.file = &ext4.f;
	executes(&req);
	uring_complete(&req, 1);
	assert_int_equal(newest_record()->ino, 29);
	assert_int_equal(lost_all(), 0);
}

/* A call for something else tells nothing of it: then its completion does. */
static void test_file_of_something_else(void **state)
{
	struct kiocb other = { .ki_filp = &lower.f };

	(void)state;
	submit_read(&ext4);
	executes(&other);
	uring_complete(&req, 1);
	assert_int_equal(newest_record()->ino, 23);
	/* nor does any where io_uring is not traced, but libaio is */
	submit_read(&ext4);
	conf.uring = 0;
	executes(&req);
	conf.uring = 1;
	req.file = &lower.f;
	uring_complete(&req, 1);
	assert_int_equal(newest_record()->ino, 29);
}

/* A file that is not traced is none: at its completion it is looked at once more, and rejected. */
static void test_file_of_a_request_not_traced(void **state)
{
	(void)state;
	submit_read(&pipe_end);
	executes(&req);
	uring_complete(&req, 1);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	conf.file_filter = conf.n_files = 1;
	lists.files[0] = (struct filter_file){ .ino = 29, .dev = 8 << MINOR_BITS | 1 };
	submit_read(&ext4);
	executes(&req);
	uring_complete(&req, 1);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 0);
	submit_read(&lower);
	executes(&req);
	uring_complete(&req, 1);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

/* A thread that executes a call, and no request, is timed as ever; so is a thread that executes
 * neither. */
static void test_calls_beside_requests(void **state)
{
	struct kiocb kiocb = { .ki_filp = &lower.f };

	(void)state;
	submit_read(&ext4);
	uring_complete(&req, 1);
	executes(&kiocb);
	sys_enter(NR_READ, 2, 0, 0, 0);
	vfs_in(OP_READ, &ext4);
	executes(&kiocb);
	vfs_out(OP_READ, 1);
	sys_exit(1);
	assert_ops(OP_READ, 1, 15, (u64[ST_N]){ [ST_VFS] = 10, [ST_FS] = 5 });
	assert_int_equal(newest_record()->ino, 23);
}

/* A request that comes to its file system twice, the first time at once: both are charged. */
static void test_request_twice_in_file_system(void **state)
{
	u64 ctx[8] = { (u64)&req, 4096 };

	(void)state;
	submit_read(&ext4);
	enter_read(ctx);
	tick(5);
	leave_read(ctx);
	tick(3);
	enter_read(ctx);
	tick(7);
	leave_read(ctx);
	uring_complete(&req, 1);
	assert_ops(OP_URING, 1, 15, (u64[ST_N]){ [ST_SYSCALL] = 3, [ST_FS] = 12 });
}

/* A request that goes through the VFS is in the VFS before and after the file system. */
static void test_request_through_the_vfs(void **state)
{
	(void)state;
	submit_read(&ext4);
	tick(3);
	vfs_in(OP_FSYNC, &ext4);
	tick(5);
	fs_in(OP_FSYNC, &ext4);
	tick(7);
	fs_out(OP_FSYNC, 0);
	tick(11);
	vfs_out(OP_FSYNC, 0);
	tick(13);
	uring_complete(&req, 1);
	assert_ops(OP_URING, 1, 39, (u64[ST_N]){ [ST_SYSCALL] = 16, [ST_VFS] = 16, [ST_FS] = 7 });
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_calls),
		TEST(test_nested),
		TEST(test_deep),
		TEST(test_returns_missed),
		TEST(test_return_of_a_stranger),
		TEST(test_queued_uring),
		TEST(test_queued_aio),
		TEST(test_queued_unseen),
		TEST(test_results),
		TEST(test_min),
		TEST(test_open),
		TEST(test_functions),
		TEST(test_kprobes),
		TEST(test_filter),
		TEST(test_hash),
		TEST(test_syscall_alone),
		TEST(test_all_returns_missed),
		TEST(test_return_of_another_kind),
		TEST(test_probed_meanwhile),
		TEST(test_open_after_others),
		TEST(test_row),
		TEST(test_file_of_a_request),
		TEST(test_file_of_something_else),
		TEST(test_file_of_a_request_not_traced),
		TEST(test_calls_beside_requests),
		TEST(test_request_twice_in_file_system),
		TEST(test_request_through_the_vfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
