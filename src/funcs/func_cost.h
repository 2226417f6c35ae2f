/* SPDX-License-Identifier: GPL-2.0-only */
/* func_cost.h - the cost of a probe, measured on an empty function. */
#ifndef IOSTRATA_FUNCS_FUNC_COST_H
#define IOSTRATA_FUNCS_FUNC_COST_H

#include "funcs/func_rows.h"

struct func_attached;
struct func_live;
struct func_memory;

/*
 * Measures the cost of a probe on an empty function; also tests whether this way to probe works.
 *
 * The first calls tell the programs how far from its entry a function returns (live->sp_shift). The
 * function has number @func, the last of @m. The probe is gone on return. If only entries are
 * probed, ret_cost->inside_ns is 0. Returns 0 with @ret_cost, or -errno: this way to probe does not
 * work.
 */
int func_cost_measure(struct func_attached *a, struct func_live *live, unsigned int func,
		      const struct func_memory *m, struct func_cost *ret_cost);

#endif
