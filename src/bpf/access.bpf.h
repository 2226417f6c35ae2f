/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * access.bpf.h - the pattern of the accesses of a row: their sizes, and how many are sequential,
 * strided or random.
 *
 * A row of operations has one entry in a hash for each bucket of its time. The order of accesses
 * needs one place for all of them: a slot of access_slots, near the one to which its key hashes. A
 * slot keeps its owner until the end of the run. If no slot is free, the access is counted as
 * live.unpatterned.
 */
#ifndef IOSTRATA_ACCESS_BPF_H
#define IOSTRATA_ACCESS_BPF_H

#include "row.bpf.h"

static __always_inline bool access_slot_is_of(const struct access_slot *s, u64 fs, u64 by0, u64 by1,
					      u32 what)
{
	return s->by[1] == by1 && s->by[0] == by0 && s->fs == fs && s->what == what;
}

/* The slot in which a row is looked for first, and usually found. */
static __always_inline u32 access_slot_first(u64 fs, u64 by0, u64 by1, u32 what)
{
	u32 mixed = (u32)(by1 ^ by1 >> 32 ^ by0 ^ by0 >> 32 ^ fs) ^ what << 4;

	return mixed * HASH_FACTOR >> 12 & (CONF(access_slots) - 1);
}

/* Takes the slot @s, number @i, for a row. Returns false if another row has it. */
static __always_inline bool access_slot_take(struct access_slot *s, u32 i, u64 fs, u64 by0, u64 by1,
					     u32 what)
{
	u32 key = CLAIM_ACCESS + i;

	if (s->what || bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST))
		return false;
	s->fs = fs;
	s->by[0] = by0;
	s->by[1] = by1;
	barrier();
	s->what = what;
	return true;
}

/* The number of the slot for a row with this key, + 1, or 0 if none is free. */
GLOBAL u32 access_slot_find(u64 fs, u64 by0, u64 by1, u32 what)
{
	u32 i = access_slot_first(fs, by0, by1, what);
	struct access_slot *s;

	if (!op_may_end() || !CONF(access_slots))
		return 0;
	for (u32 tries = 0; tries < SLOT_SEARCH; tries++) {
		s = bpf_map_lookup_elem(&access_slots, &i);
		if (!s)
			return 0;
		if (access_slot_is_of(s, fs, by0, by1, what) ||
		    access_slot_take(s, i, fs, by0, by1, what))
			return i + 1;
		i = (i + 1) & (CONF(access_slots) - 1);
	}
	return 0;
}

/* Gives the size @bytes the free place @place in slot number @i. Returns false if the place has
 * another size by now, or another CPU gives a place of this slot to a size at this moment. */
static __always_inline bool access_size_take(volatile unsigned long long *place, u32 i, u32 bytes)
{
	u32 key = CLAIM_ACCESS_SIZE + i;
	u64 size;

	if (bpf_map_update_elem(&slots_taken, &key, &key, BPF_NOEXIST))
		return false;
	size = *place;
	if (!size)
		*place = size = bytes;
	bpf_map_delete_elem(&slots_taken, &key);
	return size == bytes;
}

/* Counts an access to @bytes bytes in slot number @i, whose size has none of the first @at places.
 * The place @at is free, or there is none. */
GLOBAL int access_count_other(u32 i, u32 at, u32 bytes, u32 odd)
{
	struct access_size key = { i, hist_bucket(bytes) };
	struct access_sums *sums;
	struct access_slot *s;
	bool even = !odd;
	u32 place;
	u64 *n;

	if (!op_may_end() || !CONF(access_slots))
		return 0;
	s = bpf_map_lookup_elem(&access_slots, &i);
	if (!s)
		return 0;
	sums = &s->sums[odd & 1];
	barrier_var(at);
	place = at % ACCESS_SIZES; /* for the verifier */
	if (at < ACCESS_SIZES && access_size_take(&s->sizes[place], i, bytes)) {
		barrier_var(place);
		atomic_add(&sums->of_size[place % ACCESS_SIZES], 1);
		return 0;
	}
	atomic_add(&sums->others, 1);
	atomic_add(&sums->others_bytes, bytes);
	cell_max(&sums->others_max, bytes);
	n = ROWS_LOOKUP(even, access_sizes, &key);
	if (!n) {
		if (!ROWS_INSERT(even, access_sizes, &key))
			row_made(&live.access_sizes_made[!even], CONF(access_sizes_limit));
		n = ROWS_LOOKUP(even, access_sizes, &key);
	}
	if (n)
		atomic_add(n, 1);
	else
		count_lost(LOST_MAP_FULL);
	return 0;
}

/* Counts an access to @bytes bytes in slot number @i by its size. */
static __always_inline void access_count_size(struct access_slot *s, struct access_sums *sums,
					      u32 i, u32 bytes, u32 odd)
{
	u32 at;

#pragma unroll
	for (at = 0; at < ACCESS_SIZES; at++) {
		if (s->sizes[at] == bytes) {
			atomic_add(&sums->of_size[at], 1);
			return;
		}
		if (!s->sizes[at])
			break;
	}
	access_count_other(i, at, bytes, odd);
}

/* Adds an access to @bytes bytes at @offset to the pattern in slot number @i. This is one function,
 * with numbers as arguments: most programs that end operations or requests have little room left on
 * the stack. @odd: the epoch, 0 or 1. */
GLOBAL int access_note(u32 i, u64 offset, u32 bytes, u32 odd)
{
	struct access_sums *sums;
	struct access_slot *s;
	u64 distance;

	if (!op_may_end() || !CONF(access_slots))
		return 0;
	s = bpf_map_lookup_elem(&access_slots, &i);
	if (!s)
		return 0;
	sums = &s->sums[odd & 1];
	access_count_size(s, sums, i, bytes, odd);
	switch (access_step(&s->past, offset, bytes, &distance)) {
	case ACCESS_SEQUENTIAL:
		atomic_add(&sums->sequential, 1);
		break;
	case ACCESS_STRIDED:
		atomic_add(&sums->strided, 1);
		break;
	case ACCESS_RANDOM:
		break;
	}
	atomic_add(&sums->distance, distance);
	return 0;
}

/* Adds an access to a pattern in the slot with number @slot - 1. @slot 0: there is none. */
static __always_inline void access_count(u32 slot, u64 offset, u32 bytes, bool even)
{
	if (likely(slot))
		access_note(slot - 1, offset, bytes, !even);
	else
		atomic_add(&live.unpatterned, 1);
}

#endif
