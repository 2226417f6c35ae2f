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

/* A line is "ADDRESS TYPE NAME"; symbols of modules have "\t[MODULE]" after the name. */
uint64_t kallsyms_find(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *line = text, *at = text;
	uint64_t found = 0;

	while ((at = strstr(at, name))) {
		line = at;
		at += len;
		if (line == text || line[-1] != ' ' || (*at && *at != '\n' && *at != '\t'))
			continue;
		if (found)
			return 0;
		while (line > text && line[-1] != '\n')
			line--;
		found = strtoull(line, NULL, 16);
	}
	return found;
}

uint64_t kallsyms_cached(const char *name)
{
	return cached ? kallsyms_find(cached, name) : 0;
}
