/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recording_files.h - files that --file names, and files in a recording. A recording has the paths
 * that processes saw when they used files: a renamed file, or one in a container, has another one.
 */
#ifndef IOSTRATA_COMMON_RECORDING_FILES_H
#define IOSTRATA_COMMON_RECORDING_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog;
struct catalog_file;

/* A file of this machine, as the kernel tells it apart from all others. */
struct local_file {
	uint64_t key, ino; /* as of struct catalog_file; ino 0: not known */
};

/* The regular file at @path. Its ino is 0 if there is none, or if its file system tells no
 * generation: then a new file may have the inode of a deleted one. */
struct local_file local_file_at(const char *path);

bool local_file_is(const struct local_file *local, const struct catalog_file *file);

/* The id of this boot of the kernel, without the line's end. */
void local_boot_id(char *dst, size_t cap);

enum { FILES_ALIKE = 3 };

/* Paths in recordings whose last name is the same as that of a path that was not found. */
struct files_alike {
	char *path[FILES_ALIKE]; /* owned, hostile */
	size_t n;
};

/* Adds paths of @c, each once. */
void files_alike_add(struct files_alike *alike, const struct catalog *c, const char *given);
void files_alike_done(struct files_alike *alike);

#endif
