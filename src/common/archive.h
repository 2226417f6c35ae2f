/* SPDX-License-Identifier: GPL-2.0-only */
/* archive.h - turns recordings into other formats: for the commands export and record. */
#ifndef IOSTRATA_COMMON_ARCHIVE_H
#define IOSTRATA_COMMON_ARCHIVE_H

#include "export/otf2.h"
#include "export/parquet_tables.h"

/* Exports the @n recordings @files to the existing directory @conf->dir. Returns 0, 1 with @why if
 * the archive is incomplete, or -1 with @why if there is none. */
int archive_write(char *const *files, int n, const struct otf2_conf *conf,
		  struct otf2_counts *counts, struct reason *why);

/* ", 23 requests to servers", in @buf; "" if there is none. */
const char *archive_to_servers(char buf[64], uint64_t n);

/* Prints the counts of the archive in @dir, for people. */
void archive_say(FILE *f, const char *dir, const struct otf2_counts *counts);

/* Exports the @n recordings @files, "-" for the standard input, into tables in @conf->dir. Reports
 * a damaged recording on stderr, and goes on with the others. With partitions, takes the recordings
 * in the order of their hosts and times, so that a partition has one file of each table. Returns 0,
 * 1 if a recording was damaged, or -1 with @why. */
int archive_tables(char *const *files, int n, const struct tables_conf *conf,
		   struct tables_counts *ret_counts, struct reason *why);

/* Prints the counts of the tables in @dir, for people. */
void archive_tables_say(FILE *f, const char *dir, const struct tables_counts *counts);

#endif
