// SPDX-License-Identifier: GPL-2.0-only
#include "base/tasknames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

/* Intervals for which a name is kept for a later row. */
enum { KEPT = 8 };

struct known_task {
	unsigned long long id;
	unsigned int used;	/* the last interval with a row or a name of it */
	unsigned int listed;	/* the last interval that listed it, + 1 */
	struct task_name name;
	UT_hash_handle hh;
};

int tasknames_add(struct tasknames *n, unsigned long long id, const struct task_name *name)
{
	struct known_task *t;

	HASH_FIND(hh, n->tasks, &id, sizeof(id), t);
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->id = id;
		HASH_ADD(hh, n->tasks, id, sizeof(t->id), t);
	}
	t->name = *name;
	t->used = n->interval;
	return 0;
}

static void name_row(struct tasknames *n, unsigned long long by, char comm[COMM_LEN])
{
	struct known_task *t;

	HASH_FIND(hh, n->tasks, &by, sizeof(by), t);
	if (!t)
		return;
	memcpy(comm, t->name.comm, COMM_LEN);
	t->used = n->interval;
}

void tasknames_name(struct tasknames *n, struct snapshot *sn)
{
	struct known_task *t, *next;

	for (size_t i = 0; i < sn->n_ops; i++)
		name_row(n, sn->ops[i].key.by[0], sn->ops[i].comm);
	for (size_t i = 0; i < sn->n_rqs; i++)
		name_row(n, sn->rqs[i].key.by[0], sn->rqs[i].comm);
	HASH_ITER(hh, n->tasks, t, next) {
		if (n->interval - t->used < KEPT)
			continue;
		HASH_DEL(n->tasks, t);
		free(t);
	}
	n->interval++;
}

/* Puts the thread of a row on the list, once; 0 is no thread. */
static void list(struct tasknames *n, struct snapshot *sn, unsigned long long id)
{
	static const struct task_name none;
	struct known_task *t;

	HASH_FIND(hh, n->tasks, &id, sizeof(id), t);
	if (!id || (t && t->listed == n->interval + 1))
		return;
	if (!t && tasknames_add(n, id, &none))
		return;
	HASH_FIND(hh, n->tasks, &id, sizeof(id), t);
	t->listed = n->interval + 1;
	sn->tasks[sn->n_tasks] = (struct task){ .id = id, .cgroup = t->name.cgroup };
	memcpy(sn->tasks[sn->n_tasks++].comm, t->name.comm, COMM_LEN);
}

static int by_id(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int tasknames_list(struct tasknames *n, struct snapshot *sn)
{
	sn->tasks = malloc((sn->n_ops + sn->n_rqs + 1) * sizeof(*sn->tasks));
	if (!sn->tasks)
		return -ENOMEM;
	for (size_t i = 0; i < sn->n_ops; i++)
		list(n, sn, sn->ops[i].key.by[0]);
	for (size_t i = 0; i < sn->n_rqs; i++)
		list(n, sn, sn->rqs[i].key.by[0]);
	qsort(sn->tasks, sn->n_tasks, sizeof(*sn->tasks), by_id);
	return 0;
}

void tasknames_done(struct tasknames *n)
{
	struct known_task *t, *next;

	HASH_ITER(hh, n->tasks, t, next) {
		HASH_DEL(n->tasks, t);
		free(t);
	}
}
