/* SPDX-License-Identifier: GPL-2.0-only */
/* share.h - groups of strata under names in common use: cpu, device, queue ... */
#ifndef IOSTRATA_BASE_SHARE_H
#define IOSTRATA_BASE_SHARE_H

#include <stdint.h>

#include "event.h"

/*
 * The list of all shares. A row has:
 *   the end of the id, the name in text, the letter in bars
 *   its colour on a light and on a dark page, which src/page/assemble reads here: contrast 3 or
 * more its colour of the same hue among the 16 of a terminal: these follow the user's theme the
 * words for an operation that spent most of its time in it
 */
/* clang-format off */
#define SHARE_LIST(ROW)                                                                            \
	ROW(CPU, "cpu", 'C', "#2c61d2", "#a7caf6", 12, "on CPU")                                   \
	ROW(DEVICE, "device", 'D', "#c2821a", "#fa8a00", 3, "waiting for the device")              \
	ROW(QUEUE, "queue", 'q', "#464903", "#f9fd86", 11,                                         \
	    "waiting in the queues of the block layer")                                            \
	ROW(RUNQ, "waiting for a CPU", 'r', "#8e2684", "#a447b4", 5, "waiting for a CPU")          \
	ROW(HELPER, "kernel thread", 'k', "#28a660", "#19f5b2", 2, "waiting for a kernel thread")  \
	ROW(LOCK, "lock", 'l', "#4a041a", "#df2333", 1, "waiting for a lock")                      \
	ROW(SERVER, "server", 'S', "#0f019e", "#604cff", 4, "waiting for the server")              \
	ROW(OTHER, "other", 'o', "#8d9298", "#89818a", 8, "throttled or asleep")
/* clang-format on */

#define SHARE_ID(id, ...) SHARE_##id,

enum share { SHARE_LIST(SHARE_ID) SHARE_N };

const char *share_name(enum share s);
const char *share_mostly(enum share s);  /* "waiting for the device" */
char share_letter(enum share s);         /* in the bars of the column "where it went" */
unsigned int share_colour(enum share s); /* on terminals, 0 to 15 */
unsigned int share_strata(enum share s); /* set of 1 << stratum */
uint64_t share_ns(enum share s, const uint64_t strata[ST_N]);

/* The share of a stratum. A number that is no stratum belongs to the rest. */
enum share stratum_share(unsigned int st);

/* The share after @last by size; after SHARE_N, the biggest. SHARE_N: all others are 0. */
enum share share_next(const uint64_t strata[ST_N], enum share last);

/* The share at place @i of the order that all bars and pictures have, 0 to SHARE_N - 1. */
enum share share_ordered(unsigned int i);

#endif
