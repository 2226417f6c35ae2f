/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_tables.h - the two tables of the text: operations by key, and requests by disk.
 */
#ifndef IOSTRATA_BREAKDOWN_TABLES_H
#define IOSTRATA_BREAKDOWN_TABLES_H

#include "breakdown_view.h"
#include "text.h"

/* A line per key, operation and file system (--by). */
void by_table_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		  const struct breakdown_rows *rows);

/* A line per disk and request operation, then what is to be known about them. */
void rq_table_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		  const struct breakdown_rows *rows);

#endif
