// SPDX-License-Identifier: GPL-2.0-only
/* The two sides of a process joined, in every view; as text, as JSON, and added up. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hist.h"
#include "host/devices.h"
#include "json_seen.h"
#include "top/top_print.h"
#include "top/top_table.h"

#define assert_has(text, part)     assert_non_null(strstr(text, part))
#define assert_has_not(text, part) assert_null(strstr(text, part))
#define HOSTILE                    "\033[2J\xff\xe2\x80\xae"
#define TASK(pid, tid)             ((unsigned long long)(pid) << 32 | (tid))
#define DEV(major, minor)          ((major) << 20 | (minor))

enum { OPS = 4, RQS = 6, TASKS = 4 };

/*
 * Process 100 (threads 100 and 101, "dd" and "dd-2", in cgroup 7), process 200 (a hostile name, in
 * cgroup 8), 300 (cgroup 8), and requests of nobody.
 */
static const struct thread threads[TASKS] = {
	{ TASK(100, 100), 7, "dd" },
	{ TASK(100, 101), 7, "dd-2" },
	{ TASK(200, 200), 8, HOSTILE },
	{ TASK(300, 300), 8, "dd" },
};

static void fill_op(struct op_row *r, unsigned long long thread, enum op_kind op, uint64_t count,
		    uint64_t each_ns)
{
	r->key.op = op;
	r->key.by[0] = thread;
	r->count = count;
	r->bytes = count * 4096;
	r->total_ns = count * each_ns;
	r->max_ns = each_ns;
	r->strata[ST_FS] = count * (each_ns / 4);
	r->strata[ST_DEVICE] = r->total_ns - r->strata[ST_FS];
	assert_int_equal(hist_add(&r->hist, hist_bucket(each_ns), count), 0);
}

static void fill_rq(struct rq_row *r, unsigned long long thread, const char *disk,
		    unsigned int minor, enum rq_op op, uint64_t count, uint64_t each_ns)
{
	r->key.op = op;
	r->key.by[0] = thread;
	r->key.dev = DEV(8U, minor);
	r->major = 8;
	r->minor = minor;
	strcpy(r->disk, disk);
	r->count = count;
	r->bytes = count * 512;
	r->tag_ns = count * 10;
	r->queue_ns = count * 20;
	r->device_ns = count * (each_ns - 30);
	r->max_ns = each_ns;
	assert_int_equal(hist_add(&r->hist, hist_bucket(each_ns), count), 0);
}

static void sample(struct snapshot *sn)
{
	*sn = (struct snapshot){
		.duration_ns = 1000000000, .n_ops = OPS, .n_rqs = RQS, .n_threads = TASKS
	};
	sn->ops = calloc(OPS, sizeof(*sn->ops));
	sn->rqs = calloc(RQS, sizeof(*sn->rqs));
	sn->threads = calloc(TASKS, sizeof(*sn->threads));
	assert_true(sn->ops && sn->rqs && sn->threads);
	memcpy(sn->threads, threads, sizeof(threads));
	fill_op(&sn->ops[0], TASK(100, 100), OP_READ, 23, 1000);
	fill_op(&sn->ops[1], TASK(100, 101), OP_WRITE, 7, 3000);
	fill_op(&sn->ops[2], TASK(200, 200), OP_FSYNC, 3, 900000);
	fill_op(&sn->ops[3], TASK(300, 300), OP_READ, 11, 1000);
	fill_rq(&sn->rqs[0], TASK(100, 100), "sda", 0, RQ_READ, 101, 100000);
	fill_rq(&sn->rqs[1], TASK(100, 101), "sdb", 16, RQ_WRITE, 13, 200000);
	fill_rq(&sn->rqs[2], TASK(200, 200), "sda", 0, RQ_FLUSH, 5, 700000);
	fill_rq(&sn->rqs[3], TASK(200, 200), "sda", 0, RQ_WRITE, 17, 100000);
	fill_rq(&sn->rqs[4], 0, "sda", 0, RQ_WRITE, 19, 100000);
	fill_rq(&sn->rqs[5], TASK(300, 300), "sda", 0, RQ_READ, 2, 50000);
	sn->rqs[2].bytes = 0;
	sn->rqs[3].key.by[1] = BEHALF_WRITEBACK;
}

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char *cgroup_path(void *arg, unsigned long long id)
{
	(void)arg;
	return strdup(id == 7    ? "/system.slice/docker-" CONTAINER ".scope"
		      : id == 10 ? "/other.slice/docker-" CONTAINER ".scope"
		      : id == 9  ? "cgroup 9"
				 : "/user.slice");
}

struct fixture {
	struct snapshot sn;
	struct top_names names;
	struct top_table t;
	struct top_figures figures;
};

static void begin(struct fixture *f, enum top_view view, enum top_split split)
{
	*f = (struct fixture){ .names.cgroup_path = cgroup_path };
	sample(&f->sn);
	assert_int_equal(top_table_init(&f->t, &f->sn, view, split, &f->names), 0);
	f->figures.table = &f->t;
}

static void end(struct fixture *f)
{
	top_table_done(&f->t);
	top_names_done(&f->names);
	snapshot_free(&f->sn);
}

static struct top_row *row(const struct fixture *f, uint64_t who)
{
	struct top_key key = { .who = { who } };
	struct top_row *r = top_table_find(&f->t, &key);

	assert_non_null(r);
	return r;
}

static void fill_server(struct server_row *r, const char *server, const char *op,
			unsigned int opcode, uint64_t count, uint64_t each_ns)
{
	snprintf(r->key.server, sizeof(r->key.server), "%s", server);
	snprintf(r->key.op, sizeof(r->key.op), "%s", op);
	r->key.opcode = opcode;
	r->sums = (struct server_sums){ .count = count,
					.errors = 1,
					.sent_bytes = count * 100,
					.received_bytes = count * 1000,
					.tag_ns = count * 10,
					.queue_ns = count * 20,
					.server_ns = count * each_ns,
					.max_ns = each_ns };
	assert_int_equal(hist_add(&r->hist, hist_bucket(each_ns), count), 0);
}

enum { SERVERS = 4 };

/* A server with two kinds of requests, and two mounts of the same daemon. */
static void sample_servers(struct snapshot *sn)
{
	sample(sn);
	sn->n_servers = SERVERS;
	sn->servers = calloc(SERVERS, sizeof(*sn->servers));
	assert_non_null(sn->servers);
	fill_server(&sn->servers[0], "10.0.0.7", "READ", 0, 23, 1000000);
	fill_server(&sn->servers[1], "10.0.0.7", "WRITE", 0, 7, 3000000);
	fill_server(&sn->servers[2], HOSTILE, "", 15, 11, 2000000);
	fill_server(&sn->servers[3], HOSTILE, "", 15, 13, 2000000);
	for (int i = 2; i < SERVERS; i++) {
		sn->servers[i].key.protocol = SERVER_FUSE;
		sn->servers[i].key.pid = 77;
		sn->servers[i].key.dev = 50 + i;
		sn->servers[i].mount = strdup(i == 2 ? "/two" : "/three");
	}
}

/* In each view, nothing is lost and nothing counted twice. */
static void test_sums(void **state)
{
	(void)state;
	for (int view = 0; view < TOP_VIEWS; view++) {
		for (int split = 0; split <= TOP_OPS; split++) {
			uint64_t ops = 0, rqs = 0, bytes = 0;
			struct fixture f;

			begin(&f, view, split);
			for (size_t i = 0; i < f.t.n; i++) {
				ops += f.t.rows[i].ops.count;
				rqs += f.t.rows[i].rqs.count;
				bytes += f.t.rows[i].rqs.bytes;
			}
			if (view == TOP_SERVER) { /* sample() has no requests to servers */
				assert_int_equal(f.t.n, 0);
				end(&f);
				continue;
			}
			bool has_rqs = split != TOP_OPS && !top_view_callers(view);

			assert_int_equal(ops, split == TOP_REQUESTS || view == TOP_DISK ? 0 : 44);
			assert_int_equal(rqs, has_rqs ? 157 : 0);
			assert_int_equal(bytes, has_rqs ? 152 * 512 : 0);
			end(&f);
		}
	}
}

static void test_process(void **state)
{
	struct top_strata strata;
	struct top_row *r;
	struct fixture f;

	(void)state;
	begin(&f, TOP_PROCESS, TOP_WHOLE);
	assert_int_equal(f.t.n, 4);
	r = row(&f, 100);
	assert_int_equal(r->ops.count, 30);
	assert_int_equal(r->ops.bytes, 30 * 4096);
	assert_int_equal(r->ops.total_ns, 23 * 1000 + 7 * 3000);
	assert_int_equal(r->ops.max_ns, 3000);
	assert_int_equal(r->rqs.count, 114);
	assert_int_equal(r->rqs.total_ns, 101 * 100000 + 13 * 200000);
	assert_int_equal(r->tag_ns, 114 * 10);
	strata = top_row_strata(&f.t, r);
	assert_int_equal(top_strata_largest(&strata), ST_DEVICE);
	assert_string_equal(r->disk, "sda");
	assert_string_equal(r->container->id, CONTAINER);
	assert_string_equal(r->thread->comm, "dd");
	top_row_p99(&f.t, r);
	assert_true(r->ops.p99_ns > 2900 && r->ops.p99_ns <= 3000); /* 7 of 30 are such */
	assert_true(r->rqs.p99_ns > 193000 && r->rqs.p99_ns <= 200000);
	r = row(&f, 200);
	assert_int_equal(r->rqs.count, 22);
	assert_int_equal(r->behalf_bytes, 17 * 512);
	assert_null(r->container);
	r = row(&f, 0); /* nobody's are a row, too */
	assert_int_equal(r->rqs.count, 19);
	assert_null(r->thread);
	end(&f);
}

static void test_views(void **state)
{
	struct top_key sdb = { .dev = DEV(8U, 16) };
	struct fixture f;

	(void)state;
	begin(&f, TOP_THREAD, TOP_WHOLE);
	assert_int_equal(f.t.n, 5);
	assert_int_equal(row(&f, TASK(100, 101))->ops.count, 7);
	end(&f);
	begin(&f, TOP_COMM, TOP_WHOLE);
	assert_int_equal(row(&f, 'd' | 'd' << 8)->rqs.count, 103);
	end(&f);
	begin(&f, TOP_DISK, TOP_WHOLE);
	assert_int_equal(f.t.n, 2);
	assert_int_equal(top_table_find(&f.t, &sdb)->rqs.count, 13);
	end(&f);
	begin(&f, TOP_CGROUP, TOP_WHOLE);
	assert_int_equal(row(&f, 8)->rqs.count, 24);
	assert_string_equal(row(&f, 8)->cgroup, "/user.slice");
	end(&f);
	begin(&f, TOP_CONTAINER, TOP_WHOLE);
	assert_int_equal(row(&f, 7)->rqs.count, 114);
	assert_int_equal(row(&f, 8)->rqs.count, 24); /* in none */
	assert_int_equal(row(&f, 0)->rqs.count, 19); /* nobody's */
	end(&f);
}

/* Files on two disks may have the same number; what a row by file has in place of "on behalf" is
 * such a number. */
static void test_files(void **state)
{
	struct top_key on_sda = { .who = { 3, BEHALF_WRITEBACK } };
	struct top_key on_sdb = { .who = { 5, BEHALF_WRITEBACK } };
	struct fixture f = {};

	(void)state;
	sample(&f.sn);
	for (int i = 0; i < 2; i++) {
		f.sn.rqs[i].key.by[0] = i ? on_sdb.who[0] : on_sda.who[0];
		f.sn.rqs[i].key.by[1] = BEHALF_WRITEBACK;
	}
	f.names.by_file = true;
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_FILE, TOP_WHOLE, &f.names), 0);
	assert_int_equal(top_table_find(&f.t, &on_sda)->rqs.count, 101);
	assert_int_equal(top_table_find(&f.t, &on_sdb)->rqs.count, 13);
	assert_int_equal(top_table_find(&f.t, &on_sda)->behalf_bytes, 0);
	top_table_done(&f.t);
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_DISK, TOP_WHOLE, &f.names), 0);
	for (size_t i = 0; i < f.t.n; i++)
		assert_int_equal(f.t.rows[i].behalf_bytes, 0);
	end(&f);
}

/* The disk of a row is the one with most bytes, not the first and not that with most requests. */
static void test_disk(void **state)
{
	struct fixture f = {};

	(void)state;
	sample(&f.sn);
	f.sn.rqs[1].bytes = f.sn.rqs[0].bytes + 1;
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_PROCESS, TOP_WHOLE, &f.names), 0);
	assert_string_equal(row(&f, 100)->disk, "sdb");
	assert_int_equal(row(&f, 100)->minor, 16);
	end(&f);
}

static char *container_text(const struct fixture *f, uint64_t who)
{
	const struct columns columns = { .ctx = &f->figures };
	struct top_columns c = top_columns_whole(TOP_CONTAINER);
	struct value v;

	columns_value(&v, &columns, columns_find(c.list, "container"), row(f, who));
	return v.unknown ? NULL : strndup(v.text, v.max);
}

static void check_filtered(const struct fixture *f, const char *text, size_t rows)
{
	struct top_columns c = top_columns_whole(TOP_SERVER);
	struct top_order order = { columns_find(c.list, "bytes"), false, text };
	struct top_list list;

	assert_int_equal(top_list_init(&list, &f->figures, &order), 0);
	assert_int_equal(list.n, rows);
	top_list_done(&list);
}

static void test_servers(void **state)
{
	struct top_row *nfs = NULL, *two = NULL;
	struct fixture f = {};

	(void)state;
	sample_servers(&f.sn);
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_SERVER, TOP_WHOLE, &f.names), 0);
	f.figures.table = &f.t;
	assert_int_equal(f.t.n, 3);
	for (size_t i = 0; i < f.t.n; i++) {
		struct top_row *r = &f.t.rows[i];

		nfs = strcmp(top_row_name(TOP_SERVER, r), "10.0.0.7") ? nfs : r;
		two = r->server->key.dev == 52 ? r : two;
		assert_int_equal(r->ops.count, 0);
	}
	assert_true(nfs && two);
	assert_int_equal(nfs->rqs.count, 30);
	assert_int_equal(nfs->rqs.errors, 2);
	assert_int_equal(nfs->rqs.bytes, 30 * 1100);
	assert_int_equal(nfs->rqs.total_ns, 23 * 1000000 + 7 * 3000000);
	assert_int_equal(nfs->rqs.max_ns, 3000000);
	assert_int_equal(nfs->tag_ns + nfs->queue_ns, 30 * 30);
	top_row_p99(&f.t, nfs);
	assert_true(nfs->rqs.p99_ns > 2900000 && nfs->rqs.p99_ns <= 3000000);
	assert_int_equal(two->rqs.count, 11);
	assert_string_equal(top_row_name(TOP_SERVER, two), HOSTILE);
	check_filtered(&f, "10.0.0", 1);
	f.sn.servers[1].key.protocol = SERVER_SMB; /* of the same server */
	top_table_done(&f.t);
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_SERVER, TOP_WHOLE, &f.names), 0);
	assert_int_equal(f.t.n, 4);
	f.sn.servers[1].key.protocol = SERVER_NFS;
	top_table_done(&f.t);
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_SERVER, TOP_WHOLE, &f.names), 0);
	check_filtered(&f, "10.0.0", 1);
	check_filtered(&f, "thr", 1);
	check_filtered(&f, "nfs", 0);
	end(&f);
	/* by kind of request */
	f = (struct fixture){};
	sample_servers(&f.sn);
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_SERVER, TOP_REQUESTS, &f.names), 0);
	assert_int_equal(f.t.n, 4);
	end(&f);
}

static void check_name(const struct fixture *f, uint64_t who, const char *shown, const char *name)
{
	char *text = container_text(f, who);

	assert_string_equal(text ? text : "-", shown);
	assert_string_equal(top_row_name(TOP_CONTAINER, row(f, who)), name);
	free(text);
}

/* One in two cgroups, none, one that is gone, and nobody are four rows with names of their own. */
static void test_containers(void **state)
{
	struct fixture f = { .names.cgroup_path = cgroup_path };

	(void)state;
	sample(&f.sn);
	f.sn.threads[3].cgroup = 9;
	f.figures.table = &f.t;
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_CONTAINER, TOP_WHOLE, &f.names), 0);
	assert_int_equal(f.t.n, 4);
	assert_int_equal(row(&f, 7)->rqs.count, 114);
	assert_int_equal(row(&f, 8)->rqs.count, 22);
	assert_int_equal(row(&f, 9)->rqs.count, 2);
	assert_int_equal(row(&f, 0)->rqs.count, 19);
	check_name(&f, 7, "0123456789ab", CONTAINER);
	check_name(&f, 8, CONTAINER_NONE, CONTAINER_NONE);
	check_name(&f, 9, "cgroup 9", "cgroup 9");
	check_name(&f, 0, "-", "");
	end(&f);
	/* two cgroups of one are one row */
	f = (struct fixture){ .names.cgroup_path = cgroup_path };
	sample(&f.sn);
	f.sn.threads[3].cgroup = 10;
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_CONTAINER, TOP_WHOLE, &f.names), 0);
	assert_int_equal(row(&f, 7)->rqs.count, 116);
	end(&f);
}

/* The names of the rows in the order of a column. */
/* Two disks, of which one had requests. */
static void disks_add(struct snapshot *sn, const char *name)
{
	sn->disks = calloc(2, sizeof(*sn->disks));
	assert_non_null(sn->disks);
	snprintf(sn->disks[0].disk, sizeof(sn->disks[0].disk), "%s", name);
	sn->disks[0].busy_ns = 250;
	sn->disks[0].requests_ns = 1500;
	strcpy(sn->disks[1].disk, "idle");
	sn->n_disks = 2;
	sn->disks_ns = 1000;
}

static void check_order(enum top_view view, const char *column, bool reverse, const char *filter,
			const char *want)
{
	struct top_columns c = top_columns_whole(view);
	struct top_order order = { columns_find(c.list, column), reverse, filter };
	char got[256] = "";
	struct top_list list;
	struct fixture f;

	assert_non_null(order.by);
	begin(&f, view, TOP_WHOLE);
	f.t.rows[f.t.n - 1].pinned = !filter && reverse;
	assert_int_equal(top_list_init(&list, &f.figures, &order), 0);
	for (size_t i = 0; i < list.n; i++)
		sprintf(got + strlen(got), "%llu ",
			list.rows[i]->thread ? list.rows[i]->thread->id >> 32 : 0);
	assert_string_equal(got, want);
	top_list_done(&list);
	end(&f);
}

/* top: processes without requests to disks stand in the order of their time in operations. */
static void test_order_without_requests(void **state)
{
	struct top_columns c = top_columns_whole(TOP_PROCESS);
	struct top_order order = { .by = columns_find(c.list, "bytes") };
	static const uint64_t want[] = { 200, 100, 300 }; /* 2.7 ms, 44 us, 11 us */
	struct top_list list;
	struct fixture f = { .names.cgroup_path = cgroup_path };

	(void)state;
	sample(&f.sn);
	f.sn.n_rqs = 0;
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_PROCESS, TOP_WHOLE, &f.names), 0);
	f.figures.table = &f.t;
	assert_int_equal(top_list_init(&list, &f.figures, &order), 0);
	assert_int_equal(list.n, 3);
	for (size_t i = 0; i < list.n; i++)
		assert_int_equal(list.rows[i]->thread->id >> 32, want[i]);
	top_list_done(&list);
	f.sn.n_rqs = RQS;
	end(&f);
}

/* top: figures of the screen keep their place, whatever their digits. */
static void test_columns_keep_their_place(void **state)
{
	struct top_columns c = top_columns_whole(TOP_PROCESS);

	(void)state;
	for (const struct column *k = c.list; column_is(k); k++)
		assert_true(k->min > 0 || k->optional || !strcmp(k->title, "DISK"));
}

/* Two callers, as after stack_join(): rows of one have one key. */
static void fill_callers(struct snapshot *sn, struct stacks *stacks)
{
	static const char *const names[OPS] = { "save_rows [store]", "save_rows [store]", HOSTILE,
						"save_rows [store]" };

	sample(sn);
	for (int i = 0; i < OPS; i++) {
		sn->ops[i].key.by[0] = i == 2 ? 29 : TASK(100, 100); /* a number, no thread */
		sn->ops[i].key.by[1] = 1;
		sn->ops[i].by = strdup(names[i]);
	}
	*stacks = (struct stacks){ .sampled = true, .taken = 37, .of = 44, .weight = 1000 };
	stacks->variance = 1000 * 1000 / 25;
	stacks->ended[STACK_NOT_READY] = 5;
	sn->stacks = stacks;
}

/* top: callers have operations alone, and the most time comes first. */
static void test_callers(void **state)
{
	struct top_columns c = top_columns_whole(TOP_CALLER_FUNCTION);
	const char *sort = top_sort_usual(TOP_CALLER_FUNCTION);
	struct top_order order = { .by = columns_find(c.list, sort) };
	struct top_key rows = { .who = { TASK(100, 100), 1 } };
	struct fixture f = {};
	struct stacks stacks;
	struct top_list list;
	struct value total = {};

	(void)state;
	assert_null(columns_find(c.list, "io"));
	fill_callers(&f.sn, &stacks);
	assert_int_equal(top_table_init(&f.t, &f.sn, TOP_CALLER_FUNCTION, TOP_WHOLE, &f.names), 0);
	f.figures.table = &f.t;
	assert_int_equal(f.t.n, 2);
	assert_int_equal(top_table_find(&f.t, &rows)->ops.count, 41);
	assert_null(top_table_find(&f.t, &rows)->thread);
	assert_int_equal(top_list_init(&list, &f.figures, &order), 0);
	assert_string_equal(top_row_name(TOP_CALLER_FUNCTION, list.rows[0]), HOSTILE);
	assert_int_equal(list.rows[0]->ops.total_ns, 2700000);
	f.figures.per_second_of = 2000000000;
	order.by->get(&total, list.rows[0], &f.figures);
	assert_int_equal(total.n, 1350000);
	assert_string_equal(top_row_name(TOP_CALLER_LINE, list.rows[1]), "save_rows [store]");
	top_list_done(&list);
	f.sn.stacks = NULL;
	end(&f);
}

/* top: the sum over intervals has the error of all their stacks together. */
static void test_callers_total(void **state)
{
	struct top_total total = {};
	struct stacks stacks;
	struct snapshot sn;
	char text[TOP_LINE];

	(void)state;
	for (int i = 0; i < 2; i++) {
		fill_callers(&sn, &stacks);
		stacks.weight = i ? 3000 : 1000;
		stacks.variance = stacks.weight * stacks.weight / 25;
		stacks.sampled = !i;
		stacks.nameless = i ? NULL : "why";
		stacks.lost = 1;
		assert_int_equal(top_total_add(&total, &sn), 0);
		sn.stacks = NULL;
		snapshot_free(&sn);
	}
	assert_int_equal(total.sum.stacks->taken, 74);
	assert_int_equal(total.sum.stacks->ended[STACK_NOT_READY], 10);
	assert_true(total.sum.stacks->variance == 1000 * 1000 / 25 + 3000 * 3000 / 25);
	top_stacks_text(text, total.sum.stacks);
	assert_string_equal(text,
			    "estimated from 74 of 88 operations, half is right within 15.5 %; "
			    "2 stacks without room; names are missing: why");
	stacks = (struct stacks){ .taken = 44, .of = 44, .dropped = 1 };
	top_stacks_text(text, &stacks);
	assert_string_equal(text, "1 stack without room");
	stacks.dropped = 0;
	top_stacks_text(text, &stacks);
	assert_string_equal(text, "");
	top_total_done(&total);
	/* the user lets the sum begin again */
	fill_callers(&sn, &stacks);
	assert_int_equal(top_total_add(&total, &sn), 0);
	assert_int_equal(total.sum.stacks->taken, 37);
	sn.stacks = NULL;
	snapshot_free(&sn);
	top_total_done(&total);
}

/* top: disks have how busy they are, if the kernel tells. */
static void test_disk_columns(void **state)
{
	struct top_columns c = top_columns_whole(TOP_DISK);
	struct top_figures figures;
	const struct columns t = { .list = c.list, .ctx = &figures };
	struct value busy, depth;
	struct fixture f;

	(void)state;
	begin(&f, TOP_DISK, TOP_WHOLE);
	figures = (struct top_figures){ .table = &f.t };
	disks_add(&f.sn, f.t.rows[0].disk);
	columns_value(&busy, &t, columns_find(c.list, "busy"), &f.t.rows[0]);
	columns_value(&depth, &t, columns_find(c.list, "depth"), &f.t.rows[0]);
	assert_false(busy.unknown || depth.unknown);
	assert_true(busy.n == 250 && busy.of == 1000 && depth.n == 1500 && depth.of == 1000);
	columns_value(&busy, &t, columns_find(c.list, "busy"), &f.t.rows[1]);
	assert_true(busy.unknown);
	assert_null(columns_find(top_columns_whole(TOP_PROCESS).list, "busy"));
	end(&f);
}

/* top: a line that is too long loses whole figures at its end. */
static void test_cut_figures(void **state)
{
	char text[64] = "8 KiB written by threads; 121 KiB of no file";

	(void)state;
	top_cut_figures(text, 44);
	assert_string_equal(text, "8 KiB written by threads; 121 KiB of no file");
	top_cut_figures(text, 43);
	assert_string_equal(text, "8 KiB written by threads; ...");
}

static void test_order(void **state)
{
	(void)state;
	check_order(TOP_PROCESS, "bytes", false, "", "100 0 200 300 ");
	check_order(TOP_PROCESS, "bytes", true, "", "300 200 0 100 ");
	check_order(TOP_PROCESS, "ops", false, "", "100 300 200 0 ");
	check_order(TOP_PROCESS, "p99", false, "", "200 100 0 300 ");
	check_order(TOP_PROCESS, "comm", false, "", "200 100 300 0 ");
	/* what has no operation has no time either, and is last */
	check_order(TOP_PROCESS, "time", false, "", "200 100 300 0 ");
	check_order(TOP_PROCESS, "time", true, "", "300 100 200 0 ");
	check_order(TOP_PROCESS, "io", false, "DD", "100 300 ");
	check_order(TOP_PROCESS, "io", false, "00", "100 200 300 ");
	check_order(TOP_PROCESS, "io", false, "user.sl", "200 300 ");
	check_order(TOP_PROCESS, "io", false, "sdb", "");
	/* the last, which is marked, is first */
	check_order(TOP_PROCESS, "bytes", true, NULL, "0 300 200 100 ");
}

static void check_sum(const struct snapshot *sn, uint64_t per_second_of, size_t width,
		      const char *want)
{
	char text[TOP_LINE];

	top_sum_text(text, sn, per_second_of, width);
	assert_string_equal(text, want);
	assert_true(strlen(text) <= width);
}

/* The sums are of the same time as the rows, and on a narrow screen no figure is cut. */
static void test_sum_text(void **state)
{
	struct snapshot sn;

	(void)state;
	sample(&sn);
	check_sum(&sn, 0, 83,
		  "files: 44 ops, 176 KiB;  disks: 103 R 51.5 KiB, 49 W 24.5 KiB, "
		  "5 F");
	check_sum(&sn, 500000000, 83,
		  "files: 88 ops, 352 KiB;  disks: 206 R 103 KiB, "
		  "98 W 49.0 KiB, 10 F");
	check_sum(&sn, 0, 66,
		  "files: 44 ops, 176 KiB;  disks: 103 R 51.5 KiB, 49 W 24.5 KiB, "
		  "5 F");
	check_sum(&sn, 0, 65, "files: 44 ops, 176 KiB;  disks: 103 R 51.5 KiB, ...");
	check_sum(&sn, 0, 30, "files: 44 ops, 176 KiB; ...");
	disks_add(&sn, "sd\n");
	check_sum(&sn, 0, 120,
		  "files: 44 ops, 176 KiB;  disks: 103 R 51.5 KiB, 49 W 24.5 KiB, "
		  "5 F;  sd\\x0a 25% busy");
	snapshot_free(&sn);
	sample_servers(&sn);
	check_sum(&sn, 0, 120,
		  "files: 44 ops, 176 KiB;  disks: 103 R 51.5 KiB, 49 W 24.5 KiB, 5 F;  "
		  "servers: 54 requests, 58.0 KiB");
	snapshot_free(&sn);
}

static char *text_of(const struct top_text *v, const struct snapshot *sn)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(top_text(f, v, sn), 0);
	fclose(f);
	return text;
}

static void test_text(void **state)
{
	struct top_names names = { .cgroup_path = cgroup_path };
	struct top_text v = { .names = &names,
			      .head = "12:00:00 loadavg: 1 2 3",
			      .sort = "bytes",
			      .max_rows = 20,
			      .width = 300 };
	struct snapshot sn;
	char *text;

	(void)state;
	sample(&sn);
	sn.lost[LOST_MAP_FULL] = 5;
	sn.lost[LOST_UNMATCHED_START] = 3;
	sn.lost[LOST_UNMATCHED_END] = 7;
	text = text_of(&v, &sn);
	assert_int_equal(strncmp(text, "12:00:00 loadavg: 1 2 3\n\n", 25), 0);
	assert_has(text, "PID  COMM");
	assert_has(text, "  D  MAJ  MIN  DISK  I/O  Kbytes");
	assert_has(text, "AVGms  VIA\n100  dd ");
	assert_has(text, "200  \\x1b[2J\\xff...");
	assert_has(text, "  -  (not known)");                          /* a row of nobody */
	assert_has(text, "  sda    17       9   0.1000  writeback\n"); /* of 8.5 */
	assert_has(text, "  sda   101      51   0.1000  -\n");
	assert_has(text, "8.50 KiB written by kernel threads for these processes; ");
	assert_has(text, "9.50 KiB of unknown processes");
	assert_has(text, "lost: 5 rows, requests or threads found no room in a table, "
			 "3 operations began and were never seen to end; "
			 "7 operations had begun before; ");
	free(text);
	sn.lost[LOST_UNMATCHED_START] = sn.lost[LOST_UNMATCHED_END] = 1;
	text = text_of(&v, &sn);
	assert_has(text, "1 operation began and was never seen to end; "
			 "1 operation had begun before; ");
	free(text);
	top_names_done(&names);
	snapshot_free(&sn);
}

/* top -b: rows and columns that were asked for, and the one to sort by. */
static void test_text_columns(void **state)
{
	struct top_names names = { .cgroup_path = cgroup_path };
	struct top_text v = {
		.names = &names, .head = "", .sort = "bytes", .max_rows = 1, .width = 300
	};
	struct snapshot sn;
	char *text;

	(void)state;
	sample(&sn);
	text = text_of(&v, &sn);
	assert_has(text, "(5 more)\n");
	assert_has_not(text, "200");
	free(text);
	v.view = TOP_DISK;
	text = text_of(&v, &sn);
	assert_has(text, "\nD  MAJ");
	free(text);
	/* the column that it is sorted by is shown */
	v.view = TOP_PROCESS;
	v.max_rows = 20;
	v.sort = "p99";
	text = text_of(&v, &sn);
	assert_has(text, "AVGms  VIA         P99 ms\n200 ");
	free(text);
	/* a title is a name, too */
	v.sort = "Kbytes";
	text = text_of(&v, &sn);
	assert_has(text, "AVGms  VIA\n100  dd ");
	free(text);
	/* operations are not in a table of requests */
	assert_null(columns_find(top_columns_text(TOP_PROCESS, "time").list, "time"));
	top_names_done(&names);
	snapshot_free(&sn);
}

/* top -b: only what there is to tell is told. */
static void test_text_of_little(void **state)
{
	struct top_names names = { .cgroup_path = cgroup_path };
	struct top_text v = {
		.names = &names, .head = "", .sort = "bytes", .max_rows = 20, .width = 300
	};
	struct snapshot sn;
	char *text;

	(void)state;
	sample(&sn);
	sn.rqs[3].key.by[1] = BEHALF_NONE;
	text = text_of(&v, &sn);
	assert_has(text, "AVGms\n100  dd ");
	assert_has_not(text, "busy");
	free(text);
	disks_add(&sn, "sda");
	v.missing = &(struct missing){ .requests = "no device", .syscalls = "no call" };
	text = text_of(&v, &sn);
	assert_has(text, "\nsda 25% busy, mean depth 1.50\n");
	free(text);
	sn.disks[0].busy_ns = BUSY_UNKNOWN; /* a recording */
	text = text_of(&v, &sn);
	assert_has(text, "\nsda mean depth 1.50\n");
	assert_has(text, "no requests: no device; no operations: no call\n");
	free(text);
	top_names_done(&names);
	snapshot_free(&sn);
}

static void test_text_servers(void **state)
{
	struct top_text v = { .view = TOP_SERVER,
			      .names = &(struct top_names){},
			      .head = "12:00:00 loadavg: 1 2 3",
			      .sort = "avg",
			      .max_rows = 20,
			      .width = 300 };
	struct snapshot sn;
	char *text;

	(void)state;
	sample_servers(&sn);
	text = text_of(&v, &sn);
	assert_has(text, "PID  MOUNT   REQUEST  I/O  Kbytes  AVGms\n10.0.0.7 ");
	assert_has(text, "  -  -       WRITE      7       8  3.000\n");
	assert_has(text, "  77  /two    READ      11      12  2.000\n");
	assert_has_not(text, "sda");
	assert_has_not(text, "processes"); /* the requests to disks are in no row */
	free(text);
	/* the time before a request was sent; a daemon has none */
	v.sort = "queue";
	text = text_of(&v, &sn);
	assert_has(text, "  3.000   0.00003\n");
	assert_has(text, "  2.000         -\n");
	free(text);
	/* the longest name of NFS is whole */
	strcpy(sn.servers[1].key.op, "BIND_CONN_TO_SESSION");
	text = text_of(&v, &sn);
	assert_has(text, " BIND_CONN_TO_SESSION ");
	free(text);
	strcpy(sn.servers[1].key.op, "WRITE");
	/* SMB of the same server: a row of its own, without bytes */
	sn.servers[1].key.protocol = SERVER_SMB;
	text = text_of(&v, &sn);
	assert_has(text, "READ      23      25  1.000   0.00003\n");
	assert_has(text, "WRITE      7       -  3.000         -\n");
	free(text);
	sn.servers[1].key.protocol = SERVER_NFS;
	/* no column without a figure */
	sn.n_servers = 2;
	text = text_of(&v, &sn);
	assert_has(text, "SERVER    REQUEST  I/O");
	free(text);
	sn.n_servers = SERVERS;
	snapshot_free(&sn);
}

static void test_text_paths(void **state)
{
	static const char path[] = "/a/path/that/is/longer/than/a/line/of/the/text/can/be/if/it/is/"
				   "so/very/narrow";
	struct top_names names = { .cgroup_path = cgroup_path };
	struct top_text v = { .view = TOP_FILE,
			      .names = &names,
			      .head = "",
			      .sort = "bytes",
			      .max_rows = 20,
			      .width = 60 };
	struct snapshot sn;
	char *text;

	(void)state;
	sample(&sn);
	sn.rqs[0].by = strdup(path);
	sn.rqs[0].key.by[1] = 23; /* its inode */
	text = text_of(&v, &sn);
	assert_has_not(text, path);
	free(text);
	v.uncut = true;
	text = text_of(&v, &sn);
	assert_has(text, path);
	free(text);
	top_names_done(&names);
	snapshot_free(&sn);
}

static json_t *json_of(enum top_view view, struct snapshot *sn)
{
	static const struct missing m = { .stratum[ST_VFS] = "no function", .aio = "no call" };
	struct top_names names = { .cgroup_path = cgroup_path };
	struct top_json v = { .view = view, .names = &names, .kernel = "6.1.0", .missing = &m };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_t *j;

	assert_non_null(f);
	assert_int_equal(top_json(f, &v, sn), 0);
	fclose(f);
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	json_seen(text);
	j = json_loads(text, 0, NULL);
	assert_non_null(j);
	free(text);
	top_names_done(&names);
	return j;
}

static json_int_t number(const json_t *row, const char *member)
{
	return json_integer_value(json_object_get(row, member));
}

/* top: text and JSON of callers say how far they are estimates. */
static void test_callers_print(void **state)
{
	struct top_text v = { .view = TOP_CALLER_FUNCTION,
			      .names = &(struct top_names){},
			      .head = "12:00:00 loadavg: 1 2 3",
			      .sort = "total",
			      .max_rows = 20,
			      .width = 300 };
	struct stacks stacks;
	struct snapshot sn;
	json_t *j, *op;
	char *text;

	(void)state;
	fill_callers(&sn, &stacks);
	text = text_of(&v, &sn);
	assert_has(text, "  OPERATION    TOTAL     OPS      DATA     TIME      T99  WHERE\n"
			 "\\x1b[2J\\xff");
	assert_has(text, "  read       34.0 us      34   136 KiB  1.00 us");
	assert_has(text, "from the stacks of 37 of 44 operations: a share of half is right within "
			 "19.6 %\n");
	assert_has(text, "5 stacks ended early: the table of a file was not ready yet\n");
	assert_has_not(text, "sda");
	assert_has_not(text, "kernel threads");
	free(text);
	j = json_of(TOP_CALLER_FUNCTION, &sn);
	assert_string_equal(json_string_value(json_object_get(j, "by")), "function");
	assert_int_equal(json_array_size(json_object_get(j, "rows")), 0);
	assert_int_equal(json_array_size(json_object_get(j, "ops")), 3);
	op = json_array_get(json_object_get(j, "ops"), 0);
	assert_string_equal(json_string_value(json_object_get(op, "key")), "save_rows [store]");
	assert_true(json_is_null(json_object_get(op, "pid")));
	assert_int_equal(number(json_object_get(j, "stacks"), "taken"), 37);
	json_decref(j);
	sn.stacks = NULL;
	j = json_of(TOP_PROCESS, &sn);
	assert_null(json_object_get(j, "stacks"));
	json_decref(j);
	snapshot_free(&sn);
}

static void test_json_servers(void **state)
{
	json_t *j, *one;
	struct snapshot sn;

	(void)state;
	sample_servers(&sn);
	j = json_of(TOP_SERVER, &sn);
	assert_string_equal(json_string_value(json_object_get(j, "by")), "server");
	assert_int_equal(json_array_size(json_object_get(j, "rows")), 0);
	assert_int_equal(json_array_size(json_object_get(j, "ops")), 0);
	assert_int_equal(json_array_size(json_object_get(j, "servers")), SERVERS);
	one = json_array_get(json_object_get(j, "servers"), 0); /* most time first */
	assert_string_equal(json_string_value(json_object_get(one, "mount")), "/three");
	assert_string_equal(json_string_value(json_object_get(one, "op")), "READ");
	assert_int_equal(json_integer_value(json_object_get(one, "count")), 13);
	json_decref(j);
	/* other views have the same list */
	j = json_of(TOP_PROCESS, &sn);
	assert_int_equal(json_array_size(json_object_get(j, "servers")), SERVERS);
	assert_int_equal(json_array_size(json_object_get(j, "rows")), 6);
	json_decref(j);
	snapshot_free(&sn);
	/* without requests to servers there is no list */
	sample(&sn);
	j = json_of(TOP_SERVER, &sn);
	assert_null(json_object_get(j, "servers"));
	json_decref(j);
	snapshot_free(&sn);
}

/* In a row by container: what it is called, and the container's id or null. */
static void test_json_containers(void **state)
{
	static const char *const keys[][2] = {
		{ CONTAINER, CONTAINER },
		{ CONTAINER_NONE, NULL },
		{ "cgroup 9", NULL },
		{ NULL, NULL },
	};
	unsigned int seen = 0;
	struct snapshot sn;
	json_t *j, *row;
	size_t i;

	(void)state;
	sample(&sn);
	sn.threads[3].cgroup = 9;
	j = json_of(TOP_CONTAINER, &sn);
	json_array_foreach(json_object_get(j, "rows"), i, row)
	{
		const char *key = json_string_value(json_object_get(row, "key"));
		const char *container = json_string_value(json_object_get(row, "container"));
		unsigned int k = 0;

		while (k < 3 && (!key || strcmp(key, keys[k][0])))
			k++;
		seen |= 1U << k;
		assert_int_equal(!key, !keys[k][0]);
		assert_string_equal(container ? container : "", keys[k][1] ? keys[k][1] : "");
	}
	assert_int_equal(seen, 15);
	json_decref(j);
	snapshot_free(&sn);
}

static void test_json(void **state)
{
	json_t *j, *row, *rows;
	struct snapshot sn;
	json_int_t sum = 0;
	size_t i;

	(void)state;
	sample(&sn);
	sn.lost[LOST_RING] = 3;
	j = json_of(TOP_PROCESS, &sn);
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "iostrata.top/1");
	assert_int_equal(number(json_object_get(j, "lost"), "ring"), 3);
	rows = json_object_get(j, "rows");
	assert_int_equal(json_array_size(rows), RQS);
	json_array_foreach(rows, i, row)
	{
		sum += number(row, "count");
		assert_int_equal(number(row, "total_ns"), number(row, "tag_ns") +
								  number(row, "queue_ns") +
								  number(row, "device_ns"));
		assert_true(json_is_null(json_object_get(row, "tid")));
		if (number(row, "pid") == 200 && number(row, "count") == 17)
			assert_string_equal(json_string_value(json_object_get(row, "on_behalf")),
					    "writeback");
		else
			assert_true(json_is_null(json_object_get(row, "on_behalf")));
	}
	assert_int_equal(sum, 157);
	rows = json_object_get(j, "missing");
	assert_int_equal(json_array_size(rows), 2);
	assert_string_equal(json_string_value(json_array_get(rows, 0)), "vfs");
	assert_string_equal(json_string_value(json_array_get(rows, 1)), "aio");
	row = json_array_get(json_object_get(j, "ops"), 0);
	assert_true(json_is_null(json_object_get(json_object_get(row, "strata"), "vfs")));
	assert_int_equal(number(json_object_get(row, "strata"), "fs"), 23 * 250);
	json_decref(j);
	snapshot_free(&sn);
}

/* JSON in which every member has its own value, which no other has. */

/* Process 100 writes to a disk that lies on two others, one of them through a third; process 200 to
 * one of these two. */
static void test_bytes_of_stacked_disks(void **state)
{
	static const struct device list[] = { { "sda", DEV(8U, 0), 0, false },
					      { "sda1", DEV(8U, 1), DEV(8U, 0), false },
					      { "sdb", DEV(8U, 16), 0, false },
					      { "dm-0", DEV(8U, 32), 0, false },
					      { "dm-1", DEV(8U, 48), 0, false } };
	struct top_names names = { .cgroup_path = cgroup_path };
	struct devices d = {};
	struct snapshot sn = { .devices = &d, .n_rqs = 4, .duration_ns = 1000000000 };
	const struct top_key of_100 = { .who = { 100 } }, of_200 = { .who = { 200 } };
	struct top_table table;
	char text[TOP_LINE];
	bool *stacked;

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		devices_add(&d, &list[i]);
	devices_sort(&d);
	devices_link(&d, DEV(8U, 48), DEV(8U, 32));
	devices_link(&d, DEV(8U, 32), DEV(8U, 1));
	sn.rqs = calloc(4, sizeof(*sn.rqs));
	assert_non_null(sn.rqs);
	fill_rq(&sn.rqs[0], TASK(100, 101), "sda", 0, RQ_WRITE, 23, 1000);
	fill_rq(&sn.rqs[1], TASK(100, 101), "sdb", 16, RQ_WRITE, 7, 1000);
	fill_rq(&sn.rqs[2], TASK(200, 200), "sda", 0, RQ_WRITE, 101, 1000);
	fill_rq(&sn.rqs[3], TASK(100, 101), "dm-1", 48, RQ_WRITE, 23, 1000);
	stacked = top_stacked(&sn);
	assert_true(stacked && stacked[0] && !stacked[1] && !stacked[2] && !stacked[3]);
	free(stacked);
	assert_int_equal(top_table_init(&table, &sn, TOP_PROCESS, TOP_WHOLE, &names), 0);
	assert_int_equal(top_table_find(&table, &of_100)->rqs.count, 30);
	assert_int_equal(top_table_find(&table, &of_200)->rqs.count, 101);
	top_table_done(&table);
	top_sum_text(text, &sn, 1000000000, 80);
	assert_non_null(strstr(text, "131 W 65.5 KiB"));
	/* each disk has its own */
	assert_int_equal(top_table_init(&table, &sn, TOP_DISK, TOP_WHOLE, &names), 0);
	assert_int_equal(table.n, 3);
	top_table_done(&table);
	devices_done(&d);
	for (int i = 0; i < 4; i++)
		free(sn.rqs[i].hist.bins);
	free(sn.rqs);
}

static const char every_member[] =
	"{\"schema\":\"iostrata.top/"
	"1\",\"kernel\":\"6.1.0\",\"time\":3,\"local_time\":\"1970-01-01T00:00:03.000+00:00\","
	"\"duration_ns\":1000,\"by\":\"tid\",\"rows\":[{\"pid\":100,\"tid\":101,"
	"\"comm\":\"dd-2\","
	"\"cgroup\":\"/system.slice/docker-" CONTAINER ".scope\","
	"\"container\":\"" CONTAINER "\",\"file\":null,\"key\":\"101\","
	"\"dev\":\"8:16\",\"major\":8,"
	"\"minor\":16,\"disk\":\"sdb\",\"op\":\"D\",\"on_behalf\":\"writeback\","
	"\"count\":1001,\"errors\":5,\"bytes\":512,\"total_ns\":2002000,"
	"\"tag_ns\":10010,\"queue_ns\":20020,\"device_ns\":1971970,\"max_ns\":2100,"
	"\"p99_ns\":2000}],\"ops\":[{\"pid\":100,\"tid\":101,\"comm\":\"dd-2\","
	"\"cgroup\":\"/system.slice/docker-" CONTAINER ".scope\","
	"\"container\":\"" CONTAINER "\",\"file\":null,\"key\":\"101\",\"op\":\"write\","
	"\"count\":1000,\"errors\":3,\"bytes\":4096,\"total_ns\":1605,"
	"\"max_ns\":1100,\"p99_ns\":1000,\"strata\":{\"syscall\":100,\"vfs\":101,"
	"\"fs\":102,\"throttle\":103,\"tag\":104,\"queue\":105,\"device\":106,"
	"\"complete\":107,\"runq\":108,\"preempt\":109,\"helper\":110,"
	"\"sleep\":111,\"lock\":112,\"server\":113,\"reap\":114}}],\"missing\":[],\"lost\":{"
	"\"ring\":301,\"map_"
	"full\":302,"
	"\"unmatched_start\":303,\"unmatched_end\":304,\"names\":305,"
	"\"unattributed\":306,\"ops\":307,\"requests\":308,"
	"\"unmatched_requests\":309,\"missed\":310},\"disks\":[{\"disk\":\"sdb\",\"ns\":1000,"
	"\"busy_ns\":250,\"busy\":0.250000,\"depth\":1.500000}]}\n";

static void test_json_members(void **state)
{
	struct top_names names = { .cgroup_path = cgroup_path };
	struct top_json v = {
		.view = TOP_THREAD, .names = &names, .kernel = "6.1.0", .until_ns = 3000000000
	};
	struct snapshot sn = {
		.duration_ns = 1000, .n_ops = 1, .n_rqs = 1, .n_threads = 1, .missed = 310
	};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct op_row *op = calloc(1, sizeof(*op));
	struct rq_row *rq = calloc(1, sizeof(*rq));

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	sn.ops = op;
	sn.rqs = rq;
	sn.threads = calloc(1, sizeof(*sn.threads));
	assert_true(f && op && rq && sn.threads);
	disks_add(&sn, "sdb");
	*sn.threads = threads[1];
	fill_op(op, TASK(100, 101), OP_WRITE, 1000, 1000);
	fill_rq(rq, TASK(100, 101), "sdb", 16, RQ_DISCARD, 1001, 2000);
	op->errors = 3;
	op->bytes = 4096;
	op->max_ns = 1100;
	op->total_ns = 0;
	for (int i = 0; i < ST_N; i++)
		op->total_ns += op->strata[i] = 100 + i;
	rq->errors = 5;
	rq->bytes = 512;
	rq->max_ns = 2100;
	rq->key.by[1] = BEHALF_WRITEBACK;
	for (int i = 0; i < LOST_N; i++)
		sn.lost[i] = 301 + i;
	assert_int_equal(top_json(f, &v, &sn), 0);
	fclose(f);
	assert_string_equal(text, every_member);
	json_seen(text);
	free(text);
	top_names_done(&names);
	snapshot_free(&sn);
}

/* All of a row twice: what adds up is the double, the rest as it was. */
static void assert_doubled(const struct op_row *sum, const struct op_row *one)
{
	assert_memory_equal(&sum->key, &one->key, sizeof(sum->key));
	assert_string_equal(sum->fs, one->fs);
	assert_int_equal(!sum->by, !one->by);
	assert_int_equal(sum->count, 2 * one->count);
	assert_int_equal(sum->errors, 2 * one->errors);
	assert_int_equal(sum->bytes, 2 * one->bytes);
	assert_int_equal(sum->total_ns, 2 * one->total_ns);
	assert_int_equal(sum->max_ns, one->max_ns);
	for (int i = 0; i < ST_N; i++)
		assert_int_equal(sum->strata[i], 2 * one->strata[i]);
	assert_int_equal(sum->hist.bins[0].count, 2 * one->count);
}

static void assert_rq_doubled(const struct rq_row *sum, const struct rq_row *one)
{
	assert_memory_equal(&sum->key, &one->key, sizeof(sum->key));
	assert_string_equal(sum->disk, one->disk);
	assert_int_equal(sum->major, one->major);
	assert_int_equal(sum->minor, one->minor);
	if (one->by)
		assert_string_equal(sum->by, one->by);
	assert_int_equal(sum->count, 2 * one->count);
	assert_int_equal(sum->errors, 2 * one->errors);
	assert_int_equal(sum->bytes, 2 * one->bytes);
	assert_int_equal(sum->requeues, 2 * one->requeues);
	assert_int_equal(sum->unqueued, 2 * one->unqueued);
	assert_int_equal(sum->tag_ns, 2 * one->tag_ns);
	assert_int_equal(sum->queue_ns, 2 * one->queue_ns);
	assert_int_equal(sum->device_ns, 2 * one->device_ns);
	assert_int_equal(sum->max_ns, one->max_ns);
	assert_int_equal(sum->hist.bins[0].count, 2 * one->count);
}

/* Two intervals are the double of one, a thread of either is in the sum, and a name that has
 * changed is the newer. */
static void test_total(void **state)
{
	struct top_total total = {};
	struct snapshot sn;

	(void)state;
	sample_servers(&sn);
	strcpy(sn.ops[0].fs, "ext4");
	sn.ops[0].errors = sn.rqs[0].errors = 3;
	sn.rqs[0].requeues = 4;
	sn.rqs[0].unqueued = 5;
	sn.rqs[1].by = strdup("/a");
	sn.ops[1].by = strdup("/b");
	sn.lost[LOST_RING] = 7;
	sn.missed = 11;
	sn.n_threads--; /* the last comes in the second interval, the first only in the first */
	assert_int_equal(top_total_add(&total, &sn), 0);
	sn.n_threads++;
	memmove(sn.threads, sn.threads + 1, --sn.n_threads * sizeof(*sn.threads));
	strcpy(sn.threads[0].comm, "renamed");
	assert_int_equal(top_total_add(&total, &sn), 0);
	assert_int_equal(total.sum.n_ops, OPS);
	assert_int_equal(total.sum.n_rqs, RQS);
	for (size_t i = 0; i < OPS; i++)
		assert_doubled(&total.sum.ops[i], &sn.ops[i]);
	for (size_t i = 0; i < RQS; i++)
		assert_rq_doubled(&total.sum.rqs[i], &sn.rqs[i]);
	assert_int_equal(total.sum.n_servers, SERVERS);
	for (size_t i = 0; i < SERVERS; i++) {
		assert_int_equal(total.sum.servers[i].sums.count, 2 * sn.servers[i].sums.count);
		assert_int_equal(total.sum.servers[i].hist.n, sn.servers[i].hist.n);
		assert_int_equal(total.sum.servers[i].hist.bins[0].count,
				 2 * sn.servers[i].sums.count);
	}
	assert_string_equal(total.sum.servers[2].mount, "/two");
	assert_int_equal(total.sum.n_threads, TASKS);
	for (size_t i = 0; i < TASKS; i++)
		assert_int_equal(total.sum.threads[i].id, threads[i].id);
	assert_string_equal(total.sum.threads[1].comm, "renamed");
	assert_int_equal(total.sum.duration_ns, 2000000000);
	assert_int_equal(total.sum.lost[LOST_RING], 14);
	assert_int_equal(total.sum.missed, 22);
	snapshot_free(&sn);
	top_total_done(&total);
}

/* Operations and requests without room for their row are counted as lost. */
static void test_full_total(void **state)
{
	enum { N = TOP_TOTAL_ROWS + 3 };
	struct snapshot sn = { .n_ops = N, .n_rqs = N };
	struct top_total total = {};

	(void)state;
	sn.ops = calloc(N, sizeof(*sn.ops));
	sn.rqs = calloc(N, sizeof(*sn.rqs));
	assert_true(sn.ops && sn.rqs);
	for (size_t i = 0; i < N; i++) {
		sn.ops[i].key.by[0] = sn.rqs[i].key.by[0] = i + 1;
		sn.ops[i].count = 100;
		sn.rqs[i].count = 1;
	}
	assert_int_equal(top_total_add(&total, &sn), 0);
	assert_int_equal(total.sum.n_ops, TOP_TOTAL_ROWS);
	assert_int_equal(total.sum.n_rqs, TOP_TOTAL_ROWS);
	assert_int_equal(total.sum.lost[LOST_MAP_FULL], 303);
	snapshot_free(&sn);
	top_total_done(&total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_order_without_requests),
		cmocka_unit_test(test_columns_keep_their_place),
		cmocka_unit_test(test_disk_columns),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_callers_total),
		cmocka_unit_test(test_callers_print),
		cmocka_unit_test(test_cut_figures),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_sum_text),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_columns),
		cmocka_unit_test(test_text_of_little),
		cmocka_unit_test(test_text_paths),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_text_servers),
		cmocka_unit_test(test_json_servers),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_containers),
		cmocka_unit_test(test_total),
		cmocka_unit_test(test_bytes_of_stacked_disks),
		cmocka_unit_test(test_json_members),
		cmocka_unit_test(test_full_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
