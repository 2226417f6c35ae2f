/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_json.h - the data of a page's pictures as JSON, schema "iostrata.page/1". For the page's own
 * script only.
 *
 *	schema, kernel, host, begin_ns
 *	duration_ns	length of the time axis
 *	strata		names of the strata, in their order
 *	shares		groups of strata: letter, name, mostly, strata
 *	kinds		kinds of requests: code (in JSON), name (in text)
 *	interval_ns	length of an interval; the last one may be shorter
 *	intervals	number of intervals
 *	all		sums of all operations for each interval: count, total, strata
 *	rows		operations (by kind and file system) and requests (by disk):
 *			is_request, what, where (null: not known);
 *			count, errors, bytes, total (ns): a number for each interval;
 *			strata: such lists by name, without those of zeros; heat
 *	heat		low: the lowest half-octave with a count;
 *			cells: for each half-octave from low on a list of interval, count, ...
 *	more_rows	number of rows that are only in all
 *	offsets		maps of files and disks, see docs/schema/page-1.json
 *
 * Half-octave n begins at 2^(n/2 + 4) ns for even n, and in the middle of the octave for odd n.
 */
#ifndef IOSTRATA_SHOW_PAGE_JSON_H
#define IOSTRATA_SHOW_PAGE_JSON_H

#include <stddef.h>

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

/* The name of a map, hostile; NULL: not known. */
const char *page_map_name(const struct page_names *names, const struct page_map *m);

/* "92 % sequential reads of 128 KiB; 3 random writes of 4.00 KiB" */
void page_map_words(char ret[PAGE_MAP_WORDS], const struct page_map *m);

/* Writes the members strata, shares and kinds, which every page needs. */
void page_words(struct json *j);

/* For free(). Joins intervals of the page's series until the JSON without offsets has at most @max
 * bytes, or there is only one. NULL: out of memory. */
char *page_json(const struct page *p, const struct page_names *names, size_t max, size_t *ret_len);

#endif
