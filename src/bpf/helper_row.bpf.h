/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * helper_row.bpf.h - with conf.helpers: the rows of what kernel helpers do, beside all others.
 * Whose they are is in their keys, with all names, so a row needs nothing else to be told.
 */
#ifndef IOSTRATA_HELPER_ROW_BPF_H
#define IOSTRATA_HELPER_ROW_BPF_H

#include "row.bpf.h"

/* Of the even and of the odd epoch, as those of requests. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct helper_key);
	__type(value, struct helper_sums);
} helper_rows_even SEC(".maps"), helper_rows_odd SEC(".maps");

/* NULL: no room, or refused, as in row_hashed(). */
static __always_inline struct helper_sums *helper_row(const struct helper_key *key)
{
	bool even = !live.epoch;
	struct helper_sums *sums = ROWS_LOOKUP(even, helper_rows, key);

	if (sums)
		return sums;
	if (!ROWS_INSERT(even, helper_rows, key))
		row_made(&live.helper_rows_made[!even], CONF(helper_rows_limit));
	sums = ROWS_LOOKUP(even, helper_rows, key);
	if (!sums)
		count_lost(LOST_MAP_FULL);
	return sums;
}

/* A request that a helper submitted is done. */
static __always_inline void helper_request_done(const struct io_state *io, u64 tag, u64 queue,
						u64 device)
{
	struct helper_key key = io->helper;
	struct helper_sums *sums;

	key.dev = io->dev;
	key.op = io->op;
	key.bio_based = io->bio_based;
	sums = helper_row(&key);
	if (!sums)
		return;
	atomic_add(&sums->count, 1);
	atomic_add(&sums->device_ns, device);
	cell_sum(false, sums->queue_ns, queue);
	cell_sum(false, sums->tag_ns, tag);
	if (io->failed)
		atomic_add(&sums->errors, 1);
	else
		cell_sum(false, sums->bytes, io->bytes);
}

#endif
