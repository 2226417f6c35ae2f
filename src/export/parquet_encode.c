// SPDX-License-Identifier: GPL-2.0-only
#include "export/parquet_encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/encode.h"

void bytes_done(struct bytes *b)
{
	free(b->at);
	*b = (struct bytes){};
}

uint8_t *bytes_room(struct bytes *b, size_t n)
{
	size_t cap = b->cap;
	uint8_t *at;

	if (b->cap - b->n >= n)
		return b->at + b->n;
	while (cap - b->n < n)
		cap += cap / 2 + 256;
	at = realloc(b->at, cap);
	if (!at) {
		b->failed = true;
		return NULL;
	}
	b->at = at;
	b->cap = cap;
	return at + b->n;
}

void bytes_put(struct bytes *b, const void *data, size_t n)
{
	uint8_t *at = bytes_room(b, n);

	if (!at || !n)
		return;
	memcpy(at, data, n);
	b->n += n;
}

void bytes_put_u32(struct bytes *b, uint32_t v)
{
	uint8_t bytes[sizeof(v)];

	put_u32(bytes, v);
	bytes_put(b, bytes, sizeof(bytes));
}

/* Appends the @n lowest bytes of @v. */
static void put_low(struct bytes *b, uint64_t v, size_t n)
{
	uint8_t bytes[sizeof(v)];

	put_u64(bytes, v);
	bytes_put(b, bytes, n);
}

void bytes_put_varint(struct bytes *b, uint64_t v)
{
	uint8_t *at = bytes_room(b, VARINT_MAX);

	if (at)
		b->n = varint_put(at, v) - b->at;
}

void bytes_put_zigzag(struct bytes *b, int64_t v)
{
	bytes_put_varint(b, zigzag(v));
}

unsigned int bits_of(uint64_t v)
{
	return v ? 64 - __builtin_clzll(v) : 0;
}

/* Bits that are not yet a whole byte, lowest first. */
struct packer {
	uint8_t *at;
	uint64_t word;
	unsigned int used; /* number of bits, below 64 */
};

static inline void pack(struct packer *p, uint64_t v, unsigned int width)
{
	uint64_t word = p->word | v << p->used;

	p->used += width;
	if (p->used < 64) {
		p->word = word;
		return;
	}
	put_u64(p->at, word);
	p->at += 8;
	p->used -= 64;
	/* by how much was shifted in: all of it, if nothing is left over */
	p->word = p->used ? v >> (width - p->used) : 0;
}

/* Writes the remaining bits; all bits make whole bytes. */
static void pack_rest(struct packer *p)
{
	uint8_t bytes[sizeof(p->word)];

	put_u64(bytes, p->word);
	memcpy(p->at, bytes, (p->used + 7) / 8);
}

static size_t bytes_for(unsigned int width)
{
	return (width + 7) / 8;
}

void encode_run(struct bytes *b, uint32_t v, size_t n, unsigned int width)
{
	bytes_put_varint(b, (uint64_t)n << 1);
	put_low(b, v, bytes_for(width));
}

static size_t run_length(const uint32_t *v, size_t n)
{
	size_t i = 1;

	while (i < n && v[i] == v[0])
		i++;
	return i;
}

static bool is_run(const uint32_t *v, size_t n)
{
	return n >= 8 && run_length(v, 8) == 8;
}

/* Bit-packs @n numbers. @n is a multiple of 8, except for the last numbers. */
static void encode_packed(struct bytes *b, const uint32_t *v, size_t n, unsigned int width)
{
	size_t groups = (n + 7) / 8;
	struct packer p = {};

	bytes_put_varint(b, (uint64_t)groups << 1 | 1);
	p.at = bytes_room(b, groups * width + 8);
	if (!p.at)
		return;
	for (size_t i = 0; i < n; i++)
		pack(&p, v[i], width);
	for (size_t i = n; i < groups * 8; i++)
		pack(&p, 0, width);
	pack_rest(&p);
	b->n += groups * width;
}

void encode_hybrid(struct bytes *b, const uint32_t *v, size_t n, unsigned int width)
{
	size_t i = 0, end;

	while (i < n) {
		if (is_run(v + i, n - i)) {
			end = i + run_length(v + i, n - i);
			encode_run(b, v[i], end - i, width);
		} else {
			end = i;
			do {
				end += 8;
			} while (end < n && !is_run(v + end, n - end));
			end = end < n ? end : n;
			encode_packed(b, v + i, end - i, width);
		}
		i = end;
	}
}

enum { MINI = 32, MINIS = 4, BLOCK = MINI * MINIS };

/* Bit-packs MINI differences, after subtracting @least. */
static void encode_mini(struct bytes *b, const uint64_t *deltas, uint64_t least, unsigned int width)
{
	struct packer p = { .at = bytes_room(b, MINI / 8 * 64 + 8) };

	if (!p.at || !width)
		return;
	for (int i = 0; i < MINI; i++)
		pack(&p, deltas[i] - least, width);
	pack_rest(&p);
	b->n += MINI / 8 * width;
}

/* Encodes @n differences. An incomplete last block is filled with the least difference: it takes no
 * bits. */
static void encode_block(struct bytes *b, uint64_t deltas[BLOCK], size_t n)
{
	int64_t least = INT64_MAX;
	uint8_t width[MINIS] = {};

	for (size_t i = 0; i < n; i++)
		least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
	for (size_t i = n; i < BLOCK; i++)
		deltas[i] = (uint64_t)least;
	for (int m = 0; m < MINIS; m++) {
		uint64_t all = 0;

		for (int i = 0; i < MINI; i++)
			all |= deltas[m * MINI + i] - (uint64_t)least;
		width[m] = (uint8_t)bits_of(all);
	}
	bytes_put_zigzag(b, least);
	bytes_put(b, width, MINIS);
	for (size_t m = 0; m * MINI < n; m++)
		encode_mini(b, deltas + m * MINI, (uint64_t)least, width[m]);
}

void encode_delta(struct bytes *b, const int64_t *v, size_t n)
{
	uint64_t deltas[BLOCK], last = n ? (uint64_t)v[0] : 0;
	size_t in_block = 0;

	bytes_put_varint(b, BLOCK);
	bytes_put_varint(b, MINIS);
	bytes_put_varint(b, n);
	bytes_put_zigzag(b, (int64_t)last);
	for (size_t i = 1; i < n; i++) {
		deltas[in_block++] = (uint64_t)v[i] - last;
		last = (uint64_t)v[i];
		if (in_block < BLOCK)
			continue;
		encode_block(b, deltas, BLOCK);
		in_block = 0;
	}
	if (in_block)
		encode_block(b, deltas, in_block);
}

void encode_plain(struct bytes *b, const int64_t *v, size_t n)
{
	uint8_t *at = bytes_room(b, 8 * n);

	if (!at)
		return;
	for (size_t i = 0; i < n; i++)
		put_u64(at + 8 * i, (uint64_t)v[i]);
	b->n += 8 * n;
}
