// SPDX-License-Identifier: GPL-2.0-only
#include "capture/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/chunk.h"

struct kept_chunk *kept_copy(const struct chunk_head *h, const uint8_t *bytes)
{
	size_t len = CHUNK_HEAD + h->packed;
	struct kept_chunk *c = malloc(sizeof(*c) + len);

	if (!c)
		return NULL;
	*c = (struct kept_chunk){ .head = *h };
	memcpy(c->bytes, bytes, len);
	return c;
}

int kept_add(struct kept *k, const struct chunk_head *h, const uint8_t *bytes)
{
	struct kept_chunk *c = kept_copy(h, bytes);

	if (!c)
		return -ENOMEM;
	if (k->last)
		k->last->next = c;
	else
		k->first = c;
	k->last = c;
	return 0;
}

struct kept_chunk *kept_take(struct kept *k, struct kept_chunk *before)
{
	struct kept_chunk **at = before ? &before->next : &k->first, *c = *at;

	if (!c)
		return NULL;
	*at = c->next;
	if (k->last == c)
		k->last = before;
	return c;
}

void kept_drop(struct kept *k, uint64_t since_ns, struct kept_sums *dropped)
{
	struct kept_chunk *before = NULL, *c;

	while ((c = before ? before->next : k->first)) {
		if (!is_events(c->head.kind) || c->head.last_ns >= since_ns) {
			before = c;
			continue;
		}
		if (is_records(c->head.kind))
			*(c->head.kind == CHUNK_OPS ? &dropped->ops : &dropped->requests) +=
				c->head.rows;
		free(kept_take(k, before));
	}
}

uint64_t kept_since(const struct kept *k)
{
	uint64_t first = 0;

	for (const struct kept_chunk *c = k->first; c; c = c->next)
		if (is_records(c->head.kind) && (!first || c->head.first_ns < first))
			first = c->head.first_ns;
	return first;
}

void kept_done(struct kept *k)
{
	struct kept_chunk *c;

	while ((c = kept_take(k, NULL)))
		free(c);
}
