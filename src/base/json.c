// SPDX-License-Identifier: GPL-2.0-only
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A name and a short value, to be written at once: most of the time of a long list goes into calls
 * that write. */
struct member {
	char *text, *at; /* in the buffer of the output, or in .own */
	char own[192];
};

enum { NAME_MOST = 96, VALUE_MOST = 80 }; /* with 4 more they fit in a member */

static void add(struct member *m, const char *text, size_t n)
{
	memcpy(m->at, text, n);
	m->at += n;
}

static void add_char(struct member *m, char c)
{
	*m->at++ = c;
}

static void member_place(struct json *j, struct member *m)
{
	m->text = text_room(&j->out, sizeof(m->own));
	if (!m->text)
		m->text = m->own;
	m->at = m->text;
}

static void member_end(struct json *j, const struct member *m)
{
	size_t n = m->at - m->text;

	if (m->text == m->own)
		text_write(&j->out, m->text, n);
	else
		j->out.buffer->n += n;
}

/* There is room for VALUE_MOST bytes more. */
static void member_begin(struct json *j, struct member *m, const char *name)
{
	member_place(j, m);
	if (j->comma)
		add_char(m, ',');
	j->comma = true;
	if (!name)
		return;
	add_char(m, '"');
	/* not memcpy(): names are short */
	for (size_t n = 0; *name && n < NAME_MOST; n++)
		add_char(m, *name++);
	if (*name) {
		member_end(j, m);
		text_write(&j->out, name, strlen(name));
		member_place(j, m);
	}
	add_char(m, '"');
	add_char(m, ':');
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

/* @before and @after: what stands around the digits; 0 for nothing. */
static void put_digits(struct json *j, const char *name, char before, uint64_t n, char after)
{
	char digits[24], *end = digits + sizeof(digits), *first = text_digits(end, n);
	struct member m;

	member_begin(j, &m, name);
	if (before)
		add_char(&m, before);
	add(&m, first, end - first);
	if (after)
		add_char(&m, after);
	member_end(j, &m);
}

void json_put_int(struct json *j, const char *name, int64_t value)
{
	if (value < 0)
		put_digits(j, name, '-', 0 - (uint64_t)value, 0);
	else
		put_digits(j, name, 0, value, 0);
}

void json_put_uint(struct json *j, const char *name, uint64_t value)
{
	char quote = value > INT64_MAX ? '"' : 0;

	put_digits(j, name, quote, value, quote);
}

void json_put_real(struct json *j, const char *name, double value)
{
	put_name(j, name);
	text_put(&j->out, "%.6f", value);
}

void json_put_decimal(struct json *j, const char *name, uint64_t whole, uint64_t fraction,
		      unsigned int digits)
{
	char text[48], *end = text + sizeof(text), *first = end;
	struct member m;

	if (digits) {
		first = text_digits(end, fraction);
		while (first > end - digits)
			*--first = '0';
		*--first = '.';
	}
	first = text_digits(first, whole);
	member_begin(j, &m, name);
	add(&m, first, end - first);
	member_end(j, &m);
}

void json_put_exact(struct json *j, const char *name, double value)
{
	put_name(j, name);
	text_put(&j->out, "%.17g", value);
}

void json_put_1024ths(struct json *j, const char *name, uint64_t n)
{
	const uint64_t smallest = 9765625; /* 10^10 / 1024 */
	uint64_t whole = n / 1024, fraction = n % 1024 * smallest, unit = 1, left;
	unsigned int digits = 10;

	if (n >> 53) { /* no double has it exactly */
		json_put_exact(j, name, n / 1024.0);
		return;
	}
	for (uint64_t least = 10000000; whole >= least; least *= 10) { /* 10^7: 17 - 10 digits */
		unit *= 10;
		digits--;
	}
	left = fraction % unit;
	fraction /= unit;
	fraction += 2 * left > unit || (2 * left == unit && fraction % 2); /* half to even */
	for (; digits && fraction % 10 == 0; digits--)
		fraction /= 10;
	json_put_decimal(j, name, whole + (!digits && fraction), digits ? fraction : 0, digits);
}

void json_put_thousandths(struct json *j, const char *name, uint64_t n)
{
	if (n / 1000 >> 32) /* beyond, the six digits of a double differ */
		json_put_real(j, name, n / 1e3);
	else
		json_put_decimal(j, name, n / 1000, n % 1000 * 1000, 6);
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

/* Writes @text if it is short, and none of its characters needs an escape; else nothing, and
 * returns false. */
static bool put_plain(struct json *j, const char *name, const char *text, size_t len)
{
	char plain[VALUE_MOST - 2];
	struct member m;

	if (len > sizeof(plain) || text_copy_plain(plain, text, len) < len)
		return false;
	member_begin(j, &m, name);
	add_char(&m, '"');
	add(&m, plain, len);
	add_char(&m, '"');
	member_end(j, &m);
	return true;
}

/* Length of the characters at the start of @s that need no escape. */
static size_t plain_length(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

/* Writes @utf8 as a string and frees it. @utf8 NULL: out of memory. */
static void put_owned(struct json *j, const char *name, char *utf8)
{
	if (!utf8 && !j->out.err)
		j->out.err = -ENOMEM;
	put_name(j, name);
	text_write(&j->out, "\"", 1);
	for (const char *s = utf8; s && *s;) {
		size_t plain = plain_length(s);

		text_write(&j->out, s, plain);
		s += plain;
		if (*s)
			put_char(j, next_char(&s));
	}
	text_write(&j->out, "\"", 1);
	free(utf8);
}

void json_put_bytes(struct json *j, const char *name, const char *text, size_t len)
{
	char bytes_name[40];

	if (!len) {
		json_put_null(j, name);
		return;
	}
	if (put_plain(j, name, text, len)) /* most are */
		return;
	put_owned(j, name, text_json_n(text, len));
	if (!name || text_is_utf8(text, len))
		return;
	snprintf(bytes_name, sizeof(bytes_name), "%s_bytes", name);
	put_owned(j, bytes_name, text_base64(text, len));
}

void json_put_text(struct json *j, const char *name, const char *text, size_t max)
{
	json_put_bytes(j, name, text, text ? strnlen(text, max) : 0);
}

void json_put_string(struct json *j, const char *name, const char *text)
{
	json_put_bytes(j, name, text, text ? strlen(text) : 0);
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
