// SPDX-License-Identifier: GPL-2.0-only
/*
 * rowpack.c - packs rows into columns of bytes, and unpacks them.
 *
 * Rows wait in a block. A block is packed column by column. Most columns have one value in all
 * rows; a tight loop checks this with two instructions a value. Bytes of a column are written when
 * its first different value comes. Room in the columns is reserved before a row is taken, so
 * packing never fails.
 */
#include "capture/rowpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/encode.h"

enum {
	BLOCK = 64,          /* rows: they fit into the first cache */
	RESERVE = PACK_SPAN, /* rows to reserve room for at once */
};

/* Four columns in a register, eight columns in one pass over the rows: as many as registers allow.
 * */
typedef uint64_t vector __attribute__((vector_size(32), may_alias));
typedef uint64_t unaligned_vector __attribute__((vector_size(32), aligned(8), may_alias));

enum { LOOK = 8 };

_Static_assert(PACK_COLUMNS % LOOK == 0, "the last look ends with the row");

static int column_reserve(struct packed_column *c, size_t bytes)
{
	size_t cap;
	uint8_t *p;

	if (c->cap - c->len >= bytes)
		return 0;
	cap = 2 * c->cap + bytes + 4096;
	p = realloc(c->bytes, cap);
	if (!p)
		return -ENOMEM;
	c->bytes = p;
	c->cap = cap;
	return 0;
}

/* Bytes of the first @rows rows of a column, all equal to @first, when the column begins to vary.
 * */
static size_t same_size(uint64_t first, unsigned int rows)
{
	size_t len = (63 - __builtin_clzll(first | 1)) / 7 + 1;

	return VARINT_MAX + rows * len; /* the first difference may be longer */
}

/* Reserves room for more rows; in columns that do not vary yet, also for all rows so far, since the
 * next rows may vary. */
static int rows_reserve(struct rowpack *c)
{
	size_t most = RESERVE * VARINT_MAX;
	int err = 0;

	if (!c->block) {
		c->block = aligned_alloc(sizeof(vector), BLOCK * sizeof(*c->block));
		if (!c->block)
			return -ENOMEM;
		memset(c->block, 0, BLOCK * sizeof(*c->block));
	}
	for (unsigned int i = 0; i < c->n && !err; i++)
		err = column_reserve(
			&c->at[i], most + (c->at[i].varied ? 0 : same_size(c->first[i], c->rows)));
	c->reserved = err ? 0 : RESERVE;
	return err;
}

/* Writes the rows so far, all equal to @first. */
static uint8_t *column_begin(struct packed_column *c, enum pack_code code, uint64_t first,
			     unsigned int rows)
{
	uint8_t *p = c->bytes;

	if (code == PACK_DELTA && rows) {
		p = varint_put(p, zigzag(first));
		memset(p, 0, rows - 1);
		return p + rows - 1;
	}
	while (rows--)
		p = varint_put(p, first);
	return p;
}

/* Sets @ret_differ, for each column, to the bits that differ between some row of the block and the
 * chunk's first row. Wider registers halve the instructions. */
#ifdef __x86_64__
__attribute__((target_clones("avx2", "default")))
#endif
static void
block_compare(const struct rowpack *c, uint64_t ret_differ[PACK_COLUMNS])
{
	for (unsigned int i = 0; i < c->n; i += LOOK) {
		const unaligned_vector *first = (const void *)&c->first[i];
		unaligned_vector *differ = (void *)&ret_differ[i];
		vector f0 = first[0], f1 = first[1], d0 = {}, d1 = {};

		for (unsigned int row = 0; row < c->waiting; row++) {
			const vector *v = (const void *)&c->block[row][i];

			d0 |= v[0] ^ f0;
			d1 |= v[1] ^ f1;
		}
		differ[0] = d0;
		differ[1] = d1;
	}
}

#define INLINE static inline __attribute__((always_inline))

/* Puts a varint into @ret_bytes, its first byte lowest, if at most three bytes long. Returns the
 * length, or 0. */
INLINE unsigned int varint_short(uint64_t v, uint64_t *ret_bytes)
{
	if (v < 1 << 7) {
		*ret_bytes = v;
		return 1;
	}
	if (v < 1 << 14) {
		*ret_bytes = (v & 0x7f) | (v << 1 & 0x7f00) | 0x80;
		return 2;
	}
	if (v < 1 << 21) {
		*ret_bytes = (v & 0x7f) | (v << 1 & 0x7f00) | (v << 2 & 0x7f0000) | 0x8080;
		return 3;
	}
	return 0;
}

/*
 * Writes varints of @n values, @step apart, or of their differences (to @last in the first). A
 * value equal to the one before has the same bytes: they are stored eight at a time. @p must have
 * room for VARINT_MAX bytes more.
 */
INLINE uint8_t *varints_put(uint8_t *p, const uint64_t *v, size_t step, unsigned int n, bool delta,
			    uint64_t last)
{
	uint64_t x, before = 0, bytes = 0;
	unsigned int len = 0; /* bytes of the varint before; 0: more than three */

	for (; n; n--, v += step) {
		x = delta ? *v - last : *v;
		last = *v;
		if (!len || x != before) {
			before = x;
			x = delta ? zigzag(x) : x;
			len = varint_short(x, &bytes);
			if (!len) {
				p = varint_put(p, x);
				continue;
			}
		}
		put_u64(p, bytes);
		p += len;
	}
	return p;
}

/* Adds @n values, @step apart, to a column with @rows values, all equal to @first if the column
 * does not vary. */
static void column_add(struct packed_column *c, enum pack_code code, uint64_t first,
		       unsigned int rows, const uint64_t *v, size_t step, unsigned int n)
{
	uint64_t last = !rows ? 0 : c->varied ? c->last : first;
	uint8_t *p = c->varied ? c->bytes + c->len : column_begin(c, code, first, rows);

	c->varied = true;
	if (code == PACK_DELTA)
		p = varints_put(p, v, step, n, true, last);
	else
		p = varints_put(p, v, step, n, false, 0);
	c->last = v[step * (n - 1)];
	c->len = p - c->bytes;
}

static void block_pack(struct rowpack *c)
{
	unsigned int n = c->waiting, before = c->rows - n;
	uint64_t differ[PACK_COLUMNS];

	if (!n)
		return;
	if (!before)
		memcpy(c->first, c->block[0], sizeof(c->first));
	block_compare(c, differ);
	for (unsigned int i = 0; i < c->n; i++)
		if (c->at[i].varied || differ[i])
			column_add(&c->at[i], c->codes[i], c->first[i], before, &c->block[0][i],
				   PACK_COLUMNS, n);
	c->waiting = 0;
}

uint64_t *rowpack_room(struct rowpack *c)
{
	if (c->waiting == BLOCK)
		block_pack(c);
	if (!c->reserved && rows_reserve(c))
		return NULL;
	return c->block[c->waiting];
}

void rowpack_added(struct rowpack *c)
{
	c->waiting++;
	c->reserved--;
	c->rows++;
}

int rowpack_add(struct rowpack *c, const uint64_t *row)
{
	uint64_t *room = rowpack_room(c);

	if (!room)
		return -ENOMEM;
	memcpy(room, row, c->n * sizeof(*row));
	rowpack_added(c);
	return 0;
}

int rowpack_add_span(struct rowpack *c, unsigned int n, const struct pack_values *columns)
{
	block_pack(c);
	if (c->reserved < n && rows_reserve(c))
		return -ENOMEM;
	for (unsigned int i = 0; i < c->n; i++) {
		const struct pack_values *v = &columns[i];

		if (!c->rows)
			c->first[i] = *v->first;
		if (c->at[i].varied || v->step || *v->first != c->first[i])
			column_add(&c->at[i], c->codes[i], c->first[i], c->rows, v->first, v->step,
				   n);
	}
	c->rows += n;
	c->reserved -= n;
	return 0;
}

size_t rowpack_size(struct rowpack *c)
{
	size_t size = VARINT_MAX + (c->n + 1) * (1 + 2 * VARINT_MAX);

	block_pack(c);
	for (unsigned int i = 0; i < c->n; i++)
		size += c->at[i].len;
	return size;
}

static uint8_t *bytes_put(uint8_t *p, enum pack_code code, const void *bytes, size_t len)
{
	*p++ = code;
	p = varint_put(p, len);
	if (len)
		memcpy(p, bytes, len);
	return p + len;
}

static uint8_t *column_put(uint8_t *p, const struct packed_column *c, enum pack_code code,
			   uint64_t first)
{
	uint8_t same[VARINT_MAX];

	if (c->varied)
		return bytes_put(p, code, c->bytes, c->len);
	return bytes_put(p, PACK_SAME, same, varint_put(same, first) - same);
}

size_t rowpack_put(struct rowpack *c, uint8_t *dst, const void *tail, size_t tail_len)
{
	uint8_t *p = varint_put(dst, c->n + !!tail);

	block_pack(c);
	for (unsigned int i = 0; i < c->n; i++) {
		unsigned int at = c->order ? c->order[i] : i;

		p = column_put(p, &c->at[at], c->codes[at], c->first[at]);
		c->at[at].len = 0;
		c->at[at].varied = false;
	}
	c->rows = c->reserved = 0;
	return (tail ? bytes_put(p, PACK_BYTES, tail, tail_len) : p) - dst;
}

void rowpack_done(struct rowpack *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		free(c->at[i].bytes);
	free(c->block);
	*c = (struct rowpack){ .codes = c->codes, .order = c->order, .n = c->n };
}

/* Opens the column at *@at as @ret_column, and moves *@at past it. */
static bool column_open(const uint8_t **at, const uint8_t *end, struct cursor_column *ret_column)
{
	struct cursor_column c = {};
	uint64_t len;

	if (*at == end)
		return false;
	c.code = *(*at)++;
	if (c.code > PACK_BYTES || !varint_get(at, end, &len) || len > (size_t)(end - *at))
		return false;
	c.at = *at;
	c.end = *at += len;
	if (c.code == PACK_SAME && (!varint_get(&c.at, c.end, &c.last) || c.at != c.end))
		return false;
	*ret_column = c;
	return true;
}

int cursor_open(struct cursor *c, unsigned int n, unsigned int rows, const uint8_t *bytes,
		size_t len)
{
	const uint8_t *at = bytes, *end = len ? bytes + len : bytes;
	struct cursor_column column;
	unsigned int numbers = 0;
	uint64_t there;

	*c = (struct cursor){ .n = n, .rows = rows };
	if (!varint_get(&at, end, &there))
		return -EBADMSG;
	for (uint64_t i = 0; i < there; i++) {
		if (!column_open(&at, end, &column))
			return -EBADMSG;
		if (column.code == PACK_BYTES) {
			c->tail = column.at;
			c->tail_len = column.end - column.at;
		} else if (numbers < n) {
			column.place = numbers;
			c->values[numbers++] = column.last;
			if (column.code != PACK_SAME)
				c->varying[c->n_varying++] = column;
		}
	}
	return at == end ? 0 : -EBADMSG;
}

void cursor_order(struct cursor *c, const unsigned char *order)
{
	uint64_t values[PACK_COLUMNS];

	memcpy(values, c->values, sizeof(values));
	for (unsigned int i = 0; i < c->n; i++)
		c->values[order[i]] = values[i];
	for (unsigned int i = 0; i < c->n_varying; i++)
		c->varying[i].place = order[c->varying[i].place];
}

/* Reads the next @rows values of a column to @to, which are a row apart. Returns how many there
 * are. */
static unsigned int column_read(struct cursor_column *c, uint64_t *to, unsigned int rows)
{
	const uint8_t *at = c->at, *end = c->end;
	uint64_t v, last = c->last;
	unsigned int row;

	for (row = 0; row < rows; row++, to += PACK_COLUMNS) {
		if (at < end && *at < 0x80)
			v = *at++;
		else if (!varint_get(&at, end, &v))
			break;
		last = c->code == PACK_DELTA ? last + unzigzag(v) : v;
		*to = last;
	}
	c->at = at;
	c->last = last;
	return row;
}

/* Reads the next rows, column by column: lengths of values in one column are alike. */
static void block_read(struct cursor *c)
{
	unsigned int rows = c->rows < PACK_BLOCK ? c->rows : PACK_BLOCK, there = rows;

	for (unsigned int row = 0; !c->has_block && row < rows; row++)
		memcpy(c->block[row], c->values, c->n * sizeof(c->values[0]));
	c->has_block = true;
	for (unsigned int i = 0; i < c->n_varying; i++)
		there = column_read(&c->varying[i], &c->block[0][c->varying[i].place], there);
	c->damaged = there < rows;
	c->rows -= rows;
	c->next = 0;
	c->behind = there;
}

int cursor_next(struct cursor *c, uint64_t *row)
{
	if (c->next == c->behind && !c->damaged)
		block_read(c);
	if (c->next == c->behind)
		return c->damaged ? -EBADMSG : 0;
	memcpy(row, c->block[c->next++], c->n * sizeof(*row));
	return 1;
}
