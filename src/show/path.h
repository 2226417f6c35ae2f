/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.h - the path of a file out of what the kernel side could copy of it.
 */
#ifndef IOSTRATA_PATH_H
#define IOSTRATA_PATH_H

#include "event.h"

#include <stdbool.h>
#include <stddef.h>

struct mounts;

/* Bytes that any path fits in. */
enum { PATH_CAP = 2 * PATH_BYTES + 8 };

/*
 * Writes "/a/b/c", relative to the root of its file system ("/" is that root), as raw bytes: still
 * hostile, for text_safe() or text_json(). If upper directories are not known or do not fit in
 * @cap (8 at least), "..." stands for them: ".../b/c". @fn may hold any bytes. Returns the length,
 * 0 (and "") if nothing is known of the file.
 */
size_t path_join(char *dst, size_t cap, const struct file_name *fn);

/* A file as the kernel knows it. */
struct path_file {
	unsigned int dev;		/* dev_t of its file system, or of the block device it is */
	bool is_bdev;
	unsigned long long ino;
	const struct file_name *name;	/* NULL: not known */
};

/*
 * The same with the place in front where its file system is mounted: "/mnt/a/b", "/dev/vda" for a
 * block device itself, "<8:1>/a/b" if it is mounted nowhere that @mounts (NULL: none) knows, and
 * "<8:1>/inode 12" if no name is known. Hostile; for free(). NULL: out of memory.
 */
char *path_full(const struct mounts *mounts, const struct path_file *f);

#endif
