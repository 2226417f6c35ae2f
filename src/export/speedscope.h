/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * speedscope.h - a recording in speedscope's own file format: a profile for each thread, with a
 * frame for each kind of call and each stratum. Small, since names are written once.
 */
#ifndef IOSTRATA_EXPORT_SPEEDSCOPE_H
#define IOSTRATA_EXPORT_SPEEDSCOPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reason;

struct speedscope_counts {
	uint64_t ops, requests, profiles, lost;
	bool is_summed; /* too many operations for their order: only sums are in the file */
};

/* Writes trace.speedscope.json into the existing directory @dir, from the seekable @f, called @name
 * in messages. Calls are in their order if that takes at most @max_events beginnings and ends.
 * Memory is bounded by @max_events and the number of threads. Returns 0, 1 with @why if the
 * recording is cut off (the file has all before the damage), or -1 with @why. */
int speedscope_export(FILE *f, const char *name, const char *dir, uint64_t max_events,
		      const char *(*call_name)(unsigned short call),
		      struct speedscope_counts *ret_counts, struct reason *why);

#endif
