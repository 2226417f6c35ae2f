/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.bpf.h - the file of a call by path: stat(), unlink(), a failed open() ...
 *
 * Two functions of the kernel's look-up of paths tell where it ended: walk_note(). Where files have
 * no rows, names or filters, one of them tells the file system: walk_note_inode(). When the call
 * ends, call_path_learn() makes the operation's file of it: the file that was found; or the name
 * below the directory where the look-up ended, if the call makes or removes this name, or there is
 * no such file. Without these functions, the file is the path as given, below the directory that
 * the call names or in which the thread works. Its file system is then known only for such a
 * directory.
 *
 * A path is read from the memory of the program when the call ends: the program may have changed it
 * since, or made it unreadable.
 */
#ifndef IOSTRATA_PATH_BPF_H
#define IOSTRATA_PATH_BPF_H

#include "op.bpf.h"

enum { AT_FDCWD = -100, ERROR_NOENT = 2, ERROR_BADF = 9, ERROR_NOTDIR = 20, PATH_MAX = 4096 };

/* Kinds with calls by path. */
#define PATH_KINDS (1U << OP_META | 1U << OP_OPEN | 1U << OP_EXEC)

static __always_inline bool op_by_path(const struct op *op)
{
	return PATH_KINDS >> op->kind & 1;
}

/* The look-up of current's call by path. Returns NULL if current is in no such call. */
static __always_inline struct walk *walk_of_current(struct task_state *t)
{
	if (!t || (t->op.progress != OP_ACTIVE && t->op.progress != OP_EXECS) ||
	    !op_by_path(&t->op))
		return NULL;
	return &t->op.walk;
}

/*
 * Current looks up a path. The look-up has found what the call needs (@found), or is over: only a
 * look-up that has failed, or that of an open, then still has its place. The first look-up of a
 * call counts, of an open or exec the last.
 */
static __always_inline void walk_note(struct nameidata *nd, bool found)
{
	struct task_state *t = current_lookup();
	struct walk *w = walk_of_current(t);
	u64 at;

	if (!w || w->how & WALK_FOUND || (found && t->op.kind != OP_META) || !nd->path.dentry)
		return;
	w->at.dentry = nd->path.dentry;
	w->at.mnt = nd->path.mnt;
	at = number((u64)nd->last.name) - number((u64)nd->name->name);
	w->offset = at;
	w->how = (found ? WALK_FOUND : 0) | (at < PATH_MAX ? WALK_IN_PATH : 0) |
		 (nd->path.dentry->d_name.hash == nd->last.hash ? WALK_THERE : 0);
}

/* Without conf.file_details a file system is enough. The inode of a look-up that is over stays,
 * while its place is gone if it was successful, or did not begin. */
static __always_inline void walk_note_inode(struct nameidata *nd)
{
	struct task_state *t = current_lookup();
	struct walk *w = walk_of_current(t);
	bool found;

	if (!w || w->how & WALK_FOUND)
		return;
	found = !nd->path.dentry;
	if (found && t->op.kind != OP_META)
		return;
	w->inode = nd->inode;
	w->how = found ? WALK_FOUND : 0;
}

/* A number for the path at @user in the program's memory. */
static __always_inline u64 path_hash(u64 user)
{
	u64 hash = 0, word;
	long n;

#pragma clang loop unroll(disable)
	for (int i = 0; i < PATH_BYTES / 8; i++, user += sizeof(word) - 1) {
		word = 0;
		n = bpf_probe_read_user_str(&word, sizeof(word), (void *)user);
		if (n <= 1)
			break;
		hash = (hash ^ word) * NAME_FACTOR;
		hash ^= hash >> 32;
		if (n < (long)sizeof(word))
			break;
	}
	return hash;
}

/* The directory at which a relative path begins. */
static __always_inline struct path path_base(u32 dirfd)
{
	struct fs_struct *fs = BPF_CORE_READ((struct task_struct *)current_task(), fs);
	struct file *file;

	if (dirfd == (u32)AT_FDCWD)
		return (struct path){ BPF_CORE_READ(fs, pwd.mnt), BPF_CORE_READ(fs, pwd.dentry) };
	file = current_file(dirfd, false);
	return (struct path){ BPF_CORE_READ(file, f_path.mnt), BPF_CORE_READ(file, f_path.dentry) };
}

/* How the file of current's call, which returned @ret, is named. @how: of its look-up. @parent: the
 * call looks up the directory of its file. */
static __always_inline enum walk_name walk_name(u8 how, bool parent, s64 ret)
{
	bool below = how & WALK_FOUND ? parent : ret == -ERROR_NOENT || !(how & WALK_THERE);

	if (!below)
		return WALK_NAMES_FILE;
	return how & WALK_IN_PATH ? WALK_NAMES_DIRECTORY : WALK_NAMES_NOTHING;
}

/* Whether the filters by file let a file pass: that of @d, or one below. */
static __always_inline bool path_passes(const struct file_info *info, struct dentry *d, bool below)
{
	struct inode *inode = BPF_CORE_READ(d, d_inode);

	if (CONF(n_files) && !dentry_listed(d, true, BPF_CORE_READ(inode, i_ino), info->dev, below))
		return false;
	return dev_wanted(info->dev) ||
	       (BPF_CORE_READ(inode, i_sb, s_magic) == OVERLAYFS_SUPER_MAGIC &&
		dev_wanted(overlay_disk(0, number((u64)inode), 0)));
}

/* Learns the file of current's operation from its look-up, which ended at @d. @below: the file is
 * the one named at @user, below @d. Returns 0 if the file is not traced. */
static __always_inline int walk_learn(struct file_info *info, struct dentry *d, bool below,
				      u64 user, bool missing)
{
	struct inode *inode = BPF_CORE_READ(d, d_inode);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	u64 hash;

	if (d)
		info->fs = (u64)BPF_CORE_READ(sb, s_type);
	info->ino = BPF_CORE_READ(inode, i_ino);
	info->dev = BPF_CORE_READ(sb, s_dev);
	if (file_filtered() && (!d || !path_passes(info, d, below)))
		return 0;
	if (CONF(by) != BY_FILE && !CONF(sent_ops) && !CONF(records))
		return 1;
	if (!below)
		info->generation = BPF_CORE_READ(inode, i_generation);
	if (CONF(file_identity))
		file_identify(info, BPF_CORE_READ(sb, s_magic), (u64)inode);
	if (below) {
		hash = path_hash(user) ^ info->ino * NAME_FACTOR;
		/* the highest bit is FILE_ID_AGAIN; not 0; another file if it is there by now */
		info->ino = (hash >> 1 | 3) - !missing;
		info->generation = GENERATION_OF_PATH;
	}
	return 1;
}

/* Learns the file system of current's operation, a call by path that returns @ret. A look-up below
 * no directory did not begin: it has no inode, but looks as if it were successful. */
static __always_inline void walk_learn_fs(struct op *op, u64 user, u32 dirfd, s64 ret)
{
	bool begun = !(op->walk.how & WALK_FOUND) || (ret != -ERROR_BADF && ret != -ERROR_NOTDIR);
	struct inode *inode = begun ? op->walk.inode : NULL;
	char first = 0;
	bool unread;

	if (!inode) {
		unread = bpf_probe_read_user(&first, 1, (void *)user);
		if (first != '/' && (ret >= 0 || (!unread && first)))
			inode = BPF_CORE_READ(path_base(dirfd).dentry, d_inode);
	}
	row_clear(&op->file);
	if (inode)
		op->file.fs = (u64)BPF_CORE_READ(inode, i_sb, s_type);
}

/*
 * Current's call by path, which returns @ret, has the path at @user, relative to the directory
 * @dirfd. Learns the file. @parent: see walk_name(). Returns 0 if the call is not traced.
 */
GLOBAL int call_path_learn(u64 user, u32 dirfd, u32 parent, s64 ret)
{
	struct task_state *t = current_lookup();
	enum walk_name name = WALK_NAMES_FILE;
	struct walk *w;
	bool unread, known, missing;
	char first = 0;

	if (!op_may_end() || !CONF(paths) || !t)
		return 1;
	if (!CONF(file_details)) {
		walk_learn_fs(&t->op, user, dirfd, ret);
		return 1;
	}
	w = &t->op.walk;
	unread = bpf_probe_read_user(&first, 1, (void *)user);
	known = w->at.dentry;
	if (known) {
		name = walk_name(w->how, parent, ret);
	} else if (!unread && first) {
		name = WALK_NAMES_NOTHING;
	} else if (ret < 0) { /* no path */
		row_clear(&t->op.file);
		return !file_filtered();
	}
	if (name == WALK_NAMES_DIRECTORY)
		user += w->offset;
	if (!known && first != '/')
		w->at = path_base(dirfd);
	missing = ret == -ERROR_NOENT;
	row_clear(&t->op.file);
	t->op.file.file = number((u64)&w->at) - bpf_core_field_offset(struct file, f_path);
	if (!walk_learn(&t->op.file, w->at.dentry, name != WALK_NAMES_FILE, user, missing))
		return 0;
	if (name == WALK_NAMES_NOTHING && first == '/')
		w->at = (struct path){};
	else if (name == WALK_NAMES_NOTHING && known)
		w->at = path_base(dirfd);
	w->named = WALK_NAMED(user, name, missing);
	return 1;
}

/* Learns the file of current's call, which returns @ret, if the call names it by a path. Returns
 * false if the call is not traced. */
static __always_inline bool call_learn_path(struct pt_regs *regs, u32 where, bool compat, long ret)
{
	u64 first = call_arg(regs, 0, compat), second = call_arg(regs, 1, compat),
	    third = call_arg(regs, 2, compat);
	u32 n = OFFSET_PATH_NUMBER(where);
	u64 user = (!n ? first : n == 1 ? second : third) + OFFSET_PATH_BEGIN(where);
	u32 directory = n == 1 ? first : second;

	if (!(where & OFFSET_HAS_DIRECTORY))
		directory = AT_FDCWD;
	return call_path_learn(user, directory, !!(where & OFFSET_MAKES), ret);
}

#endif
