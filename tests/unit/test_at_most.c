// SPDX-License-Identifier: GPL-2.0-only
/* The limit of --at-most: its text, and what it leaves out in hours and days. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/reason.h"
#include "cmd/watch_at_most.h"

#define S ((uint64_t)NS_PER_S)

static struct at_most limit_of(const char *text)
{
	struct at_most a = {};
	struct reason why = {};

	if (watch_at_most_parse(&a, text, &why))
		fail_msg("%s", why.error);
	return a;
}

static void a_limit_has_a_number_and_a_time(void **state)
{
	static const char *const wrong[] = { "",       "10",   "/h",    "10/",
					     "10/w",   "0/h",  "1/hh",  "x/h",
					     "1001/h", "-1/h", "1.5/h", "00000000000000001/h" };
	static const struct {
		const char *text;
		uint64_t n, each_ns;
	} right[] = { { "1/s", 1, S },
		      { "7/m", 7, 60 * S },
		      { "10/h", 10, 3600 * S },
		      { "1000/d", 1000, 86400 * S } };

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		struct at_most a = limit_of(right[i].text);

		assert_int_equal(a.n, right[i].n);
		assert_int_equal(a.each_ns, right[i].each_ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct at_most a = {};
		struct reason why = {};

		if (watch_at_most_parse(&a, wrong[i], &why) != -1 || a.n ||
		    !strstr(why.hint, "10/h"))
			fail_msg("'%s' is allowed", wrong[i]);
	}
}

/* Any hour has three at most: the first hour's do not count for the next one's. */
static void so_many_in_any_hour(void **state)
{
	static const struct {
		uint64_t minute;
		bool allowed;
	} list[] = { { 5, true },    { 10, true },  { 50, true },  { 51, false }, { 64, false },
		     { 65, true },   { 69, false }, { 70, true },  { 71, false }, { 110, true },
		     { 124, false }, { 300, true }, { 301, true }, { 302, true }, { 303, false } };
	struct at_most a = limit_of("3/h"), none = {};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (watch_at_most_allows(&a, 1000 * S + list[i].minute * 60 * S) != list[i].allowed)
			fail_msg("minute %llu", (unsigned long long)list[i].minute);
		assert_true(watch_at_most_allows(&none, list[i].minute));
	}
	assert_int_equal(a.written, 9);
	assert_int_equal(a.left_out, 6);
	assert_int_equal(none.left_out, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_has_a_number_and_a_time),
		cmocka_unit_test(so_many_in_any_hour),
	};

	return cmocka_run_group_tests_name("at_most", tests, NULL, NULL);
}
