/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * batch.h - the records of a chunk in memory, as columns, until the chunk is written; heads of
 * chunks as bytes; spans of equal operations. Knows no files.
 */
#ifndef IOSTRATA_CAPTURE_BATCH_H
#define IOSTRATA_CAPTURE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/encode.h"
#include "capture/rowpack.h"
#include "capture/stored.h"

struct batch {
	struct rowpack columns;
	uint64_t first_ns, last_ns; /* earliest and latest end of the records */
	char *text;                 /* of names; owned by the writer */
	size_t text_len;
};

/* @n records as columns, at most PACK_SPAN. */
struct batch_span {
	unsigned int n;
	uint64_t first_ns, last_ns; /* earliest and latest end of the records */
	struct pack_values columns[PACK_COLUMNS];
};

/* Makes an empty batch for each kind of chunk with columns. */
void batches_init(struct batch batches[CHUNK_KINDS]);

/* Makes rows of an open chunk of operations or handles a struct stored_op. */
void batch_read_ops(struct cursor *rows);

/* The columns of an index, without times. */
struct rowpack batch_index(void);

/* Adds records. Returns 0, or -ENOMEM with nothing added. */
int batch_add_span(struct batch *b, const struct batch_span *span);

/* Makes the reserved row a record that ended at @ns. */
void batch_added(struct batch *b, uint64_t ns);

/* The head of a chunk as bytes, and back; numbers are little endian. Bytes in buffers and
 * in files. */

/* Whether the records of a chunk of this kind are counted, as recorded or lost. */
static inline bool is_records(unsigned int kind)
{
	return kind == CHUNK_OPS || kind == CHUNK_REQUESTS;
}

/* Whether chunks of this kind hold events: operations, requests, handles, requests to servers, or
 * operations with stacks. */
static inline bool is_events(unsigned int kind)
{
	return is_records(kind) || kind == CHUNK_HANDLES || kind == CHUNK_SERVER_REQUESTS ||
	       kind == CHUNK_STACKS;
}

/* Writes CHUNK_HEAD bytes. */
void head_put(uint8_t *p, const struct chunk_head *h);

/* Reads CHUNK_HEAD hostile bytes. False: not a head. */
bool head_get(const uint8_t *p, struct chunk_head *h);

/* Writes all @len bytes. Returns 0 or -errno. */
int bytes_write(int fd, const uint8_t *p, size_t len);

/* Makes the packer of payloads, a ZSTD_CCtx. Returns NULL if out of memory. */
void *packer_make(void);

/* Makes *@buf, of *@cap bytes, large enough for @size. Returns 0 or -ENOMEM. */
int bytes_reserve(uint8_t **buf, size_t *cap, size_t size);

/*
 * Spans: consecutive operations that differ only in times, ranges and results. They are copied to
 * the columns at once, without a row for each.
 */

enum { SPAN_DIFFER = (sizeof(struct sent_op) - offsetof(struct sent_op, offset)) / 8 };

/* Consecutive operations equal to the first but for these members. */
struct span {
	unsigned int n;               /* at most PACK_SPAN */
	uint64_t first_ns, last_ns;   /* earliest and latest end of the records */
	uint64_t differ[SPAN_DIFFER]; /* differing bits, in the offset and the members after it */
};

/* Counts how many of @n operations are like the first. */
void span_look(const struct sent_op *s, size_t n, struct span *ret_span);

/* Makes columns of a span. @same: its first operation, as stored. The columns point into @s. */
void span_batch(const struct span *span, const struct sent_op *s, const struct stored_op *same,
		struct batch_span *ret_batch);

#endif
