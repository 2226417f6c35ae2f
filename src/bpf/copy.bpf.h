/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * copy.bpf.h - the two files of a copy: sendfile, splice, copy_file_range, and ioctl with FICLONE
 * or FICLONERANGE, after which two files share their blocks.
 *
 * The operation belongs to the file that is read if this file is traced, else to the file that is
 * written. So it has one row, and one record. If both are traced, the row of the second file has
 * the number of such copies and their bytes, without times: OP_COPY_TO.
 */
#ifndef IOSTRATA_COPY_BPF_H
#define IOSTRATA_COPY_BPF_H

#include "op.bpf.h"

enum { COPY_OF_ONE = 1, COPY_OF_TWO };

/* As in the kernel's headers for programs. */
#define FICLONE      0x40049409
#define FICLONERANGE 0x4020940d

/* Whether this ioctl() makes two files share blocks. Not where all is inlined: the verifier of 5.10
 * gives up there, and these calls stay OP_META. */
static __always_inline bool clone_is_command(u32 command)
{
#if defined(__bpf__) && !defined(FUNCTIONS)
	return false;
#else
	return command == FICLONE || command == FICLONERANGE;
#endif
}

struct clone_range { /* struct file_clone_range */
	s64 source;
	u64 offset, bytes, to;
};

static __always_inline bool file_is_storage(u64 file)
{
	return file && mode_is_storage(file_look((struct file *)file, false).mode);
}

/* Whether one of the files may be traced, judged without the filters by file. Calls on others make
 * no state for their thread. */
static __always_inline bool copy_may_be_wanted(u64 from, u64 to)
{
	if (!from && !to)
		return !file_filtered();
	return CONF(all_files) || file_is_storage(from) || file_is_storage(to);
}

/* Learns a file of current's operation. Returns 0 if it is not traced. */
GLOBAL u32 copy_learn_file(u64 file)
{
	struct task_state *t = current_lookup();
	struct open_file f;

	if (!t || !file)
		return 0;
	f = file_look((struct file *)file, false);
	return mode_wanted(f.mode) && file_learn(&t->op.file, f, false) &&
	       record_fs_wanted(t->op.file.fs);
}

/* Learns the files of current's copy (struct file *, 0: none). Returns 0 if neither is traced, or
 * how many are. */
static __always_inline u32 copy_learn(struct op *op, u64 from, u64 to)
{
	bool writes;

	if (!from && !to) {
		row_clear(&op->file);
		return COPY_OF_ONE;
	}
	writes = to != from && file_is_storage(to) && copy_learn_file(to);
	if ((file_is_storage(from) || !file_is_storage(to)) && copy_learn_file(from)) {
		op->copied_to = to;
		return writes ? COPY_OF_TWO : COPY_OF_ONE;
	}
	return copy_learn_file(to);
}

/* How many bytes of @from (struct file *) are in @range; bytes 0: all up to its end. */
static __always_inline u64 clone_bytes(const struct clone_range *range, u64 from)
{
	u64 size;

	if (range->bytes || !from)
		return range->bytes;
	size = BPF_CORE_READ((struct file *)from, f_inode, i_size);
	return size > range->offset ? size - range->offset : 0;
}

/* Begins ioctl(@to_fd, @command, @third), whose number is @call. @third is the descriptor of the
 * source, or the address of a struct clone_range. A function, since the verifier would walk all
 * that follows once more. */
GLOBAL int clone_begins(u32 call, u32 to_fd, u64 command, u64 third)
{
	struct clone_range range = { .source = (int)third };
	struct task_state *t;
	u64 from, to;
	u32 files;

	if (!CONF(clones))
		return 0;
	if ((u32)command == FICLONERANGE &&
	    bpf_probe_read_user(&range, sizeof(range), (void *)third))
		range.source = -1;
	from = (u64)current_file(range.source, false);
	to = (u64)current_file(to_fd, false);
	if (!copy_may_be_wanted(from, to))
		return 0;
	t = task_get(current_task());
	files = t ? copy_learn(&t->op, from, to) : 0;
	if (!files)
		return 0;
	t->op.call = call;
	t->op.fd = to_fd;
	t->op.offset = OFFSET_UNKNOWN;
	op_start(&t->op, OP_COPY, OP_ACTIVE, bpf_ktime_get_ns());
	t->op.noted |= NOTED_CLONE | (files == COPY_OF_TWO ? NOTED_COPY : 0);
	t->op.len = clone_bytes(&range, from); /* the call itself returns 0 */
	return 0;
}

/* Current has copied the file of @dentry to the upper layer of its overlayfs, or has tried to. With
 * the mount option metacopy, only its metadata. Only calls without a length note this. */
static __always_inline void copied_up(struct dentry *dentry)
{
	struct task_state *t = CONF(call_noted) && CONF(overlay_upper) ? current_lookup() : NULL;
	struct dentry *upper;
	struct inode *inode;
	struct op *op;
	u64 size;

	if (!t || !t->op.stage || (t->op.kind != OP_OPEN && t->op.kind != OP_META))
		return;
	op = &t->op;
	inode = BPF_CORE_READ(dentry, d_inode);
	upper = (struct dentry *)read_u64(number((u64)inode) + CONF(overlay_upper));
	inode = BPF_CORE_READ(upper, d_inode);
	size = BPF_CORE_READ(inode, i_size);
	if (!size || (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return;
	if (!(op->noted & NOTED_COPIED_UP)) {
		if (op->len != ~0ULL)
			return;
		op->len = 0;
		op->noted |= NOTED_COPIED_UP;
	}
	op->len += size;
}

/* Whether both files of a copy count in the same row, or would without their kind. */
static __always_inline bool copy_in_one_row(const struct file_info *from,
					    const struct file_info *to)
{
	if (from->fs != to->fs)
		return false;
	if (CONF(by) == BY_FILE)
		return from->ino == to->ino && from->dev == to->dev;
	return CONF(by) != BY_DEV || from->dev == to->dev;
}

/* Notes for the record of current's copy to which file it wrote, and sends the name of this file.
 */
static __always_inline void copy_note(struct op *op, const struct file_info *to)
{
	u64 key = file_key_of(to);

	op->copied.key = key;
	op->copied.ino = to->ino;
	op->copied_fs = fs_sent_as(to);
	if (to->ino)
		file_send(to, key);
}

/* The bytes of a copy that returned @ret, or its error. A clone returns 0. */
static __always_inline s64 copy_bytes(const struct op *op, s64 ret)
{
	return !ret && op->noted & NOTED_CLONE ? (s64)op->len : ret;
}

/* Current's copy of two files ends at @now with @ret as of copy_bytes(). Counts the bytes in the
 * row of the file to which it wrote, if the other file's row is not the same. The stack is full:
 * with on_sys_exit() and file_send() it has 512 bytes. */
GLOBAL int copy_ends(s64 ret, u64 now)
{
	struct task_state *t = current_lookup();
	struct file_info to = {};
	struct op_sums *sums;
	struct file *file;

	if (!op_may_end() || !t)
		return 0;
	if (ret <= 0) {
		t->op.noted &= ~NOTED_COPY;
		return 0;
	}
	file = (struct file *)t->op.copied_to;
	file_learn(&to, file_look(file, false), false);
	if (CONF(sent_ops))
		copy_note(&t->op, &to);
	if (CONF(uncounted) || CONF(layer) != LAYER_OPS ||
	    (CONF(min_ns) && now - t->op.start < CONF(min_ns)))
		return 0;
	if (copy_in_one_row(&t->op.file, &to))
		return 0;
	sums = row_hashed(&to, ROW_WHAT(0, (u32)OP_COPY_TO, 0), 0, NULL, !live.epoch);
	if (!sums)
		return 0;
	atomic_add(&sums->count, 1);
	atomic_add(&sums->bytes, ret);
	return 0;
}

#endif
