// SPDX-License-Identifier: GPL-2.0-only
/* Paths from what the kernel side copies, whole, clipped and damaged; names of new files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/mounts.h"
#include "host/newfile.h"
#include "host/path.h"

/* A file_name of @len bytes of @names. */
static struct file_name *name_of(const char *names, size_t len, int complete)
{
	struct file_name *fn = calloc(1, sizeof(*fn));

	assert_non_null(fn);
	memcpy(fn->names, names, len);
	fn->len = len;
	fn->complete = complete;
	return fn;
}

static void joins_to(const char *names, size_t len, int complete, size_t cap, const char *expected)
{
	struct file_name *fn = name_of(names, len, complete);
	char *dst = malloc(cap);

	assert_non_null(dst);
	assert_int_equal(path_join(dst, cap, fn), strlen(expected));
	assert_string_equal(dst, expected);
	free(dst);
	free(fn);
}

#define NAMES(s) s, sizeof(s) - 1

static void whole_paths(void **state)
{
	(void)state;
	joins_to(NAMES("c\0b\0a\0"), 1, 64, "/a/b/c");
	joins_to(NAMES("file\0"), 1, 64, "/file");
	joins_to(NAMES("c\0b\0/\0"), 1, 64, "/b/c");
	joins_to(NAMES("\x1b[31m\0\xff\xfe\0"), 1, 64, "/\xff\xfe/\x1b[31m");
}

static void the_root_itself(void **state)
{
	(void)state;
	joins_to(NAMES(""), 1, 64, "/");
	joins_to(NAMES("/\0"), 1, 64, "/");
}

static void nothing_known_is_empty(void **state)
{
	(void)state;
	joins_to(NAMES(""), 0, 64, "");
}

static void clipped_paths_begin_with_dots(void **state)
{
	(void)state;
	joins_to(NAMES("c\0b\0"), 0, 64, ".../b/c");
	joins_to(NAMES("c\0b\0cut"), 0, 64, ".../b/c");
}

static void what_does_not_fit_gives_way_to_dots(void **state)
{
	(void)state;
	joins_to(NAMES("c\0b\0a\0"), 1, 10, "/a/b/c");
	joins_to(NAMES("c\0b\0a\0"), 1, 9, ".../b/c");
	joins_to(NAMES("c\0b\0a\0"), 1, 8, ".../b/c");
	joins_to(NAMES("a name too long\0dir\0"), 1, 8, "");
}

static void damaged_records_do_no_harm(void **state)
{
	struct file_name *fn = name_of("", 0, 1);
	char dst[PATH_CAP];

	(void)state;
	joins_to(NAMES("\0\0\0a\0\0b\0\0"), 1, 64, "/b/a");
	joins_to(NAMES("unended"), 1, 64, "");
	fn->len = 65535;
	memset(fn->names, 'x', sizeof(fn->names));
	assert_int_equal(path_join(dst, sizeof(dst), fn), 0);
	fn->names[PATH_BYTES - 1] = '\0';
	assert_int_equal(path_join(dst, sizeof(dst), fn), PATH_BYTES);
	memset(fn->names, '\0', sizeof(fn->names));
	assert_int_equal(path_join(dst, sizeof(dst), fn), 1);
	for (int i = 0; i < PATH_BYTES; i += 2)
		fn->names[i] = 'a' + i % 26;
	assert_int_equal(path_join(dst, sizeof(dst), fn), PATH_BYTES);
	free(fn);
}

/* The full path of inode 7 of file system 8:1, with the @names, is @expected. */
static void full_path_is(struct file_name fn, const char *names, size_t len, const char *expected)
{
	struct path_file f = { 8 << 20 | 1, 7, &fn };
	char *path;

	memcpy(fn.names, names, len);
	fn.len = len;
	path = path_full(&f);
	assert_non_null(path);
	assert_string_equal(path, expected);
	free(path);
}

static void full_paths_are_as_the_process_sees_them(void **state)
{
	const struct file_name part = {}, whole = { .complete = 1 };
	const struct file_name deleted = { .complete = 1, .deleted = 1 };

	(void)state;
	full_path_is(whole, NAMES("b\0a\0"), "/a/b");
	full_path_is(whole, NAMES(""), "/");
	full_path_is(part, NAMES("b\0a\0"), ".../a/b");
	full_path_is(part, NAMES(""), "<8:1>/inode 7");
	full_path_is(deleted, NAMES("b\0a\0"), "/a/b (deleted)");
}

static void what_no_mount_leads_to_has_its_device(void **state)
{
	const struct file_name whole = { .complete = 1, .unmounted = 1 };
	const struct file_name deleted = { .complete = 1, .unmounted = 1, .deleted = 1 };

	(void)state;
	full_path_is(whole, NAMES("b\0a\0"), "<8:1>/a/b");
	full_path_is(deleted, NAMES("b\0a\0"), "<8:1>/a/b (deleted)");
	full_path_is(whole, NAMES(""), "<8:1>/inode 7"); /* a pipe */
}

/* In place of the C library's: a file system without RENAME_NOREPLACE, like NFS. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	(void)from_dir;
	(void)from;
	(void)to_dir;
	(void)to;
	assert_int_equal(flags, RENAME_NOREPLACE);
	errno = EINVAL;
	return -1;
}

/* What a program gave as a path becomes names; what the kernel has named stays. */
static void given_paths_become_names(void **state)
{
	static const struct {
		const char *names, *expected;
		unsigned short len;
	} cases[] = {
		{ "a\0b", "/b/a", 4 },
		{ "./x//a/\0b", "/b/x/a", 10 },
		{ "../a/.\0b", "/b/../a", 9 },
		{ "./\0b", "/b", 5 },
		{ ".\0b", "/b", 4 },
		{ ".", "/.", 2 },
		{ "//etc/a.b/.c", "/etc/a.b/.c", 13 },
		{ "/", "/", 2 },
		{ "/./", "/", 4 },
		{ "a/b", "", 3 }, /* no NUL */
		{ "", "/", 0 },
	};
	char text[PATH_CAP];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct file_name name = { .len = cases[i].len, .complete = cases[i].len != 3 };

		memcpy(name.names, cases[i].names, cases[i].len);
		path_split(&name);
		path_join(text, sizeof(text), &name);
		assert_string_equal(text, cases[i].expected);
	}
}

/* Damaged names stay within their bytes. */
static void given_paths_of_any_bytes_do_no_harm(void **state)
{
	struct file_name name;
	char text[PATH_CAP];

	(void)state;
	srandom(1009);
	for (int i = 0; i < 10007; i++) {
		for (size_t at = 0; at < PATH_BYTES; at++)
			name.names[at] = "/.a\0"[random() % 4];
		if (i % 3)
			memset(name.names, i % 3 == 1 ? '/' : 'a', i % PATH_BYTES);
		name.len = random();
		path_split(&name);
		path_join(text, sizeof(text), &name);
	}
}

static void file_make(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void nothing_is_replaced_on_any_file_system(void **state)
{
	char dir[] = "/tmp/test_path-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	file_make("file");
	assert_int_equal(newfile_rename("file", "renamed"), 0);
	file_make("file");
	assert_int_equal(newfile_rename("file", "renamed"), -EEXIST);
	assert_int_equal(newfile_rename("missing", "new"), -ENOENT);
	assert_int_equal(access("new", F_OK), -1);

	assert_int_equal(mkdir("tables", 0700), 0);
	file_make("tables/one");
	assert_int_equal(newfile_rename("tables", "tables.new"), 0);
	assert_int_equal(access("tables.new/one", F_OK), 0);
	assert_int_equal(mkdir("tables", 0700), 0);
	assert_int_equal(mkdir("empty", 0700), 0);
	assert_int_equal(newfile_rename("tables", "empty"), -EEXIST);
	assert_int_equal(newfile_rename("tables", "renamed"), -EEXIST);

	assert_int_equal(unlink("tables.new/one") | unlink("file") | unlink("renamed"), 0);
	assert_int_equal(rmdir("tables.new") | rmdir("tables") | rmdir("empty"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_paths),
		cmocka_unit_test(the_root_itself),
		cmocka_unit_test(nothing_known_is_empty),
		cmocka_unit_test(clipped_paths_begin_with_dots),
		cmocka_unit_test(what_does_not_fit_gives_way_to_dots),
		cmocka_unit_test(damaged_records_do_no_harm),
		cmocka_unit_test(full_paths_are_as_the_process_sees_them),
		cmocka_unit_test(what_no_mount_leads_to_has_its_device),
		cmocka_unit_test(given_paths_become_names),
		cmocka_unit_test(given_paths_of_any_bytes_do_no_harm),
		cmocka_unit_test(nothing_is_replaced_on_any_file_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
