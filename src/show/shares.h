/* SPDX-License-Identifier: GPL-2.0-only */
/* shares.h - strata that belong together, in terms that people use: cpu, device, queue ... */
#ifndef IOSTRATA_SHARES_H
#define IOSTRATA_SHARES_H

#include <stdint.h>

#include "event.h"

enum share {
	SHARE_CPU,
	SHARE_DEVICE,
	SHARE_QUEUE,
	SHARE_RUNQ,
	SHARE_HELPER,
	SHARE_LOCK,
	SHARE_OTHER,
	SHARE_N,
};

const char *share_name(enum share s);
char share_letter(enum share s);	/* in the bars of the column "where it went" */
unsigned int share_strata(enum share s);	/* set of 1 << stratum */
uint64_t share_ns(enum share s, const uint64_t strata[ST_N]);

/* The share after @last by size; after SHARE_N, the biggest. SHARE_N: all others are 0. */
enum share share_next(const uint64_t strata[ST_N], enum share last);

#endif
