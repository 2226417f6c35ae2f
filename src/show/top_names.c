// SPDX-License-Identifier: GPL-2.0-only
#include "show/top_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"

const char *top_view_name(enum top_view view)
{
	static const char *const names[TOP_VIEWS] = { "pid", "tid",    "comm",     "file",
						      "dev", "cgroup", "container" };

	return names[view];
}

/* All cgroups of a container have the number of the first; so have all that are in none, unless it
 * is not known where they are. */
static uint64_t owner_number(const struct top_names *names, const struct top_name *of)
{
	if (!of->path || !container_is_path(of->path))
		return of->id;
	for (const struct top_name *n = names->list; n; n = n->hh.next)
		if (n->path && container_is_path(n->path) &&
		    !strcmp(n->container.id, of->container.id))
			return n->owner;
	return of->id;
}

const struct top_name *top_names_find(struct top_names *names, uint64_t id)
{
	struct top_name *name;

	HASH_FIND(hh, names->list, &id, sizeof(id), name);
	if (name)
		return name;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->id = id;
	name->path = names->cgroup_path ? names->cgroup_path(id) : NULL;
	if (name->path)
		container_find(name->path, &name->container);
	name->owner = owner_number(names, name);
	HASH_ADD(hh, names->list, id, sizeof(name->id), name);
	return name;
}

void top_names_done(struct top_names *names)
{
	struct top_name *name, *next;

	HASH_ITER(hh, names->list, name, next) {
		HASH_DEL(names->list, name);
		free(name->path);
		free(name);
	}
}
