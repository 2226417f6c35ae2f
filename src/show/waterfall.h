/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * waterfall.h - the strata of one or many operations as text: a line each, with its share, its mean
 * and a bar.
 */
#ifndef IOSTRATA_WATERFALL_H
#define IOSTRATA_WATERFALL_H

#include "base/text.h"
#include "show/breakdown_view.h"

struct waterfall {
	const char *fs;			/* name of the file system, hostile; "": not known */
	const uint64_t *strata;		/* ST_N of them */
	uint64_t total_ns;
	uint64_t count;			/* of operations; means are per operation */
	int indent;			/* where lines begin */
	int at;				/* where the first begins; the caller started that line */
	int lines;			/* at most: biggest first, the last is the rest; 0: all,
					 * and their sum */
	bool by_size;			/* all, biggest first; else from the top down */
};

/* Strata that are 0 or not measured have no line. */
void waterfall_put(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w);

#endif
