// SPDX-License-Identifier: GPL-2.0-only
/* The symbols of the kernel: how they are found, and which ones stay in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/kallsyms.h"

static const char text[] = "ffffffff81000000 T vfs_read\n"
			   "ffffffff81000100 t vfs_read.cold\n"
			   "ffffffff81000200 T kernel_vfs_read\n"
			   "ffffffff81000300 t twice\n"
			   "ffffffff81000400 t twice\n"
			   "0000000000000000 T hidden\n"
			   "ffffffffc0000000 t ext4_read\t[ext4]\n"
			   "ffffffffc0000100 t last";

static void test_find(void **state)
{
	(void)state;
	assert_int_equal(kallsyms_find(text, "vfs_read"), 0xffffffff81000000);
	assert_int_equal(kallsyms_find(text, "vfs_read.cold"), 0xffffffff81000100);
	assert_int_equal(kallsyms_find(text, "kernel_vfs_read"), 0xffffffff81000200);
	assert_int_equal(kallsyms_find(text, "ext4_read"), 0xffffffffc0000000);
	assert_int_equal(kallsyms_find(text, "last"), 0xffffffffc0000100);
}

static void test_not_found(void **state)
{
	(void)state;
	assert_int_equal(kallsyms_find(text, "twice"), 0);
	assert_int_equal(kallsyms_find(text, "hidden"), 0);
	assert_int_equal(kallsyms_find(text, "read"), 0);
	assert_int_equal(kallsyms_find(text, "vfs"), 0);
	assert_int_equal(kallsyms_find(text, "ffffffff81000000 T vfs_read"), 0);
	assert_int_equal(kallsyms_find("", "vfs_read"), 0);
	assert_int_equal(kallsyms_find("vfs_read", "vfs_read"), 0);
}

static void test_functions(void **state)
{
	static const char *const names[] = { "ext4_read",       "twice",    "vfs_read",
					     "hidden",          "vfs_read", "vfs",
					     "kernel_vfs_read", "last",     "ext4_read\t" };
	struct kallsyms_function list[9];

	for (int i = 0; i < 9; i++)
		list[i].name = names[i];
	(void)state;
	kallsyms_find_functions(text, list, 9);
	assert_int_equal(list[0].from, 0xffffffffc0000000);
	assert_int_equal(list[0].to, 0xffffffffc0000100);
	assert_int_equal(list[1].from, 0);
	assert_int_equal(list[1].symbols, 2);
	assert_int_equal(list[1].to, 0);
	assert_int_equal(list[2].from, 0xffffffff81000000);
	assert_int_equal(list[2].to, 0xffffffff81000100);
	assert_int_equal(list[3].from, 0);
	assert_int_equal(list[4].to, 0xffffffff81000100);
	assert_int_equal(list[5].symbols, 0);
	assert_int_equal(list[6].to, 0xffffffff81000300);
	assert_int_equal(list[7].from, 0xffffffffc0000100);
	assert_int_equal(list[7].to, 0xffffffffc0000100 + 4096);
	assert_int_equal(list[8].symbols, 0);
	kallsyms_find_functions("vfs_read", list, 9);
	kallsyms_find_functions("\n \n1 T\n1 T \n\t", list, 9);
	assert_int_equal(list[2].from, 0);
	/* two names of one function */
	kallsyms_find_functions("1000 T vfs_read\n1000 t other\n2000 T last\n", list, 9);
	assert_int_equal(list[2].to, 0x2000);
	kallsyms_find_functions("", list, 9);
	kallsyms_cached_functions(list, 9);
	assert_int_equal(list[2].symbols, 0);
}

static int lines_of(FILE *f)
{
	int n = 0, c;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static void test_kept(void **state)
{
	int n;

	(void)state;
	assert_int_equal(kallsyms_cached("vfs_read"), 0);
	n = lines_of(kallsyms_open());
	assert_true(n > 1000);
	assert_int_equal(lines_of(kallsyms_open()), n);
	kallsyms_forget();
	kallsyms_forget();
	assert_int_equal(kallsyms_cached("vfs_read"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests_name("kallsyms", tests, NULL, NULL);
}
