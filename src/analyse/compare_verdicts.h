/* SPDX-License-Identifier: GPL-2.0-only */
/* compare_verdicts.h - which figures of a comparison are judged together, and what is told. */
#ifndef IOSTRATA_ANALYSE_COMPARE_VERDICTS_H
#define IOSTRATA_ANALYSE_COMPARE_VERDICTS_H

#include "analyse/compare.h"

/* Fills the figures of c->rows and c->lone, c->whole, c->method, and what follows from the
 * verdicts. Returns 0 or -ENOMEM. */
int compare_verdicts(struct compare *c);

#endif
