// SPDX-License-Identifier: GPL-2.0-only
#include "trace/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char *cached;

static char *read_all(void)
{
	enum { PART = 1 << 16 };
	FILE *f = fopen("/proc/kallsyms", "re"), *to;
	char part[PART], *text = NULL;
	size_t len, n;
	int err;

	if (!f)
		return NULL;
	to = open_memstream(&text, &len);
	while (to && (n = fread(part, 1, sizeof(part), f)) > 0)
		fwrite(part, 1, n, to);
	err = !to || ferror(f) || ferror(to) ? errno : 0;
	fclose(f);
	if (to && fclose(to))
		err = errno;
	if (!err)
		return text;
	free(text);
	errno = err;
	return NULL;
}

FILE *kallsyms_open(void)
{
	if (!cached)
		cached = read_all();
	return cached ? fmemopen(cached, strlen(cached), "r") : NULL;
}

void kallsyms_forget(void)
{
	free(cached);
	cached = NULL;
}

/* A line is "ADDRESS TYPE NAME"; symbols of modules have "\t[MODULE]" after the name. Returns the
 * only line with @name, or NULL. */
static const char *line_find(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *line = text, *at = text, *found = NULL;

	while ((at = strstr(at, name))) {
		line = at;
		at += len;
		if (line == text || line[-1] != ' ' || (*at && *at != '\n' && *at != '\t'))
			continue;
		if (found)
			return NULL;
		while (line > text && line[-1] != '\n')
			line--;
		found = line;
	}
	return found;
}

uint64_t kallsyms_find(const char *text, const char *name)
{
	const char *line = line_find(text, name);

	return line ? strtoull(line, NULL, 16) : 0;
}

/* Whether the symbol at @at, in its line, is called @name. */
static bool is_called(const char *at, const char *name)
{
	size_t len;

	if (*at != *name)
		return false;
	len = strlen(name);
	return !strncmp(at, name, len) && (!at[len] || at[len] == '\n' || at[len] == '\t');
}

/* Notes a symbol at @address: the end of functions below it. Returns whether all that were found
 * have an end. */
static bool ends_note(struct kallsyms_function *list, size_t n, uint64_t address)
{
	bool all = true;

	for (struct kallsyms_function *f = list; f < list + n; f++) {
		if (f->from && !f->to && address > f->from)
			f->to = address;
		all &= !f->from || f->to;
	}
	return all;
}

void kallsyms_find_functions(const char *text, struct kallsyms_function *list, size_t n)
{
	const char *line, *end, *symbol;
	struct kallsyms_function *f;
	bool have_ends = true;

	for (f = list; f < list + n; f++)
		*f = (struct kallsyms_function){ .name = f->name };
	for (line = text; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		symbol = memchr(line, ' ', end - line);
		if (!symbol || end - symbol < 4)
			continue;
		symbol += 3;
		if (!have_ends)
			have_ends = ends_note(list, n, strtoull(line, NULL, 16));
		for (f = list; f < list + n; f++)
			if (is_called(symbol, f->name)) {
				f->from = strtoull(line, NULL, 16);
				f->to = 0;
				f->symbols++;
				have_ends = false;
			}
	}
	for (f = list; f < list + n; f++) {
		if (f->symbols != 1)
			f->from = f->to = 0;
		else if (f->from && !f->to)
			f->to = f->from + 4096;
	}
}

void kallsyms_cached_functions(struct kallsyms_function *list, size_t n)
{
	kallsyms_find_functions(cached ? cached : "", list, n);
}

uint64_t kallsyms_cached(const char *name)
{
	return cached ? kallsyms_find(cached, name) : 0;
}
