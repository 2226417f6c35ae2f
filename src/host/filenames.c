// SPDX-License-Identifier: GPL-2.0-only
#include "host/filenames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/columns.h"
#include "base/rows.h"
#include "host/lookup.h"
#include "host/mounts.h"
#include "host/path.h"

/* How well a file's name is known. */
enum named {
	NAMED_NOT,     /* known only by its inode */
	NAMED_DELETED, /* deleted before its first operation */
	NAMED,
};

struct known_file {
	unsigned long long by[2];
	char *path;
	enum named named;
	bool made_up;             /* the path is the usual name of the device */
	bool whole;               /* the path is complete */
	bool missing;             /* there was no such file whenever a call named it */
	unsigned short directory; /* as in struct file_name */
	bool shared; /* a file in another directory or file system has this path, as in containers;
			or one whose path is not complete */
	bool again;  /* with a path that is not complete: likewise, a file with the same inode */
	struct known_file *first; /* of the files made one after another at one place */
	size_t more;              /* of the first: number of the others */
	UT_hash_handle hh;
};

/* The file is known by its path alone. */
static bool is_by_path(const struct known_file *f)
{
	return FILE_KEY_IS_PATH(f->by[0]);
}

static enum named how_named(const struct file_name *name)
{
	if (!name->len && !name->complete)
		return NAMED_NOT;
	return name->deleted == 1 ? NAMED_DELETED : NAMED;
}

static struct known_file *file_of(struct filenames *n, const unsigned long long by[2])
{
	struct known_file *f;

	HASH_FIND(hh, n->files, by, sizeof(f->by), f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	memcpy(f->by, by, sizeof(f->by));
	HASH_ADD(hh, n->files, by, sizeof(f->by), f);
	return f;
}

int filenames_add(struct filenames *n, const unsigned long long by[2],
		  const struct file_name *given)
{
	struct file_name names = *given, *name = &names;
	struct path_file file = { FILE_KEY_DEV(by[0]), by[1], name };
	struct known_file *f = file_of(n, by);
	char *path;

	if (!f)
		return -ENOMEM;
	if (f->path && f->named >= how_named(name)) {
		f->missing &= how_named(name) == NAMED_NOT || name->deleted == NAME_MISSING;
		return 0;
	}
	path_split(name);
	path = is_by_path(f) && how_named(name) == NAMED_NOT ? strdup("(path not read)")
							     : path_full(&file);
	if (!path)
		return -ENOMEM;
	free(f->path);
	f->path = path;
	f->named = how_named(name);
	f->whole = name->complete && f->named != NAMED_NOT;
	f->missing = name->deleted == NAME_MISSING;
	f->directory = name->directory;
	return 0;
}

/* Names a block device not opened by name: its pages are the metadata of its file system. */
static int name_bdev(struct known_file *f)
{
	const struct mounts none = {};
	char disk[64], *path;

	lookup_dev(&none, FILE_KEY_DEV(f->by[0]), disk, sizeof(disk));
	if (asprintf(&path, "/dev/%s", disk) < 0)
		return -ENOMEM;
	free(f->path);
	f->path = path;
	f->named = NAMED;
	f->made_up = true;
	return 0;
}

/* By path, place, inode and generation; files with an inode first, those whose directory or file
 * system is not known last. */
static int compare(const void *a, const void *b)
{
	const struct known_file *x = *(struct known_file *const *)a;
	const struct known_file *y = *(struct known_file *const *)b;
	int order = strcmp(x->path, y->path);

	if (!order)
		order = is_by_path(x) - is_by_path(y);
	if (!order && is_by_path(x))
		order = !x->directory - !y->directory;
	if (!order && is_by_path(x))
		order = !FILE_KEY_DEV(x->by[0]) - !FILE_KEY_DEV(y->by[0]);
	if (!order)
		order = compare_u64(FILE_KEY_DEV(x->by[0]), FILE_KEY_DEV(y->by[0]));
	if (!order)
		order = compare_u64(x->directory, y->directory);
	if (!order)
		order = compare_u64(x->by[1], y->by[1]);
	return order ? order : compare_u64(x->by[0], y->by[0]);
}

static bool same_inode(const struct known_file *a, const struct known_file *b)
{
	return FILE_KEY_DEV(a->by[0]) == FILE_KEY_DEV(b->by[0]) && a->by[1] == b->by[1];
}

/* Whether two files of one path are at the same place: one was made after the other was deleted or
 * renamed. The directory of @b may not be known, if its path alone is. A block device that was set
 * up again has another inode. */
static bool same_place(const struct known_file *a, const struct known_file *b)
{
	unsigned int dev = FILE_KEY_DEV(b->by[0]);

	if (a->made_up || b->made_up)
		return dev == FILE_KEY_DEV(a->by[0]);
	if (is_by_path(b) && !b->directory && (!dev || dev == FILE_KEY_DEV(a->by[0])))
		return a->whole && b->whole;
	return a->whole && b->whole && FILE_KEY_DEV(a->by[0]) == FILE_KEY_DEV(b->by[0]) &&
	       a->directory == b->directory;
}

/* Tells the @n files of one path apart, or finds that they are at one place. */
static void path_share(struct known_file **list, size_t n)
{
	bool shared = false;

	for (size_t i = 1; i < n; i++) {
		struct known_file *last = list[i - 1], *f = list[i];

		if (same_place(last->first, f)) {
			f->first = last->first;
			f->first->more += !is_by_path(f);
			f->first->missing &= f->missing;
			continue;
		}
		if (same_inode(last, f) && !(last->whole && f->whole))
			last->again = f->again = true;
		else
			shared = true;
	}
	for (size_t i = 0; i < n; i++)
		list[i]->shared = shared;
}

/* Finds files with the same path, in different containers or at different times. Returns 0 or
 * -ENOMEM. */
static int shared_find(struct filenames *n)
{
	struct known_file **list = calloc(HASH_COUNT(n->files) + 1, sizeof(struct known_file *));
	size_t len = 0, end;

	if (!list)
		return -ENOMEM;
	for (struct known_file *f = n->files; f; f = f->hh.next) {
		f->first = f;
		if (f->path)
			list[len++] = f;
	}
	qsort(list, len, sizeof(struct known_file *), compare);
	for (size_t first = 0; first < len; first = end) {
		end = first + 1;
		while (end < len && !strcmp(list[first]->path, list[end]->path))
			end++;
		path_share(list + first, end - first);
	}
	free(list);
	return 0;
}

/* A path unique to the files at this place. */
static int row_path(const struct known_file *f, char **ret_by)
{
	unsigned int dev = FILE_KEY_DEV(f->by[0]);
	const char *missing = f->missing ? " (ENOENT)" : "";
	char inode[96] = "", generation[32] = "";

	if (f->shared)
		snprintf(inode, sizeof(inode), "inode %llu on %u:%u", f->by[1], DEV_MAJOR(dev),
			 DEV_MINOR(dev));
	if (f->shared && f->more)
		snprintf(inode + strlen(inode), 32, " and %zu more", f->more);
	if (f->again)
		snprintf(generation, sizeof(generation), "%sgeneration %llu", f->shared ? ", " : "",
			 f->by[0] >> 32);
	if ((!f->shared && !f->again) || is_by_path(f)) {
		if (asprintf(ret_by, "%s%s", f->path, missing) < 0)
			*ret_by = NULL;
	} else if (asprintf(ret_by, "%s (%s%s)", f->path, inode, generation) < 0)
		*ret_by = NULL;
	return *ret_by ? 0 : -ENOMEM;
}

/* Makes sure that the file of a row has a path. Returns 0 or -ENOMEM. */
static int row_know(struct filenames *n, const unsigned long long by[2])
{
	static const struct file_name none;
	struct known_file *f;

	if (!by[1])
		return 0;
	if (filenames_add(n, by, &none))
		return -ENOMEM;
	f = file_of(n, by);
	return f->named == NAMED_NOT && FILE_KEY_IS_BDEV(by[0]) ? name_bdev(f) : 0;
}

/* Names a row, and gives it the key of the first file at the place. Sets @joined if that is another
 * one. Returns 0 or -ENOMEM. */
static int row_name(struct filenames *n, unsigned long long by[2], char **ret_by, bool *joined)
{
	const struct known_file *first;

	if (by[1]) {
		first = file_of(n, by)->first;
		*joined |= memcmp(by, first->by, sizeof(first->by)) != 0;
		memcpy(by, first->by, sizeof(first->by));
		return row_path(first, ret_by);
	}
	*ret_by = strdup("(no file)");
	return *ret_by ? 0 : -ENOMEM;
}

/* Lists the files of rows with several. Returns 0 or -ENOMEM. */
static int files_list(const struct filenames *n, struct snapshot *sn)
{
	struct row_file *list;
	size_t len = 0;

	for (const struct known_file *f = n->files; f; f = f->hh.next)
		len += f->first->more > 0 && !is_by_path(f);
	if (!len)
		return 0;
	list = calloc(len, sizeof(*list));
	if (!list)
		return -ENOMEM;
	sn->files = list;
	for (const struct known_file *f = n->files; f; f = f->hh.next) {
		if (!f->first->more || is_by_path(f))
			continue;
		memcpy(list->row, f->first->by, sizeof(list->row));
		memcpy(list->by, f->by, sizeof(list->by));
		list++;
	}
	sn->n_files = len;
	snapshot_files_sort(sn);
	return 0;
}

/* Names all rows. Sets @joined if several are of one path. Returns 0 or -ENOMEM. */
static int rows_name(struct filenames *n, struct snapshot *sn, bool *joined)
{
	int err = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = row_know(n, sn->ops[i].key.by);
	for (const struct known_file *f = n->files; f; f = f->hh.next)
		sn->lost[LOST_NAMES] += f->named == NAMED_NOT;
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = row_know(n, sn->rqs[i].key.by);
	if (!err)
		err = shared_find(n);
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = row_name(n, sn->ops[i].key.by, &sn->ops[i].by, joined);
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = row_name(n, sn->rqs[i].key.by, &sn->rqs[i].by, joined);
	return err;
}

int filenames_name(struct filenames *n, struct snapshot *sn)
{
	bool joined = false;
	int err = rows_name(n, sn, &joined);

	if (!err)
		err = files_list(n, sn);
	if (!err && joined)
		err = rows_join(sn);
	filenames_done(n);
	return err;
}

int filenames_name_apart(struct filenames *n, struct snapshot *sn)
{
	bool joined = false;
	int err = rows_name(n, sn, &joined);

	filenames_done(n);
	return err;
}

void filenames_done(struct filenames *n)
{
	struct known_file *f, *next;

	HASH_ITER (hh, n->files, f, next) {
		HASH_DEL(n->files, f);
		free(f->path);
		free(f);
	}
}
