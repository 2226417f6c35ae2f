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

struct live;

/*
 * Waits until every program that runs now has ended.
 *
 * Programs run in an RCU read-side section, whichever hook they are on. bpf() waits for a grace
 * period when a map in a map is replaced, so that its caller knows that nobody uses the old one
 * (maybe_wait_bpf_programs(), 4.20 to 7.2). That works with one CPU online and with nohz_full, too,
 * and waits for preempted programs. MEMBARRIER_CMD_GLOBAL does not wait on one CPU, and is refused
 * with nohz_full.
 */

struct grace {
	int outer, inner; /* descriptors; -1: not open */
};

/* 0 or -errno. */
int grace_open(struct grace *g);
void grace_done(struct grace *g);

/* Takes some ms (up to 6.18 two ticks or more, since then 0.1 ms). 0 or -errno. */
int grace_wait(const struct grace *g);

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
