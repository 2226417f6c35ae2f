// SPDX-License-Identifier: GPL-2.0-only
/* The conditions of --until: their grammar, and when they are met. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/until.h"
#include "base/clock.h"
#include "base/reason.h"
#include "cell.h"
#include "event.h"
#include "host/devices.h"

enum { VDA = 254 << 20, VDA1 = VDA | 1, VDB = VDA | 16 };

#define MS ((uint64_t)NS_PER_MS)
#define S  ((uint64_t)NS_PER_S)

static struct devices machine(void)
{
	static const struct device list[] = { { "vda", VDA, 0, false },
					      { "vda1", VDA1, VDA, false },
					      { "vdb", VDB, 0, false } };
	struct devices d = {};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		devices_add(&d, &list[i]);
	devices_sort(&d);
	return d;
}

/* Adds a condition that is well-formed. */
static struct until_cond *added(struct until *u, const char *text)
{
	struct devices d = machine();
	struct reason why = {};

	if (until_add(u, text, &d, &why))
		fail_msg("%s", why.error);
	devices_done(&d);
	return &u->conds[u->n - 1];
}

static void conditions_are_read(void **state)
{
	struct until u = {};
	const struct until_cond *c;

	(void)state;
	c = added(&u, "fsync>100ms");
	assert_int_equal(c->asked.measure, CONDITION_TIME);
	assert_int_equal(c->asked.ops, 1 << OP_FSYNC);
	assert_false(c->asked.requests);
	assert_int_equal(c->asked.above, 100 * MS);
	c = added(&u, " any > 1 ");
	assert_int_equal(c->asked.ops, ~0U);
	assert_int_equal(c->asked.above, S);
	c = added(&u, "request /dev/vdb > p99.9x3");
	assert_int_equal(c->asked.measure, CONDITION_USUAL);
	assert_int_equal(c->dev, VDB);
	assert_true(c->asked.requests && !c->asked.ops && c->asked.percentile == 99.9 &&
		    c->asked.times == 3);
	c = added(&u, "request vda p50>2us over 1.5s");
	assert_int_equal(c->asked.measure, CONDITION_PERCENTILE);
	assert_int_equal(c->asked.over_ns, 1500 * MS);
	c = added(&u, "errors>0");
	assert_int_equal(c->asked.measure, CONDITION_ERRORS);
	assert_int_equal(c->asked.over_ns, S);
	assert_true(c->asked.requests && c->asked.ops == ~0U);
	c = added(&u, "write errors>3 over 1m");
	assert_true(!c->asked.requests && c->asked.ops == 1 << OP_WRITE &&
		    c->asked.over_ns == 60 * S);
	c = added(&u, "queue vda>64 over 5s");
	assert_int_equal(c->asked.measure, CONDITION_QUEUE);
	assert_true(c->dev == VDA && c->asked.requests && c->asked.above == 64);
	assert_true(u.requests && u.ops == ~0U);
	until_done(&u);
}

static void what_is_no_condition_is_refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "fsync", "no '>'" },
		{ ">1", "no such operation" },
		{ "fsyncs>1", "no such operation" },
		{ "fsync>", "no limit behind '>'" },
		{ "fsync>1x", "units are" },
		{ "fsync vda>1", "neither a percentile" },
		{ "fsync p99>1", "'over DUR' is missing" },
		{ "fsync p100>1 over 1s", "neither a percentile" },
		{ "fsync p0>1 over 1s", "neither a percentile" },
		{ "fsync p99>1 over 0.5s", "from 1s to 1h" },
		{ "fsync p99>1 over 61m", "from 1s to 1h" },
		{ "fsync p99>1 for 5s", "only 'over DUR'" },
		{ "fsync>1 over 5s", "has no 'over DUR'" },
		{ "fsync>p99", "are like p99.9x3" },
		{ "fsync>p99x", "are like p99.9x3" },
		{ "fsync>p99x0.5", "are like p99.9x3" },
		{ "fsync>p99x3x", "are like p99.9x3" },
		{ "fsync>p9.9.9x3", "are like p99.9x3" },
		{ "fsync p0x10>1 over 1s", "neither a percentile" },
		{ "fsync p>1 over 1s", "neither a percentile" },
		{ "fsync p99>p99x3 over 5s", "not a number" },
		{ "errors>1ms", "not a whole number" },
		{ "queue>64", "'over DUR' is missing" },
		{ "queue vda p99>1 over 5s", "neither a percentile" },
		{ "request p99 vda>1 over 5s", "the disk comes first" },
		{ "request a b c>1", "too many words" },
		{ "request sdz>1", "no disk 'sdz'" },
		{ "request vda1>1", "'vda1' is a partition" },
	};
	struct devices d = machine();

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct until u = {};
		struct reason why = {};

		if (until_add(&u, wrong[i][0], &d, &why) != -1 || !strstr(why.error, wrong[i][1]))
			fail_msg("'%s': %s", wrong[i][0], why.error);
		until_done(&u);
	}
	devices_done(&d);
}

static void see_op(struct until *u, unsigned int kind, uint64_t end_ns, uint64_t took_ns, int error)
{
	until_see(u, &(struct until_event){
			     .kind = kind, .error = error, .end_ns = end_ns, .took_ns = took_ns });
}

static void see_request(struct until *u, unsigned int dev, uint64_t end_ns, uint64_t took_ns)
{
	until_see(u,
		  &(struct until_event){
			  .is_request = true, .dev = dev, .end_ns = end_ns, .took_ns = took_ns });
}

static void one_operation_is_enough(void **state)
{
	struct until u = {};
	struct until_cond *c = added(&u, "fsync>100ms"), *d = added(&u, "request vda>100ms");

	(void)state;
	see_op(&u, OP_FSYNC, 5 * S, 100 * MS, 0);
	see_op(&u, OP_WRITE, 5 * S, 101 * MS, 0);
	see_request(&u, VDB, 5 * S, 101 * MS);
	assert_false(until_met(&u));
	see_op(&u, OP_FSYNC, 7 * S, 101 * MS, 0);
	see_op(&u, OP_FSYNC, 6 * S, 103 * MS, 0);
	assert_true(c->met && !d->met);
	assert_int_equal(c->first_ns, 6 * S);
	assert_int_equal(c->last_ns, 7 * S);
	assert_string_equal(until_value(c).s, "103 ms");
	see_request(&u, VDA, 5 * S, 101 * MS);
	assert_true(d->met);
	until_done(&u);
}

/* Lets time go on in steps of 100 ms up to @to. */
static void time_goes(struct until *u, uint64_t *now, uint64_t to)
{
	for (; *now < to; *now += 100 * MS)
		until_look(u, *now);
}

static void a_percentile_is_of_its_window(void **state)
{
	struct until u = {};
	struct until_cond *c = added(&u, "fsync p90>50ms over 10s");
	uint64_t now = 100 * S;

	(void)state;
	time_goes(&u, &now, 120 * S);
	/* 8 of 80 are slow: the percentile is a quick one; then 9 of 81, and it is a slow one */
	for (unsigned int i = 0; i < 80; i++)
		see_op(&u, OP_FSYNC, now + i * 100 * MS, i % 10 ? MS : 60 * MS, 0);
	time_goes(&u, &now, 129 * S);
	assert_false(c->met);
	see_op(&u, OP_FSYNC, now - 500 * MS, 61 * MS, 0); /* half a second late */
	time_goes(&u, &now, 131 * S);
	assert_true(c->met);
	assert_in_range(c->value, 59 * MS, 61 * MS);
	/* when the window has left them behind, it is over */
	time_goes(&u, &now, 141 * S);
	c->met = false;
	time_goes(&u, &now, 160 * S);
	assert_false(c->met);
	until_done(&u);
}

static void a_window_waits_for_records_that_come_late(void **state)
{
	struct until u = {};
	struct until_cond *c = added(&u, "fsync p50>50ms over 10s");
	uint64_t now = 100 * S;

	(void)state;
	time_goes(&u, &now, 120 * S);
	for (; now < 140 * S; now += 100 * MS) {
		see_op(&u, OP_FSYNC, now, 60 * MS, 0);
		for (unsigned int i = 0; i < 2 && now > 120 * S + 900 * MS; i++)
			see_op(&u, OP_FSYNC, now - 900 * MS, MS, 0);
		until_look(&u, now);
	}
	assert_false(c->met);
	until_done(&u);
}

static void a_window_is_whole_before_it_counts(void **state)
{
	struct until u = {};
	struct until_cond *p = added(&u, "fsync p50>1ms over 10s"),
			  *e = added(&u, "errors>2 over 10s");
	uint64_t now = 100 * S;

	(void)state;
	until_look(&u, now);
	for (unsigned int i = 0; i < 3; i++)
		see_op(&u, OP_FSYNC, now, 2 * MS, EIO);
	time_goes(&u, &now, 103 * S);
	assert_true(e->met && !p->met); /* three failures are three, however long it looks */
	assert_int_equal(e->value, 3);
	for (; now < 109 * S; now += 100 * MS) {
		see_op(&u, OP_FSYNC, now, 2 * MS, 0);
		until_look(&u, now);
	}
	assert_false(p->met);
	for (; now < 113 * S; now += 100 * MS) {
		see_op(&u, OP_FSYNC, now, 2 * MS, 0);
		until_look(&u, now);
	}
	assert_true(p->met);
	until_done(&u);
}

/* A window is of ten steps: all that fails in them counts together. */
static void a_window_has_its_first_step(void **state)
{
	struct until u = {};
	struct until_cond *c = added(&u, "errors>2 over 10s");
	uint64_t now = 100 * S;

	(void)state;
	see_op(&u, OP_WRITE, 100 * S + 1, 1, EIO);
	see_op(&u, OP_WRITE, 109 * S + 999 * MS, 1, EIO);
	see_op(&u, OP_WRITE, 109 * S + 999 * MS, 1, EIO);
	time_goes(&u, &now, 115 * S);
	assert_true(c->met);
	until_done(&u);
	/* and has no eleventh */
	c = added(&u, "errors>2 over 10s");
	see_op(&u, OP_WRITE, 199 * S + 999 * MS, 1, EIO);
	see_op(&u, OP_WRITE, 210 * S + 1, 1, EIO);
	see_op(&u, OP_WRITE, 210 * S + 1, 1, EIO);
	now = 200 * S;
	time_goes(&u, &now, 225 * S);
	assert_false(c->met);
	until_done(&u);
}

/* The last failure may be what ends a run. */
static void failures_at_the_end_count(void **state)
{
	struct until u = {};
	struct until_cond *c = added(&u, "errors>0"), *p = added(&u, "write p50>1ms over 1s");
	uint64_t now = 100 * S;

	(void)state;
	time_goes(&u, &now, 105 * S);
	see_op(&u, OP_WRITE, now - 10 * MS, 2 * MS, EIO);
	until_look(&u, now);
	assert_false(c->met);
	until_end(&u, now);
	assert_true(c->met && !p->met); /* a percentile needs its whole window */
	assert_int_equal(c->first_ns, now);
	until_done(&u);
	/* what a window has left behind is over */
	c = added(&u, "errors>0");
	see_op(&u, OP_WRITE, now - 1200 * MS, 1, EIO);
	until_end(&u, now);
	assert_false(c->met);
	until_done(&u);
}

static void failures_of_io_are_errors(void **state)
{
	static const int none[] = { EAGAIN, ENOENT, EACCES, EEXIST, EINTR, EBADF, EINVAL };
	struct until u = {};
	struct until_cond *c = added(&u, "errors>0"), *w = added(&u, "write errors>0");
	uint64_t now = 100 * S;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		see_op(&u, OP_WRITE, now, 1, none[i]);
	see_op(&u, OP_META, now, 1, ENODATA); /* no such attribute */
	time_goes(&u, &now, 105 * S);
	assert_false(until_met(&u));
	see_op(&u, OP_READ, now, 1, ENODATA); /* a bad sector */
	time_goes(&u, &now, 108 * S);
	assert_true(c->met && !w->met);
	c->met = false;
	time_goes(&u, &now, 112 * S);
	assert_false(c->met);
	see_op(&u, OP_WRITE, now, 1, ENOSPC);
	until_see(&u, &(struct until_event){ .is_request = true, .failed = true, .end_ns = now });
	time_goes(&u, &now, 115 * S);
	assert_true(c->met && w->met);
	assert_int_equal(c->value, 2);
	assert_int_equal(w->value, 1);
	until_done(&u);
}

static void a_queue_is_as_long_as_its_requests_take(void **state)
{
	struct until u = {};
	struct until_cond *c = added(&u, "queue vda>3 over 5s");
	uint64_t now = 100 * S;

	(void)state;
	/* 100 requests a second of 35 ms are 3.5 in flight; of 25 ms, 2.5 */
	for (; now < 110 * S; now += 10 * MS) {
		see_request(&u, VDA, now, 25 * MS);
		see_request(&u, VDB, now, 500 * MS);
		until_look(&u, now);
	}
	assert_false(c->met);
	for (; now < 117 * S; now += 10 * MS) {
		see_request(&u, VDA, now, 45 * MS);
		until_look(&u, now);
	}
	assert_true(c->met);
	assert_string_equal(until_value(c).s, "4");
	until_done(&u);
}

static void slower_than_usual(void **state)
{
	struct until u = {};
	struct until_cond *c = added(&u, "request>p99x3");
	uint64_t now = 100 * S;

	(void)state;
	/* 10 values above the percentile are needed to know it */
	for (unsigned int i = 0; i < 900; i++)
		see_request(&u, VDA, now, i % 50 ? MS : 2 * MS);
	time_goes(&u, &now, 102 * S);
	see_request(&u, VDA, now, 900 * MS);
	assert_false(c->met);
	for (unsigned int i = 0; i < 900; i++)
		see_request(&u, VDA, now, i % 50 ? MS : 2 * MS);
	time_goes(&u, &now, 104 * S);
	see_request(&u, VDA, now, 5 * MS);
	assert_false(c->met);
	see_request(&u, VDA, now, 7 * MS);
	assert_true(c->met);
	/* what was usual is forgotten after 10 minutes */
	c->met = false;
	time_goes(&u, &now, 1000 * S);
	see_request(&u, VDA, now, 7 * MS);
	assert_false(c->met);
	until_done(&u);
}

static void there_is_a_most_of_conditions(void **state)
{
	struct until u = {};
	struct reason why = {};
	struct devices d = {};

	(void)state;
	for (int i = 0; i < UNTIL_MAX; i++)
		added(&u, "any>1");
	assert_int_equal(until_add(&u, "any>1", &d, &why), -1);
	until_done(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_read),
		cmocka_unit_test(what_is_no_condition_is_refused),
		cmocka_unit_test(one_operation_is_enough),
		cmocka_unit_test(a_percentile_is_of_its_window),
		cmocka_unit_test(a_window_is_whole_before_it_counts),
		cmocka_unit_test(a_window_has_its_first_step),
		cmocka_unit_test(failures_at_the_end_count),
		cmocka_unit_test(a_window_waits_for_records_that_come_late),
		cmocka_unit_test(failures_of_io_are_errors),
		cmocka_unit_test(a_queue_is_as_long_as_its_requests_take),
		cmocka_unit_test(slower_than_usual),
		cmocka_unit_test(there_is_a_most_of_conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
