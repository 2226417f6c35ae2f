// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of files to unwind by, in little room: which files leave, and that rows are written only
 * where no program can be reading. The test has the map of files and the kernel's wait: when an
 * entry is removed, its rows are kept from then on until a wait has succeeded.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <bpf/bpf.h>

#include "trace/grace.h"
#include "trace/unwind.h"

enum { ROOM = 101, FILES = 17, FILES_FD = 71, GRACE_OUTER = 72, GRACE_INNER = 73 };

static struct unwind u;
static const struct grace grace = { .outer = GRACE_OUTER, .inner = GRACE_INNER };
static const struct unwind_python no_python;
static uint64_t now_s;
static struct unwind_file entries[FILES]; /* by key.ino; programs find them */
static bool found[FILES];                 /* whether there is an entry */
static bool kept[ROOM];                   /* a program may be reading the row */
static struct unwind_row before[ROOM];    /* the rows at the last permitted change */
static int waits, removals, wait_err, add_err, removal_err;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	*ts = (struct timespec){ now_s, 0 };
	return 0;
}

static unsigned int file_of(int fd, const void *key)
{
	const struct unwind_key *k = key;

	assert_int_equal(fd, FILES_FD);
	assert_in_range(k->ino, 1, FILES - 1);
	return k->ino;
}

static void nothing_was_written(void)
{
	assert_memory_equal(u.rows, before, sizeof(before));
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	unsigned int file = file_of(fd, key);

	errno = ENOENT;
	if (!found[file])
		return -1;
	memcpy(value, &entries[file], sizeof(entries[file]));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	unsigned int file = file_of(fd, key);

	nothing_was_written();
	errno = found[file] ? removal_err : ENOENT;
	if (errno)
		return -1;
	found[file] = false;
	removals++;
	for (unsigned int i = 0; i < entries[file].n; i++)
		kept[entries[file].first + i] = true;
	return 0;
}

static int wait_over(void)
{
	nothing_was_written();
	errno = wait_err;
	if (wait_err)
		return -1;
	waits++;
	memset(kept, 0, sizeof(kept));
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	const struct unwind_file *f = value;
	unsigned int file;

	assert_int_equal(flags, BPF_ANY);
	if (fd == GRACE_OUTER)
		return wait_over();
	file = file_of(fd, key);
	assert_true(f->first + f->n <= ROOM);
	for (unsigned int i = 0; i < ROOM; i++)
		if (i < f->first || i >= f->first + f->n)
			assert_memory_equal(&u.rows[i], &before[i], sizeof(before[i]));
		else
			assert_false(kept[i]);
	for (unsigned int i = 1; i < FILES; i++)
		if (i != file && found[i] && entries[i].n && f->n)
			assert_true(f->first + f->n <= entries[i].first ||
				    entries[i].first + entries[i].n <= f->first);
	memcpy(before, u.rows, sizeof(before));
	errno = add_err;
	if (add_err)
		return -1;
	entries[file] = *f;
	found[file] = true;
	return 0;
}

/* Adds @n rows of @file, whose number is the same. */
static int add(unsigned int file, unsigned int n)
{
	const struct unwind_key key = { .ino = file };
	struct unwind_row rows[ROOM] = {};

	for (unsigned int i = 0; i < n && i < ROOM; i++)
		rows[i] = (struct unwind_row){ .at = file * 1000 + i, .rule = UNWIND_SP };
	return unwind_add(&u, &key, file, rows, n, &no_python);
}

/* Whether the file has its rows: all @n, or none if there was no room. */
static bool has_rows(unsigned int file, unsigned int n)
{
	const struct unwind_file *f = &entries[file];

	assert_true(found[file]);
	assert_int_equal(f->number, file);
	assert_int_equal(f->full, !f->n);
	for (unsigned int i = 0; i < f->n; i++)
		assert_int_equal(u.rows[f->first + i].at, file * 1000 + i);
	return f->n == n;
}

static void met(unsigned int file)
{
	struct sent_stack s = { .n = 4, .start_ns = now_s * 1000000000, .frames = { 5 } };

	s.frames[1] = STACK_FRAME((unsigned long long)file, 0x1234);
	s.frames[2] = STACK_FRAME((unsigned long long)STACK_OF_PROCESS, 7);
	s.frames[3] = STACK_PYTHON_FRAME(1, 16ULL, 3);
	s.frames[4] = STACK_FRAME(3ULL, 9); /* behind the last */
	unwind_use(&u, &s);
}

static int setup(void **state)
{
	(void)state;
	now_s = 1009;
	memset(entries, 0, sizeof(entries));
	memset(found, 0, sizeof(found));
	memset(kept, 0, sizeof(kept));
	memset(before, 0, sizeof(before));
	waits = removals = wait_err = add_err = removal_err = 0;
	u = (struct unwind){ .files_fd = FILES_FD, .grace = &grace };
	u.rows_len = sizeof(before);
	u.rows = mmap(NULL, u.rows_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u.used_ns = calloc(STACK_FILES, sizeof(*u.used_ns));
	return u.rows == MAP_FAILED || !u.used_ns;
}

static int teardown(void **state)
{
	(void)state;
	unwind_close(&u);
	return 0;
}

static void the_file_met_longest_ago_leaves(void **state)
{
	(void)state;
	assert_int_equal(add(1, 41), 0);
	now_s++;
	assert_int_equal(add(2, 31), 0);
	now_s++;
	assert_int_equal(add(3, 29), 0);
	assert_int_equal(waits, 0);
	now_s += 11;
	met(1);
	now_s++;
	assert_int_equal(add(4, 23), 0);
	assert_true(has_rows(4, 23) && has_rows(1, 41) && has_rows(3, 29));
	assert_false(found[2]);
	assert_int_equal(removals, 1);
	assert_int_equal(waits, 1);
	/* 8 rows are free; the next one to leave has 29 behind file 4 */
	assert_int_equal(add(5, 37), 0);
	assert_true(has_rows(5, 37) && has_rows(4, 23) && has_rows(1, 41));
	assert_false(found[3]);
	assert_int_equal(waits, 2);
	now_s += 11;
	assert_int_equal(add(2, 31), 0); /* it comes back */
	assert_true(has_rows(2, 31));
}

static void free_rows_are_used_without_a_wait(void **state)
{
	(void)state;
	assert_int_equal(add(1, 61), 0);
	assert_int_equal(add(2, 40), 0);
	now_s += 11;
	met(2);
	assert_int_equal(add(3, 7), 0);
	assert_int_equal(add(4, 54), 0);
	assert_true(has_rows(3, 7) && has_rows(4, 54) && has_rows(2, 40));
	assert_int_equal(waits, 1);
}

/* Files in use do not push out each other, and a file that is too large pushes out none. */
static void files_in_use_stay(void **state)
{
	(void)state;
	assert_int_equal(add(1, 61), 0);
	assert_int_equal(add(2, 40), 0);
	now_s += 9;
	assert_int_equal(add(3, 7), 0);
	assert_false(has_rows(3, 7));
	now_s += 11;
	assert_int_equal(add(4, ROOM + 1), 0);
	assert_false(has_rows(4, ROOM + 1));
	met(1);
	met(2);
	now_s += 9;
	assert_int_equal(add(5, 7), 0);
	assert_false(has_rows(5, 7));
	assert_true(has_rows(1, 61) && has_rows(2, 40));
	assert_int_equal(removals, 0);
}

/* If the kernel did not wait, the rows are no place for others: not even for the file itself. */
static void rows_stay_until_a_wait_succeeds(void **state)
{
	(void)state;
	assert_int_equal(add(1, ROOM), 0);
	now_s += 11;
	wait_err = ENOMEM;
	assert_int_equal(add(2, 11), 0);
	assert_false(has_rows(2, 11));
	assert_false(found[1]);
	assert_int_equal(add(1, ROOM), 0);
	assert_false(has_rows(1, ROOM));
	found[1] = false;
	wait_err = 0;
	assert_int_equal(add(1, ROOM), 0);
	assert_true(has_rows(1, ROOM));
	assert_int_equal(waits, 1);
}

static void what_the_map_refuses_takes_no_room(void **state)
{
	(void)state;
	add_err = E2BIG;
	assert_int_equal(add(1, ROOM), -E2BIG);
	add_err = 0;
	assert_int_equal(add(2, ROOM), 0);
	assert_true(has_rows(2, ROOM));
	now_s += 11;
	removal_err = EBUSY;
	assert_int_equal(add(3, 5), 0);
	assert_false(has_rows(3, 5));
	assert_true(has_rows(2, ROOM));
}

/* Many files of all sizes come, are met, and come back; waits and entries fail at times. */
static void many_files(void **state)
{
	unsigned int seed = 4711, with_rows = 0;

	(void)state;
	for (int i = 0; i < 10007; i++) {
		unsigned int file = 1 + rand_r(&seed) % (FILES - 1), n = 1 + file * 37 % 61;

		now_s += rand_r(&seed) % 3;
		wait_err = rand_r(&seed) % 7 ? 0 : ENOMEM;
		add_err = rand_r(&seed) % 7 ? 0 : E2BIG;
		removal_err = rand_r(&seed) % 7 ? 0 : EBUSY;
		if (found[file] && entries[file].n)
			met(file);
		else if (found[file] && rand_r(&seed) % 2)
			found[file] = false; /* it was full: as a file that is met anew */
		else if (!found[file])
			assert_int_equal(add(file, n), add_err ? -E2BIG : 0);
		for (unsigned int other = 1; other < FILES; other++)
			with_rows += found[other] && has_rows(other, 1 + other * 37 % 61);
		assert_true(u.n_areas < ROOM);
	}
	assert_in_range(waits, 101, 10007);
	assert_in_range(with_rows, 10007, 10007 * FILES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_file_met_longest_ago_leaves, setup, teardown),
		cmocka_unit_test_setup_teardown(free_rows_are_used_without_a_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(files_in_use_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(rows_stay_until_a_wait_succeeds, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_map_refuses_takes_no_room, setup,
						teardown),
		cmocka_unit_test_setup_teardown(many_files, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
