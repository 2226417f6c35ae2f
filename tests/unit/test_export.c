// SPDX-License-Identifier: GPL-2.0-only
/* Handles of an archive, from an open's return to the beginning of the close; what is in flight.
 * Traces that are split. Each line of a small trace, of a job for fio, and of files for blktrace.
 * How many tables there are, and how many rows of losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <linux/blktrace_api.h>
#include <zlib.h>

#include "base/reason.h"
#include "capture/recording.h"
#include "capture/writer.h"
#include "export/blktrace.h"
#include "export/chrome.h"
#include "export/fio.h"
#include "export/otf2.h"
#include "export/parquet_tables.h"
#include "export/speedscope.h"
#include "host/filenames.h"
#include "host/mounts.h"

static const char header[] = "{\"monotonic_ns\":1000,\"realtime_ns\":5000,\"ops\":true,"
			     "\"requests\":true,\"vfs_ops\":[\"read\"]}";

/* By thread 1 or 2 of one process, on descriptor 5 of one file. */
static void add(struct writer *w, int thread, int kind, uint64_t start_ns, uint64_t end_ns)
{
	struct stored_op op = { .start_ns = start_ns,
				.owner = thread,
				.file = 1,
				.kind = kind,
				.fs = STORED_FS_FIRST,
				.fd = 5,
				.ret = kind == OP_OPEN ? 5 : 0 };

	op.strata[ST_SYSCALL] = end_ns - start_ns;
	writer_op(w, &op);
}

static const char nothing_lost[] = "{\"ended\":\"ended\",\"ops\":1,\"lost\":{\"ops\":0}}";

static FILE *recording_ended(void (*ops)(struct writer *w), const char *end)
{
	struct stored_name thread = { NAME_THREAD, 1, 12, 12, 14, 2 };
	struct stored_name file = { NAME_FILE, 1, FILE_KEY(8 << 20, 0, 3), 99, STORED_FILE_COMPLETE,
				    2 };
	struct stored_name fs = { NAME_FS, STORED_FS_FIRST, 1 << OP_READ, 0, 0, 4 };
	FILE *f = tmpfile();
	struct writer w = {};

	assert_int_equal(writer_begin(&w, dup(fileno(f)), header), 0);
	writer_name(&w, &thread, "dd");
	thread.id = 2;
	thread.b = 13;
	writer_name(&w, &thread, "dd");
	writer_name(&w, &file, "f");
	writer_name(&w, &fs, "ext4");
	ops(&w);
	writer_close(&w);
	while (!writer_end(&w, end))
		;
	writer_done(&w);
	rewind(f);
	return f;
}

static FILE *recording_of(void (*ops)(struct writer *w))
{
	return recording_ended(ops, nothing_lost);
}

static const char *call_name(unsigned short call)
{
	return call == 33   ? "dup2"
	       : call == 72 ? "fcntl"
	       : call == 73 ? "flock"
	       : call == 8  ? "lseek"
			    : "call";
}

static struct otf2_counts exported(void (*ops)(struct writer *w))
{
	char dir[] = "/tmp/test_export.XXXXXX", command[64];
	struct otf2_counts counts = {};
	FILE *f = recording_of(ops);
	struct otf2_input in = { f, "it", call_name };
	struct reason why = {};

	assert_non_null(mkdtemp(dir));
	assert_int_equal(otf2_export(&in, 1, &(struct otf2_conf){ .dir = dir }, &counts, &why), 0);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	fclose(f);
	return counts;
}

static void one_after_the_other(struct writer *w)
{
	add(w, 1, OP_READ, 2000, 2100); /* was open before */
	add(w, 1, OP_CLOSE, 2200, 2300);
	add(w, 2, OP_OPEN, 2400, 2500);
	add(w, 2, OP_READ, 2600, 2700);
	add(w, 2, OP_CLOSE, 2800, 2900);
}

static void number_given_again_before_the_close_returns(struct writer *w)
{
	add(w, 1, OP_READ, 2000, 2100);
	add(w, 2, OP_OPEN, 2150, 2250);
	add(w, 1, OP_CLOSE, 2200, 2300);
	add(w, 2, OP_READ, 2600, 2700);
	add(w, 2, OP_CLOSE, 2800, 2900);
}

static void read_that_outlives_its_descriptor(struct writer *w)
{
	add(w, 1, OP_READ, 2000, 2400);
	add(w, 2, OP_OPEN, 2150, 2250);
	add(w, 2, OP_READ, 2600, 2700);
}

/* A call about descriptor 5 by thread 1, with the arguments behind it. */
static void about(struct writer *w, int call, uint64_t start_ns, uint64_t second, uint64_t third,
		  int64_t ret)
{
	struct stored_op op = { .start_ns = start_ns,
				.owner = 1,
				.file = 1,
				.kind = OP_HANDLE,
				.call = call,
				.fs = STORED_FS_FIRST,
				.fd = 5,
				.len = second,
				.offset = third,
				.ret = ret };

	op.strata[ST_SYSCALL] = 10;
	writer_handle(w, &op);
}

static void duplicates(struct writer *w)
{
	add(w, 1, OP_OPEN, 2000, 2100);
	about(w, 33, 2200, 7, 0, 7);      /* dup2(5, 7) */
	about(w, 33, 2300, 7, 0, 7);      /* which closes it */
	about(w, 33, 2400, 5, 0, 5);      /* changes nothing */
	about(w, 33, 2500, 8, 0, -9);     /* failed */
	about(w, 72, 2600, 1030, 10, 10); /* F_DUPFD_CLOEXEC */
}

static void others_than_duplicates(struct writer *w)
{
	add(w, 1, OP_OPEN, 2000, 2100);
	about(w, 8, 2200, 4096, 0, 4096);
	about(w, 8, 2300, 4096, 77, -22);
	about(w, 8, 2400, 4096, ~0ULL, 0);
	about(w, 72, 2500, 4, 02000, 0);
	about(w, 72, 2600, 7, 1, 0);
	about(w, 72, 2700, 6, 0, -11);
	about(w, 72, 2800, 7, 2, 0);
	about(w, 73, 2900, 2, 0, 0);
	about(w, 73, 3000, 8, 0, 0);
	about(w, 73, 3100, 8, 0, 0);
}

/* dup2() of descriptor 5 over @fd, which is that of another file: it closes this file. */
static void over(struct writer *w, uint64_t start_ns, uint64_t from, uint64_t fd)
{
	struct stored_op op = { .start_ns = start_ns,
				.owner = 1,
				.file = 2,
				.kind = OP_CLOSE,
				.call = 33,
				.fs = STORED_FS_FIRST,
				.fd = from,
				.ret = fd };

	op.strata[ST_SYSCALL] = 10;
	writer_op(w, &op);
}

static void duplicates_over_files(struct writer *w)
{
	add(w, 1, OP_OPEN, 2000, 2100);
	about(w, 33, 2200, 7, 0, 7); /* dup2(5, 7) */
	over(w, 2300, 5, 7);
	over(w, 2400, 9, 7); /* 9 is not known */
	over(w, 2500, 5, -9);
}

static void calls_about_descriptors(void **state)
{
	(void)state;
	assert_int_equal(exported(duplicates_over_files).handles, 3);
	assert_int_equal(exported(duplicates_over_files).ops, 4);
	assert_int_equal(exported(duplicates).handles, 4);
	assert_int_equal(exported(duplicates).ops, 1);
	assert_int_equal(exported(others_than_duplicates).handles, 1);
	assert_int_equal(exported(others_than_duplicates).ops, 1);
}

static void handles(void **state)
{
	(void)state;
	assert_int_equal(exported(one_after_the_other).handles, 2);
	assert_int_equal(exported(number_given_again_before_the_close_returns).handles, 2);
	assert_int_equal(exported(read_that_outlives_its_descriptor).handles, 2);
	assert_int_equal(exported(read_that_outlives_its_descriptor).ops, 3);
}

enum { IN_FLIGHT = 10000, ASYNC_OPS = 3 * IN_FLIGHT };

/* @depth reads of libaio at a time: each takes as long as it takes to begin so many. */
static void asynchronous(struct writer *w, uint64_t depth)
{
	struct stored_op op = { .owner = 1,
				.file = 1,
				.kind = OP_AIO,
				.call = CALL_AIO,
				.fs = STORED_FS_FIRST,
				.fd = 5,
				.len = 4096,
				.ret = 4096 };

	for (int i = 0; i < ASYNC_OPS; i++) {
		op.start_ns = 2000 + 10 * i;
		op.strata[ST_DEVICE] = 10 * depth;
		writer_op(w, &op);
	}
}

static void few_in_flight(struct writer *w)
{
	asynchronous(w, 7);
}

static void many_in_flight(struct writer *w)
{
	asynchronous(w, IN_FLIGHT);
}

/* CPU time of the export, the least of three: others may be at work. */
static clock_t cost_of(void (*ops)(struct writer *w))
{
	clock_t least = 0, began, took;
	struct otf2_counts counts;

	for (int i = 0; i < 3; i++) {
		began = clock();
		counts = exported(ops);
		took = clock() - began;
		least = i && least < took ? least : took;
		assert_int_equal(counts.ops, ASYNC_OPS);
		assert_int_equal(counts.locations, 1);
		assert_int_equal(counts.handles, 1);
	}
	return least;
}

static void requests_in_flight(void **state)
{
	(void)state;
	assert_true(cost_of(many_in_flight) < 4 * cost_of(few_in_flight));
}

/* Opens of io_uring, none of which is over before the last begins. */
static void opens(struct writer *w)
{
	struct stored_op op = { .owner = 1,
				.file = 1,
				.kind = OP_URING,
				.call = CALL_URING | 18,
				.fs = STORED_FS_FIRST,
				.fd = -1 };

	for (int i = 0; i < 101; i++) {
		op.start_ns = 2000 + 10 * i;
		op.strata[ST_HELPER] = 2000;
		writer_op(w, &op);
	}
}

static void regions_in_flight(void **state)
{
	struct otf2_counts counts = exported(opens);

	(void)state;
	assert_int_equal(counts.ops, 101);
	assert_int_equal(counts.locations, 16);
}

/* Writes records that no recorder writes. */
static void hostile(struct writer *w)
{
	struct stored_op op = { .start_ns = 2000,
				.owner = 1,
				.kind = OP_READ,
				.fs = STORED_FS_FIRST,
				.fd = 5,
				.ret = INT64_MIN };

	op.file = 0xaaaaaaaaaaaaaaaa;
	writer_op(w, &op);
	op.file = 3000000000;
	writer_op(w, &op);
	op.kind = OP_HANDLE;
	op.segments = 40; /* without bytes */
	writer_handle(w, &op);
}

static void ids_are_not_believed(void **state)
{
	(void)state;
	assert_int_equal(exported(hostile).ops, 2);
}

enum { SPLIT_OPS = 1009, SPLIT_REQUESTS = 101 };

static void split_ops(struct writer *w)
{
	for (uint64_t i = 0; i < SPLIT_OPS; i++)
		add(w, 1 + i % 2, OP_READ, 2000 + 100 * i, 2050 + 100 * i);
	/* each is in flight for the time of twenty operations, and of two other requests */
	for (uint64_t i = 0; i < SPLIT_REQUESTS; i++)
		writer_request(w, &(struct stored_request){ .q_ns = 2000 + 1000 * i,
							    .device_ns = 2500,
							    .owner = 1,
							    .dev = 7 << 20,
							    .bytes = 4096,
							    .op = RQ_READ });
}

/* Counts of all files, and what the last one says is in flight. */
struct seen {
	size_t slices, requests, largest_bytes, in_flight, most_in_flight;
};

static void event_see(const json_t *e, struct seen *seen, size_t *names)
{
	const char *ph = json_string_value(json_object_get(e, "ph"));
	const char *name = json_string_value(json_object_get(e, "name"));
	size_t before;

	seen->slices += *ph == 'X';
	seen->requests += *ph == 'b';
	*names += *ph == 'M';
	if (*ph != 'C' || strcmp(name, "under way") != 0)
		return;
	before = seen->in_flight;
	seen->in_flight =
		json_integer_value(json_object_get(json_object_get(e, "args"), "requests"));
	/* one begins or ends, also where a new file begins */
	assert_true(seen->in_flight == before + 1 || seen->in_flight + 1 == before);
	if (seen->in_flight > seen->most_in_flight)
		seen->most_in_flight = seen->in_flight;
}

static void trace_see(const char *path, struct seen *seen)
{
	static char text[1 << 20];
	gzFile f = gzopen(path, "rb");
	size_t i, names = 0;
	json_t *j, *e;
	int n;

	assert_non_null(f);
	n = gzread(f, text, sizeof(text));
	assert_in_range(n, 1, sizeof(text) - 1);
	gzclose(f);
	j = json_loadb(text, n, 0, NULL);
	assert_non_null(j); /* each file is whole JSON */
	json_array_foreach(json_object_get(j, "traceEvents"), i, e) event_see(e, seen, &names);
	assert_true(names > 0); /* and has the names of its tracks */
	json_decref(j);
	seen->largest_bytes = (size_t)n > seen->largest_bytes ? (size_t)n : seen->largest_bytes;
}

static void a_long_trace_is_split(void **state)
{
	char dir[] = "/tmp/test_export.XXXXXX", path[64];
	FILE *f = recording_of(split_ops);
	struct chrome_counts counts;
	struct reason why = {};
	struct seen seen = {};

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chrome_export(f, "it", dir, 20000, call_name, &counts, &why), 0);
	assert_in_range(counts.files, 10, 40);
	assert_int_equal(counts.ops, SPLIT_OPS);
	for (uint64_t i = 1; i <= counts.files; i++) {
		snprintf(path, sizeof(path), i > 1 ? "%s/trace-%d.json.gz" : "%s/trace.json.gz",
			 dir, (int)i);
		trace_see(path, &seen);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(seen.slices, SPLIT_OPS);
	assert_int_equal(seen.requests, SPLIT_REQUESTS);
	assert_true(seen.largest_bytes < 20000 + 8192); /* a buffer of stdio more, at most */
	/* a new file knows what the one before has begun */
	assert_int_equal(seen.most_in_flight, 3);
	assert_int_equal(seen.in_flight, 0);
	fclose(f);
}

enum { LOOP3 = 7 << 20 | 3, SLASHED = 7 << 20 | 4 };

static void names_more(struct writer *w)
{
	struct stored_name thread = { NAME_THREAD, 3, 99, 99, 14, 2 };
	struct stored_name disk = { NAME_DEVICE, LOOP3, 0, 0, 0, 5 };

	writer_name(w, &thread, "cp"); /* of another process */
	thread = (struct stored_name){ NAME_THREAD, 4, 12, 12, 14, 2 };
	writer_name(w, &thread, "ls"); /* the process of thread 1 executes a program */
	thread = (struct stored_name){ NAME_THREAD, 5, 12, 12 + 4096, 14, 2 };
	writer_name(w, &thread, "xz");
	writer_name(w, &disk, "loop3");
	disk.id = SLASHED;
	writer_name(w, &disk, "a/b .");
}

/* An operation of @owner on the file with the result @ret, which takes 50 ns. */
static void transfer(struct writer *w, uint64_t owner, int kind, uint64_t start_ns, uint64_t offset,
		     int64_t ret)
{
	struct stored_op op = { .start_ns = start_ns,
				.owner = owner,
				.file = 1,
				.kind = kind,
				.fs = STORED_FS_FIRST,
				.fd = 5,
				.offset = offset,
				.len = 8192,
				.ret = ret };

	op.strata[ST_SYSCALL] = 50;
	writer_op(w, &op);
}

static void request(struct writer *w, unsigned int op, uint64_t q_ns, uint64_t sector,
		    uint64_t bytes, uint64_t flags)
{
	writer_request(w, &(struct stored_request){ .q_ns = q_ns,
						    .tag_ns = 10,
						    .queue_ns = 20,
						    .device_ns = 30,
						    .owner = 1,
						    .dev = LOOP3,
						    .sector = sector,
						    .bytes = bytes,
						    .op = op,
						    .flags = flags });
}

/* Writes calls for a replay, out of order, as recordings are. */
static void calls_to_replay(struct writer *w)
{
	names_more(w);
	transfer(w, 1, OP_WRITE, 5000, 8192, 100);
	transfer(w, 2, OP_READ, 3000, 4096, 512);
	transfer(w, 1, OP_WRITE, 5500, 0, 1000);
	transfer(w, 1, OP_FSYNC, 6500, ~0ULL, 0);
	transfer(w, 1, OP_META, 6600, ~0ULL, 0); /* is not replayed */
	transfer(w, 3, OP_READ, 6700, 4096, 512);
	/* left out */
	transfer(w, 1, OP_FSYNC, 7000, ~0ULL, -5);
	transfer(w, 1, OP_READ, 7100, 4096, -5);
	transfer(w, 1, OP_READ, 7200, 4096, 0);
	transfer(w, 1, OP_READ, 7300, ~0ULL, 7);
}

static void requests_to_replay(struct writer *w)
{
	names_more(w);
	request(w, RQ_WRITE, 9000, 16, 8192, 0);
	request(w, RQ_READ, 3000, 8, 4096, 0);
	request(w, RQ_DISCARD, 10000, 800, 1 << 20, 0);
	request(w, RQ_FLUSH, 12000, ~0ULL, 0, 0);
	writer_request(w, &(struct stored_request){
				  .q_ns = 4000, .dev = SLASHED, .bytes = 512, .op = RQ_READ });
	/* left out */
	request(w, RQ_READ, 13000, 24, 4096, STORED_RQ_FAILED);
	request(w, RQ_WRITE_ZEROES, 13000, 24, 4096, 0);
}

/* Reads a file of a directory, and removes it. */
static size_t file_take(const char *dir, const char *name, char *ret, size_t cap)
{
	char path[128];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(ret, 1, cap - 1, f);
	ret[n] = '\0';
	fclose(f);
	unlink(path);
	return n;
}

/* Compares the log with @log; the job asks for a file of so many bytes. */
static void job_check(void (*events)(struct writer *w), uint64_t pid, const char *disk,
		      const char *log, uint64_t bytes, uint64_t left_out)
{
	char dir[] = "/tmp/test_export.XXXXXX", text[4096], want[64];
	const struct fio_conf conf = { dir, pid, disk };
	FILE *f = recording_of(events);
	struct fio_counts counts;
	struct reason why = {};

	assert_non_null(mkdtemp(dir));
	assert_int_equal(fio_export(f, "it", &conf, &counts, &why), 0);
	assert_int_equal(counts.actions, 4);
	assert_int_equal(counts.left_out, left_out);
	file_take(dir, "replay.log", text, sizeof(text));
	assert_string_equal(text, log);
	file_take(dir, "replay.fio", text, sizeof(text));
	snprintf(want, sizeof(want), "truncate -s %llu %s ", (unsigned long long)bytes,
		 disk ? "disk" : "file-1");
	assert_non_null(strstr(text, want));
	assert_int_equal(rmdir(dir), 0);
	fclose(f);
}

static void a_job_has_what_can_be_replayed(void **state)
{
	(void)state;
	job_check(calls_to_replay, 12, NULL,
		  "fio version 3 iolog\n1 file-1 add\n1 file-1 open\n1 file-1 read 4096 512\n"
		  "3 file-1 write 8192 100\n3 file-1 write 0 1000\n4 file-1 sync 0 0\n"
		  "4 file-1 close\n",
		  8192 + 100, 4);
	job_check(requests_to_replay, 0, "loop3",
		  "fio version 3 iolog\n1 disk add\n1 disk open\n1 disk read 4096 4096\n"
		  "7 disk write 8192 8192\n8 disk trim 409600 1048576\n10 disk sync 0 0\n"
		  "10 disk close\n",
		  409600 + 1048576, 2);
}

static void requests_to_trace(struct writer *w)
{
	names_more(w);
	request(w, RQ_READ, 2000, 8, 4096, 0);
	request(w, RQ_DISCARD, 3000, 16, 8192, STORED_RQ_UNQUEUED);
	request(w, RQ_FLUSH, 4000, ~0ULL, 512, STORED_RQ_BIO_BASED);
	writer_request(w, &(struct stored_request){ .q_ns = 5000,
						    .owner = 5,
						    .dev = LOOP3,
						    .sector = 24,
						    .bytes = 512,
						    .op = RQ_WRITE,
						    .cmd_flags = 1 << 17, /* FUA */
						    .flags = STORED_RQ_FAILED,
						    .error = 28 });
	writer_request(w, &(struct stored_request){ .q_ns = 6000,
						    .owner = 1,
						    .dev = LOOP3,
						    .op = RQ_READ,
						    .flags = STORED_RQ_FAILED });
	writer_request(w, &(struct stored_request){
				  .q_ns = 7000, .owner = 1, .dev = SLASHED, .op = RQ_READ });
}

/* Writes the events as text: the action and its kind, time, thread, sector, bytes, error; or of a
 * notice its words. */
static void blktrace_text(const char *bytes, size_t n, char *ret, size_t cap)
{
	static const struct {
		unsigned int bit;
		char letter;
	} kinds[] = { { BLK_TC_READ, 'R' },
		      { BLK_TC_WRITE, 'W' },
		      { BLK_TC_FLUSH, 'F' },
		      { BLK_TC_FUA, 'U' },
		      { BLK_TC_DISCARD, 'D' } };
	uint32_t sequence = 0, seconds[2];
	FILE *f = fmemopen(ret, cap, "w");
	struct blk_io_trace t;

	for (size_t at = 0; at < n; at += sizeof(t) + t.pdu_len) {
		memcpy(&t, bytes + at, sizeof(t));
		assert_int_equal(t.magic, BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION);
		assert_int_equal(t.sequence, sequence++);
		if (t.action == BLK_TN_TIMESTAMP) {
			memcpy(seconds, bytes + at + sizeof(t), sizeof(seconds));
			fprintf(f, "clock %u.%09u\n", seconds[0], seconds[1]);
			continue;
		}
		if (t.action == BLK_TN_PROCESS) {
			fprintf(f, "%u is %s\n", t.pid, bytes + at + sizeof(t));
			continue;
		}
		fprintf(f, "%u", t.action & 0xffff);
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			if (t.action & BLK_TC_ACT(kinds[k].bit))
				fputc(kinds[k].letter, f);
		fprintf(f, " %llu %u %llu %u %u\n", t.time, t.pid, t.sector, t.bytes, t.error);
	}
	fclose(f);
}

static void blktrace_has_each_step(void **state)
{
	char dir[] = "/tmp/test_export.XXXXXX", bytes[8192], text[4096];
	FILE *f = recording_of(requests_to_trace);
	struct blktrace_counts counts;
	struct reason why = {};
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(blktrace_export(f, "it", dir, &counts, &why), 0);
	assert_int_equal(counts.requests, 6);
	assert_int_equal(counts.disks, 2);
	n = file_take(dir, "loop3.blktrace.0", bytes, sizeof(bytes));
	blktrace_text(bytes, n, text, sizeof(text));
	/* the clock of the header says 5000 at 1000; 1 Q, 4 G, 7 D, 8 C */
	assert_string_equal(text, "clock 0.000006000\n12 is dd\n"
				  "1R 0 12 8 4096 0\n4R 10 12 8 4096 0\n"
				  "7R 30 12 8 4096 0\n8R 60 12 8 4096 0\n"
				  "7WD 1030 12 16 8192 0\n8WD 1060 12 16 8192 0\n"
				  "1F 2000 12 0 0 0\n8F 2060 12 0 0 0\n"
				  "4108 is xz\n1WU 3000 4108 24 512 0\n4WU 3000 4108 24 512 0\n"
				  "7WU 3000 4108 24 512 0\n8WU 3000 4108 24 512 28\n"
				  "12 is dd\n1R 4000 12 0 0 0\n4R 4000 12 0 0 0\n"
				  "7R 4000 12 0 0 0\n8R 4000 12 0 0 5\n");
	n = file_take(dir, "a_b__.blktrace.0", bytes, sizeof(bytes));
	assert_true(n > 0);
	assert_int_equal(rmdir(dir), 0);
	fclose(f);
}

static void small_trace(struct writer *w)
{
	names_more(w);
	transfer(w, 1, OP_READ, 2000, 4096, 512);
	transfer(w, 4, OP_READ, 3000, 4096, 512);
	transfer(w, 2, OP_READ, 4000, 4096, 512);
	request(w, RQ_READ, 2010, 8, 4096, 0);
	request(w, RQ_READ, 2020, 8, 4096, STORED_RQ_OUTSIDE);
	request(w, RQ_READ, 2030, 8, 4096, STORED_RQ_UNQUEUED);
}

/* The trace of a recording, for json_decref(). */
static json_t *traced(void (*ops)(struct writer *w), struct chrome_counts *ret_counts)
{
	char dir[] = "/tmp/test_export.XXXXXX", path[64], text[16384];
	FILE *f = recording_of(ops);
	struct reason why = {};
	json_t *j;
	gzFile gz;
	int n;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chrome_export(f, "it", dir, 1 << 20, call_name, ret_counts, &why), 0);
	snprintf(path, sizeof(path), "%s/trace.json.gz", dir);
	gz = gzopen(path, "rb");
	n = gzread(gz, text, sizeof(text));
	assert_in_range(n, 1, sizeof(text) - 1);
	gzclose(gz);
	j = json_loadb(text, n, 0, NULL);
	assert_non_null(j);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	fclose(f);
	return j;
}

static void tracks_have_their_names_and_arrows_their_calls(void **state)
{
	char seen[1024] = "";
	FILE *to = fmemopen(seen, sizeof(seen), "w");
	struct chrome_counts counts;
	json_t *j = traced(small_trace, &counts), *e;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(j, "traceEvents"), i, e)
	{
		const char *ph = json_string_value(json_object_get(e, "ph"));
		const json_t *args = json_object_get(e, "args");

		if (*ph == 'M')
			fprintf(to, "%s %d %s\n", json_string_value(json_object_get(e, "name")),
				(int)json_integer_value(json_object_get(e, "tid")),
				json_string_value(json_object_get(args, "name")));
		else if (*ph == 's')
			fprintf(to, "arrow %.3f\n",
				json_number_value(json_object_get(e, "ts")) * 1000);
		/* what did not fail has no error, rather than 0 */
		assert_true(*ph != 'X' || !json_object_get(args, "error"));
	}
	fclose(to);
	/* a program changes the name; of three requests only one has a call that submitted it */
	assert_string_equal(seen, "thread_name 12 dd\nprocess_name 12 dd\n"
				  "thread_name 12 ls\nprocess_name 12 ls\nthread_name 13 dd\n"
				  "process_name 0 loop3\n"
				  "thread_name 12 dd\nprocess_name 12 dd\narrow 10.000\n");
	json_decref(j);
}

/* A request to the server with the address @server, which is answered @server_ns after 3 ns for a
 * slot and 5 ns in the queue. */
static void asks(struct writer *w, uint64_t start_ns, uint64_t server_ns, const char *op,
		 const char *server)
{
	const char *const texts[] = { server, op };
	struct stored_server_request rq = { .q_ns = start_ns,
					    .tag_ns = 3,
					    .queue_ns = 5,
					    .server_ns = server_ns,
					    .xid = *op == 'R' ? 1ULL << 32 : 0,
					    .server = mount_server_number(server),
					    .op = mount_server_number(op) };

	for (int i = 0; i < 2 && *texts[i]; i++) {
		struct stored_name n = { .type = NAME_TEXT,
					 .id = mount_server_number(texts[i]),
					 .text_len = strlen(texts[i]) };

		writer_name(w, &n, texts[i]);
	}
	writer_server_request(w, &rq);
}

/* In two chunks; the names of the last one are missing. Then a read of a file. */
static void asks_servers(struct writer *w)
{
	asks(w, 2100, 50, "GETATTR", "10.0.0.7");
	asks(w, 2000, 1000, "READ", "10.0.0.7");
	writer_flush(w);
	asks(w, 2500, 700, "COMMIT", "nas");
	asks(w, 2600, 700, "READ_PLUS", "nas");
	asks(w, 2700, 700, "WRITE", "");
	add(w, 1, OP_READ, 2050, 2900);
}

/* A slice has the figures as arguments, except those which the track or the slice has itself. */
static void requests_to_servers_are_slices_of_their_server(void **state)
{
	char seen[2048] = "";
	FILE *to = fmemopen(seen, sizeof(seen), "w");
	struct chrome_counts counts;
	json_t *j = traced(asks_servers, &counts), *e;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(j, "traceEvents"), i, e)
	{
		const char *ph = json_string_value(json_object_get(e, "ph"));
		const char *name = json_string_value(json_object_get(e, "name"));
		json_t *args = json_object_get(e, "args");
		int64_t pid = json_integer_value(json_object_get(e, "pid")) - (1LL << 31);
		char *text = args ? json_dumps(args, JSON_COMPACT) : NULL;

		if (pid >= 0)
			fprintf(to, "%s %s %d %.0f %s\n", ph, name, (int)pid,
				json_number_value(json_object_get(e, "ts")) * 1000,
				text ? text : "-");
		free(text);
	}
	fclose(to);
	assert_string_equal(seen,
			    "M process_name 0 0 {\"name\":\"10.0.0.7\"}\n"
			    "C under way 0 0 {\"requests\":1}\n"
			    "C under way 0 100 {\"requests\":2}\n"
			    "C under way 0 158 {\"requests\":1}\n"
			    "b GETATTR 0 100 {\"total_ns\":58,"
			    "\"protocol\":\"nfs\",\"tag_ns\":3,\"queue_ns\":5,\"server_ns\":50}\n"
			    "e GETATTR 0 158 -\n"
			    "M process_name 1 0 {\"name\":\"nas\"}\n"
			    "C under way 1 500 {\"requests\":1}\n"
			    "C under way 1 600 {\"requests\":2}\n"
			    "M process_name 2 0 {\"name\":\"server\"}\n"
			    "C under way 2 700 {\"requests\":1}\n"
			    "C under way 0 1008 {\"requests\":0}\n"
			    "b READ 0 0 {\"total_ns\":1008,"
			    "\"protocol\":\"nfs\",\"tag_ns\":3,\"queue_ns\":5,\"server_ns\":1000,"
			    "\"xid\":4294967295}\n"
			    "e READ 0 1008 -\n"
			    "C under way 1 1208 {\"requests\":1}\n"
			    "b COMMIT 1 500 {\"total_ns\":708,"
			    "\"protocol\":\"nfs\",\"tag_ns\":3,\"queue_ns\":5,\"server_ns\":700}\n"
			    "e COMMIT 1 1208 -\n"
			    "C under way 1 1308 {\"requests\":0}\n"
			    "b READ_PLUS 1 600 {\"total_ns\":708,"
			    "\"protocol\":\"nfs\",\"tag_ns\":3,\"queue_ns\":5,\"server_ns\":700,"
			    "\"xid\":4294967295}\n"
			    "e READ_PLUS 1 1308 -\n"
			    "C under way 2 1408 {\"requests\":0}\n"
			    "b request 2 700 {\"total_ns\":708,"
			    "\"protocol\":\"nfs\",\"tag_ns\":3,\"queue_ns\":5,\"server_ns\":700}\n"
			    "e request 2 1408 -\n");
	assert_int_equal(counts.server_requests, 5);
	assert_int_equal(counts.ops, 1);
	assert_int_equal(counts.requests, 0);
	json_decref(j);
}

/* Two servers have a name, and one has none: each has a location for its operations; besides, each
 * has locations for regions, two if two overlap. The last location is a thread's. */
static void requests_to_servers_are_locations_of_their_server(void **state)
{
	struct otf2_counts counts = exported(asks_servers);

	(void)state;
	assert_int_equal(counts.server_requests, 5);
	assert_int_equal(counts.requests, 0);
	assert_int_equal(counts.ops, 1);
	assert_int_equal(counts.locations, 3 + 5 + 1);
	assert_int_equal(counts.handles, 3 + 1);
}

/* Exports recordings to tables, and removes these. */
static struct tables_counts tabled(FILE *const files[], size_t n, bool by_hour)
{
	char dir[] = "/tmp/test_export.XXXXXX", command[64];
	const struct tables_conf conf = { .dir = dir, .writer = "it", .by_hour = by_hour };
	struct tables *t = parquet_tables_new(&conf);
	struct tables_counts counts;
	struct recording rec;
	struct reason why = {};

	assert_non_null(t);
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(recording_open(&rec, files[i], "it", &why), 0);
		assert_int_equal(parquet_tables_add(t, &rec, "it", call_name, &why), 0);
		recording_close(&rec);
		fclose(files[i]);
	}
	assert_int_equal(parquet_tables_end(t, &why), 0);
	counts = *parquet_tables_counted(t);
	parquet_tables_free(t);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	return counts;
}

static void requests_to_servers_have_a_table(void **state)
{
	struct tables_counts counts = tabled((FILE *[]){ recording_of(asks_servers) }, 1, false);

	(void)state;
	assert_int_equal(counts.rows[TABLE_SERVER_REQUESTS], 5);
	assert_int_equal(counts.rows[TABLE_OPS], 1);
	assert_int_equal(counts.rows[TABLE_REQUESTS], 0);
	assert_int_equal(counts.files, 4);
	/* without such requests there is no file */
	assert_int_equal(tabled((FILE *[]){ recording_of(small_trace) }, 1, false).files, 3);
}

/* Operations of an hour come after some of the next hour. */
static void late_hours(struct writer *w)
{
	static const uint64_t hours[] = { 0, 1, 0, 1, 2, 1, 2, 3, 2, 3 };

	for (size_t i = 0; i < sizeof(hours) / sizeof(*hours); i++)
		transfer(w, 1, OP_READ, hours[i] * 3600 * 1000000000 + 2000 + i, 4096, 512);
}

static void an_hour_has_one_file(void **state)
{
	struct tables_counts counts = tabled((FILE *[]){ recording_of(late_hours) }, 1, true);

	(void)state;
	assert_int_equal(counts.rows[TABLE_OPS], 10);
	assert_int_equal(counts.files, 4 + 2); /* requests and losses have an empty file each */
}

/* Two recordings of one hour share its files. */
static void an_hour_of_two_recordings_has_one_file(void **state)
{
	FILE *files[] = { recording_of(small_trace), recording_of(small_trace) };

	(void)state;
	assert_int_equal(tabled(files, 2, true).files, 3);
}

static void loses(struct writer *w)
{
	writer_loss(w, &(struct stored_loss){ 2000, 3000, LOST_OPS, 5 });
}

static void loses_nothing_then(struct writer *w)
{
	(void)w;
}

/* A loss with a time has a row, and so has each kind of loss without one, in each recording. */
static void losses_have_a_row_each(void **state)
{
	FILE *files[] = {
		recording_ended(loses, "{\"ended\":\"ended\",\"ops\":0,\"lost\":{\"ops\":5}}"),
		recording_ended(loses_nothing_then, "{\"ended\":\"ended\",\"ops\":0,"
						    "\"lost\":{\"ops\":3,\"missed\":2}}"),
	};

	(void)state;
	assert_int_equal(tabled(files, 2, false).rows[TABLE_LOSSES], 1 + 2);
}

/* A damaged or odd recording: of one thread, two reads overlap, and a third follows. */
static void overlapping_reads(struct writer *w)
{
	add(w, 1, OP_READ, 2000, 2300);
	add(w, 1, OP_READ, 2100, 2200);
	add(w, 1, OP_READ, 2250, 2350);
	add(w, 1, OP_READ, 2400, 2503);
	add(w, 2, OP_READ, 2100, 2200);
}

/* Checks that the frames of a profile nest. Returns the time in its outermost frames. */
static int64_t frames_nest(const json_t *events)
{
	int64_t at = 0, began = 0, sum = 0, frames[8];
	size_t i, depth = 0;
	json_t *e;

	json_array_foreach(events, i, e)
	{
		int64_t now = json_integer_value(json_object_get(e, "at"));
		int64_t frame = json_integer_value(json_object_get(e, "frame"));

		assert_true(now >= at);
		at = now;
		if (*json_string_value(json_object_get(e, "type")) == 'O') {
			began = depth ? began : at;
			assert_true(depth < 8);
			frames[depth++] = frame;
			continue;
		}
		assert_true(depth > 0);
		assert_int_equal(frames[--depth], frame);
		sum += depth ? 0 : at - began;
	}
	assert_int_equal(depth, 0);
	return sum;
}

static void frames_of_overlapping_calls_nest(void **state)
{
	char dir[] = "/tmp/test_export.XXXXXX", path[64];
	FILE *f = recording_of(overlapping_reads);
	struct speedscope_counts counts = {};
	int64_t in_order = 0, apart = 0;
	struct reason why = {};
	json_t *j, *p;
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(speedscope_export(f, "it", dir, 1000, call_name, &counts, &why), 0);
	snprintf(path, sizeof(path), "%s/trace.speedscope.json", dir);
	j = json_load_file(path, 0, NULL);
	assert_non_null(j);
	json_array_foreach(json_object_get(j, "profiles"), i, p)
	{
		if (strstr(json_string_value(json_object_get(p, "name")), ", overlapping"))
			apart += json_integer_value(json_object_get(p, "endValue"));
		else
			in_order += frames_nest(json_object_get(p, "events"));
	}
	assert_int_equal(counts.ops, 5);
	assert_int_equal(in_order + apart, 300 + 100 + 100 + 103 + 100);
	assert_true(apart >= 100 && in_order >= 103 + 100);
	json_decref(j);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_trace_is_split),
		cmocka_unit_test(frames_of_overlapping_calls_nest),
		cmocka_unit_test(handles),
		cmocka_unit_test(calls_about_descriptors),
		cmocka_unit_test(requests_in_flight),
		cmocka_unit_test(regions_in_flight),
		cmocka_unit_test(ids_are_not_believed),
		cmocka_unit_test(a_job_has_what_can_be_replayed),
		cmocka_unit_test(blktrace_has_each_step),
		cmocka_unit_test(an_hour_has_one_file),
		cmocka_unit_test(an_hour_of_two_recordings_has_one_file),
		cmocka_unit_test(losses_have_a_row_each),
		cmocka_unit_test(tracks_have_their_names_and_arrows_their_calls),
		cmocka_unit_test(requests_to_servers_are_slices_of_their_server),
		cmocka_unit_test(requests_to_servers_are_locations_of_their_server),
		cmocka_unit_test(requests_to_servers_have_a_table),
	};

	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
