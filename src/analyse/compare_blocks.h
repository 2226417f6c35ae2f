/* SPDX-License-Identifier: GPL-2.0-only */
/* compare_blocks.h - the figures of two parts of one run, by blocks of time drawn again. */
#ifndef IOSTRATA_ANALYSE_COMPARE_BLOCKS_H
#define IOSTRATA_ANALYSE_COMPARE_BLOCKS_H

#include "analyse/compare.h"

/* Tests the figures of a row. Returns 0 or -ENOMEM. */
int compare_blocks_test(const struct compare *c, struct compare_row *row);

#endif
