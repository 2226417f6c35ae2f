/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json.h - writes JSON as a stream, without a tree in memory. Handles commas, quotes and escapes;
 * the caller must match brackets.
 *
 * All output is ASCII: other characters are escaped, so a line is safe on any terminal.
 */
#ifndef IOSTRATA_BASE_JSON_H
#define IOSTRATA_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json {
	struct text_out out; /* keeps the first error: -ENOMEM, or of a write */
	bool comma;          /* before the next value */
};

/*
 * Each writes one value: a member @name of the open object, or an element of the open list if @name
 * is NULL. @name must need no escapes.
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

/* @whole, and @fraction with @digits digits after the point, at most 19; no point if @digits is 0.
 */
void json_put_decimal(struct json *j, const char *name, uint64_t whole, uint64_t fraction,
		      unsigned int digits);

/* With as many digits as a reader needs to have the same double. */
void json_put_exact(struct json *j, const char *name, double value);

/* @n / 1024.0 as by json_put_exact(), and @n / 1e3 as by json_put_real(), at a tenth of the cost.
 */
void json_put_1024ths(struct json *j, const char *name, uint64_t n);
void json_put_thousandths(struct json *j, const char *name, uint64_t n);

/*
 * Hostile text of at most @max bytes; null if @text is NULL or empty. Bytes that are not UTF-8
 * become U+FFFD, and a member NAME_bytes has the original bytes in base64.
 */
void json_put_text(struct json *j, const char *name, const char *text, size_t max);

/* Text of @len bytes, without a NUL byte, as by json_put_text(). */
void json_put_bytes(struct json *j, const char *name, const char *text, size_t len);

/* A whole string, hostile, as by json_put_text(). */
void json_put_string(struct json *j, const char *name, const char *text);

/* Local time in ms with the zone, by RFC 3339: "2026-01-31T12:00:00.250+01:00"; null if @day_ns is
 * 0. */
void json_put_time(struct json *j, const char *name, uint64_t day_ns);

/* Ends the line and flushes; 0 or the first error. */
int json_end_line(struct json *j);

#endif
