/* SPDX-License-Identifier: GPL-2.0-only */
/* syscalls.h - which system calls are operations, and of which kind; 64 and 32 bit. */
#ifndef IOSTRATA_TRACE_SYSCALLS_H
#define IOSTRATA_TRACE_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "bpf/conf.h"

/* A choice of calls: of each kind in @kinds (set of 1 << enum op_kind), only the calls in @at. */
struct syscall_choice {
	unsigned int kinds;
	uint64_t at[4]; /* a bit for each place in the list of calls */
};

/*
 * Adds the call called @name to @c, and the calls that do the same with other arguments: "stat" has
 * lstat, newfstatat and statx, too, "pread" is pread64. Returns the kind of the calls, or OP_NONE
 * if no operation is called so.
 */
enum op_kind syscalls_choose(struct syscall_choice *c, const char *name);

/* Calls @fn for the name of each call that is an operation. */
void syscalls_each(void (*fn)(void *arg, const char *name), void *arg);

/* Whether a call @called is the call @name or does the same; see syscalls_choose(). */
bool syscalls_same(const char *called, const char *name);

/*
 * Fills the tables calls[] and call_offsets[] of the programs: the low byte is for the 64-bit call
 * with this number, the high byte for the 32-bit call. @kinds: set of 1 << enum op_kind; calls of
 * other kinds are left out, and so are calls that are not in @only, if their kind is. @vfs_tells:
 * vfs_read() and vfs_write() are probed and give the file of a call.
 */
void syscalls_fill(uint16_t calls[CALL_MAX], uint16_t offsets[CALL_MAX], unsigned int kinds,
		   const struct syscall_choice *only, bool vfs_tells);

/* What ioctl() is; @kinds and @only as of syscalls_fill(). */
enum clones syscalls_clones(unsigned int kinds, const struct syscall_choice *only);

/* The calls with which a signal's handler returns: rt_sigreturn(), of 64 and of 32 bits, and
 * sigreturn() of 32 bits. They are no operations; see `src/bpf/restart.bpf.h`. */
void syscalls_fill_returns(uint16_t calls[CALL_MAX], uint16_t offsets[CALL_MAX]);

/* Returns the name of call number @call (| CALL_COMPAT for a 32-bit call), or of an opcode, see
 * CALL_URING. "?": not in the list. Returns NULL if no list is known for the machine. */
typedef const char *syscall_name_fn(unsigned short call);

/* The function that knows the names of system calls on @machine. */
syscall_name_fn *syscall_names(enum machine machine);

#endif
