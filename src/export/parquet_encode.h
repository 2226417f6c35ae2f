/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * parquet_encode.h - numbers as bytes, in the encodings of Apache Parquet (its document
 * Encodings.md), and structs in Thrift's compact protocol (its thrift-compact-protocol.md). Knows
 * nothing of columns and files.
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

/* Makes room for @n more bytes, and returns the place for them; the caller adds to .n. NULL: out of
 * memory. */
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

enum { THRIFT_DEPTH = 8 };

/* A struct being written, and the structs around it. Only .out is set before the first use. */
struct thrift {
	struct bytes *out;
	int last[THRIFT_DEPTH]; /* id of the last field, by depth */
	int depth;
};

void thrift_i32(struct thrift *t, int id, int32_t v);
void thrift_i64(struct thrift *t, int id, int64_t v);
void thrift_bool(struct thrift *t, int id, bool v);
void thrift_bytes(struct thrift *t, int id, const void *data, size_t n);
void thrift_text(struct thrift *t, int id, const char *text);

/* A struct as field @id, or as an element of a list: @id is 0. */
void thrift_begin(struct thrift *t, int id);
void thrift_end(struct thrift *t);

/* Begins a list of @n elements; the caller writes these as structs, or by thrift_item_...(). */
enum thrift_type { THRIFT_I32 = 5, THRIFT_BINARY = 8, THRIFT_STRUCT = 12 };
void thrift_list(struct thrift *t, int id, enum thrift_type of, size_t n);
void thrift_item_i32(struct thrift *t, int32_t v);
void thrift_item_text(struct thrift *t, const char *text);

#endif
