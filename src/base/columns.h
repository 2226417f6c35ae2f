/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * columns.h - the columns of a table: one list gives its text, JSON members, CSV, HTML, sort order
 * and its part of the manual. Knows nothing about the rows.
 *
 * A column has a kind of figure, never a look: units, digits and alignment follow from the kind,
 * and are the same in every table.
 */
#ifndef IOSTRATA_BASE_COLUMNS_H
#define IOSTRATA_BASE_COLUMNS_H

#include "base/json.h"
#include "base/text.h"
#include "base/words.h"

enum value_kind {
	VALUE_COUNT,  /* n */
	VALUE_ID,     /* n; a number used as a name, so all digits are shown */
	VALUE_SIGNED, /* n, an int64_t; in JSON and CSV only */
	VALUE_TIME,   /* n ns */
	VALUE_BYTES,  /* n; in text 0 is "-" */
	VALUE_RATE,   /* n in @of ns, shown per second */
	VALUE_SHARE,  /* n of @of, shown in percent; in JSON and CSV 0 to 1 */
	VALUE_MEAN,   /* n divided by @of */
	VALUE_TEXT,   /* at most @max bytes at @text, hostile */
};

/* The figure of a row in a column; its kind is the column's. */
struct value {
	bool unknown; /* "-", in JSON null: not measured, or it does not apply */
	uint64_t n, of;
	const char *text; /* may be NULL: unknown */
	size_t max;
	char buf[64]; /* storage for a @text composed by .get */
};

struct column {
	const char *name;  /* in JSON and CSV; NULL: in neither */
	const char *title; /* in text; NULL: not shown */
	enum value_kind kind;
	size_t at; /* offset in the row of the uint64_t to show, if there is no .get */
	/* Sets the members of @ret for this kind. Before, @ret is 0, with max SIZE_MAX. */
	void (*get)(struct value *ret, const void *row, const void *ctx);
	const char *help; /* for the manual and the schema; no capital, no full stop */
	const char *null; /* why the figure may be unknown; NULL: it never is */
	int max;          /* maximum width of cells in text; 0: the width left by other columns */
	int min;          /* minimum width in text: columns that stay where they are */
	int rank;         /* in long lines, the highest rank is left out first; 0: never */
	const char *was;  /* an earlier title; columns_find() takes it, too */
	enum text_cut cut;
	unsigned int of; /* for the owner of the list: the set of its tables with this column */
	bool optional;   /* left out of text if 0 or unknown in all rows */
	struct {         /* for the schema; see struct member */
		const struct word_list *words;
		const char *pattern, *unit;
		unsigned int least;
		bool ascii, huge;
	} json;
};

/* Defines @name(), a .get of columns whose rows are struct @type: an expression that sets members
 * of @v, the value, from @r, the row, and perhaps @ctx. */
#define GETTER(name, type, ...)                                                                    \
	static void name(struct value *v, const void *row, const void *ctx)                        \
	{                                                                                          \
		const struct type *r = row;                                                        \
                                                                                                   \
		(void)r;                                                                           \
		(void)ctx;                                                                         \
		__VA_ARGS__;                                                                       \
	}

/* For getters: a number that may not be known, and text that need not end. */
static inline void value_number(struct value *v, uint64_t n, bool known)
{
	v->n = n;
	v->unknown = !known;
}

static inline void value_text(struct value *v, const char *text, size_t max)
{
	v->text = text;
	v->max = max;
}

/* A list of columns ends with an empty row. */
static inline bool column_is(const struct column *c)
{
	return c->name || c->title;
}

struct columns {
	const struct column *list;
	const void *ctx;   /* for .get */
	int width;         /* of a line */
	bool uncut;        /* text is never cut, however long the lines */
	bool milliseconds; /* times in ms, with the unit in titles instead of cells */
};

/* Titles, then a line for each row. Lines do not end in blanks. */
void columns_text(struct text_out *o, const struct columns *t, const void *const *rows,
		  size_t n_rows);

/* The members of one row, into the open object. */
void columns_json(struct json *j, const struct columns *t, const void *row);

/* A line of names, or a line for one row (RFC 4180, but lines end in LF). Text goes through
 * text_safe(). */
void columns_csv_titles(struct text_out *o, const struct columns *t);
void columns_csv(struct text_out *o, const struct columns *t, const void *row);

/* The cells of the titles, or of one row, of an HTML table; the caller writes <tr>. A title has the
 * name in JSON as data-name, and a figure the exact number as data-v. */
void columns_html_titles(struct text_out *o, const struct columns *t);
void columns_html(struct text_out *o, const struct columns *t, const void *row);

/* The column with this name or title, or NULL. */
const struct column *columns_find(const struct column *list, const char *name);

/* The figure of @row. Its text points into @row or into @ret. */
void columns_value(struct value *ret, const struct columns *t, const struct column *c,
		   const void *row);

/* Order of two figures or rows, as for qsort(): biggest figure first, text from A to Z, unknown
 * figures last. */
int columns_order(const struct column *c, const struct value *a, const struct value *b);
int columns_compare(const struct columns *t, const struct column *c, const void *a, const void *b);

/* -1, 0 or 1: @a is less than, equal to or greater than @b. */
static inline int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
