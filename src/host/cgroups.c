// SPDX-License-Identifier: GPL-2.0-only
#include "host/cgroups.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "host/container.h"
#include "host/lookup.h"

enum { KNOWN_MAX = 10000 }; /* then all are forgotten */

struct cgroup_known {
	unsigned long long id;
	UT_hash_handle hh;
	char path[];
};

void cgroups_note(struct cgroups *c, unsigned long long id, const char *path)
{
	struct cgroup_known *k;

	HASH_FIND(hh, c->known, &id, sizeof(id), k);
	if (k || !container_is_path(path))
		return;
	if (HASH_COUNT(c->known) >= KNOWN_MAX)
		cgroups_done(c);
	k = calloc(1, sizeof(*k) + strlen(path) + 1);
	if (!k)
		return;
	k->id = id;
	strcpy(k->path, path);
	HASH_ADD(hh, c->known, id, sizeof(k->id), k);
}

char *cgroups_path(struct cgroups *c, unsigned long long id)
{
	struct cgroup_known *k;
	char *path;

	HASH_FIND(hh, c->known, &id, sizeof(id), k);
	if (k)
		return strdup(k->path);
	path = lookup_cgroup(id);
	if (path)
		cgroups_note(c, id, path);
	return path;
}

void cgroups_done(struct cgroups *c)
{
	struct cgroup_known *k, *next;

	HASH_ITER (hh, c->known, k, next) {
		HASH_DEL(c->known, k);
		free(k);
	}
}
