// SPDX-License-Identifier: GPL-2.0-only
#include "host/threadnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_INTERVALS = 8, /* intervals that a name waits for a row */
	INDEX_MIN = 64,
};

struct known_thread {
	unsigned long long id;
	unsigned int used;   /* the last interval with a row or a name */
	unsigned int listed; /* the last interval that listed it, + 1 */
	struct thread_name name;
};

/* The place of @id in the index, or the free place to put it. */
static unsigned int *place_of(const struct threadnames *n, unsigned long long id)
{
	uint64_t hash = id * 0x9e3779b97f4a7c15ULL;
	size_t i = hash >> 32;

	for (;; i++) {
		i &= n->index_len - 1;
		if (!n->index[i] || n->threads[n->index[i] - 1].id == id)
			return &n->index[i];
	}
}

/* Makes a new index, at most half full. */
static int index_make(struct threadnames *n)
{
	size_t len = n->index_len ? n->index_len : INDEX_MIN;
	unsigned int *index;

	while (len < 4 * n->n)
		len *= 2;
	index = calloc(len, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(n->index);
	n->index = index;
	n->index_len = len;
	for (size_t i = 0; i < n->n; i++)
		*place_of(n, n->threads[i].id) = i + 1;
	return 0;
}

static int threads_grow(struct threadnames *n)
{
	size_t cap = n->cap + n->cap / 4 + 16;
	struct known_thread *threads = reallocarray(n->threads, cap, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	n->threads = threads;
	n->cap = cap;
	return 0;
}

static struct known_thread *thread_find(const struct threadnames *n, unsigned long long id)
{
	unsigned int number = n->index ? *place_of(n, id) : 0;

	return number ? &n->threads[number - 1] : NULL;
}

/* The entry of thread @id, made if missing. Valid until the next call. Returns NULL if out of
 * memory. */
static struct known_thread *thread_get(struct threadnames *n, unsigned long long id)
{
	struct known_thread *t = thread_find(n, id);

	if (t)
		return t;
	if (n->n == n->cap && threads_grow(n))
		return NULL;
	if (2 * n->n >= n->index_len && index_make(n))
		return NULL;
	t = &n->threads[n->n++];
	*t = (struct known_thread){ .id = id };
	*place_of(n, id) = n->n;
	return t;
}

int threadnames_add(struct threadnames *n, unsigned long long id, const struct thread_name *name)
{
	struct known_thread *t = thread_get(n, id);

	if (!t)
		return -ENOMEM;
	if (t->name.at <= name->at)
		t->name = *name;
	t->used = n->interval;
	return 0;
}

/* Drops threads with neither a row nor a new name for some intervals. */
static void interval_end(struct threadnames *n)
{
	size_t left = 0;

	for (size_t i = 0; i < n->n; i++)
		if (n->interval - n->threads[i].used < NAME_INTERVALS)
			n->threads[left++] = n->threads[i];
	n->interval++;
	if (left == n->n)
		return;
	n->n = left;
	memset(n->index, 0, n->index_len * sizeof(*n->index));
	for (size_t i = 0; i < n->n; i++)
		*place_of(n, n->threads[i].id) = i + 1;
}

static void name_row(struct threadnames *n, unsigned long long by, char comm[COMM_LEN])
{
	struct known_thread *t = thread_find(n, by);

	if (!t)
		return;
	memcpy(comm, t->name.comm, COMM_LEN);
	t->used = n->interval;
}

void threadnames_name(struct threadnames *n, struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_ops; i++)
		name_row(n, sn->ops[i].key.by[0], sn->ops[i].comm);
	for (size_t i = 0; i < sn->n_rqs; i++)
		name_row(n, sn->rqs[i].key.by[0], sn->rqs[i].comm);
	interval_end(n);
}

/* Lists the thread of a row, once; 0 is no thread. */
static int list(struct threadnames *n, struct snapshot *sn, unsigned long long id)
{
	struct known_thread *t = id ? thread_get(n, id) : NULL;
	struct thread *listed;

	if (!t)
		return id ? -ENOMEM : 0;
	t->used = n->interval;
	if (t->listed == n->interval + 1)
		return 0;
	t->listed = n->interval + 1;
	listed = &sn->threads[sn->n_threads++];
	*listed = (struct thread){ .id = id, .cgroup = t->name.cgroup };
	memcpy(listed->comm, t->name.comm, COMM_LEN);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int threadnames_list(struct threadnames *n, struct snapshot *sn)
{
	int err = 0;

	sn->threads = malloc((sn->n_ops + sn->n_rqs + 1) * sizeof(*sn->threads));
	if (!sn->threads)
		return -ENOMEM;
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = list(n, sn, sn->ops[i].key.by[0]);
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = list(n, sn, sn->rqs[i].key.by[0]);
	qsort(sn->threads, sn->n_threads, sizeof(*sn->threads), by_id);
	interval_end(n);
	return err;
}

void threadnames_done(struct threadnames *n)
{
	free(n->threads);
	free(n->index);
	*n = (struct threadnames){};
}
