/* SPDX-License-Identifier: GPL-2.0-only */
/* report_order.h - recordings on one timeline: in the order in which they began. */
#ifndef IOSTRATA_REPORT_ORDER_H
#define IOSTRATA_REPORT_ORDER_H

#include <stdint.h>

struct reason;

/* Sorts the files @names; what cannot be looked at before, like a pipe, comes first, in the order
 * given. Sets @ret_bytes to how long they are together; 0: not known. 0; -1 with @why: one of them
 * is there twice, and would be added up twice. */
int report_order(char **names, int n, uint64_t *ret_bytes, struct reason *why);

#endif
