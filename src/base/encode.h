/* SPDX-License-Identifier: GPL-2.0-only */
/* encode.h - numbers as bytes, for recordings and Parquet: little endian, varints, zigzag. */
#ifndef IOSTRATA_BASE_ENCODE_H
#define IOSTRATA_BASE_ENCODE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline void put_u32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_u64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* A signed number as an unsigned one, small if it is near 0: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

enum { VARINT_MAX = 10 };

/* Writes @v, 7 bits a byte, lowest bits first: at most VARINT_MAX bytes. Returns the end. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = v | 0x80;
	*p++ = v;
	return p;
}

/* Joins the low 7 bits of each byte. */
static inline uint64_t varint_join(uint64_t v)
{
	v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
	v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
	return (v & 0x0fffffff) | (v & 0x0fffffff00000000) >> 4;
}

/* Reads a varint at *@at, and moves *@at past it. False: cut short at @end, or longer than 64 bits.
 * Up to 8 bytes are read at once: a branch for each would be mispredicted. */
static inline bool varint_get(const uint8_t **at, const uint8_t *end, uint64_t *ret_v)
{
	const uint8_t *p = *at;
	uint64_t v = 0, ends;

	if (end - p >= 8) {
		v = get_u64(p);
		ends = ~v & 0x8080808080808080;
		if (ends) {
			*at = p + (__builtin_ctzll(ends) + 1) / 8;
			*ret_v = varint_join(v & (ends ^ (ends - 1)));
			return true;
		}
		v = 0;
	}
	for (unsigned int shift = 0; p < end && shift < 64; shift += 7) {
		v |= (uint64_t)(*p & 0x7f) << shift;
		if (*p++ & 0x80)
			continue;
		*at = p;
		*ret_v = v;
		return p[-1] <= 1 || shift < 63;
	}
	return false;
}

#endif
