/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * names.h - the names of the ids in event.h, as typed, printed and stored in JSON. An id that is
 * out of range (a damaged record) is "?".
 */
#ifndef IOSTRATA_BASE_NAMES_H
#define IOSTRATA_BASE_NAMES_H

#include <stdbool.h>

#include "base/opts.h"
#include "event.h"

/* The activity of the thread in each stratum; ends with an empty row. */
extern const struct opt_term strata_terms[];

const char *op_name(unsigned int op);         /* read write open close fsync copy meta */
const char *stratum_name(unsigned int st);    /* syscall vfs fs ... sleep */
const char *stratum_label(unsigned int st);   /* in text: "run queue" for runq */
char stratum_letter(unsigned int st);         /* in a bar; all layers on the CPU: 'C' */
const char *cache_name(unsigned int cache);   /* hit miss ...; "-": none */
const char *cache_known(unsigned int cache);  /* as in JSON; NULL: none, or not known */
const char *rq_op_name(unsigned int op);      /* read write flush ... */
const char *rq_op_code(unsigned int op);      /* as blkparse: R W F D DE WZ Z N */
const char *by_name(unsigned int by);         /* pid comm file cgroup dev cache ... */
const char *layer_name(unsigned int layer);   /* ops syscall vfs fs blk */
const char *behalf_name(unsigned int behalf); /* writeback helper; NULL: of nobody else */
const char *lost_name(unsigned int lost);     /* ring map_full unmatched_start ... */

/* The kind of loss @lost as the end of a sentence which begins with the number @n; LOST_N: hits
 * which the kernel missed. NULL: it is no loss, since the calls began before tracing did. */
const char *lost_what(unsigned int lost, uint64_t n);

/* The requests of io_uring and libaio that are operations, and the names of their opcodes. */

/* By opcode of io_uring: the kind of a call that does the same (enum op_kind); OP_NONE: it is no
 * operation on files, or not known. */
void uring_fill(unsigned char kinds[URING_OPS]);

/* The kind of call that does the same as an operation of @kind and @call (see CALL_URING,
 * CALL_AIO). @kind itself for a call. */
unsigned int async_acts(unsigned int kind, unsigned short call);

/* The kind of call with the same layers as an operation of @kind and @call. Requests of io_uring
 * and libaio have layers only if executed by their thread, as reads and writes are. */
unsigned int async_layers(unsigned int kind, unsigned short call);

/* Whether an operation of @kind and @call is a request of io_uring or libaio. Those of one thread
 * can overlap. */
bool async_is_request(unsigned int kind, unsigned short call);

/* The strata that no operation of @kind and @call can have, since nothing measures them: a set of 1
 * << enum stratum. No event tells when io_getevents() returns the completion of a request. */
unsigned int async_unmeasured(unsigned int kind, unsigned short call);

/* Name of the opcode in @call, of a page fault, of a request to nfsd or of a command to ksmbd; NULL
 * for a system call or an opcode without operations. */
const char *async_call_name(unsigned short call);

#endif
