// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/time_counts.h"

#include <errno.h>
#include <stdlib.h>

enum {
	/* times, each with so many leading bits */
	TIME_BITS = 10,
	TIMES = (64 - TIME_BITS + 1) << TIME_BITS,
};

static unsigned int time_index(uint64_t ns)
{
	unsigned int shift;

	if (ns < 1 << TIME_BITS)
		return ns;
	shift = 63 - __builtin_clzll(ns) - TIME_BITS;
	return ((shift + 1) << TIME_BITS) + (ns >> shift) - (1 << TIME_BITS);
}

/* The longest time with this index. */
static uint64_t time_longest(unsigned int index)
{
	unsigned int shift;

	if (index < 1 << TIME_BITS)
		return index;
	shift = (index >> TIME_BITS) - 1;
	return (((index & ((1 << TIME_BITS) - 1)) + (1ULL << TIME_BITS) + 1) << shift) - 1;
}

int time_counts_init(struct time_counts *t)
{
	*t = (struct time_counts){ .counts = calloc(TIMES, sizeof(*t->counts)) };
	return t->counts ? 0 : -ENOMEM;
}

void time_counts_done(struct time_counts *t)
{
	free(t->counts);
	*t = (struct time_counts){};
}

void time_counts_add(struct time_counts *t, uint64_t ns)
{
	t->counts[time_index(ns)]++;
	t->n++;
}

uint64_t time_counts_within(const struct time_counts *t, double part)
{
	double beyond = (1 - part) * t->n + 1e-6;
	uint64_t above = 0;

	for (unsigned int i = TIMES; i--;) {
		above += t->counts[i];
		if (above > beyond)
			return time_longest(i);
	}
	return 0;
}
