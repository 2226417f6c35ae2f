// SPDX-License-Identifier: GPL-2.0-only
#include "base/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first bin that is not below @bucket. Without branches: random times would mispredict
 * them, at a higher cost than all else in adding up an operation. */
static unsigned int bin_find(const struct hist *h, unsigned int bucket)
{
	const struct hist_bin *at = h->bins;
	unsigned int n = h->n, half;

	if (!n)
		return 0;
	for (; n > 1; n -= half) {
		half = n / 2;
		at += half * (at[half - 1].bucket < bucket);
	}
	return at - h->bins + (at->bucket < bucket);
}

/* Grows by a quarter, to save memory: there can be hundreds of thousands of rows. */
static int bins_grow(struct hist *h)
{
	unsigned int cap = h->cap + h->cap / 4 + 2;
	struct hist_bin *bins = reallocarray(h->bins, cap, sizeof(*bins));

	if (!bins)
		return -ENOMEM;
	h->bins = bins;
	h->cap = cap;
	return 0;
}

int hist_add(struct hist *h, unsigned int bucket, uint64_t count)
{
	unsigned int i = bin_find(h, bucket);

	if (i < h->n && h->bins[i].bucket == bucket) {
		h->bins[i].count += count;
		return 0;
	}
	if (h->n == h->cap && bins_grow(h))
		return -ENOMEM;
	memmove(h->bins + i + 1, h->bins + i, (h->n - i) * sizeof(*h->bins));
	h->bins[i] = (struct hist_bin){ .bucket = bucket, .count = count };
	h->n++;
	return 0;
}

int hist_merge(struct hist *h, const struct hist *more)
{
	int err = 0;

	for (unsigned int i = 0; i < more->n && !err; i++)
		err = hist_add(h, more->bins[i].bucket, more->bins[i].count);
	return err;
}

/* How many of @n values lie at or below the percentile. @n and @pct are not 0. */
static uint64_t rank_of(uint64_t n, double pct)
{
	uint64_t below = pct * n / 100 - 1e-6; /* 99.9 % of 1000 is 999, however it is rounded */

	return below < n ? below + 1 : n;
}

/* The last bucket has no upper bound: it ends at the maximum. */
static uint64_t bucket_middle(unsigned int b, uint64_t max_ns)
{
	uint64_t low = hist_low(b), end = hist_low(b + 1);

	if (b == HIST_N - 1 && max_ns >= end)
		end = max_ns;
	return low + (end - low) / 2;
}

void hist_scale(struct hist *h, uint64_t n, uint64_t longest)
{
	double carry = 0.5, scale; /* of rounding: the last part is rounded to the whole */
	uint64_t all = 0, left;
	unsigned short out = 0;

	for (unsigned int i = 0; i < h->n; i++)
		all += h->bins[i].count;
	left = all > longest ? all - longest : 0;
	scale = left && n > longest ? (double)(n - longest) / left : 0;
	for (unsigned int i = 0; i < h->n; i++) {
		uint64_t part = h->bins[i].count < left ? h->bins[i].count : left, scaled;

		scaled = part * scale + carry;
		carry += part * scale - scaled;
		left -= part;
		h->bins[i].count += scaled - part;
		if (h->bins[i].count)
			h->bins[out++] = h->bins[i];
	}
	h->n = out;
}

uint64_t hist_percentile(const struct hist *h, double pct, uint64_t max_ns)
{
	uint64_t n = 0, seen = 0, rank, middle;
	unsigned int b = 0;

	for (unsigned int i = 0; i < h->n; i++)
		n += h->bins[i].count;
	if (!n)
		return 0;
	rank = rank_of(n, pct);
	while ((seen += h->bins[b].count) < rank)
		b++;
	/* the longest value is known exactly, if this histogram has it */
	if (rank == n && hist_bucket(max_ns) == h->bins[b].bucket)
		return max_ns;
	middle = bucket_middle(h->bins[b].bucket, max_ns);
	return middle < max_ns ? middle : max_ns;
}

int hist_take(struct hist *h, unsigned int counts[HIST_N])
{
	int err = 0;

	for (unsigned int b = 0; b < HIST_N && !err; b++) {
		if (!counts[b])
			continue;
		err = hist_add(h, b, counts[b]);
		counts[b] = 0;
	}
	return err;
}
