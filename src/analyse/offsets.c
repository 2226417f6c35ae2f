// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/offsets.h"

#include <string.h>

enum { TIME_SHIFT = 16, PLACE_SHIFT = 12, SHIFT_MOST = 63 }; /* 65 us, 4 KiB */

static bool continues_one(const struct access *a, uint64_t offset)
{
	for (unsigned int i = 0; i < a->n; i++)
		if (a->ends[i] == offset)
			return true;
	return false;
}

static void size_add(struct access_kind *k, uint64_t bytes)
{
	for (int i = 0; i < ACCESS_SIZES; i++) {
		if (k->sizes[i].count && k->sizes[i].bytes != bytes)
			continue;
		k->sizes[i].bytes = bytes;
		k->sizes[i].count++;
		return;
	}
}

void access_add(struct access *a, bool is_write, uint64_t offset, uint64_t bytes)
{
	struct access_kind *k = &a->kinds[is_write ? ACCESS_WRITE : ACCESS_READ];
	uint64_t end = a->ends[(a->next + ACCESS_STREAMS - 1) % ACCESS_STREAMS];
	int64_t stride = offset - a->last;

	k->count++;
	k->bytes += bytes;
	k->max_bytes = bytes > k->max_bytes ? bytes : k->max_bytes;
	size_add(k, bytes);
	if (continues_one(a, offset))
		k->sequential++;
	else if (a->n > 1 && stride && stride == a->stride)
		k->strided++;
	if (a->n)
		k->distance += offset > end ? offset - end : end - offset;
	a->stride = stride;
	a->last = offset;
	a->ends[a->next] = offset + bytes;
	a->next = (a->next + 1) % ACCESS_STREAMS;
	a->n += a->n < ACCESS_STREAMS;
}

uint64_t access_size(const struct access_kind *k, uint64_t *ret_count)
{
	int most = 0;

	for (int i = 1; i < ACCESS_SIZES; i++)
		if (k->sizes[i].count > k->sizes[most].count)
			most = i;
	*ret_count = k->sizes[most].count;
	return k->sizes[most].bytes;
}

static void cell_move(uint32_t to[ACCESS_KINDS], uint32_t from[ACCESS_KINDS])
{
	uint32_t moved[ACCESS_KINDS];

	memcpy(moved, from, sizeof(moved));
	memset(from, 0, sizeof(moved));
	for (int i = 0; i < ACCESS_KINDS; i++)
		to[i] += moved[i];
}

/* Intervals get twice as long. */
static void times_join(struct offset_map *m)
{
	for (int t = 0; t < OFFSETS_TIMES; t++)
		for (int p = 0; p < OFFSETS_PLACES; p++)
			cell_move(m->cells[t / 2][p], m->cells[t][p]);
	m->time_shift++;
}

/* Ranges of offsets get twice as long. */
static void places_join(struct offset_map *m)
{
	for (int t = 0; t < OFFSETS_TIMES; t++)
		for (int p = 0; p < OFFSETS_PLACES; p++)
			cell_move(m->cells[t][p / 2], m->cells[t][p]);
	m->place_shift++;
}

void offset_map_add(struct offset_map *m, uint64_t at_ns, bool is_write, uint64_t offset,
		    uint64_t bytes)
{
	if (!m->time_shift) {
		m->time_shift = TIME_SHIFT;
		m->place_shift = PLACE_SHIFT;
	}
	while (at_ns >> m->time_shift >= OFFSETS_TIMES && m->time_shift < SHIFT_MOST)
		times_join(m);
	while (offset >> m->place_shift >= OFFSETS_PLACES && m->place_shift < SHIFT_MOST)
		places_join(m);
	access_add(&m->access, is_write, offset, bytes);
	m->cells[at_ns >> m->time_shift][offset >> m->place_shift][is_write]++;
}
