// SPDX-License-Identifier: GPL-2.0-only
#include "host/lookup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cell.h"
#include "host/mounts.h"

void lookup_dev(const struct mounts *mounts, unsigned int dev, char *name, size_t cap)
{
	char link[64], target[PATH_MAX];
	const struct mount *m;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
	n = readlink(link, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = '\0';
		snprintf(name, cap, "%s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
		return;
	}
	m = mounts_by_dev(mounts, dev);
	if (m)
		snprintf(name, cap, "%s", m->point);
	else
		snprintf(name, cap, "%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
}

/* The path of @target below @root; @target itself if it is elsewhere. */
static const char *below(const char *target, const char *root)
{
	size_t n = strlen(root);

	if (strncmp(target, root, n) || (target[n] && target[n] != '/'))
		return target;
	return target[n] ? target + n : "/";
}

enum { CGROUP_DEPTH = 64 };

/* Adds the path of the cgroup @id below directory @fd to @path, whose length is @len. Closes @fd.
 * The inode of a cgroup's directory is its id. */
static bool cgroup_find(int fd, unsigned long long id, char path[PATH_MAX], size_t len, int depth)
{
	DIR *dir = fd < 0 || depth > CGROUP_DEPTH ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool found = false;
	size_t n;

	while (dir && !found && (e = readdir(dir))) {
		n = strlen(e->d_name);
		if (e->d_type != DT_DIR || e->d_name[0] == '.' || len + n + 2 > PATH_MAX)
			continue;
		path[len] = '/';
		memcpy(path + len + 1, e->d_name, n + 1);
		found = e->d_ino == id ||
			cgroup_find(openat(dirfd(dir), e->d_name,
					   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				    id, path, len + 1 + n, depth + 1);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return found;
}

/* The path of cgroup @id below the open directory @root, without CAP_DAC_READ_SEARCH. Returns NULL
 * if it is gone, or out of memory. */
static char *cgroup_walk(int root, unsigned long long id)
{
	char path[PATH_MAX] = "";
	struct statfs fs;
	struct stat st;

	/* directories of the first version have other numbers as inodes */
	if (fstatfs(root, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC || fstat(root, &st))
		return NULL;
	if (st.st_ino == id)
		return strdup("/");
	return cgroup_find(dup(root), id, path, 0, 0) ? strdup(path) : NULL;
}

/* A kernfs file handle is the cgroup's id (type FILEID_KERNFS, include/linux/exportfs.h). */
char *lookup_cgroup(unsigned long long id)
{
	struct {
		struct file_handle head;
		unsigned long long id;
	} handle = { .head = { .handle_bytes = 8, .handle_type = 0xfe } };
	const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char link[64], target[PATH_MAX], *text = NULL;
	ssize_t n = -1;
	bool refused;
	int root, fd;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	for (size_t i = 0; i < 2 && !text; i++) {
		root = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = root < 0 ? -1 : open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC);
		refused = errno == EPERM;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (fd >= 0)
			n = readlink(link, target, sizeof(target) - 1);
		if (n > 0) {
			target[n] = '\0';
			text = strdup(below(target, roots[i]));
		}
		if (root >= 0 && fd < 0 && refused)
			text = cgroup_walk(root, id);
		if (fd >= 0)
			close(fd);
		if (root >= 0)
			close(root);
	}
	if (!text && asprintf(&text, "cgroup %llu", id) < 0)
		text = NULL;
	return text;
}
