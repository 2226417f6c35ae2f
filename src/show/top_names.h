/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * top_names.h - what the rows of top are called: views, cgroups, containers.
 */
#ifndef IOSTRATA_TOP_NAMES_H
#define IOSTRATA_TOP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "base/container.h"

enum top_view {
	TOP_PROCESS,
	TOP_THREAD,
	TOP_COMM,
	TOP_FILE,
	TOP_DISK,
	TOP_CGROUP,
	TOP_CONTAINER,
	TOP_VIEWS,
};

/* "pid", "tid" ...: as the user types it. */
const char *top_view_name(enum top_view view);

/* A cgroup that was looked up. */
struct top_name {
	uint64_t id;
	char *path;			/* hostile; NULL: not known */
	struct container container;	/* its id is "": none */
	uint64_t owner;			/* id of the first cgroup of this container, or of none */
	UT_hash_handle hh;
};

/* Cgroups by id. */
struct top_names {
	char *(*cgroup_path)(unsigned long long id);	/* for free(); NULL: not known */
	struct top_name *list;			/* in the order of lookups */
	bool by_file;	/* rows are of files, in any view: key.by[1] tells no behalf */
};

/* The names of cgroup @id; NULL: out of memory. Valid until top_names_done(). */
const struct top_name *top_names_find(struct top_names *names, uint64_t id);

void top_names_done(struct top_names *names);

#endif
