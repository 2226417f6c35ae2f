/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * made.h - any bytes as a recording. Bytes which had to be packed and to have the right checksums
 * would hardly ever be anything but "damaged". So chunks are made of the bytes, too.
 */
#ifndef IOSTRATA_FUZZ_MADE_H
#define IOSTRATA_FUZZ_MADE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "capture/batch.h"

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static inline const char *no_call(unsigned short call)
{
	(void)call;
	return NULL;
}

static inline size_t chunk_make(uint8_t *dst, size_t cap, const struct chunk_head *head,
				const void *raw)
{
	struct chunk_head h = *head;

	h.packed = ZSTD_compress(dst + CHUNK_HEAD, cap - CHUNK_HEAD, raw, h.raw, 1);
	CHECK(!ZSTD_isError(h.packed));
	head_put(dst, &h);
	return CHUNK_HEAD + h.packed;
}

/* Chunks out of @data: each has a byte for its kind, one for its rows, two for its length. */
static inline size_t chunks_make(uint8_t *dst, size_t cap, const uint8_t *data, size_t size)
{
	static const char header[] = "{\"monotonic_ns\":1,\"stacks\":true}";
	struct chunk_head h = { .kind = CHUNK_HEADER, .raw = sizeof(header) - 1, .rows = 1 };
	size_t n = CAPTURE_HEAD, len;

	memset(dst, 0, CAPTURE_HEAD);
	memcpy(dst, CAPTURE_MAGIC, 8);
	put_u32(dst + 8, CAPTURE_VERSION);
	n += chunk_make(dst + n, cap - n, &h, header);
	while (size >= 4 && cap - n > 200000) {
		len = data[2] | data[3] << 8;
		len = len < size - 4 ? len : size - 4;
		h = (struct chunk_head){
			.kind = data[0] % CHUNK_KINDS, .raw = len, .rows = data[1], .last_ns = ~0ULL
		};
		n += chunk_make(dst + n, cap - n, &h, data + 4);
		data += 4 + len;
		size -= 4 + len;
	}
	return n;
}

/* @size bytes, 1 at least, as a file that can be read twice. */
static inline FILE *recording_make(const uint8_t *data, size_t size)
{
	static uint8_t made[1 << 20];

	if (data[0] == 'i')
		return fmemopen((void *)data, size, "r");
	size = chunks_make(made, sizeof(made), data + 1, size - 1);
	return fmemopen(made, size, "r");
}

#endif
