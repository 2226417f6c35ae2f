// SPDX-License-Identifier: GPL-2.0-only
/* The part of the recordings' timeline that is shown, and its length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/reason.h"
#include "cmd/report_time.h"

#define SEC  1000000000ULL
#define REAL (1000 * SEC) /* when the first recording begins, CLOCK_REALTIME */
#define BOOT (50 * SEC)   /* the same moment, CLOCK_MONOTONIC */

/* A recording that begins @after_ns after the first, and ended @duration_ns later. */
static struct recording recording(uint64_t after_ns, uint64_t duration_ns)
{
	return (struct recording){
		.header = { .realtime_ns = REAL + after_ns, .monotonic_ns = BOOT + after_ns },
		.ending.duration_ns = duration_ns,
		.reader.ended = true,
	};
}

static void add(struct report_time *t, struct recording rec)
{
	assert_int_equal(report_time_add(t, &rec), 0);
}

static void the_whole(void **state)
{
	struct report_time t = { .first_ns = REAL };
	struct recording rec = recording(0, 10 * SEC);
	struct reason why = {};

	(void)state;
	assert_int_equal(recording_part_check(&t.part, &why), 0);
	report_time_window(&t, &rec);
	assert_int_equal(rec.from_ns, 0);
	assert_int_equal(rec.to_ns, 0);
	add(&t, rec);
	assert_int_equal(report_time_reached(&t, &why), 0);
	assert_int_equal(report_time_interval(&t, 0), 10 * SEC);
	report_time_done(&t);
}

static void a_part(void **state)
{
	struct report_time t = { .first_ns = REAL, .part.from_ns = 2 * SEC, .part.to_ns = 7 * SEC };
	struct recording late = recording(3 * SEC, 10 * SEC);
	struct reason why = {};

	(void)state;
	assert_int_equal(recording_part_check(&t.part, &why), 0);
	report_time_window(&t, &late); /* in its own clock, from where the first one begins */
	assert_int_equal(late.from_ns, BOOT + 2 * SEC);
	assert_int_equal(late.to_ns, BOOT + 7 * SEC);
	add(&t, late);
	assert_int_equal(report_time_interval(&t, 0), 4 * SEC);
	add(&t, recording(0, 3 * SEC));
	assert_int_equal(report_time_interval(&t, 0), 5 * SEC);
	report_time_done(&t);
}

static void intervals_are_cut_at_both_ends(void **state)
{
	struct report_time t = {
		.first_ns = REAL,
		.part.from_ns = SEC,
		.part.to_ns = 9 * SEC,
		.every_ns = 3 * SEC,
	};

	(void)state;
	add(&t, recording(2 * SEC, 6 * SEC));                   /* from 2 s to 8 s */
	assert_int_equal(report_time_interval(&t, 0), 2 * SEC); /* 1 to 4 */
	assert_int_equal(report_time_interval(&t, 1), 3 * SEC);
	assert_int_equal(report_time_interval(&t, 2), 1 * SEC); /* 7 to 9 */
	assert_int_equal(report_time_interval(&t, 3), 0);
	t.part.to_ns = 5 * SEC;
	assert_int_equal(report_time_interval(&t, 1), SEC);
	add(&t, recording(0, 10 * SEC)); /* at the same time */
	assert_int_equal(report_time_interval(&t, 1), 2 * SEC);
	report_time_done(&t);
}

static void a_pause_between_recordings(void **state)
{
	struct report_time t = { .first_ns = REAL };

	(void)state;
	assert_int_equal(report_time_across(&t), 0);
	add(&t, recording(20 * SEC, 3 * SEC));
	add(&t, recording(0, 10 * SEC));
	assert_int_equal(report_time_across(&t), 23 * SEC);
	assert_int_equal(report_time_interval(&t, 0), 13 * SEC);
	t.part.from_ns = 2 * SEC;
	assert_int_equal(report_time_across(&t), 21 * SEC);
	t.part.to_ns = 5 * SEC;
	assert_int_equal(report_time_across(&t), 3 * SEC);
	report_time_done(&t);
}

static void from_past_the_end(void **state)
{
	struct report_time t = { .first_ns = REAL };
	struct reason why = {};

	(void)state;
	add(&t, recording(0, 10 * SEC));
	t.part.from_ns = 10 * SEC - 1;
	assert_int_equal(report_time_reached(&t, &why), 0);
	t.part.from_ns = 10 * SEC;
	assert_int_equal(report_time_reached(&t, &why), -1);
	assert_int_equal(why.exit, EXIT_FAILED);
	assert_non_null(strstr(why.error, "the recording is 10"));
	add(&t, recording(12 * SEC, SEC));
	assert_int_equal(report_time_reached(&t, &why), 0);
	t.part.from_ns = 13 * SEC;
	assert_int_equal(report_time_reached(&t, &why), -1);
	assert_non_null(strstr(why.error, "the recordings are 13"));
	report_time_done(&t);
}

static void what_has_no_end_lasts_as_long_as_its_last_record(void **state)
{
	struct report_time t = { .first_ns = REAL };
	struct recording rec = recording(SEC, 0);

	(void)state;
	rec.reader.ended = false;
	rec.last_ns = rec.header.monotonic_ns + 4 * SEC;
	add(&t, rec);
	assert_int_equal(report_time_interval(&t, 0), 4 * SEC);
	rec.last_ns = 0; /* nothing in it */
	add(&t, rec);
	assert_int_equal(report_time_interval(&t, 0), 4 * SEC);
	report_time_done(&t);
}

static void to_is_after_from(void **state)
{
	struct report_time t = { .part.from_ns = SEC, .part.to_ns = SEC };
	struct reason why = {};

	(void)state;
	assert_int_equal(recording_part_check(&t.part, &why), -1);
	assert_int_equal(why.exit, EXIT_USAGE);
	t.part.to_ns++;
	assert_int_equal(recording_part_check(&t.part, &why), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole),
		cmocka_unit_test(a_part),
		cmocka_unit_test(intervals_are_cut_at_both_ends),
		cmocka_unit_test(a_pause_between_recordings),
		cmocka_unit_test(from_past_the_end),
		cmocka_unit_test(what_has_no_end_lasts_as_long_as_its_last_record),
		cmocka_unit_test(to_is_after_from),
	};

	return cmocka_run_group_tests_name("report_time", tests, NULL, NULL);
}
