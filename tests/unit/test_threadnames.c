// SPDX-License-Identifier: GPL-2.0-only
/* Names of threads: the last one, for rows of both kinds, also some intervals later. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "host/threadnames.h"

static void name(struct threadnames *n, unsigned long long id, const char *comm)
{
	struct thread_name name = { .cgroup = 100 + id };

	strcpy(name.comm, comm);
	assert_int_equal(threadnames_add(n, id, &name), 0);
}

/* A row of operations and a row of requests of thread @id are called @expected in the next
 * interval. */
static void assert_called(struct threadnames *n, unsigned long long id, const char *expected)
{
	struct op_row op = { .key.by = { id } };
	struct rq_row rq = { .key.by = { id } };
	struct snapshot sn = { .ops = &op, .n_ops = 1, .rqs = &rq, .n_rqs = 1 };

	threadnames_name(n, &sn);
	assert_string_equal(op.comm, expected);
	assert_string_equal(rq.comm, expected);
}

static void pass(struct threadnames *n, int intervals)
{
	struct snapshot nothing = {};

	while (intervals--)
		threadnames_name(n, &nothing);
}

static void a_name_is_kept_while_it_is_used(void **state)
{
	struct threadnames n = {};

	(void)state;
	name(&n, 5, "sh");
	name(&n, 5, "dd");
	assert_called(&n, 5, "dd");
	assert_called(&n, 6, "");
	pass(&n, 5);
	assert_called(&n, 5, "dd");
	pass(&n, 5);
	assert_called(&n, 5, "dd");
	pass(&n, 20);
	assert_called(&n, 5, "");
	threadnames_done(&n);
}

/* A name that a thread left with others may arrive an interval after its newer name. */
static void an_older_name_does_not_come_back(void **state)
{
	struct thread_name name = { .comm = "dd", .at = 23 };
	struct threadnames n = {};

	(void)state;
	assert_int_equal(threadnames_add(&n, 5, &name), 0);
	pass(&n, 1);
	name = (struct thread_name){ .comm = "sh", .at = 22 };
	assert_int_equal(threadnames_add(&n, 5, &name), 0);
	assert_called(&n, 5, "dd");
	name = (struct thread_name){ .comm = "cp", .at = 23 };
	assert_int_equal(threadnames_add(&n, 5, &name), 0);
	assert_called(&n, 5, "cp");
	threadnames_done(&n);
}

static void threads_are_listed_once(void **state)
{
	static const unsigned long long ids[] = { 7, 5, 7, 0, 9 };
	static const struct thread expected[] = { { 5, 105, "five" },
						  { 7, 107, "seven" },
						  { .id = 9 } };
	struct threadnames n = {};
	struct op_row ops[5] = {};
	struct rq_row rqs[5] = {};

	(void)state;
	name(&n, 7, "seven");
	name(&n, 5, "five");
	for (int i = 0; i < 5; i++) {
		ops[i].key.by[0] = ids[i % 3];
		rqs[i].key.by[0] = ids[i];
	}
	for (int interval = 0; interval < 2; interval++) {
		struct snapshot sn = { .ops = ops, .n_ops = 5, .rqs = rqs, .n_rqs = 5 };

		assert_int_equal(threadnames_list(&n, &sn), 0);
		assert_int_equal(sn.n_threads, 3);
		assert_memory_equal(sn.threads, expected, sizeof(expected));
		threadnames_name(&n, &sn);
		free(sn.threads);
	}
	threadnames_done(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_kept_while_it_is_used),
		cmocka_unit_test(an_older_name_does_not_come_back),
		cmocka_unit_test(threads_are_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
