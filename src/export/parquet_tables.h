/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * parquet_tables.h - recordings as tables: operations, requests, losses, requests to servers. Each
 * table is a Parquet file, or a file for each host, each hour or both. Only the last table has no
 * file if it has no rows:
 *
 *	DIR/operations.parquet
 *	DIR/operations/host=db1/hour=2026-11-28T02/operations.parquet
 *
 * The columns are host, boot id, kernel and time, and then those of event_columns or
 * server_request_columns. A file gets its name when
 * it is complete. If the name exists already, it gets a number: operations-2.parquet.
 *
 * Files stay open from recording to recording, and only those of the two last used partitions. So
 * recordings in the order of hosts, and of their beginning, have one file for each partition.
 */
#ifndef IOSTRATA_EXPORT_PARQUET_TABLES_H
#define IOSTRATA_EXPORT_PARQUET_TABLES_H

#include <stdbool.h>
#include <stdint.h>

struct reason;
struct recording;
struct schema;

enum { TABLE_OPS, TABLE_REQUESTS, TABLE_LOSSES, TABLE_SERVER_REQUESTS, TABLES };

extern const struct schema parquet_schema; /* of the list of recordings in each file */

struct tables_conf {
	const char *dir;       /* an existing directory */
	const char *writer;    /* name of this program, "x version 1.2" */
	bool by_host, by_hour; /* partitions; hours are UTC */
	bool (*stop)(void);    /* called often: whether to give up; NULL: never */
};

struct tables_counts {
	uint64_t rows[TABLES], files; /* in complete files */
};

struct tables;

/* The text in @conf stays the caller's. The caller frees the result by parquet_tables_free().
 * Returns NULL if out of memory. */
struct tables *parquet_tables_new(const struct tables_conf *conf);

/*
 * Adds all records of the just opened @rec, called @name. @call_name: see syscall_names(). Returns
 * 0, or 1 with @why if @rec is damaged: then all records before the damage were added. Returns -1
 * with @why if only parquet_tables_free() may follow.
 */
int parquet_tables_add(struct tables *t, struct recording *rec, const char *name,
		       const char *(*call_name)(unsigned short call), struct reason *why);

/* Completes the files. Returns 0, or -1 with @why. */
int parquet_tables_end(struct tables *t, struct reason *why);

const struct tables_counts *parquet_tables_counted(const struct tables *t);

/* Frees @t, and removes incomplete files. @t may be NULL. */
void parquet_tables_free(struct tables *t);

#endif
