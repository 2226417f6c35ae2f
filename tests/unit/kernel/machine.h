/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine.h - the events of a kernel: threads, files, disks, bios and requests, and what the
 * programs are told of them. Includes the programs themselves. A test calls machine_start(), then
 * makes events, each at machine.now on machine.cpu, where machine.current is.
 */
#ifndef IOSTRATA_TEST_MACHINE_H
#define IOSTRATA_TEST_MACHINE_H

#define __TARGET_ARCH_x86
#include "bpf.h"

#include "bpf/trace.bpf.c"

#include "capture/slow_op.h"
#include "data.h"

enum {
	CPUS = 4,
	ASYNC_SLOTS = 256,
	ACCESS_SLOTS = 64,
	TOOL = 1,
	NR_READ = 0,
	NR_WRITE = 1,
	NR_CLOSE = 3,
	NR_STAT = 4,
	NR_FSYNC = 74,
	NR_OPEN = 257
};

struct kfile {
	struct file f;
	struct inode inode;
	struct super_block sb;
	struct block_device bdev;
	struct file_system_type type;
	struct file_operations fop;
	struct address_space mapping;
	struct dentry dentry, root;
	struct mount mount;
};

struct kdisk {
	struct gendisk d;
	struct request_queue q;
	struct block_device whole;
	u32 dev;
};

static struct ktask idle[CPUS];

/* The root directory, of all threads, in which all file systems are mounted on "mnt". */
static struct dentry root_dentry, mnt_dentry;
static struct mount root_mount;
static struct fs_struct root_fs;

static void calls_set(void)
{
	unsigned short made[CALL_MAX] = {
		[NR_READ] = CALL_DESC(OP_READ, FILE_ARG0) | CALL_THROUGH_VFS,
		[NR_WRITE] = CALL_DESC(OP_WRITE, FILE_ARG0) | CALL_THROUGH_VFS,
		[NR_CLOSE] = CALL_DESC(OP_CLOSE, FILE_ARG0),
		[NR_STAT] = CALL_DESC(OP_META, FILE_NONE),
		[NR_FSYNC] = CALL_DESC(OP_FSYNC, FILE_ARG0),
		[NR_OPEN] = CALL_DESC(OP_OPEN, FILE_RESULT),
	};

	data_set(calls, made, sizeof(made));
}

/* Forgets all that the programs noted, and all that they sent. */
static void memory_clear(void)
{
	memset(tasks, 0, sizeof(tasks));
	memset(io_slots, 0, sizeof(io_slots));
	memset(marks, 0, sizeof(marks));
	memset(dones, 0, sizeof(dones));
	memset(uring_rings, 0, sizeof(uring_rings));
	memset(handled, 0, sizeof(handled));
	memset(site_answers, 0, sizeof(site_answers));
	memset(cpu_offsets, 0, sizeof(cpu_offsets));
	memset((void *)&live, 0, sizeof(live));
	memset(&lists, 0, sizeof(lists));
	memset(&machine, 0, sizeof(machine));
	maps_free();
	messages_free();
	ring_room = ~0U;
	wakeups_forced = wakeups_usual = 0;
}

/* The settings of a breakdown, on a kernel that has all hooks. */
static void conf_reset(void)
{
	conf = (struct bpf_conf){
		.tool_tgid = TOOL,
		.rdonly_cast = 1,
		.names_functions = 1,
		.io_cpus = CPUS,
		.io_slots_per_cpu = 64,
		.op_rows_limit = 900,
		.rq_rows_limit = 900,
		.helper_rows_limit = 900,
		.site_rows_limit = 900,
		.server_rows_limit = 900,
		.row_slots = 1,
		.rq_in_cells = 1,
		.single_writer = 1,
		.fault_single_writer = 1,
		.waits = 1,
		.cpu_split = 1,
		.marks = 1,
		.misses_counted = 1,
		.page_shift = 12,
		.arg_pause = 6,
		.async_slots = ASYNC_SLOTS,
	};
}

/* Sets the site @i: the function in the page @page. */
static void sleep_site_is(int i, u64 page, u32 who)
{
	struct sleep_site *site = &conf.sleep_sites[i];

	*site = (struct sleep_site){ .from = page << 12, .to = (page + 1) << 12, .who = who };
	snprintf((char *)site->name, sizeof(site->name), "f%lx", (unsigned long)page);
}

/* The maps in which rows and the names of rows are. */
static void maps_of_rows(void)
{
	MAP(op_rows_even, 1024);
	MAP(op_rows_odd, 1024);
	MAP(rq_rows_even, 1024);
	MAP(rq_rows_odd, 1024);
	MAP(file_names_even, 64);
	MAP(file_names_odd, 64);
	MAP(thread_names_even, 64);
	MAP(thread_names_odd, 64);
	MAP(site_rows_even, 64);
	MAP(who_rows_even, 64);
	MAP(dirtied_pages, 64);
	MAP(site_rows_odd, 64);
	MAP(helper_rows_even, 64);
	MAP(helper_rows_odd, 64);
	MAP_ARRAY(access_slots, ACCESS_SLOTS);
	MAP(access_sizes_even, 1024);
	MAP(access_sizes_odd, 1024);
	MAP(slots_taken, ROW_SLOTS + FS_SLOTS + ASYNC_CLAIMS + ACCESS_SLOTS + SERVER_SLOTS);
	MAP(server_rows_even, 1024);
	MAP(server_rows_odd, 1024);
	MAP_ARRAY(server_slots, SERVER_SLOTS);
	MAP_SIZED(slot_cells, sizeof(struct op_cell), SLOT_CELLS(CPUS));
	MAP_ARRAY(slot_hists, SLOT_CELLS(CPUS));
	MAP_ARRAY(slot_rq_cells, SLOT_CELLS(RQ_CPUS));
}

/* The maps in which the programs note what is in progress. */
static void maps_of_state(void)
{
	MAP(task_owners, TASK_SLOTS);
	MAP(tasks_overflown, 1024);
	MAP(interrupted, 16);
	MAP_ARRAY(tracked, 1024);
	MAP_ARRAY(busiest, 2);
	MAP(helpers, 64);
	MAP(ios, 1024);
	MAP(flushes, 16);
	MAP(async_bios, 1024);
	MAP(queued_calls, 8);
	MAP_ARRAY(async_ops, 2 * ASYNC_SLOTS + 1);
	MAP_ARRAY(op_segments, 1 + TASK_SLOTS + 2 * ASYNC_SLOTS + 1);
	MAP(splits, 64);
	MAP(paths, 64);
	MAP(dirtiers, 64);
	MAP(clients, 64);
	MAP(works, 64);
	MAP(server_requests, 64);
	MAP(turns, 64);
	MAP_SIZED(rings, sizeof(u64), MAX_RINGS);
	MAP_ARRAY(files_sent, FILES_SENT);
}

/* The root of all paths, and a mount point in it. */
static void root_make(void)
{
	root_dentry = (struct dentry){ .d_parent = &root_dentry };
	mnt_dentry = (struct dentry){ .d_parent = &root_dentry, .d_name.name = (const u8 *)"mnt" };
	root_mount =
		(struct mount){ &root_mount, NULL, { .mnt_root = &root_dentry }, (void *)0x5000 };
	root_fs.root = (struct path){ &root_mount.mnt, &root_dentry };
}

/* Nothing is known yet. */
static void machine_start(void)
{
	memory_clear();
	calls_set();
	conf_reset();
	maps_of_rows();
	maps_of_state();
	root_make();
	machine.now = 1000000;
	live.since_ns = machine.now;
	for (int i = 0; i < CPUS; i++)
		idle[i] = (struct ktask){ .t = { .flags = PF_KTHREAD, .comm = "swapper" } };
	machine.current = &idle[0];
}

/* Ends a test. */
static int machine_stop(void **state)
{
	(void)state;
	maps_free();
	messages_free();
	return 0;
}

static void tick(u64 ns)
{
	machine.now += ns;
}

/* A file, /mnt/file, on a file system of its own; mode: S_IFREG ... */
static void file_init(struct kfile *f, const char *fs, u32 dev, u64 ino, u16 mode)
{
	*f = (struct kfile){ .sb = { .s_dev = dev, .s_type = &f->type }, .type = { .name = fs } };
	f->sb.s_bdev = dev >> MINOR_BITS ? &f->bdev : NULL;
	f->inode = (struct inode){
		.i_mode = mode, .i_sb = &f->sb, .i_ino = ino, .i_mapping = &f->mapping
	};
	f->mapping.host = &f->inode;
	f->f = (struct file){ .f_op = &f->fop, .f_inode = &f->inode };
	f->fop = (struct file_operations){ (void *)0x10000, (void *)0x20000, (void *)0x30000,
					   (void *)0x40000 };
	f->root = (struct dentry){ .d_parent = &f->root };
	f->dentry = (struct dentry){ .d_inode = &f->inode,
				     .d_parent = &f->root,
				     .d_name.name = (const u8 *)"file" };
	f->dentry.d_hash.pprev = (void *)0x6000; /* it is not deleted */
	f->mount = (struct mount){
		&root_mount, &mnt_dentry, { .mnt_root = &f->root }, (void *)0x5000
	};
	f->f.f_path = (struct path){ &f->mount.mnt, &f->dentry };
}

/* Descriptor n is @files[n]. */
static void task_init(struct ktask *t, u32 tgid, u32 pid, const char *comm, u32 flags)
{
	*t = (struct ktask){ .t = { .flags = flags,
				    .pid = pid,
				    .tgid = tgid,
				    .start_time = 1,
				    .group_leader = &t->t } };
	snprintf(t->t.comm, sizeof(t->t.comm), "%s", comm);
	t->t.fs = &root_fs;
	t->t.files = &t->files;
	t->t.signal = &t->signal;
	t->t.sighand = &t->sighand;
	t->files.fdt = &t->fdt;
	t->fdt = (struct fdtable){ .max_fds = 8, .fd = t->fd };
	t->cgroup = 7000 + tgid;
}

/* Two whose addresses hash to the same slot: of one more than there are slots, two do. */
static void rivals(struct ktask **ret_a, struct ktask **ret_b)
{
	static struct ktask crowd[TASK_SLOTS + 1];
	struct ktask *first[TASK_SLOTS] = {}, **seen, *t = crowd;

	for (; !*(seen = &first[task_slot((u64)t)]); t++)
		*seen = t;
	*ret_a = *seen;
	*ret_b = t;
}

static void disk_init(struct kdisk *d, u32 major, u32 minor, bool requests)
{
	*d = (struct kdisk){ .d = { major, minor, &d->q }, .dev = major << MINOR_BITS | minor };
	d->whole = (struct block_device){ .bd_dev = d->dev, .bd_disk = &d->d };
	d->q.mq_ops = requests ? &d->dev : NULL;
}

static void cpu_is(u32 cpu, struct ktask *t)
{
	machine.cpu = cpu;
	machine.current = t;
}

static void sys_enter(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	struct pt_regs *regs = &machine.current->regs;
	u64 ctx[] = { (u64)regs, nr };

	*regs = (struct pt_regs){ .di = a, .si = b, .dx = c, .r10 = d, .orig_ax = nr };
	on_sys_enter(ctx);
}

static void sys_exit(long ret)
{
	u64 ctx[] = { (u64)&machine.current->regs, ret };

	on_sys_exit(ctx);
	if (CONF(stacks))
		on_submissions(ctx);
}

/* Current leaves its CPU to @next; @sleeps, uninterruptibly, or it could go on. */
static void switch_to(struct ktask *next, bool sleeps)
{
	u64 ctx[] = { 0, (u64)machine.current, (u64)next };

	machine.current->state = sleeps ? 2 : 0;
	on_sched_switch(ctx);
	machine.current = next;
}

static void wake(struct ktask *p)
{
	u64 ctx[] = { (u64)p };

	on_sched_waking(ctx);
	p->state = 0;
}

/* Calls of functions: the VFS's and the file system's. */
static void vfs_in(u32 kind, struct kfile *f)
{
	u64 ctx[8] = { (u64)&f->f };

	if (kind == OP_READ)
		enter_vfs_read(ctx);
	else if (kind == OP_WRITE)
		enter_vfs_write(ctx);
	else
		enter_vfs_fsync_range(ctx);
}

static void vfs_out(u32 kind, long ret)
{
	u64 ctx[8] = { [4] = ret };

	if (kind == OP_READ)
		leave_vfs_read(ctx);
	else if (kind == OP_WRITE)
		leave_vfs_write(ctx);
	else
		leave_vfs_fsync_range(ctx);
}

static void fs_in(u32 kind, struct kfile *f)
{
	struct kiocb kiocb = { .ki_filp = &f->f };
	u64 ctx[8] = { kind == OP_FSYNC ? (u64)&f->f : (u64)&kiocb };

	if (kind == OP_READ)
		enter_read(ctx);
	else if (kind == OP_WRITE)
		enter_write(ctx);
	else
		enter_fsync(ctx);
}

static void fs_out(u32 kind, long ret)
{
	u64 ctx[8] = { [2] = ret, [4] = ret };

	if (kind == OP_READ)
		leave_read(ctx);
	else if (kind == OP_WRITE)
		leave_write(ctx);
	else
		leave_fsync(ctx);
}

/* Programs return 0: the kernel refuses others at functions. */
#define RUN(program, ctx) assert_int_equal(program(ctx), 0)

/* A program of one argument. */
#define EVENT(program, arg) RUN(program, ((u64[8]){ (u64)(arg) }))

static void bio_init(struct bio *b, struct kdisk *d, u32 op, u64 sector, u32 bytes)
{
	*b = (struct bio){ .bi_bdev = &d->whole,
			   .bi_opf = op,
			   .bi_iter = { .bi_sector = sector, .bi_size = bytes } };
}

/* A request for @b, allocated on this CPU. */
static void request_init(struct request *rq, struct blk_mq_ctx *mq_ctx, struct kdisk *d,
			 struct bio *b)
{
	mq_ctx->cpu = machine.cpu;
	*rq = (struct request){ .q = &d->q,
				.mq_ctx = mq_ctx,
				.cmd_flags = b->bi_opf,
				.__data_len = b->bi_iter.bi_size,
				.__sector = b->bi_iter.bi_sector,
				.bio = b };
}

/* The end of a bio that is no request's, or of no request's device. */
static void bio_ends(struct bio *b)
{
	u64 ctx[] = { 0, (u64)b };

	on_bio_complete(ctx);
}

static void complete_bytes(struct request *rq, int error, u32 bytes)
{
	u64 ctx[] = { (u64)rq, (u64)(unsigned int)error, bytes };

	on_rq_complete(ctx);
}

static void completion_is_over(void)
{
	u64 ctx[1] = {};

	on_io_done(ctx);
}

/* A page fault of user code at @address; handle_mm_fault() is done with one in @vma. */
static void fault_at(u64 address)
{
	EVENT(on_fault, address);
}

static void fault_handled(struct vm_area_struct *vma, u64 flags, u64 result)
{
	u64 ctx[5] = { (u64)vma, 0, flags, (u64)&machine.current->regs, result };

	RUN(on_fault_handled, ctx);
}

static void signal_deliver(u32 sig)
{
	EVENT(on_signal, sig);
}

/* io_uring: @req in @ring is submitted, fails at once, is left to a worker, comes after @head,
 * completes; current waits for completions in @ring; a completion finds no room. */
static void uring_submit(struct io_kiocb *req)
{
	EVENT(on_uring_submit, req);
}

static void uring_fail(struct io_kiocb *req)
{
	u64 ctx[3] = { 0, (u64)req, 0 };

	RUN(on_uring_failed, ctx);
}

static void uring_queue(struct io_kiocb *req)
{
	EVENT(on_uring_queue, req);
}

static void uring_link(struct io_kiocb *req, struct io_kiocb *head)
{
	u64 ctx[2] = { (u64)req, (u64)head };

	RUN(on_uring_link, ctx);
}

static void uring_complete(struct io_kiocb *req, int res)
{
	u64 ctx[2] = { (u64)req->ctx, (u64)req };

	req->cqe.res = res;
	RUN(on_uring_complete, ctx);
}

static void uring_wait(struct io_ring_ctx *ring)
{
	EVENT(on_uring_wait, ring);
}

static void uring_overflow(struct io_ring_ctx *ring, u64 user_data, int res)
{
	u64 ctx[5] = { (u64)ring, user_data, (u64)res, 0, user_data };

	RUN(on_uring_overflow, ctx);
}

/* The sums of operations of @kind in all rows, on all CPUs. Their histograms are added to @ret_hist
 * if this is not NULL. */
static struct op_sums ops_counted(u32 kind, u64 *ret_hist)
{
	struct kmap *cells = map_of(&slot_cells),
		    *hashes[] = { map_of(&op_rows_even), map_of(&op_rows_odd) };
	struct op_sums all = {}, *s;
	const struct op_key *key;
	struct op_cell *cell;
	struct entry *e;

	for (u32 i = 0; i < cells->max; i++) {
		if (WHAT_OP(live.rows[i % ROW_SLOTS].what) != kind ||
		    live.rows[i % ROW_SLOTS].what & ROW_REQUESTS)
			continue;
		cell = (struct op_cell *)cells->array + i;
		s = &cell->sums;
		all.max_ns = all.max_ns > s->max_ns ? all.max_ns : s->max_ns;
		for (size_t n = 0; n < sizeof(*s) / 8; n++)
			if (&((u64 *)&all)[n] != (u64 *)&all.max_ns)
				((u64 *)&all)[n] += ((u64 *)s)[n];
		for (u32 b = 0; ret_hist && b < HIST_N; b++)
			ret_hist[b] += cell->hist[b];
	}
	for (int h = 0; h < 2; h++) {
		for (e = hashes[h]->entries; e; e = e->hh.next) {
			key = (const void *)e->key;
			s = (void *)e->value;
			if (key->op != kind)
				continue;
			all.max_ns = all.max_ns > s->max_ns ? all.max_ns : s->max_ns;
			for (size_t n = 0; n < sizeof(*s) / 8; n++)
				if (&((u64 *)&all)[n] != (u64 *)&all.max_ns)
					((u64 *)&all)[n] += ((u64 *)s)[n];
			if (ret_hist)
				ret_hist[key->bucket] += s->count;
		}
	}
	return all;
}

/* The cell of slot @i % ROW_SLOTS, if the slot is of a row of requests. */
static struct rq_cell *requests_cell(u32 i)
{
	if (conf.rq_in_cells)
		return (void *)&((struct op_cell *)map_of(&slot_cells)->array)[i];
	return &((struct rq_cell *)map_of(&slot_rq_cells)->array)[i];
}

static u32 requests_cells(void)
{
	return map_of(conf.rq_in_cells ? (void *)&slot_cells : (void *)&slot_rq_cells)->max;
}

/* The sums of requests on @dev that count for @by (NULL: for anybody). */
static struct rq_sums requests_of(u32 dev, u32 op, const u64 by[2])
{
	struct kmap *hashes[] = { map_of(&rq_rows_even), map_of(&rq_rows_odd) };
	struct rq_sums all = {}, *s;
	const struct rq_key *key;
	struct entry *e;

	for (u32 i = 0; i < requests_cells(); i++) {
		volatile struct row_slot *row = &live.rows[i % ROW_SLOTS];

		if (row->fs != (SLOT_OF_DEV | dev) || WHAT_OP(row->what & ~ROW_REQUESTS) != op)
			continue;
		s = &requests_cell(i)->sums;
		all.max_ns = all.max_ns > s->max_ns ? all.max_ns : s->max_ns;
		for (size_t n = 0; n < sizeof(*s) / 8; n++)
			if (&((u64 *)&all)[n] != (u64 *)&all.max_ns)
				((u64 *)&all)[n] += ((u64 *)s)[n];
	}
	for (int h = 0; h < 2; h++) {
		for (e = hashes[h]->entries; e; e = e->hh.next) {
			key = (const void *)e->key;
			s = (void *)e->value;
			if (key->dev != dev || key->op != op)
				continue;
			if (by && memcmp(by, key->by, sizeof(key->by)))
				continue;
			all.max_ns = all.max_ns > s->max_ns ? all.max_ns : s->max_ns;
			for (size_t n = 0; n < sizeof(*s) / 8; n++)
				if (&((u64 *)&all)[n] != (u64 *)&all.max_ns)
					((u64 *)&all)[n] += ((u64 *)s)[n];
		}
	}
	return all;
}

static struct rq_sums requests_counted(u32 dev, u32 op)
{
	return requests_of(dev, op, NULL);
}

/* All operations of @kind: their number, the longest, and the strata, up to ST_N, which add up to
 * their time. */
static void assert_ops(u32 kind, u64 count, u64 max_ns, const u64 strata[ST_N])
{
	struct op_sums s = ops_counted(kind, NULL);
	u64 total = 0;

	for (int st = 0; st < ST_N; st++) {
		if (s.strata[st] != strata[st])
			fprintf(stderr, "stratum %d: %llu\n", st, s.strata[st]);
		assert_int_equal(s.strata[st], strata[st]);
		total += strata[st];
	}
	assert_int_equal(s.count, count);
	assert_int_equal(s.total_ns, total);
	assert_int_equal(s.max_ns, max_ns);
}

/* An interrupt completes all @bytes of @rq, and 23 later wakes @t, which runs 29 later. */
static void completes_for(struct request *rq, u32 bytes, struct ktask *t)
{
	machine.level = 0x10000;
	complete_bytes(rq, 0, bytes);
	tick(23);
	wake(t);
	completion_is_over();
	machine.level = 0;
	tick(29);
	switch_to(t, false);
}

/* The newest record of any kind: messages that only wake user space are none. */
static const void *newest_of_records(void)
{
	struct message *m = messages;

	while (m && m->ring == (const void *)&wakes)
		m = m->next;
	return m ? m->data : NULL;
}

/* The newest record of a slow operation; valid for two more calls. */
static const struct slow_op *newest_record(void)
{
	static struct slow_op ops[3];
	static unsigned int n;

	for (struct message *m = messages; m; m = m->next) {
		if (m->ring != &ring)
			continue;
		n = (n + 1) % 3;
		assert_int_equal(m->data[0], SENT_SLOW_OP);
		slow_op_set_sent(&ops[n], (const void *)m->data);
		return &ops[n];
	}
	return NULL;
}

/* The newest record of an operation that was sent for a recording. */
static const struct sent_op *newest_sent(void)
{
	for (struct message *m = messages; m; m = m->next)
		if (m->data[0] == SENT_OP || m->data[0] == SENT_OP_WAITED)
			return (const void *)m->data;
	return NULL;
}

static u64 lost_all(void)
{
	u64 n = 0;

	for (int i = 0; i < LOST_N; i++)
		n += live.lost[i];
	return n;
}

/* Nothing is kept of what has ended: bios, requests; threads, if all exited. */
static void assert_nothing_kept(void)
{
	for (u32 i = 0; i < IO_SLOTS; i++)
		assert_int_equal(io_slots[i].key, 0);
	assert_int_equal(map_count(&ios), 0);
	assert_int_equal(live.hashed, 0);
	assert_int_equal(map_count(&async_bios), 0);
	assert_int_equal(live.async_bios, 0);
}

#pragma GCC diagnostic pop

#endif
