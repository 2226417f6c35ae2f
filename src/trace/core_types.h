/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_types.h - a small BTF with the few kernel types that relocations of our programs need.
 *
 * For each type named by a program, libbpf searches all types it is given. The kernel has 100,000
 * types; the small BTF has a few thousand. Type ids in it differ from the kernel's. Owns nothing,
 * loads nothing.
 */
#ifndef IOSTRATA_TRACE_CORE_TYPES_H
#define IOSTRATA_TRACE_CORE_TYPES_H

#include <stddef.h>

struct btf;

/* Makes a BTF of some types of @kernel: those with the name (up to "___") of a structure, union or
 * enum of @local. Types of members are included. Pointers in the result point to void. The caller
 * frees the result. NULL, with errno: out of memory. */
void *core_types_make(const struct btf *kernel, const struct btf *local, size_t *ret_len);

#endif
