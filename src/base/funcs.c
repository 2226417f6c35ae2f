// SPDX-License-Identifier: GPL-2.0-only
#include "base/funcs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int func_list_add(struct func_list *l, const char *name, const char *where, uint64_t addr)
{
	size_t cap = l->cap ? 2 * l->cap : 64;
	struct func *at;
	char *copy;

	if (l->n == l->cap) {
		at = reallocarray(l->at, cap, sizeof(*at));
		if (!at)
			return -ENOMEM;
		l->at = at;
		l->cap = cap;
	}
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	l->at[l->n++] = (struct func){ .name = copy, .where = where, .addr = addr };
	return 0;
}

const char *func_list_place(struct func_list *l, const char *where, size_t len)
{
	char **places, *copy;

	for (size_t i = 0; i < l->n_places; i++)
		if (!strncmp(l->places[i], where, len) && !l->places[i][len])
			return l->places[i];
	copy = strndup(where, len);
	places = copy ? reallocarray(l->places, l->n_places + 1, sizeof(*places)) : NULL;
	if (!places) {
		free(copy);
		return NULL;
	}
	l->places = places;
	return l->places[l->n_places++] = copy;
}

void func_list_free(struct func_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i].name);
	for (size_t i = 0; i < l->n_places; i++)
		free(l->places[i]);
	free(l->at);
	free(l->places);
	*l = (struct func_list){};
}

void func_figures_add(struct func_figures *sum, const struct func_figures *f)
{
	if (f->count && (!sum->count || sum->min_ns > f->min_ns))
		sum->min_ns = f->min_ns;
	if (sum->max_ns < f->max_ns)
		sum->max_ns = f->max_ns;
	sum->count += f->count;
	sum->total_ns += f->total_ns;
	sum->self_ns += f->self_ns;
}

static void rows_free(struct func_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rows[i].by);
		free(rows[i].hist.bins);
	}
	free(rows);
}

void func_snapshot_free(struct func_snapshot *sn)
{
	rows_free(sn->rows, sn->n_rows);
	rows_free(sn->tree, sn->n_tree);
	*sn = (struct func_snapshot){};
}
