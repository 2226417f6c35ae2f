/* SPDX-License-Identifier: GPL-2.0-only */
/* find_elf.h - the functions of a program or library, from its symbol tables, including the one in
 * .gnu_debugdata; and which of them are not safe to probe. Probes nothing. */
#ifndef IOSTRATA_FUNCS_FIND_ELF_H
#define IOSTRATA_FUNCS_FIND_ELF_H

#include <stdbool.h>
#include <stddef.h>

struct func_list;
struct pattern;
struct reason;

struct func_elf_conf {
	bool risk_exceptions; /* see func_unsafe_file() */
	unsigned int pid;     /* process whose C library c: means; 0: this program */
	void (*unused)(unsigned int pid, const char *path); /* as in func_session_conf */
};

/*
 * Adds to @l the functions matched and not excluded by @patterns, all for programs and libraries.
 * 0, or -1 with @why: a file does not exist, has no symbols, or is not safe to probe.
 */
int func_elf_list(struct func_list *l, struct pattern *const patterns[], size_t n,
		  const struct func_elf_conf *conf, struct reason *why);

/*
 * Functions of programs whose returns must not be probed.
 *
 * To trace a return, the kernel replaces the return address on the stack by an address of its own.
 * It keeps the real one in a list per thread, and expects the last call to return first, to where
 * it was made. If a program does otherwise, the kernel kills it or sends it to a wrong address.
 *
 * When the program itself unwinds the stack, it finds only the address of the kernel, and no
 * caller. So an exception finds no handler, and an ending thread cleans up nothing.
 */

/* Why the return of function @name must not be probed; NULL: it may be. */
const char *func_unsafe(const char *name);

/* 0: functions of file @fd, called @path, may be probed, or the file is no ELF file. -1 with @why:
 * the program switches stacks or moves them, or, unless @risk_exceptions, throws exceptions or ends
 * threads by unwinding. */
int func_unsafe_file(int fd, const char *path, bool risk_exceptions, struct reason *why);

#endif
