/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core_types.h - those of the kernel's types that relocations of programs are about, as a small
 * BTF.
 *
 * For each type that programs name, libbpf goes through all types that it is given. The kernel has
 * 100,000, of these there are a few thousand. Their ids are not the kernel's.
 */
#ifndef IOSTRATA_CORE_TYPES_H
#define IOSTRATA_CORE_TYPES_H

#include <stddef.h>

struct btf;

/* Those types of @kernel that have the name of a structure, union or enum of @local, up to a "___",
 * with the types of their members; what these point to is void. NULL, with errno: out of memory. */
void *core_types_make(const struct btf *kernel, const struct btf *local, size_t *ret_len);

#endif
