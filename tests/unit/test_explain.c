// SPDX-License-Identifier: GPL-2.0-only
/* Explanations: a planted cause is found first; where nothing is planted, nothing is found; chance
 * is as the formulas say; hostile and short recordings do no harm. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../planted.h"
#include "analyse/condition.h"
#include "analyse/explain.h"
#include "analyse/explain_scan.h"
#include "base/reason.h"
#include "host/devices.h"
#include "host/limits.h"
#include "show/explain.h"

enum { OPS = 20011, RECORDINGS = 20 };

/* A recording with a planted cause. The caller closes it. */
static FILE *recording_make(const char *cause, bool shuffled, uint64_t seed, uint64_t n)
{
	struct writer w = {};
	FILE *f = tmpfile();
	char end[128];

	assert_non_null(f);
	assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
	assert_int_equal(planted_put(&w, cause, shuffled, seed, n), 0);
	writer_close(&w);
	snprintf(end, sizeof(end), "{\"duration_ns\":%llu}", 500000ULL * n);
	while (!writer_end(&w, end))
		;
	writer_done(&w);
	return f;
}

static const char *call_name(unsigned short call)
{
	(void)call;
	return "call";
}

/* Asks @condition of @f. Returns what explain_read() does. */
static int ask(FILE *f, const char *condition, struct explain *ret, struct explain_conf *ret_conf)
{
	struct condition c;
	struct reason why = {};
	int got;

	assert_int_equal(condition_parse(condition, CONDITION_RECORDED, &c, &why), 0);
	*ret_conf = (struct explain_conf){ .kinds = c.ops,
					   .percentile = c.percentile,
					   .above_ns = c.above,
					   .call_name = call_name };
	*ret = (struct explain){};
	got = explain_read(ret, f, "made", ret_conf, &why);
	assert_true(!got || (why.exit && why.error[0]));
	return got;
}

static char *no_command(const void *arg, const struct explain_finding *f)
{
	(void)arg;
	assert_non_null(f->text);
	return strdup("iostrata report");
}

/* Text and JSON of @e, which must have no NaN. For free(). */
static char *shown(const struct explain *e, const struct explain_conf *conf)
{
	const struct explain_view v = { .e = e,
					.conf = conf,
					.condition = "any>1",
					.noun = "operations",
					.detail = true,
					.command = no_command };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(explain_text(f, &v), 0);
	assert_int_equal(explain_json(f, &v), 0);
	fclose(f);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	return text;
}

/* Counts and probabilities are possible ones. */
static void check(const struct explain *e)
{
	assert_true(e->n_slow <= e->n && e->uncovered <= e->n_slow && e->n_chosen <= e->n_findings);
	for (size_t i = 0; i < e->n_findings; i++) {
		const struct explain_finding *f = &e->findings[i];

		assert_true(f->slow <= e->n_slow && f->others <= e->n - e->n_slow);
		assert_true(isfinite(f->expected) && f->expected >= 0);
		assert_true(f->p >= 0 && f->p <= EXPLAIN_FALSE);
		assert_true(f->slow >= f->expected && f->at_most >= floor(f->expected));
		assert_true(i < e->n_chosen || e->same[i] < e->n_chosen);
		assert_true(f->from_ns < f->to_ns);
	}
}

static bool is_right(const struct explain *e, const struct planted_cause *cause)
{
	const struct explain_finding *f = e->findings;

	return e->n_chosen && f->attribute == cause->attribute && strstr(f->text, cause->text);
}

/* The answer in text, with all spaces and line ends as one space. For free(). */
static char *shown_in_line(const struct explain *e, const struct explain_conf *conf)
{
	char *text = shown(e, conf), *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' && *from != '\n')
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
	return text;
}

/* The strata in which slow ones spent more time come before all findings. */
static void strata_are_told_first(void **state)
{
	static const char *const causes[] = { "lock", "none" };
	struct explain_conf conf;
	struct explain e;

	(void)state;
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		FILE *f = recording_make(causes[i], false, 7, OPS);
		char *text, *waited, *finding;

		assert_int_equal(ask(f, "fsync>p99", &e, &conf), 0);
		text = shown_in_line(&e, &conf);
		waited = strstr(text, "s. They waited for: ");
		finding = strstr(text, i ? " properties none is more frequent"
					 : " 1. longest in stratum");
		assert_true(waited && finding && waited < finding);
		assert_non_null(strstr(text, " operations took more than "));
		assert_non_null(strstr(text, " ms: on average "));
		if (!i)
			assert_memory_equal(waited, "s. They waited for: lock +", 26);
		free(text);
		explain_done(&e);
		fclose(f);
	}
}

/* At least 29 of 30 causes are the first finding, with most of the slow operations. */
static void planted_is_first(void **state)
{
	int right = 0;

	(void)state;
	for (int i = 0; i < PLANTED_CAUSES; i++) {
		const struct planted_cause *cause = &planted_causes[i];
		FILE *f = recording_make(cause->name, false, i, OPS);
		struct explain_conf conf;
		struct explain e;

		assert_int_equal(ask(f, cause->condition, &e, &conf), 0);
		check(&e);
		if (is_right(&e, cause) && e.findings[0].slow * 2 > e.n_slow)
			right++;
		else
			print_message("%s: %s\n", cause->name,
				      e.n_chosen ? e.findings[0].text : "nothing");
		free(shown(&e, &conf));
		explain_done(&e);
		fclose(f);
	}
	assert_true(right >= PLANTED_CAUSES - 1);
}

/* Recordings with a planted cause, but with the times exchanged between operations. */
static void nothing_is_found_in_noise(void **state)
{
	(void)state;
	for (int i = 0; i < RECORDINGS; i++) {
		const struct planted_cause *cause = &planted_causes[i];
		FILE *f = recording_make(cause->name, true, i, OPS);
		struct explain_conf conf;
		struct explain e;

		assert_int_equal(ask(f, i % 2 ? "read>p99" : "fsync>p95", &e, &conf), 0);
		assert_true(e.n_slow > 100 && e.tests > 100);
		if (e.n_findings)
			fail_msg("%s: %s", cause->name, e.findings[0].text);
		explain_done(&e);
		fclose(f);
	}
}

/* A finding that half of 16 slow ones have, beginning with the @from-th. */
static void finding_put(struct explain *e, enum explain_attribute attribute, double share,
			unsigned int from)
{
	struct explain_finding *f = &e->findings[e->n_findings++];

	*f = (struct explain_finding){ .attribute = attribute,
				       .slow = 8,
				       .score = share,
				       .rank = share,
				       .has = calloc(2, sizeof(*f->has)) };
	for (unsigned int i = from; i < from + 8; i++)
		bit_set(f->has, i);
}

/* Who, what and where come before ways, times and symptoms, except for one that explains far more;
 * a symptom is below its cause. */
static void causes_come_before_symptoms(void **state)
{
	static const struct {
		struct {
			enum explain_attribute attribute;
			double share;
			unsigned int from;
		} of[3];
		enum explain_attribute order[3];
		size_t chosen;
	} cases[] = {
		{ { { ATTR_TIME, 0.9, 8 }, { ATTR_CALL, 0.8, 8 }, { ATTR_FILE, 0.5, 0 } },
		  { ATTR_FILE, ATTR_CALL, ATTR_TIME },
		  2 },
		{ { { ATTR_FILE, 0.2, 0 }, { ATTR_TIME, 0.9, 8 }, { ATTR_CALL, 0.3, 4 } },
		  { ATTR_TIME, ATTR_FILE, ATTR_CALL },
		  2 },
		{ { { ATTR_DEPTH, 0.9, 3 }, { ATTR_FILE, 0.5, 0 }, { ATTR_STRATUM, 0.9, 0 } },
		  { ATTR_FILE, ATTR_DEPTH, ATTR_STRATUM },
		  1 },
		{ { { ATTR_STRATUM, 0.9, 0 }, { ATTR_DEPTH, 0.9, 8 }, { ATTR_SIZE, 0.1, 0 } },
		  { ATTR_DEPTH, ATTR_SIZE, ATTR_STRATUM },
		  2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct explain_finding list[3];
		struct explain e = { .n = 1000, .n_slow = 16, .findings = list, .tests = 1 };
		struct scan s = { .e = &e, .cell_ns = 1, .n_list = 16 };

		s.list = calloc(16, sizeof(*s.list));
		for (unsigned int k = 0; k < 16; k++)
			s.list[k].start_ns = 12 * k;
		for (int k = 0; k < 3; k++)
			finding_put(&e, cases[i].of[k].attribute, cases[i].of[k].share,
				    cases[i].of[k].from);
		assert_int_equal(explain_findings_choose(&s), 0);
		assert_int_equal(e.n_findings, 3);
		for (size_t k = 0; k < 3; k++) {
			if (list[k].attribute != cases[i].order[k])
				fail_msg("%zu: %s is in place %zu", i,
					 explain_attribute_name(list[k].attribute), k);
			free(list[k].has);
		}
		assert_int_equal(e.n_chosen, cases[i].chosen);
		free(e.same);
		free(s.list);
	}
}

/* Where nothing is sure, the least probable properties are told, with their shares. */
static void nearest_are_told(void **state)
{
	static const double ps[] = { 0.5, 0.03, 0.2 };
	const struct explain_conf conf = {};
	struct explain e = { .n = 1000, .n_slow = 16, .tests = 3 };
	struct scan s = { .e = &e, .cell_ns = 1, .n_list = 16 };
	char *text;

	(void)state;
	s.list = calloc(16, sizeof(*s.list));
	e.findings = calloc(3, sizeof(*e.findings));
	for (int i = 0; i < 3; i++) {
		finding_put(&e, ATTR_FILE + i, 0.5, i);
		e.findings[i].raw_p = ps[i];
		e.findings[i].others = 39;
		assert_true(asprintf(&e.findings[i].text, "in file %d", i) > 0);
	}
	assert_int_equal(explain_findings_choose(&s), 0);
	assert_int_equal(e.n_findings, 0);
	assert_int_equal(e.n_nearest, 3);
	assert_true(e.nearest[0].p < e.nearest[1].p && e.nearest[1].p < e.nearest[2].p);
	text = shown_in_line(&e, &conf);
	assert_non_null(strstr(text, "Of 3 properties none is more frequent among them than chance "
				     "allows. Nearest: in file 1 (50 %, others 4.0 %); in file 2 "
				     "(50 %, others 4.0 %); in file 0 (50 %, others 4.0 %), not "
				     "certain. "));
	assert_non_null(
		strstr(text, "\"nearest\":[{\"attribute\":\"directory\",\"text\":\"in file 1\""));
	free(text);
	free(s.list);
	explain_done(&e);
}

/* However short a recording is, or wherever it ends: counts, or one error. */
static void short_ones_are_explained(void **state)
{
	static const char *const conditions[] = { "any>p99", "any>1ns", "request>p50", "read>1h" };
	struct explain_conf conf;
	struct explain e;
	FILE *f;

	(void)state;
	for (uint64_t n = 0; n < 23; n++) {
		f = recording_make("file", false, n, n);
		for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
			assert_int_equal(ask(f, conditions[i], &e, &conf), 0);
			check(&e);
			assert_true(i != 1 || (e.n == n && e.n_slow == n));
			free(shown(&e, &conf));
			explain_done(&e);
		}
		fclose(f);
	}
}

static void cut_off_ones_are_explained(void **state)
{
	FILE *f = recording_make("file", false, 1, 3001);
	struct explain_conf conf;
	struct explain e;
	long size;

	(void)state;
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	for (int part = 19; part > 0; part--) {
		assert_int_equal(ftruncate(fileno(f), size * part / 20), 0);
		if (ask(f, "any>p99", &e, &conf) >= 0) {
			assert_true(e.is_cut_off);
			check(&e);
			free(shown(&e, &conf));
		}
		explain_done(&e);
	}
	fclose(f);
}

/* With times and sizes as large as numbers can be. */
static void hostile_numbers_do_no_harm(void **state)
{
	struct writer w = {};
	struct explain_conf conf;
	struct explain e;
	FILE *f = tmpfile();

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
	for (uint64_t i = 0; i < 211; i++) {
		struct stored_op op = { .start_ns = i % 7 ? i : UINT64_MAX - i,
					.owner = i % 5 ? UINT64_MAX : i,
					.file = i % 3 ? UINT64_MAX : i,
					.kind = i % 11,
					.call = UINT64_MAX - i,
					.cache = i % 9,
					.fs = UINT64_MAX,
					.offset = i << (i % 64),
					.len = UINT64_MAX / (i + 1),
					.ret = INT64_MIN + i,
					.requests = UINT64_MAX };
		struct stored_request rq = { .q_ns = i % 7 ? i : UINT64_MAX - i,
					     .tag_ns = i % 4 ? i : UINT64_MAX / 2,
					     .device_ns = i % 8 ? 1 : UINT64_MAX,
					     .dev = i % 13,
					     .sector = UINT64_MAX - i,
					     .op = i % 12,
					     .merges = UINT64_MAX };

		op.strata[i % ST_N] = i % 2 ? UINT64_MAX - i : i;
		writer_op(&w, &op);
		writer_request(&w, &rq);
	}
	writer_close(&w);
	while (!writer_end(&w, "{}"))
		;
	writer_done(&w);
	for (int i = 0; i < 2; i++) {
		assert_true(ask(f, i ? "any>p90" : "request>p90", &e, &conf) >= 0);
		assert_true(e.n > 0);
		free(shown(&e, &conf));
		explain_done(&e);
	}
	fclose(f);
}

/* The requests in flight at the beginning of a slot, however often slots have become longer. */
static void depths_are_of_the_beginning(void **state)
{
	const struct stored_request far = { .q_ns = 60ULL << 30, .device_ns = 5000, .dev = 2 };
	struct recording rec = {};

	(void)state;
	assert_int_equal(catalog_init(&rec.catalog), 0);
	for (uint64_t at = 3; at < 3000000000; at = 2 * at + 7919) {
		struct stored_request rq = { .q_ns = at, .device_ns = 100 << 20, .dev = 1 };
		struct beside b;

		assert_int_equal(explain_beside_init(&b, 0), 0);
		assert_int_equal(explain_beside_add(&b, &rec, &rq), 0);
		assert_int_equal(explain_beside_add(&b, &rec, &far), 0);
		explain_beside_finish(&b, 0);
		assert_int_equal(explain_beside_depth(&b, 1, at), 0);
		assert_int_equal(explain_beside_depth(&b, 1, at + (50 << 20)), 1);
		assert_int_equal(explain_beside_depth(&b, 1, at + (200 << 20)), 0);
		explain_beside_done(&b);
	}
	catalog_done(&rec.catalog);
}

/* An operation is beside the requests of others only, and for as long as the window. */
static void beside_are_others(void **state)
{
	const struct stored_request rq = { .q_ns = 5 << 20, .device_ns = 1 << 20, .dev = 1 };
	const struct catalog_thread own = { .pid = 7, .comm = "one" },
				    other = { .pid = 8, .comm = "two" };
	struct recording rec = {};
	struct beside b;

	(void)state;
	assert_int_equal(catalog_init(&rec.catalog), 0);
	rec.catalog.threads[0] = own; /* of the request, which knows no thread */
	assert_int_equal(explain_beside_init(&b, 0), 0);
	assert_int_equal(explain_beside_add(&b, &rec, &rq), 0);
	explain_beside_finish(&b, 1 << 20);
	assert_true(explain_beside_at(&b, 5 << 20, &other));
	assert_true(!explain_beside_at(&b, 5 << 20, &own));
	assert_true(explain_beside_at(&b, (4 << 20) + 4096, &other));
	assert_true(!explain_beside_at(&b, 3 << 20, &other));
	rec.catalog.threads[0] = (struct catalog_thread){};
	explain_beside_done(&b);
	catalog_done(&rec.catalog);
}

/* A request of a thread of this name and process, 1 ms after @ms. */
static void beside_put(struct beside *b, struct recording *rec, const char *comm, uint64_t ms,
		       uint64_t device_ms)
{
	struct catalog_thread *t = &rec->catalog.threads[0];

	t->pid = 1;
	memset(t->comm, 0, sizeof(t->comm));
	memcpy(t->comm, comm, strlen(comm));
	assert_int_equal(explain_beside_add(b, rec,
					    &(struct stored_request){ .q_ns = ms << 20,
								      .device_ns = device_ms << 20,
								      .dev = 1 }),
			 0);
}

/* Of more activities than have places, those with the most time in flight are looked at: however
 * late they come, and also where there are more than are weighed. */
static void heaviest_are_beside(void **state)
{
	const struct catalog_thread nobody = { .pid = 9, .comm = "nobody" };
	struct recording rec = {};
	struct beside b;
	char comm[COMM_LEN];

	(void)state;
	assert_int_equal(catalog_init(&rec.catalog), 0);
	assert_int_equal(explain_beside_init(&b, 0), 0);
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < 3 * BESIDE_WEIGHED; i++) {
			snprintf(comm, sizeof(comm), "light-%u", i);
			beside_put(&b, &rec, comm, 10 + i % 7, 1);
			if (i % 1000 == 500)
				beside_put(&b, &rec, "heavy", 1000, 20);
		}
		if (!pass)
			assert_true(explain_beside_choose(&b));
	}
	explain_beside_finish(&b, 0);
	assert_int_equal(b.n, BESIDE_MAX);
	assert_true(b.left_out > 0);
	assert_true(explain_beside_at(&b, 1010 << 20, &nobody));
	assert_true(!explain_beside_at(&b, 900 << 20, &nobody));
	assert_true(explain_beside_depth(&b, 1, 1010 << 20) == 12);
	rec.catalog.threads[0] = (struct catalog_thread){};
	explain_beside_done(&b);
	catalog_done(&rec.catalog);
}

/* Requests on a disk are beside operations on that disk, and on disks that lie on it. */
static void beside_are_on_disks_below(void **state)
{
	static const struct device list[] = {
		{ .name = "vda", .dev = 1 },
		{ .name = "vda1", .dev = 2, .disk = 1 },
		{ .name = "dm-0", .dev = 3 },
		{ .name = "vdb", .dev = 4 },
	};
	struct beside b = { .n = 2, .list = { { .dev = 1 }, { .dev = 4 } } };
	struct devices d = {};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		devices_add(&d, &list[i]);
	devices_sort(&d);
	devices_link(&d, 3, 2);
	assert_int_equal(explain_beside_below(&b, &d, 1), 1);
	assert_int_equal(explain_beside_below(&b, &d, 3), 1);
	assert_int_equal(explain_beside_below(&b, &d, 4), 2);
	assert_int_equal(explain_beside_below(&b, &d, 7), 0);
	devices_done(&d);
}

/* Reads that are slow while others have requests in flight on @dev, and wait in @stratum. Returns
 * how many findings are about others. */
static unsigned int neighbours_found(enum stratum stratum, unsigned int dev)
{
	struct writer w = {};
	struct explain_conf conf;
	struct explain e;
	FILE *f = tmpfile();
	unsigned int found = 0;

	assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
	planted_names(&w);
	for (uint64_t i = 0; i < 4001; i++) {
		uint64_t at = 2000000 + 1000000 * i;
		bool slow = i * 7919 % 37 == 0;
		struct stored_op op = { .start_ns = at, .owner = 1, .file = 1, .kind = OP_READ };

		op.strata[stratum] = (slow ? 900000 : 20000) + i % 13;
		writer_op(&w, &op);
		if (slow)
			writer_request(&w, &(struct stored_request){ .q_ns = at - 500000,
								     .device_ns = 1300000,
								     .owner = PLANTED_RIVAL,
								     .dev = dev,
								     .bytes = 4096,
								     .op = RQ_READ });
	}
	writer_close(&w);
	while (!writer_end(&w, "{\"duration_ns\":5000000000}"))
		;
	writer_done(&w);
	assert_int_equal(ask(f, "read>500us", &e, &conf), 0);
	assert_int_equal(e.n_slow, 109);
	for (size_t i = 0; i < e.n_findings; i++)
		found += e.findings[i].attribute == ATTR_BESIDE;
	explain_done(&e);
	fclose(f);
	return found;
}

/* Others are named if slow ones wait, and only on the disks of their files. */
static void neighbours_can_hinder(void **state)
{
	(void)state;
	assert_true(neighbours_found(ST_DEVICE, PLANTED_VDA) > 0);
	assert_int_equal(neighbours_found(ST_DEVICE, PLANTED_VDB), 0);
	assert_int_equal(neighbours_found(ST_FS, PLANTED_VDA), 0);
}

/* Reads that are slow from 4 s to 4.6 s only. @rival: somebody makes many requests from 3.9 s on.
 */
static FILE *incident_make(bool rival)
{
	struct writer w = {};
	FILE *f = tmpfile();

	assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
	planted_names(&w);
	for (uint64_t ms = 1; ms < 20000; ms++) {
		uint64_t at = 1000000 + ms * PLANTED_MS;
		bool slow = ms >= 4000 && ms < 4600;
		bool then = rival && ms >= 3900 && ms < 4600;
		struct stored_op op = {
			.start_ns = at, .owner = 1 + ms % 7, .file = 1 + ms % 11, .kind = OP_READ
		};
		struct stored_request rq = { .q_ns = at + 100,
					     .device_ns = 90000,
					     .owner = PLANTED_JOURNAL,
					     .dev = PLANTED_VDA,
					     .bytes = 4096,
					     .op = RQ_WRITE };

		op.strata[ST_DEVICE] = (slow ? 3000000 : 20000) + ms % 13;
		writer_op(&w, &op);
		if (ms % 10 == 0)
			writer_request(&w, &rq);
		rq.owner = PLANTED_RIVAL;
		if (then || ms % 1000 == 500)
			writer_request(&w, &rq);
	}
	writer_close(&w);
	while (!writer_end(&w, "{\"duration_ns\":20000000000}"))
		;
	writer_done(&w);
	return f;
}

/* What happens once is described with who was different then, and no probability. */
static void incidents_are_described(void **state)
{
	struct explain_conf conf;
	struct explain e;

	(void)state;
	for (int rival = 0; rival < 2; rival++) {
		FILE *f = incident_make(rival);
		char *text, *told;

		assert_int_equal(ask(f, "read>1ms", &e, &conf), 0);
		assert_int_equal(e.n_slow, 600);
		assert_true(e.n_chosen == 1 && e.findings[0].is_incident);
		assert_int_equal(e.n_then, rival);
		text = shown_in_line(&e, &conf);
		told = strstr(text, " 1. in one incident, 4.00 s to 4.60 s after the beginning 600 "
				    "of 600 slow ones (100 %), ");
		assert_non_null(told);
		*strstr(told, " iostrata report") = '\0';
		assert_null(strstr(told, "p <"));
		assert_null(strstr(told, "chance would"));
		if (rival) {
			assert_non_null(strstr(told,
					       " what was different then (it happened once: a "
					       "coincidence, no proof): - requests of "
					       "threads named rival on vda: "));
			assert_non_null(strstr(told, " of 719; the first came about "));
			assert_true(e.then[0].requests >= 670 && e.then[0].requests <= 700);
			/* 30 ms and a tenth of 587 ms, from the beginning of a group of slots on */
			assert_true(e.then[0].before_ns > 80000000 &&
				    e.then[0].before_ns < 110000000);
		} else {
			assert_non_null(
				strstr(told, "no neighbour in the recording was different"));
		}
		free(text);
		explain_done(&e);
		fclose(f);
	}
}

/* Threads read one file for a while, and slow reads come together: some file has many of them. */
static void coincidences_are_no_causes(void **state)
{
	struct explain_conf conf;
	struct explain e;

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct planted_load p = { .random = seed * 0x9e3779b97f4a7c15ULL };
		struct writer w = {};
		FILE *f = tmpfile();

		assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
		planted_names(&w);
		for (uint64_t i = 0, file = 1, burst = 0; i < 20011; i++) {
			struct stored_op op = { .start_ns = 2000000 + 500000 * i,
						.owner = 1,
						.kind = OP_READ };

			file = i % 400 ? file : 1 + planted_any(&p, 20);
			burst = planted_any(&p, 2000) ? burst / 2 : 1 << 20;
			op.file = file;
			op.strata[ST_DEVICE] =
				80000 + planted_any(&p, 9999) + (burst ? 5000000 : 0);
			writer_op(&w, &op);
		}
		writer_close(&w);
		while (!writer_end(&w, "{\"duration_ns\":10005500000}"))
			;
		writer_done(&w);
		assert_int_equal(ask(f, "read>1ms", &e, &conf), 0);
		assert_true(e.n_slow > 50);
		for (size_t i = 0; i < e.n_findings; i++)
			assert_true(e.findings[i].attribute != ATTR_FILE);
		explain_done(&e);
		fclose(f);
	}
}

/* Slow flushes are explained by being flushes, not by their place. */
static void flushes_have_no_offset(void **state)
{
	struct writer w = {};
	struct explain_conf conf;
	struct explain e;
	FILE *f = tmpfile();

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
	for (uint64_t i = 0; i < 2003; i++) {
		bool flush = i * 7919 % 19 == 0;

		writer_request(&w, &(struct stored_request){
					   .q_ns = 2000000 + i * 1000000,
					   .device_ns = flush ? 900000 + i % 13 : 80000 + i % 17,
					   .dev = PLANTED_VDA,
					   .sector = flush ? 0 : 8 * (1 + i * 7919 % 100003),
					   .bytes = flush ? 0 : 4096,
					   .op = RQ_WRITE });
	}
	writer_close(&w);
	while (!writer_end(&w, "{\"duration_ns\":3000000000}"))
		;
	writer_done(&w);
	assert_int_equal(ask(f, "request>500us", &e, &conf), 0);
	assert_true(e.n_chosen);
	assert_string_equal(e.findings[0].text, "of no bytes (flushes)");
	for (size_t i = 0; i < e.n_findings; i++)
		assert_true(e.findings[i].attribute != ATTR_OFFSET);
	explain_done(&e);
	assert_int_equal(ask(f, "request>900011ns", &e, &conf), 0);
	assert_true(e.n_slow > 0);
	explain_done(&e);
	assert_int_equal(ask(f, "request>900012ns", &e, &conf), 0); /* as long as the longest */
	assert_true(!e.n_slow);
	explain_done(&e);
	fclose(f);
}

/* systemd's names of cgroups have backslashes, which a terminal gets twice, and JSON once. */
static void a_limit_is_named(void **state)
{
	static const char limit[] = "sda wbps=1048576\t/a\\x2db";
	struct stored_name n = { .type = NAME_LIMIT,
				 .id = limit_id(101, LIMIT_WRITES, LIMIT_IO_MAX),
				 .text_len = sizeof(limit) - 1 };
	struct writer w = {};
	struct explain_conf conf;
	FILE *f = tmpfile();
	struct explain e;
	char *line;

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(f), planted_header), 0);
	planted_names(&w);
	writer_name(&w, &n, limit);
	for (uint64_t i = 0; i < 2003; i++) {
		bool waits = i * 7919 % 19 == 0;
		struct stored_op op = { .start_ns = 2000000 + 1000000 * i,
					.owner = 1 + i % 3,
					.file = 1 + i % 7,
					.kind = OP_WRITE,
					.who = waits ? WHO_LIMIT : WHO_NONE,
					.who_ns = waits ? 900000 : 0,
					.who_thread = waits ? 1 + i % 3 : 0,
					.who_limit = waits ? n.id : 0 };

		op.strata[ST_THROTTLE] = op.who_ns;
		op.strata[ST_SYSCALL] = 80000 + i % 17;
		writer_op(&w, &op);
	}
	writer_close(&w);
	while (!writer_end(&w, "{\"duration_ns\":3000000000}"))
		;
	writer_done(&w);
	assert_int_equal(ask(f, "write>500us", &e, &conf), 0);
	line = shown_in_line(&e, &conf);
	assert_non_null(strstr(line, "waiting for the limit of cgroup /a\\\\x2db: 1.00 MiB/s of "
				     "writes on sda (io.max)"));
	assert_non_null(strstr(line, "\"text\":\"waiting for the limit of cgroup /a\\\\x2db: 1.00 "
				     "MiB/s of writes on sda (io.max)\""));
	assert_null(strstr(line, "\\\\\\"));
	free(line);
	explain_done(&e);
	fclose(f);
}

static void conditions_are_parsed(void **state)
{
	static const char *const wrong[][2] = {
		{ "", "no '>'" },
		{ ">p99", "no such operation" },
		{ "read", "no '>'" },
		{ "read>", "no limit behind '>'" },
		{ "read>p", "a percentile like p99.9" },
		{ "read>p0", "a percentile like p99.9" },
		{ "read>p100", "a percentile like p99.9" },
		{ "read>pp", "a percentile like p99.9" },
		{ "read>p9.9.9", "a percentile like p99.9" },
		{ "read>p99.9x3", "a percentile like p99.9" },
		{ "read p99>5ms over 10s", "a percentile like p99.9" },
		{ "errors>0", "a percentile like p99.9" },
		{ "queue vda>3 over 5s", "a percentile like p99.9" },
		{ "frob>p9", "no such operation" },
		{ "requests>5", "no such operation" },
		{ "read>5x", "units are" },
		{ "read vda>p9", "neither a percentile" },
		{ "Read>5", "no such operation" },
		{ "read>5ms over 10s", "has no 'over DUR'" },
		{ "read > 5 ms", "nothing may follow the limit" },
	};
	struct condition c;
	struct reason why;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (!condition_parse(wrong[i][0], CONDITION_RECORDED, &c, &why))
			fail_msg("'%s' was taken", wrong[i][0]);
		if (why.exit != EXIT_USAGE || !strstr(why.error, wrong[i][1]))
			fail_msg("'%s': %s", wrong[i][0], why.error);
	}
	assert_int_equal(condition_parse("fsync>100ms", CONDITION_RECORDED, &c, &why), 0);
	assert_true(c.measure == CONDITION_TIME && c.ops == 1U << OP_FSYNC);
	assert_true(c.above == 100000000 && !c.percentile && !c.requests);
	assert_string_equal(condition_noun(&c, 2), "fsyncs");
	assert_string_equal(condition_noun(&c, 1), "fsync");
	assert_int_equal(
		condition_parse(" request /dev/nvme0n1 > p99.9", CONDITION_RECORDED, &c, &why), 0);
	assert_true(c.measure == CONDITION_SLOWEST && c.requests && !c.ops);
	assert_true(c.percentile == 99.9 && !c.above);
	assert_string_equal(c.disk, "nvme0n1");
	assert_string_equal(condition_noun(&c, 0), "requests");
	assert_int_equal(condition_parse("any>p50", CONDITION_RECORDED, &c, &why), 0);
	assert_true(c.ops == ~0U && !c.disk[0]);
	assert_string_equal(condition_noun(&c, 2), "operations");
}

/* Percentiles are exact to 0.1 %, and the counts to one. */
static void slow_ones_are_counted(void **state)
{
	FILE *f = recording_make("none", false, 5, OPS);
	uint64_t sums[2] = {}, below;
	struct explain_conf conf;
	struct explain e;

	(void)state;
	assert_int_equal(ask(f, "read>p90", &e, &conf), 0);
	assert_true(e.n_slow <= e.n / 10 && e.n_slow > e.n / 10 - e.n / 50);
	for (int st = 0; st < ST_N; st++) {
		sums[0] += e.slow_ns[st];
		sums[1] += e.others_ns[st];
	}
	assert_true(sums[0] > e.n_slow * e.threshold_ns);
	assert_true(sums[1] <= (e.n - e.n_slow) * e.threshold_ns);
	below = e.n_slow;
	conf.above_ns = e.threshold_ns;
	conf.percentile = 0;
	explain_done(&e);
	e = (struct explain){};
	assert_int_equal(explain_read(&e, f, "made", &conf, &(struct reason){}), 0);
	assert_int_equal(e.n_slow, below);
	explain_done(&e);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planted_is_first),
		cmocka_unit_test(strata_are_told_first),
		cmocka_unit_test(causes_come_before_symptoms),
		cmocka_unit_test(nearest_are_told),
		cmocka_unit_test(nothing_is_found_in_noise),
		cmocka_unit_test(short_ones_are_explained),
		cmocka_unit_test(cut_off_ones_are_explained),
		cmocka_unit_test(hostile_numbers_do_no_harm),
		cmocka_unit_test(depths_are_of_the_beginning),
		cmocka_unit_test(beside_are_others),
		cmocka_unit_test(heaviest_are_beside),
		cmocka_unit_test(beside_are_on_disks_below),
		cmocka_unit_test(neighbours_can_hinder),
		cmocka_unit_test(incidents_are_described),
		cmocka_unit_test(coincidences_are_no_causes),
		cmocka_unit_test(flushes_have_no_offset),
		cmocka_unit_test(a_limit_is_named),
		cmocka_unit_test(conditions_are_parsed),
		cmocka_unit_test(slow_ones_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
