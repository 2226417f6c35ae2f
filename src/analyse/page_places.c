// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/page_places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "capture/catalog.h"
#include "capture/stored.h"
#include "cell.h"

enum { PLACES_ALIKE = 16 }; /* files of one path that are told apart, as in containers */

struct place_key {
	uint64_t path;          /* a hash of the names */
	unsigned int host, nth; /* of the files with this path */
};

struct page_place {
	struct place_key key;
	unsigned int dev;         /* 0: not known */
	unsigned short directory; /* likewise */
	bool is_by_path;          /* so far, it is known by its path alone */
	uint32_t row;
	UT_hash_handle hh;
	unsigned short flags, len;
	char names[]; /* anybody can make names with the same hash */
};

/* Flags that belong to the path. */
static unsigned short flags_of(const struct catalog_file *f)
{
	return f->flags & ~STORED_FILE_MISSING;
}

static struct place_key key_of(unsigned int host, const struct catalog_file *f)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ flags_of(f); /* FNV-1a */

	for (unsigned int i = 0; i < f->len; i++)
		hash = (hash ^ (unsigned char)f->names[i]) * 0x100000001b3ULL;
	return (struct place_key){ .path = hash, .host = host };
}

static struct page_place *place_at(const struct page_places *p, const struct place_key *key)
{
	struct page_place *found;

	HASH_FIND(hh, p->list, key, sizeof(*key), found);
	return found;
}

/* Whether the path tells where the file is. */
static bool has_place(const struct catalog_file *f)
{
	return f->len && f->ino && f->flags & STORED_FILE_COMPLETE && !FILE_KEY_IS_BDEV(f->key);
}

static bool same_path(const struct page_place *place, const struct catalog_file *f)
{
	return place->flags == flags_of(f) && place->len == f->len &&
	       !memcmp(place->names, f->names, f->len);
}

static bool same_place(const struct page_place *place, const struct catalog_file *f)
{
	unsigned int dev = FILE_KEY_DEV(f->key);
	bool is_by_path = FILE_KEY_IS_PATH(f->key);

	return (dev == place->dev || (is_by_path && !dev) || (place->is_by_path && !place->dev)) &&
	       (f->directory == place->directory || (is_by_path && !f->directory) ||
		(place->is_by_path && !place->directory));
}

uint32_t page_places_find(struct page_places *p, unsigned int host, const struct catalog_file *f)
{
	struct place_key key;
	struct page_place *place;

	if (!has_place(f))
		return 0;
	key = key_of(host, f);
	for (; key.nth < PLACES_ALIKE && (place = place_at(p, &key)); key.nth++) {
		if (!same_path(place, f) || !same_place(place, f))
			continue;
		if (!FILE_KEY_IS_PATH(f->key)) {
			place->dev = FILE_KEY_DEV(f->key);
			place->directory = f->directory;
			place->is_by_path = false;
		}
		return place->row;
	}
	return 0;
}

int page_places_add(struct page_places *p, unsigned int host, const struct catalog_file *f,
		    uint32_t row)
{
	struct place_key key;
	struct page_place *place;

	if (!has_place(f))
		return 0;
	key = key_of(host, f);
	while (key.nth < PLACES_ALIKE && place_at(p, &key))
		key.nth++;
	if (key.nth == PLACES_ALIKE)
		return 0;
	place = calloc(1, sizeof(*place) + f->len);
	if (!place)
		return -ENOMEM;
	*place = (struct page_place){ .key = key,
				      .dev = FILE_KEY_DEV(f->key),
				      .directory = f->directory,
				      .is_by_path = FILE_KEY_IS_PATH(f->key),
				      .row = row,
				      .flags = flags_of(f),
				      .len = f->len };
	memcpy(place->names, f->names, f->len);
	HASH_ADD(hh, p->list, key, sizeof(place->key), place);
	return 0;
}

void page_places_done(struct page_places *p)
{
	struct page_place *place, *next;

	HASH_ITER (hh, p->list, place, next) {
		HASH_DEL(p->list, place);
		free(place);
	}
}
