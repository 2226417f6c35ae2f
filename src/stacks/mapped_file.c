// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>

#include "host/regular_file.h"

enum { DEV_MINOR_BITS = 20 }; /* of the kernel's dev_t */

static const char deleted[] = " (deleted)";

/* A line of /proc/PID/maps. */
struct mapping_line {
	unsigned long long start, end, ino;
	unsigned int major, minor;
	bool is_code;
	char *path; /* in the line */
};

/* As the kernel has it. */
static unsigned int dev_of(const struct mapping_line *m)
{
	return m->major << DEV_MINOR_BITS | m->minor;
}

/* Returns false if @line is none, or has no path. */
static bool line_parse(char *line, struct mapping_line *ret)
{
	char rights[8];
	int at = 0;

	if (sscanf(line, "%llx-%llx %7s %*x %x:%x %llu %n", &ret->start, &ret->end, rights,
		   &ret->major, &ret->minor, &ret->ino, &at) < 6 ||
	    !at || line[at] != '/')
		return false;
	ret->is_code = rights[2] == 'x';
	ret->path = line + at;
	ret->path[strcspn(ret->path, "\n")] = '\0';
	return true;
}

static FILE *maps_open(unsigned int pid)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	return fopen(name, "re");
}

/* Finds the mapping. Returns 0 or -errno. */
static int mapping_find(const struct sent_stack_file *of, char **line, struct mapping_line *ret)
{
	FILE *f = maps_open(of->pid);
	int err = -ESTALE;
	size_t cap = 0;

	if (!f)
		return errno == ENOENT || errno == ESRCH ? -ESTALE : -errno;
	while (err && getline(line, &cap, f) > 0)
		if (line_parse(*line, ret) && ret->start == of->start && ret->end == of->end)
			err = 0;
	fclose(f);
	return err;
}

/* Whether @fd is the file that the stack met. The mapping of a file of overlayfs has the inode of a
 * layer below, or of the file above, as the kernel's version goes. */
static bool is_met(const struct sent_stack_file *of, const struct mapping_line *line, int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (line->ino == of->key.ino && st.st_ino == of->key.ino)
		return true;
	return !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC &&
	       (st.st_ino == line->ino || line->ino == of->key.ino);
}

/* By the link of the mapping itself, or else by the path in the root directory of the process. */
static int open_either(const struct sent_stack_file *of, const char *path)
{
	char name[4096 + 64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", of->pid, of->start, of->end);
	fd = regular_file_open(name);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/%u/root%s", of->pid, path);
	return regular_file_open(name);
}

/* Opens the file of a mapping, and cuts its path where the kernel adds to it. Returns as
 * mapped_file_open(). */
static int mapping_open(const struct sent_stack_file *of, struct mapping_line *m)
{
	char *end = strstr(m->path, deleted);
	int fd;

	if (end && !end[strlen(deleted)])
		*end = '\0';
	fd = open_either(of, m->path);
	if (fd >= 0 && !is_met(of, m, fd)) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

int mapped_file_open(const struct sent_stack_file *of, char *ret_path, size_t cap)
{
	struct mapping_line found;
	char *line = NULL;
	int fd = mapping_find(of, &line, &found);

	if (!fd) {
		fd = mapping_open(of, &found);
		snprintf(ret_path, cap, "%s", found.path);
	}
	free(line);
	return fd;
}

/* Files of a process that were told. */
struct told {
	struct unwind_key keys[STACK_FILES];
	unsigned int n;
};

/* Whether there is room to tell the file of @key, and it is the first time. */
static bool is_new(struct told *told, const struct unwind_key *key)
{
	for (unsigned int i = 0; i < told->n; i++)
		if (told->keys[i].ino == key->ino && told->keys[i].dev == key->dev)
			return false;
	if (told->n == STACK_FILES)
		return false;
	told->keys[told->n++] = *key;
	return true;
}

/* The generation is 0 if the file system does not tell. Where the kernel has another, no stack
 * meets a file with this key. */
static unsigned int generation_of(int fd)
{
	int generation = 0;

	return fd >= 0 && !ioctl(fd, FS_IOC_GETVERSION, &generation) ? generation : 0;
}

static bool mapping_tell(unsigned int pid, struct mapping_line *m, struct told *told,
			 mapped_file_fn *fn, void *arg)
{
	struct sent_stack_file of = { .what = SENT_STACK_FILE, .pid = pid };
	int fd;

	of.key.ino = m->ino;
	of.key.dev = dev_of(m);
	of.start = m->start;
	of.end = m->end;
	if (!is_new(told, &of.key))
		return true;
	fd = mapping_open(&of, m);
	of.key.generation = generation_of(fd);
	return fn(arg, &of, fd, m->path);
}

bool mapped_file_key(int fd, struct unwind_key *ret_key)
{
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	FILE *f = page == MAP_FAILED ? NULL : maps_open(getpid());
	bool found = false;
	struct mapping_line m;
	char *line = NULL;
	size_t cap = 0;

	while (f && !found && getline(&line, &cap, f) > 0) {
		found = line_parse(line, &m) && m.start == (uintptr_t)page;
		if (found)
			*ret_key = (struct unwind_key){ .ino = m.ino,
							.dev = dev_of(&m),
							.generation = generation_of(fd) };
	}
	free(line);
	if (f)
		fclose(f);
	if (page != MAP_FAILED)
		munmap(page, 1);
	return found;
}

void mapped_files_each(unsigned int pid, mapped_file_fn *fn, void *arg)
{
	struct told *told = calloc(1, sizeof(*told));
	FILE *f = told ? maps_open(pid) : NULL;
	struct mapping_line m;
	char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		if (line_parse(line, &m) && m.is_code && !mapping_tell(pid, &m, told, fn, arg))
			break;
	free(line);
	free(told);
	if (f)
		fclose(f);
}
