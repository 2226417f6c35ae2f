/* SPDX-License-Identifier: GPL-2.0-only */
/* several.h - several runs, one after the other, each in a forked process of the tool. */
#ifndef IOSTRATA_RUN_SEVERAL_H
#define IOSTRATA_RUN_SEVERAL_H

#include <stdint.h>

struct reason;

/*
 * Forks @n processes, one after the other, and waits for each. In the process of run number
 * *@ret_at, from 0 on, the result is 0. In the calling process it is 1: all runs are over, or
 * *@ret_at was the last one. That one failed with *@ret_exit, or was interrupted. Returns -1 with
 * @why.
 */
int several_fork(uint64_t n, uint64_t *ret_at, int *ret_exit, struct reason *why);

#endif
