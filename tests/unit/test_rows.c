// SPDX-License-Identifier: GPL-2.0-only
/* Rows that come in many drains are one row a key, and keep everything. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rows.h"
#include "base/snapshot.h"
#include "bpf/conf.h"
#include "trace/maps.h"

enum { KEYS = 10007, DRAINS = 3 };

static struct op_key op_key(uint64_t pid, enum op_kind op, unsigned short bucket)
{
	return (struct op_key){
		.fs = 0xffff888000001000, .op = op, .bucket = bucket, .by = { pid }
	};
}

static void add(struct rows *rows, uint64_t pid, uint64_t ns)
{
	struct op_key key = op_key(pid, OP_READ, hist_bucket(ns));
	struct op_sums sums = {
		.count = 1, .errors = 1, .bytes = 512, .total_ns = ns, .max_ns = ns
	};
	struct op_row *row;

	sums.strata[ST_SYSCALL] = ns - 1;
	sums.strata[ST_N - 1] = 1;
	row = rows_op(rows, &key);
	assert_non_null(row);
	op_row_add(row, &sums);
	assert_int_equal(hist_add(&row->hist, key.bucket, sums.count), 0);
}

static void check_row(const struct op_row *row)
{
	uint64_t pid = row->key.by[0], n = 0;

	assert_int_equal(row->key.bucket, 0);
	assert_int_equal(row->count, DRAINS);
	assert_int_equal(row->errors, DRAINS);
	assert_int_equal(row->bytes, DRAINS * 512);
	assert_int_equal(row->total_ns, DRAINS * pid + 3000);
	assert_int_equal(row->strata[ST_SYSCALL], row->total_ns - DRAINS);
	assert_int_equal(row->strata[ST_N - 1], DRAINS);
	assert_int_equal(row->max_ns, pid + 2000);
	for (unsigned int i = 0; i < row->hist.n; i++)
		n += row->hist.bins[i].count;
	assert_int_equal(n, DRAINS);
}

static void every_key_has_one_row_after_many_drains(void **state)
{
	struct rows rows = {};
	struct snapshot sn = {};
	char *seen = calloc(KEYS + 1, 1);

	(void)state;
	assert_non_null(seen);
	for (int drain = 0; drain < DRAINS; drain++)
		for (uint64_t pid = 1; pid <= KEYS; pid++)
			add(&rows, pid, pid + 1000 * drain);
	rows_take(&rows, &sn);
	assert_int_equal(sn.n_ops, KEYS);
	for (size_t i = 0; i < sn.n_ops; i++) {
		check_row(&sn.ops[i]);
		assert_false(seen[sn.ops[i].key.by[0]]++);
	}
	snapshot_free(&sn);
	free(seen);
}

static void keys_differ_in_every_member_but_the_bucket(void **state)
{
	struct op_key keys[6];
	struct rows rows = {};
	struct op_row *row;

	(void)state;
	for (int i = 0; i < 6; i++)
		keys[i] = op_key(1, OP_READ, 17);
	keys[1].fs++;
	keys[2].op = OP_WRITE;
	keys[3].call = 1;
	keys[4].cache = CACHE_HIT;
	keys[5].by[1] = 1;
	for (int i = 0; i < 6; i++) {
		row = rows_op(&rows, &keys[i]);
		assert_int_equal(row->count++, 0);
		keys[i].bucket = 4;
		assert_int_equal(rows_op(&rows, &keys[i])->count, 1);
	}
	assert_int_equal(rows.ops.n, 6);
	rows_done(&rows);
}

static void rows_of_requests_are_apart(void **state)
{
	struct rq_sums sums = { .count = 1,
				.errors = 2,
				.bytes = 4096,
				.requeues = 3,
				.unqueued = 4,
				.outside = 5,
				.tag_ns = 10,
				.queue_ns = 20,
				.device_ns = 30,
				.max_ns = 60 };
	struct rq_key key = { .dev = 8 << 20, .op = RQ_WRITE, .bucket = 3 };
	struct rows rows = {};
	struct snapshot sn = {};

	(void)state;
	for (int i = 0; i < 2; i++) {
		key.bucket += i; /* one row for all of a histogram */
		rq_row_add(rows_rq(&rows, &key), &sums);
	}
	key.bio_based = 1;
	assert_int_equal(rows_rq(&rows, &key)->count, 0);
	rows_take(&rows, &sn);
	assert_int_equal(sn.n_rqs, 2);
	assert_int_equal(sn.rqs[0].count, 2);
	assert_int_equal(sn.rqs[0].errors, 4);
	assert_int_equal(sn.rqs[0].bytes, 8192);
	assert_int_equal(sn.rqs[0].requeues, 6);
	assert_int_equal(sn.rqs[0].unqueued, 8);
	assert_int_equal(sn.rqs[0].outside, 10);
	assert_int_equal(sn.rqs[0].tag_ns, 20);
	assert_int_equal(sn.rqs[0].queue_ns, 40);
	assert_int_equal(sn.rqs[0].device_ns, 60);
	assert_int_equal(sn.rqs[0].max_ns, 60);
	snapshot_free(&sn);
}

static void a_taken_histogram_is_empty(void **state)
{
	unsigned int counts[HIST_N] = { 5, [3] = 7, [HIST_N - 1] = 0xffffffff };
	struct hist hist = {};

	(void)state;
	assert_int_equal(hist_take(&hist, counts), 0);
	assert_int_equal(hist_take(&hist, counts), 0);
	assert_int_equal(counts[0] | counts[3] | counts[HIST_N - 1], 0);
	assert_int_equal(hist.n, 3);
	assert_int_equal(hist.bins[0].count, 5);
	assert_int_equal(hist.bins[1].count, 7);
	assert_true(hist.bins[2].count == 0xffffffff);
	free(hist.bins);
}

static void a_taken_table_is_empty(void **state)
{
	struct rows rows = {};
	struct snapshot sn = {};

	(void)state;
	add(&rows, 1, 1);
	rows_take(&rows, &sn);
	snapshot_free(&sn);
	add(&rows, 2, 1);
	rows_take(&rows, &sn);
	assert_int_equal(sn.n_ops, 1);
	assert_int_equal(sn.ops[0].key.by[0], 2);
	snapshot_free(&sn);
	rows_done(&rows);
}

/* The members of @sums, which are numbers of 64 bits: each another one. */
static void fill(void *sums, size_t size, uint64_t n)
{
	for (size_t i = 0; i < size / sizeof(n); i++)
		((uint64_t *)sums)[i] = n * (101 + i * i);
}

static void check_sums(const struct op_row *row, uint64_t n, uint64_t max)
{
	struct op_sums want;

	fill(&want, sizeof(want), n);
	assert_int_equal(row->count, want.count);
	assert_int_equal(row->errors, want.errors);
	assert_int_equal(row->bytes, want.bytes);
	assert_int_equal(row->total_ns, want.total_ns);
	assert_int_equal(row->device_bytes, want.device_bytes);
	assert_memory_equal(row->strata, want.strata, sizeof(want.strata));
	fill(&want, sizeof(want), max);
	assert_int_equal(row->max_ns, want.max_ns);
}

static void every_sum_of_operations_is_added(void **state)
{
	struct op_row row = {}, more = {};
	struct op_sums sums;

	(void)state;
	for (int n = 0; n < 3; n++) {
		fill(&sums, sizeof(sums), n == 1 ? 7 : n); /* the second is the longest */
		op_row_add(&row, &sums);
	}
	check_sums(&row, 9, 7);
	assert_int_equal(op_row_merge(&more, &row), 0);
	assert_int_equal(op_row_merge(&more, &row), 0);
	check_sums(&more, 18, 7);
}

/* Two writers met, and the maximum is that of the loser; the next cell's is as it should be. */
static void a_maximum_is_no_less_than_the_mean(void **state)
{
	struct op_row row = {};
	struct site_row why = {};

	(void)state;
	op_row_add(&row, &(struct op_sums){});
	assert_int_equal(row.max_ns, 0);
	op_row_add(&row, &(struct op_sums){ .count = 2, .total_ns = 2830, .max_ns = 1413 });
	assert_int_equal(row.max_ns, 1415);
	op_row_add(&row, &(struct op_sums){ .count = 2, .total_ns = 2831, .max_ns = 1413 });
	assert_int_equal(row.max_ns, 1416);
	op_row_add(&row, &(struct op_sums){ .count = 2, .total_ns = 2830, .max_ns = 1417 });
	assert_int_equal(row.max_ns, 1417);
	op_row_add(&row, &(struct op_sums){});
	assert_int_equal(row.max_ns, 1417);
	/* the cell's mean, not the row's */
	row = (struct op_row){};
	op_row_add(&row, &(struct op_sums){ .count = 1000, .total_ns = 1000, .max_ns = 1 });
	op_row_add(&row, &(struct op_sums){ .count = 2, .total_ns = 2830, .max_ns = 1413 });
	assert_int_equal(row.max_ns, 1415);
	site_row_add(&why, &(struct site_sums){ .count = 3, .total_ns = 10, .max_ns = 3 });
	assert_int_equal(why.sums.max_ns, 4);
}

static void every_sum_of_requests_is_added(void **state)
{
	struct rq_row row = {}, more = {};
	struct rq_sums sums, want;

	(void)state;
	for (int n = 0; n < 3; n++) {
		fill(&sums, sizeof(sums), n == 1 ? 7 : n);
		rq_row_add(&row, &sums);
	}
	assert_int_equal(rq_row_merge(&more, &row), 0);
	assert_int_equal(rq_row_merge(&more, &row), 0);
	fill(&want, sizeof(want), 18);
	assert_int_equal(more.count, want.count);
	assert_int_equal(more.errors, want.errors);
	assert_int_equal(more.bytes, want.bytes);
	assert_int_equal(more.requeues, want.requeues);
	assert_int_equal(more.unqueued, want.unqueued);
	assert_int_equal(more.outside, want.outside);
	assert_int_equal(more.tag_ns, want.tag_ns);
	assert_int_equal(more.queue_ns, want.queue_ns);
	assert_int_equal(more.device_ns, want.device_ns);
	fill(&want, sizeof(want), 7);
	assert_int_equal(more.max_ns, want.max_ns);
}

static void every_sum_of_helpers_is_added(void **state)
{
	struct helper_key key = { .comm = "kworker", .tid = 7 };
	struct rows rows = {};
	struct snapshot sn = {};
	struct helper_sums sums;

	(void)state;
	for (int n = 1; n < 3; n++) {
		fill(&sums, sizeof(sums), n);
		helper_row_add(rows_helper(&rows, &key), &sums);
	}
	key.op = HELPER_TIME;
	helper_row_add(rows_helper(&rows, &key), &sums);
	rows_take(&rows, &sn);
	assert_int_equal(sn.n_helpers, 2);
	fill(&sums, sizeof(sums), 3);
	assert_memory_equal(&sn.helpers[0].sums, &sums, sizeof(sums));
	fill(&sums, sizeof(sums), 2);
	assert_memory_equal(&sn.helpers[1].sums, &sums, sizeof(sums));
	assert_int_equal(sn.helpers[1].key.op, HELPER_TIME);
	snapshot_free(&sn);
}

/* All members are sums but the maximum, which is no less than the mean either. */
static void every_sum_of_servers_is_added(void **state)
{
	enum { N = sizeof(struct server_sums) / sizeof(uint64_t) };
	const size_t max = offsetof(struct server_sums, max_ns) / sizeof(uint64_t);
	struct server_row row = {};
	struct server_sums sums;
	uint64_t members[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		members[i] = 1009 + 23 * i;
	memcpy(&sums, members, sizeof(sums));
	for (int round = 1; round <= 3; round++) {
		server_row_add(&row, &sums);
		for (size_t i = 0; i < N; i++)
			assert_int_equal(((uint64_t *)&row.sums)[i],
					 members[i] * (i == max ? 1 : round));
	}
	sums = (struct server_sums){ .count = 2, .server_ns = 5003, .max_ns = 1 };
	server_row_add(&row, &sums);
	assert_int_equal(row.sums.max_ns, 2502);
}

/* A row of few operations: 100,000 of them are some 30 MB. */
static void a_row_is_small(void **state)
{
	(void)state;
	assert_true(sizeof(struct op_row) <= 320);
}

static size_t bytes_of(const struct rowmaps_size *z)
{
	enum {
		OP_ENTRY = 48 + sizeof(struct op_key) + sizeof(struct op_entry),
		RQ_ENTRY = 48 + sizeof(struct rq_key) + sizeof(struct rq_sums)
	};
	size_t cell = z->hists_apart ? sizeof(struct op_sums) : sizeof(struct op_cell);

	return 2 * (z->op_rows * OP_ENTRY + z->rq_rows * RQ_ENTRY) + z->slot_cells * cell +
	       z->slot_hists * HIST_N * sizeof(unsigned int) +
	       z->slot_rq_cells * sizeof(struct rq_cell);
}

static void maps_do_not_grow_with_possible_cpus(void **state)
{
	static const struct {
		unsigned int cpus, most_kb;
	} bounds[] = { { 2, 3400 }, { 8, 11300 }, { 32, 32500 }, { 256, 38500 }, { 1024, 54000 } };
	struct rowmaps r = { .ops = true, .requests = true, .disks = 9 };
	struct rowmaps_size z;

	(void)state;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		r.cpus = bounds[i].cpus;
		rowmaps_size(&r, &z);
		assert_int_equal(z.hists_apart, r.cpus > HIST_CPUS);
		assert_true(bytes_of(&z) <= bounds[i].most_kb * 1000ull);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_has_one_row_after_many_drains),
		cmocka_unit_test(keys_differ_in_every_member_but_the_bucket),
		cmocka_unit_test(rows_of_requests_are_apart),
		cmocka_unit_test(a_taken_histogram_is_empty),
		cmocka_unit_test(a_taken_table_is_empty),
		cmocka_unit_test(every_sum_of_operations_is_added),
		cmocka_unit_test(a_maximum_is_no_less_than_the_mean),
		cmocka_unit_test(every_sum_of_requests_is_added),
		cmocka_unit_test(every_sum_of_helpers_is_added),
		cmocka_unit_test(every_sum_of_servers_is_added),
		cmocka_unit_test(a_row_is_small),
		cmocka_unit_test(maps_do_not_grow_with_possible_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
