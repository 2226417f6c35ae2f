/* SPDX-License-Identifier: GPL-2.0-only */
/* writer.h - chunks in memory, in the order in which they are to be written. */
#ifndef IOSTRATA_CAPTURE_WRITER_H
#define IOSTRATA_CAPTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/batch.h"
#include "capture/format.h"

struct kept_chunk {
	struct kept_chunk *next;
	struct chunk_head head;
	uint8_t bytes[];
};

/* All 0: none. */
struct kept {
	struct kept_chunk *first, *last;
};

/* A copy of the chunk @bytes, head included, for free(). NULL: out of memory. */
struct kept_chunk *kept_copy(const struct chunk_head *h, const uint8_t *bytes);

/* Adds a copy. 0 or -ENOMEM. */
int kept_add(struct kept *k, const struct chunk_head *h, const uint8_t *bytes);

/* Takes the chunk out that follows @before, or the first if that is NULL. For free(). */
struct kept_chunk *kept_take(struct kept *k, struct kept_chunk *before);

/* Drops chunks of records that ended before @since_ns; adds how many they were to @dropped. */
struct kept_sums {
	uint64_t ops, requests;
};
void kept_drop(struct kept *k, uint64_t since_ns, struct kept_sums *dropped);

/* When the first of all records ended; 0: there is none. */
uint64_t kept_since(const struct kept *k);

void kept_done(struct kept *k);

/*
 * Writes a capture file: collects records in columns, and writes a chunk when it is full
 * or when told to. Names that a record refers to must be added before it.
 *
 * Owns the chunks, not the descriptor. Does not know where records come from.
 */

/* max_bytes is reached. No errno: the kernel has limits, too, and they are errors. */
enum { WRITER_FULL = 1 };

struct writer {
	int fd;
	bool is_file;       /* else a pipe: nothing written can be undone */
	uint64_t max_bytes; /* limit of the file; 0: as many as there is room for */
	uint64_t keep_ns;   /* write only this last part, at the end; 0: all, at once */
	/* The file has max_bytes: ends it by writer_end(), and goes on by writer_restart(). 0 or
	 * -errno. NULL: the recording ends. */
	int (*next)(void *arg);
	void *next_arg;
	uint64_t bytes;                                 /* written so far, to this file */
	uint64_t ops, requests;                         /* recorded: in the file, or kept */
	uint64_t lost_ops, lost_requests, lost_handles; /* that found no room in the file */
	uint64_t dropped_ops, dropped_requests;         /* too old to be kept */
	int err; /* 0, -errno of the first failure, or WRITER_FULL */
	/* private */
	struct batch batches[CHUNK_KINDS];
	struct rowpack index;
	struct kept kept;       /* with keep_ns all, with next names for other files */
	struct chunk_head last; /* the last chunk of ops or requests, and where it is */
	uint64_t last_at;
	void *zstd;
	uint8_t *raw, *packed;
	size_t raw_cap, packed_cap;
};

/*
 * Starts a file at @fd, which must be empty, with the text of its header chunk. @w must be all 0,
 * except for max_bytes, and keep_ns or next. 0 or -errno; call writer_done() in any case.
 */
int writer_begin(struct writer *w, int fd, const char *header);

/* Goes on in another empty file, which gets a header of its own, and all names so far. 0 or
 * -errno. */
int writer_restart(struct writer *w, int fd, const char *header);

/*
 * Each adds a record. After a failed write, records are counted as lost, including those of the
 * chunk that was not written; w->err says why.
 */
void writer_op(struct writer *w, const struct cap_op *op);
void writer_request(struct writer *w, const struct cap_request *rq);

/* Adds several operations, given by the columns of struct cap_op. */
void writer_ops(struct writer *w, const struct batch_span *span);

/* As writer_op(), without a copy: room for an operation, to be filled; and the one that is there
 * now, which ended at @end_ns. NULL: it is lost, and counted. */
struct cap_op *writer_op_room(struct writer *w);
void writer_op_added(struct writer *w, uint64_t end_ns);

/* A call of kind OP_HANDLE, which is counted only if it is lost. */
void writer_handle(struct writer *w, const struct cap_op *op);

void writer_loss(struct writer *w, const struct cap_loss *loss);

/* @text: n->text_len bytes. */
void writer_name(struct writer *w, const struct cap_name *n, const char *text);

/* Writes what there is, so that it survives whatever happens next. */
void writer_flush(struct writer *w);

/* With keep_ns: when the first record that is kept ended, CLOCK_MONOTONIC; 0: there is none. */
uint64_t writer_kept_since(struct writer *w);

/* Call before writer_close() with keep_ns: the header of what is kept replaces that of the whole
 * recording, which a pipe was not given. */
void writer_kept_begin(struct writer *w, const char *header);

/* Call before writer_end(), with no more records after it: writes what there is and what was
 * kept. */
void writer_close(struct writer *w);

/* Writes @end, the text of the last chunk, and the index. False: there was no room, so a chunk of
 * records was dropped and counts as lost; make @end again, and retry. */
bool writer_end(struct writer *w, const char *end);

void writer_done(struct writer *w);

#endif
