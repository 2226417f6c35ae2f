/* SPDX-License-Identifier: GPL-2.0-only */
/* mounts.h - what is mounted where, as the tool sees it, and types. All text in it is hostile. */
#ifndef IOSTRATA_BASE_MOUNTS_H
#define IOSTRATA_BASE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

struct mount {
	unsigned int id;
	unsigned int dev; /* kernel dev_t: major << 20 | minor */
	const char *root; /* of the mount, inside its file system */
	const char *point;
	const char *type;
	const char *source;
};

struct mounts {
	struct mount *list;
	size_t n;
	char *text; /* what the members of list point into */
};

/* 0 or -errno; @ret_mounts is untouched on failure. */
int mounts_read(struct mounts *ret_mounts);

void mounts_free(struct mounts *m);

/* What the kernel says of file systems of @type. */
enum fs_kind { FS_KIND_UNKNOWN, FS_KIND_DISK, FS_KIND_NO_DISK };
enum fs_kind mounts_fs_kind(const char *type);

/* Whether files of @type can be on one of @devs. What needs no disk may be said to be on one. */
bool mounts_may_be_on(const struct mounts *m, const char *type, const unsigned int *devs,
		      unsigned int n_devs);

/* A mount of file system @dev, preferably of its root; NULL if none. */
const struct mount *mounts_by_dev(const struct mounts *m, unsigned int dev);

/* The mount that an absolute @path without symbolic links is on; NULL if none. */
const struct mount *mounts_by_path(const struct mounts *m, const char *path);

#endif
