/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * span.h - operations that follow one another and differ only in their times, ranges and results:
 * they go into the columns from where they are, without a row for each.
 */
#ifndef IOSTRATA_SPAN_H
#define IOSTRATA_SPAN_H

#include <stddef.h>

#include "capture/batch.h"

enum { SPAN_DIFFER = (sizeof(struct sent_op) - offsetof(struct sent_op, offset)) / 8 };

/* Operations like the first of them. */
struct span {
	unsigned int n;			/* at most PACK_SPAN */
	uint64_t first_ns, last_ns;	/* when the first of them ended, and the last */
	uint64_t differ[SPAN_DIFFER];	/* bits that differ in offset and what is behind it */
};

/* Looks how many of @n operations are like the first. */
void span_look(const struct sent_op *s, size_t n, struct span *ret_span);

/* Makes a batch of these. @same: the first of them, as it is recorded; with @s in use by the
 * batch. */
void span_batch(const struct span *span, const struct sent_op *s, const struct cap_op *same,
		struct batch_span *ret_batch);

#endif
