// SPDX-License-Identifier: GPL-2.0-only
/* The program of --run is called until it ends with 0: order, pauses, markers, what is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cmd/watch_spool.h"

#define S ((uint64_t)NS_PER_S)

/* The program: notes the first letter of the condition, and fails for all in "down". */
static const char program[] = "#!/bin/sh\n"
			      "name=${1##*Z-}; letter=${name%%.ios}\n"
			      "cd \"${0%/*}\" && printf %s \"$letter\" >>calls\n"
			      "! grep -qs \"$letter\" down\n";

static char dir[64], program_path[80];

static void file_write(const char *name, const char *text, int mode)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static int begin(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/test_watch_spool.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(program_path, sizeof(program_path), "%s/program", dir);
	file_write("program", program, 0755);
	return 0;
}

static int end(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static struct spool spool_of(void)
{
	return (struct spool){ .dir = dir, .run = program_path };
}

static void name_of(char name[64], int nth)
{
	snprintf(name, 64, "watch-20260101T00000%dZ-%c.ios", nth, 'a' + nth);
}

/* Makes @n recordings that wait; their conditions are a, b, c ... */
static void recordings_make(int n)
{
	char name[64];

	for (int i = 0; i < n; i++) {
		name_of(name, i);
		file_write(name, "recording", 0600);
		assert_int_equal(watch_spool_note(dir, name), 0);
	}
}

static bool is_there(const char *prefix, int nth, const char *suffix)
{
	char name[64], path[160];

	name_of(name, nth);
	snprintf(path, sizeof(path), "%s/%s%s%s", dir, prefix, name, suffix);
	return !access(path, F_OK);
}

/* Looks at @now until no program runs. */
static int look(struct spool *p, uint64_t now)
{
	int ms = watch_spool_look(p, now);

	while (p->is_running) {
		usleep(2000);
		ms = watch_spool_look(p, now);
	}
	return ms;
}

static void assert_calls(const char *expected)
{
	char path[96], text[100] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/calls", dir);
	f = fopen(path, "re");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	assert_string_equal(text, expected);
}

static void what_waits_is_called_once_oldest_first(void **state)
{
	struct spool p = spool_of();

	(void)state;
	recordings_make(3);
	file_write("watch-20250101T000000Z-z.ios", "never noted", 0600);
	assert_int_equal(look(&p, 0), -1);
	assert_calls("abc");
	assert_int_equal(look(&p, 1000 * S), -1);
	assert_calls("abc");
	assert_true(is_there("", 0, "") && !is_there(".", 0, ".waits"));
}

static void pauses_grow_to_five_minutes_and_another_watch_goes_on(void **state)
{
	struct spool p = spool_of(), other = spool_of();
	uint64_t now = 0, pause = 1;

	(void)state;
	recordings_make(1);
	file_write("down", "a", 0600);
	for (int i = 0; i < 11; i++) {
		look(&p, now);
		assert_int_equal(p.next_ns - now, pause * S);
		assert_true(look(&p, now + pause * S - 1) > 0); /* calls nothing */
		now += pause * S;
		pause = 2 * pause < 300 ? 2 * pause : 300;
	}
	assert_calls("aaaaaaaaaaa");
	file_write("down", "-", 0600);
	assert_int_equal(look(&other, 0), -1);
	assert_calls("aaaaaaaaaaaa");
}

static void a_program_that_fails_is_called_for_the_oldest_only(void **state)
{
	struct spool p = spool_of();

	(void)state;
	recordings_make(3);
	file_write("down", "abc", 0600);
	look(&p, 0);
	look(&p, 1 * S);
	assert_calls("aa");
	file_write("down", "-", 0600);
	assert_int_equal(look(&p, 3 * S), -1);
	assert_calls("aaabc");
}

static void a_recording_that_always_fails_stops_no_other(void **state)
{
	struct spool p = spool_of();
	uint64_t now = 0;

	(void)state;
	recordings_make(3);
	file_write("down", "a", 0600);
	for (int i = 0; i < 5; i++) {
		look(&p, now);
		now = p.next_ns ? p.next_ns : now;
	}
	assert_calls("aaaaabc");
	assert_true(is_there(".", 0, ".waits"));
	assert_true(!is_there(".", 1, ".waits") && !is_there(".", 2, ".waits"));
}

static void a_new_recording_ends_the_pause(void **state)
{
	struct spool p = spool_of();

	(void)state;
	recordings_make(1);
	file_write("down", "a", 0600);
	look(&p, 0);
	look(&p, S / 2);
	assert_calls("a");
	watch_spool_added(&p);
	look(&p, S / 2);
	assert_calls("aa");
}

static void a_recording_goes_if_asked_but_only_after_0(void **state)
{
	struct spool p = spool_of();

	(void)state;
	p.deletes = true;
	recordings_make(2);
	file_write("down", "b", 0600);
	look(&p, 0);
	assert_true(!is_there("", 0, "") && !is_there(".", 0, ".waits"));
	assert_true(is_there("", 1, "") && is_there(".", 1, ".waits"));
}

static void at_the_end_what_waits_is_called_until_a_failure(void **state)
{
	struct spool p = spool_of();

	(void)state;
	recordings_make(3);
	file_write("down", "b", 0600);
	watch_spool_end(&p);
	assert_calls("ab");
	assert_true(is_there(".", 1, ".waits") && is_there(".", 2, ".waits"));
}

static void links_are_no_markers_and_no_recordings(void **state)
{
	struct spool p = spool_of();
	char name[64], path[160];

	(void)state;
	name_of(name, 0);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(watch_spool_note(dir, name), 0);
	name_of(name, 1);
	file_write(name, "recording", 0600);
	snprintf(path, sizeof(path), "%s/.%s.waits", dir, name);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_true(watch_spool_note(dir, name) < 0);
	assert_int_equal(look(&p, 0), -1);
	assert_calls("");
}

#define SPOOL_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPOOL_TEST(what_waits_is_called_once_oldest_first),
		SPOOL_TEST(pauses_grow_to_five_minutes_and_another_watch_goes_on),
		SPOOL_TEST(a_program_that_fails_is_called_for_the_oldest_only),
		SPOOL_TEST(a_recording_that_always_fails_stops_no_other),
		SPOOL_TEST(a_new_recording_ends_the_pause),
		SPOOL_TEST(a_recording_goes_if_asked_but_only_after_0),
		SPOOL_TEST(at_the_end_what_waits_is_called_until_a_failure),
		SPOOL_TEST(links_are_no_markers_and_no_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
