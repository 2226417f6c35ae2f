/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * done.bpf.h - the one place where an operation or a request is done: it is added to the sums of
 * its row, or sent as a record, or both. With --slowest, a slow operation is also sent with the
 * name of its file.
 */
#ifndef IOSTRATA_DONE_BPF_H
#define IOSTRATA_DONE_BPF_H

#include "access.bpf.h"
#include "send.bpf.h"

/* Whether the operation slept for a reason that no event told, and its file system has no block
 * device: then it may have waited for pages that a server sent. */
static __always_inline bool op_may_have_read(const struct op *op)
{
	u64 file = op->file.file; /* local, or CO-RE would search the kernel for it */

	return op->settled &&
	       op->strata[ST_SLEEP] + op->strata[ST_HELPER] + op->strata[ST_SERVER] &&
	       !BPF_CORE_READ((struct file *)file, f_inode, i_sb, s_bdev);
}

/* Whether readahead brought the data of a read that waited for no read. Such a read ends in the
 * last window of readahead for its open file, or in the one before: the read of a window's first
 * page makes the next one. If the read has bios itself, the window may be due to these. */
static __always_inline bool op_read_ahead(const struct op *op)
{
	struct file *file = (struct file *)op->file.file;
	u64 size = BPF_CORE_READ(file, f_ra.size), start, last;

	if (likely(!size))
		return false;
	start = BPF_CORE_READ(file, f_ra.start);
	last = (u64)(BPF_CORE_READ(file, f_ra.prev_pos) - 1) >> CONF(page_shift);
	return last + size - start < (op->own_reads ? size : 2 * size);
}

/* The cache class of an operation. @acts: its kind; for a request of io_uring or libaio, the kind
 * of a call that does the same. */
static __always_inline u8 op_cache_class(const struct op *op, u8 acts)
{
	if (acts != OP_READ && acts != OP_WRITE && acts != OP_FAULT)
		return CACHE_NONE;
	if (op->file.direct)
		return CACHE_DIRECT;
	if (!op->waited_read) {
		if (acts != OP_WRITE && op_may_have_read(op))
			return CACHE_UNKNOWN;
		return acts == OP_READ && op_read_ahead(op) ? CACHE_HIT_AHEAD : CACHE_HIT;
	}
	return op->own_reads ? CACHE_MISS : CACHE_READAHEAD;
}

/* Whether the run wants records of operations on file system type @fs. */
static __always_inline bool record_fs_wanted(u64 fs)
{
	u64 name[FS_NAME_LEN / 8] = {};
	const char *from;

	if (!CONF(n_fs))
		return true;
	if (fs == FS_BDEV) {
		name[0] = FS_BDEV_NAME;
	} else if (fs > FS_UNKNOWN) {
		from = BPF_CORE_READ((struct file_system_type *)fs, name);
		bpf_probe_read_kernel_str(name, sizeof(name), from);
	}
	FOR_LISTED(i, n_fs)
	if (lists.fs[i][0] == name[0] && lists.fs[i][1] == name[1])
		return true;
	return false;
}

/* The device of the layer of overlayfs in which @file is, or of a btrfs volume (its subvolumes have
 * other numbers), or 0 if @file is on another file system. */
static __always_inline u32 file_disk(u64 file, u16 mode)
{
	struct inode *inode = BPF_CORE_READ((struct file *)file, f_inode);
	u64 magic = BPF_CORE_READ(inode, i_sb, s_magic);

	if (magic == BTRFS_SUPER_MAGIC)
		return BPF_CORE_READ(inode, i_sb, s_dev);
	if (magic != OVERLAYFS_SUPER_MAGIC)
		return 0;
	return overlay_disk(file, (u64)inode, mode);
}

/* Sends a slow operation. */
static __always_inline void slow_op_send(const struct op *op, const struct op_end *end)
{
	struct sent_slow_op *s = bpf_ringbuf_reserve(&ring, sizeof(*s), 0);
	const struct file_info *f = end->file;
	struct op_list *list;

	if (!s) {
		count_lost(LOST_RING);
		return;
	}
	op_fill_waited(&s->op.waited, SENT_SLOW_OP, file_key_of(f), op,
		       op_cache_class(op, end->acts), end);
	s->op.waited.op.fs = SENT_FS_UNKNOWN;
	list = CONF(segments) ? op_list_to_send(op) : NULL;
	if (list) {
		bpf_probe_read_kernel(&s->op.by, sizeof(s->op.by) + sizeof(s->op.segments),
				      &list->by);
	} else {
		s->op.by.start_ns = 0;
		s->op.segments.n = s->op.segments.merged = 0;
	}
	s->fs = f->fs;
	s->disk = f->file && f->mode ? file_disk(f->file, f->mode) : 0;
	op_fill_helper(&s->op.helper, op);
	s->lock_ns = op->noted & NOTED_LOCK ? op->lock_ns : 0;
	s->lock_holder = op->lock_holder;
	s->slept_ns = op->noted & NOTED_SLEEP ? op->slept_ns : 0;
	s->woken_by = op->woken_by;
	file_name_read(&s->file, f);
	bpf_ringbuf_submit(s, 0);
}

/* Whether the result of an operation of kind @op is a number of bytes. */
static __always_inline bool returns_bytes(u8 op)
{
	return op <= OP_WRITE || op == OP_COPY || (CONF(served) && op == OP_SERVED);
}

/* Adds an operation of kind @acts to @sums, but not to a histogram. It returned @ret and took
 * @total ns, @cpu of them on the CPU. */
static __always_inline void op_add(const struct op *op, u8 acts, struct op_sums *sums, u64 total,
				   const u64 cpu[ST_FS + 1], long ret, bool single_writer)
{
	sums_add(sums, total, ret < 0 && ret >= -MAX_ERRNO ? ret : 0,
		 ret > 0 && returns_bytes(acts) ? ret : 0, acts, single_writer);
	if (CONF(layer) != LAYER_OPS)
		return;
	sums_add_strata(sums, cpu, ST_SYSCALL, ST_FS + 1, single_writer);
	if (op->settled)
		sums_add_strata(sums, op->strata, ST_FS + 1, ST_N, single_writer);
	if (op->own_reads)
		cell_sum(single_writer, sums->device_bytes, op->device_bytes);
}

/* Adds an operation to a row with a slot, and to its histogram. Returns false if the row has no
 * slot. @slot: a guess at the slot, corrected. */
static __always_inline bool op_add_in_slot(const struct op *op, const struct op_end *end, u8 *slot,
					   bool single_writer)
{
	struct op_cell *cell;
	u32 index;

	cell = row_in_slot(end->file, end->what, slot, &index);
	if (unlikely(!cell))
		return false;
	if (single_writer) {
		op_add(op, end->acts, &cell->sums, end->total, end->cpu, end->ret, true);
		row_hist_add(cell, &index, end->total, true);
	} else {
		op_add(op, end->acts, &cell->sums, end->total, end->cpu, end->ret, false);
		row_hist_add(cell, &index, end->total, false);
	}
	return true;
}

/* The work at the end of an operation that few runs need. Returns false if the operation counts in
 * no row.
 */
static __always_inline bool op_extras(const struct op *op, struct op_end *end, bool single_writer)
{
	if (CONF(min_ns) && end->total < CONF(min_ns))
		return false;
	if (CONF(sent_ops) && record_fs_wanted(end->file->fs))
		op_send(op, op_cache_class(op, end->acts), end, single_writer);
	if (CONF(layer) == LAYER_SYSCALL ||
	    (CONF(meta_calls) && (op->kind == OP_META || op->kind == OP_FSYNC)) ||
	    (CONF(aio_calls) && op->kind == OP_AIO))
		end->what |= ROW_WHAT(op->call, 0, 0);
	if (CONF(by) == BY_CACHE)
		end->what |= ROW_WHAT(0, 0, (u32)op_cache_class(op, end->acts));
	return !CONF(uncounted) && !(CONF(sent_ops) && op->kind == OP_HANDLE);
}

/* Adds an operation to the pattern of its file. Only reads and writes at a known offset count.
 * @entry: its row. The row remembers the slot of the pattern. */
static __always_inline void op_access(const struct op *op, const struct op_end *end,
				      struct op_entry *entry, bool even)
{
	const struct file_info *f = end->file;

	if ((end->acts != OP_READ && end->acts != OP_WRITE) || end->ret <= 0 ||
	    op->offset == OFFSET_UNKNOWN || !f->ino)
		return;
	if (unlikely(!entry->access))
		entry->access = access_slot_find(
			number(f->fs),
			FILE_KEY(f->dev, (f->mode & S_IFMT) == S_IFBLK, f->generation), f->ino,
			end->what);
	access_count(entry->access, op->offset, end->ret, even);
}

/* An operation is done. @single_writer: no other program on this CPU can be in here meanwhile.
 * Returns false if the operation counts in no row. */
static __always_inline bool op_keep(const struct op *op, struct op_end *end, u8 *slot,
				    bool single_writer)
{
	struct op_sums *sums;
	bool even;

	if (CONF(op_extras) && !op_extras(op, end, single_writer))
		return false;
	if (!CONF(row_slots) || unlikely(!op_add_in_slot(op, end, slot, single_writer))) {
		even = !live.epoch;
		sums = row_hashed(end->file, end->what, end->total, end->who, even);
		if (!sums)
			return false;
		op_add(op, end->acts, sums, end->total, end->cpu, end->ret, false);
		if (CONF(op_accesses))
			op_access(op, end, (struct op_entry *)sums, even);
	}
	if (CONF(records) && end->total > live.slow_ns && record_fs_wanted(end->file->fs))
		slow_op_send(op, end);
	return true;
}

/* Whether the stack of an operation that took @total ns is to be taken: with the probability total
 * / live.stack_ns. Each taken operation stands for the inverse of this number of operations, so
 * sums over stacks have no bias. */
static __always_inline bool stack_is_drawn(u64 total, u64 threshold)
{
	return total >= threshold || (u64)bpf_get_prandom_u32() * threshold >> 32 < total;
}

/* Leaves what on_stack() needs in @op, which has ended. */
static __always_inline bool op_take(struct op *op, const struct op_end *end)
{
	u64 threshold = live.stack_ns;

	if (!(STACK_KINDS >> (op->kind & 31) & 1) || !stack_is_drawn(end->total, threshold))
		return false;
	if (!op->settled)
		__builtin_memset(op->strata, 0, sizeof(op->strata));
	for (u32 st = 0; st <= ST_FS; st++)
		op->strata[st] = end->cpu[st];
	op->taken.total = end->total;
	op->taken.threshold = threshold;
	op->taken.ret = end->ret;
	return true;
}

/* Current's operation @t->op is done: it returned @ret and took @total ns, @cpu of them on the CPU.
 * @call: the system call of its row, or 0 if the row counts all calls of the kind. @single_writer:
 * see op_keep().
 * Returns whether its user stack is to be taken. */
static __always_inline bool op_done(struct task_state *t, u64 total, const u64 cpu[ST_FS + 1],
				    long ret, u32 call, bool single_writer)
{
	struct op *op = &t->op;
	struct op_end end = { total,    cpu,       ret, ROW_WHAT(call, (u32)op->kind, 0),
			      op->kind, &op->file, NULL };

	if (!op_keep(op, &end, &t->row_slot, single_writer))
		return false;
	if (CONF(busiest) && record_fs_wanted(op->file.fs))
		busy_add(t, total);
	return CONF(stacks) && op_take(op, &end);
}

/* Gives the epoch the name of @io's thread: its name when it submitted @io, or left @io to a
 * helper. The newest name of all requests wins, since a request left to a helper may be done last.
 * Two CPUs at once may leave an older name. */
static __always_inline void request_name_task(const struct io_state *io, struct rq_sums *sums,
					      bool even)
{
	u64 name = (comm_number(io->name.comm) ^ io->name.cgroup) | 1, id = io->by[0];
	struct thread_name *known;

	if (likely(sums->name == name) || !id)
		return;
	sums->name = name;
	known = ROWS_LOOKUP(even, thread_names, &id);
	if (!known || known->at < io->name.at)
		row_set_name(id, &io->name, even);
}

/* The entry of @io's row in the hash for @bucket, of the @even epoch or of the odd one. Returns
 * NULL if there is no room, or the row is refused, as in row_hashed(); then @n requests are
 * lost. */
static __always_inline struct rq_sums *request_row_hashed(const struct io_state *io, u32 bucket,
							  u32 n, bool even)
{
	struct rq_key key = {
		.dev = io->dev, .op = io->op, .bio_based = io->bio_based, .bucket = bucket
	};
	struct rq_sums *sums;

	if (CONF(rq_by)) {
		key.by[0] = io->by[0];
		key.by[1] = io->by[1];
	}
	sums = ROWS_LOOKUP(even, rq_rows, &key);
	if (sums) {
		if (CONF(by) == BY_THREAD)
			request_name_task(io, sums, even);
		return sums;
	}
	if (!ROWS_INSERT(even, rq_rows, &key))
		row_made(&live.rq_rows_made[!even], CONF(rq_rows_limit));
	sums = ROWS_LOOKUP(even, rq_rows, &key);
	if (!sums)
		count_lost_many(LOST_MAP_FULL, n);
	else if (CONF(by) == BY_THREAD)
		request_name_task(io, sums, even);
	return sums;
}

/* @dev has its first row. */
static __always_inline void disk_tell(u32 dev)
{
	struct met_disk met = { .dev = dev, .of_disk = 1 };

	bpf_ringbuf_output(&wakes, &met, sizeof(met), 0);
}

/* The row of @io in the @even epoch or in the odd one. Counts @n requests in @bucket of its
 * histogram. */
static __always_inline struct rq_sums *request_row(const struct io_state *io, u32 bucket, u32 n,
						   bool even)
{
	u64 dev = SLOT_OF_DEV | io->dev, slot;
	struct rq_cell *cell = NULL;
	u32 what, i;

	if (CONF(rq_by))
		return request_row_hashed(io, bucket, n, even);
	what = REQUESTS_WHAT(io->op, io->bio_based);
	slot = slot_first(dev, what);
	if (!slot_is_of(slot, dev, what)) {
		slot = slot_find(dev, what);
		if (slot & SLOT_NEW)
			disk_tell(io->dev);
	}
	if (slot != ROW_SLOTS) {
		i = SLOT_CELL(current_cpu() % RQ_CPUS, !even, slot % ROW_SLOTS);
		cell = CONF(rq_in_cells) ? bpf_map_lookup_elem(&slot_cells, &i)
					 : bpf_map_lookup_elem(&slot_rq_cells, &i);
	}
	if (!cell)
		return request_row_hashed(io, bucket, n, even);
	barrier_var(bucket);
	if (bucket < HIST_N) /* for the verifier: always true */
		atomic_add(&cell->hist[bucket], n);
	return &cell->sums;
}

/* Adds a read or write to the pattern of its disk. */
static __always_inline void request_access(const struct io_state *io, bool even)
{
	if ((io->op == RQ_READ || io->op == RQ_WRITE) && io->bytes)
		access_count(access_slot_find(SLOT_OF_DEV | io->dev, 0, 0,
					      REQUESTS_WHAT(io->op, io->bio_based)),
			     io->sector << 9, io->bytes, even);
}

/* A request is done, or a bio of a bio-based device. The bio was split into @n parts, all with
 * these @times; io->bytes has the bytes of all parts. */
static __always_inline void request_done(const struct io_state *io, const struct rq_times *times,
					 u32 n)
{
	u64 device = times->c - times->d, queue = times->d - times->g, tag = times->g - times->q,
	    shown;
	struct rq_sums *sums;
	bool even;

	if (CONF(op_requests) && (io->outside || !io->q))
		return;
	if (CONF(sent_requests))
		request_send(io, times, n);
	if (CONF(helpers) && io->helper.tid)
		helper_request_done(io, tag, queue, device, n);
	if (CONF(uncounted) || (CONF(helpers) && io->counted == COUNTED_HELPER))
		return;
	shown = CONF(queued) ? times->c - times->q : device;
	even = !live.epoch;
	sums = request_row(io, CONF(rq_sums_only) ? 0 : hist_bucket(shown), n, even);
	if (!sums)
		return;
	atomic_add(&sums->count, n);
	atomic_add(&sums->device_ns, n * device);
	cell_max(&sums->max_ns, shown);
	cell_sum(false, sums->queue_ns, n * queue);
	cell_sum(false, sums->tag_ns, n * tag);
	cell_sum(false, sums->requeues, io->requeues);
	if (!io->q)
		atomic_add(&sums->unqueued, n);
	if (io->outside)
		atomic_add(&sums->outside, n);
	if (io->failed)
		atomic_add(&sums->errors, n);
	else
		cell_sum(false, sums->bytes, io->bytes);
	if (CONF(rq_accesses))
		request_access(io, even);
}

#endif
