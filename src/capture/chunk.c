// SPDX-License-Identifier: GPL-2.0-only
#include "capture/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

enum { ZSTD_LEVEL = 1 };

void put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = v >> 8 * i;
}

void put_u64(uint8_t *p, uint64_t v)
{
	put_u32(p, v);
	put_u32(p + 4, v >> 32);
}

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

uint32_t get_u32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get_u64(const uint8_t *p)
{
	return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
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
