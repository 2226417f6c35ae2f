// SPDX-License-Identifier: GPL-2.0-only
/*
 * text.c - hostile text made safe, lines of text, and numbers as text.
 *
 * Knows UTF-8 and widths, not the meaning of text.
 */
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { WORD_MAX = TEXT_SAFE_CAP(PATH_MAX), MESSAGE_COLUMNS = 80 };

struct range {
	uint32_t first, last;
};

/* Invisible controls that change how text reads. */
static const struct range unsafe[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f },   { 0x00ad, 0x00ad },   { 0x034f, 0x034f },
	{ 0x061c, 0x061c }, { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static const struct range combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x05bf, 0x05bf },
	{ 0x05c1, 0x05c2 }, { 0x05c4, 0x05c5 }, { 0x0610, 0x061a }, { 0x064b, 0x065f },
	{ 0x0670, 0x0670 }, { 0x06d6, 0x06dc }, { 0x06df, 0x06e4 }, { 0x0900, 0x0902 },
	{ 0x093c, 0x093c }, { 0x0941, 0x0948 }, { 0x094d, 0x094d }, { 0x0e31, 0x0e31 },
	{ 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1160, 0x11ff }, { 0x1ab0, 0x1aff },
	{ 0x1dc0, 0x1dff }, { 0x200c, 0x200d }, { 0x20d0, 0x20ff }, { 0x302a, 0x302d },
	{ 0x3099, 0x309a }, { 0xfe0e, 0xfe0f }, { 0xfe20, 0xfe2f },
};

static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },   { 0x23e9, 0x23f3 },
	{ 0x25fd, 0x25fe },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },   { 0x26a1, 0x26a1 },
	{ 0x26bd, 0x26be },   { 0x26c4, 0x26c5 },   { 0x26ce, 0x26ce },   { 0x26d4, 0x26d4 },
	{ 0x26ea, 0x26fd },   { 0x2705, 0x2705 },   { 0x270a, 0x270b },   { 0x2728, 0x2728 },
	{ 0x274c, 0x274e },   { 0x2753, 0x2757 },   { 0x2795, 0x2797 },   { 0x27b0, 0x27bf },
	{ 0x2b1b, 0x2b1c },   { 0x2b50, 0x2b55 },   { 0x2e80, 0x303e },   { 0x3041, 0x33ff },
	{ 0x3400, 0x4dbf },   { 0x4e00, 0xa4cf },   { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff },   { 0xfe10, 0xfe19 },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
	{ 0xffe0, 0xffe6 },   { 0x16fe0, 0x18cff }, { 0x1b000, 0x1b2ff }, { 0x1f004, 0x1f004 },
	{ 0x1f0cf, 0x1f0cf }, { 0x1f18e, 0x1f19a }, { 0x1f200, 0x1f320 }, { 0x1f32d, 0x1f64f },
	{ 0x1f680, 0x1f6ff }, { 0x1f7e0, 0x1f7f0 }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};

#define in_ranges(set, cp) ranges_have(set, sizeof(set) / sizeof((set)[0]), cp)

static bool ranges_have(const struct range *set, size_t n, uint32_t cp)
{
	for (size_t i = 0; i < n && set[i].first <= cp; i++) {
		if (cp <= set[i].last)
			return true;
	}
	return false;
}

/* Length of the UTF-8 sequence with the first byte @c, or 0 if no sequence begins with @c. */
static size_t utf8_len(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	return c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Decodes one character of @s[@n]; the length, or 0: not well-formed UTF-8 (cut short, overlong, a
 * surrogate, beyond U+10FFFF). */
static size_t utf8_decode(const char *s, size_t n, uint32_t *ret_cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = n ? utf8_len(s[0]) : 0;
	uint32_t cp;

	if (!len || len > n)
		return 0;
	cp = len == 1 ? (unsigned char)s[0] : (unsigned char)s[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (s[i] & 0x3f);
	}
	if (cp < least[len] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	*ret_cp = cp;
	return len;
}

/* Writes @n bytes as \xNN; returns the bytes written, 0 if there is no room for all. */
static size_t escape(char *dst, size_t cap, const char *src, size_t n)
{
	static const char hex[] = "0123456789abcdef";

	if (cap < 4 * n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = src[i];

		memcpy(dst, (char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] }, 4);
		dst += 4;
	}
	return 4 * n;
}

/* Writes a character of @n bytes unchanged, a backslash twice; returns as escape() does. */
static size_t keep(char *dst, size_t cap, const char *src, size_t n)
{
	if (*src == '\\') {
		src = "\\\\";
		n = 2;
	}
	if (cap < n)
		return 0;
	memcpy(dst, src, n);
	return n;
}

bool text_locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;

	for (int i = 0; i < 3 && !(locale && *locale); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

/* Global, since there is one terminal. */
static bool ascii_only;

void text_ascii_only(void)
{
	ascii_only = true;
}

enum { ZWNJ = 0x200c, ZWJ = 0x200d, TEXT_STYLE = 0xfe0e, EMOJI_STYLE = 0xfe0f };

static bool is_joiner(uint32_t cp)
{
	return cp == ZWNJ || cp == ZWJ;
}

static bool is_style(uint32_t cp)
{
	return cp == TEXT_STYLE || cp == EMOJI_STYLE;
}

/*
 * Whether @cp, invisible by itself, is part of the writing: a joiner between two letters or emoji,
 * as in Persian, or the style of an emoji. Between ASCII it would only hide. @before: the character
 * before, 0 if that was escaped; @after: the text after.
 */
static bool is_writing(uint32_t cp, uint32_t before, const char *after, size_t len)
{
	uint32_t next = 0;

	if (is_style(cp))
		return before < 0x80 ? before && strchr("#*0123456789", before)
				     : !is_joiner(before) && !is_style(before);
	if (!is_joiner(cp) || before < 0x80 || is_joiner(before))
		return false;
	return utf8_decode(after, len, &next) && next >= 0x80 && !in_ranges(unsafe, next);
}

static size_t safe(char *dst, size_t cap, const char *src, size_t len, bool ascii)
{
	uint32_t before = 0;
	size_t out = 0;

	while (len) {
		uint32_t cp = 0;
		size_t n = utf8_decode(src, len, &cp), put;
		bool stays = n && (cp < 0x80 || !ascii) &&
			     (!in_ranges(unsafe, cp) || is_writing(cp, before, src + n, len - n));

		before = stays ? cp : 0;
		if (stays) {
			put = keep(dst + out, cap - 1 - out, src, n);
		} else {
			n = n ? n : 1;
			put = escape(dst + out, cap - 1 - out, src, n);
		}
		if (!put)
			break;
		out += put;
		src += n;
		len -= n;
	}
	dst[out] = '\0';
	return out;
}

size_t text_safe_n(char *dst, size_t cap, const char *src, size_t len)
{
	return safe(dst, cap, src, len, ascii_only);
}

size_t text_safe_utf8(char *dst, size_t cap, const char *src, size_t len)
{
	return safe(dst, cap, src, len, false);
}

size_t text_safe(char *dst, size_t cap, const char *src)
{
	return text_safe_n(dst, cap, src, strlen(src));
}

/* Length of the escape at the start of @s, or 0 if there is none. Escapes must not be cut. */
static size_t escape_len(const char *s, size_t len)
{
	size_t n = len > 1 && s[0] == '\\' ? s[1] == 'x' ? 4 : 2 : 0;

	return n > len ? len : n;
}

/* Length of the first character or escape of @s (not empty), and its columns. */
static size_t char_width(const char *s, size_t len, int *ret_cols)
{
	uint32_t cp = 0;
	size_t n = escape_len(s, len);

	if (n) {
		*ret_cols = n;
		return n;
	}
	n = utf8_decode(s, len, &cp);
	*ret_cols = in_ranges(combining, cp) ? 0 : in_ranges(wide, cp) ? 2 : 1;
	return n ? n : 1;
}

int text_width(const char *safe)
{
	size_t len = strlen(safe), n;
	int width = 0, cols;

	for (; len; safe += n, len -= n) {
		n = char_width(safe, len, &cols);
		width += cols;
	}
	return width;
}

/* Length of the longest prefix of @s with at most @width columns and @cap bytes. */
static size_t head_bytes(const char *s, size_t cap, int width, int *ret_cols)
{
	size_t len = strlen(s), used = 0, n;
	int cols, total = 0;

	for (; used < len; used += n, total += cols) {
		n = char_width(s + used, len - used, &cols);
		if (total + cols > width || used + n > cap)
			break;
	}
	*ret_cols = total;
	return used;
}

/* Start of the longest suffix of @s with at most @width columns and @cap bytes. */
static const char *tail_start(const char *s, size_t cap, int width, int *ret_cols)
{
	size_t len = strlen(s), n;
	int cols, total = text_width(s);

	for (; len && (total > width || len > cap); s += n, len -= n) {
		n = char_width(s, len, &cols);
		total -= cols;
	}
	*ret_cols = total;
	return s;
}

/* The end gets two thirds of the room: the name of a file is at the end of its path. */
static int fit_middle(char *dst, size_t cap, const char *safe, int width)
{
	int head_cols, tail_cols;
	size_t n = head_bytes(safe, (cap - 4) / 3, (width - 3) / 3, &head_cols);
	const char *tail = tail_start(safe + n, cap - 4 - n, width - 3 - head_cols, &tail_cols);

	memcpy(dst, safe, n);
	memcpy(dst + n, "...", 3);
	strcpy(dst + n + 3, tail);
	return head_cols + 3 + tail_cols;
}

int text_fit(char *dst, size_t cap, const char *safe, int width, enum text_cut cut)
{
	int dots, cols = text_width(safe);
	size_t n;

	if (cols <= width && strlen(safe) < cap) {
		strcpy(dst, safe);
		return cols;
	}
	dots = width > 3 && cap > 4 ? 3 : 0;
	if (cut == TEXT_CUT_HEAD) {
		memcpy(dst, "...", dots);
		safe = tail_start(safe, cap - dots - 1, width - dots, &cols);
		strcpy(dst + dots, safe);
		return cols + dots;
	}
	if (cut == TEXT_CUT_MIDDLE && dots)
		return fit_middle(dst, cap, safe, width);
	n = head_bytes(safe, cap - dots - 1, width - dots, &cols);
	memcpy(dst, safe, n);
	memcpy(dst + n, "...", dots);
	dst[n + dots] = '\0';
	return cols + dots;
}

char *text_json_n(const char *src, size_t len)
{
	char *dst = malloc(3 * len + 1), *p = dst;

	if (!dst)
		return NULL;
	while (len) {
		uint32_t cp;
		size_t n = utf8_decode(src, len, &cp);

		memcpy(p, n ? src : "\xef\xbf\xbd", n ? n : 3);
		p += n ? n : 3;
		n = n ? n : 1;
		src += n;
		len -= n;
	}
	*p = '\0';
	return dst;
}

char *text_json(const char *src)
{
	return text_json_n(src, strlen(src));
}

bool text_is_utf8(const char *src, size_t len)
{
	uint32_t cp;
	size_t n;

	for (; len; src += n, len -= n) {
		n = utf8_decode(src, len, &cp);
		if (!n)
			return false;
	}
	return true;
}

char *text_base64(const char *src, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = (const unsigned char *)src;
	char *dst = malloc((len + 2) / 3 * 4 + 1), *p = dst;

	if (!dst)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t v =
			s[i] << 16 | (left > 1 ? s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0);

		*p++ = digits[v >> 18];
		*p++ = digits[v >> 12 & 63];
		*p++ = left > 1 ? digits[v >> 6 & 63] : '=';
		*p++ = left > 2 ? digits[v & 63] : '=';
	}
	*p = '\0';
	return dst;
}

/* Writes past the buffer. */
static void write_through(struct text_out *o, const char *data, size_t n)
{
	if (!o->err && fwrite_unlocked(data, 1, n, o->f) != n)
		o->err = errno ? -errno : -EIO;
}

void text_flush(struct text_out *o)
{
	struct text_buffer *b = o->buffer;

	if (!b || !b->n)
		return;
	write_through(o, b->s, b->n);
	b->n = 0;
}

char *text_room(struct text_out *o, size_t n)
{
	struct text_buffer *b = o->buffer;

	if (!b || n > sizeof(b->s))
		return NULL;
	if (n > sizeof(b->s) - b->n)
		text_flush(o);
	return b->s + b->n;
}

void text_write(struct text_out *o, const char *data, size_t n)
{
	char *to = text_room(o, n);

	if (to) {
		memcpy(to, data, n);
		o->buffer->n += n;
	} else {
		text_flush(o);
		write_through(o, data, n);
	}
}

void text_put(struct text_out *o, const char *fmt, ...)
{
	va_list ap;

	if (o->err)
		return;
	text_flush(o);
	va_start(ap, fmt);
	if (vfprintf(o->f, fmt, ap) < 0)
		o->err = errno ? -errno : -EIO;
	va_end(ap);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '\\' && c != '"';
}

/* Whether one of the eight characters may not be plain. A subtraction sets the highest bit of a
 * byte that is too small. Its borrow sometimes sets the bit of a plain neighbour, too. */
static bool may_escape(uint64_t eight)
{
	const uint64_t ones = ~0ULL / 255, highest = ones << 7;
	uint64_t del = eight ^ ones * 0x7f, quote = eight ^ ones * '"', back = eight ^ ones * '\\';

	return (eight | (eight - ones * 0x20) | (del - ones) | (quote - ones) | (back - ones)) &
	       highest;
}

size_t text_copy_plain(char *to, const char *text, size_t len)
{
	uint64_t eight;
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		memcpy(&eight, text + i, 8);
		if (may_escape(eight))
			break;
		memcpy(to + i, &eight, 8);
	}
	for (; i < len && is_plain(text[i]); i++)
		to[i] = text[i];
	return i;
}

/* A byte, and the text to write in its place. */
struct replaced {
	char c;
	const char *by;
};

/* Writes @text with each byte in @list replaced. @list ends with a NUL byte. */
static void write_replaced(struct text_out *o, const char *text, size_t len,
			   const struct replaced *list)
{
	const struct replaced *r;
	size_t plain = 0;

	for (size_t i = 0; i < len; i++) {
		for (r = list; r->c && r->c != text[i]; r++)
			;
		if (!r->c)
			continue;
		text_write(o, text + plain, i - plain);
		text_write(o, r->by, strlen(r->by));
		plain = i + 1;
	}
	text_write(o, text + plain, len - plain);
}

void text_html_safe(struct text_out *o, const char *safe)
{
	static const struct replaced list[] = {
		{ '&', "&amp;" },  { '<', "&lt;" },   { '>', "&gt;" },
		{ '"', "&quot;" }, { '\'', "&#39;" }, {},
	};

	write_replaced(o, safe, strlen(safe), list);
}

void text_html(struct text_out *o, const char *src, size_t len)
{
	size_t cap = TEXT_SAFE_CAP(len);
	char *safe = malloc(cap);

	if (safe) {
		text_safe_utf8(safe, cap, src, len);
		text_html_safe(o, safe);
	} else if (!o->err) {
		o->err = -ENOMEM;
	}
	free(safe);
}

void text_script(struct text_out *o, const char *json, size_t len)
{
	static const struct replaced list[] = {
		{ '<', "\\u003C" }, { '>', "\\u003E" }, { '&', "\\u0026" }, {}
	};

	write_replaced(o, json, len, list);
}

void text_fill(struct text_out *o, char c, int n)
{
	text_flush(o);
	while (n-- > 0 && !o->err) {
		if (fputc(c, o->f) == EOF)
			o->err = errno ? -errno : -EIO;
	}
}

/* As text_wrap(); words have at most @most columns. */
static void wrap(struct text_out *o, const char *text, int at, int indent, int width, int most)
{
	char word[WORD_MAX], fit[WORD_MAX];
	int col = at;

	while (*(text += strspn(text, " \n"))) {
		size_t len = strcspn(text, " \n");
		int cols;

		if (!strncmp(text + len, " %", 2)) /* "48 %" is one word */
			len += 1 + strcspn(text + len + 1, " \n");
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		cols = text_fit(fit, sizeof(fit), word, most, TEXT_CUT_TAIL);
		if (col > at && col + 1 + cols > width) {
			text_put(o, "\n");
			text_fill(o, ' ', indent);
			col = at = indent;
		}
		text_put(o, "%s%s", col > at ? " " : "", fit);
		col += cols + (col > at);
		text += len;
	}
	text_put(o, "\n");
}

void text_wrap(struct text_out *o, const char *text, int at, int indent, int width)
{
	wrap(o, text, at, indent, width, width - indent);
}

void text_wrap_whole(struct text_out *o, const char *text, int at, int indent, int width)
{
	wrap(o, text, at, indent, width, WORD_MAX);
}

void text_message(FILE *f, const char *text)
{
	struct text_out o = { .f = f };

	if (isatty(fileno(f)))
		wrap(&o, text, 0, 2, MESSAGE_COLUMNS, WORD_MAX);
	else
		text_put(&o, "%s\n", text);
}

int text_end(struct text_out *o)
{
	text_flush(o);
	if (fflush(o->f) && !o->err)
		o->err = errno ? -errno : -EIO;
	if (ferror(o->f) && !o->err)
		o->err = -EIO;
	return o->err;
}

/*
 * Numbers for people: times, bytes, counts, rates, shares; see text.h.
 */

char *text_digits(char *end, uint64_t n)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	for (; n >= 100; n /= 100)
		memcpy(end -= 2, pairs + 2 * (n % 100), 2);
	if (n >= 10)
		memcpy(end -= 2, pairs + 2 * n, 2);
	else
		*--end = (char)('0' + n);
	return end;
}

/* @v with three significant digits, or all digits before the point if there are more. */
static struct text_num number(double v, const char *unit)
{
	struct text_num t;
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(t.s, sizeof(t.s), "%.*f%s", decimals, v, unit);
	return t;
}

struct text_num text_ns(uint64_t ns)
{
	struct text_num t;
	double v = ns;

	if (ns < 1000) {
		snprintf(t.s, sizeof(t.s), "%u ns", (unsigned int)ns);
		return t;
	}
	if (v < 999.5e3)
		return number(v / 1e3, " us");
	if (v < 999.5e6)
		return number(v / 1e6, " ms");
	if (v < 99999.5e9)
		return number(v / 1e9, " s");
	if (v < 99999.5 * 3600e9)
		return number(v / 3600e9, " h");
	return number(v / (365.25 * 86400e9), " y");
}

struct text_num text_ms(uint64_t ns)
{
	struct text_num t;
	double v = ns / 1e6;
	int decimals = v < 0.1 ? 5 : v < 1 ? 4 : v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0;

	if (!ns)
		snprintf(t.s, sizeof(t.s), "0");
	else if (v > 9999999.4)
		snprintf(t.s, sizeof(t.s), "%.1e", v);
	else
		snprintf(t.s, sizeof(t.s), "%.*f", decimals, v);
	return t;
}

/* Divides @v by @step until it is below @limit (three digits); the power picks the unit from
 * @units. */
static struct text_num scaled(double v, double step, double limit, const char *const *units)
{
	while (v >= limit && units[1]) {
		v /= step;
		units++;
	}
	return number(v, *units);
}

struct text_num text_bytes(uint64_t bytes)
{
	static const char *const units[] = { " B",   " KiB", " MiB", " GiB",
					     " TiB", " PiB", " EiB", NULL };
	struct text_num t;

	if (bytes >= 1024)
		return scaled(bytes / 1024.0, 1024, 1023.5, units + 1);
	snprintf(t.s, sizeof(t.s), "%u B", (unsigned int)bytes);
	return t;
}

static const char *const powers[] = { "", "k", "M", "G", "T", "P", "E", NULL };

struct text_num text_short(uint64_t n)
{
	struct text_num t;

	if (n >= 1000)
		return scaled(n / 1e3, 1e3, 999.5, powers + 1);
	snprintf(t.s, sizeof(t.s), "%u", (unsigned int)n);
	return t;
}

struct text_num text_count(uint64_t n)
{
	unsigned int v = n, low = v % 1000, mid = v / 1000 % 1000, high = v / 1000000;
	struct text_num t;

	if (n >= 1000000000)
		return text_short(n);
	if (high)
		snprintf(t.s, sizeof(t.s), "%u,%03u,%03u", high, mid, low);
	else if (mid)
		snprintf(t.s, sizeof(t.s), "%u,%03u", mid, low);
	else
		snprintf(t.s, sizeof(t.s), "%u", low);
	return t;
}

struct text_num text_count7(uint64_t n)
{
	return n < 1000000 ? text_count(n) : text_short(n);
}

const char *text_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

char text_capital(const char *text)
{
	size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	return letters && text[letters] != '_' ? *text - 'a' + 'A' : *text;
}

struct text_num text_rate(uint64_t n, uint64_t duration_ns)
{
	static const char *const units[] = { "/s", "k/s", "M/s", "G/s", "T/s", "P/s", "E/s", NULL };
	double rate;

	if (!duration_ns)
		return (struct text_num){ "-" };
	rate = n * 1e9 / duration_ns;
	if (rate >= 999.5e18)
		return (struct text_num){ ">999E/s" };
	if (!n)
		return (struct text_num){ "0/s" };
	if (rate < 0.005)
		return (struct text_num){ "<0.01/s" };
	return scaled(rate, 1e3, 999.5, units);
}

struct text_num text_clock(uint64_t day_ns, uint64_t apart_ns)
{
	struct text_num t = { "-" };
	time_t s = day_ns / NS_PER_S;
	uint64_t unit = NS_PER_S;
	int digits = 0;
	struct tm tm;
	size_t len;

	if (!localtime_r(&s, &tm))
		return t;
	len = strftime(t.s, sizeof(t.s), "%T", &tm);
	snprintf(t.s + len, sizeof(t.s) - len, ".%09u", (unsigned int)(day_ns % NS_PER_S));
	/* times are at least two units of the last digit apart, since intervals are not quite
	 * regular */
	for (; apart_ns && apart_ns < NS_PER_S && apart_ns < 2 * unit && unit > 1; digits++)
		unit /= 10;
	t.s[digits ? len + 1 + digits : len] = '\0';
	return t;
}

struct text_num text_percent(uint64_t part, uint64_t whole)
{
	struct text_num t;
	double v;

	if (!whole)
		return (struct text_num){ "-" };
	v = 100.0 * part / whole;
	if (part && v < 0.05)
		return (struct text_num){ "<0.1 %" };
	snprintf(t.s, sizeof(t.s), v < 999.95 ? "%.1f %%" : ">999 %%", v);
	return t;
}

struct text_num text_percent_whole(uint64_t part, uint64_t whole)
{
	struct text_num t = text_percent(part, whole);
	double v = whole ? 100.0 * part / whole : 0;

	if (whole && (!part || v > 0.5) && v < 999.5)
		snprintf(t.s, sizeof(t.s), "%.0f %%", v);
	return t;
}

int text_share(char *dst, size_t cap, uint64_t part, uint64_t whole)
{
	double v = whole ? 100.0 * part / whole : 0;

	return snprintf(dst, cap, v < 1 ? "of %s (%.2g %%)" : "of %s (%.3g %%)",
			text_count(whole).s, v);
}

void text_shell_word(FILE *f, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:=,+@%-";

	if (*word && strspn(word, plain) == strlen(word)) {
		fprintf(f, " %s", word);
		return;
	}
	fprintf(f, " '");
	for (; *word; word++)
		fprintf(f, *word == '\'' ? "'\\''" : "%c", *word);
	fprintf(f, "'");
}
