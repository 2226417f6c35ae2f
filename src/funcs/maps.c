// SPDX-License-Identifier: GPL-2.0-only
#include "funcs/maps.h"

#include <dirent.h>
#include <string.h>

/* Opens a list that is not empty. */
static FILE *list_open(const char *path)
{
	FILE *f = fopen(path, "re");
	int c = f ? getc(f) : EOF;

	if (c != EOF)
		ungetc(c, f);
	else if (f)
		fclose(f);
	return c == EOF ? NULL : f;
}

/* The first thread of a process may have ended, and has no mappings then. */
static FILE *threads_open(unsigned int pid)
{
	char path[64];
	struct dirent *e;
	FILE *f = NULL;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !f && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%u/task/%.20s/maps", pid, e->d_name);
		f = list_open(path);
	}
	if (dir)
		closedir(dir);
	return f;
}

FILE *maps_open(unsigned int pid)
{
	char path[32] = "/proc/self/maps";
	FILE *f;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = list_open(path);
	return f || !pid ? f : threads_open(pid);
}

/* The path ends with the line, and may contain blanks. */
bool maps_next(FILE *maps, struct mapping *ret_mapping)
{
	struct mapping *m = ret_mapping;
	char line[PATH_MAX + 128], mode[8];
	int at;

	while (fgets(line, sizeof(line), maps)) {
		at = 0;
		if (sscanf(line, "%llx-%llx %7s %llx %*s %llu %n", &m->from, &m->to, mode,
			   &m->offset, &m->ino, &at) != 5 ||
		    !at)
			continue;
		m->executable = mode[2] == 'x';
		snprintf(m->path, sizeof(m->path), "%.*s", (int)strcspn(line + at, "\n"),
			 line + at);
		return true;
	}
	return false;
}
