/* SPDX-License-Identifier: GPL-2.0-only */
/* directories.h - rows by file become rows by directory. */
#ifndef IOSTRATA_HOST_DIRECTORIES_H
#define IOSTRATA_HOST_DIRECTORIES_H

#include "base/snapshot.h"

/*
 * Cuts the path @path of a row by file to its directory, @depth levels deep at most; 0: no limit.
 * In
 * "/a/b/c", "/a" is one level deep. A path whose upper directories are missing (".../b/c") keeps
 * all levels. A text without a directory, like "inode 12", stays.
 */
void directory_cut(char *path, unsigned int depth);

/* Joins the rows of @sn, which are BY_FILE, by the directories of their files. 0 or -ENOMEM. */
int directory_rows(struct snapshot *sn, unsigned int depth);

#endif
