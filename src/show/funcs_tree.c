// SPDX-License-Identifier: GPL-2.0-only
/*
 * funcs_tree.c - puts the rows of a tree in order; each knows only the path of the row above. See
 * funcs_view.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/funcs_view.h"

enum { INDENT = 2, INDENTED = 12, DEPTH_MAX = 64 };

static int by_parent(const void *a, const void *b)
{
	const struct func_row *const *x = a, *const *y = b;

	if ((*x)->parent != (*y)->parent)
		return (*x)->parent < (*y)->parent ? -1 : 1;
	if ((*x)->sum.total_ns != (*y)->sum.total_ns)
		return (*x)->sum.total_ns > (*y)->sum.total_ns ? -1 : 1;
	return (*x)->func < (*y)->func ? -1 : 1;
}

/* Rows by the path of the row above them. */
struct index {
	const struct func_row **rows;
	size_t n;
};

static size_t first_below(const struct index *x, uint64_t parent)
{
	size_t lo = 0, hi = x->n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (x->rows[mid]->parent < parent)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool has_path(const struct func_snapshot *sn, uint64_t path)
{
	for (size_t i = 0; i < sn->n_tree; i++)
		if (sn->tree[i].path == path)
			return true;
	return false;
}

static int node_add(struct funcs_tree *t, const struct funcs_view *v, const struct func_row *row,
		    int depth)
{
	const char *name = v->funcs->at[row->func].name;
	char *label;
	int len;

	if (depth <= INDENTED)
		len = asprintf(&label, "%*s%s", depth * INDENT, "", name);
	else
		len = asprintf(&label, "%*s(%d) %s", INDENTED * INDENT, "", depth, name);
	if (len < 0)
		return -ENOMEM;
	t->at[t->n++] = (struct funcs_node){ .row = row, .label = label, .depth = depth };
	return 0;
}

/* Adds a row, then what it called; never more rows than there are, whatever their paths say. */
static int branch_add(struct funcs_tree *t, const struct funcs_view *v, const struct index *x,
		      uint64_t parent)
{
	size_t at[DEPTH_MAX + 1];
	uint64_t path[DEPTH_MAX + 1];
	int depth = 0, err = 0;

	path[0] = parent;
	at[0] = first_below(x, parent);
	while (depth >= 0 && !err && t->n < x->n) {
		const struct func_row *row = at[depth] < x->n ? x->rows[at[depth]] : NULL;

		if (!row || row->parent != path[depth]) {
			depth--;
			continue;
		}
		at[depth]++;
		err = node_add(t, v, row, depth);
		if (depth == DEPTH_MAX)
			continue;
		path[++depth] = row->path;
		at[depth] = first_below(x, row->path);
	}
	return err;
}

/* An interval can have rows whose caller has not returned yet: they are shown at the top level. */
static int orphans_add(struct funcs_tree *t, const struct funcs_view *v,
		       const struct func_snapshot *sn, const struct index *x)
{
	uint64_t last = 0;
	int err = 0;

	for (size_t i = 0; i < x->n && !err; i++) {
		if (!x->rows[i]->parent || x->rows[i]->parent == last)
			continue;
		last = x->rows[i]->parent;
		if (!has_path(sn, last))
			err = branch_add(t, v, x, last);
	}
	return err;
}

int funcs_tree_init(struct funcs_tree *t, const struct funcs_view *v,
		    const struct func_snapshot *sn)
{
	struct index x = { .rows = calloc(sn->n_tree + 1, sizeof(*x.rows)), .n = sn->n_tree };
	int err = 0;

	*t = (struct funcs_tree){ .at = calloc(sn->n_tree + 1, sizeof(*t->at)) };
	if (!x.rows || !t->at)
		err = -ENOMEM;
	for (size_t i = 0; i < x.n && !err; i++)
		x.rows[i] = &sn->tree[i];
	if (!err) {
		qsort(x.rows, x.n, sizeof(*x.rows), by_parent);
		err = branch_add(t, v, &x, 0);
	}
	if (!err)
		err = orphans_add(t, v, sn, &x);
	free(x.rows);
	if (err)
		funcs_tree_done(t);
	return err;
}

void funcs_tree_done(struct funcs_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->at[i].label);
	free(t->at);
	*t = (struct funcs_tree){};
}
