// SPDX-License-Identifier: GPL-2.0-only
#include "top_total.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The text of a row that is new. */
static int text_copy(char **to, const char *by, bool is_new)
{
	if (!is_new || !by)
		return 0;
	*to = strdup(by);
	return *to ? 0 : -ENOMEM;
}

static int op_merge(struct top_total *t, const struct op_row *more)
{
	struct op_row *row = rows_op(&t->rows, &more->key);

	if (!row || text_copy(&row->by, more->by, !row->count))
		return -ENOMEM;
	memcpy(row->fs, more->fs, sizeof(row->fs));
	return op_row_merge(row, more);
}

static int rq_merge(struct top_total *t, const struct rq_row *more)
{
	struct rq_row *row = rows_rq(&t->rows, &more->key);

	if (!row || text_copy(&row->by, more->by, !row->count))
		return -ENOMEM;
	memcpy(row->disk, more->disk, sizeof(row->disk));
	row->major = more->major;
	row->minor = more->minor;
	return rq_row_merge(row, more);
}

/* Both lists are sorted by id; for a thread in both the newer entry is taken. */
static int tasks_merge(struct snapshot *sum, const struct snapshot *sn)
{
	struct task *all = malloc((sum->n_tasks + sn->n_tasks + 1) * sizeof(*all));
	size_t a = 0, b = 0, n = 0;

	if (!all)
		return -ENOMEM;
	while (a < sum->n_tasks || b < sn->n_tasks) {
		if (b == sn->n_tasks || (a < sum->n_tasks && sum->tasks[a].id < sn->tasks[b].id)) {
			all[n++] = sum->tasks[a++];
			continue;
		}
		if (a < sum->n_tasks && sum->tasks[a].id == sn->tasks[b].id)
			a++;
		all[n++] = sn->tasks[b++];
	}
	free(sum->tasks);
	sum->tasks = all;
	sum->n_tasks = n;
	return 0;
}

static void sum_show(struct top_total *t, const struct snapshot *sn)
{
	struct snapshot *sum = &t->sum;

	sum->ops = (struct op_row *)t->rows.ops.rows;
	sum->n_ops = t->rows.ops.n;
	sum->rqs = (struct rq_row *)t->rows.rqs.rows;
	sum->n_rqs = t->rows.rqs.n;
	sum->duration_ns += sn->duration_ns;
	sum->missed += sn->missed;
	for (int i = 0; i < LOST_N; i++)
		sum->lost[i] += sn->lost[i];
}

int top_total_add(struct top_total *t, const struct snapshot *sn)
{
	int err = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++) {
		if (t->rows.ops.n < TOP_TOTAL_ROWS)
			err = op_merge(t, &sn->ops[i]);
		else
			t->sum.lost[LOST_MAP_FULL] += sn->ops[i].count;
	}
	for (size_t i = 0; i < sn->n_rqs && !err; i++) {
		if (t->rows.rqs.n < TOP_TOTAL_ROWS)
			err = rq_merge(t, &sn->rqs[i]);
		else
			t->sum.lost[LOST_MAP_FULL] += sn->rqs[i].count;
	}
	if (!err)
		err = tasks_merge(&t->sum, sn);
	sum_show(t, sn);
	return err;
}

void top_total_done(struct top_total *t)
{
	free(t->sum.tasks);
	t->sum = (struct snapshot){};
	rows_done(&t->rows);
}
