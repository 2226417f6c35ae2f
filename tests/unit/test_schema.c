// SPDX-License-Identifier: GPL-2.0-only
/* Schemas made out of tables of members: types, null, lists, objects and words. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/schema.h"

static const char *colour_name(unsigned int n)
{
	static const char *const names[] = { "red", NULL, "blue" };

	return names[n];
}

static const char *colour_help(unsigned int n)
{
	return n ? "of the sky" : "of blood";
}

static const struct word_list colours = { colour_name, .from = 0, .to = 3, .help = colour_help };

static void get_nothing(struct value *ret, const void *row, const void *ctx)
{
	(void)row;
	(void)ctx;
	ret->unknown = true;
}

static const struct column columns_list[] = {
	{ NULL, "key", VALUE_TEXT, .get = get_nothing, .help = "in text only" },
	{ "rate", "rate", VALUE_RATE, .get = get_nothing, .help = "rate", .null = "no time" },
	{ "hue", NULL, VALUE_TEXT, .get = get_nothing, .help = "colour", .json.words = &colours },
	{ "path", NULL, VALUE_TEXT, .get = get_nothing, .help = "path of the file" },
	{}
};

static const struct member inner_members[] = { { "on", MEMBER_BOOL, .what = "is on" }, {} };
static const struct object named = { "part", "a part", inner_members };
static const struct object nameless = { NULL, "a thing", inner_members };

static const struct member more_members[] = { { "id", MEMBER_ID, .what = "its id" }, {} };

static const struct member members[] = {
	{ "n", MEMBER_COUNT, .what = "number of things", .least = 1 },
	{ "ns", MEMBER_TIME, .what = "total_ns of all", .null = "not measured", .only = "if new" },
	{ "diff", MEMBER_BYTES, .what = "more or less", .negative = true, .fraction = true },
	{ "ino", MEMBER_ID, .what = "inode", .huge = true, .null = "no file" },
	{ "name", MEMBER_TEXT, .what = "its name" },
	{ "dev", MEMBER_ASCII, .what = "its device", .pattern = PATTERN_DEVICE },
	{ "hist", MEMBER_COUNT, .what = "buckets", .list = 2, .length = 3, .item = "low, high" },
	{ "argv", MEMBER_ASCII, .what = "words", .list = 1, .most = 7, .item = "a word",
	  .item_null = "empty" },
	{ "parts", MEMBER_OBJECT, .what = "all parts", .list = 1, .object = &named },
	{ "part", MEMBER_OBJECT, .what = "the best part", .object = &named },
	{ "thing", MEMBER_OBJECT, .what = "the thing", .object = &nameless, .null = "none" },
	{ "hues", MEMBER_ASCII, .what = "colours", .words = &colours, .null = "grey" },
	{ .also = more_members },
	{ .columns = columns_list },
	{ .each = &colours, .type = MEMBER_COUNT },
	{}
};
static const struct object object = { "all", "the line", members };
static const struct schema schema = { "iostrata.test/3", .what = "a line", .first = &object };

static json_t *made(const struct schema *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_t *j;

	assert_int_equal(schema_print(f, s), 0);
	fclose(f);
	j = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(j);
	return j;
}

static const struct {
	const char *name;
	const char *json; /* with ' in place of " */
} expected[] = {
	{ "schema",
	  "{'const': 'iostrata.test/3', 'description': 'Name and version of this format.'}" },
	{ "n", "{'type': 'integer', 'minimum': 1, 'unit': 'count', 'description': 'Number of "
	       "things.'}" },
	{ "ns", "{'type': ['integer', 'null'], 'minimum': 0, 'unit': 'ns', 'description': "
		"'total_ns of all. Only there if new. null: not measured.'}" },
	{ "diff", "{'type': 'number', 'unit': 'bytes', 'description': 'More or less.'}" },
	{ "ino", "{'type': ['integer', 'string', 'null'], 'minimum': 0, 'pattern': '^[0-9]+$', "
		 "'unit': 'id', 'description': 'Inode. null: no file.'}" },
	{ "name", "{'type': 'string', 'description': 'Its name.'}" },
	{ "name_bytes", "{'type': 'string', 'pattern': '^[A-Za-z0-9+/]+=*$', 'description': "
			"'All bytes of name in base64. Only there if they are not UTF-8.'}" },
	{ "dev", "{'type': 'string', 'pattern': '^[0-9]+:[0-9]+$', 'description': 'Its device.'}" },
	{ "hist", "{'type': 'array', 'items': {'type': 'array', 'items': {'type': 'integer', "
		  "'minimum': 0, 'unit': 'count', 'description': 'Low, high.'}, 'minItems': 3, "
		  "'maxItems': 3, 'description': 'Low, high.'}, 'description': 'Buckets.'}" },
	{ "argv", "{'type': 'array', 'items': {'type': ['string', 'null'], 'description': "
		  "'A word. null: empty.'}, 'maxItems': 7, 'description': 'Words.'}" },
	{ "parts",
	  "{'type': 'array', 'items': {'$ref': '#/$defs/part'}, 'description': 'All parts.'}" },
	{ "part", "{'$ref': '#/$defs/part', 'description': 'The best part.'}" },
	{ "thing",
	  "{'type': ['object', 'null'], 'additionalProperties': false, 'required': ['on'], "
	  "'properties': {'on': {'type': 'boolean', 'description': 'Is on.'}}, "
	  "'description': 'The thing. null: none.'}" },
	{ "hues", "{'type': ['string', 'null'], 'enum': ['red', 'blue', null], 'description': "
		  "'Colours. null: grey.'}" },
	{ "id", "{'type': 'integer', 'minimum': 0, 'unit': 'id', 'description': 'Its id.'}" },
	{ "rate", "{'type': ['number', 'null'], 'minimum': 0, 'unit': '1/s', 'description': "
		  "'Rate. null: no time.'}" },
	{ "hue", "{'type': 'string', 'enum': ['red', 'blue'], 'description': 'Colour.'}" },
	{ "path", "{'type': 'string', 'description': 'Path of the file.'}" },
	{ "path_bytes", "{'type': 'string', 'pattern': '^[A-Za-z0-9+/]+=*$', 'description': "
			"'All bytes of path in base64. Only there if they are not UTF-8.'}" },
	{ "red", "{'type': 'integer', 'minimum': 0, 'unit': 'count', 'description': 'Of blood.'}" },
	{ "blue",
	  "{'type': 'integer', 'minimum': 0, 'unit': 'count', 'description': 'Of the sky.'}" },
};

enum { EXPECTED_N = sizeof(expected) / sizeof(*expected) };

static json_t *quoted(const char *text)
{
	char buf[1024];
	json_t *j;

	snprintf(buf, sizeof(buf), "%s", text);
	for (char *s = buf; *s; s++)
		*s = *s == '\'' ? '"' : *s;
	j = json_loads(buf, 0, NULL);
	assert_non_null(j);
	return j;
}

static void members_are_as_their_rows(void **state)
{
	json_t *j = made(&schema), *properties = json_object_get(j, "properties"), *want;

	(void)state;
	for (int i = 0; i < EXPECTED_N; i++) {
		want = quoted(expected[i].json);
		if (!json_equal(json_object_get(properties, expected[i].name), want))
			fail_msg("%s", expected[i].name);
		json_decref(want);
	}
	assert_int_equal(json_object_size(properties), EXPECTED_N);
	json_decref(j);
}

/* All but those with .only, and all _bytes. */
static void members_are_required(void **state)
{
	json_t *j = made(&schema), *one;
	size_t i, n = 0;

	(void)state;
	assert_true(json_is_false(json_object_get(j, "additionalProperties")));
	json_array_foreach(json_object_get(j, "required"), i, one)
	{
		assert_string_not_equal(json_string_value(one), "ns");
		assert_null(strstr(json_string_value(one), "_bytes"));
		n++;
	}
	assert_int_equal(n, EXPECTED_N - 3);
	json_decref(j);
}

static void objects_with_a_name_stand_once(void **state)
{
	json_t *j = made(&schema), *defs = json_object_get(j, "$defs"), *want;

	(void)state;
	want = quoted(
		"{'part': {'description': 'A part.', 'type': 'object', 'additionalProperties': "
		"false, 'required': ['on'], 'properties': {'on': {'type': 'boolean', "
		"'description': 'Is on.'}}}}");
	assert_true(json_equal(defs, want));
	json_decref(want);
	json_decref(j);
	assert_ptr_equal(schema_object(&schema, ""), &object);
	assert_ptr_equal(schema_object(&schema, "part"), &named);
	assert_null(schema_object(&schema, "hues"));
}

/* The first line names the schema, the others do not. */
static void other_lines_have_an_object(void **state)
{
	const struct schema two = { "iostrata.test/3", .what = "lines", .first = &object,
				    .others = &named };
	json_t *j = made(&two), *defs = json_object_get(j, "$defs"), *want = quoted("['schema']");

	(void)state;
	assert_true(json_equal(json_object_get(json_object_get(j, "if"), "required"), want));
	json_decref(want);
	want = quoted("{'$ref': '#/$defs/all'}");
	assert_true(json_equal(json_object_get(j, "then"), want));
	json_decref(want);
	want = quoted("{'$ref': '#/$defs/part'}");
	assert_true(json_equal(json_object_get(j, "else"), want));
	json_decref(want);
	assert_int_equal(json_object_size(defs), 2);
	assert_non_null(json_object_get(json_object_get(json_object_get(defs, "all"), "properties"),
					"schema"));
	assert_ptr_equal(schema_object(&two, "part"), &named);
	json_decref(j);
}

static void failed_writes_are_errors(void **state)
{
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	setbuf(f, NULL);
	assert_int_equal(schema_print(f, &schema), -ENOSPC);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_as_their_rows),
		cmocka_unit_test(members_are_required),
		cmocka_unit_test(objects_with_a_name_stand_once),
		cmocka_unit_test(other_lines_have_an_object),
		cmocka_unit_test(failed_writes_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
