// SPDX-License-Identifier: GPL-2.0-only
#include "show/page_maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"

enum { PATTERN_LEAST = 5 }; /* fewer accesses have no pattern */

static int map_order(const void *a, const void *b)
{
	const struct access *x = (*(const struct page_map *const *)a)->map->access;
	const struct access *y = (*(const struct page_map *const *)b)->map->access;

	return compare_u64(y[ACCESS_READ].count + y[ACCESS_WRITE].count,
			   x[ACCESS_READ].count + x[ACCESS_WRITE].count);
}

size_t page_maps(const struct page_data *d, const struct page_map *ret[PAGE_MAPS])
{
	const struct page_map *all[PAGE_FILE_MAPS + PAGE_DISK_MAPS];
	size_t n = 0;

	for (size_t i = 0; i < d->n_file_maps; i++)
		all[n++] = &d->file_maps[i];
	for (size_t i = 0; i < d->n_disk_maps; i++)
		all[n++] = &d->disk_maps[i];
	qsort(all, n, sizeof(*all), map_order);
	n = n < PAGE_MAPS ? n : PAGE_MAPS;
	memcpy(ret, all, n * sizeof(*all));
	return n;
}

const char *page_map_name(const struct page_names *names, const struct page_map *m)
{
	if (m->row)
		return names->files->ops[m->row - 1].by;
	for (size_t i = 0; i < names->disks->n_ops; i++)
		if (names->disks->ops[i].key.by[0] == m->dev &&
		    names->disks->ops[i].key.fs == m->host)
			return names->disks->ops[i].by;
	return NULL;
}

/* "92 % sequential reads of 128 KiB"; without a pattern that most have: "reads of 4 KiB: 40 %
 * sequential, 20 % strided, 40 % random". Returns the length. */
static int kind_words(char *dst, size_t cap, const struct access *k, const char *noun)
{
	static const char *const patterns[] = { "sequential", "strided", "random" };
	uint64_t counts[] = { k->sequential, k->strided, k->count - k->sequential - k->strided };
	uint64_t same, size = access_size(k, &same);
	const char *about = same == k->count ? "of" : "mostly of", *mean = "";
	int most = 0, n;

	if (2 * same < k->count) {
		size = k->bytes / k->count;
		about = "of";
		mean = " on average";
	}
	if (k->count < PATTERN_LEAST)
		return snprintf(dst, cap, "%s %s%s %s %s%s", text_count(k->count).s, noun,
				text_plural(k->count), about, text_bytes(size).s, mean);
	for (int i = 1; i < 3; i++)
		most = counts[i] > counts[most] ? i : most;
	if (2 * counts[most] > k->count)
		return snprintf(dst, cap, "%s %s %s%s %s %s%s",
				text_percent_whole(counts[most], k->count).s, patterns[most], noun,
				text_plural(k->count), about, text_bytes(size).s, mean);
	n = snprintf(dst, cap, "%s%s %s %s%s:", noun, text_plural(k->count), about,
		     text_bytes(size).s, mean);
	for (int i = 0; i < 3; i++)
		n += snprintf(dst + n, cap - n, "%s %s %s", i ? "," : "",
			      text_percent_whole(counts[i], k->count).s, patterns[i]);
	return n;
}

void page_map_words(char ret[PAGE_MAP_WORDS], const struct page_map *m)
{
	const struct access *reads = &m->map->access[ACCESS_READ];
	const struct access *writes = &m->map->access[ACCESS_WRITE];
	int n = 0;

	ret[0] = '\0';
	if (reads->count)
		n = kind_words(ret, PAGE_MAP_WORDS, reads, "read");
	if (reads->count && writes->count)
		n += snprintf(ret + n, PAGE_MAP_WORDS - n, "; ");
	if (writes->count)
		kind_words(ret + n, PAGE_MAP_WORDS - n, writes, "write");
}
