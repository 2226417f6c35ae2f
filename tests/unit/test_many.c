// SPDX-License-Identifier: GPL-2.0-only
/* The screen of top with 20,000 processes: the memory of its rows, and the time of a refresh. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rows.h"
#include "base/snapshot.h"
#include "host/threadnames.h"
#include "sanitized.h"
#include "top/top_print.h"
#include "top/top_screen.h"
#include "top/top_table.h"

/* Beside the 10 MB that are resident without any rows. */
enum { PROCESSES = 20000, ROUNDS = SANITIZED ? 1 : 4, MORE_ROUNDS = SANITIZED ? 1 : 31 };
enum { MEMORY_MOST = 38 << 20 };

/* The goal, which is tried for longer where others use the CPU, too; and what is too much there. */
enum { REFRESH_GOAL_MS = 20, REFRESH_MOST_MS = 80 };

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Resident now. */
static size_t memory_used(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

/* Adds up the rows of an interval's drains: two buckets of operations and of requests each. */
static void gather(struct rows *rows, struct threadnames *names)
{
	for (uint64_t i = 0; i < PROCESSES; i++) {
		struct op_key op = { .fs = 7, .op = OP_READ, .by = { (i + 1) << 32 | (i + 1) } };
		struct rq_key rq = { .dev = 8 << 20, .op = RQ_READ, .by = { op.by[0] } };
		struct op_sums ops = { .count = 23, .bytes = 4096, .total_ns = 1000 + i };
		struct rq_sums rqs = { .count = 23, .bytes = i % 101, .device_ns = 1000 + i };
		struct thread_name name = { .cgroup = 3 };

		for (unsigned int bucket = 0; bucket < 2; bucket++) {
			struct op_row *o = rows_op(rows, &op);
			struct rq_row *r = rows_rq(rows, &rq);

			assert_true(o && r);
			op_row_add(o, &ops);
			rq_row_add(r, &rqs);
			assert_int_equal(hist_add(&o->hist, 100 + bucket + i % 7, 23), 0);
			assert_int_equal(hist_add(&r->hist, 110 + bucket + i % 5, 23), 0);
		}
		snprintf(name.comm, COMM_LEN, "made-up-%u", (unsigned int)i);
		assert_int_equal(threadnames_add(names, op.by[0], &name), 0);
	}
}

static void take(struct rows *rows, struct threadnames *names, struct snapshot *sn)
{
	*sn = (struct snapshot){ .duration_ns = 1000000000 };
	rows_take(rows, sn);
	assert_int_equal(threadnames_list(names, sn), 0);
	assert_int_equal(sn->n_threads, PROCESSES);
}

/* As the screen does, but for drawing: joins, sorts, and shows a page. */
static void show(const struct snapshot *sn, struct top_names *names)
{
	struct top_columns c = top_columns_whole(TOP_PROCESS);
	struct top_table table;
	struct top_figures figures = { .table = &table };
	struct columns t = { .list = c.list, .ctx = &figures, .width = 120 };
	struct top_order order = { .by = columns_find(c.list, "bytes") };
	struct text_out o = {};
	struct top_list list;
	char *text = NULL;
	size_t len;

	assert_int_equal(top_table_init(&table, sn, TOP_PROCESS, TOP_WHOLE, names), 0);
	assert_int_equal(top_list_init(&list, &figures, &order), 0);
	assert_int_equal(list.n, PROCESSES);
	o.f = open_memstream(&text, &len);
	columns_text(&o, &t, (const void *const *)list.rows, 40);
	fclose(o.f);
	free(text);
	top_list_done(&list);
	top_table_done(&table);
}

static void test_many(void **state)
{
	struct top_names names = {};
	struct threadnames threads = {};
	struct top_total total = {};
	struct snapshot interval = {};
	struct rows rows = {};
	size_t before, most = 0, used;
	double refresh_ms = 1e9;

	(void)state;
	mallopt(M_MMAP_THRESHOLD, 128 << 10); /* as a session does */
	before = memory_used();
	for (int i = 0; i < ROUNDS || (i < MORE_ROUNDS && refresh_ms > REFRESH_GOAL_MS); i++) {
		struct snapshot sn;
		double began, took;

		gather(&rows, &threads);
		used = memory_used() - before;
		most = used > most ? used : most;
		began = cpu_ms();
		take(&rows, &threads, &sn);
		snapshot_free(&interval);
		assert_int_equal(top_total_add(&total, &sn), 0);
		interval = sn;
		show(&interval, &names);
		took = cpu_ms() - began;
		refresh_ms = took < refresh_ms ? took : refresh_ms;
	}
	print_message("# a refresh takes %.1f ms, rows take %.1f MB\n", refresh_ms, most / 1e6);
	snapshot_free(&interval);
	top_total_done(&total);
	threadnames_done(&threads);
	rows_done(&rows);
	top_names_done(&names);
	if (!SANITIZED) {
		assert_true(most < MEMORY_MOST);
		assert_true(refresh_ms < REFRESH_MOST_MS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_many) };

	return cmocka_run_group_tests_name("many", tests, NULL, NULL);
}
