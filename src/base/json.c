// SPDX-License-Identifier: GPL-2.0-only
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A name and a short value, to be written at once: most of the time of a long list goes into calls
 * that write. */
struct member {
	size_t n;
	char text[128];
};

enum { VALUE_MOST = 32 };

static void add(struct member *m, const char *text, size_t n)
{
	memcpy(m->text + m->n, text, n);
	m->n += n;
}

static void member_begin(struct json *j, struct member *m, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	m->n = 0;
	if (j->comma)
		add(m, ",", 1);
	j->comma = true;
	if (!name)
		return;
	add(m, "\"", 1);
	if (len > sizeof(m->text) - VALUE_MOST - 4) {
		text_write(&j->out, m->text, m->n);
		text_write(&j->out, name, len);
		m->n = 0;
	} else {
		add(m, name, len);
	}
	add(m, "\":", 2);
}

static void member_end(struct json *j, const struct member *m)
{
	text_write(&j->out, m->text, m->n);
}

static void put_word(struct json *j, const char *name, const char *word)
{
	struct member m;

	member_begin(j, &m, name);
	add(&m, word, strlen(word));
	member_end(j, &m);
}

static void put_name(struct json *j, const char *name)
{
	put_word(j, name, "");
}

void json_put_begin(struct json *j, const char *name, char bracket)
{
	put_word(j, name, bracket == '{' ? "{" : "[");
	j->comma = false;
}

void json_put_end(struct json *j, char bracket)
{
	text_write(&j->out, &bracket, 1);
	j->comma = true;
}

void json_put_null(struct json *j, const char *name)
{
	put_word(j, name, "null");
}

void json_put_bool(struct json *j, const char *name, bool value)
{
	put_word(j, name, value ? "true" : "false");
}

/* @before and @after: what stands around the digits. */
static void put_digits(struct json *j, const char *name, const char *before, uint64_t n,
		       const char *after)
{
	char digits[24], *end = digits + sizeof(digits), *first = text_digits(end, n);
	struct member m;

	member_begin(j, &m, name);
	add(&m, before, strlen(before));
	add(&m, first, end - first);
	add(&m, after, strlen(after));
	member_end(j, &m);
}

void json_put_int(struct json *j, const char *name, int64_t value)
{
	if (value < 0)
		put_digits(j, name, "-", 0 - (uint64_t)value, "");
	else
		put_digits(j, name, "", value, "");
}

void json_put_uint(struct json *j, const char *name, uint64_t value)
{
	const char *quote = value > INT64_MAX ? "\"" : "";

	put_digits(j, name, quote, value, quote);
}

void json_put_real(struct json *j, const char *name, double value)
{
	put_name(j, name);
	text_put(&j->out, "%.6f", value);
}

void json_put_exact(struct json *j, const char *name, double value)
{
	put_name(j, name);
	text_put(&j->out, "%.17g", value);
}

/* Code point of the well-formed UTF-8 at *@s; advances *@s past it. */
static uint32_t next_char(const char **s)
{
	unsigned char first = *(*s)++;
	uint32_t cp = first < 0x80 ? first : first & (first < 0xe0 ? 0x1f : first < 0xf0 ? 0xf : 7);

	while (first >= 0x80 && (**s & 0xc0) == 0x80)
		cp = cp << 6 | (*(*s)++ & 0x3f);
	return cp;
}

static void put_char(struct json *j, uint32_t cp)
{
	if (cp == '"' || cp == '\\')
		text_put(&j->out, "\\%c", (int)cp);
	else if (cp >= 0x20 && cp < 0x7f)
		text_put(&j->out, "%c", (int)cp);
	else if (cp < 0x10000)
		text_put(&j->out, "\\u%04X", cp);
	else
		text_put(&j->out, "\\u%04X\\u%04X", 0xd800 + ((cp - 0x10000) >> 10),
			 0xdc00 + (cp & 0x3ff));
}

/* Length of the characters at the start of @s, of @len bytes at most, that need no escape. */
static size_t plain_length(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void put_plain(struct json *j, const char *name, const char *text, size_t len)
{
	put_word(j, name, "\"");
	text_write(&j->out, text, len);
	text_write(&j->out, "\"", 1);
}

/* Writes @utf8 as a string and frees it. @utf8 NULL: out of memory. */
static void put_owned(struct json *j, const char *name, char *utf8)
{
	if (!utf8 && !j->out.err)
		j->out.err = -ENOMEM;
	put_name(j, name);
	text_write(&j->out, "\"", 1);
	for (const char *s = utf8; s && *s;) {
		size_t plain = plain_length(s, SIZE_MAX);

		text_write(&j->out, s, plain);
		s += plain;
		if (*s)
			put_char(j, next_char(&s));
	}
	text_write(&j->out, "\"", 1);
	free(utf8);
}

void json_put_text(struct json *j, const char *name, const char *text, size_t max)
{
	size_t len = text ? strnlen(text, max) : 0;
	char bytes_name[40];

	if (!len) {
		json_put_null(j, name);
		return;
	}
	if (plain_length(text, len) == len) { /* most are */
		put_plain(j, name, text, len);
		return;
	}
	put_owned(j, name, text_json_n(text, len));
	if (!name || text_is_utf8(text, len))
		return;
	snprintf(bytes_name, sizeof(bytes_name), "%s_bytes", name);
	put_owned(j, bytes_name, text_base64(text, len));
}

void json_put_string(struct json *j, const char *name, const char *text)
{
	json_put_text(j, name, text, SIZE_MAX);
}

void json_put_time(struct json *j, const char *name, uint64_t day_ns)
{
	time_t t = day_ns / NS_PER_S;
	char text[64] = "", day[32], zone[8];
	struct tm tm;

	if (day_ns && localtime_r(&t, &tm) && strftime(day, sizeof(day), "%FT%T", &tm) &&
	    strftime(zone, sizeof(zone), "%z", &tm) == 5)
		snprintf(text, sizeof(text), "%s.%03u%.3s:%s", day,
			 (unsigned int)(day_ns % NS_PER_S / 1000000), zone, zone + 3);
	json_put_string(j, name, text);
}

int json_end_line(struct json *j)
{
	text_put(&j->out, "\n");
	return text_end(&j->out);
}
