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
	UT_hash_handle hh;
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
		*ret_by = strdup(f->path);
	} else {
		*ret_by = strdup("(no file)");
	}
	return *ret_by ? 0 : -ENOMEM;
}

int filenames_name(struct filenames *n, struct snapshot *sn)
{
	int err = 0;

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
