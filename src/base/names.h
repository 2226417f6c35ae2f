/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * names.h - the names of the ids in event.h, as typed, printed and stored in JSON. An id that is
 * out of range (a damaged record) is "?".
 */
#ifndef IOSTRATA_NAMES_H
#define IOSTRATA_NAMES_H

#include "base/opts.h"
#include "event.h"

/* What the thread was doing, by stratum; ends with an empty row. */
extern const struct opt_term strata_terms[];

const char *op_name(unsigned int op);		/* read write open close fsync copy meta */
const char *stratum_name(unsigned int st);	/* syscall vfs fs ... sleep */
const char *stratum_label(unsigned int st);	/* in text: "run queue" for runq */
const char *cache_name(unsigned int cache);	/* hit miss readahead direct; "-": none */
const char *rq_op_name(unsigned int op);	/* read write flush ... */
const char *rq_op_code(unsigned int op);	/* as blkparse: R W F D DE WZ Z N */
const char *by_name(unsigned int by);		/* pid comm file cgroup dev cache ... */
const char *layer_name(unsigned int layer);	/* ops syscall vfs fs blk */
const char *behalf_name(unsigned int behalf);	/* writeback helper; NULL: of nobody else */
const char *lost_name(unsigned int lost);	/* ring map_full unmatched_start ... */

/* The same as the end of a sentence, after how many; of LOST_N, what the kernel missed. NULL: it is
 * no loss, they began before tracing did. */
const char *lost_what(unsigned int lost, uint64_t n);

#endif
