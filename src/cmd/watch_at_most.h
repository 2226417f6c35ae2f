/* SPDX-License-Identifier: GPL-2.0-only */
/* watch_at_most.h - the limit of --at-most: so many recordings in a time. */
#ifndef IOSTRATA_CMD_WATCH_AT_MOST_H
#define IOSTRATA_CMD_WATCH_AT_MOST_H

#include <stdbool.h>
#include <stdint.h>

struct reason;

enum { AT_MOST_MAX = 1000 };

/* All members 0: no limit. */
struct at_most {
	uint64_t n, each_ns;            /* so many recordings in this time; n 0: no limit */
	uint64_t times_ns[AT_MOST_MAX]; /* of the last n recordings, a ring */
	uint64_t written, left_out;
};

/* Reads "10/h": n is 1 to AT_MOST_MAX, the time s, m, h or d. Returns 0, or -1 with @why. */
int watch_at_most_parse(struct at_most *a, const char *text, struct reason *why);

/* Whether another recording is within the limit at @now, ns: then it counts, else it is left out.
 * @now does not decrease from call to call. */
bool watch_at_most_allows(struct at_most *a, uint64_t now);

#endif
