/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tasknames.h - the names of the threads or processes that rows belong to. A name is noted when an
 * operation ends or a bio is submitted, and its row may come an interval later. Names without a row
 * for some intervals are dropped.
 */
#ifndef IOSTRATA_TASKNAMES_H
#define IOSTRATA_TASKNAMES_H

#include "base/snapshot.h"

struct known_task;
struct task_name;

struct tasknames {
	struct known_task *tasks;	/* by id */
	unsigned int interval;
};

/* Keeps the last name of a thread or process, by the key of its rows. 0 or -ENOMEM. */
int tasknames_add(struct tasknames *n, unsigned long long id, const struct task_name *name);

/* Lists in sn->tasks the threads that the rows of @sn belong to. 0 or -ENOMEM. */
int tasknames_list(struct tasknames *n, struct snapshot *sn);

/* Names the rows of @sn, which are by process or thread; "" if a name is not known. */
void tasknames_name(struct tasknames *n, struct snapshot *sn);

void tasknames_done(struct tasknames *n);

#endif
