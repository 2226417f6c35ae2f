// SPDX-License-Identifier: GPL-2.0-only
/*
 * python_code.c - objects are as the headers of CPython 3.11 to 3.13 have them. The format of
 * tables of lines is in CPython's sources: "locations.md" in Objects, later "code_objects.md".
 */
#include "stacks/python_code.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

/* Where members are; offsets in bytes. */
enum {
	OBJECT_TYPE = 8,
	OBJECT_SIZE = 16, /* of objects whose size differs; of text: its length */
	TYPE_NAME = 24,
	BYTES_START = 32,
	TEXT_STATE = 32,
	CODE_FILE = 112,
	CODE_NAME = 128, /* with the names of classes and functions around it */
	CODE_LINES = 136,
	LINES_MOST = 1 << 20, /* bytes of a table */
};

struct python_layout {
	unsigned char first_line;     /* in the code object */
	unsigned char ascii, compact; /* in a text: where characters begin */
};

static const struct python_layout layouts[PYTHON_N] = {
	[PYTHON_3_11] = { 72, 48, 72 },
	[PYTHON_3_12] = { 68, 40, 56 },
	[PYTHON_3_13] = { 68, 40, 56 },
};

/* The memory of a process. */
struct memory {
	memory_read_fn *read;
	void *arg;
	const struct python_layout *layout;
};

static bool word_read(const struct memory *m, uint64_t at, uint64_t *ret)
{
	return m->read(m->arg, at, ret, sizeof(*ret));
}

/* Whether the object at @at has a type with this name. */
static bool is_a(const struct memory *m, uint64_t at, const char *type)
{
	uint64_t its_type, name;
	char text[16];
	size_t len = strlen(type) + 1;

	return word_read(m, at + OBJECT_TYPE, &its_type) &&
	       word_read(m, its_type + TYPE_NAME, &name) && len <= sizeof(text) &&
	       m->read(m->arg, name, text, len) && !memcmp(text, type, len);
}

static size_t utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = 0xc0 | c >> 6;
		to[1] = 0x80 | (c & 0x3f);
		return 2;
	}
	if (c < 0x10000) {
		to[0] = 0xe0 | c >> 12;
		to[1] = 0x80 | (c >> 6 & 0x3f);
		to[2] = 0x80 | (c & 0x3f);
		return 3;
	}
	to[0] = 0xf0 | (c >> 18 & 7);
	to[1] = 0x80 | (c >> 12 & 0x3f);
	to[2] = 0x80 | (c >> 6 & 0x3f);
	to[3] = 0x80 | (c & 0x3f);
	return 4;
}

/* @n characters of @width bytes. */
static void text_put(char to[FRAME_TEXT], const unsigned char *from, size_t n, unsigned int width)
{
	size_t len = 0;
	uint32_t c;

	for (size_t i = 0; i < n && len + 4 < FRAME_TEXT; i++) {
		c = 0;
		memcpy(&c, from + i * width, width);
		if (!c)
			break;
		len += utf8_put(to + len, c);
	}
	to[len] = '\0';
}

/* Reads the text object that the word at @at points to. It is cut where it is too long. */
static bool text_read(const struct memory *m, uint64_t at, char to[FRAME_TEXT])
{
	unsigned char text[4 * FRAME_TEXT];
	uint64_t object, len;
	unsigned int width;
	uint32_t state;
	bool ascii;

	if (!word_read(m, at, &object) || !is_a(m, object, "str") ||
	    !word_read(m, object + OBJECT_SIZE, &len) ||
	    !m->read(m->arg, object + TEXT_STATE, &state, sizeof(state)))
		return false;
	width = state >> 2 & 7; /* bits: interned 2, kind 3, compact 1, ascii 1 */
	ascii = state >> 6 & 1;
	if ((width != 1 && width != 2 && width != 4) || !(state >> 5 & 1))
		return false;
	len = len < FRAME_TEXT ? len : FRAME_TEXT;
	if (!m->read(m->arg, object + (ascii ? m->layout->ascii : m->layout->compact), text,
		     len * width))
		return false;
	text_put(to, text, len, width);
	return true;
}

/* A number of 6 bits in each byte, the low ones first. Returns false at the end of the table. */
static bool number_read(const unsigned char **at, const unsigned char *end, uint32_t *ret)
{
	unsigned char byte;
	unsigned int shift = 0;

	*ret = 0;
	do {
		if (*at == end)
			return false;
		byte = *(*at)++;
		if (shift < 32)
			*ret |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return true;
}

enum { LINE_SAME = 9, LINE_DELTA = 10, LINE_ONLY = 13, LINE_LONG = 14, LINE_NONE = 15 };

/* The difference of lines of an entry. Returns false at the end of the table. */
static bool delta_read(unsigned int kind, const unsigned char **at, const unsigned char *end,
		       int64_t *ret)
{
	uint32_t number;

	*ret = 0;
	if (kind <= LINE_SAME || kind == LINE_NONE)
		return true;
	if (kind < LINE_ONLY) {
		*ret = kind - LINE_DELTA;
		return true;
	}
	if (!number_read(at, end, &number))
		return false;
	*ret = number & 1 ? -(int64_t)(number >> 1) : number >> 1;
	return true;
}

unsigned int python_line(const unsigned char *table, size_t len, int first, unsigned int place)
{
	const unsigned char *at = table, *end = table + len;
	unsigned int to = 0, kind;
	int64_t line = first, delta;

	while (at < end) {
		kind = *at >> 3 & 15;
		to += (*at++ & 7) + 1;
		if (!delta_read(kind, &at, end, &delta))
			return 0;
		line += delta;
		if (place < to)
			return kind == LINE_NONE || line < 1 || line > INT_MAX ? 0 : line;
		while (at < end && !(*at & 0x80)) /* the rest of the entry: columns */
			at++;
	}
	return 0;
}

static unsigned int line_read(const struct memory *m, uint64_t code, unsigned int place)
{
	unsigned char *table = NULL;
	uint64_t lines, len;
	unsigned int line = 0;
	int first;

	if (place != STACK_PYTHON_PLACES && word_read(m, code + CODE_LINES, &lines) &&
	    is_a(m, lines, "bytes") && word_read(m, lines + OBJECT_SIZE, &len) &&
	    len <= LINES_MOST &&
	    m->read(m->arg, code + m->layout->first_line, &first, sizeof(first)))
		table = malloc(len + 1);
	if (table && m->read(m->arg, lines + BYTES_START, table, len))
		line = python_line(table, len, first, place);
	free(table);
	return line;
}

bool python_code_name(unsigned long long frame, memory_read_fn *read, void *arg,
		      struct frame_name *ret_name)
{
	unsigned int version = STACK_PYTHON_VERSION(frame);
	uint64_t code = STACK_PYTHON_CODE(frame);
	struct frame_name name = {};
	struct memory m = { .read = read, .arg = arg };

	if (!version || version >= PYTHON_N)
		return false;
	m.layout = &layouts[version];
	if (!is_a(&m, code, "code") || !text_read(&m, code + CODE_NAME, name.function) ||
	    !text_read(&m, code + CODE_FILE, name.source))
		return false;
	name.line = line_read(&m, code, STACK_PYTHON_PLACE(frame));
	*ret_name = name;
	return true;
}
