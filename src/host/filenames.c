// SPDX-License-Identifier: GPL-2.0-only
#include "host/filenames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

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
	bool made_up; /* the path is the usual name of the device */
	bool shared;  /* a file with another inode has this path */
	bool again;   /* a file with the same inode has this path, earlier or later; or this file,
			 before or after overlayfs copied it up */
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

int filenames_add(struct filenames *n, const unsigned long long by[2], const struct file_name *name)
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

static int compare(const void *a, const void *b)
{
	const struct known_file *x = *(struct known_file *const *)a;
	const struct known_file *y = *(struct known_file *const *)b;
	unsigned int dev_x = FILE_KEY_DEV(x->by[0]), dev_y = FILE_KEY_DEV(y->by[0]);
	int paths = strcmp(x->path, y->path);

	if (paths)
		return paths;
	if (dev_x != dev_y)
		return dev_x < dev_y ? -1 : 1;
	return (x->by[1] > y->by[1]) - (x->by[1] < y->by[1]);
}

static bool same_inode(const struct known_file *a, const struct known_file *b)
{
	return FILE_KEY_DEV(a->by[0]) == FILE_KEY_DEV(b->by[0]) && a->by[1] == b->by[1];
}

/* Finds files with the same path, in different containers or at different times. 0 or -ENOMEM. */
static int shared_find(struct filenames *n)
{
	struct known_file **list = calloc(HASH_COUNT(n->files) + 1, sizeof(struct known_file *));
	size_t len = 0, end;

	if (!list)
		return -ENOMEM;
	for (struct known_file *f = n->files; f; f = f->hh.next)
		if (f->path && !f->made_up)
			list[len++] = f;
	qsort(list, len, sizeof(struct known_file *), compare);
	for (size_t first = 0; first < len; first = end) {
		end = first + 1;
		while (end < len && !strcmp(list[first]->path, list[end]->path))
			end++;
		for (size_t i = first; i < end; i++) {
			list[i]->shared = !same_inode(list[first], list[end - 1]);
			if (i > first && same_inode(list[i - 1], list[i]))
				list[i - 1]->again = list[i]->again = true;
		}
	}
	free(list);
	return 0;
}

/* A path unique to this file. */
static int row_path(const struct known_file *f, char **ret_by)
{
	unsigned int dev = FILE_KEY_DEV(f->by[0]);
	char inode[64], generation[32];

	snprintf(inode, sizeof(inode), "inode %llu on %u:%u", f->by[1], DEV_MAJOR(dev),
		 DEV_MINOR(dev));
	snprintf(generation, sizeof(generation), "generation %llu", f->by[0] >> 32);
	if (!f->shared && !f->again)
		*ret_by = strdup(f->path);
	else if (asprintf(ret_by, "%s (%s%s%s)", f->path, f->shared ? inode : "",
			  f->shared && f->again ? ", " : "", f->again ? generation : "") < 0)
		*ret_by = NULL;
	return *ret_by ? 0 : -ENOMEM;
}

/* Makes sure that the file of a row has a path. 0 or -ENOMEM. */
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

static int row_name(struct filenames *n, const unsigned long long by[2], char **ret_by)
{
	if (by[1])
		return row_path(file_of(n, by), ret_by);
	*ret_by = strdup("(no file)");
	return *ret_by ? 0 : -ENOMEM;
}

int filenames_name(struct filenames *n, struct snapshot *sn)
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
		err = row_name(n, sn->ops[i].key.by, &sn->ops[i].by);
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = row_name(n, sn->rqs[i].key.by, &sn->rqs[i].by);
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
