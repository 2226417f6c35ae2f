/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * container.h - finds the container of a cgroup by its path: container runtimes name a container's
 * cgroup after the container. Asks no runtime.
 */
#ifndef IOSTRATA_HOST_CONTAINER_H
#define IOSTRATA_HOST_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/snapshot.h"
#include "base/words.h"

enum {
	CONTAINER_ID_CAP = 256, /* a name in a path has at most 255 bytes (NAME_MAX) */
	CONTAINER_POD_CAP = 65,
	/* names of pods and of their containers have at most 253 bytes, of their namespaces 63 */
	CONTAINER_NAME_CAP = 254,
	CONTAINER_SPACE_CAP = 64,
	CONTAINER_TITLE_CAP = CONTAINER_SPACE_CAP + 2 * CONTAINER_NAME_CAP + 2,
};

struct container_names;

/* The known runtimes of containers. */
extern const struct word_list runtime_words;

/* The name of rows of processes outside of containers. */
#define CONTAINER_NONE "(no container)"

struct container {
	char id[CONTAINER_ID_CAP];   /* 64 hexadecimal digits, or a name; hostile */
	char pod[CONTAINER_POD_CAP]; /* id of its pod, of Kubernetes or podman; "": none */
	const char *runtime;         /* "docker", "podman" ...; NULL: the path does not tell */
	size_t shown;                /* bytes of the id shown in tables; 12 of 64 digits */
	/* set by container_names_find(); "": not known, or it has none; hostile */
	char space[CONTAINER_SPACE_CAP];   /* namespace of its pod */
	char pod_name[CONTAINER_NAME_CAP]; /* of its pod */
	char name[CONTAINER_NAME_CAP];
	char title[CONTAINER_TITLE_CAP]; /* "NAMESPACE/POD/NAME", or "NAME" */
};

/* The container of the cgroup with this path, the innermost if nested. False, with @ret untouched:
 * no container, or @cgroup is not a path. */
bool container_find(const char *cgroup, struct container *ret);

/* Whether lookup_cgroup() found this path, or only a number. */
static inline bool container_is_path(const char *cgroup)
{
	return cgroup[0] == '/';
}

/* The container of a row made by container_rows(), or NULL. @by, the row's text, is its id. */
static inline const struct container *container_of_row(const char *by, bool contained)
{
	_Static_assert(!offsetof(struct container, id), "freed as a whole");
	return contained ? (const void *)by : NULL;
}

/* Rows by cgroup become rows by container: those of its cgroups, added up. */

/*
 * Joins the rows of @sn, collected with BY_CGROUP. All cgroups outside of containers are one row,
 * CONTAINER_NONE. A cgroup that was gone before it could be named has a separate row, "cgroup 12",
 * and is counted in unnamed_cgroups. @names: for the names of containers, or NULL if they have
 * none. Returns 0 or -ENOMEM; then @sn is as it was.
 */
int container_rows(struct snapshot *sn, struct container_names *names);

#endif
