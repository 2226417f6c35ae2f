/* SPDX-License-Identifier: GPL-2.0-only */
/* uring.h - which requests of io_uring are operations, and what their opcodes are called. */
#ifndef IOSTRATA_URING_H
#define IOSTRATA_URING_H

#include "event.h"

/* By opcode: the kind of a call that does the same (enum op_kind); OP_NONE: it is no operation on
 * files, or not known. */
void uring_fill(unsigned char kinds[URING_OPS]);

/* That of an operation of @kind and @call (see CALL_URING); @kind itself, if it is a call. */
unsigned int uring_acts(unsigned int kind, unsigned short call);

/* The kind of operation whose layers are those of an operation of @kind and @call. Those of
 * io_uring have any only if their thread executes them itself, as it does to read and write. */
unsigned int uring_layers(unsigned int kind, unsigned short call);

/* Name of @call's opcode; NULL if it is no operation, or not io_uring's. */
const char *uring_call_name(unsigned short call);

#endif
