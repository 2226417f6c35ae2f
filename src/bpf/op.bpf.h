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

/* What an operation needs to know of its file. */
struct file_info {
	struct row_file row;
	u32 flags;
};

/* A typed pointer is read as such, any other through a helper. */
#define READ(typed, p, field) ((typed) ? (p)->field : BPF_CORE_READ(p, field))

/* What is of no use is not read: a field is some ten instructions. */
static __always_inline void inode_info(struct inode *inode, bool typed, struct file_info *fi)
{
	struct super_block *sb = READ(typed, inode, i_sb);
	/* a block device is not a file of the file system that its name is in */
	bool bdev;

	fi->row.mode = READ(typed, inode, i_mode);
	bdev = (fi->row.mode & S_IFMT) == S_IFBLK;
	fi->row.fs = bdev ? FS_BDEV : (u64)READ(typed, sb, s_type);
	if (!CONF(file_details))
		return;
	fi->row.ino = READ(typed, inode, i_ino);
	fi->row.dev = bdev ? READ(typed, inode, i_rdev) : READ(typed, sb, s_dev);
}

static __always_inline void file_info(struct file *file, bool typed, struct file_info *fi)
{
	fi->row.file = (u64)file;
	if (CONF(file_details))
		fi->flags = READ(typed, file, f_flags);
	inode_info(READ(typed, file, f_inode), typed, fi);
}

/* Descriptor @fd of current, not to be read as typed; NULL if there is none. */
static __always_inline struct file *current_file(u32 fd)
{
	bool typed = have_current_btf();
	struct file *file = NULL;
	struct task_struct *task;
	struct fdtable *fdt;

	task = typed ? task_untrusted(bpf_get_current_task_btf()) : (void *)bpf_get_current_task();
	fdt = typed ? task->files->fdt : BPF_CORE_READ(task, files, fdt);
	if (!fdt || fd >= READ(typed, fdt, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), READ(typed, fdt, fd) + fd);
	return file;
}

static __always_inline bool fd_file(u32 fd, struct file_info *fi)
{
	struct file *file = current_file(fd);

	if (!file)
		return false;
	if (CONF(rdonly_cast))
		file_info(file_typed(file), true, fi);
	else
		file_info(file, false, fi);
	return true;
}

static __always_inline bool mode_is_storage(u16 mode)
{
	u16 type = mode & S_IFMT;

	return type == S_IFREG || type == S_IFDIR || type == S_IFBLK;
}

/* Certain files are asked for: an operation whose file is not known is none of them. */
static __always_inline bool file_filtered(void)
{
	return CONF(file_filter);
}

/* Whether the filters by file let @fi through. */
static __always_inline bool file_wanted(const struct file_info *fi)
{
	if (!CONF(all_files) && !mode_is_storage(fi->row.mode))
		return false;
	if (!CONF(file_filter))
		return true;
	if (CONF(file_ino) && (fi->row.ino != CONF(file_ino) || fi->row.dev != CONF(file_dev)))
		return false;
	return dev_wanted(fi->row.dev);
}

static __always_inline void op_set_file(struct task_state *t, const struct file_info *fi)
{
	t->row = fi->row;
	t->direct = !!(fi->flags & O_DIRECT);
}

/* Starts an operation; the caller has set the file already, or sets file_pending. */
static __always_inline void op_start(struct task_state *t, u32 kind, u32 call, u64 now)
{
	if (t->active)
		count_lost(LOST_UNMATCHED_START);
	t->start = t->mark = now;
	t->wake = 0;
	t->last_bio = 0;
	t->requests = 0;
	t->call = call;
	t->kind = kind;
	t->active = 1;
	t->now = 0;
	/* the others when it waits: task_off() */
	t->strata[ST_SYSCALL] = t->strata[ST_VFS] = t->strata[ST_FS] = 0;
	if (CONF(records))
		__builtin_memset(t->strata, 0, sizeof(t->strata));
}

/* The file of an operation that was started without; false: it is not asked for, and dropped. */
static __always_inline bool op_learn_file(struct task_state *t, struct file *file, bool typed)
{
	struct file_info fi = {};

	file_info(file, typed, &fi);
	t->file_pending = 0;
	op_set_file(t, &fi);
	if (CONF(records) && t->offset == OFFSET_LATER)
		t->offset = READ(typed, file, f_pos);
	t->active = file_wanted(&fi);
	return t->active;
}

/* Enters a layer of current's operation; only the outermost entry of each counts. */
static __always_inline void op_enter_layer(struct task_state *t, u32 stratum)
{
	u8 *depth = stratum == ST_FS ? &t->fs_depth : &t->vfs_depth;

	if ((*depth)++ || t->layer >= stratum)
		return;
	if (stratum == ST_VFS)
		task_charge(t, ST_SYSCALL, bpf_ktime_get_ns());
	else
		task_charge_cpu(t, bpf_ktime_get_ns());
	t->layer = stratum;
}

static __always_inline void op_leave_layer(struct task_state *t, u32 stratum)
{
	u8 *depth = stratum == ST_FS ? &t->fs_depth : &t->vfs_depth;

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
	if (t->direct)
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
	r->requests = t->requests;
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

/* Ends current's operation with @ret. */
static __always_inline void op_finish(struct task_state *t, long ret, u64 now)
{
	u64 total, bytes = 0;
	struct op_cell *cell;

	task_charge_cpu(t, now);
	t->active = 0;
	total = t->mark - t->start;
	if (total < CONF(min_ns))
		return;
	if (ret > 0 && returns_bytes(t->kind))
		bytes = ret;
	cell = row_find(&t->row, t->kind, CONF(layer) == LAYER_SYSCALL ? t->call : 0,
			CONF(by) == BY_CACHE ? op_cache_class(t) : 0, &t->row_slot);
	if (!cell)
		return;
	cell_add(cell, total, ret < 0 && ret >= -MAX_ERRNO ? -1 : 0, bytes);
	if (CONF(layer) == LAYER_OPS) {
		cell_add_strata(cell, t->strata, ST_SYSCALL, ST_FS + 1);
		if (t->waited)
			cell_add_strata(cell, t->strata, ST_FS + 1, ST_N);
	}
	if (CONF(records) && total > live.slow_ns)
		op_record_send(t, total, ret);
}

#endif
