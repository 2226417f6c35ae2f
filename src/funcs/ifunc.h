/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ifunc.h - functions whose implementation is chosen when a process starts (STT_GNU_IFUNC), such as
 * strlen(): the symbol names the resolver. It is called once. Probes nothing.
 */
#ifndef IOSTRATA_FUNCS_IFUNC_H
#define IOSTRATA_FUNCS_IFUNC_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct func_list;

/*
 * Offset in the file @fd of the implementation chosen by the resolver at address @resolver, or 0:
 * not known. It is read from this program, if this program has the file loaded, too: no other
 * process is trusted with the place of a probe. All processes on a machine make this choice, unless
 * GLIBC_TUNABLES tells them otherwise.
 */
uint64_t ifunc_chosen(const struct elf_file *f, int fd, uint64_t resolver);

/* The reason why a function without a known choice is not traced. */
extern const char *const ifunc_unknown;

/* For the first functions of @l, from number @from on, that are refused for ifunc_unknown: replaces
 * the reason by one with the names of implementations in the symbols of the file. Returns 0 or
 * -errno. */
int ifunc_explain(struct func_list *l, size_t from, struct elf_file *f, const char *path);

#endif
