/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page_places.h - the rows of files on a page, by path. Some calls tell only the path of a file:
 * the row is that of the file with an inode at the same place, whichever comes first.
 */
#ifndef IOSTRATA_ANALYSE_PAGE_PLACES_H
#define IOSTRATA_ANALYSE_PAGE_PLACES_H

#include <stdint.h>

struct catalog_file;
struct page_place;

struct page_places {
	struct page_place *list; /* a hash; owned */
};

/* The row of a file of @host at the place of @f, which may be known by its path alone; 0: there is
 * none yet. */
uint32_t page_places_find(struct page_places *p, unsigned int host, const struct catalog_file *f);

/* Notes the row of @f, which has none yet. Returns 0 or -ENOMEM. */
int page_places_add(struct page_places *p, unsigned int host, const struct catalog_file *f,
		    uint32_t row);

void page_places_done(struct page_places *p);

#endif
