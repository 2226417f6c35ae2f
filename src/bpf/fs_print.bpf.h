/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs_print.bpf.h - the functions of file systems that have open files, or had since tracing began,
 * by name: user space would have to read all of /proc/kallsyms for that.
 */
#ifndef IOSTRATA_FS_PRINT_BPF_H
#define IOSTRATA_FS_PRINT_BPF_H

#include "row.bpf.h"

/* Types whose functions were printed, by slot; and the next slot to look at. Only the iterator's
 * program writes them, which user space runs once at a time. */
static bool fs_printed[FS_SLOTS];
static u32 fs_turn;

/* Before 5.13 bpf_seq_printf() does not know %pS, and prints nothing. False: there is nothing to
 * print in @slot. */
static __always_inline bool fs_print(struct seq_file *seq, u64 slot)
{
	volatile struct fs_entry *seen;

	if (slot >= FS_SLOTS || fs_printed[slot])
		return false;
	seen = &live.fs_types[slot];
	if (!seen->read_iter)
		return false;
	fs_printed[slot] = true;
	BPF_SEQ_PRINTF(seq, "%llx t %pS\n%llx t %pS\n%llx t %pS\n%llx t %pS\n",
		       seen->read_iter, seen->read_iter, seen->write_iter, seen->write_iter,
		       seen->fsync, seen->fsync, seen->open, seen->open);
	return true;
}

/* Notes the functions of the file system that @file is on, and prints them once, in the format of
 * /proc/kallsyms; or else those in the next slot, so that FS_SLOTS files print those, too, that
 * operations noted. */
static __always_inline void fs_of_file(struct file *file, struct seq_file *seq)
{
	u64 fs = (u64)BPF_CORE_READ(file, f_inode, i_sb, s_type);

	fs_note(fs, (u64)BPF_CORE_READ(file, f_op), file->f_inode->i_mode);
	if (fs <= FS_UNKNOWN || !fs_print(seq, fs_slot(fs)))
		fs_print(seq, fs_turn++ % FS_SLOTS);
}

#endif
