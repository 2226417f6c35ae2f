/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filenames.h - the names of the files in one interval's rows, collected over its drains. They are
 * dropped with the rows, so however many files come and go, only those of one interval are kept.
 */
#ifndef IOSTRATA_FILENAMES_H
#define IOSTRATA_FILENAMES_H

#include "base/snapshot.h"

struct known_file;

struct filenames {
	struct known_file *files; /* by key and inode */
};

/* Keeps the best name seen for the file @by, a FILE_KEY() and an inode. 0 or -ENOMEM. */
int filenames_add(struct filenames *n, const unsigned long long by[2],
		  const struct file_name *name);

/* Names the rows of @sn, which are by file, and forgets all names. Counts files of operations that
 * could not be named as lost. A file that has only requests (a page of it is written back) loses no
 * name: its inode identifies it. 0 or -ENOMEM. */
int filenames_name(struct filenames *n, struct snapshot *sn);

void filenames_done(struct filenames *n);

#endif
