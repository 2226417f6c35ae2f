/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.h - the clock of all times: CLOCK_MONOTONIC, as bpf_ktime_get_ns() reads it. Also the time
 * of day. */
#ifndef IOSTRATA_CLOCK_H
#define IOSTRATA_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000 };

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static inline uint64_t clock_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* Nanoseconds since 1970. */
static inline uint64_t clock_day_ns(void)
{
	return clock_read(CLOCK_REALTIME);
}

#endif
