/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * why.bpf.h - with conf.why: where a thread was in the kernel during a sleep that nothing else
 * explains. Its stack is looked at when it gets the CPU again: nobody pays for a sleep that has a
 * name already, and it is still as it was when the thread left the CPU.
 */
#ifndef IOSTRATA_WHY_BPF_H
#define IOSTRATA_WHY_BPF_H

#include "row.bpf.h"

/* Of the even and of the odd epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct why_key);
	__type(value, struct why_sums);
} why_rows_even SEC(".maps"), why_rows_odd SEC(".maps");

/* NULL: no room, or refused, as in row_hashed(). */
static __always_inline struct why_sums *why_row(const struct why_key *key)
{
	bool even = !live.epoch;
	struct why_sums *sums = ROWS_LOOKUP(even, why_rows, key);

	if (sums)
		return sums;
	if (!ROWS_INSERT(even, why_rows, key))
		row_made(&live.why_rows_made[!even], CONF(why_rows_limit));
	sums = ROWS_LOOKUP(even, why_rows, key);
	if (!sums)
		count_lost(LOST_MAP_FULL);
	return sums;
}

/* @p, whose operation is @op, has slept @ns for reasons that are not known. */
static __always_inline void why_note(const struct op *op, struct task_struct *p, u64 ns)
{
	struct why_key key = {.op = op->kind};
	struct why_sums *sums;

	if (op->progress != OP_BEGUN && op->progress != OP_FAULTS)
		key.fs = op->file.fs;
	/* the kernel leaves out what is in the scheduler or in locks (in_sched_functions()) */
	bpf_get_task_stack(p, key.at, sizeof(key.at), 0);
	sums = why_row(&key);
	if (!sums)
		return;
	atomic_add(&sums->count, 1);
	atomic_add(&sums->total_ns, ns);
	cell_max(&sums->max_ns, ns);
}

#endif
