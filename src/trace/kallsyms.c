// SPDX-License-Identifier: GPL-2.0-only
#include "trace/kallsyms.h"

#include <errno.h>
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

uint64_t kallsyms_cached_range(const char *name, uint64_t *ret_end)
{
	const char *line = cached ? line_find(cached, name) : NULL;
	uint64_t from = line ? strtoull(line, NULL, 16) : 0, to = from;

	while (from && to <= from && line && (line = strchr(line, '\n')))
		to = strtoull(++line, NULL, 16);
	if (from)
		*ret_end = to > from ? to : from + 4096;
	return from;
}

uint64_t kallsyms_cached(const char *name)
{
	return cached ? kallsyms_find(cached, name) : 0;
}
