/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapping.bpf.h - the file of a mapping of current's memory.
 *
 * It is looked up with mapping_look(), which calls a function of the program; see fault.bpf.h. Who
 * does so reads nothing but what is there: current, and a mapping while it is locked.
 */
#ifndef IOSTRATA_MAPPING_BPF_H
#define IOSTRATA_MAPPING_BPF_H

#include "file.bpf.h"

enum { ERROR_BUSY = 16 };

/* How often a mapping is looked up while somebody else changes mappings of the process. */
enum { FIND_TRIES = 64 };

/* What is looked up: the mapping at an address. */
struct mapping {
	u64 address;
	u64 file, offset; /* file 0: none, or not found */
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

/* Whether @file may be one that a stacked file system opened for itself, of a layer below: such a
 * file does not count for the limit of open files, as few others do not. */
static __always_inline bool file_may_be_layer(struct file *file, bool typed)
{
	const u32 noaccount = 1 << 29; /* FMODE_NOACCOUNT, include/linux/fs.h */

	return READ(typed, file, f_mode) & noaccount;
}

/* Learns which file a mapping is of, as it was opened: overlayfs maps the file of a layer below. */
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
		f.mode = 0; /* for fs_note(): its functions are those of another file system */
		file = named;
	}
	return file_learn_as(info, f, file, false);
}

#endif
