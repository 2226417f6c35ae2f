/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clock.h - the clock of all times: CLOCK_MONOTONIC of the first time namespace. bpf_ktime_get_ns()
 * reads it. Also the time of day.
 */
#ifndef IOSTRATA_BASE_CLOCK_H
#define IOSTRATA_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000 };

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* Learns by how much the time namespace of this process shifts CLOCK_MONOTONIC; once, at the start.
 * Without a call, clock_ns() is right outside of time namespaces. */
void clock_init(void);

/* Nanoseconds since the boot of the machine, without the time in suspend. */
uint64_t clock_ns(void);

/* Nanoseconds since 1970. */
static inline uint64_t clock_day_ns(void)
{
	return clock_read(CLOCK_REALTIME);
}

#endif
