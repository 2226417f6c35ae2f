/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report_time.h - the shown part of the timeline of all recordings, and its length.
 */
#ifndef IOSTRATA_CMD_REPORT_TIME_H
#define IOSTRATA_CMD_REPORT_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "capture/recording.h"
#include "common/recording_filter.h"

struct reason;
struct report_span;

struct report_time {
	struct recording_part part; /* options */
	uint64_t every_ns;          /* option; 0: not given */
	uint64_t first_ns;          /* when the timeline begins, CLOCK_REALTIME */
	uint64_t without_ns; /* time at the end of recordings that their records do not cover */
	/* private */
	struct report_span *spans; /* of the recordings added so far; owned */
	size_t n_spans;
};

/* Sets the part of @rec to be read. Call before the first record of @rec is read. */
void report_time_window(const struct report_time *t, struct recording *rec);

/* Time in which recordings overlap, and time between recordings in which there is none, in ns. The
 * recordings were added in the order of their beginnings. */
void report_time_gaps(const struct report_time *t, uint64_t *ret_twice, uint64_t *ret_gap);

/* Adds the time of @rec, after its last record was read. Returns 0 or -ENOMEM. */
int report_time_add(struct report_time *t, const struct recording *rec);

/* Fails if the recordings do not last longer than --from. Returns 0, or -1 with @why. */
int report_time_reached(const struct report_time *t, struct reason *why);

/* The recorded time in the shown part of interval @i, in ns; recordings of the same time are added
 * up. */
uint64_t report_time_interval(const struct report_time *t, size_t i);

/* The time from the beginning to the end of the shown part, in ns, with the pauses between
 * recordings. */
uint64_t report_time_across(const struct report_time *t);

void report_time_done(struct report_time *t);

#endif
