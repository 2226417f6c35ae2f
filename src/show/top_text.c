// SPDX-License-Identifier: GPL-2.0-only
#include "show/top_text.h"

#include <string.h>

static void put_table(struct text_out *o, const struct top_text *v, const struct columns *t,
		      const struct top_list *l)
{
	size_t n = l->n < v->max_rows ? l->n : v->max_rows;

	columns_text(o, t, (const void *const *)l->rows, n);
	if (l->n > n)
		text_put(o, "(%s more)\n", text_count(l->n - n).s);
}

int top_text(FILE *f, const struct top_text *v, const struct snapshot *sn)
{
	struct top_columns c = top_columns_text(v->view, v->sort);
	struct text_out o = { .f = f };
	struct top_table table;
	struct top_figures figures = { .table = &table };
	struct columns t = { .list = c.list, .ctx = &figures, .width = v->width,
			     .uncut = v->uncut, .milliseconds = true };
	struct top_order order = { .by = columns_find(c.list, v->sort) };
	struct top_list list;
	char foot[TOP_LINE];
	int err = top_table_init(&table, sn, v->view, TOP_REQUESTS, v->names);

	if (!err)
		err = top_list_init(&list, &figures, &order);
	if (err) {
		top_table_done(&table);
		return err;
	}
	text_put(&o, "%s%s\n\n", v->clear ? "\033[H\033[2J" : "", v->head);
	put_table(&o, v, &t, &list);
	if (v->gone && *v->gone)
		text_wrap(&o, v->gone, 0, 2, v->width);
	top_foot_text(foot, v->view, sn, v->missing);
	if (*foot)
		text_wrap(&o, foot, 0, 2, v->width);
	text_put(&o, "\n");
	top_list_done(&list);
	top_table_done(&table);
	return text_end(&o);
}
