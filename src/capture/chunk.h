/* SPDX-License-Identifier: GPL-2.0-only */
/* chunk.h - the head of a chunk as bytes, and back; numbers are little endian. */
#ifndef IOSTRATA_CHUNK_H
#define IOSTRATA_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/format.h"

/* Writes CHUNK_HEAD bytes. */
void head_put(uint8_t *p, const struct chunk_head *h);

/* Reads CHUNK_HEAD hostile bytes. False: they are not a head. */
bool head_get(const uint8_t *p, struct chunk_head *h);

uint32_t get_u32(const uint8_t *p);
void put_u32(uint8_t *p, uint32_t v);
void put_u64(uint8_t *p, uint64_t v);

#endif
