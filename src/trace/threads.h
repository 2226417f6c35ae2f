/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * threads.h - the total time of the tracked threads, and the busiest of these threads. Programs add
 * the time up while it is read.
 */
#ifndef IOSTRATA_TRACE_THREADS_H
#define IOSTRATA_TRACE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/snapshot.h"
#include "bpf/conf.h"

/* Sets @ret_ns to the lifetimes of all tracked threads until @now (ns since live.since_ns), added
 * up modulo 2^64. False: threads begin and end all the time, and @ret_ns keeps its value. */
bool threads_total(const volatile struct threads *t, uint64_t now, uint64_t *ret_ns);

/* Sets @ret_busiest to the thread with most time among those that @n CPUs noted in @interval, which
 * lasted from @from to @to (CLOCK_MONOTONIC, ns). All 0 if no thread is known. */
void threads_busiest(const struct busy_thread *of_cpus, int n, unsigned int interval, uint64_t from,
		     uint64_t to, struct busiest *ret_busiest);

#endif
