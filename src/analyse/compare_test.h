/* SPDX-License-Identifier: GPL-2.0-only */
/* compare_test.h - the figures of a comparison's rows, and whether chance explains them. */
#ifndef IOSTRATA_ANALYSE_COMPARE_TEST_H
#define IOSTRATA_ANALYSE_COMPARE_TEST_H

#include "analyse/compare.h"

/* Fills the figures of c->rows, c->method and how many figures were tested. 0 or -ENOMEM. */
int compare_test(struct compare *c);

#endif
