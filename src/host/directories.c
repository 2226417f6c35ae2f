// SPDX-License-Identifier: GPL-2.0-only
#include "host/directories.h"

#include <stdlib.h>
#include <string.h>

#include "base/rows.h"
#include "host/mounts.h"

void directory_cut(char *path, unsigned int depth)
{
	char *root = strchr(path, '/'), *end = strrchr(path, '/'), *at = root;

	if (!root)
		return;
	for (unsigned int i = 0; i < depth && at && *path != '.'; i++)
		at = strchr(at + 1, '/');
	if (depth && at && *path != '.' && at < end)
		end = at;
	end[end == path] = '\0'; /* the root keeps its slash */
}

/* Names of different hosts and of different lengths differ in one of the two numbers. */
static void key_set(unsigned long long by[2], const char *directory)
{
	by[0] = mount_server_number(directory);
	by[1] = strlen(directory) + 1;
}

int directory_rows(struct snapshot *sn, unsigned int depth)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		struct op_row *r = &sn->ops[i];

		if (!r->by)
			continue;
		directory_cut(r->by, depth);
		key_set(r->key.by, r->by);
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		struct rq_row *r = &sn->rqs[i];

		if (!r->by)
			continue;
		directory_cut(r->by, depth);
		key_set(r->key.by, r->by);
	}
	free(sn->files);
	sn->files = NULL;
	sn->n_files = 0;
	return rows_join(sn);
}
