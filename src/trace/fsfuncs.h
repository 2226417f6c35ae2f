/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fsfuncs.h - which kernel functions a file system type reads, writes, syncs and opens files with:
 * those in an open file's operations, else those with the usual names, if the kernel has them.
 *
 * The kernel tells the names of addresses where it can, and its types tell whether it has a name:
 * all of /proc/kallsyms is 300 to 600 million instructions of the kernel.
 */
#ifndef IOSTRATA_FSFUNCS_H
#define IOSTRATA_FSFUNCS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event.h"

enum fs_method { FS_READ, FS_WRITE, FS_FSYNC, FS_OPEN, FS_METHODS };

enum { FUNC_NAME_LEN = 64 };

struct fs_type {
	char name[FS_NAME_LEN];
	uint64_t addr[FS_METHODS];              /* 0: not known */
	char func[FS_METHODS][FUNC_NAME_LEN];   /* "": none */
	char module[FS_METHODS][FUNC_NAME_LEN]; /* "": in the kernel itself */
};

struct feature;

/* Fills .func of @n types: from @symbols, which may be NULL, lines as /proc/kallsyms has them for
 * addresses, and from the types of the kernel and of the modules that are called like the file
 * systems; where that does not do, from /proc/kallsyms. 0 or -errno. */
int fsfuncs_resolve(struct fs_type *types, size_t n, FILE *symbols, struct feature *f);

/* The same from a file like /proc/kallsyms alone. */
int fsfuncs_resolve_from(FILE *f, struct fs_type *types, size_t n);

#endif
