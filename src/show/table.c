// SPDX-License-Identifier: GPL-2.0-only
/*
 * table.c - lays out a table; see table.h.
 */
#include "table.h"

#include <string.h>

enum { MIN_FLEXIBLE = 4 };

/* Columns of the widest cell or title of @c. */
static int natural_width(const struct table *t, const struct table_col *c, const void *const *rows,
			 size_t n_rows)
{
	int widest = text_width(c->title);
	char cell[TABLE_CELL];

	for (size_t i = 0; i < n_rows; i++) {
		int width;

		c->cell(cell, rows[i], t->ctx);
		width = text_width(cell);
		widest = width > widest ? width : widest;
	}
	return c->max && widest > c->max ? c->max : widest;
}

/* Widths of all columns, the flexible ones shrunk until the lines fit; returns the gap between
 * columns. */
static int layout(const struct table *t, const void *const *rows, size_t n_rows, int *widths)
{
	int total = 0, gaps = t->n_cols - 1;

	for (size_t i = 0; i < t->n_cols; i++) {
		widths[i] = natural_width(t, &t->cols[i], rows, n_rows);
		total += widths[i];
	}
	for (size_t i = 0; i < t->n_cols; i++) {
		int excess = total + gaps - t->width, spare = widths[i] - MIN_FLEXIBLE;

		if (t->cols[i].max || excess <= 0 || spare <= 0)
			continue;
		excess = excess < spare ? excess : spare;
		widths[i] -= excess;
		total -= excess;
	}
	return total + 2 * gaps <= t->width ? 2 : 1;
}

/* One cell, with the gap before it that the cells so far still owe (@owed), so that no line ends
 * in blanks; returns what is owed now. */
static int put_cell(struct text_out *o, const struct table_col *c, const char *text, int width,
		    int owed)
{
	char fit[TABLE_CELL];
	int pad = width - text_fit(fit, sizeof(fit), text, width, c->cut);

	text_fill(o, ' ', owed + (c->right ? pad : 0));
	text_put(o, "%s", fit);
	return c->right ? 0 : pad;
}

void table_put(struct text_out *o, const struct table *t, const void *const *rows, size_t n_rows)
{
	int widths[TABLE_COLS], gap = layout(t, rows, n_rows, widths), owed = 0;
	char cell[TABLE_CELL];

	for (size_t c = 0; c < t->n_cols; c++)
		owed = put_cell(o, &t->cols[c], t->cols[c].title, widths[c], owed) + gap;
	text_put(o, "\n");
	for (size_t i = 0; i < n_rows; i++) {
		owed = 0;
		for (size_t c = 0; c < t->n_cols; c++) {
			t->cols[c].cell(cell, rows[i], t->ctx);
			owed = put_cell(o, &t->cols[c], cell, widths[c], owed) + gap;
		}
		text_put(o, "\n");
	}
}
