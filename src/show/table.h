/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - rows and columns as aligned text that fits a width. Knows nothing of what is shown.
 */
#ifndef IOSTRATA_TABLE_H
#define IOSTRATA_TABLE_H

#include "text.h"

enum { TABLE_CELL = 1024, TABLE_COLS = 16 };

/* A column is as wide as its widest cell; what is too long is cut. */
struct table_col {
	const char *title;
	int max;			/* at most this wide; 0: what the others leave */
	bool right;			/* aligned */
	enum text_cut cut;
	/* Writes the text of @row, safe for a terminal, to @dst of TABLE_CELL bytes. */
	void (*cell)(char *dst, const void *row, const void *ctx);
};

struct table {
	struct table_col cols[TABLE_COLS];
	size_t n_cols;
	int width;			/* no line is longer, if the .max allow it */
	const void *ctx;		/* for the cells */
};

/* Titles, then a line per row. */
void table_put(struct text_out *o, const struct table *t, const void *const *rows, size_t n_rows);

#endif
