/* SPDX-License-Identifier: GPL-2.0-only */
/* share.h - groups of strata under names in common use: cpu, device, queue ... */
#ifndef IOSTRATA_BASE_SHARE_H
#define IOSTRATA_BASE_SHARE_H

#include <stdint.h>

#include "event.h"

enum share {
	SHARE_CPU,
	SHARE_DEVICE,
	SHARE_QUEUE,
	SHARE_RUNQ,
	SHARE_HELPER,
	SHARE_LOCK,
	SHARE_SERVER,
	SHARE_OTHER,
	SHARE_N,
};

const char *share_name(enum share s);
const char *share_mostly(enum share s);  /* "waiting for the device" */
char share_letter(enum share s);         /* in the bars of the column "where it went" */
unsigned int share_strata(enum share s); /* set of 1 << stratum */
uint64_t share_ns(enum share s, const uint64_t strata[ST_N]);

/* The share of a stratum. A number that is no stratum belongs to the rest. */
enum share stratum_share(unsigned int st);

/* The share after @last by size; after SHARE_N, the biggest. SHARE_N: all others are 0. */
enum share share_next(const uint64_t strata[ST_N], enum share last);

/* The share at place @i of the order that all bars and pictures have, 0 to SHARE_N - 1. */
enum share share_ordered(unsigned int i);

#endif
