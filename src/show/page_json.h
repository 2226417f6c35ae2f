/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_json.h - the data of a page as JSON, schema "iostrata.page/2". For the page's own
 * script only.
 */
#ifndef IOSTRATA_SHOW_PAGE_JSON_H
#define IOSTRATA_SHOW_PAGE_JSON_H

#include <stddef.h>

#include "base/schema.h"
#include "base/share.h"

struct json;
struct pack;
struct page;
struct page_names;

/* Writes the members with words: strata, shares, kinds, lost_kinds, machine_figures. Every page
 * needs them. */
void page_words(struct json *j);

/* Packs the set of shares with time, in the order of all bars, and their times. */
void page_shares_pack(struct pack *p, const uint64_t shares[SHARE_N]);

extern const struct schema page_schema;

/* For free(). Joins cells and combinations of the page's cube, and leaves out examples, until the
 * JSON has at most @max bytes, or nothing can be joined. Returns NULL if out of memory. */
char *page_json(const struct page *p, const struct page_names *names, size_t max, size_t *ret_len);

#endif
