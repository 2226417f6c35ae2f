/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * name.bpf.h - the identity of a file (device, inode, generation) and its path: the names of the
 * file and of the directories above it, from mount to mount, as d_path() in the kernel walks.
 */
#ifndef IOSTRATA_NAME_BPF_H
#define IOSTRATA_NAME_BPF_H

#include "task.bpf.h"

#define S_IFMT  0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000

enum { BTRFS_SUPER_MAGIC = 0x9123683e, OVERLAYFS_SUPER_MAGIC = 0x794c7630 }; /* linux/magic.h */

/* At most, for one name, with its NUL; powers of two. Names that begin in the second half of
 * struct file_name, but not in its last quarter, have less room. */
enum { NAME_BYTES = PATH_BYTES / 2, NAME_BYTES_LATE = PATH_BYTES / 4 };

/* The number at @addr, in a module's structure; 0 if it cannot be read. */
static __always_inline u64 read_u64(u64 addr)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)addr);
	return value;
}

/*
 * The identity of a file where s_dev and inode are not enough. Each btrfs subvolume numbers its
 * inodes by itself, and snapshots share generations, too: the device of the subvolume tells them
 * apart. Inodes of overlayfs have no generation: the inode of the upper layer has one.
 */
static __always_inline void file_identify(struct file_info *info, u64 magic, u64 inode)
{
	struct dentry *upper;
	u32 dev;

	barrier_var(inode); /* now a number: the verifier allows arithmetic on it */
	if (magic == BTRFS_SUPER_MAGIC && CONF(btrfs_dev)) {
		dev = read_u64(read_u64(inode - CONF(btrfs_root)) + CONF(btrfs_dev));
		info->dev = dev ? dev : info->dev;
	}
	if (magic == OVERLAYFS_SUPER_MAGIC && CONF(overlay_upper)) {
		upper = (struct dentry *)read_u64(inode + CONF(overlay_upper));
		info->generation = BPF_CORE_READ(upper, d_inode, i_generation);
	}
}

/*
 * The device of the file system below in which overlayfs has the file with @inode, open as @file:
 * of the upper layer if the file was copied there, else of the layer that was opened. Returns 0 if
 * not known.
 */
static __always_inline u32 overlay_disk(u64 file, u64 inode, u16 mode)
{
	struct dentry *upper = NULL;
	struct inode *real = NULL;
	u64 opened;

	barrier_var(inode); /* as in file_identify() */
	if (CONF(overlay_upper))
		upper = (struct dentry *)read_u64(inode + CONF(overlay_upper));
	if (upper) {
		real = BPF_CORE_READ(upper, d_inode);
	} else if ((mode & S_IFMT) == S_IFREG) {
		opened = (u64)BPF_CORE_READ((struct file *)file, private_data);
		if (CONF(overlay_file)) /* whose first member is the file */
			opened = read_u64(opened);
		real = BPF_CORE_READ((struct file *)opened, f_inode);
	}
	return BPF_CORE_READ(real, i_sb, s_dev);
}

static __always_inline struct mount *mount_of(struct vfsmount *mnt)
{
	return (void *)mnt - bpf_core_field_offset(struct mount, mnt);
}

/* Whether @mount is in a tree that processes see. A detached mount has no namespace; the namespace
 * of a mount of the kernel's own is an error (MNT_NS_INTERNAL). */
static __always_inline bool mount_is_seen(struct mount *mount)
{
	u64 ns = (u64)BPF_CORE_READ(mount, mnt_ns);

	return ns && ns < -4095ULL;
}

static __always_inline struct path current_root(void)
{
	struct fs_struct *fs = BPF_CORE_READ((struct task_struct *)current_task(), fs);

	return (struct path){ BPF_CORE_READ(fs, root.mnt), BPF_CORE_READ(fs, root.dentry) };
}

/* Reads the name of @d to @off in @name. Returns its length with the NUL. Returns 0 if there is no
 * room. */
static __always_inline long one_name_read(struct file_name *name, u32 off, struct dentry *d)
{
	const unsigned char *from = BPF_CORE_READ(d, d_name.name);
	long n;

	barrier_var(off); /* else the compiler drops the masks that the verifier needs */
	if (off < NAME_BYTES)
		return bpf_probe_read_kernel_str(name->names + (off & (NAME_BYTES - 1)), NAME_BYTES,
						 from);
	if (off >= NAME_BYTES + NAME_BYTES_LATE)
		return 0;
	n = bpf_probe_read_kernel_str(name->names + NAME_BYTES + (off & (NAME_BYTES_LATE - 1)),
				      NAME_BYTES_LATE, from);
	return n < NAME_BYTES_LATE ? n : 0; /* the name may be longer */
}

/*
 * Reads the names from @d, in the mount @mnt, up to @root. Their length is in memory, whose
 * contents the verifier does not follow: so each round of the loop looks to the verifier like the
 * one before.
 */
static __always_inline void names_read(struct file_name *name, struct dentry *d,
				       struct vfsmount *mnt, struct path root)
{
	struct mount *mount = mount_of(mnt), *above;
	struct dentry *up, *top = BPF_CORE_READ(mnt, mnt_root);
	u32 off;
	long n;

	for (int i = 0; i < PATH_DEPTH; i++) {
		above = BPF_CORE_READ(mount, mnt_parent);
		if (d == root.dentry && mount == mount_of(root.mnt)) {
			name->complete = 1;
			break;
		}
		if (d == top && above != mount) { /* on to where it is mounted */
			d = BPF_CORE_READ(mount, mnt_mountpoint);
			top = BPF_CORE_READ(above, mnt.mnt_root);
			mount = above;
			continue;
		}
		if (d == top && mount_is_seen(mount)) {
			name->complete = 1;
			break;
		}
		up = BPF_CORE_READ(d, d_parent);
		if (up == d) {
			name->complete = name->unmounted = 1;
			break;
		}
		off = *(volatile u16 *)&name->len;
		n = one_name_read(name, off, d);
		if (n <= 0)
			break;
		*(volatile u16 *)&name->len = off + n;
		d = up;
	}
}

/* The member .directory of the names of files in the directory with this inode. */
static __always_inline u16 inode_hash(u64 ino)
{
	return ino ? ino * 0x9e3779b97f4a7c15ULL >> 48 | 1 : 0;
}

/* Sets the members of @name that depend on the file's dentry alone. */
static __always_inline void dentry_note(struct file_name *name, struct dentry *d)
{
	struct dentry *up = BPF_CORE_READ(d, d_parent);

	name->deleted = !BPF_CORE_READ(d, d_hash.pprev) && up != d;
	name->directory = inode_hash(BPF_CORE_READ(up, d_inode, i_ino));
}

/* Reads the part of a path that names a file without an inode, as the program gave it; see struct
 * walk. @file: as file_info.file. Returns false if it cannot be read. */
static __always_inline bool given_name_read(struct file_name *name, u64 file, struct dentry *d)
{
	u64 named;
	long n;

	barrier_var(file); /* now a number, as in file_identify() */
	named = read_u64(file + bpf_core_field_offset(struct file, f_path) + sizeof(struct path));
	n = bpf_probe_read_user_str(name->names, PATH_BYTES, (void *)WALK_USER(named));
	if (n <= 1 || n >= PATH_BYTES)
		return false;
	name->len = n;
	name->deleted = WALK_IS_MISSING(named) ? NAME_MISSING : 0;
	name->complete = !d;
	if (WALK_NAME(named) == WALK_NAMES_DIRECTORY)
		name->directory = inode_hash(BPF_CORE_READ(d, d_inode, i_ino));
	return true;
}

/* Reads the path of @f, as far as possible. No other program uses @name meanwhile. */
static __always_inline void file_name_read(struct file_name *name, const struct file_info *f)
{
	struct file *file = (struct file *)f->file;
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
	bool read;

	name->len = name->complete = name->unmounted = name->deleted = name->directory = 0;
	if (CONF(paths) && f->generation == GENERATION_OF_PATH) {
		read = given_name_read(name, f->file, d) && d;
	} else {
		/* after a close, the memory may belong to another file */
		read = file && f->ino && BPF_CORE_READ(d, d_inode, i_ino) == f->ino;
		if (read)
			dentry_note(name, d);
	}
	if (read)
		names_read(name, d, BPF_CORE_READ(file, f_path.mnt), current_root());
	name->nameless = !*(volatile u16 *)&name->len && !name->complete;
}

#endif
