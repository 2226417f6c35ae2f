/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * func_columns.h - columns and order of the rows of functions, shared by text, JSON and the screen.
 * Prints nothing.
 */
#ifndef IOSTRATA_FUNCS_FUNC_COLUMNS_H
#define IOSTRATA_FUNCS_FUNC_COLUMNS_H

#include <stdint.h>

#include "base/columns.h"
#include "funcs/func_rows.h"

struct funcs_view {
	const struct func_list *funcs;
	const char *probe;            /* how the functions are probed */
	const struct func_cost *cost; /* of a probe */
	const char *by;               /* name of the key; NULL: none */
	const char *sort;             /* name or title of a column */
	bool reverse;                 /* smallest values first */
	size_t most;                  /* most rows of text; 0: all */
	bool tree;                    /* there is a tree to show */
	bool subtract;                /* the cost is subtracted from all times */
	bool histograms;              /* text only */
	bool milliseconds;            /* text only */
	int width;                    /* of the text; 0: 80 */
	const char *kernel;           /* release */
	uint64_t every_ns; /* length of each of several intervals; 0: there is only one */
	uint64_t until_ns; /* when the interval ended, since 1970 */
};

extern const struct column funcs_columns[], funcs_tree_columns[];

/* Whether half or more of the measured time of these calls is the probes', or was spent waiting for
 * a CPU. False without calls that returned. Without --subtract, only the probe of each call itself
 * is known. */
bool func_is_mostly_probe(const struct funcs_view *v, const struct func_row *r);

/* Number of traced functions in @l. */
size_t func_traced(const struct func_list *l);

/* Rows in the order of the view. The snapshot owns the rows; free the list with func_rows_done().
 */
struct funcs_rows {
	const struct func_row **at;
	size_t n;
	size_t n_sure; /* if sorted by a time: the rows that are not mostly probe are first; else n
			*/
	uint64_t self_ns; /* of all rows */
};

/* Returns 0 or -ENOMEM. */
int func_rows_init(struct funcs_rows *r, const struct funcs_view *v,
		   const struct func_snapshot *sn);
void func_rows_done(struct funcs_rows *r);

/* A row of the tree, and its depth. */
struct funcs_node {
	const struct func_row *row;
	char *label; /* the function's name, indented, or after its depth in brackets; owned */
	int depth;
};

/* The tree from the top, biggest total first; below each function, the functions it called. */
struct funcs_tree {
	struct funcs_node *at;
	size_t n;
};

/* Returns 0 or -ENOMEM: then there is nothing to free. */
int func_tree_init(struct funcs_tree *t, const struct funcs_view *v,
		   const struct func_snapshot *sn);
void func_tree_done(struct funcs_tree *t);

/* The JSON name of a loss, such as "threads", and its message. */
const char *func_loss_name(enum func_loss what);
const char *func_loss_text(enum func_loss what);

#endif
