/* SPDX-License-Identifier: GPL-2.0-only */
/* breakdown_csv.h - the rows of breakdown as one table in CSV. */
#ifndef IOSTRATA_SHOW_BREAKDOWN_CSV_H
#define IOSTRATA_SHOW_BREAKDOWN_CSV_H

#include <stdio.h>

#include "show/breakdown.h"

/*
 * Prints a line for each row of operations and of requests, after a line of titles if this is the
 * first interval. The titles are the members of JSON, with a column for each stratum. A column that
 * does not apply to a row is empty. Returns 0, -ENOMEM, or -errno of a failed write.
 */
int breakdown_csv(FILE *f, const struct breakdown_view *v, const struct snapshot *sn);

#endif
