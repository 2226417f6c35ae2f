// SPDX-License-Identifier: GPL-2.0-only
#include "capture/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { ZSTD_LEVEL = 1 };

void head_put(uint8_t *p, const struct chunk_head *h)
{
	put_u32(p, CHUNK_MAGIC);
	put_u32(p + 4, h->kind);
	put_u32(p + 8, h->packed);
	put_u32(p + 12, h->raw);
	put_u32(p + 16, h->rows);
	put_u32(p + 20, 0);
	put_u64(p + 24, h->first_ns);
	put_u64(p + 32, h->last_ns);
	put_u32(p + 20, crc32(0, p, CHUNK_HEAD));
}

/* The checksum covers the head, with its own field taken as 0. */
bool head_get(const uint8_t *p, struct chunk_head *h)
{
	uint8_t head[CHUNK_HEAD];

	memcpy(head, p, CHUNK_HEAD);
	put_u32(head + 20, 0);
	h->kind = get_u32(p + 4);
	h->packed = get_u32(p + 8);
	h->raw = get_u32(p + 12);
	h->rows = get_u32(p + 16);
	h->first_ns = get_u64(p + 24);
	h->last_ns = get_u64(p + 32);
	return get_u32(p) == CHUNK_MAGIC && crc32(0, head, CHUNK_HEAD) == get_u32(p + 20);
}

int bytes_write(int fd, const uint8_t *p, size_t len)
{
	ssize_t n;

	for (; len; p += n, len -= n) {
		n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

void *packer_make(void)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	if (zstd) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	}
	return zstd;
}

int bytes_reserve(uint8_t **buf, size_t *cap, size_t size)
{
	uint8_t *p;

	if (*cap >= size)
		return 0;
	p = realloc(*buf, size);
	if (!p)
		return -ENOMEM;
	*buf = p;
	*cap = size;
	return 0;
}

#define CODE(name, member, code, ...)         [STORED_OP_COLUMN(member)] = PACK_##code,
#define PLACE(name, member, ...)              STORED_OP_COLUMN(member),
#define STRATUM_PLACE(id)                     STORED_OP_COLUMN(strata[ST_##id]),
#define BIT(name, member, ...)                | 1ULL << STORED_OP_COLUMN(member)
#define STRATUM_BIT(id)                       | 1ULL << STORED_OP_COLUMN(strata[ST_##id])
#define ONE(...)                              +1
#define REQUEST_CODE(name, member, code, ...) PACK_##code,

static const pack_codes op_codes = { OP_COLUMNS(CODE, CODE, STORED_NONE) };
static const pack_order op_order = { OP_COLUMNS(PLACE, PLACE, STRATUM_PLACE) };

_Static_assert(PACK_VALUE == 0, "the strata, which have no codes, are values");
_Static_assert(STORED_COLUMNS(struct stored_op) <= PACK_COLUMNS,
	       "there are more columns than PACK_COLUMNS of rowpack.h");
_Static_assert((0 OP_COLUMNS(BIT, BIT, STRATUM_BIT)) ==
		       (1ULL << STORED_COLUMNS(struct stored_op)) - 1,
	       "a stratum has no column in recordings: append STRATUM(...) to OP_COLUMNS of "
	       "src/capture/stored.h, and its row to docs/FORMAT.md");
_Static_assert((0 OP_COLUMNS(ONE, ONE, ONE)) == STORED_COLUMNS(struct stored_op),
	       "a stratum is in OP_COLUMNS of src/capture/stored.h twice");

#define D PACK_DELTA
#define V PACK_VALUE

/* In the order of the members of the other stored records. */
static const pack_codes request_codes = { REQUEST_COLUMNS(REQUEST_CODE, REQUEST_CODE) };
static const pack_codes server_request_codes = { D, V, V, V, D, V, V, V, V };
static const pack_codes stack_codes = { D, D, D, V, V, V, D, V, V, V };
static const pack_codes name_codes = { V, D, V, V, V, V };
static const pack_codes loss_codes = { D, D, V, V };
static const pack_codes machine_load_codes = { D, D }; /* the others are values */
static const pack_codes index_codes = { D, V, V, D, D };

#undef D
#undef V

#define COLUMNS(codes_, type)                                                                      \
	(struct rowpack)                                                                           \
	{                                                                                          \
		.codes = codes_, .n = STORED_COLUMNS(type)                                         \
	}

void batches_init(struct batch b[CHUNK_KINDS])
{
	b[CHUNK_OPS].columns = COLUMNS(op_codes, struct stored_op);
	b[CHUNK_OPS].columns.order = op_order;
	b[CHUNK_HANDLES].columns = b[CHUNK_OPS].columns;
	b[CHUNK_REQUESTS].columns = COLUMNS(request_codes, struct stored_request);
	b[CHUNK_SERVER_REQUESTS].columns =
		COLUMNS(server_request_codes, struct stored_server_request);
	b[CHUNK_STACKS].columns = COLUMNS(stack_codes, struct stored_stack);
	b[CHUNK_NAMES].columns = COLUMNS(name_codes, struct stored_name);
	b[CHUNK_LOSSES].columns = COLUMNS(loss_codes, struct stored_loss);
	b[CHUNK_MACHINE_LOADS].columns = COLUMNS(machine_load_codes, struct stored_machine_load);
}

void batch_read_ops(struct cursor *rows)
{
	cursor_order(rows, op_order);
}

struct rowpack batch_index(void)
{
	return COLUMNS(index_codes, struct stored_index);
}

/* Adds the ends of records, from @first_ns to @last_ns. @is_first: the batch was empty. */
static void times_add(struct batch *b, uint64_t first_ns, uint64_t last_ns, bool is_first)
{
	if (is_first || first_ns < b->first_ns)
		b->first_ns = first_ns;
	if (is_first || last_ns > b->last_ns)
		b->last_ns = last_ns;
}

void batch_added(struct batch *b, uint64_t ns)
{
	times_add(b, ns, ns, !b->columns.rows);
	rowpack_added(&b->columns);
}

int batch_add_span(struct batch *b, const struct batch_span *span)
{
	bool is_first = !b->columns.rows;
	int err = rowpack_add_span(&b->columns, span->n, span->columns);

	if (!err)
		times_add(b, span->first_ns, span->last_ns, is_first);
	return err;
}

/* Compares two words at once. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

enum { STEP = sizeof(struct sent_op) / sizeof(uint64_t) };

_Static_assert(offsetof(struct sent_op, start_ns) == 4 * sizeof(pair), "four are the same");
_Static_assert(SPAN_DIFFER * sizeof(uint64_t) == 3 * sizeof(pair), "three differ");
_Static_assert(sizeof(struct sent_op) % sizeof(uint64_t) == 0, "whole words");

void span_look(const struct sent_op *s, size_t n, struct span *ret_span)
{
	const pair *first = (const pair *)s, *range = (const pair *)&s->offset, *at;
	unsigned int i, most = n < PACK_SPAN ? n : PACK_SPAN;
	uint64_t first_ns = ~0ULL, last_ns = 0, end;
	pair other, differ[3] = {};

	for (i = 0; i < most; i++, s++) {
		at = (const pair *)s;
		other = (at[0] ^ first[0]) | (at[1] ^ first[1]) | (at[2] ^ first[2]) |
			(at[3] ^ first[3]);
		if (other[0] | other[1])
			break;
		at = (const pair *)&s->offset;
		differ[0] |= at[0] ^ range[0];
		differ[1] |= at[1] ^ range[1];
		differ[2] |= at[2] ^ range[2];
		end = s->start_ns + s->on_cpu[0] + s->on_cpu[1] + s->on_cpu[2];
		first_ns = end < first_ns ? end : first_ns;
		last_ns = end > last_ns ? end : last_ns;
	}
	*ret_span = (struct span){ .n = i, .first_ns = first_ns, .last_ns = last_ns };
	for (i = 0; i < SPAN_DIFFER; i++)
		ret_span->differ[i] = differ[i / 2][i % 2];
}

void span_batch(const struct span *span, const struct sent_op *s, const struct stored_op *same,
		struct batch_span *ret_batch)
{
	/* columns of the members that may differ, in the order of struct sent_op */
	static const unsigned char columns[SPAN_DIFFER] = {
		STORED_OP_COLUMN(offset),     STORED_OP_COLUMN(len),
		STORED_OP_COLUMN(ret),        STORED_OP_COLUMN(strata),
		STORED_OP_COLUMN(strata) + 1, STORED_OP_COLUMN(strata) + 2,
	};
	struct pack_values *to = ret_batch->columns;

	for (unsigned int i = 0; i < STORED_COLUMNS(struct stored_op); i++)
		to[i] = (struct pack_values){ (const uint64_t *)same + i, 0 };
	to[STORED_OP_COLUMN(start_ns)] =
		(struct pack_values){ (const uint64_t *)&s->start_ns, STEP };
	for (unsigned int i = 0; i < SPAN_DIFFER; i++)
		if (span->differ[i])
			to[columns[i]] =
				(struct pack_values){ (const uint64_t *)&s->offset + i, STEP };
	ret_batch->n = span->n;
	ret_batch->first_ns = span->first_ns;
	ret_batch->last_ns = span->last_ns;
}
