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

int reader_damaged(const struct reader *r, const char *what, struct reason *why)
{
	return reason_set(why, EXIT_FAILED, "'%.100s' is damaged at byte %llu: %s", r->name,
			  (unsigned long long)r->bytes, what);
}

int reader_cut_off(const struct reader *r, struct reason *why)
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

/* Unpacks the payload of a chunk. Returns 0, or -1 with @why. */
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

const char *reader_text(struct reader *r, struct reason *why)
{
	return chunk_unpack(r, why) ? NULL : (const char *)r->raw;
}

int reader_rows(struct reader *r, unsigned int columns, struct cursor *ret_rows, struct reason *why)
{
	if (chunk_unpack(r, why))
		return -1;
	if (cursor_open(ret_rows, columns, r->head.rows, r->raw, r->head.raw))
		return reader_damaged(r, "the chunk before has no such columns", why);
	if (r->head.kind == CHUNK_OPS || r->head.kind == CHUNK_HANDLES)
		batch_read_ops(ret_rows);
	return 0;
}
