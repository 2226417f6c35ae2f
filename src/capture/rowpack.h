/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rowpack.h - packs rows of numbers into columns of bytes, as chunks store records, and unpacks
 * them.
 *
 * A row is an array of uint64_t, one for each column of the chunk's table. Knows neither files nor
 * the meaning of numbers. docs/FORMAT.md describes the bytes.
 */
#ifndef IOSTRATA_CAPTURE_ROWPACK_H
#define IOSTRATA_CAPTURE_ROWPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids are stored. */
enum pack_code {
	PACK_VALUE, /* a varint for each row */
	PACK_DELTA, /* a varint for each row: zigzag of the difference to the row before */
	PACK_SAME,  /* one varint, the value of all rows */
	PACK_BYTES, /* no numbers */
};

enum { PACK_COLUMNS = 48, PACK_SPAN = 256, PACK_BLOCK = 16 };

/* Rows may have their values in another order than the columns: for each column, the place of its
 * value in a row. */
typedef unsigned char pack_order[PACK_COLUMNS];

/* The code of each value of a row if not the same in all rows: VALUE or DELTA. */
typedef unsigned char pack_codes[PACK_COLUMNS];

struct packed_column {
	uint8_t *bytes; /* of the rows so far, if they differ; owned */
	size_t len, cap;
	uint64_t last;
	bool varied;
};

/* Columns being written. Empty: all 0, except for the first three members. */
struct rowpack {
	const unsigned char *codes;
	const unsigned char *order; /* NULL: rows are in the order of the columns */
	unsigned int n;
	unsigned int rows;
	/* private */
	unsigned int waiting;            /* the last rows, not yet in columns */
	unsigned int reserved;           /* rows with room in the columns */
	uint64_t first[PACK_COLUMNS];    /* row */
	uint64_t (*block)[PACK_COLUMNS]; /* these; owned */
	struct packed_column at[PACK_COLUMNS];
};

/* Adds a row of c->n values. Returns 0, or -ENOMEM with the columns unchanged. */
int rowpack_add(struct rowpack *c, const uint64_t *row);

/* Room for a row, added without a copy: the caller writes c->n values, and rowpack_added() takes
 * the row. NULL: -ENOMEM. */
uint64_t *rowpack_room(struct rowpack *c);
void rowpack_added(struct rowpack *c);

/* The values of a column in some rows, @step numbers apart; 0: all equal to the first. */
struct pack_values {
	const uint64_t *first;
	size_t step;
};

/* Adds @n rows, at most PACK_SPAN, given by their c->n columns. Returns 0, or -ENOMEM with the
 * columns unchanged. */
int rowpack_add_span(struct rowpack *c, unsigned int n, const struct pack_values *columns);

/* The most bytes that rowpack_put() writes. */
size_t rowpack_size(struct rowpack *c);

/* Writes and empties the columns, with @tail, a column of bytes, if not NULL. Returns the length.
 * */
size_t rowpack_put(struct rowpack *c, uint8_t *dst, const void *tail, size_t tail_len);

void rowpack_done(struct rowpack *c);

/* Columns being read; the caller owns the bytes. */
struct cursor_column {
	const uint8_t *at, *end;
	uint64_t last;
	enum pack_code code;
	unsigned int place; /* of its value in a row */
};

struct cursor {
	unsigned int n, rows; /* columns wanted by the reader; rows not in the block yet */
	unsigned int n_varying;
	struct cursor_column varying[PACK_COLUMNS]; /* whose values are not all the same */
	uint64_t values[PACK_COLUMNS];              /* of the other columns */
	const uint8_t *tail;                        /* the column of bytes; NULL: none */
	size_t tail_len;
	/* private */
	bool has_block, damaged;   /* the block has the values above; no row follows it */
	unsigned int next, behind; /* the next row in the block, and the first behind the last */
	uint64_t block[PACK_BLOCK][PACK_COLUMNS];
};

/*
 * Opens @n columns of @rows rows in @len hostile bytes. Columns missing in the bytes are 0 in all
 * rows; columns after the first @n are skipped. Returns 0 or -EBADMSG.
 */
int cursor_open(struct cursor *c, unsigned int n, unsigned int rows, const uint8_t *bytes,
		size_t len);

/* Makes rows have the values of columns where @order says. After cursor_open(). */
void cursor_order(struct cursor *c, const unsigned char *order);

/* The next row, of c->n values. 1, 0 after the last, or -EBADMSG. */
int cursor_next(struct cursor *c, uint64_t *row);

#endif
