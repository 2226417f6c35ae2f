// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page faults, by the programs of src/bpf in a machine that is made up: which are operations, on
 * which file, and for how long; and with --why, where threads slept.
 */
#include "kernel/machine.h"

enum { PAGES = 0x70000000, ADDRESS = PAGES + 0x5123, SIZE = 4096 };

static struct ktask task;
static struct kfile file, other;
static struct kdisk disk;
static struct vm_area_struct vma, anonymous;
static struct bio bio;
static struct request rq;
static struct blk_mq_ctx mq_ctx;

static void start(void)
{
	machine_start();
	conf.faults = conf.minor_faults = 1;
	file_init(&file, "ext4", 8 << MINOR_BITS | 1, 23, S_IFREG);
	file_init(&other, "overlay", 51, 29, S_IFREG);
	disk_init(&disk, 8, 0, true);
	vma = (struct vm_area_struct){ .vm_start = PAGES, .vm_pgoff = 7, .vm_file = &file.f };
	anonymous = (struct vm_area_struct){ .vm_start = PAGES };
	task_init(&task, 1103, 1103, "faults", 0);
	cpu_is(1, &task);
	machine.vma = &vma;
}

/* How many faults were counted that found their page, and how many are operations. */
static void assert_faults(u64 minor, u64 ops)
{
	assert_int_equal(ops_counted(OP_MINOR_FAULT, NULL).count, minor);
	assert_int_equal(ops_counted(OP_FAULT, NULL).count, ops);
}

static void sleeps(u64 ns)
{
	switch_to(&idle[1], true);
	tick(ns);
	machine.level = 0x10000;
	wake(&task);
	machine.level = 0;
	tick(29);
	switch_to(&task, false);
}

/* Current reads a block and waits for it: on the CPU for 31, in the queue 17, in the device 19,
 * then 23 until it is woken and 29 until it runs. */
static void reads(void)
{
	tick(7);
	bio_init(&bio, &disk, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_queue, &bio);
	tick(11);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_getrq, &bio);
	tick(13);
	switch_to(&idle[1], true);
	tick(17);
	EVENT(on_rq_issue, &rq);
	tick(19);
	completes_for(&rq, SIZE, &task);
}

#define READ_STRATA [ST_QUEUE] = 17, [ST_DEVICE] = 19, [ST_COMPLETE] = 23, [ST_RUNQ] = 29

static void assert_one_major(u64 on_cpu)
{
	assert_ops(OP_FAULT, 1, on_cpu + 17 + 19 + 23 + 29,
		   (u64[ST_N]){ [ST_SYSCALL] = on_cpu, READ_STRATA });
}

/* Current is in no operation: what it begins next loses none. */
static void assert_idle(void)
{
	u64 lost = lost_all();

	sys_enter(NR_STAT, 0, 0, 0, 0);
	sys_exit(0);
	assert_int_equal(lost_all(), lost);
}

static void minor(void)
{
	fault_at(ADDRESS);
	tick(7);
	fault_handled(&vma, BY_USER, 0);
}

/* A fault that found its page is counted, and no operation; of memory of no file, neither. */
static void test_minor(void **state)
{
	(void)state;
	start();
	minor();
	minor();
	fault_at(ADDRESS);
	fault_handled(&anonymous, BY_USER, 0);
	assert_faults(2, 0);
	machine.vma_busy = 1;
	fault_at(ADDRESS);
	fault_handled(&anonymous, BY_USER, UNLOCKED);
	assert_faults(3, 0);
	conf.minor_faults = 0;
	minor();
	assert_faults(3, 0);
	assert_idle();
	assert_int_equal(lost_all(), 0);
}

/* A mapping of a character device is not traced, unless all files are. */
static void test_minor_of_device(void **state)
{
	(void)state;
	start();
	file.inode.i_mode = 0020000;
	minor();
	assert_faults(0, 0);
	conf.all_files = 1;
	minor();
	assert_faults(1, 0);
}

static void file_filter(u64 ino)
{
	conf.file_filter = conf.file_details = conf.n_files = 1;
	lists.files[0] = (struct filter_file){ .ino = ino, .dev = 8 << MINOR_BITS | 1 };
}

static void test_minor_filtered(void **state)
{
	(void)state;
	start();
	file_filter(31);
	minor();
	assert_faults(0, 0);
	file_filter(23);
	minor();
	assert_faults(1, 0);
	lists.files[0].ino = 31;
	fault_at(ADDRESS);
	fault_handled(&vma, BY_USER, UNLOCKED);
	assert_faults(1, 0);
	assert_int_equal(lost_all(), 0);
}

/* A fault has unlocked its mapping, which is gone by now. */
static void test_minor_unmapped(void **state)
{
	(void)state;
	start();
	machine.vma = NULL;
	fault_at(ADDRESS);
	fault_handled(&vma, BY_USER, UNLOCKED);
	assert_faults(0, 0);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 1);
	assert_idle();
}

/* With --by they are in the hash, each counted once, and nothing else of them. */
static void test_minor_by_pid(void **state)
{
	u64 hist[HIST_N] = {};
	struct op_sums s;

	(void)state;
	start();
	conf.row_slots = 0;
	conf.by = BY_PID;
	for (int i = 0; i < 3; i++)
		minor();
	s = ops_counted(OP_MINOR_FAULT, hist);
	assert_int_equal(s.count, 3);
	assert_int_equal(hist[0], 3);
	assert_int_equal(s.total_ns + s.errors + s.max_ns + s.bytes, 0);
	assert_int_equal(map_count(&op_rows_even), 1);
	live.epoch = 1;
	minor();
	assert_int_equal(map_count(&op_rows_odd), 1);
	assert_faults(4, 0);
}

/* If no slot is free, the hash takes them; if that is full, they are lost. */
static void test_minor_without_room(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < ROW_SLOTS; i++) {
		live.rows[i].what = 1;
		live.rows[i].fs = 1;
	}
	minor();
	assert_faults(1, 0);
	assert_int_equal(map_count(&op_rows_even), 1);
	map_of(&op_rows_even)->max = 1;
	conf.by = BY_PID;
	minor();
	assert_faults(1, 0);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

static u64 fs_of_row(u32 op)
{
	for (int i = 0; i < ROW_SLOTS; i++)
		if (WHAT_OP(live.rows[i].what) == op)
			return live.rows[i].fs;
	return 0;
}

static void overlay(struct kfile *layer)
{
	layer->f.f_mode = 1 << 29;
	layer->sb.s_magic = 0xef53;
	other.sb.s_magic = OVERLAYFS_SUPER_MAGIC;
	machine.opened = &other.f;
	machine.vma = NULL;
}

/* overlayfs maps the file of a layer below; the fault still counts for overlayfs. */
static void test_minor_of_overlay(void **state)
{
	(void)state;
	start();
	overlay(&file);
	minor();
	assert_faults(1, 0);
	assert_true(fs_of_row(OP_MINOR_FAULT) == (u64)&other.type);
}

/* Other file systems than overlayfs open uncounted files, too: the fault counts for the mapped
 * file. */
static void test_minor_of_uncounted_file(void **state)
{
	(void)state;
	start();
	overlay(&file);
	other.sb.s_magic = 0x1234;
	minor();
	assert_true(fs_of_row(OP_MINOR_FAULT) == (u64)&file.type);
}

/* A mapped file that counts for the limit is no file of a layer below overlayfs. */
static void test_minor_of_upper_file(void **state)
{
	(void)state;
	start();
	overlay(&file);
	file.f.f_mode = ~(1U << 29);
	minor();
	assert_true(fs_of_row(OP_MINOR_FAULT) == (u64)&file.type);
}

/* The functions that overlayfs reads with are not those of the file of a layer. */
static void test_major_of_overlay(void **state)
{
	(void)state;
	start();
	overlay(&file);
	other.dentry.d_name.name = (const unsigned char *)"opened";
	conf.file_details = conf.records = 1;
	fault_at(ADDRESS);
	reads();
	fault_handled(&vma, BY_USER, 0);
	assert_one_major(31);
	assert_true(fs_of_row(OP_FAULT) == (u64)&other.type);
	assert_int_equal(newest_record()->ino, 29);
	assert_int_equal(newest_record()->dev, 51);
	assert_string_equal(newest_record()->file.names, "opened");
	for (int i = 0; i < FS_SLOTS; i++)
		if (live.fs_types[i].fs == (u64)&other.type)
			assert_int_equal(live.fs_types[i].read_iter, 0);
}

/* A fault that reads its page is an operation from the exception to its end. */
static void test_major(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	tick(37);
	fault_handled(&vma, BY_USER, 0);
	assert_one_major(31 + 37);
	assert_faults(0, 1);
	assert_int_equal(ops_counted(OP_FAULT, NULL).device_bytes, SIZE);
	assert_int_equal(ops_counted(OP_FAULT, NULL).errors, 0);
	minor();
	assert_faults(1, 1);
	assert_int_equal(lost_all(), 0);
	assert_nothing_kept();
}

/* A fault that reads is an operation, even if it does not wait for the read. */
static void test_major_at_once(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	bio_init(&bio, &disk, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_queue, &bio);
	tick(7);
	fault_handled(&vma, BY_USER, 0);
	assert_ops(OP_FAULT, 1, 7, (u64[ST_N]){ [ST_SYSCALL] = 7 });
}

/* A fault that slept, for whatever reason, is an operation; one that was preempted is not. */
static void test_slept(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	tick(3);
	switch_to(&idle[1], false);
	tick(5);
	switch_to(&task, false);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(1, 0);
	fault_at(ADDRESS);
	sleeps(13);
	fault_handled(&vma, BY_USER, 0);
	assert_ops(OP_FAULT, 1, 13 + 29, (u64[ST_N]){ [ST_SLEEP] = 13, [ST_RUNQ] = 29 });
}

/* A sleep of one kind alone makes it one. */
static void test_slept_in(void **state)
{
	u64 lock[2] = { 0x1000, 0 }, throttle[8] = { [6] = 10 };

	(void)state;
	start();
	fault_at(ADDRESS);
	on_lock_wanted(lock);
	switch_to(&idle[1], true);
	tick(11);
	wake(&task);
	switch_to(&task, false);
	fault_handled(&vma, BY_USER, 0);
	assert_ops(OP_FAULT, 1, 11, (u64[ST_N]){ [ST_LOCK] = 11 });
	fault_at(ADDRESS);
	on_throttle(throttle);
	switch_to(&idle[1], true);
	tick(13);
	wake(&task);
	switch_to(&task, false);
	fault_handled(&vma, BY_USER, 0);
	assert_ops(OP_FAULT, 2, 13, (u64[ST_N]){ [ST_LOCK] = 11, [ST_THROTTLE] = 13 });
}

/* Sleeps before it are none of its own. */
static void test_slept_before(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	fault_handled(&vma, BY_USER, 0);
	minor();
	assert_faults(1, 1);
}

/* handle_mm_fault() fails, or is called again, for each of these. */
static void test_not_handled(void **state)
{
	static const u64 results[] = { 1, 0x10, 0x20, 0x40, 0x800, RETRY, RETRY | BUS_ERROR };

	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	for (int i = 0; i < 7; i++) {
		tick(5);
		fault_handled(&vma, BY_USER, results[i]);
	}
	assert_faults(0, 0);
	fault_at(ADDRESS); /* goes on */
	tick(2);
	fault_handled(&vma, BY_USER, 0x100 | 0x200 | 4);
	assert_one_major(31 + 7 * 5 + 2);
}

/* The kernel looks for pages itself, too: that is no fault of user code. */
static void test_not_by_user(void **state)
{
	u64 ctx[5] = { (u64)&vma, 0, BY_USER, 0, 0 };

	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	RUN(on_fault_handled, ctx);
	fault_handled(&vma, ~(u64)BY_USER, 0); /* of the kernel */
	assert_faults(0, 0);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 1);
}

/* No fault is in progress: of a thread that is not known, or in a call. */
static void test_no_fault(void **state)
{
	(void)state;
	start();
	fault_handled(&vma, BY_USER, 0);
	signal_deliver(SIGNAL_BUS);
	RUN(on_fault_event, NULL);
	task.fd[2] = &file.f;
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	sleeps(7);
	fault_handled(&vma, BY_USER, 0);
	signal_deliver(SIGNAL_BUS);
	RUN(on_fault_event, NULL);
	assert_faults(0, 0);
	tick(11);
	sys_exit(0);
	assert_ops(OP_FSYNC, 1, 7 + 29 + 11,
		   (u64[ST_N]){ [ST_SYSCALL] = 11, [ST_SLEEP] = 7, [ST_RUNQ] = 29 });
	assert_int_equal(lost_all(), 0);
}

/* A fault whose end was not seen is forgotten: another begins, or a call. */
static void test_forgotten(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	fault_at(ADDRESS + SIZE);
	tick(3);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(1, 0);
	fault_at(ADDRESS);
	sleeps(7);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	tick(5);
	sys_exit(0);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(1, 0);
	assert_ops(OP_META, 1, 5, (u64[ST_N]){ [ST_SYSCALL] = 5 });
	assert_int_equal(lost_all(), 0);
}

/* A write to a shared mapping unlocks it, so the mapping is looked up; also if others are busy
 * with it, but not for ever. */
static void test_unlocked(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	machine.vma_busy = FIND_TRIES - 1;
	fault_handled(&anonymous, BY_USER, UNLOCKED);
	assert_one_major(31);
	assert_true(fs_of_row(OP_FAULT) == (u64)&file.type);
	assert_int_equal(lost_all(), 0);
	fault_at(ADDRESS);
	reads();
	machine.vma_busy = FIND_TRIES;
	fault_handled(&anonymous, BY_USER, UNLOCKED);
	assert_faults(0, 1);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 1);
	assert_idle();
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 1);
}

/* The mapping is gone. */
static void test_unmapped(void **state)
{
	(void)state;
	start();
	machine.vma = NULL;
	fault_at(ADDRESS);
	sleeps(7);
	signal_deliver(SIGNAL_BUS);
	assert_int_equal(lost_all(), 0); /* SIGBUS, but of what is not known */
	fault_at(ADDRESS);
	sleeps(7);
	fault_handled(NULL, BY_USER, UNLOCKED);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 1);
	fault_at(ADDRESS);
	reads();
	signal_deliver(SIGNAL_BUS);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 2);
	machine.vma_busy = FIND_TRIES;
	fault_at(ADDRESS);
	sleeps(7);
	signal_deliver(SIGNAL_BUS);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 3);
	assert_faults(0, 0);
}

/* The fault waits for a page that another thread reads. */
static void waits_for_other(void)
{
	struct ktask reader;

	task_init(&reader, 1109, 1109, "reader", 0);
	cpu_is(2, &reader);
	bio_init(&bio, &disk, REQ_OP_READ, 0, SIZE);
	EVENT(on_bio_queue, &bio);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_getrq, &bio);
	EVENT(on_rq_issue, &rq);
	cpu_is(1, &task);
	switch_to(&idle[1], true);
	tick(13);
	complete_bytes(&rq, 0, SIZE);
	wake(&task);
	completion_is_over();
	switch_to(&task, false);
}

static void test_unmapped_after_wait(void **state)
{
	(void)state;
	start();
	machine.vma = NULL;
	fault_at(ADDRESS);
	waits_for_other();
	signal_deliver(SIGNAL_BUS);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 1);
}

/* An I/O error is SIGBUS; any other signal comes between two attempts of a fault that waited. */
static void test_signals(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	signal_deliver(SIGNAL_BUS);
	assert_one_major(31);
	assert_int_equal(ops_counted(OP_FAULT, NULL).errors, 1);
	fault_at(ADDRESS);
	sleeps(7);
	signal_deliver(15);
	assert_faults(0, 2);
	assert_int_equal(ops_counted(OP_FAULT, NULL).errors, 1);
	fault_at(ADDRESS);
	signal_deliver(15);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 2);
	fault_at(ADDRESS);
	signal_deliver(SIGNAL_BUS);
	assert_faults(0, 3);
	assert_int_equal(ops_counted(OP_FAULT, NULL).errors, 2);
	assert_int_equal(lost_all(), 0);
}

/* Another tool looks mappings up when the signal is delivered: the fault ends before that. */
static void test_signals_of_peer(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	machine.vma = NULL;
	fault_handled(&vma, BY_USER, BUS_ERROR);
	assert_one_major(31);
	assert_int_equal(ops_counted(OP_FAULT, NULL).errors, 1);
	signal_deliver(SIGNAL_BUS);
	fault_at(ADDRESS);
	fault_handled(&anonymous, BY_USER, BUS_ERROR);
	assert_idle();
	machine.vma = &vma;
	for (int i = 0; i < 2; i++) {
		fault_at(ADDRESS);
		sleeps(7);
		task.t.blocked.sig[0] = 0x10;
		task.t.pending.signal.sig[0] = i ? 0x11 : 0x10;
		task.signal.shared_pending.signal.sig[0] = i ? 0x10 : 0x30;
		fault_handled(&vma, BY_USER, RETRY);
		machine.vma_busy = FIND_TRIES;
		signal_deliver(15);
		machine.vma_busy = 0;
		assert_faults(0, 2 + i);
	}
	fault_at(ADDRESS);
	fault_handled(&vma, BY_USER, RETRY);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 3);
	assert_int_equal(ops_counted(OP_FAULT, NULL).errors, 1);
	assert_int_equal(lost_all(), 0);
}

/* Not every pending signal is delivered: if all are blocked, the fault is tried again. */
static void test_signals_blocked(void **state)
{
	(void)state;
	start();
	task.t.pending.signal.sig[0] = task.t.blocked.sig[0] = 0x14;
	task.signal.shared_pending.signal.sig[0] = 4;
	fault_at(ADDRESS);
	reads();
	fault_handled(&vma, BY_USER, RETRY);
	assert_faults(0, 0);
	tick(5);
	fault_handled(&vma, BY_USER, 0);
	assert_one_major(31 + 5);
}

/* Memory of no file is an operation if a page was swapped in, unless files are asked for. */
static void test_swap(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	sleeps(7);
	fault_handled(&anonymous, BY_USER, 0);
	assert_faults(0, 0);
	conf.records = 1;
	fault_at(ADDRESS);
	reads();
	fault_handled(&anonymous, BY_USER, 0);
	assert_one_major(31);
	assert_int_equal(fs_of_row(OP_FAULT), FS_UNKNOWN);
	assert_true(newest_record()->offset == OFFSET_UNKNOWN);
	assert_int_equal(newest_record()->ino, 0);
	fault_at(ADDRESS);
	waits_for_other();
	fault_handled(&anonymous, BY_USER, 0);
	assert_faults(0, 2);
	file_filter(23);
	fault_at(ADDRESS);
	reads();
	fault_handled(&anonymous, BY_USER, 0);
	assert_faults(0, 2);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 2);
}

static u32 call_of_row(u32 op)
{
	for (int i = 0; i < ROW_SLOTS; i++)
		if (WHAT_OP(live.rows[i].what) == op)
			return WHAT_CALL(live.rows[i].what);
	return 0;
}

/* Current reclaims memory: it writes a page to the swap space, and waits for the disk. */
static void swaps_out(void)
{
	bio_init(&bio, &disk, REQ_OP_WRITE, 0, SIZE);
	EVENT(on_bio_queue, &bio);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_getrq, &bio);
	EVENT(on_rq_issue, &rq);
	switch_to(&idle[1], true);
	tick(19);
	complete_bytes(&rq, 0, SIZE);
	wake(&task);
	completion_is_over();
	switch_to(&task, false);
}

/* Memory of no file is an operation if the fault waited for the disk to free memory; not if it
 * slept for anything else, as a lock. */
static void test_swap_out(void **state)
{
	u64 throttle[8] = { [6] = 10 };

	(void)state;
	start();
	fault_at(ADDRESS);
	swaps_out();
	fault_handled(&anonymous, BY_USER, 0);
	assert_ops(OP_FAULT, 1, 19, (u64[ST_N]){ [ST_DEVICE] = 19 });
	assert_int_equal(call_of_row(OP_FAULT), CALL_FAULT | FAULT_SWAPS_OUT);
	fault_at(ADDRESS);
	on_throttle(throttle);
	sleeps(13);
	fault_handled(&anonymous, BY_USER, 0);
	assert_faults(0, 2);
	start();
	fault_at(ADDRESS);
	reads();
	fault_handled(&anonymous, BY_USER, 0);
	assert_int_equal(call_of_row(OP_FAULT), CALL_FAULT | FAULT_SWAPS_IN);
	start();
	fault_at(ADDRESS);
	swaps_out();
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 1);
	assert_int_equal(call_of_row(OP_FAULT), 0);
	file_filter(23);
	fault_at(ADDRESS);
	swaps_out();
	fault_handled(&anonymous, BY_USER, 0);
	assert_faults(0, 1);
}

/* A fault of the kernel in a call that is no operation is one if it waited, and has a row apart. It
 * is not counted if it found its page. */
static void test_of_kernel(void **state)
{
	(void)state;
	start();
	task.regs.orig_ax = CALL_MAX;
	EVENT(on_kernel_fault, ADDRESS);
	reads();
	tick(37);
	fault_handled(&vma, 0, 0);
	assert_one_major(31 + 37);
	assert_int_equal(call_of_row(OP_FAULT), CALL_FAULT | FAULT_OF_KERNEL);
	conf.all_faults = 1;
	EVENT(on_kernel_fault, ADDRESS);
	fault_handled(&vma, 0, 0);
	EVENT(on_kernel_fault, ADDRESS);
	RUN(on_fault_event, NULL);
	assert_faults(0, 1);
	assert_idle();
	start();
	task.regs.orig_ax = CALL_MAX;
	EVENT(on_kernel_fault, ADDRESS);
	reads();
	fault_handled(&anonymous, 0, 0);
	assert_int_equal(call_of_row(OP_FAULT), CALL_FAULT | FAULT_OF_KERNEL | FAULT_SWAPS_IN);
	assert_int_equal(lost_all(), 0);
}

/* A call that was in progress when tracing began is told, also if a fault of the kernel made the
 * state of its thread. */
static void test_of_kernel_in_earlier_call(void **state)
{
	(void)state;
	start();
	task.fd[2] = &file.f;
	task.regs = (struct pt_regs){ .di = 2, .orig_ax = NR_FSYNC };
	EVENT(on_kernel_fault, ADDRESS);
	reads();
	fault_handled(&vma, 0, 0);
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
	assert_faults(0, 1);
	EVENT(on_kernel_fault, ADDRESS);
	fault_handled(&vma, 0, 0);
	sys_exit(0);
	assert_int_equal(live.lost[LOST_UNMATCHED_END], 1);
}

/* The kernel does not handle faults in interrupts or BPF helpers, nor any on its own memory. */
static void test_of_kernel_refused(void **state)
{
	(void)state;
	start();
	task.t.pagefault_disabled = 1;
	EVENT(on_kernel_fault, ADDRESS);
	task.t.pagefault_disabled = 0;
	EVENT(on_kernel_fault, 0xffff888000001000);
	task.t.flags = PF_KTHREAD;
	EVENT(on_kernel_fault, ADDRESS);
	task.t.flags = 0;
	sleeps(7);
	fault_handled(&vma, 0, 0);
	assert_null(current_lookup());
	assert_faults(0, 0);
}

/* The file of a read or write is not known at its beginning: a fault of the kernel belongs to it
 * only if it is traced. */
static void test_of_kernel_in_write(void **state)
{
	(void)state;
	start();
	task.fd[2] = &file.f;
	sys_enter(NR_WRITE, 2, 0, 0, 0);
	EVENT(on_kernel_fault, ADDRESS);
	reads();
	fault_handled(&vma, 0, 0);
	assert_faults(0, 0);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_WRITE, NULL).count, 1);
	file.inode.i_mode = 0010000; /* a pipe */
	sys_enter(NR_WRITE, 2, 0, 0, 0);
	tick(3);
	EVENT(on_kernel_fault, ADDRESS);
	file.inode.i_mode = S_IFREG;
	reads();
	fault_handled(&vma, 0, 0);
	assert_one_major(31);
	sys_exit(1);
	assert_int_equal(ops_counted(OP_WRITE, NULL).count, 1);
	assert_int_equal(lost_all(), 0);
}

/* A fault of the kernel in an operation is part of the operation; one that the kernel did not
 * handle is forgotten when the call returns, or at a fault of user code. */
static void test_of_kernel_in_call(void **state)
{
	(void)state;
	start();
	task.fd[2] = &file.f;
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
	EVENT(on_kernel_fault, ADDRESS);
	sleeps(7);
	fault_handled(&vma, 0, 0);
	sys_exit(0);
	assert_ops(OP_FSYNC, 1, 7 + 29, (u64[ST_N]){ [ST_SLEEP] = 7, [ST_RUNQ] = 29 });
	EVENT(on_kernel_fault, ADDRESS);
	tick(5);
	sys_exit(0);
	assert_idle();
	EVENT(on_kernel_fault, ADDRESS);
	tick(5);
	fault_at(ADDRESS);
	sleeps(7);
	fault_handled(&vma, 0, 0);
	assert_faults(0, 0);
	fault_handled(&vma, BY_USER, 0);
	assert_ops(OP_FAULT, 1, 7 + 29, (u64[ST_N]){ [ST_SLEEP] = 7, [ST_RUNQ] = 29 });
	assert_int_equal(lost_all(), 0);
}

/* A fault on a file that is not asked for is none. */
static void test_major_filtered(void **state)
{
	(void)state;
	start();
	file_filter(31);
	fault_at(ADDRESS);
	reads();
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 0);
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 0);
	file.inode.i_mode = 0020000;
	file_filter(23);
	fault_at(ADDRESS);
	reads();
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 0);
}

/* A fault of the tool is none, nor is one of a process that is not asked for. */
static void test_not_asked_for(void **state)
{
	(void)state;
	start();
	conf.process_filter = conf.n_pids = 1;
	lists.pids[0] = 17;
	minor();
	assert_faults(0, 0);
	lists.pids[0] = 1103;
	minor();
	assert_faults(1, 0);
	conf.process_filter = conf.n_pids = 0;
	start();
	task_init(&task, TOOL, TOOL, "tool", 0);
	minor();
	assert_faults(0, 0);
}

/* Where functions cannot be probed, the kernel's own event ends it. */
static void test_event(void **state)
{
	(void)state;
	start();
	fault_at(ADDRESS);
	reads();
	RUN(on_fault_event, NULL);
	assert_one_major(31);
	fault_at(ADDRESS);
	RUN(on_fault_event, NULL);
	assert_idle();
	fault_handled(&vma, BY_USER, 0);
	assert_faults(0, 1);
	conf.all_faults = 1;
	fault_at(ADDRESS);
	tick(2);
	RUN(on_fault_event, NULL);
	assert_faults(0, 2);
	assert_true(fs_of_row(OP_FAULT) == (u64)&file.type);
}

/* With --all-faults one that found its page is an operation, too. */
static void test_all(void **state)
{
	(void)state;
	start();
	conf.all_faults = 1;
	minor();
	assert_ops(OP_FAULT, 1, 7, (u64[ST_N]){ [ST_SYSCALL] = 7 });
	fault_at(ADDRESS);
	fault_handled(&anonymous, BY_USER, UNLOCKED);
	assert_faults(0, 2);
}

/* The record of a fault has the offset in the file, and no number of bytes. */
static void test_record(void **state)
{
	const struct slow_op *r;

	(void)state;
	start();
	conf.records = conf.file_details = conf.op_extras = 1;
	conf.by = BY_CACHE;
	file.f.f_flags = O_DIRECT;
	fault_at(ADDRESS);
	reads();
	fault_handled(&vma, BY_USER, 0);
	r = newest_record();
	assert_non_null(r);
	assert_int_equal(r->kind, OP_FAULT);
	assert_int_equal(r->call, CALL_FAULT);
	assert_int_equal(r->offset, 0x5123 + (7 << 12));
	assert_true(r->len == ~0ULL);
	assert_int_equal(r->ret, 0);
	assert_int_equal(r->ino, 23);
	assert_int_equal(r->cache, CACHE_MISS);
	assert_int_equal(r->n_requests, 1);
	fault_at(ADDRESS + 2 * SIZE);
	reads();
	signal_deliver(SIGNAL_BUS);
	r = newest_record();
	assert_int_equal(r->offset, 0x7123 + (7 << 12));
	assert_int_equal(r->ret, -5);
}

static void test_sent(void **state)
{
	(void)state;
	start();
	conf.sent_ops = conf.op_extras = conf.file_details = conf.rings = 1;
	fault_at(ADDRESS);
	reads();
	fault_handled(&vma, BY_USER, 0);
	assert_int_equal(newest_sent()->fd, -1);
	assert_true(newest_sent()->len == ~0ULL);
	assert_int_equal(newest_sent()->call, CALL_FAULT);
}

/* On arm64 a function tells of faults. */
static void test_abort(void **state)
{
	u64 ctx[3] = { ADDRESS, 0, (u64)&task.regs };

	(void)state;
	start();
	RUN(on_fault_abort, ctx);
	reads();
	fault_handled(&vma, BY_USER, 0);
	assert_one_major(31);
}

/* --why: the only row of an epoch. */
static const struct site_sums *why_of(const void *rows, const struct site_key *key)
{
	assert_int_equal(map_count(rows), 1);
	return bpf_map_lookup_elem(rows, key);
}

static struct site_key why_key_of(u8 op, u64 fs)
{
	return (struct site_key){ .op = op, .fs = fs, .at = { 11, 13, 17, 19 } };
}

static void why_start(void)
{
	static const u64 stack[SITE_CALLERS] = { 11, 13, 17, 19 };

	start();
	conf.sites = 1;
	task.fd[2] = &file.f;
	memcpy(task.stack, stack, sizeof(stack));
	sys_enter(NR_FSYNC, 2, 0, 0, 0);
}

/* Sleeps that nothing explains are added up by where the thread was; others are not. */
static void test_why(void **state)
{
	struct site_key key = why_key_of(OP_FSYNC, (u64)&file.type);
	const struct site_sums *s;

	(void)state;
	why_start();
	sleeps(13);
	sleeps(31);
	sleeps(7);
	reads();
	s = why_of(&site_rows_even, &key);
	assert_non_null(s);
	assert_int_equal(s->count, 3);
	assert_int_equal(s->total_ns, 13 + 31 + 7);
	assert_int_equal(s->max_ns, 31);
	assert_int_equal(map_count(&site_rows_odd), 0);
	live.epoch = 1;
	sleeps(5);
	s = why_of(&site_rows_odd, &key);
	assert_non_null(s);
	assert_int_equal(s->count, 1);
	assert_int_equal(s->max_ns, 5);
	assert_int_equal(lost_all(), 0);
}

/* A wait for a lock is none of these sleeps, unless it is the lock of a frozen file system: one in
 * the super block of the operation's file, taken for reading, of the kind for each CPU. */
static void test_why_frozen(void **state)
{
	struct site_key key = why_key_of(OP_FSYNC, (u64)&file.type);
	u64 inside = (u64)&file.sb, outside = (u64)&file.sb + sizeof(file.sb);
	u64 locks[][2] = { { inside, 0 },
			   { inside, LCB_F_PERCPU },
			   { inside, LCB_F_READ },
			   { outside, LCB_F_PERCPU | LCB_F_READ },
			   { inside, LCB_F_PERCPU | LCB_F_READ } };
	const struct site_sums *s;

	(void)state;
	why_start();
	for (int i = 0; i < 5; i++) {
		on_lock_wanted(locks[i]);
		assert_int_equal(map_count(&site_rows_even), 0);
		sleeps(13 + i);
		on_lock_taken(locks[i]);
	}
	s = why_of(&site_rows_even, &key);
	assert_non_null(s);
	assert_int_equal(s->count, 1);
	assert_int_equal(s->total_ns, 17);
	/* a call by path has no file, and one on overlayfs waits for another file system */
	file.sb.s_magic = OVERLAYFS_SUPER_MAGIC;
	on_lock_wanted(locks[3]);
	assert_int_equal(current_lookup()->op.locked, LOCKED_FROZEN);
	sys_exit(0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	on_lock_wanted(locks[3]);
	assert_int_equal(current_lookup()->op.locked, LOCKED_FROZEN);
	on_lock_wanted(locks[0]);
	assert_int_equal(current_lookup()->op.locked, LOCKED);
}

/* Where a read or a fault has no file yet, the row has none, whatever came before. */
static void test_why_without_file(void **state)
{
	struct site_key fault = why_key_of(OP_FAULT, 0), read = why_key_of(OP_READ, 0);

	(void)state;
	why_start();
	sys_exit(0);
	fault_at(ADDRESS);
	sleeps(7);
	assert_non_null(why_of(&site_rows_even, &fault));
	live.epoch = 1;
	sys_enter(NR_READ, 2, 0, 0, 0);
	sleeps(7);
	assert_non_null(why_of(&site_rows_odd, &read));
}

/* User space is told when there are many rows; one that finds no room is lost. */
static void test_why_limit(void **state)
{
	(void)state;
	why_start();
	conf.site_rows_limit = 2;
	map_of(&site_rows_even)->max = 2;
	sleeps(7);
	assert_int_equal(live.site_rows_made[0], 1);
	sleeps(7);
	assert_int_equal(live.site_rows_made[0], 1);
	assert_int_equal(live.drain_wanted, 0);
	task.stack[3] = 23;
	sleeps(7);
	assert_int_equal(live.site_rows_made[0], 2);
	assert_int_equal(live.drain_wanted, 1);
	assert_int_equal(lost_all(), 0);
	task.stack[3] = 29;
	sleeps(7);
	assert_int_equal(live.site_rows_made[0], 2);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	live.epoch = 1;
	sleeps(7);
	assert_int_equal(live.site_rows_made[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minor),
		cmocka_unit_test(test_minor_of_device),
		cmocka_unit_test(test_minor_filtered),
		cmocka_unit_test(test_minor_unmapped),
		cmocka_unit_test(test_minor_by_pid),
		cmocka_unit_test(test_minor_without_room),
		cmocka_unit_test(test_minor_of_overlay),
		cmocka_unit_test(test_minor_of_uncounted_file),
		cmocka_unit_test(test_minor_of_upper_file),
		cmocka_unit_test(test_major_of_overlay),
		cmocka_unit_test(test_major),
		cmocka_unit_test(test_major_at_once),
		cmocka_unit_test(test_slept),
		cmocka_unit_test(test_slept_in),
		cmocka_unit_test(test_slept_before),
		cmocka_unit_test(test_not_handled),
		cmocka_unit_test(test_not_by_user),
		cmocka_unit_test(test_no_fault),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_unlocked),
		cmocka_unit_test(test_unmapped),
		cmocka_unit_test(test_unmapped_after_wait),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_signals_of_peer),
		cmocka_unit_test(test_signals_blocked),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_swap_out),
		cmocka_unit_test(test_of_kernel),
		cmocka_unit_test(test_of_kernel_in_earlier_call),
		cmocka_unit_test(test_of_kernel_refused),
		cmocka_unit_test(test_of_kernel_in_call),
		cmocka_unit_test(test_of_kernel_in_write),
		cmocka_unit_test(test_major_filtered),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_why_frozen),
		cmocka_unit_test(test_why_without_file),
		cmocka_unit_test(test_why_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
