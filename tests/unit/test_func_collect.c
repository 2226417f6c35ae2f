// SPDX-License-Identifier: GPL-2.0-only
/* test_func_collect.c - what programs have added up is read, interval by interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/func.h"
#include "cell.h"
#include "funcs/func_collect.h"
#include "funcs/func_rows.h"

/* The memory in which programs count one function. */
static struct func_sums cells[2];
static unsigned int hists[2 * HIST_N];
static unsigned long long unreturned[2];

static struct func_collect *collect_open(void)
{
	struct func_memory m = { .rows = FUNC_ROWS,
				 .n_funcs = 1,
				 .n_cpus = 1,
				 .n_hists = 1,
				 .cells = cells,
				 .hists = hists,
				 .unreturned = unreturned,
				 .rows_fd = -1 };

	memset(cells, 0, sizeof(cells));
	memset(hists, 0, sizeof(hists));
	return func_collect_open(&m);
}

static void call_add(unsigned int ns)
{
	cells[0].total_ns += ns;
	cells[0].self_ns += ns - 1;
	cells[0].probe_ns += 11;
	cells[0].preempted_ns += 3;
	if (cells[0].max_ns < ns)
		cells[0].max_ns = ns;
	if (cells[0].min_inverse < ~(unsigned long long)ns)
		cells[0].min_inverse = ~(unsigned long long)ns;
	hists[hist_bucket(ns)]++;
}

/* A look may come when a program has added a call to the sums, and not yet to the histogram. */
static void a_call_between_two_looks(void **state)
{
	struct func_collect *c = collect_open();
	struct func_snapshot sn = {};

	(void)state;
	call_add(100);
	hists[hist_bucket(100)] = 0;
	assert_int_equal(func_collect_take(c, &sn), 0);
	func_snapshot_free(&sn);
	hists[hist_bucket(100)] = 1;
	assert_int_equal(func_collect_take(c, &sn), 0);
	assert_int_equal(sn.n_rows, 1);
	assert_int_equal(sn.rows[0].sum.count, 1);
	func_snapshot_free(&sn);
	func_collect_free(c);
}

/* Each has what was added in it, and its own extremes; a look in between changes nothing. */
static void intervals_are_apart(void **state)
{
	struct func_collect *c = collect_open();
	struct func_snapshot sn = {};

	(void)state;
	call_add(100);
	call_add(300);
	assert_int_equal(func_collect_take(c, &sn), 0);
	assert_int_equal(sn.rows[0].sum.count, 2);
	assert_int_equal(sn.rows[0].sum.total_ns, 400);
	func_snapshot_free(&sn);
	call_add(150);
	assert_int_equal(func_collect_more(c), 0);
	call_add(200);
	call_add(200);
	assert_int_equal(func_collect_take(c, &sn), 0);
	assert_int_equal(sn.n_rows, 1);
	assert_int_equal(sn.rows[0].sum.count, 3);
	assert_int_equal(sn.rows[0].sum.total_ns, 550);
	assert_int_equal(sn.rows[0].sum.self_ns, 547);
	assert_int_equal(sn.rows[0].sum.probe_ns, 3 * 11);
	assert_int_equal(sn.rows[0].sum.preempted_ns, 3 * 3);
	assert_int_equal(sn.rows[0].sum.min_ns, 150);
	assert_int_equal(sn.rows[0].sum.max_ns, 200);
	assert_int_equal(sn.rows[0].hist.n, 2);
	func_snapshot_free(&sn);
	assert_int_equal(func_collect_take(c, &sn), 0);
	assert_int_equal(sn.n_rows, 0);
	func_snapshot_free(&sn);
	func_collect_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_between_two_looks),
		cmocka_unit_test(intervals_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
