// SPDX-License-Identifier: GPL-2.0-only
/* Explanations that need the order of operations, or single other operations and requests: each of
 * these causes is the first finding, and its words are as said; rotation judges as it should. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../planted.h"
#include "analyse/condition.h"
#include "analyse/explain.h"
#include "analyse/explain_starts.h"
#include "base/reason.h"

enum { READS = 12007, SLOW = 30 * PLANTED_MS };

static struct {
	uint64_t random;
} made;

static uint64_t any(uint64_t n)
{
	made.random = made.random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (made.random >> 33) % n;
}

/* A read of 1 MiB at most every ms, of which 200 us are device time, and its request. */
struct read {
	struct stored_op op;
	struct stored_request rq;
	uint64_t number;
	bool is_late; /* the disk had nothing to do for 40 ms before */
};

typedef void slow_fn(struct writer *w, struct read *r);

static void slower(struct read *r, uint64_t ns)
{
	r->op.strata[ST_DEVICE] += ns;
	r->rq.device_ns += ns;
}

static void every_64th(struct writer *w, struct read *r)
{
	(void)w;
	if (r->number % 64 == 9)
		slower(r, SLOW / 100);
}

static void after_idleness(struct writer *w, struct read *r)
{
	(void)w;
	if (r->is_late && any(6))
		slower(r, SLOW / 30);
}

static void from_then_on(struct writer *w, struct read *r)
{
	(void)w;
	if (r->number > READS / 3)
		slower(r, 300000 + any(100000));
}

static void bit_by_bit(struct writer *w, struct read *r)
{
	(void)w;
	slower(r, 60 * r->number + any(100000));
}

/* A write of 4 MiB by another thread, and reads that wait for it. */
static void behind_a_write(struct writer *w, struct read *r)
{
	uint64_t in = r->number % 500;
	struct stored_op op = { .start_ns = r->op.start_ns - 300000,
				.owner = PLANTED_RIVAL,
				.file = r->op.file,
				.kind = OP_WRITE,
				.call = 18,
				.len = 4 << 20 };

	if (in == 100) {
		r->op.file = op.file = 7;
		op.strata[ST_FS] = 8 * PLANTED_MS;
		writer_op(w, &op);
	}
	if (in >= 100 && in < 108 && in % 2 == 0) {
		r->op.file = 7;
		r->op.strata[ST_LOCK] = (108 - in) * PLANTED_MS - 300000;
	}
}

/* A stripe: some reads have a request on vdb, which is slow. */
static void on_one_leg(struct writer *w, struct read *r)
{
	(void)w;
	if (any(30))
		return;
	r->rq.dev = PLANTED_VDB;
	slower(r, any(3) ? SLOW / 30 : 0);
}

/* Requests of a rival, 40 at 1 ms, from every 1,000th read on; reads are slow then. */
static void during_bursts(struct writer *w, struct read *r)
{
	uint64_t in = r->number % 1000;
	struct stored_request rq = { .q_ns = r->op.start_ns - 20000,
				     .device_ns = 900000,
				     .owner = PLANTED_RIVAL,
				     .dev = PLANTED_VDA,
				     .sector = 8,
				     .bytes = 4096,
				     .op = RQ_READ };

	if (in >= 40)
		return;
	writer_request(w, &rq);
	slower(r, 400000 + any(200000));
}

static FILE *recording_make(slow_fn *slow, uint64_t pause_ns)
{
	struct writer w = {};
	FILE *f = tmpfile();
	uint64_t at = 2000000;
	char end[64];

	made.random = 77;
	assert_non_null(f);
	assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
	planted_names(&w);
	for (uint64_t i = 0; i < READS; i++) {
		struct read r = { .number = i };

		r.is_late = pause_ns && !any(90);
		at += 1000000 + (r.is_late ? pause_ns : 0);
		r.op = (struct stored_op){ .start_ns = at + any(50000),
					   .owner = 1 + i % 5,
					   .file = 1 + any(30),
					   .kind = OP_READ,
					   .call = 17,
					   .fs = STORED_FS_FIRST,
					   .offset = 4096 * any(1 << 16),
					   .len = 4096,
					   .ret = 4096,
					   .requests = 1 };
		r.rq = (struct stored_request){ .q_ns = r.op.start_ns + 400,
						.owner = r.op.owner,
						.file = r.op.file,
						.dev = PLANTED_VDA,
						.sector = r.op.offset / 512,
						.bytes = 4096,
						.op = RQ_READ };
		slower(&r, 150000 + any(100000));
		slow(&w, &r);
		writer_op(&w, &r.op);
		writer_request(&w, &r.rq);
	}
	writer_close(&w);
	snprintf(end, sizeof(end), "{\"duration_ns\":%llu}", (unsigned long long)at);
	while (!writer_end(&w, end))
		;
	writer_done(&w);
	return f;
}

static const struct {
	const char *condition, *text, *note;
	slow_fn *slow;
	uint64_t pause_ns;
	enum explain_attribute attribute;
} cases[] = {
	{ "read>p99", "every 64th request of vda", NULL, every_64th, 0, ATTR_SEQUENCE },
	{ "read>p99", "on a disk that had been idle for ", NULL, after_idleness, 40 * PLANTED_MS,
	  ATTR_IDLE },
	{ "read>p60", "from 4.00 s on, since when all are slower (median 5", NULL, from_then_on, 0,
	  ATTR_STEP },
	{ "read>p60", "in the last third, while all grow slower all the time (median 3", NULL,
	  bit_by_bit, 0, ATTR_GROWTH },
	{ "read>1ms",
	  "behind a write of 4.00 MiB or more by rival on the same file, under way when they began",
	  "96 of the 96 slow ones ended soon after it did", behind_a_write, 0, ATTR_HOLDER },
	{ "read>p98", "with requests on vdb", NULL, on_one_leg, 0, ATTR_MEMBER },
	{ "read>p97",
	  "during requests of threads named rival on vda: 11 of 13 bursts begin and end with slow "
	  "moments, one every 1.00 s",
	  NULL, during_bursts, 0, ATTR_DURING },
};

enum { CASES = sizeof(cases) / sizeof(*cases) };

static void ask(FILE *f, const char *condition, struct explain *ret)
{
	struct condition c;
	struct reason why = {};
	struct explain_conf conf;

	assert_int_equal(condition_parse(condition, CONDITION_RECORDED, &c, &why), 0);
	conf = (struct explain_conf){ .kinds = c.ops,
				      .percentile = c.percentile,
				      .above_ns = c.above };
	*ret = (struct explain){};
	assert_int_equal(explain_read(ret, f, "made", &conf, &why), 0);
}

static const struct explain_finding *found(const struct explain *e, enum explain_attribute which)
{
	for (size_t i = 0; i < e->n_findings; i++)
		if (e->findings[i].attribute == which)
			return &e->findings[i];
	return NULL;
}

/* Each cause is among the first findings, or says the same as the first. */
static void causes_are_named(void **state)
{
	(void)state;
	for (int i = 0; i < CASES; i++) {
		FILE *f = recording_make(cases[i].slow, cases[i].pause_ns);
		const struct explain_finding *is;
		struct explain e;

		ask(f, cases[i].condition, &e);
		is = found(&e, cases[i].attribute);
		for (size_t k = 0; k < e.n_findings && (!is || is != e.findings); k++)
			print_message("%d: %zu %s %.3f %.3f %s\n", i, e.n_chosen,
				      e.findings[k].text, (double)e.findings[k].slow / e.n_slow,
				      (double)e.findings[k].others / (e.n - e.n_slow),
				      e.findings[k].note ? e.findings[k].note : "");
		assert_non_null(is);
		if (!strstr(is->text, cases[i].text))
			fail_msg("%d: %s", i, is->text);
		if (cases[i].note)
			assert_string_equal(is->note, cases[i].note);
		assert_true(is == e.findings);
		explain_done(&e);
		fclose(f);
	}
}

static void not_slower(struct writer *w, struct read *r)
{
	(void)w;
	(void)r;
}

/* Without a cause none of these is named. */
static void nothing_is_named(void **state)
{
	(void)state;
	for (int pause = 0; pause < 2; pause++) {
		FILE *f = recording_make(not_slower, pause * 40 * PLANTED_MS);
		struct explain e;

		ask(f, "read>p99", &e);
		if (e.n_findings)
			fail_msg("%s", e.findings[0].text);
		explain_done(&e);
		fclose(f);
	}
}

/* The place in the order is exact to a slot, however far times are apart. */
static void places_are_in_order(void **state)
{
	struct starts s;
	uint64_t at[3001];

	(void)state;
	for (unsigned int shift = 0; shift < 12; shift++) {
		made.random = shift;
		assert_int_equal(starts_init(&s, 5000), 0);
		for (uint64_t i = 0; i < 3001; i++)
			starts_add(&s, at[i] = 5000 + (i << shift << 14) + any(1 << 12));
		starts_finish(&s);
		assert_int_equal(s.n, 3001);
		assert_int_equal(s.cells, 2048);
		assert_int_equal(starts_rank(&s, 0), 0);
		assert_int_equal(starts_rank(&s, UINT64_MAX), 3001);
		for (uint64_t i = 0; i < 3001; i++) {
			uint64_t rank = starts_rank(&s, at[i]), time = starts_time(&s, i);

			assert_true(rank <= i + 1 && i <= rank + 1);
			assert_true(time < at[i] + (2ULL << s.shift) &&
				    at[i] < time + (2ULL << s.shift));
		}
		starts_done(&s);
	}
}

/* The probability that rotation gives 40 of 64 slow operations a property that an eighth has, both
 * in runs of so many. */
static double rotated_p(unsigned int run)
{
	static uint32_t slow[STARTS_CELLS], with[STARTS_CELLS];
	struct starts s = { .n = STARTS_CELLS, .cells = STARTS_CELLS };
	struct rotation *r;
	double p;

	memset(slow, 0, sizeof(slow));
	memset(with, 0, sizeof(with));
	made.random = 5;
	for (unsigned int n = 0; n < 512; n += run) {
		unsigned int first = any(STARTS_CELLS / run) * run;

		for (unsigned int i = first; i < first + run; i++) {
			with[i] = 1;
			slow[i] = n < 40;
		}
	}
	for (unsigned int n = 40; n < 64; n += run)
		for (unsigned int i = 0, first = any(STARTS_CELLS / run) * run; i < run; i++)
			slow[first + i] = 1;
	r = rotation_make(&s, slow);
	assert_non_null(r);
	p = rotation_above(r, with, 40);
	rotation_free(r);
	return p;
}

/* What comes in runs is no evidence, what is spread is. */
static void runs_are_no_evidence(void **state)
{
	(void)state;
	assert_true(rotated_p(1) < 1e-9);
	assert_true(rotated_p(8) < 1e-3);
	assert_true(rotated_p(8) > 1e6 * rotated_p(1));
	assert_true(rotated_p(64) > 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(causes_are_named),
		cmocka_unit_test(nothing_is_named),
		cmocka_unit_test(places_are_in_order),
		cmocka_unit_test(runs_are_no_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
