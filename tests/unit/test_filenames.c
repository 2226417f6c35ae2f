// SPDX-License-Identifier: GPL-2.0-only
/* Rows of one file have one name: the best of those that were read. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "host/directories.h"
#include "host/filenames.h"

enum { DEV = 8 << 20 | 1 };

/* Adds the name @leaf, not complete if it begins with a dot, to @name. */
static void leaf_add(struct filenames *n, const unsigned long long by[2], struct file_name *name,
		     const char *leaf)
{
	if (leaf) {
		strcpy(name->names, leaf);
		name->len = strlen(leaf) + 1;
		name->complete = *leaf != '.';
	}
	assert_int_equal(filenames_add(n, by, name), 0);
}

/* A name that was read: of the file of that generation and inode. */
static void name_read(struct filenames *n, unsigned int generation, unsigned long long ino,
		      const char *leaf, bool deleted)
{
	const unsigned long long by[2] = { FILE_KEY(DEV, false, generation), ino };
	struct file_name name = { .deleted = deleted };

	leaf_add(n, by, &name, leaf);
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

/* A file made one after another at one path, or in containers, each with its own root and the same
 * paths below it. */
struct at_path {
	unsigned int dev, generation;
	unsigned long long inode;
	unsigned short directory;
	const char *name, *expected;
};

/* Rows of operations and of requests, one of each for each of @cases, named. */
static void rows_named(const struct at_path *cases, size_t len, struct snapshot *ret)
{
	struct filenames n = {};

	*ret = (struct snapshot){ .n_ops = len,
				  .ops = calloc(len, sizeof(*ret->ops)),
				  .n_rqs = len,
				  .rqs = calloc(len, sizeof(*ret->rqs)) };
	assert_non_null(ret->ops);
	assert_non_null(ret->rqs);
	for (size_t i = 0; i < len; i++) {
		struct file_name name = { .directory = cases[i].directory };
		unsigned long long *by = ret->ops[i].key.by;

		by[0] = FILE_KEY(cases[i].dev, false, cases[i].generation);
		by[1] = cases[i].inode;
		ret->ops[i].count = ret->rqs[i].count = 1;
		memcpy(ret->rqs[i].key.by, by, sizeof(ret->rqs[i].key.by));
		leaf_add(&n, by, &name, cases[i].name);
	}
	assert_int_equal(filenames_name(&n, ret), 0);
	assert_null(n.files);
}

static void files_of_one_path_are_told_apart(void **state)
{
	static const struct at_path cases[] = {
		{ DEV, 0, 13, 1, "a", "/a (inode 13 on 8:1)" },
		{ DEV, 0, 12, 3, "a", "/a (inode 12 on 8:1)" },
		{ DEV + 1, 0, 12, 3, "a", "/a (inode 12 on 8:2)" },
		{ DEV, 0, 14, 1, "b", "/b" },
		{ DEV, 0, 15, 1, ".c", ".../.c (generation 0)" },
		{ DEV, 0xfedcba98, 15, 1, ".c", ".../.c (generation 4275878552)" },
		{ DEV, 1, 18, 1, "e", "/e" },
		{ DEV, 2, 18, 1, "f", "/f" },
		{ DEV, 1, 19, 0, NULL, "<8:1>/inode 19 (generation 1)" },
		{ DEV, 2, 19, 0, NULL, "<8:1>/inode 19 (generation 2)" },
		{ DEV, 1, 20, 1, ".g", ".../.g (inode 20 on 8:1)" },
		{ DEV, 1, 21, 1, ".g", ".../.g (inode 21 on 8:1)" },
	};
	const size_t len = sizeof(cases) / sizeof(*cases);
	struct snapshot sn;

	(void)state;
	rows_named(cases, len, &sn);
	assert_int_equal(sn.n_ops, len);
	assert_int_equal(sn.n_files, 0);
	for (size_t i = 0; i < len; i++) {
		assert_string_equal(sn.ops[i].by, cases[i].expected);
		assert_string_equal(sn.rqs[i].by, cases[i].expected);
	}
	snapshot_free(&sn);
}

/* A journal, an editor's save, a rotated log: each time another inode, or another generation. */
static void files_made_anew_at_one_path_are_one_row(void **state)
{
	static const struct at_path cases[] = {
		{ DEV, 3, 13, 1, "j", NULL }, { DEV, 2, 13, 1, "j", NULL },
		{ DEV, 1, 12, 1, "j", NULL }, { DEV, 1, 13, 5, "j", NULL },
		{ DEV, 1, 14, 1, "k", NULL }, { DEV, 2, 14, 1, "k", NULL },
	};
	static const char *const names[] = { "/j (inode 12 on 8:1 and 2 more)",
					     "/j (inode 13 on 8:1)", "/k" };
	static const size_t files[] = { 3, 1, 2 };
	const struct row_file *list;
	struct snapshot sn;
	size_t n;

	(void)state;
	rows_named(cases, 6, &sn);
	assert_int_equal(sn.n_ops, 3);
	assert_int_equal(sn.n_rqs, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(sn.ops[i].by, names[i]);
		assert_string_equal(sn.rqs[i].by, names[i]);
		assert_int_equal(sn.ops[i].count, files[i]);
		assert_int_equal(sn.rqs[i].count, files[i]);
		n = 1;
		list = snapshot_files(&sn, sn.ops[i].key.by, &n);
		assert_int_equal(n, files[i]);
		assert_true(files[i] == 1 ? !list : list[n - 1].by[1] > 11);
	}
	snapshot_free(&sn);
}

/* Adds the name of a file that a call named, and which has no inode. */
static void path_read(struct filenames *n, const unsigned long long by[2], const char *path,
		      bool missing, unsigned short directory)
{
	struct file_name name = { .deleted = missing ? NAME_MISSING : 0, .directory = directory };

	leaf_add(n, by, &name, path);
}

/* A file that was missing, and made later, is one row; one that was always missing is called so. */
static void files_known_by_their_path_join_those_with_an_inode(void **state)
{
	static const struct {
		unsigned long long by[2];
		unsigned short directory;
		bool missing;
		const char *path, *expected;
	} cases[] = {
		{ { FILE_KEY(DEV, 0, GENERATION_OF_PATH), 1009 }, 1, true, "a", "/a" },
		{ { FILE_KEY(DEV, 0, 5), 12 }, 1, false, "a", "/a" },
		{ { FILE_KEY(DEV, 0, GENERATION_OF_PATH), 1012 }, 1, false, "a", "/a" },
		{ { FILE_KEY(0, 0, GENERATION_OF_PATH), 1011 }, 0, true, "a//", "/a" },
		{ { FILE_KEY(DEV, 0, GENERATION_OF_PATH), 1013 },
		  1,
		  true,
		  "b//c",
		  "/b/c (ENOENT)" },
		{ { FILE_KEY(0, 0, GENERATION_OF_PATH), 1017 }, 0, true, "b/c", "/b/c (ENOENT)" },
		{ { FILE_KEY(DEV, 0, GENERATION_OF_PATH), 1019 },
		  1,
		  false,
		  NULL,
		  "(path not read)" },
		/* as a recording has them: no directory with a path */
		{ { FILE_KEY(DEV, 0, 7), 13 }, 1, false, "c", "/c" },
		{ { FILE_KEY(0, 0, GENERATION_OF_PATH), 1021 }, 0, false, "c", "/c" },
		{ { FILE_KEY(DEV, 0, GENERATION_OF_PATH), 1031 }, 0, false, "c", "/c" },
	};
	enum { N = sizeof(cases) / sizeof(*cases) };
	struct snapshot sn = { .n_ops = N, .ops = calloc(N, sizeof(*sn.ops)) };
	struct filenames n = {};

	(void)state;
	assert_non_null(sn.ops);
	for (int i = 0; i < N; i++) {
		memcpy(sn.ops[i].key.by, cases[i].by, sizeof(cases[i].by));
		sn.ops[i].count = 1;
		path_read(&n, cases[i].by, cases[i].path, cases[i].missing, cases[i].directory);
	}
	assert_int_equal(filenames_name(&n, &sn), 0);
	assert_int_equal(sn.n_ops, 4);
	for (size_t i = 0; i < sn.n_ops; i++) {
		const char *by = sn.ops[i].by;

		assert_int_equal(sn.ops[i].count, *by == '('     ? 1
						  : by[1] == 'a' ? 4
						  : by[1] == 'c' ? 3
								 : 2);
		if (by[1] == 'a')
			assert_int_equal(sn.ops[i].key.by[1], 12);
		for (int j = 0; j < N; j++)
			if (cases[j].expected[1] == by[1])
				assert_string_equal(by, cases[j].expected);
	}
	assert_int_equal(sn.n_files, 0);
	assert_int_equal(sn.lost[LOST_NAMES], 1);
	snapshot_free(&sn);
}

static void a_file_that_was_missing_only_at_first_is_not_called_so(void **state)
{
	static const unsigned long long by[2] = { FILE_KEY(0, 0, GENERATION_OF_PATH), 1033 };

	(void)state;
	for (int missing = 0; missing < 4; missing++) {
		struct snapshot sn = { .n_ops = 1, .ops = calloc(1, sizeof(*sn.ops)) };
		struct filenames n = {};

		assert_non_null(sn.ops);
		memcpy(sn.ops->key.by, by, sizeof(by));
		path_read(&n, by, "a", missing & 1, 0);
		path_read(&n, by, "a", missing & 2, 0);
		assert_int_equal(filenames_name(&n, &sn), 0);
		assert_string_equal(sn.ops->by, missing == 3 ? "/a (ENOENT)" : "/a");
		snapshot_free(&sn);
	}
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
		sn.rqs[0].count = sn.rqs[1].count = 1;
		if (i)
			device_read(&n, path[0]);
		assert_int_equal(filenames_name(&n, &sn), 0);
		assert_int_equal(sn.n_rqs, 1);
		strcpy(path[i], sn.rqs[0].by);
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

static void directory_is(const char *path, unsigned int depth, const char *want)
{
	char text[64];

	strcpy(text, path);
	directory_cut(text, depth);
	assert_string_equal(text, want);
}

/* Directories: a path is cut to its directory, and to a depth below the root. */
static void a_path_is_cut_to_its_directory(void **state)
{
	(void)state;
	directory_is("/a/b/c", 0, "/a/b");
	directory_is("/a/b/c (deleted)", 0, "/a/b");
	directory_is("/a", 0, "/");
	directory_is("/", 0, "/");
	directory_is("/a/b/c", 1, "/a");
	directory_is("/a/b/c", 2, "/a/b");
	directory_is("/a/b/c", 3, "/a/b");
	directory_is("/a/b/c", 1000, "/a/b");
	directory_is("/a", 1, "/");
	directory_is(".../b/c/d", 0, ".../b/c");
	directory_is(".../b/c/d", 1, ".../b/c"); /* its depth is not known */
	directory_is("<8:1>/b/c", 0, "<8:1>/b");
	directory_is("<8:1>/b/c/d", 1, "<8:1>/b");
	directory_is("inode 12", 1, "inode 12");
}

/* Directories: rows of files in one directory are one row, those without a file stay apart. */
static void rows_of_a_directory_are_joined(void **state)
{
	static const char *const paths[] = { "/d/a", "/d/b", "/e/a", NULL };
	struct snapshot sn = { .ops = calloc(4, sizeof(*sn.ops)), .n_ops = 4 };
	size_t n = 0;

	(void)state;
	assert_non_null(sn.ops);
	for (size_t i = 0; i < 4; i++)
		sn.ops[i] = (struct op_row){ .key = { .op = OP_READ,
						      .by = { DEV, paths[i] ? i + 1 : 0 } },
					     .by = paths[i] ? strdup(paths[i]) : NULL,
					     .count = 1ULL << i };
	assert_int_equal(directory_rows(&sn, 0), 0);
	assert_int_equal(sn.n_ops, 3);
	for (size_t i = 0; i < sn.n_ops; i++) {
		const struct op_row *r = &sn.ops[i];

		n += !r->by && r->count == 8;
		n += r->by && !strcmp(r->by, "/d") && r->count == 3;
		n += r->by && !strcmp(r->by, "/e") && r->count == 4;
	}
	assert_int_equal(n, 3);
	snapshot_free(&sn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_name_is_that_of_all),
		cmocka_unit_test(an_inode_used_again_is_another_file),
		cmocka_unit_test(a_file_without_a_name_is_counted_once),
		cmocka_unit_test(files_of_one_path_are_told_apart),
		cmocka_unit_test(files_made_anew_at_one_path_are_one_row),
		cmocka_unit_test(files_known_by_their_path_join_those_with_an_inode),
		cmocka_unit_test(a_file_that_was_missing_only_at_first_is_not_called_so),
		cmocka_unit_test(files_of_requests_are_named),
		cmocka_unit_test(a_device_is_one_file),
		cmocka_unit_test(a_key_has_room_for_all_of_a_file),
		cmocka_unit_test(a_path_is_cut_to_its_directory),
		cmocka_unit_test(rows_of_a_directory_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
