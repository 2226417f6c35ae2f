/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reader.h - reads the chunks of a recording, from a file or a pipe, and unpacks them. The input is
 * hostile: numbers are checked against their limits.
 */
#ifndef IOSTRATA_CAPTURE_READER_H
#define IOSTRATA_CAPTURE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/rowpack.h"
#include "capture/stored.h"

struct reason;

struct reader {
	FILE *f;                /* not owned */
	const char *name;       /* for messages; not owned, hostile */
	struct chunk_head head; /* of the last chunk read */
	bool ended;             /* the end was read: the recording is complete */
	uint64_t bytes;         /* read so far */
	/* private */
	uint8_t *packed, *raw;
	size_t packed_cap, raw_cap;
	bool unpacked;
	void *zstd;
};

/* Starts to read @f, called @name in messages. Returns 0, or -1 with @why: not a recording, or of a
 * later version. Call reader_done() in any case. */
int reader_begin(struct reader *r, FILE *f, const char *name, struct reason *why);
void reader_done(struct reader *r);

/* Reads the next chunk, and its head into r->head. 1; 0 at the end of the file; -1 with @why if
 * damaged. */
int reader_next(struct reader *r, struct reason *why);

/* Records of a chunk, @columns numbers each; valid until the next chunk. Returns 0, or -1 with
 * @why. */
int reader_rows(struct reader *r, unsigned int columns, struct cursor *ret_rows,
		struct reason *why);

/* The text of a chunk of text, head.raw bytes; valid until the next chunk. NULL with @why. */
const char *reader_text(struct reader *r, struct reason *why);

/* Sets @why: the chunk is damaged. Returns -1. */
int reader_damaged(const struct reader *r, const char *what, struct reason *why);

/* Sets @why: the file has no end. Returns -1. */
int reader_cut_off(const struct reader *r, struct reason *why);

#endif
