/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * grace.h - waits until every program running now has ended.
 *
 * Programs on all hooks run in an RCU read-side section. When a map inside a map is replaced, bpf()
 * waits for a grace period, so that nobody uses the old map any more (maybe_wait_bpf_programs(),
 * 4.20 to 7.2). This also works with one CPU online and with nohz_full, and waits for preempted
 * programs. MEMBARRIER_CMD_GLOBAL does not wait on a machine with one CPU, and fails with
 * nohz_full.
 */
#ifndef IOSTRATA_TRACE_GRACE_H
#define IOSTRATA_TRACE_GRACE_H

struct grace {
	int outer, inner; /* descriptors; -1: not open */
};

/* Opens the two maps. Returns 0 or -errno. */
int grace_open(struct grace *g);
void grace_done(struct grace *g);

/* Waits. Takes some ms: up to 6.18 two timer ticks or more, since then 0.1 ms. Returns 0 or
 * -errno. */
int grace_wait(const struct grace *g);

#endif
