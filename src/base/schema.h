/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schema.h - describes JSON: tables of members. JSON Schemas (json-schema.org, draft 2020-12) and
 * the manual are made from them. A table stands beside the code that writes the JSON:
 *
 * 	static const struct member run_members[] = {
 * 		{ "file", MEMBER_TEXT, .what = "name of the file" },
 * 		{ "total_ns", MEMBER_TIME, .what = "time of all calls", .null = "not measured" },
 * 		{ .columns = run_columns },
 * 		{}
 * 	};
 *
 * A list of columns already has names, types and descriptions, so a table only points to it.
 */
#ifndef IOSTRATA_BASE_SCHEMA_H
#define IOSTRATA_BASE_SCHEMA_H

#include <stdbool.h>
#include <stdio.h>

#include "base/words.h"

struct column;

enum member_type {
	MEMBER_COUNT, /* a whole number */
	MEMBER_ID,    /* a number used as a name */
	MEMBER_TIME,  /* a whole number of ns */
	MEMBER_BYTES, /* a whole number of bytes */
	MEMBER_SHARE, /* of 1, with a fraction; some can be above 1 */
	MEMBER_RATE,  /* per second, with a fraction */
	MEMBER_BOOL,  /* true or false */
	MEMBER_TEXT, /* from outside: all its bytes are in NAME_bytes, too, if they are not UTF-8 */
	MEMBER_ASCII,  /* text that iostrata made */
	MEMBER_STEP,   /* a word or ns, in pairs of both */
	MEMBER_OBJECT, /* .object */
};

/* For .pattern: "major:minor", and local time by RFC 3339 in ms. */
#define PATTERN_DEVICE "^[0-9]+:[0-9]+$"
#define PATTERN_TIME                                                                               \
	"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}[+-][0-9]{2}:[0-9]{2}$"

/* A member of an object, or of each object with these. A list ends with an empty row. */
struct member {
	const char *name;
	enum member_type type;
	const char *what;              /* no capital, no full stop */
	const char *null;              /* why it may be null; NULL: it never is */
	const char *only;              /* "for NFS": when it is there; NULL: always */
	const char *unit;              /* if it is not the one of its type */
	const char *pattern;           /* regular expression for the text */
	const struct word_list *words; /* the text is one of these */
	const struct object *object;   /* of MEMBER_OBJECT */
	unsigned int least;            /* the smallest number */
	bool negative;                 /* the number can be below 0 */
	bool fraction;                 /* the number can have a fraction */
	bool huge;                     /* above 2^63 - 1, it is a string of digits */
	/* A list (2: of lists) of such values. .item describes them if they are no objects. */
	int list;
	const char *item, *item_null; /* why an element may be null */
	int most;                     /* how long it can be; 0: any length */
	int length;                   /* of each inner list; 0: any */
	/* In place of a name. */
	const struct column *columns; /* a member for each column with a name */
	const struct member *also;    /* the members of this list, too */
	const struct word_list *each; /* a member for each of these; .what NULL: their .help */
};

struct object {
	const char *name; /* in $defs, and in the manual; NULL: described where it is used */
	const char *what;
	const struct member *members;
};

/* The JSON of one command, or of one kind of file. */
struct schema {
	const char *id;   /* "iostrata.breakdown/1": the first object has it as member schema */
	const char *what; /* a phrase */
	const struct object *first;
	const struct object *others; /* the objects after the first; NULL: as the first */
};

/* Writes it as a JSON Schema. Returns 0 or -errno. */
int schema_print(FILE *f, const struct schema *s);

/* Calls @each for all members of @list: those of columns, of other lists and of words, too. @title:
 * of a column in text, else NULL. */
void members_walk(const struct member *list,
		  void (*each)(const struct member *m, const char *title, void *arg), void *arg);

/* The object @name of the schema, or the first one if @name is "". Returns NULL if there is
 * none. */
const struct object *schema_object(const struct schema *s, const char *name);

/* The whole description in @dst: what, when the member is there, and why it may be null. */
enum { MEMBER_TEXT_CAP = 2048 };
void member_describe(const struct member *m, char dst[MEMBER_TEXT_CAP]);

#endif
