/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * access.h - the pattern of reads or writes of a file, or of requests of a disk, in the order in
 * which they are added: sizes, and shares of sequential, strided and random ones. The size is
 * fixed, no matter what is added; but for the histogram of a struct access_pattern.
 */
#ifndef IOSTRATA_BASE_ACCESS_H
#define IOSTRATA_BASE_ACCESS_H

#include <stdint.h>

#include "base/hist.h"
#include "cell.h"

/* Accesses of one direction, as access_step() has them. At first all 0. */
struct access {
	uint64_t count, bytes, max_bytes;
	uint64_t sequential, strided; /* the others are random */
	uint64_t distance;            /* bytes from the end of the last access, summed up */
	/* the first different sizes; count 0: free */
	struct {
		uint64_t bytes, count;
	} sizes[ACCESS_SIZES];
	struct access_past past; /* private */
};

/* Adds an access to @bytes bytes from @offset on; bytes > 0. */
void access_add(struct access *a, uint64_t offset, uint64_t bytes);

/* The size that most accesses of known sizes had, and how many, or 0 if there is none. */
uint64_t access_size(const struct access *a, uint64_t *ret_count);

/* Accesses with all their sizes as a histogram. At first all 0; .sizes.bins is owned. */
struct access_pattern {
	struct access access;
	struct hist sizes; /* buckets of bytes, as hist_bucket() has them of ns */
};

/* Returns 0 or -ENOMEM. */
int access_pattern_add(struct access_pattern *p, uint64_t offset, uint64_t bytes);

/* The number of accesses in the sums of a row, as the programs have them. */
uint64_t access_sums_count(const struct access_sums *s);

/* Adds the sums of a row in one epoch, as the programs have them; @sizes: access_slot.sizes. The
 * histogram lacks the other sizes. Nothing can be added afterwards by access_pattern_add(). Returns
 * 0 or -ENOMEM.
 */
int access_pattern_add_sums(struct access_pattern *p, const struct access_sums *s,
			    const unsigned long long sizes[ACCESS_SIZES]);

/* Adds the figures of @more; nothing can be added afterwards by access_pattern_add(). Returns 0 or
 * -ENOMEM.
 */
int access_pattern_merge(struct access_pattern *p, const struct access_pattern *more);

/* Half of the accesses are at most this long: exact if they have at most ACCESS_SIZES sizes, else
 * within 1.6 %. Returns 0 if there are none. */
uint64_t access_pattern_median(const struct access_pattern *p);

/* NULL is fine. */
void access_pattern_free(struct access_pattern *p);

#endif
