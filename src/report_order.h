/* SPDX-License-Identifier: GPL-2.0-only */
/* report_order.h - recordings on one timeline: in the order in which they began. */
#ifndef IOSTRATA_REPORT_ORDER_H
#define IOSTRATA_REPORT_ORDER_H

#include <stdint.h>

/* Sorts the files @names; what cannot be looked at before, like a pipe, comes first, in the order
 * given. Returns the bytes of all; 0: not known. */
uint64_t report_order(char **names, int n);

#endif
