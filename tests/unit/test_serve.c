// SPDX-License-Identifier: GPL-2.0-only
/* `serve`: snapshots become sums since the start, under labels, as text. Snapshots reach the
 * listener. This is one file, since all tests share its snapshots. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hist.h"
#include "host/container.h"
#include "serve/feed.h"
#include "serve/metrics.h"
#include "serve/totals.h"
#include "show/breakdown.h"

enum { NO_LIMIT = 10000000 }; /* of series */

/* Nothing is missing: all is measured. */
static const struct missing nothing;

/* A snapshot with one row of operations for each of @comms, each of @each_ns, and one of requests
 * of the first. */
static void sample(struct snapshot *sn, const char *const *comms, size_t n, uint64_t each_ns)
{
	*sn = (struct snapshot){ .ops = calloc(n, sizeof(*sn->ops)),
				 .n_ops = n,
				 .rqs = calloc(1, sizeof(*sn->rqs)),
				 .n_rqs = 1,
				 .duration_ns = 1000000000 };
	assert_true(sn->ops && sn->rqs);
	for (size_t i = 0; i < n; i++) {
		struct op_row *r = &sn->ops[i];

		*r = (struct op_row){
			.key.op = OP_READ, .fs = "ext4", .count = 23, .errors = 2, .io_errors = 1
		};
		r->by = comms[i] ? strdup(comms[i]) : NULL;
		r->bytes = 23 * 512;
		r->total_ns = 23 * each_ns;
		r->strata[ST_SYSCALL] = 3 * each_ns;
		r->strata[ST_DEVICE] = 20 * each_ns;
		assert_int_equal(hist_add(&r->hist, hist_bucket(each_ns), 23), 0);
	}
	sn->rqs[0] = (struct rq_row){ .key.op = RQ_WRITE,
				      .disk = "sda",
				      .count = 7,
				      .errors = 3,
				      .bytes = 4096,
				      .tag_ns = 1,
				      .queue_ns = 2,
				      .device_ns = 3000000000 };
	sn->rqs[0].by = comms[0] ? strdup(comms[0]) : NULL;
	assert_int_equal(hist_add(&sn->rqs[0].hist, hist_bucket(3000000000 / 7), 7), 0);
}

static void add(struct totals *t, const char *const *comms, size_t n, uint64_t each_ns,
		uint64_t taken_ns)
{
	struct snapshot sn;

	sample(&sn, comms, n, each_ns);
	sn.taken_ns = taken_ns;
	assert_int_equal(totals_add(t, &sn, &nothing), 0);
	snapshot_free(&sn);
}

/* All series of @t, of a run that does not measure @missing. */
static char *text_without(const struct totals *t, const struct missing *missing, bool open)
{
	const struct breakdown_view view = { .layer = LAYER_OPS, .missing = missing };
	const struct metrics m = { .totals = t,
				   .version = "1",
				   .view = &view,
				   .cpu_ns = 1500000000,
				   .start_ns = 1000000007 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(metrics_write(f, &m, open), 0);
	fclose(f);
	return text;
}

static char *text_of(const struct totals *t, bool open)
{
	return text_without(t, &nothing, open);
}

static void assert_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at > text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line %s in:\n%s", line, text);
}

/* The value of the series @name{...}; fails if there is none. */
static double value_of(const char *text, const char *series)
{
	const char *at = strstr(text, series);

	if (!at)
		fail_msg("no %s in:\n%s", series, text);
	return atof(at + strlen(series));
}

static void test_bounds(void **state)
{
	static const unsigned int choices[] = { 9, 25, 50 };
	struct bounds b;

	(void)state;
	for (int choice = 0; choice < 3; choice++) {
		unsigned int buckets = choices[choice];

		bounds_set(&b, buckets);
		assert_int_equal(b.n, buckets - 1);
		for (unsigned int i = 1; i < b.n; i++)
			assert_true(b.ns[i] > b.ns[i - 1]);
		/* exact: the values of a bucket of ours are all on the same side of each bound */
		for (unsigned int bucket = 0; bucket < HIST_N - 1; bucket++) {
			unsigned int at = bounds_find(&b, bucket);
			uint64_t low = hist_low(bucket), high = hist_low(bucket + 1) - 1;

			assert_true(at == b.n || high <= b.ns[at]);
			assert_true(at == 0 || low > b.ns[at - 1]);
		}
		assert_int_equal(bounds_find(&b, HIST_N - 1), b.n);
	}
}

static void test_text(void **state)
{
	static const char *const nobody[] = { NULL };
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_NONE, 25, 100, NO_LIMIT);
	add(&t, nobody, 1, 1023, 1);
	add(&t, nobody, 1, 1024, 2);
	text = text_of(&t, false);
	assert_line(text, "# TYPE iostrata_operation_bytes_total counter");
	assert_line(text, "iostrata_operation_duration_seconds_bucket{op=\"read\",fs=\"ext4\","
			  "le=\"0.000001023\"} 23");
	assert_line(text, "iostrata_operation_duration_seconds_bucket{op=\"read\",fs=\"ext4\","
			  "le=\"0.000002047\"} 46");
	assert_line(text, "iostrata_operation_duration_seconds_bucket{op=\"read\",fs=\"ext4\","
			  "le=\"+Inf\"} 46");
	assert_line(text, "iostrata_operation_duration_seconds_sum{op=\"read\",fs=\"ext4\"} "
			  "0.000047081");
	assert_line(text, "iostrata_operation_duration_seconds_count{op=\"read\",fs=\"ext4\"} 46");
	assert_line(text, "iostrata_operation_seconds_total{op=\"read\",fs=\"ext4\","
			  "stratum=\"device\"} 0.000040940");
	assert_line(text,
		    "iostrata_operation_errors_total{op=\"read\",fs=\"ext4\",class=\"io\"} 2");
	assert_line(text,
		    "iostrata_operation_errors_total{op=\"read\",fs=\"ext4\",class=\"other\"} 2");
	assert_line(text,
		    "iostrata_request_seconds_total{disk=\"sda\",op=\"write\",part=\"device\"} "
		    "6.000000000");
	assert_line(text, "iostrata_request_seconds_total{disk=\"sda\",op=\"write\",part=\"tag\"} "
			  "0.000000002");
	assert_line(text,
		    "iostrata_request_seconds_total{disk=\"sda\",op=\"write\",part=\"queue\"} "
		    "0.000000004");
	assert_line(text, "iostrata_request_errors_total{disk=\"sda\",op=\"write\"} 6");
	assert_line(text, "iostrata_request_bytes_total{disk=\"sda\",op=\"write\"} 8192");
	assert_line(text, "iostrata_device_queue_depth{disk=\"sda\"} 3.000000");
	assert_null(strstr(text, "iostrata_not_measured{"));
	assert_line(text, "process_cpu_seconds_total 1.500000000");
	assert_null(strstr(text, "# EOF"));
	assert_null(strstr(text, "resident")); /* not known */
	free(text);
	text = text_of(&t, true);
	assert_line(text, "# TYPE iostrata_operation_bytes counter");
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
	totals_done(&t);
}

/* A figure has no series until it was measured once. */
static void test_missing(void **state)
{
	static const char *const nobody[] = { NULL };
	static const struct missing no_vfs = { .stratum[ST_VFS] = "no probes" };
	struct snapshot sn;
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_NONE, 50, 100, NO_LIMIT);
	sample(&sn, nobody, 1, 1000);
	sn.ops[0].missing_layers = 1U << ST_FS;
	assert_int_equal(totals_add(&t, &sn, &no_vfs), 0);
	text = text_of(&t, false);
	assert_null(strstr(text, "stratum=\"vfs\""));
	assert_null(strstr(text, "stratum=\"fs\""));
	assert_non_null(strstr(text, "stratum=\"lock\""));
	free(text);
	sn.ops[0].missing_layers = 0;
	assert_int_equal(totals_add(&t, &sn, &no_vfs), 0);
	text = text_of(&t, false);
	assert_null(strstr(text, "stratum=\"vfs\""));
	assert_non_null(strstr(text, "stratum=\"fs\""));
	free(text);
	snapshot_free(&sn);
	totals_done(&t);
}

/* All texts of @m are @reason. */
static void missing_fill(struct missing *m, const char *reason)
{
	const char *texts[sizeof(*m) / sizeof(reason)];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		texts[i] = reason;
	memcpy(m, texts, sizeof(texts));
}

/* Each figure that is not measured is told under a name of its own, with its reason, which is
 * hostile. */
static void test_reasons(void **state)
{
	static const char *const names[] = {
		"syscall", "vfs",     "fs",     "throttle", "tag",   "queue",  "device", "complete",
		"runq",    "preempt", "helper", "sleep",    "lock",  "server", "reap",   "requests",
		"calls",   "uring",   "aio",    "fault",    "pages", "paths"
	};
	enum { NAMES = sizeof(names) / sizeof(*names) };
	struct missing missing;
	struct totals t;
	char *text, line[128];
	const char *at;
	int n = 0;

	(void)state;
	missing_fill(&missing, "a \"reason\" \\ with\n all");
	totals_init(&t, BY_NONE, 25, 100, NO_LIMIT);
	text = text_without(&t, &missing, false);
	for (int i = 0; i < NAMES; i++) {
		snprintf(line, sizeof(line),
			 "iostrata_not_measured{layer=\"%s\",reason=\"a \\\"reason\\\" \\\\ with? "
			 "all\"} 1",
			 names[i]);
		assert_line(text, line);
	}
	for (at = text; (at = strstr(at, "\niostrata_not_measured{")); at++)
		n++;
	assert_int_equal(n, NAMES);
	free(text);
	totals_done(&t);
}

static void test_hostile(void **state)
{
	static const char *const comms[] = { "a\"b\\c\nd\033[2J", "\xff\xc2\x9b", "other", NULL };
	struct totals t;
	char *text, small[8];

	(void)state;
	totals_init(&t, BY_COMM, 25, 100, NO_LIMIT);
	add(&t, comms, 4, 1000, 1);
	text = text_of(&t, false);
	assert_line(text, "iostrata_operation_duration_seconds_count{op=\"read\",fs=\"ext4\","
			  "comm=\"a\\\"b\\\\c?d?[2J\"} 23");
	assert_line(text, "iostrata_operation_duration_seconds_count{op=\"read\",fs=\"ext4\","
			  "comm=\"\xef\xbf\xbd?\"} 23");
	/* one that is called as all others are is one of them */
	assert_line(text, "iostrata_operation_duration_seconds_count{op=\"read\",fs=\"ext4\",comm="
			  "\"other\"} 23");
	assert_line(text, "iostrata_operation_duration_seconds_count{op=\"read\",fs=\"ext4\",comm="
			  "\"unknown\"} "
			  "23");
	assert_null(strchr(text, '\033'));
	free(text);
	totals_done(&t);
	/* nothing half */
	text_label(small, sizeof(small), "abcdef\xc3\xa4", 99);
	assert_string_equal(small, "abcdef");
	text_label(small, sizeof(small), "abcdefg", 3);
	assert_string_equal(small, "abc");
	metrics_escape(small, sizeof(small), "abcdef\"");
	assert_string_equal(small, "abcdef");
	metrics_escape(small, sizeof(small), "abcde\"");
	assert_string_equal(small, "abcde\\\"");
}

/* All series of one family added up. */
static double sum_of(const char *text, const char *family)
{
	double sum = 0;

	for (const char *at = text; (at = strstr(at, family)); at += strlen(family))
		if (at[strlen(family)] == '{')
			sum += atof(strchr(at, '}') + 1);
	return sum;
}

static void test_keys(void **state)
{
	static const char *const first[] = { "a", "b", "c" }, *const busy[] = { "d" };
	const char *bytes = "iostrata_operation_bytes_total";
	uint64_t now = 1;
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_COMM, 25, 2, NO_LIMIT);
	add(&t, first, 2, 1000, now++);
	add(&t, first, 3, 1000, now++);
	text = text_of(&t, false);
	/* the third waits for its place, and counts */
	assert_null(strstr(text, "comm=\"c\""));
	assert_float_equal(value_of(text, "_bytes_total{op=\"read\",fs=\"ext4\",comm=\"a\"}"),
			   2 * 23 * 512, 0.1);
	assert_float_equal(value_of(text, "_bytes_total{op=\"read\",fs=\"ext4\",comm=\"other\"}"),
			   23 * 512, 0.1);
	assert_float_equal(sum_of(text, bytes), 5 * 23 * 512, 0.1);
	free(text);
	/* a busier one takes the place of another, whose sums stay as they are */
	add(&t, busy, 1, 1000000, now++);
	add(&t, first, 2, 1000, now++);
	text = text_of(&t, false);
	assert_float_equal(value_of(text, "_bytes_total{op=\"read\",fs=\"ext4\",comm=\"d\"}"),
			   23 * 512, 0.1);
	assert_float_equal(value_of(text, "_bytes_total{op=\"read\",fs=\"ext4\",comm=\"b\"}") +
				   value_of(text, "_bytes_total{op=\"read\",fs=\"ext4\","
						  "comm=\"a\"}"),
			   5 * 23 * 512, 0.1);
	assert_float_equal(sum_of(text, bytes), 8 * 23 * 512, 0.1);
	free(text);
	/* and go after a while */
	now += KEY_LEAVES_NS;
	add(&t, busy, 1, 1000000, now++);
	text = text_of(&t, false);
	assert_true(!strstr(text, "comm=\"a\"") != !strstr(text, "comm=\"b\""));
	free(text);
	totals_done(&t);
}

/* A process called "other" is one of all others: there is one series with this label. */
static void test_called_other(void **state)
{
	static const char *const comms[] = { "other", "a", "b" };
	const char *count = "_count{op=\"read\",fs=\"ext4\",comm=\"other\"} ";
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_COMM, 25, 1, NO_LIMIT);
	add(&t, comms, 3, 1000, 1);
	text = text_of(&t, false);
	assert_float_equal(value_of(text, count), 2 * 23, 0.1);
	assert_null(strstr(strstr(text, count) + 1, count));
	free(text);
	totals_done(&t);
}

/* Adds an interval in which each of @comms had operations of @each_ns, and nothing else. */
static void add_ops(struct totals *t, const char *const *comms, size_t n, uint64_t each_ns,
		    uint64_t taken_ns)
{
	struct snapshot sn;

	sample(&sn, comms, n, each_ns);
	sn.taken_ns = taken_ns;
	sn.n_rqs = 0;
	assert_int_equal(totals_add(t, &sn, &nothing), 0);
	sn.n_rqs = 1;
	snapshot_free(&sn);
}

/* A key which lost its place, and gets it back, has its own sums again: there is one series of it,
 * which goes on. No more keys leave for that, so their limit does not matter. */
static void test_keys_return(void **state)
{
	static const char *const a[] = { "a" }, *const b[] = { "b" };
	const char *series = "_bytes_total{op=\"read\",fs=\"ext4\",comm=\"a\"}";
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_COMM, 25, 1, NO_LIMIT);
	add(&t, a, 1, 1000, 1);
	add(&t, b, 1, 1000000000, 1 + KEY_COUNTS_NS);
	assert_int_equal(t.keys.n_leaving, 1);
	text = text_of(&t, false);
	assert_non_null(strstr(text, "_request_bytes_total{disk=\"sda\",op=\"write\",comm=\"a\"}"));
	free(text);
	add(&t, a, 1, 100000000000, 1 + 2 * KEY_COUNTS_NS);
	assert_int_equal(t.keys.n_shown, 1);
	assert_int_equal(t.keys.n_leaving, 1); /* the other one, now */
	text = text_of(&t, false);
	assert_float_equal(value_of(text, series), 2 * 23 * 512, 0.1);
	assert_null(strstr(strstr(text, series) + 1, series));
	free(text);
	/* when the other one is gone, so are its sums of operations and of requests */
	add(&t, a, 1, 1000, 1 + 2 * KEY_COUNTS_NS + KEY_LEAVES_NS);
	assert_int_equal(t.keys.n_leaving, 0);
	assert_int_equal(HASH_COUNT(t.ops), 1);
	assert_int_equal(HASH_COUNT(t.rqs), 1);
	totals_done(&t);
}

/* Places belong to the keys that were used most in the last minutes: a key which was busy once
 * keeps its place for a while, not for ever; and a key gets a place by what it did in many
 * intervals. A key's use fades by half in 87 intervals. */
static void test_use_fades(void **state)
{
	enum { EARLY = 100, LATE = 600 };
	static const char *const once[] = { "once" }, *const always[] = { "always" };
	const char *shown = "comm=\"always\"";
	uint64_t now = 1;
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_COMM, 25, 1, NO_LIMIT);
	add_ops(&t, once, 1, 1000000, now);
	for (int i = 0; i < LATE; i++) {
		now += NS_PER_S;
		add_ops(&t, always, 1, 1000, now);
		if (i == EARLY) {
			text = text_of(&t, false);
			assert_null(strstr(text, shown));
			free(text);
		}
	}
	text = text_of(&t, false);
	assert_non_null(strstr(text, shown));
	free(text);
	totals_done(&t);
}

/* A row of @c, or of @by if that is NULL. */
static void row_of(struct op_row *row, const struct container *c, const char *by)
{
	free(row->by);
	row->contained = c;
	row->by = c ? malloc(sizeof(*c)) : by ? strdup(by) : NULL;
	if (c && row->by)
		*(struct container *)row->by = *c;
}

#define LABELS(space, pod, name)                                                                   \
	"{op=\"read\",fs=\"ext4\",namespace=\"" space "\",pod=\"" pod "\",container=\"" name "\"}"

/* Labels of containers: names if they are known, else the id as in tables. */
static void test_containers(void **state)
{
	static const struct container of_pod = { .id = "1",
						 .space = "shop",
						 .pod_name = "web-1",
						 .name = "nginx",
						 .shown = 1 },
				      named = { .id = "2", .name = "db", .shown = 1 },
				      unnamed = { .id = "0123456789abcdef", .shown = 12 };
	static const char *const nobody[5] = {};
	struct snapshot sn;
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_CONTAINER, 25, 100, NO_LIMIT);
	sample(&sn, nobody, 5, 1000);
	row_of(&sn.ops[0], &of_pod, NULL);
	row_of(&sn.ops[1], &named, NULL);
	row_of(&sn.ops[2], &unnamed, NULL);
	row_of(&sn.ops[3], NULL, CONTAINER_NONE);
	row_of(&sn.ops[4], NULL, "cgroup 12");
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	text = text_of(&t, false);
	assert_line(text,
		    "iostrata_operation_bytes_total" LABELS("shop", "web-1", "nginx") " 11776");
	assert_line(text, "iostrata_operation_bytes_total" LABELS("", "", "db") " 11776");
	assert_line(text, "iostrata_operation_bytes_total" LABELS("", "", "0123456789ab") " 11776");
	assert_line(text, "iostrata_operation_bytes_total" LABELS("", "", "") " 11776");
	assert_line(text, "iostrata_operation_bytes_total" LABELS("", "", "cgroup 12") " 11776");
	/* the requests are of an unknown process */
	assert_non_null(strstr(text, "iostrata_request_bytes_total{disk=\"sda\",op=\"write\","
				     "namespace=\"\",pod=\"\",container=\"unknown\"} 4096\n"));
	free(text);
	snapshot_free(&sn);
	totals_done(&t);
}

/* However many keys come and go: what is added to all sums is the whole, and no sum goes back. */
static void test_many_keys(void **state)
{
	enum { KEYS = 200, ROUNDS = 300, MAX = 5 };
	double before = 0, now_sum;
	char names[KEYS][8];
	const char *comms[3];
	struct totals t;
	char *text;

	(void)state;
	for (int i = 0; i < KEYS; i++)
		snprintf(names[i], sizeof(names[i]), "k%d", i);
	totals_init(&t, BY_COMM, 25, MAX, NO_LIMIT);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < 3; j++)
			comms[j] = names[(i * 7 + j * 31 + i * i * j) % KEYS];
		add(&t, comms, 3, 1000 << i % 9, 1 + i * 1000000);
		text = text_of(&t, false);
		now_sum = sum_of(text, "iostrata_operation_bytes_total");
		assert_float_equal(now_sum - before, 3 * 23 * 512, 0.1);
		before = now_sum;
		free(text);
		assert_true(t.keys.n_shown <= MAX && t.keys.n_leaving <= MAX);
	}
	assert_true(t.keys.n_shown == MAX && t.keys.n_leaving > 0);
	totals_done(&t);
}

/* Names that come once do not keep a busy one from its label, however many they are; and there is
 * no work for each name and each row, which 20,000 names in one interval would show. */
static void test_crowd(void **state)
{
	enum { CROWD = 20000, ROUNDS = 3, MAX = 10000, ALLOWED_NS = 1500000000 };
	const char **comms = calloc(CROWD, sizeof(*comms)), *const busy[] = { "busy" };
	char(*names)[16] = calloc(CROWD, sizeof(*names)), *text;
	uint64_t now = 1, begin;
	struct totals t;

	(void)state;
	assert_true(comms && names);
	totals_init(&t, BY_COMM, 25, 3, NO_LIMIT);
	begin = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < CROWD; i++) {
			snprintf(names[i], sizeof(names[i]), "%d.%d", round, i);
			comms[i] = names[i];
		}
		add(&t, comms, CROWD, 1000, now += KEY_COUNTS_NS);
		assert_true(HASH_COUNT(t.keys.list) <= 100);
	}
	add(&t, busy, 1, 1000000000, now += KEY_COUNTS_NS);
	text = text_of(&t, false);
	assert_non_null(strstr(text, "comm=\"busy\""));
	free(text);
	totals_done(&t);
	/* all of them have labels, and lose them to others */
	totals_init(&t, BY_COMM, 25, MAX, NO_LIMIT);
	add(&t, comms, MAX, 1000, now);
	add(&t, comms + MAX, MAX, 10000, now += KEY_COUNTS_NS);
	assert_int_equal(t.keys.n_leaving, MAX - 1); /* the first has the requests, too */
	now += KEY_LEAVES_NS;
	add(&t, busy, 1, 1000000000, now++);
	assert_in_range(t.keys.n_leaving, 1, 1);
	totals_done(&t);
	assert_true(clock_read(CLOCK_PROCESS_CPUTIME_ID) - begin < ALLOWED_NS);
	free(names);
	free(comms);
}

/* More than 2,000 series in less than 20 ms of CPU time: usual is 1 ms. */
static void test_cost(void **state)
{
	enum { KEYS = 48, ROUNDS = 5, ALLOWED_NS = 20000000 };
	const char *comms[KEYS];
	char names[KEYS][8], *text;
	uint64_t begin, series = 0;
	struct totals t;

	(void)state;
	for (int i = 0; i < KEYS; i++) {
		snprintf(names[i], sizeof(names[i]), "k%d", i);
		comms[i] = names[i];
	}
	totals_init(&t, BY_COMM, 25, KEYS, NO_LIMIT);
	add(&t, comms, KEYS, 1000, 1);
	begin = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < ROUNDS; i++) {
		text = text_of(&t, true);
		for (const char *at = text; !i && (at = strchr(at, '\n')); at++)
			series += at[1] && at[1] != '#';
		free(text);
	}
	assert_true(clock_read(CLOCK_PROCESS_CPUTIME_ID) - begin < (uint64_t)ROUNDS * ALLOWED_NS);
	assert_in_range(series, 2000, 3000);
	totals_done(&t);
}

/* Losses are summed up, but calls which began before the run are none. Minor faults are no
 * operations. The depth of a queue is a mean of the interval, however long. */
static void test_losses(void **state)
{
	static const char *const nobody[] = { NULL };
	struct snapshot sn;
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_NONE, 25, 100, NO_LIMIT);
	sample(&sn, nobody, 1, 1000);
	sn.ops[0].key.op = OP_MINOR_FAULT;
	sn.duration_ns = 2000000000;
	sn.lost[LOST_RING] = 3;
	sn.lost[LOST_UNMATCHED_END] = 101;
	sn.missed = 5;
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	text = text_of(&t, false);
	assert_line(text, "iostrata_lost_total{kind=\"ring\"} 6");
	assert_line(text, "iostrata_lost_total{kind=\"missed\"} 10");
	assert_null(strstr(text, "unmatched_end"));
	assert_null(strstr(text, "iostrata_operation_duration_seconds_count{"));
	assert_line(text, "iostrata_device_queue_depth{disk=\"sda\"} 1.500000");
	free(text);
	snapshot_free(&sn);
	totals_done(&t);
}

static void test_in_progress(void **state)
{
	struct unfinished list[] = {
		{ .age_ns = 2000000000, .op = OP_FSYNC, .fs = "ext4" },
		{ .age_ns = 1, .op = OP_FSYNC, .fs = "ext4" },
		{ .age_ns = 3000000000, .op = OP_FSYNC, .fs = "ext4", .dev = 8 << 20 },
		{ .age_ns = 1, .op = OP_READ, .fs = "ext4", .dev = 7 << 20 | 1 },
	};
	const struct device disk = { .name = "sda", .dev = 8 << 20 };
	struct devices devices = {};
	struct snapshot sn = { .unfinished = list, .n_unfinished = 4, .devices = &devices },
			none = {};
	struct totals t;
	char *text;

	(void)state;
	devices_add(&devices, &disk);
	totals_init(&t, BY_COMM, 25, 2, NO_LIMIT);
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	text = text_of(&t, false);
	assert_line(text, "iostrata_in_progress{op=\"fsync\",fs=\"ext4\"} 2");
	assert_line(text, "iostrata_in_progress{op=\"fsync\",fs=\"ext4\",disk=\"sda\"} 1");
	assert_line(text, "iostrata_in_progress{op=\"read\",fs=\"ext4\",disk=\"7:1\"} 1");
	assert_line(text, "iostrata_oldest_in_progress_seconds{op=\"fsync\",fs=\"ext4\","
			  "disk=\"sda\"} 3.000000000");
	assert_line(text, "iostrata_oldest_in_progress_seconds{op=\"fsync\",fs=\"ext4\"} "
			  "2.000000000");
	free(text);
	assert_int_equal(totals_add(&t, &none, &nothing), 0);
	text = text_of(&t, false);
	assert_line(text, "iostrata_in_progress{op=\"fsync\",fs=\"ext4\"} 0");
	assert_line(text, "iostrata_in_progress{op=\"fsync\",fs=\"ext4\",disk=\"sda\"} 0");
	free(text);
	totals_done(&t);
	devices_done(&devices);
}

/* Rows of @n servers, of requests of 2000 ns each: the first one is of NFS, others are mounts of
 * daemons. */
static void servers_sample(struct snapshot *sn, unsigned int n)
{
	char mount[32];

	sn->servers = calloc(n, sizeof(*sn->servers));
	sn->n_servers = n;
	assert_non_null(sn->servers);
	for (unsigned int i = 0; i < n; i++) {
		struct server_row *r = &sn->servers[i];

		r->sums = (struct server_sums){ .count = 7,
						.errors = 3,
						.resent = 2,
						.sent_bytes = 101,
						.received_bytes = 300,
						.tag_ns = i ? 0 : 11,
						.queue_ns = i ? 0 : 13,
						.server_ns = 14000 };
		assert_int_equal(hist_add(&r->hist, hist_bucket(2000), 7), 0);
		if (!i) {
			strcpy(r->key.server, "10.0.0.7");
			strcpy(r->key.op, "READ");
			continue;
		}
		strcpy(r->key.server, "sshfs");
		r->key.opcode = 15; /* READ */
		r->key.protocol = SERVER_FUSE;
		r->key.pid = i;
		snprintf(mount, sizeof(mount), "/mnt/%u", i);
		r->mount = strdup(mount);
	}
}

#define NFS   "{protocol=\"nfs\",mount=\"\",server=\"10.0.0.7\",op=\"READ\"}"
#define SSHFS "{protocol=\"fuse\",mount=\"/mnt/1\",server=\"sshfs\",op=\"READ\"}"

/* Requests to servers: by mount, server and kind. A figure that is not known has no series. */
static void test_servers(void **state)
{
	struct snapshot sn = { .taken_ns = 1 };
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_COMM, 25, 2, NO_LIMIT);
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	text = text_of(&t, false);
	assert_null(strstr(text, "iostrata_server_"));
	assert_null(strstr(text, "layer=\"server_"));
	free(text);
	servers_sample(&sn, 2);
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	sn.servers[1].key.opcode = 99;
	sn.servers[1].key.pid = 7; /* the daemon was started again */
	strcpy(sn.servers[1].mount, "/\n\"1");
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	text = text_of(&t, false);
	assert_line(text, "# TYPE iostrata_server_request_duration_seconds histogram");
	assert_line(text, "iostrata_server_request_duration_seconds_count" NFS " 14");
	assert_line(text, "iostrata_server_request_duration_seconds_sum" SSHFS " 0.000014000");
	assert_line(text, "iostrata_server_request_duration_seconds_bucket{protocol=\"fuse\","
			  "mount=\"/mnt/1\","
			  "server=\"sshfs\",op=\"READ\",le=\"0.000002047\"} 7");
	assert_line(text, "iostrata_server_request_seconds_total{protocol=\"nfs\",mount=\"\","
			  "server=\"10.0.0.7\","
			  "op=\"READ\",part=\"tag\"} 0.000000022");
	assert_line(text, "iostrata_server_request_seconds_total{protocol=\"nfs\",mount=\"\","
			  "server=\"10.0.0.7\","
			  "op=\"READ\",part=\"queue\"} 0.000000026");
	assert_line(text,
		    "iostrata_server_request_seconds_total{protocol=\"fuse\",mount=\"/mnt/1\","
		    "server=\"sshfs\",op=\"READ\",part=\"server\"} 0.000014000");
	assert_null(strstr(text, "server=\"sshfs\",op=\"READ\",part=\"tag\""));
	assert_null(strstr(text, "server=\"sshfs\",op=\"READ\",part=\"queue\""));
	assert_line(text, "iostrata_server_request_bytes_total{protocol=\"fuse\",mount=\"/mnt/1\","
			  "server=\"sshfs\",op=\"READ\",direction=\"sent\"} 101");
	assert_line(text, "iostrata_server_request_bytes_total{protocol=\"fuse\",mount=\"/mnt/1\","
			  "server=\"sshfs\",op=\"READ\",direction=\"received\"} 300");
	assert_line(text, "iostrata_server_request_errors_total" NFS " 6");
	assert_line(text, "iostrata_server_request_resent_total" NFS " 4");
	assert_line(text,
		    "iostrata_server_request_errors_total{protocol=\"fuse\",mount=\"/?\\\"1\","
		    "server=\"sshfs\",op=\"opcode 99\"} 3");
	free(text);
	snapshot_free(&sn);
	totals_done(&t);
}

/* Adds a READ of each protocol to the same server, and makes text of all sums. */
static char *protocols_text(unsigned int servers_max)
{
	struct snapshot sn = { .taken_ns = 1 };
	struct totals t;
	char *text;

	totals_init(&t, BY_COMM, 25, 2, NO_LIMIT);
	t.servers.max = servers_max;
	servers_sample(&sn, SERVER_PROTOCOLS);
	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++) {
		struct server_row *row = &sn.servers[i];

		row->key = (struct server_key){ .protocol = i, .op = "READ", .server = "10.0.0.7" };
		free(row->mount);
		row->mount = NULL;
	}
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	assert_int_equal(HASH_COUNT(t.to_servers), SERVER_PROTOCOLS);
	text = text_of(&t, false);
	snapshot_free(&sn);
	totals_done(&t);
	return text;
}

/* Whether @text has the series @family of READs by @protocol to @server, with the label @extra. */
static bool has_server_series(const char *text, const char *family, const char *protocol,
			      const char *server, const char *extra)
{
	char series[256];

	snprintf(series, sizeof(series),
		 "\niostrata_server_request_%s{protocol=\"%s\",mount=\"\",server=\"%s\","
		 "op=\"READ\"%s} ",
		 family, protocol, server, extra);
	return strstr(text, series);
}

/* Whether @text gives a reason why the figure @layer of @protocol is missing. */
static bool has_gap(const char *text, const char *layer, const char *protocol)
{
	char series[256];
	const char *at, *name;

	snprintf(series, sizeof(series), "\niostrata_not_measured{layer=\"%s\",reason=\"", layer);
	for (at = text; (at = strstr(at, series)); at++) {
		name = strstr(at, protocol);
		if (name && name < strstr(at, "\"} 1\n"))
			return true;
	}
	return false;
}

/* Requests of several protocols to the same server are told apart. A figure that a protocol does
 * not have has no series, but a reason. */
static void test_protocols(void **state)
{
	static const struct {
		const char *name;
		bool bytes, waits;
	} protocols[SERVER_PROTOCOLS] = { { "nfs", true, true },
					  { "fuse", true, false },
					  { "9p", false, false },
					  { "smb", false, false } };
	static const char *const servers[] = { "10.0.0.7", "other" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *server = servers[i];
		char *text = protocols_text(i ? 0 : SERVERS_MAX);

		for (int j = 0; j < SERVER_PROTOCOLS; j++) {
			const char *p = protocols[j].name;
			bool bytes = protocols[j].bytes, waits = protocols[j].waits;

			assert_true(
				has_server_series(text, "duration_seconds_count", p, server, ""));
			assert_true(has_server_series(text, "seconds_total", p, server,
						      ",part=\"server\""));
			assert_true(has_server_series(text, "seconds_total", p, server,
						      ",part=\"tag\"") == waits);
			assert_true(has_server_series(text, "seconds_total", p, server,
						      ",part=\"queue\"") == waits);
			assert_true(has_server_series(text, "bytes_total", p, server,
						      ",direction=\"sent\"") == bytes);
			assert_true(has_server_series(text, "bytes_total", p, server,
						      ",direction=\"received\"") == bytes);
			assert_true(has_gap(text, "server_tag", p) == !waits);
			assert_true(has_gap(text, "server_queue", p) == !waits);
			assert_true(has_gap(text, "server_bytes", p) == !bytes);
		}
		free(text);
	}
}

/* However many servers there are, so many have labels, and all together count whole. */
static void test_many_servers(void **state)
{
	enum { ROUNDS = 3, SERVERS = SERVERS_MAX + 5 };
	const char *count = "iostrata_server_request_duration_seconds_count";
	struct snapshot sn = {};
	struct totals t;
	char *text;

	(void)state;
	totals_init(&t, BY_NONE, 25, 100, NO_LIMIT);
	servers_sample(&sn, SERVERS);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		sn.taken_ns = i;
		assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	}
	text = text_of(&t, false);
	assert_int_equal(t.servers.n_shown, SERVERS_MAX);
	/* the first of them is of NFS, the others in "other" are of FUSE */
	assert_int_equal(HASH_COUNT(t.to_servers), SERVERS_MAX + 1);
	assert_float_equal(sum_of(text, count), ROUNDS * SERVERS * 7, 0.1);
	assert_line(text, "iostrata_server_request_duration_seconds_count{protocol=\"fuse\","
			  "mount=\"\",server=\"other\",op=\"READ\"} 105");
	free(text);
	/* a busy one takes the place of another, whose series ends after a while */
	sn.servers[SERVERS - 1].sums.server_ns = 1000000000;
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	assert_int_equal(t.servers.n_leaving, 1);
	assert_int_equal(HASH_COUNT(t.to_servers), SERVERS_MAX + 2);
	sn.taken_ns += KEY_LEAVES_NS;
	assert_int_equal(totals_add(&t, &sn, &nothing), 0);
	assert_int_equal(HASH_COUNT(t.to_servers), SERVERS_MAX + 1);
	snapshot_free(&sn);
	totals_done(&t);
}

static void fill_feed(struct snapshot *sn, struct devices *d)
{
	static const char *const comms[] = { "a", NULL };
	const struct device disk = { .name = "sda", .dev = 8 << 20 };
	struct container *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	strcpy(c->id, "web");
	c->runtime = "docker";
	sample(sn, comms, 2, 1000);
	free(sn->rqs[0].by);
	sn->rqs[0].by = (char *)c;
	sn->rqs[0].contained = true;
	sn->unfinished = calloc(1, sizeof(*sn->unfinished));
	sn->n_unfinished = 1;
	assert_non_null(sn->unfinished);
	sn->unfinished[0] = (struct unfinished){ .age_ns = 4711, .file = strdup("/a\nb") };
	servers_sample(sn, 2);
	sn->lost[LOST_RING] = 101;
	devices_add(d, &disk);
	devices_sort(d);
	devices_link(d, 8 << 20, 7 << 20);
	sn->devices = d;
}

static void test_feed(void **state)
{
	const struct missing missing = { .stratum[ST_VFS] = "no probes", .aio = "none of it" };
	const struct feed_self self = { .cpu_ns = 7 };
	struct devices devices = {};
	struct snapshot sn;
	struct feed f;
	char *frame;
	size_t len;

	(void)state;
	fill_feed(&sn, &devices);
	frame = feed_pack(&sn, &missing, &self, &len);
	assert_non_null(frame);
	assert_int_equal(feed_frame_len(frame), len);
	assert_int_equal(feed_unpack(frame, len, &f), 0);
	assert_int_equal(f.sn.n_ops, 2);
	assert_string_equal(f.sn.ops[0].by, "a");
	assert_null(f.sn.ops[1].by);
	assert_int_equal(f.sn.ops[1].count, 23);
	assert_int_equal(f.sn.ops[1].hist.n, 1);
	assert_int_equal(f.sn.ops[1].hist.bins[0].count, 23);
	assert_string_equal(container_of_row(f.sn.rqs[0].by, true)->runtime, "docker");
	assert_string_equal(f.sn.unfinished[0].file, "/a\nb");
	assert_int_equal(f.sn.n_servers, 2);
	assert_string_equal(f.sn.servers[0].key.op, "READ");
	assert_null(f.sn.servers[0].mount);
	assert_string_equal(f.sn.servers[1].mount, "/mnt/1");
	assert_int_equal(f.sn.servers[1].sums.received_bytes, 300);
	assert_int_equal(f.sn.servers[1].hist.bins[0].count, 7);
	assert_int_equal(f.sn.lost[LOST_RING], 101);
	assert_string_equal(devices_find(&f.devices, 8 << 20)->name, "sda");
	assert_int_equal(f.devices.n_links, 1);
	assert_string_equal(f.missing.stratum[ST_VFS], "no probes");
	assert_string_equal(f.missing.aio, "none of it");
	assert_null(f.missing.requests);
	assert_int_equal(f.self.cpu_ns, 7);
	feed_done(&f);
	/* cut short, wherever */
	for (size_t cut = sizeof(uint64_t); cut < len; cut++) {
		uint64_t whole = cut;

		memcpy(frame, &whole, sizeof(whole));
		assert_int_equal(feed_unpack(frame, cut, &f), -EBADMSG);
	}
	free(frame);
	snapshot_free(&sn);
	devices_done(&devices);
}

/* Unpacks @frame, and makes text of it. 0 or -errno. */
static int feed_use(const char *frame, size_t len)
{
	struct totals t;
	struct feed f;
	int err = feed_unpack(frame, len, &f);

	if (err)
		return err;
	totals_init(&t, BY_CONTAINER, 25, 100, NO_LIMIT);
	f.sn.devices = f.sn.devices ? &f.devices : NULL;
	assert_int_equal(totals_add(&t, &f.sn, &nothing), 0);
	free(text_of(&t, false));
	totals_done(&t);
	feed_done(&f);
	return 0;
}

/* A frame with wrong bytes anywhere is refused, or gives other figures. Nothing is read or written
 * outside of it, which a sanitizer would tell. */
static void test_hostile_feed(void **state)
{
	const size_t counts = sizeof(uint64_t) + offsetof(struct snapshot, n_ops);
	const size_t huge[] = { SIZE_MAX, SIZE_MAX / sizeof(struct op_row), 1 << 30, 3 };
	static const unsigned char bytes[] = { 0, 1, 0x7f, 0xff };
	const struct missing missing = { .aio = "none of it" };
	const struct feed_self self = {};
	struct devices devices = {};
	struct snapshot sn;
	char *frame, *row, was;
	size_t len;

	(void)state;
	fill_feed(&sn, &devices);
	frame = feed_pack(&sn, &missing, &self, &len);
	assert_non_null(frame);
	for (size_t i = 0; i < sizeof(huge) / sizeof(*huge); i++) {
		memcpy(frame + counts, &huge[i], sizeof(huge[i]));
		assert_int_equal(feed_use(frame, len), -EBADMSG);
	}
	memcpy(frame + counts, &sn.n_ops, sizeof(sn.n_ops));
	for (size_t at = 0; at < len; at++) {
		was = frame[at];
		for (size_t i = 0; i < sizeof(bytes); i++) {
			frame[at] = (char)bytes[i];
			assert_true(feed_use(frame, len) <= 0);
		}
		frame[at] = was;
	}
	assert_int_equal(feed_use(frame, len), 0);
	/* bools that the metrics do not look at */
	row = memmem(frame, len, &sn.unfinished[0].age_ns, sizeof(sn.unfinished[0].age_ns));
	assert_non_null(row);
	row[offsetof(struct unfinished, frozen) - offsetof(struct unfinished, age_ns)] = 2;
	assert_int_equal(feed_use(frame, len), -EBADMSG);
	free(frame);
	snapshot_free(&sn);
	devices_done(&devices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),         cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_text),         cmocka_unit_test(test_missing),
		cmocka_unit_test(test_reasons),      cmocka_unit_test(test_called_other),
		cmocka_unit_test(test_keys_return),  cmocka_unit_test(test_use_fades),
		cmocka_unit_test(test_containers),   cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_keys),         cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_in_progress),  cmocka_unit_test(test_feed),
		cmocka_unit_test(test_hostile_feed), cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_losses),       cmocka_unit_test(test_servers),
		cmocka_unit_test(test_protocols),    cmocka_unit_test(test_many_servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
