/* SPDX-License-Identifier: GPL-2.0-only */
/* func_memory.h - maps the counters of the programs on functions into our memory. */
#ifndef IOSTRATA_FUNC_MEMORY_H
#define IOSTRATA_FUNC_MEMORY_H

#include "bpf/func.h"
#include "cell.h"

struct func_bpf;

struct func_memory {
	enum func_rows rows;
	unsigned int n_funcs, n_cpus, n_hists;
	struct func_sums *cells;		/* mapped: [n_cpus][n_funcs + 1] */
	const unsigned int *hists;		/* mapped: [n_hists][n_funcs + 1][HIST_N] */
	const unsigned long long *unreturned;	/* mapped: [n_funcs + 1] */
	int rows_fd;
};

/* @obj is loaded and outlives @m. 0 or -ENOMEM; call func_memory_done() in either case. */
int func_memory_open(struct func_memory *m, const struct func_bpf *obj);
void func_memory_done(struct func_memory *m);	/* leaves it empty */

#endif
