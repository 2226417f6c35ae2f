/* SPDX-License-Identifier: GPL-2.0-only */
/* compare_statistics.h - the figures of a comparison's rows, and whether chance explains them. */
#ifndef IOSTRATA_ANALYSE_COMPARE_STATISTICS_H
#define IOSTRATA_ANALYSE_COMPARE_STATISTICS_H

#include "analyse/compare.h"

/* Fills the figures of c->rows, c->method and how many figures were tested. Returns 0 or
 * -ENOMEM. */
int compare_statistics(struct compare *c);

#endif
