/* SPDX-License-Identifier: GPL-2.0-only */
/* page_maps.h - the maps of offsets on a page: which ones, their names, and their patterns in
 * words.
 */
#ifndef IOSTRATA_SHOW_PAGE_MAPS_H
#define IOSTRATA_SHOW_PAGE_MAPS_H

#include "analyse/page_data.h"
#include "show/page_index.h"

enum { PAGE_MAPS = 8, PAGE_MAP_WORDS = 256 };

/* The maps to show, those with most accesses first. Returns their number. */
size_t page_maps(const struct page_data *d, const struct page_map *ret[PAGE_MAPS]);

/* The name of a map, hostile, or NULL if not known. */
const char *page_map_name(const struct page_names *names, const struct page_map *m);

/* "92 % sequential reads of 128 KiB; 3 random writes of 4.00 KiB" */
void page_map_words(char ret[PAGE_MAP_WORDS], const struct page_map *m);

#endif
