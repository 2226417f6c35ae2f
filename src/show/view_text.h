/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * view_text.h - how a view wants its text: width, times, colours, tables.
 */
#ifndef IOSTRATA_VIEW_TEXT_H
#define IOSTRATA_VIEW_TEXT_H

#include "base/text.h"
#include "show/breakdown_view.h"

/* Columns of a line: 80, unless the view has another width. */
int view_width(const struct breakdown_view *v);

/* Columns to which text is cut: no line is, but on a terminal. */
int view_cut(const struct breakdown_view *v);

/* Whether there is no room for two things beside one another. */
bool view_is_narrow(const struct breakdown_view *v);

/* A time as the view wants it: "55.3 us", with -m "0.0553 ms". */
struct text_num view_time(const struct breakdown_view *v, uint64_t ns);

/* When the interval ended: "14:05:09", "14:05:09.3". */
struct text_num view_clock(const struct breakdown_view *v);

/* Escape sequence for the terminal if the view wants colours, else "". */
enum paint {
	PAINT_OFF,
	PAINT_TITLE,
	PAINT_CPU,
	PAINT_QUEUE,
	PAINT_DEVICE,
	PAINT_RUNQ,
	PAINT_OTHER,
};
const char *view_paint(const struct breakdown_view *v, enum paint p);

/* One line of safe text. */
void view_line(struct text_out *o, const struct breakdown_view *v, const char *safe);

/* Safe text in lines as wide as the view, from the second on indented. */
void view_wrap(struct text_out *o, const struct breakdown_view *v, const char *safe);

/* What shows rows that a table has no room for: "-v shows them". */
const char *view_more(const struct breakdown_view *v);

/* "fsync ext4", or with --by the name of the key; at most @columns wide. Safe. */
void view_row_name(char *dst, size_t cap, const struct breakdown_view *v,
		   const struct op_row *r, int columns);

/* The first @n rows of operations, or of requests, as a table. */
void view_ops(struct text_out *o, const struct breakdown_view *v, const struct breakdown_rows *rows,
	      size_t n);
/* The figures of one row of operations, without its name. */
void view_figures(struct text_out *o, const struct breakdown_view *v,
		  const struct breakdown_whole *whole, const struct op_row *r);
void view_requests(struct text_out *o, const struct breakdown_view *v,
		   const struct breakdown_rows *rows, size_t n);

#endif
