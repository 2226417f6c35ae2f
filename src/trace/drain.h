/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * drain.h - empties the programs' rows into user space: before their maps are full, before a
 * counter of 32 bits can wrap, and at the end of an interval.
 *
 * Programs add to the rows of one of two epochs (live.epoch). To drain, user space turns the epoch,
 * waits until all programs that may have read the old one have ended, and moves the old rows, which
 * nobody writes any more. So nothing is lost and nothing is counted twice, without a lock and
 * without stopping anything.
 */
#ifndef IOSTRATA_TRACE_DRAIN_H
#define IOSTRATA_TRACE_DRAIN_H

#include "trace/collect.h"
#include "trace/grace.h"

struct live;

struct drain {
	struct cell_maps maps;
	struct live *live; /* that of maps, writable; NULL: not open */
	struct grace grace;
	struct collected got; /* drained, not taken yet */
	uint64_t drained_ns;  /* when the epoch was last turned */
	int err;              /* of a drain in between, until it is reported */
};

/* 0 or -errno. */
int drain_open(struct drain *d, const struct cell_maps *maps, struct live *live);
void drain_done(struct drain *d); /* fine if @d is all 0 */

/* Drains if a map fills up, or if the last drain was some seconds ago. */
void drain_tick(struct drain *d);

/* Moves everything up to now, which becomes drained_ns, to @sn, whose lists the caller owns; its
 * devices stay here. 0, or -errno with @sn unchanged. */
int drain_take(struct drain *d, struct snapshot *sn);

#endif
