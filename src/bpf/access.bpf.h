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

/* The last argument of access_note(): the row's ROW_WHAT() or REQUESTS_WHAT(), its epoch, and the
 * bytes, as one number. ACCESS_EVEN is a bit which is free in both. */
#define ACCESS_EVEN                  0x40000000ULL
#define ACCESS_OF(what, even, bytes) (((what) | ((even) ? ACCESS_EVEN : 0)) << 32 | (u32)(bytes))

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

/* Takes the slot @s, number @i, for a row. False: another row has it. */
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

/* Counts an access to @bytes bytes in slot @i. Two CPUs which meet a new size at once may count one
 * of the two accesses with the other's size. */
static __always_inline void access_count_size(struct access_slot *s, struct access_sums *sums,
					      u32 i, u32 bytes, bool even)
{
	struct access_size key;
	u64 *n;

#pragma unroll
	for (int at = 0; at < ACCESS_SIZES; at++) {
		if (!s->sizes[at])
			s->sizes[at] = bytes;
		if (s->sizes[at] == bytes) {
			atomic_add(&sums->of_size[at], 1);
			return;
		}
	}
	key.slot = i;
	key.bucket = hist_bucket(bytes);
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
}

/* Adds an access at @offset to the pattern of the row with this key. @how: ACCESS_OF(). This is one
 * function, with numbers as arguments, because most programs in which operations or requests end
 * have little room left on the stack. */
GLOBAL int access_note(u64 fs, u64 by0, u64 by1, u64 offset, u64 how)
{
	u32 what = how >> 32 & ~ACCESS_EVEN, bytes = how, i;
	bool even = how >> 32 & ACCESS_EVEN;
	struct access_slot *s = NULL;
	struct access_sums *sums;
	u64 distance;

	if (!op_may_end() || !CONF(access_slots))
		return 0;
	i = access_slot_first(fs, by0, by1, what);
	for (u32 tries = 0; tries < SLOT_SEARCH; tries++) {
		s = bpf_map_lookup_elem(&access_slots, &i);
		if (!s || access_slot_is_of(s, fs, by0, by1, what) ||
		    access_slot_take(s, i, fs, by0, by1, what))
			break;
		s = NULL;
		i = (i + 1) & (CONF(access_slots) - 1);
	}
	if (!s) {
		atomic_add(&live.unpatterned, 1);
		return 0;
	}
	sums = &s->sums[!even];
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
	atomic_add(&sums->count, 1);
	atomic_add(&sums->bytes, bytes);
	atomic_add(&sums->distance, distance);
	cell_max(&sums->max_bytes, bytes);
	access_count_size(s, sums, i, bytes, even);
	return 0;
}

#endif
