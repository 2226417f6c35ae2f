/* SPDX-License-Identifier: GPL-2.0-only */
/* func_collect.h - sums up the counters of the programs on functions since the last look. Does not
 * attach, and writes only maxima. */
#ifndef IOSTRATA_FUNCS_FUNC_COLLECT_H
#define IOSTRATA_FUNCS_FUNC_COLLECT_H

#include "funcs/func_rows.h"

struct func_collect;
struct func_memory;

/* @mem outlives the result. Returns NULL if out of memory. */
struct func_collect *func_collect_open(const struct func_memory *mem);
void func_collect_free(struct func_collect *c); /* NULL is fine */

/* Collects new counts. Call it at least once in 2^32 calls of a function, since histogram counts
 * wrap. Returns 0 or -errno. */
int func_collect_more(struct func_collect *c);

/* Collects, then moves all counts since the last func_collect_take() to the rows of @sn. Returns 0
 * or -errno. */
int func_collect_take(struct func_collect *c, struct func_snapshot *sn);

#endif
