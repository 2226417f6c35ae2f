/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_index.h - the names in a page's JSON. Each operation, call, disk, file and thread that the
 * page uses gets a number, in the order of its first use, and has its name in a list. Names are
 * hostile; in the JSON they are safe text.
 */
#ifndef IOSTRATA_SHOW_PAGE_INDEX_H
#define IOSTRATA_SHOW_PAGE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/page_data.h"
#include "base/schema.h"
#include "show/breakdown.h"

struct container_names;
struct json;

/* Rows by key, with their names: as page_data_rows() had them. */
struct page_names {
	const struct snapshot *ops;   /* by operation and file system */
	const struct snapshot *calls; /* by call and file system */
	const struct snapshot *files, *disks, *processes, *cgroups;
	struct container_names *containers;
};

/* A set of names: what they are names of, and the numbers. */
struct index_list {
	uint64_t (*keys)[2]; /* by number; owned */
	uint32_t *places;    /* number + 1, by hash; owned */
	size_t n, cap, n_places;
};

/* At first all 0, but for the first three members. */
struct page_index {
	const struct page_data *data;
	const struct page_names *names;
	const struct breakdown_view *view;
	/* private */
	struct index_list ops, calls, disks, files, threads, processes, cgroups;
	int err; /* -ENOMEM */
};

/* The numbers of a combination's members. Of files and threads, 0 is "of all others", or none. */
struct page_numbers {
	uint32_t op, call, disk, file, thread;
};

struct page_numbers page_index_key(struct page_index *x, const struct cube_key *key);

/* The number of a kind of operations; @call: of asynchronous ones, else 0. */
uint32_t page_index_op(struct page_index *x, unsigned int kind, unsigned int call, unsigned int fs);

/* The number of a disk of a host. */
uint32_t page_index_disk(struct page_index *x, uint64_t dev, uint64_t host);

/* Writes the members with all names. Returns 0 or -ENOMEM. */
int page_index_put(struct page_index *x, struct json *j);

/* The members that page_index_put() writes. */
extern const struct member page_index_members[];

void page_index_done(struct page_index *x);

#endif
