/* SPDX-License-Identifier: GPL-2.0-only */
/* view_parts.h - the parts of all text output: widths and times, tables, histograms, bars of
 * strata, operations in progress, the note on losses. Decides no order and no sections. */
#ifndef IOSTRATA_SHOW_VIEW_PARTS_H
#define IOSTRATA_SHOW_VIEW_PARTS_H

#include <limits.h>
#include <stdint.h>

#include "base/share.h"
#include "base/snapshot.h"
#include "base/text.h"
#include "cell.h"
#include "event.h"
#include "show/breakdown.h"

/*
 * How a view wants its text: width, times, colours, tables.
 */

/* Columns of a line: 80, unless the view has another width. */
int view_width(const struct breakdown_view *v);

/* Text is cut to these columns: the width of a terminal; otherwise text is not cut. */
int view_cut(const struct breakdown_view *v);

/* Whether a line is too short for two things side by side. */
bool view_is_narrow(const struct breakdown_view *v);

/* A time as the view wants it: "55.3 us", with -m "0.0553 ms". */
struct text_num view_time(const struct breakdown_view *v, uint64_t ns);

/* When the interval ended: "14:05:09", "14:05:09.3". */
struct text_num view_clock(const struct breakdown_view *v);

/* Escape sequence for the terminal if the view has colours, else "". */
enum paint {
	PAINT_OFF,
	PAINT_TITLE,
	PAINT_SHARE, /* + enum share */
};
struct text_num view_paint(const struct breakdown_view *v, unsigned int paint);

/* One line of safe text; on a terminal it is wrapped as view_wrap() does. */
void view_line(struct text_out *o, const struct breakdown_view *v, const char *safe);

/* Safe text in lines as wide as the view; the second and later lines are indented. */
void view_wrap(struct text_out *o, const struct breakdown_view *v, const char *safe);

enum { VIEW_NONE_ENDED = TEXT_SAFE_CAP(2 * PATH_MAX) };

/* "no operation on ext4 ended (looked for --comm dd)". Safe. */
void view_none_ended(char dst[VIEW_NONE_ENDED], const struct breakdown_view *v);

/* How to see the rows left out: "-v shows them". */
const char *view_more(const struct breakdown_view *v);

/* Writes "fsync ext4", or with --by the name of the key; at most @columns wide. Safe. */
void view_row_name(char *dst, size_t cap, const struct breakdown_view *v, const struct op_row *r,
		   int columns);

/* The first @n rows of operations, or of requests, as a table. */
void view_ops(struct text_out *o, const struct breakdown_view *v, const struct breakdown_rows *rows,
	      size_t n);
void view_requests(struct text_out *o, const struct breakdown_view *v,
		   const struct breakdown_rows *rows, size_t n);

/* The figures of one row of operations, without its name. */
void view_figures(struct text_out *o, const struct breakdown_view *v,
		  const struct breakdown_whole *whole, const struct op_row *r);

/* The words for an operation that spent most of its time in the stratum: "asleep". NULL: the words
 * of its share. */
const char *stratum_mostly(unsigned int st);

/*
 * A histogram of times as text: a line per power of two, with a bar.
 */

/* Writes all lines from the first to the last with a count. @max_ns ends the last bucket, if times
 * were too long for it. Lines have at most @width columns (at least 40). */
void hist_put(struct text_out *o, const struct hist *h, uint64_t max_ns, bool milliseconds,
	      int width);

/*
 * The strata of one or many operations as text: a line each, with its share, its mean
 * and a bar.
 */

struct waterfall {
	const char *fs;         /* name of the file system, hostile; "": not known */
	const uint64_t *strata; /* ST_N of them */
	uint64_t total_ns;
	uint64_t count; /* of operations; means are per operation */
	int indent;     /* where lines begin */
	int at;         /* columns already written on the first line */
	int lines;      /* at most so many, biggest first, the rest in one; 0: all, and their sum */
	bool by_size;   /* with lines 0: biggest first, not from the top down */
};

/* Strata of 0, or not measured, have no line. */
void waterfall_put(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w);

/* Lines about operations in progress, and about losses. */

/* Writes some threads that have waited since before the start, the oldest operations in progress of
 * more than 0.1 s, and how many more there are of each. */
void unfinished_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

/* Says which disks below others have no rows, if only requests of chosen processes are shown. */
void without_rows_put(struct text_out *o, const struct breakdown_view *v,
		      const struct breakdown_rows *rows);

/* The last line of a first screen: "nothing lost; not measured: vfs, fs (this kernel); -v says
 * why". */
void notes_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn);

/* Width of the output in columns: $COLUMNS, else of the terminal at @fd, or 0 if neither is
 * known. */
int terminal_width(int fd);

#endif
