/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * parquet_encode.h - numbers as bytes, in the encodings of Apache Parquet (its document
 * Encodings.md). Knows nothing of columns and files.
 */
#ifndef IOSTRATA_EXPORT_PARQUET_ENCODE_H
#define IOSTRATA_EXPORT_PARQUET_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow at their end. All 0 before the first use. */
struct bytes {
	uint8_t *at; /* owned */
	size_t n, cap;
	bool failed; /* out of memory: bytes are missing */
};

void bytes_done(struct bytes *b);

/* Makes room for @n more bytes, and returns the place for them; the caller adds to .n. Returns NULL
 * if out of memory. */
uint8_t *bytes_room(struct bytes *b, size_t n);

void bytes_put(struct bytes *b, const void *data, size_t n);
void bytes_put_u32(struct bytes *b, uint32_t v);    /* little endian */
void bytes_put_varint(struct bytes *b, uint64_t v); /* 7 bits a byte, lowest bits first */

/* A signed number as a varint: 0, -1, 1, -2 ... are written as 0, 1, 2, 3 ... */
void bytes_put_zigzag(struct bytes *b, int64_t v);

/* The number of bits in @v; 0 for 0. */
unsigned int bits_of(uint64_t v);

/* RLE and bit-packing, mixed: @n numbers of @width bits. The caller writes the length before levels
 * and the width before indices. */
void encode_hybrid(struct bytes *b, const uint32_t *v, size_t n, unsigned int width);

/* @n times the number @v, encoded as by encode_hybrid(). */
void encode_run(struct bytes *b, uint32_t v, size_t n, unsigned int width);

/* DELTA_BINARY_PACKED. Differences are modulo 2^64, so any numbers can be encoded. */
void encode_delta(struct bytes *b, const int64_t *v, size_t n);

/* PLAIN: 8 bytes each. */
void encode_plain(struct bytes *b, const int64_t *v, size_t n);

#endif
