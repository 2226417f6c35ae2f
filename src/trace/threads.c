// SPDX-License-Identifier: GPL-2.0-only
#include "trace/threads.h"

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
