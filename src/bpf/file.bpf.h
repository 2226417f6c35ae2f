/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * file.bpf.h - reads the properties of an open file, and decides whether the file is traced.
 */
#ifndef IOSTRATA_FILE_BPF_H
#define IOSTRATA_FILE_BPF_H

#include "name.bpf.h"
#include "task.bpf.h"

static __always_inline bool mode_is_storage(u16 mode)
{
	u16 type = mode & S_IFMT;

	return type == S_IFREG || type == S_IFDIR || type == S_IFBLK;
}

enum { O_APPEND = 02000 }; /* asm-generic/fcntl.h, for all architectures */

/* Whether files of this kind are traced. */
static __always_inline bool mode_wanted(u16 mode)
{
	return likely(mode_is_storage(mode)) || CONF(all_files);
}

/* Whether there is a filter by file: then an operation on an unknown file is not traced. */
static __always_inline bool file_filtered(void)
{
	return CONF(file_filter);
}

/* Whether the file of @d, with inode @ino on @dev, is listed, or, with @walk, a directory above it
 * in its file system. @below: the file is the directory of the one in question. */
static __always_inline bool dentry_listed(struct dentry *d, bool walk, u64 ino, u32 dev, bool below)
{
	struct dentry *up;

#pragma clang loop unroll(disable)
	for (int level = 0; level < DIR_LEVELS; level++) {
		FOR_LISTED(i, n_files)
		if (lists.files[i].ino == ino && lists.files[i].dev == dev &&
		    ((!level && !below) || lists.files[i].is_dir))
			return true;
		if (!walk)
			return false;
		up = BPF_CORE_READ(d, d_parent);
		if (up == d)
			return false;
		d = up;
		ino = BPF_CORE_READ(d, d_inode, i_ino);
	}
	return false;
}

/* Whether the file is listed, or a directory above it in its file system. */
static __always_inline bool file_listed(const struct file_info *info)
{
	bool walk = CONF(has_dirs) && (info->mode & S_IFMT) != S_IFBLK;
	u64 file = info->file; /* local, or CO-RE would search the kernel for it */
	struct dentry *d = walk ? BPF_CORE_READ((struct file *)file, f_path.dentry) : NULL;

	return dentry_listed(d, walk, info->ino, info->dev, false);
}

/* @inode: of the file; @sb: its super block. A file of overlayfs is on the disk of its layer. */
static __always_inline bool file_passes(const struct file_info *info, struct inode *inode,
					struct super_block *sb, bool typed)
{
	if (CONF(n_files) && !file_listed(info))
		return false;
	return dev_wanted(info->dev) ||
	       (READ(typed, sb, s_magic) == OVERLAYFS_SUPER_MAGIC &&
		dev_wanted(overlay_disk(info->file, (u64)inode, info->mode)));
}

/* An open file, with the fields that every run needs. */
struct open_file {
	struct file *file; /* NULL: none */
	struct inode *inode;
	u64 mode;
};

static __always_inline struct open_file file_look(struct file *file, bool typed)
{
	struct inode *inode = READ(typed, file, f_inode);

	return (struct open_file){ file, inode, READ(typed, inode, i_mode) };
}

/*
 * Reads the fields of a file into @info. Returns false if the filters by file reject the file. A
 * member that the run does not need keeps its old value, since each read costs some ten
 * instructions. A block device does not belong to the file system that has its name. @named: the
 * file whose f_path is the path to show.
 */
static __always_inline bool file_learn_as(struct file_info *info, struct open_file f,
					  struct file *named, bool typed)
{
	struct inode *inode = f.inode; /* CO-RE would look for a field of f in the kernel */
	struct file *file = f.file;
	struct super_block *sb = READ(typed, inode, i_sb);
	bool bdev = unlikely((f.mode & S_IFMT) == S_IFBLK);
	u32 flags;

	info->file = (u64)named;
	info->fs = bdev ? FS_BDEV : (u64)READ(typed, sb, s_type);
	info->mode = f.mode;
	if (!CONF(file_details))
		return true;
	flags = READ(typed, file, f_flags);
	info->direct = !!(flags & O_DIRECT);
	info->ino = READ(typed, inode, i_ino);
	info->dev = bdev ? READ(typed, inode, i_rdev) : READ(typed, sb, s_dev);
	if (unlikely(CONF(file_filter)) && !file_passes(info, inode, sb, typed))
		return false;
	if (CONF(sent_ops))
		info->open_flags = RECORDED_FLAGS(flags);
	if (CONF(by) == BY_FILE || CONF(sent_ops))
		info->generation = READ(typed, inode, i_generation);
	if (CONF(file_identity))
		file_identify(info, READ(typed, sb, s_magic), (u64)inode);
	return true;
}

static __always_inline bool file_learn(struct file_info *info, struct open_file f, bool typed)
{
	return file_learn_as(info, f, f.file, typed);
}

/* The file of current's descriptor @fd, or NULL if there is none. @cast: the kernel has
 * bpf_rdonly_cast(), so the result can be read as typed. */
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

/* Sets @info for an operation without a file, or on an unknown file. */
static __always_inline void row_clear(struct file_info *info)
{
	*info = (struct file_info){ .fs = FS_UNKNOWN };
}

#endif
