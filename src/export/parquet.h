/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * parquet.h - writes an Apache Parquet file row by row, without seeking. Knows nothing of the
 * meaning of columns.
 *
 * A row group has 131,072 rows, or fewer if texts are long. Pages are compressed by zstd. Texts,
 * and integers of few values, have dictionaries. Each column of each row group has its minimum,
 * maximum and number of nulls. Memory is bounded for any rows: some 8 MB.
 */
#ifndef IOSTRATA_EXPORT_PARQUET_H
#define IOSTRATA_EXPORT_PARQUET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Every column can be null. */
enum parquet_type {
	PARQUET_INT,  /* signed, of 64 bits */
	PARQUET_TIME, /* us since 1970, UTC: readers show a time */
	PARQUET_TEXT,
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
};

/* A key and its value, stored at the end of the file. */
struct parquet_pair {
	const char *key, *value; /* value: UTF-8 */
};

struct parquet;

/* Begins a file of @n columns. @f and @columns stay the caller's. @writer: name of the program, "x
 * version 1.2". The caller frees the result by parquet_free(). Returns NULL if out of memory. */
struct parquet *parquet_begin(FILE *f, const char *writer, const struct parquet_column *columns,
			      size_t n);

/* Each sets one column of the row. Each column of a row is set once, in any order. Hostile text is
 * escaped by text_safe_utf8(). */
void parquet_put_null(struct parquet *p, size_t column);
void parquet_put_int(struct parquet *p, size_t column, int64_t v);
void parquet_put_text(struct parquet *p, size_t column, const char *text, size_t len);

/* Ends the row. Returns 0 or -errno: the first error of any call so far. */
int parquet_row(struct parquet *p);

/* The number of rows so far. */
uint64_t parquet_rows(const struct parquet *p);

/* Ends the file: writes the buffered rows and @n @pairs. Returns 0 or -errno. */
int parquet_end(struct parquet *p, const struct parquet_pair *pairs, size_t n);

/* @p may be NULL. */
void parquet_free(struct parquet *p);

#endif
