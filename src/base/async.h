/* SPDX-License-Identifier: GPL-2.0-only */
/* async.h - which requests of io_uring and libaio are operations, and what their opcodes are
 * called. */
#ifndef IOSTRATA_ASYNC_H
#define IOSTRATA_ASYNC_H

#include <stdbool.h>

#include "event.h"

/* By opcode of io_uring: the kind of a call that does the same (enum op_kind); OP_NONE: it is no
 * operation on files, or not known. */
void uring_fill(unsigned char kinds[URING_OPS]);

/* That of an operation of @kind and @call (see CALL_URING, CALL_AIO); @kind itself, if it is a
 * call. */
unsigned int async_acts(unsigned int kind, unsigned short call);

/* The kind of operation whose layers are those of an operation of @kind and @call. Such requests
 * have any only if their thread executes them itself, as it does to read and write. */
unsigned int async_layers(unsigned int kind, unsigned short call);

/* Whether an operation of @kind and @call is such a request: they overlap. */
bool async_is_request(unsigned int kind, unsigned short call);

/* Name of @call's opcode, or of a page fault; NULL if it is no operation, or a call's number. */
const char *async_call_name(unsigned short call);

#endif
