/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fsfuncs.h - finds the kernel functions by which a file system type reads, writes, syncs and opens
 * files: the functions in the operations of an open file, or else functions with the usual names.
 *
 * The kernel translates addresses to names where it can, and its types tell whether a function with
 * some name exists. So /proc/kallsyms is seldom read as a whole: reading it costs 300 to 600
 * million kernel instructions. Probes nothing.
 */
#ifndef IOSTRATA_TRACE_FSFUNCS_H
#define IOSTRATA_TRACE_FSFUNCS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event.h"

enum fs_method { FS_READ, FS_WRITE, FS_FSYNC, FS_OPEN, FS_METHODS };

enum { FUNC_NAME_LEN = 64 };

struct fs_type {
	char name[FS_NAME_LEN];
	uint64_t addr[FS_METHODS];              /* of the function; 0: not known */
	char func[FS_METHODS][FUNC_NAME_LEN];   /* "": no such function */
	char module[FS_METHODS][FUNC_NAME_LEN]; /* "": in the kernel itself */
};

struct feature;

/* Fills in func and module of @n types. @symbols has lines like those of /proc/kallsyms for the
 * addresses, or is NULL. Names are looked up in the types of the kernel and of modules called like
 * the file systems; where this is not enough, in /proc/kallsyms. Returns 0 or -errno. */
int fsfuncs_resolve(struct fs_type *types, size_t n, FILE *symbols, struct feature *f);

/* As fsfuncs_resolve(), but uses only @f, a text like /proc/kallsyms. Returns 0 or -errno. */
int fsfuncs_resolve_from(FILE *f, struct fs_type *types, size_t n);

#endif
