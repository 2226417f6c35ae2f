/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * threadnames.h - the names of the threads or processes of rows. A name is noted when an operation
 * ends or a bio is submitted; the row may come an interval later. Names without a row for some
 * intervals are dropped.
 */
#ifndef IOSTRATA_HOST_THREADNAMES_H
#define IOSTRATA_HOST_THREADNAMES_H

#include "base/snapshot.h"

struct known_thread;
struct thread_name;

/* Known threads or processes in an array, with an index of 4 bytes for each: there may be 20,000.
 */
struct threadnames {
	struct known_thread *threads;
	size_t n, cap;
	unsigned int *index; /* position in the array + 1, or 0; by the hash of the id */
	size_t index_len;    /* a power of two, or 0 */
	unsigned int interval;
};

/* Sets the newest name of a thread or process; @id is the key of its rows. Returns 0 or -ENOMEM. */
int threadnames_add(struct threadnames *n, unsigned long long id, const struct thread_name *name);

/* Ends an interval: lists the threads of the rows of @sn in sn->threads. Returns 0 or -ENOMEM. */
int threadnames_list(struct threadnames *n, struct snapshot *sn);

/* Ends an interval: names the rows of @sn, which are by process or thread. "": not known. */
void threadnames_name(struct threadnames *n, struct snapshot *sn);

void threadnames_done(struct threadnames *n);

#endif
