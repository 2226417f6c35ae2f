// SPDX-License-Identifier: GPL-2.0-only
#include "base/tasknames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEPT = 8, /* intervals for which a name waits for a row */
	INDEX_MIN = 64,
};

struct known_task {
	unsigned long long id;
	unsigned int used;   /* the last interval with a row or a name */
	unsigned int listed; /* the last interval that listed it, + 1 */
	struct task_name name;
};

/* The place of @id in the index, or the free place to put it. */
static unsigned int *place_of(const struct tasknames *n, unsigned long long id)
{
	uint64_t hash = id * 0x9e3779b97f4a7c15ULL;
	size_t i = hash >> 32;

	for (;; i++) {
		i &= n->index_len - 1;
		if (!n->index[i] || n->tasks[n->index[i] - 1].id == id)
			return &n->index[i];
	}
}

/* Makes a new index, at most half full. */
static int index_make(struct tasknames *n)
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
		*place_of(n, n->tasks[i].id) = i + 1;
	return 0;
}

static int tasks_grow(struct tasknames *n)
{
	size_t cap = n->cap + n->cap / 4 + 16;
	struct known_task *tasks = reallocarray(n->tasks, cap, sizeof(*tasks));

	if (!tasks)
		return -ENOMEM;
	n->tasks = tasks;
	n->cap = cap;
	return 0;
}

static struct known_task *task_find(const struct tasknames *n, unsigned long long id)
{
	unsigned int number = n->index ? *place_of(n, id) : 0;

	return number ? &n->tasks[number - 1] : NULL;
}

/* The entry of thread @id, made if missing. Valid until the next call. NULL: out of memory. */
static struct known_task *task_get(struct tasknames *n, unsigned long long id)
{
	struct known_task *t = task_find(n, id);

	if (t)
		return t;
	if (n->n == n->cap && tasks_grow(n))
		return NULL;
	if (2 * n->n >= n->index_len && index_make(n))
		return NULL;
	t = &n->tasks[n->n++];
	*t = (struct known_task){ .id = id };
	*place_of(n, id) = n->n;
	return t;
}

int tasknames_add(struct tasknames *n, unsigned long long id, const struct task_name *name)
{
	struct known_task *t = task_get(n, id);

	if (!t)
		return -ENOMEM;
	if (t->name.at <= name->at)
		t->name = *name;
	t->used = n->interval;
	return 0;
}

/* Drops threads with neither a row nor a new name for some intervals. */
static void interval_end(struct tasknames *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->n; i++)
		if (n->interval - n->tasks[i].used < KEPT)
			n->tasks[kept++] = n->tasks[i];
	n->interval++;
	if (kept == n->n)
		return;
	n->n = kept;
	memset(n->index, 0, n->index_len * sizeof(*n->index));
	for (size_t i = 0; i < n->n; i++)
		*place_of(n, n->tasks[i].id) = i + 1;
}

static void name_row(struct tasknames *n, unsigned long long by, char comm[COMM_LEN])
{
	struct known_task *t = task_find(n, by);

	if (!t)
		return;
	memcpy(comm, t->name.comm, COMM_LEN);
	t->used = n->interval;
}

void tasknames_name(struct tasknames *n, struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_ops; i++)
		name_row(n, sn->ops[i].key.by[0], sn->ops[i].comm);
	for (size_t i = 0; i < sn->n_rqs; i++)
		name_row(n, sn->rqs[i].key.by[0], sn->rqs[i].comm);
	interval_end(n);
}

/* Lists the thread of a row, once; 0 is no thread. */
static int list(struct tasknames *n, struct snapshot *sn, unsigned long long id)
{
	struct known_task *t = id ? task_get(n, id) : NULL;
	struct task *listed;

	if (!t)
		return id ? -ENOMEM : 0;
	t->used = n->interval;
	if (t->listed == n->interval + 1)
		return 0;
	t->listed = n->interval + 1;
	listed = &sn->tasks[sn->n_tasks++];
	*listed = (struct task){ .id = id, .cgroup = t->name.cgroup };
	memcpy(listed->comm, t->name.comm, COMM_LEN);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int tasknames_list(struct tasknames *n, struct snapshot *sn)
{
	int err = 0;

	sn->tasks = malloc((sn->n_ops + sn->n_rqs + 1) * sizeof(*sn->tasks));
	if (!sn->tasks)
		return -ENOMEM;
	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = list(n, sn, sn->ops[i].key.by[0]);
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = list(n, sn, sn->rqs[i].key.by[0]);
	qsort(sn->tasks, sn->n_tasks, sizeof(*sn->tasks), by_id);
	interval_end(n);
	return err;
}

void tasknames_done(struct tasknames *n)
{
	free(n->tasks);
	free(n->index);
	*n = (struct tasknames){};
}
