// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on operations: which calls are some, whose they are and on what, in which
 * row they are counted and what is sent of them. In a machine that is made up; see
 * kernel/machine.h.
 */
#include "kernel/machine.h"

enum { EXT4_DEV = 8 << MINOR_BITS | 1, XFS_DEV = 8 << MINOR_BITS | 17 };

static struct kfile ext4, xfs, pipe_end, directory, disk_file;
static struct ktask alice, bob;

static int start(void **state)
{
	(void)state;
	machine_start();
	file_init(&ext4, "ext4", EXT4_DEV, 23, S_IFREG | 0644);
	file_init(&xfs, "xfs", XFS_DEV, 29, S_IFREG);
	file_init(&pipe_end, "pipefs", 12, 31, 0010000);
	file_init(&directory, "ext4", EXT4_DEV, 37, S_IFDIR);
	file_init(&disk_file, "devtmpfs", 5, 41, S_IFBLK);
	disk_file.inode.i_rdev = XFS_DEV;
	task_init(&alice, 1100, 1101, "alice", 0);
	task_init(&bob, 1200, 1203, "bob", 0);
	for (struct ktask *t = &alice; t; t = t == &alice ? &bob : NULL) {
		t->fd[2] = &ext4.f;
		t->fd[3] = &xfs.f;
		t->fd[4] = &pipe_end.f;
		t->fd[5] = &directory.f;
		t->fd[6] = &disk_file.f;
	}
	cpu_is(1, &alice);
	return 0;
}

static struct kfile *file_of(u32 fd)
{
	return (struct kfile *)machine.current->fd[fd];
}

/* Current reads or writes @fd in @ns, of which a third each in the call, the VFS and the file
 * system. */
static void call_through(u32 kind, u32 fd, u64 ns, long ret)
{
	sys_enter(kind == OP_READ ? NR_READ : NR_WRITE, fd, 0, 4096, 0);
	tick(ns / 6);
	vfs_in(kind, file_of(fd));
	tick(ns / 6);
	fs_in(kind, file_of(fd));
	tick(ns / 3);
	fs_out(kind, ret);
	tick(ns / 6);
	vfs_out(kind, ret);
	tick(ns / 6);
	sys_exit(ret);
}

static void call_simply(u64 nr, u64 fd, u64 ns, long ret)
{
	sys_enter(nr, fd, 0, 0, 0);
	tick(ns);
	sys_exit(ret);
}

static u64 counted(u32 kind)
{
	return ops_counted(kind, NULL).count;
}

/* How many operations are in the row with this key, in the hash. */
static u64 counted_by(u32 kind, u64 first, u64 second)
{
	const struct op_key *key;
	struct entry *e;
	u64 n = 0;

	for (e = map_of(&op_rows_even)->entries; e; e = e->hh.next) {
		key = (const void *)e->key;
		if (key->op == kind && key->by[0] == first && key->by[1] == second)
			n += ((struct op_sums *)e->value)->count;
	}
	return n;
}

static void test_cached_read(void **state)
{
	struct op_sums s;

	(void)state;
	call_through(OP_READ, 2, 6000, 4096);
	call_through(OP_READ, 2, 600, -5);
	call_through(OP_WRITE, 2, 6000, 11);
	s = ops_counted(OP_READ, NULL);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.errors, 1);
	assert_int_equal(s.bytes, 4096);
	assert_int_equal(s.total_ns, 6600);
	assert_int_equal(s.max_ns, 6000);
	assert_int_equal(s.strata[ST_SYSCALL], 2200);
	assert_int_equal(s.strata[ST_VFS], 2200);
	assert_int_equal(s.strata[ST_FS], 2200);
	assert_int_equal(s.device_bytes, 0);
	assert_int_equal(counted(OP_WRITE), 1);
	assert_int_equal(lost_all(), 0);
}

/* The functions of another file system, or none at all, are probed. */
static void test_layers_that_are_not_probed(void **state)
{
	struct op_sums s;

	(void)state;
	sys_enter(NR_READ, 2, 0, 0, 0);
	tick(5);
	vfs_in(OP_READ, &ext4);
	tick(7);
	vfs_out(OP_READ, 0);
	tick(11);
	sys_exit(0);
	s = ops_counted(OP_READ, NULL);
	assert_int_equal(s.strata[ST_SYSCALL], 16);
	assert_int_equal(s.strata[ST_VFS], 7);
	assert_int_equal(s.strata[ST_FS], 0);
	call_simply(NR_READ, 2, 13, 0);
	s = ops_counted(OP_READ, NULL);
	assert_int_equal(s.strata[ST_SYSCALL], 29);
	assert_int_equal(s.count, 2);
}

/* Calls within calls: only the outermost of a layer counts, whatever is called in what. */
static void test_layers_within_layers(void **state)
{
	struct op_sums s;

	(void)state;
	sys_enter(NR_WRITE, 2, 0, 0, 0);
	tick(1);
	vfs_in(OP_WRITE, &ext4);
	tick(2);
	fs_in(OP_WRITE, &ext4);
	tick(4);
	vfs_in(OP_FSYNC, &ext4); /* O_SYNC */
	tick(8);
	fs_in(OP_FSYNC, &ext4);
	tick(16);
	fs_out(OP_FSYNC, 0);
	tick(32);
	vfs_out(OP_FSYNC, 0);
	tick(64);
	fs_out(OP_WRITE, 0);
	tick(128);
	fs_in(OP_WRITE, &ext4); /* a second time */
	tick(256);
	fs_out(OP_WRITE, 0);
	tick(512);
	vfs_out(OP_WRITE, 0);
	tick(1024);
	vfs_in(OP_WRITE, &ext4);
	tick(2048);
	vfs_out(OP_WRITE, 0);
	sys_exit(0);
	s = ops_counted(OP_WRITE, NULL);
	assert_int_equal(s.strata[ST_SYSCALL], 1 + 1024);
	assert_int_equal(s.strata[ST_VFS], 2 + 128 + 512 + 2048);
	assert_int_equal(s.strata[ST_FS], 4 + 8 + 16 + 32 + 64 + 256);
	assert_int_equal(s.total_ns, 4095);
	assert_int_equal(s.count, 1);
}

/* A file system's function without a VFS function around it. */
static void test_file_system_alone(void **state)
{
	struct op_sums s;

	(void)state;
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	tick(3);
	fs_in(OP_FSYNC, &ext4);
	tick(5);
	fs_out(OP_FSYNC, 0);
	tick(7);
	sys_exit(0);
	s = ops_counted(OP_FSYNC, NULL);
	assert_int_equal(s.strata[ST_SYSCALL], 10);
	assert_int_equal(s.strata[ST_FS], 5);
}

/* A VFS function that a file system calls by itself is part of the file system. */
static void test_vfs_within_file_system(void **state)
{
	struct op_sums s;

	(void)state;
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	tick(3);
	fs_in(OP_FSYNC, &ext4);
	tick(5);
	vfs_in(OP_FSYNC, &ext4);
	tick(7);
	vfs_out(OP_FSYNC, 0);
	tick(11);
	fs_out(OP_FSYNC, 0);
	tick(13);
	sys_exit(0);
	s = ops_counted(OP_FSYNC, NULL);
	assert_int_equal(s.strata[ST_SYSCALL], 3 + 13);
	assert_int_equal(s.strata[ST_VFS], 0);
	assert_int_equal(s.strata[ST_FS], 5 + 7 + 11);
}

/* The thread's earlier time in a file system, longer or shorter, is no part of a call that enters
 * none. */
static void test_after_a_file_system(void **state)
{
	(void)state;
	for (u64 before = 6; before <= 6000; before *= 1000) {
		call_through(OP_WRITE, 2, before, 1);
		sys_enter(NR_READ, 2, 0, 0, 0);
		tick(3);
		vfs_in(OP_READ, &ext4);
		tick(7);
		vfs_out(OP_READ, 0);
		tick(11);
		sys_exit(0);
	}
	assert_ops(OP_READ, 2, 21, (u64[ST_N]){ [ST_SYSCALL] = 28, [ST_VFS] = 14 });
}

/* The file is the one that the VFS was called with, though the descriptor means another by now. */
static void test_dup2_in_between(void **state)
{
	(void)state;
	sys_enter(NR_READ, 2, 0, 0, 0);
	vfs_in(OP_READ, &pipe_end);
	vfs_out(OP_READ, 0);
	sys_exit(0);
	assert_int_equal(counted(OP_READ), 0);
	sys_enter(NR_READ, 4, 0, 0, 0);
	vfs_in(OP_READ, &ext4);
	vfs_out(OP_READ, 0);
	sys_exit(0);
	assert_int_equal(counted(OP_READ), 1);
	assert_int_equal(lost_all(), 0);
}

/* Within a VFS function within another it goes back to the VFS, not to the call. */
static void test_file_system_within_two(void **state)
{
	struct op_sums s;

	(void)state;
	sys_enter(NR_WRITE, 2, 0, 0, 0);
	vfs_in(OP_WRITE, &ext4);
	tick(3);
	vfs_in(OP_WRITE, &ext4);
	tick(5);
	fs_in(OP_WRITE, &ext4);
	tick(7);
	fs_out(OP_WRITE, 1);
	tick(11);
	vfs_out(OP_WRITE, 1);
	tick(13);
	vfs_out(OP_WRITE, 1);
	tick(17);
	sys_exit(1);
	s = ops_counted(OP_WRITE, NULL);
	assert_int_equal(s.strata[ST_SYSCALL], 17);
	assert_int_equal(s.strata[ST_VFS], 3 + 5 + 11 + 13);
	assert_int_equal(s.strata[ST_FS], 7);
}

/* A call that ends where no return was seen was in that layer to its end; that is told, unless the
 * kernel counts such returns itself. */
static void test_ends_in_a_layer(void **state)
{
	(void)state;
	for (u32 counted_there = 0; counted_there < 2; counted_there++) {
		conf.misses_counted = counted_there;
		sys_enter(NR_READ, 2, 0, 0, 0);
		tick(3);
		vfs_in(OP_READ, &ext4);
		tick(5);
		sys_exit(0);
		sys_enter(NR_WRITE, 2, 0, 0, 0);
		vfs_in(OP_WRITE, &ext4);
		tick(7);
		fs_in(OP_WRITE, &ext4);
		tick(11);
		sys_exit(0);
		assert_int_equal(live.returns_missed, 2);
	}
	assert_ops(OP_READ, 2, 8, (u64[ST_N]){ [ST_SYSCALL] = 6, [ST_VFS] = 10 });
	assert_ops(OP_WRITE, 2, 18, (u64[ST_N]){ [ST_VFS] = 14, [ST_FS] = 22 });
}

static u32 barriers, preempted_at;

static void preempt(void)
{
	if (barriers++ != preempted_at)
		return;
	machine.at_barrier = NULL;
	switch_to(&idle[1], false);
	tick(1000);
	switch_to(&alice, false);
}

/*
 * Where programs can be preempted, a switch may come between two writes of a program. The time off
 * the CPU is told as such while the operation is in progress, and as time of the layer while the
 * layer is just being charged. In each case the strata add up.
 */
static void test_preempted_in_a_program(void **state)
{
	static const u64 in[][ST_PREEMPT + 1] = {
		{ [ST_SYSCALL] = 1000 }, /* it has its start, but has not begun */
		{ [ST_PREEMPT] = 1000 }, /* at the VFS's entry, the file system's, its return */
		{ [ST_PREEMPT] = 1000 }, { [ST_PREEMPT] = 1000 },
		{ [ST_VFS] = 1000 }, /* at the second entry, before and after what was so far */
		{ [ST_FS] = 1000 },      { [ST_PREEMPT] = 1000 }, /* at both returns */
		{ [ST_PREEMPT] = 1000 }, {},                      /* it is over */
	};

	(void)state;
	for (preempted_at = 0; preempted_at < sizeof(in) / sizeof(*in); preempted_at++) {
		const u64 *more = in[preempted_at];

		start(NULL);
		call_simply(NR_STAT, 0, 1, 0); /* now it has a state */
		barriers = 0;
		machine.at_barrier = preempt;
		sys_enter(NR_READ, 2, 0, 0, 0);
		tick(1);
		vfs_in(OP_READ, &ext4);
		tick(2);
		fs_in(OP_READ, &ext4);
		tick(4);
		fs_out(OP_READ, 0);
		tick(8);
		fs_in(OP_READ, &ext4); /* a second time, by the longer way */
		tick(16);
		fs_out(OP_READ, 0);
		tick(32);
		vfs_out(OP_READ, 0);
		tick(64);
		sys_exit(0);
		assert_null(machine.at_barrier);
		assert_ops(OP_READ, 1, more == in[8] ? 127 : 1127,
			   (u64[ST_N]){ [ST_SYSCALL] = 1 + 64 + more[ST_SYSCALL],
					[ST_VFS] = 2 + 8 + 32 + more[ST_VFS],
					[ST_FS] = 4 + 16 + more[ST_FS],
					[ST_PREEMPT] = more[ST_PREEMPT] });
		assert_int_equal(lost_all(), 0);
	}
}

/* With page faults traced, too, a call that begins within another is still told as lost; one that
 * begins within a fault is not. */
static void test_unmatched_beside_faults(void **state)
{
	(void)state;
	conf.faults = 1;
	fault_at(0x1000);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	assert_int_equal(lost_all(), 0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	conf.faults = 0;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
}

/* Returns whose entry was not seen, and the other way round. */
static void test_missed_functions(void **state)
{
	(void)state;
	conf.misses_counted = 0;
	sys_enter(NR_READ, 2, 0, 0, 0);
	vfs_in(OP_READ, &ext4);
	fs_in(OP_READ, &ext4);
	tick(10);
	vfs_out(OP_READ, 0);
	tick(10);
	sys_exit(0);
	assert_int_equal(live.returns_missed, 1);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	vfs_out(OP_FSYNC, 0);
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	assert_int_equal(live.returns_missed, 1);
	conf.misses_counted = 1;
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	fs_out(OP_FSYNC, 0);
	vfs_in(OP_FSYNC, &ext4);
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	assert_int_equal(live.returns_missed, 1);
	assert_int_equal(counted(OP_FSYNC), 2);
}

/* The clock of NMIs may step back: then nothing is negative. */
static void test_clock_steps_back(void **state)
{
	struct op_sums s;

	(void)state;
	sys_enter(NR_READ, 2, 0, 0, 0);
	tick(100);
	vfs_in(OP_READ, &ext4);
	machine.now -= 30;
	fs_in(OP_READ, &ext4);
	tick(50);
	fs_out(OP_READ, 0);
	vfs_out(OP_READ, 0);
	sys_exit(0);
	s = ops_counted(OP_READ, NULL);
	assert_int_equal(s.total_ns, 120);
	assert_int_equal(s.strata[ST_SYSCALL], 100);
	assert_int_equal(s.strata[ST_VFS], 0);
	assert_int_equal(s.strata[ST_FS], 20);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	machine.now -= 10;
	sys_exit(0);
	assert_int_equal(ops_counted(OP_META, NULL).total_ns, 0);
}

/* I/O on a pipe is not traced; with all_files everything is traced. */
static void test_which_files(void **state)
{
	(void)state;
	call_through(OP_READ, 4, 60, 1);
	call_simply(NR_FSYNC, 4, 60, 0);
	call_simply(NR_OPEN, 0, 60, 4);
	call_simply(NR_READ, 4, 60, 0); /* never came to vfs_read() */
	for (u32 kind = OP_READ; kind < OP_N; kind++)
		assert_int_equal(counted(kind), 0);
	call_simply(NR_FSYNC, 5, 60, 0);
	call_simply(NR_FSYNC, 6, 60, 0);
	call_simply(NR_OPEN, 0, 60, 2);
	call_simply(NR_OPEN, 0, 60, -2);
	call_simply(NR_READ, 7, 60, -9); /* no such descriptor */
	call_simply(NR_READ, 8, 60, -9);
	call_simply(NR_STAT, 0, 60, 0);
	assert_int_equal(counted(OP_FSYNC), 2);
	assert_int_equal(counted(OP_OPEN), 2);
	assert_int_equal(counted(OP_READ), 2);
	assert_int_equal(counted(OP_META), 1);
	conf.all_files = 1;
	call_through(OP_READ, 4, 60, 1);
	call_simply(NR_FSYNC, 4, 60, 0);
	assert_int_equal(counted(OP_READ), 3);
	assert_int_equal(counted(OP_FSYNC), 3);
	assert_int_equal(lost_all(), 0);
}

/* By descriptor of the second argument, and splice's: whichever of two is no pipe. */
static void test_which_argument(void **state)
{
	unsigned short made[CALL_MAX] = {
		[5] = CALL_DESC(OP_COPY, FILE_ARG1), [6] = CALL_DESC(OP_COPY, FILE_ARG0_OR_2)
	};

	(void)state;
	data_set(calls, made, sizeof(made));
	conf.by = BY_FILE;
	conf.row_slots = 0;
	conf.file_details = 1;
	sys_enter(5, 2, 3, 4, 0);
	sys_exit(7);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 1);
	sys_enter(6, 2, 0, 3, 0);
	sys_exit(7);
	assert_int_equal(counted_by(OP_COPY, EXT4_DEV, 23), 1);
	sys_enter(6, 4, 0, 3, 0);
	sys_exit(7);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 2);
	sys_enter(6, 7, 0, 3, 0);
	sys_exit(7);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 3);
	sys_enter(6, 4, 0, 4, 0);
	sys_exit(7);
	assert_int_equal(counted(OP_COPY), 4);
	assert_int_equal(ops_counted(OP_COPY, NULL).bytes, 28);
}

enum { NR_COPY = 5, NR_SPLICE = 6, NR_SENDFILE = 7 };

/* Copies have rows by @by. */
static void copies_by(enum by_key by)
{
	unsigned short made[CALL_MAX] = {
		[NR_COPY] = CALL_DESC(OP_COPY, FILE_ARG0_OR_2),
		[NR_SPLICE] = CALL_DESC(OP_COPY, FILE_ARG0_OR_2),
		[NR_SENDFILE] = CALL_DESC(OP_COPY, FILE_ARG1),
	};

	data_set(calls, made, sizeof(made));
	conf.by = by;
	conf.row_slots = 0;
	conf.file_details = 1;
}

static void copy(u64 nr, u64 first, u64 second, u64 third, long ret)
{
	sys_enter(nr, first, second, third, 0);
	tick(600);
	sys_exit(ret);
}

/* Number and bytes of the copies to a file, which have no times. */
static void assert_copied_to(u64 count, u64 bytes)
{
	struct op_sums s = ops_counted(OP_COPY_TO, NULL);

	assert_int_equal(s.count, count);
	assert_int_equal(s.bytes, bytes);
	assert_int_equal(s.total_ns, 0);
	assert_int_equal(s.errors, 0);
	assert_int_equal(lost_all(), 0);
}

/* A copy counts once, in the row of the file which it reads. The file to which it writes has its
 * bytes. */
static void test_copy_of_two_files(void **state)
{
	(void)state;
	copies_by(BY_FILE);
	copy(NR_COPY, 2, 0, 3, 4099);
	copy(NR_SENDFILE, 3, 2, 0, 101);
	copy(NR_COPY, 2, 0, 3, -28);
	copy(NR_COPY, 2, 0, 3, 0);
	assert_int_equal(counted_by(OP_COPY, EXT4_DEV, 23), 4);
	assert_int_equal(ops_counted(OP_COPY, NULL).count, 4);
	assert_int_equal(ops_counted(OP_COPY, NULL).total_ns, 2400);
	assert_int_equal(counted_by(OP_COPY_TO, XFS_DEV, 29), 2);
	assert_copied_to(2, 4200);
	/* with a pipe or a socket at one end there is one file */
	copy(NR_SPLICE, 2, 0, 4, 7);
	copy(NR_SPLICE, 4, 0, 3, 7);
	copy(NR_SENDFILE, 4, 2, 0, 7);
	assert_int_equal(counted_by(OP_COPY, EXT4_DEV, 23), 6);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 1);
	/* nor is there a second one in a file copied to itself */
	copy(NR_COPY, 2, 0, 2, 11);
	assert_copied_to(2, 4200);
	/* the state of an earlier copy is no part of another operation */
	call_simply(NR_FSYNC, 2, 60, 0);
	assert_copied_to(2, 4200);
}

/* ioctl() returns 0 for a clone: its bytes are those that the two files share. */
static void test_clone_of_two_files(void **state)
{
	enum { NR_IOCTL = 16, CLONE = 0x40049409, CLONE_RANGE = 0x4020940d };
	static const struct {
		s64 source;
		u64 offset, bytes, to;
	} part = { 2, 101, 53, 0 }, rest = { 2, 9901, 0, 0 }, past = { 2, 10009, 0, 0 };
	unsigned short made[CALL_MAX] = { [NR_IOCTL] = CALL_DESC(OP_META, FILE_BY_ARGS) };
	unsigned short where[CALL_MAX] = { [NR_IOCTL] = OFFSET_IOCTL };

	(void)state;
	copies_by(BY_FILE);
	data_set(calls, made, sizeof(made));
	data_set(call_offsets, where, sizeof(where));
	conf.clones = CLONES_TOO;
	ext4.inode.i_size = 10007;
	copy(NR_IOCTL, 3, CLONE, 2, 0);
	assert_int_equal(counted_by(OP_COPY, EXT4_DEV, 23), 1);
	assert_int_equal(ops_counted(OP_COPY, NULL).bytes, 10007);
	assert_copied_to(1, 10007);
	copy(NR_IOCTL, 3, CLONE_RANGE, (u64)&part, 0);
	assert_copied_to(2, 10007 + 53);
	copy(NR_IOCTL, 3, CLONE_RANGE, (u64)&rest, 0);
	assert_copied_to(3, 10007 + 53 + 106);
	copy(NR_IOCTL, 3, CLONE_RANGE, (u64)&past, 0);
	copy(NR_IOCTL, 3, CLONE, 2, -18);       /* EXDEV */
	copy(NR_IOCTL, 3, CLONE_RANGE, 8, -14); /* no such address */
	assert_int_equal(ops_counted(OP_COPY, NULL).count, 6);
	assert_int_equal(ops_counted(OP_COPY, NULL).errors, 2);
	assert_copied_to(3, 10007 + 53 + 106);
	copy(NR_IOCTL, 3, 0x80086601, 2, 0); /* FS_IOC_GETFLAGS */
	assert_int_equal(counted(OP_META), 1);
	/* with copies alone, other commands are no operations */
	conf.clones = CLONES_ONLY;
	copy(NR_IOCTL, 3, CLONE, 2, 0);
	copy(NR_IOCTL, 3, 0x80086601, 2, 0);
	assert_int_equal(counted(OP_META), 1);
	assert_int_equal(ops_counted(OP_COPY, NULL).count, 7);
	/* a copy that returns 0 has no bytes, whatever came before */
	copies_by(BY_FILE);
	copy(NR_COPY, 2, 0, 3, 0);
	assert_copied_to(4, 2 * 10007 + 53 + 106);
	assert_int_equal(ops_counted(OP_COPY, NULL).bytes, 2 * 10007 + 53 + 106);
}

/* Other rows differ by file system, too; and those by thread only so. */
static void test_copy_in_other_rows(void **state)
{
	(void)state;
	copies_by(BY_DEV);
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_int_equal(counted_by(OP_COPY, EXT4_DEV, 0), 1);
	assert_int_equal(counted_by(OP_COPY_TO, XFS_DEV, 0), 1);
	assert_copied_to(1, 4099);
	conf.by = BY_PID;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_copied_to(2, 8198);
	xfs.sb.s_type = &ext4.type;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_copied_to(2, 8198);
	conf.by = BY_DEV;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_copied_to(3, 12297);
	assert_int_equal(counted(OP_COPY), 4);
}

/* If the filters choose one file only, the operation belongs to this one, with its time. */
static void test_copy_filtered(void **state)
{
	(void)state;
	copies_by(BY_FILE);
	conf.file_filter = conf.n_files = 1;
	lists.files[0] = (struct filter_file){ .ino = 29, .dev = XFS_DEV };
	copy(NR_COPY, 2, 0, 3, 4099);
	copy(NR_SENDFILE, 3, 2, 0, 101);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 2);
	copy(NR_COPY, 3, 0, 2, 7);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 3);
	copy(NR_COPY, 2, 0, 6, 7);
	copy(NR_COPY, 2, 0, 4, 7);
	assert_int_equal(counted(OP_COPY), 3);
	assert_copied_to(0, 0);
	conf.n_files = 0;
	conf.n_devs = 1;
	lists.devs[0] = XFS_DEV;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 4);
	conf.file_filter = conf.n_devs = 0;
	conf.n_fs = 1;
	snprintf((char *)lists.fs[0], sizeof(lists.fs[0]), "xfs");
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 5);
	assert_int_equal(counted(OP_COPY), 5);
	assert_copied_to(0, 0);
}

/* A copy that counts in no row counts in none of its two files. */
static void test_copy_not_counted(void **state)
{
	(void)state;
	copies_by(BY_FILE);
	conf.op_extras = 1;
	conf.min_ns = 601;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_copied_to(0, 0);
	conf.min_ns = 600;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_copied_to(1, 4099);
	conf.uncounted = 1;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_copied_to(1, 4099);
	conf.uncounted = 0;
	conf.layer = LAYER_SYSCALL;
	copy(NR_COPY, 2, 0, 3, 4099);
	assert_copied_to(1, 4099);
	/* a bad descriptor at both ends: there is no file */
	copy(NR_COPY, 7, 0, 7, -9);
	assert_int_equal(counted_by(OP_COPY, 0, 0), 1);
}

/* Calls of 32-bit programs have numbers and registers of their own. */
static void test_compat_calls(void **state)
{
	unsigned short made[CALL_MAX] = {
		[9] = CALL_DESC(OP_COPY, FILE_ARG1) << 8, [10] = CALL_DESC(OP_FSYNC, FILE_ARG0)
	};

	(void)state;
	data_set(calls, made, sizeof(made));
	conf.by = BY_FILE;
	conf.row_slots = 0;
	conf.file_details = 1;
	call_simply(9, 2, 10, 0);
	assert_int_equal(counted(OP_COPY), 0);
	alice.t.thread_info.status = COMPAT_BIT;
	machine.current->regs = (struct pt_regs){ .cx = 3, .si = 2, .orig_ax = 9 };
	u64 ctx[] = { (u64)&machine.current->regs, 9 };
	on_sys_enter(ctx);
	sys_exit(5);
	assert_int_equal(counted_by(OP_COPY, XFS_DEV, 29), 1);
	call_simply(10, 2, 10, 0);
	assert_int_equal(counted(OP_FSYNC), 0);
	call_simply(CALL_MAX + 9, 2, 10, 0); /* no such call */
	assert_int_equal(counted(OP_COPY), 1);
}

/* Each key of --by keeps two of whatever it is about apart. */
static void by(enum by_key key, u64 a, u64 a2, u64 b, u64 b2)
{
	start(NULL);
	conf.by = key;
	conf.row_slots = 0;
	conf.file_details = 1;
	conf.op_extras = 1;
	for (int i = 0; i < 5; i++) {
		cpu_is(0, i < 3 ? &alice : &bob);
		call_through(OP_READ, i < 3 ? 2 : 3, 600, 100);
	}
	assert_int_equal(counted_by(OP_READ, a, a2), 3);
	assert_int_equal(counted_by(OP_READ, b, b2), 2);
	assert_int_equal(counted(OP_READ), 5);
}

static void test_by(void **state)
{
	u64 comms[2][2] = {};

	(void)state;
	memcpy(comms[0], "alice", 5);
	memcpy(comms[1], "bob", 3);
	by(BY_PID, 1100, 0, 1200, 0);
	assert_string_equal(
		((struct thread_name *)bpf_map_lookup_elem(&thread_names_even, &(u64){ 1100 }))
			->comm,
		"alice");
	by(BY_TID, 1101, 0, 1203, 0);
	assert_string_equal(
		((struct thread_name *)bpf_map_lookup_elem(&thread_names_even, &(u64){ 1203 }))
			->comm,
		"bob");
	by(BY_THREAD, 1100ULL << 32 | 1101, 0, 1200ULL << 32 | 1203, 0);
	assert_int_equal(((struct thread_name *)bpf_map_lookup_elem(&thread_names_even,
								    &(u64){ 1200ULL << 32 | 1203 }))
				 ->cgroup,
			 8200);
	by(BY_COMM, comms[0][0], comms[0][1], comms[1][0], comms[1][1]);
	by(BY_CGROUP, 8100, 0, 8200, 0);
	by(BY_DEV, EXT4_DEV, 0, XFS_DEV, 0);
	by(BY_FILE, EXT4_DEV, 23, XFS_DEV, 29);
}

/* A process has the name of its first thread. */
static void test_by_pid_names_the_process(void **state)
{
	struct thread_name *n;

	(void)state;
	conf.by = BY_PID;
	conf.row_slots = 0;
	bob.t.group_leader = &alice.t;
	cpu_is(0, &bob);
	call_through(OP_READ, 2, 60, 1);
	n = bpf_map_lookup_elem(&thread_names_even, &(u64){ 1200 });
	assert_non_null(n);
	assert_string_equal(n->comm, "alice");
}

/* Generations, block devices as files, and the device by which a file is known. */
static void test_by_file_identity(void **state)
{
	(void)state;
	conf.by = BY_FILE;
	conf.row_slots = 0;
	conf.file_details = 1;
	ext4.inode.i_generation = 77;
	call_through(OP_READ, 2, 60, 1);
	ext4.inode.i_generation = 78;
	call_through(OP_READ, 2, 60, 1);
	call_through(OP_READ, 6, 60, 1);
	assert_int_equal(counted_by(OP_READ, 77ULL << 32 | EXT4_DEV, 23), 1);
	assert_int_equal(counted_by(OP_READ, 78ULL << 32 | EXT4_DEV, 23), 1);
	assert_int_equal(counted_by(OP_READ, 1ULL << 31 | XFS_DEV, 41), 1);
}

/* --by cache, and what is direct. */
static void test_by_cache(void **state)
{
	const struct op_key *key;
	struct entry *e;
	u64 direct = 0, hit = 0, none = 0;

	(void)state;
	conf.by = BY_CACHE;
	conf.row_slots = 0;
	conf.file_details = 1;
	conf.op_extras = 1;
	call_through(OP_READ, 2, 60, 1);
	call_through(OP_WRITE, 2, 60, 1);
	call_simply(NR_FSYNC, 2, 60, 0);
	ext4.f.f_flags = O_DIRECT;
	call_through(OP_READ, 2, 60, 1);
	call_through(OP_READ, 2, 60, 1);
	call_through(OP_WRITE, 2, 60, 1);
	for (e = map_of(&op_rows_even)->entries; e; e = e->hh.next) {
		key = (const void *)e->key;
		none += key->cache == CACHE_NONE ? ((struct op_sums *)e->value)->count : 0;
		hit += key->cache == CACHE_HIT ? ((struct op_sums *)e->value)->count : 0;
		direct += key->cache == CACHE_DIRECT ? ((struct op_sums *)e->value)->count : 0;
	}
	assert_int_equal(none, 1);
	assert_int_equal(hit, 2);
	assert_int_equal(direct, 3);
}

static void rows_drop(void)
{
	struct kmap *rows = map_of(&op_rows_even);

	while (rows->entries)
		entry_free(rows, rows->entries);
}

/* Current reads @fd, and sleeps meanwhile. The cache class of its row. */
static u32 class_of_a_sleep(u32 fd)
{
	struct ktask *self = machine.current;
	u32 class = CACHE_N;
	struct entry *e;

	rows_drop();
	sys_enter(NR_READ, fd, 0, 4096, 0);
	vfs_in(OP_READ, file_of(fd));
	switch_to(&idle[1], true);
	tick(100);
	cpu_is(2, &bob);
	wake(self);
	cpu_is(1, &idle[1]);
	switch_to(self, false);
	vfs_out(OP_READ, 1);
	sys_exit(1);
	for (e = map_of(&op_rows_even)->entries; e; e = e->hh.next)
		class = ((const struct op_key *)(const void *)e->key)->cache;
	return class;
}

/* A read that slept on a file system without a block device may have waited for a server. */
static void test_sleeps_without_device(void **state)
{
	struct kfile nfs;

	(void)state;
	file_init(&nfs, "nfs", 23, 29, S_IFREG);
	alice.fd[3] = &nfs.f;
	conf.by = BY_CACHE;
	conf.row_slots = 0;
	conf.file_details = conf.op_extras = 1;
	assert_int_equal(class_of_a_sleep(2), CACHE_HIT);
	assert_int_equal(class_of_a_sleep(3), CACHE_UNKNOWN);
	nfs.f.f_flags = O_DIRECT;
	assert_int_equal(class_of_a_sleep(3), CACHE_DIRECT);
	nfs.f.f_flags = 0;
	rows_drop();
	call_through(OP_READ, 3, 60, 1);
	assert_int_equal(((const struct op_key *)map_of(&op_rows_even)->entries->key)->cache,
			 CACHE_HIT);
}

/* The cache class of a read of ext4 which waits for nothing and ends before page @page, when the
 * last window of readahead is [@start, @start + @size). @own: it submits a read. */
static u32 class_of_a_hit(u64 page, u64 start, u32 size, bool own)
{
	struct kdisk disk;
	struct bio bio;

	disk_init(&disk, 8, 0, true);
	ext4.f.f_ra = (struct file_ra_state){ start, size, (long long)page << 12 };
	rows_drop();
	sys_enter(NR_READ, 2, 0, 4096, 0);
	vfs_in(OP_READ, &ext4);
	if (own) {
		bio_init(&bio, &disk, REQ_OP_READ, 0, 4096);
		EVENT(on_bio_queue, &bio);
	}
	vfs_out(OP_READ, 1);
	sys_exit(1);
	return ((const struct op_key *)map_of(&op_rows_even)->entries->key)->cache;
}

/* Readahead brought the pages of its last window, and of the one before while that is read. */
static void test_hits_after_readahead(void **state)
{
	(void)state;
	conf.by = BY_CACHE;
	conf.row_slots = 0;
	conf.file_details = conf.op_extras = 1;
	assert_int_equal(class_of_a_hit(1, 0, 0, false), CACHE_HIT);
	assert_int_equal(class_of_a_hit(65, 64, 32, false), CACHE_HIT_AHEAD);
	assert_int_equal(class_of_a_hit(96, 64, 32, false), CACHE_HIT_AHEAD);
	assert_int_equal(class_of_a_hit(97, 64, 32, false), CACHE_HIT);
	assert_int_equal(class_of_a_hit(33, 64, 32, false), CACHE_HIT_AHEAD);
	assert_int_equal(class_of_a_hit(32, 64, 32, false), CACHE_HIT);
	/* a read of its own made the window, or the next one */
	assert_int_equal(class_of_a_hit(65, 64, 32, true), CACHE_HIT);
	assert_int_equal(class_of_a_hit(33, 64, 32, true), CACHE_HIT_AHEAD);
	/* nothing was read before */
	ext4.f.f_ra.prev_pos = -1;
	assert_int_equal(class_of_a_hit(0, 0, 32, false), CACHE_HIT);
}

/* -T syscall, and the calls of kind meta with -v: a row for each call. */
static void test_rows_by_call(void **state)
{
	const struct op_key *key;
	u64 stat = 0, other = 0;
	struct entry *e;

	(void)state;
	conf.call_noted = conf.op_extras = conf.meta_calls = 1;
	conf.row_slots = 0;
	call_simply(NR_STAT, 0, 5, 0);
	call_through(OP_READ, 2, 60, 1);
	for (e = map_of(&op_rows_even)->entries; e; e = e->hh.next) {
		key = (const void *)e->key;
		stat += key->call == NR_STAT && key->op == OP_META;
		other += key->call != 0 && key->op != OP_META;
	}
	assert_int_equal(stat, 1);
	assert_int_equal(other, 0);
	conf.meta_calls = 0;
	conf.layer = LAYER_SYSCALL;
	call_simply(NR_FSYNC, 2, 5, 0);
	call_simply(NR_FSYNC, 2, 5, 0);
	for (e = map_of(&op_rows_even)->entries; e; e = e->hh.next) {
		key = (const void *)e->key;
		other += key->call == NR_FSYNC ? ((struct op_sums *)e->value)->count : 0;
	}
	assert_int_equal(other, 2);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).total_ns, 10);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).strata[ST_SYSCALL], 0);
}

static void test_min(void **state)
{
	(void)state;
	conf.op_extras = 1;
	conf.min_ns = 600;
	call_through(OP_READ, 2, 594, 1);
	call_through(OP_READ, 2, 600, 1);
	call_through(OP_READ, 2, 606, 1);
	assert_int_equal(counted(OP_READ), 2);
}

/* Filters by process: each one alone, who passes and who does not. */
static void filtered(u64 alices, u64 bobs)
{
	struct ktask *both[] = { &alice, &bob };
	u64 before;

	conf.process_filter = 1;
	conf.thread_filter = conf.n_pids || conf.n_comms || conf.tracked;
	for (int i = 0; i < 2; i++) {
		cpu_is(0, both[i]);
		before = counted(OP_READ);
		call_through(OP_READ, 2, 60, 1);
		call_simply(NR_FSYNC, 2, 60, 0);
		assert_int_equal(counted(OP_READ) - before, i ? bobs : alices);
	}
	assert_int_equal(counted(OP_FSYNC), counted(OP_READ));
	assert_int_equal(lost_all(), 0);
}

static void test_filter_pid(void **state)
{
	(void)state;
	conf.n_pids = 2;
	lists.pids[0] = 9;
	lists.pids[1] = 1200;
	filtered(0, 1);
	lists.pids[1] = 1203; /* of the process, not of the thread */
	filtered(0, 0);
	conf.n_pids = 1;
	lists.pids[0] = 1100;
	lists.pids[1] = 1200;
	filtered(1, 0);
	conf.pidns_ino = 1; /* where every id is 1,000 less */
	filtered(0, 0);
	lists.pids[0] = 200;
	filtered(0, 1);
}

static void test_filter_comm(void **state)
{
	struct ktask leader;

	(void)state;
	conf.n_comms = 1;
	memcpy(lists.comms[0], "alice", 5);
	filtered(1, 0);
	memcpy(lists.comms[0], "alice\0\0\0x", 9);
	filtered(0, 0);
	memset(lists.comms[0], 0, 16);
	memcpy(lists.comms[0], "alice", 5);
	/* io_uring's threads have names of their own, but are their process's */
	task_init(&leader, 1200, 1200, "alice", 0);
	bob.t.group_leader = &leader.t;
	filtered(1, 0);
	bob.t.flags = PF_IO_WORKER;
	filtered(1, 1);
}

static void test_filter_cgroup(void **state)
{
	(void)state;
	conf.n_cgroups = 1;
	lists.cgroups[0] = 8200;
	filtered(0, 1);
	lists.cgroups[0] = 1; /* one above */
	filtered(1, 1);
	lists.cgroups[0] = 2;
	filtered(0, 0);
	conf.n_cgroups = 2;
	lists.cgroups[1] = 8100;
	filtered(1, 0);
	conf.n_pids = 1; /* both must pass */
	lists.pids[0] = 1200;
	filtered(0, 0);
}

static void fork_by(struct ktask *parent, struct ktask *child)
{
	u64 ctx[] = { (u64)parent, (u64)child };

	cpu_is(0, parent);
	on_fork(ctx);
}

static void executes(struct ktask *t)
{
	cpu_is(0, t);
	EVENT(on_exec, t);
	EVENT(on_exec, t); /* the backup */
}

static void exits(struct ktask *t)
{
	cpu_is(0, t);
	EVENT(on_thread_exit, t);
}

/* The filter passes the command and its descendants: the children of the tool's child, and their
 * threads. */
static void test_tracked(void **state)
{
	struct ktask tool, thread;

	(void)state;
	conf.tracked = conf.all_young = 1;
	task_init(&tool, TOOL, TOOL, "iostrata", 0);
	task_init(&thread, 1100, 1107, "thread", 0);
	filtered(0, 0);
	alice.t.pid = 1100;
	fork_by(&tool, &alice);
	filtered(0, 0); /* it is the tool, until it executes the command */
	assert_int_equal(live.threads.living, 0);
	executes(&bob);
	executes(&alice);
	filtered(1, 0);
	fork_by(&alice, &thread);
	assert_int_equal(live.threads.living, 2);
	bob.t.pid = 1200;
	fork_by(&alice, &bob);
	filtered(1, 1);
	assert_int_equal(live.threads.living, 3);
	tick(5);
	exits(&thread);
	exits(&bob);
	assert_int_equal(live.threads.living, 1);
	/* the id is used again, by a stranger's child */
	task_init(&thread, 2000, 2000, "stranger", 0);
	fork_by(&thread, &bob);
	filtered(1, 0);
	exits(&alice);
	assert_int_equal(live.threads.living, 0);
	assert_true(live.threads.time >= 15);
	exits(&bob);
	assert_int_equal(live.threads.living, 0);
	assert_int_equal(lost_all(), 0);
}

/* A thread that is not the leader executes a program: it is called as the leader was from then on.
 */
static void test_exec(void **state)
{
	struct ktask stranger;

	(void)state;
	call_through(OP_READ, 2, 7, 1);
	assert_int_equal(task_lookup((u64)&alice)->id, 1100ULL << 32 | 1101);
	alice.t.pid = 1100;
	EVENT(on_exec, &alice);
	assert_int_equal(task_lookup((u64)&alice)->id, 1100ULL << 32 | 1100);
	assert_int_equal(task_lookup((u64)&alice)->kernel_tid, 1100);
	task_init(&stranger, 2000, 2000, "stranger", 0);
	cpu_is(1, &stranger);
	EVENT(on_exec, &stranger);
	assert_null(task_lookup((u64)&stranger));
}

/* A neighbour's bit is left alone, whatever is set and cleared. */
static void test_tracked_bits(void **state)
{
	(void)state;
	group_track(640, true);
	group_track(641, true);
	group_track(641, true);
	group_track(703, true);
	assert_true(group_tracked(640) && group_tracked(641) && group_tracked(703));
	assert_false(group_tracked(642) || group_tracked(704) || group_tracked(639));
	group_track(641, false);
	group_track(641, false);
	assert_true(group_tracked(640) && group_tracked(703) && !group_tracked(641));
	assert_false(group_tracked(64 * 1024));
	group_track(64 * 1024, true);
}

/* io_uring's threads end without having begun. */
static void test_tracked_io_threads(void **state)
{
	struct ktask worker;

	(void)state;
	conf.tracked = conf.all_young = 1;
	group_track(1100, true);
	task_init(&worker, 1100, 1109, "iou-wrk-1100", 0);
	exits(&worker);
	assert_int_equal(live.threads.begun, 0);
	task_init(&worker, 1100, 1109, "ioX-wrk-1100", 0);
	tick(3);
	exits(&worker);
	assert_int_equal(live.threads.time, 3);
	assert_int_equal(live.threads.done, 1);
}

static void test_the_tool_is_not_traced(void **state)
{
	(void)state;
	conf.tool_tgid = 1100;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 0);
	conf.pidns_ino = 1;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 1);
	conf.tool_tgid = 200;
	cpu_is(0, &bob);
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 1);
}

/* --file, with a directory, and -d. */
static void test_filter_file(void **state)
{
	(void)state;
	conf.file_filter = conf.file_details = conf.n_files = 1;
	lists.files[0] = (struct filter_file){ .ino = 23, .dev = EXT4_DEV };
	call_through(OP_READ, 2, 60, 1);
	call_through(OP_READ, 3, 60, 1);
	call_simply(NR_READ, 7, 60, -9);
	call_simply(NR_FSYNC, 3, 60, 0);
	call_simply(NR_FSYNC, 7, 60, -9);
	call_simply(NR_STAT, 0, 60, 0);
	call_simply(NR_OPEN, 0, 60, -2);
	assert_int_equal(counted(OP_READ), 1);
	assert_int_equal(counted(OP_FSYNC) + counted(OP_META) + counted(OP_OPEN), 0);
	lists.files[0].dev = XFS_DEV;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 1);
	/* the directory above it, which is only looked for in has_dirs */
	xfs.root.d_inode = &directory.inode;
	lists.files[0] = (struct filter_file){ .ino = 37, .dev = XFS_DEV, .is_dir = 1 };
	call_through(OP_READ, 3, 60, 1);
	assert_int_equal(counted(OP_READ), 1);
	conf.has_dirs = 1;
	call_through(OP_READ, 3, 60, 1);
	assert_int_equal(counted(OP_READ), 2);
	lists.files[0].is_dir = 0;
	call_through(OP_READ, 3, 60, 1);
	assert_int_equal(counted(OP_READ), 2);
	lists.files[0].is_dir = 1;
	lists.files[0].ino = 38;
	call_through(OP_READ, 3, 60, 1);
	assert_int_equal(counted(OP_READ), 2);
}

/* DIR_LEVELS directories above a file are looked at. */
static void test_filter_levels(void **state)
{
	struct kfile deep[DIR_LEVELS + 1];

	(void)state;
	for (int i = 0; i <= DIR_LEVELS; i++) { /* the file, and what it is in */
		file_init(&deep[i], "ext4", EXT4_DEV, 1009 + i, i ? S_IFDIR : S_IFREG);
		if (i)
			deep[i - 1].dentry.d_parent = &deep[i].dentry;
	}
	conf.file_filter = conf.n_files = conf.file_details = conf.has_dirs = 1;
	lists.files[0] = (struct filter_file){ 1009 + DIR_LEVELS - 1, EXT4_DEV, true };
	alice.fd[2] = &deep[0].f;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 1);
	lists.files[0].ino = 1009 + DIR_LEVELS;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 1);
	alice.fd[2] = &deep[1].f;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 2);
}

/* Behind the table of descriptors there is something else. */
static void test_descriptors(void **state)
{
	(void)state;
	alice.fd[7] = &ext4.f;
	alice.stack[0] = (u64)&ext4.f;
	assert_ptr_equal(&alice.fd[8], &alice.stack[0]);
	for (int cast = 0; cast < 2; cast++) {
		assert_ptr_equal(current_file(7, cast), &ext4.f);
		assert_null(current_file(8, cast));
	}
}

static void test_filter_disk(void **state)
{
	(void)state;
	conf.file_filter = conf.file_details = 1;
	conf.n_devs = 2;
	lists.devs[1] = XFS_DEV;
	call_through(OP_READ, 2, 60, 1);
	call_through(OP_READ, 3, 60, 1);
	call_through(OP_READ, 6, 60, 1); /* the disk itself */
	assert_int_equal(counted(OP_READ), 2);
	conf.n_devs = 1;
	call_through(OP_READ, 3, 60, 1);
	assert_int_equal(counted(OP_READ), 2);
}

/* A call that began before the run, and one that begins twice. */
static void test_unmatched(void **state)
{
	(void)state;
	machine.current->regs.orig_ax = 13;
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 0); /* the call was none */
	machine.current->regs.orig_ax = NR_FSYNC;
	machine.current->regs.di = 2;
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	sys_exit(0); /* now it has a state */
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	cpu_is(0, &bob);
	bob.t.start_time = live.since_ns;
	bob.regs.orig_ax = NR_FSYNC;
	bob.regs.di = 2;
	sys_exit(0); /* it is younger: seccomp denied the call */
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	bob.t.start_time--;
	bob.regs.di = 4; /* a pipe */
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	exits(&bob);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	exits(&bob);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 2);
	assert_int_equal(counted(OP_META), 0);
}

/* Filters hold for what is unmatched, too. */
static void test_unmatched_filtered(void **state)
{
	(void)state;
	machine.current->regs.orig_ax = NR_FSYNC;
	machine.current->regs.di = 2;
	conf.tracked = conf.all_young = 1;
	sys_exit(0);
	conf.tracked = conf.all_young = 0;
	conf.process_filter = conf.n_pids = 1;
	lists.pids[0] = 1200;
	sys_exit(0);
	conf.process_filter = conf.n_pids = 0;
	conf.file_filter = conf.file_details = conf.n_devs = 1;
	lists.devs[0] = XFS_DEV;
	sys_exit(0);
	conf.tool_tgid = 1100;
	conf.file_filter = conf.n_devs = 0;
	sys_exit(0);
	assert_int_equal(lost_all(), 0);
	conf.tool_tgid = TOOL;
	machine.current->regs.orig_ax = NR_OPEN;
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
}

/* A close of a file that is not traced gives its thread a state, so that its end is matched. */
static void test_close(void **state)
{
	(void)state;
	call_simply(NR_CLOSE, 2, 60, 0);
	call_simply(NR_CLOSE, 4, 60, 0);
	assert_int_equal(counted(OP_CLOSE), 1);
	cpu_is(0, &bob);
	sys_enter(NR_CLOSE, 4, 0, 0, 0);
	bob.fd[4] = NULL;
	sys_exit(0);
	assert_int_equal(counted(OP_CLOSE), 1);
	assert_int_equal(lost_all(), 0);
}

/* Calls are seen by perf's tracepoints on kernels whose others can be preempted. */
static void test_perf_events(void **state)
{
	struct perf_sys_event enter = { .nr = NR_FSYNC }, leave = { .nr = NR_FSYNC, .ret = -5 };

	(void)state;
	alice.regs = (struct pt_regs){ .di = 2, .orig_ax = NR_FSYNC };
	on_sys_enter_perf(&enter);
	tick(17);
	on_sys_exit_perf(&leave);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).total_ns, 17);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).errors, 1);
	cpu_is(0, &bob);
	bob.regs = (struct pt_regs){ .di = 2 };
	on_sys_exit_perf(&leave);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	enter.nr = leave.nr = CALL_MAX;
	on_sys_enter_perf(&enter);
	assert_int_equal(counted(OP_FSYNC), 1);
}

/* Two threads whose addresses hash to the same slot: each has a state of its own. */
static void test_slot_collision(void **state)
{
	struct ktask *a, *b;

	(void)state;
	rivals(&a, &b);
	task_init(a, 1, 11, "a", 0);
	task_init(b, 1, 12, "b", 0);
	conf.tool_tgid = 99;
	a->fd[2] = b->fd[2] = &ext4.f;
	cpu_is(0, a);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	tick(5);
	cpu_is(1, b);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	assert_int_equal(tasks[task_slot((u64)a)].collisions, 1);
	tick(7);
	cpu_is(0, a);
	sys_exit(0);
	cpu_is(1, b);
	sys_exit(0);
	assert_int_equal(ops_counted(OP_META, NULL).total_ns, 12);
	assert_int_equal(ops_counted(OP_FSYNC, NULL).total_ns, 7);
	assert_int_equal(tasks[task_slot((u64)a)].id, 1ULL << 32 | 11);
	/* a third one, which has no state, ends */
	assert_int_equal(task_slot((u64)a + (1ULL << 32)), task_slot((u64)a));
	task_forget((u64)a + (1ULL << 32));
	assert_int_equal(tasks[task_slot((u64)a)].collisions, 1);
	assert_non_null(task_lookup((u64)b));
	exits(b);
	assert_int_equal(tasks[task_slot((u64)a)].collisions, 0);
	assert_int_equal(map_count(&tasks_overflown), 0);
	cpu_is(0, a);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	exits(b); /* has none any more */
	assert_int_equal(tasks[task_slot((u64)a)].task, (u64)a);
	exits(a);
	assert_int_equal(map_count(&task_owners), 0);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	/* the other may have the slot now */
	cpu_is(0, b);
	call_simply(NR_STAT, 0, 3, 0);
	assert_int_equal(tasks[task_slot((u64)a)].task, (u64)b);
}

/* A thread was killed in the middle of an operation. The next thread in its slot does not continue
 * this operation. */
static void test_slot_of_one_that_was_killed(void **state)
{
	struct ktask *a, *b;

	(void)state;
	rivals(&a, &b);
	task_init(a, 3, 33, "a", 0);
	task_init(b, 4, 44, "b", 0);
	a->fd[2] = b->fd[2] = &ext4.f;
	cpu_is(0, a);
	sys_enter(NR_READ, 2, 0, 4096, 0);
	vfs_in(OP_READ, &ext4);
	fs_in(OP_READ, &ext4);
	exits(a);
	cpu_is(0, b);
	switch_to(&idle[0], true);
	tick(7);
	switch_to(b, false);
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(ops_counted(OP_READ, NULL).total_ns, 60);
	assert_int_equal(ops_counted(OP_READ, NULL).strata[ST_FS], 20);
	assert_int_equal(lost_all(), 1);
}

static void test_no_room_for_threads(void **state)
{
	struct ktask t;
	u32 slot;

	(void)state;
	task_init(&t, 5, 5, "t", 0);
	slot = task_slot((u64)&t);
	bpf_map_update_elem(&task_owners, &slot, &slot, BPF_ANY);
	map_of(&tasks_overflown)->refusals = 1;
	cpu_is(0, &t);
	call_simply(NR_STAT, 0, 3, 0);
	assert_int_equal(counted(OP_META), 0);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	call_simply(NR_STAT, 0, 3, 0);
	assert_int_equal(counted(OP_META), 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* More rows than slots: what finds none is in the hash, and nothing is lost. */
static void test_more_rows_than_slots(void **state)
{
	static struct kfile files[100];
	struct op_sums s;

	(void)state;
	for (int i = 0; i < 100; i++) {
		file_init(&files[i], "fs", 100 + i, 5, S_IFREG);
		alice.fd[2] = &files[i].f;
		call_through(OP_READ, 2, 600, 10);
		call_through(OP_READ, 2, 600, 10);
	}
	s = ops_counted(OP_READ, NULL);
	assert_int_equal(s.count, 200);
	assert_int_equal(s.total_ns, 200 * 600);
	assert_true(map_count(&op_rows_even) > 30);
	assert_int_equal(lost_all(), 0);
}

/* A row that does not fit is told. */
static void test_no_room_for_rows(void **state)
{
	(void)state;
	conf.row_slots = 0;
	map_of(&op_rows_even)->refusals = 1;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted(OP_READ), 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* User space is woken once when a hash has as many rows as it may have, in the epoch that is
 * current. */
static void test_drain_is_wanted(void **state)
{
	(void)state;
	conf.row_slots = 0;
	conf.op_rows_limit = 3;
	for (u64 ns = 60; ns < 60 << 4; ns *= 2) {
		call_through(OP_READ, 2, ns, 1);
		assert_int_equal(live.drain_wanted, ns >= 240);
	}
	assert_int_equal(live.op_rows_made[0], 4);
	assert_non_null(messages);
	assert_null(messages->next);
	assert_ptr_equal(messages->ring, &wakes);
	live.epoch = 1;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(live.op_rows_made[1], 1);
	assert_int_equal(map_count(&op_rows_odd), 1);
	assert_int_equal(map_count(&op_rows_even), 4);
}

/* Both epochs have cells of their own, as has each CPU. */
static void test_epochs(void **state)
{
	struct kmap *cells = map_of(&slot_cells);
	u32 used = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		live.epoch = i & 1;
		cpu_is(i >> 1, &alice);
		call_through(OP_READ, 2, 60, 1);
	}
	for (u32 i = 0; i < cells->max; i++)
		used += ((struct op_cell *)cells->array)[i].sums.count;
	assert_int_equal(used, 4);
	for (u32 i = 0; i < cells->max; i++)
		assert_true(((struct op_cell *)cells->array)[i].sums.count <= 1);
}

/* Machines of many CPUs have histograms apart from the sums. */
static void test_histograms_apart(void **state)
{
	struct slot_hist *h = (void *)map_of(&slot_hists)->array;
	u64 n = 0;

	(void)state;
	conf.hists_apart = 1;
	call_through(OP_READ, 2, 600, 1);
	for (u32 i = 0; i < map_of(&slot_hists)->max; i++)
		n += h[i].n[hist_bucket(600)];
	assert_int_equal(n, 1);
	assert_int_equal(counted(OP_READ), 1);
}

/* File system types are known by name and functions, once each. */
static void test_file_system_types(void **state)
{
	u32 n = 0;

	(void)state;
	call_through(OP_READ, 2, 60, 1);
	call_through(OP_READ, 3, 60, 1);
	call_simply(NR_FSYNC, 5, 60, 1);
	call_through(OP_READ, 6, 60, 1);
	for (u32 i = 0; i < FS_SLOTS; i++) {
		volatile struct fs_entry *e = &live.fs_types[i];

		if (!e->fs)
			continue;
		n++;
		if (e->fs == (u64)&ext4.type) {
			assert_string_equal((char *)e->name, "ext4");
			assert_int_equal(e->read_iter, 0x10000);
			assert_int_equal(e->write_iter, 0x20000);
			assert_int_equal(e->fsync, 0x30000);
			assert_int_equal(e->open, 0x40000);
		}
		if (e->fs == (u64)&directory.type)
			assert_int_equal(e->read_iter,
					 0); /* a directory's functions are no files' */
	}
	assert_int_equal(n, 3);
}

static void test_no_room_for_types(void **state)
{
	static struct kfile files[FS_SLOTS + 30];

	(void)state;
	for (int i = 0; i < FS_SLOTS + 30; i++) {
		file_init(&files[i], "fs", 100 + i, 5, S_IFREG);
		alice.fd[2] = &files[i].f;
		call_through(OP_READ, 2, 600, 10);
	}
	assert_int_equal(counted(OP_READ), FS_SLOTS + 30);
	assert_true(live.lost[LOST_MAP_FULL] > 0);
}

static const struct slow_op *last_record(void)
{
	assert_non_null(messages);
	assert_ptr_equal(messages->ring, &ring);
	return newest_record();
}

/* --slowest: what took longer than those that are kept is sent, with all that is known of it. */
static void test_slow_records(void **state)
{
	unsigned short where[CALL_MAX] = { [NR_READ] = OFFSET_ARG3, [NR_WRITE] = OFFSET_POS };
	const struct slow_op *r;

	(void)state;
	data_set(call_offsets, where, sizeof(where));
	conf.records = conf.call_noted = conf.file_details = 1;
	live.slow_ns = 600;
	call_through(OP_READ, 2, 600, 10);
	assert_null(messages);
	sys_enter(NR_READ, 2, 0, 4096, 8192);
	vfs_in(OP_READ, &ext4);
	tick(700);
	vfs_out(OP_READ, 10);
	sys_exit(4093);
	r = last_record();
	assert_int_equal(r->total_ns, 700);
	assert_int_equal(r->start_ns, machine.now - 700);
	assert_int_equal(r->strata[ST_VFS], 700);
	assert_int_equal(r->fs, (u64)&ext4.type);
	assert_int_equal(r->ino, 23);
	assert_int_equal(r->dev, EXT4_DEV);
	assert_int_equal(r->offset, 8192);
	assert_int_equal(r->len, 4096);
	assert_int_equal(r->ret, 4093);
	assert_int_equal(r->who.pid, 1100);
	assert_int_equal(r->who.tid, 1101);
	assert_int_equal(r->who.cgroup, 8100);
	assert_int_equal(r->call, NR_READ);
	assert_int_equal(r->kind, OP_READ);
	assert_int_equal(r->cache, CACHE_HIT);
	assert_int_equal(r->n_requests, 0);
	assert_int_equal(r->device_bytes, 0);
	assert_int_equal(r->lock_ns, 0);
	assert_string_equal(r->who.comm, "alice");
	/* where it goes on, as the file's position tells when the file is known */
	ext4.f.f_pos = 12345;
	sys_enter(NR_WRITE, 2, 0, 17, 0);
	ext4.f.f_pos = 23456;
	vfs_in(OP_WRITE, &ext4);
	tick(700);
	sys_exit(17);
	assert_int_equal(last_record()->offset, 23456);
	assert_int_equal(last_record()->len, 17);
	tick(700);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	tick(700);
	sys_exit(0);
	assert_int_equal(last_record()->offset, OFFSET_UNKNOWN);
	assert_int_equal(last_record()->len, ~0ULL);
	assert_int_equal(lost_all(), 0);
	ring_room = 0;
	call_through(OP_READ, 2, 6000, 1);
	assert_int_equal(live.lost[LOST_RING], 1);
	assert_int_equal(counted(OP_READ), 3);
}

/* Slow records of one file system type alone, by its name. */
static void test_slow_records_of_a_type(void **state)
{
	u64 name[2] = {};

	(void)state;
	conf.records = 1;
	memcpy(name, "xfs", 3);
	conf.n_fs = 1;
	memcpy(lists.fs[0], name, sizeof(name));
	call_through(OP_READ, 2, 600, 10);
	call_through(OP_READ, 6, 600, 10);
	call_simply(NR_STAT, 0, 600, 0);
	assert_null(messages);
	call_through(OP_READ, 3, 600, 10);
	assert_int_equal(last_record()->ino, 0);
	assert_null(messages->next);
	memcpy(lists.fs[0], (u64[2]){ FS_BDEV_NAME }, sizeof(name));
	call_through(OP_READ, 6, 600, 10);
	assert_non_null(messages->next);
	call_through(OP_READ, 3, 600, 10);
	assert_null(messages->next->next);
	/* one of several */
	conf.n_fs = 2;
	memcpy(lists.fs[1], name, sizeof(name));
	call_through(OP_READ, 3, 600, 10);
	assert_non_null(messages->next->next);
	call_through(OP_READ, 2, 600, 10);
	assert_null(messages->next->next->next);
}

/* The longest wait for a lock, and who let go of it: what it did itself. */
static void test_lock_holder(void **state)
{
	u64 lock[2] = { 0x77, 0 }, spin[2] = { 0x99, LCB_F_SPIN };
	const struct slow_op *r;

	(void)state;
	conf.records = conf.call_noted = 1;
	cpu_is(1, &bob);
	sys_enter(NR_WRITE, 2, 0, 0, 0);
	vfs_in(OP_WRITE, &ext4);
	cpu_is(0, &alice);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	for (int i = 0; i < 3; i++) {
		on_lock_wanted(lock);
		on_lock_wanted(spin);
		switch_to(&idle[0], true);
		tick(i == 1 ? 500 : 100);
		cpu_is(1, i == 1 ? &bob : &idle[1]);
		machine.level = i == 1 ? 0 : HARD_INTERRUPT & 0x10000;
		wake(&alice);
		machine.level = 0;
		tick(3);
		cpu_is(0, &idle[0]);
		switch_to(&alice, false);
		tick(2);
		EVENT(on_lock_taken, 0x78); /* another */
		EVENT(on_lock_taken, 0x77);
	}
	sys_exit(0);
	r = last_record();
	assert_int_equal(r->kind, OP_FSYNC);
	assert_int_equal(r->strata[ST_LOCK], 700);
	assert_int_equal(r->strata[ST_RUNQ], 9);
	assert_int_equal(r->strata[ST_SYSCALL], 6);
	assert_int_equal(r->lock_ns, 500);
	assert_int_equal(r->lock_holder.pid, 1200);
	assert_int_equal(r->lock_holder.tid, 1203);
	assert_int_equal(r->lock_holder.op, OP_WRITE);
	assert_int_equal(r->lock_holder.stratum, ST_VFS);
	assert_string_equal(r->lock_holder.comm, "bob");
	/* after the lock was taken, a sleep is for something else */
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	on_lock_wanted(lock);
	EVENT(on_lock_taken, 0x77);
	switch_to(&idle[0], true);
	tick(100);
	cpu_is(1, &bob);
	wake(&alice);
	cpu_is(0, &idle[0]);
	switch_to(&alice, false);
	sys_exit(0);
	assert_int_equal(last_record()->strata[ST_LOCK], 0);
	assert_int_equal(last_record()->strata[ST_SLEEP], 100);
	assert_int_equal(last_record()->lock_ns, 0);
}

/* Rows of threads that are gone have the name that the last epoch knew, in each epoch. */
static void test_names_in_both_epochs(void **state)
{
	u64 id = 1101;

	(void)state;
	conf.by = BY_TID;
	conf.row_slots = 0;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(map_count(&thread_names_odd), 0);
	live.epoch = 1;
	call_through(OP_READ, 2, 60, 1);
	assert_string_equal(
		((struct thread_name *)bpf_map_lookup_elem(&thread_names_odd, &id))->comm, "alice");
	assert_int_equal(map_count(&thread_names_even), 1);
}

/* A comm is a key: what an older, longer name left beyond the NUL is no part of it. */
static void test_comm_as_a_key(void **state)
{
	static const char *const names[] = { "",         "a",         "1234567",
					     "12345678", "123456789", "123456789012345" };
	u64 comm[2], want[2];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		memset(alice.t.comm, 'x', sizeof(alice.t.comm));
		strcpy(alice.t.comm, names[i]);
		memset(want, 0, sizeof(want));
		memcpy(want, names[i], strlen(names[i]));
		current_comm(comm);
		assert_memory_equal(comm, want, sizeof(want));
	}
}

/* Descriptors on kernels without bpf_rdonly_cast(). */
static void test_without_casts(void **state)
{
	(void)state;
	conf.rdonly_cast = 0;
	call_simply(NR_FSYNC, 2, 60, 0);
	call_simply(NR_FSYNC, 4, 60, 0);
	call_simply(NR_READ, 3, 60, 0);
	assert_int_equal(counted(OP_FSYNC), 1);
	assert_int_equal(counted(OP_READ), 1);
}

/* btrfs files are known by the device of their root, which the programs read by BPF helpers only.
 */
static void test_identities(void **state)
{
	struct {
		u64 pad[2], dev;
	} root = { .dev = 4321 };
	struct {
		u64 root, pad;
		struct inode inode;
	} btrfs = { .root = (u64)&root };
	struct kfile f;

	(void)state;
	conf.by = BY_FILE;
	conf.row_slots = 0;
	conf.file_details = conf.file_identity = 1;
	conf.btrfs_root = 16;
	conf.btrfs_dev = 16;
	file_init(&f, "btrfs", 7, 5, S_IFREG);
	f.sb.s_magic = BTRFS_SUPER_MAGIC;
	btrfs.inode = f.inode;
	f.f.f_inode = &btrfs.inode;
	alice.fd[2] = &f.f;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted_by(OP_READ, 4321, 5), 1);
	root.dev = 0;
	call_through(OP_READ, 2, 60, 1);
	assert_int_equal(counted_by(OP_READ, 7, 5), 1);
}

/* A file that stays open in the middle of a storm of opens and closes: each call by its own
 * descriptor. */
static void test_open_and_close(void **state)
{
	(void)state;
	conf.by = BY_FILE;
	conf.row_slots = 0;
	conf.file_details = 1;
	call_simply(NR_OPEN, 0, 60, 3);
	call_simply(NR_CLOSE, 3, 60, 0);
	call_simply(NR_OPEN, 0, 60, 2);
	assert_int_equal(counted_by(OP_OPEN, XFS_DEV, 29), 1);
	assert_int_equal(counted_by(OP_OPEN, EXT4_DEV, 23), 1);
	assert_int_equal(counted_by(OP_CLOSE, XFS_DEV, 29), 1);
	call_simply(NR_OPEN, 0, 60, -2);
	assert_int_equal(counted_by(OP_OPEN, 0, 0), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_cached_read),
		TEST(test_layers_that_are_not_probed),
		TEST(test_layers_within_layers),
		TEST(test_file_system_alone),
		TEST(test_vfs_within_file_system),
		TEST(test_after_a_file_system),
		TEST(test_dup2_in_between),
		TEST(test_file_system_within_two),
		TEST(test_ends_in_a_layer),
		TEST(test_unmatched_beside_faults),
		TEST(test_preempted_in_a_program),
		TEST(test_missed_functions),
		TEST(test_clock_steps_back),
		TEST(test_which_files),
		TEST(test_which_argument),
		TEST(test_copy_of_two_files),
		TEST(test_clone_of_two_files),
		TEST(test_copy_in_other_rows),
		TEST(test_copy_filtered),
		TEST(test_copy_not_counted),
		TEST(test_compat_calls),
		TEST(test_by),
		TEST(test_by_pid_names_the_process),
		TEST(test_by_file_identity),
		TEST(test_by_cache),
		TEST(test_sleeps_without_device),
		TEST(test_hits_after_readahead),
		TEST(test_rows_by_call),
		TEST(test_min),
		TEST(test_filter_pid),
		TEST(test_filter_comm),
		TEST(test_filter_cgroup),
		TEST(test_tracked),
		TEST(test_exec),
		TEST(test_tracked_bits),
		TEST(test_tracked_io_threads),
		TEST(test_the_tool_is_not_traced),
		TEST(test_filter_file),
		TEST(test_filter_levels),
		TEST(test_descriptors),
		TEST(test_filter_disk),
		TEST(test_unmatched),
		TEST(test_unmatched_filtered),
		TEST(test_close),
		TEST(test_perf_events),
		TEST(test_slot_collision),
		TEST(test_slot_of_one_that_was_killed),
		TEST(test_no_room_for_threads),
		TEST(test_more_rows_than_slots),
		TEST(test_no_room_for_rows),
		TEST(test_drain_is_wanted),
		TEST(test_epochs),
		TEST(test_histograms_apart),
		TEST(test_file_system_types),
		TEST(test_no_room_for_types),
		TEST(test_slow_records),
		TEST(test_slow_records_of_a_type),
		TEST(test_lock_holder),
		TEST(test_open_and_close),
		TEST(test_identities),
		TEST(test_without_casts),
		TEST(test_comm_as_a_key),
		TEST(test_names_in_both_epochs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
