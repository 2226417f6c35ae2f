/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapping.bpf.h - the file of a mapping of current's memory.
 *
 * bpf_find_vma() calls a function of the program, mapping_note(). Programs that use it may read
 * only valid pointers: current, and a mapping while it is locked. See the head of fault.bpf.h.
 */
#ifndef IOSTRATA_MAPPING_BPF_H
#define IOSTRATA_MAPPING_BPF_H

#include "file.bpf.h"

enum { ERROR_BUSY = 16 };

/* How often a look-up is tried while another thread changes mappings of the process. */
enum { FIND_TRIES = 64 };

/* A look-up of the mapping at an address. */
struct mapping {
	u64 address;
	u64 file, offset; /* of the mapping; file 0: no file, or not found */
	long err;
};

static __always_inline u64 mapping_offset(const struct vm_area_struct *vma, u64 address)
{
	return address - vma->vm_start + (vma->vm_pgoff << CONF(page_shift));
}

static long mapping_note(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct mapping *m = arg;

	m->file = number((u64)vma->vm_file);
	m->offset = mapping_offset(vma, m->address);
	return 0;
}

static long mapping_look(u32 i, void *arg)
{
	struct mapping *m = arg;

	m->err = bpf_find_vma(bpf_get_current_task_btf(), m->address, mapping_note, m, 0);
	return m->err != -ERROR_BUSY;
}

/* Looks up the mapping at @m->address. */
static __always_inline void mapping_find(struct mapping *m)
{
	m->file = 0;
	bpf_loop(FIND_TRIES, mapping_look, m, 0);
}

/* Whether a stacked file system may have opened @file for itself, in a layer below. Such a file
 * does not count for the limit of open files; few others do not. */
static __always_inline bool file_may_be_layer(struct file *file, bool typed)
{
	const u32 noaccount = 1 << 29; /* FMODE_NOACCOUNT, include/linux/fs.h */

	return READ(typed, file, f_mode) & noaccount;
}

/* Learns the file of a mapping as its user opened it: overlayfs maps the file of a layer below.
 * Returns false if the file is not traced. */
static __always_inline bool mapping_learn_file(struct file_info *info, struct file *file)
{
	struct open_file f = file_look(file, false);
	struct inode *inode;
	struct file *named;

	if (!mode_wanted(f.mode))
		return false;
	if (!file_may_be_layer(file, false))
		return file_learn(info, f, false);
	named = file_as_mapped(file);
	inode = BPF_CORE_READ(named, f_path.dentry, d_inode);
	if (BPF_CORE_READ(inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC) {
		f.inode = inode;
		f.mode = 0; /* for fs_note(): @file has functions of another file system */
		file = named;
	}
	return file_learn_as(info, f, file, false);
}

#endif
