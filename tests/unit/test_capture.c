// SPDX-License-Identifier: GPL-2.0-only
/* Recordings: what is written is read, cut off anywhere it is read up to there, and what is not
 * written is counted. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/reason.h"
#include "capture/rowpack.h"
#include "capture/replay.h"
#include "capture/writer.h"

static const char header[] = "{\"monotonic_ns\":1000,\"realtime_ns\":5000,\"ops\":true,"
			     "\"requests\":true,\"vfs_ops\":[\"read\"]}";

static const uint64_t edges[] = { 0, 1, 127, 128, 16383, 16384, 1ULL << 32, 1ULL << 62,
				  1ULL << 63, UINT64_MAX - 1, UINT64_MAX };

enum { EDGES = sizeof(edges) / sizeof(*edges) };

static void columns_keep_any_number(void **state)
{
	static const pack_codes codes = { PACK_VALUE, PACK_DELTA, PACK_DELTA };
	struct rowpack c = { .codes = codes, .n = 3 };
	uint8_t bytes[4096];
	struct cursor cur;
	uint64_t row[4];
	size_t len;

	(void)state;
	for (int turn = 0; turn < 2; turn++) { /* they can be used again */
		for (int i = 0; i < EDGES * EDGES; i++) {
			const uint64_t in[] = { edges[i % EDGES], edges[i / EDGES], 4711 };

			assert_int_equal(rowpack_add(&c, in), 0);
		}
		assert_true(rowpack_size(&c) <= sizeof(bytes));
		len = rowpack_put(&c, bytes, NULL, 0);
		/* one column more than there is */
		assert_int_equal(cursor_open(&cur, 4, EDGES * EDGES, bytes, len), 0);
		for (int i = 0; i < EDGES * EDGES; i++) {
			assert_int_equal(cursor_next(&cur, row), 1);
			assert_int_equal(row[0], edges[i % EDGES]);
			assert_int_equal(row[1], edges[i / EDGES]);
			assert_int_equal(row[2], 4711);
			assert_int_equal(row[3], 0);
		}
		assert_int_equal(cursor_next(&cur, row), 0);
	}
	rowpack_done(&c);
}

static void columns_that_are_no_columns(void **state)
{
	static const uint8_t too_long[] = { 1, 0, 11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					    0xff, 0xff, 0x02, 0 };
	static const uint8_t cut_off[] = { 1, 0, 5, 1 };
	static const uint8_t no_such_code[] = { 1, 9, 1, 1 };
	static const uint8_t more_behind[] = { 1, 2, 1, 1, 1 };
	static const uint8_t too_few[] = { 1, 0, 1, 1 };
	struct cursor cur;
	uint64_t row[1];

	(void)state;
	assert_int_equal(cursor_open(&cur, 1, 1, cut_off, sizeof(cut_off)), -EBADMSG);
	assert_int_equal(cursor_open(&cur, 1, 1, no_such_code, sizeof(no_such_code)), -EBADMSG);
	assert_int_equal(cursor_open(&cur, 1, 1, more_behind, sizeof(more_behind)), -EBADMSG);
	assert_int_equal(cursor_open(&cur, 1, 2, too_few, sizeof(too_few)), 0);
	assert_int_equal(cursor_next(&cur, row), 1);
	assert_int_equal(cursor_next(&cur, row), -EBADMSG);
	assert_int_equal(cursor_open(&cur, 1, 1, too_long, sizeof(too_long)), 0);
	assert_int_equal(cursor_next(&cur, row), -EBADMSG);
	assert_int_equal(cursor_open(&cur, 1, 1, NULL, 0), -EBADMSG);
}

static struct cap_op an_op(uint64_t i)
{
	struct cap_op op = { .start_ns = 2000 + 100 * i, .owner = 1, .file = 1 + i % 2,
			     .kind = OP_READ, .fs = CAP_FS_FIRST, .offset = i * 4096, .len = 4096,
			     .ret = i % 7 ? 4096 : (uint64_t)-EIO, .cache = CACHE_HIT };

	op.strata[ST_SYSCALL] = 100 + i;
	op.strata[ST_DEVICE] = i % 3 ? 0 : 1000 * i;
	return op;
}

static struct cap_request a_request(uint64_t i)
{
	return (struct cap_request){ .q_ns = 3000 + i, .tag_ns = 1, .queue_ns = 2,
				     .device_ns = 1000 + i, .dev = 7 << 20, .sector = 8 * i,
				     .bytes = 4096, .op = RQ_READ };
}

static void add_names(struct writer *w)
{
	struct cap_name thread = { NAME_THREAD, 1, 12, 13, 14, 2 };
	struct cap_name file = { NAME_FILE, 1, FILE_KEY(8 << 20, 0, 3), 99, CAP_FILE_COMPLETE, 4 };
	struct cap_name fs = { NAME_FS, CAP_FS_FIRST, 1 << OP_READ, 0, 0, 4 };

	writer_name(w, &thread, "dd");
	writer_name(w, &file, "f\0d");
	file.id = 2;
	file.b = 100;
	writer_name(w, &file, "g\0d");
	writer_name(w, &fs, "ext4");
}

/* A recording of @n operations, and a third of that of requests. */
static void file_write(int fd, uint64_t n, struct writer *w)
{
	struct cap_op op;
	struct cap_request rq;

	assert_int_equal(writer_begin(w, fd, header), 0);
	add_names(w);
	for (uint64_t i = 0; i < n; i++) {
		op = an_op(i);
		writer_op(w, &op);
		rq = a_request(i);
		if (i % 3 == 0)
			writer_request(w, &rq);
		if (i % 1009 == 0)
			writer_flush(w);
	}
	writer_close(w);
	while (!writer_end(w, "{\"ended\":\"ended\",\"ops\":1,\"lost\":{\"ops\":5}}"))
		;
}

struct counts {
	uint64_t ops, requests, ns;
	uint64_t named;			/* operations whose thread and file are known */
	int result;
	bool ended;
	struct reason why;
};

static struct counts file_read(FILE *f)
{
	struct recording rec;
	struct cap_event ev;
	struct counts c = {};

	c.result = recording_open(&rec, f, "test", &c.why);
	while (!c.result) {
		c.result = recording_next(&rec, &ev, &c.why);
		if (c.result <= 0)
			break;
		c.ops += ev.kind == CHUNK_OPS;
		c.requests += ev.kind == CHUNK_REQUESTS;
		c.named += ev.kind == CHUNK_OPS && catalog_thread(&rec.catalog, ev.op.owner)->tid &&
			   catalog_file(&rec.catalog, ev.op.file)->ino;
		c.ns += ev.kind == CHUNK_OPS ? cap_op_total(&ev.op) : 0;
		c.result = 0;
	}
	c.ended = rec.reader.ended;
	recording_close(&rec);
	return c;
}

static void what_is_written_is_read(void **state)
{
	enum { N = 40009 };
	FILE *f = tmpfile();
	struct writer w = {};
	uint64_t ns = 0, i = 0;
	struct recording rec;
	struct cap_event ev;
	struct reason why;
	struct cap_op op;

	(void)state;
	file_write(fileno(f), N, &w);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.ops, N);
	writer_done(&w);
	rewind(f);
	assert_int_equal(recording_open(&rec, f, "test", &why), 0);
	assert_int_equal(rec.header.monotonic_ns, 1000);
	assert_int_equal(rec.header.vfs_kinds, 1 << OP_READ);
	while (recording_next(&rec, &ev, &why) > 0) {
		if (ev.kind != CHUNK_OPS)
			continue;
		op = an_op(i++);
		assert_memory_equal(&op, &ev.op, sizeof(op));
		ns += cap_op_total(&op);
	}
	assert_int_equal(i, N);
	assert_true(rec.reader.ended);
	assert_int_equal(rec.ending.lost[LOST_OPS], 5);
	assert_string_equal(catalog_fs(&rec.catalog, CAP_FS_FIRST), "ext4");
	assert_int_equal(catalog_thread(&rec.catalog, 1)->tid, 13);
	assert_int_equal(catalog_file(&rec.catalog, 2)->ino, 100);
	assert_int_equal(catalog_file(&rec.catalog, 3)->ino, 0);
	assert_true(ns);
	recording_close(&rec);
	fclose(f);
}

static char *file_bytes(uint64_t n, size_t *ret_len)
{
	FILE *f = tmpfile();
	struct writer w = {};
	char *bytes;

	file_write(fileno(f), n, &w);
	*ret_len = lseek(fileno(f), 0, SEEK_END);
	bytes = malloc(*ret_len);
	assert_int_equal(pread(fileno(f), bytes, *ret_len, 0), *ret_len);
	writer_done(&w);
	fclose(f);
	return bytes;
}

static void cut_off_at_any_byte(void **state)
{
	size_t len, whole = 0;
	char *bytes = file_bytes(101, &len);
	struct counts c, last = {};
	FILE *f;

	(void)state;
	for (size_t n = 1; n <= len; n++) {
		f = fmemopen(bytes, n, "r");
		c = file_read(f);
		fclose(f);
		assert_true(c.ops >= last.ops && c.requests >= last.requests);
		assert_true(c.ended ? c.result == 0 : c.result == -1 && c.why.exit == EXIT_FAILED);
		whole += c.ended;
		last = c;
	}
	assert_int_equal(last.ops, 101);
	assert_int_equal(last.requests, 34);
	assert_true(whole > 1); /* without the index, too */
	free(bytes);
}

static void any_byte_changed_is_noticed(void **state)
{
	size_t len, undetected = 0;
	char *bytes = file_bytes(23, &len);
	struct counts c;
	FILE *f;

	(void)state;
	for (size_t n = 0; n < len; n++) {
		bytes[n] ^= 0x41;
		f = fmemopen(bytes, len, "r");
		c = file_read(f);
		fclose(f);
		undetected += c.result == 0;
		bytes[n] ^= 0x41;
	}
	/* the index, its trailer, and four bytes that are not in use */
	assert_true(undetected < 200);
	free(bytes);
}

/* A disk that is full: the file ends in order, and all is recorded or lost. */
static void a_full_disk(void **state)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	struct counts c;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t size = 600; size < 40000; size += 997) {
		struct rlimit limit = { size, RLIM_INFINITY };
		FILE *f = tmpfile();
		struct writer w = {};

		setrlimit(RLIMIT_FSIZE, &limit);
		file_write(fileno(f), 4001, &w);
		setrlimit(RLIMIT_FSIZE, &none);
		rewind(f);
		c = file_read(f);
		assert_int_equal(w.ops + w.lost_ops, 4001);
		assert_int_equal(w.requests + w.lost_requests, 1334);
		assert_int_equal(c.ops, w.ops);
		assert_int_equal(c.requests, w.requests);
		assert_true(c.ended || size < 1000);
		assert_true(!w.err == (w.lost_ops + w.lost_requests == 0));
		writer_done(&w);
		fclose(f);
	}
}

static void only_the_last_is_kept(void **state)
{
	struct writer w = { .keep_ns = 50000 };
	FILE *f = tmpfile();
	struct counts c;

	(void)state;
	file_write(fileno(f), 10007, &w);
	rewind(f);
	c = file_read(f);
	assert_int_equal(w.ops + w.dropped_ops, 10007);
	assert_true(w.dropped_ops > 0 && w.ops > 0);
	assert_int_equal(c.ops, w.ops);
	assert_int_equal(c.requests, w.requests);
	assert_true(c.ended);
	writer_done(&w);
	fclose(f);
}

static void a_size_is_kept_to(void **state)
{
	struct writer w = { .max_bytes = 30000 };
	FILE *f = tmpfile();
	struct counts c;

	(void)state;
	file_write(fileno(f), 10007, &w);
	assert_int_equal(w.err, -EFBIG);
	assert_true(w.bytes < 31000);
	assert_int_equal(w.ops + w.lost_ops, 10007);
	rewind(f);
	c = file_read(f);
	assert_int_equal(c.ops, w.ops);
	assert_true(c.ended);
	writer_done(&w);
	fclose(f);
}

enum { RING = 3 };

/* Files of a ring, as a recorder has them. */
struct ring {
	struct writer w;
	int fds[RING];
	unsigned int at, used;
	uint64_t closed, removed;	/* operations in full files, and in those replaced */
	uint64_t in[RING];		/* operations of each that is full */
};

static int ring_next(void *arg)
{
	struct ring *r = arg;
	unsigned int next = (r->at + 1) % RING;

	assert_true(writer_end(&r->w, "{\"ended\":\"full\"}"));
	r->in[r->at] = r->w.ops - r->closed;
	r->closed = r->w.ops;
	assert_int_equal(ftruncate(r->fds[next], 0), 0);
	assert_int_equal(lseek(r->fds[next], 0, SEEK_SET), 0);
	r->removed += r->in[next];
	r->at = next;
	r->used++;
	return writer_restart(&r->w, r->fds[next], header);
}

/* Each is a recording of its own, with all the names; what is in none was in one that is gone. */
static void a_ring_of_files(void **state)
{
	enum { N = 100003 };
	struct ring r = { .w = { .max_bytes = 30000, .next = ring_next, .next_arg = &r } };
	struct counts c;
	uint64_t ops = 0;
	FILE *f[RING];

	(void)state;
	for (int i = 0; i < RING; i++) {
		f[i] = tmpfile();
		r.fds[i] = fileno(f[i]);
	}
	file_write(r.fds[0], N, &r.w);
	assert_int_equal(r.w.err, 0);
	assert_int_equal(r.w.ops, N);
	assert_true(r.used > RING);
	for (int i = 0; i < RING; i++) {
		assert_true(lseek(r.fds[i], 0, SEEK_END) < 31000);
		rewind(f[i]);
		c = file_read(f[i]);
		assert_true(c.ended && c.ops > 0);
		assert_true(c.named == c.ops);
		ops += c.ops;
		fclose(f[i]);
	}
	assert_int_equal(ops + r.removed, N);
	writer_done(&r.w);
}

static void what_is_no_recording(void **state)
{
	char text[] = "PK\3\4 something else that is long enough";
	char later[16] = "iostrata\2\0\0";
	struct counts c;
	FILE *f;

	(void)state;
	f = fmemopen(text, sizeof(text), "r");
	c = file_read(f);
	assert_string_equal(c.why.error, "'test' is not a recording");
	fclose(f);
	f = fmemopen(later, sizeof(later), "r");
	c = file_read(f);
	assert_string_equal(c.why.error, "'test' has version 2 of the format");
	fclose(f);
}

/* What a live run would have said of it. */
static void replayed(void **state)
{
	struct replay r = { .conf = { .by = BY_FILE, .every_ns = 500000, .first_ns = 5000,
				      .slowest_max = 3 } };
	struct recording rec;
	struct cap_event ev;
	struct snapshot sn;
	struct reason why;
	struct writer w = {};
	FILE *f = tmpfile();
	uint64_t count = 0, rqs = 0;

	(void)state;
	file_write(fileno(f), 10007, &w);
	writer_done(&w);
	rewind(f);
	assert_int_equal(recording_open(&rec, f, "test", &why), 0);
	while (recording_next(&rec, &ev, &why) > 0)
		assert_int_equal(replay_add(&r, &rec, &ev, &why), 0);
	replay_end(&r, &rec);
	recording_close(&rec);
	assert_true(r.n_intervals > 5);
	for (size_t i = 0; i < r.n_intervals; i++) {
		assert_int_equal(replay_take(&r, i, &sn), 0);
		for (size_t n = 0; n < sn.n_ops; n++) {
			count += sn.ops[n].count;
			assert_true(!strcmp(sn.ops[n].by, "/d/f") || !strcmp(sn.ops[n].by, "/d/g"));
			assert_string_equal(sn.ops[n].fs, "ext4");
			assert_int_equal(sn.ops[n].unprobed_layers, 0);
			assert_int_equal(sn.ops[n].total_ns, sn.ops[n].strata[ST_SYSCALL] +
								     sn.ops[n].strata[ST_DEVICE]);
		}
		for (size_t n = 0; n < sn.n_rqs; n++)
			rqs += sn.rqs[n].count;
		snapshot_free(&sn);
	}
	assert_int_equal(count, 10007);
	assert_int_equal(rqs, 3336);
	assert_int_equal(r.intervals[r.n_intervals - 1].slowest[0].strata[ST_DEVICE], 10005000);
	replay_done(&r);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_keep_any_number),
		cmocka_unit_test(columns_that_are_no_columns),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(cut_off_at_any_byte),
		cmocka_unit_test(any_byte_changed_is_noticed),
		cmocka_unit_test(a_full_disk),
		cmocka_unit_test(only_the_last_is_kept),
		cmocka_unit_test(a_size_is_kept_to),
		cmocka_unit_test(a_ring_of_files),
		cmocka_unit_test(what_is_no_recording),
		cmocka_unit_test(replayed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
