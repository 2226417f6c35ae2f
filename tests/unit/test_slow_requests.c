// SPDX-License-Identifier: GPL-2.0-only
/* The requests that belong to an operation, and those of them that are kept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "capture/slow_requests.h"

enum { OWN = 12, HELPER = 13, OTHER = 14 };

/* On the CPU until 1100, asleep for the device until 1400, and again on the CPU until 1500. */
static struct slow_op an_op(unsigned int kind, unsigned int call)
{
	return (struct slow_op){
		.start_ns = 1000,
		.kind = kind,
		.call = call,
		.total_ns = 500,
		.who = { .tid = OWN },
		.helper = { .tid = HELPER },
		.has_segments = true,
		.segments = { .n = 3,
			      .at = { SEGMENT(ST_VFS, 100), SEGMENT(ST_DEVICE, 300),
				      SEGMENT(ST_VFS, 100) } },
	};
}

/* Submitted at @q, done at @c. */
static struct stored_request a_request(uint64_t q, uint64_t c)
{
	return (struct stored_request){ .q_ns = q, .device_ns = c - q };
}

static void requests_belong(void **state)
{
	static const struct {
		uint64_t q, c;
		unsigned int tid;
		bool sync, async;
	} cases[] = {
		{ 1000, 1300, OWN, true, false },
		{ 1499, 9000, OWN, true, false },  /* it did not wait for this one */
		{ 999, 1300, OWN, false, false },  /* of the operation before */
		{ 1500, 1600, OWN, false, false }, /* of the next one */
		{ 900, 1001, HELPER, true, true }, /* on its way when the operation began */
		{ 900, 1000, HELPER, false, false },
		{ 1200, 1600, HELPER, true, true },
		{ 1500, 1600, HELPER, false, false },
		{ 900, 1400, OTHER, true, true }, /* the wait for the device ended then */
		{ 900, 1400, 0, true, true },
		{ 900, 1399, OTHER, false, false },
		{ 900, 1100, OTHER, false, false }, /* another wait ended then */
		{ 1000, 1300, 0, false, false },
	};
	struct slow_op sync = an_op(OP_READ, 0), async = an_op(OP_URING, CALL_URING | 22);
	struct stored_request rq;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		rq = a_request(cases[i].q, cases[i].c);
		assert_int_equal(request_belongs(&sync, &rq, cases[i].tid), cases[i].sync);
		assert_int_equal(request_belongs(&async, &rq, cases[i].tid), cases[i].async);
	}
	/* without an order and a helper, there are the thread's own */
	sync.has_segments = false;
	sync.helper.tid = 0;
	rq = a_request(900, 1400);
	assert_false(request_belongs(&sync, &rq, OTHER));
	assert_false(request_belongs(&sync, &rq, 0));
}

/* The longest are kept, by their submission; all are counted, once. */
static void the_longest_are_kept(void **state)
{
	struct catalog_thread threads[] = { {}, { .pid = 10, .tid = OWN, .comm = "writer" } };
	struct recording rec = { .catalog = { .threads = threads, .n_threads = 2 } };
	struct recent_requests recent = {};
	struct slow_op op = an_op(OP_WRITE, 1);
	struct stored_request rq;

	(void)state;
	for (int i = 0; i < RECENT_REQUESTS + 23; i++) {
		rq = a_request(1, 2); /* before the operation */
		assert_int_equal(recent_add(&recent, &rq), 0);
	}
	for (int i = 0; i < 23; i++) {
		rq = a_request(1400 - 10 * i, 3000 + (i * 7 % 23) * 100);
		rq.owner = 1;
		rq.dev = 8 << 20 | 3;
		assert_int_equal(recent_add(&recent, &rq), 0);
	}
	assert_int_equal(slow_requests_find(&op, &rec, &recent), 0);
	rq = a_request(1001, 1900); /* it comes after the operation, and is too short */
	rq.owner = 1;
	assert_int_equal(slow_request_add(&op, &rec, &rq), 0);
	rq.owner = 2; /* not in the catalog */
	assert_int_equal(slow_request_add(&op, &rec, &rq), 0);
	assert_int_equal(op.requests->count, 24);
	assert_int_equal(op.requests->n, SLOW_REQUESTS);
	for (size_t i = 0; i < op.requests->n; i++) {
		const struct slow_request *r = &op.requests->list[i];

		assert_true(r->at_ns + (int64_t)r->device_ns >= 2000 + 1000);
		assert_true(!i || op.requests->list[i - 1].at_ns < r->at_ns);
		assert_string_equal(r->disk, "8:3");
		assert_string_equal(r->who.comm, "writer");
	}
	free(op.requests);
	recent_done(&recent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_belong),
		cmocka_unit_test(the_longest_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
