/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * copy.bpf.h - the two files of a copy: sendfile, splice and copy_file_range.
 *
 * The operation belongs to the file that is read if this file is traced, else to the file that is
 * written. So it has one row, and one record. If both are traced, the row of the second file has
 * the number of such copies and their bytes, without times: OP_COPY_TO.
 */
#ifndef IOSTRATA_COPY_BPF_H
#define IOSTRATA_COPY_BPF_H

#include "op.bpf.h"

enum { COPY_OF_ONE = 1, COPY_OF_TWO };

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

/* Current's copy of two files ends at @now, and returns @ret. Counts the bytes in the row of the
 * file to which it wrote, if the other file's row is not the same. */
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
