/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * io.bpf.h - the states of bios and requests: where they are, and how they are found.
 *
 * The usual place is a slot. Each CPU has a row of io_slots, and only programs on this CPU take
 * slots there, without atomic instructions and without a search. A program done with a state gives
 * the slot back with one store, on any CPU. If the slot is in use, the state goes into a hash, as
 * does the state of a request without a bio. While the hash is empty, nothing looks into it
 * (live.hashed).
 *
 * A program must guess the CPU to find a slot. Events of a bio come on the CPU that submitted the
 * bio, unless the thread migrates in the short time between. The software queue of a request names
 * the request's CPU. Where a miss would be a loss, the rows of the other CPUs are searched, too.
 */
#ifndef IOSTRATA_IO_BPF_H
#define IOSTRATA_IO_BPF_H

#include "state.bpf.h"

static __always_inline u64 bio_key(struct bio *bio)
{
	return (u64)bio;
}

static __always_inline u64 request_key(struct request *rq)
{
	return (u64)rq;
}

/* The slot of @key in the row of @cpu. Any state may use the slot. */
static __always_inline struct io_state *io_slot(u64 key, u64 cpu)
{
	/* multiplicative hashing: the high half of the product depends on all bits of the key's low
	 * half */
	u64 hash = (u64)low_half(key) * HASH_FACTOR >> 32, len = CONF(io_slots_per_cpu);
	u64 i = cpu * len + (hash & (len - 1));

	barrier_var(i);
	return &io_slots[i % IO_SLOTS];
}

static __always_inline struct io_state *io_hashed(u64 key)
{
	return live.hashed ? bpf_map_lookup_elem(&ios, &key) : NULL;
}

/* The state of @key, whose slot is in the row of @cpu if the state has a slot; else NULL. */
static __always_inline struct io_state *io_find(u64 key, u64 cpu)
{
	struct io_state *io = io_slot(key, cpu);

	return io->key == key ? io : io_hashed(key);
}

static __always_inline void io_hash(struct io_state *io)
{
	u64 key = io->key;

	io->hashed = 1;
	if (!bpf_map_update_elem(&ios, &key, io, BPF_NOEXIST))
		atomic_add(&live.hashed, 1);
	else if (bpf_map_update_elem(&ios, &key, io, BPF_EXIST))
		count_lost(LOST_MAP_FULL);
}

/* The slot that @key may take in the row of @cpu, the current CPU. Returns NULL if the slot is in
 * use. A dispatched state of @key in the slot belongs to an earlier bio at the same address: the
 * end of that bio was missed. */
static __always_inline struct io_state *io_slot_for(u64 key, u64 cpu)
{
	struct io_state *slot = io_slot(key, cpu);

	if (likely(!slot->key))
		return slot;
	if (slot->key != key)
		return NULL;
	if (slot->d && slot->counted)
		count_lost(LOST_UNMATCHED_REQUESTS);
	return slot;
}

static __always_inline void io_unhash(u64 key)
{
	if (!bpf_map_delete_elem(&ios, &key))
		atomic_add(&live.hashed, -1);
}

/* Ends the state @io. It must not be used afterwards. */
static __always_inline void io_drop(struct io_state *io)
{
	if (io->hashed) {
		io_unhash(io->key);
	} else {
		barrier(); /* all reads of @io come before */
		io->key = 0;
	}
}

/* The state of a bio ends, or moves into the hash, before the bio is done. Notes the bio's request
 * of io_uring or libaio in async_bios. There it is found later, no matter what happens to the
 * state. */
static __always_inline void io_parts(struct io_state *io)
{
	struct async_ref ref = {};
	u64 bio = io->key;

	if (!CONF(async) || !io->async)
		return;
	ref.q = io->q;
	ref.at = io->async;
	io->async = 0;
	if (!bpf_map_update_elem(&async_bios, &bio, &ref, BPF_NOEXIST))
		atomic_add(&live.async_bios, 1);
	else if (bpf_map_update_elem(&async_bios, &bio, &ref, BPF_EXIST))
		count_lost(LOST_MAP_FULL);
}

/* The slot of the request of io_uring or libaio to which the bio @io belongs, or 0 if the bio
 * belongs to none. It may be noted in either place. A note left by an earlier bio at the same
 * address, whose end was missed, has another time. */
static __always_inline u32 io_async(const struct io_state *io)
{
	u64 bio = io->key;
	struct async_ref *ref;

	if (!CONF(async) || io->async || !live.async_bios)
		return io->async;
	ref = bpf_map_lookup_elem(&async_bios, &bio);
	return ref && ref->q == io->q ? ref->at : 0;
}

/* Moves the state @io into the hash, under @key. */
static __always_inline void io_move(struct io_state *io, u64 key)
{
	struct io_state moved;

	io_parts(io);
	moved = *io;
	io_drop(io);
	moved.key = key;
	io_hash(&moved);
}

/* For a @key not found elsewhere: looks in the rows of all CPUs (MAX_SEARCH at most), and moves a
 * state found there to the hash. True if there was one. */
static __always_inline bool io_search(u64 key)
{
	u64 rows = CONF(io_cpus), cpu = 0;
	struct io_state *io;

	do {
		io = io_slot(key, cpu);
		if (io->key == key) {
			io_move(io, key);
			return true;
		}
	} while (++cpu < rows);
	return false;
}

#endif
