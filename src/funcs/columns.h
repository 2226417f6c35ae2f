/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * columns.h - how to show calls of functions: their columns and order, which text and JSON have
 * in common.
 */
#ifndef IOSTRATA_FUNCS_COLUMNS_H
#define IOSTRATA_FUNCS_COLUMNS_H

#include <stdint.h>

#include "base/columns.h"
#include "funcs/rows.h"

struct funcs_view {
	const struct func_list *funcs;
	const char *probe;            /* how they are probed */
	const struct func_cost *cost; /* of a probe */
	const char *by;               /* name of the key; NULL: none */
	const char *sort;             /* name or title of a column */
	bool reverse;                 /* the smallest of it first */
	size_t most;                  /* rows of text; 0: all */
	bool tree;                    /* there is a tree, and it is shown */
	bool subtract;                /* the cost is subtracted */
	bool histograms;              /* text only */
	bool milliseconds;            /* text only */
	int width;                    /* of the text; 0: 80 */
	const char *kernel;           /* release */
	uint64_t every_ns;            /* it is one of several intervals of this length; 0: not */
	uint64_t until_ns;            /* when the interval ended, since 1970 */
};

extern const struct column funcs_columns[], funcs_tree_columns[];

/* How many of them are traced. */
size_t funcs_traced(const struct func_list *l);

/* Rows in order, owned by the snapshot; the list is the caller's to free. */
struct funcs_rows {
	const struct func_row **at;
	size_t n;
	uint64_t self_ns; /* of all rows */
};

/* 0 or -ENOMEM. */
int funcs_rows_init(struct funcs_rows *r, const struct funcs_view *v,
		    const struct func_snapshot *sn);
void funcs_rows_done(struct funcs_rows *r);

/* A row of the tree, and how deep it is. */
struct funcs_node {
	const struct func_row *row;
	char *label; /* its name, indented or with its depth before it; owned */
	int depth;
};

/* The tree from the top, biggest total first; below each function, those that it called. */
struct funcs_tree {
	struct funcs_node *at;
	size_t n;
};

int funcs_tree_init(struct funcs_tree *t, const struct funcs_view *v,
		    const struct func_snapshot *sn);
void funcs_tree_done(struct funcs_tree *t);

/* "threads", "rows" ...; and its message: "no room for a thread". */
const char *funcs_loss_name(enum func_loss what);
const char *funcs_loss_text(enum func_loss what);

#endif
