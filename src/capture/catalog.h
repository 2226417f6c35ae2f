/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * catalog.h - the names in a capture file, as they are read: what ids in records stand for.
 *
 * Memory grows only with names that were actually read. All text is hostile.
 */
#ifndef IOSTRATA_CATALOG_H
#define IOSTRATA_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "capture/rowpack.h"
#include "capture/format.h"

struct catalog_text;

struct catalog_file {
	uint64_t key, ino;		/* FILE_KEY() */
	unsigned short flags, len;	/* enum cap_file_flag; length of names */
	char *names;			/* as in struct file_name; owned */
};

struct catalog_thread {
	unsigned int pid, tid;
	uint64_t cgroup;
	char comm[COMM_LEN];		/* may lack a NUL */
};

enum { CATALOG_FS = 256 };

struct catalog {
	struct catalog_file *files;	/* [0]: no file */
	struct catalog_thread *threads;	/* [0]: no thread */
	size_t n_files, n_threads, files_cap, threads_cap;
	struct catalog_text *cgroups, *devices;
	struct {
		char name[FS_NAME_LEN];
		unsigned int probed;	/* kinds of operations, 1 << kind */
	} fs[CATALOG_FS];
};

/* 0 or -ENOMEM. */
int catalog_init(struct catalog *c);
void catalog_done(struct catalog *c);

/* Adds the rows of a chunk of names. 0, -EBADMSG (they are not names) or -ENOMEM. */
int catalog_add(struct catalog *c, struct cursor *rows);

/* The file or thread of an id in a record; for an unknown id, that of id 0. */
const struct catalog_file *catalog_file(const struct catalog *c, uint64_t id);
const struct catalog_thread *catalog_thread(const struct catalog *c, uint64_t id);

/* Name of a cgroup or device; NULL: not known. */
const char *catalog_cgroup(const struct catalog *c, uint64_t id);
const char *catalog_device(const struct catalog *c, uint64_t dev);

/* Type of the file system @fs of a record; "": not known. */
const char *catalog_fs(const struct catalog *c, uint64_t fs);

/* Fills a struct file_name from @f. */
void catalog_file_name(const struct catalog_file *f, struct file_name *ret_name);

#endif
