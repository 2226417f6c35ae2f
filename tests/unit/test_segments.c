// SPDX-License-Identifier: GPL-2.0-only
/* The order of an operation's time as bytes, and back: whatever the bytes, it adds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/segments.h"
#include "capture/stored.h"

static unsigned int seed;

static unsigned int pick(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* Random segments, @merged of them without a place, and their operation. */
static void make(struct segments *s, struct stored_op *op, unsigned int n, unsigned int merged)
{
	*op = (struct stored_op){};
	*s = (struct segments){ .n = n, .merged = merged };
	for (unsigned int i = 0; i < n + merged; i++) {
		unsigned int st = pick(ST_N);
		uint64_t ns = 1 + (pick(4) ? pick(5000) : (uint64_t)pick(1 << 20) << pick(35));

		op->strata[st] += ns;
		if (i < n)
			s->at[i] = SEGMENT(st, ns);
	}
}

static void comes_back(void **state)
{
	struct segments s, back;
	struct stored_op op;
	uint8_t bytes[SEGMENTS_BYTES];
	char text[SEGMENTS_TEXT];
	size_t len;

	(void)state;
	for (unsigned int n = 1; n <= SEGMENTS_MAX; n++) {
		for (seed = 1; seed < 200; seed++) {
			make(&s, &op, n, n == SEGMENTS_MAX ? pick(3) : 0);
			len = segments_pack(bytes, &s, op.strata);
			assert_true(len && len <= sizeof(bytes));
			memset(&back, 0xa5, sizeof(back));
			assert_true(segments_unpack(&back, op.strata, bytes, len));
			assert_int_equal(back.n, s.n);
			assert_int_equal(back.merged, s.merged);
			assert_memory_equal(back.at, s.at, s.n * sizeof(*s.at));
			segments_text(text, &back);
			assert_true(strlen(text) > 7 * n);
		}
	}
}

/* Any bytes: either refused, or they add up to the strata. Reads nothing beyond them. */
static void hostile_bytes(void **state)
{
	struct segments s, back;
	struct stored_op op;
	uint8_t bytes[SEGMENTS_BYTES], *copy;
	unsigned int taken = 0;
	size_t len;

	(void)state;
	for (unsigned int i = 0; i < 40000; i++) {
		seed = i;
		make(&s, &op, 1 + pick(i % 7 ? 5 : SEGMENTS_MAX), 0);
		len = segments_pack(bytes, &s, op.strata);
		if (pick(3))
			bytes[pick(len)] ^= 1 << pick(8);
		else if (pick(2))
			len = pick(len) + 1;
		else
			op.strata[pick(ST_N)] += pick(3) - 1;
		copy = malloc(len); /* to its last byte: the sanitizer sees a read beyond */
		memcpy(copy, bytes, len);
		if (segments_unpack(&back, op.strata, copy, len)) {
			assert_true(segments_add_up(&back, op.strata));
			taken++;
		}
		free(copy);
	}
	assert_true(taken > 100 && taken < 20000);
}

/* Without bytes: the layers in their order, if there is nothing else. */
static void never_off_the_cpu(void **state)
{
	struct stored_op op = { .strata = { [ST_SYSCALL] = 3, [ST_FS] = 5 } };
	struct segments s;

	(void)state;
	assert_true(segments_unpack(&s, op.strata, NULL, 0));
	assert_int_equal(s.n, 2);
	assert_true(s.at[0] == SEGMENT(ST_SYSCALL, 3) && s.at[1] == SEGMENT(ST_FS, 5));
	op.strata[ST_LOCK] = 1;
	assert_false(segments_unpack(&s, op.strata, NULL, 0));
	op = (struct stored_op){};
	assert_true(segments_unpack(&s, op.strata, NULL, 0));
	assert_int_equal(s.n, 0);
}

/* From the programs: what does not add up, or is too much, is not stored. */
static void wrong_segments(void **state)
{
	const uint64_t strata[ST_N] = { [ST_SYSCALL] = 7, [ST_DEVICE] = 9 };
	struct segments s = { .n = 2, .at = { SEGMENT(ST_SYSCALL, 7), SEGMENT(ST_DEVICE, 9) } };
	uint8_t bytes[SEGMENTS_BYTES];

	(void)state;
	assert_int_equal(segments_pack(bytes, &s, strata), 3);
	s.at[1] = SEGMENT(ST_DEVICE, 8);
	assert_int_equal(segments_pack(bytes, &s, strata), 0);
	s.at[1] = SEGMENT(ST_DEVICE, 10);
	assert_int_equal(segments_pack(bytes, &s, strata), 0);
	s.at[1] = SEGMENT(ST_N, 9);
	assert_int_equal(segments_pack(bytes, &s, strata), 0);
	s.at[1] = SEGMENT(ST_DEVICE, 9);
	s.n = SEGMENTS_MAX + 1;
	assert_int_equal(segments_pack(bytes, &s, strata), 0);
	s.n = 0;
	assert_int_equal(segments_pack(bytes, &s, strata), 0);
	s.n = 2;
	s.merged = 1;
	assert_int_equal(segments_pack(bytes, &s, strata), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(hostile_bytes),
		cmocka_unit_test(never_off_the_cpu),
		cmocka_unit_test(wrong_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
