// SPDX-License-Identifier: GPL-2.0-only
#include "trace/threads.h"

#include <stdio.h>

#include "host/processes.h"

/* A program needs some 100 ns to change all members. */
enum { TRIES = 10000 };

/* Reads in the order opposite to that of the programs. */
static struct threads threads_read(const volatile struct threads *t)
{
	struct threads read;

	read.done = __atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
	read.time = __atomic_load_n(&t->time, __ATOMIC_ACQUIRE);
	read.living = __atomic_load_n(&t->living, __ATOMIC_ACQUIRE);
	read.begun = __atomic_load_n(&t->begun, __ATOMIC_ACQUIRE);
	return read;
}

/* Whether both were read between two changes. The atomic additions of the programs order nothing on
 * arm64: a second look shows a late one. */
static bool are_settled(const struct threads *a, const struct threads *b)
{
	return a->begun == a->done && b->begun == a->begun && b->done == a->done &&
	       a->living == b->living && a->time == b->time;
}

bool threads_total(const volatile struct threads *t, uint64_t now, uint64_t *ret_ns)
{
	for (int i = 0; i < TRIES; i++) {
		struct threads first = threads_read(t), second = threads_read(t);

		if (!are_settled(&first, &second))
			continue;
		*ret_ns = first.living * now + first.time;
		return true;
	}
	return false;
}

/* Whether no program wrote @b while another was at it. */
static bool is_whole(const struct busy_thread *b)
{
	return b->check == (b->io_ns ^ b->id ^ b->born_ns ^ b->gone_ns);
}

/* The record of a thread that has ended is the last one about it. */
static bool is_busier(const struct busy_thread *b, const struct busy_thread *than)
{
	return !than || b->io_ns > than->io_ns || (b->io_ns == than->io_ns && b->gone_ns);
}

void threads_busiest(const struct busy_thread *of_cpus, int n, unsigned int interval, uint64_t from,
		     uint64_t to, struct busiest *ret_busiest)
{
	const struct busy_thread *most = NULL;
	uint64_t begin, end;

	*ret_busiest = (struct busiest){};
	for (int i = 0; i < n; i++) {
		const struct busy_thread *b = &of_cpus[i];

		if (b->interval == interval && b->io_ns && is_whole(b) && is_busier(b, most))
			most = b;
	}
	if (!most)
		return;
	begin = most->born_ns > from ? most->born_ns : from;
	end = most->gone_ns && most->gone_ns < to ? most->gone_ns : to;
	*ret_busiest = (struct busiest){ .io_ns = most->io_ns,
					 .lived_ns = end > begin ? end - begin : 0,
					 .pid = most->id >> 32,
					 .tid = (unsigned int)most->id };
	if (most->gone_ns)
		snprintf(ret_busiest->comm, COMM_LEN, "%.*s", COMM_LEN - 1, most->comm);
	else
		process_thread_name(ret_busiest->pid, ret_busiest->tid, ret_busiest->comm);
}
