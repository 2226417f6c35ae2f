/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.h - builds the path of a file from the names copied in the kernel.
 */
#ifndef IOSTRATA_HOST_PATH_H
#define IOSTRATA_HOST_PATH_H

#include <stddef.h>

#include "event.h"

/* Enough bytes for any path. */
enum { PATH_CAP = 2 * PATH_BYTES + 8 };

/*
 * Writes "/a/b/c", relative to the directory where the names of @fn end, as raw bytes: still
 * hostile, pass them to text_safe() or text_json(). "..." replaces upper directories that are not
 * known or do not fit in @cap (at least 8): ".../b/c". @fn may hold any bytes. Returns the length;
 * 0, with "", if no name is known.
 */
size_t path_join(char *dst, size_t cap, const struct file_name *fn);

/*
 * Makes names of the first name of @fn, if it is a path as a program gave it: "./a//b/" is "b",
 * then "a". Two dots remain a name: the name before them may be a link. To be called where a name
 * comes from the programs; the other functions here know only names.
 */
void path_split(struct file_name *fn);

/* A file as the kernel knows it. */
struct path_file {
	unsigned int dev; /* dev_t of its file system, or of the block device it is */
	unsigned long long ino;
	const struct file_name *name;
};

/*
 * The path of @f as seen by the process that used it: "/mnt/a/b", ".../b" if upper directories are
 * not known, "/mnt/a/b (deleted)" as in /proc/PID/fd; "<8:1>/a/b" within its file system if no
 * mount leads to it, "<8:1>/inode 12" if no name is known. Hostile; the caller frees it. Returns
 * NULL if out of memory.
 */
char *path_full(const struct path_file *f);

#endif
