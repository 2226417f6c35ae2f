// SPDX-License-Identifier: GPL-2.0-only
/* Percentiles against exact ones of sorted values; lifetime of a snapshot. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/names.h"
#include "base/opts.h"
#include "base/snapshot.h"

static const double pcts[] = { 0.1, 1, 10, 50, 90, 99, 99.9, 100 };

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest value that at least @pct percent of the sorted @v are not above, in integers. */
static uint64_t exact_percentile(const uint64_t *v, size_t n, double pct)
{
	size_t permille = (size_t)(pct * 10 + 0.5), rank = (n * permille + 999) / 1000;

	return v[rank ? rank - 1 : 0];
}

static void compare(uint64_t *v, size_t n)
{
	struct hist hist = {};

	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(hist_add(&hist, hist_bucket(v[i]), 1), 0);
	for (size_t i = 0; i < sizeof(pcts) / sizeof(pcts[0]); i++) {
		uint64_t exact = exact_percentile(v, n, pcts[i]);
		uint64_t got = hist_percentile(&hist, pcts[i], v[n - 1]);
		uint64_t diff = got > exact ? got - exact : exact - got;

		assert_true(diff * 64 <= exact);
		assert_true(got <= v[n - 1]);
	}
	free(hist.bins);
}

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

static void each_kind_of_loss_has_its_words(void **state)
{
	(void)state;
	for (unsigned int i = 0; i <= LOST_N; i++) {
		assert_non_null(lost_name(i));
		if (i == LOST_UNMATCHED_END) /* it began before the run: no loss */
			continue;
		assert_non_null(lost_what(i, 1));
		assert_non_null(lost_what(i, 2));
		assert_string_not_equal(lost_what(i, 1), lost_what(i, 2));
	}
	assert_string_equal(lost_name(LOST_N), "?");
	assert_null(lost_what(LOST_UNMATCHED_END, 1));
	assert_string_equal(lost_what(LOST_N + 1, 1), "?");
}

static void percentiles_are_within_a_bucket(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 23, 101, 1000, 1009, 10007 };
	uint64_t seed = 88172645463325252ull;
	uint64_t *v = calloc(10007, sizeof(*v));

	(void)state;
	assert_non_null(v);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		for (int spread = 4; spread <= 40; spread += 6) {
			for (size_t i = 0; i < sizes[s]; i++)
				v[i] = next(&seed) >> (64 - spread) >> next(&seed) % spread;
			compare(v, sizes[s]);
		}
	}
	free(v);
}

/* A histogram keeps its buckets in order, whatever the order of additions, and adds up each bucket.
 */
static void histogram_keeps_its_bins_in_order(void **state)
{
	struct hist hist = {};
	uint64_t seed = 88172645463325252ull, n = 0;

	(void)state;
	for (int i = 0; i < 10007; i++)
		assert_int_equal(hist_add(&hist, next(&seed) % HIST_N, i), 0);
	assert_int_equal(hist.n, HIST_N);
	for (unsigned int i = 0; i < hist.n; i++) {
		assert_int_equal(hist.bins[i].bucket, i);
		n += hist.bins[i].count;
	}
	assert_int_equal(n, 10007ull * 10006 / 2);
	free(hist.bins);
}

/* A cell's counters have 32 bits, those of a row more. */
static void bins_count_beyond_32_bits(void **state)
{
	struct hist hist = {};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(hist_add(&hist, 7, 0xffffffffull), 0);
	assert_int_equal(hist.n, 1);
	assert_true(hist.bins[0].count == 3 * 0xffffffffull);
	free(hist.bins);
}

static void percentile_of_a_thousand_is_not_off_by_one(void **state)
{
	struct hist hist = {};

	(void)state;
	assert_int_equal(hist_add(&hist, 1, 999), 0);
	assert_int_equal(hist_add(&hist, 2, 1), 0);
	assert_int_equal(hist_percentile(&hist, 99.9, 2), 1);
	assert_int_equal(hist_percentile(&hist, 100, 2), 2);
	free(hist.bins);
}

/* Buckets with so many operations that a double does not tell their number from one less. */
static void percentile_of_very_many(void **state)
{
	struct hist hist = {};

	(void)state;
	assert_int_equal(hist_add(&hist, 1, 1ULL << 40), 0);
	assert_int_equal(hist_add(&hist, 3, 1ULL << 40), 0);
	assert_int_equal(hist_percentile(&hist, 49.9, 3), 1);
	assert_int_equal(hist_percentile(&hist, 100, 3), 3);
	free(hist.bins);
}

static void percentile_of_nothing_is_zero(void **state)
{
	struct hist hist = {};

	(void)state;
	assert_int_equal(hist_percentile(&hist, 50, 0), 0);
}

static void percentile_is_never_above_the_maximum(void **state)
{
	struct hist hist = {};

	(void)state;
	assert_int_equal(hist_add(&hist, hist_bucket(1000), 1), 0);
	assert_int_equal(hist_percentile(&hist, 99, 993), 993);
	free(hist.bins);
}

/* The maximum of a whole run, the histogram of an interval. */
static void percentile_is_of_these_when_the_maximum_is_of_others(void **state)
{
	struct hist hist = {};

	(void)state;
	assert_int_equal(hist_add(&hist, hist_bucket(5000000), 42), 0);
	assert_in_range(hist_percentile(&hist, 99, 300000000), 4800000, 5200000);
	free(hist.bins);
}

static void overflow_bucket_ends_at_the_maximum(void **state)
{
	struct hist hist = {};
	uint64_t max = 1ULL << 50, got;

	(void)state;
	assert_int_equal(hist_add(&hist, HIST_N - 1, 1), 0);
	got = hist_percentile(&hist, 50, max);
	assert_true(got > hist_low(HIST_N) && got <= max);
	/* those that are not the longest are in the middle of what is known */
	assert_int_equal(hist_add(&hist, HIST_N - 1, 2), 0);
	assert_int_equal(hist_percentile(&hist, 50, max), (hist_low(HIST_N - 1) + max) / 2);
	assert_int_equal(hist_percentile(&hist, 50, hist_low(HIST_N - 1) + 7),
			 hist_low(HIST_N - 1) + 7);
	assert_int_equal(hist_add(&hist, HIST_N - 2, 9), 0);
	assert_int_equal(hist_percentile(&hist, 50, max),
			 (hist_low(HIST_N - 2) + hist_low(HIST_N - 1)) / 2);
	free(hist.bins);
}

static void free_takes_null_empty_and_full(void **state)
{
	struct snapshot sn = { .duration_ns = 1 };

	(void)state;
	snapshot_free(NULL);
	snapshot_free(&sn);
	sn.ops = calloc(2, sizeof(*sn.ops));
	sn.rqs = calloc(1, sizeof(*sn.rqs));
	assert_true(sn.ops && sn.rqs);
	sn.n_ops = 2;
	sn.n_rqs = 1;
	sn.ops[1].by = strdup("postgres");
	snapshot_free(&sn);
	assert_null(sn.ops);
	assert_int_equal(sn.n_ops + sn.n_rqs, 0);
	snapshot_free(&sn);
}

/* A minor fault is of kind fault. */
/* By its whole name. */
static void other_file_systems_are_dropped(void **state)
{
	const struct opt_strings nfs = { { "nfs" }, 1 }, none = {};
	const struct opt_strings both = { { "xfs", "nfs4", "nfs" }, 3 };
	struct snapshot sn = {};

	(void)state;
	snapshot_keep_fs(&sn, &nfs);
	sn.n_ops = sn.n_unfinished = sn.n_hung = 3;
	sn.ops = calloc(3, sizeof(*sn.ops));
	sn.unfinished = calloc(3, sizeof(*sn.unfinished));
	assert_non_null(sn.ops);
	sn.hung = calloc(3, sizeof(*sn.hung));
	assert_non_null(sn.unfinished);
	assert_non_null(sn.hung);
	for (int i = 0; i < 3; i++) {
		strcpy(sn.ops[i].fs, i == 1 ? "nfs" : i ? "nfsd" : "nfs4");
		strcpy(sn.unfinished[i].fs, sn.ops[i].fs);
		strcpy(sn.hung[i].fs, sn.ops[i].fs);
		sn.hung[i].file = strdup("c");
		sn.hung[i].server = strdup("d");
		sn.ops[i].by = strdup("a");
		sn.unfinished[i].file = strdup("b");
	}
	snapshot_keep_fs(&sn, NULL);
	snapshot_keep_fs(&sn, &none);
	assert_int_equal(sn.n_ops, 3);
	snapshot_keep_fs(&sn, &both);
	assert_int_equal(sn.n_ops, 2);
	assert_int_equal(sn.n_unfinished, 2);
	assert_int_equal(sn.n_hung, 2);
	snapshot_keep_fs(&sn, &nfs);
	assert_int_equal(sn.n_ops, 1);
	assert_int_equal(sn.n_unfinished, 1);
	assert_int_equal(sn.n_hung, 1);
	assert_string_equal(sn.ops[0].fs, "nfs");
	assert_string_equal(sn.unfinished[0].fs, "nfs");
	assert_string_equal(sn.hung[0].fs, "nfs");
	snapshot_free(&sn);
}

static void others_kinds_are_dropped(void **state)
{
	static const unsigned int ops[] = { OP_READ, OP_WRITE, OP_FAULT, OP_MINOR_FAULT };
	struct snapshot sn = { .ops = calloc(4, sizeof(*sn.ops)), .n_ops = 4 };

	(void)state;
	assert_non_null(sn.ops);
	for (int i = 0; i < 4; i++) {
		sn.ops[i].key.op = ops[i];
		sn.ops[i].by = strdup("dd");
	}
	snapshot_keep_ops(&sn, 0);
	assert_int_equal(sn.n_ops, 4);
	snapshot_keep_ops(&sn, 1U << OP_READ | 1U << OP_FAULT);
	assert_int_equal(sn.n_ops, 3);
	assert_int_equal(sn.ops[1].key.op, OP_FAULT);
	snapshot_keep_ops(&sn, 1U << OP_WRITE);
	assert_int_equal(sn.n_ops, 0);
	snapshot_free(&sn);
}

static void disks_have_the_time_of_their_requests(void **state)
{
	struct rq_row rows[] = {
		{ .disk = "sda", .tag_ns = 1009, .queue_ns = 23, .device_ns = 101 },
		{ .device_ns = 7 },
		{ .disk = "sda", .queue_ns = 2, .device_ns = 3 },
	};
	struct snapshot sn = { .rqs = rows, .n_rqs = 3, .duration_ns = 258 };

	(void)state;
	memset(rows[1].disk, 'x', sizeof(rows[1].disk)); /* without a NUL */
	assert_int_equal(snapshot_disks_sum(&sn), 0);
	assert_int_equal(sn.n_disks, 2);
	assert_string_equal(sn.disks[0].disk, "sda");
	assert_true(sn.disks[0].busy_ns == BUSY_UNKNOWN);
	assert_int_equal(sn.disks[0].requests_ns, 129);
	assert_true(snapshot_disk_depth(&sn, &sn.disks[0]) == 0.5);
	assert_int_equal(strlen(sn.disks[1].disk), 31);
	free(sn.disks);
	sn = (struct snapshot){ .duration_ns = 1 };
	assert_int_equal(snapshot_disks_sum(&sn), 0);
	assert_null(sn.disks);
}

/* Scales counts, but those of the @longest longest values, to @n in all. */
static void assert_scaled(const uint64_t counts[4], uint64_t n, uint64_t longest,
			  const uint64_t wanted[4])
{
	struct hist_bin bins[4] = {};
	struct hist h = { .bins = bins, .n = 4, .cap = 4 };
	uint64_t got[4] = {}, all = 0;

	for (unsigned int i = 0; i < 4; i++)
		bins[i] = (struct hist_bin){ .bucket = i, .count = counts[i] };
	hist_scale(&h, n, longest);
	for (unsigned int i = 0; i < h.n; i++) {
		assert_true(bins[i].count);
		got[bins[i].bucket] = bins[i].count;
		all += bins[i].count;
	}
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(got[i], wanted[i]);
	assert_int_equal(all, n);
}

#define COUNTS(...) ((const uint64_t[4]){ __VA_ARGS__ })

/* The part that rounding takes from a bucket goes on to the next one, so no value is lost. */
static void scaled_counts_are_rounded_to_the_whole(void **state)
{
	(void)state;
	assert_scaled(COUNTS(3, 3, 3), 10, 0, COUNTS(3, 4, 3));
	assert_scaled(COUNTS(3, 3, 3), 8, 0, COUNTS(3, 2, 3));
	assert_scaled(COUNTS(1, 1, 1, 1), 2, 0, COUNTS(1, 0, 1, 0));
	assert_scaled(COUNTS(1, 1, 1, 1), 1, 0, COUNTS(0, 1, 0, 0));
	assert_scaled(COUNTS(1, 1, 1, 1), 4, 0, COUNTS(1, 1, 1, 1));
	assert_scaled(COUNTS(3, 3, 2), 9, 4, COUNTS(4, 3, 2));
	assert_scaled(COUNTS(3, 3, 2), 4, 4, COUNTS(0, 2, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_within_a_bucket),
		cmocka_unit_test(each_kind_of_loss_has_its_words),
		cmocka_unit_test(histogram_keeps_its_bins_in_order),
		cmocka_unit_test(scaled_counts_are_rounded_to_the_whole),
		cmocka_unit_test(bins_count_beyond_32_bits),
		cmocka_unit_test(percentile_of_a_thousand_is_not_off_by_one),
		cmocka_unit_test(percentile_of_very_many),
		cmocka_unit_test(percentile_of_nothing_is_zero),
		cmocka_unit_test(percentile_is_never_above_the_maximum),
		cmocka_unit_test(percentile_is_of_these_when_the_maximum_is_of_others),
		cmocka_unit_test(overflow_bucket_ends_at_the_maximum),
		cmocka_unit_test(other_file_systems_are_dropped),
		cmocka_unit_test(others_kinds_are_dropped),
		cmocka_unit_test(disks_have_the_time_of_their_requests),
		cmocka_unit_test(free_takes_null_empty_and_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
