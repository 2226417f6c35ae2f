/* SPDX-License-Identifier: GPL-2.0-only */
/* mounts.h - what is mounted, from /proc/self/mountinfo. All text in it is hostile. */
#ifndef IOSTRATA_MOUNTS_H
#define IOSTRATA_MOUNTS_H

#include <stddef.h>

struct mount {
	unsigned int id;
	unsigned int dev;	/* kernel dev_t: major << 20 | minor */
	char *root;		/* of the mount, inside its file system */
	char *point;
	char *type;
	char *source;
};

struct mounts {
	struct mount *list;
	size_t n;
};

/* 0 or -errno; @ret_mounts is untouched on failure. */
int mounts_read(struct mounts *ret_mounts);

/* One line of mountinfo; @line is cut up. 0, or -EINVAL if it is not one. The strings of @ret_mount
 * point into @line. */
int mounts_parse_line(char *line, struct mount *ret_mount);

void mounts_free(struct mounts *m);

/* A mount of file system @dev, preferably of its root; NULL if none. */
const struct mount *mounts_by_dev(const struct mounts *m, unsigned int dev);

#endif
