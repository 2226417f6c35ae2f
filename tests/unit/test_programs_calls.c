// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf on what a call's registers say: whether it is an operation at all, on
 * which file, from where and how much; on files of mappings; where the states of threads are; and
 * the functions of file systems. In a machine that is made up; see kernel/machine.h.
 */
#include "kernel/machine.h"
#include "trace/threads.h"

enum { EXT4_DEV = 8 << MINOR_BITS | 1, XFS_DEV = 8 << MINOR_BITS | 17 };
enum {
	NR_LSEEK = 8,
	NR_MMAP = 9,
	NR_MUNMAP = 11,
	NR_PREAD = 17,
	NR_PWRITE = 18,
	NR_READV = 19,
	NR_WRITEV = 20,
	NR_MADVISE = 28,
	NR_IOCTL = 16,
	NR_DUP2 = 33,
	NR_SENDFILE = 40,
	NR_CONNECT = 42,
	NR_EXECVE = 59,
	NR_FCNTL = 72,
	NR_FLOCK = 73,
	NR_MLOCK = 149,
	NR_MLOCK_32 = 150,
	NR_PREAD_32 = 180,
	NR_SPLICE = 275,
	NR_PREADV = 295,
	NR_BPF = 321,
	NR_PWRITEV2 = 328,
	NR_PWRITEV2_32 = 379,
};

static struct kfile ext4, xfs, pipe_end;
static struct vm_area_struct area;
static struct ktask alice;

/* Each operation is sent as a record. */
static int start(void **state)
{
	unsigned short made[CALL_MAX] = {
		[NR_READ] = CALL_DESC(OP_READ, FILE_ARG0) | CALL_THROUGH_VFS,
		[NR_WRITE] = CALL_DESC(OP_WRITE, FILE_ARG0),
		[NR_CLOSE] = CALL_DESC(OP_CLOSE, FILE_ARG0),
		[NR_STAT] = CALL_DESC(OP_META, FILE_NONE),
		[NR_FSYNC] = CALL_DESC(OP_FSYNC, FILE_ARG0),
		[NR_OPEN] = CALL_DESC(OP_OPEN, FILE_RESULT),
		[NR_LSEEK] = CALL_DESC(OP_META, FILE_BY_ARGS),
		[NR_FCNTL] = CALL_DESC(OP_LOCK, FILE_BY_ARGS),
		[NR_FLOCK] = CALL_DESC(OP_LOCK, FILE_ARG0),
		[NR_DUP2] = CALL_DESC(OP_CLOSE, FILE_BY_ARGS),
		[NR_CONNECT] = CALL_DESC(OP_META, FILE_BY_ARGS),
		[NR_BPF] = CALL_DESC(OP_META, FILE_BY_ARGS),
		[NR_EXECVE] = CALL_DESC(OP_EXEC, FILE_RESULT),
		[NR_MMAP] = CALL_DESC(OP_META, FILE_MAPPED),
		[NR_PREAD] = CALL_DESC(OP_READ, FILE_ARG0),
		[NR_MADVISE] = CALL_DESC(OP_META, FILE_ADVISED),
		[NR_IOCTL] = CALL_DESC(OP_META, FILE_BY_ARGS),
		[NR_SENDFILE] = CALL_DESC(OP_COPY, FILE_ARG1),
		[NR_SPLICE] = CALL_DESC(OP_COPY, FILE_ARG0_OR_2),
		[NR_MLOCK] = CALL_DESC(OP_META, FILE_MAPPING),
		[NR_PWRITE] = CALL_DESC(OP_WRITE, FILE_ARG0),
		[NR_MUNMAP] = CALL_DESC(OP_META, FILE_MAPPING),
		[NR_READV] = CALL_DESC(OP_READ, FILE_ARG0),
		[NR_WRITEV] = CALL_DESC(OP_WRITE, FILE_ARG0),
		[NR_PREADV] = CALL_DESC(OP_READ, FILE_ARG0),
		[NR_PWRITEV2] = CALL_DESC(OP_WRITE, FILE_ARG0),
		[NR_PWRITEV2_32] = CALL_DESC(OP_WRITE, FILE_ARG0) << 8,
		[NR_PREAD_32] = (CALL_DESC(OP_READ, FILE_ARG0) | CALL_THROUGH_VFS) << 8,
		[NR_MLOCK_32] =
			CALL_DESC(OP_META, FILE_MAPPING) << 8 | CALL_DESC(OP_FSYNC, FILE_ARG0),
	};
	unsigned short where[CALL_MAX] = {
		[NR_READ] = OFFSET_POS,
		[NR_WRITE] = OFFSET_POS,
		[NR_PREAD] = OFFSET_ARG3,
		[NR_PWRITE] = OFFSET_ARG3,
		[NR_LSEEK] = OFFSET_SEEK,
		[NR_MUNMAP] = OFFSET_OF_MAPPING,
		[NR_FLOCK] = OFFSET_ARGS,
		[NR_DUP2] = OFFSET_DUP,
		[NR_IOCTL] = OFFSET_IOCTL,
		[NR_CONNECT] = OFFSET_SOCKET_PATH,
		[NR_BPF] = OFFSET_BPF_PATH,
		[NR_FCNTL] = OFFSET_FLOCK,
		[NR_PREAD_32] = OFFSET_ARG3 << 8 | OFFSET_POS,
		[NR_READV] = OFFSET_VECTOR_POS,
		[NR_WRITEV] = OFFSET_VECTOR_POS,
		[NR_PREADV] = OFFSET_VECTOR_ARG3,
		[NR_PWRITEV2] = OFFSET_VECTOR_FLAGS,
		[NR_PWRITEV2_32] = OFFSET_VECTOR_FLAGS << 8,
	};

	(void)state;
	machine_start();
	data_set(calls, made, sizeof(made));
	data_set(call_offsets, where, sizeof(where));
	conf.records = conf.call_noted = conf.file_details = conf.rings = 1;
	file_init(&ext4, "ext4", EXT4_DEV, 23, S_IFREG);
	file_init(&xfs, "xfs", XFS_DEV, 29, S_IFREG);
	file_init(&pipe_end, "pipefs", 12, 31, 0010000);
	task_init(&alice, 1100, 1101, "alice", 0);
	alice.fd[2] = &ext4.f;
	alice.fd[3] = &xfs.f;
	alice.fd[4] = &pipe_end.f;
	area = (struct vm_area_struct){ .vm_start = 0x70000, .vm_pgoff = 5, .vm_file = &ext4.f };
	machine.vma = &area;
	cpu_is(1, &alice);
	return 0;
}

static const struct slow_op no_record;

/* Current's call takes 7 ns and returns @ret. Returns the call's record; all 0 if the call is no
 * operation, or if no records are asked for. */
static const struct slow_op *ended(long ret)
{
	const struct message *before = messages;

	tick(7);
	sys_exit(ret);
	if (messages == before || !conf.records)
		return &no_record;
	assert_ptr_equal(messages->ring, &ring);
	assert_int_equal(newest_record()->total_ns, 7);
	return newest_record();
}

static u64 traced(void)
{
	u64 n = 0;

	for (u32 kind = OP_READ; kind < OP_N; kind++)
		n += ops_counted(kind, NULL).count;
	return n;
}

static const struct slow_op *maps_file(u64 flags, u64 fd)
{
	u64 ctx[] = { (u64)&alice.regs, NR_MMAP };

	alice.regs = (struct pt_regs){
		.di = 3, .si = 4096, .dx = 1, .r10 = flags, .r8 = fd, .orig_ax = NR_MMAP
	};
	on_sys_enter(ctx);
	return ended(0);
}

/* mmap() is an operation if it reads the file at once: all of it, to lock it or to populate. */
static void test_mmap(void **state)
{
	const u64 shared = 1, fixed = 0x10;

	(void)state;
	assert_int_equal(maps_file(MAP_LOCKED, 2)->ino, 23);
	assert_int_equal(maps_file(MAP_LOCKED | shared, 3)->ino, 29);
	assert_int_equal(maps_file(MAP_POPULATE, 2)->ino, 23);
	assert_int_equal(maps_file(MAP_POPULATE | fixed, 3)->ino, 29);
	assert_int_equal(maps_file(MAP_LOCKED | MAP_POPULATE | MAP_NONBLOCK, 2)->ino, 23);
	assert_int_equal(traced(), 5);
	/* it reads nothing, or does not wait for that */
	maps_file(0, 2);
	maps_file(shared | fixed, 2);
	maps_file(MAP_NONBLOCK, 2);
	maps_file(MAP_POPULATE | MAP_NONBLOCK, 2);
	assert_int_equal(traced(), 5);
	/* memory without a file, and a file that is no storage */
	maps_file(MAP_POPULATE, -1);
	maps_file(MAP_POPULATE, 4);
	assert_int_equal(traced(), 5);
	assert_int_equal(lost_all(), 0);
}

/* The record of mmap() has the descriptor, and no range. */
static void test_mmap_is_sent(void **state)
{
	(void)state;
	conf.records = 0;
	conf.sent_ops = conf.op_extras = 1;
	maps_file(MAP_POPULATE, 3);
	assert_int_equal(newest_sent()->fd, 3);
	assert_int_equal(newest_sent()->call, NR_MMAP);
	assert_int_equal(newest_sent()->offset, OFFSET_UNKNOWN);
	assert_int_equal(newest_sent()->len, ~0ULL);
}

/* madvise() is one if it reads: for advice that is to read, now or ahead. Where mappings cannot be
 * looked up, its file is not known; the address is no descriptor. */
static void test_madvise(void **state)
{
	const struct slow_op *r;

	(void)state;
	for (u64 advice = 0; advice < 30; advice++) {
		sys_enter(NR_MADVISE, 4, MADV_WILLNEED, advice, MADV_WILLNEED);
		r = ended(0);
		assert_int_equal(r->call,
				 advice == 3 || advice == 22 || advice == 23 ? NR_MADVISE : 0);
		assert_int_equal(r->ino, 0);
	}
	assert_int_equal(traced(), 3);
	sys_enter(NR_MLOCK, 4, 4096, 0, 0);
	r = ended(0);
	assert_int_equal(r->call, NR_MLOCK);
	assert_int_equal(r->fs, FS_UNKNOWN);
	conf.file_filter = conf.n_files = 1;
	sys_enter(NR_MLOCK, 2, 4096, 0, 0);
	assert_int_equal(ended(0)->call, 0);
	assert_int_equal(lost_all(), 0);
}

/* ioctl() is an operation by its command, if it is about storage. */
static void test_ioctl(void **state)
{
	static const u32 io[] = { 0xc0189436 /* FIDEDUPERANGE */,
				  0xc0185879 /* FITRIM */,
				  0xc0045877 /* FIFREEZE */,
				  0xc020660b /* FIEMAP */,
				  0x80086601 /* FS_IOC_GETFLAGS */,
				  0x401c5820 /* FSSETXATTR */,
				  0x1277 /* BLKDISCARD */,
				  0x2285 /* SG_IO */,
				  1 /* FIBMAP */ };
	static const u32 others[] = { 0x5401 /* TCGETS */,
				      0x5421 /* FIONBIO */,
				      0x541b /* FIONREAD */,
				      2 /* FIGETBSZ */,
				      0x40049409 /* FICLONE, a copy: no copies are traced */,
				      0x400454ca /* TUNSETIFF */ };
	const struct slow_op *r;

	(void)state;
	for (size_t i = 0; i < sizeof(io) / sizeof(*io); i++) {
		/* the upper half of the argument is no part of the command */
		sys_enter(NR_IOCTL, 2, io[i] | 1ULL << 40, 4, 0);
		r = ended(0);
		assert_int_equal(r->call, NR_IOCTL);
		assert_int_equal(r->ino, 23);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		sys_enter(NR_IOCTL, 2, others[i], 0, 0);
		assert_int_equal(ended(0)->call, 0);
	}
	assert_int_equal(traced(), sizeof(io) / sizeof(*io));
	assert_int_equal(lost_all(), 0);
}

static void test_madvise_of_32_bits(void **state)
{
	unsigned short made[CALL_MAX] = { [219] = CALL_DESC(OP_META, FILE_ADVISED) << 8 };

	(void)state;
	data_set(calls, made, sizeof(made));
	alice.t.thread_info.status = COMPAT_BIT;
	sys_enter(219, 0, 0, 0xff00000016, 0); /* the upper half is none of its */
	assert_int_equal(ended(0)->call, 219 | CALL_COMPAT);
	sys_enter(219, 0, 0, 4, 0);
	assert_int_equal(ended(0)->call, 0);
}

/* on_sys_enter() goes on with such a call in another program. */
static const struct slow_op *on_mapping(u64 nr, u64 address, u64 len)
{
	u64 ctx[] = { (u64)&alice.regs, nr };

	alice.regs = (struct pt_regs){ .di = address, .si = len, .dx = 3, .orig_ax = nr };
	RUN(on_mapping_call, ctx);
	return ended(0);
}

static void test_mapping(void **state)
{
	const struct slow_op *r;

	(void)state;
	r = on_mapping(NR_MLOCK, 0x72003, 8191);
	assert_int_equal(r->kind, OP_META);
	assert_int_equal(r->call, NR_MLOCK);
	assert_int_equal(r->fs, (u64)&ext4.type);
	assert_int_equal(r->dev, EXT4_DEV);
	assert_int_equal(r->ino, 23);
	assert_int_equal(r->offset, 0x5000 + 0x2003);
	assert_int_equal(r->len, 8191);
	/* no storage, or no file at all */
	area.vm_file = &pipe_end.f;
	assert_int_equal(on_mapping(NR_MLOCK, 0x72000, 4096)->call, 0);
	area.vm_file = NULL;
	assert_int_equal(on_mapping(NR_MLOCK, 0x72000, 4096)->call, 0);
	/* nothing is mapped there: the call fails */
	r = on_mapping(NR_MLOCK, 0x6ffff, 4093);
	assert_int_equal(r->call, NR_MLOCK);
	assert_int_equal(r->fs, FS_UNKNOWN);
	assert_int_equal(r->ino, 0);
	assert_int_equal(r->offset, OFFSET_UNKNOWN);
	assert_int_equal(r->len, 4093);
	assert_int_equal(traced(), 2);
	assert_int_equal(lost_all(), 0);
}

/* munmap() is an operation if the mapping is known to have a file: it may end the file's last use.
 */
static void test_munmap(void **state)
{
	(void)state;
	assert_int_equal(on_mapping(NR_MUNMAP, 0x70000, 4096)->ino, 23);
	assert_int_equal(on_mapping(NR_MUNMAP, 0x6f000, 4096)->call, 0); /* nothing is mapped */
	area.vm_file = NULL;
	assert_int_equal(on_mapping(NR_MUNMAP, 0x70000, 4096)->call, 0);
	/* on_sys_enter() alone cannot look the mapping up */
	sys_enter(NR_MUNMAP, 0x70000, 4096, 0, 0);
	assert_int_equal(ended(0)->call, 0);
	assert_int_equal(traced(), 1);
	assert_int_equal(lost_all(), 0);
}

/* The pages before the mapping in the file are counted in the kernel's size of a page. */
static void test_mapping_with_large_pages(void **state)
{
	(void)state;
	conf.page_shift = 16;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70001, 1)->offset, 0x50001);
}

static void test_mapping_is_sent(void **state)
{
	(void)state;
	conf.records = 0;
	conf.sent_ops = conf.op_extras = 1;
	on_mapping(NR_MLOCK, 0x70007, 4093);
	assert_int_equal(newest_sent()->fd, -1);
	assert_int_equal(newest_sent()->offset, 0x5007);
	assert_int_equal(newest_sent()->len, 4093);
}

/* With a filter by file, memory of other files is not traced, nor is what is not known to be of
 * one; if others change mappings all the time, that is told. */
static void test_mapping_filtered(void **state)
{
	(void)state;
	machine.vma_busy = FIND_TRIES - 1;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->ino, 23);
	machine.vma_busy = FIND_TRIES;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->fs, FS_UNKNOWN);
	assert_int_equal(traced(), 2);
	assert_int_equal(lost_all(), 0);
	conf.file_filter = conf.n_files = 1;
	lists.files[0] = (struct filter_file){ .ino = 29, .dev = XFS_DEV };
	on_mapping(NR_MLOCK, 0x70000, 1);
	area.vm_file = &xfs.f;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->ino, 29);
	assert_int_equal(traced(), 3);
	on_mapping(NR_MLOCK, 0x6f000, 1);
	assert_int_equal(lost_all(), 0);
	machine.vma_busy = FIND_TRIES;
	on_mapping(NR_MLOCK, 0x70000, 1);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 1);
	assert_int_equal(lost_all(), 1);
	assert_int_equal(traced(), 3);
}

/* By perf's tracepoint the registers are current's; of a 32-bit call they are others. */
static void test_mapping_otherwise(void **state)
{
	struct perf_sys_event enter = { .nr = NR_MLOCK };
	u64 ctx[] = { (u64)&alice.regs, NR_MLOCK_32 };
	const struct slow_op *r;

	(void)state;
	alice.regs = (struct pt_regs){ .di = 0x70001, .si = 5, .orig_ax = NR_MLOCK };
	RUN(on_mapping_call_perf, &enter);
	r = ended(0);
	assert_int_equal(r->call, NR_MLOCK);
	assert_int_equal(r->offset, 0x5001);
	assert_int_equal(r->len, 5);
	alice.t.thread_info.status = COMPAT_BIT;
	alice.regs = (struct pt_regs){ .bx = 0xab00070003, .cx = 0xab0000000b, .orig_ax = 150 };
	RUN(on_mapping_call, ctx);
	r = ended(0);
	assert_int_equal(r->call, NR_MLOCK_32 | CALL_COMPAT);
	assert_int_equal(r->kind, OP_META);
	assert_int_equal(r->offset, 0x5003);
	assert_int_equal(r->len, 11);
}

/* No room for its thread: the call is not traced, and told as lost. */
static void test_mapping_of_a_thread_without_room(void **state)
{
	u32 slot = task_slot((u64)&alice);

	(void)state;
	bpf_map_update_elem(&task_owners, &slot, &slot, BPF_ANY);
	map_of(&tasks_overflown)->refusals = 1;
	on_mapping(NR_MLOCK, 0x70000, 1);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(traced(), 0);
}

/* overlayfs maps the file of a layer below: the call is on the file that was opened, unless that
 * is another file system's own business. */
static void test_mapping_of_overlayfs(void **state)
{
	const u32 noaccount = 1 << 29;
	struct kfile overlay;

	(void)state;
	file_init(&overlay, "overlay", 55, 37, S_IFREG);
	overlay.sb.s_magic = OVERLAYFS_SUPER_MAGIC;
	machine.opened = &overlay.f;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->ino, 23);
	ext4.f.f_mode = ~noaccount;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->ino, 23);
	ext4.f.f_mode = noaccount;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->ino, 37);
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->dev, 55);
	assert_memory_equal(newest_record()->file.names, "file\0mnt", 9);
	overlay.sb.s_magic = 0;
	assert_int_equal(on_mapping(NR_MLOCK, 0x70000, 1)->ino, 23);
	/* its functions are not those of the file that is mapped */
	for (u32 i = 0; i < FS_SLOTS; i++)
		if (live.fs_types[i].fs == (u64)&overlay.type)
			assert_int_equal(live.fs_types[i].read_iter, 0);
}

/* Calls with several buffers: where they begin is known, how much was asked for is not. */
static void test_vectors(void **state)
{
	u64 ctx[] = { (u64)&alice.regs, NR_PWRITEV2 }, ctx_32[] = { ctx[0], NR_PWRITEV2_32 };
	struct pt_regs regs = { .di = 2, .r10 = 8192, .r8 = 5, .orig_ax = NR_PWRITEV2 };
	const struct slow_op *r;

	(void)state;
	ext4.f.f_pos = 333;
	sys_enter(NR_READV, 2, 0, 2, 4711);
	ext4.f.f_pos = 444;
	r = ended(111);
	assert_int_equal(r->offset, 333);
	assert_int_equal(r->len, ~0ULL);
	sys_enter(NR_PREADV, 2, 0, 2, 4711);
	r = ended(17);
	assert_int_equal(r->offset, 4711);
	assert_int_equal(r->len, ~0ULL);
	sys_enter(NR_PREADV, 2, 0, 2, -1); /* refused */
	assert_true(ended(-22)->offset == OFFSET_UNKNOWN);
	alice.regs = regs;
	on_sys_enter(ctx);
	assert_int_equal(ended(17)->offset, 8192);
	regs.r10 = -1; /* at the position */
	alice.regs = regs;
	on_sys_enter(ctx);
	assert_int_equal(ended(17)->offset, 444);
	regs.r9 = RWF_APPEND;
	ext4.inode.i_size = 5000;
	alice.regs = regs;
	on_sys_enter(ctx);
	ext4.inode.i_size = 5017;
	assert_int_equal(ended(17)->offset, 5000);
	/* an append ends at the position */
	ext4.f.f_flags = O_APPEND;
	sys_enter(NR_WRITEV, 2, 0, 2, 0);
	ext4.f.f_pos = 1000;
	assert_int_equal(ended(100)->offset, 900);
	ext4.f.f_flags = 0;
	alice.t.thread_info.status = COMPAT_BIT;
	regs = (struct pt_regs){ .bx = 2, .dx = 2, .si = 41, .di = 3, .r9 = RWF_APPEND };
	alice.regs = regs;
	on_sys_enter(ctx_32);
	assert_int_equal(ended(37)->offset, 41 | 3ULL << 32);
	regs.bp = RWF_APPEND;
	alice.regs = regs;
	on_sys_enter(ctx_32);
	assert_true(ended(37)->offset == OFFSET_UNKNOWN);
}

/* Linux writes to the end of a file opened to append, whatever the offset, unless a flag of this
 * write forbids it. If another writer changed the end meanwhile, the offset is not known. */
static void test_appends_at_an_offset(void **state)
{
	u64 ctx[] = { (u64)&alice.regs, NR_PWRITEV2 };
	struct pt_regs regs = { .di = 2, .r10 = 8192, .r8 = 5, .orig_ax = NR_PWRITEV2 };

	(void)state;
	ext4.f.f_flags = O_APPEND;
	ext4.f.f_pos = 333;
	ext4.inode.i_size = 5000;
	sys_enter(NR_PWRITE, 2, 0, 17, 4711);
	ext4.inode.i_size = 5017;
	assert_int_equal(ended(17)->offset, 5000);
	sys_enter(NR_PWRITE, 2, 0, 17, 4711);
	ext4.inode.i_size = 5100;
	assert_true(ended(17)->offset == OFFSET_UNKNOWN);
	sys_enter(NR_PWRITE, 2, 0, 17, 4711);
	assert_true(ended(-28)->offset == OFFSET_UNKNOWN);
	sys_enter(NR_PWRITE, 7, 0, 17, 4711);
	assert_int_equal(ended(-9)->offset, 4711);
	regs.r9 = RWF_NOAPPEND;
	alice.regs = regs;
	on_sys_enter(ctx);
	assert_int_equal(ended(17)->offset, 8192);
	regs.r10 = -1;
	alice.regs = regs;
	on_sys_enter(ctx);
	assert_int_equal(ended(17)->offset, 333);
	regs.r9 = RWF_APPEND;
	regs.di = 7; /* no such descriptor */
	alice.regs = regs;
	on_sys_enter(ctx);
	assert_true(ended(-9)->offset == OFFSET_UNKNOWN);
}

/* A 32-bit call has its offset where 32-bit calls have it, and in two registers. */
static void test_ranges(void **state)
{
	const struct slow_op *r;
	u64 ctx[] = { (u64)&alice.regs, NR_PREAD_32 };

	(void)state;
	ext4.f.f_pos = 333;
	sys_enter(NR_PREAD, 2, 0, 17, 4711);
	r = ended(17);
	assert_int_equal(r->offset, 4711);
	assert_int_equal(r->len, 17);
	/* where the VFS does not tell the file, it is known at the entry, as is its position */
	sys_enter(NR_WRITE, 2, 0, 19, 4711);
	ext4.f.f_pos = 444;
	r = ended(19);
	assert_int_equal(r->offset, 333);
	assert_int_equal(r->len, 19);
	sys_enter(NR_WRITE, 7, 0, 23, 0); /* no such descriptor */
	r = ended(-9);
	assert_int_equal(r->offset, OFFSET_UNKNOWN);
	assert_int_equal(r->len, 23);
	sys_enter(NR_FSYNC, 2, 0, 29, 31);
	r = ended(0);
	assert_int_equal(r->offset, OFFSET_UNKNOWN);
	assert_int_equal(r->len, ~0ULL);
	alice.t.thread_info.status = COMPAT_BIT;
	alice.regs = (struct pt_regs){
		.bx = 2, .dx = 37, .si = 41, .di = 3, .r10 = 99, .orig_ax = NR_PREAD_32
	};
	on_sys_enter(ctx);
	vfs_in(OP_READ, &ext4);
	r = ended(37);
	assert_int_equal(r->offset, 41 | 3ULL << 32);
	assert_int_equal(r->len, 37);
}

/* The record of a call that only changes a descriptor has the call's arguments. */
static void test_arguments_of_lseek(void **state)
{
	(void)state;
	conf.records = 0;
	conf.sent_ops = conf.op_extras = 1;
	ext4.f.f_pos = 333;
	sys_enter(NR_LSEEK, 2, 0x100000007, 1, 9);
	ended(7);
	assert_int_equal(newest_sent()->len, 7);
	assert_int_equal(newest_sent()->offset, 1);
	sys_enter(NR_LSEEK, 2, F_SETFL, 5, 9); /* which is no command of this call */
	ended(7);
	assert_int_equal(newest_sent()->len, F_SETFL);
	assert_int_equal(newest_sent()->offset, 5);
	/* the position is that of calls that use it */
	sys_enter(NR_WRITE, 2, 0, 11, 9);
	ended(11);
	assert_int_equal(newest_sent()->len, 11);
	assert_int_equal(newest_sent()->offset, 333);
}

/* Without a recording, nothing needs the arguments: --slowest shows ranges alone. */
static void test_arguments_without_recording(void **state)
{
	(void)state;
	ext4.f.f_pos = 333;
	sys_enter(NR_FLOCK, 2, 7, 1, 9);
	assert_int_equal(ended(7)->call, NR_FLOCK);
	assert_int_equal(newest_record()->offset, OFFSET_UNKNOWN);
	assert_int_equal(newest_record()->len, ~0ULL);
}

/* Sends the operations of the rest of a test as a recording does. */
static void record_begins(void)
{
	conf.records = 0;
	conf.sent_ops = conf.op_extras = 1;
}

/* The kind of current's call, as recorded; OP_NONE: it is not recorded. */
static u32 recorded_kind(u64 nr, u64 first, u64 second, u64 third)
{
	const struct message *before = messages;

	sys_enter(nr, first, second, third, 0);
	ended(0);
	return messages == before ? OP_NONE : newest_sent()->kind;
}

/* fcntl() is an operation if it is about locks or leases. Other commands change the descriptor,
 * which only recordings have. */
static void test_locks(void **state)
{
	short type = 1;

	(void)state;
	for (u64 cmd = 0; cmd < 1100; cmd++) {
		bool lock = (cmd >= 5 && cmd <= 7) || (cmd >= 12 && cmd <= 14) ||
			    (cmd >= 36 && cmd <= 38) || cmd == 1024 || cmd == 1025;

		sys_enter(NR_FCNTL, 2, cmd, (u64)&type, 0);
		assert_int_equal(ended(0)->kind, lock ? OP_LOCK : OP_NONE);
	}
	sys_enter(NR_FLOCK, 3, 2, 0, 0);
	assert_int_equal(ended(-11)->ino, 29);
	assert_int_equal(ops_counted(OP_LOCK, NULL).count, 12);
	assert_int_equal(ops_counted(OP_LOCK, NULL).errors, 1);
	record_begins();
	assert_int_equal(recorded_kind(NR_FCNTL, 2, F_SETFL, 0), OP_HANDLE);
	assert_int_equal(recorded_kind(NR_FCNTL, 2, 7, (u64)&type), OP_LOCK);
	assert_int_equal(newest_sent()->len, 7);
	assert_int_equal(newest_sent()->offset, 1);
	assert_int_equal(recorded_kind(NR_FLOCK, 2, 8, 0), OP_LOCK);
	assert_int_equal(newest_sent()->len, 8);
	assert_int_equal(lost_all(), 0);
}

/* lseek() reads the map of blocks for SEEK_DATA and SEEK_HOLE only. */
static void test_seeks(void **state)
{
	(void)state;
	for (u64 whence = 0; whence < 6; whence++) {
		sys_enter(NR_LSEEK, 2, 0, whence, 0);
		assert_int_equal(ended(0)->kind, whence == 3 || whence == 4 ? OP_META : OP_NONE);
	}
	record_begins();
	assert_int_equal(recorded_kind(NR_LSEEK, 2, 7, 0), OP_HANDLE);
	assert_int_equal(recorded_kind(NR_LSEEK, 2, 7, 3), OP_META);
}

/* dup2() closes the file of its second descriptor, if there is one. */
static void test_dup2(void **state)
{
	(void)state;
	sys_enter(NR_DUP2, 2, 3, 0, 0);
	assert_int_equal(ended(3)->kind, OP_CLOSE);
	assert_int_equal(newest_record()->ino, 29);
	sys_enter(NR_DUP2, 2, 4, 0, 0); /* a pipe */
	assert_int_equal(ended(4)->call, 0);
	sys_enter(NR_DUP2, 2, 7, 0, 0); /* not open */
	assert_int_equal(ended(7)->call, 0);
	record_begins();
	assert_int_equal(recorded_kind(NR_DUP2, 2, 7, 0), OP_HANDLE);
	assert_int_equal(newest_sent()->fd, 2);
	assert_int_equal(recorded_kind(NR_DUP2, 2, 3, 0), OP_CLOSE);
	assert_int_equal(newest_sent()->fd, 2);
	assert_int_equal(newest_sent()->file.ino, 29);
}

/* connect() looks up a file if the address is a path; bpf() if the command has one. */
static void test_paths_among_arguments(void **state)
{
	struct {
		unsigned short family;
		char path[14];
	} unix_path = { 1, "/run/s" }, no_file = { 1, "" }, internet = { 2, "x" };

	(void)state;
	sys_enter(NR_CONNECT, 4, (u64)&unix_path, 16, 0);
	assert_int_equal(ended(0)->kind, OP_META);
	assert_int_equal(newest_record()->fs, FS_UNKNOWN);
	sys_enter(NR_CONNECT, 4, (u64)&no_file, 16, 0);
	assert_int_equal(ended(0)->kind, OP_NONE);
	sys_enter(NR_CONNECT, 4, (u64)&internet, 16, 0);
	assert_int_equal(ended(0)->kind, OP_NONE);
	sys_enter(NR_CONNECT, 4, 0, 16, 0); /* a bad address */
	assert_int_equal(ended(-14)->kind, OP_NONE);
	for (u64 cmd = 0; cmd < 40; cmd++) {
		sys_enter(NR_BPF, cmd, 0, 0, 0);
		assert_int_equal(ended(0)->kind, cmd == 6 || cmd == 7 ? OP_META : OP_NONE);
	}
}

/* The file of exec is the program that runs afterwards. */
static void test_exec(void **state)
{
	struct mm_struct mm = { .exe_file = &xfs.f };
	const struct slow_op *r;

	(void)state;
	alice.t.mm = &mm;
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	r = ended(0);
	assert_int_equal(r->kind, OP_EXEC);
	assert_int_equal(r->ino, 29);
	assert_int_equal(r->fs, (u64)&xfs.type);
	/* it fails: the old program is not its file */
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	r = ended(-2);
	assert_int_equal(r->kind, OP_EXEC);
	assert_int_equal(r->ino, 0);
	assert_int_equal(r->fs, FS_UNKNOWN);
	assert_int_equal(ops_counted(OP_EXEC, NULL).count, 2);
	/* a filter by file */
	conf.file_filter = conf.n_files = 1;
	lists.files[0] = (struct filter_file){ .ino = 29, .dev = XFS_DEV };
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	assert_int_equal(ended(0)->ino, 29);
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	assert_int_equal(ended(-2)->kind, OP_NONE);
	mm.exe_file = &ext4.f;
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	assert_int_equal(ended(0)->kind, OP_NONE);
	assert_int_equal(lost_all(), 0);
}

/* A filter by name sees the name that exec gives. */
static void test_exec_of_a_name(void **state)
{
	struct mm_struct mm = { .exe_file = &ext4.f };

	(void)state;
	alice.t.mm = &mm;
	conf.process_filter = conf.thread_filter = conf.n_comms = lists.n_comms = 1;
	memset(lists.comms, 0, sizeof(lists.comms));
	memcpy(lists.comms[0], "bob", 3);
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	strcpy(alice.t.comm, "bob");
	assert_int_equal(ended(0)->kind, OP_EXEC);
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	strcpy(alice.t.comm, "carol");
	assert_int_equal(ended(0)->kind, OP_NONE);
	assert_null(task_lookup((u64)&alice)); /* nothing is kept for a thread that is not traced */
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	assert_int_equal(ended(0)->kind, OP_NONE);
	/* the end of a thread with a ring needs its state */
	strcpy(alice.t.comm, "bob");
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	task_lookup((u64)&alice)->rings = 1;
	strcpy(alice.t.comm, "carol");
	assert_int_equal(ended(0)->kind, OP_NONE);
	assert_non_null(task_lookup((u64)&alice));
	assert_int_equal(task_lookup((u64)&alice)->op.stage, 0);
}

/* A thread waits in exec, also before the file system's functions, and in them. */
static void test_exec_waits(void **state)
{
	struct mm_struct mm = { .exe_file = &ext4.f };
	const u64 strata[ST_N] = {
		[ST_SYSCALL] = 2 + 4 + 7, [ST_FS] = 3, [ST_SLEEP] = 100, [ST_RUNQ] = 5
	};

	(void)state;
	alice.t.mm = &mm;
	conf.cpu_split = conf.waits = 1;
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	tick(2);
	fs_in(OP_READ, &ext4);
	tick(3);
	fs_out(OP_READ, 9);
	tick(4);
	switch_to(&idle[1], true);
	tick(100);
	wake(&alice);
	tick(5);
	switch_to(&alice, false);
	tick(7);
	sys_exit(0);
	assert_ops(OP_EXEC, 1, 121, strata);
	assert_int_equal(lost_all(), 0);
}

/* The descriptor that is sent is the argument that names the file, of whichever call. */
static void test_descriptors(void **state)
{
	u64 ctx[] = { (u64)&alice.regs, NR_PREAD_32 };

	(void)state;
	conf.records = 0;
	conf.sent_ops = conf.op_extras = 1;
	sys_enter(NR_FSYNC, 3, 2, 4, 5);
	ended(0);
	assert_int_equal(newest_sent()->fd, 3);
	sys_enter(NR_SENDFILE, 2, 3, 4, 5);
	ended(0);
	assert_int_equal(newest_sent()->fd, 3);
	assert_int_equal(newest_sent()->file.ino, 29);
	sys_enter(NR_SPLICE, 4, 0, 3, 0);
	ended(0);
	assert_int_equal(newest_sent()->fd, 4);
	assert_int_equal(newest_sent()->file.ino, 29);
	sys_enter(NR_STAT, 3, 2, 4, 5);
	ended(0);
	assert_int_equal(newest_sent()->fd, -1);
	sys_enter(NR_MLOCK, 3, 2, 4, 5);
	ended(0);
	assert_int_equal(newest_sent()->fd, -1);
	sys_enter(NR_OPEN, 3, 2, 4, 5);
	ended(-2);
	assert_int_equal(newest_sent()->fd, -1);
	sys_enter(NR_READ, 3, 2, 4, 5);
	vfs_in(OP_READ, &xfs);
	ended(4);
	assert_int_equal(newest_sent()->fd, 3);
	alice.t.thread_info.status = COMPAT_BIT;
	alice.regs = (struct pt_regs){ .bx = 2, .di = 3, .orig_ax = NR_PREAD_32 };
	on_sys_enter(ctx);
	vfs_in(OP_READ, &ext4);
	ended(0);
	assert_int_equal(newest_sent()->fd, 2);
}

static int goes_on_there(void *ctx, u32 i)
{
	return i ? -1 : on_mapping_call(ctx);
}

/* on_sys_enter() leaves calls on mappings, and no others, to that program, where it is loaded. */
static void test_goes_on_in_another_program(void **state)
{
	const struct slow_op *r;

	(void)state;
	machine.goes_on = goes_on_there;
	sys_enter(NR_MLOCK, 0x70003, 4096, 0, 0);
	r = ended(0);
	assert_int_equal(r->ino, 23);
	assert_int_equal(r->offset, 0x5003);
	sys_enter(NR_MADVISE, 0x70005, 4096, MADV_WILLNEED, 0);
	r = ended(0);
	assert_int_equal(r->ino, 23);
	assert_int_equal(r->offset, 0x5005);
	sys_enter(NR_MADVISE, 0x70005, 4096, 4, 0);
	assert_int_equal(ended(0)->call, 0);
	area.vm_file = NULL;
	sys_enter(NR_MLOCK, 0x70003, 4096, 0, 0);
	assert_int_equal(ended(0)->call, 0);
	assert_int_equal(maps_file(MAP_POPULATE, 3)->ino, 29);
	sys_enter(NR_FSYNC, 3, 0, 0, 0);
	assert_int_equal(ended(0)->ino, 29);
}

/* A call by path has no descriptor, whatever is in its first register. */
static void test_path(void **state)
{
	(void)state;
	for (u64 first = 2; first <= 4; first++) {
		sys_enter(NR_STAT, first, 0, 0, 0);
		assert_int_equal(ended(0)->call, NR_STAT);
		assert_int_equal(newest_record()->fs, FS_UNKNOWN);
		assert_int_equal(newest_record()->ino, 0);
	}
}

/* A read that never came to the VFS is of the file of its descriptor; without one, of none. */
static void test_bad_descriptor(void **state)
{
	(void)state;
	sys_enter(NR_READ, 3, 0, 0, 0);
	assert_int_equal(ended(0)->ino, 29);
	sys_enter(NR_READ, 7, 0, 0, 0);
	assert_int_equal(ended(-9)->fs, FS_UNKNOWN);
	assert_int_equal(newest_record()->ino, 0);
	assert_int_equal(newest_record()->ret, -9);
	sys_enter(NR_FSYNC, 3, 0, 0, 0);
	assert_int_equal(ended(0)->ino, 29);
	sys_enter(NR_FSYNC, 7, 0, 0, 0);
	assert_int_equal(ended(-9)->fs, FS_UNKNOWN);
	assert_int_equal(newest_record()->ino, 0);
}

/* A bad descriptor on kernels where requests of io_uring or page faults are traced, too. */
static void test_bad_descriptor_beside_others(void **state)
{
	(void)state;
	conf.async = conf.uring = conf.faults = 1;
	sys_enter(NR_READ, 7, 0, 0, 0);
	assert_int_equal(ended(-9)->ret, -9);
	conf.async = conf.uring = 0;
	sys_enter(NR_READ, 7, 0, 0, 0);
	assert_int_equal(ended(-9)->ret, -9);
	conf.async = conf.uring = 1;
	conf.faults = 0;
	sys_enter(NR_READ, 7, 0, 0, 0);
	assert_int_equal(ended(-9)->ret, -9);
	assert_int_equal(traced(), 3);
	assert_int_equal(lost_all(), 0);
}

/* A page fault that was never seen to end is over when a call ends, which is not traced itself. */
static void test_call_after_a_fault(void **state)
{
	(void)state;
	conf.faults = 1;
	fault_at(0x70123);
	sys_exit(0);
	assert_int_equal(current_lookup()->op.stage, 0);
	conf.faults = 0;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	assert_int_equal(ended(0)->call, NR_STAT);
	assert_int_equal(traced(), 1);
	assert_int_equal(lost_all(), 0);
}

/* An untraced call makes no state, except close(): its end could not be told from that of a call
 * whose begin was not seen. A thread that is younger than the run needs no such state. */
static void test_state_for_what_is_not_traced(void **state)
{
	(void)state;
	sys_enter(NR_FSYNC, 4, 0, 0, 0);
	assert_null(current_lookup());
	alice.t.start_time = live.since_ns;
	sys_enter(NR_CLOSE, 4, 0, 0, 0);
	assert_null(current_lookup());
	alice.t.start_time = live.since_ns - 1;
	sys_enter(NR_CLOSE, 4, 0, 0, 0);
	assert_non_null(current_lookup());
	assert_int_equal(current_lookup()->op.stage, 0);
}

/* A call whose beginning was not seen is told as lost, if it would have been traced, by the table
 * of its kind of program. */
static void test_unmatched_calls(void **state)
{
	static const struct {
		u64 nr;
		struct pt_regs regs;
		bool compat, counts;
	} calls[] = {
		{ NR_STAT, { .di = 4 }, false, true },
		{ NR_FSYNC, { .di = 2 }, false, true },
		{ NR_FSYNC, { .di = 4 }, false, false },
		{ NR_FSYNC, { .di = 7 }, false, true },
		{ NR_FSYNC, { .di = 2, .bx = 2 }, true, false },
		{ NR_PREAD_32, { .di = 2, .bx = 2 }, true, true },
		{ NR_PREAD_32, { .di = 2, .bx = 4 }, true, false },
		{ NR_PREAD_32, { .di = 2, .bx = 2 }, false, false },
		{ NR_MLOCK_32, { .di = 4, .bx = 2 }, true, true },
		{ NR_MLOCK_32, { .di = 4, .bx = 2 }, false, false },
		{ NR_SENDFILE, { .di = 4, .si = 2 }, false, true },
		{ NR_SENDFILE, { .di = 2, .si = 4 }, false, false },
		{ NR_IOCTL, { .di = 2, .si = 0xc0189436 }, false, true },
		{ NR_IOCTL, { .di = 4, .si = 0xc0189436 }, false, false },
		{ NR_IOCTL, { .di = 2, .si = 0x5401 }, false, false },
		{ NR_MADVISE, { .dx = MADV_WILLNEED }, false, true },
		{ NR_MADVISE, { .dx = 4 }, false, false },
		{ NR_MMAP, { .r10 = MAP_POPULATE, .r8 = 2 }, false, true },
		{ NR_MMAP, { .r10 = MAP_POPULATE, .r8 = -1 }, false, false },
		{ NR_MMAP, { .r8 = 2 }, false, false },
		{ CALL_MAX, { .di = 2 }, false, false },
		{ CALL_MAX + 1, { .di = 2 }, false, false },
	};
	struct ktask t;

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		conf.rdonly_cast = i & 1;
		t = alice;
		t.fdt.fd = alice.fd;
		t.t.files = &alice.files;
		t.regs = calls[i].regs;
		t.regs.orig_ax = calls[i].nr;
		t.t.thread_info.status = calls[i].compat ? COMPAT_BIT : 0;
		cpu_is(1, &t);
		live.lost[LOST_UNMATCHED_END] = 0;
		sys_exit(0);
		assert_int_equal(live.lost[LOST_UNMATCHED_END], calls[i].counts);
		assert_int_equal(map_count(&task_owners), calls[i].counts);
		EVENT(on_thread_exit, &t);
	}
	assert_int_equal(map_count(&task_owners), 0);
}

/* A pair of them, of which @ret_b gets no slot while the other has it. */
static void collide(struct ktask **ret_a, struct ktask **ret_b)
{
	rivals(ret_a, ret_b);
	task_init(*ret_a, 5001, 5003, "first", 0);
	task_init(*ret_b, 5001, 5009, "second", 0);
	for (int i = 2; i < 5; i++)
		(*ret_a)->fd[i] = (*ret_b)->fd[i] = alice.fd[i];
}

static void call_by(struct ktask *t)
{
	cpu_is(1, t);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	ended(0);
}

/* Threads use all slots, be their structures ever so regular in memory: five of 5,888
 * bytes in each slab of 32 KiB, as on 6.18. */
static void test_slots_are_spread(void **state)
{
	static bool used[TASK_SLOTS];
	size_t n = 0, upper = 0;

	(void)state;
	memset(used, 0, sizeof(used));
	for (size_t i = 0; i < TASK_SLOTS; i++)
		used[task_slot(0xffff888100000000 + i / 5 * 32768 + i % 5 * 5888)] = true;
	for (size_t i = 0; i < TASK_SLOTS; i++) {
		n += used[i];
		upper += used[i] && i >= TASK_SLOTS / 2;
	}
	assert_in_range(n, TASK_SLOTS / 2, TASK_SLOTS);
	assert_in_range(upper, TASK_SLOTS / 4, TASK_SLOTS / 2);
}

/* Two threads hash to one slot: when either exits, the other's state is still found. */
static void test_exits_beside_another(void **state)
{
	struct ktask *a, *b;

	(void)state;
	collide(&a, &b);
	call_by(a);
	cpu_is(2, b);
	EVENT(on_thread_exit, b); /* it has no state */
	call_by(b);
	assert_int_equal(traced(), 2);
	call_by(b);
	assert_int_equal(map_count(&tasks_overflown), 1);
	cpu_is(1, a);
	EVENT(on_thread_exit, a);
	call_by(b);
	assert_int_equal(traced(), 4);
	assert_int_equal(map_count(&tasks_overflown), 1);
	EVENT(on_thread_exit, b);
	assert_int_equal(map_count(&tasks_overflown), 0);
	assert_int_equal(map_count(&task_owners), 0);
	assert_int_equal(lost_all(), 0);
}

/* A state that found no room makes nobody search for it. */
static void test_no_room_beside_another(void **state)
{
	struct ktask *a, *b;

	(void)state;
	collide(&a, &b);
	b->t.start_time = live.since_ns; /* or the end of its call would be looked at, too */
	call_by(a);
	map_of(&tasks_overflown)->refusals = 1;
	call_by(b);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(tasks[task_slot((u64)a)].collisions, 0);
	assert_int_equal(traced(), 1);
	call_by(b);
	assert_int_equal(tasks[task_slot((u64)a)].collisions, 1);
	assert_int_equal(traced(), 2);
}

/* A thread that exits in a call leaves nothing of it to the next one in its slot. */
static void test_next_thread_in_a_slot(void **state)
{
	(void)state;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	EVENT(on_thread_exit, &alice);
	assert_int_equal(live.lost[LOST_UNMATCHED_START], 1);
	task_init(&alice, 1300, 1303, "next", 0);
	alice.fd[2] = &ext4.f;
	call_by(&alice);
	assert_int_equal(newest_record()->who.pid, 1300);
	assert_int_equal(current_lookup()->id, 1300ULL << 32 | 1303);
	assert_int_equal(traced(), 1);
	assert_int_equal(lost_all(), 1);
}

/* A thread outside of the tool's namespace has no ids there. */
static void test_ids_in_a_namespace(void **state)
{
	struct ktask outside;

	(void)state;
	conf.pidns_ino = 4026531836;
	conf.pidns_dev = 4;
	call_by(&alice);
	assert_int_equal(newest_record()->who.pid, 100);
	assert_int_equal(newest_record()->who.tid, 101);
	task_init(&outside, 900, 907, "outside", 0);
	outside.fd[2] = &ext4.f;
	call_by(&outside);
	assert_int_equal(newest_record()->who.pid, 0);
	assert_int_equal(newest_record()->who.tid, 0);
	assert_string_equal(newest_record()->who.comm, "outside");
}

/* Kernels without bpf_get_current_task_btf() tell the same of current. */
static void test_without_current_btf(void **state)
{
	struct bio bio, below;
	struct kdisk disk;
	u64 comm[2];

	(void)state;
	disk_init(&disk, 8, 0, true);
	bio_init(&bio, &disk, REQ_OP_READ, 0, 4096);
	bio_init(&below, &disk, REQ_OP_READ, 0, 4096);
	for (int without = 0; without < 2; without++) {
		machine.no_current_btf = without;
		conf.rdonly_cast = !without;
		memset(comm, 0xff, sizeof(comm));
		current_comm(comm);
		assert_memory_equal(comm, "alice\0\0\0\0\0\0\0\0\0\0", 16);
		cpu_is(1, &alice);
		sys_enter(NR_FSYNC, 3, 0, 0, 0);
		assert_int_equal(ended(0)->ino, 29);
		sys_enter(NR_FSYNC, 8, 0, 0, 0);
		assert_int_equal(ended(0)->ino, 0);
		/* it reads a block, which a device below reads */
		sys_enter(NR_READ, 2, 0, 0, 0);
		EVENT(on_bio_queue, &bio);
		alice.t.bio_list = (void *)0x7000;
		EVENT(on_bio_queue, &below);
		alice.t.bio_list = NULL;
		assert_int_equal(ended(4096)->n_requests, 2);
		assert_int_equal(newest_record()->device_bytes, 4096);
		sys_enter(NR_READ, 2, 0, 0, 0);
		EVENT(on_bio_queue, &bio);
		EVENT(on_bio_queue, &below);
		assert_int_equal(ended(4096)->device_bytes, 2 * 4096);
	}
}

/* A cgroup is looked for among those that current's is in, as deep as they may be. */
static void test_deep_cgroups(void **state)
{
	(void)state;
	conf.process_filter = conf.n_cgroups = 1;
	lists.cgroups[0] = 8100;
	machine.cgroups_between = CGROUP_LEVELS - 2;
	call_by(&alice);
	assert_int_equal(traced(), 1);
	lists.cgroups[0] = 9000 + CGROUP_LEVELS - 2;
	call_by(&alice);
	assert_int_equal(traced(), 2);
	lists.cgroups[0] = 9000 + CGROUP_LEVELS - 1;
	call_by(&alice);
	assert_int_equal(traced(), 2);
	/* deeper, it is not found */
	lists.cgroups[0] = 8100;
	machine.cgroups_between = CGROUP_LEVELS - 1;
	call_by(&alice);
	assert_int_equal(traced(), 2);
}

/* Whether a thread's name has changed is seen by all of it. */
static void test_name_as_a_number(void **state)
{
	static const char names[][COMM_LEN] __attribute__((aligned(8))) = { "",
									    "kworker",
									    "kworker/",
									    "kworker/u",
									    "kworker/u8:1",
									    "kworker/u8:2",
									    "kworker/u8:2-abc",
									    "lworker/u8:2-abc" };
	size_t n = sizeof(names) / sizeof(*names);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			assert_int_equal(comm_number(names[i]) == comm_number(names[j]), i == j);
}

/* Only the command's own bit says whether a process is one of its descendants. */
static void test_tracked_neighbours(void **state)
{
	(void)state;
	for (u32 tgid = 13; tgid < 2000; tgid += 13) {
		group_track(tgid, true);
		for (u32 other = 0; other < 2200; other++)
			if (group_tracked(other) != (other == tgid))
				fail_msg("%u is tracked as %u", other, tgid);
		group_track(tgid, false);
	}
}

static void forks(struct ktask *parent, struct ktask *child)
{
	u64 ctx[] = { (u64)parent, (u64)child };

	cpu_is(0, parent);
	RUN(on_fork, ctx);
}

/* The tool makes a child, which executes the command. */
static void forks_command(struct ktask *tool, struct ktask *child)
{
	forks(tool, child);
	cpu_is(0, child);
	EVENT(on_exec, child);
}

/* The time of the command's threads: of those that have ended, and of those that run so far. */
/* The time of all threads until now, as user space reads it. */
static u64 time_of_threads(void)
{
	uint64_t ns = 1;

	assert_true(threads_total(&live.threads, machine.now - live.since_ns, &ns));
	return ns;
}

/* The exec by which the tool's child becomes the command is the command's first operation. */
static void test_exec_of_the_command(void **state)
{
	struct mm_struct mm = { .exe_file = &ext4.f };
	struct ktask tool, child;

	(void)state;
	conf.tracked = conf.all_young = conf.process_filter = conf.thread_filter = 1;
	task_init(&tool, TOOL, TOOL, "iostrata", 0);
	task_init(&child, 2000, 2000, "child", 0);
	child.t.mm = &mm;
	forks(&tool, &child);
	cpu_is(0, &child);
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	assert_int_equal(ended(0)->kind, OP_NONE);
	sys_enter(NR_EXECVE, 0, 0, 0, 0); /* the first directory of PATH has no such program */
	assert_int_equal(ended(-2)->kind, OP_NONE);
	assert_null(task_lookup((u64)&child));
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	tick(101);
	EVENT(on_exec, &child);
	EVENT(on_exec, &child); /* the backup */
	sys_exit(0);
	assert_int_equal(newest_record()->ino, 23);
	assert_int_equal(newest_record()->total_ns, 101);
	assert_int_equal(ops_counted(OP_EXEC, NULL).count, 1);
	assert_int_equal(live.threads.begun, 1);
	assert_int_equal(time_of_threads(), 101);
	cpu_is(1, &alice);
	sys_enter(NR_EXECVE, 0, 0, 0, 0);
	assert_int_equal(ended(0)->kind, OP_NONE);
}

static void test_time_of_threads(void **state)
{
	struct ktask tool, child, thread;

	(void)state;
	conf.tracked = conf.all_young = 1;
	task_init(&tool, TOOL, TOOL, "iostrata", 0);
	task_init(&child, 2000, 2000, "child", 0);
	task_init(&thread, 2000, 2003, "thread", 0);
	tick(3);
	forks_command(&tool, &child);
	assert_int_equal(time_of_threads(), 0);
	tick(5);
	forks(&child, &thread);
	assert_int_equal(time_of_threads(), 5);
	tick(7);
	cpu_is(1, &thread);
	EVENT(on_thread_exit, &thread);
	assert_int_equal(time_of_threads(), 5 + 2 * 7);
	tick(11);
	cpu_is(1, &child);
	EVENT(on_thread_exit, &child);
	tick(13);
	assert_int_equal(time_of_threads(), 5 + 2 * 7 + 11);
}

/* 1,009 threads that begin after two years of tracing, and live for a month: 84 years together. */
static void test_time_of_many_threads(void **state)
{
	enum { N = 1009 };
	const u64 day = 86400ULL * 1000000000, life = 30 * day;
	static struct ktask crowd[N];
	struct ktask tool;

	(void)state;
	conf.tracked = conf.all_young = 1;
	task_init(&tool, TOOL, TOOL, "iostrata", 0);
	tick(730 * day);
	for (int i = 0; i < N; i++) {
		task_init(&crowd[i], 2000 + i, 2000 + i, "one", 0);
		forks_command(&tool, &crowd[i]);
	}
	tick(life);
	assert_true(time_of_threads() == N * life);
	for (int i = 0; i < N; i++) {
		cpu_is(1, &crowd[i]);
		EVENT(on_thread_exit, &crowd[i]);
	}
	tick(life);
	assert_true(time_of_threads() == N * life);
}

/* While a program changes the members, nothing is believed. */
static void test_time_of_threads_unsettled(void **state)
{
	struct threads t = { .begun = 2, .living = 2, .time = 5, .done = 1 };
	uint64_t ns = 23;

	(void)state;
	assert_false(threads_total(&t, 7, &ns));
	assert_int_equal(ns, 23);
	t.done = 2;
	assert_true(threads_total(&t, 7, &ns));
	assert_int_equal(ns, 19);
}

/* @task reads for @ns, on CPU @cpu. */
static void reads_for(struct ktask *task, u32 cpu, u64 ns)
{
	cpu_is(cpu, task);
	sys_enter(NR_READ, 2, 0, 0, 0);
	tick(ns);
	sys_exit(1);
}

/* The busiest thread of the interval that began at @from and ends now, as the session reads it. */
static struct busiest busiest_since(u64 from)
{
	u32 interval = live.interval++, slot = interval & 1;
	struct busiest b;

	threads_busiest(bpf_map_lookup_elem(&busiest, &slot), 1, interval, from, machine.now, &b);
	return b;
}

/* One of a command's three threads has most of the time in reads, with pauses and on several CPUs.
 */
static void test_busiest_thread(void **state)
{
	struct ktask idler, worker, other;
	struct busiest b;
	u64 from;

	(void)state;
	conf.busiest = 1;
	conf.records = 0;
	task_init(&idler, 2000, 2000, "idler", 0);
	task_init(&worker, 2000, 2003, "worker", 0);
	task_init(&other, 2000, 2005, "other", 0);
	idler.fd[2] = worker.fd[2] = other.fd[2] = &ext4.f;
	from = worker.t.start_time = machine.now;
	assert_int_equal(busiest_since(from).io_ns, 0);
	reads_for(&worker, 1, 13);
	reads_for(&other, 1, 17);
	tick(3);
	reads_for(&worker, 2, 11);
	reads_for(&idler, 1, 1);
	b = busiest_since(from);
	assert_int_equal(b.io_ns, 13 + 11);
	assert_int_equal(b.lived_ns, 13 + 17 + 3 + 11 + 1);
	assert_int_equal(b.pid, 2000);
	assert_int_equal(b.tid, 2003);
	/* the next interval begins at nothing, and the thread ends in it */
	from = machine.now;
	reads_for(&other, 1, 5);
	reads_for(&worker, 1, 7);
	EVENT(on_thread_exit, &worker);
	tick(101);
	b = busiest_since(from);
	assert_int_equal(b.io_ns, 7);
	assert_int_equal(b.lived_ns, 5 + 7);
	assert_string_equal(b.comm, "worker");
	/* another thread gets its state: its time is not that thread's */
	from = machine.now;
	worker.t.pid = 2007;
	reads_for(&worker, 1, 2);
	assert_int_equal(busiest_since(from).io_ns, 2);
	from = machine.now;
	assert_int_equal(busiest_since(from).io_ns, 0);
}

/* Operations that count in no row are not in it either: too short, or on another file system. */
static void test_busiest_thread_of_what_counts(void **state)
{
	u64 from = machine.now;

	(void)state;
	conf.busiest = 1;
	conf.records = 0;
	conf.min_ns = 10;
	conf.op_extras = 1;
	reads_for(&alice, 1, 9);
	assert_int_equal(busiest_since(from).io_ns, 0);
	reads_for(&alice, 1, 10);
	assert_int_equal(busiest_since(from).io_ns, 10);
	conf.n_fs = 1;
	memcpy(lists.fs[0], "xfs", 3);
	reads_for(&alice, 1, 11);
	assert_int_equal(busiest_since(from).io_ns, 0);
	memcpy(lists.fs[0], "ext4", 4);
	reads_for(&alice, 1, 12);
	assert_int_equal(busiest_since(from).io_ns, 12);
}

/* The largest time of several CPUs is right; a record which two programs wrote is ignored. */
static void test_busiest_thread_of_several_cpus(void **state)
{
	struct busy_thread cpus[] = {
		{ .io_ns = 30, .id = 7ULL << 32 | 8, .born_ns = 5, .interval = 3 },
		{ .io_ns = 40, .id = 9ULL << 32 | 9, .born_ns = 6, .gone_ns = 90, .interval = 3 },
		{ .io_ns = 40, .id = 9ULL << 32 | 9, .born_ns = 6, .interval = 3 },
		{ .io_ns = 50, .id = 9ULL << 32 | 9, .born_ns = 6, .interval = 2 },
		{ .io_ns = 60, .id = 4ULL << 32 | 4, .born_ns = 6, .interval = 3 },
	};
	struct busiest b;

	(void)state;
	strcpy(cpus[1].comm, "gone");
	for (int i = 0; i < 4; i++)
		cpus[i].check = cpus[i].io_ns ^ cpus[i].id ^ cpus[i].born_ns ^ cpus[i].gone_ns;
	threads_busiest(cpus, 5, 3, 20, 100, &b);
	assert_int_equal(b.io_ns, 40);
	assert_int_equal(b.lived_ns, 70);
	assert_int_equal(b.pid, 9);
	assert_string_equal(b.comm, "gone");
	threads_busiest(cpus, 1, 3, 0, 100, &b);
	assert_int_equal(b.tid, 8);
	assert_int_equal(b.lived_ns, 95);
	threads_busiest(cpus, 5, 4, 0, 100, &b);
	assert_int_equal(b.io_ns, 0);
}

static struct io_ring_ctx ring_ctx;

static void submit_read(struct io_kiocb *req)
{
	static const u8 kinds[URING_OPS] = { [22] = OP_READ };

	data_set(uring_kinds, kinds, sizeof(kinds));
	conf.async = conf.uring = 1;
	*req = (struct io_kiocb){ .opcode = 22, .ctx = &ring_ctx, .file = &ext4.f };
	uring_submit(req);
}

/* A request of io_uring by a thread that has no slot of its own. */
static void test_uring_beside_another(void **state)
{
	struct io_kiocb req;
	struct ktask *a, *b;

	(void)state;
	collide(&a, &b);
	call_by(a);
	cpu_is(2, b);
	submit_read(&req);
	tick(17);
	uring_complete(&req, 4096);
	assert_int_equal(ops_counted(OP_URING, NULL).total_ns, 17);
	assert_int_equal(ops_counted(OP_URING, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

/* io_uring's thread that polls for submissions is in an operation as any other. */
static void test_uring_thread_off_the_cpu(void **state)
{
	struct io_kiocb req;
	struct ktask polls;

	(void)state;
	task_init(&polls, 1100, 1109, "iou-sqp-1100", PF_IO_WORKER);
	polls.t.group_leader = &alice.t;
	cpu_is(1, &polls);
	submit_read(&req);
	tick(3);
	switch_to(&idle[1], false);
	tick(11);
	switch_to(&polls, false);
	tick(5);
	switch_to(&idle[1], true);
	tick(13);
	cpu_is(2, &alice);
	wake(&polls);
	tick(17);
	cpu_is(1, &idle[1]);
	switch_to(&polls, false);
	tick(7);
	uring_complete(&req, 4096);
	assert_ops(OP_URING, 1, 56,
		   (u64[ST_N]){
			   [ST_SYSCALL] = 15, [ST_PREEMPT] = 11, [ST_SLEEP] = 13, [ST_RUNQ] = 17 });
	assert_int_equal(lost_all(), 0);
}

/* The functions of file systems, printed once for each that has an open file that is a regular
 * one, or that an operation noted. */
static void prints(struct kfile *f, u64 expected)
{
	struct bpf_iter_meta meta = { (void *)0x9000 };
	struct bpf_iter__task_file ctx = { &meta, f ? &f->f : NULL };

	RUN(on_task_file, &ctx);
	assert_int_equal(machine.prints, expected);
}

/* Threads in an uninterruptible wait, each with the path which it looks up, if any. */
static void test_waiting_threads_are_listed(void **state)
{
	struct bpf_iter_meta meta = { (void *)0x9000 };
	struct bpf_iter__task ctx = { &meta, NULL };
	struct super_block sb = { .s_dev = 42 };
	struct vfsmount mnt = { .mnt_sb = &sb };
	struct filename name = { "/srv/none" };
	struct nameidata lookup = { .path = { .mnt = &mnt }, .name = &name };
	struct listed_task *listed = &machine.listed;

	(void)state;
	RUN(on_task, &ctx); /* the iterator's last call */
	ctx.task = &alice.t;
	alice.state = 1;
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 0);
	alice.state = 2;
	alice.t.flags = PF_KTHREAD;
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 0);
	alice.t.flags = 0;
	alice.state = 0x102; /* a fatal signal wakes it */
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 1);
	assert_int_equal(listed->pid, alice.t.tgid);
	assert_int_equal(listed->tid, alice.t.pid);
	assert_int_equal(listed->dev, 0);
	assert_string_equal(listed->path, "");
	alice.t.nameidata = &lookup;
	RUN(on_task, &ctx);
	alice.state = 1; /* it waits for a FUSE daemon */
	RUN(on_task, &ctx);
	alice.state = 0;
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 3);
	assert_int_equal(listed->dev, 42);
	assert_string_equal(listed->path, "/srv/none");
}

/* A thread that waits in connect() for a listener is listed, although it waits interruptibly. */
static void test_connecting_thread_is_listed(void **state)
{
	struct bpf_iter_meta meta = { (void *)0x9000 };
	struct bpf_iter__task ctx = { &meta, &alice.t };

	(void)state;
	sleep_site_is(5, 1, SITE_CONNECT);
	sleep_site_is(6, 3, WHO_SCANNER);
	alice.state = 1;
	alice.stack[0] = 0x3010;
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 0);
	alice.stack[0] = 0x1010;
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 1);
	alice.state = 0;
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 1);
}

/* A thread with an operation in progress is listed in any state, with its call. */
static void test_call_of_a_waiting_thread(void **state)
{
	struct bpf_iter_meta meta = { (void *)0x9000 };
	struct bpf_iter__task ctx = { &meta, &alice.t };
	struct listed_task *listed = &machine.listed;

	(void)state;
	sys_enter(0, 3, 0, 0, 0);
	alice.state = 1;
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 1);
	assert_int_equal(listed->call, 0);
	alice.regs.orig_ax = -1UL; /* a page fault */
	RUN(on_task, &ctx);
	assert_int_equal(listed->call, -1);
	alice.regs.orig_ax = CALL_MAX;
	RUN(on_task, &ctx);
	assert_int_equal(listed->call, -1);
	alice.regs.orig_ax = 7;
	alice.t.thread_info.status = 2; /* TS_COMPAT */
	RUN(on_task, &ctx);
	assert_int_equal(listed->call, 7 | CALL_COMPAT);
	alice.t.thread_info.status = 0;
	machine.no_current_btf = true; /* an old kernel */
	RUN(on_task, &ctx);
	assert_int_equal(listed->call, -1);
	machine.no_current_btf = false;
	sys_exit(0);
	RUN(on_task, &ctx);
	assert_int_equal(machine.lists, 5);
}

static void test_functions_of_file_systems(void **state)
{
	static const u64 ext4s[] = { 0x10000, 0x10000, 0x20000, 0x20000,
				     0x30000, 0x30000, 0x40000, 0x40000 };
	struct kfile directory, many[FS_SLOTS];
	u32 found = 0;

	(void)state;
	memset(fs_printed, 0, sizeof(fs_printed));
	fs_turn = 0;
	file_init(&directory, "dirs", 66, 7, S_IFDIR);
	prints(NULL, 0);
	prints(&directory, 0);
	prints(&ext4, 1);
	assert_memory_equal(machine.printed, ext4s, sizeof(ext4s));
	prints(&ext4, 1);
	prints(&xfs, 2);
	prints(&ext4, 2);
	directory.inode.i_mode = S_IFREG;
	prints(&directory, 3);
	/* a file without a file system, and one of the kernel's own */
	directory.sb.s_type = NULL;
	prints(&directory, 3);
	directory.sb.s_type = (void *)FS_UNKNOWN;
	prints(&directory, 3);
	for (u32 i = 0; i < FS_SLOTS; i++)
		assert_int_not_equal(live.fs_types[i].fs, FS_UNKNOWN);
	/* those that operations noted, and that have no open file any more: one with each file that
	 * has nothing to print itself */
	file_init(&many[4], "anon", 67, 7, S_IFDIR);
	for (u32 i = 0; i < 2; i++) {
		file_init(&many[i], "gone", 97 + i, 7, S_IFREG);
		fs_note((u64)many[i].sb.s_type, (u64)many[i].f.f_op, S_IFREG);
	}
	for (u32 i = 0; i < FS_SLOTS; i++)
		fs_of_file(&many[4].f, NULL);
	assert_int_equal(machine.prints, 5);
	assert_true(fs_printed[fs_slot((u64)many[0].sb.s_type)]);
	assert_true(fs_printed[fs_slot((u64)many[1].sb.s_type)]);
	file_init(&many[2], "gone", 99, 7, S_IFREG);
	file_init(&many[3], "here", 100, 7, S_IFREG);
	fs_note((u64)many[2].sb.s_type, (u64)many[2].f.f_op, S_IFREG);
	fs_turn = fs_slot((u64)many[2].sb.s_type);
	fs_of_file(&many[3].f, NULL);
	assert_int_equal(machine.prints, 6);
	fs_of_file(&many[3].f, NULL);
	assert_int_equal(machine.prints, 7);
	/* more types than are known are left out */
	for (u32 i = 0; i < FS_SLOTS; i++) {
		file_init(&many[i], "many", 100 + i, 7, S_IFREG);
		fs_of_file(&many[i].f, NULL);
	}
	for (u32 i = 0; i < FS_SLOTS; i++)
		found += live.fs_types[i].fs && fs_printed[i];
	assert_int_equal(machine.prints, found);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_mmap),
		TEST(test_mmap_is_sent),
		TEST(test_madvise),
		TEST(test_ioctl),
		TEST(test_madvise_of_32_bits),
		TEST(test_mapping),
		TEST(test_munmap),
		TEST(test_mapping_with_large_pages),
		TEST(test_mapping_is_sent),
		TEST(test_mapping_filtered),
		TEST(test_mapping_otherwise),
		TEST(test_mapping_of_a_thread_without_room),
		TEST(test_mapping_of_overlayfs),
		TEST(test_vectors),
		TEST(test_appends_at_an_offset),
		TEST(test_ranges),
		TEST(test_arguments_of_lseek),
		TEST(test_arguments_without_recording),
		TEST(test_locks),
		TEST(test_seeks),
		TEST(test_dup2),
		TEST(test_paths_among_arguments),
		TEST(test_exec),
		TEST(test_exec_of_a_name),
		TEST(test_exec_waits),
		TEST(test_descriptors),
		TEST(test_goes_on_in_another_program),
		TEST(test_path),
		TEST(test_bad_descriptor),
		TEST(test_bad_descriptor_beside_others),
		TEST(test_call_after_a_fault),
		TEST(test_state_for_what_is_not_traced),
		TEST(test_unmatched_calls),
		TEST(test_slots_are_spread),
		TEST(test_exits_beside_another),
		TEST(test_no_room_beside_another),
		TEST(test_next_thread_in_a_slot),
		TEST(test_ids_in_a_namespace),
		TEST(test_without_current_btf),
		TEST(test_deep_cgroups),
		TEST(test_name_as_a_number),
		TEST(test_tracked_neighbours),
		TEST(test_exec_of_the_command),
		TEST(test_time_of_threads),
		TEST(test_time_of_many_threads),
		TEST(test_time_of_threads_unsettled),
		TEST(test_busiest_thread),
		TEST(test_busiest_thread_of_what_counts),
		TEST(test_busiest_thread_of_several_cpus),
		TEST(test_uring_beside_another),
		TEST(test_uring_thread_off_the_cpu),
		TEST(test_waiting_threads_are_listed),
		TEST(test_connecting_thread_is_listed),
		TEST(test_call_of_a_waiting_thread),
		TEST(test_functions_of_file_systems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
