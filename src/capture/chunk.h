/* SPDX-License-Identifier: GPL-2.0-only */
/* chunk.h - the head of a chunk as bytes, and back; numbers are little endian. Bytes in buffers and
 * in files. */
#ifndef IOSTRATA_CHUNK_H
#define IOSTRATA_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/format.h"

/* What is counted, recorded or lost. */
static inline bool is_records(unsigned int kind)
{
	return kind == CHUNK_OPS || kind == CHUNK_REQUESTS;
}

/* What grows with what happens. */
static inline bool is_events(unsigned int kind)
{
	return is_records(kind) || kind == CHUNK_HANDLES;
}

/* Writes CHUNK_HEAD bytes. */
void head_put(uint8_t *p, const struct chunk_head *h);

/* Reads CHUNK_HEAD hostile bytes. False: they are not a head. */
bool head_get(const uint8_t *p, struct chunk_head *h);

uint32_t get_u32(const uint8_t *p);
void put_u32(uint8_t *p, uint32_t v);
void put_u64(uint8_t *p, uint64_t v);

/* Writes all @len bytes. 0 or -errno. */
int bytes_write(int fd, const uint8_t *p, size_t len);

/* What packs the payload of chunks, a ZSTD_CCtx. NULL: out of memory. */
void *packer_make(void);

/* Makes *@buf, of *@cap bytes, large enough for @size. 0 or -ENOMEM. */
int bytes_reserve(uint8_t **buf, size_t *cap, size_t size);

#endif
