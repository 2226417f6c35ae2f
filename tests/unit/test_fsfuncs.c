// SPDX-License-Identifier: GPL-2.0-only
/* The functions of a file system, from symbols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "trace/fsfuncs.h"

static void resolve(const char *symbols, struct fs_type *t)
{
	FILE *f = fmemopen((void *)symbols, strlen(symbols), "r");

	assert_int_equal(fsfuncs_resolve_from(f, t, 1), 0);
	fclose(f);
}

static void usual_names(void **state)
{
	struct fs_type t = { .name = "overlay" };

	(void)state;
	resolve("ffffffffc0001000 t ovl_read_iter\t[overlay]\n"
		"ffffffffc0002000 d ovl_fsync\t[overlay]\n"
		"ffffffff81003000 T ovl_open\n",
		&t);
	assert_string_equal(t.func[FS_READ], "ovl_read_iter");
	assert_string_equal(t.module[FS_READ], "overlay");
	assert_string_equal(t.func[FS_FSYNC], ""); /* that is data */
	assert_string_equal(t.func[FS_OPEN], "ovl_open");
	assert_string_equal(t.module[FS_OPEN], "");
}

/* Addresses as the kernel prints them with %pS. */
static void addresses(void **state)
{
	struct fs_type t = { .name = "ext4", .addr = { 0xffffffffc0001000, 0xffffffff81002000 } };

	(void)state;
	resolve("ffffffffc0001000 t ext4_dax_read_iter+0x0/0x1f0 [ext4]\n"
		"ffffffff81002000 t generic_file_write_iter+0x0/0xb0\n"
		"0 t 0x0\n",
		&t);
	assert_string_equal(t.func[FS_READ], "ext4_dax_read_iter");
	assert_string_equal(t.module[FS_READ], "ext4");
	assert_string_equal(t.func[FS_WRITE], "generic_file_write_iter");
	assert_string_equal(t.module[FS_WRITE], "");
	assert_string_equal(t.func[FS_OPEN], "");
}

/* Types whose functions have another name than the type. */
static void other_names(void **state)
{
	static const char *const names[][2] = { { "virtiofs", "fuse_file_read_iter" },
						{ "smb3", "cifs_file_read_iter" },
						{ "ntfs3", "ntfs_file_read_iter" },
						{ "bcachefs", "bch2_read_iter" } };
	char line[96];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct fs_type t = {};

		strcpy(t.name, names[i][0]);
		snprintf(line, sizeof(line), "ffffffffc0001000 t %s\t[module]\n", names[i][1]);
		resolve(line, &t);
		assert_string_equal(t.func[FS_READ], names[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_names),
		cmocka_unit_test(other_names),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
