// SPDX-License-Identifier: GPL-2.0-only
/* The kernels that bear programs with functions, by their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/load.h"

static void test_has_fix(void **state)
{
	static const struct {
		struct utsname uts;
		bool has;
	} known[] = {
		{ { .release = "6.1.36" }, true },
		{ { .release = "6.1.128-150.amzn2023.x86_64" }, true },
		{ { .release = "6.1.0-10-amd64", .version = "#1 Debian 6.1.37-1 (2023)" }, true },
		{ { .release = "6.1.0-7-amd64", .version = "#1 Debian 6.1.20-2 (2023)" }, false },
		{ { .release = "6.1.35", .version = "Debian 6.1.37-1" }, false },
		{ { .release = "6.1.0-36-oem", .version = "#36-Ubuntu SMP" }, false },
		{ { .release = "6.1" }, false },
		{ { .release = "6.1.-5" }, false },
		{ { .release = "6.1. 40" }, false },
		{ { .release = "6.1.20240101" }, false },
		{ { .release = "6.1.0-18-amd64", .version = "#1 Debian 6.1.-1 (2023)" }, false },
		{ { .release = "6.1.", .version = "Debian 6.1." }, false },
		{ { .release = "6.10.36" }, false },
		{ { .release = "6.2.36" }, false },
		{ { .release = "5.10.0-46-amd64", .version = "Debian 5.10.36-1" }, false },
		{ { .release = "5.10.0", .version = "Debian 6.1.37-1" }, false },
		{ { .release = "" }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(load_has_fix(&known[i].uts), known[i].has);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_has_fix),
	};

	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
