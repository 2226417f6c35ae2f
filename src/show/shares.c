// SPDX-License-Identifier: GPL-2.0-only
#include "show/shares.h"

#include <stdbool.h>

static const struct {
	const char *name;
	char letter;
	unsigned int strata;
} shares[SHARE_N] = {
	[SHARE_CPU] = { "cpu", 'C', 1 << ST_SYSCALL | 1 << ST_VFS | 1 << ST_FS },
	[SHARE_DEVICE] = { "device", 'D', 1 << ST_DEVICE },
	[SHARE_QUEUE] = { "queue", 'q', 1 << ST_TAG | 1 << ST_QUEUE },
	[SHARE_RUNQ] = { "run queue", 'r', 1 << ST_RUNQ | 1 << ST_PREEMPT },
	[SHARE_HELPER] = { "kernel thread", 'k', 1 << ST_HELPER },
	[SHARE_LOCK] = { "lock", 'l', 1 << ST_LOCK },
	[SHARE_OTHER] = { "other", 'o', 1 << ST_THROTTLE | 1 << ST_COMPLETE | 1 << ST_SLEEP },
};

const char *share_name(enum share s)
{
	return shares[s].name;
}

char share_letter(enum share s)
{
	return shares[s].letter;
}

unsigned int share_strata(enum share s)
{
	return shares[s].strata;
}

uint64_t share_ns(enum share s, const uint64_t strata[ST_N])
{
	uint64_t ns = 0;

	for (int i = 0; i < ST_N; i++)
		ns += shares[s].strata & 1u << i ? strata[i] : 0;
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
