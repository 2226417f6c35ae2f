/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report_order.h - the order of the recordings on the command line: all are on one timeline, in
 * the order of their beginnings.
 */
#ifndef IOSTRATA_CMD_REPORT_ORDER_H
#define IOSTRATA_CMD_REPORT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct reason;

/* The files, as far as they are known before they are read. */
struct report_order {
	uint64_t bytes;  /* sum of the sizes; 0: not known */
	int recordings;  /* number of files that may be recordings */
	bool many_hosts; /* of the recordings, as far as known: no pipe tells its host yet */
};

/* Sorts the files @names by their beginning. Files with an unknown beginning, like pipes, come
 * first, in their order on the command line. Returns 0, or -1 with @why if a file is named twice.
 */
int report_order(char **names, int n, struct report_order *ret, struct reason *why);

#endif
