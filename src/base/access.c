// SPDX-License-Identifier: GPL-2.0-only
#include "base/access.h"

#include <stdlib.h>

/* Adds @n accesses of @bytes. */
static void size_add(struct access *a, uint64_t bytes, uint64_t n)
{
	for (int i = 0; i < ACCESS_SIZES; i++) {
		if (a->sizes[i].count && a->sizes[i].bytes != bytes)
			continue;
		a->sizes[i].bytes = bytes;
		a->sizes[i].count += n;
		return;
	}
}

void access_add(struct access *a, uint64_t offset, uint64_t bytes)
{
	unsigned long long distance;
	enum access_step step = access_step(&a->past, offset, bytes, &distance);

	a->count++;
	a->bytes += bytes;
	a->max_bytes = bytes > a->max_bytes ? bytes : a->max_bytes;
	a->sequential += step == ACCESS_SEQUENTIAL;
	a->strided += step == ACCESS_STRIDED;
	a->distance += distance;
	size_add(a, bytes, 1);
}

uint64_t access_size(const struct access *a, uint64_t *ret_count)
{
	int most = 0;

	for (int i = 1; i < ACCESS_SIZES; i++)
		if (a->sizes[i].count > a->sizes[most].count)
			most = i;
	*ret_count = a->sizes[most].count;
	return a->sizes[most].bytes;
}

int access_pattern_add(struct access_pattern *p, uint64_t offset, uint64_t bytes)
{
	access_add(&p->access, offset, bytes);
	return hist_add(&p->sizes, hist_bucket(bytes), 1);
}

uint64_t access_sums_count(const struct access_sums *s)
{
	uint64_t n = s->others;

	for (int i = 0; i < ACCESS_SIZES; i++)
		n += s->of_size[i];
	return n;
}

int access_pattern_add_sums(struct access_pattern *p, const struct access_sums *s,
			    const unsigned long long sizes[ACCESS_SIZES])
{
	struct access *to = &p->access;
	int err = 0;

	to->count += access_sums_count(s);
	to->bytes += s->others_bytes;
	to->max_bytes = s->others_max > to->max_bytes ? s->others_max : to->max_bytes;
	to->sequential += s->sequential;
	to->strided += s->strided;
	to->distance += s->distance;
	for (int i = 0; i < ACCESS_SIZES && !err; i++) {
		if (!s->of_size[i])
			continue;
		to->bytes += sizes[i] * s->of_size[i];
		to->max_bytes = sizes[i] > to->max_bytes ? sizes[i] : to->max_bytes;
		size_add(to, sizes[i], s->of_size[i]);
		err = hist_add(&p->sizes, hist_bucket(sizes[i]), s->of_size[i]);
	}
	return err;
}

int access_pattern_merge(struct access_pattern *p, const struct access_pattern *more)
{
	const struct access *from = &more->access;
	struct access *to = &p->access;

	to->count += from->count;
	to->bytes += from->bytes;
	to->max_bytes = from->max_bytes > to->max_bytes ? from->max_bytes : to->max_bytes;
	to->sequential += from->sequential;
	to->strided += from->strided;
	to->distance += from->distance;
	for (int i = 0; i < ACCESS_SIZES && from->sizes[i].count; i++)
		size_add(to, from->sizes[i].bytes, from->sizes[i].count);
	return hist_merge(&p->sizes, &more->sizes);
}

/* The number of accesses of at most @bytes among those of known sizes. */
static uint64_t known_up_to(const struct access *a, uint64_t bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < ACCESS_SIZES; i++)
		n += a->sizes[i].bytes <= bytes ? a->sizes[i].count : 0;
	return n;
}

uint64_t access_pattern_median(const struct access_pattern *p)
{
	const struct access *a = &p->access;
	uint64_t median = a->max_bytes;

	if (known_up_to(a, UINT64_MAX) != a->count)
		return hist_percentile(&p->sizes, 50, a->max_bytes);
	for (int i = 0; i < ACCESS_SIZES; i++)
		if (a->sizes[i].count && a->sizes[i].bytes < median &&
		    known_up_to(a, a->sizes[i].bytes) >= a->count - a->count / 2)
			median = a->sizes[i].bytes;
	return median;
}

void access_pattern_free(struct access_pattern *p)
{
	if (p)
		free(p->sizes.bins);
	free(p);
}
