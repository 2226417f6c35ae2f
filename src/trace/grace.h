/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * grace.h - waits until every program that runs now has ended.
 *
 * Programs run in an RCU read-side section, whichever hook they are on. bpf() waits for a grace
 * period when a map in a map is replaced, so that its caller knows that nobody uses the old one
 * (maybe_wait_bpf_programs(), 4.20 to 7.2). That works with one CPU online and with nohz_full, too,
 * and waits for preempted programs. MEMBARRIER_CMD_GLOBAL does not wait on one CPU, and is refused
 * with nohz_full.
 */
#ifndef IOSTRATA_TRACE_GRACE_H
#define IOSTRATA_TRACE_GRACE_H

struct grace {
	int outer, inner; /* descriptors; -1: not open */
};

/* 0 or -errno. */
int grace_open(struct grace *g);
void grace_done(struct grace *g);

/* Takes some ms (up to 6.18 two ticks or more, since then 0.1 ms). 0 or -errno. */
int grace_wait(const struct grace *g);

#endif
