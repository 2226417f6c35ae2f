/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filenames.h - the names of files in the rows of one interval, collected over its drains. Names
 * are dropped with the rows: memory is bounded by the files of one interval.
 */
#ifndef IOSTRATA_HOST_FILENAMES_H
#define IOSTRATA_HOST_FILENAMES_H

#include "base/snapshot.h"

struct known_file;

struct filenames {
	struct known_file *files; /* by key and inode */
};

/* Keeps the best name seen for the file @by, a FILE_KEY() and an inode. Returns 0 or -ENOMEM. */
int filenames_add(struct filenames *n, const unsigned long long by[2],
		  const struct file_name *name);

/* Names the rows of @sn, collected by file, and forgets all names. Files made one after another at
 * one path have one row: the others are listed in .files. Counts files of operations without a name
 * as lost. Files with requests only, such as writeback, are not counted: the inode identifies them.
 * Returns 0 or -ENOMEM. */
int filenames_name(struct filenames *n, struct snapshot *sn);

/* Likewise, but each row stays, in its place: files at one path have rows of the same name. */
int filenames_name_apart(struct filenames *n, struct snapshot *sn);

void filenames_done(struct filenames *n);

#endif
