/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * threads.h - the total time of the tracked threads, which programs add up while it is read.
 */
#ifndef IOSTRATA_TRACE_THREADS_H
#define IOSTRATA_TRACE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/conf.h"

/* Sets @ret_ns to the lifetimes of all tracked threads until @now (ns since live.since_ns), added
 * up modulo 2^64. False: threads begin and end all the time, and @ret_ns keeps its value. */
bool threads_total(const volatile struct threads *t, uint64_t now, uint64_t *ret_ns);

#endif
