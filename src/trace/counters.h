/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * counters.h - what was lost and what tracing cost, as differences from the last reading.
 */
#ifndef IOSTRATA_COUNTERS_H
#define IOSTRATA_COUNTERS_H

#include <stdint.h>

#include "event.h"

struct attached;
struct live;
struct snapshot;
struct trace_bpf;

/* What was reported so far. */
struct counters {
	uint64_t lost[LOST_N];
	uint64_t missed;
};

/* What was lost until now does not count: probes are attached one by one. */
void counters_begin(struct counters *c, const struct live *live);

/* Fills in the losses of @sn, and what programs took, if the kernel measures that. */
void counters_read(struct counters *c, const struct live *live, const struct trace_bpf *obj,
		   const struct attached *a, struct snapshot *sn);

#endif
