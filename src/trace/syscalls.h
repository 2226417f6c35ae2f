/* SPDX-License-Identifier: GPL-2.0-only */
/* syscalls.h - which system calls are operations, and of which kind; 64 and 32 bit. */
#ifndef IOSTRATA_SYSCALLS_H
#define IOSTRATA_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "bpf/conf.h"

/*
 * Fills the tables calls[] and call_offsets[] of the programs: the low byte is for the 64-bit call
 * with this number, the high byte for the 32-bit call. @kinds: set of 1 << enum op_kind; calls of
 * other kinds are left out. @vfs_tells: vfs_read() and vfs_write() are probed and give the file of
 * a call.
 */
void syscalls_fill(uint16_t calls[CALL_MAX], uint16_t offsets[CALL_MAX], unsigned int kinds,
		   bool vfs_tells);

/* Returns the name of call number @call (| CALL_COMPAT for a 32-bit call), or of an opcode, see
 * CALL_URING. "?": not in the list. NULL: no list is known for the machine. */
typedef const char *syscall_name_fn(unsigned short call);

/* The function that knows the names of system calls on @machine. */
syscall_name_fn *syscall_names(enum machine machine);

#endif
