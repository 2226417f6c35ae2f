/* SPDX-License-Identifier: GPL-2.0-only */
/* report_time.h - which part of the recordings' timeline is shown, and how long it is. */
#ifndef IOSTRATA_CMD_REPORT_TIME_H
#define IOSTRATA_CMD_REPORT_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "base/opts.h"
#include "capture/reader.h"

struct reason;
struct report_span;

struct report_time {
	uint64_t from_ns, to_ns, every_ns; /* options, since the beginning; 0: not given */
	uint64_t first_ns;                 /* where the timeline begins, CLOCK_REALTIME */
	/* private */
	struct report_span *spans; /* of the recordings so far; owned */
	size_t n_spans;
};

extern const struct opt report_time_opts[]; /* over struct report_time */

/* That --to is after --from. 0, or -1 with @why. */
int report_time_check(const struct report_time *t, struct reason *why);

/* The part of @rec to read. Call before its first record. */
void report_time_window(const struct report_time *t, struct recording *rec);

/* Adds @rec, of which as much was read as can be. 0 or -ENOMEM. */
int report_time_add(struct report_time *t, const struct recording *rec);

/* That the recordings last longer than --from. 0, or -1 with @why. */
int report_time_reached(const struct report_time *t, struct reason *why);

/* How long was recorded in the part of interval @i that is shown; of recordings at the same time,
 * the sum. */
uint64_t report_time_interval(const struct report_time *t, size_t i);

/* From the beginning of the part that is shown to its end, pauses between recordings included. */
uint64_t report_time_across(const struct report_time *t);

void report_time_done(struct report_time *t);

#endif
