/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tasknames.h - the names of the threads or processes of rows. A name is noted when an operation
 * ends or a bio is submitted; the row may come an interval later. Names without a row for some
 * intervals are dropped.
 */
#ifndef IOSTRATA_TASKNAMES_H
#define IOSTRATA_TASKNAMES_H

#include "base/snapshot.h"

struct known_task;
struct task_name;

/* Known threads or processes in an array, with an index of 4 bytes per entry: there may be 20,000.
 * */
struct tasknames {
	struct known_task *tasks;
	size_t n, cap;
	unsigned int *index; /* position in the array + 1, or 0; by the hash of the id */
	size_t index_len;    /* a power of two, or 0 */
	unsigned int interval;
};

/* Sets the newest name of a thread or process; @id is the key of its rows. 0 or -ENOMEM. */
int tasknames_add(struct tasknames *n, unsigned long long id, const struct task_name *name);

/* Ends an interval: lists the threads of the rows of @sn in sn->tasks. 0 or -ENOMEM. */
int tasknames_list(struct tasknames *n, struct snapshot *sn);

/* Ends an interval: names the rows of @sn, which are by process or thread. A name not known is "".
 * */
void tasknames_name(struct tasknames *n, struct snapshot *sn);

void tasknames_done(struct tasknames *n);

#endif
