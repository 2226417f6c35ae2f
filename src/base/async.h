/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * async.h - the requests of io_uring and libaio that are operations: which call does the same,
 * which layers and strata they can have, and the names of their opcodes.
 */
#ifndef IOSTRATA_BASE_ASYNC_H
#define IOSTRATA_BASE_ASYNC_H

#include <stdbool.h>

#include "event.h"

/* Sets @kinds, by opcode of io_uring, to the kind of a call that does the same (enum op_kind).
 * OP_NONE: the opcode is no operation on files, or not known. */
void async_uring_kinds(unsigned char kinds[URING_OPS]);

/* The kind of call that does the same as an operation of @kind and @call (see CALL_URING,
 * CALL_AIO). @kind itself for a call. */
unsigned int async_acts(unsigned int kind, unsigned short call);

/* The kind of call with the same layers as an operation of @kind and @call. Requests of io_uring
 * and libaio have layers only if executed by their thread, as reads and writes are. */
unsigned int async_layers(unsigned int kind, unsigned short call);

/* Whether an operation of @kind and @call is a request of io_uring or libaio. Those of one thread
 * can overlap. */
bool async_is_request(unsigned int kind, unsigned short call);

/* Whether tables have a row for each call of an operation's @kind: the kind alone says too little.
 * Of page faults only swaps and faults of the kernel have such rows. */
bool async_is_by_call(unsigned int kind, unsigned short call);

/* The strata that no operation of @kind and @call can have, since nothing measures them: a set of 1
 * << enum stratum. No event tells when io_getevents() returns the completion of a request. */
unsigned int async_unmeasured(unsigned int kind, unsigned short call);

/* Name of the opcode in @call, of a page fault, of a request to nfsd, of a command to ksmbd or of
 * io_uring_enter(); NULL for another system call or an opcode without operations. */
const char *async_call_name(unsigned short call);

#endif
