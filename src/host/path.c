// SPDX-License-Identifier: GPL-2.0-only
/*
 * path.c - joins the names in a struct file_name to a path.
 */
#include "host/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "host/mounts.h"

/* Length of the name at @s; false if no NUL ends it within @left bytes. */
static bool name_len(const char *s, size_t left, size_t *ret_len)
{
	*ret_len = strnlen(s, left);
	return *ret_len < left;
}

void path_split(struct file_name *fn)
{
	size_t len = fn->len < PATH_BYTES ? fn->len : PATH_BYTES, n, start, end, to = 0;
	char given[PATH_BYTES];

	if (!name_len(fn->names, len, &n))
		return;
	if (n == 1 ? fn->names[0] != '.' || len == 2 : !memchr(fn->names, '/', n))
		return;
	memcpy(given, fn->names, n);
	for (end = n + 1; end; end = start) {
		start = --end;
		while (start && given[start - 1] != '/')
			start--;
		if (end == start || (end == start + 1 && given[start] == '.'))
			continue;
		memcpy(fn->names + to, given + start, end - start);
		to += end - start;
		fn->names[to++] = '\0';
	}
	memmove(fn->names + to, fn->names + n + 1, len - n - 1);
	fn->len = to + len - n - 1;
}

size_t path_join(char *dst, size_t cap, const struct file_name *fn)
{
	size_t left = fn->len < PATH_BYTES ? fn->len : PATH_BYTES, n;
	const char *name = fn->names;
	bool whole = fn->complete;
	char *end = dst + cap - 1, *p = end; /* filled from the end: the leaf comes first */

	for (; left; name += n + 1, left -= n + 1) {
		bool root, ended = name_len(name, left, &n);

		root = n == 1 && *name == '/';
		if (ended && (!n || root))
			continue;
		if (!ended || (size_t)(p - dst) < n + 4) {
			whole = false;
			break;
		}
		p -= n;
		memcpy(p, name, n);
		*--p = '/';
	}
	if (p == end && whole)
		*--p = '/';
	else if (p != end && !whole)
		memcpy(p -= 3, "...", 3);
	n = end - p;
	memmove(dst, p, n);
	dst[n] = '\0';
	return n;
}

char *path_full(const struct path_file *f)
{
	char path[PATH_CAP] = "", where[32] = "", *text;
	const struct file_name *name = f->name;
	int n;

	if (name->len || !name->unmounted) /* pipes are roots too, but have no name */
		path_join(path, sizeof(path), name);
	if (!path[0] || name->unmounted)
		snprintf(where, sizeof(where), "<%u:%u>%s", DEV_MAJOR(f->dev), DEV_MINOR(f->dev),
			 path[0] == '/' ? "" : "/"); /* "..." has no slash before it */
	if (!path[0])
		n = asprintf(&text, "%sinode %llu", where, f->ino);
	else
		n = asprintf(&text, "%s%s%s", where, path, name->deleted == 1 ? " (deleted)" : "");
	return n < 0 ? NULL : text;
}
