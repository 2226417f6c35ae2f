/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_json.h - the data of a page's pictures as JSON, schema "iostrata.page/1". For the page's own
 * script only.
 */
#ifndef IOSTRATA_SHOW_PAGE_JSON_H
#define IOSTRATA_SHOW_PAGE_JSON_H

#include <stddef.h>

#include "base/schema.h"

struct json;
struct page;
struct page_map;
struct snapshot;

/* Rows of operations by file and by disk, at the places where page_data_rows() had them: they have
 * the names. */
struct page_names {
	const struct snapshot *files, *disks;
};

enum { PAGE_MAPS = 8, PAGE_MAP_WORDS = 256 };

/* The maps to show, those with most accesses first. Returns their number. */
size_t page_maps(const struct page *p, const struct page_map *ret[PAGE_MAPS]);

/* The name of a map, hostile, or NULL if not known. */
const char *page_map_name(const struct page_names *names, const struct page_map *m);

/* "92 % sequential reads of 128 KiB; 3 random writes of 4.00 KiB" */
void page_map_words(char ret[PAGE_MAP_WORDS], const struct page_map *m);

/* Writes the members strata, shares and kinds. Every page needs them. */
void page_words(struct json *j);

extern const struct schema page_schema;

/* For free(). Joins intervals of the page's series until the JSON without offsets has at most @max
 * bytes, or there is only one. Returns NULL if out of memory. */
char *page_json(const struct page *p, const struct page_names *names, size_t max, size_t *ret_len);

#endif
