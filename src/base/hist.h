/* SPDX-License-Identifier: GPL-2.0-only */
/* hist.h - histograms of times, with 64-bit counts, and their percentiles. */
#ifndef IOSTRATA_BASE_HIST_H
#define IOSTRATA_BASE_HIST_H

#include <stdint.h>

#include "cell.h"

/* A histogram with the buckets of hist_bucket(). Stores only buckets with a count: few in most
 * rows. */
struct hist_bin {
	uint64_t bucket : 16;
	uint64_t count : 48;
};

struct hist {
	struct hist_bin *bins; /* by bucket, lowest first; owned */
	unsigned short n, cap;
};

/* Adds @count values to @bucket. Returns 0 or -ENOMEM. */
int hist_add(struct hist *h, unsigned int bucket, uint64_t count);

/* Scales counts in proportion, but those of the @longest longest values, so that all add up to @n.
 */
void hist_scale(struct hist *h, uint64_t n, uint64_t longest);

/* Adds all of @more. Returns 0 or -ENOMEM. */
int hist_merge(struct hist *h, const struct hist *more);

/* @pct percent (0 < pct <= 100) of the values lie below the returned one. It is the middle of a
 * bucket, never above @max_ns, and exactly @max_ns for the longest. Returns 0 if there are no
 * values. The value is within 1.6 % of the exact one. */
uint64_t hist_percentile(const struct hist *h, double pct, uint64_t max_ns);

/* Moves the counts of a cell's histogram to @h. Returns 0 or -ENOMEM. */
int hist_take(struct hist *h, unsigned int counts[HIST_N]);

#endif
