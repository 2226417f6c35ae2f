// SPDX-License-Identifier: GPL-2.0-only
/*
 * explain_holder.c - long operations, by file: an operation may wait for another thread's operation
 * on the same file, which was under way when it began. The oldest such one holds the lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/explain_scan.h"

enum {
	HOLDERS = 32768,  /* the longest operations are looked at */
	BUCKETS = 16384,  /* of files */
	SAME_THREAD = 16, /* operations looked at of one file that are the waiting thread's own */
};

int explain_holders_init(struct holders *h)
{
	h->list = calloc(2 * HOLDERS, sizeof(*h->list));
	h->first = calloc(BUCKETS + 1, sizeof(*h->first));
	return h->list && h->first ? 0 : -ENOMEM;
}

void explain_holders_done(struct holders *h)
{
	free(h->list);
	free(h->first);
}

/* A number for the file @id, the same for all its names, or 0 if it is not known. */
static uint64_t file_number(const struct catalog *c, uint64_t id)
{
	const struct catalog_file *f = catalog_file(c, id);
	uint64_t hash;

	if (!f->ino)
		return 0;
	hash = (FILE_KEY_DEV(f->key) ^ f->ino << 20 ^ f->ino >> 44) * 0x9e3779b97f4a7c15ULL;
	hash ^= hash >> 32;
	return hash ? hash : 1;
}

static uint64_t length_of(const struct holder *h)
{
	return h->end_ns - h->start_ns;
}

static int compare_lengths(const void *a, const void *b)
{
	uint64_t x = length_of(a), y = length_of(b);

	return (x < y) - (x > y);
}

void explain_holders_add(struct holders *h, const struct recording *rec, const struct stored_op *op,
			 uint64_t total_ns)
{
	struct holder one = { .start_ns = op->start_ns, .end_ns = op->start_ns + total_ns };

	if (total_ns <= h->floor_ns || one.end_ns < one.start_ns)
		return;
	one.file = file_number(&rec->catalog, op->file);
	if (!one.file || !op->owner)
		return;
	one.owner = op->owner;
	one.tid = catalog_thread(&rec->catalog, op->owner)->tid;
	one.kind = op->kind;
	one.size = op_has_range(op->kind) && op->kind <= OP_WRITE && op->len
			   ? 64 - __builtin_clzll(op->len)
			   : 0;
	h->list[h->n++] = one;
	if (h->n < 2 * HOLDERS)
		return;
	qsort(h->list, h->n, sizeof(*h->list), compare_lengths);
	h->n = HOLDERS;
	h->floor_ns = length_of(&h->list[HOLDERS - 1]);
}

static int compare_files(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->file % BUCKETS != y->file % BUCKETS)
		return x->file % BUCKETS < y->file % BUCKETS ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void explain_holders_finish(struct holders *h, uint64_t least_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		if (length_of(&h->list[i]) >= least_ns)
			h->list[n++] = h->list[i];
	h->n = n;
	if (n)
		qsort(h->list, n, sizeof(*h->list), compare_files);
	for (size_t i = 0; i < n; i++) {
		struct holder *one = &h->list[i];

		one->latest_ns = one->end_ns;
		if (i && one[-1].file == one->file && one[-1].latest_ns > one->latest_ns)
			one->latest_ns = one[-1].latest_ns;
		h->first[one->file % BUCKETS + 1] = i + 1;
	}
	for (size_t i = 0; i < BUCKETS; i++)
		if (h->first[i + 1] < h->first[i])
			h->first[i + 1] = h->first[i];
}

const struct holder *explain_holder_find(const struct holders *h, const struct recording *rec,
					 const struct scan_item *item)
{
	uint64_t file;
	size_t low, high, last, middle;

	if (!h->n || !item->op || !item->owner)
		return NULL;
	file = file_number(&rec->catalog, item->file);
	low = h->first[file % BUCKETS];
	last = high = h->first[file % BUCKETS + 1];
	if (!file || low == last)
		return NULL;
	/* the first one of this file that ends later */
	while (low < high) {
		const struct holder *one = &h->list[middle = (low + high) / 2];

		if (one->file < file || (one->file == file && one->latest_ns <= item->start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	for (int tries = 0; low < last && tries < SAME_THREAD; low++, tries++) {
		const struct holder *one = &h->list[low];

		if (one->file != file || one->start_ns >= item->start_ns)
			return NULL;
		if (one->end_ns > item->start_ns && one->tid != item->thread->tid)
			return one;
	}
	return NULL;
}
