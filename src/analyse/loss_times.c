// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/loss_times.h"

#include "capture/losses.h"

void loss_times_add(struct loss_times *l, const struct stored_loss *loss, unsigned int shift)
{
	/* one that happened at a single moment counts from the moment on: see loss_part() */
	uint64_t first = loss->from_ns >> shift, last = loss->to_ns >> shift;

	if (loss->kind >= LOST_N || loss->from_ns > loss->to_ns)
		return;
	for (uint64_t bin = first; bin <= last && bin < CUBE_BINS; bin++)
		l->lost[loss->kind][bin] += loss_part(loss, bin << shift, (bin + 1) << shift);
}

void loss_times_halve(struct loss_times *l)
{
	for (int kind = 0; kind < LOST_N; kind++) {
		for (int i = 0; i < CUBE_BINS / 2; i++)
			l->lost[kind][i] = l->lost[kind][2 * i] + l->lost[kind][2 * i + 1];
		for (int i = CUBE_BINS / 2; i < CUBE_BINS; i++)
			l->lost[kind][i] = 0;
	}
}
