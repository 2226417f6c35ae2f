// SPDX-License-Identifier: GPL-2.0-only
/* The writer of JSON: what it writes is read back by another library. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct written {
	struct json json;
	char *text;
	size_t len;
};

static void begin(struct written *w)
{
	*w = (struct written){};
	w->json.out.f = open_memstream(&w->text, &w->len);
	assert_non_null(w->json.out.f);
	json_put_begin(&w->json, NULL, '{');
}

/* Ends the object, checks that it is a line of ASCII, reads it back. */
static json_t *end(struct written *w)
{
	json_t *root;

	json_put_end(&w->json, '}');
	assert_int_equal(json_end_line(&w->json), 0);
	fclose(w->json.out.f);
	for (const char *s = w->text; *s; s++)
		assert_true((*s >= 0x20 && *s < 0x7f) || (*s == '\n' && !s[1]));
	root = json_loads(w->text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(w->text);
	return root;
}

static void members_and_elements_have_commas(void **state)
{
	struct written w;

	(void)state;
	begin(&w);
	json_put_begin(&w.json, "a", '[');
	json_put_end(&w.json, ']');
	json_put_begin(&w.json, "b", '[');
	json_put_uint(&w.json, NULL, 1);
	json_put_begin(&w.json, NULL, '{');
	json_put_end(&w.json, '}');
	json_put_null(&w.json, NULL);
	json_put_end(&w.json, ']');
	json_put_bool(&w.json, "c", true);
	json_put_real(&w.json, "d", 0.25);
	json_put_int(&w.json, "e", -5);
	json_put_end(&w.json, '}');
	json_end_line(&w.json);
	assert_string_equal(w.text,
			    "{\"a\":[],\"b\":[1,{},null],\"c\":true,\"d\":0.250000,\"e\":-5}\n");
	fclose(w.json.out.f);
	free(w.text);
}

static void every_byte_and_character_comes_back(void **state)
{
	char text[0x400], *out = text;
	struct written w;
	json_t *root;

	(void)state;
	for (int c = 1; c < 0x80; c++)
		*out++ = c;
	strcpy(out, "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
	begin(&w);
	json_put_string(&w.json, "text", text);
	json_put_text(&w.json, "part", &text['a' - 1], 3);
	json_put_string(&w.json, "empty", "");
	json_put_string(&w.json, "none", NULL);
	root = end(&w);
	assert_string_equal(json_string_value(json_object_get(root, "text")), text);
	assert_string_equal(json_string_value(json_object_get(root, "part")), "abc");
	assert_true(json_is_null(json_object_get(root, "empty")));
	assert_true(json_is_null(json_object_get(root, "none")));
	assert_null(json_object_get(root, "text_bytes"));
	json_decref(root);
}

static void what_is_not_utf8_has_its_bytes_beside_it(void **state)
{
	struct written w;
	json_t *root;

	(void)state;
	begin(&w);
	json_put_string(&w.json, "key",
			"k\xff"
			"ey");
	root = end(&w);
	assert_string_equal(json_string_value(json_object_get(root, "key")), "k\xef\xbf\xbd"
									     "ey");
	assert_string_equal(json_string_value(json_object_get(root, "key_bytes")), "a/9leQ==");
	json_decref(root);
}

static void a_time_has_ms_and_its_zone(void **state)
{
	struct written w;
	json_t *root;

	(void)state;
	setenv("TZ", "<-0330>+3:30", 1);
	tzset();
	begin(&w);
	json_put_time(&w.json, "west", 86399007999999);
	json_put_time(&w.json, "never", 0);
	setenv("TZ", "UTC", 1);
	tzset();
	json_put_time(&w.json, "utc", 1000000);
	root = end(&w);
	assert_string_equal(json_string_value(json_object_get(root, "west")),
			    "1970-01-01T20:29:59.007-03:30");
	assert_string_equal(json_string_value(json_object_get(root, "utc")),
			    "1970-01-01T00:00:00.001+00:00");
	assert_true(json_is_null(json_object_get(root, "never")));
	json_decref(root);
}

static void numbers_that_readers_cannot_hold_are_strings(void **state)
{
	struct written w;
	json_t *root;

	(void)state;
	begin(&w);
	json_put_uint(&w.json, "most", INT64_MAX);
	json_put_uint(&w.json, "more", UINT64_MAX);
	root = end(&w);
	assert_int_equal(json_integer_value(json_object_get(root, "most")), INT64_MAX);
	assert_string_equal(json_string_value(json_object_get(root, "more")),
			    "18446744073709551615");
	json_decref(root);
}

/* With a buffer, and without. */
static void a_buffer_changes_nothing(void **state)
{
	static char name[300];
	char text[200];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	for (int line = 0; line < 2; line++) {
		struct text_buffer *buffer = calloc(1, sizeof(*buffer));
		struct written plain, buffered;

		begin(&plain);
		begin(&buffered);
		buffered.json.out.buffer = buffer;
		for (int i = 0; i < 997; i++) {
			struct json *const both[] = { &plain.json, &buffered.json };

			memset(text, 'a' + i % 26, sizeof(text));
			text[i % 200] = line ? '"' : 'a';
			for (int b = 0; b < 2; b++) {
				json_put_uint(both[b], name + i % 300, i);
				json_put_text(both[b], "text", text, 1 + i % 199);
				json_put_real(both[b], "real", i);
				json_put_decimal(both[b], "decimal", i, i, 4);
			}
		}
		json_put_end(&plain.json, '}');
		json_put_end(&buffered.json, '}');
		assert_int_equal(json_end_line(&plain.json), 0);
		assert_int_equal(json_end_line(&buffered.json), 0);
		assert_int_equal(plain.len, buffered.len);
		assert_memory_equal(plain.text, buffered.text, plain.len);
		fclose(plain.json.out.f);
		fclose(buffered.json.out.f);
		free(plain.text);
		free(buffered.text);
		free(buffer);
	}
}

static void a_decimal_has_all_its_digits(void **state)
{
	struct written w;

	(void)state;
	begin(&w);
	json_put_decimal(&w.json, "a", 0, 0, 0);
	json_put_decimal(&w.json, "b", 12, 7, 3);
	json_put_decimal(&w.json, "c", UINT64_MAX, 0, 6);
	json_put_decimal(&w.json, "d", UINT64_MAX, UINT64_MAX / 10, 19);
	json_put_end(&w.json, '}');
	json_end_line(&w.json);
	assert_string_equal(w.text, "{\"a\":0,\"b\":12.007,\"c\":18446744073709551615.000000,"
				    "\"d\":18446744073709551615.1844674407370955161}\n");
	fclose(w.json.out.f);
	free(w.text);
}

/* Numbers of all sizes, and those that are rounded up to a whole number. */
static void fractions_are_written_as_by_printf(void **state)
{
	uint64_t random = 4711;

	(void)state;
	for (int i = 0; i < 100003; i++) {
		struct written w;
		char expected[128];
		uint64_t n;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		n = random >> i % 64;
		n |= i % 5 ? 0 : 1023;
		begin(&w);
		json_put_1024ths(&w.json, "a", n);
		json_put_thousandths(&w.json, "b", n);
		json_end_line(&w.json);
		snprintf(expected, sizeof(expected), "{\"a\":%.17g,\"b\":%.6f\n", n / 1024.0,
			 n / 1e3);
		assert_string_equal(w.text, expected);
		fclose(w.json.out.f);
		free(w.text);
	}
}

static void a_full_disk_is_reported(void **state)
{
	struct json json = { .out = { .f = fopen("/dev/full", "w") } };

	(void)state;
	if (!json.out.f)
		skip();
	json_put_string(&json, NULL, "text");
	assert_int_equal(json_end_line(&json), -ENOSPC);
	fclose(json.out.f);
}

/* A name and its value are put together in a buffer, if the name is short enough. */
static void names_of_all_lengths_come_back(void **state)
{
	char name[257];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (const char *n = name; *n; n++) {
		struct written w;
		json_t *root;

		begin(&w);
		json_put_int(&w.json, "before", 1);
		json_put_uint(&w.json, n, UINT64_MAX);
		json_put_string(&w.json, "after", "plain");
		root = end(&w);
		assert_int_equal(json_object_size(root), 3);
		assert_string_equal(json_string_value(json_object_get(root, n)),
				    "18446744073709551615");
		assert_string_equal(json_string_value(json_object_get(root, "after")), "plain");
		json_decref(root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_elements_have_commas),
		cmocka_unit_test(every_byte_and_character_comes_back),
		cmocka_unit_test(what_is_not_utf8_has_its_bytes_beside_it),
		cmocka_unit_test(names_of_all_lengths_come_back),
		cmocka_unit_test(a_time_has_ms_and_its_zone),
		cmocka_unit_test(numbers_that_readers_cannot_hold_are_strings),
		cmocka_unit_test(a_buffer_changes_nothing),
		cmocka_unit_test(a_decimal_has_all_its_digits),
		cmocka_unit_test(fractions_are_written_as_by_printf),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
