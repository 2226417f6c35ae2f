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

const char *top_behalf_name(unsigned int behalf)
{
	static const char *const names[BEHALF_N] = { NULL, "writeback", "helper" };

	return behalf < BEHALF_N ? names[behalf] : NULL;
}

/* All cgroups of a container have the number of the first. */
static uint64_t container_number(const struct top_names *names, const struct top_name *of)
{
	for (const struct top_name *n = names->list; n; n = n->hh.next)
		if (!strcmp(n->container, of->container))
			return n->container_id;
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
	if (name->path && top_container(name->path, name->container))
		name->container_id = container_number(names, name);
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

/* The first digits of a container's id, as many as people use. False: too short for an id. */
static bool container_id(const char *s, char buf[CONTAINER_LEN])
{
	enum { SHOWN = 12, WHOLE = 64 };

	if (strspn(s, "0123456789abcdef") < WHOLE)
		return false;
	memcpy(buf, s, SHOWN);
	buf[SHOWN] = '\0';
	return true;
}

bool top_container(const char *cgroup, char buf[CONTAINER_LEN])
{
	/* what precedes the id or the name, and whether it is an id */
	static const struct {
		const char *before;
		bool is_id;
	} places[] = {
		{ "/docker-", true },	      { "/docker/", true }, { "/libpod-", true },
		{ "/cri-containerd-", true }, { "/crio-", true },   { "/lxc.payload.", false },
		{ "/lxc/", false },	      { "/machine-", false },
	};
	const char *at;
	size_t len;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		at = strstr(cgroup, places[i].before);
		if (!at)
			continue;
		at += strlen(places[i].before);
		if (places[i].is_id && container_id(at, buf))
			return true;
		len = strcspn(at, "/");
		if (places[i].is_id || !len)
			continue;
		snprintf(buf, CONTAINER_LEN, "%.*s", (int)len, at);
		if (strlen(buf) > 6 && !strcmp(buf + strlen(buf) - 6, ".scope"))
			buf[strlen(buf) - 6] = '\0';
		return true;
	}
	/* kubelet without systemd: the id is a directory below the pod's */
	at = strstr(cgroup, "/kubepods") ? strrchr(cgroup, '/') : NULL;
	return at && container_id(at + 1, buf);
}
