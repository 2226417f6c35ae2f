// SPDX-License-Identifier: GPL-2.0-only
/* The functions that a run probes, by the operations that are asked for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "trace/plan.h"
#include "trace/session.h"

#define BIT(op) (1U << OP_##op)

static void functions_are_those_that_operations_call(void **state)
{
	static const struct {
		unsigned int asked, called;
	} cases[] = {
		{ BIT(READ), BIT(READ) },
		{ BIT(WRITE), BIT(WRITE) | BIT(FSYNC) },
		{ BIT(FSYNC), BIT(FSYNC) },
		{ BIT(READ) | BIT(FSYNC), BIT(READ) | BIT(FSYNC) },
		{ BIT(COPY), BIT(COPY) | BIT(READ) | BIT(WRITE) | BIT(FSYNC) | BIT(OPEN) },
		{ BIT(CLOSE), 0 },
		{ BIT(CLOSE) | BIT(FAULT), 0 },
		{ BIT(OPEN), ~0U },
		{ BIT(META), ~0U },
		{ BIT(URING) | BIT(CLOSE), ~0U },
		{ BIT(AIO), BIT(READ) | BIT(WRITE) | BIT(FSYNC) },
		{ ~0U, ~0U },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct session_conf conf = { .layer = LAYER_OPS, .kinds = cases[i].asked };

		assert_int_equal(plan_kinds(&conf), cases[i].called);
	}
}

static void a_layer_alone_and_helpers_need_all(void **state)
{
	struct session_conf conf = { .layer = LAYER_VFS, .kinds = BIT(FSYNC) };

	(void)state;
	assert_int_equal(plan_kinds(&conf), ~0U);
	conf.layer = LAYER_OPS;
	assert_int_equal(plan_kinds(&conf), BIT(FSYNC));
	conf.helpers = true;
	assert_int_equal(plan_kinds(&conf), ~0U);
}

/* Threads which hung before are looked for where they may be, and can be chosen. */
static void hung_threads_are_asked_for(void **state)
{
	struct session_conf conf = { .layer = LAYER_OPS, .kinds = ~0U };

	(void)state;
	assert_false(plan_asked(&conf) & ASK_HUNG);
	conf.hung = true;
	assert_true(plan_asked(&conf) & ASK_HUNG);
	conf.lists.n_pids = conf.lists.n_comms = conf.lists.n_devs = 1;
	assert_true(plan_asked(&conf) & ASK_HUNG);
	conf.lists.n_cgroups = 1;
	assert_false(plan_asked(&conf) & ASK_HUNG);
	conf.lists.n_cgroups = 0;
	conf.lists.n_files = 1;
	assert_false(plan_asked(&conf) & ASK_HUNG);
	conf.lists.n_files = 0;
	conf.follow = true;
	assert_false(plan_asked(&conf) & ASK_HUNG);
	conf.follow = false;
	conf.layer = LAYER_BLK;
	assert_false(plan_asked(&conf) & ASK_HUNG);
}

/* Without sched_switch each wait is missing but those with a server and in the ring, which have
 * reasons of their own. */
static void waits_need_the_switch_of_threads(void **state)
{
	const struct program *p = programs;

	(void)state;
	while (!p->target || strcmp(p->target, "sched_switch") != 0)
		p++;
	for (int st = 0; st < ST_N; st++)
		assert_int_equal(p->strata >> st & 1,
				 st >= SENT_ON_CPU && st != ST_SERVER && st != ST_REAP);
	assert_int_equal((uint64_t)p->strata >> ST_N, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_those_that_operations_call),
		cmocka_unit_test(a_layer_alone_and_helpers_need_all),
		cmocka_unit_test(hung_threads_are_asked_for),
		cmocka_unit_test(waits_need_the_switch_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
