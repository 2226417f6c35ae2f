/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fsfuncs.h - which kernel functions a file system type reads, writes, syncs and opens files with:
 * those in an open file's operations, else those with the usual names, if the kernel has them.
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
	uint64_t addr[FS_METHODS];	/* 0: not known */
	char func[FS_METHODS][FUNC_NAME_LEN];	/* "": none */
	char module[FS_METHODS][FUNC_NAME_LEN];	/* "": in the kernel itself */
};

/* Fills .func of @n types from /proc/kallsyms. 0 or -errno. */
int fsfuncs_resolve(struct fs_type *types, size_t n);

/* The same from any file in that format. */
int fsfuncs_resolve_from(FILE *f, struct fs_type *types, size_t n);

#endif
