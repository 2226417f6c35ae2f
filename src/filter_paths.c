// SPDX-License-Identifier: GPL-2.0-only
#include "filter_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/mounts.h"
#include "base/reason.h"

unsigned int filter_kernel_dev(dev_t dev)
{
	return major(dev) << 20 | (minor(dev) & 0xfffff);
}

/* For some file systems (btrfs) stat(2) gives another device than the kernel's super block; the
 * file's mount has the right one. */
static unsigned int file_fs_dev(const char *path, const struct stat *st)
{
	unsigned int dev = filter_kernel_dev(st->st_dev);
	struct mounts mounts;
	struct statx sx;

	if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &sx) || !(sx.stx_mask & STATX_MNT_ID) ||
	    mounts_read(&mounts))
		return dev;
	for (size_t i = 0; i < mounts.n; i++)
		if (mounts.list[i].id == sx.stx_mnt_id)
			dev = mounts.list[i].dev;
	mounts_free(&mounts);
	return dev;
}

int filter_add_file(const char *path, struct filter_lists *lists, struct reason *why)
{
	struct filter_file *file = &lists->files[lists->n_files];
	struct stat st;

	if (stat(path, &st)) {
		reason_set(why, EXIT_FAILED, "cannot look at '%.200s': %s", path, strerror(errno));
		return errno == ENOENT ? reason_hint(why, "of a file that is yet to be made, give "
							  "the directory: all below it counts") :
					 -1;
	}
	file->ino = st.st_ino;
	file->dev = S_ISBLK(st.st_mode) ? filter_kernel_dev(st.st_rdev) : file_fs_dev(path, &st);
	file->is_dir = S_ISDIR(st.st_mode);
	lists->n_files++;
	return 0;
}

/* Where the hierarchy is mounted: the whole as the tool's cgroup namespace shows it, or else a
 * part. */
static bool cgroup_root(char root[PATH_MAX])
{
	const struct mount *found = NULL;
	struct mounts mounts;

	if (mounts_read(&mounts))
		return false;
	for (size_t i = 0; i < mounts.n; i++) {
		const struct mount *m = &mounts.list[i];

		if (!strcmp(m->type, "cgroup2") &&
		    (!found || (strcmp(found->root, "/") && !strcmp(m->root, "/"))))
			found = m;
	}
	if (found)
		snprintf(root, PATH_MAX, "%s", found->point);
	mounts_free(&mounts);
	return found;
}

/* Id of the cgroup with the directory @path: its inode number (kernfs, 64 bit). False if @path is
 * anything else. */
static bool cgroup_id(const char *path, unsigned long long *ret_id)
{
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode) || statfs(path, &fs) ||
	    fs.f_type != CGROUP2_SUPER_MAGIC)
		return false;
	*ret_id = st.st_ino;
	return true;
}

int filter_add_cgroup(const char *path, struct filter_lists *lists, struct reason *why)
{
	unsigned long long *id = &lists->cgroups[lists->n_cgroups];
	char root[PATH_MAX], below[2 * PATH_MAX];

	if (!cgroup_root(root)) {
		reason_set(why, EXIT_FAILED, "no cgroup v2 is mounted");
		return reason_hint(why, "mount -t cgroup2 none /sys/fs/cgroup");
	}
	snprintf(below, sizeof(below), "%s/%s", root, path);
	if (!cgroup_id(path, id) && !cgroup_id(below, id)) {
		reason_set(why, EXIT_FAILED, "no such cgroup '%.200s' in '%.60s'", path, root);
		return reason_hint(why, "/proc/PID/cgroup has that of a process: 0::PATH");
	}
	lists->n_cgroups++;
	return 0;
}
