/* SPDX-License-Identifier: GPL-2.0-only */
/* writer.h - writes a recording: collects records in columns, and writes or keeps chunks. Owns the
 * chunks, not the descriptor; does not know the source of records. */
#ifndef IOSTRATA_CAPTURE_WRITER_H
#define IOSTRATA_CAPTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/batch.h"
#include "capture/stored.h"

struct tail_chunk {
	struct tail_chunk *next;
	bool renews; /* from here on, no record refers to a name in an earlier chunk */
	struct chunk_head head;
	uint8_t bytes[];
};

/* All 0: none. */
struct tail {
	struct tail_chunk *first, *last;
	size_t bytes; /* of all chunks */
};

/*
 * A recording being written. Chunks are written when full or on request. Names used by a record
 * must be added before it.
 */

/* max_bytes is reached. Not an errno, since limits of the kernel are errors. */
enum { WRITER_FULL = 1 };

struct writer {
	int fd;
	bool is_file;       /* else a pipe: nothing written can be undone */
	uint64_t max_bytes; /* limit of the file; 0: no limit */
	uint64_t keep_ns;  /* write only records of the last keep_ns, at the end; 0: all, at once */
	size_t keep_bytes; /* with keep_ns: memory for them; older ones go first; 0: no limit */
	/* Called when the file has max_bytes: ends it by writer_end(), and continues by
	 * writer_restart(). Returns 0 or -errno. NULL: the recording ends. */
	int (*next)(void *arg);
	void *next_arg;
	uint64_t bytes;         /* written so far, to this file */
	uint64_t ops, requests; /* recorded: in the file, or in memory for --keep */
	/* not written: no room, or an error; others: handles, requests to servers,
	 * stacks */
	uint64_t lost_ops, lost_requests, lost_others;
	uint64_t dropped_ops, dropped_requests; /* too old for keep_ns, or no memory */
	uint64_t cut_ns; /* the last end of records dropped for keep_bytes; 0: none */
	int err;         /* 0, -errno of the first failure, or WRITER_FULL */
	/* private */
	struct batch batches[CHUNK_KINDS];
	struct rowpack index;
	struct tail tail;       /* with keep_ns all chunks, with next names for later files */
	bool renewed;           /* the next chunk in memory begins with new names */
	struct chunk_head last; /* the last chunk of operations or requests, and its place */
	uint64_t last_at;
	void *zstd;
	uint8_t *raw, *packed;
	size_t raw_cap, packed_cap;
};

/*
 * Starts a file at @fd with the text of its header chunk. The file must be empty. @w must be all 0,
 * except for max_bytes, and keep_ns or next. Returns 0 or -errno; call writer_done() in any case.
 */
int writer_begin(struct writer *w, int fd, const char *header);

/* Continues in another empty file, with a new header and all names so far. Returns 0 or -errno. */
int writer_restart(struct writer *w, int fd, const char *header);

/*
 * Each adds a record. After a failed write, records are counted as lost, also all records of the
 * failed chunk; w->err has the reason.
 */
void writer_op(struct writer *w, const struct stored_op *op);
void writer_request(struct writer *w, const struct stored_request *rq);

/* Adds several operations, given by the columns of struct stored_op. */
void writer_ops(struct writer *w, const struct batch_span *span);

/* As writer_op(), without a copy: room for an operation to be filled, then added with its end,
 * @end_ns. Returns NULL if the operation is lost, and counted. At writer_op_text() there is room
 * for the bytes of its segments; @text_len of them are there. */
struct stored_op *writer_op_room(struct writer *w);
uint8_t *writer_op_text(struct writer *w);
void writer_op_added(struct writer *w, uint64_t end_ns, size_t text_len);

/* Adds a call of kind OP_HANDLE, counted only if lost. */
void writer_handle(struct writer *w, const struct stored_op *op);

/* Adds a request to a server, likewise. */
void writer_server_request(struct writer *w, const struct stored_server_request *rq);

/* Adds an operation with its user stack, likewise. */
void writer_stack(struct writer *w, const struct stored_stack *s, uint64_t total_ns);

void writer_loss(struct writer *w, const struct stored_loss *loss);

/* Adds how busy the machine was in an interval. */
void writer_machine_load(struct writer *w, const struct stored_machine_load *load);

/* @text: n->text_len bytes. */
void writer_name(struct writer *w, const struct stored_name *n, const char *text);

/* Writes all records so far, so that they survive a crash. */
void writer_flush(struct writer *w);

/* With keep_ns: the end of the first record in memory, CLOCK_MONOTONIC, or 0 if there are no
 * records. */
uint64_t writer_tail_since(struct writer *w);

/*
 * With keep_ns: writes the records in memory to @fd as a separate recording, with @header and @end.
 * @w is of no use then, except for writer_done(): to be called in a forked process, while this one
 * goes on. @unnamed_ids: threads and files up to this id first get an empty name. Returns 0 or
 * -errno.
 */
int writer_tail_copy(struct writer *w, int fd, const char *header, const char *end,
		     uint64_t unnamed_ids);

/* With keep_ns: forgets the records in memory, but not the names. They are no longer counted. */
void writer_tail_forget(struct writer *w);

/* With keep_ns: from now on, all names will be added anew, so that former names can go with the
 * last records that refer to them. */
void writer_names_renew(struct writer *w);

/* How many generations of names are in memory, the one now being added included. */
unsigned int writer_generations(const struct writer *w);

/* Call before writer_close() with keep_ns: @header, of the last part, replaces the header of the
 * whole recording. A pipe has no header yet. */
void writer_tail_begin(struct writer *w, const char *header);

/* Call before writer_end(), after the last record: writes all records and chunks in memory. */
void writer_close(struct writer *w);

/* Writes @end, the text of the last chunk, and the index. Returns false if there is no room, so a
 * chunk of records was dropped and counted as lost; make @end again, and retry. */
bool writer_end(struct writer *w, const char *end);

void writer_done(struct writer *w);

#endif
