// SPDX-License-Identifier: GPL-2.0-only
/*
 * path.c - joins the names of a file_name to a path; see path.h.
 */
#include "path.h"

#include <stdio.h>
#include <string.h>

#include "mounts.h"

/* Length of the name at @s; false if it is not ended within @left bytes. */
static bool name_len(const char *s, size_t left, size_t *ret_len)
{
	*ret_len = strnlen(s, left);
	return *ret_len < left;
}

size_t path_join(char *dst, size_t cap, const struct file_name *fn)
{
	size_t left = fn->len < PATH_BYTES ? fn->len : PATH_BYTES, n;
	const char *name = fn->names;
	bool whole = fn->complete;
	char *end = dst + cap - 1, *p = end;	/* filled from the end: the leaf comes first */

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

char *path_full(const struct mounts *mounts, const struct path_file *f)
{
	const struct mount *m = mounts ? mounts_by_dev(mounts, f->dev) : NULL;
	unsigned int major = f->dev >> 20, minor = f->dev & 0xfffff;
	char path[PATH_CAP] = "", *text;
	const char *slash;
	int err;

	if (f->name)
		path_join(path, sizeof(path), f->name);
	slash = path[0] == '/' ? "" : "/"; /* "..." has none */
	if (!path[0])
		err = asprintf(&text, "<%u:%u>/inode %llu", major, minor, f->ino);
	else if (f->is_bdev)
		err = asprintf(&text, "/dev%s%s", slash, path);
	else if (!m)
		err = asprintf(&text, "<%u:%u>%s%s", major, minor, slash, path);
	else
		err = asprintf(&text, "%s%s%s", strcmp(m->point, "/") ? m->point : "", slash, path);
	return err < 0 ? NULL : text;
}
