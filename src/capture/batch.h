/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * batch.h - the records of a chunk until it is written, as columns, and how each column is packed.
 */
#ifndef IOSTRATA_BATCH_H
#define IOSTRATA_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"
#include "capture/rowpack.h"

struct batch {
	struct rowpack columns;
	uint64_t first_ns, last_ns;	/* when the first of them ended, and the last */
	char *text;			/* of names; the writer's */
	size_t text_len;
};

/* Records by their columns: @n of them, at most PACK_SPAN. */
struct batch_span {
	unsigned int n;
	uint64_t first_ns, last_ns;	/* when the first of them ended, and the last */
	struct pack_values columns[PACK_COLUMNS];
};

/* Empty ones for all kinds of chunks that have columns. */
void batches_init(struct batch batches[CHUNK_KINDS]);

/* The columns of an index, which has no times. */
struct rowpack batch_index(void);

/* Adds records. 0, or -ENOMEM with nothing added. */
int batch_add_span(struct batch *b, const struct batch_span *span);

/* The row that there is room for is a record now, which ended at @ns. */
void batch_added(struct batch *b, uint64_t ns);

#endif
