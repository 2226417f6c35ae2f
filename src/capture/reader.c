// SPDX-License-Identifier: GPL-2.0-only
#include "capture/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <zstd.h>

#include "base/list.h"
#include "base/reason.h"
#include "capture/batch.h"
#include "host/container.h"
#include "host/container_names.h"

enum { INDEX_ROWS_MAX = CHUNK_RAW };

/* Sets @why: the chunk is damaged. Returns -1. */
static int reader_damaged(const struct reader *r, const char *what, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "'%.100s' is damaged at byte %llu: %s", r->name,
			  (unsigned long long)r->bytes, what);
}

/* Sets @why: the file has no end. Returns -1. */
static int reader_cut_off(const struct reader *r, struct reason *why)
{
	reason_set(why, EXIT_FAILED, "'%.100s' is cut off at byte %llu: the rest is missing",
		   r->name, (unsigned long long)r->bytes);
	return reason_hint(why, "the recording was interrupted, or is still being written");
}

static int read_failed(const struct reader *r, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "cannot read '%.100s': %s", r->name,
			  strerror(errno ? errno : EIO));
}

/* Reads @len bytes. 1; 0 at the end of the file; -1 with @why if the file ends before @len bytes.
 * */
static int bytes_read(struct reader *r, void *dst, size_t len, struct reason *why)
{
	size_t n = fread(dst, 1, len, r->f);

	if (n < len && ferror(r->f))
		return read_failed(r, why);
	if (n < len && n)
		return reader_cut_off(r, why);
	return n == len;
}

int reader_begin(struct reader *r, FILE *f, const char *name, struct reason *why)
{
	uint8_t head[CAPTURE_HEAD];
	unsigned int version;
	size_t n;

	*r = (struct reader){ .f = f, .name = name, .zstd = ZSTD_createDCtx() };
	if (!r->zstd)
		return reason_no_memory(why);
	errno = 0;
	n = fread(head, 1, sizeof(head), f);
	if (n < sizeof(head) && ferror(f))
		return read_failed(r, why);
	if (!n) {
		reason_set(why, EXIT_FAILED, "'%.100s' is empty", name);
		return reason_hint(why, "'iostrata record' makes recordings");
	}
	if (n < sizeof(head) || memcmp(head, CAPTURE_MAGIC, 8)) {
		reason_set(why, EXIT_FAILED, "'%.100s' is not a recording", name);
		return reason_hint(why, "'iostrata record' makes recordings");
	}
	version = get_u32(head + 8);
	if (version != CAPTURE_VERSION) {
		reason_set(why, EXIT_FAILED, "'%.100s' has version %u of the format", name,
			   version);
		return reason_hint(why, "this iostrata reads version %d", CAPTURE_VERSION);
	}
	r->bytes = sizeof(head);
	return 0;
}

void reader_done(struct reader *r)
{
	ZSTD_freeDCtx(r->zstd);
	free(r->packed);
	free(r->raw);
	*r = (struct reader){};
}

static int buffer_reserve(uint8_t **buf, size_t *cap, size_t size, struct reason *why)
{
	return bytes_reserve(buf, cap, size) ? reason_no_memory(why) : 0;
}

static bool head_is_sane(const struct chunk_head *h)
{
	unsigned int rows = h->kind == CHUNK_INDEX ? INDEX_ROWS_MAX : CHUNK_ROWS;

	return h->raw <= CHUNK_RAW && h->packed <= ZSTD_compressBound(CHUNK_RAW) && h->rows <= rows;
}

int reader_next(struct reader *r, struct reason *why)
{
	uint8_t head[CHUNK_HEAD];
	int got;

	r->unpacked = false;
	if (r->ended)
		return 0; /* an index follows */
	got = bytes_read(r, head, sizeof(head), why);
	if (got <= 0)
		return got;
	if (!head_get(head, &r->head) || !head_is_sane(&r->head))
		return reader_damaged(r, "this is no chunk", why);
	if (buffer_reserve(&r->packed, &r->packed_cap, r->head.packed, why))
		return -1;
	got = bytes_read(r, r->packed, r->head.packed, why);
	if (got < 0)
		return -1;
	if (!got)
		return reader_cut_off(r, why);
	r->bytes += sizeof(head) + r->head.packed;
	r->ended = r->head.kind == CHUNK_END;
	return 1;
}

/* Unpacks the payload of a chunk. 0, or -1 with @why. */
static int chunk_unpack(struct reader *r, struct reason *why)
{
	size_t n;

	if (r->unpacked)
		return 0;
	if (buffer_reserve(&r->raw, &r->raw_cap, r->head.raw + 1, why))
		return -1;
	n = ZSTD_decompressDCtx(r->zstd, r->raw, r->head.raw, r->packed, r->head.packed);
	if (ZSTD_isError(n) || n != r->head.raw)
		return reader_damaged(r, "the chunk before does not unpack", why);
	r->unpacked = true;
	return 0;
}

/* The text of a chunk of text, head.raw bytes; valid until the next chunk. NULL with @why. */
static const char *reader_text(struct reader *r, struct reason *why)
{
	return chunk_unpack(r, why) ? NULL : (const char *)r->raw;
}

int reader_rows(struct reader *r, unsigned int columns, struct cursor *ret_rows, struct reason *why)
{
	if (chunk_unpack(r, why))
		return -1;
	if (cursor_open(ret_rows, columns, r->head.rows, r->raw, r->head.raw))
		return reader_damaged(r, "the chunk before has no such columns", why);
	return 0;
}

struct catalog_text {
	uint64_t id;
	char *text;
	UT_hash_handle hh;
};

int catalog_init(struct catalog *c)
{
	*c = (struct catalog){ .n_files = 1, .n_threads = 1 };
	if (list_reserve((void **)&c->files, &c->files_cap, 1, sizeof(*c->files)) ||
	    list_reserve((void **)&c->threads, &c->threads_cap, 1, sizeof(*c->threads)))
		return -ENOMEM;
	c->files[0] = (struct catalog_file){ .flags = STORED_FILE_NAMELESS };
	c->threads[0] = (struct catalog_thread){};
	strcpy(c->fs[STORED_FS_BDEV].name, "bdev");
	return 0;
}

static void texts_free(struct catalog_text **texts)
{
	struct catalog_text *t, *next;

	HASH_ITER (hh, *texts, t, next) {
		HASH_DEL(*texts, t);
		free(t->text);
		free(t);
	}
}

void catalog_done(struct catalog *c)
{
	for (size_t i = 0; i < c->n_files; i++)
		free(c->files[i].names);
	free(c->files);
	free(c->threads);
	texts_free(&c->cgroups);
	texts_free(&c->devices);
	texts_free(&c->containers);
	texts_free(&c->texts);
	*c = (struct catalog){};
}

/* Ids are assigned in sequence: an id above the next one is damage. */
static int file_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	struct catalog_file *f;
	char *names;

	if (!n->id || n->id > c->n_files || n->text_len > PATH_BYTES)
		return -EBADMSG;
	if (list_reserve((void **)&c->files, &c->files_cap, n->id, sizeof(*c->files)))
		return -ENOMEM;
	names = malloc(n->text_len + 1);
	if (!names)
		return -ENOMEM;
	memcpy(names, text, n->text_len);
	f = &c->files[n->id];
	if (n->id == c->n_files)
		c->n_files++;
	else
		free(f->names);
	*f = (struct catalog_file){ n->a, n->b, n->c, n->text_len, names };
	return 0;
}

static int thread_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	struct catalog_thread t = { .pid = n->a, .tid = n->b, .cgroup = n->c };

	if (!n->id || n->id > c->n_threads || n->text_len > COMM_LEN)
		return -EBADMSG;
	if (list_reserve((void **)&c->threads, &c->threads_cap, n->id, sizeof(*c->threads)))
		return -ENOMEM;
	memcpy(t.comm, text, n->text_len);
	c->threads[n->id] = t;
	if (n->id == c->n_threads)
		c->n_threads++;
	return 0;
}

static int text_add(struct catalog_text **texts, const struct stored_name *n, const char *text)
{
	struct catalog_text *t;
	char *copy = strndup(text, n->text_len);

	HASH_FIND(hh, *texts, &n->id, sizeof(n->id), t);
	if (!t && copy && (t = calloc(1, sizeof(*t)))) {
		t->id = n->id;
		HASH_ADD(hh, *texts, id, sizeof(t->id), t);
	}
	if (!t || !copy) {
		free(copy);
		return -ENOMEM;
	}
	free(t->text);
	t->text = copy;
	return 0;
}

static int fs_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	if (n->id < STORED_FS_FIRST || n->id >= CATALOG_FS || n->text_len >= FS_NAME_LEN)
		return -EBADMSG;
	memset(c->fs[n->id].name, 0, FS_NAME_LEN);
	memcpy(c->fs[n->id].name, text, n->text_len);
	c->fs[n->id].probed = n->a;
	return 0;
}

static int name_add(struct catalog *c, const struct stored_name *n, const char *text)
{
	switch (n->type) {
	case NAME_THREAD:
		return thread_add(c, n, text);
	case NAME_FILE:
		return file_add(c, n, text);
	case NAME_CGROUP:
		return text_add(&c->cgroups, n, text);
	case NAME_DEVICE:
		return text_add(&c->devices, n, text);
	case NAME_CONTAINER:
		return text_add(&c->containers, n, text);
	case NAME_TEXT:
		return text_add(&c->texts, n, text);
	case NAME_FS:
		return fs_add(c, n, text);
	default:
		return 0; /* from a later minor version */
	}
}

int catalog_add(struct catalog *c, struct cursor *rows)
{
	const char *text = rows->tail ? (const char *)rows->tail : "";
	size_t left = rows->tail_len;
	struct stored_name n;
	int got, err = 0;

	c->version++;
	while ((got = cursor_next(rows, (uint64_t *)&n)) > 0 && !err) {
		if (n.text_len > left)
			return -EBADMSG;
		err = name_add(c, &n, text);
		left -= n.text_len;
		text += n.text_len;
	}
	return err ? err : got;
}

const struct catalog_file *catalog_file(const struct catalog *c, uint64_t id)
{
	return &c->files[id < c->n_files ? id : 0];
}

const struct catalog_thread *catalog_thread(const struct catalog *c, uint64_t id)
{
	return &c->threads[id < c->n_threads ? id : 0];
}

static const char *text_find(const struct catalog_text *texts, uint64_t id)
{
	const struct catalog_text *t;

	HASH_FIND(hh, texts, &id, sizeof(id), t);
	return t ? t->text : NULL;
}

const char *catalog_cgroup(const struct catalog *c, uint64_t id)
{
	return text_find(c->cgroups, id);
}

const char *catalog_container(const struct catalog *c, uint64_t cgroup)
{
	return text_find(c->containers, cgroup);
}

const char *catalog_server_text(const struct catalog *c, uint64_t id)
{
	const char *text = text_find(c->texts, id);

	return text ? text : "";
}

void catalog_container_names(const struct catalog *c, struct container_names *names)
{
	const struct catalog_text *t;
	struct container one;
	const char *path;

	for (t = c->containers; t; t = t->hh.next) {
		path = catalog_cgroup(c, t->id);
		if (path && container_find(path, &one))
			container_names_add(names, one.id, t->text);
	}
}

const char *catalog_device(const struct catalog *c, uint64_t dev)
{
	return text_find(c->devices, dev);
}

const char *catalog_fs(const struct catalog *c, uint64_t fs)
{
	return c->fs[fs < CATALOG_FS ? fs : STORED_FS_UNKNOWN].name;
}

void catalog_file_name(const struct catalog_file *f, struct file_name *ret_name)
{
	ret_name->len = f->len;
	ret_name->complete = !!(f->flags & STORED_FILE_COMPLETE);
	ret_name->unmounted = !!(f->flags & STORED_FILE_UNMOUNTED);
	ret_name->deleted = !!(f->flags & STORED_FILE_DELETED);
	ret_name->nameless = !!(f->flags & STORED_FILE_NAMELESS);
	if (f->len)
		memcpy(ret_name->names, f->names, f->len);
}

uint64_t stored_event_end(const struct stored_event *ev)
{
	if (ev->kind == CHUNK_OPS)
		return ev->op.start_ns + stored_op_total(&ev->op);
	return stored_request_end(&ev->request);
}

uint64_t stored_event_total(const struct stored_event *ev)
{
	if (ev->kind == CHUNK_OPS)
		return stored_op_total(&ev->op);
	return stored_request_end(&ev->request) - ev->request.q_ns;
}

/* Sets @why for @err, from parsing the contents of a chunk. Returns -1. */
static int chunk_failed(const struct recording *r, int err, struct reason *why)
{
	if (err == -ENOMEM)
		return reason_no_memory(why);
	return reader_damaged(&r->reader, "the chunk before makes no sense", why);
}

static int header_read(struct recording *r, struct reason *why)
{
	const char *text;
	int got = reader_next(&r->reader, why), err;

	if (got <= 0)
		return got ? got : reader_cut_off(&r->reader, why);
	if (r->reader.head.kind != CHUNK_HEADER)
		return reader_damaged(&r->reader, "its header is missing", why);
	text = reader_text(&r->reader, why);
	if (!text)
		return -1;
	err = header_parse(&r->header, text, r->reader.head.raw);
	for (int st = 0; st < ST_N; st++)
		r->strata_missing |= (unsigned int)!!r->header.stratum[st] << st;
	return err ? chunk_failed(r, err, why) : 0;
}

int recording_open(struct recording *r, FILE *f, const char *name, struct reason *why)
{
	*r = (struct recording){ .to_ns = UINT64_MAX };
	if (catalog_init(&r->catalog))
		return reason_no_memory(why);
	if (reader_begin(&r->reader, f, name, why))
		return -1;
	return header_read(r, why);
}

void recording_close(struct recording *r)
{
	reader_done(&r->reader);
	catalog_done(&r->catalog);
	header_done(&r->header);
	ending_done(&r->ending);
}

static int names_read(struct recording *r, struct reason *why)
{
	struct cursor rows;
	int err;

	if (reader_rows(&r->reader, STORED_COLUMNS(struct stored_name), &rows, why))
		return -1;
	err = catalog_add(&r->catalog, &rows);
	return err ? chunk_failed(r, err, why) : 0;
}

static int ending_read(struct recording *r, struct reason *why)
{
	const char *text = reader_text(&r->reader, why);
	int err;

	if (!text)
		return -1;
	err = ending_parse(&r->ending, text, r->reader.head.raw);
	return err ? chunk_failed(r, err, why) : 0;
}

static int records_begin(struct recording *r, unsigned int columns, struct reason *why)
{
	const struct chunk_head *h = &r->reader.head;

	if (h->last_ns > r->last_ns)
		r->last_ns = h->last_ns;
	if (h->kind != CHUNK_LOSSES && (h->last_ns < r->from_ns || h->first_ns >= r->to_ns))
		return 0;
	r->in_chunk = true;
	return reader_rows(&r->reader, columns, &r->rows, why);
}

/* Reads a chunk: adds names, enters a chunk of records. Returns as reader_next(). */
static int chunk_read(struct recording *r, struct reason *why)
{
	int got = reader_next(&r->reader, why), err = 0;

	if (got < 0)
		return -1;
	if (!got && r->reader.ended)
		return 0;
	if (!got)
		return reader_cut_off(&r->reader, why);
	switch (r->reader.head.kind) {
	case CHUNK_NAMES:
		err = names_read(r, why);
		break;
	case CHUNK_OPS:
	case CHUNK_HANDLES:
		err = records_begin(r, STORED_COLUMNS(struct stored_op), why);
		break;
	case CHUNK_REQUESTS:
		err = records_begin(r, STORED_COLUMNS(struct stored_request), why);
		break;
	case CHUNK_SERVER_REQUESTS:
		if (r->server_requests)
			err = records_begin(r, STORED_COLUMNS(struct stored_server_request), why);
		break;
	case CHUNK_LOSSES:
		err = records_begin(r, STORED_COLUMNS(struct stored_loss), why);
		break;
	case CHUNK_END:
		err = ending_read(r, why);
		break;
	}
	return err ? err : 1;
}

/* The segments of the operation in @ev, the next ones in the column of bytes. 1 or -EBADMSG. */
static int segments_take(struct recording *r, struct stored_event *ev)
{
	if (ev->op.segments > r->rows.tail_len)
		return -EBADMSG;
	ev->segments = r->rows.tail;
	if (ev->op.segments) {
		r->rows.tail += ev->op.segments;
		r->rows.tail_len -= ev->op.segments;
	}
	return 1;
}

int recording_next(struct recording *r, struct stored_event *ret_event, struct reason *why)
{
	int got;

	for (;;) {
		if (r->in_chunk) {
			ret_event->kind = r->reader.head.kind;
			got = cursor_next(&r->rows, (uint64_t *)&ret_event->op);
			if (got > 0 && ret_event->kind == CHUNK_OPS)
				got = segments_take(r, ret_event);
			if (got < 0)
				return chunk_failed(r, got, why);
			if (got && ret_event->kind == CHUNK_LOSSES && !r->reader.ended &&
			    ret_event->loss.kind < LOST_N)
				r->ending.lost[ret_event->loss.kind] += ret_event->loss.count;
			if (got)
				return 1;
			r->in_chunk = false;
		}
		got = chunk_read(r, why);
		if (got <= 0)
			return got;
	}
}

uint64_t recording_covers(const struct recording *r)
{
	uint64_t duration = r->ending.duration_ns, begin = r->header.monotonic_ns;
	uint64_t last = r->last_ns > begin ? r->last_ns - begin : 0;

	if (!r->reader.ended)
		return last ? last : duration;
	return r->ending.is_early && last && last < duration ? last : duration;
}
