// SPDX-License-Identifier: GPL-2.0-only
#include "host/container_names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <jansson.h>

#include "base/clock.h"
#include "host/container.h"

#define PODS_DIR   "/var/log/containers"
#define DOCKER_DIR "/var/lib/docker/containers"

/* podman has a directory for each driver of its storage that was ever used. */
#define PODMAN_DIR(driver) "/var/lib/containers/storage/" driver "-containers"

const char *const container_names_dirs[] = {
	DOCKER_DIR,          PODMAN_DIR("overlay"), PODMAN_DIR("vfs"),
	PODMAN_DIR("btrfs"), PODMAN_DIR("zfs"),     NULL,
};

enum { PODMAN_FIRST = 1 }; /* of container_names_dirs */

/* Newer versions of podman list containers of "podman run --rm" apart from others. */
static const char *const podman_files[] = { "containers.json", "volatile-containers.json", NULL };

enum {
	ID_LEN = 64,
	KNOWN_MAX = 100000, /* containers of a run that are named; later ones keep their id */
	PATH_LEN = 512,
};

/* A file is read at most once in this time, for containers that are not in it yet. */
#define READ_AGE_NS ((uint64_t)NS_PER_S)

struct container_known {
	char id[ID_LEN + 1];
	char space[CONTAINER_SPACE_CAP], pod[CONTAINER_NAME_CAP], name[CONTAINER_NAME_CAP];
	uint64_t tried_ns; /* when its own file was read last */
	UT_hash_handle hh;
};

static void path_of(const struct container_names *n, const char *path, char ret[PATH_LEN])
{
	snprintf(ret, PATH_LEN, "%s%s", n->root ? n->root : "", path);
}

/* The entry of @id, made if need be. NULL: no id of a container, or out of memory. */
static struct container_known *known_of(struct container_names *n, const char *id)
{
	struct container_known *k;

	if (strlen(id) != ID_LEN)
		return NULL;
	HASH_FIND_STR(n->known, id, k);
	if (k)
		return k;
	if (HASH_COUNT(n->known) >= KNOWN_MAX)
		return NULL;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	strcpy(k->id, id);
	HASH_ADD_STR(n->known, id, k);
	return k;
}

/* Copies @len bytes of @src, as many as there is room for. */
static void copy(char *dst, size_t cap, const char *src, size_t len)
{
	snprintf(dst, cap, "%.*s", (int)(len < cap ? len : cap - 1), src);
}

/* "POD_NAMESPACE_CONTAINER-ID.log"; none of the names has an underscore. */
static void pod_note(struct container_names *n, const char *link)
{
	const char *space = strchr(link, '_'), *name = space ? strchr(space + 1, '_') : NULL;
	size_t len = strlen(link), tail = sizeof("-.log") - 1 + ID_LEN;
	struct container_known *k;
	char id[ID_LEN + 1];

	if (!name || len < tail || link + len - tail <= name || link[len - tail] != '-')
		return;
	copy(id, sizeof(id), link + len - tail + 1, ID_LEN);
	k = known_of(n, id);
	if (!k)
		return;
	copy(k->pod, sizeof(k->pod), link, space - link);
	copy(k->space, sizeof(k->space), space + 1, name - space - 1);
	copy(k->name, sizeof(k->name), name + 1, link + len - tail - name - 1);
}

static void pods_read(struct container_names *n)
{
	const struct dirent *e;
	char path[PATH_LEN];
	DIR *dir;

	path_of(n, PODS_DIR, path);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		pod_note(n, e->d_name);
	if (dir)
		closedir(dir);
}

static void podman_list_read(struct container_names *n, const char *file)
{
	struct container_known *k;
	const char *id, *name;
	char path[PATH_LEN];
	json_t *list, *one;
	size_t i;

	path_of(n, file, path);
	list = json_load_file(path, 0, NULL);
	json_array_foreach(list, i, one)
	{
		id = json_string_value(json_object_get(one, "id"));
		name = json_string_value(json_array_get(json_object_get(one, "names"), 0));
		k = id && name ? known_of(n, id) : NULL;
		if (k)
			copy(k->name, sizeof(k->name), name, strlen(name));
	}
	json_decref(list);
}

static void podman_read(struct container_names *n)
{
	const char *const *dir = container_names_dirs + PODMAN_FIRST;
	char file[PATH_LEN];

	for (; *dir; dir++)
		for (const char *const *name = podman_files; *name; name++) {
			snprintf(file, sizeof(file), "%s/%s", *dir, *name);
			podman_list_read(n, file);
		}
}

static void docker_read(struct container_names *n, struct container_known *k)
{
	char path[PATH_LEN], file[PATH_LEN];
	const char *name;
	json_t *config;

	snprintf(file, sizeof(file), DOCKER_DIR "/%s/config.v2.json", k->id);
	path_of(n, file, path);
	config = json_load_file(path, 0, NULL);
	name = json_string_value(json_object_get(config, "Name"));
	if (name) /* docker's names begin with a slash */
		copy(k->name, sizeof(k->name), name + (*name == '/'), strlen(name));
	json_decref(config);
}

static bool runtime_is(const struct container *c, const char *runtime)
{
	return c->runtime && !strcmp(c->runtime, runtime);
}

/* Whether it is time to read a file again. It was last read at @ret_ns. */
static bool is_time(uint64_t *ret_ns)
{
	uint64_t now = clock_ns();

	if (*ret_ns && now - *ret_ns < READ_AGE_NS)
		return false;
	*ret_ns = now;
	return true;
}

/* Reads the files that may have a name for @c. */
static void names_read(struct container_names *n, const struct container *c,
		       struct container_known *k)
{
	if (!runtime_is(c, "podman") && is_time(&k->tried_ns))
		docker_read(n, k);
	if (k->name[0] || !is_time(&n->read_ns))
		return;
	pods_read(n);
	podman_read(n);
}

void container_names_add(struct container_names *n, const char *id, const char *title)
{
	const char *pod = strchr(title, '/'), *name = pod ? strchr(pod + 1, '/') : NULL;
	struct container_known *k = known_of(n, id);

	if (!k)
		return;
	if (name) {
		copy(k->space, sizeof(k->space), title, pod - title);
		copy(k->pod, sizeof(k->pod), pod + 1, name - pod - 1);
		title = name + 1;
	}
	copy(k->name, sizeof(k->name), title, strlen(title));
}

void container_names_find(struct container_names *n, struct container *c)
{
	struct container_known *k = c->name[0] ? NULL : known_of(n, c->id);

	if (k && !k->name[0] && !n->no_files)
		names_read(n, c, k);
	if (!k || !k->name[0])
		return;
	memcpy(c->space, k->space, sizeof(c->space));
	memcpy(c->pod_name, k->pod, sizeof(c->pod_name));
	memcpy(c->name, k->name, sizeof(c->name));
	if (*c->pod_name)
		snprintf(c->title, sizeof(c->title), "%s/%s/%s", c->space, c->pod_name, c->name);
	else
		snprintf(c->title, sizeof(c->title), "%s", c->name);
}

void container_names_done(struct container_names *n)
{
	struct container_known *k, *next;

	HASH_ITER (hh, n->known, k, next) {
		HASH_DEL(n->known, k);
		free(k);
	}
}
