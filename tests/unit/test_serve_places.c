// SPDX-License-Identifier: GPL-2.0-only
/* `serve --series`: whatever comes and goes, the series fit the budget, and add up to the whole. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hist.h"
#include "serve/metrics.h"
#include "serve/totals.h"
#include "show/breakdown.h"

static const struct missing nothing;

enum { ROWS_MAX = 256, EACH_NS = 3000 };

/* A snapshot under construction. */
struct made {
	struct snapshot sn;
	struct op_row ops[ROWS_MAX];
	struct rq_row rqs[ROWS_MAX];
	struct server_row servers[ROWS_MAX];
};

static void made_begin(struct made *m, uint64_t now)
{
	memset(m, 0, sizeof(*m));
	m->sn.ops = m->ops;
	m->sn.rqs = m->rqs;
	m->sn.servers = m->servers;
	m->sn.taken_ns = now;
	m->sn.duration_ns = NS_PER_S;
}

static void made_op(struct made *m, enum op_kind op, const char *fs, const char *by, uint64_t count)
{
	struct op_row *row = &m->ops[m->sn.n_ops++];

	assert_true(m->sn.n_ops <= ROWS_MAX);
	row->key.op = op;
	snprintf(row->fs, sizeof(row->fs), "%s", fs);
	row->by = by ? strdup(by) : NULL;
	row->count = count;
	row->bytes = count;
	row->total_ns = count * EACH_NS;
	row->strata[ST_SYSCALL] = count * EACH_NS;
	assert_int_equal(hist_add(&row->hist, hist_bucket(EACH_NS), count), 0);
}

static void made_rq(struct made *m, enum rq_op op, const char *disk, const char *by, uint64_t count)
{
	struct rq_row *row = &m->rqs[m->sn.n_rqs++];

	assert_true(m->sn.n_rqs <= ROWS_MAX);
	row->key.op = op;
	snprintf(row->disk, sizeof(row->disk), "%s", disk);
	row->by = by ? strdup(by) : NULL;
	row->count = row->bytes = count;
	row->device_ns = count * EACH_NS;
	assert_int_equal(hist_add(&row->hist, hist_bucket(EACH_NS), count), 0);
}

static void made_server(struct made *m, unsigned int opcode, const char *mount, uint64_t count)
{
	struct server_row *row = &m->servers[m->sn.n_servers++];

	assert_true(m->sn.n_servers <= ROWS_MAX);
	row->key.protocol = SERVER_FUSE;
	row->key.opcode = opcode;
	strcpy(row->key.server, "sshfs");
	row->mount = strdup(mount);
	row->sums.count = row->sums.sent_bytes = count;
	row->sums.server_ns = count * EACH_NS;
	assert_int_equal(hist_add(&row->hist, hist_bucket(EACH_NS), count), 0);
}

/* Adds the snapshot to @t, and frees its rows. */
static void made_add(struct made *m, struct totals *t)
{
	assert_int_equal(totals_add(t, &m->sn, &nothing), 0);
	for (size_t i = 0; i < m->sn.n_ops; i++) {
		free(m->ops[i].by);
		free(m->ops[i].hist.bins);
	}
	for (size_t i = 0; i < m->sn.n_rqs; i++) {
		free(m->rqs[i].by);
		free(m->rqs[i].hist.bins);
	}
	for (size_t i = 0; i < m->sn.n_servers; i++) {
		free(m->servers[i].mount);
		free(m->servers[i].hist.bins);
	}
}

static char *text_of(const struct totals *t)
{
	const struct breakdown_view view = { .layer = LAYER_OPS, .missing = &nothing };
	const struct metrics m = { .totals = t, .version = "1", .view = &view, .series = 7 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(metrics_write(f, &m, false), 0);
	fclose(f);
	return text;
}

static unsigned int series_of(const char *text)
{
	unsigned int n = 0;

	for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		n += *at && *at != '#';
	return n;
}

static uint64_t sum_of(const char *text, const char *family)
{
	uint64_t sum = 0;

	for (const char *at = text; (at = strstr(at, family)); at += strlen(family))
		if (at[strlen(family)] == '{')
			sum += strtoull(strchr(at, '}') + 1, NULL, 10);
	return sum;
}

/* The value of @series; ~0: it is not there. */
static uint64_t value_of(const char *text, const char *series)
{
	const char *at = strstr(text, series);

	return at ? strtoull(at + strlen(series), NULL, 10) : ~0ULL;
}

static const char ops[] = "iostrata_operation_duration_seconds_count",
		  rqs[] = "iostrata_request_duration_seconds_count",
		  servers[] = "iostrata_server_request_duration_seconds_count",
		  bytes[] = "iostrata_operation_bytes_total";

/* A series as a scraper knows it that comes each second. */
struct series {
	char name[256];
	uint64_t value;
	UT_hash_handle hh;
};

/* What all series of @family grew by since the last text, as increase() counts it: a series which
 * has gone, and comes back, begins at 0. */
static uint64_t increase_of(struct series **all, const char *text, const char *family)
{
	char name[256];
	uint64_t sum = 0, value;
	struct series *one;
	const char *end;

	for (const char *at = text; (at = strstr(at, family)); at = end) {
		end = strchr(at, '}');
		if (at[strlen(family)] != '{') {
			end = at + strlen(family);
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(end - at), at);
		value = strtoull(end + 1, NULL, 10);
		HASH_FIND_STR(*all, name, one);
		if (!one) {
			one = calloc(1, sizeof(*one));
			assert_non_null(one);
			strcpy(one->name, name);
			HASH_ADD_STR(*all, name, one);
		}
		sum += value < one->value ? value : value - one->value;
		one->value = value;
	}
	return sum;
}

static void series_done(struct series *all)
{
	struct series *one, *next;

	HASH_ITER (hh, all, one, next) {
		HASH_DEL(all, one);
		free(one);
	}
}

/* Commands, cgroups, disks and mounts come and go for ten minutes: at any time, the series fit, and
 * their sums grow by what was done. */
static void churn(enum by_key by, unsigned int buckets, unsigned int series)
{
	static const char *const types[] = { "ext4", "xfs",   "btrfs", "tmpfs",
					     "proc", "sysfs", "nfs4" };
	enum { SECONDS = 600, EACH = 60 };
	struct made *m = malloc(sizeof(*m));
	uint64_t did_ops, did_rqs, did_servers, n;
	struct series *all = NULL;
	unsigned int most = 0, lines;
	struct totals t;
	char name[32], disk[16], *text;

	assert_non_null(m);
	totals_init(&t, by, buckets, 100, series);
	assert_int_equal(totals_show_others(&t), 0);
	for (uint64_t s = 0; s < SECONDS; s++) {
		made_begin(m, (s + 1) * NS_PER_S);
		did_ops = did_rqs = did_servers = 0;
		for (unsigned int i = 0; i < EACH; i++) {
			unsigned int at = s * 7919 + i * 104729;

			snprintf(name, sizeof(name), "command%u",
				 (unsigned int)(s / 3 * 5 + i) % 1000);
			did_ops += n = 1 + at % 23;
			made_op(m, OP_READ + at % (OP_N - OP_READ), types[at / 13 % 7],
				by == BY_NONE ? NULL : name, n);
			did_rqs += n = 1 + at % 7;
			snprintf(disk, sizeof(disk), "sd%c%c", 'a' + at / 5 % 26,
				 'a' + (int)(s / 100));
			made_rq(m, at % RQ_N, disk, by == BY_NONE ? NULL : name, n);
			if (i >= 20)
				continue;
			did_servers += n = 1 + at % 5;
			snprintf(name, sizeof(name), "/mnt/%u", (unsigned int)(s / 60 * 10 + i));
			made_server(m, 1 + at % 40, name, n);
		}
		made_add(m, &t);
		text = text_of(&t);
		lines = series_of(text);
		most = lines > most ? lines : most;
		assert_true(lines <= totals_series(&t));
		assert_true(totals_series(&t) <= series);
		assert_int_equal(increase_of(&all, text, ops), did_ops);
		assert_int_equal(increase_of(&all, text, bytes), did_ops);
		assert_int_equal(increase_of(&all, text, rqs), did_rqs);
		assert_int_equal(increase_of(&all, text, servers), did_servers);
		free(text);
		/* the rows of keys begin with 0, and nothing is late for that */
		if (s % 15 == 7 && by != BY_NONE)
			totals_scraped(&t, true);
	}
	assert_true(most > series / 2);
	series_done(all);
	totals_done(&t);
	free(m);
}

static void test_churn(void **state)
{
	(void)state;
	churn(BY_NONE, 25, 2000);
	churn(BY_NONE, 50, SERIES_MIN + 300);
	churn(BY_COMM, 9, 5000);
}

/* A row that counts keeps its series, however many others come. */
static void test_keeps(void **state)
{
	const char *row = "iostrata_operation_bytes_total{op=\"fsync\",fs=\"ext4\"} ";
	struct made *m = malloc(sizeof(*m));
	struct totals t;
	char name[32], *text;
	uint64_t now = NS_PER_S;

	(void)state;
	assert_non_null(m);
	totals_init(&t, BY_NONE, 25, 100, SERIES_MIN);
	for (unsigned int i = 0; i < 50; i++, now += 20ULL * NS_PER_S) {
		made_begin(m, now);
		made_op(m, OP_FSYNC, "ext4", NULL, 1);
		for (unsigned int j = 0; i && j < 10; j++) {
			snprintf(name, sizeof(name), "fs%u", i * 10 + j);
			made_op(m, OP_READ, name, NULL, 1000);
		}
		made_add(m, &t);
		text = text_of(&t);
		assert_int_equal(value_of(text, row), i + 1);
		free(text);
	}
	totals_done(&t);
	free(m);
}

/* One READ on @fs by @by, which reads @n bytes, in the second @second. */
static void read_on(struct totals *t, struct made *m, uint64_t second, const char *fs,
		    const char *by, uint64_t n)
{
	made_begin(m, second * NS_PER_S);
	made_op(m, OP_READ, fs, by, n);
	made_add(m, t);
}

/* The value of the series of bytes with @labels. */
static uint64_t bytes_of(const struct totals *t, const char *labels)
{
	char *text = text_of(t), series[256];
	uint64_t value;

	snprintf(series, sizeof(series), "\n%s{%s} ", bytes, labels);
	value = value_of(text, series);
	free(text);
	return value;
}

/* After a visit of a scraper, a new row is shown with 0 until the next one, and then whole. */
static void test_first_0(void **state)
{
	const char *xfs = "op=\"read\",fs=\"xfs\"";
	struct made *m = malloc(sizeof(*m));
	struct totals t;
	char *text;

	(void)state;
	assert_non_null(m);
	totals_init(&t, BY_NONE, 25, 100, 2000);
	assert_int_equal(totals_show_others(&t), 0);
	read_on(&t, m, 1, "ext4", NULL, 11);
	/* nobody has asked so far */
	assert_int_equal(bytes_of(&t, "op=\"read\",fs=\"ext4\""), 11);
	totals_scraped(&t, true);
	read_on(&t, m, 2, "xfs", NULL, 23);
	read_on(&t, m, 3, "xfs", NULL, 23);
	text = text_of(&t);
	assert_int_equal(value_of(text, "_bucket{op=\"read\",fs=\"xfs\",le=\"+Inf\"} "), 0);
	assert_int_equal(sum_of(text, bytes), 11);
	free(text);
	assert_int_equal(bytes_of(&t, xfs), 0);
	totals_scraped(&t, true);
	read_on(&t, m, 4, "xfs", NULL, 101);
	assert_int_equal(bytes_of(&t, xfs), 147);
	/* the scraper has gone: nobody would see the 0 */
	read_on(&t, m, 5 + PLACE_IDLE_NS / NS_PER_S, "btrfs", NULL, 7);
	assert_int_equal(bytes_of(&t, "op=\"read\",fs=\"btrfs\""), 7);
	totals_done(&t);
	free(m);
}

/* Keys come and go: a new one counts with all others until it has been shown with 0, so the sum of
 * all keys is the whole at any time. */
static void test_first_0_of_keys(void **state)
{
	const char *one = "op=\"read\",fs=\"ext4\",comm=\"one\"",
		   *two = "op=\"read\",fs=\"ext4\",comm=\"two\"";
	struct made *m = malloc(sizeof(*m));
	struct totals t;
	char *text;

	(void)state;
	assert_non_null(m);
	totals_init(&t, BY_COMM, 9, 100, 5000);
	assert_int_equal(totals_show_others(&t), 0);
	read_on(&t, m, 1, "ext4", "one", 11);
	totals_scraped(&t, true);
	read_on(&t, m, 2, "ext4", "two", 23);
	assert_int_equal(bytes_of(&t, one), 11);
	assert_int_equal(bytes_of(&t, two), 0);
	text = text_of(&t);
	assert_int_equal(sum_of(text, bytes), 34);
	free(text);
	totals_scraped(&t, true);
	read_on(&t, m, 3, "ext4", "two", 101);
	assert_int_equal(bytes_of(&t, two), 101);
	text = text_of(&t);
	assert_int_equal(sum_of(text, bytes), 135);
	free(text);
	totals_done(&t);
	free(m);
}

/* File systems that only show the kernel's state are one, unless they were chosen. */
static void test_pseudo(void **state)
{
	struct made *m = malloc(sizeof(*m));
	struct totals t;
	char *text;

	(void)state;
	assert_non_null(m);
	for (int chosen = 0; chosen < 2; chosen++) {
		totals_init(&t, BY_NONE, 25, 100, 2000);
		t.shows_pseudo = chosen;
		made_begin(m, NS_PER_S);
		made_op(m, OP_READ, "proc", NULL, 11);
		made_op(m, OP_READ, "cgroup2", NULL, 7);
		made_add(m, &t);
		text = text_of(&t);
		assert_int_equal(value_of(text, "_bytes_total{op=\"other\",fs=\"other\"} "),
				 chosen ? ~0ULL : 18);
		assert_int_equal(value_of(text, "_bytes_total{op=\"read\",fs=\"proc\"} "),
				 chosen ? 11 : ~0ULL);
		free(text);
		totals_done(&t);
	}
	free(m);
}

/* The budget and what it lacks room for are told. */
static void test_told(void **state)
{
	struct made *m = malloc(sizeof(*m));
	struct totals t;
	char name[32], *text;

	(void)state;
	assert_non_null(m);
	totals_init(&t, BY_NONE, 25, 100, SERIES_MIN);
	made_begin(m, NS_PER_S);
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "fs%u", i);
		made_op(m, OP_READ, name, NULL, 1);
	}
	made_add(m, &t);
	text = text_of(&t);
	assert_int_equal(value_of(text, "\niostrata_series_budget "), 7); /* as text_of() says */
	assert_int_equal(value_of(text, "\niostrata_series "), totals_series(&t));
	assert_in_range(value_of(text, "\niostrata_series_folded{of=\"operations\"} "), 90, 100);
	assert_int_equal(value_of(text, "\niostrata_series_folded{of=\"requests\"} "), 0);
	assert_int_equal(sum_of(text, bytes), 100);
	free(text);
	totals_done(&t);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_churn),   cmocka_unit_test(test_keeps),
		cmocka_unit_test(test_first_0), cmocka_unit_test(test_first_0_of_keys),
		cmocka_unit_test(test_pseudo),  cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
