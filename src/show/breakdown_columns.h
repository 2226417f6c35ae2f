/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_columns.h - the figures of operations and of requests: each is described once, for
 * text, JSON and the manual.
 */
#ifndef IOSTRATA_BREAKDOWN_COLUMNS_H
#define IOSTRATA_BREAKDOWN_COLUMNS_H

#include "base/columns.h"
#include "show/breakdown_view.h"

/* Of struct op_row and of struct rq_row; .ctx is a struct breakdown_whole. */
extern const struct column op_columns[], rq_columns[];

#endif
