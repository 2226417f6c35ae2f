/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_unsafe.h - functions and programs whose returns must not be probed. Probes nothing.
 *
 * To trace a return, the kernel replaces the return address on the stack by one of the kernel's. It
 * keeps the real one in a list per thread, and expects the last call to return first, to where it
 * was made. If a program does otherwise, the kernel kills it or sends it to a wrong address.
 *
 * When the program itself unwinds the stack, it finds only the address of the kernel, and no
 * caller. So an exception finds no handler, and an ending thread cleans up nothing.
 *
 * Entries of functions can be probed in every program, unless the kernel misreads or refuses their
 * first instruction.
 */
#ifndef IOSTRATA_FUNCS_FUNC_UNSAFE_H
#define IOSTRATA_FUNCS_FUNC_UNSAFE_H

#include <stdbool.h>
#include <stddef.h>

struct elf_file;
struct reason;

/* Why the return of function @name must not be probed, or NULL if it may be. */
const char *func_unsafe(const char *name);

enum { ENTRY_LEN = 15 }; /* the longest instruction of x86 */

/*
 * Why the entry of a function cannot be probed, or NULL if it can be. @code are the first @n
 * bytes of the function; ENTRY_LEN are enough.
 */
const char *func_entry_unsafe(const unsigned char *code, size_t n);

enum { SIGN_LEN = 64 };

/* Signs in a file of switching or unwinding stacks: names of functions, or "". */
struct func_signs {
	char switches[SIGN_LEN];
	char throws[SIGN_LEN];
	char ends_threads[SIGN_LEN];
	bool cleans_up;
	bool setcontext;
	bool async_jobs; /* asynchronous jobs of OpenSSL, which contain setcontext(); few programs
			  * use them */
	bool go;
};

/* Returns 0, or -EBADMSG: see elf_file_symbols(). */
int func_signs_read(struct func_signs *s, struct elf_file *f);

/* The function for switching stacks, or NULL: the file has none. */
const char *func_signs_switch(const struct func_signs *s);

/* Returns 0 if the program does not unwind its stack. Else -1 with @why: it throws exceptions, or
 * ends threads by unwinding. @path is hostile text, and so is @why. */
int func_signs_refuse(const struct func_signs *s, const char *path, struct reason *why);

/* Whether the file is the C library, by its name. The C library has functions for switching stacks,
 * but does not use them itself. */
bool func_is_libc(const char *path);

/*
 * Whether process @pid has mapped code that switches stacks, other than of the C library. If so,
 * sets @ret_sign to "FILE: FUNCTION": hostile text of at most @len bytes.
 */
bool func_process_switches(unsigned int pid, char *ret_sign, size_t len);

#endif
