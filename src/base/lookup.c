// SPDX-License-Identifier: GPL-2.0-only
#include "base/lookup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mounts.h"
#include "cell.h"

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
	int root, fd;

	memcpy(handle.head.f_handle, &id, sizeof(id));
	for (size_t i = 0; i < 2 && n < 0; i++) {
		root = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = root < 0 ? -1 : open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC);
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (fd >= 0)
			n = readlink(link, target, sizeof(target) - 1);
		if (n > 0) {
			target[n] = '\0';
			text = strdup(below(target, roots[i]));
		}
		if (fd >= 0)
			close(fd);
		if (root >= 0)
			close(root);
	}
	if (!text && asprintf(&text, "cgroup %llu", id) < 0)
		text = NULL;
	return text;
}
