// SPDX-License-Identifier: GPL-2.0-only
#include "show/breakdown_csv.h"

#include <inttypes.h>
#include <string.h>

#include "base/columns.h"
#include "show/columns.h"

enum { CSV_COLUMNS = 128 };

/* The same columns for both kinds of rows. */
struct csv_lists {
	struct column ops[CSV_COLUMNS], rqs[CSV_COLUMNS];
	size_t n;
};

/* For a column that the row does not have. */
static void get_nothing(struct value *v, const void *row, const void *ctx)
{
	(void)row;
	(void)ctx;
	v->unknown = true;
}

static void stratum_value(struct value *v, const struct op_row *r, unsigned int st,
			  const struct breakdown_whole *whole)
{
	const struct missing *m = whole->v->missing;
	bool missing = whole->v->layer != LAYER_OPS || (m && m->stratum[st]) ||
		       (r->missing_layers >> st & 1 && !r->strata[st]);

	value_number(v, r->strata[st], !missing);
}

#define STRATUM_GETTER(id, name, ...) GETTER(get_##name, op_row, stratum_value(v, r, ST_##id, ctx))
STRATUM_LIST(STRATUM_GETTER)

#define STRATUM_COLUMN(id, name, ...) { #name "_ns", NULL, VALUE_TIME, .get = get_##name },
static const struct column strata[] = { STRATUM_LIST(STRATUM_COLUMN){} };

/* The column of @list with this name in JSON, or NULL. */
static const struct column *named(const struct column *list, const char *name)
{
	for (; column_is(list); list++)
		if (list->name && !strcmp(list->name, name))
			return list;
	return NULL;
}

static void add(struct csv_lists *l, const struct column *of_ops, const struct column *of_rqs)
{
	const struct column none = { of_ops ? of_ops->name : of_rqs->name, NULL, VALUE_TEXT,
				     .get = get_nothing };

	if (l->n == CSV_COLUMNS - 1)
		return;
	l->ops[l->n] = of_ops ? *of_ops : none;
	l->rqs[l->n++] = of_rqs ? *of_rqs : none;
}

static void lists_fill(struct csv_lists *l)
{
	for (const struct column *c = op_columns; column_is(c); c++)
		if (c->name)
			add(l, c, named(rq_columns, c->name));
	for (const struct column *c = strata; column_is(c); c++)
		add(l, c, named(rq_columns, c->name));
	for (const struct column *c = rq_columns; column_is(c); c++)
		if (c->name && !named(op_columns, c->name) && !named(strata, c->name))
			add(l, NULL, c);
}

int breakdown_csv(FILE *f, const struct breakdown_view *v, const struct snapshot *sn)
{
	struct text_out o = { .f = f };
	struct breakdown_rows rows;
	struct csv_lists l = {};
	int err = breakdown_rows_init(&rows, v, sn);
	const struct columns ops = { .list = l.ops, .ctx = &rows.whole };
	const struct columns rqs = { .list = l.rqs, .ctx = &rows.whole };

	if (err)
		return err;
	lists_fill(&l);
	if (!v->interval.later) {
		text_put(&o, "end_ns,duration_ns,type,");
		columns_csv_titles(&o, &ops);
	}
	for (size_t i = 0; i < rows.n_ops; i++) {
		text_put(&o, "%" PRIu64 ",%" PRIu64 ",op,", v->interval.until_ns, sn->duration_ns);
		columns_csv(&o, &ops, rows.ops[i]);
	}
	for (size_t i = 0; i < rows.n_rqs; i++) {
		text_put(&o, "%" PRIu64 ",%" PRIu64 ",request,", v->interval.until_ns,
			 sn->duration_ns);
		columns_csv(&o, &rqs, rows.rqs[i]);
	}
	breakdown_rows_done(&rows);
	return text_end(&o);
}
