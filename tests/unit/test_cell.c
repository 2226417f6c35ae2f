// SPDX-License-Identifier: GPL-2.0-only
/* Buckets at every edge, and what sums_add() sums. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include <stdlib.h>

#include "cell.h"

static void log2_is_exact(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 64; i++) {
		assert_int_equal(hist_log2(1ULL << i), i);
		assert_int_equal(hist_log2((1ULL << i) | ((1ULL << i) - 1)), i);
	}
}

static void every_bucket_begins_at_its_low(void **state)
{
	(void)state;
	for (unsigned int b = 0; b < HIST_N; b++) {
		assert_int_equal(hist_bucket(hist_low(b)), b);
		if (b)
			assert_int_equal(hist_bucket(hist_low(b) - 1), b - 1);
	}
}

static void every_bucket_ends_below_the_next_low(void **state)
{
	(void)state;
	for (unsigned int b = 0; b + 1 < HIST_N; b++) {
		assert_true(hist_low(b) < hist_low(b + 1));
		assert_int_equal(hist_bucket(hist_low(b + 1) - 1), b);
	}
}

static void buckets_are_narrow(void **state)
{
	(void)state;
	for (unsigned int b = 0; b < HIST_N; b++) {
		unsigned long long low = hist_low(b), width = hist_low(b + 1) - low;

		if (low < HIST_SUB)
			assert_int_equal(width, 1);
		else
			assert_true(width * HIST_SUB <= low);
	}
}

static void last_bucket_takes_all_that_is_longer(void **state)
{
	(void)state;
	assert_int_equal(hist_low(HIST_N), 1ULL << (HIST_MAX_LOG2 + 1));
	assert_int_equal(hist_bucket((1ULL << (HIST_MAX_LOG2 + 1)) - 1), HIST_N - 1);
	assert_int_equal(hist_bucket(1ULL << (HIST_MAX_LOG2 + 1)), HIST_N - 1);
	assert_int_equal(hist_bucket(1ULL << 63), HIST_N - 1);
	assert_int_equal(hist_bucket(~0ULL), HIST_N - 1);
}

static void buckets_never_fall(void **state)
{
	unsigned int last = 0;

	(void)state;
	for (unsigned long long ns = 0; ns < 1ULL << 20; ns++) {
		unsigned int b = hist_bucket(ns);

		assert_true(b == last || b == last + 1);
		assert_true(hist_low(b) <= ns && ns < hist_low(b + 1));
		last = b;
	}
}

static void add_sums_everything(void **state)
{
	unsigned long long total = 0, strata_sum = 0;
	struct op_sums c = {};

	(void)state;
	for (unsigned long long i = 1; i <= 1009; i++) {
		unsigned long long strata[ST_N], t = 0;

		for (int s = 0; s < ST_N; s++)
			t += strata[s] = i * (s + 1) % 97;
		total += t;
		sums_add(&c, t, 512, 512, OP_READ, i % 2);
		sums_add_strata(&c, strata, ST_SYSCALL, ST_N, i % 2);
	}
	for (int s = 0; s < ST_N; s++)
		strata_sum += c.strata[s];
	assert_int_equal(c.count, 1009);
	assert_int_equal(c.errors, 0);
	assert_int_equal(c.bytes, 1009 * 512);
	assert_int_equal(c.total_ns, total);
	assert_int_equal(strata_sum, total);
}

static void add_counts_errors_and_keeps_the_maximum(void **state)
{
	struct op_sums c = {};

	(void)state;
	sums_add(&c, 50, -EIO, 0, OP_META, 0);
	sums_add(&c, 700, 0, 0, OP_READ, 1);
	sums_add(&c, 60, -ENOENT, 0, OP_OPEN, 1);
	assert_int_equal(c.count, 3);
	assert_int_equal(c.errors, 2);
	assert_int_equal(c.io_errors, 1);
	assert_int_equal(c.bytes, 0);
	assert_int_equal(c.max_ns, 700);
	for (int s = 0; s < ST_N; s++)
		assert_int_equal(c.strata[s], 0);
}

/* The numbers of errors are those of their names, which this program has. */
static void errors_of_io(void **state)
{
	static const int always[] = { EIO,     ENOSPC, EROFS,     EDQUOT,  ETIMEDOUT, EUCLEAN,
				      EBADMSG, EILSEQ, EREMOTEIO, ENOLINK, ENOMEDIUM };
	static const int of_data[] = { ENXIO, ENODEV, ENODATA, ESTALE };
	int n = 0, n_meta = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		assert_true(errno_is_io(always[i], OP_READ) && errno_is_io(always[i], OP_OPEN));
	for (size_t i = 0; i < sizeof(of_data) / sizeof(*of_data); i++)
		assert_true(errno_is_io(of_data[i], OP_FSYNC) && !errno_is_io(of_data[i], OP_META));
	for (int err = 0; err <= MAX_ERRNO; err++) {
		n += errno_is_io(err, OP_WRITE);
		n_meta += errno_is_io(err, OP_CLOSE);
	}
	assert_int_equal(n, (sizeof(always) + sizeof(of_data)) / sizeof(int));
	assert_int_equal(n_meta, sizeof(always) / sizeof(int));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log2_is_exact),
		cmocka_unit_test(every_bucket_begins_at_its_low),
		cmocka_unit_test(every_bucket_ends_below_the_next_low),
		cmocka_unit_test(buckets_are_narrow),
		cmocka_unit_test(last_bucket_takes_all_that_is_longer),
		cmocka_unit_test(buckets_never_fall),
		cmocka_unit_test(add_sums_everything),
		cmocka_unit_test(add_counts_errors_and_keeps_the_maximum),
		cmocka_unit_test(errors_of_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
