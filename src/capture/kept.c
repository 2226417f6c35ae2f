// SPDX-License-Identifier: GPL-2.0-only
#include "capture/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

void kept_done(struct kept *k)
{
	struct kept_chunk *c;

	while ((c = kept_take(k, NULL)))
		free(c);
}
