// SPDX-License-Identifier: GPL-2.0-only
/*
 * The owner of a request: its submitter, its data's dirtier, or the client of a kernel thread. The
 * file and cgroup of a request, and the filters which it passes.
 */
#include "kernel/machine.h"

enum { BYTES = 4096, TAG = 3, QUEUED = 5, DEVICE = 7 };

static struct kdisk disk;
static struct kfile file, other_file;
static struct page pages[2];
static struct bio_vec vecs[2] = { { &pages[0] }, { &pages[1] } };
static struct ktask writer, reader, kworker, journal, tool, timers;
static struct kernfs_node kns[3] = { { 501 }, { 503 }, { 509 } };
static struct cgroup cgroups[3]; /* each is in the one before */

/* A bio and its request. */
struct kio {
	struct bio bio;
	struct request rq;
	struct blk_mq_ctx mq_ctx;
};

static void start(enum by_key by)
{
	machine_start();
	memset(cpu_offsets, 0, sizeof(cpu_offsets));
	disk_init(&disk, 8, 16, true);
	file_init(&file, "ext4", 8 << MINOR_BITS | 17, 23, S_IFREG);
	file_init(&other_file, "xfs", 8 << MINOR_BITS | 18, 29, S_IFREG);
	file.inode.i_generation = 31;
	pages[0].mapping = pages[1].mapping = &file.mapping;
	task_init(&writer, 2101, 2103, "writer", 0);
	task_init(&reader, 2207, 2207, "reader", 0);
	task_init(&kworker, 2311, 2311, "kworker/1:1", PF_KTHREAD | PF_WQ_WORKER);
	task_init(&timers, 17, 17, "ktimers/1", PF_KTHREAD);
	task_init(&journal, 2411, 2411, "jbd2/sda", PF_KTHREAD);
	task_init(&tool, TOOL, TOOL, "iostrata", 0);
	for (int i = 0; i < 3; i++)
		cgroups[i] = (struct cgroup){
			.self = { &cgroups[i], i ? &cgroups[i - 1].self : NULL },
			.nr_descendants = 2 - i,
			.kn = &kns[i],
		};
	conf.by = by;
	conf.rq_by = conf.issuers = by != BY_NONE;
	conf.behalf = by == BY_THREAD;
}

static void submit(struct kio *io, struct ktask *by, u32 op)
{
	cpu_is(0, by);
	*io = (struct kio){};
	bio_init(&io->bio, &disk, op, 8, BYTES);
	io->bio.bi_io_vec = vecs;
	EVENT(on_bio_queue, &io->bio);
}

static void go_through(struct kio *io)
{
	request_init(&io->rq, &io->mq_ctx, &disk, &io->bio);
	tick(TAG);
	EVENT(on_getrq, &io->bio);
	tick(QUEUED);
	EVENT(on_rq_issue, &io->rq);
	tick(DEVICE);
	complete_bytes(&io->rq, 0, BYTES);
	completion_is_over();
}

static void request_by(struct ktask *by, u32 op)
{
	struct kio io;

	submit(&io, by, op);
	go_through(&io);
}

/* How many requests count for this key. */
static u64 n_for(u32 op, u64 by, u64 by2)
{
	return requests_of(disk.dev, op, (u64[2]){ by, by2 }).count;
}

static u64 n_all(void)
{
	return requests_counted(disk.dev, RQ_READ).count;
}

static u64 task_of(const struct ktask *t)
{
	return (u64)(u32)t->t.tgid << 32 | (u32)t->t.pid;
}

static const char *name_of(u64 id)
{
	struct thread_name *n = bpf_map_lookup_elem(&thread_names_even, &id);

	return n ? n->comm : "(none)";
}

/* Each key shows who submitted the request; ids as the tool's namespace numbers them. */
static void test_keys(void **state)
{
	u64 comm[2] = {};

	(void)state;
	start(BY_TID);
	writer.t.group_leader = &reader.t;
	request_by(&writer, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, 2103, 0), 1);
	assert_string_equal(name_of(2103), "writer");
	strcpy(writer.t.comm, "renamed");
	request_by(&writer, REQ_OP_READ);
	assert_string_equal(name_of(2103), "renamed");

	start(BY_PID);
	writer.t.group_leader = &reader.t;
	request_by(&writer, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, 2101, 0), 1);
	assert_string_equal(name_of(2101), "reader");
	strcpy(writer.t.comm, "renamed");
	request_by(&writer, REQ_OP_READ);
	assert_string_equal(name_of(2101), "reader");

	start(BY_TID);
	conf.pidns_ino = 1;
	request_by(&writer, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, 1103, 0), 1);

	start(BY_COMM);
	request_by(&writer, REQ_OP_READ);
	strcpy((char *)comm, "writer");
	assert_int_equal(n_for(RQ_READ, comm[0], comm[1]), 1);

	start(BY_THREAD);
	request_by(&writer, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, task_of(&writer), BEHALF_NONE), 1);
	assert_string_equal(name_of(task_of(&writer)), "writer");
}

/* A submitter's name is noted when it submits; with --by task that is kept with the request until
 * that is done, and other rows have no names. */
static void test_when_named(void **state)
{
	struct kio io;

	(void)state;
	for (int by = BY_PID; by <= BY_THREAD; by++) {
		start(by);
		submit(&io, &writer, REQ_OP_READ);
		assert_int_equal(map_count(&thread_names_even), by == BY_PID || by == BY_TID);
		go_through(&io);
		assert_int_equal(map_count(&thread_names_even), BY_NAMES_THREADS(by));
		assert_int_equal(n_all(), 1);
	}
}

/* In an interrupt, the tool, and nobody: what they submit has no key. */
static void test_no_key(void **state)
{
	(void)state;
	for (enum by_key by = BY_PID; by <= BY_THREAD; by++) {
		if (by == BY_DEV || by == BY_CACHE || by == BY_FILE)
			continue;
		start(by);
		request_by(&tool, REQ_OP_READ);
		assert_int_equal(requests_counted(disk.dev, RQ_READ).count, 0);
		machine.level = 0x10000;
		request_by(&writer, REQ_OP_READ);
		machine.level = SOFT_INTERRUPT;
		request_by(&writer, REQ_OP_READ);
		machine.level = 0;
		assert_int_equal(n_for(RQ_READ, 0, 0), 2);
		assert_int_equal(map_count(&thread_names_even), 0);
	}
	start(BY_NONE);
	request_by(&tool, REQ_OP_READ);
	assert_int_equal(requests_counted(disk.dev, RQ_READ).count, 0);
}

/* A kernel thread's cgroup is the bio's, if that has one; a user thread's is its own. */
static void test_cgroup(void **state)
{
	(void)state;
	start(BY_CGROUP);
	request_by(&writer, REQ_OP_WRITE);
	request_by(&kworker, REQ_OP_WRITE);
	machine.bio_cgroup = &cgroups[1];
	request_by(&writer, REQ_OP_WRITE);
	request_by(&kworker, REQ_OP_WRITE);
	machine.level = 0x10000;
	request_by(&writer, REQ_OP_WRITE);
	machine.level = 0;
	assert_int_equal(n_for(RQ_WRITE, writer.cgroup, 0), 2);
	assert_int_equal(n_for(RQ_WRITE, kworker.cgroup, 0), 1);
	assert_int_equal(n_for(RQ_WRITE, 503, 0), 2);
}

static u64 n_for_file(const struct kfile *f, u32 generation)
{
	return n_for(RQ_WRITE, FILE_KEY(f->sb.s_dev, false, generation), f->inode.i_ino);
}

/* The file is that of the operation, else that of the bio's first page that is not done. */
static void test_file(void **state)
{
	struct kio io;

	(void)state;
	start(BY_FILE);
	conf.file_details = 1;
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for_file(&file, 31), 1);

	machine.tail = &pages[1];
	pages[1].mapping = NULL;
	submit(&io, &kworker, REQ_OP_WRITE);
	go_through(&io);
	assert_int_equal(n_for_file(&file, 31), 2);
	vecs[0].bv_page = &pages[1]; /* whose first page tells */
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for_file(&file, 31), 3);
	vecs[0].bv_page = &pages[0];

	cpu_is(0, &writer);
	writer.fd[2] = &other_file.f;
	sys_enter(NR_WRITE, 2, 0, BYTES, 0);
	request_by(&writer, REQ_OP_WRITE); /* its file is not known yet */
	assert_int_equal(n_for_file(&file, 31), 4);
	vfs_in(OP_WRITE, &other_file);
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(n_for_file(&other_file, 0), 1);
	conf.layer = LAYER_BLK;
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(n_for_file(&file, 31), 5);
}

/* The file of a thread's last operation is not that of its next operation, whose file is not known
 * yet. */
static void test_file_of_last_operation(void **state)
{
	(void)state;
	start(BY_FILE);
	conf.file_details = 1;
	writer.fd[2] = &other_file.f;
	cpu_is(0, &writer);
	sys_enter(NR_WRITE, 2, 0, BYTES, 0);
	vfs_in(OP_WRITE, &other_file);
	request_by(&writer, REQ_OP_WRITE);
	vfs_out(OP_WRITE, BYTES);
	sys_exit(BYTES);
	assert_int_equal(n_for_file(&other_file, 0), 1);
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(n_for_file(&file, 31), 1);
	sys_enter(NR_WRITE, 2, 0, BYTES, 0);
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(n_for_file(&file, 31), 2);
	assert_int_equal(n_for_file(&other_file, 0), 1);
}

/* A bio that goes on in its second page is for the file of the second page. */
static void test_file_of_rest(void **state)
{
	struct bio b;

	(void)state;
	start(BY_FILE);
	pages[1].mapping = &other_file.mapping;
	bio_init(&b, &disk, REQ_OP_WRITE, 8, BYTES);
	b.bi_io_vec = vecs;
	b.bi_iter.bi_idx = 1;
	cpu_is(0, &kworker);
	EVENT(on_bio_queue, &b);
	EVENT(on_backmerge, &b);
	assert_int_equal(bio_data(&b).inode, (u64)&other_file.inode);
	assert_int_equal(bio_data(&b).head, (u64)&pages[1]);
	assert_int_equal(bio_data(&b).mode, S_IFREG);
	b.bi_iter.bi_idx = 0;
	assert_int_equal(bio_data(&b).head, (u64)&pages[0]);
}

/* A page that no file has is for no file: none, anonymous, or something else's. */
static void test_no_file(void **state)
{
	struct kio io;

	(void)state;
	start(BY_FILE);
	pages[0].mapping = NULL;
	request_by(&writer, REQ_OP_WRITE);
	for (u64 bit = 1; bit <= 2; bit++) {
		pages[0].mapping = (void *)((u64)&file.mapping | bit);
		request_by(&writer, REQ_OP_WRITE);
	}
	pages[0].mapping = &file.mapping;
	file.inode.i_mapping = &other_file.mapping;
	request_by(&writer, REQ_OP_WRITE);
	file.mapping.host = NULL;
	request_by(&writer, REQ_OP_WRITE);
	file.mapping.host = &file.inode;
	file.inode.i_mapping = &file.mapping;
	assert_int_equal(n_for(RQ_WRITE, 0, 0), 5);

	bio_init(&io.bio, &disk, REQ_OP_FLUSH, 0, 0);
	io.bio.bi_io_vec = vecs;
	assert_int_equal(bio_data(&io.bio).inode, 0);
	io.bio.bi_iter.bi_size = 1;
	assert_int_equal(bio_data(&io.bio).inode, (u64)&file.inode);
	io.bio.bi_io_vec = NULL;
	assert_int_equal(bio_data(&io.bio).inode, 0);
}

/* A block device is known by its own number, whichever inode it has; a subvolume by its device. */
static void test_file_identity(void **state)
{
	u64 root[2] = { 0, 4099 };

	(void)state;
	start(BY_FILE);
	file.inode.i_mode = S_IFBLK;
	file.inode.i_rdev = 4211;
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, FILE_KEY(4211, true, 31), 23), 1);
	file.inode.i_ino = 0;
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, FILE_KEY(4211, true, 31), 4211), 1);

	start(BY_FILE);
	file.sb.s_magic = BTRFS_SUPER_MAGIC;
	file.f.f_ra.prev_pos = (uintptr_t)root; /* just before the inode, see struct kfile */
	conf.btrfs_root = 8;
	conf.btrfs_dev = 8;
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(requests_counted(disk.dev, RQ_WRITE).count, 1);
	assert_int_equal(n_for(RQ_WRITE, FILE_KEY(4099, false, 31), 23), 0);
	conf.file_identity = 1;
	request_by(&writer, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, FILE_KEY(4099, false, 31), 23), 1);
}

/* blk-throttle's worker queues what it kept back: it counts for who submitted it. */
static void test_throttled(void **state)
{
	struct kio io;

	(void)state;
	for (int by = BY_TID; by <= BY_THREAD; by++) {
		start(by);
		strcpy(kworker.queue, "kthrotld");
		bio_init(&io.bio, &disk, REQ_OP_READ, 8, BYTES);
		cpu_is(1, &writer);
		EVENT(on_bio_throttled, &io.bio);
		cpu_is(1, &reader); /* once more, for a cgroup above */
		machine.level = SOFT_INTERRUPT;
		EVENT(on_bio_throttled, &io.bio);
		machine.level = 0;
		cpu_is(1, &timers); /* PREEMPT_RT */
		EVENT(on_bio_throttled, &io.bio);
		assert_int_equal(live.hashed, 1);
		submit(&io, &kworker, REQ_OP_READ);
		go_through(&io);
		assert_int_equal(n_for(RQ_READ, by == BY_TID ? 2103 : task_of(&writer), 0), 1);
		if (by == BY_THREAD)
			assert_string_equal(name_of(task_of(&writer)), "writer");
		assert_int_equal(requests_counted(disk.dev, RQ_READ).outside, 0);
		/* one that was not seen to be kept back is nobody's */
		request_by(&kworker, REQ_OP_READ);
		assert_int_equal(n_for(RQ_READ, 0, 0), 1);
		/* any other worker's is its own */
		strcpy(kworker.queue, "kthrotle");
		request_by(&kworker, REQ_OP_READ);
		assert_int_equal(n_for(RQ_READ, by == BY_TID ? 2311 : task_of(&kworker), 0), 1);
		assert_int_equal(requests_counted(disk.dev, RQ_READ).outside, 1);
		assert_int_equal(lost_all(), 0);
	}
}

/* If it is not seen to be queued, its request is counted all the same, as what it is. */
static void test_throttled_and_missed(void **state)
{
	struct kio io;

	(void)state;
	start(BY_TID);
	bio_init(&io.bio, &disk, REQ_OP_WRITE, 8, BYTES);
	cpu_is(1, &writer);
	EVENT(on_bio_throttled, &io.bio);
	cpu_is(1, &kworker);
	go_through(&io);
	assert_int_equal(n_for(RQ_WRITE, 2103, 0), 1);
	assert_int_equal(requests_counted(disk.dev, RQ_WRITE).unqueued, 1);
	assert_int_equal(requests_counted(disk.dev, RQ_WRITE).bytes, BYTES);
	assert_nothing_kept();
}

/* All of the key that was noted then, whatever has become of the thread and the page. */
static void test_throttled_key(void **state)
{
	static const char name[COMM_LEN] = "throttled-write";
	struct done d;
	struct kio io;
	u64 comm[2];

	(void)state;
	for (int by = BY_COMM; by <= BY_FILE; by++) {
		start(by);
		strcpy(kworker.queue, "kthrotld");
		memcpy(writer.t.comm, name, sizeof(name));
		bio_init(&io.bio, &disk, REQ_OP_WRITE, 8, BYTES);
		io.bio.bi_io_vec = vecs;
		cpu_is(1, &writer);
		EVENT(on_bio_throttled, &io.bio);
		strcpy(writer.t.comm, "other");
		pages[0].mapping = &other_file.mapping;
		submit(&io, &kworker, REQ_OP_WRITE);
		go_through(&io);
		memcpy(comm, name, sizeof(comm));
		assert_int_equal(by == BY_FILE ? n_for_file(&file, 31)
					       : n_for(RQ_WRITE, comm[0], comm[1]),
				 1);
		/* its end is noted for who waits for it */
		assert_true(done_get(2103, &d));
		assert_int_equal(d.times.c, machine.now);
		assert_false(done_get(2311, &d));
	}
}

static void filter_pid(u32 pid)
{
	conf.process_filter = conf.thread_filter = conf.issuers = conf.n_pids = 1;
	lists.pids[0] = pid;
}

static void filter_cgroup(u64 id)
{
	conf.process_filter = conf.issuers = conf.n_cgroups = 1;
	lists.cgroups[0] = id;
}

static void throttled_by(struct ktask *t)
{
	struct kio io;

	bio_init(&io.bio, &disk, REQ_OP_READ, 8, BYTES);
	cpu_is(1, t);
	EVENT(on_bio_throttled, &io.bio);
	submit(&io, &kworker, REQ_OP_READ);
	go_through(&io);
	assert_nothing_kept();
}

/* With a filter by process, what was kept back passes if its submitter does. */
static void test_throttled_filter(void **state)
{
	struct bio b;

	(void)state;
	start(BY_NONE);
	strcpy(kworker.queue, "kthrotld");
	filter_pid(2101);
	throttled_by(&writer);
	assert_int_equal(n_all(), 1);
	throttled_by(&reader);
	assert_int_equal(n_all(), 1);
	assert_int_equal(lost_all(), 0);
	request_by(&kworker, REQ_OP_READ); /* nobody knows whose */
	assert_int_equal(n_all(), 1);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 1);

	/* on a disk that is not traced, nothing is noted */
	cpu_is(1, &writer);
	conf.n_devs = 1;
	bio_init(&b, &disk, REQ_OP_READ, 8, BYTES);
	EVENT(on_bio_throttled, &b);
	assert_nothing_kept();
	lists.devs[0] = disk.dev + 1; /* a partition */
	disk.whole.bd_dev = disk.dev + 1;
	EVENT(on_bio_throttled, &b);
	assert_int_equal(live.hashed, 1);
	lists.devs[0] = disk.dev;
	b.bi_opf = REQ_OP_WRITE;
	map_of(&ios)->refusals = 1;
	assert_int_equal(bpf_map_delete_elem(&ios, &(u64){ (u64)&b }), 0);
	EVENT(on_bio_throttled, &b);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(live.hashed, 1);
}

/* With a filter by cgroup, a kernel thread's bio passes by its own cgroup, and by those above. */
static void test_cgroup_filter(void **state)
{
	(void)state;
	start(BY_NONE);
	filter_cgroup(503);
	request_by(&kworker, REQ_OP_READ); /* in none */
	assert_int_equal(n_all(), 0);
	machine.bio_cgroup = &cgroups[2];
	request_by(&kworker, REQ_OP_READ);
	machine.bio_cgroup = &cgroups[1];
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_all(), 2);
	machine.bio_cgroup = &cgroups[0];
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_all(), 2);
	filter_pid(2101);
	machine.bio_cgroup = &cgroups[1];
	request_by(&kworker, REQ_OP_READ); /* in another process */
	assert_int_equal(n_all(), 2);
	conf.n_pids = 0;
	request_by(&writer, REQ_OP_READ); /* in its own cgroup, which is not listed */
	assert_int_equal(n_all(), 2);
	lists.cgroups[0] = writer.cgroup;
	request_by(&writer, REQ_OP_READ);
	assert_int_equal(n_all(), 3);
	assert_int_equal(lost_all(), 0);
}

/* With a filter by cgroup, a kernel thread's bio passes by its own cgroup if the bio is throttled
 * first, too. */
static void test_throttled_by_cgroup(void **state)
{
	(void)state;
	start(BY_NONE);
	strcpy(kworker.queue, "kthrotld");
	filter_cgroup(503);
	machine.bio_cgroup = &cgroups[2];
	throttled_by(&journal);
	assert_int_equal(n_all(), 1);
	machine.bio_cgroup = &cgroups[0];
	throttled_by(&journal);
	assert_int_equal(n_all(), 1);
	lists.cgroups[0] = journal.cgroup; /* its own is not the bio's */
	throttled_by(&journal);
	assert_int_equal(n_all(), 1);
	assert_int_equal(lost_all(), 0);
}

/* CGROUP_LEVELS cgroups are looked at, from the bio's own up. */
static void test_cgroup_levels(void **state)
{
	struct kernfs_node nodes[CGROUP_LEVELS + 1];
	struct cgroup deep[CGROUP_LEVELS + 1];

	(void)state;
	start(BY_NONE);
	for (int i = 0; i <= CGROUP_LEVELS; i++) {
		nodes[i].id = 1009 + i;
		deep[i] = (struct cgroup){
			.self = { &deep[i], i ? &deep[i - 1].self : NULL },
			.kn = &nodes[i],
		};
	}
	machine.bio_cgroup = &deep[CGROUP_LEVELS];
	filter_cgroup(1009 + 1);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_all(), 1);
	lists.cgroups[0] = 1009;
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_all(), 1);
	machine.bio_cgroup = &deep[CGROUP_LEVELS - 1];
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_all(), 2);
}

/* A throttled bio that nobody saw passes if its cgroup is listed. If a cgroup below may be listed,
 * the bio is counted as lost. */
static void test_throttled_cgroup(void **state)
{
	(void)state;
	start(BY_NONE);
	strcpy(kworker.queue, "kthrotld");
	filter_cgroup(503);
	machine.bio_cgroup = &cgroups[2];
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_all(), 1);
	kns[1].id = 521; /* none is listed now, and the last has none below */
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 0);
	machine.bio_cgroup = &cgroups[1];
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 1);
	machine.bio_cgroup = NULL;
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 2);
	kns[1].id = 503;
	machine.bio_cgroup = &cgroups[1];
	conf.thread_filter = 1;
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(live.lost[LOST_UNATTRIBUTED], 3);
	assert_int_equal(n_all(), 1);
}

static void dirty(struct ktask *by, struct kfile *f, struct page *page)
{
	u64 ctx[2] = { (u64)page, (u64)&f->mapping };

	cpu_is(0, by);
	on_dirty_folio(ctx);
}

/* The write of a dirty page counts for its dirtier, whoever submits the write; reads do not. */
static void test_writeback(void **state)
{
	(void)state;
	start(BY_THREAD);
	dirty(&writer, &file, &pages[1]);
	request_by(&kworker, REQ_OP_WRITE);
	request_by(&reader, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&writer), BEHALF_WRITEBACK), 2);
	assert_string_equal(name_of(task_of(&writer)), "writer");
	request_by(&writer, REQ_OP_WRITE); /* its own */
	assert_int_equal(n_for(RQ_WRITE, task_of(&writer), BEHALF_NONE), 1);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, task_of(&kworker), BEHALF_NONE), 1);
	dirty(&reader, &file, &pages[0]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&reader), BEHALF_WRITEBACK), 1);
	/* a device's pages belong to many files */
	file.inode.i_mode = S_IFBLK;
	dirty(&writer, &file, &pages[0]);
	dirty(&reader, &file, &pages[1]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&writer), BEHALF_WRITEBACK), 3);
	/* a page of no file */
	pages[0].mapping = NULL;
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&kworker), BEHALF_NONE), 1);
	on_dirty_page((u64[2]){ (u64)&pages[0], 0 });
	assert_int_equal(lost_all(), 0);
}

/* A dirtier that does not pass the filters takes the file over all the same: the file is nobody's
 * then. */
static void test_writeback_filtered(void **state)
{
	(void)state;
	start(BY_THREAD);
	filter_pid(2101);
	dirty(&writer, &file, &pages[0]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&writer), BEHALF_WRITEBACK), 1);
	dirty(&reader, &other_file, &pages[0]);
	assert_int_equal(map_count(&dirtiers), 1);
	dirty(&reader, &file, &pages[0]);
	assert_int_equal(map_count(&dirtiers), 0);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(requests_counted(disk.dev, RQ_WRITE).count, 1);
	map_of(&dirtiers)->refusals = 1;
	dirty(&writer, &file, &pages[0]);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* A thread of the process that made it dirty writes it for itself. */
static void test_writeback_by_process(void **state)
{
	struct ktask other;

	(void)state;
	start(BY_THREAD);
	task_init(&other, 2101, 2111, "other", 0);
	dirty(&writer, &file, &pages[0]);
	request_by(&other, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&other), BEHALF_NONE), 1);
	assert_string_equal(name_of(task_of(&other)), "other");
}

/* Threads of a process have one name; the last of them that made a page dirty is its dirtier. */
static void test_writeback_by_thread(void **state)
{
	struct ktask other;

	(void)state;
	start(BY_THREAD);
	task_init(&other, 2101, 2111, "writer", 0);
	dirty(&writer, &file, &pages[0]);
	dirty(&other, &file, &pages[1]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&other), BEHALF_WRITEBACK), 1);
	assert_int_equal(n_for(RQ_WRITE, task_of(&writer), BEHALF_WRITEBACK), 0);
}

/* The name is the one that the thread had when it last made a page dirty. */
static void test_writeback_name(void **state)
{
	(void)state;
	start(BY_THREAD);
	dirty(&writer, &file, &pages[0]);
	strcpy(writer.t.comm, "renamed");
	dirty(&writer, &file, &pages[1]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_string_equal(name_of(task_of(&writer)), "renamed");
	assert_int_equal(map_count(&dirtiers), 1);
}

static void wake_by(struct ktask *by, struct ktask *p)
{
	cpu_is(2, by);
	wake(p);
}

static void work_is_queued(struct ktask *by, u64 work)
{
	cpu_is(1, by);
	on_work_queued((u64[3]){ 0, 0, work });
}

static void work_starts(u64 work)
{
	cpu_is(0, &kworker);
	on_work_begins((u64[1]){ work });
}

static u64 n_helped(const struct ktask *t)
{
	return n_for(RQ_READ, task_of(t), BEHALF_HELPER);
}

/* A kernel thread's request counts for the thread which woke it, or for that thread's client, in
 * three steps. */
static void test_client(void **state)
{
	struct ktask more[3];

	(void)state;
	start(BY_THREAD);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, task_of(&journal), BEHALF_NONE), 1);
	wake_by(&writer, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 1);
	assert_string_equal(name_of(task_of(&writer)), "writer");
	wake_by(&writer, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 2);
	for (int i = 0; i < 3; i++) {
		task_init(&more[i], 2503 + i, 2503 + i, "kthread", PF_KTHREAD);
		wake_by(i ? &more[i - 1] : &journal, &more[i]);
		request_by(&more[i], REQ_OP_READ);
	}
	assert_int_equal(n_helped(&writer), 4);
	assert_int_equal(n_for(RQ_READ, task_of(&more[2]), BEHALF_NONE), 1);
	/* an interrupt works for nobody */
	machine.level = 0x10000;
	wake_by(&reader, &journal);
	machine.level = 0;
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, task_of(&journal), BEHALF_NONE), 2);
	wake_by(&reader, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&reader), 1);
	machine.level = 0x10000; /* what an interrupt submits on top of it is not its own */
	request_by(&journal, REQ_OP_READ);
	machine.level = 0;
	assert_int_equal(n_for(RQ_READ, 0, 0), 1);
	wake_by(&tool, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, task_of(&journal), BEHALF_NONE), 3);
	EVENT(on_exit, &journal);
	assert_int_equal(map_count(&clients), 3 - 1);
}

/* A page that a kernel thread makes dirty is its client's, which has passed the filters; without a
 * client it is its own. */
static void test_client_dirties(void **state)
{
	(void)state;
	start(BY_THREAD);
	dirty(&journal, &file, &pages[0]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&journal), BEHALF_WRITEBACK), 1);
	wake_by(&writer, &journal);
	dirty(&journal, &file, &pages[0]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&writer), BEHALF_WRITEBACK), 1);
	assert_string_equal(name_of(task_of(&writer)), "writer");

	start(BY_THREAD);
	filter_pid(2101);
	dirty(&journal, &file, &pages[0]);
	assert_int_equal(map_count(&dirtiers), 0);
	wake_by(&writer, &journal);
	dirty(&journal, &file, &pages[0]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(n_for(RQ_WRITE, task_of(&writer), BEHALF_WRITEBACK), 1);
	on_dirty_folio((u64[2]){ (u64)&pages[0], 0 }); /* a page that no file has */
	assert_int_equal(map_count(&dirtiers), 1);
}

/* Wakings and queued work of an interrupt on top of the client do not count for the client. */
static void test_interrupted_client(void **state)
{
	(void)state;
	start(BY_THREAD);
	wake_by(&writer, &journal);
	machine.level = SOFT_INTERRUPT;
	wake_by(&writer, &journal);
	machine.level = 0;
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 0);
	assert_int_equal(n_for(RQ_READ, task_of(&journal), BEHALF_NONE), 1);
}

/* The ids of a client that has ended may be another's, which is not traced. */
static void test_client_replaced(void **state)
{
	(void)state;
	start(BY_THREAD);
	conf.tracked = conf.all_young = conf.process_filter = conf.thread_filter = 1;
	group_track(2101, true);
	wake_by(&writer, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 1);
	group_track(2101, false);
	wake_by(&writer, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 1);
}

/* A thread of the same process, or one that has taken over its client's work, is another client. */
static void test_client_changes(void **state)
{
	struct ktask other;

	(void)state;
	start(BY_THREAD);
	task_init(&other, 2101, 2111, "writer", 0);
	other.cgroup = writer.cgroup;
	wake_by(&writer, &journal);
	wake_by(&other, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&other), 1);
	/* through another kernel thread it is two steps away, then one again */
	wake_by(&writer, &kworker);
	work_is_queued(&writer, 0x7001);
	work_starts(0x7001);
	wake_by(&kworker, &journal);
	cpu_is(0, &journal);
	assert_int_equal(kthread_client()->steps, 2);
	wake_by(&writer, &journal);
	cpu_is(0, &journal);
	assert_int_equal(kthread_client()->steps, 1);
}

/* A name that has changed since is the one that is shown. */
static void test_client_renamed(void **state)
{
	(void)state;
	start(BY_THREAD);
	wake_by(&writer, &journal);
	strcpy(writer.t.comm, "renamed");
	wake_by(&writer, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_string_equal(name_of(task_of(&writer)), "renamed");
	writer.cgroup = 9203;
	wake_by(&writer, &journal);
	cpu_is(0, &journal);
	assert_int_equal(kthread_client()->name.cgroup, 9203);
	map_of(&clients)->refusals = 1;
	wake_by(&writer, &kworker); /* a worker's client is who queued its work */
	assert_int_equal(live.lost[LOST_MAP_FULL], 0);
	kworker.t.flags = PF_KTHREAD;
	wake_by(&writer, &kworker);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
}

/* ksoftirqd and ktimers do what interrupts would do; others with such names do not. */
static void test_for_interrupts(void **state)
{
	static const char *const names[] = { "ksoftirqd/1", "ktimers/1", "kswapd0", "ktls",
					     "kso__x",      "rsoftirqd", "ktlmers", "ktiners" };

	(void)state;
	for (int i = 0; i < 8; i++) {
		start(BY_THREAD);
		strcpy(journal.t.comm, names[i]);
		wake_by(&writer, &journal);
		request_by(&journal, REQ_OP_READ);
		assert_int_equal(n_helped(&writer), i >= 2);
	}
}

/* A worker's request counts for the thread which queued the work, not for the thread which woke the
 * worker. */
static void test_work(void **state)
{
	(void)state;
	start(BY_THREAD);
	work_is_queued(&writer, 0x7001);
	work_is_queued(&reader, 0x7003);
	wake_by(&reader, &kworker);
	work_starts(0x7001);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 1);
	machine.level = SOFT_INTERRUPT; /* a softirq takes it: it is nobody's */
	work_starts(0x7003);
	machine.level = 0;
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 2);
	work_starts(0x7003); /* nobody was seen to queue it again */
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 3);
	machine.level = 0x10000;
	work_is_queued(&reader, 0x7001);
	machine.level = 0;
	work_starts(0x7001);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, task_of(&kworker), BEHALF_NONE), 1);
}

/* Work that is queued again is for who does it then, under the name that it has then; its entry
 * stays. */
static void test_work_again(void **state)
{
	(void)state;
	start(BY_THREAD);
	for (int i = 1; i <= 2; i++) {
		work_is_queued(&writer, 0x7001);
		work_starts(0x7001);
		request_by(&kworker, REQ_OP_READ);
		assert_int_equal(n_helped(&writer), i);
		work_is_queued(&reader, 0x7003);
		work_starts(0x7003);
	}
	assert_int_equal(map_count(&works), 2);
	strcpy(writer.t.comm, "renamed");
	work_is_queued(&writer, 0x7001);
	work_starts(0x7001);
	request_by(&kworker, REQ_OP_READ);
	assert_string_equal(name_of(task_of(&writer)), "renamed");
	work_is_queued(&reader, 0x7001);
	work_starts(0x7001);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 3);
	assert_int_equal(n_helped(&reader), 1);
	assert_int_equal(map_count(&works), 2);
	/* what a worker queues is for its client, and waits to be taken like all */
	work_is_queued(&kworker, 0x7005);
	work_is_queued(&writer, 0x7003);
	work_starts(0x7003);
	work_starts(0x7005);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&reader), 2);
}

/* Work that a completion queues, too, is still for whom it was for. */
static void test_work_kept(void **state)
{
	struct kio io;

	(void)state;
	start(BY_THREAD);
	work_is_queued(&reader, 0x7003);
	work_starts(0x7003);
	work_is_queued(&writer, 0x7001);
	submit(&io, &writer, REQ_OP_READ);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	cpu_is(1, &reader);
	complete_bytes(&io.rq, 0, BYTES);
	work_is_queued(&reader, 0x7001);
	work_starts(0x7001);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 1);
	work_is_queued(&reader, 0x7003);
	work_starts(0x7003);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 1);
	assert_int_equal(n_helped(&reader), 1);
	/* what nobody queued before is nobody's, not of whom the worker worked for before */
	work_is_queued(&reader, 0x7005);
	work_starts(0x7005);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&reader), 1);
	assert_int_equal(n_for(RQ_READ, task_of(&kworker), BEHALF_NONE), 1);
}

/* A thread that completes requests wakes those that wait for them: they keep their client. */
static void test_client_kept(void **state)
{
	struct kio io;

	(void)state;
	start(BY_THREAD);
	wake_by(&writer, &journal);
	submit(&io, &journal, REQ_OP_READ);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	cpu_is(2, &reader);
	complete_bytes(&io.rq, 0, BYTES);
	tick(REQUEST_END_NS);
	wake_by(&reader, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 2);
	cpu_is(2, &reader);
	tick(1); /* now that completion is over */
	wake_by(&reader, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_helped(&reader), 1);
}

/* Where nothing tells the interrupt level, current is a waker only in an operation. */
static void test_level_hidden(void **state)
{
	u64 ctx[1] = { (u64)&journal };

	(void)state;
	start(BY_THREAD);
	cpu_is(1, &writer);
	on_sched_waking_no_level(ctx);
	assert_int_equal(map_count(&clients), 0);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	on_sched_waking_no_level(ctx);
	assert_int_equal(map_count(&clients), 1);
	cpu_is(1, &reader); /* in none: nobody is known now */
	on_sched_waking_no_level(ctx);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(n_for(RQ_READ, task_of(&journal), BEHALF_NONE), 1);

	/* without operations current is in none */
	start(BY_THREAD);
	conf.waits = 0;
	cpu_is(1, &writer);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	on_sched_waking_no_level(ctx);
	assert_int_equal(map_count(&clients), 0);
}

/* Where programs cannot refer to the interrupt level, but know its address, that tells who may be
 * the waker: in an operation or not, and without operations. */
static void test_level_read(void **state)
{
	u64 ctx[1] = { (u64)&journal };

	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		u64 offsets[CPUS] = {}, counts[2] = { 0x10000, 0 };

		start(BY_THREAD);
		conf.waits = waits;
		conf.cpu_offsets = (u64)offsets;
		conf.preempt_count = 4;
		offsets[1] = (u64)counts - 4;
		cpu_is(1, &writer);
		sys_enter(NR_STAT, 0, 0, 0, 0);
		on_sched_waking_no_level(ctx); /* in an interrupt */
		assert_int_equal(map_count(&clients), 0);
		sys_exit(0);
		counts[0] = 0x1;
		on_sched_waking_no_level(ctx);
		assert_int_equal(map_count(&clients), 1);
		offsets[1] = 0; /* it was read once */
		counts[0] = SOFT_INTERRUPT;
		on_sched_waking_no_level(ctx);
		cpu_is(0, &journal);
		assert_null(kthread_client());
	}
}

/* The interrupt level tells who may have queued work, too, where the programs cannot see the level.
 */
static void test_work_level_hidden(void **state)
{
	(void)state;
	start(BY_THREAD);
	cpu_is(1, &writer);
	on_work_queued_no_level((u64[3]){ 0, 0, 0x7001 }); /* perhaps by an interrupt */
	work_starts(0x7001);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 0);
	cpu_is(1, &writer);
	sys_enter(NR_STAT, 0, 0, 0, 0);
	on_work_queued_no_level((u64[3]){ 0, 0, 0x7003 });
	cpu_is(0, &kworker);
	machine.level = SOFT_INTERRUPT; /* which the program does not see */
	on_work_begins_no_level((u64[1]){ 0x7003 });
	machine.level = 0;
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&writer), 1);
}

/* CPUs beyond those whose variables' place is kept read it each time, and leave that of others. */
static void test_level_of_many_cpus(void **state)
{
	static u64 offsets[MARK_SLOTS + 1];
	u64 counts[2] = {}, others[2] = {};

	(void)state;
	start(BY_THREAD);
	conf.waits = 0;
	conf.cpu_offsets = (u64)offsets;
	conf.preempt_count = 4;
	offsets[0] = (u64)counts - 4;
	offsets[MARK_SLOTS] = (u64)others - 4;
	cpu_is(MARK_SLOTS, &writer);
	assert_int_equal(interrupt_level_read(), 0);
	others[0] = SOFT_INTERRUPT | 0x10000 | 0x10f;
	assert_int_equal(interrupt_level_read(), SOFT_INTERRUPT | 0x10000);
	cpu_is(0, &writer);
	assert_int_equal(interrupt_level_read(), 0);
	counts[0] = 0x20000;
	assert_int_equal(interrupt_level_read(), 0x20000);
	cpu_is(MARK_SLOTS, &writer);
	others[1] = SOFT_INTERRUPT;
	offsets[MARK_SLOTS] = (u64)&others[1] - 4;
	assert_int_equal(interrupt_level_read(), SOFT_INTERRUPT);
	cpu_is(0, &writer);
	offsets[0] = 0;
	assert_int_equal(interrupt_level_read(), 0x20000);
}

/* Without waits nothing else tells that a completion is over: its time does, which is long only for
 * who submitted the request, and is woken by an interrupt. */
static void test_client_kept_for_a_time(void **state)
{
	struct ktask *submitters[] = { &writer, &journal };
	u64 waking[1] = { (u64)&journal }, offsets[CPUS] = {}, counts[1] = {};
	struct kio io;

	(void)state;
	for (int i = 0; i < 4; i++) {
		bool own = i & 1, in_interrupt = i & 2, long_kept = own && in_interrupt;

		start(BY_THREAD);
		conf.waits = 0;
		conf.preempt_count = 4;
		conf.cpu_offsets = (u64)offsets;
		offsets[2] = (u64)counts - 4;
		wake_by(&writer, &journal);
		submit(&io, submitters[own], REQ_OP_WRITE);
		request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
		EVENT(on_rq_issue, &io.rq);
		tick(DEVICE);
		cpu_is(2, &reader);
		complete_bytes(&io.rq, 0, BYTES);
		tick(long_kept ? REQUEST_END_NS : BIO_END_NS);
		counts[0] = in_interrupt ? SOFT_INTERRUPT : 0;
		on_sched_waking_no_level(waking);
		request_by(&journal, REQ_OP_READ);
		assert_int_equal(n_helped(&writer), 1);
		cpu_is(2, &reader);
		tick(1);
		on_sched_waking_no_level(waking);
		cpu_is(0, &journal);
		if (in_interrupt)
			assert_null(kthread_client());
		else
			assert_int_equal(kthread_client()->task, task_of(&reader));
	}
}

/* The completion of a request without a known submitter is soon over: work queued afterwards counts
 * for its thread. */
static void test_work_after_a_time(void **state)
{
	struct kio io;

	(void)state;
	start(BY_THREAD);
	conf.waits = 0;
	machine.level = SOFT_INTERRUPT;
	submit(&io, &writer, REQ_OP_READ);
	machine.level = 0;
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	cpu_is(1, &reader);
	complete_bytes(&io.rq, 0, BYTES);
	tick(BIO_END_NS + 1);
	work_is_queued(&reader, 0x7001);
	work_starts(0x7001);
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(n_helped(&reader), 1);
}

static struct helper_sums *helper_row_of(struct helper_key key)
{
	static struct helper_sums none;
	struct helper_sums *s = bpf_map_lookup_elem(&helper_rows_even, &key);

	memset(&none, 0, sizeof(none));
	return s ? s : &none;
}

/* The key of a row of helper @t at work for @for_whom (NULL: nobody known). */
static struct helper_key helper_key_of(struct ktask *t, struct ktask *for_whom, u8 op, u8 behalf)
{
	struct helper_key key = { .tid = t->t.pid, .op = op, .behalf = behalf };

	strcpy(key.comm, t->t.comm);
	if (t->t.flags & PF_WQ_WORKER)
		memcpy(key.work, t->queue, sizeof(key.work));
	if (for_whom) {
		key.for_pid = for_whom->t.tgid;
		strcpy(key.for_comm, for_whom->t.comm);
	}
	key.dev = op == HELPER_TIME ? 0 : disk.dev;
	return key;
}

static void start_helpers(void)
{
	start(BY_NONE);
	conf.helpers = conf.issuers = conf.behalf = 1;
}

/* With --helpers a request is counted for the helper that submitted it, with its work, and for whom
 * that was, beside its usual row. */
static void test_helper_requests(void **state)
{
	struct helper_sums *s;
	struct kio io;

	(void)state;
	start_helpers();
	strcpy(kworker.queue, "writeback");
	wake_by(&writer, &journal);
	request_by(&journal, REQ_OP_READ);
	submit(&io, &journal, REQ_OP_READ);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_getrq, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	complete_bytes(&io.rq, -5, BYTES);
	s = helper_row_of(helper_key_of(&journal, &writer, RQ_READ, BEHALF_HELPER));
	assert_int_equal(s->count, 2);
	assert_int_equal(s->errors, 1);
	assert_int_equal(s->bytes, BYTES);
	assert_int_equal(s->tag_ns, TAG);
	assert_int_equal(s->queue_ns, QUEUED);
	assert_int_equal(s->device_ns, DEVICE);
	request_by(&kworker, REQ_OP_WRITE);
	s = helper_row_of(helper_key_of(&kworker, NULL, RQ_WRITE, BEHALF_NONE));
	assert_int_equal(s->count, 1);
	dirty(&reader, &file, &pages[0]);
	request_by(&kworker, REQ_OP_WRITE);
	request_by(&kworker, REQ_OP_READ); /* a read makes nothing clean */
	s = helper_row_of(helper_key_of(&kworker, &reader, RQ_WRITE, BEHALF_WRITEBACK));
	assert_int_equal(s->count, 1);
	assert_int_equal(map_count(&helper_rows_even), 4);
	request_by(&writer, REQ_OP_READ);
	assert_int_equal(map_count(&helper_rows_even), 4);
	assert_int_equal(n_all(), 4);
	assert_int_equal(live.helper_rows_made[0], 4);
	live.epoch = 1;
	request_by(&kworker, REQ_OP_READ);
	assert_int_equal(map_count(&helper_rows_odd), 1);
	assert_int_equal(live.helper_rows_made[1], 1);
	live.epoch = 0;
	map_of(&helper_rows_even)->refusals = 1;
	request_by(&journal, REQ_OP_WRITE);
	assert_int_equal(live.lost[LOST_MAP_FULL], 1);
	assert_int_equal(live.helper_rows_made[0], 4);
	/* user space drains them when there are so many */
	assert_int_equal(live.drain_wanted, 0);
	conf.helper_rows_limit = 5;
	request_by(&journal, REQ_OP_WRITE);
	assert_int_equal(live.helper_rows_made[0], 5);
	assert_int_equal(live.drain_wanted, 1);
}

/* A bio for a device without requests is counted as such. */
static void test_helper_bio(void **state)
{
	struct helper_key key;
	struct kdisk stacked;
	struct bio b;

	(void)state;
	start_helpers();
	disk_init(&stacked, 253, 0, false);
	bio_init(&b, &stacked, REQ_OP_READ, 8, BYTES);
	cpu_is(0, &journal);
	EVENT(on_bio_queue, &b);
	tick(DEVICE);
	bio_ends(&b);
	key = helper_key_of(&journal, NULL, RQ_READ, BEHALF_NONE);
	key.dev = stacked.dev;
	key.bio_based = 1;
	assert_int_equal(helper_row_of(key)->count, 1);
	assert_int_equal(helper_row_of(key)->device_ns, DEVICE);
	assert_int_equal(helper_row_of(key)->bytes, BYTES);
}

/* With a filter by process a helper's request is in its own row if it was for who passes, and in no
 * other; an io worker is its process's. */
static void test_helper_filtered(void **state)
{
	struct ktask iou;
	struct helper_sums *s;

	(void)state;
	start_helpers();
	filter_pid(2101);
	wake_by(&writer, &journal);
	request_by(&journal, REQ_OP_READ);
	s = helper_row_of(helper_key_of(&journal, &writer, RQ_READ, BEHALF_HELPER));
	assert_int_equal(s->count, 1);
	assert_int_equal(n_all(), 0);
	wake_by(&reader, &journal);
	request_by(&journal, REQ_OP_READ);
	assert_int_equal(map_count(&helper_rows_even), 1);
	assert_int_equal(n_all(), 0);
	task_init(&iou, 2101, 2113, "iou-wrk-2101", PF_IO_WORKER);
	iou.t.group_leader = &writer.t;
	request_by(&iou, REQ_OP_READ);
	s = helper_row_of(helper_key_of(&iou, &writer, RQ_READ, BEHALF_HELPER));
	assert_int_equal(s->count, 1);
	assert_int_equal(n_all(), 1);
	iou.t.tgid = 2207;
	request_by(&iou, REQ_OP_READ);
	assert_int_equal(map_count(&helper_rows_even), 2);
	conf.n_devs = 1;
	iou.t.tgid = 2101;
	request_by(&iou, REQ_OP_READ);
	assert_int_equal(s->count, 1);
}

/* A bio's state may have been a helper's before: its submitter now is none. */
static void test_helper_before(void **state)
{
	struct kio io;

	(void)state;
	start_helpers();
	strcpy(journal.queue, "no worker's");
	submit(&io, &journal, REQ_OP_READ);
	go_through(&io);
	submit(&io, &writer, REQ_OP_READ);
	go_through(&io);
	assert_int_equal(map_count(&helper_rows_even), 1);
	assert_int_equal(helper_row_of(helper_key_of(&journal, NULL, RQ_READ, BEHALF_NONE))->count,
			 1);
	assert_int_equal(n_all(), 2);
}

/* A page that somebody made dirty who passes the filter is written by a helper, whose row shows it;
 * what does not pass is in no row, and is not lost. */
static void test_helper_writes_back(void **state)
{
	struct kio io;

	(void)state;
	start_helpers();
	filter_pid(2101);
	dirty(&writer, &file, &pages[0]);
	request_by(&kworker, REQ_OP_WRITE);
	assert_int_equal(
		helper_row_of(helper_key_of(&kworker, &writer, RQ_WRITE, BEHALF_WRITEBACK))->count,
		1);
	assert_int_equal(requests_counted(disk.dev, RQ_WRITE).count, 0);
	for (int i = 0; i < 2; i++) {
		submit(&io, &reader, REQ_OP_WRITE);
		request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
		EVENT(on_rq_issue, &io.rq);
	}
	assert_int_equal(map_count(&helper_rows_even), 1);
	assert_int_equal(requests_counted(disk.dev, RQ_WRITE).count, 0);
	assert_int_equal(lost_all(), 0);
}

static void helper_sleeps(struct ktask *h, bool asleep)
{
	cpu_is(0, h);
	switch_to(&idle[0], asleep);
}

static void helper_runs(struct ktask *h)
{
	cpu_is(0, &idle[0]);
	switch_to(h, false);
}

/* A helper's time: on the CPU, waiting for it, and asleep for requests, if it works for somebody or
 * for a request. */
static void test_helper_time(void **state)
{
	struct helper_sums *s;
	struct kio io;

	(void)state;
	start_helpers();
	helper_sleeps(&journal, true); /* when it came is not known */
	tick(11);
	wake_by(&writer, &journal);
	tick(13);
	helper_runs(&journal);
	tick(17);
	submit(&io, &journal, REQ_OP_READ);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_getrq, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	helper_sleeps(&journal, true);
	s = helper_row_of(helper_key_of(&journal, &writer, HELPER_TIME, BEHALF_HELPER));
	assert_int_equal(s->count, 1);
	assert_int_equal(s->cpu_ns, 17);
	assert_int_equal(s->runq_ns, 13);
	assert_int_equal(s->waited_ns, 0);
	tick(19);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, BYTES);
	tick(23);
	wake_by(&idle[1], &journal);
	machine.level = 0;
	tick(29);
	helper_runs(&journal);
	tick(31);
	helper_sleeps(&journal, true);
	assert_int_equal(s->count, 1); /* an interrupt woke it, on another CPU than the mark's */
	assert_int_equal(map_count(&helper_rows_even), 2);
}

/* A helper's wait for a request: the interrupt that completes the request wakes the helper. */
static void test_helper_waited(void **state)
{
	struct helper_sums *s;
	struct kio io;

	(void)state;
	start_helpers();
	helper_sleeps(&journal, true);
	tick(11);
	wake_by(&writer, &journal);
	helper_runs(&journal);
	for (int i = 0; i < 2; i++) {
		submit(&io, &journal, REQ_OP_READ);
		request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
		EVENT(on_getrq, &io.bio);
		EVENT(on_rq_issue, &io.rq);
		tick(3);
		helper_sleeps(&journal, true);
		tick(19);
		cpu_is(1, &idle[1]);
		machine.level = 0x10000;
		complete_bytes(&io.rq, 0, BYTES);
		tick(23);
		cpu_is(1, &idle[1]);
		wake(&journal);
		completion_is_over();
		machine.level = 0;
		tick(29);
		helper_runs(&journal);
		tick(31);
	}
	helper_sleeps(&journal, false);
	s = helper_row_of(helper_key_of(&journal, &writer, HELPER_TIME, BEHALF_HELPER));
	assert_int_equal(s->count, 3);
	assert_int_equal(s->cpu_ns, 3 + 31 + 3 + 31);
	assert_int_equal(s->runq_ns, 29 + 29);
	assert_int_equal(s->waited_ns, 19 + 19);
}

static u64 n_stretches(struct ktask *h, struct ktask *for_whom)
{
	return helper_row_of(helper_key_of(h, for_whom, HELPER_TIME,
					   for_whom ? BEHALF_HELPER : BEHALF_NONE))
		->count;
}

/* A thread of io_uring's works for its own process, whatever it does. */
static void test_io_worker_time(void **state)
{
	struct ktask iou;

	(void)state;
	start_helpers();
	task_init(&iou, 2101, 2113, "iou-wrk-2101", PF_IO_WORKER);
	iou.t.group_leader = &writer.t;
	helper_sleeps(&iou, true);
	helper_runs(&iou);
	tick(17);
	helper_sleeps(&iou, true);
	assert_int_equal(n_stretches(&iou, &writer), 1);
}

/* There are rows of helpers only with --helpers. */
static void test_no_helper_rows(void **state)
{
	(void)state;
	start(BY_THREAD);
	helper_sleeps(&journal, true);
	wake_by(&writer, &journal);
	helper_runs(&journal);
	request_by(&journal, REQ_OP_READ);
	helper_sleeps(&journal, true);
	assert_int_equal(n_helped(&writer), 1);
	assert_int_equal(map_count(&helper_rows_even), 0);
}

/* An interrupt completes a request of @submitter's, and wakes @h. */
static void woken_by_completion(struct ktask *submitter, struct ktask *h)
{
	struct kio io;

	submit(&io, submitter, REQ_OP_READ);
	request_init(&io.rq, &io.mq_ctx, &disk, &io.bio);
	EVENT(on_getrq, &io.bio);
	EVENT(on_rq_issue, &io.rq);
	tick(19);
	cpu_is(1, &idle[1]);
	machine.level = 0x10000;
	complete_bytes(&io.rq, 0, BYTES);
	wake(h);
	completion_is_over();
	machine.level = 0;
}

/* A worker that a completion wakes has waited for that request if it was at work; if it was idle,
 * it gets work, and has not waited. */
static void test_helper_idle(void **state)
{
	struct helper_sums *s;

	(void)state;
	start_helpers();
	helper_sleeps(&kworker, true);
	helper_runs(&kworker);
	helper_sleeps(&kworker, true); /* idle */
	woken_by_completion(&writer, &kworker);
	helper_runs(&kworker);
	helper_sleeps(&kworker, true);
	assert_int_equal(map_count(&helper_rows_even), 0);
	woken_by_completion(&writer, &kworker);
	work_is_queued(&writer, 0x7001);
	helper_runs(&kworker);
	work_starts(0x7001);
	strcpy(kworker.queue, "q");
	tick(23);
	helper_sleeps(&kworker, true); /* in the middle of its work */
	s = helper_row_of(helper_key_of(&kworker, &writer, HELPER_TIME, BEHALF_HELPER));
	assert_int_equal(s->count, 1);
	assert_int_equal(s->cpu_ns, 23);
	assert_int_equal(s->waited_ns, 0);
	woken_by_completion(&writer, &kworker);
	helper_runs(&kworker);
	helper_sleeps(&kworker, true);
	assert_int_equal(s->count, 2);
	assert_int_equal(s->waited_ns, 19);
}

/* A worker has worked for the client of its work when it leaves the CPU. Without work, the worker
 * has worked for the client of the requests which it submitted since it came to the CPU. */
static void test_helper_work(void **state)
{
	struct kio io;

	(void)state;
	start_helpers();
	work_is_queued(&writer, 0x7001);
	work_starts(0x7001);
	helper_sleeps(&kworker, true);
	helper_runs(&kworker);
	strcpy(kworker.queue, "loop0");
	submit(&io, &kworker, REQ_OP_READ);
	strcpy(kworker.queue, "q");
	helper_sleeps(&kworker, true);
	assert_int_equal(n_stretches(&kworker, &writer), 1);
	helper_runs(&kworker);
	memset(kworker.queue, 0, sizeof(kworker.queue));
	helper_sleeps(&kworker, true);
	assert_int_equal(n_stretches(&kworker, &writer), 1);
	assert_int_equal(map_count(&helper_rows_even), 2);
	/* a thread that is no worker has no workqueue, whatever is in its place */
	strcpy(journal.queue, "no worker's");
	helper_sleeps(&journal, true);
	helper_runs(&journal);
	submit(&io, &journal, REQ_OP_READ);
	helper_sleeps(&journal, true);
	assert_int_equal(n_stretches(&journal, NULL), 1);
}

/* A worker that is idle again does not tell what it worked for, unless it submitted something for
 * it; what it does for nobody, and without a request, is not counted. */
static void test_helper_worker(void **state)
{
	struct helper_key key;
	struct kio io;

	(void)state;
	start_helpers();
	helper_sleeps(&kworker, true);
	tick(11);
	helper_runs(&kworker);
	tick(13);
	helper_sleeps(&kworker, true);
	assert_int_equal(map_count(&helper_rows_even), 0);
	helper_runs(&kworker);
	strcpy(kworker.queue, "loop0");
	submit(&io, &kworker, REQ_OP_READ);
	memset(kworker.queue, 0, sizeof(kworker.queue));
	tick(17);
	helper_sleeps(&kworker, true);
	assert_int_equal(map_count(&helper_rows_even), 1);
	strcpy(kworker.queue, "loop0");
	key = helper_key_of(&kworker, NULL, HELPER_TIME, BEHALF_NONE);
	assert_int_equal(helper_row_of(key)->count, 1);
	assert_int_equal(helper_row_of(key)->cpu_ns, 17);
	conf.process_filter = 1;
	helper_runs(&kworker);
	submit(&io, &kworker, REQ_OP_READ);
	helper_sleeps(&kworker, true);
	assert_int_equal(helper_row_of(key)->count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_when_named),
		cmocka_unit_test(test_no_key),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_file_of_last_operation),
		cmocka_unit_test(test_file_of_rest),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_file_identity),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_throttled_and_missed),
		cmocka_unit_test(test_throttled_key),
		cmocka_unit_test(test_throttled_filter),
		cmocka_unit_test(test_cgroup_filter),
		cmocka_unit_test(test_throttled_by_cgroup),
		cmocka_unit_test(test_cgroup_levels),
		cmocka_unit_test(test_throttled_cgroup),
		cmocka_unit_test(test_writeback),
		cmocka_unit_test(test_writeback_filtered),
		cmocka_unit_test(test_writeback_by_process),
		cmocka_unit_test(test_writeback_by_thread),
		cmocka_unit_test(test_writeback_name),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_client_dirties),
		cmocka_unit_test(test_interrupted_client),
		cmocka_unit_test(test_client_replaced),
		cmocka_unit_test(test_client_changes),
		cmocka_unit_test(test_client_renamed),
		cmocka_unit_test(test_for_interrupts),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_work_again),
		cmocka_unit_test(test_work_kept),
		cmocka_unit_test(test_client_kept),
		cmocka_unit_test(test_level_hidden),
		cmocka_unit_test(test_level_read),
		cmocka_unit_test(test_work_level_hidden),
		cmocka_unit_test(test_level_of_many_cpus),
		cmocka_unit_test(test_client_kept_for_a_time),
		cmocka_unit_test(test_work_after_a_time),
		cmocka_unit_test(test_helper_requests),
		cmocka_unit_test(test_helper_filtered),
		cmocka_unit_test(test_helper_bio),
		cmocka_unit_test(test_helper_before),
		cmocka_unit_test(test_helper_writes_back),
		cmocka_unit_test(test_io_worker_time),
		cmocka_unit_test(test_no_helper_rows),
		cmocka_unit_test(test_helper_idle),
		cmocka_unit_test(test_helper_work),
		cmocka_unit_test(test_helper_time),
		cmocka_unit_test(test_helper_waited),
		cmocka_unit_test(test_helper_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
