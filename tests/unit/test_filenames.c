// SPDX-License-Identifier: GPL-2.0-only
/* Rows of one file have one name: the best of those that were read. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "host/filenames.h"

enum { DEV = 8 << 20 | 1 };

/* A name that was read: of the file of that generation and inode. */
static void name_read(struct filenames *n, unsigned int generation, unsigned long long ino,
		      const char *leaf, bool deleted)
{
	const unsigned long long by[2] = { FILE_KEY(DEV, false, generation), ino };
	struct file_name name = { .complete = leaf != NULL, .deleted = deleted };

	if (leaf) {
		strcpy(name.names, leaf);
		name.len = strlen(leaf) + 1;
	}
	assert_int_equal(filenames_add(n, by, &name), 0);
}

/* Reads the name of a block device, whose inode is 94. */
static void device_read(struct filenames *n, const char *path)
{
	const unsigned long long by[2] = { FILE_KEY(DEV, true, 0), 94 };
	struct file_name name = { .complete = true, .len = strlen(path) };

	strcpy(name.names, path + 1);
	assert_int_equal(filenames_add(n, by, &name), 0);
}

/* Two rows of a file have the name @expected; @lost names are counted as lost. */
static void assert_called(struct filenames *n, unsigned int generation, unsigned long long ino,
			  const char *expected, uint64_t lost)
{
	struct snapshot sn = { .n_ops = 2, .ops = calloc(2, sizeof(*sn.ops)) };

	assert_non_null(sn.ops);
	for (size_t i = 0; i < 2; i++) {
		sn.ops[i].key.op = i;
		sn.ops[i].key.by[0] = FILE_KEY(DEV, false, generation);
		sn.ops[i].key.by[1] = ino;
	}
	assert_int_equal(filenames_name(n, &sn), 0);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(sn.ops[i].by, expected);
	assert_int_equal(sn.lost[LOST_NAMES], lost);
	assert_null(n->files);
	snapshot_free(&sn);
}

static void the_best_name_is_that_of_all(void **state)
{
	struct filenames n = {};

	(void)state;
	name_read(&n, 1, 12, NULL, false);
	name_read(&n, 1, 12, "a", true);
	name_read(&n, 1, 12, "a", false);
	name_read(&n, 1, 12, "renamed", false);
	name_read(&n, 1, 12, NULL, false);
	assert_called(&n, 1, 12, "/a", 0);
	name_read(&n, 1, 12, "a", true);
	name_read(&n, 1, 12, NULL, false);
	assert_called(&n, 1, 12, "/a (deleted)", 0);
}

static void an_inode_used_again_is_another_file(void **state)
{
	struct filenames n = {};

	(void)state;
	name_read(&n, 1, 12, "a", false);
	name_read(&n, 2, 12, "b", false);
	assert_called(&n, 2, 12, "/b", 0);
	name_read(&n, 1, 12, "a", false);
	assert_called(&n, 2, 12, "<8:1>/inode 12", 1);
}

static void a_file_without_a_name_is_counted_once(void **state)
{
	struct filenames n = {};

	(void)state;
	name_read(&n, 1, 12, NULL, false);
	assert_called(&n, 1, 12, "<8:1>/inode 12", 1);
	name_read(&n, 1, 12, NULL, false);
	assert_called(&n, 1, 13, "<8:1>/inode 13", 2);
	assert_called(&n, 1, 0, "(no file)", 0);
}

/* As in containers: each its own root, and the same paths below it. Or a file that was made again,
 * with the inode that it had before. */
static void files_of_one_path_are_told_apart(void **state)
{
	static const struct {
		unsigned int generation;
		unsigned long long inode;
		const char *name, *expected;
	} cases[] = {
		{ 0, 13, "a", "/a (inode 13 on 8:1)" },
		{ 0, 12, "a", "/a (inode 12 on 8:1)" },
		{ 0, 14, "b", "/b" },
		{ 0, 15, "c", "/c (generation 0)" },
		{ 0xfedcba98, 15, "c", "/c (generation 4275878552)" },
		{ 1, 16, "d", "/d (inode 16 on 8:1, generation 1)" },
		{ 0, 17, "d", "/d (inode 17 on 8:1)" },
		{ 2, 16, "d", "/d (inode 16 on 8:1, generation 2)" },
		{ 1, 18, "e", "/e" },
		{ 2, 18, "f", "/f" },
		{ 1, 19, NULL, "<8:1>/inode 19 (generation 1)" },
		{ 2, 19, NULL, "<8:1>/inode 19 (generation 2)" },
	};
	const size_t len = sizeof(cases) / sizeof(*cases);
	struct filenames n = {};
	struct snapshot sn = {
		.n_ops = len,
		.ops = calloc(len, sizeof(*sn.ops)),
		.n_rqs = len,
		.rqs = calloc(len, sizeof(*sn.rqs)),
	};

	(void)state;
	assert_non_null(sn.ops);
	assert_non_null(sn.rqs);
	for (size_t i = 0; i < len; i++) {
		sn.ops[i].key.by[0] = FILE_KEY(DEV, false, cases[i].generation);
		sn.ops[i].key.by[1] = cases[i].inode;
		memcpy(sn.rqs[i].key.by, sn.ops[i].key.by, sizeof(sn.rqs[i].key.by));
		if (cases[i].name)
			name_read(&n, cases[i].generation, cases[i].inode, cases[i].name, false);
	}
	assert_int_equal(filenames_name(&n, &sn), 0);
	for (size_t i = 0; i < len; i++) {
		assert_string_equal(sn.ops[i].by, cases[i].expected);
		assert_string_equal(sn.rqs[i].by, cases[i].expected);
	}
	assert_null(n.files);
	snapshot_free(&sn);
}

/* Requests have names, too; what is only known by them (metadata, readahead) is no loss. */
static void files_of_requests_are_named(void **state)
{
	struct filenames n = {};
	struct snapshot sn = { .n_rqs = 4, .rqs = calloc(4, sizeof(*sn.rqs)) };

	(void)state;
	assert_non_null(sn.rqs);
	for (int i = 0; i < 3; i++) {
		sn.rqs[i].key.by[0] = FILE_KEY(DEV, i == 2, i);
		sn.rqs[i].key.by[1] = 12;
	}
	name_read(&n, 0, 12, "a", false);
	assert_int_equal(filenames_name(&n, &sn), 0);
	assert_string_equal(sn.rqs[0].by, "/a");
	assert_string_equal(sn.rqs[1].by, "<8:1>/inode 12");
	assert_int_equal(strncmp(sn.rqs[2].by, "/dev/", 5), 0);
	assert_string_equal(sn.rqs[3].by, "(no file)");
	assert_int_equal(sn.lost[LOST_NAMES], 0);
	snapshot_free(&sn);
}

/* Pages of a block device whose requests alone were seen are called like the device that was opened
 * by name: it is one. */
static void a_device_is_one_file(void **state)
{
	struct filenames n = {};
	char path[2][64];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct snapshot sn = { .n_rqs = 2, .rqs = calloc(2, sizeof(*sn.rqs)) };

		assert_non_null(sn.rqs);
		sn.rqs[0].key.by[0] = FILE_KEY(DEV, true, 0);
		sn.rqs[0].key.by[1] = DEV;
		sn.rqs[1].key.by[0] = FILE_KEY(DEV, true, 0);
		sn.rqs[1].key.by[1] = 94;
		if (i)
			device_read(&n, path[0]);
		assert_int_equal(filenames_name(&n, &sn), 0);
		strcpy(path[i], sn.rqs[0].by);
		if (i)
			assert_string_equal(sn.rqs[1].by, path[0]);
		snapshot_free(&sn);
	}
	assert_string_equal(path[0], path[1]);
}

static void a_key_has_room_for_all_of_a_file(void **state)
{
	unsigned long long key = FILE_KEY(511U << 20 | 0xfffff, true, 0xffffffff);

	(void)state;
	assert_int_equal(FILE_KEY_DEV(key), 511U << 20 | 0xfffff);
	assert_int_equal(key >> 32, 0xffffffff);
	assert_int_equal(key, FILE_KEY(511U << 20 | 0xfffff, false, 0xffffffff) | 1U << 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_name_is_that_of_all),
		cmocka_unit_test(an_inode_used_again_is_another_file),
		cmocka_unit_test(a_file_without_a_name_is_counted_once),
		cmocka_unit_test(files_of_one_path_are_told_apart),
		cmocka_unit_test(files_of_requests_are_named),
		cmocka_unit_test(a_device_is_one_file),
		cmocka_unit_test(a_key_has_room_for_all_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
