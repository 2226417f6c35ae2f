/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report_sums.h - what report adds up while it reads: rows, requests to servers, losses, and the
 * heat maps.
 */
#ifndef IOSTRATA_CMD_REPORT_SUMS_H
#define IOSTRATA_CMD_REPORT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/rows.h"
#include "base/snapshot.h"
#include "capture/replay.h"
#include "common/recorded_stacks.h"
#include "show/heat.h"

struct reason;

/* Starts as all 0, but .replay.conf and .lost_but. */
struct report_sums {
	struct replay replay;
	uint64_t lost;                 /* in the shown part, or perhaps in it */
	unsigned int lost_but;         /* .lost is without these kinds: 1 << enum lost */
	uint64_t servers_hidden;       /* requests to servers that are not shown */
	bool with_stacks;              /* user stacks are added up, if there are any */
	bool has_stacks;               /* a recording has them */
	struct recorded_stacks stacks; /* its option is set by the caller */
	/* private */
	struct rows servers;              /* only requests to servers, of all recordings */
	struct losses_sum whole, untimed; /* of the whole recordings; those without a time */
	struct machine_loads loads;       /* of all recordings, CLOCK_REALTIME */
	struct heat ops, requests;
};

/* Adds what @rec tells at its end. Requests to servers count only if @is_whole: they have no times,
 * so they cannot be shown for a part. Returns 0, or -1 with @why. */
int report_sums_end(struct report_sums *s, const struct recording *rec, bool is_whole,
		    struct reason *why);

/* Sets @ret to the sums of interval @i; snapshot_free() frees it. @is_part: the table shows a part
 * of the recorded time. The first interval has what cannot be divided. Returns 0 or -ENOMEM. */
int report_sums_take(struct report_sums *s, size_t i, bool is_part, struct snapshot *ret);

/* The slowest operations of interval @i, @ret_n of them. They stay in @s. */
const struct slow_op *report_sums_slowest(const struct report_sums *s, size_t i, size_t *ret_n);

/* Adds @ev, an operation or a request of @rec, to its heat map. */
void report_sums_heat_add(struct report_sums *s, const struct recording *rec,
			  const struct stored_event *ev);

/* Draws both maps, up to @end_ns after the beginning. The map of requests is left out if filters
 * cannot choose requests (@of_ops). Returns 0 or -errno. */
int report_sums_heat_print(FILE *out, struct report_sums *s, const char *of_ops, uint64_t end_ns);

void report_sums_done(struct report_sums *s);

#endif
