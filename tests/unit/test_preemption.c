// SPDX-License-Identifier: GPL-2.0-only
/* test_preemption.c - what each source says of a kernel's preemption model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/feature.h"

static void debugfs(void **state)
{
	(void)state;
	assert_int_equal(preemption_of_debugfs("(none) voluntary full \n"), PREEMPTION_NONE);
	assert_int_equal(preemption_of_debugfs("none (voluntary) full \n"), PREEMPTION_NONE);
	assert_int_equal(preemption_of_debugfs("none voluntary (full) \n"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_debugfs("full (lazy) \n"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_debugfs("full (later) \n"), PREEMPTION_UNKNOWN);
	assert_int_equal(preemption_of_debugfs("full (lazy"), PREEMPTION_UNKNOWN);
	assert_int_equal(preemption_of_debugfs(""), PREEMPTION_UNKNOWN);
}

static void cmdline(void **state)
{
	(void)state;
	assert_int_equal(preemption_of_cmdline("quiet preempt=full ro\n"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_cmdline("preempt=none"), PREEMPTION_NONE);
	assert_int_equal(preemption_of_cmdline("preempt=full preempt=none"), PREEMPTION_NONE);
	assert_int_equal(preemption_of_cmdline("preempt=full preempt=x"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_cmdline("rd.preempt=full xpreempt=full"),
			 PREEMPTION_UNKNOWN);
	assert_int_equal(preemption_of_cmdline("quiet -- preempt=full"), PREEMPTION_UNKNOWN);
	assert_int_equal(preemption_of_cmdline("preempt="), PREEMPTION_UNKNOWN);
	assert_int_equal(preemption_of_cmdline(""), PREEMPTION_UNKNOWN);
}

static void config(void **state)
{
	(void)state;
	assert_int_equal(preemption_of_config_line("CONFIG_PREEMPT_NONE=y\n"), PREEMPTION_NONE);
	assert_int_equal(preemption_of_config_line("CONFIG_PREEMPT_VOLUNTARY=y\n"),
			 PREEMPTION_NONE);
	assert_int_equal(preemption_of_config_line("CONFIG_PREEMPT=y\n"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_config_line("CONFIG_PREEMPT_LAZY=y\n"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_config_line("CONFIG_PREEMPT_COUNT=y\n"), PREEMPTION_UNKNOWN);
	assert_int_equal(preemption_of_config_line("# CONFIG_PREEMPT is not set\n"),
			 PREEMPTION_UNKNOWN);
}

static void version(void **state)
{
	(void)state;
	assert_int_equal(preemption_of_version("#1 SMP Debian 5.10.1"), PREEMPTION_NONE);
	assert_int_equal(preemption_of_version("#1 SMP PREEMPT Debian"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_version("#1 SMP PREEMPT_RT Debian"), PREEMPTION_FULL);
	assert_int_equal(preemption_of_version("#1 SMP PREEMPT_DYNAMIC @0"), PREEMPTION_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debugfs),
		cmocka_unit_test(cmdline),
		cmocka_unit_test(config),
		cmocka_unit_test(version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
