/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * waterfall.h - the strata of one or many operations as text: a bar each, top-down, and their sum.
 */
#ifndef IOSTRATA_WATERFALL_H
#define IOSTRATA_WATERFALL_H

#include "breakdown_view.h"
#include "text.h"

struct waterfall {
	const char *fs;			/* name of the file system, hostile; "": not known */
	const uint64_t *strata;		/* ST_N of them */
	uint64_t total_ns;
	uint64_t count;			/* of operations; means are per operation */
	bool stairs;			/* a bar begins where the one above ended */
};

/* Strata that are 0 or not measured have no line. */
void waterfall_put(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w);

/* Columns of the text: what the view says, 80 at least. */
int view_width(const struct breakdown_view *v);

/* A time as the view wants it: "55.3 us", with -m "0.0553 ms". */
struct text_num view_time(const struct breakdown_view *v, uint64_t ns);

/* The same without "ms" in columns whose title tells. */
struct text_num view_cell(const struct breakdown_view *v, uint64_t ns);

/* Escape sequence for the terminal if the view wants colours, "" else. */
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

#endif
