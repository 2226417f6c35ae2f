/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * columns.h - the figures of operations, of requests, of helpers and of sleeps. Each figure is
 * described once, for text, JSON and the manual.
 */
#ifndef IOSTRATA_SHOW_COLUMNS_H
#define IOSTRATA_SHOW_COLUMNS_H

#include "base/columns.h"
#include "show/breakdown.h"

/* Rows are struct op_row and struct rq_row; .ctx is a struct breakdown_whole. */
/* The getter of the column "name" in which command lines are whole. */
void columns_op_name(struct value *ret, const void *row, const void *ctx);

extern const struct column op_columns[], rq_columns[];

/* The patterns of reads and writes: of rows by file, and of requests. */
extern const struct column op_pattern_columns[], rq_pattern_columns[];

/* Rows are struct op_row of minor page faults. No .ctx. */
extern const struct column minor_columns[];

/* Rows are struct helper_row: requests of helpers, and (key.op HELPER_TIME) their time. No .ctx. */
extern const struct column helper_columns[], helper_time_columns[];

/* Rows are struct server_row. No .ctx. */
extern const struct column server_columns[];

/* Rows are struct site_row. No .ctx. */
extern const struct column site_columns[];

#endif
