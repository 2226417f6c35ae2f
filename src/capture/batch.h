/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * batch.h - the records of a chunk until it is written, as columns, and how each column is packed.
 */
#ifndef IOSTRATA_CAPTURE_BATCH_H
#define IOSTRATA_CAPTURE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"
#include "capture/rowpack.h"

struct batch {
	struct rowpack columns;
	uint64_t first_ns, last_ns; /* when the first of them ended, and the last */
	char *text;                 /* of names; the writer's */
	size_t text_len;
};

/* Records by their columns: @n of them, at most PACK_SPAN. */
struct batch_span {
	unsigned int n;
	uint64_t first_ns, last_ns; /* when the first of them ended, and the last */
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

/* The head of a chunk as bytes, and back; numbers are little endian. Bytes in buffers and
 * in files. */

/* What is counted, recorded or lost. */
static inline bool is_records(unsigned int kind)
{
	return kind == CHUNK_OPS || kind == CHUNK_REQUESTS;
}

/* What grows with what happens. */
static inline bool is_events(unsigned int kind)
{
	return is_records(kind) || kind == CHUNK_HANDLES;
}

/* Writes CHUNK_HEAD bytes. */
void head_put(uint8_t *p, const struct chunk_head *h);

/* Reads CHUNK_HEAD hostile bytes. False: they are not a head. */
bool head_get(const uint8_t *p, struct chunk_head *h);

uint32_t get_u32(const uint8_t *p);
void put_u32(uint8_t *p, uint32_t v);
void put_u64(uint8_t *p, uint64_t v);

/* Writes all @len bytes. 0 or -errno. */
int bytes_write(int fd, const uint8_t *p, size_t len);

/* What packs the payload of chunks, a ZSTD_CCtx. NULL: out of memory. */
void *packer_make(void);

/* Makes *@buf, of *@cap bytes, large enough for @size. 0 or -ENOMEM. */
int bytes_reserve(uint8_t **buf, size_t *cap, size_t size);

/*
 * Operations that follow one another and differ only in their times, ranges and results:
 * they go into the columns from where they are, without a row for each.
 */

enum { SPAN_DIFFER = (sizeof(struct sent_op) - offsetof(struct sent_op, offset)) / 8 };

/* Operations like the first of them. */
struct span {
	unsigned int n;               /* at most PACK_SPAN */
	uint64_t first_ns, last_ns;   /* when the first of them ended, and the last */
	uint64_t differ[SPAN_DIFFER]; /* bits that differ in offset and what is behind it */
};

/* Looks how many of @n operations are like the first. */
void span_look(const struct sent_op *s, size_t n, struct span *ret_span);

/* Makes a batch of these. @same: the first of them, as it is recorded; with @s in use by the
 * batch. */
void span_batch(const struct span *span, const struct sent_op *s, const struct cap_op *same,
		struct batch_span *ret_batch);

#endif
