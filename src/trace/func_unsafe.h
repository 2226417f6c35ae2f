/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_unsafe.h - functions of programs whose returns must not be probed.
 *
 * To see a return, the kernel replaces the return address on the stack by one of its own, and keeps
 * the real one in a list per thread: the last call returns first, at the place where it was made.
 * The kernel kills a program for which that is not so, or sends it back to where it never was.
 *
 * What unwinds the stack, in the program itself, finds the kernel's address and nothing behind it:
 * an exception has no handler, and a thread that ends has nothing to clean up.
 */
#ifndef IOSTRATA_FUNC_UNSAFE_H
#define IOSTRATA_FUNC_UNSAFE_H

#include <stdbool.h>

struct reason;

/* Why the return of function @name must not be probed, or NULL. */
const char *func_unsafe(const char *name);

/* 0: functions of file @fd, which is called @path, may be probed, or it is no ELF file. -1 with
 * @why: its threads change between stacks, or the stacks move, or, unless @risk_exceptions, it
 * throws exceptions, or is unwound by them. */
int func_unsafe_file(int fd, const char *path, bool risk_exceptions, struct reason *why);

#endif
