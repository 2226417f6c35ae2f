// SPDX-License-Identifier: GPL-2.0-only
/* Hostile text, widths, cutting, and numbers for people. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void safe_is(const char *src, const char *expected)
{
	char dst[256];

	assert_int_equal(text_safe(dst, sizeof(dst), src), strlen(expected));
	assert_string_equal(dst, expected);
}

static void every_byte_alone(void **state)
{
	char dst[8], expected[8];

	(void)state;
	for (int c = 0; c < 256; c++) {
		char src = c;

		snprintf(expected, sizeof(expected), c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
		if (c == '\\')
			strcpy(expected, "\\\\");
		assert_int_equal(text_safe_n(dst, sizeof(dst), &src, 1), strlen(expected));
		assert_string_equal(dst, expected);
	}
}

static void printable_utf8_stays(void **state)
{
	(void)state;
	safe_is("a \"b\" / ~", "a \"b\" / ~");
	safe_is("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	safe_is("\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac");
	safe_is("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
	safe_is("e\xcc\x81", "e\xcc\x81");
}

/* Joiners and styles that belong to the writing; between other characters they would only hide. */
static void emoji_and_joined_letters_stay(void **state)
{
#define ZWNJ_ "\xe2\x80\x8c"
#define ZWJ_  "\xe2\x80\x8d"
#define STYLE "\xef\xb8\x8f"
#define HEART "\xe2\x9d\xa4"
#define MAN   "\xf0\x9f\x91\xa8"
	static const char persian[] = "\xd9\x85\xdb\x8c" ZWNJ_ "\xd8\xb1\xd9\x88\xd8\xaf";

	(void)state;
	safe_is(persian, persian);
	safe_is(HEART STYLE, HEART STYLE);
	safe_is("1" STYLE, "1" STYLE);
	safe_is(MAN ZWJ_ HEART STYLE ZWJ_ MAN, MAN ZWJ_ HEART STYLE ZWJ_ MAN);
	safe_is("su" ZWJ_ "do", "su\\xe2\\x80\\x8ddo");
	safe_is(ZWNJ_ MAN, "\\xe2\\x80\\x8c" MAN);
	safe_is(MAN ZWJ_, MAN "\\xe2\\x80\\x8d");
	safe_is(MAN ZWJ_ "\xe2\x80\xae", MAN "\\xe2\\x80\\x8d\\xe2\\x80\\xae");
	safe_is(MAN ZWJ_ ZWJ_ MAN, MAN "\\xe2\\x80\\x8d\\xe2\\x80\\x8d" MAN);
	safe_is("a" STYLE, "a\\xef\\xb8\\x8f");
	safe_is(HEART STYLE STYLE, HEART STYLE "\\xef\\xb8\\x8f");
	assert_int_equal(text_width(persian), 5);
	assert_int_equal(text_width(MAN ZWJ_ MAN), 4);
}

static void malformed_utf8_is_escaped(void **state)
{
	(void)state;
	safe_is("\xc0\xaf", "\\xc0\\xaf"); /* overlong '/' */
	safe_is("\xe0\x80\xaf", "\\xe0\\x80\\xaf");
	safe_is("\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf");
	safe_is("\xc1\xbf", "\\xc1\\xbf");
	safe_is("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
	safe_is("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* U+110000 */
	safe_is("\xe6\x97", "\\xe6\\x97");                   /* cut short */
	safe_is("\xe6\x97z", "\\xe6\\x97z");
	safe_is("\xff\xfe", "\\xff\\xfe");
}

static void controls_are_escaped(void **state)
{
	(void)state;
	safe_is("\033[2J", "\\x1b[2J");
	safe_is("\xc2\x9b", "\\xc2\\x9b");                   /* C1 CSI */
	safe_is("\xe2\x80\xae", "\\xe2\\x80\\xae");          /* right-to-left override */
	safe_is("\xe2\x81\xa6", "\\xe2\\x81\\xa6");          /* isolate */
	safe_is("\xe2\x80\x8b", "\\xe2\\x80\\x8b");          /* zero-width space */
	safe_is("\xef\xbb\xbf", "\\xef\\xbb\\xbf");          /* byte order mark */
	safe_is("\xe2\x80\xa8", "\\xe2\\x80\\xa8");          /* line separator */
	safe_is("\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"); /* tag */
	safe_is("a\tb\nc\r", "a\\x09b\\x0ac\\x0d");
}

static void a_backslash_is_not_taken_for_an_escape(void **state)
{
	char dst[3];

	(void)state;
	safe_is("\\x1b", "\\\\x1b");
	safe_is("\033\\\033", "\\x1b\\\\\\x1b");
	safe_is("\\", "\\\\");
	text_safe(dst, 2, "\\");
	assert_string_equal(dst, "");
	text_safe(dst, 3, "\\");
	assert_string_equal(dst, "\\\\");
}

static void safe_text_ends_on_a_whole_character(void **state)
{
	static const char src[] = "a\xe6\x97\xa5\033z";
	static const char *const expected[] = {
		"",
		"a",
		"a",
		"a",
		"a\xe6\x97\xa5",
		"a\xe6\x97\xa5",
		"a\xe6\x97\xa5",
		"a\xe6\x97\xa5",
		"a\xe6\x97\xa5\\x1b",
		"a\xe6\x97\xa5\\x1bz",
	};
	char dst[16];

	(void)state;
	for (size_t cap = 1; cap <= 10; cap++) {
		memset(dst, '!', sizeof(dst));
		text_safe(dst, cap, src);
		assert_string_equal(dst, expected[cap - 1]);
		assert_int_equal(dst[cap], '!');
	}
}

static void safe_cap_is_enough(void **state)
{
	char src[64], dst[TEXT_SAFE_CAP(sizeof(src))];

	(void)state;
	memset(src, '\xff', sizeof(src));
	assert_int_equal(text_safe_n(dst, sizeof(dst), src, sizeof(src)), 4 * sizeof(src));
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("gr\xc3\xbcn"), 4);
	assert_int_equal(text_width("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(text_width("e\xcc\x81"), 1);
	assert_int_equal(text_width("\xf0\x9f\x98\x80"), 2);
}

static void fits(const char *src, int width, enum text_cut cut, const char *expected)
{
	char dst[64];
	int cols = text_fit(dst, sizeof(dst), src, width, cut);

	assert_string_equal(dst, expected);
	assert_int_equal(cols, text_width(dst));
	assert_true(cols <= width);
}

static void fit_cuts_either_end(void **state)
{
	(void)state;
	fits("abcdef", 6, TEXT_CUT_TAIL, "abcdef");
	fits("abcdefg", 6, TEXT_CUT_TAIL, "abc...");
	fits("/a/b/c/d", 6, TEXT_CUT_HEAD, "...c/d");
	fits("abcdef", 3, TEXT_CUT_TAIL, "abc");
	fits("abcdef", 2, TEXT_CUT_HEAD, "ef");
	fits("abcdef", 0, TEXT_CUT_TAIL, "");
	fits("", 0, TEXT_CUT_HEAD, "");
}

static void fit_never_cuts_a_character(void **state)
{
	static const char wide[] = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e";

	(void)state;
	fits(wide, 6, TEXT_CUT_TAIL, wide);
	fits(wide, 5, TEXT_CUT_TAIL, "\xe6\x97\xa5...");
	fits(wide, 4, TEXT_CUT_TAIL, "...");
	fits(wide, 5, TEXT_CUT_HEAD, "...\xe8\xaa\x9e");
	fits(wide, 3, TEXT_CUT_HEAD, "\xe8\xaa\x9e");
	fits(wide, 1, TEXT_CUT_TAIL, "");
}

static void fit_never_cuts_an_escape(void **state)
{
	(void)state;
	fits("ab\\\\x1b", 7, TEXT_CUT_TAIL, "ab\\\\x1b");
	fits("ab\\\\x1b", 6, TEXT_CUT_TAIL, "ab...");
	fits("abcd\\\\x1b", 7, TEXT_CUT_HEAD, "...x1b");
	fits("abcd\\\\x1b", 8, TEXT_CUT_HEAD, "...\\\\x1b");
	fits("abcd\\x1bz", 7, TEXT_CUT_HEAD, "...z");
	fits("a\\x1bcdef", 7, TEXT_CUT_TAIL, "a...");
	fits("\\", 1, TEXT_CUT_TAIL, "\\"); /* not safe text, but no harm */
	fits("a\\x1", 3, TEXT_CUT_TAIL, "a");
}

static void fit_obeys_the_buffer(void **state)
{
	char dst[8];

	(void)state;
	text_fit(dst, 6, "abcdefghij", 80, TEXT_CUT_TAIL);
	assert_string_equal(dst, "ab...");
	text_fit(dst, 6, "abcdefghij", 80, TEXT_CUT_HEAD);
	assert_string_equal(dst, "...ij");
	text_fit(dst, 6, "\xe6\x97\xa5\xe6\x9c\xac", 80, TEXT_CUT_TAIL);
	assert_string_equal(dst, "...");
	text_fit(dst, 1, "abc", 80, TEXT_CUT_TAIL);
	assert_string_equal(dst, "");
}

static void json_is(const char *src, const char *expected)
{
	char *got = text_json(src);

	assert_non_null(got);
	assert_string_equal(got, expected);
	free(got);
}

static void json_text_is_always_utf8(void **state)
{
	(void)state;
	json_is("", "");
	json_is("gr\xc3\xbcn \033\xe2\x80\xae", "gr\xc3\xbcn \033\xe2\x80\xae");
	json_is("\xff", "\xef\xbf\xbd");
	json_is("a\xc0\xaf"
		"b",
		"a\xef\xbf\xbd\xef\xbf\xbd"
		"b");
	json_is("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	json_is("\xe6\x97", "\xef\xbf\xbd\xef\xbf\xbd");
}

static void base64_is(const char *src, size_t len, const char *expected)
{
	char *got = text_base64(src, len);

	assert_non_null(got);
	assert_string_equal(got, expected);
	free(got);
}

/* The vectors of RFC 4648, and all bits. */
static void bytes_in_base64(void **state)
{
	(void)state;
	base64_is("", 0, "");
	base64_is("f", 1, "Zg==");
	base64_is("fo", 2, "Zm8=");
	base64_is("foo", 3, "Zm9v");
	base64_is("foob", 4, "Zm9vYg==");
	base64_is("fooba", 5, "Zm9vYmE=");
	base64_is("foobar", 6, "Zm9vYmFy");
	base64_is("\xff\0\xfb\xef\xbe", 5, "/wD7774=");
}

static void what_is_utf8(void **state)
{
	(void)state;
	assert_true(text_is_utf8("", 0));
	assert_true(text_is_utf8("gr\xc3\xbcn \033 \xef\xbf\xbd", 11));
	assert_false(text_is_utf8("gr\xfcn", 4));
	assert_false(text_is_utf8("\xc3", 1));
}

static void durations(void **state)
{
	static const struct {
		uint64_t ns;
		const char *auto_unit, *ms;
	} cases[] = {
		{ 0, "0 ns", "0" },
		{ 1, "1 ns", "0.00000" },
		{ 690, "690 ns", "0.00069" },
		{ 999, "999 ns", "0.00100" },
		{ 1000, "1.00 us", "0.00100" },
		{ 55300, "55.3 us", "0.05530" },
		{ 99950, "100 us", "0.09995" },
		{ 999499, "999 us", "0.9995" },
		{ 999500, "1.00 ms", "0.9995" },
		{ 1200000, "1.20 ms", "1.200" },
		{ 9994999, "9.99 ms", "9.995" },
		{ 123456789, "123 ms", "123.5" },
		{ 3400000000, "3.40 s", "3400" },
		{ 9999999000000, "10000 s", "9999999" },
		{ 100000000000000, "27.8 h", "1.0e+08" },
		{ UINT64_MAX, "585 y", "1.8e+13" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(text_ns(cases[i].ns).s, cases[i].auto_unit);
		assert_string_equal(text_ms(cases[i].ns).s, cases[i].ms);
	}
}

static void sizes_and_counts(void **state)
{
	(void)state;
	assert_string_equal(text_bytes(0).s, "0 B");
	assert_string_equal(text_bytes(1023).s, "1023 B");
	assert_string_equal(text_bytes(4096).s, "4.00 KiB");
	assert_string_equal(text_bytes(1048575).s, "1.00 MiB");
	assert_string_equal(text_bytes(UINT64_MAX).s, "16.0 EiB");
	assert_string_equal(text_short(999).s, "999");
	assert_string_equal(text_short(999999).s, "1.00M");
	assert_string_equal(text_short(UINT64_MAX).s, "18.4E");
	assert_string_equal(text_count(0).s, "0");
	assert_string_equal(text_count(12345).s, "12,345");
	assert_string_equal(text_count(1000000).s, "1,000,000");
	assert_string_equal(text_count(999999999).s, "999,999,999");
	assert_string_equal(text_count(1000000000).s, "1.00G");
	assert_string_equal(text_count7(999999).s, "999,999");
	assert_string_equal(text_count7(1000000).s, "1.00M");
}

static void rates_and_shares(void **state)
{
	(void)state;
	assert_string_equal(text_rate(23, 5000000000).s, "4.60/s");
	assert_string_equal(text_rate(0, 5000000000).s, "0/s");
	assert_string_equal(text_rate(1, 0).s, "-");
	assert_string_equal(text_rate(1, 1000000000000).s, "<0.01/s");
	assert_string_equal(text_rate(61700, 5000000000).s, "12.3k/s");
	assert_string_equal(text_rate(UINT64_MAX, 1).s, ">999E/s");
	assert_string_equal(text_percent(33, 100).s, "33.0 %");
	assert_string_equal(text_percent(1, 100000).s, "<0.1 %");
	assert_string_equal(text_percent(0, 5).s, "0.0 %");
	assert_string_equal(text_percent(5, 5).s, "100.0 %");
	assert_string_equal(text_percent(5, 0).s, "-");
	assert_string_equal(text_percent(UINT64_MAX, 1).s, ">999 %");
	assert_string_equal(text_plural(0), "s");
	assert_string_equal(text_plural(1), "");
	assert_string_equal(text_plural(2), "s");
	assert_string_equal(text_percent_whole(333, 1000).s, "33 %");
	assert_string_equal(text_percent_whole(6, 1000).s, "1 %");
	assert_string_equal(text_percent_whole(5, 1000).s, "0.5 %");
	assert_string_equal(text_percent_whole(1, 100000).s, "<0.1 %");
	assert_string_equal(text_percent_whole(0, 5).s, "0 %");
	assert_string_equal(text_percent_whole(5, 0).s, "-");
	assert_string_equal(text_percent_whole(UINT64_MAX, 1).s, ">999 %");
}

/* No number is wider than its column, whatever its value. */
static void numbers_keep_to_their_columns(void **state)
{
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t v;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		v = x >> (i & 63);
		v = i & 64 ? v : i & 128 ? (1ULL << (i & 63)) : (1ULL << (i & 63)) - 1;
		assert_true(strlen(text_ns(v).s) <= 7);
		assert_true(strlen(text_ms(v).s) <= 7);
		assert_true(strlen(text_bytes(v).s) <= 8);
		assert_true(strlen(text_short(v).s) <= 5);
		assert_true(strlen(text_count(v).s) <= 11);
		assert_true(strlen(text_count7(v).s) <= 7);
		assert_true(strlen(text_rate(v, x | 1).s) <= 7);
		assert_true(strlen(text_percent(v, x | 1).s) <= 7);
	}
}

static void wraps(const char *text, int at, const char *expected)
{
	char *got = NULL;
	size_t len;
	struct text_out o = { .f = open_memstream(&got, &len) };

	assert_non_null(o.f);
	text_wrap(&o, text, at, 4, 20);
	assert_int_equal(text_end(&o), 0);
	fclose(o.f);
	assert_string_equal(got, expected);
	free(got);
}

static void text_is_wrapped_between_words(void **state)
{
	(void)state;
	wraps("one two three four five six", 0, "one two three four\n    five six\n");
	wraps("one two", 14, "one\n    two\n");
	wraps("", 0, "\n");
	wraps("aaaaaaaaaaaaaaaaaaaaaaaa b", 0, "aaaaaaaaaaaaa... b\n");
	wraps("one two three123 48 % of", 0, "one two three123\n    48 % of\n");
	wraps("one two three12 48 %, of", 0, "one two three12\n    48 %, of\n");
}

static void writing_ends_at_the_first_error(void **state)
{
	struct text_out o = { .f = fopen("/dev/full", "w") };

	(void)state;
	if (!o.f) {
		print_message("skipped: there is no /dev/full\n");
		skip();
	}
	setvbuf(o.f, NULL, _IONBF, 0);
	text_put(&o, "x");
	assert_int_equal(o.err, -ENOSPC);
	text_fill(&o, ' ', 5);
	assert_int_equal(text_end(&o), -ENOSPC);
	fclose(o.f);
}

static void html_is(const char *src, size_t len, const char *expected)
{
	struct text_out o = {};
	char *text = NULL;
	size_t n;

	o.f = open_memstream(&text, &n);
	text_html(&o, src, len);
	assert_int_equal(text_end(&o), 0);
	assert_string_equal(text, expected);
	fclose(o.f);
	free(text);
}

static void html_is_text_whatever_it_says(void **state)
{
	(void)state;
	html_is("", 0, "");
	html_is("a<b>&\"c'", 8, "a&lt;b&gt;&amp;&quot;c&#39;");
	html_is("</script><!--", 13, "&lt;/script&gt;&lt;!--");
	html_is("a\n\0b", 4, "a\\x0a\\x00b");
	html_is("\xc3\xa9 \xff \xe2\x80\xae", 8, "\xc3\xa9 \\xff \\xe2\\x80\\xae");
	for (int c = 0; c < 256; c++) {
		char src[] = { c }, *text = NULL;
		struct text_out o = {};
		size_t n;

		o.f = open_memstream(&text, &n);
		text_html(&o, src, 1);
		fclose(o.f);
		assert_null(strpbrk(text, "<>\"'"));
		assert_true(n == 1 || text[0] == '&' || text[0] == '\\');
		free(text);
	}
}

static void json_in_a_script_ends_no_script(void **state)
{
	struct text_out o = {};
	char *text = NULL;
	size_t n;

	(void)state;
	o.f = open_memstream(&text, &n);
	text_script(&o, "{\"a\":\"</script><!--&\"}", 23);
	assert_int_equal(text_end(&o), 0);
	assert_string_equal(text, "{\"a\":\"\\u003C/script\\u003E\\u003C!--\\u0026\"}");
	fclose(o.f);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_alone),
		cmocka_unit_test(printable_utf8_stays),
		cmocka_unit_test(emoji_and_joined_letters_stay),
		cmocka_unit_test(malformed_utf8_is_escaped),
		cmocka_unit_test(controls_are_escaped),
		cmocka_unit_test(a_backslash_is_not_taken_for_an_escape),
		cmocka_unit_test(safe_text_ends_on_a_whole_character),
		cmocka_unit_test(safe_cap_is_enough),
		cmocka_unit_test(widths),
		cmocka_unit_test(fit_cuts_either_end),
		cmocka_unit_test(fit_never_cuts_a_character),
		cmocka_unit_test(fit_never_cuts_an_escape),
		cmocka_unit_test(fit_obeys_the_buffer),
		cmocka_unit_test(json_text_is_always_utf8),
		cmocka_unit_test(bytes_in_base64),
		cmocka_unit_test(what_is_utf8),
		cmocka_unit_test(durations),
		cmocka_unit_test(sizes_and_counts),
		cmocka_unit_test(rates_and_shares),
		cmocka_unit_test(numbers_keep_to_their_columns),
		cmocka_unit_test(text_is_wrapped_between_words),
		cmocka_unit_test(writing_ends_at_the_first_error),
		cmocka_unit_test(html_is_text_whatever_it_says),
		cmocka_unit_test(json_in_a_script_ends_no_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
