// SPDX-License-Identifier: GPL-2.0-only
/* One description of columns as text, JSON, CSV and order. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/columns.h"

struct row {
	const char *name;
	uint64_t count, ns, failed;
};

static void name(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->text = ((const struct row *)row)->name;
}

static void rate(struct value *ret, const void *row, const void *ctx)
{
	ret->n = ((const struct row *)row)->count;
	ret->of = *(const uint64_t *)ctx;
}

static void mean(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct row *)row)->ns;
	ret->of = ((const struct row *)row)->count;
}

static void share(struct value *ret, const void *row, const void *ctx)
{
	(void)ctx;
	ret->n = ((const struct row *)row)->failed;
	ret->of = ((const struct row *)row)->count;
}

static const struct column list[] = {
	{ "name", "who", VALUE_TEXT, .get = name, .cut = TEXT_CUT_MIDDLE },
	{ "count", "count", VALUE_COUNT, .at = offsetof(struct row, count), .max = 7 },
	{ "failed", "failed", VALUE_COUNT, .at = offsetof(struct row, failed), .max = 6,
	  .optional = true },
	{ "total_ns", "total", VALUE_TIME, .at = offsetof(struct row, ns), .max = 7 },
	{ "rate", "rate", VALUE_RATE, .get = rate, .max = 7, .rank = 1 },
	{ NULL, "share", VALUE_SHARE, .get = share, .max = 5, .rank = 2 },
	{ "id", NULL, VALUE_ID, .at = offsetof(struct row, ns) },
	{}
};

static const uint64_t second = 1000000000;
static const struct row one = { "one", 23, 1500, 0 }, two = { "a\"b\033\xff", 1009, 780000, 101 },
			none = { NULL, 0, 7, 0 }, longer = { "one more", 0, 0, 0 };
static const void *const rows[] = { &one, &two, &none };

static const struct columns usual = { .list = list, .ctx = &second, .width = 80 };

struct printed {
	struct text_out out;
	char *text;
	size_t len;
};

static void print_begin(struct printed *p)
{
	*p = (struct printed){};
	p->out.f = open_memstream(&p->text, &p->len);
	assert_non_null(p->out.f);
}

static void print_end(struct printed *p, const char *expected)
{
	fclose(p->out.f);
	assert_string_equal(p->text, expected);
	free(p->text);
}

static void text_is_aligned_and_safe(void **state)
{
	struct printed p;

	(void)state;
	print_begin(&p);
	columns_text(&p.out, &usual, rows, 3);
	print_end(&p, "who          count  failed    total     rate  share\n"
		      "one             23       0  1.50 us   23.0/s     0%\n"
		      "a\"b\\x1b\\xff  1,009     101   780 us  1.01k/s    10%\n"
		      "-                0       0     7 ns      0/s      -\n");
}

static void what_all_rows_lack_is_left_out(void **state)
{
	struct printed p;

	(void)state;
	print_begin(&p);
	columns_text(&p.out, &usual, rows, 1);
	print_end(&p, "who  count    total    rate  share\n"
		      "one     23  1.50 us  23.0/s     0%\n");
}

static void narrow_lines_lose_columns_then_letters(void **state)
{
	struct columns t = usual;
	struct printed p;
	struct row row = { "/a/rather/long/path/of/some/file.c", 23, 1500, 1 };
	const void *const path[] = { &row };

	(void)state;
	t.width = 50;
	print_begin(&p);
	columns_text(&p.out, &t, path, 1);
	print_end(&p, "who                    count failed   total   rate\n"
		      "/a/rat...f/some/file.c    23      1 1.50 us 23.0/s\n");
}

static void uncut_text_is_whole(void **state)
{
	struct columns t = usual;
	struct row row = { "/a/rather/long/path/of/some/file.c", 23, 1500, 0 };
	const void *const path[] = { &row };
	struct printed p;

	(void)state;
	t.width = 40;
	t.uncut = true;
	print_begin(&p);
	columns_text(&p.out, &t, path, 1);
	print_end(&p, "who                                count   total\n"
		      "/a/rather/long/path/of/some/file.c    23 1.50 us\n");
}

/* With separators, as long as there is room for them. */
static void counts_are_alike(void **state)
{
	static const struct row many = { "many", 123456, 0, 99999 };
	static const struct row more = { "more", 0, 0, 999999 };
	const void *const both[] = { &many, &more };
	struct columns t = usual;
	struct printed p;

	(void)state;
	t.width = 24;
	print_begin(&p);
	columns_text(&p.out, &t, both, 2);
	print_end(&p, "who    count failed total\n"
		      "many 123,456 99,999  0 ns\n"
		      "more       0  1.00M  0 ns\n");
}

static void milliseconds_are_in_titles(void **state)
{
	struct columns t = usual;
	struct printed p;

	(void)state;
	t.milliseconds = true;
	print_begin(&p);
	columns_text(&p.out, &t, rows, 1);
	print_end(&p, "who  count  total ms    rate  share\n"
		      "one     23   0.00150  23.0/s     0%\n");
}

static void json_has_what_has_a_name(void **state)
{
	struct printed p;
	struct json j = {};

	(void)state;
	print_begin(&p);
	j.out.f = p.out.f;
	json_put_begin(&j, NULL, '{');
	columns_json(&j, &usual, &two);
	json_put_end(&j, '}');
	json_put_begin(&j, NULL, '{');
	columns_json(&j, &usual, &none);
	json_put_end(&j, '}');
	print_end(&p, "{\"name\":\"a\\\"b\\u001B\\uFFFD\",\"name_bytes\":\"YSJiG/8=\","
		      "\"count\":1009,"
		      "\"failed\":101,\"total_ns\":780000,\"rate\":1009.000000,\"id\":780000},"
		      "{\"name\":null,\"count\":0,\"failed\":0,\"total_ns\":7,\"rate\":0.000000,"
		      "\"id\":7}");
}

struct long_row {
	const char *text;
	uint64_t n;
};

static void get_text(struct value *v, const void *row, const void *ctx)
{
	(void)ctx;
	v->text = ((const struct long_row *)row)->text;
}

static void get_digits(struct value *v, const void *row, const void *ctx)
{
	(void)ctx;
	v->n = ((const struct long_row *)row)->n;
}

static void csv_quotes_text(void **state)
{
	struct printed p;

	(void)state;
	print_begin(&p);
	columns_csv_titles(&p.out, &usual);
	columns_csv(&p.out, &usual, &two);
	columns_csv(&p.out, &usual, &none);
	print_end(&p, "name,count,failed,total_ns,rate,id\n"
		      "\"a\"\"b\\x1b\\xff\",1009,101,780000,1009.000000,780000\n"
		      ",0,0,7,0.000000,7\n");
}

/* Lines of CSV are put together in pieces: text of any length, numbers of any number of digits. */
static void csv_has_text_and_numbers_of_any_length(void **state)
{
	static const size_t lengths[] = { 1, 1022, 1023, 1024, 1025, 4093, 4094, 4095, 4096, 9001 };
	char text[9002], want[9100];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct column lists[] = { { .name = "t", .kind = VALUE_TEXT, .get = get_text },
					  { .name = "n", .kind = VALUE_ID, .get = get_digits },
					  { .name = "s", .kind = VALUE_SIGNED, .get = get_digits },
					  {} };
		struct columns t = { .list = lists };
		struct long_row row = { text, i % 2 ? UINT64_MAX : 10 * i };
		struct printed p;

		memset(text, 'x', lengths[i]);
		text[lengths[i]] = '\0';
		snprintf(want, sizeof(want), "\"%s\",%llu,%lld\n", text, (unsigned long long)row.n,
			 (long long)row.n);
		print_begin(&p);
		columns_csv(&p.out, &t, &row);
		print_end(&p, want);
	}
}

static void rows_are_ordered_by_any_column(void **state)
{
	const struct column *c = columns_find(list, "total");

	(void)state;
	assert_ptr_equal(c, columns_find(list, "total_ns"));
	assert_null(columns_find(list, "tot"));
	assert_true(columns_compare(&usual, c, &two, &one) < 0);
	assert_int_equal(columns_compare(&usual, c, &one, &one), 0);
	c = columns_find(list, "who");
	assert_true(columns_compare(&usual, c, &two, &one) < 0);
	assert_true(columns_compare(&usual, c, &none, &one) > 0);
	assert_true(columns_compare(&usual, c, &longer, &one) > 0);
	c = columns_find(list, "share");
	assert_true(columns_compare(&usual, c, &one, &two) > 0);
	assert_true(columns_compare(&usual, c, &one, &none) < 0);
}

static void means_have_a_fraction(void **state)
{
	static const struct column columns[] = { { "mean", "mean", VALUE_MEAN, .get = mean }, {} };
	const struct columns t = { .list = columns, .width = 80 };
	struct printed p;

	(void)state;
	print_begin(&p);
	columns_text(&p.out, &t, rows, 3);
	print_end(&p, " mean\n 65.2\n773.0\n    -\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_aligned_and_safe),
		cmocka_unit_test(what_all_rows_lack_is_left_out),
		cmocka_unit_test(narrow_lines_lose_columns_then_letters),
		cmocka_unit_test(uncut_text_is_whole),
		cmocka_unit_test(counts_are_alike),
		cmocka_unit_test(milliseconds_are_in_titles),
		cmocka_unit_test(json_has_what_has_a_name),
		cmocka_unit_test(means_have_a_fraction),
		cmocka_unit_test(csv_quotes_text),
		cmocka_unit_test(csv_has_text_and_numbers_of_any_length),
		cmocka_unit_test(rows_are_ordered_by_any_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
