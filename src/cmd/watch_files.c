// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/watch_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool watch_file_is_ours(const char *name)
{
	static const char pattern[] = "watch-00000000T000000Z-";
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; pattern[i]; i++)
		if (pattern[i] == '0' ? !isdigit((unsigned char)name[i]) : name[i] != pattern[i])
			return false;
	return dot && (!strcmp(dot, ".ios") || !strcmp(dot, ".tables"));
}

/* Goes through the files of a directory of tables. Returns their bytes. */
static uint64_t tables_go_through(const char *path, bool remove)
{
	char file[2 * STORE_PATH];
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;
	DIR *dir = opendir(path);

	while (dir && (e = readdir(dir))) {
		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		if (lstat(file, &st) || !S_ISREG(st.st_mode))
			continue;
		bytes += st.st_size;
		if (remove)
			unlink(file);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

uint64_t watch_file_bytes(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return 0;
	return S_ISDIR(st.st_mode) ? tables_go_through(path, false) : (uint64_t)st.st_size;
}

int watch_file_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return unlink(path) ? -errno : 0;
	tables_go_through(path, true);
	return rmdir(path) ? -errno : 0;
}
