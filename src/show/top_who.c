// SPDX-License-Identifier: GPL-2.0-only
#include "show/top_who.h"

static const struct top_table *table_of(const void *ctx)
{
	return ((const struct top_figures *)ctx)->table;
}

/* What a row by container is called; NULL: nobody. */
static const char *container_name(const struct top_row *r)
{
	if (r->container)
		return r->container->id;
	return r->cgroup && container_is_path(r->cgroup) ? CONTAINER_NONE : r->cgroup;
}

const char *top_row_name(enum top_view view, const struct top_row *r)
{
	const char *name = NULL;

	switch (view) {
	case TOP_FILE:
		name = r->file;
		break;
	case TOP_DISK:
		name = r->disk;
		break;
	case TOP_CGROUP:
		name = r->cgroup;
		break;
	case TOP_CONTAINER:
		name = container_name(r);
		break;
	default:
		name = r->task ? r->task->comm : NULL;
	}
	return name ? name : "";
}

/* The columns of the view's key; the id of a process comes from those of its threads. */

static uint64_t task_id(const struct top_row *r)
{
	return r->task ? r->task->id : 0;
}

void top_get_pid(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	v->n = task_id(r) >> 32;
	v->unknown = !r->task || table_of(ctx)->view > TOP_THREAD;
}

void top_get_tid(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	v->n = (uint32_t)task_id(r);
	v->unknown = !r->task || table_of(ctx)->view != TOP_THREAD;
}

void top_get_comm(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	if (!r->task || table_of(ctx)->view > TOP_COMM)
		return;
	v->text = r->task->comm;
	v->max = COMM_LEN;
}

void top_get_file(struct value *v, const void *row, const void *ctx)
{
	(void)ctx;
	v->text = ((const struct top_row *)row)->file;
}

void top_get_cgroup(struct value *v, const void *row, const void *ctx)
{
	enum top_view view = table_of(ctx)->view;

	if (view == TOP_CGROUP || view <= TOP_THREAD)
		v->text = ((const struct top_row *)row)->cgroup;
}

void top_get_container(struct value *v, const void *row, const void *ctx)
{
	enum top_view view = table_of(ctx)->view;
	const struct top_row *r = row;

	if (r->container && (view == TOP_CONTAINER || view == TOP_CGROUP || view <= TOP_THREAD))
		v->text = r->container->id;
}

/* For tables. */
void top_get_container_name(struct value *v, const void *row, const void *ctx)
{
	const struct top_row *r = row;

	(void)ctx;
	v->text = container_name(r);
	v->max = r->container ? r->container->shown : SIZE_MAX;
}

/* For JSON: what tells one row from the others. */
void top_get_key(struct value *v, const void *row, const void *ctx)
{
	enum top_view view = table_of(ctx)->view;
	const struct top_row *r = row;
	const char *name = top_row_name(view, r);

	if (view <= TOP_THREAD && r->task)
		snprintf(v->buf, sizeof(v->buf), "%llu",
			 view == TOP_THREAD ? r->task->id & 0xffffffff : r->task->id >> 32);
	else if (view > TOP_THREAD && *name)
		v->text = name;
	if (view == TOP_COMM)
		v->max = COMM_LEN;
}
