// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"

enum {
	TEXT_MOST = 64 << 20,
	CODES_MOST = 1 << 20,
	OVERLAPS_MOST = 64, /* pieces before an address that may have the address */
};

/* Reads to the end. Returns the length, or -ENOMEM with nothing owned. */
static ssize_t text_read(int fd, char **ret_text)
{
	size_t len = 0, cap = 1 << 16;
	char *text = NULL, *more;
	ssize_t n;

	do {
		cap *= 2;
		more = realloc(text, cap);
		if (!more) {
			free(text);
			return -ENOMEM;
		}
		text = more;
		do {
			n = read(fd, text + len, cap - len);
			len += n > 0 ? n : 0;
		} while (n > 0 && len < cap);
	} while (n > 0 && cap < TEXT_MOST);
	*ret_text = text;
	return len;
}

/* Splits off the number at *@at. Returns false if there is none. */
static bool number_take(char **at, uint64_t *ret)
{
	char *end;

	if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 16);
	if (errno || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static int code_add(struct perf_map *m, size_t *cap, char *line)
{
	struct perf_code code;

	if (!number_take(&line, &code.start) || !number_take(&line, &code.len) || !*line ||
	    !code.len || code.start + code.len < code.start)
		return 0;
	if (list_reserve((void **)&m->codes, cap, m->n, sizeof(*m->codes)))
		return -ENOMEM;
	code.name = line - m->text;
	m->codes[m->n++] = code;
	return 0;
}

static int code_order(const void *a, const void *b)
{
	const struct perf_code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

int perf_map_read(struct perf_map *m, int fd)
{
	ssize_t len;
	size_t cap = 0;
	int err = 0;

	*m = (struct perf_map){};
	len = text_read(fd, &m->text);
	if (len <= 0)
		return (int)len;
	for (char *line = m->text, *end; !err && m->n < CODES_MOST; line = end + 1) {
		end = memchr(line, '\n', m->text + len - line);
		if (!end) /* also the end of a line that is being written */
			break;
		*end = '\0';
		err = code_add(m, &cap, line);
	}
	if (err)
		perf_map_done(m);
	else if (m->n)
		qsort(m->codes, m->n, sizeof(*m->codes), code_order);
	return err;
}

void perf_map_done(struct perf_map *m)
{
	free(m->text);
	free(m->codes);
	*m = (struct perf_map){};
}

const char *perf_map_find(const struct perf_map *m, uint64_t address)
{
	const struct perf_code *found = NULL, *code;
	size_t low = 0, high = m->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->codes[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned int i = 0; low && i < OVERLAPS_MOST; i++) {
		code = &m->codes[--low];
		if (address - code->start < code->len && (!found || code->name > found->name))
			found = code;
	}
	return found ? m->text + found->name : NULL;
}

/* Copies @len bytes at most. */
static void part_set(char to[FRAME_TEXT], const char *from, size_t len)
{
	snprintf(to, FRAME_TEXT, "%.*s", len < FRAME_TEXT ? (int)len : FRAME_TEXT - 1, from);
}

/* "SOURCE:LINE:COLUMN"; the source may have colons. */
static void source_set(struct frame_name *name, const char *place)
{
	static const char url[] = "file://";
	const char *column = strrchr(place, ':'), *line = column;

	while (line && line > place && line[-1] != ':')
		line--;
	if (!line || line - 1 <= place)
		return;
	name->line = strtoul(line, NULL, 10);
	if (!strncmp(place, url, strlen(url)))
		place += strlen(url);
	part_set(name->source, place, line - 1 > place ? line - 1 - place : 0);
}

/* V8: "JS:*function /source.js:line:column"; the sign says which compiler made the code. */
static bool script_name(const char *text, struct frame_name *name)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
					     "Script:" };
	static const char *const sources[] = { " /", " file:", " node:", " " };
	const char *space = NULL;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !len; i++)
		len = strncmp(text, kinds[i], strlen(kinds[i])) ? 0 : strlen(kinds[i]);
	if (!len)
		return false;
	text += len + strspn(text + len, "*^+~'");
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && !space; i++)
		space = strstr(text, sources[i]);
	if (space == text)
		part_set(name->function, "(anonymous)", FRAME_TEXT);
	else
		part_set(name->function, text, space ? (size_t)(space - text) : FRAME_TEXT);
	if (space)
		source_set(name, space + 1);
	return true;
}

/* Java: "void java.io.FileDescriptor.sync()" is java.io.FileDescriptor.sync. */
static void method_name(const char *text, struct frame_name *name)
{
	size_t len = strcspn(text, "("), from = len;

	while (text[len] && from && text[from - 1] != ' ')
		from--;
	if (text[len] && from < len)
		part_set(name->function, text + from, len - from);
	else
		part_set(name->function, text, FRAME_TEXT);
}

void perf_map_name(const char *text, struct frame_name *ret_name)
{
	*ret_name = (struct frame_name){};
	if (!script_name(text, ret_name))
		method_name(text, ret_name);
}
