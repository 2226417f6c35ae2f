/* SPDX-License-Identifier: GPL-2.0-only */
/* syscalls.h - which system calls are operations of which kind, 64 and 32 bit. */
#ifndef IOSTRATA_SYSCALLS_H
#define IOSTRATA_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "bpf/conf.h"

/*
 * Fills the tables of trace.bpf.c: low byte the 64-bit call of that number, high byte the 32-bit
 * one. @kinds is a set of bits 1 << enum op_kind: calls of other kinds are left out. @vfs_tells:
 * vfs_read() and vfs_write() are probed and give the file.
 */
void syscalls_fill(uint16_t calls[CALL_MAX], uint16_t offsets[CALL_MAX], unsigned int kinds,
		   bool vfs_tells);

/* Name of a call number, | CALL_COMPAT for a 32-bit one, or of an opcode (see CALL_URING); "?" if
 * it is not in the list; NULL if no list is known. */
typedef const char *syscall_name_fn(unsigned short call);

/* What knows the names of @machine's calls. */
syscall_name_fn *syscall_names(enum machine machine);

#endif
