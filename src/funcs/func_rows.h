/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_rows.h - traced functions, and the sums of their calls, as plain data. The session makes
 * them, print and screen show them. Also maps the counters of the programs.
 */
#ifndef IOSTRATA_FUNCS_FUNC_ROWS_H
#define IOSTRATA_FUNCS_FUNC_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hist.h"
#include "bpf/func.h"
#include "cell.h"

struct func_bpf;

/* A function. Its names are hostile text. */
struct func {
	char *name;          /* owned */
	char *demangled;     /* the name as C++ has it, or NULL; owned */
	const char *where;   /* module, or path of the file; "": the kernel itself */
	uint64_t addr;       /* address in the kernel, or offset in the file */
	const char *refused; /* why the function cannot be traced, or NULL */
};

/* The name of a function for people. */
const char *func_shown(const struct func *f);

/* Functions by number; owned. */
struct func_list {
	struct func *at;
	size_t n, cap;
	char **places; /* texts for func.where; owned */
	size_t n_places;
	const char *no_times; /* why calls are counted only, and no return is probed; NULL: times
			       * are measured. Hostile text */
};

/* Adds a copy of @name. @where lives as long as the list. Returns 0 or -ENOMEM. */
int func_list_add(struct func_list *l, const char *name, const char *where, uint64_t addr);

/* Returns a copy of the first @len bytes of @where. The copy lives as long as the list. Equal texts
 * share one copy. Returns NULL if out of memory. */
const char *func_list_place(struct func_list *l, const char *where, size_t len);

void func_list_free(struct func_list *l); /* leaves it empty */

/* Sums over calls that returned; times in ns. */
struct func_figures {
	uint64_t count;
	uint64_t total_ns, self_ns;
	uint64_t min_ns, max_ns; /* 0 if count is 0 */
	/* with --subtract, else 0: the probes' time, in no other sum; and the part of total_ns in
	 * which the threads waited for a CPU */
	uint64_t probe_ns, preempted_ns;
};

void func_figures_add(struct func_figures *sum, const struct func_figures *f);

struct func_row {
	unsigned int func;     /* in the list */
	char *by;              /* key of --by as text; NULL: none; owned, hostile */
	uint64_t path, parent; /* ids in the tree: of this row, and of its parent or 0 */
	struct func_figures sum;
	uint64_t unreturned; /* calls whose return was not traced; not in sum */
	struct hist hist;    /* of calls that returned; empty in the tree */
};

/* The ways to lose a call. */
enum func_loss {
	FUNC_LOSS_THREADS, /* no room for the state of a thread */
	FUNC_LOSS_ROWS,    /* no room for a row */
	FUNC_LOSS_DEPTH,   /* too deep in traced functions */
	FUNC_LOSS_END,     /* the return was traced, but not the beginning */
	FUNC_LOSS_RETURN,  /* the return was not traced; the function is not known */
	FUNC_LOSS_MISSED,  /* the kernel missed the probe */
	FUNC_LOSS_N,
};

struct func_snapshot {
	struct func_row *rows; /* by function, or by function and key; not sorted */
	size_t n_rows;
	struct func_row *tree; /* rows of the tree, or NULL; not sorted */
	size_t n_tree;
	uint64_t duration_ns;
	uint64_t lost[FUNC_LOSS_N];
	/* the first traced process that a signal of a fault killed, so far; 0: none, or returns are
	 * not probed */
	unsigned int killed_tgid, killed_by;
	bool has_overhead;
	uint64_t bpf_run_ns, bpf_run_cnt; /* time and runs of our programs, so far */
};

void func_snapshot_free(struct func_snapshot *sn); /* leaves it empty */

/* The cost of one probe, measured on an empty function; in ns, 0: not known. */
struct func_cost {
	double call_ns;       /* additional time of a call */
	double inside_ns;     /* the part measured as time of the call */
	bool preempted_known; /* with --subtract: func_figures.preempted_ns is measured */
};

/* The counters of the programs on functions, mapped into our memory. */
struct func_memory {
	enum func_rows rows;
	bool counted_only; /* no returns are probed */
	unsigned int n_funcs, n_cpus, n_hists;
	struct func_sums *cells;              /* mapped: [n_cpus][n_funcs + 1] */
	const unsigned int *hists;            /* mapped: [n_hists][n_funcs + 1][HIST_N] */
	const unsigned long long *unreturned; /* mapped: [n_funcs + 1] */
	int rows_fd;
};

/* @obj is loaded and outlives @m. Returns 0 or -ENOMEM; call func_memory_done() in either case. */
int func_memory_open(struct func_memory *m, const struct func_bpf *obj);
void func_memory_done(struct func_memory *m); /* leaves it empty */

#endif
