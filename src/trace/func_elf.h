/* SPDX-License-Identifier: GPL-2.0-only */
/* func_elf.h - the functions of a program or library, from its symbols, including those for
 * debugging and those in .gnu_debugdata. */
#ifndef IOSTRATA_FUNC_ELF_H
#define IOSTRATA_FUNC_ELF_H

#include <stdbool.h>
#include <stddef.h>

struct func_list;
struct pattern;
struct reason;

struct func_elf_conf {
	bool risk_exceptions;	/* see func_unsafe_file() */
	unsigned int pid;	/* whose C library c: is; 0: this program's */
};

/*
 * Adds to @l the functions that match one of @patterns (all for programs and libraries) and that
 * none excludes. 0, or -1 with @why: a file does not exist, has no symbols, or is not safe to
 * probe.
 */
int func_elf_list(struct func_list *l, struct pattern *const patterns[], size_t n,
		  const struct func_elf_conf *conf, struct reason *why);

#endif
