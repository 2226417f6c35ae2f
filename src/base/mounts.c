// SPDX-License-Identifier: GPL-2.0-only
/*
 * mounts.c - libmount's table of mounts as plain data; see mounts.h.
 */
#include "base/mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <libmount/libmount.h>

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static void mount_fill(struct mount *m, struct libmnt_fs *fs)
{
	dev_t dev = mnt_fs_get_devno(fs);

	m->id = mnt_fs_get_id(fs);
	m->dev = major(dev) << 20 | (minor(dev) & 0xfffff);
	m->root = or_empty(mnt_fs_get_root(fs));
	m->point = or_empty(mnt_fs_get_target(fs));
	m->type = or_empty(mnt_fs_get_fstype(fs));
	m->source = or_empty(mnt_fs_get_source(fs));
}

int mounts_read(struct mounts *ret_mounts)
{
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct mounts m = { .table = mnt_new_table_from_file("/proc/self/mountinfo") };
	struct libmnt_fs *fs;

	if (m.table)
		m.list = calloc(mnt_table_get_nents(m.table) + 1, sizeof(*m.list));
	if (!iter || !m.list) {
		mnt_free_iter(iter);
		mounts_free(&m);
		return -ENOMEM;
	}
	while (!mnt_table_next_fs(m.table, iter, &fs))
		mount_fill(&m.list[m.n++], fs);
	mnt_free_iter(iter);
	*ret_mounts = m;
	return 0;
}

void mounts_free(struct mounts *m)
{
	free(m->list);
	mnt_unref_table(m->table);
	*m = (struct mounts){};
}

const struct mount *mounts_by_dev(const struct mounts *m, unsigned int dev)
{
	const struct mount *any = NULL;

	for (size_t i = 0; i < m->n; i++) {
		if (m->list[i].dev != dev)
			continue;
		if (!strcmp(m->list[i].root, "/"))
			return &m->list[i];
		any = &m->list[i];
	}
	return any;
}
