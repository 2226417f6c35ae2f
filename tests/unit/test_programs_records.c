// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs of src/bpf while a run is recorded: what is sent of operations and requests, and the
 * names of files. In a machine that is made up; see kernel/machine.h.
 */
#include "kernel/machine.h"

#include "capture/stored.h"

enum { EXT4_DEV = 8 << MINOR_BITS | 1, LANE = 8 };

static struct kfile ext4, xfs, disk_file;
static struct kdisk disk;
static struct ktask alice, kworker;
static struct page page;
static struct bio_vec vec = { &page };
enum { NR_COPY = 326 };
static struct kernfs_node kn = { 503 };
static struct cgroup cgroup = { .kn = &kn };

static int start(void **state)
{
	unsigned short where[CALL_MAX] = {
		[NR_READ] = OFFSET_ARG3, [NR_WRITE] = OFFSET_POS, [72] = OFFSET_FLOCK
	};
	unsigned short more[CALL_MAX];

	(void)state;
	machine_start();
	memset((void *)lanes, 0, sizeof(lanes));
	memcpy(more, (const void *)calls, sizeof(more));
	more[72] = CALL_DESC(OP_LOCK, FILE_BY_ARGS);
	more[NR_COPY] = CALL_DESC(OP_COPY, FILE_ARG0_OR_2);
	data_set(calls, more, sizeof(more));
	data_set(call_offsets, where, sizeof(where));
	conf.sent_ops = conf.sent_requests = conf.issuers = conf.op_extras = conf.call_noted =
		conf.file_details = 1;
	conf.rings = 2;
	conf.lane_mask = LANE - 1;
	conf.lane_wake = 3;
	map_add(&lane_ops, sizeof(u32), sizeof(struct sent_op), CPUS * LANE, true);
	file_init(&ext4, "ext4", EXT4_DEV, 23, S_IFREG);
	file_init(&xfs, "xfs", 77, 29, S_IFREG);
	file_init(&disk_file, "devtmpfs", 5, 41, S_IFBLK);
	disk_file.inode.i_rdev = 99;
	disk_init(&disk, 8, 0, true);
	page.mapping = &ext4.mapping;
	task_init(&alice, 1100, 1101, "alice", 0);
	task_init(&kworker, 2311, 2311, "kworker/1:1", PF_KTHREAD | PF_WQ_WORKER);
	alice.fd[2] = &ext4.f;
	alice.fd[3] = &xfs.f;
	alice.fd[6] = &disk_file.f;
	cpu_is(1, &alice);
	return 0;
}

static void read_some(u32 fd, u64 ns, u64 offset, long ret)
{
	struct kfile *f = (struct kfile *)alice.fd[fd];

	sys_enter(NR_READ, fd, 0, 4096, offset);
	vfs_in(OP_READ, f);
	fs_in(OP_READ, f);
	tick(ns);
	fs_out(OP_READ, ret);
	vfs_out(OP_READ, ret);
	sys_exit(ret);
}

static const struct sent_op *lane_record(u32 cpu, u32 i)
{
	return (struct sent_op *)map_of(&lane_ops)->array + cpu * LANE + i % LANE;
}

static u32 messages_of(const void *ring)
{
	u32 n = 0;

	for (struct message *m = messages; m; m = m->next)
		n += m->ring == ring;
	return n;
}

/* The last of @ring. */
static const void *last_of(const void *ring)
{
	for (struct message *m = messages; m; m = m->next)
		if (m->ring == ring)
			return m->data;
	fail();
	return NULL;
}

/* The record of an operation without waits goes by the lane of its CPU. */
static void test_lane(void **state)
{
	const struct sent_op *s;

	(void)state;
	ext4.f.f_flags = 0102;
	ext4.inode.i_generation = 5;
	read_some(2, 100, 8192, 4093);
	assert_int_equal(lanes[1].written, 1);
	assert_int_equal(lanes[0].written, 0);
	s = lane_record(1, 0);
	assert_int_equal(s->what, SENT_OP);
	assert_int_equal(s->kind, OP_READ);
	assert_int_equal(s->cache, CACHE_HIT);
	assert_true(s->fs >= SENT_FS_FIRST);
	assert_int_equal(live.fs_types[s->fs - SENT_FS_FIRST].fs, (u64)&ext4.type);
	assert_int_equal(s->call, NR_READ);
	assert_int_equal(s->open_flags, 0102);
	assert_int_equal(s->requests, 0);
	assert_int_equal(s->fd, 2);
	assert_int_equal(s->who.pid, 1100);
	assert_int_equal(s->who.tid, 1101);
	assert_int_equal(s->who.cgroup, 8100);
	assert_string_equal(s->who.comm, "alice");
	assert_int_equal(s->file.key, 5ULL << 32 | EXT4_DEV);
	assert_int_equal(s->file.ino, 23);
	assert_int_equal(s->start_ns, machine.now - 100);
	assert_int_equal(s->offset, 8192);
	assert_int_equal(s->len, 4096);
	assert_int_equal(s->ret, 4093);
	assert_int_equal(s->on_cpu[ST_FS], 100);
	assert_int_equal(s->on_cpu[ST_SYSCALL] + s->on_cpu[ST_VFS], 0);
	read_some(6, 10, 0, 1);
	s = lane_record(1, 1);
	assert_int_equal(s->fs, SENT_FS_BDEV);
	assert_int_equal(s->file.key, 1ULL << 31 | 99);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sys_exit(-2);
	s = lane_record(1, 2);
	assert_int_equal(s->fs, SENT_FS_UNKNOWN);
	assert_int_equal(s->file.ino, 0);
	assert_int_equal(s->fd, -1);
	assert_int_equal(s->offset, OFFSET_UNKNOWN);
	assert_int_equal(s->len, ~0ULL);
	assert_int_equal(s->ret, -2);
	sys_enter(NR_OPEN, 0, 0, 0, 0);
	sys_exit(3);
	assert_int_equal(lane_record(1, 3)->fd, 3);
	sys_enter(NR_OPEN, 0, 0, 0, 0);
	sys_exit(-13);
	assert_int_equal(lane_record(1, 4)->fd, -1);
	assert_int_equal(ops_counted(OP_OPEN, NULL).count, 2);
	sys_enter(NR_OPEN, 0, 0, 0, 0);
	sys_exit(0);
	assert_int_equal(lane_record(1, 5)->fd, 0);
	assert_int_equal(lost_all(), 0);
}

/* The lane knows which file it has named last, and under which number its file system goes. */
static void test_lane_remembers(void **state)
{
	struct kfile sibling;

	(void)state;
	ext4.inode.i_generation = 5;
	read_some(2, 10, 0, 1);
	assert_int_equal(lanes[1].named.ino, 23);
	assert_int_equal(lanes[1].named.key, 5ULL << 32 | EXT4_DEV);
	assert_int_equal(lanes[1].fs, (u64)&ext4.type);
	assert_int_equal(lanes[1].fs_sent_as, lane_record(1, 0)->fs);
	file_init(&sibling, "ext4", EXT4_DEV, 37, S_IFREG);
	sibling.inode.i_generation = 5;
	alice.fd[2] = &sibling.f;
	read_some(2, 10, 0, 1);
	assert_int_equal(messages_of(&sent_files), 2);
	assert_int_equal(lanes[1].named.ino, 37);
}

/* Each part of an operation's time on the CPU; the last record of a lane leaves the next alone. */
static void test_lane_on_cpu(void **state)
{
	const struct sent_op *s;

	(void)state;
	cpu_is(2, &alice);
	read_some(2, 13, 17, 1);
	cpu_is(1, &alice);
	for (int i = 0; i < LANE; i++) {
		sys_enter(NR_READ, 2, 0, 4096, 0);
		tick(3);
		vfs_in(OP_READ, &ext4);
		tick(5);
		fs_in(OP_READ, &ext4);
		tick(7);
		fs_out(OP_READ, 1);
		vfs_out(OP_READ, 1);
		sys_exit(1);
	}
	s = lane_record(1, LANE - 1);
	assert_int_equal(s->on_cpu[ST_SYSCALL], 3);
	assert_int_equal(s->on_cpu[ST_VFS], 5);
	assert_int_equal(s->on_cpu[ST_FS], 7);
	s = lane_record(2, 0);
	assert_int_equal(s->what, SENT_OP);
	assert_int_equal(s->kind, OP_READ);
	assert_int_equal(s->offset, 17);
	assert_int_equal(s->call, NR_READ);
}

/* User space is woken each time that so many records of a lane have come. */
static void test_lane_wakes(void **state)
{
	(void)state;
	for (u32 i = 1; i <= LANE; i++) {
		read_some(2, 10, i, 1);
		assert_int_equal(wakeups_forced, i / 4);
	}
	assert_int_equal(wakeups_usual, 0);
	lanes[1].read = LANE;
	ring_room = 0; /* it has been woken for what the ring is full of */
	for (u32 i = 1; i <= 4; i++)
		read_some(2, 10, i, 1);
	assert_int_equal(wakeups_forced, 2);
	assert_int_equal(lost_all(), 0);
}

/* A CPU beyond those that have lanes sends all by its ring. */
static void test_no_lane(void **state)
{
	static const u32 cpus[] = { CPUS + 1, MAX_LANES, MAX_LANES + 1 };
	const void *ring;

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		cpu_is(cpus[i], &alice);
		read_some(2, 10, 17 + i, 1);
		ring = bpf_map_lookup_elem(&rings, &(u32){ cpus[i] % 2 });
		assert_int_equal(((const struct sent_op *)last_of(ring))->offset, 17 + i);
	}
	for (u32 i = 0; i < MAX_LANES; i++)
		assert_int_equal(lanes[i].written, 0);
	assert_int_equal(lost_all(), 0);
}

/* The record that begins first in each stretch of the ring wakes user space; a record lies behind
 * eight bytes of the ring's own. */
static void test_ring_wakes(void **state)
{
	static const u32 size = 120, at[] = { 0, 8, 120, 128, 136, 2048, 4088 };
	static char area[2 * 4096] __attribute__((aligned(4096)));

	(void)state;
	conf.wake_mask = 4095;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		wakeups_forced = 0;
		sent_submit(area + 4096 + at[i], size);
		messages = messages->next; /* it is not allocated */
		assert_int_equal(wakeups_forced, at[i] < 128);
		assert_int_equal(wakeups_usual, 0);
	}
}

/* A lane that is full leaves the rest to the ring, which may be full, too. User space is woken each
 * fourth record. */
static void test_lane_is_full(void **state)
{
	(void)state;
	bpf_map_lookup_elem(&rings, &(u32){ 1 });
	for (int i = 0; i < LANE; i++)
		read_some(2, 10, i, 1);
	assert_int_equal(lanes[1].written, LANE);
	assert_int_equal(lane_record(1, 7)->offset, 7);
	read_some(2, 10, 8, 1);
	assert_int_equal(lanes[1].written, LANE);
	assert_int_equal(
		((const struct sent_op *)last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 })))->offset,
		8);
	lanes[1].read = 1;
	read_some(2, 10, 9, 1);
	assert_int_equal(lanes[1].written, LANE + 1);
	assert_int_equal(lane_record(1, 0)->offset, 9);
	ring_room = 0;
	read_some(2, 10, 10, 1);
	assert_int_equal(live.lost[LOST_OPS], 1);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 11);
}

/* Without lanes, or where several write at a time, all go by the ring of their group of CPUs. */
static void test_ring(void **state)
{
	void *even = NULL, *odd = NULL;

	(void)state;
	even = bpf_map_lookup_elem(&rings, &(u32){ 0 });
	odd = bpf_map_lookup_elem(&rings, &(u32){ 1 });
	conf.single_writer = 0;
	read_some(2, 10, 1, 1);
	cpu_is(2, &alice);
	read_some(2, 10, 2, 1);
	conf.single_writer = 1;
	conf.lane_mask = 0;
	cpu_is(3, &alice);
	read_some(2, 10, 3, 1);
	assert_int_equal(messages_of(odd), 2);
	assert_int_equal(messages_of(even), 1);
	assert_int_equal(((const struct sent_op *)last_of(even))->offset, 2);
	assert_int_equal(((const struct sent_op *)last_of(odd))->offset, 3);
	assert_int_equal(lanes[1].written + lanes[2].written + lanes[3].written, 0);
}

/* The ring has whole records, too. A file system type that found no room is not known. */
static void test_ring_record(void **state)
{
	const struct sent_op *s;

	(void)state;
	conf.lane_mask = 0;
	sys_enter(NR_STAT, 0, 0, 0, 0);
	sys_exit(0);
	s = last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
	assert_int_equal(s->fs, SENT_FS_UNKNOWN);
	assert_int_equal(s->file.ino, 0);
	assert_int_equal(messages_of(&sent_files), 0);
	ext4.inode.i_ino = 0; /* which nothing can be found by */
	read_some(2, 10, 0, 1);
	assert_int_equal(messages_of(&sent_files), 0);
	ext4.inode.i_ino = 23;
	read_some(2, 10, 0, 1);
	s = last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
	assert_true(s->fs >= SENT_FS_FIRST);
	assert_int_equal(live.fs_types[s->fs - SENT_FS_FIRST].fs, (u64)&ext4.type);
	assert_int_equal(messages_of(&sent_files), 1);
	assert_int_equal(lost_all(), 0);
	for (u32 i = 0; i < FS_SLOTS; i++)
		live.fs_types[i].fs = 7001 + i;
	read_some(2, 10, 0, 1);
	s = last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
	assert_int_equal(s->fs, SENT_FS_UNKNOWN);
}

/* A request that another thread completes belongs to its submitter. */
static void test_of_another(void **state)
{
	static const struct sent_who bob = { 1201, 1203, 8203, "bob" };
	const struct sent_op *s;
	u64 cpu[ST_FS + 1] = { 3, 5, 7 };
	struct op op = { .kind = OP_URING, .fd = -1, .file.fs = FS_UNKNOWN };
	struct op_end end = { .cpu = cpu, .file = &op.file, .who = &bob };

	(void)state;
	op_send(&op, CACHE_NONE, &end, false);
	s = last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
	assert_memory_equal(&s->who, &bob, sizeof(bob));
}

/* An inode of overlayfs, and the dentry of its upper layer somewhere behind it. */
struct overlay_inode {
	struct inode inode;
	struct dentry *upper;
};

/* In current's call, overlayfs copies @n files with @inode up. */
static void copies_up(struct inode *inode, int n)
{
	struct dentry upper = { .d_inode = inode };
	struct overlay_inode of = { .upper = &upper };
	struct dentry dentry = { .d_inode = &of.inode };

	for (int i = 0; i < n; i++)
		EVENT(on_copied_up, &dentry);
}

/* Opens a file for which overlayfs copies @n files with @inode up. The last record. */
static const struct sent_op_waited *open_copies_up(struct inode *inode, int n)
{
	sys_enter(NR_OPEN, 0, 0, 0, 0);
	copies_up(inode, n);
	sys_exit(3);
	return last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
}

/* The record of an open has the bytes that overlayfs copied up in it, and no length. */
static void test_copied_up(void **state)
{
	struct inode file = { .i_mode = S_IFREG, .i_size = 4211 };
	struct inode directory = { .i_mode = S_IFDIR, .i_size = 4096 };
	struct inode empty = { .i_mode = S_IFREG };
	const struct sent_op_waited *w;
	struct stored_op stored;

	(void)state;
	conf.overlay_upper = offsetof(struct overlay_inode, upper);
	conf.lane_mask = 0;
	w = open_copies_up(&file, 1);
	assert_int_equal(w->op.what, SENT_OP_WAITED);
	assert_int_equal(w->copied_up, 4211);
	stored_op_set(&stored, &w->op, w);
	assert_int_equal(stored.copied_up, 4211);
	assert_true(stored.len == ~0ULL);
	assert_int_equal(open_copies_up(&file, 2)->copied_up, 2 * 4211);
	/* a directory has no bytes, and a file in no upper layer was not copied */
	assert_int_equal(open_copies_up(&directory, 1)->op.what, SENT_OP);
	assert_int_equal(open_copies_up(NULL, 1)->op.what, SENT_OP);
	w = open_copies_up(&empty, 1);
	assert_true(w->op.what == SENT_OP && w->op.len == ~0ULL);
	/* a call with a length keeps it, and a note of another wait is no copy */
	sys_enter(NR_STAT, 0, 0, 0, 0);
	current_lookup()->op.len = 512;
	copies_up(&file, 1);
	sys_exit(0);
	w = last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
	assert_true(w->op.what == SENT_OP && w->op.len == 512);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	current_lookup()->op.len = 512;
	current_lookup()->op.noted = NOTED_LOCK;
	sys_exit(0);
	w = last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
	assert_true(w->op.what != SENT_OP && !w->copied_up && w->op.len == 512);
	conf.overlay_upper = 0; /* the kernel's types do not tell where that is */
	assert_int_equal(open_copies_up(&file, 1)->op.what, SENT_OP);
}

/* An operation that submitted something, but was never off the CPU, has no waits. An operation that
 * was off the CPU, but submitted nothing, has no requests. */
static void test_waited_for_nothing(void **state)
{
	const struct sent_op_waited *w;
	struct bio bio;
	void *ring;

	(void)state;
	ring = bpf_map_lookup_elem(&rings, &(u32){ 1 });
	for (u32 op = REQ_OP_READ; op <= REQ_OP_WRITE; op++) {
		sys_enter(NR_READ, 2, 0, 4096, 0);
		vfs_in(OP_READ, &ext4);
		fs_in(OP_READ, &ext4);
		bio_init(&bio, &disk, op, 1234, 4096);
		EVENT(on_bio_queue, &bio);
		tick(3);
		fs_out(OP_READ, 1);
		vfs_out(OP_READ, 1);
		sys_exit(1);
		w = last_of(ring);
		assert_int_equal(w->op.what, SENT_OP_WAITED);
		assert_true(w->op.fs >= SENT_FS_FIRST);
		assert_int_equal(live.fs_types[w->op.fs - SENT_FS_FIRST].fs, (u64)&ext4.type);
		assert_int_equal(w->op.requests, 1);
		assert_int_equal(w->device_bytes, op == REQ_OP_READ ? 4096 : 0);
		assert_int_equal(w->op.on_cpu[ST_FS], 3);
		for (int i = 0; i < ST_N - SENT_ON_CPU; i++)
			assert_int_equal(w->waits[i], 0);
	}
	sys_enter(NR_READ, 2, 0, 4096, 0);
	switch_to(&idle[1], true);
	tick(5);
	wake(&alice);
	switch_to(&alice, false);
	sys_exit(1);
	w = last_of(ring);
	assert_int_equal(w->op.what, SENT_OP_WAITED);
	assert_int_equal(w->op.requests, 0);
	assert_int_equal(w->device_bytes, 0);
	for (int i = 0; i < ST_N - SENT_ON_CPU; i++)
		assert_int_equal(w->waits[i], i == ST_SLEEP - SENT_ON_CPU ? 5 : 0);
	ring_room = 0;
	sys_enter(NR_READ, 2, 0, 4096, 0);
	switch_to(&idle[1], false);
	switch_to(&alice, false);
	sys_exit(1);
	assert_int_equal(live.lost[LOST_OPS], 1);
}

/* The record of a copy has both files, and their names are sent. A copy that fails has none to
 * which it wrote. */
static void test_copy_of_two_files(void **state)
{
	const long rets[] = { 4099, 0, -28 };
	const struct sent_op_waited *w;
	const struct sent_op *s;
	const struct sent_file *named;
	void *ring;

	(void)state;
	conf.lane_mask = 0;
	ring = bpf_map_lookup_elem(&rings, &(u32){ 1 });
	for (int i = 0; i < 3; i++) {
		sys_enter(NR_COPY, 2, 0, 3, 0);
		tick(7);
		sys_exit(rets[i]);
		s = last_of(ring);
		assert_int_equal(s->kind, OP_COPY);
		assert_int_equal(s->file.ino, ext4.inode.i_ino);
		assert_int_equal(s->what, i ? SENT_OP : SENT_OP_WAITED);
		if (i)
			continue;
		w = last_of(ring);
		assert_int_equal(w->copied_to.ino, xfs.inode.i_ino);
		assert_int_equal(w->copied_to.key, FILE_KEY(xfs.sb.s_dev, 0, 0));
		assert_int_equal(live.fs_types[w->copied_fs - SENT_FS_FIRST].fs, (u64)&xfs.type);
		named = last_of(&sent_files);
		assert_int_equal(named->id.ino, ext4.inode.i_ino);
	}
	assert_int_equal(lost_all(), 0);
}

/* @r has all that is known of the request that test_waited() makes in a call of alice, begun at
 * @began. */
static void request_of_alice_is_whole(const struct sent_request *r, u64 began)
{
	assert_int_equal(r->what, SENT_REQUEST);
	assert_int_equal(r->op, RQ_READ);
	assert_int_equal(r->flags, 0);
	assert_int_equal(r->bio_based, 0);
	assert_int_equal(r->dev, disk.dev);
	assert_int_equal(r->cmd_flags, REQ_OP_READ | 0x800);
	assert_int_equal(r->error, 0);
	assert_int_equal(r->requeues + r->merges, 0);
	assert_int_equal(r->sector, 1234);
	assert_int_equal(r->bytes, 4096);
	assert_int_equal(r->q, began + 3);
	assert_int_equal(r->g, began + 8);
	assert_int_equal(r->d, began + 15);
	assert_int_equal(r->c, began + 26);
	assert_int_equal(r->file.ino, 23);
	assert_int_equal(r->file.key, EXT4_DEV);
	assert_int_equal(r->who.pid, 1100);
	assert_int_equal(r->who.tid, 1101);
	assert_int_equal(r->who.cgroup, 8100);
	assert_string_equal(r->who.comm, "alice");
}

/* The record of an operation that waited has its waits, and its device bytes. */
static void test_waited(void **state)
{
	void *ring = NULL;
	const struct sent_op_waited *w;
	const struct sent_request *r;
	struct blk_mq_ctx mq_ctx;
	struct request rq;
	struct bio bio;
	u64 began;

	(void)state;
	ring = bpf_map_lookup_elem(&rings, &(u32){ 1 });
	began = machine.now;
	sys_enter(NR_READ, 2, 0, 4096, 0);
	vfs_in(OP_READ, &ext4);
	fs_in(OP_READ, &ext4);
	tick(3);
	bio_init(&bio, &disk, REQ_OP_READ | 0x800, 1234, 4096);
	EVENT(on_bio_queue, &bio);
	tick(5);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_getrq, &bio);
	switch_to(&idle[1], true);
	tick(7);
	EVENT(on_rq_issue, &rq);
	tick(11);
	machine.level = 0x10000;
	complete_bytes(&rq, 0, 4096);
	wake(&alice);
	completion_is_over();
	machine.level = 0;
	tick(13);
	switch_to(&alice, false);
	r = last_of(ring);
	request_of_alice_is_whole(r, began);
	fs_out(OP_READ, 4096);
	vfs_out(OP_READ, 4096);
	sys_exit(4096);
	assert_int_equal(lanes[1].written, 0);
	w = last_of(ring);
	assert_int_equal(w->op.what, SENT_OP_WAITED);
	assert_int_equal(w->op.requests, 1);
	assert_int_equal(w->op.cache, CACHE_MISS);
	assert_int_equal(w->device_bytes, 4096);
	assert_int_equal(w->op.on_cpu[ST_FS], 8);
	assert_int_equal(w->waits[ST_QUEUE - SENT_ON_CPU], 7);
	assert_int_equal(w->waits[ST_DEVICE - SENT_ON_CPU], 11);
	assert_int_equal(w->waits[ST_RUNQ - SENT_ON_CPU], 13);
	assert_int_equal(w->waits[ST_SLEEP - SENT_ON_CPU], 0);
	assert_int_equal(lost_all(), 0);
}

/* The record of a request that failed has the error; one without room in the ring is lost. */
static void test_failed_request(void **state)
{
	void *ring = bpf_map_lookup_elem(&rings, &(u32){ 1 });
	const struct sent_request *r;
	struct blk_mq_ctx mq_ctx;
	struct request rq;
	struct bio bio;

	(void)state;
	bio_init(&bio, &disk, REQ_OP_WRITE, 5, 512);
	EVENT(on_bio_queue, &bio);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_getrq, &bio);
	EVENT(on_rq_issue, &rq);
	complete_bytes(&rq, -5, 512);
	completion_is_over();
	r = last_of(ring);
	assert_int_equal(r->flags, SENT_FAILED | SENT_OUTSIDE);
	assert_int_equal(r->error, -5);
	assert_int_equal(r->op, RQ_WRITE);
	ring_room = 0;
	bio_init(&bio, &disk, REQ_OP_WRITE, 5, 512);
	EVENT(on_bio_queue, &bio);
	EVENT(on_rq_issue, &rq);
	complete_bytes(&rq, 0, 512);
	assert_int_equal(live.lost[LOST_REQUESTS], 1);
}

/* Current submits a bio for the page, and its request is done: what is sent of that. */
static const struct sent_request *request_of(struct ktask *t, struct bio *bio)
{
	struct blk_mq_ctx mq_ctx;
	struct request rq;

	cpu_is(1, t);
	EVENT(on_bio_queue, bio);
	request_init(&rq, &mq_ctx, &disk, bio);
	EVENT(on_getrq, bio);
	EVENT(on_rq_issue, &rq);
	complete_bytes(&rq, 0, 4096);
	completion_is_over();
	return last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
}

/* When a request was submitted is told if it was seen, whether or not it was seen to get its
 * request; a device without requests has none. */
static void test_when_submitted(void **state)
{
	const struct sent_request *r;
	struct blk_mq_ctx mq_ctx;
	struct request rq;
	struct kdisk stacked;
	struct bio bio;
	void *ring;

	(void)state;
	ring = bpf_map_lookup_elem(&rings, &(u32){ 1 });
	bio_init(&bio, &disk, REQ_OP_WRITE, 5, 4096);
	EVENT(on_bio_queue, &bio);
	tick(3);
	request_init(&rq, &mq_ctx, &disk, &bio);
	EVENT(on_rq_issue, &rq);
	tick(5);
	complete_bytes(&rq, 0, 4096);
	r = last_of(ring);
	assert_int_equal(r->q, machine.now - 5 - 3);
	assert_int_equal(r->d, machine.now - 5);
	assert_int_equal(r->bio_based, 0);
	EVENT(on_getrq, &bio); /* of one whose submission was not seen */
	tick(3);
	EVENT(on_rq_issue, &rq);
	tick(5);
	complete_bytes(&rq, 0, 4096);
	r = last_of(ring);
	assert_int_equal(r->q, 0);
	assert_int_equal(r->d, machine.now - 5);
	disk_init(&stacked, 253, 0, false);
	bio_init(&bio, &stacked, REQ_OP_WRITE, 5, 4096);
	EVENT(on_bio_queue, &bio);
	tick(7);
	bio_ends(&bio);
	r = last_of(ring);
	assert_int_equal(r->bio_based, 1);
	assert_int_equal(r->dev, stacked.dev);
	assert_int_equal(r->q, machine.now - 7);
}

static void bio_of_page(struct bio *bio)
{
	bio_init(bio, &disk, REQ_OP_WRITE, 5, 4096);
	bio->bi_io_vec = &vec;
}

static void assert_whose(const struct sent_request *r, u32 pid, u32 tid, u64 in, const char *comm)
{
	assert_int_equal(r->what, SENT_REQUEST);
	assert_int_equal(r->who.pid, pid);
	assert_int_equal(r->who.tid, tid);
	assert_int_equal(r->who.cgroup, in);
	assert_string_equal(r->who.comm, comm);
}

/* A request belongs to its submitter. A request of a kernel thread, or one submitted in an
 * interrupt, is in the bio's cgroup. The request's file is the file of its page. */
static void test_whose_requests(void **state)
{
	const struct sent_request *r;
	struct bio bio;

	(void)state;
	bio_of_page(&bio);
	r = request_of(&kworker, &bio);
	assert_whose(r, 2311, 2311, kworker.cgroup, "kworker/1:1");
	assert_int_equal(r->file.key, EXT4_DEV);
	assert_int_equal(r->file.ino, 23);
	machine.bio_cgroup = &cgroup;
	assert_whose(request_of(&kworker, &bio), 2311, 2311, 503, "kworker/1:1");
	assert_whose(request_of(&alice, &bio), 1100, 1101, 8100, "alice");
	machine.level = SOFT_INTERRUPT;
	ext4.inode.i_generation = 31;
	r = request_of(&alice, &bio);
	assert_whose(r, 0, 0, 503, "");
	assert_int_equal(r->file.key, 31ULL << 32 | EXT4_DEV);
	page.mapping = NULL;
	r = request_of(&alice, &bio);
	assert_int_equal(r->file.key, 0);
	assert_int_equal(r->file.ino, 0);
}

/* The record of a throttled bio has the bio's submitter, and the file of that time. */
static void test_whose_throttled(void **state)
{
	const struct sent_request *r;
	struct bio bio;

	(void)state;
	strcpy(kworker.queue, "kthrotld");
	machine.bio_cgroup = &cgroup;
	bio_of_page(&bio);
	EVENT(on_bio_throttled, &bio);
	page.mapping = &xfs.mapping;
	r = request_of(&kworker, &bio);
	assert_whose(r, 1100, 1101, 8100, "alice");
	assert_int_equal(r->file.key, EXT4_DEV);
	assert_int_equal(r->file.ino, 23);
	/* of one that was not seen then, its file and cgroup are known */
	r = request_of(&kworker, &bio);
	assert_whose(r, 0, 0, 503, "");
	assert_int_equal(r->file.key, 77);
	assert_int_equal(r->file.ino, 29);
}

static const struct sent_file *last_name(void)
{
	return last_of(&sent_files);
}

/* The arguments of an exec are sent, of threads that are traced; none that cannot be read, and as
 * many bytes as there is room for. */
static void test_exec_command(void **state)
{
	char args[EXECUTED_BYTES + 7] = "dd\0if=/dev/zero\0of=a b";
	struct mm_struct mm = { .arg_start = (u64)args, .arg_end = (u64)args + 23 };
	const struct executed *e;

	(void)state;
	alice.t.mm = &mm;
	EVENT(on_command, &alice);
	assert_int_equal(messages_of(&commands), 1);
	e = last_of(&commands);
	assert_int_equal(e->pid, alice.t.tgid);
	assert_string_equal(e->comm, "alice");
	assert_int_equal(e->len, 23);
	assert_memory_equal(e->text, args, 23);
	mm.arg_end = (u64)args + sizeof(args);
	EVENT(on_command, &alice);
	e = last_of(&commands);
	assert_int_equal(e->len, EXECUTED_BYTES);
	mm.arg_end = (u64)args - 1;
	EVENT(on_command, &alice);
	e = last_of(&commands);
	assert_true(e->len <= EXECUTED_BYTES);
	conf.process_filter = conf.n_pids = 1;
	lists.pids[0] = alice.t.tgid + 1;
	EVENT(on_command, &alice);
	assert_int_equal(messages_of(&commands), 3);
	ring_room = 0;
	lists.pids[0] = alice.t.tgid;
	EVENT(on_command, &alice);
	assert_int_equal(messages_of(&commands), 3);
	assert_int_equal(lost_all(), 0);
}

/* A file's name is sent once; one that cannot be read is tried again. */
static void test_names_once(void **state)
{
	const struct sent_file *s;

	(void)state;
	read_some(2, 10, 0, 1);
	read_some(2, 10, 0, 1);
	assert_int_equal(messages_of(&sent_files), 1);
	s = last_name();
	assert_int_equal(s->what, SENT_FILE);
	assert_int_equal(s->id.ino, 23);
	assert_int_equal(s->id.key, EXT4_DEV);
	assert_memory_equal(s->name.names, "file\0mnt", 9);
	assert_int_equal(s->name.len, 9);
	assert_true(s->name.complete && !s->name.unmounted && !s->name.deleted &&
		    !s->name.nameless);
	read_some(3, 10, 0, 1);
	assert_int_equal(last_name()->id.ino, 29);
	read_some(2, 10, 0, 1);
	read_some(3, 10, 0, 1);
	cpu_is(0, &alice);
	read_some(2, 10, 0, 1);
	assert_int_equal(messages_of(&sent_files), 2);
	ext4.inode.i_generation++;
	ext4.dentry.d_inode = NULL;
	read_some(2, 10, 0, 1);
	read_some(2, 10, 0, 1);
	assert_int_equal(messages_of(&sent_files), 4);
	assert_true(last_name()->name.nameless);
	ext4.dentry.d_inode = &ext4.inode;
	read_some(2, 10, 0, 1);
	read_some(2, 10, 0, 1);
	assert_int_equal(messages_of(&sent_files), 5);
	assert_false(last_name()->name.nameless);
	conf.lane_mask = 0;
	read_some(2, 10, 0, 1);
	ext4.inode.i_generation++;
	read_some(2, 10, 0, 1);
	read_some(2, 10, 0, 1);
	assert_int_equal(messages_of(&sent_files), 6);
}

/* However many files there are, each of them is named: whatever else two have in common. */
static void test_names_of_many(void **state)
{
	struct file_info f = { .file = (u64)&ext4.f };

	(void)state;
	for (u32 i = 1; i <= FILES_SENT + 1; i++) {
		ext4.inode.i_ino = f.ino = 7 + i;
		assert_true(file_send(&f, EXT4_DEV));
		assert_true(file_send(&f, EXT4_DEV));
		assert_int_equal(messages_of(&sent_files), 1);
		messages_free();
	}
	for (u64 i = 1; i <= FILES_SENT + 1; i++) {
		assert_true(file_send(&f, i << 32 | EXT4_DEV));
		assert_true(file_send(&f, i << 32 | EXT4_DEV));
		assert_int_equal(messages_of(&sent_files), 1);
		messages_free();
	}
	ring_room = 0;
	assert_false(file_send(&f, 1));
	ring_room = 1;
	assert_true(file_send(&f, 1));
}

/* A run that counts nothing learns the functions of file systems, too, by lanes or rings: also of
 * one of which a directory was seen first, whose functions are no files'. */
static void test_functions_of_sent(void **state)
{
	struct kfile directory;

	for (int lanes_on = 0; lanes_on < 2; lanes_on++) {
		start(state);
		conf.uncounted = 1;
		conf.lane_mask = lanes_on ? LANE - 1 : 0;
		file_init(&directory, "ext4", EXT4_DEV, 2, S_IFDIR);
		directory.sb.s_type = &ext4.type;
		alice.fd[4] = &directory.f;
		sys_enter(NR_FSYNC, 4, 0, 0, 0);
		sys_exit(0);
		read_some(6, 10, 0, 1); /* a block device is of no type */
		if (lanes_on)
			assert_int_equal(lane_record(1, 1)->fs, SENT_FS_BDEV);
		sys_enter(NR_FSYNC, 4, 0, 0, 0);
		sys_exit(0);
		assert_int_equal(live.fs_types[fs_slot((u64)&ext4.type)].read_iter, 0);
		read_some(2, 10, 0, 1);
		assert_int_equal(live.fs_types[fs_slot((u64)&ext4.type)].read_iter, 0x10000);
		assert_int_equal(lanes[1].written, lanes_on ? 4 : 0);
	}
}

/* A call that only changes a descriptor is sent, and counted nowhere. */
static void test_handles(void **state)
{
	short type = 3;

	(void)state;
	sys_enter(72, 2, 4, 02000, 0); /* F_SETFL */
	sys_exit(0);
	assert_int_equal(lane_record(1, 0)->kind, OP_HANDLE);
	assert_int_equal(lane_record(1, 0)->len, 4);
	assert_int_equal(lane_record(1, 0)->offset, 02000);
	sys_enter(72, 2, 6, (u64)&type, 0); /* F_SETLK */
	sys_exit(0);
	assert_int_equal(lane_record(1, 1)->len, 6);
	assert_int_equal(lane_record(1, 1)->offset, 3);
	sys_enter(72, 2, 7, 0, 0);
	sys_exit(0);
	assert_int_equal(lane_record(1, 2)->offset, OFFSET_UNKNOWN);
	for (u64 cmd = 0; cmd < 40; cmd++) {
		lanes[1].read = lanes[1].written;
		sys_enter(72, 2, cmd, (u64)&type, 0);
		sys_exit(0);
		assert_int_equal(lane_record(1, lanes[1].written - 1)->offset == 3,
				 (cmd >= 5 && cmd <= 7) || (cmd >= 12 && cmd <= 14) ||
					 (cmd >= 36 && cmd <= 38));
	}
	assert_int_equal(ops_counted(OP_HANDLE, NULL).count, 0);
	lanes[1].read = lanes[1].written - LANE;
	ring_room = 0;
	sys_enter(72, 2, 4, 02000, 0);
	sys_exit(0);
	assert_int_equal(live.lost[LOST_RING], 1);
	assert_int_equal(live.lost[LOST_OPS], 0);
}

/* Operations can be recorded without being counted. */
static void test_uncounted(void **state)
{
	(void)state;
	conf.uncounted = 1;
	read_some(2, 10, 0, 1);
	assert_int_equal(lanes[1].written, 1);
	assert_int_equal(ops_counted(OP_READ, NULL).count, 0);
	conf.min_ns = 11;
	read_some(2, 10, 0, 1);
	assert_int_equal(lanes[1].written, 1);
}

/* Offsets: of the call, of the file's position when the file is known, or neither. */
static void test_offsets(void **state)
{
	const struct sent_op *s;

	(void)state;
	ext4.f.f_pos = 111;
	sys_enter(NR_WRITE, 2, 0, 17, 5);
	ext4.f.f_pos = 222;
	vfs_in(OP_WRITE, &ext4);
	ext4.f.f_pos = 333;
	vfs_out(OP_WRITE, 17);
	sys_exit(17);
	assert_int_equal(lane_record(1, 0)->offset, 222);
	assert_int_equal(lane_record(1, 0)->len, 17);
	sys_enter(NR_WRITE, 7, 0, 17, 5); /* no such descriptor */
	sys_exit(-9);
	s = last_of(bpf_map_lookup_elem(&rings, &(u32){ 1 }));
	assert_int_equal(s->fd, 7);
	assert_int_equal(s->offset, OFFSET_UNKNOWN);
	sys_enter(NR_FSYNC, 2, 0, 17, 5);
	sys_exit(0);
	assert_int_equal(lane_record(1, 1)->offset, OFFSET_UNKNOWN);
	assert_int_equal(lane_record(1, 1)->len, ~0ULL);
}

/* A write of 10 bytes, at the file's position or at @offset, which ends at position 40. */
static void write_ten(u64 nr, u64 offset, long ret)
{
	ext4.f.f_pos = 0;
	sys_enter(nr, 2, 0, 10, offset);
	vfs_in(OP_WRITE, &ext4);
	ext4.f.f_pos = 40;
	vfs_out(OP_WRITE, ret);
	sys_exit(ret);
}

/* An append is where the file ended, whatever position the file had, or the call named. */
static void test_appends(void **state)
{
	enum { PWRITE = 18 };
	unsigned short where[CALL_MAX] = {
		[NR_READ] = OFFSET_POS, [NR_WRITE] = OFFSET_POS, [PWRITE] = OFFSET_ARG3
	};
	unsigned short made[CALL_MAX] = {
		[NR_READ] = CALL_DESC(OP_READ, FILE_ARG0) | CALL_THROUGH_VFS,
		[NR_WRITE] = CALL_DESC(OP_WRITE, FILE_ARG0) | CALL_THROUGH_VFS,
		[PWRITE] = CALL_DESC(OP_WRITE, FILE_ARG0) | CALL_THROUGH_VFS,
	};

	(void)state;
	ext4.f.f_flags = O_APPEND | 1;
	/* the file is known when vfs_write() is entered, or where that is not probed, at once */
	for (int i = 0; i < 2; i++) {
		u32 n = 4 * i;

		made[NR_WRITE] &= i ? ~CALL_THROUGH_VFS : ~0;
		made[PWRITE] &= i ? ~CALL_THROUGH_VFS : ~0;
		made[NR_READ] &= i ? ~CALL_THROUGH_VFS : ~0;
		data_set(calls, made, sizeof(made));
		data_set(call_offsets, where, sizeof(where));
		write_ten(NR_WRITE, 0, 10);
		write_ten(NR_WRITE, 0, -28);
		write_ten(PWRITE, 0, 10);
		assert_int_equal(lane_record(1, n)->offset, 30);
		assert_int_equal(lane_record(1, n)->len, 10);
		assert_true(lane_record(1, n + 1)->offset == OFFSET_UNKNOWN);
		assert_true(lane_record(1, n + 2)->offset == OFFSET_UNKNOWN);
		ext4.f.f_pos = 7;
		read_some(2, 10, 0, 1);
		assert_int_equal(lane_record(1, n + 3)->offset, 7);
		lanes[1].read = lanes[1].written;
	}
	ext4.f.f_flags = 1;
	write_ten(PWRITE, 77, 10);
	assert_int_equal(lane_record(1, 8)->offset, 77);
}

/* The path as its user sees it: up to the root directory, a mount that nobody sees, or as far as
 * the names fit. */
static struct file_name named(void)
{
	struct file_info f = { .file = (u64)&ext4.f, .ino = 23 };
	struct file_name n;

	memset(&n, 0xff, sizeof(n));
	file_name_read(&n, &f);
	return n;
}

static void test_paths(void **state)
{
	struct inode directory = { .i_ino = 23 };
	struct file_name n;

	(void)state;
	n = named();
	assert_int_equal(n.len, 9);
	assert_int_equal(n.complete, 1);
	assert_true(!n.deleted && !n.unmounted && !n.nameless);
	ext4.dentry.d_hash.pprev = NULL;
	assert_true(named().deleted);
	ext4.dentry.d_hash.pprev = (void *)1;
	/* files of the same directory have the same hash of it */
	assert_int_equal(n.directory, 0);
	ext4.root.d_inode = &directory;
	n = named();
	assert_int_not_equal(n.directory, 0);
	assert_int_equal(named().directory, n.directory);
	directory.i_ino = 1009;
	assert_int_not_equal(named().directory, n.directory);
	/* it was closed meanwhile, and is another */
	ext4.inode.i_ino = 24;
	n = named();
	assert_true(n.nameless);
	assert_int_equal(n.len + n.complete + n.deleted, 0);
}

/* A path begins at the process's own root directory. */
static void test_paths_below_a_root(void **state)
{
	struct dentry chroot = { .d_parent = &ext4.root, .d_name.name = (const u8 *)"jail" };
	struct file_name n;

	(void)state;
	ext4.dentry.d_parent = &chroot;
	root_fs.root = (struct path){ &ext4.mount.mnt, &chroot };
	n = named();
	assert_memory_equal(n.names, "file", 5);
	assert_int_equal(n.len, 5);
	assert_true(n.complete && !n.unmounted);
	/* the root's own mount matters, not only its directory */
	root_fs.root.mnt = &root_mount.mnt;
	assert_int_equal(named().len, 14);
	root_fs.root.dentry = &root_dentry;
	n = named();
	assert_memory_equal(n.names, "file\0jail\0mnt", 14);
}

/* A mount may be detached, or the kernel's own. */
static void test_paths_of_no_mount(void **state)
{
	struct file_name n;

	(void)state;
	ext4.mount.mnt_parent = &ext4.mount;
	ext4.mount.mnt_ns = NULL;
	n = named();
	assert_int_equal(n.len, 5);
	assert_int_equal(n.complete, 1);
	assert_int_equal(n.unmounted, 1);
	ext4.mount.mnt_ns = (void *)-22;
	assert_true(named().unmounted);
	ext4.mount.mnt_ns = (void *)-4095; /* the last that is an error */
	assert_true(named().unmounted);
	ext4.mount.mnt_ns = (void *)-4096;
	assert_false(named().unmounted);
	ext4.mount.mnt_ns = (void *)0x5000; /* the root of a namespace */
	assert_int_equal(named().complete, 1);
	assert_false(named().unmounted);
}

/* Names that do not fit, and more directories than are looked at. */
static void test_paths_cut_off(void **state)
{
	struct dentry chroot = { .d_name.name = (const u8 *)"jail" };
	static char is_long[200];
	struct dentry deep[PATH_DEPTH + 3], above;
	struct file_name n;

	(void)state;
	ext4.dentry.d_parent = &chroot;
	memset(is_long, 'x', sizeof(is_long) - 1);
	chroot.d_name.name = ext4.dentry.d_name.name = (const u8 *)is_long;
	above = (struct dentry){ .d_parent = &ext4.root, .d_name.name = (const u8 *)"above" };
	chroot.d_parent = &above;
	n = named();
	assert_int_equal(n.len, 2 * sizeof(is_long));
	assert_false(n.complete);
	ext4.dentry.d_name.name = (const u8 *)"file";
	for (int i = 0; i < PATH_DEPTH + 3; i++)
		deep[i] =
			(struct dentry){ .d_parent = &deep[i + 1], .d_name.name = (const u8 *)"d" };
	deep[PATH_DEPTH + 2].d_parent = &ext4.root;
	ext4.dentry.d_parent = &deep[0];
	n = named();
	assert_false(n.complete || n.nameless);
	assert_int_equal(n.len, 5 + 2 * (PATH_DEPTH - 1));
}

/* From mount to mount: a file system that is mounted in another that is mounted. */
static void test_path_of_mounts(void **state)
{
	struct dentry middle_root = { .d_parent = &middle_root }, sub;
	struct mount middle;
	struct file_name n;

	(void)state;
	sub = (struct dentry){ .d_parent = &middle_root, .d_name.name = (const u8 *)"sub" };
	middle = (struct mount){
		&root_mount, &mnt_dentry, { .mnt_root = &middle_root }, (void *)0x5000
	};
	ext4.mount.mnt_parent = &middle;
	ext4.mount.mnt_mountpoint = &sub;
	n = named();
	assert_int_equal(n.len, 13);
	assert_memory_equal(n.names, "file\0sub\0mnt", 13);
	assert_int_equal(n.complete, 1);
	assert_int_equal(n.unmounted, 0);
}

/* A name is read if it begins in the first half of what there is room for, or if it is shorter and
 * begins in the quarter after that. */
static void test_path_that_just_fits(void **state)
{
	char is_long[NAME_BYTES], is_late[NAME_BYTES_LATE];
	struct dentry above = { .d_parent = &ext4.root, .d_name.name = (const u8 *)is_late };
	struct file_name n;

	(void)state;
	memset(is_long, 'x', sizeof(is_long));
	memset(is_late, 'y', sizeof(is_late));
	ext4.dentry.d_name.name = (const u8 *)is_long;
	is_long[NAME_BYTES - 2] = 0;
	n = named();
	assert_int_equal(n.len, NAME_BYTES - 1 + 4);
	assert_string_equal(n.names + NAME_BYTES - 1, "mnt");
	assert_int_equal(n.complete, 1);
	is_long[NAME_BYTES - 2] = 'x';
	is_long[NAME_BYTES - 1] = 0;
	n = named();
	assert_int_equal(n.len, NAME_BYTES + 4);
	assert_string_equal(n.names, is_long);
	assert_string_equal(n.names + NAME_BYTES, "mnt");
	assert_int_equal(n.complete, 1);
	assert_int_equal(n.nameless, 0);
	/* one more, as long as it may be */
	ext4.dentry.d_parent = &above;
	is_late[NAME_BYTES_LATE - 2] = 0;
	n = named();
	assert_int_equal(n.len, NAME_BYTES + NAME_BYTES_LATE - 1 + 4);
	assert_string_equal(n.names + NAME_BYTES, is_late);
	assert_int_equal(n.complete, 1);
	/* longer, its end would be missing: a part of a name is none */
	is_late[NAME_BYTES_LATE - 2] = 'y';
	is_late[NAME_BYTES_LATE - 1] = 0;
	n = named();
	assert_int_equal(n.len, NAME_BYTES);
	assert_int_equal(n.complete, 0);
}

/* The root directory itself has no name, but is known. */
static void test_path_of_the_root(void **state)
{
	struct file_name n;

	(void)state;
	ext4.f.f_path = (struct path){ &root_mount.mnt, &root_dentry };
	root_dentry.d_inode = &ext4.inode;
	n = named();
	assert_int_equal(n.len, 0);
	assert_true(n.complete && !n.nameless && !n.deleted);
}

/* --by file: each epoch has the names of its files, once. */
static void test_names_of_rows(void **state)
{
	struct {
		u64 key, ino;
	} id = { EXT4_DEV, 23 };
	struct file_name *n;

	(void)state;
	conf.sent_ops = 0;
	conf.by = BY_FILE;
	conf.row_slots = 0;
	ext4.dentry.d_inode = NULL;
	read_some(2, 10, 0, 1);
	n = bpf_map_lookup_elem(&file_names_even, &id);
	assert_non_null(n);
	assert_true(n->nameless);
	ext4.dentry.d_inode = &ext4.inode;
	read_some(2, 1000, 0, 1);
	assert_true(n->nameless);
	id.ino |= FILE_ID_AGAIN;
	n = bpf_map_lookup_elem(&file_names_even, &id);
	assert_non_null(n);
	assert_memory_equal(n->names, "file\0mnt", 9);
	assert_int_equal(map_count(&file_names_odd), 0);
	live.epoch = 1;
	read_some(2, 1000, 0, 1);
	id.ino &= ~FILE_ID_AGAIN;
	n = bpf_map_lookup_elem(&file_names_odd, &id);
	assert_non_null(n);
	assert_false(n->nameless);
	n->len = 0;
	read_some(2, 100000, 0, 1);
	assert_int_equal(n->len, 0); /* read once */
	assert_int_equal(map_count(&file_names_odd), 1);
	assert_int_equal(map_count(&file_names_even), 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, machine_stop)
	const struct CMUnitTest tests[] = {
		TEST(test_lane),
		TEST(test_lane_remembers),
		TEST(test_lane_on_cpu),
		TEST(test_lane_wakes),
		TEST(test_no_lane),
		TEST(test_lane_is_full),
		TEST(test_ring),
		TEST(test_ring_wakes),
		TEST(test_ring_record),
		TEST(test_of_another),
		TEST(test_waited_for_nothing),
		TEST(test_copy_of_two_files),
		TEST(test_waited),
		TEST(test_failed_request),
		TEST(test_when_submitted),
		TEST(test_whose_requests),
		TEST(test_whose_throttled),
		TEST(test_exec_command),
		TEST(test_names_once),
		TEST(test_names_of_many),
		TEST(test_functions_of_sent),
		TEST(test_handles),
		TEST(test_uncounted),
		TEST(test_offsets),
		TEST(test_appends),
		TEST(test_paths),
		TEST(test_paths_below_a_root),
		TEST(test_paths_of_no_mount),
		TEST(test_paths_cut_off),
		TEST(test_path_of_mounts),
		TEST(test_path_that_just_fits),
		TEST(test_path_of_the_root),
		TEST(test_names_of_rows),
		TEST(test_copied_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
