// SPDX-License-Identifier: GPL-2.0-only
#include "base/filenames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/lookup.h"
#include "base/mounts.h"
#include "base/path.h"

/* How well a file's name is known. */
enum named {
	NAMED_NOT,		/* known only by its inode */
	NAMED_DELETED,		/* it was deleted before it was seen */
	NAMED,
};

struct known_file {
	unsigned long long by[2];
	char *path;
	enum named named;
	bool shared;		/* another file has this path */
	UT_hash_handle hh, hh_path;
};

static enum named how_named(const struct file_name *name)
{
	if (!name->len && !name->complete)
		return NAMED_NOT;
	return name->deleted ? NAMED_DELETED : NAMED;
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
		  const struct file_name *name)
{
	struct path_file file = { FILE_KEY_DEV(by[0]), by[1], name };
	struct known_file *f = file_of(n, by);
	char *path;

	if (!f)
		return -ENOMEM;
	if (f->path && f->named >= how_named(name))
		return 0;
	path = path_full(&file);
	if (!path)
		return -ENOMEM;
	free(f->path);
	f->path = path;
	f->named = how_named(name);
	return 0;
}

/* A block device that nobody opened by name: its pages are its file system's metadata. */
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
	return 0;
}

static bool same_inode(const struct known_file *a, const struct known_file *b)
{
	return FILE_KEY_DEV(a->by[0]) == FILE_KEY_DEV(b->by[0]) && a->by[1] == b->by[1];
}

/* Files that have a path in common, in containers or one after the other. */
static void shared_mark(struct filenames *n)
{
	struct known_file *paths = NULL, *other;

	for (struct known_file *f = n->files; f; f = f->hh.next) {
		if (!f->path)
			continue;
		HASH_FIND(hh_path, paths, f->path, strlen(f->path), other);
		if (!other)
			HASH_ADD_KEYPTR(hh_path, paths, f->path, strlen(f->path), f);
		else if (!same_inode(f, other))
			f->shared = other->shared = true;
	}
	HASH_CLEAR(hh_path, paths);
}

/* A path that is one file's only, or nearly: an inode that is used again may have the same. */
static int row_path(const struct known_file *f, char **ret_by)
{
	unsigned int dev = FILE_KEY_DEV(f->by[0]);

	if (!f->shared)
		*ret_by = strdup(f->path);
	else if (asprintf(ret_by, "%s (inode %llu on %u:%u)", f->path, f->by[1], dev >> 20,
			  dev & 0xfffff) < 0)
		*ret_by = NULL;
	return *ret_by ? 0 : -ENOMEM;
}

static int row_name(struct filenames *n, const unsigned long long by[2], char **ret_by)
{
	static const struct file_name none;
	struct known_file *f;

	if (by[1]) {
		if (filenames_add(n, by, &none))
			return -ENOMEM;
		f = file_of(n, by);
		if (f->named == NAMED_NOT && FILE_KEY_IS_BDEV(by[0]) && name_bdev(f))
			return -ENOMEM;
		return row_path(f, ret_by);
	} else {
		*ret_by = strdup("(no file)");
	}
	return *ret_by ? 0 : -ENOMEM;
}

int filenames_name(struct filenames *n, struct snapshot *sn)
{
	int err = 0;

	shared_mark(n);
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = row_name(n, sn->ops[i].key.by, &sn->ops[i].by);
	for (const struct known_file *f = n->files; f; f = f->hh.next)
		sn->lost[LOST_NAMES] += f->named == NAMED_NOT;
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = row_name(n, sn->rqs[i].key.by, &sn->rqs[i].by);
	filenames_done(n);
	return err;
}

void filenames_done(struct filenames *n)
{
	struct known_file *f, *next;

	HASH_ITER(hh, n->files, f, next) {
		HASH_DEL(n->files, f);
		free(f->path);
		free(f);
	}
}
