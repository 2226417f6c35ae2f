// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot as text (80 columns, safe, exact) and as JSON (read back, sums kept). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/columns.h"
#include "base/hist.h"
#include "base/names.h"
#include "base/share.h"
#include "base/text.h"
#include "capture/slow_requests.h"
#include "host/container.h"
#include "host/mounts.h"
#include "json_seen.h"
#include "show/breakdown_json.h"
#include "show/breakdown_text.h"
#include "show/columns.h"
#include "show/view_parts.h"

#define assert_has(text, part)     assert_non_null(strstr(text, part))
#define assert_has_not(text, part) assert_null(strstr(text, part))

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HOSTILE   "\033[2J\xff\xe2\x80\xae\n</script>"

static const char *call_name(unsigned short call)
{
	return call == 17 ? "pread64" : NULL;
}

static const struct missing nothing_missing;

static const struct breakdown_view plain = {
	.source.kernel = "6.1.0",
	.source.call_name = call_name,
	.missing = &nothing_missing,
	.form.detail = 1,
};

/* A snapshot and its printed text; fixture_done() frees both. */
struct fixture {
	struct snapshot sn;
	struct slow_op records[2];
	bool damaged; /* a record has numbers that stand for nothing */
	char *text;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){ .sn = { .duration_ns = 5000000000, .n_ops = 3, .n_rqs = 2 } };
	f->sn.ops = calloc(f->sn.n_ops, sizeof(*f->sn.ops));
	f->sn.rqs = calloc(f->sn.n_rqs, sizeof(*f->sn.rqs));
	assert_true(f->sn.ops && f->sn.rqs);
}

static void fixture_done(struct fixture *f)
{
	snapshot_free(&f->sn);
	free(f->text);
}

/* @count operations of equal strata, 1 ns times @scale times (stratum + 1) each; no locks. */
static void fill_op(struct op_row *r, enum op_kind op, const char *fs, uint64_t count,
		    uint64_t scale)
{
	uint64_t each = 0;

	r->key.op = op;
	r->key.fs = 0x1000 + fs[0];
	r->key.call = op == OP_FSYNC ? 0 : 17;
	memcpy(r->fs, fs, strnlen(fs, sizeof(r->fs)));
	for (int i = 0; i <= ST_SLEEP; i++) {
		r->strata[i] = count * scale * (i + 1);
		each += scale * (i + 1);
	}
	r->count = count;
	r->bytes = count * 4096;
	r->total_ns = count * each;
	r->max_ns = each;
	assert_int_equal(hist_add(&r->hist, hist_bucket(each), count), 0);
}

static void fill_rq(struct rq_row *r, const char *disk, enum rq_op op, uint64_t count,
		    uint64_t each)
{
	r->key.op = op;
	r->major = 254;
	snprintf(r->disk, sizeof(r->disk), "%s", disk);
	r->count = count;
	r->bytes = count * 4096;
	r->queue_ns = count * (each / 4);
	r->device_ns = count * each;
	r->max_ns = each;
	assert_int_equal(hist_add(&r->hist, hist_bucket(each), count), 0);
}

static void fill_record(struct slow_op *r)
{
	r->kind = OP_READ;
	r->call = 17;
	r->fs = 0x1000 + 'e';
	r->cache = CACHE_MISS;
	for (int i = 0; i <= ST_SLEEP; i++)
		r->total_ns += r->strata[i] = 1000 * (i + 1);
	r->offset = 8192;
	r->len = r->ret = 4096;
	r->dev = 254 << 20 | 1;
	r->ino = 12;
	r->who.pid = 100;
	r->who.tid = 101;
	r->n_requests = 1;
	memcpy(r->who.comm, "dd", 3);
	memcpy(r->file.names, "b\0a\0", 4);
	r->file.len = 4;
	r->file.complete = 1;
}

static void fixture_usual(struct fixture *f)
{
	fixture_init(f);
	fill_op(&f->sn.ops[0], OP_WRITE, "ext4", 23, 10);
	fill_op(&f->sn.ops[1], OP_READ, "ext4", 1009, 1000);
	fill_op(&f->sn.ops[2], OP_FSYNC, "xfs", 7, 50000);
	f->sn.ops[0].errors = 2;
	fill_rq(&f->sn.rqs[0], "vda", RQ_READ, 1009, 40000);
	fill_rq(&f->sn.rqs[1], "dm-0", RQ_WRITE, 23, 80000);
	f->sn.rqs[1].key.bio_based = 1;
	fill_record(&f->records[0]);
	fill_record(&f->records[1]);
}

static void fixture_hostile(struct fixture *f, uint64_t n)
{
	fixture_usual(f);
	for (size_t i = 0; i < f->sn.n_ops; i++) {
		struct op_row *r = &f->sn.ops[i];

		memcpy(r->fs, HOSTILE HOSTILE, sizeof(r->fs));
		r->command = strdup(HOSTILE " " HOSTILE);
		r->by = strdup("/" HOSTILE "/\xe6\x97\xa5\xe6\x9c\xac/" HOSTILE "/a/path/to/it");
		r->count = r->errors = r->bytes = r->total_ns = r->max_ns = n;
		for (int s = 0; s < ST_N; s++)
			r->strata[s] = n / ST_N;
		r->strata[0] += n % ST_N;
		r->hist.n = 0;
		assert_int_equal(hist_add(&r->hist, 0, n / 4), 0);
		assert_int_equal(hist_add(&r->hist, HIST_N - 1, n / 4), 0);
	}
	for (size_t i = 0; i < f->sn.n_rqs; i++) {
		struct rq_row *r = &f->sn.rqs[i];

		memset(r->disk, 0xff, sizeof(r->disk));
		r->count = r->errors = r->requeues = r->unqueued = n;
		r->tag_ns = r->queue_ns = r->device_ns = n / 3;
		r->max_ns = n;
	}
	for (int i = 0; i < LOST_N; i++)
		f->sn.lost[i] = n;
	f->sn.missed = f->sn.bpf_run_ns = f->sn.bpf_run_cnt = n;
	f->sn.has_overhead = true;
	f->sn.duration_ns = n;
	memset(&f->records[1], 0xff, sizeof(f->records[1]));
	f->records[1].has_segments = false; /* they are checked as they come */
	f->records[1].command = (char *)HOSTILE " " HOSTILE;
	f->records[1].by_command = (char *)HOSTILE " " HOSTILE;
	f->records[1].by_limit = (char *)HOSTILE "\t" HOSTILE;
	f->damaged = true;
}

typedef int print_fn(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		     const struct slow_op *slowest, size_t n_slowest);

/* Prints into f->text. */
static void print(struct fixture *f, print_fn *fn, const struct breakdown_view *v, size_t n_slowest)
{
	FILE *out;
	size_t len;

	free(f->text);
	f->text = NULL;
	out = open_memstream(&f->text, &len);
	assert_non_null(out);
	assert_int_equal(fn(out, v, &f->sn, n_slowest ? f->records : NULL, n_slowest), 0);
	fclose(out);
	if (fn == breakdown_json && !f->damaged)
		json_seen(f->text);
}

/* Text */

static void text_is_as_always(void **state)
{
	static const char expected[] =
		"traced 5.00 s on Linux 6.1.0\n"
		"\n"
		"read ext4\n"
		"count   rate     bytes     mean      p50      p99    p99.9      max    total\n"
		"1,009  202/s  3.94 MiB  78.0 us  78.0 us  78.0 us  78.0 us  78.0 us  78.7 ms\n"
		"  syscall         1.3 %    1.00 us  #\n"
		"  vfs             2.6 %    2.00 us  #\n"
		"  ext4            3.8 %    3.00 us  ##\n"
		"  throttle        5.1 %    4.00 us  ##\n"
		"  tag             6.4 %    5.00 us  ###\n"
		"  queue           7.7 %    6.00 us  ###\n"
		"  device          9.0 %    7.00 us  ####\n"
		"  wake-up        10.3 %    8.00 us  ####\n"
		"  run queue      11.5 %    9.00 us  #####\n"
		"  preempted      12.8 %    10.0 us  #####\n"
		"  kernel thread  14.1 %    11.0 us  ######\n"
		"  sleep          15.4 %    12.0 us  ######\n"
		"  sum           100.0 %    78.0 us  = total 78.7 ms\n"
		"\n"
		"disk  requests  count   rate     bytes   tag    queue   device      p99      max\n"
		"vda   read      1,009  202/s  3.94 MiB  0 ns  10.0 us  40.0 us  40.0 us  40.0 us\n"
		"tag, queue and device are means; p99 and max are of device\n";
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.ops[0].count = f.sn.ops[2].count = 0;
	f.sn.rqs[1].count = 0;
	print(&f, breakdown_text, &plain, 0);
	assert_string_equal(f.text, expected);
	fixture_done(&f);
}

static void the_answer_is_first(void **state)
{
	struct unfinished hung[] = { { .age_ns = 12000000000,
				       .op = OP_FSYNC,
				       .stratum = ST_SLEEP,
				       .fs = "xfs",
				       .pid = 23,
				       .comm = "dd" },
				     { .age_ns = 1000, .op = OP_READ } };
	static const char expected[] =
		"not finished: fsync xfs, for 12.0 s, in sleep, by dd (23), "
		"on /srv/a/long/way/to/file\n"
		"traced sqlite3 for 5.00 s with --op read,write,fsync: 106 ms in I/O (1 % of its\n"
		"  threads' time), 74 % of it read ext4\n"
		"o other 31 % (sleep 15 %), r waiting for a CPU 24 %, q queue 14 %, k kernel\n"
		"  thread 14 %, D device 9 %, C cpu 8 %\n"
		"\n"
		"operation fs   count failed    mean     p99     max   total I/O where it went\n"
		"read      ext4 1,009      0 78.0 us 78.0 us 78.0 us 78.7 ms 74% oooorrrqqkkDC\n"
		"fsync     xfs      7      0 3.90 ms 3.90 ms 3.90 ms 27.3 ms 26% oooorrrqqkkDC\n"
		"write     ext4    23      2   43 ns  780 ns  780 ns 1.00 us  0% ooooooooooooo\n"
		"\n"
		"read ext4       sleep          15.4 %    12.0 us  #####\n"
		"                kernel thread  14.1 %    11.0 us  ####\n"
		"                preempted      12.8 %    10.0 us  ####\n"
		"                other          57.7 %    45.0 us  run queue 11.5, wake-up 10.3, "
		"device 9.0, queue 7.7, tag 6.4, throttle 5.1, fs 3.8, vfs 2.6, syscall 1.3\n"
		"\n"
		"disk requests count   rate    bytes  tag   queue  device     p99     max\n"
		"vda  read     1,009  202/s 3.94 MiB 0 ns 10.0 us 40.0 us 40.0 us 40.0 us\n"
		"dm-0 write       23 4.60/s 92.0 KiB    -       - 80.0 us 80.0 us 80.0 us\n"
		"7 of 1,032 submitted by kernel threads (writeback, journal)\n"
		"nothing lost; 2 operations in progress; 3 operations had begun before\n";
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	v.source.command = "sqlite3";
	v.chosen.filters = "--op read,write,fsync";
	fixture_usual(&f);
	f.sn.ops[0].total_ns = 1000; /* too little for a line of its own, but for one of all such */
	f.sn.threads_ns = 10000000000;
	f.sn.unfinished = calloc(2, sizeof(hung[0]));
	assert_non_null(f.sn.unfinished);
	memcpy(f.sn.unfinished, hung, sizeof(hung));
	f.sn.n_unfinished = 2;
	f.sn.unfinished[0].file = strdup("/srv/a/long/way/to/file");
	assert_non_null(f.sn.unfinished[0].file);
	f.sn.rqs[0].outside = 7;
	f.sn.lost[LOST_UNMATCHED_END] = 3;
	print(&f, breakdown_text, &v, 0);
	assert_string_equal(f.text, expected);
	v.form.terminal = true;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "by dd (23), on /srv/...ay/to/file\n");
	/* on a terminal, too, doubts are not cut */
	assert_has(f.text, "  run queue 11.5, rest 46.2\n");
	v.form.width = 40;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "nothing lost; 2 operations in progress;\n"
			   "  3 operations had begun before\n");
	fixture_done(&f);
}

static void one_is_told_as_one(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.missed = 1;
	for (int i = 0; i < LOST_N; i++)
		f.sn.lost[i] = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "            1 row, request or thread found no room in a table\n"
			   "            1 operation began and was never seen to end\n"
			   "            1 file has no name, only its inode\n"
			   "            1 request or page fault may have been among those "
			   "asked for\n"
			   "            1 operation was not recorded\n"
			   "            1 request was not recorded\n"
			   "            1 request was dispatched, and no program saw its "
			   "completion\n"
			   "            1 probe hit was not run by the kernel\n");
	v.form.detail = 0;
	f.sn.rqs[0].outside = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n1 of 1,032 submitted by kernel threads (writeback, journal)\n");
	fixture_done(&f);
}

/* If nothing else was lost, the last line says what it was. */
static void completions_that_no_program_saw_are_told(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	fixture_usual(&f);
	for (size_t i = 0; i < f.sn.n_rqs; i++)
		f.sn.rqs[i].count = i ? 0 : 47916;
	f.sn.lost[LOST_UNMATCHED_REQUESTS] = 5;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nno program saw the completion of 5 of 47,921 requests; -v says why");
	f.sn.lost[LOST_NAMES] = 2;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   "\nno program saw the completion of 5 of 47,921 requests, and the names of 2 "
		   "files were lost; ");
	f.sn.lost[LOST_UNMATCHED_START] = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n6 events lost of ");
	fixture_done(&f);
}

static void a_small_share_is_not_none(void **state)
{
	struct missing missing = { .syscalls = "no tracepoint" };
	struct breakdown_view v = plain;
	struct fixture f;
	size_t n;

	(void)state;
	v.form.detail = 0;
	v.form.width = 120;
	v.source.command = "dd";
	fixture_usual(&f);
	f.sn.threads_ns = 1000000000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "106 ms in I/O (<0.1 % of its threads' time), 74 % of it read ext4\n");
	v.missing = &missing; /* nothing is known to be a share */
	n = f.sn.n_ops;
	f.sn.n_ops = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "traced dd for 5.00 s: no operations (no tracepoint)\n");
	f.sn.n_ops = n;
	fixture_done(&f);
}

/* A parent that waits makes the share of all threads small: that of the busiest thread is told. */
static void the_busiest_thread_is_told(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	v.form.width = 120;
	v.source.command = "make";
	fixture_usual(&f);
	f.sn.threads_ns = 1000000000;
	f.sn.busiest = (struct busiest){ 98000000, 100000000, 7, 8, "cc\n1" };
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   "106 ms in I/O (11 % of its threads' time; busiest thread: cc\\x0a1, 98 % of "
		   "100 ms), 74 % of it");
	f.sn.busiest.comm[0] = '\0';
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "busiest thread: tid 8, 98 %");
	/* no more than all threads together; an operation that began before the interval; proc */
	f.sn.busiest.lived_ns = 980000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "(11 % of its threads' time), 74 %");
	f.sn.busiest.lived_ns = 97000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "(11 % of its threads' time), 74 %");
	fixture_done(&f);
}

/* Prints the first screen of operations that each took 1 ms, half or all of it in one stratum. */
static void cause_is(enum stratum st, uint64_t ns, const char *expected)
{
	struct breakdown_view v = plain;
	struct fixture f;

	v.form.detail = 0;
	v.form.width = 120;
	fixture_usual(&f);
	for (size_t i = 0; i < f.sn.n_ops; i++) {
		struct op_row *r = &f.sn.ops[i];

		memset(r->strata, 0, sizeof(r->strata));
		r->total_ns = r->count * 1000;
		r->strata[ST_SLEEP] = r->count * (1000 - ns);
		r->strata[st] += r->count * ns;
	}
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, expected);
	fixture_done(&f);
}

static void the_answer_has_its_cause(void **state)
{
	(void)state;
	cause_is(ST_FS, 510, "97 % of it read ext4, mostly on CPU\n");
	cause_is(ST_FS, 500, "97 % of it read ext4\n");
	cause_is(ST_DEVICE, 510, "mostly waiting for the device vda\n");
	cause_is(ST_TAG, 510, ", mostly waiting in the queues of the block layer\n");
	cause_is(ST_PREEMPT, 510, "mostly waiting for a CPU\n");
	cause_is(ST_HELPER, 510, "mostly waiting for a kernel thread\n");
	cause_is(ST_THROTTLE, 510, "mostly throttled\n");
	cause_is(ST_COMPLETE, 510, "97 % of it read ext4, mostly waiting for the wake-up\n");
	cause_is(ST_COMPLETE, 490, "97 % of it read ext4, mostly asleep\n");
	/* a share below a per cent is part of the rest */
	cause_is(ST_DEVICE, 9, "\no other 99 % (sleep 99 %), rest 0.9 %\n");
	cause_is(ST_DEVICE, 10, "\no other 99 % (sleep 99 %), D device 1 %\n");
	/* of others, the largest is named */
	cause_is(ST_COMPLETE, 510, "\no other 100 % (wake-up 51 %)\n");
	cause_is(ST_THROTTLE, 490, "\no other 100 % (sleep 51 %)\n");
}

/* The first screen names the run's options and its losses. */
static void the_answer_is_of_what_was_asked(void **state)
{
	struct missing missing = { .stratum[ST_VFS] = "no function", .requests = "no tracepoint" };
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	v.source.cpus = 2;
	v.chosen.filters = "--comm dd";
	v.chosen.of_ops = "--op, --min";
	v.missing = &missing;
	v.form.sort = columns_find(op_columns, "count");
	fixture_usual(&f);
	f.sn.ops[2].count = 2000; /* first, but not what took most */
	f.sn.missed = 5;
	f.sn.lost[LOST_NAMES] = 2;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "traced for 5.00 s with --comm dd: 106 ms in I/O, "
			   "74 % of it read ext4\n");
	assert_has(f.text, "C cpu 8 %; on CPU 0.1 % of 2 CPUs\n");
	assert_true(strstr(f.text, "\nfsync") < strstr(f.text, "\nread"));
	assert_has(f.text, "\nread ext4       sleep");
	assert_has(f.text, "\nonly operations are filtered by --op, --min\n");
	assert_has(f.text, "\n5 events lost of 4,069 (0.12 %), and the names of 2 files; not ");
	v.source.command = "sqlite3";
	v.interval.every_ns = 1000000000;
	v.interval.later = true;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, ": 106 ms in I/O, 74 %");
	assert_has_not(f.text, "traced");
	assert_has_not(f.text, "CPUs");
	assert_has(f.text,
		   "\n5 events lost of 4,069 (0.12 %), and the names of 2 files; -v says why\n");
	fixture_done(&f);
}

/* Rows that have no room: how many and how much they are. */
static void the_rest_is_in_one_line(void **state)
{
	struct unfinished hung[4] = {};
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	fixture_usual(&f);
	f.sn.unfinished = calloc(4, sizeof(hung[0]));
	assert_non_null(f.sn.unfinished);
	for (int i = 0; i < 4; i++)
		f.sn.unfinished[i] = (struct unfinished){ .age_ns = 1000000000, .op = OP_READ };
	f.sn.n_unfinished = 4;
	v.form.rows_max = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "in syscall, by pid (0)\nand 2 more\n");
	assert_has(f.text, "\n2 more, 25.8 % of I/O; a larger -n shows them\n");
	assert_has(f.text, "\n1 more; a larger -n shows them\n");
	v.form.detail = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n2 more rows of operations; a larger -n shows them\n");
	assert_has(f.text, "\n1 more rows of requests; a larger -n shows them\n");
	v.form.detail = 0;
	/* without a limit, those below a per cent; but one alone is shown */
	v.form.rows_max = 0;
	f.sn.ops[2].total_ns = f.sn.ops[0].total_ns;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n2 more, <0.1 % of I/O; -v shows them\n");
	f.sn.ops[2].count = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nwrite ");
	assert_has_not(f.text, "of I/O; -v shows them");
	fixture_done(&f);
}

static void fill_helper(struct helper_row *r, const char *comm, const char *work,
			unsigned int for_pid, unsigned char op)
{
	snprintf(r->key.comm, sizeof(r->key.comm), "%s", comm);
	snprintf(r->key.work, sizeof(r->key.work), "%s", work);
	if (for_pid)
		memcpy(r->key.for_comm, HOSTILE, sizeof(r->key.for_comm));
	r->key.tid = 40 + comm[strlen(comm) - 1];
	r->key.for_pid = for_pid;
	r->key.behalf = for_pid ? BEHALF_WRITEBACK : BEHALF_NONE;
	r->key.op = op;
	r->sums = (struct helper_sums){ 2, 0, 8192, 2000, 4000, 6000, 0, 0, 0 };
	if (op == HELPER_TIME)
		r->sums = (struct helper_sums){ 2, 0, 0, 0, 0, 0, 6000, 4000, 2000 };
	else
		snprintf(r->disk, sizeof(r->disk), "vda");
}

/* Two workers of one workqueue, one of which may be known in another way to be for the process; the
 * journal's thread, for nobody who is known; and the time of workers whose work is not known. */
static void fixture_helpers(struct fixture *f)
{
	struct helper_row *rows = calloc(5, sizeof(*rows));

	fixture_usual(f);
	assert_non_null(rows);
	f->sn.helpers = rows;
	f->sn.n_helpers = 5;
	fill_helper(&rows[0], "kworker/u8:1", "writeback", 700, RQ_WRITE);
	fill_helper(&rows[1], "kworker/u8:2", "writeback", 700, RQ_WRITE);
	rows[1].key.behalf = BEHALF_HELPER;
	fill_helper(&rows[2], "jbd2/vda-8", "", 0, RQ_WRITE);
	fill_helper(&rows[3], "kworker/u8:1", "", 700, HELPER_TIME);
	fill_helper(&rows[4], "kworker/u8:2", "", 700, HELPER_TIME);
}

static void helpers_of_one_kind_are_one_row_of_text(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_helpers(&f);
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "jbd2");
	v.helpers = true;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nwriteback  \\x1b[2J\\xff");
	assert_has(f.text, " 700 vda  write        4 16.0 KiB 2.00 us 3.00 us\n");
	assert_has(f.text, "\njbd2/vda-8 -");
	assert_has(f.text, " - vda  write        2 8.00 KiB");
	assert_has(f.text, "\n2 of 6 requests of helpers are for unknown processes\n");
	assert_has(f.text, " 700  12.0 us    8.00 us   4.00 us\n");
	assert_has(f.text, "\nkworker ");
	f.sn.n_helpers = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nno request of a kernel thread or io worker\n");
	fixture_done(&f);
}

static void rows_are_sorted_by_total_time(void **state)
{
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	print(&f, breakdown_text, &plain, 0);
	assert_true(strstr(f.text, "read ext4") < strstr(f.text, "fsync xfs"));
	assert_true(strstr(f.text, "fsync xfs") < strstr(f.text, "write ext4"));
	assert_has(f.text, "\nwrite ext4\ncount    rate  failed ");
	assert_has(f.text, "\n   23  4.60/s       2 ");
	fixture_done(&f);
}

/* Drops colours, so that what remains is what takes columns. */
static void strip_colors(char *s)
{
	char *to = s;

	while (*s) {
		if (!strncmp(s, "\033[", 2)) {
			s += strcspn(s, "m") + 1;
			continue;
		}
		*to++ = *s++;
	}
	*to = '\0';
}

static void check_lines(char *text, int width)
{
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char safe[4096], *escape;

		if (text_width(line) > width)
			fail_msg("%d columns: %s", text_width(line), line);
		assert_int_not_equal(line[strlen(line) - 1], ' ');
		while ((escape = strchr(line, '\\')))
			*escape = '/';
		text_safe(safe, sizeof(safe), line);
		assert_string_equal(safe, line);
	}
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* As much as there is of everything: the screen is full, and no more than that. */
static void a_screen_is_full(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f = {
		.sn = { .duration_ns = 5000000000, .n_ops = 20, .n_rqs = 9, .n_unfinished = 4 }
	};

	(void)state;
	v.form.detail = 0;
	v.source.command = "a-command-of-a-long-name";
	f.sn.ops = calloc(f.sn.n_ops, sizeof(*f.sn.ops));
	f.sn.rqs = calloc(f.sn.n_rqs, sizeof(*f.sn.rqs));
	f.sn.unfinished = calloc(f.sn.n_unfinished, sizeof(*f.sn.unfinished));
	assert_true(f.sn.ops && f.sn.rqs && f.sn.unfinished);
	for (size_t i = 0; i < f.sn.n_ops; i++)
		fill_op(&f.sn.ops[i], OP_READ, "ext4", 1009, 1000 + i);
	for (size_t i = 0; i < f.sn.n_rqs; i++)
		fill_rq(&f.sn.rqs[i], "vda", RQ_READ, 1009, 40000);
	for (size_t i = 0; i < f.sn.n_unfinished; i++)
		f.sn.unfinished[i] = (struct unfinished){ .age_ns = 1000000000, .op = OP_READ };
	f.sn.threads_ns = 10000000000;
	print(&f, breakdown_text, &v, 0);
	assert_int_equal(lines_of(f.text), 22);
	assert_has(f.text, "\n17 more, ");
	/* with two lines more above, fewer strata are shown */
	v.interval.later = true;
	v.chosen.of_ops = "--fs";
	print(&f, breakdown_text, &v, 0);
	assert_int_equal(lines_of(f.text), 22);
	assert_has(f.text, "\n19 more, ");
	fixture_done(&f);
}

/* However few lines there are for it. */
static void a_waterfall_begins_behind_its_title(void **state)
{
	const uint64_t strata[ST_N] = { [ST_SYSCALL] = 500, [ST_VFS] = 300, [ST_QUEUE] = 200 };

	(void)state;
	for (int lines = 1; lines <= 3; lines++) {
		struct waterfall w = { .fs = "ext4",
				       .strata = strata,
				       .total_ns = 1000,
				       .count = 1,
				       .indent = 16,
				       .at = 9,
				       .lines = lines };
		char *text = NULL;
		size_t len;
		struct text_out o = { .f = open_memstream(&text, &len) };

		assert_non_null(o.f);
		waterfall_put(&o, &plain, &w);
		fclose(o.f);
		assert_int_equal(strspn(text, " "), 16 - 9);
		free(text);
	}
}

/* The help of the column of a share, by its title. */
static const char *share_help(enum share s)
{
	const struct column *c = op_columns;

	while (column_is(c) && (c->name || !c->title || strcmp(c->title, share_name(s)) != 0))
		c++;
	assert_true(column_is(c));
	return c->help;
}

static void every_table_has_each_stratum(void **state)
{
	(void)state;
	for (int i = 0; i < ST_N; i++) {
		int shares = 0;

		assert_true(*stratum_name(i) && *stratum_label(i) && *strata_terms[i].help);
		assert_int_not_equal(stratum_letter(i), '?');
		assert_in_range(share_colour(stratum_share(i)), 1, 15);
		for (int k = 0; k < i; k++) {
			assert_string_not_equal(stratum_name(i), stratum_name(k));
			assert_string_not_equal(stratum_label(i), stratum_label(k));
		}
		for (int s = 0; s < SHARE_N; s++) {
			if (!(share_strata(s) >> i & 1))
				continue;
			shares++;
			assert_has(share_help(s), stratum_label(i));
			if (s != SHARE_OTHER && s != SHARE_QUEUE && s != SHARE_RUNQ)
				assert_int_equal(stratum_letter(i), share_letter(s));
		}
		assert_int_equal(shares, 1);
	}
	assert_null(strata_terms[ST_N].name);
	assert_int_equal(stratum_share(ST_N), SHARE_OTHER); /* of a damaged record */
}

static const uint64_t extremes[] = { 1, 999999, 99999999999, INT64_MAX, UINT64_MAX };
enum { N_EXTREMES = sizeof(extremes) / sizeof(extremes[0]) };

/* Each view has one of them, by chance but always the same, and something or nothing is missing. */
static void views_of(struct fixture *f, int extreme, const struct missing *missing)
{
	unsigned int seed = 1;

	for (int i = 0; i < 7 * 5 * 64 * 3; i++) {
		bool known = rand_r(&seed) & 1;
		struct breakdown_view v = plain;

		if (rand_r(&seed) % N_EXTREMES != extreme)
			continue;
		v.by = i % 7;
		v.layer = i / 7 % 5;
		v.queued = i / 35 & 1;
		v.form.milliseconds = i / 35 & 2;
		v.form.histograms = i / 35 & 4;
		v.form.color = i / 35 & 8;
		v.form.detail = i / (35 * 64);
		v.form.terminal = true;
		v.interval.every_ns = v.interval.later = i / 35 & 2;
		v.form.sort =
			i / 35 & 4 ? (v.layer == LAYER_BLK ? rq_columns : op_columns) + 5 : NULL;
		v.source.command = i / 35 & 8 ? HOSTILE "/a/command/of/a/long/name/" HOSTILE : NULL;
		v.source.cpus = 256;
		v.chosen.of_ops = "--fs, --op, --file, --min";
		v.form.width = i / 35 & 16 ? 132 : i / 35 & 4 ? 60 : i / 35 & 8 ? 40 : 0;
		v.chosen.fs = (struct opt_strings){ { "no\033such" }, i / 35 & 32 ? 1 : 0 };
		v.chosen.filters =
			"--comm " HOSTILE " --file /a/long/path/" HOSTILE "/b -p 4194304";
		v.missing = known ? &nothing_missing : missing;
		v.source.kernel =
			"6.1.0-" HOSTILE "-a-very-long-name-of-a-kernel-that-somebody-built";
		print(f, breakdown_text, &v, v.form.detail ? 2 : 0);
		if (v.form.color)
			strip_colors(f->text);
		if (!v.form.detail && v.layer == LAYER_OPS && !v.form.histograms)
			if (lines_of(f->text) > (v.form.width && v.form.width < 80 ? 28 : 22))
				fail_msg("%d lines:\n%s", lines_of(f->text), f->text);
		check_lines(f->text, v.form.width ? v.form.width : 80);
	}
}

static void no_line_is_too_long_or_unsafe(void **state)
{
	struct missing missing = { .requests = "a reason so long that it needs another line" };
	struct fixture f;

	(void)state;
	for (int i = 0; i < ST_N; i++)
		missing.stratum[i] = i & 1 ? missing.requests : "another reason";
	for (int i = 0; i < N_EXTREMES; i++) {
		fixture_hostile(&f, extremes[i]);
		views_of(&f, i, &missing);
		fixture_done(&f);
	}
}

static void files_in_progress_fit_and_are_safe(void **state)
{
	struct breakdown_view v = plain;
	struct unfinished *u;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	u = f.sn.unfinished = calloc(1, sizeof(*u));
	assert_non_null(u);
	f.sn.n_unfinished = 1;
	*u = (struct unfinished){ .age_ns = 100000000, .op = OP_READ, .comm = "dd", .pid = 7 };
	u->file = strdup("/" HOSTILE "/a path/" HOSTILE "/to/it");
	assert_non_null(u->file);
	v.form.detail = 0;
	v.form.terminal = true;
	for (v.form.width = 40; v.form.width < 200; v.form.width += 20) {
		print(&f, breakdown_text, &v, 0);
		check_lines(f.text, v.form.width);
	}
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "/to/it\n");
	u->stratum = ST_SERVER;
	u->server = strdup("10.0.0.7:/" HOSTILE);
	assert_non_null(u->server);
	for (v.form.width = 40; v.form.width < 200; v.form.width += 20) {
		print(&f, breakdown_text, &v, 0);
		check_lines(f.text, v.form.width);
	}
	assert_has(f.text, "for 100 ms, waiting for the server 10.0.0.7:/");
	strcpy(u->server, "/mnt");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "waiting for the daemon of /mnt, by dd (7)");
	u->stratum = ST_LOCK;
	u->frozen = true;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, ", in lock of a frozen file system, by dd (7)");
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"stratum\":\"lock\",\"frozen\":true,");
	assert_has(f.text, "\"suspended\":null}");
	strcpy(u->suspended, "dm-0 (vg-\033[1m)");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   ", in lock of a frozen file system; dm-0 (vg-\\x1b[1m) is suspended, by dd");
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"suspended\":\"dm-0 (vg-");
	fixture_done(&f);
}

static const struct hung hung_reader = {
	.age_ns = 100000000,
	.op = OP_READ,
	.call = "read",
	.stratum = ST_SERVER,
	.symbol = "folio_wait_bit_common",
	.what = "NFS server (folio lock)",
	.pid = 212,
	.tid = 213,
	.fs = "nfs4",
	.comm = "head",
};

/* Gives the snapshot @n threads which hung before the start. */
static void hung_add(struct fixture *f, int n)
{
	f->sn.hung = calloc(n, sizeof(*f->sn.hung));
	assert_non_null(f->sn.hung);
	f->sn.n_hung = n;
	for (int i = 0; i < n; i++)
		f->sn.hung[i] = hung_reader;
	f->sn.hung[0].file = strdup("/srv/" HOSTILE "/f");
	f->sn.hung[0].server = strdup("10.0.0.7:/home");
	assert_true(f->sn.hung[0].file && f->sn.hung[0].server);
}

static void threads_that_hung_before_come_first(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;
	struct hung *h;

	(void)state;
	fixture_usual(&f);
	hung_add(&f, 4);
	h = &f.sn.hung[1];
	v.form.detail = 0;
	*h = (struct hung){ .age_ns = 1,
			    .op = OP_META,
			    .call = "newfstatat",
			    .comm = "\033[2J\xff\n",
			    .pid = 214 };
	h->stratum = ST_SERVER;
	h->what = "NFS server";
	print(&f, breakdown_text, &v, 0);
	assert_int_equal(strncmp(f.text,
				 "not finished: read nfs4, since before the start, waiting for the "
				 "server 10.0.0.7:/home, by head (212), on /srv/",
				 109),
			 0);
	assert_has(f.text,
		   "\nnot finished: newfstatat, since before the start, waiting for the NFS "
		   "server, by ");
	assert_has(f.text, "\nand 2 more since before the start\n");
	v.form.terminal = true;
	for (v.form.width = 40; v.form.width < 200; v.form.width += 20) {
		print(&f, breakdown_text, &v, 0);
		check_lines(f.text, v.form.width);
	}
	h->stratum = ST_SLEEP;
	h->op = OP_NONE;
	h->call = h->what = NULL;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nnot finished: call, since before the start, in sleep, by ");
	h->op = OP_FAULT;
	strcpy(h->symbol, "a_function");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   "\nnot finished: fault, since before the start, in sleep (a_function), by ");
	strcpy(h->suspended, "dm-1");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, ", in sleep (a_function); dm-1 is suspended, by ");
	strcpy(f.sn.hung[0].server, "/mnt");
	h->op = OP_LOCK;
	h->call = "flock";
	h->stratum = ST_SLEEP;
	h->what = "file lock";
	h->holder_pid = 219;
	h->suspended[0] = '\0';
	f.sn.n_hung = 2;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   "not finished: flock, since before the start, waiting for a file lock that "
		   "a process that has ended (219) took, by ");
	strcpy(h->holder_comm, "a\x1b[1m");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "for a file lock that a\\x1b[1m (219) took, by ");
	f.sn.hung_refused = 3;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "waiting for the daemon of /mnt, by head (212)");
	assert_null(strstr(f.text, " more since"));
	assert_has(f.text, "; 3 threads have waited since before the start, in unknown calls");
	f.sn.hung[0].age_ns--;
	print(&f, breakdown_text, &v, 0);
	assert_null(strstr(f.text, "not finished"));
	fixture_done(&f);
}

static void missing_strata_are_named_with_their_reason(void **state)
{
	struct missing missing = { .requests = "no tracepoint" };
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	missing.stratum[ST_VFS] = missing.stratum[ST_FS] = "no kprobes";
	v.missing = &missing;
	fixture_usual(&f);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nnot measured: vfs, fs (no kprobes)\n"
			   "not measured: requests (no tracepoint)\n");
	v.layer = LAYER_FS;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nnot measured: fs (no kprobes)\n");
	fixture_done(&f);
}

static void a_sum_that_is_wrong_is_told(void **state)
{
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.ops[1].strata[ST_SLEEP] /= 2;
	print(&f, breakdown_text, &plain, 0);
	assert_has(f.text, "  sum            92.3 %    72.0 us  = total 72.6 ms, but was 78.7 "
			   "ms\n");
	fixture_done(&f);
}

static void losses_are_told_only_if_there_are_any(void **state)
{
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	print(&f, breakdown_text, &plain, 0);
	assert_has_not(f.text, "lost");
	f.sn.lost[LOST_MAP_FULL] = 3;
	f.sn.lost[LOST_NAMES] = 5;
	print(&f, breakdown_text, &plain, 0);
	assert_has(f.text, "\nlost, so the figures are not complete:\n"
			   "            3 rows, requests or threads found no room in a table\n"
			   "            5 files have no name, only their inode\n");
	fixture_done(&f);
}

/* Requests of io_uring that end at their completion: no loss, but told. */
static void completions_without_reap_are_told(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"unreaped\":null,");
	f.sn.has_unreaped = true;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"unreaped\":0,");
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "reap");
	f.sn.unreaped = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\ncompletions of io_uring without a reap time: 1\n");
	assert_has_not(f.text, "lost");
	v.form.detail = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "; 1 completion without a reap time\n");
	f.sn.unreaped = 1234;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "nothing lost; 1,234 completions without a reap time\n");
	fixture_done(&f);
}

/* A missing name is a loss for --strict, and so for the first screen. */
static void a_name_that_is_missing_is_lost(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.lost[LOST_UNMATCHED_END] = 11;
	assert_int_equal(lost_sum(f.sn.lost, 0), 0);
	f.sn.lost[LOST_NAMES] = 1;
	assert_int_equal(lost_sum(f.sn.lost, 0), 1);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nlost:\n            1 file has no name, only its inode\n");
	v.form.detail = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nthe name of 1 file lost; -v says why; "
			   "11 operations had begun before\n");
	f.sn.lost[LOST_OPS] = 23;
	f.sn.lost[LOST_REQUESTS] = 7;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n30 events lost of ");
	v.form.detail = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nlost, so the figures are not complete:\n");
	assert_has(f.text, "\n           23 operations were not recorded\n"
			   "            7 requests were not recorded\n");
	fixture_done(&f);
}

/* A narrow table shows the start of a function, and both ends of a path. */
static void functions_keep_their_start(void **state)
{
	static const char name[] = "store::Table<int, std::allocator<int>>::save_all_the_rows"
				   "_that_were_changed_since(long) [store]";
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.ops[1].by = strdup(name);
	v.form.terminal = true;
	v.by = BY_FUNCTION;
	print(&f, breakdown_text, &v, 2);
	assert_has(f.text, "\nstore::Table<int, ");
	assert_has_not(f.text, "[store]");
	v.by = BY_FILE;
	print(&f, breakdown_text, &v, 2);
	assert_has_not(f.text, "\nstore::Table<int, ");
	assert_has(f.text, "[store]");
	fixture_done(&f);
}

/* Stacks begin alike, in _start(). What tells them apart, and made the call, is at their end. */
static void stacks_keep_their_end(void **state)
{
	static const char name[] =
		"_start;__libc_start_main;main;serve_all_the_clients_of_the_shop;"
		"answer_one_question;save_rows;write_rows;fdatasync";
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.ops[1].by = strdup(name);
	v.by = BY_STACK;
	v.form.detail = 0;
	print(&f, breakdown_text, &v, 2);
	assert_has(f.text, "\n  ...");
	assert_has(f.text, ";answer_one_question;save_rows;write_rows;fdatasync\n");
	assert_has(f.text, "\n_start;__libc_start_main;"); /* the table, as no terminal is narrow */
	v.form.terminal = true;
	print(&f, breakdown_text, &v, 2);
	assert_has_not(f.text, "_start;");
	assert_has(f.text, ";write_rows;fdatasync ");
	fixture_done(&f);
}

/* Where it is for a program, or for less(1), nothing is cut. */
static void only_terminals_are_narrow(void **state)
{
	static const char path[] = "/a/path/that/is/longer/than/a/line/of/eighty/columns/and/so/"
				   "cannot/be/shown/whole/on/a/terminal";
	struct missing missing = { .requests = "none" };
	struct breakdown_view v = plain;
	struct fixture f;
	char filter[256];

	(void)state;
	for (int i = 0; i < ST_N; i++)
		missing.stratum[i] = "a reason";
	snprintf(filter, sizeof(filter), "--file %s", path);
	fixture_usual(&f);
	f.sn.ops[1].by = strdup(path);
	v.missing = &missing;
	v.chosen.filters = filter;
	v.by = BY_FILE;
	for (v.form.detail = 0; v.form.detail < 3; v.form.detail++) {
		v.form.terminal = false;
		print(&f, breakdown_text, &v, 2);
		assert_has(f.text, path);
		assert_has_not(f.text, "...");
		v.form.terminal = true;
		print(&f, breakdown_text, &v, 2);
		assert_has(f.text, "...");
		assert_has_not(f.text, path);
	}
	v.form.detail = 0;
	v.form.terminal = false;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, path + 1);
	assert_has(f.text, "\nnothing lost; not measured: syscall, vfs, fs, throttle, tag, queue, "
			   "device, wake-up, run queue, preempted, kernel thread, sleep, lock, "
			   "server, reap, requests (this kernel); -v says why\n");
	f.sn.n_ops = f.sn.n_rqs = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, path);
	f.sn.n_ops = 3;
	f.sn.n_rqs = 2;
	fixture_done(&f);
}

static void intervals_have_times_that_differ(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	v.form.detail = 0;
	v.interval.until_ns = 1700000000987654321;
	fixture_usual(&f);
	v.interval.every_ns = 1000000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "22:13:20, 5.00 s: ");
	v.interval.every_ns = 300000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "22:13:20.9, 5.00 s: ");
	v.interval.every_ns = 100000000;
	v.form.detail = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "22:13:20.98, 5.00 s\n");
	fixture_done(&f);
}

static void milliseconds_are_named(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.milliseconds = true;
	v.form.width = 120;
	fixture_usual(&f);
	for (v.form.detail = 0; v.form.detail < 2; v.form.detail++) {
		print(&f, breakdown_text, &v, 0);
		assert_has(f.text, " mean ms ");
		assert_has(f.text, " total ms");
		assert_has(f.text, " queue ms ");
	}
	fixture_done(&f);
}

/* Each figure of a row in ms, and where its time is in powers of two. */
static void milliseconds_and_histograms(void **state)
{
	static const char *const expected[] = {
		"\n1,009  202/s  3.94 MiB  0.07800  0.07800  0.07800   0.07800  0.07800"
		"     78.70\n",
		"\n  ext4            3.8 % 0.00300 ms  ##\n",
		"\n  sum           100.0 % 0.07800 ms  = total 78.70 ms\n"
		"      from    to (ms)          count  distribution\n"
		"   0.00205 -> 0.00410  :          20 |*   ",
		"\n   0.00410 -> 0.00819  :           0 |    ",
		"\n   0.06554 -> 0.1311   :       1,009 |****",
		"\n     4.194 -> 8.389    :           3 |    ",
		"\nvda  read     1,009 202/s 3.94 MiB      0  0.01000   0.04000 0.04000 0.04000\n",
		"\nvda read: count 1,009, total 40.36 ms, mean 0.04000 ms\n"
		"      from    to (ms)          count  distribution\n"
		"   0.03277 -> 0.06554  :       1,009 |****",
	};
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.milliseconds = v.form.histograms = true;
	fixture_usual(&f);
	f.sn.ops[0].count = f.sn.ops[2].count = f.sn.rqs[1].count = 0;
	assert_int_equal(hist_add(&f.sn.ops[1].hist, hist_bucket(3000), 20), 0);
	assert_int_equal(hist_add(&f.sn.ops[1].hist, hist_bucket(5000000), 3), 0);
	print(&f, breakdown_text, &v, 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_has(f.text, expected[i]);
	fixture_done(&f);
}

static void a_layer_alone_is_a_histogram_per_operation(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.layer = LAYER_VFS;
	fixture_usual(&f);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nvfs read ext4: count 1,009, total 78.7 ms, mean 78.0 us");
	assert_has(f.text, "\n   65.5 us -> 131 us   :       1,009 |****");
	assert_has_not(f.text, "runq");
	assert_has_not(f.text, "vda");
	v.layer = LAYER_SYSCALL;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\npread64 ext4: count 1,009");
	v.layer = LAYER_BLK;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nvda read: count 1,009, total 40.4 ms, mean 40.0 us\n");
	v.queued = v.form.milliseconds = true;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nvda read with tag and queue: count 1,009, total 50.45 ms");
	fixture_done(&f);
}

static void one_file_system_alone(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.chosen.fs = (struct opt_strings){ { "xfs" }, 1 };
	fixture_usual(&f);
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "ext4");
	assert_has(f.text, "fsync xfs");
	fixture_done(&f);
}

/* Requests are shown, but no operation was slow enough. */
static void no_operation_was_slow(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	v.chosen.min_ns = 100000000000;
	v.chosen.filters = "--min 100 s";
	v.chosen.of_ops = "--min";
	fixture_usual(&f);
	f.sn.n_ops = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "with --min 100 s: no operation took 100 s or longer\n");
	assert_has_not(f.text, "in I/O");
	assert_has(f.text, "disk ");
	f.sn.n_ops = 3;
	fixture_done(&f);
}

/* Requests of io_uring: their time is of no thread, but for the CPU. A thread that waits comes
 * first.
 */
static void threads_come_before_requests_in_flight(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	fixture_usual(&f);
	f.sn.threads_ns = 0;
	f.sn.ops[0].key.op = OP_URING;
	f.sn.ops[0].key.call = CALL_URING | 22;
	f.sn.ops[0].strata[ST_DEVICE] += 1715000000000;
	f.sn.ops[0].total_ns += 1715000000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "106 ms in I/O, 74 % of it read ext4");
	assert_has(f.text, "\ntime of threads: ");
	assert_has(f.text,
		   "\ntime of asynchronous requests: 1715 s, D device 100 %, rest <0.1 %; 100 % of "
		   "it\n"
		   "  uring call 16406 ext4, mostly waiting for the device vda; 343 in flight on\n"
		   "  average\n");
	assert_true(strstr(f.text, "\nread ") < strstr(f.text, "\nuring "));
	f.sn.ops[0].strata[ST_SYSCALL] += 900000000;
	f.sn.ops[0].total_ns += 900000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " of it on CPU for uring call\n"
			   "  16406 ext4; waits for its requests do not count\n");
	/* waits for the ring count as its thread's */
	f.sn.ops[1].key.op = OP_GETEVENTS;
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "do not count");
	f.sn.ops[1].strata[ST_DEVICE] += 2600000000;
	f.sn.ops[1].total_ns += 2600000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "3.61 s in I/O, 74 % of it getevents ext4, mostly\n");
	assert_true(strstr(f.text, "\ngetevents ") < strstr(f.text, "\nuring "));
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"in_flight\":343.");
	fixture_done(&f);
}

/* proc and the like are left out beside others, but not alone, and not if they are asked for. */
static void pseudo_file_systems_are_beside(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	fixture_usual(&f);
	strcpy(f.sn.ops[1].fs, "proc");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " of it fsync xfs");
	assert_has(f.text, "\nnot counted above: 78.7 ms on proc, sysfs and other file systems "
			   "without a disk\n");
	assert_has_not(f.text, "\nread");
	v.chosen.fs = (struct opt_strings){ { "proc" }, 1 };
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " 100 % of it read proc");
	assert_has_not(f.text, "beside");
	v.chosen.fs.n = 0;
	for (int i = 0; i < 3; i++)
		strcpy(f.sn.ops[i].fs, i ? "proc" : "sysfs");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "106 ms in I/O, 74 % of it read proc");
	fixture_done(&f);
}

/* A file system whose functions were not found is named, if others have their layer. */
static void file_systems_without_probes(void **state)
{
	struct breakdown_view v = plain;
	struct missing missing = {};
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	v.missing = &missing;
	fixture_usual(&f);
	for (int i = 0; i < 3; i++)
		f.sn.ops[i].missing_layers = 1U << ST_FS;
	strcpy(f.sn.ops[0].fs, "ntfs3");
	strcpy(f.sn.ops[1].fs, "ntfs3");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "; functions not probed: ntfs3\n"); /* an fsync may have none */
	f.sn.ops[2].key.op = OP_READ;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "; functions not probed: ntfs3, xfs\n");
	v.interval.later = true;
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "not probed");
	v.interval.later = false;
	missing.stratum[ST_FS] = "no functions";
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "not probed");
	fixture_done(&f);
}

static void nothing_seen_is_told(void **state)
{
	struct breakdown_view v = plain;
	struct snapshot sn = { .duration_ns = 1000000000 };
	struct fixture f = { .sn = sn };

	(void)state;
	v.chosen.fs = (struct opt_strings){ { "xfs" }, 1 };
	v.chosen.filters = "-p 12";
	print(&f, breakdown_text, &v, 0);
	assert_string_equal(f.text, "no I/O seen in 1.00 s: no operation on xfs ended (looked for "
				    "-p 12)\n");
	v.chosen.fs = (struct opt_strings){ { "nfs", "nfs4" }, 2 };
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "no operation on nfs or nfs4 ended (looked for -p 12)\n");
	v.layer = LAYER_BLK;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "no block request ended (looked for -p 12)\n");
	fixture_done(&f);
}

static void keys_get_a_line_each(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.by = BY_FILE;
	fixture_usual(&f);
	f.sn.ops[1].by = strdup("/var/lib/some/where/very/far/down/file");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "far/down/file read ");
	assert_has_not(f.text, "= total");
	fixture_done(&f);
}

/* On the first screen a key has one line, for all that was done; what took most comes first. */
static void keys_are_sums_on_the_first_screen(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.by = BY_PID;
	v.form.detail = 0;
	v.form.width = 100;
	fixture_usual(&f);
	for (size_t i = 0; i < f.sn.n_ops; i++) {
		f.sn.ops[i].key.by[0] = i == 1 ? 13 : 12;
		f.sn.ops[i].by = strdup(i == 1 ? "13" : "12");
		strcpy(f.sn.ops[i].comm, i == 1 ? "dd" : "cat");
	}
	f.sn.ops[2].errors = 3;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "74 % of it dd 13\n");
	assert_has(f.text, "\n13  dd   read          ext4 1,009      0 3.94 MiB ");
	assert_has(f.text, "\n12  cat  fsync +1 kind -       30      5  120 KiB  911 us 3.90 ms ");
	assert_true(strstr(f.text, "\n13 ") < strstr(f.text, "\n12 "));
	v.by = BY_CACHE;
	for (size_t i = 0; i < f.sn.n_ops; i++) {
		f.sn.ops[i].key.by[0] = 0;
		f.sn.ops[i].key.cache = i == 2 ? CACHE_MISS : CACHE_HIT;
		free(f.sn.ops[i].by);
		f.sn.ops[i].by = NULL;
	}
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nhit ");
	assert_has(f.text, "\nmiss ");
	fixture_done(&f);
}

/* A bar to scale and the segments in their order: of 20 the longest 16. */
/* When an operation began, and the command to look closer, as the shell takes it. */
static void the_slowest_say_when(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.source.recording = "it's a.ios";
	fixture_usual(&f);
	print(&f, breakdown_text, &v, 1);
	assert_has_not(f.text, "began at"); /* not known */
	f.records[0].real_ns = 1000000000123456789;
	f.records[0].at_ns = 5301999999;
	f.records[0].total_ns = 20000000;
	print(&f, breakdown_text, &v, 1);
	assert_has(f.text, ".123, 5.301s after the beginning of the recording\n");
	assert_has(f.text, "   closer: iostrata report --from 5.300s --to 5.323s "
			   "'it'\\\\''s a.ios'\n");
	print(&f, breakdown_json, &v, 1);
	assert_has(f.text, "\"at_ns\":5301999999,");
	v.source.more_recordings = 1;
	print(&f, breakdown_text, &v, 1);
	assert_has_not(f.text, "closer");
	fixture_done(&f);
}

static void the_slowest_are_shown_in_order(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;
	struct slow_op *r;

	(void)state;
	v.form.detail = 1;
	v.form.timeline = true;
	fixture_usual(&f);
	r = &f.records[0];
	r->has_segments = true;
	r->total_ns = 77000000;
	r->segments = (struct segments){
		2, 3, { SEGMENT(ST_SYSCALL, 7000000), SEGMENT(ST_DEVICE, 60000000) }
	};
	print(&f, breakdown_text, &v, 1);
	assert_has(f.text, "\nslowest operations, strata in the order of time\n");
	assert_has(f.text, "\n   CCCCCCCDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD"
			   "DDDDDD~~~~~~~~~~\n");
	assert_has(f.text, "\n        0 ns  C syscall          7.00 ms   9.1 %\n");
	assert_has(f.text, "\n     7.00 ms  D device           60.0 ms  77.9 %\n");
	assert_has(f.text, "\n     67.0 ms  ~ 3 later ones   10.0 ms  13.0 %\n");
	r->segments = (struct segments){ .n = 20 };
	for (int i = 0; i < 20; i++)
		r->segments.at[i] = SEGMENT(i % 2 ? ST_RUNQ : ST_DEVICE, (i + 1) * 1000000);
	print(&f, breakdown_text, &v, 1);
	assert_has(f.text, "              4 shorter        10.0 ms  13.0 %\n");
	r->has_segments = false; /* the order is not known */
	print(&f, breakdown_text, &v, 1);
	assert_has(f.text, "\n  sum           ");
	fixture_done(&f);
}

static void the_slowest_are_shown_whole(void **state)
{
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.records[1].ret = -ENOSPC;
	f.records[1].file.complete = 0;
	f.records[1].len = ~0ULL;
	f.records[0].device_bytes = 131072;
	print(&f, breakdown_text, &plain, 2);
	assert_has(f.text, "\nslowest operations, strata by size\n");
	assert_has(f.text,
		   "\n1. read (pread64): 78.0 us on ext4\n"
		   "   /a/b\n"
		   "   offset 8192  length 4,096  result 4,096  1 request  miss  read in 131,072\n"
		   "   pid 100  tid 101  dd\n"
		   "  sleep          15.4 %    12.0 us  ######\n" /* by size, not in order */
		   "  kernel thread  14.1 %    11.0 us  ######\n");
	assert_has(f.text, "\n   .../a/b\n");
	assert_has(f.text, "\n   offset 8192  result ENOSPC  1 request  miss\n");
	assert_has_not(f.text, "lock");
	f.records[0].lock_ns = 20000000;
	f.records[0].copied_up = 20 << 20;
	print(&f, breakdown_text, &plain, 2);
	assert_has(f.text, "\n   waited 20.0 ms for a lock\n");
	assert_has(f.text, "\n   overlayfs copied the file to its upper layer: 20.0 MiB\n");
	f.records[0].lock_holder =
		(struct waker){ .pid = 7, .tid = 8, .op = OP_FSYNC, .comm = "c\x1b[1m" };
	print(&f, breakdown_text, &plain, 2);
	assert_has(f.text, "for a lock that c\\x1b[1m had (pid 7, tid 8, in fsync)\n");
	/* a sleep that nobody is known to have ended is told by its stratum alone */
	f.records[0].slept_ns = 3000000;
	print(&f, breakdown_text, &plain, 2);
	assert_has_not(f.text, "slept");
	f.records[0].woken_by = (struct waker){ .pid = 9, .tid = 10, .comm = "d\x1b[1m" };
	print(&f, breakdown_text, &plain, 2);
	assert_has(f.text, "\n   slept 3.00 ms until d\\x1b[1m woke it (pid 9, tid 10)\n");
	/* the longest wait for somebody else is told once, with the command line */
	f.records[0].by = (struct sent_by){
		.ns = 4000000,
		.thread = { .pid = 9, .tid = 10, .who = WHO_SCANNER, .comm = "d\x1b[1m" }
	};
	f.records[0].by_command = (char *)"d\x1b --scan";
	print(&f, breakdown_text, &plain, 2);
	assert_has_not(f.text, "slept");
	assert_has(f.text,
		   "\n   waited 4.00 ms until d\\x1b[1m had answered fanotify's question (pid 9, "
		   "tid 10): d\\x1b --scan\n");
	assert_has(f.text, "for a lock that c");
	f.records[0].by.thread.who = WHO_FREEZE;
	print(&f, breakdown_text, &plain, 2);
	assert_has_not(f.text, "for a lock");
	f.records[0].by_command = NULL;
	fixture_done(&f);
}

/* Two requests: before the operation and of a helper; its own, whose submission was not seen. */
static const struct slow_requests two_requests = {
	.n = 2,
	.count = 1009,
	.list = { { .at_ns = -3000,
		    .tag_ns = 1100,
		    .queue_ns = 2200,
		    .device_ns = 33000,
		    .bytes = 4096,
		    .op = RQ_WRITE,
		    .who = { .pid = 8, .tid = 8, .comm = "jbd2\x1b[1m" },
		    .disk = "s\x1b[1md" },
		  { .at_ns = 5000,
		    .device_ns = 44000,
		    .op = RQ_FLUSH,
		    .failed = true,
		    .unqueued = true,
		    .who = { .pid = 100, .tid = 101, .comm = "dd" },
		    .disk = "sda" } },
};

static void slowest_have_helper_and_requests(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	fill_record(&f.records[0]);
	f.records[0].helper = (struct waker){ .pid = 8, .tid = 9, .comm = "jbd2\x1b[1m" };
	f.records[0].requests = (struct slow_requests *)&two_requests;
	print(&f, breakdown_text, &v, 1);
	assert_has(f.text, "\n   helped by jbd2\\x1b[1m (pid 8, tid 9)\n");
	assert_has_not(f.text, "   requests "); /* with the timeline only */
	v.form.timeline = true;
	print(&f, breakdown_text, &v, 1);
	assert_has(f.text,
		   "\n   requests              at    bytes      tag    queue   device  from "
		   "another thread\n"
		   "   s\\x1b[1md write  -3.00 us 4.00 KiB  1.10 us  2.20 us  33.0 us  "
		   "jbd2\\x1b[1m\n"
		   "   sda flush, failed   5.00 us        -        -        -  44.0 us\n"
		   "   1,007 shorter\n");
	fixture_done(&f);
}

/* JSON */

/* Prints, checks that it is one line of ASCII, reads it back. */
static json_t *read_back(struct fixture *f, const struct breakdown_view *v, size_t n_slowest)
{
	json_t *root;

	print(f, breakdown_json, v, n_slowest);
	for (const char *s = f->text; *s; s++)
		assert_true((*s >= 0x20 && *s < 0x7f) || (*s == '\n' && !s[1]));
	root = json_loads(f->text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	return root;
}

static json_int_t int_of(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static const char *string_of(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	assert_true(json_is_string(v));
	return json_string_value(v);
}

static void where_threads_slept(void **state)
{
	struct missing missing = { .stratum[ST_SLEEP] = "no" };
	struct breakdown_view v = plain;
	struct site_row *rows = calloc(2, sizeof(*rows));
	struct fixture f;
	json_t *j, *row;

	(void)state;
	assert_non_null(rows);
	fixture_usual(&f);
	rows[0] = (struct site_row){ .key.op = OP_READ, .fs = "ext4", .sums = { 2, 5000, 4000 } };
	rows[1] = (struct site_row){ .key.op = OP_FSYNC,
				     .symbol = "jbd2_log_wait_commit",
				     .what = "journal commit",
				     .sums = { 3, 9000, 4000 } };
	f.sn.sites = rows;
	f.sn.n_sites = 2;
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "by where");
	v.sites = true;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nsleep, by where\n");
	assert_has(f.text, "\nfsync     -    jbd2_log_wait_commit journal commit     3 9.00 us "
			   "3.00 us 4.00 us\n");
	assert_has(f.text, "\nread      ext4 -                    -                  2 5.00 us ");
	v.form.rows_max = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n1 more; a larger -n shows them\n");
	j = read_back(&f, &v, 0);
	row = json_array_get(json_object_get(j, "sleep_why"), 1);
	assert_true(json_is_null(json_object_get(row, "symbol")));
	assert_true(json_is_null(json_object_get(row, "what")));
	assert_int_equal(json_integer_value(json_object_get(row, "total_ns")), 5000);
	json_decref(j);
	f.sn.n_sites = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nno sleep for unknown reasons\n");
	v.missing = &missing;
	j = read_back(&f, &v, 0);
	assert_true(json_is_null(json_object_get(j, "sleep_why")));
	json_decref(j);
	fixture_done(&f);
}

static void helpers_in_json_are_each_thread(void **state)
{
	struct missing missing = { .requests = "no", .stratum[ST_HELPER] = "no" };
	struct breakdown_view v = plain;
	json_t *j, *row, *times;
	struct fixture f;

	(void)state;
	fixture_helpers(&f);
	j = read_back(&f, &v, 0);
	assert_null(json_object_get(j, "helpers"));
	json_decref(j);
	v.helpers = true;
	j = read_back(&f, &v, 0);
	assert_int_equal(json_array_size(json_object_get(j, "helpers")), 3);
	for (size_t i = 0; i < 3; i++) {
		row = json_array_get(json_object_get(j, "helpers"), i);
		assert_int_equal(json_integer_value(json_object_get(row, "total_ns")), 12000);
		if (!json_is_null(json_object_get(row, "work")))
			continue;
		assert_true(json_is_null(json_object_get(row, "for_pid")));
		assert_true(json_is_null(json_object_get(row, "for_comm")));
		assert_true(json_is_null(json_object_get(row, "on_behalf")));
	}
	times = json_object_get(j, "helper_times");
	assert_int_equal(json_array_size(times), 2);
	row = json_array_get(times, 0);
	assert_int_equal(json_integer_value(json_object_get(row, "cpu_ns")), 6000);
	assert_int_equal(json_integer_value(json_object_get(row, "for_pid")), 700);
	json_decref(j);
	v.missing = &missing;
	j = read_back(&f, &v, 0);
	assert_true(json_is_null(json_object_get(j, "helpers")));
	assert_true(json_is_null(json_object_get(j, "helper_times")));
	json_decref(j);
	fixture_done(&f);
}

static json_int_t strata_sum(const json_t *row)
{
	json_int_t sum = 0;
	const char *name;
	json_t *v;

	json_object_foreach(json_object_get(row, "strata"), name, v) sum += json_integer_value(v);
	return sum;
}

static json_int_t hist_sum(const json_t *row)
{
	json_int_t sum = 0, last = -1;
	json_t *bucket;
	size_t i;

	json_array_foreach(json_object_get(row, "hist"), i, bucket)
	{
		json_int_t low = json_integer_value(json_array_get(bucket, 0));
		json_int_t high = json_integer_value(json_array_get(bucket, 1));

		assert_int_equal(json_array_size(bucket), 3);
		assert_true(low > last && high >= low);
		assert_true(json_integer_value(json_array_get(bucket, 2)) > 0);
		last = high;
		sum += json_integer_value(json_array_get(bucket, 2));
	}
	return sum;
}

static void json_keeps_all_sums(void **state)
{
	json_t *root, *row;
	struct fixture f;
	size_t i;

	(void)state;
	fixture_usual(&f);
	root = read_back(&f, &plain, 0);
	assert_string_equal(string_of(root, "schema"), "iostrata.breakdown/1");
	assert_string_equal(string_of(root, "kernel"), "6.1.0");
	assert_int_equal(int_of(root, "duration_ns"), 5000000000);
	assert_int_equal(json_array_size(json_object_get(root, "ops")), 3);
	json_array_foreach(json_object_get(root, "ops"), i, row)
	{
		assert_int_equal(strata_sum(row), int_of(row, "total_ns"));
		assert_int_equal(hist_sum(row), int_of(row, "count"));
		assert_int_equal(json_object_size(json_object_get(row, "strata")), ST_N);
		assert_true(json_is_null(json_object_get(row, "key")));
		assert_true(json_is_null(json_object_get(row, "cache")));
	}
	row = json_array_get(json_object_get(root, "ops"), 0);
	assert_string_equal(string_of(row, "op"), "read");
	assert_string_equal(string_of(row, "fs"), "ext4");
	assert_int_equal(int_of(row, "count"), 1009);
	assert_int_equal(int_of(row, "p999_ns"), hist_percentile(&f.sn.ops[1].hist, 99.9, 78000));
	json_decref(root);
	fixture_done(&f);
}

/* The second file of a copy has bytes in a row without times. With a row for each file, only its
 * bytes are added: the copy counts once. */
static void copies_count_once(void **state)
{
	struct breakdown_view v = plain;
	struct breakdown_rows rows;
	struct op_row *second;
	struct fixture f;
	json_t *root, *row;
	uint64_t bytes;

	(void)state;
	fixture_usual(&f);
	second = &f.sn.ops[0];
	bytes = f.sn.ops[1].bytes;
	free(second->hist.bins);
	*second = (struct op_row){ .key.op = OP_COPY_TO, .count = 3, .bytes = 4099 };
	root = read_back(&f, &v, 0);
	row = json_array_get(json_object_get(root, "ops"), 2);
	assert_string_equal(string_of(row, "op"), "copy_to");
	assert_int_equal(int_of(row, "count"), 3);
	assert_int_equal(int_of(row, "bytes"), 4099);
	assert_true(json_is_null(json_object_get(row, "total_ns")));
	assert_true(json_is_null(json_object_get(row, "p99_ns")));
	assert_true(json_is_null(json_object_get(json_object_get(row, "strata"), "syscall")));
	json_decref(root);
	v.by = BY_FILE;
	f.sn.n_ops = 2;
	assert_int_equal(breakdown_rows_init(&rows, &v, &f.sn), 0);
	assert_int_equal(breakdown_rows_merge(&rows), 0);
	assert_int_equal(rows.n_ops, 1);
	assert_int_equal(rows.ops[0]->count, 1009);
	assert_int_equal(rows.ops[0]->bytes, bytes + 4099);
	breakdown_rows_done(&rows);
	v.by = BY_PID;
	assert_int_equal(breakdown_rows_init(&rows, &v, &f.sn), 0);
	assert_int_equal(breakdown_rows_merge(&rows), 0);
	assert_int_equal(rows.ops[0]->bytes, bytes);
	breakdown_rows_done(&rows);
	f.sn.n_ops = 3;
	fixture_done(&f);
}

/* Minor faults have only a number, and stand beside the operations. */
static void minor_faults_are_beside_operations(void **state)
{
	const struct missing unknown = { .minor_faults = "not recorded" };
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.ops[0].key.op = OP_MINOR_FAULT;
	f.sn.ops[0].count = 12345;
	f.sn.ops[0].total_ns = 0;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"minor_faults\":[{\"comm\":null,\"container\":null,"
			   "\"container_name\":null,\"runtime\":null,\"pod\":null,"
			   "\"fs\":\"ext4\",\"key\":null,"
			   "\"count\":12345}],");
	assert_has_not(f.text, "\"count\":12345,");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\npage faults that found their page in memory, not counted as "
			   "operations: 12,345\n");
	v.missing = &unknown;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"minor_faults\":null,");
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "found their page");
	fixture_done(&f);
}

/* Without a request to a disk, the text says why no pattern is shown. */
static void no_patterns_are_told(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "no patterns");
	v.form.pattern = true;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n\nno patterns: no request to a disk was seen; with --by file, ");
	v.by = BY_FILE;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n\nno patterns: no read or write of a file was seen\n");
	fixture_done(&f);
}

/* Adds rows of a daemon of FUSE and of a server of NFS. Returns them. */
static struct server_row *servers_add(struct snapshot *sn)
{
	struct server_row *rows = calloc(2, sizeof(*rows));

	assert_non_null(rows);
	rows[0] = (struct server_row){
		.key = { .server = "sshfs",
			 .pid = 77,
			 .dev = 3,
			 .opcode = 15,
			 .protocol = SERVER_FUSE },
		.mount = strdup("/mnt/a"),
		.sums = { .count = 2, .sent_bytes = 160, .server_ns = 3000, .max_ns = 2000 },
	};
	rows[1] = (struct server_row){
		.key = { .server = "10.0.0.7", .op = "GETATTR" },
		.sums = { .count = 3,
			  .errors = 1,
			  .resent = 4,
			  .sent_bytes = 300,
			  .received_bytes = 600,
			  .tag_ns = 30,
			  .queue_ns = 60,
			  .server_ns = 9000,
			  .max_ns = 4000 },
	};
	for (int i = 0; i < 2; i++)
		assert_int_equal(hist_add(&rows[i].hist, hist_bucket(2000), 2), 0);
	assert_int_equal(hist_add(&rows[1].hist, hist_bucket(4000), 1), 0);
	sn->servers = rows;
	sn->n_servers = 2;
	return rows;
}

/* Requests to servers are told if there were any. */
static void servers_have_rows(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;
	json_t *j, *row;

	(void)state;
	fixture_usual(&f);
	print(&f, breakdown_json, &v, 0);
	assert_has_not(f.text, "\"servers\"");
	servers_add(&f.sn);
	v.form.width = 120;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\n10.0.0.7    -  -       GETATTR      3       1       4  300 B     "
			   "600 B  10 ns  20 ns  3.00 us  4.00 us  4.00 us");
	assert_has(f.text, "\nsshfs      77  /mnt/a  READ         2       0       0  160 B       "
			   "  -      -      -  1.50 us  2.00 us  2.00 us");
	j = read_back(&f, &v, 0);
	row = json_array_get(json_object_get(j, "servers"), 1);
	assert_true(json_is_null(json_object_get(row, "tag_ns")));
	assert_true(json_is_null(json_object_get(row, "queue_mean_ns")));
	assert_string_equal(json_string_value(json_object_get(row, "op")), "READ");
	row = json_array_get(json_object_get(j, "servers"), 0);
	assert_true(json_is_null(json_object_get(row, "pid")));
	assert_true(json_is_null(json_object_get(row, "mount")));
	assert_int_equal(json_integer_value(json_object_get(row, "tag_ns")), 30);
	assert_int_equal(json_integer_value(json_object_get(row, "resent")), 4);
	json_decref(j);
	fixture_done(&f);
}

/* The longest name of NFS is whole; a request of FUSE that nobody has named has a number. */
static void servers_have_names_of_requests(void **state)
{
	struct breakdown_view v = plain;
	struct server_row *rows;
	struct fixture f;
	json_t *j, *row;

	(void)state;
	fixture_usual(&f);
	rows = servers_add(&f.sn);
	strcpy(rows[1].key.op, "BIND_CONN_TO_SESSION");
	v.form.width = 130;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " BIND_CONN_TO_SESSION ");
	j = read_back(&f, &v, 0);
	row = json_array_get(json_object_get(j, "servers"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "op")), "BIND_CONN_TO_SESSION");
	json_decref(j);
	rows[0].key.opcode = 4099;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " opcode 4099 ");
	/* rows of equal times have an order, too */
	rows[0].sums.server_ns = rows[1].sums.server_ns;
	print(&f, breakdown_text, &v, 0);
	assert_true(strstr(f.text, "\n10.0.0.7 ") < strstr(f.text, "\nsshfs "));
	fixture_done(&f);
}

/* A daemon of two kinds of requests, most of which were split; one which answers in other threads;
 * a server on another machine. */
static struct server_row *rows_of_daemons(void)
{
	struct server_row *rows = calloc(4, sizeof(*rows));

	assert_non_null(rows);
	rows[0] = (struct server_row){
		.key = { .server = "bind\nfs", .pid = 77, .dev = 3, .opcode = 15 },
		.sums = { .count = 5, .server_ns = 9000, .max_ns = 4000, .split = 3 },
	};
	rows[0].sums.before_read_ns = 100;
	rows[0].sums.daemon_ns[ST_SYSCALL] = 1400;
	rows[0].sums.daemon_ns[ST_DEVICE] = 6000;
	rows[0].sums.daemon_ns[ST_SLEEP] = 500;
	rows[1] = rows[0];
	rows[1].key.opcode = 16;
	rows[1].key.dev = 5; /* another mount of this daemon */
	rows[1].sums = (struct server_sums){ .count = 1, .server_ns = 2000, .max_ns = 2000 };
	rows[1].sums.split = 1;
	rows[1].sums.daemon_ns[ST_LOCK] = 1985;
	rows[1].sums.daemon_ns[ST_RUNQ] = 15;
	rows[2] = (struct server_row){
		.key = { .server = "sshfs", .pid = 78, .dev = 4, .opcode = 15 },
		.sums = { .count = 2, .server_ns = 3000, .max_ns = 2000 },
	};
	rows[3] = (struct server_row){
		.key = { .server = "10.0.0.7", .op = "GETATTR" },
		.sums = { .count = 1, .server_ns = 1000, .max_ns = 1000 },
	};
	for (int i = 0; i < 4; i++)
		assert_int_equal(hist_add(&rows[i].hist, hist_bucket(2000), rows[i].sums.count), 0);
	return rows;
}

/* The sum of the integers in @j, and in its objects. */
static json_int_t sum_of(const json_t *j)
{
	json_int_t sum = json_integer_value(j);
	const char *name;
	json_t *member;

	json_object_foreach((json_t *)j, name, member) sum += sum_of(member);
	return sum;
}

/* The parts of a daemon's time add up, and an unknown split has its reason. */
static void daemons_have_parts(void **state)
{
	const struct missing no_locks = { .stratum = { [ST_LOCK] = "no lock events" } };
	const struct missing no_waits = { .stratum = { [ST_RUNQ] = "no switches" } };
	struct breakdown_view v = plain;
	json_t *j, *rows, *daemon;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.servers = rows_of_daemons();
	f.sn.n_servers = 4;
	v.form.width = 120;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   "\ndaemon bind\\x0afs 77, 10.0 us of 4 requests: 60 % device, 20 % lock, "
		   "14 % CPU, 5 % sleep, 1 % not read yet; not known\n  for 2 more: no "
		   "single thread both read and answered them\n");
	assert_has_not(f.text, "daemon sshfs");
	j = read_back(&f, &v, 0);
	rows = json_object_get(j, "servers");
	daemon = json_object_get(json_array_get(rows, 0), "daemon");
	assert_int_equal(sum_of(daemon) - 3, 8000);
	assert_int_equal(json_integer_value(json_object_get(daemon, "count")), 3);
	assert_int_equal(json_integer_value(json_object_get(daemon, "cpu_ns")), 1400);
	assert_int_equal(json_integer_value(json_object_get(daemon, "before_read_ns")), 100);
	assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "daemon_missing")));
	assert_true(json_is_null(json_object_get(json_array_get(rows, 1), "daemon")));
	assert_has(f.text,
		   "\"daemon_missing\":\"no thread was seen that read and answered a request\"");
	assert_has(f.text, "\"daemon_missing\":\"only known for FUSE\"");
	/* strata on the CPU are in cpu_ns, and no thread waits in a ring */
	daemon = json_object_get(daemon, "strata");
	assert_true(json_is_null(json_object_get(daemon, "syscall")));
	assert_true(json_is_null(json_object_get(daemon, "fs")));
	assert_true(json_is_null(json_object_get(daemon, "reap")));
	assert_int_equal(json_integer_value(json_object_get(daemon, "device")), 6000);
	assert_true(json_is_integer(json_object_get(daemon, "throttle")));
	json_decref(j);
	/* of a daemon whose threads read and answered all, no others are told */
	f.sn.servers[0].sums.count = 3;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " of 4 requests: 60 % device, ");
	assert_has_not(f.text, "not known of");
	f.sn.servers[0].sums.split = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " 77, 2.00 us of 1 request: 99 % lock\n");
	f.sn.servers[0].sums.split = 3;
	v.missing = &no_locks;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"sleep\":500,\"lock\":null,\"server\":0,\"reap\":null}}");
	v.missing = &no_waits;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"daemon\":null,\"daemon_missing\":\"no switches\"");
	assert_has_not(f.text, "\"daemon\":{");
	v.missing = NULL;
	f.sn.servers[0].sums.before_read_ns = 2; /* hostile: the sum of all parts is 1 */
	for (int st = ST_FS + 1; st < ST_N; st++)
		f.sn.servers[0].sums.daemon_ns[st] = st % 2 ? ~0ULL : 1;
	f.sn.servers[0].sums.daemon_ns[ST_SYSCALL] = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "daemon bind");
	f.sn.servers[0].key.pid = 0;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"daemon_missing\":\"the daemon is no process of this machine\"");
	fixture_done(&f);
}

/* Servers of SMB and 9p have neither bytes nor waits. */
static void servers_without_bytes_have_rows(void **state)
{
	static const char *const unknown[] = { "pid",        "mount",
					       "sent_bytes", "received_bytes",
					       "tag_ns",     "tag_mean_ns",
					       "queue_ns",   "queue_mean_ns" };
	struct breakdown_view v = plain;
	struct fixture f;
	json_t *j, *row;

	(void)state;
	fixture_usual(&f);
	f.sn.servers = calloc(1, sizeof(*f.sn.servers));
	assert_non_null(f.sn.servers);
	f.sn.n_servers = 1;
	f.sn.servers[0] = (struct server_row){
		.key = { .server = "nas", .op = "CREATE", .protocol = SERVER_SMB },
		.sums = { .count = 2, .errors = 1, .server_ns = 3000, .max_ns = 2000 },
	};
	assert_int_equal(hist_add(&f.sn.servers[0].hist, hist_bucket(2000), 2), 0);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nserver  request  count  failed     mean      p99      max"
			   "\nnas     CREATE       2       1  1.50 us  2.00 us  2.00 us");
	j = read_back(&f, &v, 0);
	row = json_array_get(json_object_get(j, "servers"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "protocol")), "smb");
	assert_string_equal(json_string_value(json_object_get(row, "op")), "CREATE");
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_true(json_is_null(json_object_get(row, unknown[i])));
	assert_int_equal(json_integer_value(json_object_get(row, "server_ns")), 3000);
	json_decref(j);
	f.sn.servers[0].key.protocol = SERVER_9P;
	j = read_back(&f, &v, 0);
	row = json_array_get(json_object_get(j, "servers"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "protocol")), "9p");
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_true(json_is_null(json_object_get(row, unknown[i])));
	json_decref(j);
	fixture_done(&f);
}

/* Reads have device bytes; where these are not known they are null, never 0. */
static void reads_are_amplified(void **state)
{
	const struct missing unknown = { .device_bytes = "not recorded" };
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.records[0].device_bytes = 8193;
	f.sn.ops[0].device_bytes = 8192; /* a write; ops[1] are reads of 1009 pages */
	f.sn.ops[1].device_bytes = f.sn.ops[1].bytes / 4;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"bytes\":4132864,\"device_bytes\":1033216,"
			   "\"amplification\":0.250000,");
	assert_has(f.text, "\"device_bytes\":8192,\"amplification\":null,");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "  read from devices: 1009 KiB, 0.25 times the bytes returned\n");
	assert_has(f.text, "  read from devices: 8.00 KiB\n");
	v.form.detail = 0;
	v.form.width = 140;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, " read in ");
	assert_has(f.text, " 25% ");
	f.sn.ops[1].device_bytes = f.sn.ops[1].bytes; /* as much: that needs no words */
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, " read in ");
	/* the server has a device; this machine does not know of it */
	strcpy(f.sn.ops[1].fs, "nfs4");
	v.form.detail = 1;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"bytes\":4132864,\"device_bytes\":null,\"amplification\":null,");
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "times the bytes returned");
	v.missing = &unknown;
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"device_bytes\":null,\"amplification\":null,");
	assert_has_not(f.text, "\"device_bytes\":8192");
	print(&f, breakdown_json, &v, 1);
	assert_has(f.text, "\"requests\":1,\"device_bytes\":null,\"copied_up\":null,\"pid\":100,");
	print(&f, breakdown_text, &v, 1);
	assert_has_not(f.text, "read from devices");
	assert_has_not(f.text, "read in");
	fixture_done(&f);
}

/* JSON in which every member has its own value, which no other has. */
static const char every_member[] =
	"{\"schema\":\"iostrata.breakdown/1\",\"kernel\":\"6.1.0\",\"time\":null,"
	"\"duration_ns\":5000000000,\"command\":\"sqlite3\",\"threads_ns\":320,"
	"\"busiest\":{\"pid\":321,\"tid\":322,\"comm\":\"cp\",\"io_ns\":323,\"lived_ns\":324},"
	"\"io_ns\":15105,\"thread_ns\":15105,\"in_flight\":0.000000,\"strata\":{\"syscall\":1000,"
	"\"vfs\":1001,\"fs\":1002,"
	"\"throttle\":1003,\"tag\":1004,\"queue\":1005,\"device\":1006,"
	"\"complete\":1007,\"runq\":1008,\"preempt\":1009,\"helper\":1010,"
	"\"sleep\":1011,\"lock\":1012,\"server\":1013,\"reap\":1014},\"missing\":[],\"ops\":[{"
	"\"comm\":\"dd\","
	"\"title\":null,\"command\":\"dd if=/a\","
	"\"container\":\"12\",\"container_name\":null,\"runtime\":\"podman\",\"pod\":\"41\","
	"\"op\":\"write\",\"fs\":\"ext4\",\"cache\":\"miss\",\"key\":\"12\","
	"\"count\":1000,\"rate\":200.000000,\"errors\":3,\"bytes\":4097,"
	"\"device_bytes\":4098,\"amplification\":null,"
	"\"mean_ns\":15,\"p50_ns\":860160,\"p90_ns\":7405568,\"p99_ns\":17039360,"
	"\"p999_ns\":63438848,\"max_ns\":100000000,\"total_ns\":15105,"
	"\"io_share\":1.000000,\"thread_ns\":15105,\"thread_share\":1.000000,\"strata\":{"
	"\"syscall\":1000,\"vfs\":1001,"
	"\"fs\":1002,"
	"\"throttle\":1003,\"tag\":1004,\"queue\":1005,\"device\":1006,"
	"\"complete\":1007,\"runq\":1008,\"preempt\":1009,\"helper\":1010,"
	"\"sleep\":1011,\"lock\":1012,\"server\":1013,\"reap\":1014},\"pattern\":null,"
	"\"files\":null,\"files_count\":null,"
	"\"hist\":[[851968,868351,510],[7340032,"
	"7471103,400],[16777216,17301503,85],[62914560,63963135,4],[100663296,"
	"102760447,1]]}],\"layers\":[],\"requests\":[{\"key\":\"13\","
	"\"comm\":\"cat\",\"container\":\"13\",\"container_name\":\"web\",\"runtime\":"
	"\"docker\",\"pod\":null,"
	"\"dev\":\"sda\",\"major\":8,\"minor\":1,\"op\":\"D\","
	"\"count\":24,\"rate\":4.800000,\"errors\":5,\"bytes\":512,\"requeues\":6,"
	"\"unqueued\":4,\"outside\":2,\"tag_ns\":100,\"queue_ns\":240,\"device_ns\":480,"
	"\"tag_mean_ns\":5,\"queue_mean_ns\":12,\"device_mean_ns\":20,\"own_mean_ns\":null,"
	"\"p99_ns\":17563648,\"max_ns\":100000001,\"parent\":null,\"pattern\":null,"
	"\"hist\":[[868352,884735,510],"
	"[7471104,7602175,400],[17301504,17825791,85],[63963136,65011711,4],"
	"[102760448,104857599,1]]}],\"minor_faults\":[],\"in_progress\":[{\"op\":\"close\","
	"\"call\":\"dup2\",\"fs\":\"xfs\",\"age_ns\":201,\"stratum\":\"queue\",\"frozen\":false,"
	"\"dev\":\"8:16\","
	"\"pid\":202,\"tid\":"
	"203,"
	"\"comm\":\"mv\",\"file\":\"/a/c\",\"server\":\"10.0.0.7:/"
	"home\",\"suspended\":null}],\"in_progress_before\":[{\"op\":\"read\",\"call\":\"read\","
	"\"fs\":\"nfs4\",\"age_ns\":100000000,\"stratum\":\"server\","
	"\"symbol\":\"folio_wait_bit_common\",\"what\":\"NFS server (folio lock)\","
	"\"pid\":212,\"tid\":213,\"comm\":\"head\",\"file\":\"/f\","
	"\"server\":\"10.0.0.7:/"
	"home\",\"suspended\":null,\"holder_pid\":null,\"holder_comm\":null}],"
	"\"unseen_before\":208,\"unseen_threads\":204,\"unnamed_cgroups\":205,"
	"\"unpatterned\":206,"
	"\"unreaped\":207,"
	"\"who\":[{\"kind\":\"file_lock\",\"op\":\"lock\",\"count\":3,\"total_ns\":420,"
	"\"max_ns\":419,\"pid\":421,\"comm\":\"apt\",\"command\":\"apt up\","
	"\"limit\":null},{\"kind\":\"limit\",\"op\":\"write\",\"count\":2,\"total_ns\":320,"
	"\"max_ns\":319,\"pid\":422,\"comm\":\"io.max\",\"command\":null,\"limit\":{"
	"\"name\":\"io.max\",\"cgroup\":\"/x\\u0009y\",\"value\":\"sda wbps=4096\"}}],"
	"\"machine\":{\"ns\":400,\"cpu_ns\":401,\"user_ns\":402,\"system_ns\":403,"
	"\"iowait_ns\":404,\"steal_ns\":405,\"cpu_some_ns\":406,\"io_some_ns\":null,"
	"\"io_full_ns\":null,\"memory_some_ns\":409,\"memory_full_ns\":410,"
	"\"dirty_bytes\":411,\"writeback_bytes\":412},"
	"\"disks\":[{\"disk\":\"sda\",\"ns\":1000,\"busy_ns\":250,"
	"\"busy\":0.250000,\"depth\":1.500000}],"
	"\"lost\":{\"ring\":301,\"map_full\":302,\"unmatched_start\":303,"
	"\"unmatched_end\":304,\"names\":305,\"unattributed\":306,\"ops\":307,"
	"\"requests\":308,\"unmatched_requests\":309,\"missed\":310},\"overhead\":{\"bpf_run_ns\":"
	"330,"
	"\"bpf_run_cnt\":331},\"slowest\":[{\"op\":\"read\",\"call\":\"pread64\","
	"\"fs\":\"ext4\",\"cache\":\"miss\",\"start_ns\":401,\"at_ns\":null,"
	"\"total_ns\":78000,"
	"\"strata\":{\"syscall\":1000,\"vfs\":2000,\"fs\":3000,\"throttle\":4000,"
	"\"tag\":5000,\"queue\":6000,\"device\":7000,\"complete\":8000,\"runq\":9000,"
	"\"preempt\":10000,\"helper\":11000,\"sleep\":12000,\"lock\":0,\"server\":0,\"reap\":0},"
	"\"segments\":[[\"syscall\",408],[\"device\",409]],\"segments_merged\":410,"
	"\"path\":\"/a/b\",\"dev\":\"254:1\",\"ino\":12,\"offset\":8192,\"len\":4096,"
	"\"disks\":null,\"result\":402,\"error\":null,\"requests\":1,\"device_bytes\":407,\"copied_"
	"up\":419,"
	"\"pid\":100,\"tid\":101,"
	"\"comm\":\"dd\",\"command\":\"dd "
	"of=/b\",\"cgroup\":403,\"lock\":{\"wait_ns\":404,\"pid\":405,"
	"\"tid\":406,\"comm\":\"jbd2\",\"op\":\"fsync\",\"stratum\":\"fs\"},"
	"\"helper\":{\"pid\":411,\"tid\":412,\"comm\":\"jbd2/sda\"},"
	"\"woken_by\":{\"sleep_ns\":413,\"pid\":414,\"tid\":415,\"comm\":\"bindfs\"},"
	"\"who\":{\"kind\":\"file_lock\",\"wait_ns\":416,\"pid\":417,\"tid\":418,\"comm\":\"apt\","
	"\"command\":\"apt update\",\"op\":\"fsync\",\"limit\":null},"
	"\"disk_requests\":null,\"disk_requests_count\":null}]}\n";

static char *container(const char *id, const char *runtime, const char *pod)
{
	struct container *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	strcpy(c->id, id);
	strcpy(c->pod, pod);
	c->runtime = runtime;
	c->shown = strlen(id) == 64 ? 12 : strlen(id);
	return c->id;
}

static char *named(char *id, const char *title)
{
	strcpy(((struct container *)(void *)id)->title, title);
	return id;
}

/* Tables show the short id of a container, as people use it; JSON shows the whole id. */
static void containers_have_short_names(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.by = BY_CONTAINER;
	v.form.detail = 0;
	v.form.width = 140;
	fixture_usual(&f);
	for (size_t i = 0; i < f.sn.n_ops; i++) {
		f.sn.ops[i].key.by[0] = i == 1 ? 13 : 12;
		f.sn.ops[i].contained = i == 1;
		f.sn.ops[i].by =
			i == 1 ? container(CONTAINER, "docker", "") : strdup(CONTAINER_NONE);
	}
	f.sn.rqs[0].by = container("web", "lxc", "");
	f.sn.rqs[0].contained = true;
	f.sn.unnamed_cgroups = 3;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "74 % of it 0123456789ab\n");
	assert_has(f.text, "\ncontainer      runtime operation ");
	assert_has(f.text, "\n0123456789ab   docker  read ");
	assert_has(f.text, "\n(no container) -       fsync +1 kind ");
	assert_has(f.text, "\nweb        lxc      vda ");
	assert_has(f.text, "; 3 cgroups removed before the name was known");
	assert_has_not(f.text, "0123456789abc");
	v.form.detail = 2;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "read ext4, container 0123456789ab");
	assert_has(f.text, "\ncgroups removed before their container was known: 3\n");
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"container\":\"" CONTAINER "\",\"container_name\":null,\"runtime\":"
			   "\"docker\",");
	assert_has(f.text, "\"key\":\"" CONTAINER "\"");
	/* text has names where they are known */
	named(f.sn.ops[1].by, "shop/web-1/nginx");
	v.form.detail = 0;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nshop/web-1/nginx docker  read ");
	assert_has_not(f.text, "0123456789ab");
	print(&f, breakdown_json, &v, 0);
	assert_has(f.text, "\"container\":null,");
	assert_has(f.text, "\"key\":\"" CONTAINER_NONE "\"");
	fixture_done(&f);
}

static void record_of_every_member(struct slow_op *r)
{
	fill_record(r);
	r->start_ns = 401;
	r->ret = 402;
	r->who.cgroup = 403;
	r->command = (char *)"dd of=/b";
	r->device_bytes = 407;
	r->copied_up = 419;
	r->lock_ns = 404;
	r->lock_holder = (struct waker){
		.pid = 405, .tid = 406, .op = OP_FSYNC, .stratum = ST_FS, .comm = "jbd2"
	};
	r->helper = (struct waker){ .pid = 411, .tid = 412, .comm = "jbd2/sda" };
	r->slept_ns = 413;
	r->woken_by = (struct waker){ .pid = 414, .tid = 415, .comm = "bindfs" };
	r->by = (struct sent_by){ .ns = 416,
				  .thread = { .pid = 417,
					      .tid = 418,
					      .op = OP_FSYNC,
					      .who = WHO_FILE_LOCK,
					      .comm = "apt" } };
	r->by_command = (char *)"apt update";
	r->has_segments = true;
	r->segments =
		(struct segments){ 2, 410, { SEGMENT(ST_SYSCALL, 408), SEGMENT(ST_DEVICE, 409) } };
	r->fs = 1;
}

/* Two disks, of which one had requests. */
static void disks_add(struct snapshot *sn)
{
	sn->disks = calloc(2, sizeof(*sn->disks));
	assert_non_null(sn->disks);
	sn->disks[0] = (struct disk_busy){ "sda", 250, 1500 };
	sn->disks[1] = (struct disk_busy){ "sdb", 0, 0 };
	sn->n_disks = 2;
	sn->disks_ns = 1000;
}

static void who_add(struct snapshot *sn, struct who_key key, const char *comm, const char *command,
		    uint64_t ns)
{
	struct who_row *r;

	sn->has_whos = true;
	sn->whos = realloc(sn->whos, (sn->n_whos + 1) * sizeof(*sn->whos));
	assert_non_null(sn->whos);
	r = &sn->whos[sn->n_whos++];
	*r = (struct who_row){ .key = key, .sums = { 3, ns, ns - 1 } };
	memcpy(r->key.comm, comm, strnlen(comm, COMM_LEN));
	if (command)
		r->command = strdup(command);
	snapshot_whos_sort(sn);
}

/* The fixture's operations without times, but for @ns in stratum @st. */
static void fixture_of(struct fixture *f, enum stratum st, uint64_t ns)
{
	fixture_usual(f);
	for (size_t i = 0; i < f->sn.n_ops; i++) {
		f->sn.ops[i].total_ns = i ? 0 : ns;
		memset(f->sn.ops[i].strata, 0, sizeof(f->sn.ops[i].strata));
	}
	f->sn.ops[0].strata[st] = ns;
}

/* A limit is nobody's, and its cgroups are told apart. */
static void the_first_screen_names_a_limit(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	fixture_of(&f, ST_THROTTLE, 100000000);
	who_add(&f.sn,
		(struct who_key){
			.pid = 7, .op = OP_WRITE, .who = WHO_LIMIT, .limit = LIMIT_IO_MAX },
		"\x7", "dd if=secret", 52000000);
	f.sn.whos[0].limit = strdup("sda wbps=4096\t/x\x1b");
	who_add(&f.sn,
		(struct who_key){
			.pid = 7, .op = OP_READ, .who = WHO_LIMIT, .limit = LIMIT_IO_MAX },
		"\x8", NULL, 40000000);
	who_add(&f.sn,
		(struct who_key){ .pid = 7, .op = OP_READ, .who = WHO_LIMIT, .limit = LIMIT_WBT },
		"\x7", NULL, 5000000);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nwaited 52.0 ms for the limit of cgroup /x\\x1b: 4.00 KiB/s ");
	assert_has(f.text, "(io.max)\n");
	assert_has_not(f.text, "secret");
	v.form.detail = 1;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nwaited 52.0 ms for the limit of cgroup /x\\x1b: ");
	fixture_done(&f);
}

/* Somebody is named who has most of a stratum, and a tenth of all: one process with its command
 * line, or several of one name. */
static void the_first_screen_says_who(void **state)
{
	struct breakdown_view v = plain;
	char command[401] = "";
	const char *at;
	struct fixture f;

	(void)state;
	v.form.detail = 0;
	fixture_of(&f, ST_SLEEP, 100000000);
	who_add(&f.sn, (struct who_key){ .pid = 7, .op = OP_LOCK, .who = WHO_FILE_LOCK },
		"a\x1b[1m", "a\x1b --all", 50000000);
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "waited"); /* a half is not most of it */
	f.sn.whos[0].sums.total_ns = 51000000;
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   "\nwaited 51.0 ms for a file lock that a\\x1b[1m had (pid 7): a\\x1b --all\n");
	/* a long command line has not the screen for itself */
	memset(command, 'c', sizeof(command) - 1);
	memcpy(command, "first", 5);
	memcpy(command + sizeof(command) - 5, "last", 5);
	free(f.sn.whos[0].command);
	f.sn.whos[0].command = strdup(command);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "had (pid 7):\n  firstccc");
	assert_has(f.text, "last\n");
	assert_has_not(f.text, command);
	at = strstr(f.text, "firstccc");
	assert_true(at && strcspn(at, "\n") <= 100);
	f.sn.whos[0].command[5] = '\0';
	/* of the same name */
	who_add(&f.sn, (struct who_key){ .pid = 7, .op = OP_META, .who = WHO_FILE_LOCK },
		"a\x1b[1m", NULL, 11000000);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nwaited 62.0 ms for a file lock that a\\x1b[1m had (pid 7): ");
	who_add(&f.sn, (struct who_key){ .pid = 8, .op = OP_LOCK, .who = WHO_FILE_LOCK },
		"a\x1b[1m", NULL, 13000000);
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text, "\nwaited 75.0 ms for a file lock that a\\x1b[1m had (2 processes)\n");
	/* more than there is in the stratum: the time is mostly in others */
	f.sn.whos[0].sums.total_ns = 90000000;
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "waited");
	fixture_done(&f);
	fixture_of(&f, ST_SERVER, 100000000);
	who_add(&f.sn, (struct who_key){ .pid = 7, .op = OP_META, .who = WHO_SERVER },
		"kworker/0:1", NULL, 90000000);
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "waited"); /* a kernel thread tells nothing of the server */
	f.sn.whos[0].command = strdup("bindfs");
	print(&f, breakdown_text, &v, 0);
	assert_has(f.text,
		   "waited 90.0 ms until kworker/0:1 had answered its request (pid 7): bindfs\n");
	f.sn.ops[0].strata[ST_DEVICE] = f.sn.ops[0].total_ns = 910000000;
	f.sn.ops[0].strata[ST_SERVER] = 90000000;
	f.sn.ops[0].total_ns += 90000000;
	print(&f, breakdown_text, &v, 0);
	assert_has_not(f.text, "waited"); /* less than a tenth of all */
	fixture_done(&f);
}

static void whos_add(struct snapshot *sn)
{
	who_add(sn, (struct who_key){ .pid = 421, .op = OP_LOCK, .who = WHO_FILE_LOCK }, "apt",
		"apt up", 420);
	who_add(sn,
		(struct who_key){
			.pid = 422, .op = OP_WRITE, .who = WHO_LIMIT, .limit = LIMIT_IO_MAX },
		"", NULL, 320);
	sn->whos[1].sums.count = 2;
	sn->whos[1].limit = strdup("sda wbps=4096\t/x\ty");
}

/* A row of operations and one of requests, with every member. */
static void rows_of_every_member(struct snapshot *sn)
{
	static const unsigned int bins[][2] = {
		{ 500, 510 }, { 600, 400 }, { 640, 85 }, { 700, 4 }, { 720, 1 }
	};
	struct op_row *op = &sn->ops[0];
	struct rq_row *rq = &sn->rqs[0];

	sn->n_ops = sn->n_rqs = 1;
	*op = (struct op_row){ .key = { .op = OP_WRITE, .fs = 1, .cache = CACHE_MISS },
			       .fs = "ext4",
			       .by = container("12", "podman", "41"),
			       .contained = true,
			       .comm = "dd",
			       .command = strdup("dd if=/a"),
			       .count = 1000,
			       .errors = 3,
			       .bytes = 4097,
			       .max_ns = 100000000,
			       .device_bytes = 4098 };
	for (int i = 0; i < ST_N; i++)
		op->total_ns += op->strata[i] = 1000 + i;
	*rq = (struct rq_row){ .key = { .op = RQ_DISCARD },
			       .disk = "sda",
			       .major = 8,
			       .minor = 1,
			       .by = named(container("13", "docker", ""), "web"),
			       .contained = true,
			       .comm = "cat",
			       .count = 24,
			       .errors = 5,
			       .bytes = 512,
			       .requeues = 6,
			       .unqueued = 4,
			       .outside = 2,
			       .tag_ns = 100,
			       .queue_ns = 240,
			       .device_ns = 480,
			       .max_ns = 100000001 };
	for (int i = 0; i < 5; i++) {
		assert_int_equal(hist_add(&op->hist, bins[i][0], bins[i][1]), 0);
		assert_int_equal(hist_add(&rq->hist, bins[i][0] + 1, bins[i][1]), 0);
	}
}

/* An operation in progress, with every member. */
static void unfinished_of_every_member(struct snapshot *sn)
{
	sn->n_unfinished = 1;
	sn->unfinished = calloc(1, sizeof(*sn->unfinished));
	assert_non_null(sn->unfinished);
	*sn->unfinished = (struct unfinished){ .age_ns = 201,
					       .op = OP_CLOSE,
					       .stratum = ST_QUEUE,
					       .fs = "xfs",
					       .call = "dup2",
					       .dev = 8 << 20 | 16,
					       .pid = 202,
					       .tid = 203,
					       .comm = "mv",
					       .file = strdup("/a/c"),
					       .server = strdup("10.0.0.7:/home") };
	assert_true(sn->unfinished->file && sn->unfinished->server);
}

static void json_has_every_member(void **state)
{
	struct breakdown_view v = plain;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	rows_of_every_member(&f.sn);
	unfinished_of_every_member(&f.sn);
	hung_add(&f, 1);
	strcpy(f.sn.hung[0].file, "/f");
	f.sn.hung_refused = 208;
	f.sn.unfinished_lost = 204;
	f.sn.machine.ns = 400;
	f.sn.machine.known = 31 & ~(1 << MACHINE_IO_PRESSURE);
	for (int i = 0; i < MACHINE_FIGURES; i++)
		f.sn.machine.figure[i] = 401 + i;
	disks_add(&f.sn);
	whos_add(&f.sn);
	f.sn.unnamed_cgroups = 205;
	f.sn.unpatterned = 206;
	f.sn.has_unreaped = true;
	f.sn.unreaped = 207;
	for (int i = 0; i < LOST_N; i++)
		f.sn.lost[i] = 301 + i;
	f.sn.missed = 310;
	f.sn.threads_ns = 320;
	f.sn.busiest = (struct busiest){ 323, 324, 321, 322, "cp" };
	f.sn.bpf_run_ns = 330;
	f.sn.bpf_run_cnt = 331;
	f.sn.has_overhead = true;
	record_of_every_member(&f.records[0]);
	v.source.command = "sqlite3";
	v.by = BY_PID;
	print(&f, breakdown_json, &v, 1);
	assert_string_equal(f.text, every_member);
	fixture_done(&f);
}

static void json_keeps_the_largest_sums(void **state)
{
	json_t *root, *row;
	struct fixture f;
	size_t i;

	(void)state;
	fixture_hostile(&f, INT64_MAX);
	root = read_back(&f, &plain, 0);
	json_array_foreach(json_object_get(root, "ops"), i, row)
	{
		assert_int_equal(int_of(row, "total_ns"), INT64_MAX);
		assert_int_equal(strata_sum(row), INT64_MAX);
		hist_sum(row);
	}
	json_decref(root);
	fixture_done(&f);
}

static void json_has_requests(void **state)
{
	json_t *root, *row;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.rqs[0].unqueued = 5;
	root = read_back(&f, &plain, 0);
	row = json_array_get(json_object_get(root, "requests"), 0);
	assert_string_equal(string_of(row, "dev"), "vda");
	assert_string_equal(string_of(row, "op"), "R");
	assert_int_equal(int_of(row, "major"), 254);
	assert_int_equal(int_of(row, "tag_ns"), 0);
	assert_int_equal(int_of(row, "queue_ns"), 1009 * 10000);
	assert_int_equal(int_of(row, "device_ns"), 1009 * 40000);
	assert_int_equal(int_of(row, "unqueued"), 5);
	assert_int_equal(int_of(row, "requeues"), 0);
	assert_int_equal(hist_sum(row), 1009);
	row = json_array_get(json_object_get(root, "requests"), 1);
	assert_true(json_is_null(json_object_get(row, "tag_ns")));
	assert_true(json_is_null(json_object_get(row, "queue_ns")));
	json_decref(root);
	fixture_done(&f);
}

static void json_has_null_for_what_is_missing(void **state)
{
	struct missing missing = { .requests = "no tracepoint" };
	struct breakdown_view v = plain;
	struct fixture f;
	json_t *root, *strata;

	(void)state;
	missing.stratum[ST_VFS] = missing.stratum[ST_FS] = "no kprobes";
	v.missing = &missing;
	fixture_usual(&f);
	root = read_back(&f, &v, 0);
	strata = json_object_get(json_array_get(json_object_get(root, "ops"), 0), "strata");
	assert_true(json_is_null(json_object_get(strata, "vfs")));
	assert_true(json_is_null(json_object_get(strata, "fs")));
	assert_true(json_is_integer(json_object_get(strata, "throttle")));
	assert_true(json_is_null(json_object_get(root, "requests")));
	assert_int_equal(json_array_size(json_object_get(root, "missing")), 3);
	json_decref(root);
	fixture_done(&f);
}

/* Where no operation can be seen, no time was 0. */
static void json_has_no_times_without_operations(void **state)
{
	struct missing missing = { .syscalls = "no tracepoint" };
	struct breakdown_view v = plain;
	const char *name;
	struct fixture f;
	json_t *root, *ns;
	size_t n_ops;

	(void)state;
	v.missing = &missing;
	fixture_usual(&f);
	n_ops = f.sn.n_ops;
	f.sn.n_ops = 0;
	root = read_back(&f, &v, 0);
	assert_true(json_is_null(json_object_get(root, "io_ns")));
	assert_int_equal(json_object_size(json_object_get(root, "strata")), ST_N);
	json_object_foreach(json_object_get(root, "strata"), name, ns)
		assert_true(json_is_null(ns));
	assert_int_equal(json_array_size(json_object_get(root, "missing")), 1);
	json_decref(root);
	f.sn.n_ops = n_ops;
	fixture_done(&f);
}

/* A lock released in an interrupt has no known holder, but the length of the wait is known. */
static void json_has_locks_of_nobody(void **state)
{
	struct fixture f;
	json_t *root, *lock;

	(void)state;
	fixture_usual(&f);
	fill_record(&f.records[0]);
	f.records[0].lock_ns = 404;
	f.records[0].lock_holder = (struct waker){};
	root = read_back(&f, &plain, 1);
	lock = json_object_get(json_array_get(json_object_get(root, "slowest"), 0), "lock");
	assert_int_equal(int_of(lock, "wait_ns"), 404);
	assert_true(json_is_null(json_object_get(lock, "pid")));
	assert_true(json_is_null(json_object_get(lock, "tid")));
	assert_true(json_is_null(json_object_get(lock, "comm")));
	assert_true(json_is_null(json_object_get(lock, "op")));
	assert_true(json_is_null(json_object_get(lock, "stratum")));
	json_decref(root);
	fixture_done(&f);
}

static void json_has_requests_of_recorded_operations(void **state)
{
	struct breakdown_view v = plain;
	json_t *root, *op, *list, *rq;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	fill_record(&f.records[0]);
	f.records[0].requests = (struct slow_requests *)&two_requests;
	v.source.recording = "a.ios";
	root = read_back(&f, &v, 1);
	op = json_array_get(json_object_get(root, "slowest"), 0);
	assert_int_equal(int_of(op, "disk_requests_count"), 1009);
	list = json_object_get(op, "disk_requests");
	assert_int_equal(json_array_size(list), 2);
	rq = json_array_get(list, 0);
	assert_int_equal(int_of(rq, "at_ns"), -3000);
	assert_int_equal(int_of(rq, "queue_ns"), 2200);
	assert_string_equal(string_of(rq, "op"), "W");
	assert_int_equal(int_of(rq, "tid"), 8);
	rq = json_array_get(list, 1);
	assert_true(json_is_null(json_object_get(rq, "tag_ns")));
	assert_true(json_is_null(json_object_get(rq, "queue_ns")));
	assert_true(json_is_true(json_object_get(rq, "failed")));
	json_decref(root);
	fixture_done(&f);
}

/* Figures of layers that were not asked for are null, but not missing. */
static void json_of_a_layer_misses_nothing_else(void **state)
{
	static const struct {
		enum layer layer;
		size_t missing;
	} layers[] = { { LAYER_SYSCALL, 0 }, { LAYER_VFS, 1 }, { LAYER_FS, 1 }, { LAYER_BLK, 1 } };
	struct missing missing = { .requests = "no tracepoint" };
	struct breakdown_view v = plain;
	struct fixture f;
	json_t *root;

	(void)state;
	for (int i = 0; i < ST_N; i++)
		missing.stratum[i] = "no tracepoint";
	v.missing = &missing;
	for (int i = 0; i < 4; i++) {
		fixture_usual(&f);
		v.layer = layers[i].layer;
		root = read_back(&f, &v, 0);
		assert_int_equal(json_array_size(json_object_get(root, "missing")),
				 layers[i].missing);
		assert_true(json_is_null(json_object_get(root, "requests")));
		json_decref(root);
		fixture_done(&f);
	}
}

static void json_has_losses_and_overhead(void **state)
{
	json_t *root, *lost;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.sn.lost[LOST_UNMATCHED_END] = 7;
	root = read_back(&f, &plain, 0);
	lost = json_object_get(root, "lost");
	assert_int_equal(int_of(lost, "ring") + int_of(lost, "map_full"), 0);
	assert_int_equal(int_of(lost, "unmatched_start") + int_of(lost, "missed"), 0);
	assert_int_equal(int_of(lost, "unmatched_end"), 7);
	assert_true(json_is_null(json_object_get(root, "overhead")));
	json_decref(root);
	f.sn.has_overhead = true;
	f.sn.bpf_run_cnt = 11;
	root = read_back(&f, &plain, 0);
	assert_int_equal(int_of(json_object_get(root, "overhead"), "bpf_run_cnt"), 11);
	json_decref(root);
	fixture_done(&f);
}

static void json_of_a_layer_alone(void **state)
{
	struct breakdown_view v = plain;
	json_t *root, *row;
	struct fixture f;

	(void)state;
	v.layer = LAYER_SYSCALL;
	fixture_usual(&f);
	root = read_back(&f, &v, 0);
	assert_int_equal(json_array_size(json_object_get(root, "ops")), 0);
	assert_int_equal(json_array_size(json_object_get(root, "layers")), 3);
	row = json_array_get(json_object_get(root, "layers"), 0);
	assert_string_equal(string_of(row, "layer"), "syscall");
	assert_string_equal(string_of(row, "call"), "pread64");
	assert_null(json_object_get(row, "strata"));
	json_decref(root);
	v.layer = LAYER_BLK;
	root = read_back(&f, &v, 0);
	assert_int_equal(json_array_size(json_object_get(root, "layers")), 0);
	assert_int_equal(json_array_size(json_object_get(root, "requests")), 2);
	json_decref(root);
	fixture_done(&f);
}

static void json_of_keys_and_caches(void **state)
{
	struct breakdown_view v = plain;
	json_t *root, *row;
	struct fixture f;

	(void)state;
	v.by = BY_CACHE;
	fixture_usual(&f);
	f.sn.ops[1].key.cache = CACHE_READAHEAD;
	f.sn.ops[1].by = strdup("k\xff"
				"ey");
	memset(f.sn.ops[1].fs, 0, sizeof(f.sn.ops[1].fs));
	root = read_back(&f, &v, 0);
	row = json_array_get(json_object_get(root, "ops"), 0);
	assert_string_equal(string_of(row, "cache"), "readahead");
	assert_string_equal(string_of(row, "key"), "k\xef\xbf\xbd"
						   "ey");
	assert_string_equal(string_of(row, "key_bytes"), "a/9leQ==");
	assert_null(json_object_get(json_array_get(json_object_get(root, "ops"), 1), "key_bytes"));
	assert_true(json_is_null(json_object_get(row, "fs")));
	json_decref(root);
	fixture_done(&f);
}

/* A share that is 0 where nothing would have told it is not known; what was told stays. */
static void json_has_null_for_untold_layers(void **state)
{
	json_t *root, *row, *found = NULL;
	struct fixture f;
	size_t n;

	(void)state;
	fixture_usual(&f);
	for (size_t i = 0; i < f.sn.n_ops; i++)
		f.sn.ops[i].missing_layers = 1U << ST_VFS | 1U << ST_FS;
	f.sn.ops[0].strata[ST_SYSCALL] += f.sn.ops[0].strata[ST_VFS];
	f.sn.ops[0].strata[ST_VFS] = 0;
	f.sn.ops[0].strata[ST_FS] = 7;
	root = read_back(&f, &plain, 1);
	json_array_foreach(json_object_get(root, "ops"), n,
			   row) if (int_of(json_object_get(row, "strata"), "fs") == 7) found =
		json_object_get(row, "strata");
	assert_non_null(found);
	assert_true(json_is_null(json_object_get(found, "vfs")));
	json_decref(root);
	fixture_done(&f);
}

static void json_of_the_slowest(void **state)
{
	json_t *root, *row;
	struct fixture f;

	(void)state;
	fixture_usual(&f);
	f.records[1].ret = -EIO;
	f.records[1].offset = ~0ULL;
	f.records[1].ino = UINT64_MAX;
	f.records[1].len = ~0ULL;
	f.records[1].who.comm[0] = f.records[1].file.names[0] = '\xff';
	root = read_back(&f, &plain, 2);
	row = json_array_get(json_object_get(root, "slowest"), 0);
	assert_int_equal(int_of(row, "len"), 4096);
	assert_null(json_object_get(row, "path_bytes"));
	assert_null(json_object_get(row, "comm_bytes"));
	assert_int_equal(strata_sum(row), int_of(row, "total_ns"));
	assert_string_equal(string_of(row, "path"), "/a/b");
	assert_string_equal(string_of(row, "fs"), "ext4");
	assert_string_equal(string_of(row, "dev"), "254:1");
	assert_string_equal(string_of(row, "comm"), "dd");
	assert_true(json_is_null(json_object_get(row, "error")));
	row = json_array_get(json_object_get(root, "slowest"), 1);
	assert_string_equal(string_of(row, "error"), "EIO");
	assert_string_equal(string_of(row, "ino"), "18446744073709551615");
	assert_true(json_is_null(json_object_get(row, "offset")));
	assert_true(json_is_null(json_object_get(row, "len")));
	assert_string_equal(string_of(row, "path"), "/a/\xef\xbf\xbd");
	assert_string_equal(string_of(row, "path_bytes"), "L2Ev/w==");
	assert_string_equal(string_of(row, "comm_bytes"), "/2Q=");
	json_decref(root);
	root = read_back(&f, &plain, 0);
	assert_null(json_object_get(root, "slowest"));
	json_decref(root);
	fixture_done(&f);
}

static void json_takes_damaged_records(void **state)
{
	struct fixture f;

	(void)state;
	fixture_hostile(&f, 1);
	json_decref(read_back(&f, &plain, 2));
	fixture_done(&f);
}

static void json_of_nothing(void **state)
{
	struct fixture f = { .sn = { .duration_ns = 1 } };
	json_t *root;

	(void)state;
	root = read_back(&f, &plain, 0);
	assert_int_equal(json_array_size(json_object_get(root, "ops")), 0);
	assert_int_equal(json_array_size(json_object_get(root, "requests")), 0);
	json_decref(root);
	fixture_done(&f);
}

static void a_full_disk_is_reported(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct fixture f;

	(void)state;
	if (!full) {
		print_message("skipped: there is no /dev/full\n");
		skip();
	}
	fixture_usual(&f);
	assert_int_equal(breakdown_text(full, &plain, &f.sn, NULL, 0), -ENOSPC);
	clearerr(full);
	assert_int_equal(breakdown_json(full, &plain, &f.sn, NULL, 0), -ENOSPC);
	fclose(full);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_as_always),
		cmocka_unit_test(the_answer_is_first),
		cmocka_unit_test(one_is_told_as_one),
		cmocka_unit_test(the_busiest_thread_is_told),
		cmocka_unit_test(completions_that_no_program_saw_are_told),
		cmocka_unit_test(a_small_share_is_not_none),
		cmocka_unit_test(the_answer_has_its_cause),
		cmocka_unit_test(the_answer_is_of_what_was_asked),
		cmocka_unit_test(the_rest_is_in_one_line),
		cmocka_unit_test(a_screen_is_full),
		cmocka_unit_test(a_waterfall_begins_behind_its_title),
		cmocka_unit_test(every_table_has_each_stratum),
		cmocka_unit_test(helpers_of_one_kind_are_one_row_of_text),
		cmocka_unit_test(where_threads_slept),
		cmocka_unit_test(helpers_in_json_are_each_thread),
		cmocka_unit_test(rows_are_sorted_by_total_time),
		cmocka_unit_test(no_line_is_too_long_or_unsafe),
		cmocka_unit_test(files_in_progress_fit_and_are_safe),
		cmocka_unit_test(threads_that_hung_before_come_first),
		cmocka_unit_test(missing_strata_are_named_with_their_reason),
		cmocka_unit_test(a_sum_that_is_wrong_is_told),
		cmocka_unit_test(losses_are_told_only_if_there_are_any),
		cmocka_unit_test(completions_without_reap_are_told),
		cmocka_unit_test(a_name_that_is_missing_is_lost),
		cmocka_unit_test(functions_keep_their_start),
		cmocka_unit_test(stacks_keep_their_end),
		cmocka_unit_test(only_terminals_are_narrow),
		cmocka_unit_test(intervals_have_times_that_differ),
		cmocka_unit_test(milliseconds_are_named),
		cmocka_unit_test(milliseconds_and_histograms),
		cmocka_unit_test(a_layer_alone_is_a_histogram_per_operation),
		cmocka_unit_test(one_file_system_alone),
		cmocka_unit_test(no_operation_was_slow),
		cmocka_unit_test(threads_come_before_requests_in_flight),
		cmocka_unit_test(pseudo_file_systems_are_beside),
		cmocka_unit_test(file_systems_without_probes),
		cmocka_unit_test(nothing_seen_is_told),
		cmocka_unit_test(keys_get_a_line_each),
		cmocka_unit_test(keys_are_sums_on_the_first_screen),
		cmocka_unit_test(the_first_screen_says_who),
		cmocka_unit_test(the_first_screen_names_a_limit),
		cmocka_unit_test(the_slowest_say_when),
		cmocka_unit_test(the_slowest_are_shown_in_order),
		cmocka_unit_test(the_slowest_are_shown_whole),
		cmocka_unit_test(json_keeps_all_sums),
		cmocka_unit_test(containers_have_short_names),
		cmocka_unit_test(no_patterns_are_told),
		cmocka_unit_test(servers_have_rows),
		cmocka_unit_test(servers_have_names_of_requests),
		cmocka_unit_test(daemons_have_parts),
		cmocka_unit_test(servers_without_bytes_have_rows),
		cmocka_unit_test(reads_are_amplified),
		cmocka_unit_test(copies_count_once),
		cmocka_unit_test(minor_faults_are_beside_operations),
		cmocka_unit_test(json_has_every_member),
		cmocka_unit_test(json_keeps_the_largest_sums),
		cmocka_unit_test(json_has_requests),
		cmocka_unit_test(json_has_null_for_what_is_missing),
		cmocka_unit_test(json_has_no_times_without_operations),
		cmocka_unit_test(slowest_have_helper_and_requests),
		cmocka_unit_test(json_has_requests_of_recorded_operations),
		cmocka_unit_test(json_has_locks_of_nobody),
		cmocka_unit_test(json_of_a_layer_misses_nothing_else),
		cmocka_unit_test(json_has_losses_and_overhead),
		cmocka_unit_test(json_of_a_layer_alone),
		cmocka_unit_test(json_of_keys_and_caches),
		cmocka_unit_test(json_has_null_for_untold_layers),
		cmocka_unit_test(json_of_the_slowest),
		cmocka_unit_test(json_takes_damaged_records),
		cmocka_unit_test(json_of_nothing),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
