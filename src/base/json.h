/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json.h - writes JSON as a stream: nothing is built in memory. Handles commas, quotes and escapes;
 * the caller decides what is written, and must match brackets.
 *
 * All output is ASCII: anything else is escaped, so a line is safe on any terminal.
 */
#ifndef IOSTRATA_JSON_H
#define IOSTRATA_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json {
	struct text_out out; /* the first error stays: -ENOMEM, or of a failed write */
	bool comma;          /* before the next value */
};

/*
 * Each writes one value: a member @name of the open object, or an element of the open list if @name
 * is NULL. Names are ours, and need no escapes.
 */
void json_put_begin(struct json *j, const char *name, char bracket); /* '{' or '[' */
void json_put_end(struct json *j, char bracket);                     /* '}' or ']' */
void json_put_null(struct json *j, const char *name);
void json_put_bool(struct json *j, const char *name, bool value);
void json_put_int(struct json *j, const char *name, int64_t value);

/* Values above 2^63 - 1 become strings, since readers lose digits or refuse them. */
void json_put_uint(struct json *j, const char *name, uint64_t value);

/* Six digits after the point. */
void json_put_real(struct json *j, const char *name, double value);

/*
 * Any text of at most @max bytes, hostile; null if it is NULL or empty. A byte that is not UTF-8
 * becomes U+FFFD; then NAME_bytes beside it has all bytes in base64.
 */
void json_put_text(struct json *j, const char *name, const char *text, size_t max);

/* The same for a whole string. */
void json_put_string(struct json *j, const char *name, const char *text);

/* RFC 3339, local, in ms, with the zone: "2026-01-31T12:00:00.250+01:00"; null if it is 0. */
void json_put_time(struct json *j, const char *name, uint64_t day_ns);

/* Ends the line and flushes; 0 or the first error. */
int json_end_line(struct json *j);

#endif
