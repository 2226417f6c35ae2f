// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/spread.h"

#include <string.h>

/* @part of @whole in proportion to @n of @of. */
static uint64_t in_proportion(uint64_t whole, uint64_t n, uint64_t of)
{
	return of ? (unsigned __int128)whole * n / of : whole;
}

/* Adds the segments in the first @ns; returns the time after all segments up to @ns. Sets @left to
 * the shares of the time after all segments. */
static uint64_t segments_until(const struct spread *s, uint64_t ns, uint64_t ret[SHARE_N],
			       uint64_t left[SHARE_N])
{
	const struct segments *list = s->segments;
	uint64_t at = 0;

	memcpy(left, s->shares, SHARE_N * sizeof(*left));
	for (unsigned int i = 0; list && i < list->n; i++) {
		enum share share = stratum_share(SEGMENT_STRATUM(list->at[i]));
		uint64_t length = SEGMENT_NS(list->at[i]);

		length = length < left[share] ? length : left[share];
		left[share] -= length;
		if (at < ns)
			ret[share] += ns - at < length ? ns - at : length;
		at += length;
	}
	return at < ns ? ns - at : 0;
}

void spread_until(const struct spread *s, uint64_t ns, uint64_t ret[SHARE_N])
{
	uint64_t left[SHARE_N], rest, after, sum = 0;

	if (ns >= s->total_ns) {
		memcpy(ret, s->shares, sizeof(left));
		return;
	}
	memset(ret, 0, sizeof(left));
	after = segments_until(s, ns, ret, left);
	for (int i = 0; i < SHARE_N; i++)
		sum += left[i];
	for (int i = 0; i < SHARE_N && after; i++) {
		rest = in_proportion(left[i], after, sum);
		ret[i] += rest;
	}
}

void spread_next(const struct spread *s, uint64_t ns, uint64_t done[SHARE_N], uint64_t ret[SHARE_N])
{
	uint64_t until[SHARE_N];

	spread_until(s, ns, until);
	for (int i = 0; i < SHARE_N; i++) {
		ret[i] = until[i] - done[i];
		done[i] = until[i];
	}
}
