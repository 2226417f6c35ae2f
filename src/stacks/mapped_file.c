// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>

enum { FRAME_PATH = 512, DEV_MINOR_BITS = 20 /* of the kernel's dev_t */ };

static const char deleted[] = " (deleted)";

/* A line of /proc/PID/maps. */
struct mapping_line {
	unsigned long long start, end, ino;
	unsigned int major, minor;
	bool is_code;
	char *path; /* in the line */
};

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
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/%u/root%s", of->pid, path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int mapped_file_open(const struct sent_stack_file *of, char *ret_path, size_t cap)
{
	struct mapping_line found;
	char *line = NULL, *end;
	int fd = mapping_find(of, &line, &found);

	if (!fd) {
		end = strstr(found.path, deleted);
		if (end && !end[strlen(deleted)])
			*end = '\0';
		snprintf(ret_path, cap, "%s", found.path);
		fd = open_either(of, found.path);
		if (fd >= 0 && !is_met(of, &found, fd)) {
			close(fd);
			fd = -ESTALE;
		}
	}
	free(line);
	return fd;
}

/* The generation of the file, or 0 if its file system does not tell. Where the kernel has another,
 * no stack meets a file with this key. */
static unsigned int generation_of(const struct sent_stack_file *of)
{
	char path[FRAME_PATH];
	int fd = mapped_file_open(of, path, sizeof(path)), generation = 0;

	if (fd >= 0 && ioctl(fd, FS_IOC_GETVERSION, &generation))
		generation = 0;
	if (fd >= 0)
		close(fd);
	return generation;
}

void mapped_files_each(unsigned int pid, mapped_file_fn *fn, void *arg)
{
	FILE *f = maps_open(pid);
	struct mapping_line m;
	char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0) {
		struct sent_stack_file of = { .what = SENT_STACK_FILE, .pid = pid };

		if (!line_parse(line, &m) || !m.is_code)
			continue;
		of.key.ino = m.ino;
		of.key.dev = m.major << DEV_MINOR_BITS | m.minor;
		of.start = m.start;
		of.end = m.end;
		of.key.generation = generation_of(&of);
		if (!fn(arg, &of))
			break;
	}
	free(line);
	if (f)
		fclose(f);
}
