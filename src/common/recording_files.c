// SPDX-License-Identifier: GPL-2.0-only
#include "common/recording_files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/catalog.h"
#include "cell.h"
#include "host/path.h"

struct local_file local_file_at(const char *path)
{
	struct local_file file = {};
	struct stat st;
	int fd, generation;

	/* opening a device or a pipe may do something */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return file;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return file;
	if (!fstat(fd, &st) && !ioctl(fd, FS_IOC_GETVERSION, &generation)) {
		file.key = FILE_KEY(major(st.st_dev) << 20 | minor(st.st_dev), false,
				    (uint32_t)generation);
		file.ino = st.st_ino;
	}
	close(fd);
	return file;
}

bool local_file_is(const struct local_file *local, const struct catalog_file *file)
{
	return local->ino && local->ino == file->ino && local->key == file->key;
}

void local_boot_id(char *dst, size_t cap)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(dst, (int)cap, f))
		*dst = '\0';
	dst[strcspn(dst, "\n")] = '\0';
	if (f)
		fclose(f);
}

/* Whether the last name of @f is the @len bytes at @last. */
static bool is_alike(const struct catalog_file *f, const char *last, size_t len)
{
	return len && f->len > len && !memcmp(f->names, last, len) && !f->names[len];
}

static void path_add(struct files_alike *alike, const struct catalog_file *f)
{
	struct file_name name;
	char path[PATH_CAP];

	catalog_file_name(f, &name);
	path_join(path, sizeof(path), &name);
	for (size_t i = 0; i < alike->n; i++)
		if (!strcmp(alike->path[i], path))
			return;
	alike->path[alike->n] = strdup(path);
	alike->n += !!alike->path[alike->n];
}

void files_alike_add(struct files_alike *alike, const struct catalog *c, const char *given)
{
	size_t end = strlen(given), start;

	while (end && given[end - 1] == '/')
		end--;
	start = end;
	while (start && given[start - 1] != '/')
		start--;
	for (size_t i = 1; i < c->n_files && alike->n < FILES_ALIKE; i++)
		if (is_alike(&c->files[i], given + start, end - start))
			path_add(alike, &c->files[i]);
}

void files_alike_done(struct files_alike *alike)
{
	for (size_t i = 0; i < alike->n; i++)
		free(alike->path[i]);
	alike->n = 0;
}
