// SPDX-License-Identifier: GPL-2.0-only
/* An array grows by half, keeps its elements, and stays as it is where memory runs out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/list.h"

/* With SAN=1, memory runs out as it does elsewhere. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void it_grows_and_keeps_its_elements(void **state)
{
	uint32_t *list = NULL;
	size_t cap = 0, grown = 0, was;

	(void)state;
	for (uint32_t n = 0; n < 10007; n++) {
		was = cap;
		assert_int_equal(list_reserve((void **)&list, &cap, n, sizeof(*list)), 0);
		assert_true(cap > n);
		assert_true(cap == was || cap >= was + was / 2);
		grown += cap != was;
		list[n] = n * 23;
	}
	assert_in_range(grown, 5, 20);
	for (uint32_t n = 0; n < 10007; n++)
		assert_int_equal(list[n], n * 23);
	free(list);
}

static void without_memory_nothing_changes(void **state)
{
	char first[7] = "as ever";
	void *list = first;
	size_t cap = 7;

	(void)state;
	assert_int_equal(list_reserve(&list, &cap, 6, SIZE_MAX / 2), 0);
	assert_int_equal(list_reserve(&list, &cap, 7, SIZE_MAX / 2), -ENOMEM);
	assert_ptr_equal(list, first);
	assert_int_equal(cap, 7);
	assert_memory_equal(first, "as ever", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_grows_and_keeps_its_elements),
		cmocka_unit_test(without_memory_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
