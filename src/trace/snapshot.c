// SPDX-License-Identifier: GPL-2.0-only
/*
 * snapshot.c - lifetime and percentiles of a snapshot; see snapshot.h.
 */
#include "snapshot.h"

#include <stdlib.h>

void snapshot_free(struct snapshot *sn)
{
	if (!sn)
		return;
	for (size_t i = 0; i < sn->n_ops; i++)
		free(sn->ops[i].by);
	free(sn->ops);
	free(sn->rqs);
	*sn = (struct snapshot){};
}

/* How many of @n values lie at or below the percentile: at least one, at most all. */
static uint64_t rank_of(uint64_t n, double pct)
{
	double exact = pct * n / 100 - 1e-6;	/* 99.9 % of 1000 is 999, not the next after it */
	uint64_t rank = exact > 0 ? exact : 0;

	if (rank < exact)
		rank++;
	if (rank > n)
		return n;
	return rank ? rank : 1;
}

/* The last bucket takes all that is too long for the others: its end is the maximum. */
static uint64_t bucket_middle(unsigned int b, uint64_t max_ns)
{
	uint64_t low = hist_low(b), end = hist_low(b + 1);

	if (b == HIST_N - 1 && max_ns >= end)
		end = max_ns;
	return low + (end - low) / 2;
}

uint64_t hist_percentile(const uint64_t hist[HIST_N], double pct, uint64_t max_ns)
{
	uint64_t n = 0, seen = 0, rank, middle;
	unsigned int b = 0;

	for (unsigned int i = 0; i < HIST_N; i++)
		n += hist[i];
	if (!n)
		return 0;
	rank = rank_of(n, pct);
	while ((seen += hist[b]) < rank)
		b++;
	middle = bucket_middle(b, max_ns);
	return middle < max_ns ? middle : max_ns;
}
