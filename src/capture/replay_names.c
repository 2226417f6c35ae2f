// SPDX-License-Identifier: GPL-2.0-only
#include "capture/replay_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

void row_key_set(unsigned long long by[2], enum by_key what, const struct catalog_thread *t,
		 const struct catalog_file *f)
{
	switch (what) {
	case BY_PID:
		by[0] = t->pid;
		break;
	case BY_TID:
		by[0] = t->tid;
		break;
	case BY_COMM:
		memcpy(by, t->comm, COMM_LEN);
		break;
	case BY_FILE:
		by[0] = f->key;
		by[1] = f->ino;
		break;
	case BY_CGROUP:
		by[0] = t->cgroup;
		break;
	case BY_DEV:
		by[0] = FILE_KEY_DEV(f->key);
		break;
	default:
		break;
	}
}

char *device_text(const struct recording *rec, uint64_t dev)
{
	const char *name = catalog_device(&rec->catalog, dev);
	char *text;

	if (name)
		return strdup(name);
	return asprintf(&text, "%u:%u", (unsigned int)dev >> 20, (unsigned int)dev & 0xfffff) < 0 ?
		       NULL : text;
}

static char *cgroup_name(const struct recording *rec, uint64_t id)
{
	const char *name = catalog_cgroup(&rec->catalog, id);
	char *text;

	if (name)
		return strdup(name);
	return asprintf(&text, "cgroup %llu", (unsigned long long)id) < 0 ? NULL : text;
}

char *row_key_text(const struct recording *rec, enum by_key what, const unsigned long long by[2])
{
	char *text = NULL;

	switch (what) {
	case BY_PID:
	case BY_TID:
		return asprintf(&text, "%llu", by[0]) < 0 ? NULL : text;
	case BY_COMM:
		return strndup((const char *)by, COMM_LEN);
	case BY_CGROUP:
		return cgroup_name(rec, by[0]);
	case BY_DEV:
		return by[0] ? device_text(rec, by[0]) : strdup("(no file)");
	default:
		return NULL;
	}
}

/* The name of a thread or process. */
struct known_name {
	uint64_t id;
	const struct catalog_thread *t;
	UT_hash_handle hh;
};

/* The last name of each; a process has that of its first thread. NULL may mean out of memory. */
static struct known_name *tasks_of(const struct catalog *c, enum by_key by)
{
	struct known_name *tasks = NULL, *k;
	const struct catalog_thread *t;
	uint64_t id;

	for (size_t i = 1; i < c->n_threads; i++) {
		t = &c->threads[i];
		id = by == BY_TID ? t->tid : t->pid;
		HASH_FIND(hh, tasks, &id, sizeof(id), k);
		if (k && by == BY_PID && k->t->tid == k->t->pid && t->tid != t->pid)
			continue;
		if (!k && (k = calloc(1, sizeof(*k)))) {
			k->id = id;
			HASH_ADD(hh, tasks, id, sizeof(id), k);
		}
		if (k)
			k->t = t;
	}
	return tasks;
}

static void row_name(struct known_name *tasks, uint64_t id, char ret_comm[COMM_LEN])
{
	struct known_name *k;

	HASH_FIND(hh, tasks, &id, sizeof(id), k);
	if (k && id)
		memcpy(ret_comm, k->t->comm, COMM_LEN);
}

void replay_name_tasks(struct replay *r, const struct catalog *c)
{
	struct known_name *tasks = tasks_of(c, r->conf.by), *k, *next;

	for (size_t i = 0; i < r->n_intervals; i++) {
		struct row_table *t = &r->intervals[i].rows.ops;
		struct op_row *ops = (struct op_row *)t->rows;
		struct rq_row *rqs = (struct rq_row *)r->intervals[i].rows.rqs.rows;

		for (size_t n = 0; n < t->n; n++)
			row_name(tasks, ops[n].key.by[0], ops[n].comm);
		for (size_t n = 0; n < r->intervals[i].rows.rqs.n; n++)
			row_name(tasks, rqs[n].key.by[0], rqs[n].comm);
	}
	HASH_ITER(hh, tasks, k, next) {
		HASH_DEL(tasks, k);
		free(k);
	}
}
