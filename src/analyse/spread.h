/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spread.h - spreads the time of an operation over the intervals in which the operation lives.
 *
 * An interval, called a bin, is 1 << shift ns long. No nanosecond is lost: the parts in all bins
 * add up to the whole time, share by share.
 */
#ifndef IOSTRATA_ANALYSE_SPREAD_H
#define IOSTRATA_ANALYSE_SPREAD_H

#include <stdint.h>

#include "base/share.h"

struct segments;

/* What is spread. */
struct spread {
	uint64_t shares[SHARE_N]; /* add up to total_ns */
	uint64_t total_ns;
	const struct segments *segments; /* the order of the time; NULL: not known */
};

/*
 * Sets @ret to the shares of the first @ns of the operation, at most total_ns: by the segments in
 * their order; in proportion where the order is not known. Between two calls with growing @ns, no
 * share falls.
 */
void spread_until(const struct spread *s, uint64_t ns, uint64_t ret[SHARE_N]);

/* The part of the operation in one bin: the shares until @ns, without those in @done, which are
 * then set to those until @ns. */
void spread_next(const struct spread *s, uint64_t ns, uint64_t done[SHARE_N],
		 uint64_t ret[SHARE_N]);

#endif
