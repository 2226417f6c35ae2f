// SPDX-License-Identifier: GPL-2.0-only
#include "capture/segments.h"

#include <string.h>

#include "base/encode.h"
#include "base/names.h"
#include "base/text.h"

/* In a byte that names a stratum: the segment's duration is all that is left of the stratum. */
enum { LAST_OF_STRATUM = 0x80 };

/* The longest duration of a segment, ns: see SEGMENT(). */
#define SEGMENT_LONGEST (UINT64_MAX >> 8)

bool segments_add_up(const struct segments *s, const uint64_t strata[ST_N])
{
	uint64_t sums[ST_N] = {};
	unsigned int st;

	if (s->n > SEGMENTS_MAX || (s->merged && s->n < SEGMENTS_MAX))
		return false;
	for (unsigned int i = 0; i < s->n; i++) {
		st = SEGMENT_STRATUM(s->at[i]);
		if (st >= ST_N || SEGMENT_NS(s->at[i]) > strata[st] - sums[st])
			return false;
		sums[st] += SEGMENT_NS(s->at[i]);
	}
	for (st = 0; st < ST_N; st++)
		if (sums[st] != strata[st] && !s->merged)
			return false;
	return true;
}

size_t segments_pack(uint8_t *dst, const struct segments *s, const uint64_t strata[ST_N])
{
	bool last[SEGMENTS_MAX];
	unsigned int seen = 0;
	uint8_t *p = dst;

	if (!s->n || !segments_add_up(s, strata))
		return 0;
	for (unsigned int i = s->n; i--;) {
		last[i] = !s->merged && !(seen >> SEGMENT_STRATUM(s->at[i]) & 1);
		seen |= 1U << SEGMENT_STRATUM(s->at[i]);
	}
	*p++ = s->n;
	for (unsigned int i = 0; i < s->n; i++)
		*p++ = SEGMENT_STRATUM(s->at[i]) | (last[i] ? LAST_OF_STRATUM : 0);
	for (unsigned int i = 0; i < s->n; i++)
		if (!last[i])
			p = varint_put(p, SEGMENT_NS(s->at[i]));
	if (s->n == SEGMENTS_MAX)
		p = varint_put(p, s->merged);
	return p - dst;
}

/* The layers of an operation that never left the CPU. Returns false if it did. */
static bool segments_of_cpu(struct segments *ret, const uint64_t strata[ST_N])
{
	uint64_t ns;

	ret->n = ret->merged = 0;
	for (unsigned int st = 0; st < ST_N; st++) {
		ns = strata[st];
		if (!ns)
			continue;
		if (st >= SENT_ON_CPU || ns > SEGMENT_LONGEST)
			return false;
		ret->at[ret->n++] = SEGMENT(st, ns);
	}
	return true;
}

/* Reads the durations of the segments, with the strata @named. Returns false if they are
 * damaged. */
static bool durations_unpack(struct segments *ret, const uint64_t strata[ST_N],
			     const uint8_t *named, const uint8_t **at, const uint8_t *end)
{
	uint64_t left[ST_N], ns;
	unsigned int st;

	memcpy(left, strata, sizeof(left));
	for (unsigned int i = 0; i < ret->n; i++) {
		st = named[i] & ~LAST_OF_STRATUM;
		if (st >= ST_N)
			return false;
		ns = left[st];
		if (!(named[i] & LAST_OF_STRATUM) && !varint_get(at, end, &ns))
			return false;
		if (ns > left[st] || ns > SEGMENT_LONGEST)
			return false;
		left[st] -= ns;
		ret->at[i] = SEGMENT(st, ns);
	}
	return true;
}

bool segments_unpack(struct segments *ret, const uint64_t strata[ST_N], const uint8_t *bytes,
		     size_t len)
{
	const uint8_t *at = bytes, *end, *named;
	uint64_t merged = 0;

	if (!len)
		return segments_of_cpu(ret, strata);
	if (!bytes)
		return false;
	end = bytes + len;
	ret->n = *at++;
	if (!ret->n || ret->n > SEGMENTS_MAX || ret->n > (size_t)(end - at))
		return false;
	named = at;
	at += ret->n;
	if (!durations_unpack(ret, strata, named, &at, end))
		return false;
	if (ret->n == SEGMENTS_MAX && !varint_get(&at, end, &merged))
		return false;
	ret->merged = merged;
	return at == end && merged == ret->merged && segments_add_up(ret, strata);
}

/* Writes "NAME:N". Returns the end. */
static char *part_put(char *p, const char *name, uint64_t n)
{
	char digits[20], *end = digits + sizeof(digits), *first = text_digits(end, n);

	p = stpcpy(p, name);
	*p++ = ':';
	return mempcpy(p, first, end - first);
}

void segments_text(char dst[SEGMENTS_TEXT], const struct segments *s)
{
	char *p = dst;

	for (unsigned int i = 0; i < s->n; i++) {
		if (i)
			*p++ = ' ';
		p = part_put(p, stratum_name(SEGMENT_STRATUM(s->at[i])), SEGMENT_NS(s->at[i]));
	}
	if (s->merged) {
		*p++ = ' ';
		p = part_put(p, "merged", s->merged);
	}
	*p = '\0';
}
