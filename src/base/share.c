// SPDX-License-Identifier: GPL-2.0-only
#include "base/share.h"

#include <stdbool.h>

#define SHARE_ROW(id, name, letter, light, dark, colour, mostly)                                   \
	[SHARE_##id] = { name, mostly, letter, colour },

static const struct {
	const char *name, *mostly;
	char letter;
	unsigned char colour;
} shares[SHARE_N] = { SHARE_LIST(SHARE_ROW) };

#define STRATUM_SHARE(id, name, label, letter, share, ...) [ST_##id] = SHARE_##share,

static const unsigned char share_of[ST_N] = { STRATUM_LIST(STRATUM_SHARE) };

const char *share_name(enum share s)
{
	return shares[s].name;
}

const char *share_mostly(enum share s)
{
	return shares[s].mostly;
}

char share_letter(enum share s)
{
	return shares[s].letter;
}

unsigned int share_colour(enum share s)
{
	return shares[s].colour;
}

enum share stratum_share(unsigned int st)
{
	return st < ST_N ? share_of[st] : SHARE_OTHER;
}

unsigned int share_strata(enum share s)
{
	unsigned int set = 0;

	for (int st = 0; st < ST_N; st++)
		set |= share_of[st] == s ? 1U << st : 0;
	return set;
}

uint64_t share_ns(enum share s, const uint64_t strata[ST_N])
{
	uint64_t ns = 0;

	for (int st = 0; st < ST_N; st++)
		ns += share_of[st] == s ? strata[st] : 0;
	return ns;
}

enum share share_next(const uint64_t strata[ST_N], enum share last)
{
	uint64_t limit = last == SHARE_N ? UINT64_MAX : share_ns(last, strata), best_ns = 0;
	enum share best = SHARE_N;

	for (int s = 0; s < SHARE_N; s++) {
		uint64_t ns = share_ns(s, strata);
		bool after = ns < limit || (ns == limit && last != SHARE_N && s > (int)last);

		if (ns && after && (best == SHARE_N || ns > best_ns)) {
			best = s;
			best_ns = ns;
		}
	}
	return best;
}

enum share share_ordered(unsigned int i)
{
	static const enum share order[SHARE_N] = { SHARE_DEVICE, SHARE_SERVER, SHARE_QUEUE,
						   SHARE_HELPER, SHARE_LOCK,   SHARE_RUNQ,
						   SHARE_CPU,    SHARE_OTHER };

	return order[i % SHARE_N];
}
