/* SPDX-License-Identifier: GPL-2.0-only */
/* kept.h - chunks in memory, in the order in which they are to be written. */
#ifndef IOSTRATA_KEPT_H
#define IOSTRATA_KEPT_H

#include <stdint.h>

#include "capture/format.h"

struct kept_chunk {
	struct kept_chunk *next;
	struct chunk_head head;
	uint8_t bytes[];
};

/* All 0: none. */
struct kept {
	struct kept_chunk *first, *last;
};

/* A copy of the chunk @bytes, head included, for free(). NULL: out of memory. */
struct kept_chunk *kept_copy(const struct chunk_head *h, const uint8_t *bytes);

/* Adds a copy. 0 or -ENOMEM. */
int kept_add(struct kept *k, const struct chunk_head *h, const uint8_t *bytes);

/* Takes the chunk out that follows @before, or the first if that is NULL. For free(). */
struct kept_chunk *kept_take(struct kept *k, struct kept_chunk *before);

/* Drops chunks of records that ended before @since_ns; adds how many they were to @dropped. */
struct kept_sums {
	uint64_t ops, requests;
};
void kept_drop(struct kept *k, uint64_t since_ns, struct kept_sums *dropped);

/* When the first of all records ended; 0: there is none. */
uint64_t kept_since(const struct kept *k);

void kept_done(struct kept *k);

#endif
