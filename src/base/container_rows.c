// SPDX-License-Identifier: GPL-2.0-only
#include "base/container_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/container.h"
#include "base/rows.h"

/* What rows are joined by. */
struct owner {
	unsigned long long number;	/* in keys: the id of the first of its cgroups */
	bool has_container;
	struct container container;
	char *text;			/* not owned */
	UT_hash_handle hh;
	char name[];			/* of a container its id; else "", or '/' and the text:
					 * no id begins so */
};

struct joining {
	struct rows rows;
	struct owner *owners;
	uint64_t unnamed;
};

/* NULL: out of memory. */
static struct owner *owner_find(struct joining *j, const char *before, const char *name)
{
	struct owner *o, *new = calloc(1, sizeof(*new) + strlen(before) + strlen(name) + 1);

	if (!new)
		return NULL;
	strcpy(stpcpy(new->name, before), name);
	HASH_FIND_STR(j->owners, new->name, o);
	if (o) {
		free(new);
		return o;
	}
	HASH_ADD_STR(j->owners, name, new);
	return new;
}

/* Whose the cgroup @id with this text is. NULL: out of memory. */
static const struct owner *owner_of(struct joining *j, unsigned long long id, char *text)
{
	struct container c;
	bool has_container = container_find(text, &c), is_path = container_is_path(text);
	struct owner *o;

	if (has_container)
		o = owner_find(j, "", c.id);
	else
		o = owner_find(j, is_path ? "" : "/", is_path ? "" : text);
	if (!o || o->text)
		return o;
	o->number = id;
	o->has_container = has_container;
	if (has_container)
		o->container = c;
	else
		j->unnamed += !is_path;
	o->text = text;
	return o;
}

/* Names a new row; without an owner it has no name. 0 or -ENOMEM. */
static int row_begin(const struct owner *o, char **ret_by, bool *ret_contained)
{
	struct container *c;

	if (!o)
		return 0;
	*ret_contained = o->has_container;
	if (!o->has_container) {
		*ret_by = strdup(o->name[0] ? o->text : CONTAINER_NONE);
		return *ret_by ? 0 : -ENOMEM;
	}
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = o->container;
	*ret_by = c->id; /* see container_of_row() */
	return 0;
}

static int op_join(struct joining *j, const struct op_row *from)
{
	const struct owner *o = from->by ? owner_of(j, from->key.by[0], from->by) : NULL;
	struct op_key key = from->key;
	struct op_row *row;

	if (from->by && !o)
		return -ENOMEM;
	if (o)
		key.by[0] = o->number;
	row = rows_op(&j->rows, &key);
	if (!row || (!row->count && row_begin(o, &row->by, &row->contained)))
		return -ENOMEM;
	memcpy(row->fs, from->fs, sizeof(row->fs));
	row->unprobed_layers = from->unprobed_layers;
	return op_row_merge(row, from);
}

static int rq_join(struct joining *j, const struct rq_row *from)
{
	const struct owner *o = from->by ? owner_of(j, from->key.by[0], from->by) : NULL;
	struct rq_key key = from->key;
	struct rq_row *row;

	if (from->by && !o)
		return -ENOMEM;
	if (o)
		key.by[0] = o->number;
	row = rows_rq(&j->rows, &key);
	if (!row || (!row->count && row_begin(o, &row->by, &row->contained)))
		return -ENOMEM;
	memcpy(row->disk, from->disk, sizeof(row->disk));
	row->major = from->major;
	row->minor = from->minor;
	return rq_row_merge(row, from);
}

static void owners_done(struct owner *owners)
{
	struct owner *o, *next;

	HASH_ITER(hh, owners, o, next) {
		HASH_DEL(owners, o);
		free(o);
	}
}

int container_rows(struct snapshot *sn)
{
	struct snapshot old = { .ops = sn->ops, .n_ops = sn->n_ops, .rqs = sn->rqs,
				.n_rqs = sn->n_rqs };
	struct joining j = {};
	int err = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++)
		err = sn->ops[i].count ? op_join(&j, &sn->ops[i]) : 0;
	for (size_t i = 0; i < sn->n_rqs && !err; i++)
		err = sn->rqs[i].count ? rq_join(&j, &sn->rqs[i]) : 0;
	owners_done(j.owners);
	if (err) {
		rows_done(&j.rows);
		return err;
	}
	rows_take(&j.rows, sn);
	sn->unnamed_cgroups = j.unnamed;
	snapshot_free(&old);
	return 0;
}
