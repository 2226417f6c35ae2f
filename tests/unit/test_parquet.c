// SPDX-License-Identifier: GPL-2.0-only
/* parquet_encode.c loses nothing, whatever the width of numbers. The decoders here were written
 * from Parquet's Encodings.md, bit by bit. tests/cli/parquet.bats reads whole files by others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/parquet.h"
#include "export/parquet_encode.h"
#include "export/thrift.h"

static uint64_t any(void)
{
	static uint64_t state = 815;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state ^ state >> 31;
}

static uint64_t any_of_bits(unsigned int width)
{
	return width ? any() >> (64 - width) : 0;
}

struct in {
	const uint8_t *at, *end;
};

static uint64_t get_varint(struct in *in)
{
	uint64_t v = 0;

	for (int shift = 0;; shift += 7) {
		assert_true(in->at < in->end);
		v |= (uint64_t)(*in->at & 0x7f) << shift;
		if (*in->at++ < 0x80)
			return v;
	}
}

static int64_t get_zigzag(struct in *in)
{
	uint64_t v = get_varint(in);

	return (int64_t)(v >> 1 ^ (v & 1 ? ~0ULL : 0));
}

/* Number @i of those of @width bits that begin at in->at. */
static uint64_t get_bits(const struct in *in, size_t i, unsigned int width)
{
	uint64_t v = 0;

	for (unsigned int b = 0; b < width; b++) {
		size_t bit = i * width + b;

		assert_true(in->at + bit / 8 < in->end);
		v |= (uint64_t)(in->at[bit / 8] >> bit % 8 & 1) << b;
	}
	return v;
}

static void hybrid_check(const struct bytes *b, const uint32_t *want, size_t n, unsigned int width)
{
	struct in in = { b->at, b->n ? b->at + b->n : b->at };
	size_t i = 0;

	while (i < n) {
		uint64_t head = get_varint(&in), count = head >> 1;
		bool packed = head & 1;

		assert_true(count > 0);
		for (uint64_t k = 0; k < (packed ? count * 8 : count); k++, i++) {
			assert_true(packed || i < n);
			if (i < n)
				assert_int_equal(get_bits(&in, packed ? k : 0, width), want[i]);
		}
		in.at += packed ? count * width : (width + 7) / 8;
	}
	assert_ptr_equal(in.at, in.end);
}

/* Texts of runs and of others, of each length. */
static void levels_and_indices_come_back(void **state)
{
	static uint32_t v[3000];

	(void)state;
	for (unsigned int round = 0; round < 600; round++) {
		unsigned int width = 1 + round % 17;
		size_t n = round < 40 ? round : any() % 3000;
		struct bytes b = {};

		for (size_t i = 0; i < n;) {
			size_t run = any() % 3 ? 1 : any() % 40;
			uint32_t value = (uint32_t)any_of_bits(width);

			while (run-- && i < n)
				v[i++] = value;
		}
		encode_hybrid(&b, v, n, width);
		assert_false(b.failed);
		hybrid_check(&b, v, n, width);
		bytes_done(&b);
	}
}

static void delta_check(const struct bytes *b, const int64_t *want, size_t n)
{
	struct in in = { b->at, b->at + b->n };
	uint64_t block = get_varint(&in), minis = get_varint(&in), per = block / minis, v;
	const uint8_t *widths;
	size_t i = 1;

	assert_true(block % 128 == 0 && per % 32 == 0);
	assert_int_equal(get_varint(&in), n);
	v = (uint64_t)get_zigzag(&in);
	if (n)
		assert_int_equal(v, want[0]);
	while (i < n) {
		uint64_t least = (uint64_t)get_zigzag(&in);

		widths = in.at;
		in.at += minis;
		for (uint64_t m = 0; m < minis && i < n; m++) {
			for (uint64_t k = 0; k < per && i < n; k++, i++) {
				v += least + get_bits(&in, k, widths[m]);
				assert_int_equal(v, want[i]);
			}
			in.at += per / 8 * widths[m];
		}
	}
	assert_ptr_equal(in.at, in.end);
}

static void differences_come_back(void **state)
{
	static int64_t v[1000];

	(void)state;
	for (unsigned int round = 0; round < 800; round++) {
		size_t n = round < 300 ? round : any() % 1000;
		unsigned int width = round % 65;
		struct bytes b = {};

		for (size_t i = 0; i < n; i++)
			v[i] = (int64_t)any_of_bits(width) - (round % 3 ? 0 : 1000);
		if (round % 7 == 0 && n > 2) {
			v[1] = INT64_MIN;
			v[2] = INT64_MAX;
		}
		encode_delta(&b, v, n);
		assert_false(b.failed);
		delta_check(&b, v, n);
		bytes_done(&b);
	}
}

static void structs_are_thrift(void **state)
{
	static const uint8_t want[] = {
		0x15, 0x05,             /* 1: i32 -3 */
		0x26, 0x80, 0x02,       /* 3: i64 128 */
		0x18, 0x02, 'h',  'i',  /* 4: binary */
		0x1c, 0x11, 0x00,       /* 5: struct { 1: true } */
		0x19, 0x25, 0x02, 0x04, /* 6: list of i32: 1, 2 */
		0x00,
	};
	struct bytes b = {};
	struct thrift t = { .out = &b };

	(void)state;
	thrift_begin(&t, 0);
	thrift_i32(&t, 1, -3);
	thrift_i64(&t, 3, 128);
	thrift_text(&t, 4, "hi");
	thrift_begin(&t, 5);
	thrift_bool(&t, 1, true);
	thrift_end(&t);
	thrift_list(&t, 6, THRIFT_I32, 2);
	thrift_item_i32(&t, 1);
	thrift_item_i32(&t, 2);
	thrift_end(&t);
	assert_int_equal(b.n, sizeof(want));
	assert_memory_equal(b.at, want, sizeof(want));
	bytes_done(&b);
}

/* However long texts are, and however many: row groups end earlier. */
static void memory_is_bounded(void **state)
{
	static const struct parquet_column columns[] = { { "text", PARQUET_TEXT },
							 { "n", PARQUET_INT } };
	char text[8192], *file = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&file, &len);
	struct parquet *p = parquet_begin(f, "test version 1", columns, 2);

	(void)state;
	assert_non_null(p);
	for (int i = 0; i < 4000; i++) {
		for (size_t k = 0; k < sizeof(text); k++)
			text[k] = (char)any(); /* most become four characters */
		parquet_put_text(p, 0, text, sizeof(text));
		if (i % 3)
			parquet_put_int(p, 1, (int64_t)any());
		else
			parquet_put_null(p, 1);
		assert_int_equal(parquet_row(p), 0);
		/* all but some 20 MB is in the file, where a row takes 12 KB at least */
		fflush(f);
		assert_true((uint64_t)i * 12000 < len + 20000000);
	}
	assert_int_equal(parquet_rows(p), 4000);
	assert_int_equal(parquet_end(p, NULL, 0), 0);
	parquet_free(p);
	fclose(f);
	assert_memory_equal(file, "PAR1", 4);
	assert_memory_equal(file + len - 4, "PAR1", 4);
	free(file);
}

static void a_full_device_is_told(void **state)
{
	static const struct parquet_column column = { "n", PARQUET_INT };
	FILE *f = fopen("/dev/full", "w");
	struct parquet *p = parquet_begin(f, "test version 1", &column, 1);

	(void)state;
	assert_non_null(p);
	parquet_put_int(p, 0, 1);
	assert_int_equal(parquet_row(p), 0);
	assert_int_equal(parquet_end(p, NULL, 0), -28);
	parquet_free(p);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_and_indices_come_back),
		cmocka_unit_test(differences_come_back),
		cmocka_unit_test(structs_are_thrift),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_full_device_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
