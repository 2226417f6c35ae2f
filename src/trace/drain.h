/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * drain.h - empties the programs' rows into user space: before their maps are full, before a 32-bit
 * counter can wrap, and at the end of an interval.
 *
 * Programs add to the rows of one of two epochs (live.epoch). To drain, user space switches the
 * epoch and waits until every program that may have read the old epoch has ended. Then nobody
 * writes the old rows, and they are moved. So nothing is lost and nothing is counted twice, without
 * a lock and without stopping any program.
 */
#ifndef IOSTRATA_TRACE_DRAIN_H
#define IOSTRATA_TRACE_DRAIN_H

#include "host/commands.h"
#include "trace/collect.h"
#include "trace/grace.h"

struct live;

struct drain {
	struct cell_maps maps;
	struct live *live; /* the same as maps.live, but writable; NULL: not open */
	struct grace grace;
	struct collected got; /* drained rows, not yet taken by drain_take() */
	uint64_t drained_ns;  /* when the epoch was last switched */
	uint64_t unpatterned; /* live.unpatterned at the last drain_take() */
	struct commands commands;
	int err; /* of drain_beat(), until drain_take() reports it */
};

/* @maps are copied; @live is the writable maps.live. Returns 0 or -errno. */
int drain_open(struct drain *d, const struct cell_maps *maps, struct live *live);
void drain_done(struct drain *d); /* fine if @d is all 0 */

/* Drains if a map fills up, or if the last drain was too long ago (10 s; 300 s with --by; 1 s with
 * --by cgroup). */
void drain_beat(struct drain *d);

/* Moves all rows up to now (then drained_ns) to @sn. The caller owns the lists of @sn; the devices
 * of @sn stay owned by @d. Returns 0, or -errno with @sn unchanged. */
int drain_take(struct drain *d, struct snapshot *sn);

#endif
