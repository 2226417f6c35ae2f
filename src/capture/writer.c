// SPDX-License-Identifier: GPL-2.0-only
#include "capture/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/batch.h"
#include "capture/segments.h"

/* A copy of the chunk @bytes, head included; the caller frees it. Returns NULL if out of memory. */
static struct tail_chunk *tail_copy(const struct chunk_head *h, const uint8_t *bytes)
{
	size_t len = CHUNK_HEAD + h->packed;
	struct tail_chunk *c = malloc(sizeof(*c) + len);

	if (!c)
		return NULL;
	*c = (struct tail_chunk){ .head = *h };
	memcpy(c->bytes, bytes, len);
	return c;
}

/* The memory that a chunk takes. */
static size_t tail_size(const struct tail_chunk *c)
{
	return sizeof(*c) + CHUNK_HEAD + c->head.packed;
}

/* Adds a copy. Returns 0 or -ENOMEM. */
static int tail_add(struct tail *k, const struct chunk_head *h, const uint8_t *bytes)
{
	struct tail_chunk *c = tail_copy(h, bytes);

	if (!c)
		return -ENOMEM;
	if (k->last)
		k->last->next = c;
	else
		k->first = c;
	k->last = c;
	k->bytes += tail_size(c);
	return 0;
}

/* Removes the chunk after @before, or the first if @before is NULL. The caller frees it. */
static struct tail_chunk *tail_take(struct tail *k, struct tail_chunk *before)
{
	struct tail_chunk **at = before ? &before->next : &k->first, *c = *at;

	if (!c)
		return NULL;
	*at = c->next;
	if (k->last == c)
		k->last = before;
	k->bytes -= tail_size(c);
	return c;
}

struct tail_sums {
	uint64_t ops, requests;
};

/* Whether a chunk has a time, and goes when it is old. */
static bool is_timed(const struct tail_chunk *c)
{
	return is_events(c->head.kind) || c->head.kind == CHUNK_LOSSES ||
	       c->head.kind == CHUNK_MACHINE_LOADS;
}

/* Drops the chunk after @before, and adds its counts to @dropped. */
static void chunk_drop(struct tail *k, struct tail_chunk *before, struct tail_sums *dropped)
{
	struct tail_chunk *c = tail_take(k, before);

	if (is_records(c->head.kind))
		*(c->head.kind == CHUNK_OPS ? &dropped->ops : &dropped->requests) += c->head.rows;
	free(c);
}

/* Drops names that no chunk of events behind them refers to. */
static void names_drop(struct tail *k)
{
	struct tail_chunk *renews = NULL;

	for (struct tail_chunk *c = k->first; c && !is_timed(c); c = c->next)
		renews = c->renews ? c : renews;
	while (renews && k->first != renews)
		free(tail_take(k, NULL));
}

/* Drops chunks of records that ended before @since_ns, and adds their counts to @dropped. */
static void tail_drop(struct tail *k, uint64_t since_ns, struct tail_sums *dropped)
{
	struct tail_chunk *before = NULL, *c;

	while ((c = before ? before->next : k->first)) {
		if (is_timed(c) && c->head.last_ns < since_ns)
			chunk_drop(k, before, dropped);
		else
			before = c;
	}
	names_drop(k);
}

/* Drops the oldest chunks of records until @bytes are left, or only names. Returns the last end of
 * the dropped records, or 0 if there is none. */
static uint64_t tail_shorten(struct tail *k, size_t bytes, struct tail_sums *dropped)
{
	struct tail_chunk *before = NULL, *c;
	uint64_t cut_ns = 0;

	while (k->bytes > bytes && (c = before ? before->next : k->first)) {
		if (!is_timed(c)) {
			before = c;
			continue;
		}
		cut_ns = c->head.last_ns > cut_ns ? c->head.last_ns : cut_ns;
		chunk_drop(k, before, dropped);
	}
	if (cut_ns)
		names_drop(k);
	return cut_ns;
}

/* The end of the first record, or 0 if there are no records. */
static uint64_t tail_since(const struct tail *k)
{
	uint64_t first = 0;

	for (const struct tail_chunk *c = k->first; c; c = c->next)
		if (is_records(c->head.kind) && (!first || c->head.first_ns < first))
			first = c->head.first_ns;
	return first;
}

static void tail_done(struct tail *k)
{
	struct tail_chunk *c;

	while ((c = tail_take(k, NULL)))
		free(c);
}

enum { INDEX_ROWS = 1 << 19 };

/* Counts the records of a chunk as lost: the chunk is not, or no longer, in the file. */
static void chunk_lose(struct writer *w, const struct chunk_head *h, bool was_recorded)
{
	if (!is_events(h->kind))
		return;
	*(h->kind == CHUNK_OPS        ? &w->lost_ops
	  : h->kind == CHUNK_REQUESTS ? &w->lost_requests
				      : &w->lost_others) += h->rows;
	if (was_recorded && is_records(h->kind))
		*(h->kind == CHUNK_OPS ? &w->ops : &w->requests) -= h->rows;
}

/* Notes the first error, and truncates a chunk written in part. */
static void writer_fail(struct writer *w, int err)
{
	if (!w->err)
		w->err = err;
	if (w->is_file && (ftruncate(w->fd, w->bytes) || lseek(w->fd, w->bytes, SEEK_SET) < 0))
		w->is_file = false;
}

/* Whether chunk @h would make the file too large. With several files, each one takes some records,
 * however many names it has. */
static bool file_is_full(const struct writer *w, const struct chunk_head *h)
{
	return w->max_bytes && is_events(h->kind) && (!w->next || w->last.rows) &&
	       w->bytes + CHUNK_HEAD + h->packed > w->max_bytes;
}

/* Writes a chunk whose bytes, head included, are ready. 0, -errno or WRITER_FULL. */
static int chunk_write(struct writer *w, const struct chunk_head *h, const uint8_t *bytes)
{
	struct stored_index i = { w->bytes, h->kind, h->rows, h->first_ns, h->last_ns };
	size_t len = CHUNK_HEAD + h->packed;
	int err;

	if (file_is_full(w, h))
		return WRITER_FULL;
	err = bytes_write(w->fd, bytes, len);
	if (err)
		return err;
	if (is_events(h->kind)) {
		w->last = *h;
		w->last_at = w->bytes;
	}
	w->bytes += len;
	if (w->index.rows < INDEX_ROWS)
		rowpack_add(&w->index, (const uint64_t *)&i);
	return 0;
}

/* Packs h->raw bytes of w->raw after the head in w->packed. Returns 0 or -errno. */
static int chunk_pack(struct writer *w, struct chunk_head *h)
{
	size_t room = ZSTD_compressBound(h->raw), n;

	if (bytes_reserve(&w->packed, &w->packed_cap, CHUNK_HEAD + room))
		return -ENOMEM;
	n = ZSTD_compress2(w->zstd, w->packed + CHUNK_HEAD, room, w->raw, h->raw);
	if (ZSTD_isError(n))
		return -ENOMEM;
	h->packed = n;
	head_put(w->packed, h);
	return 0;
}

static void dropped_count(struct writer *w, const struct tail_sums *old)
{
	w->dropped_ops += old->ops;
	w->dropped_requests += old->requests;
	w->ops -= old->ops;
	w->requests -= old->requests;
}

/* Drops chunks whose records are too old at @now, or for which there is no memory. */
static void keep_last(struct writer *w, uint64_t now)
{
	struct tail_sums old = {};
	uint64_t cut_ns = 0;

	if (now > w->keep_ns)
		tail_drop(&w->tail, now - w->keep_ns, &old);
	if (w->keep_bytes && w->tail.bytes > w->keep_bytes)
		cut_ns = tail_shorten(&w->tail, w->keep_bytes, &old);
	w->cut_ns = cut_ns ? cut_ns : w->cut_ns;
	dropped_count(w, &old);
}

/* Writes the chunk in w->packed to the next file. Returns 0 or -errno. */
static int chunk_put_next(struct writer *w, const struct chunk_head *h)
{
	struct tail_chunk *k = tail_copy(
		h, w->packed); /* a copy: writing the end and the header reuses the buffers */
	int err = k ? w->next(w->next_arg) : -ENOMEM;

	if (!err)
		err = chunk_write(w, h, k->bytes);
	free(k);
	return err;
}

/* Keeps the chunk in w->packed. Returns 0 or -ENOMEM. */
static int chunk_keep(struct writer *w, const struct chunk_head *h)
{
	int err = tail_add(&w->tail, h, w->packed);

	if (err)
		return err;
	w->tail.last->renews = w->renewed;
	w->renewed = false;
	keep_last(w, h->last_ns);
	return 0;
}

/* Writes the chunk in w->packed, or keeps it. 0, -errno or WRITER_FULL. */
static int chunk_put(struct writer *w, const struct chunk_head *h)
{
	int err;

	if (w->keep_ns && h->kind != CHUNK_HEADER)
		return chunk_keep(w, h);
	if (w->next && file_is_full(w, h))
		return chunk_put_next(w, h);
	err = chunk_write(w, h, w->packed);
	if (!err && w->next && h->kind == CHUNK_NAMES)
		err = tail_add(&w->tail, h, w->packed);
	return err;
}

/* Packs and writes the payload in w->raw. */
static void chunk_end(struct writer *w, struct chunk_head *h, int err)
{
	err = err ? err : w->err;
	if (!err)
		err = chunk_pack(w, h);
	if (!err)
		err = chunk_put(w, h);
	if (err) {
		chunk_lose(w, h, false);
		writer_fail(w, err);
	} else if (is_records(h->kind)) {
		*(h->kind == CHUNK_OPS ? &w->ops : &w->requests) += h->rows;
	}
}

static void text_write(struct writer *w, enum chunk_kind kind, const char *text)
{
	struct chunk_head h = { .kind = kind, .raw = strlen(text), .rows = 1 };
	int err = bytes_reserve(&w->raw, &w->raw_cap, h.raw);

	if (!err)
		memcpy(w->raw, text, h.raw);
	chunk_end(w, &h, err);
}

static void batch_write(struct writer *w, enum chunk_kind kind)
{
	struct batch *b = &w->batches[kind];
	struct chunk_head h = { .kind = kind,
				.rows = b->columns.rows,
				.first_ns = b->first_ns,
				.last_ns = b->last_ns };
	int err;

	if (!h.rows)
		return;
	err = bytes_reserve(&w->raw, &w->raw_cap, rowpack_size(&b->columns) + b->text_len);
	if (!err)
		h.raw = rowpack_put(&b->columns, w->raw, b->text_len ? b->text : NULL, b->text_len);
	chunk_end(w, &h, err);
	b->columns.rows = 0;
	b->text_len = 0;
}

/* The batch for @n more records. First writes the batch if it would be too large. */
static struct batch *batch_for(struct writer *w, enum chunk_kind kind, unsigned int n)
{
	struct batch *b = &w->batches[kind];

	if (b->columns.rows + n > CHUNK_ROWS || b->text_len + SEGMENTS_BYTES > CHUNK_TEXT) {
		batch_write(w, CHUNK_NAMES);
		batch_write(w, CHUNK_HANDLES); /* a reader of operations then knows the handles of
						  the same time */
		batch_write(w, kind);
	}
	return b;
}

static int batch_add(struct writer *w, enum chunk_kind kind, const void *record, uint64_t ns)
{
	struct batch *b = batch_for(w, kind, 1);
	uint64_t *room = rowpack_room(&b->columns);

	if (!room)
		return -ENOMEM;
	memcpy(room, record, b->columns.n * sizeof(*room));
	batch_added(b, ns);
	return 0;
}

struct stored_op *writer_op_room(struct writer *w)
{
	struct batch *b = w->err ? NULL : batch_for(w, CHUNK_OPS, 1);
	uint64_t *room = b ? rowpack_room(&b->columns) : NULL;

	w->lost_ops += !room;
	return (struct stored_op *)room;
}

uint8_t *writer_op_text(struct writer *w)
{
	struct batch *b = &w->batches[CHUNK_OPS];

	return (uint8_t *)b->text + b->text_len;
}

void writer_op_added(struct writer *w, uint64_t end_ns, size_t text_len)
{
	struct batch *b = &w->batches[CHUNK_OPS];

	b->text_len += text_len;
	batch_added(b, end_ns);
}

void writer_ops(struct writer *w, const struct batch_span *span)
{
	if (w->err || batch_add_span(batch_for(w, CHUNK_OPS, span->n), span))
		w->lost_ops += span->n;
}

void writer_op(struct writer *w, const struct stored_op *op)
{
	if (w->err || batch_add(w, CHUNK_OPS, op, op->start_ns + stored_op_total(op)))
		w->lost_ops++;
}

void writer_handle(struct writer *w, const struct stored_op *op)
{
	if (w->err || batch_add(w, CHUNK_HANDLES, op, op->start_ns + stored_op_total(op)))
		w->lost_others++;
}

void writer_request(struct writer *w, const struct stored_request *rq)
{
	if (w->err || batch_add(w, CHUNK_REQUESTS, rq, stored_request_end(rq)))
		w->lost_requests++;
}

void writer_server_request(struct writer *w, const struct stored_server_request *rq)
{
	if (w->err || batch_add(w, CHUNK_SERVER_REQUESTS, rq, stored_server_request_end(rq)))
		w->lost_others++;
}

void writer_stack(struct writer *w, const struct stored_stack *s, uint64_t total_ns)
{
	if (w->err || batch_add(w, CHUNK_STACKS, s, s->start_ns + total_ns))
		w->lost_others++;
}

void writer_loss(struct writer *w, const struct stored_loss *loss)
{
	if (!w->err)
		batch_add(w, CHUNK_LOSSES, loss, loss->to_ns);
}

void writer_machine_load(struct writer *w, const struct stored_machine_load *load)
{
	if (!w->err)
		batch_add(w, CHUNK_MACHINE_LOADS, load, load->to_ns);
}

void writer_name(struct writer *w, const struct stored_name *n, const char *text)
{
	struct batch *b = &w->batches[CHUNK_NAMES];

	if (w->err || n->text_len > CHUNK_TEXT)
		return;
	if (b->columns.rows == CHUNK_ROWS || b->text_len + n->text_len > CHUNK_TEXT)
		batch_write(w, CHUNK_NAMES);
	if (rowpack_add(&b->columns, (const uint64_t *)n))
		return;
	memcpy(b->text + b->text_len, text, n->text_len);
	b->text_len += n->text_len;
}

void writer_flush(struct writer *w)
{
	batch_write(w, CHUNK_NAMES);
	batch_write(w, CHUNK_HANDLES);
	for (int kind = CHUNK_OPS; kind <= CHUNK_LOSSES; kind++)
		batch_write(w, kind);
	batch_write(w, CHUNK_SERVER_REQUESTS);
	batch_write(w, CHUNK_MACHINE_LOADS);
	batch_write(w, CHUNK_STACKS);
}

static int file_begin(struct writer *w, int fd, const char *header)
{
	uint8_t head[CAPTURE_HEAD] = CAPTURE_MAGIC;
	struct stat st;
	int err;

	w->fd = fd;
	w->is_file = !fstat(fd, &st) && S_ISREG(st.st_mode);
	put_u32(head + 8, CAPTURE_VERSION);
	err = bytes_write(fd, head, sizeof(head));
	w->bytes = sizeof(head);
	if (!err && (w->is_file || !w->keep_ns))
		text_write(w, CHUNK_HEADER, header);
	return err ? err : w->err;
}

void writer_tail_begin(struct writer *w, const char *header)
{
	if (w->is_file && !w->err) {
		w->bytes = CAPTURE_HEAD;
		rowpack_done(&w->index);
		if (ftruncate(w->fd, w->bytes) || lseek(w->fd, w->bytes, SEEK_SET) < 0)
			writer_fail(w, -errno);
	}
	text_write(w, CHUNK_HEADER, header);
}

uint64_t writer_tail_since(struct writer *w)
{
	writer_flush(w);
	return tail_since(&w->tail);
}

int writer_begin(struct writer *w, int fd, const char *header)
{
	batches_init(w->batches);
	w->index = batch_index();
	w->batches[CHUNK_NAMES].text = malloc(CHUNK_TEXT);
	w->batches[CHUNK_OPS].text = malloc(CHUNK_TEXT);
	w->zstd = packer_make();
	if (!w->batches[CHUNK_NAMES].text || !w->batches[CHUNK_OPS].text || !w->zstd)
		return -ENOMEM;
	return file_begin(w, fd, header);
}

/* Begins another file. Returns 0 or -errno. */
static int file_restart(struct writer *w, int fd, const char *header)
{
	w->last = (struct chunk_head){};
	rowpack_done(&w->index);
	return file_begin(w, fd, header);
}

/* Writes the chunks in memory. Returns 0 or -errno. */
static int tail_put(struct writer *w)
{
	int err = 0;

	for (struct tail_chunk *k = w->tail.first; k && !err; k = k->next)
		err = chunk_write(w, &k->head, k->bytes);
	return err;
}

int writer_restart(struct writer *w, int fd, const char *header)
{
	int err = file_restart(w, fd, header);

	return err ? err : tail_put(w);
}

/* Gives each thread and file up to id @n an empty name. */
static void names_put(struct writer *w, uint64_t n)
{
	struct stored_name file = { .type = NAME_FILE, .c = STORED_FILE_NAMELESS };
	struct stored_name thread = { .type = NAME_THREAD };

	for (uint64_t id = 1; id <= n; id++) {
		file.id = thread.id = id;
		writer_name(w, &file, "");
		writer_name(w, &thread, "");
	}
	batch_write(w, CHUNK_NAMES);
}

int writer_tail_copy(struct writer *w, int fd, const char *header, const char *end,
		     uint64_t unnamed_ids)
{
	int err;

	w->keep_ns = 0;
	err = file_restart(w, fd, header);
	names_put(w, unnamed_ids);
	if (!err)
		err = tail_put(w);
	if (!err && !writer_end(w, end))
		err = -ENOSPC;
	return err ? err : w->err;
}

void writer_tail_forget(struct writer *w)
{
	struct tail_sums all = {};

	tail_drop(&w->tail, UINT64_MAX, &all);
	w->ops -= all.ops;
	w->requests -= all.requests;
	w->cut_ns = 0;
}

void writer_names_renew(struct writer *w)
{
	writer_flush(w);
	w->renewed = true;
}

unsigned int writer_generations(const struct writer *w)
{
	const struct tail_chunk *first = w->tail.first;
	unsigned int n = w->renewed || !first ? 1 : 0;

	for (const struct tail_chunk *c = first; c; c = c->next)
		n += c == first || c->renews;
	return n;
}

/* Writes the chunks in memory, oldest first. */
static void tail_write(struct writer *w)
{
	struct tail_chunk *k;
	int err;

	w->keep_ns = 0;
	while ((k = tail_take(&w->tail, NULL))) {
		err = w->err ? w->err : chunk_write(w, &k->head, k->bytes);
		if (err) {
			chunk_lose(w, &k->head, true);
			writer_fail(w, err);
		}
		free(k);
	}
}

void writer_close(struct writer *w)
{
	writer_flush(w);
	if (w->keep_ns)
		tail_write(w);
}

/* Drops the last chunk of records and everything after it. Returns false if there is no such
 * chunk. */
static bool last_take_back(struct writer *w)
{
	if (!w->is_file || !w->last.rows)
		return false;
	chunk_lose(w, &w->last, true);
	w->last = (struct chunk_head){};
	w->bytes = w->last_at;
	writer_fail(w, -ENOSPC);
	rowpack_done(&w->index); /* the index would list dropped chunks; readers do without */
	w->index.rows = INDEX_ROWS;
	return true;
}

static void index_write(struct writer *w)
{
	struct chunk_head h = { .kind = CHUNK_INDEX, .rows = w->index.rows };
	uint8_t trailer[CAPTURE_TRAILER];
	uint64_t at = w->bytes;
	int err;

	if (!h.rows || h.rows == INDEX_ROWS || rowpack_size(&w->index) > CHUNK_RAW)
		return;
	err = bytes_reserve(&w->raw, &w->raw_cap, rowpack_size(&w->index));
	if (!err)
		h.raw = rowpack_put(&w->index, w->raw, NULL, 0);
	chunk_end(w, &h, err);
	put_u64(trailer, at);
	memcpy(trailer + 8, CAPTURE_INDEX_MAGIC, 8);
	if (!w->err && !bytes_write(w->fd, trailer, sizeof(trailer)))
		w->bytes += sizeof(trailer);
}

bool writer_end(struct writer *w, const char *end)
{
	int err = w->err, failed;

	w->err = 0; /* writing the end may still succeed */
	text_write(w, CHUNK_END, end);
	failed = w->err;
	w->err = err ? err : failed;
	if (failed)
		return !last_take_back(w);
	if (!err)
		index_write(w);
	return true;
}

void writer_done(struct writer *w)
{
	tail_done(&w->tail);
	for (int kind = 0; kind < CHUNK_KINDS; kind++)
		rowpack_done(&w->batches[kind].columns);
	rowpack_done(&w->index);
	free(w->batches[CHUNK_NAMES].text);
	free(w->batches[CHUNK_OPS].text);
	ZSTD_freeCCtx(w->zstd);
	free(w->raw);
	free(w->packed);
	*w = (struct writer){ .fd = -1 };
}
