/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * op.bpf.h - an operation from its system call's entry to its return: which file, which layer is
 * on CPU, and the row that it is added to.
 */
#ifndef IOSTRATA_OP_BPF_H
#define IOSTRATA_OP_BPF_H

#include "row.bpf.h"

#define O_DIRECT 00040000 /* x86 */

enum { MAX_ERRNO = 4095 };

/* Offset of an operation: not known, and the file's position, when the file is known. */
#define OFFSET_UNKNOWN (~0ULL)
#define OFFSET_LATER   (~1ULL)

/* A typed pointer is read as such, any other through a helper. */
#define READ(typed, p, field) ((typed) ? (p)->field : BPF_CORE_READ(p, field))

static __always_inline bool mode_is_storage(u16 mode)
{
	u16 type = mode & S_IFMT;

	return type == S_IFREG || type == S_IFDIR || type == S_IFBLK;
}

/* Whether files of this kind are asked for. */
static __always_inline bool mode_wanted(u16 mode)
{
	return likely(mode_is_storage(mode)) || CONF(all_files);
}

/* Certain files are asked for: an operation whose file is not known is none of them. */
static __always_inline bool file_filtered(void)
{
	return CONF(file_filter);
}

static __always_inline bool file_passes(const struct row_file *row)
{
	if (CONF(file_ino) && (row->ino != CONF(file_ino) || row->dev != CONF(file_dev)))
		return false;
	return dev_wanted(row->dev);
}

/* An open file, with what all need to know of it. */
struct open_file {
	struct file *file;		/* NULL: none */
	struct inode *inode;
	u64 mode;
};

static __always_inline struct open_file file_look(struct file *file, bool typed)
{
	struct inode *inode = READ(typed, file, f_inode);

	return (struct open_file){ file, inode, READ(typed, inode, i_mode) };
}

/*
 * What an operation needs to know of a file; false if the filters by file do not let it through.
 * What is of no use is not read, a field is some ten instructions, and keeps the value that it has.
 * A block device is not a file of the file system that its name is in.
 */
static __always_inline bool file_learn(struct row_file *row, struct open_file f, bool typed)
{
	struct inode *inode = f.inode; /* CO-RE would look for a field of f in the kernel */
	struct file *file = f.file;
	struct super_block *sb = READ(typed, inode, i_sb);
	bool bdev = unlikely((f.mode & S_IFMT) == S_IFBLK);

	row->file = (u64)file;
	row->fs = bdev ? FS_BDEV : (u64)READ(typed, sb, s_type);
	row->mode = f.mode;
	if (!CONF(file_details))
		return true;
	row->direct = !!(READ(typed, file, f_flags) & O_DIRECT);
	row->ino = READ(typed, inode, i_ino);
	row->dev = bdev ? READ(typed, inode, i_rdev) : READ(typed, sb, s_dev);
	return !file_filtered() || file_passes(row);
}

/* Descriptor @fd of current; NULL if there is none. @cast: the kernel has bpf_rdonly_cast(), so the
 * result can be read as typed. */
static __always_inline struct file *current_file(u32 fd, bool cast)
{
	bool typed = have_current_btf();
	struct file *file = NULL;
	struct task_struct *task;
	struct fdtable *fdt;
	struct file **slot;

	task = typed ? task_untrusted(bpf_get_current_task_btf()) : (void *)bpf_get_current_task();
	fdt = typed ? task->files->fdt : BPF_CORE_READ(task, files, fdt);
	if (!fdt || fd >= READ(typed, fdt, max_fds))
		return NULL;
	slot = READ(typed, fdt, fd) + fd;
	if (cast)
		return file_pointed_to(slot);
	bpf_probe_read_kernel(&file, sizeof(file), slot);
	return file;
}

static __always_inline struct open_file fd_look(u32 fd, bool cast)
{
	struct file *file = current_file(fd, cast);

	return file ? file_look(file, cast) : (struct open_file){};
}

/* Nothing is known of the file, or there is none. */
static __always_inline void row_clear(struct row_file *row)
{
	*row = (struct row_file){};
}

/* Starts an operation, whose file the caller has set already unless it is only OP_BEGUN. */
static __always_inline void op_start(struct task_state *t, u32 kind, enum op_progress progress,
				     u64 now)
{
	if (t->progress)
		count_lost(LOST_UNMATCHED_START);
	t->start = t->mark = now;
	t->stage = STAGE(progress, ST_SYSCALL, 0, 0);
	t->now = 0;
	t->kind = kind;
	/* the others when it waits: task_off() */
	t->strata[ST_SYSCALL] = t->strata[ST_VFS] = t->strata[ST_FS] = 0;
}

/* The file of an operation that was begun without; false: it is not asked for. */
static __always_inline bool op_learn_file(struct task_state *t, struct file *file, bool typed)
{
	struct open_file f;

	if (CONF(records) && t->offset == OFFSET_LATER)
		t->offset = READ(typed, file, f_pos);
	f = file_look(file, typed);
	return mode_wanted(f.mode) && file_learn(&t->row, f, typed);
}

/* Where an operation usually is when it comes to a layer, and when it is in it. */
static __always_inline u32 stage_before(u32 stratum)
{
	return stratum == ST_FS ? STAGE(OP_ACTIVE, ST_VFS, 1, 0) :
				  STAGE(OP_ACTIVE, ST_SYSCALL, 0, 0);
}

static __always_inline u32 stage_inside(u32 stratum)
{
	return stratum == ST_FS ? STAGE(OP_ACTIVE, ST_FS, 1, 1) : STAGE(OP_ACTIVE, ST_VFS, 1, 0);
}

/* Current's operation, which is at @stage, enters a layer; only the outermost entry counts. */
static __always_inline void op_enter_layer(struct task_state *t, u32 stratum, u32 stage)
{
	u8 *depth = stratum == ST_FS ? &t->fs_depth : &t->vfs_depth;

	if (likely(stage == stage_before(stratum))) {
		task_charge(t, stratum - 1, bpf_ktime_get_ns());
		t->stage = stage_inside(stratum);
		return;
	}
	t->stage = stage;
	if (!stage || (*depth)++ || t->layer >= stratum)
		return;
	task_charge_cpu(t, bpf_ktime_get_ns());
	t->layer = stratum;
}

static __always_inline void op_leave_layer(struct task_state *t, u32 stratum)
{
	u8 *depth = stratum == ST_FS ? &t->fs_depth : &t->vfs_depth;

	if (likely(t->stage == stage_inside(stratum))) {
		task_charge(t, stratum, bpf_ktime_get_ns());
		t->stage = stage_before(stratum);
		return;
	}
	if (!t->stage)
		return;
	if (!*depth) {
		count_lost(LOST_UNMATCHED_END);
		return;
	}
	if (--*depth || t->layer > stratum)
		return;
	task_charge(t, stratum, bpf_ktime_get_ns());
	t->layer = stratum == ST_FS && t->vfs_depth ? ST_VFS : ST_SYSCALL;
}

static __always_inline u8 op_cache_class(const struct task_state *t)
{
	if (t->kind != OP_READ && t->kind != OP_WRITE)
		return CACHE_NONE;
	if (t->row.direct)
		return CACHE_DIRECT;
	if (!t->waited_read)
		return CACHE_HIT;
	return t->own_reads ? CACHE_MISS : CACHE_READAHEAD;
}

static __always_inline void op_record_send(const struct task_state *t, u64 total, long ret)
{
	struct op_record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	u64 id;

	if (!r) {
		count_lost(LOST_RING);
		return;
	}
	id = current_pid_tgid();
	r->start_ns = t->start;
	r->total_ns = total;
	__builtin_memcpy(r->strata, t->strata, sizeof(r->strata));
	r->fs = t->row.fs;
	r->ino = t->row.ino;
	r->offset = t->offset;
	r->len = t->len;
	r->ret = ret;
	r->cgroup = bpf_get_current_cgroup_id();
	r->dev = t->row.dev;
	r->pid = id >> 32;
	r->tid = id;
	r->requests = t->submitted ? t->requests : 0;
	r->call = t->call;
	r->kind = t->kind;
	r->cache = op_cache_class(t);
	r->pad = 0;
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	r->file.len = 0;
	r->file.complete = 0;
	if (t->row.file)
		file_name_read(&r->file, t->row.file, t->row.ino);
	bpf_ringbuf_submit(r, 0);
}

/* Whether the result of such an operation is a number of bytes. */
static __always_inline bool returns_bytes(u8 op)
{
	return op <= OP_WRITE || op == OP_COPY;
}

/* What an operation's row is of, beside its file system. */
static __always_inline u32 op_what(const struct task_state *t)
{
	u32 what = ROW_WHAT(0, (u32)t->kind, 0);

	if (CONF(layer) == LAYER_SYSCALL)
		what |= ROW_WHAT(t->call, 0, 0);
	if (CONF(by) == BY_CACHE)
		what |= ROW_WHAT(0, 0, (u32)op_cache_class(t));
	return what;
}

/* Adds an operation that took @total and returned @ret. */
static __always_inline void op_count(const struct task_state *t, struct op_cell *cell, u64 total,
				     long ret, bool alone)
{
	cell_add(cell, total, ret < 0 && ret >= -MAX_ERRNO ? -1 : 0,
		 ret > 0 && returns_bytes(t->kind) ? ret : 0, alone);
	if (CONF(layer) != LAYER_OPS)
		return;
	cell_add_strata(cell, t->strata, ST_SYSCALL, ST_FS + 1, alone);
	if (t->waited)
		cell_add_strata(cell, t->strata, ST_FS + 1, ST_N, alone);
}

/* Ends current's operation, which is at @stage, with @ret. */
static __always_inline void op_finish(struct task_state *t, u32 stage, long ret, u64 now)
{
	struct op_cell *cell;
	u64 total;

	task_charge_last(t, stage, now);
	t->stage = 0;
	total = t->mark - t->start;
	if (CONF(min_ns) && total < CONF(min_ns))
		return;
	cell = row_find(&t->row, op_what(t), &t->row_slot);
	if (!cell)
		return;
	if (CONF(alone))
		op_count(t, cell, total, ret, true);
	else
		op_count(t, cell, total, ret, false);
	if (CONF(records) && total > live.slow_ns)
		op_record_send(t, total, ret);
}

#endif
