/* SPDX-License-Identifier: GPL-2.0-only */
/* cost.h - what a probe costs, measured on a function that does nothing. */
#ifndef IOSTRATA_FUNCS_COST_H
#define IOSTRATA_FUNCS_COST_H

#include "funcs/rows.h"

struct func_attached;
struct func_live;
struct func_sums;

/*
 * Probes a function that does nothing, which also tests this way to probe. From its first calls it
 * learns how far from its entry a function returns (live->sp_shift). The function has number @func;
 * @cells are its sums, one every @stride, @n of them. It is no longer probed on return. 0 with
 * @ret_cost, or -errno: this way to probe does not work.
 */
int func_cost_measure(struct func_attached *a, struct func_live *live, unsigned int func,
		      const struct func_sums *cells, size_t stride, size_t n,
		      struct func_cost *ret_cost);

#endif
