// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/offsets.h"

#include <string.h>

enum { TIME_SHIFT = 16, PLACE_SHIFT = 12, SHIFT_MOST = 63 }; /* 65 us, 4 KiB */

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
	access_add(&m->access[is_write ? ACCESS_WRITE : ACCESS_READ], offset, bytes);
	m->cells[at_ns >> m->time_shift][offset >> m->place_shift][is_write]++;
}
