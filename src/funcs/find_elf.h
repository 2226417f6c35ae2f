/* SPDX-License-Identifier: GPL-2.0-only */
/* find_elf.h - the functions of a program or library, from its symbols, including those for
 * debugging and those in .gnu_debugdata. */
#ifndef IOSTRATA_FUNCS_FIND_ELF_H
#define IOSTRATA_FUNCS_FIND_ELF_H

#include <stdbool.h>
#include <stddef.h>

struct func_list;
struct pattern;
struct reason;

struct func_elf_conf {
	bool risk_exceptions; /* see func_unsafe_file() */
	unsigned int pid;     /* whose C library c: is; 0: this program's */
};

/*
 * Adds to @l the functions that match one of @patterns (all for programs and libraries) and that
 * none excludes. 0, or -1 with @why: a file does not exist, has no symbols, or is not safe to
 * probe.
 */
int func_elf_list(struct func_list *l, struct pattern *const patterns[], size_t n,
		  const struct func_elf_conf *conf, struct reason *why);

/*
 * Functions of programs whose returns must not be probed.
 *
 * To see a return, the kernel replaces the return address on the stack by one of its own, and keeps
 * the real one in a list per thread: the last call returns first, at the place where it was made.
 * The kernel kills a program for which that is not so, or sends it back to where it never was.
 *
 * What unwinds the stack, in the program itself, finds the kernel's address and nothing behind it:
 * an exception has no handler, and a thread that ends has nothing to clean up.
 */

/* Why the return of function @name must not be probed, or NULL. */
const char *func_unsafe(const char *name);

/* 0: functions of file @fd, which is called @path, may be probed, or it is no ELF file. -1 with
 * @why: its threads change between stacks, or the stacks move, or, unless @risk_exceptions, it
 * throws exceptions, or is unwound by them. */
int func_unsafe_file(int fd, const char *path, bool risk_exceptions, struct reason *why);

#endif
