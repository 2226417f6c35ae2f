// SPDX-License-Identifier: GPL-2.0-only
/* Finished requests and the stacks of their submissions, in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stacks/submissions.h"

static struct sent_stack last;
static unsigned int handed_out;

static void hand(void *arg, const struct sent_stack *s)
{
	assert_ptr_equal(arg, &last);
	memcpy(&last, s, offsetof(struct sent_stack, frames) + s->n * sizeof(*s->frames));
	handed_out++;
}

static struct submissions begin(void)
{
	handed_out = 0;
	return (struct submissions){ .fn = hand, .arg = &last };
}

/* A request of thread @tid, submitted by its call @number at @start. */
static void request(struct submissions *m, unsigned int tid, unsigned int number,
		    unsigned long long start)
{
	char bytes[offsetof(struct sent_stack, frames)];
	struct sent_stack s = { .what = SENT_SUBMITTED,
				.kind = OP_AIO,
				.who = { .pid = 1103, .tid = tid },
				.submission = number,
				.start_ns = start,
				.total_ns = start + 7,
				.end = number ? STACK_WHOLE : STACK_BY_KERNEL };

	memcpy(bytes, &s, sizeof(bytes)); /* no more of it is there */
	submissions_request(m, (const void *)bytes);
}

/* The stack of call @number, which ended at @end and had submitted @n requests. */
static void stack(struct submissions *m, unsigned int tid, unsigned int number,
		  unsigned long long end, unsigned int n)
{
	struct sent_stack s = { .what = SENT_SUBMISSION,
				.who = { .pid = 1103, .tid = tid },
				.submission = number,
				.submitted = n,
				.start_ns = end,
				.process_start = 4711,
				.end = STACK_MEMORY,
				.by_frame_pointers = 1,
				.n = 2,
				.frames = { number, tid } };

	submissions_stack(m, &s);
}

static void assert_handed_out(unsigned int n, unsigned int tid, unsigned int number)
{
	assert_int_equal(handed_out, n);
	assert_int_equal(last.what, SENT_STACK);
	assert_int_equal(last.end, STACK_MEMORY);
	assert_int_equal(last.by_frame_pointers, 1);
	assert_int_equal(last.kind, OP_AIO);
	assert_int_equal(last.process_start, 4711);
	assert_int_equal(last.n, 2);
	assert_int_equal(last.frames[0], number);
	assert_int_equal(last.frames[1], tid);
}

static void test_stack_first(void **state)
{
	struct submissions m = begin();

	(void)state;
	stack(&m, 31, 5, 100, 2);
	stack(&m, 37, 5, 100, 1);
	assert_int_equal(handed_out, 0);
	request(&m, 31, 5, 90);
	assert_handed_out(1, 31, 5);
	assert_int_equal(last.total_ns, 97);
	request(&m, 37, 5, 91);
	assert_handed_out(2, 37, 5);
	assert_int_equal(m.n, 1);
	request(&m, 31, 5, 92);
	assert_handed_out(3, 31, 5);
	assert_int_equal(m.n, 0);
	assert_null(m.list);
	submissions_done(&m);
}

/* As a request that is done before its call ends. */
static void test_request_first(void **state)
{
	struct submissions m = begin();

	(void)state;
	request(&m, 31, 5, 90);
	request(&m, 31, 5, 91);
	request(&m, 37, 5, 92);
	assert_int_equal(handed_out, 0);
	assert_int_equal(m.waiting, 3);
	stack(&m, 31, 5, 100, 3);
	assert_handed_out(2, 31, 5);
	assert_int_equal(m.waiting, 1);
	request(&m, 31, 5, 93);
	assert_handed_out(3, 31, 5);
	stack(&m, 37, 5, 100, 1);
	assert_handed_out(4, 37, 5);
	assert_int_equal(m.n, 0);
	submissions_done(&m);
}

/* The wait in a submission comes before its request, with the same number, and is none of the
 * requests that the call has submitted. */
static void test_waits(void **state)
{
	struct sent_stack wait = { .what = SENT_SUBMITTED,
				   .kind = OP_SUBMIT,
				   .who.tid = 31,
				   .submission = 5,
				   .start_ns = 90 };
	struct submissions m = begin();

	(void)state;
	submissions_request(&m, &wait);
	request(&m, 31, 5, 90);
	stack(&m, 31, 5, 100, 2);
	assert_int_equal(handed_out, 2);
	assert_int_equal(m.n, 1);
	submissions_request(&m, &wait);
	assert_int_equal(handed_out, 3);
	assert_int_equal(last.kind, OP_SUBMIT);
	assert_int_equal(last.frames[0], 5);
	assert_int_equal(m.n, 1);
	request(&m, 31, 5, 91);
	assert_handed_out(4, 31, 5);
	assert_int_equal(m.n, 0);
	submissions_done(&m);
}

/* What still waits is told; a stack that has come stays. */
static void test_flush(void **state)
{
	struct submissions m = begin();

	(void)state;
	request(&m, 31, 5, 90);
	stack(&m, 37, 5, 100, 1);
	submissions_flush(&m);
	assert_int_equal(handed_out, 1);
	assert_int_equal(last.end, STACK_NO_SUBMISSION);
	assert_int_equal(last.n, 0);
	assert_int_equal(last.by_frame_pointers, 0);
	assert_int_equal(m.n, 1);
	request(&m, 37, 5, 90);
	assert_handed_out(2, 37, 5);
	request(&m, 0, 0, 90);
	assert_int_equal(handed_out, 3);
	assert_int_equal(last.end, STACK_BY_KERNEL);
	assert_int_equal(last.n, 0);
	request(&m, 31, 7, 90);
	submissions_done(&m);
	assert_int_equal(handed_out, 3);
}

/* A thread that began after the call of a former one with its number. */
static void test_other_thread(void **state)
{
	struct submissions m = begin();

	(void)state;
	stack(&m, 31, 5, 100, 2);
	request(&m, 31, 5, 101);
	assert_int_equal(handed_out, 0);
	stack(&m, 31, 5, 111, 1);
	assert_handed_out(1, 31, 5);
	/* the former's request never came */
	stack(&m, 31, 7, 100, 2);
	stack(&m, 31, 7, 200, 1);
	request(&m, 31, 7, 199);
	assert_handed_out(2, 31, 7);
	assert_int_equal(m.n, 0);
	submissions_done(&m);
}

/* A request belongs to the call until the call's end, also if an operation ended with the call. */
static void test_call_end(void **state)
{
	struct submissions m = begin();
	struct sent_stack s = { .what = SENT_STACK,
				.who = { .pid = 1103, .tid = 41 },
				.submission = 3,
				.submitted = 2,
				.start_ns = 100,
				.total_ns = 50,
				.end = STACK_WHOLE };

	(void)state;
	stack(&m, 31, 5, 100, 2);
	request(&m, 31, 5, 100);
	assert_handed_out(1, 31, 5);
	submissions_stack(&m, &s);
	request(&m, 41, 3, 150);
	assert_int_equal(handed_out, 2);
	assert_int_equal(last.end, STACK_WHOLE);
	request(&m, 41, 3, 151); /* of another thread with this number */
	assert_int_equal(handed_out, 2);
	submissions_done(&m);
}

/* The oldest stack leaves; so do requests that wait, with the reason. */
static void test_limits(void **state)
{
	struct submissions m = begin();

	(void)state;
	for (unsigned int i = 1; i <= SUBMISSIONS_MOST + 1; i++)
		stack(&m, 31, i, 100, 1);
	assert_int_equal(m.n, SUBMISSIONS_MOST);
	request(&m, 31, 2, 90);
	assert_handed_out(1, 31, 2);
	request(&m, 31, 1, 90);
	assert_int_equal(handed_out, 1);
	submissions_flush(&m);
	assert_int_equal(handed_out, 2);
	assert_int_equal(last.end, STACK_NO_SUBMISSION);
	for (unsigned int i = 0; i < SUBMITTED_WAITING_MOST + 3; i++)
		request(&m, 37, 9, 90);
	assert_int_equal(m.waiting, SUBMITTED_WAITING_MOST);
	assert_int_equal(handed_out, 2 + 3);
	assert_int_equal(last.end, STACK_NO_SUBMISSION);
	submissions_done(&m);
	/* more frames than there are */
	submissions_stack(
		&m, &(struct sent_stack){ .submission = 1, .submitted = 1, .n = STACK_FRAMES + 1 });
	assert_int_equal(m.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_first), cmocka_unit_test(test_request_first),
		cmocka_unit_test(test_flush),       cmocka_unit_test(test_other_thread),
		cmocka_unit_test(test_call_end),    cmocka_unit_test(test_limits),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
