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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/columns.h"
#include "base/names.h"
#include "base/reason.h"
#include "capture/batch.h"
#include "capture/event_row.h"
#include "base/opts.h"
#include "capture/replay.h"
#include "capture/writer.h"
#include "host/limits.h"
#include "json_seen.h"

static const char header[] = "{\"monotonic_ns\":1000,\"realtime_ns\":5000,\"ops\":true,"
			     "\"requests\":true,\"vfs_ops\":[\"read\"]}";

static const uint64_t edges[] = { 0,         1,          127,        128,        16383,
				  16384,     1ULL << 32, 1ULL << 62, 1ULL << 63, UINT64_MAX - 1,
				  UINT64_MAX };

enum { EDGES = sizeof(edges) / sizeof(*edges) };

/* A row for each two numbers, with @i the second. */
static void rows_add(struct rowpack *c, int i)
{
	for (int k = 0; k < EDGES; k++) {
		const uint64_t row[] = { edges[k], edges[i], 4711 };

		assert_int_equal(rowpack_add(c, row), 0);
	}
}

/* Adds the same rows as a span, at once. */
static void rows_add_span(struct rowpack *c, int i)
{
	static const uint64_t same = 4711;
	const struct pack_values columns[] = { { edges, 1 }, { &edges[i], 0 }, { &same, 0 } };

	assert_int_equal(rowpack_add_span(c, EDGES, columns), 0);
}

static void columns_keep_any_number(void **state)
{
	static const pack_codes codes = { PACK_VALUE, PACK_DELTA, PACK_DELTA };
	struct rowpack c = { .codes = codes, .n = 3 };
	uint8_t bytes[4096];
	struct cursor cur;
	uint64_t row[4];
	size_t len;

	(void)state;
	for (int turn = 0; turn < 4; turn++) { /* they can be used again */
		for (int i = 0; i < EDGES; i++)
			(turn >> i % 2 & 1 ? rows_add_span : rows_add)(&c, i);
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

/* Wherever it begins, and in either code. */
static void columns_that_begin_to_vary(void **state)
{
	enum { ROWS = 200 };
	static const pack_codes codes = { PACK_VALUE, PACK_DELTA };
	static const int from[] = { 0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 191, 192, 199, 200 };
	struct rowpack c = { .codes = codes, .n = 2 };
	uint8_t bytes[8192];
	struct cursor cur;
	uint64_t row[2];
	size_t len;

	(void)state;
	for (size_t f = 0; f < sizeof(from) / sizeof(*from); f++) {
		for (int i = 0; i < ROWS; i++) {
			bool same = i < from[f];
			const uint64_t in[] = { same ? 300 : 7 + i, same ? 300 : 7 - i };

			assert_int_equal(rowpack_add(&c, in), 0);
		}
		assert_int_equal(c.rows, ROWS);
		assert_true(rowpack_size(&c) <= sizeof(bytes));
		len = rowpack_put(&c, bytes, NULL, 0);
		assert_true(from[f] < ROWS || len < 20);
		assert_int_equal(cursor_open(&cur, 2, ROWS, bytes, len), 0);
		for (int i = 0; i < ROWS; i++) {
			assert_int_equal(cursor_next(&cur, row), 1);
			assert_int_equal(row[0], i < from[f] ? 300 : 7 + i);
			assert_int_equal(row[1], i < from[f] ? 300 : (uint64_t)(7 - i));
		}
	}
	rowpack_done(&c);
}

/* Codes and values of a row go by @order, whether a column varies or not. */
static void columns_in_another_order_than_rows(void **state)
{
	static const pack_codes codes = { PACK_VALUE, PACK_DELTA, PACK_VALUE, PACK_VALUE };
	static const pack_order order = { 1, 2, 0, 3 };
	struct rowpack c = { .codes = codes, .order = order, .n = 4 };
	uint64_t row[4], in[4] = { 0, 1000, 7, 2000 };
	uint8_t bytes[256];
	struct cursor cur;
	size_t len;

	(void)state;
	for (in[0] = 1; in[0] <= 3; in[0]++, in[1] += 10)
		assert_int_equal(rowpack_add(&c, in), 0);
	len = rowpack_put(&c, bytes, NULL, 0);
	assert_true(bytes[0] == 4 &&
		    bytes[1] == PACK_DELTA); /* the first column is that of in[1] */
	assert_int_equal(cursor_open(&cur, 4, 3, bytes, len), 0);
	cursor_order(&cur, order);
	for (unsigned int i = 0; i < 3; i++) {
		const uint64_t wanted[] = { i + 1, 1000 + 10 * i, 7, 2000 };

		assert_int_equal(cursor_next(&cur, row), 1);
		assert_memory_equal(row, wanted, sizeof(row));
	}
	rowpack_done(&c);
}

static void columns_that_are_no_columns(void **state)
{
	static const uint8_t too_long[] = { 1,    0,    11,   0xff, 0xff, 0xff, 0xff,
					    0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0 };
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

/* The second column ends early: rows before that are whole, and none follows. */
static void a_column_that_ends_early(void **state)
{
	enum { ROWS = 41, THERE = 23 };
	uint8_t bytes[5 + ROWS + THERE] = { 2, PACK_VALUE, ROWS };
	struct cursor cur;
	uint64_t row[2];

	(void)state;
	bytes[3 + ROWS] = PACK_DELTA;
	bytes[4 + ROWS] = THERE;
	for (int i = 0; i < ROWS; i++)
		bytes[3 + i] = i;
	memset(bytes + 5 + ROWS, 2, THERE); /* one more each */
	assert_int_equal(cursor_open(&cur, 2, ROWS, bytes, sizeof(bytes)), 0);
	for (int i = 0; i < THERE; i++) {
		assert_int_equal(cursor_next(&cur, row), 1);
		assert_int_equal(row[0], i);
		assert_int_equal(row[1], i + 1);
	}
	assert_int_equal(cursor_next(&cur, row), -EBADMSG);
	assert_int_equal(cursor_next(&cur, row), -EBADMSG);
}

/* The first of two columns ends early, and the second is whole. */
static void a_column_before_another_ends_early(void **state)
{
	static const uint8_t bytes[] = { 2, PACK_VALUE, 1, 7, PACK_VALUE, 3, 4, 5, 6 };
	struct cursor cur;
	uint64_t row[2];

	(void)state;
	assert_int_equal(cursor_open(&cur, 2, 3, bytes, sizeof(bytes)), 0);
	assert_int_equal(cursor_next(&cur, row), 1);
	assert_true(row[0] == 7 && row[1] == 4);
	assert_int_equal(cursor_next(&cur, row), -EBADMSG);
}

/* A number of each length, with any number of bytes behind it. */
static void numbers_of_any_length(void **state)
{
	uint8_t bytes[VARINT_MAX + 9];
	const uint8_t *at;
	uint64_t v, got;
	size_t len;

	(void)state;
	for (int bits = 0; bits <= 64; bits++) {
		v = bits ? UINT64_MAX >> (64 - bits) : 0;
		memset(bytes, 0xff, sizeof(bytes));
		len = varint_put(bytes, v) - bytes;
		for (size_t n = 0; n <= sizeof(bytes); n++) {
			at = bytes;
			assert_int_equal(varint_get(&at, bytes + n, &got), n >= len);
			assert_ptr_equal(at, n >= len ? bytes + len : bytes);
			assert_true(n < len || got == v);
		}
		v &= 0x8123456789abcdef; /* each place has bits of its own */
		len = varint_put(bytes, v) - bytes;
		at = bytes;
		assert_true(varint_get(&at, bytes + sizeof(bytes), &got));
		assert_true(got == v && at == bytes + len);
	}
}

static struct stored_op an_op(uint64_t i)
{
	struct stored_op op = { .start_ns = 2000 + 100 * i,
				.owner = 1,
				.file = 1 + i % 2,
				.kind = OP_READ,
				.fs = STORED_FS_FIRST,
				.offset = i * 4096,
				.len = 4096,
				.ret = i % 7 ? 4096 : (uint64_t)-EIO,
				.cache = CACHE_HIT };

	op.strata[ST_SYSCALL] = 100 + i;
	op.strata[ST_DEVICE] = i % 3 ? 0 : 1000 * i;
	return op;
}

static struct stored_request a_request(uint64_t i)
{
	return (struct stored_request){ .q_ns = 3000 + i,
					.tag_ns = 1,
					.queue_ns = 2,
					.device_ns = 1000 + i,
					.dev = 7 << 20,
					.sector = 8 * i,
					.bytes = 4096,
					.op = RQ_READ };
}

static void add_names(struct writer *w)
{
	struct stored_name thread = { NAME_THREAD, 1, 12, 13, 14, 2 };
	struct stored_name file = { NAME_FILE, 1, FILE_KEY(8 << 20, 0, 3), 99, STORED_FILE_COMPLETE,
				    4 };
	struct stored_name fs = { NAME_FS, STORED_FS_FIRST, 1 << OP_READ, 0, 0, 4 };

	writer_name(w, &thread, "dd");
	writer_name(w, &file, "f\0d");
	file.id = 2;
	file.b = 100;
	writer_name(w, &file, "g\0d");
	writer_name(w, &fs, "ext4");
}

/* The last name of an id is the one that counts, and the ones before do not add up in memory. */
static void names_replace_each_other(void **state)
{
	struct stored_name name = { NAME_FILE, 1, FILE_KEY(8 << 20, 0, 3), 99, STORED_FILE_COMPLETE,
				    0 };
	char text[PATH_BYTES];
	struct writer w = {};
	struct recording rec;
	struct stored_event ev;
	struct reason why;
	FILE *f = tmpfile();

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	for (int i = 0; i < 10007; i++) {
		name.text_len = i % 2 ? 500 : i % 101;
		memset(text, 'a' + i % 23, name.text_len);
		writer_name(&w, &name, text);
	}
	name.id = 2;
	name.text_len = 4;
	writer_name(&w, &name, "g\0d");
	writer_close(&w);
	assert_true(writer_end(&w, "{}"));
	writer_done(&w);
	rewind(f);
	assert_int_equal(recording_open(&rec, f, "test", &why), 0);
	assert_int_equal(recording_next(&rec, &ev, &why), 0);
	assert_int_equal(rec.catalog.n_files, 3);
	assert_int_equal(rec.catalog.files[1].len, 10006 % 101);
	assert_int_equal(rec.catalog.files[1].names[0], 'a' + 10006 % 23);
	assert_int_equal(rec.catalog.files[1].room, 512);
	assert_memory_equal(rec.catalog.files[2].names, "g\0d", 4);
	/* all of it is in one block, less than a quarter of it in use */
	assert_true(rec.catalog.block_left > 3 << 14);
	recording_close(&rec);
	fclose(f);
}

/* A recording of @n operations, and a third of that of requests. */
static void file_write(int fd, uint64_t n, struct writer *w)
{
	char late[64];
	struct stored_op op;
	struct stored_request rq;

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
	if (w->keep_ns) {
		snprintf(late, sizeof(late), "{\"monotonic_ns\":%llu}",
			 (unsigned long long)writer_tail_since(w));
		writer_tail_begin(w, late);
	}
	writer_close(w);
	while (!writer_end(w, "{\"ended\":\"ended\",\"ops\":1,\"lost\":{\"ops\":5}}"))
		;
}

struct counts {
	uint64_t ops, requests, named, losses;
	uint64_t begin_ns, first_ns; /* by the header; the earliest end of a record */
	int result;
	bool ended;
	struct reason why;
};

static struct counts file_read(FILE *f)
{
	struct recording rec;
	struct stored_event ev;
	struct counts c = { .first_ns = UINT64_MAX };

	c.result = recording_open(&rec, f, "test", &c.why);
	c.begin_ns = rec.header.monotonic_ns;
	while (!c.result) {
		c.result = recording_next(&rec, &ev, &c.why);
		if (c.result <= 0)
			break;
		c.ops += ev.kind == CHUNK_OPS;
		c.requests += ev.kind == CHUNK_REQUESTS;
		c.losses += ev.kind == CHUNK_LOSSES;
		if (ev.kind != CHUNK_LOSSES && stored_event_end(&ev) < c.first_ns)
			c.first_ns = stored_event_end(&ev);
		/* a name is before what refers to it */
		c.named += ev.kind == CHUNK_OPS && catalog_file(&rec.catalog, ev.op.file)->ino;
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
	struct stored_event ev;
	struct reason why;
	struct stored_op op;

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
		ns += stored_op_total(&op);
	}
	assert_int_equal(i, N);
	assert_true(rec.reader.ended);
	assert_int_equal(rec.ending.lost[LOST_OPS], 5);
	assert_string_equal(catalog_fs(&rec.catalog, STORED_FS_FIRST), "ext4");
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
		assert_true(c.ended || n < CAPTURE_HEAD ||
			    strstr(c.why.error, "'test' is cut off at byte "));
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

/* Handles are counted only if they are lost: in memory, in a chunk that is not written, or in a
 * chunk dropped to make room for the end. */
static void handles_without_room_are_counted(void **state)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit less = none;
	struct stored_op op = { .start_ns = 1000, .kind = OP_HANDLE, .owner = 1 };
	struct writer w = {};
	FILE *f = tmpfile();

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	for (int i = 0; i < 23; i++)
		writer_handle(&w, &op);
	writer_flush(&w);
	assert_int_equal(w.lost_others, 0);
	less.rlim_cur = w.bytes;
	setrlimit(RLIMIT_FSIZE, &less);
	for (uint64_t i = 0; i < 101; i++) {
		op.start_ns = op.len = 12345 * i * i;
		op.ret = op.offset = 54321 * i * i * i;
		writer_handle(&w, &op);
	}
	writer_flush(&w);
	assert_int_equal(w.lost_others, 101);
	writer_handle(&w, &op);
	assert_int_equal(w.lost_others, 102);
	while (!writer_end(&w, header))
		;
	assert_int_equal(w.lost_others, 102 + 23);
	setrlimit(RLIMIT_FSIZE, &none);
	writer_done(&w);
	fclose(f);
}

static void only_the_last_is_kept(void **state)
{
	/* the last chunk but one ends 1,017,324 ns before the last */
	struct writer w = { .keep_ns = 1000000 };
	FILE *f = tmpfile();
	struct counts c;

	(void)state;
	file_write(fileno(f), 10007, &w);
	rewind(f);
	c = file_read(f);
	assert_int_equal(w.ops, 10007 - 1 - 9 * 1009);
	assert_int_equal(w.ops + w.dropped_ops, 10007);
	assert_int_equal(w.requests + w.dropped_requests, 3336);
	assert_int_equal(c.named, c.ops);
	assert_int_equal(c.ops, w.ops);
	assert_int_equal(c.requests, w.requests);
	assert_true(c.ended);
	assert_int_equal(c.begin_ns, c.first_ns); /* not where all that was dropped began */
	writer_done(&w);
	fclose(f);
}

/* The records from number @from to @to, a chunk for each 101. */
static void ops_add(struct writer *w, uint64_t from, uint64_t to)
{
	struct stored_op op;

	for (uint64_t i = from; i < to; i++) {
		op = an_op(i);
		writer_op(w, &op);
		if (i % 101 == 100)
			writer_flush(w);
	}
	writer_flush(w);
}

/* Reads a copy of the records in memory, as a process of its own would write it. */
static struct counts copy_read(const struct writer *w)
{
	struct writer copy;
	FILE *f = tmpfile();
	struct counts c;
	pid_t pid;

	pid = fork();
	if (!pid) {
		copy = *w;
		_exit(writer_tail_copy(&copy, fileno(f), header, "{\"ended\":\"ended\"}", 0) ? 1
											     : 0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	rewind(f);
	c = file_read(f);
	assert_true(c.ended);
	assert_int_equal(c.named, c.ops);
	fclose(f);
	return c;
}

static void each_copy_has_what_came_since_the_last(void **state)
{
	struct writer w = { .keep_ns = 1ULL << 60 };
	FILE *none = fopen("/dev/null", "w");

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(none), ""), 0);
	add_names(&w);
	ops_add(&w, 0, 1009);
	assert_int_equal(copy_read(&w).ops, 1009);
	assert_int_equal(copy_read(&w).ops, 1009); /* a copy changes nothing */
	writer_tail_forget(&w);
	assert_int_equal(w.ops, 0);
	assert_int_equal(copy_read(&w).ops, 0);
	ops_add(&w, 1009, 1032);
	assert_int_equal(w.ops, 23);
	assert_int_equal(copy_read(&w).ops, 23); /* which have their names */
	writer_done(&w);
	fclose(none);
}

static void memory_has_a_limit(void **state)
{
	struct writer w = { .keep_ns = 1ULL << 60, .keep_bytes = 20000 };
	FILE *none = fopen("/dev/null", "w");
	struct counts c;

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(none), ""), 0);
	add_names(&w);
	ops_add(&w, 0, 101);
	assert_int_equal(w.cut_ns, 0);
	ops_add(&w, 101, 10007);
	assert_true(w.tail.bytes <= 20000);
	assert_true(w.dropped_ops > 0);
	assert_int_equal(w.ops + w.dropped_ops, 10007);
	c = copy_read(&w);
	assert_int_equal(c.ops, w.ops);
	assert_true(w.cut_ns && c.first_ns > 100000); /* the oldest are gone */
	writer_tail_forget(&w);
	assert_int_equal(w.cut_ns, 0);
	writer_done(&w);
	fclose(none);
}

static void a_size_is_kept_to(void **state)
{
	struct writer w = { .max_bytes = 30000 };
	FILE *f = tmpfile();
	struct counts c;

	(void)state;
	file_write(fileno(f), 10007, &w);
	assert_int_equal(w.err, WRITER_FULL);
	assert_true(w.bytes < 31000);
	assert_true(w.last_at + CHUNK_HEAD + w.last.packed <= w.max_bytes);
	assert_int_equal(w.ops + w.lost_ops, 10007);
	assert_int_equal(w.requests + w.lost_requests, 3336);
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
	uint64_t closed, removed; /* operations in full files, and in those replaced */
	uint64_t in[RING];        /* operations of each that is full */
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

static void a_name_is_before_what_refers_to_it(void **state)
{
	struct stored_op op = an_op(0);
	struct writer w = {};
	FILE *f = tmpfile();
	struct counts c;

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	add_names(&w);
	for (int i = 0; i <= CHUNK_ROWS; i++) /* a chunk is full before anybody asks for it */
		writer_op(&w, &op);
	writer_close(&w);
	assert_true(writer_end(&w, "{}"));
	writer_done(&w);
	rewind(f);
	c = file_read(f);
	assert_int_equal(c.ops, CHUNK_ROWS + 1);
	assert_int_equal(c.named, c.ops);
	fclose(f);
}

/* Heads that are whole, but of what no writer would make. */
static void a_chunk_that_is_too_large(void **state)
{
	size_t len, at = CAPTURE_HEAD;
	uint8_t *bytes = (uint8_t *)file_bytes(23, &len);
	struct chunk_head h, was;
	struct counts c;
	FILE *f;

	(void)state;
	for (;; at += CHUNK_HEAD + was.packed) {
		assert_true(head_get(bytes + at, &was));
		if (was.kind == CHUNK_OPS)
			break;
	}
	for (int i = 0; i < 2; i++) {
		h = was;
		h.rows = i ? h.rows : CHUNK_ROWS + 1;
		h.raw += i;
		head_put(bytes + at, &h);
		f = fmemopen(bytes, len, "r");
		c = file_read(f);
		fclose(f);
		assert_int_equal(c.result, -1);
		assert_int_equal(c.ops, 0);
		assert_non_null(strstr(c.why.error, i ? "does not unpack" : "this is no chunk"));
	}
	free(bytes);
}

static void a_name_that_is_longer_than_all_text(void **state)
{
	static const pack_codes codes = { PACK_VALUE };
	const struct stored_name n = { NAME_THREAD, 1, 12, 13, 0, 3 };
	struct rowpack c = { .codes = codes, .n = STORED_COLUMNS(n) };
	struct catalog catalog;
	struct cursor rows;
	uint8_t bytes[256];
	size_t len;

	(void)state;
	for (size_t text = 2; text <= 3; text++) {
		assert_int_equal(catalog_init(&catalog), 0);
		assert_int_equal(rowpack_add(&c, (const uint64_t *)&n), 0);
		len = rowpack_put(&c, bytes, "cat", text);
		assert_int_equal(cursor_open(&rows, STORED_COLUMNS(n), 1, bytes, len), 0);
		assert_int_equal(catalog_add(&catalog, &rows), text == 3 ? 0 : -EBADMSG);
		catalog_done(&catalog);
	}
	rowpack_done(&c);
}

static void what_is_no_recording(void **state)
{
	char text[] = "PK\3\4 something else that is long enough";
	char later[16] = "iostrata\2\0\0";
	struct counts c;
	FILE *f;

	(void)state;
	f = fopen("/dev/null", "r");
	c = file_read(f);
	assert_string_equal(c.why.error, "'test' is empty");
	fclose(f);
	f = fmemopen(text, sizeof(text), "r");
	c = file_read(f);
	assert_string_equal(c.why.error, "'test' is not a recording");
	fclose(f);
	f = fmemopen(later, sizeof(later), "r");
	c = file_read(f);
	assert_string_equal(c.why.error, "'test' has version 2 of the format");
	fclose(f);
}

/* Reads the chunk at @at. */
static struct chunk_head chunk_at(struct reader *r, uint64_t at)
{
	struct reason why;

	assert_int_equal(fseek(r->f, at, SEEK_SET), 0);
	r->ended = false;
	assert_int_equal(reader_next(r, &why), 1);
	return r->head;
}

/* A reader of a part of the time skips chunks which are of another part by their heads and the
 * index. */
static void chunks_say_of_what_time_they_are(void **state)
{
	static const uint64_t starts[] = { 2000, 1500, 3000, 2500 };
	struct stored_loss loss = { 100, 4000, LOST_OPS, 5 };
	uint64_t times[CHUNK_KINDS][2] = { [CHUNK_OPS] = { 1607, 3107 },
					   [CHUNK_REQUESTS] = { 1510, 3010 },
					   [CHUNK_LOSSES] = { 4000, 4000 } };
	struct writer w = {};
	struct stored_index i;
	struct cursor index;
	struct chunk_head h;
	struct reader r, at;
	struct reason why;
	uint8_t trailer[CAPTURE_TRAILER];
	unsigned int seen = 0;
	FILE *f = tmpfile();

	(void)state;
	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	add_names(&w);
	for (int n = 0; n < 4; n++) {
		struct stored_op op = { .start_ns = starts[n], .strata = { 100, [ST_DEVICE] = 7 } };
		struct stored_request rq = {
			.q_ns = starts[n], .tag_ns = 1, .queue_ns = 2, .device_ns = 7
		};

		writer_op(&w, &op);
		writer_request(&w, &rq);
	}
	writer_loss(&w, &loss);
	writer_close(&w);
	assert_true(writer_end(&w, "{}"));
	assert_true(pread(fileno(f), trailer, sizeof(trailer), lseek(fileno(f), 0, SEEK_END) - 16));
	assert_memory_equal(trailer + 8, CAPTURE_INDEX_MAGIC, 8);
	rewind(f);
	assert_int_equal(reader_begin(&r, f, "test", &why), 0);
	rewind(f);
	assert_int_equal(reader_begin(&at, f, "test", &why), 0);
	assert_int_equal(chunk_at(&r, get_u32(trailer)).kind, CHUNK_INDEX);
	assert_int_equal(reader_rows(&r, STORED_COLUMNS(i), &index, &why), 0);
	while (cursor_next(&index, (uint64_t *)&i) > 0) {
		h = chunk_at(&at, i.offset);
		assert_int_equal(h.kind, i.kind);
		assert_int_equal(h.rows, i.rows);
		assert_int_equal(h.first_ns, i.first_ns);
		assert_int_equal(h.last_ns, i.last_ns);
		if (times[i.kind][0]) {
			assert_int_equal(h.first_ns, times[i.kind][0]);
			assert_int_equal(h.last_ns, times[i.kind][1]);
		}
		seen |= 1 << i.kind;
	}
	assert_int_equal(seen, 1 << CHUNK_HEADER | 1 << CHUNK_NAMES | 1 << CHUNK_OPS |
				       1 << CHUNK_REQUESTS | 1 << CHUNK_LOSSES | 1 << CHUNK_END);
	reader_done(&r);
	reader_done(&at);
	writer_done(&w);
	fclose(f);
}

static void beginning_and_end_are_as_written(void **state)
{
	const struct missing missing = { .stratum[ST_FS] = "no functions",
					 .requests = "no hooks",
					 .aio = "no probes" };
	char *argv[] = { "iostrata", "record", NULL };
	const struct header_trigger triggers[] = { { "fsync>100ms", 17, true, 132000000 },
						   { "SIGUSR1", 19, false, 0 } };
	struct header_run run = { "1",  argv,  &missing,   1 << OP_READ | 1 << OP_FSYNC,
				  true, false, clock_ns(), triggers,
				  2,    true };
	struct hist_bin bins[] = { { 7, 2 }, { 900, 3 } };
	struct server_row server = {
		.key = { .server = "daemon", .pid = 23, .opcode = 15, .protocol = SERVER_FUSE },
		.mount = "/mnt",
		.sums = { 5,
			  1,
			  2,
			  3,
			  4,
			  6,
			  7,
			  8,
			  9,
			  3,
			  17,
			  { [ST_SYSCALL] = 19, [ST_SLEEP] = 23 } },
		.hist = { bins, 2, 2 },
	};
	struct ending e, end = { 1,       2,   3,  { 11, 12, 13, 14, 15, 16, 17, 18 },
				 4,       5,   6,  false,
				 &server, 1,   {}, 7,
				 8,       true };
	char *text = header_text(&run);
	struct header h;

	(void)state;
	assert_non_null(text);
	json_seen(text);
	assert_int_equal(header_parse(&h, text, strlen(text)), 0);
	assert_string_equal(h.stratum[ST_FS], "no functions");
	assert_null(h.stratum[ST_VFS]);
	assert_string_equal(h.missing[MISSING_IN_REQUESTS], "no hooks");
	assert_string_equal(h.missing[MISSING_IN_AIO], "no probes");
	assert_null(h.missing[MISSING_IN_URING]);
	assert_int_equal(h.vfs_kinds, run.vfs_kinds);
	assert_true(h.has_ops && !h.has_requests && h.has_device_bytes && h.has_stacks);
	assert_true(h.kernel && h.host && h.n_mounts);
	assert_string_equal(h.trigger, "fsync>100ms, SIGUSR1");
	assert_true(h.monotonic_ns && h.realtime_ns > h.monotonic_ns);
	header_done(&h);
	free(text);
	text = ending_text(&end, "ended");
	assert_non_null(text);
	json_seen(text);
	assert_int_equal(ending_parse(&e, text, strlen(text)), 0);
	assert_memory_equal(&e, &end, offsetof(struct ending, is_early));
	assert_false(e.is_early);
	assert_true(e.has_stacks && e.stacks_lost == 7 && e.stacks_lost_ns == 8);
	assert_int_equal(e.n_servers, 1);
	assert_memory_equal(&e.servers->key, &server.key, sizeof(server.key));
	assert_memory_equal(&e.servers->sums, &server.sums, sizeof(server.sums));
	assert_string_equal(e.servers->mount, "/mnt");
	assert_int_equal(e.servers->hist.n, 2);
	assert_memory_equal(e.servers->hist.bins, bins, sizeof(bins));
	ending_done(&e);
	free(text);
}

/* Older recordings do not name the protocol. An unknown figure is not 0. */
static void protocols_of_servers(void **state)
{
	static const char old[] = "{\"servers\":[{\"server\":\"a\",\"op\":\"READ\",\"count\":1},"
				  "{\"server\":\"b\",\"opcode\":15,\"count\":1}]}";
	struct server_row server = { .key = { .server = "home", .op = "Tread" },
				     .sums = { .count = 5, .server_ns = 23, .max_ns = 7 } };
	struct ending e, end = { .servers = &server, .n_servers = 1 };
	char *text;

	(void)state;
	assert_int_equal(ending_parse(&e, old, strlen(old)), 0);
	assert_int_equal(e.servers[0].key.protocol, SERVER_NFS);
	assert_int_equal(e.servers[1].key.protocol, SERVER_FUSE);
	ending_done(&e);
	for (server.key.protocol = 0; server.key.protocol < SERVER_PROTOCOLS;
	     server.key.protocol++) {
		text = ending_text(&end, "ended");
		assert_non_null(text);
		json_seen(text);
		assert_int_equal(!!strstr(text, "\"sent_bytes\":null,\"received_bytes\":null"),
				 server.key.protocol >= SERVER_9P);
		assert_int_equal(ending_parse(&e, text, strlen(text)), 0);
		assert_memory_equal(&e.servers->key, &server.key, sizeof(server.key));
		assert_memory_equal(&e.servers->sums, &server.sums, sizeof(server.sums));
		ending_done(&e);
		free(text);
	}
}

/* Servers which no recorder writes are refused, and nothing is leaked. */
static void hostile_servers(void **state)
{
	static const char *const texts[] = {
		"{\"servers\":[{\"server\":\"a\",\"count\":0}]}",
		"{\"servers\":[{\"mount\":\"/mnt\",\"count\":1,\"hist\":[[70000,1]]}]}",
		"{\"servers\":[{\"count\":1},{\"count\":1,\"hist\":[[1,-1]]}]}",
		"{\"servers\":[{\"count\":1,\"hist\":[7]},7]}",
		"{\"servers\":[{\"count\":1,\"split\":2}]}",
		"{\"servers\":[{\"server\":\"a\",\"protocol\":\"tftp\",\"count\":1}]}",
	};
	struct ending e = {};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(ending_parse(&e, texts[i], strlen(texts[i])), -EBADMSG);
	assert_null(e.servers);
}

/* A recording gives the same rows and intervals as a live run would have. */
static void replayed(void **state)
{
	struct replay r = {
		.conf = { .by = BY_FILE, .every_ns = 500000, .first_ns = 5000, .slowest_max = 3 }
	};
	struct recording rec;
	struct stored_event ev;
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
	assert_int_equal(replay_end(&r, &rec, &why), 0);
	recording_close(&rec);
	assert_true(r.n_intervals > 5);
	for (size_t i = 0; i < r.n_intervals; i++) {
		assert_int_equal(replay_take(&r, i, &sn), 0);
		for (size_t n = 0; n < sn.n_ops; n++) {
			count += sn.ops[n].count;
			assert_true(!strcmp(sn.ops[n].by, "/d/f") || !strcmp(sn.ops[n].by, "/d/g"));
			assert_string_equal(sn.ops[n].fs, "ext4");
			assert_int_equal(sn.ops[n].missing_layers, 0);
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

/* Three threads of two processes; five operations and four requests, unlike in all that a row
 * has. */
static unsigned int few_probed = 1 << OP_READ; /* on ext4 */

static void few_write(FILE *f)
{
	const struct stored_name names[] = {
		{ NAME_THREAD, 1, 12, 12, 14, 4 },
		{ NAME_THREAD, 2, 12, 13, 14, 2 },
		{ NAME_THREAD, 3, 20, 20, 15, 2 },
		{ NAME_FILE, 1, FILE_KEY(8 << 20, 0, 3), 99,
		  STORED_FILE_COMPLETE | STORED_FILE_DELETED, 4 },
		{ NAME_CGROUP, 14, 0, 0, 0, 2 },
		{ NAME_DEVICE, 8 << 20, 0, 0, 0, 3 },
		{ NAME_CGROUP, 14, 0, 0, 0, 3 }, /* renamed */
		{ NAME_FS, STORED_FS_FIRST, few_probed, 0, 0, 4 },
	};
	static const char *const texts[] = {
		"main", "io", "sh", "f\0d", "/x", "sda", "/cg", "ext4"
	};
	const struct stored_op read = { .start_ns = 2000,
					.owner = 2,
					.file = 1,
					.kind = OP_READ,
					.fs = STORED_FS_BDEV,
					.offset = 8192,
					.len = 4096,
					.ret = 512,
					.cache = CACHE_MISS,
					.call = 17,
					.requests = 3,
					.device_bytes = 12288,
					.strata = { 100 } };
	const struct stored_request rq = { .q_ns = 3000,
					   .tag_ns = 1,
					   .queue_ns = 2,
					   .device_ns = 1000,
					   .owner = 2,
					   .file = 1,
					   .op = RQ_READ,
					   .dev = 8 << 20 | 3,
					   .bytes = 4096,
					   .requeues = 5 };
	struct writer w = {};

	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	for (int i = 0; i < 8; i++)
		writer_name(&w, &names[i], texts[i]);
	for (int i = 0; i < 5; i++) {
		struct stored_op op = read;

		op.owner = i < 2 ? 2 : i < 4 ? 1 : 3;
		op.kind = i == 3 ? OP_FSYNC : i == 4 ? OP_WRITE : OP_READ;
		op.ret = i == 1 ? (uint64_t)-EIO : 512;
		op.strata[ST_DEVICE] = 1000 * (i ^ 3);
		op.fs = i == 4 ? STORED_FS_FIRST : STORED_FS_BDEV;
		writer_op(&w, &op);
	}
	for (int i = 0; i < 4; i++) {
		struct stored_request one = rq;

		one.owner = i < 3 ? 2 : 0;
		one.flags = i == 1   ? STORED_RQ_FAILED
			    : i == 2 ? STORED_RQ_BIO_BASED
			    : i == 3 ? STORED_RQ_UNQUEUED
				     : 0;
		writer_request(&w, &one);
	}
	writer_close(&w);
	assert_true(writer_end(&w, "{}"));
	writer_done(&w);
}

/* The first interval of what ended from @from_ns on and before @to_ns. */
static void few_replay(struct replay *r, uint64_t from_ns, uint64_t to_ns, struct snapshot *sn)
{
	struct recording rec;
	struct stored_event ev;
	struct reason why;
	FILE *f = tmpfile();

	few_write(f);
	rewind(f);
	assert_int_equal(recording_open(&rec, f, "test", &why), 0);
	rec.from_ns = from_ns;
	rec.to_ns = to_ns;
	while (recording_next(&rec, &ev, &why) > 0)
		assert_int_equal(replay_add(r, &rec, &ev, &why), 0);
	assert_int_equal(replay_end(r, &rec, &why), 0);
	recording_close(&rec);
	fclose(f);
	assert_int_equal(replay_take(r, 0, sn), 0);
}

/* The losses of interval @i, of the kinds of @kind. */
static uint64_t lost_at(struct replay *r, size_t i, enum lost kind)
{
	struct snapshot sn;
	uint64_t lost;

	assert_int_equal(replay_take(r, i, &sn), 0);
	lost = sn.lost[kind];
	snapshot_free(&sn);
	return lost;
}

/* Writes operations that end at 2,000, 3,000 and 5,000 ns of CLOCK_MONOTONIC, and losses of two
 * times. The recording began at 1,000. */
static void losses_write(FILE *f)
{
	static const char begun[] = "{\"schema\":\"iostrata.capture.v1\",\"clocks\":"
				    "{\"monotonic_ns\":1000,\"realtime_ns\":1000}}";
	struct stored_op op = { .start_ns = 1900, .strata = { 100 }, .kind = OP_READ };
	struct writer w = {};

	assert_int_equal(writer_begin(&w, fileno(f), begun), 0);
	writer_op(&w, &op);
	writer_loss(&w, &(struct stored_loss){ 1500, 2500, LOST_OPS, 101 });
	op.start_ns = 2900;
	writer_op(&w, &op);
	writer_loss(&w, &(struct stored_loss){ 4000, 4600, LOST_OPS, 23 });
	writer_loss(&w, &(struct stored_loss){ 4000, 4600, LOST_N, 7 });
	op.start_ns = 4900;
	writer_op(&w, &op);
	writer_close(&w);
	assert_true(writer_end(&w, "{\"duration_ns\":4500,\"lost\":{\"ops\":127,\"names\":3}}"));
	writer_done(&w);
	rewind(f);
}

/* Reads the losses from @from_ns to @to_ns into @r, and into its first intervals. */
static void losses_replay(struct replay *r, struct recording *rec, uint64_t from_ns, uint64_t to_ns)
{
	struct stored_event ev;
	struct reason why;
	FILE *f = tmpfile();

	losses_write(f);
	assert_int_equal(recording_open(rec, f, "test", &why), 0);
	rec->from_ns = from_ns;
	rec->to_ns = to_ns;
	while (recording_next(rec, &ev, &why) > 0)
		assert_int_equal(replay_add(r, rec, &ev, &why), 0);
	assert_int_equal(replay_end(r, rec, &why), 0);
	fclose(f);
}

/* Operations of 500 us that waited for others, from two threads of one name, and one for nobody.
 * One is a wait in a submission, whose request has the same wait. The last and longest waited for a
 * limit. */
static void waits_write(FILE *f)
{
	static const struct {
		unsigned int kind, who, thread;
		uint64_t ns;
	} waits[] = {
		{ OP_WRITE, WHO_LOCK, 2, 150000 },  { OP_READ, WHO_LOCK, 1, 110000 },
		{ OP_READ, WHO_NONE, 0, 0 },        { OP_READ, WHO_LOCK, 1, 130000 },
		{ OP_READ, WHO_N, 1, 400000 },      { OP_READ, WHO_FILE_LOCK, 1, 400001 },
		{ OP_SUBMIT, WHO_LOCK, 1, 450000 }, { OP_WRITE, WHO_LIMIT, 3, 100001 },
	};
	const uint64_t limit = limit_id(57, LIMIT_WRITES, LIMIT_IO_COST);
	struct writer w = {};

	assert_int_equal(writer_begin(&w, fileno(f), "{\"monotonic_ns\":1000}"), 0);
	writer_name(&w, &(struct stored_name){ NAME_THREAD, 1, 31, 37, 0, 6 }, "holder");
	writer_name(&w, &(struct stored_name){ NAME_THREAD, 2, 41, 43, 0, 6 }, "holder");
	writer_name(&w, &(struct stored_name){ NAME_THREAD, 3, 51, 53, 57, 6 }, "waiter");
	writer_name(&w, &(struct stored_name){ NAME_LIMIT, limit, .text_len = 12 },
		    "weight=50\t/x");
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		struct stored_op op = { .start_ns = 2000 + 500000 * i,
					.kind = waits[i].kind,
					.who = waits[i].who,
					.who_thread = waits[i].thread,
					.who_ns = waits[i].ns,
					.who_op = OP_FSYNC,
					.who_limit = waits[i].who == WHO_LIMIT ? limit : 0,
					.strata = { 500000 + (waits[i].who == WHO_LIMIT) } };

		writer_op(&w, &op);
	}
	writer_close(&w);
	assert_true(writer_end(&w, "{\"duration_ns\":4500000}"));
	writer_done(&w);
	rewind(f);
}

/* Capture: waits for others add up by process, reason and kind of the operation that waited, the
 * largest sum first. */
static void waits_for_others_add_up(void **state)
{
	static const struct who_row want[] = {
		{ .key = { .pid = 31, .op = OP_READ, .who = WHO_FILE_LOCK },
		  .sums = { 1, 400001, 400001 } },
		{ .key = { .pid = 31, .op = OP_READ, .who = WHO_LOCK },
		  .sums = { 2, 240000, 130000 } },
		{ .key = { .pid = 41, .op = OP_WRITE, .who = WHO_LOCK },
		  .sums = { 1, 150000, 150000 } },
		{ .key = { .pid = 51,
			   .op = OP_WRITE,
			   .who = WHO_LIMIT,
			   .limit = LIMIT_IO_COST,
			   .cgroup = 57 },
		  .sums = { 1, 100001, 100001 } },
	};
	struct replay r = { .conf.slowest_max = 1 };
	struct recording rec;
	struct stored_event ev;
	struct snapshot sn;
	struct reason why;
	FILE *f = tmpfile();

	(void)state;
	waits_write(f);
	assert_int_equal(recording_open(&rec, f, "test", &why), 0);
	while (recording_next(&rec, &ev, &why) > 0)
		assert_int_equal(replay_add(&r, &rec, &ev, &why), 0);
	assert_int_equal(replay_end(&r, &rec, &why), 0);
	assert_int_equal(replay_take(&r, 0, &sn), 0);
	assert_true(sn.has_whos);
	assert_int_equal(sn.n_whos, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(sn.whos[i].key.pid, want[i].key.pid);
		assert_int_equal(sn.whos[i].key.op, want[i].key.op);
		assert_int_equal(sn.whos[i].key.who, want[i].key.who);
		assert_int_equal(sn.whos[i].key.limit, want[i].key.limit);
		if (want[i].key.limit)
			assert_int_equal(sn.whos[i].key.cgroup, want[i].key.cgroup);
		else
			assert_string_equal(sn.whos[i].key.comm, "holder");
		assert_memory_equal(&sn.whos[i].sums, &want[i].sums, sizeof(want[i].sums));
	}
	assert_string_equal(sn.whos[3].limit, "weight=50\t/x");
	assert_int_equal(r.intervals[0].slowest[0].by.thread.limit, LIMIT_IO_COST);
	assert_string_equal(r.intervals[0].slowest[0].by_limit, "weight=50\t/x");
	snapshot_free(&sn);
	replay_done(&r);
	recording_close(&rec);
	fclose(f);
}

/* Capture: a part of the time has the losses of this time, and intervals have all of them. */
static void losses_belong_to_their_time(void **state)
{
	struct replay r = { .conf = { .every_ns = 1000, .first_ns = 1000 } };
	struct recording rec;

	(void)state;
	losses_replay(&r, &rec, 0, UINT64_MAX);
	assert_int_equal(recording_lost(&rec, 0), 127 + 3);
	assert_int_equal(recording_lost(&rec, 1U << LOST_OPS), 3); /* names */
	assert_int_equal(recording_lost(&rec, 1U << LOST_OPS | 1U << LOST_NAMES), 0);
	assert_int_equal(lost_at(&r, 0, LOST_OPS), 50); /* half of 101, from 1,500 to 2,000 */
	assert_int_equal(lost_at(&r, 1, LOST_OPS), 51);
	assert_int_equal(lost_at(&r, 2, LOST_OPS), 0);
	assert_int_equal(lost_at(&r, 3, LOST_OPS), 23);
	recording_close(&rec);
	replay_done(&r);
	r = (struct replay){ .conf = { .first_ns = 1000 } };
	losses_replay(&r, &rec, 3500, 5500);
	assert_int_equal(lost_at(&r, 0, LOST_OPS), 23);
	assert_int_equal(recording_lost(&rec, 0), 23 + 3 + 3); /* 3 operations, 3 names: no time */
	recording_close(&rec);
	replay_done(&r);
	r = (struct replay){ .conf = { .first_ns = 1000 } };
	losses_replay(&r, &rec, 2600, 3500);
	assert_int_equal(lost_at(&r, 0, LOST_OPS), 0);
	recording_close(&rec);
	replay_done(&r);
}

/* A hostile file of a few kilobytes has millions. */
static void losses_beyond_the_limit_have_no_time(void **state)
{
	const struct stored_loss loss = { 1500, 2500, LOST_OPS, 1 };
	const uint64_t total[LOST_N] = { [LOST_OPS] = LOSSES_TIMED + 7 };
	uint64_t lost[LOST_N] = {};
	struct losses l = {};

	(void)state;
	for (int i = 0; i < LOSSES_TIMED + 7; i++)
		assert_int_equal(losses_add(&l, &loss), 0);
	assert_int_equal(l.n, LOSSES_TIMED);
	losses_untimed(&l, total, lost);
	assert_int_equal(lost[LOST_OPS], 7);
	losses_done(&l);
}

static void rows_have_all_of_an_operation_or_request(void **state)
{
	struct replay r = { .conf = { .by = BY_NONE } };
	const struct op_row *op;
	const struct rq_row *rq;
	struct snapshot sn;

	(void)state;
	few_replay(&r, 0, UINT64_MAX, &sn);
	assert_int_equal(sn.n_ops, 3);
	op = &sn.ops[0];
	assert_string_equal(op->fs, "bdev");
	assert_int_equal(op->count, 3);
	assert_int_equal(op->errors, 1);
	assert_int_equal(op->bytes, 2 * 512);
	assert_int_equal(op->max_ns, 3100);
	assert_int_equal(op->missing_layers, 1 << ST_FS);
	assert_int_equal(sn.ops[1].key.op, OP_FSYNC);
	assert_int_equal(sn.ops[1].bytes, 0); /* its result is no length */
	assert_int_equal(sn.ops[2].missing_layers, 1 << ST_VFS | 1 << ST_FS);
	assert_int_equal(sn.n_rqs, 2);
	rq = &sn.rqs[0];
	assert_string_equal(rq->disk, "8:3");
	assert_int_equal(rq->major, 8);
	assert_int_equal(rq->minor, 3);
	assert_int_equal(rq->count, 3);
	assert_int_equal(rq->errors, 1);
	assert_int_equal(rq->bytes, 2 * 4096);
	assert_int_equal(rq->requeues, 3 * 5);
	assert_int_equal(rq->unqueued, 1);
	assert_int_equal(rq->tag_ns, 3 * 1);
	assert_int_equal(rq->queue_ns, 3 * 2);
	assert_int_equal(rq->device_ns, 3 * 1000);
	assert_int_equal(rq->max_ns, 1000);
	assert_int_equal(sn.rqs[1].key.bio_based, 1);
	snapshot_free(&sn);
	replay_done(&r);
	r.conf.queued = true;
	r.conf.layer = LAYER_BLK;
	few_replay(&r, 0, UINT64_MAX, &sn);
	assert_int_equal(sn.n_ops, 0);
	assert_int_equal(sn.rqs[0].max_ns, 1003);
	assert_int_equal(sn.rqs[0].hist.bins[0].bucket, hist_bucket(1003));
	snapshot_free(&sn);
	replay_done(&r);
	r.conf.layer = LAYER_SYSCALL;
	few_replay(&r, 0, UINT64_MAX, &sn);
	assert_int_equal(sn.n_rqs, 0);
	assert_int_equal(sn.ops[0].key.call, 17);
	snapshot_free(&sn);
	replay_done(&r);
}

/* A layer was probed if it was in all recordings, in whichever order. */
static void layers_are_those_of_all_recordings(void **state)
{
	struct replay r = { .conf = { .by = BY_NONE } };
	struct snapshot sn;

	(void)state;
	for (int i = 0; i < 4; i++) {
		few_probed |= i & 1 ? 1 << OP_WRITE : 0;
		few_replay(&r, 0, UINT64_MAX, &sn);
		few_probed = 1 << OP_READ;
		assert_int_equal(sn.ops[2].key.op, OP_WRITE);
		assert_int_equal(sn.ops[2].missing_layers, 1 << ST_VFS | (i == 3 ? 0 : 1 << ST_FS));
		snapshot_free(&sn);
		if (i == 2)
			replay_done(&r);
	}
	replay_done(&r);
}

static void rows_have_the_key_that_is_asked_for(void **state)
{
	static const struct {
		enum by_key by;
		const char *op, *comm; /* of the first row */
		size_t ops, rqs;
		const char *rq, *rq_comm;
	} keys[] = {
		{ BY_PID, "12", "main", 3, 3, "12", "main" },
		{ BY_TID, "13", "io", 4, 3, "13", "io" },
		{ BY_COMM, "io", "", 4, 3, "io", "" },
		{ BY_CGROUP, "/cg", "", 3, 3, "/cg", "" },
		{ BY_DEV, "sda", "", 3, 2, NULL, "" },
		{ BY_SERVER, "(no server)", "", 3, 2, NULL, "" },
		{ BY_CACHE, NULL, "", 3, 2, NULL, "" },
		{ BY_FILE, "/d/f (deleted)", "", 3, 2, "/d/f (deleted)", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct replay r = { .conf = { .by = keys[i].by } };
		struct snapshot sn;

		few_replay(&r, 0, UINT64_MAX, &sn);
		assert_int_equal(sn.n_ops, keys[i].ops);
		assert_int_equal(sn.n_rqs, keys[i].rqs);
		if (keys[i].op)
			assert_string_equal(sn.ops[0].by, keys[i].op);
		else
			assert_null(sn.ops[0].by);
		if (keys[i].rq)
			assert_string_equal(sn.rqs[0].by, keys[i].rq);
		else
			assert_null(sn.rqs[0].by);
		assert_string_equal(sn.ops[0].comm, keys[i].comm);
		assert_string_equal(sn.rqs[0].comm, keys[i].rq_comm);
		snapshot_free(&sn);
		replay_done(&r);
	}
}

static void the_slowest_are_whole(void **state)
{
	const struct opt_strings bdev = { { "bdev" }, 1 };
	struct replay r = { .conf = { .slowest_max = 3, .slowest_fs = &bdev } };
	const struct slow_op *s;
	struct snapshot sn;

	(void)state;
	few_replay(&r, 0, UINT64_MAX, &sn);
	assert_int_equal(r.intervals[0].n_slowest, 3);
	s = r.intervals[0].slowest;
	for (int i = 0; i < 3; i++) /* the fourth is the fsync, the fifth on another file system */
		assert_int_equal(s[i].total_ns, 3100 - 1000 * i);
	assert_int_equal(s[0].start_ns, 2000);
	assert_int_equal(s[0].offset, 8192);
	assert_int_equal(s[0].len, 4096);
	assert_int_equal(s[0].ret, 512);
	assert_int_equal(s[0].who.pid, 12);
	assert_int_equal(s[0].who.tid, 13);
	assert_int_equal(s[0].who.cgroup, 14);
	assert_int_equal(s[0].ino, 99);
	assert_int_equal(s[0].dev, 8 << 20);
	assert_int_equal(s[0].n_requests, 3);
	assert_int_equal(s[0].device_bytes, 12288);
	assert_int_equal(s[0].call, 17);
	assert_int_equal(s[0].kind, OP_READ);
	assert_int_equal(s[0].cache, CACHE_MISS);
	assert_string_equal(s[0].who.comm, "io");
	assert_true(s[0].file.deleted && s[0].file.complete && !s[0].file.unmounted);
	snapshot_free(&sn);
	replay_done(&r);
	/* nor does that of another file system take a place that is free */
	r.conf = (struct replay_conf){ .slowest_max = 5, .slowest_fs = &bdev };
	few_replay(&r, 0, UINT64_MAX, &sn);
	assert_int_equal(r.intervals[0].n_slowest, 4);
	snapshot_free(&sn);
	replay_done(&r);
}

/* A request that comes before its operation in the file, one that comes after, and one of another
 * recording. */
static void requests_find_their_operation(void **state)
{
	struct replay r = { .conf = { .slowest_max = 2 } };
	struct stored_request rq = { .q_ns = 2010, .device_ns = 50, .owner = 1, .dev = 8 << 20 };
	struct stored_op op = { .start_ns = 2000, .owner = 1, .kind = OP_READ, .strata = { 100 } };
	struct stored_event ev;
	struct recording rec;
	struct reason why;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct writer w = {};
		FILE *f = tmpfile();

		assert_int_equal(writer_begin(&w, fileno(f), header), 0);
		add_names(&w);
		writer_request(&w, &rq);
		writer_flush(&w);
		writer_op(&w, &op);
		op.start_ns = 7000; /* in the second one, after all requests */
		writer_flush(&w);
		rq.q_ns = 2020;
		writer_request(&w, &rq);
		writer_close(&w);
		assert_true(writer_end(&w, "{}"));
		writer_done(&w);
		rewind(f);
		assert_int_equal(recording_open(&rec, f, "test", &why), 0);
		while (recording_next(&rec, &ev, &why) > 0)
			assert_int_equal(replay_add(&r, &rec, &ev, &why), 0);
		assert_int_equal(replay_end(&r, &rec, &why), 0);
		recording_close(&rec);
		fclose(f);
	}
	assert_int_equal(r.intervals[0].n_slowest, 2);
	assert_null(r.intervals[0].slowest[1].requests);
	assert_int_equal(r.intervals[0].slowest[0].requests->count, 2);
	assert_int_equal(r.intervals[0].slowest[0].requests->list[0].at_ns, 10);
	assert_int_equal(r.intervals[0].slowest[0].requests->list[1].at_ns, 20);
	replay_done(&r);
}

/* Operations end at 2100, 3100, 4100, 5100 and 9100; see few_write(). Real time is 4000 later. */
static void parts_of_the_time(void **state)
{
	struct replay r = { .conf = { .every_ns = 2000, .first_ns = 6000 } };
	struct snapshot sn;
	uint64_t n = 0;

	(void)state;
	few_replay(&r, 0, UINT64_MAX, &sn);
	assert_int_equal(r.n_intervals, 4);
	snapshot_free(&sn);
	replay_done(&r);
	few_replay(&r, 3100, 5100, &sn);
	for (size_t i = 0; i < sn.n_ops; i++)
		n += sn.ops[i].count;
	assert_int_equal(n, 2);
	snapshot_free(&sn);
	replay_done(&r);
}

/* By these times --from and --to leave out what need not be read. */
static void a_span_is_from_the_first_end_to_the_last(void **state)
{
	struct sent_op ops[] = { { .start_ns = 2000, .on_cpu = { 1, 10, 100 } },
				 { .start_ns = 1000, .on_cpu = { 2, 20, 200 } },
				 { .start_ns = 1500, .on_cpu = { 3, 30, 300 } },
				 { .start_ns = 9000, .kind = OP_WRITE } };
	struct span span;

	(void)state;
	span_look(ops, sizeof(ops) / sizeof(*ops), &span);
	assert_int_equal(span.n, 3);
	assert_int_equal(span.first_ns, 1222);
	assert_int_equal(span.last_ns, 2111);
}

static struct value column_get(const struct event_row *row, const char *name)
{
	const struct column *c = columns_find(event_columns, name);
	struct value v = { .max = SIZE_MAX };

	assert_non_null(c);
	c->get(&v, row, NULL);
	return v;
}

static struct value column_of(const struct event_row *row, const char *name)
{
	struct value v = column_get(row, name);

	assert_false(v.unknown);
	return v;
}

static void columns_of_events_are_what_they_say(void **state)
{
	struct stored_op op = { .ret = 11, .requests = 12, .device_bytes = 13, .copied_up = 14 };
	struct stored_request rq = { .tag_ns = 21,
				     .queue_ns = 22,
				     .device_ns = 23,
				     .sector = 24,
				     .cmd_flags = 25,
				     .requeues = 26,
				     .merges = 27,
				     .error = 28 };
	const struct catalog_thread who = { 31, 32, 33, "dd", NULL };
	const struct recording rec = { .header.has_device_bytes = true };
	const struct event_row of_op = { .rec = &rec,
					 .op = &op,
					 .who = &who,
					 .start_ns = 41,
					 .total_ns = 42,
					 .offset = 43,
					 .len = 44,
					 .ino = 45 };
	const struct event_row of_rq = { .rec = &rec, .rq = &rq, .who = &who };
	const struct {
		const struct event_row *row;
		const char *column;
		uint64_t wanted;
	} all[] = {
		{ &of_op, "result", 11 },       { &of_op, "requests", 12 },
		{ &of_op, "device_bytes", 13 }, { &of_op, "copied_up", 14 },
		{ &of_rq, "tag_ns", 21 },       { &of_rq, "queue_ns", 22 },
		{ &of_rq, "device_ns", 23 },    { &of_rq, "sector", 24 },
		{ &of_rq, "cmd_flags", 25 },    { &of_rq, "requeues", 26 },
		{ &of_rq, "merges", 27 },       { &of_rq, "status", 28 },
		{ &of_op, "pid", 31 },          { &of_op, "tid", 32 },
		{ &of_op, "cgroup", 33 },       { &of_op, "start_ns", 41 },
		{ &of_op, "total_ns", 42 },     { &of_op, "offset", 43 },
		{ &of_op, "len", 44 },          { &of_op, "ino", 45 },
	};
	char name[32];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(column_of(all[i].row, all[i].column).n, all[i].wanted);
	for (int st = 0; st < ST_N; st++)
		op.strata[st] = 100 + st;
	for (int st = 0; st < ST_N; st++) {
		snprintf(name, sizeof(name), "%s_ns", stratum_name(st));
		assert_int_equal(column_of(&of_op, name).n, 100 + st);
	}
	assert_int_equal(stored_op_total(&op), ST_N * 100 + ST_N * (ST_N - 1) / 2);
}

/* Live and from a recording. */
static void the_slowest_have_what_overlayfs_copied(void **state)
{
	struct sent_slow_op sent = {};
	const struct sent_op_waited *waited = &sent.op.waited;
	struct stored_op stored;
	struct slow_op slow;

	(void)state;
	sent.op.waited.op.kind = OP_OPEN;
	sent.op.waited.copied_up = 4211;
	slow_op_set_sent(&slow, &sent);
	assert_int_equal(slow.copied_up, 4211);
	assert_true(slow.len == ~0ULL);
	stored_op_set(&stored, &waited->op, waited);
	slow_op_set_stored(&slow, &stored);
	assert_int_equal(slow.copied_up, 4211);
	assert_true(slow.len == ~0ULL);
}

static void figures_that_are_not_known_are_missing(void **state)
{
	const struct stored_op op = { .strata = { [ST_LOCK] = 5, [ST_SLEEP] = 6 } };
	const struct stored_request rq = { .device_ns = 7 };
	const struct catalog_thread nobody = {};
	const struct recording rec = { .strata_missing = 1U << ST_LOCK };
	const struct event_row of_op = { .rec = &rec, .op = &op, .who = &nobody };
	const struct event_row of_rq = { .rec = &rec, .rq = &rq };
	char name[32];

	(void)state;
	assert_true(column_get(&of_op, "lock_ns").unknown);
	assert_int_equal(column_of(&of_op, "sleep_ns").n, 6);
	assert_true(column_get(&of_op, "pid").unknown);
	assert_true(column_get(&of_op, "cgroup").unknown);
	assert_true(column_get(&of_op, "copied_up").unknown);
	for (int st = 0; st < ST_N; st++) {
		snprintf(name, sizeof(name), "%s_ns", stratum_name(st));
		assert_int_equal(column_get(&of_rq, name).unknown,
				 st != ST_TAG && st != ST_QUEUE && st != ST_DEVICE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_keep_any_number),
		cmocka_unit_test(columns_that_begin_to_vary),
		cmocka_unit_test(columns_in_another_order_than_rows),
		cmocka_unit_test(columns_that_are_no_columns),
		cmocka_unit_test(a_column_that_ends_early),
		cmocka_unit_test(a_column_before_another_ends_early),
		cmocka_unit_test(numbers_of_any_length),
		cmocka_unit_test(a_span_is_from_the_first_end_to_the_last),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(cut_off_at_any_byte),
		cmocka_unit_test(any_byte_changed_is_noticed),
		cmocka_unit_test(a_full_disk),
		cmocka_unit_test(handles_without_room_are_counted),
		cmocka_unit_test(only_the_last_is_kept),
		cmocka_unit_test(each_copy_has_what_came_since_the_last),
		cmocka_unit_test(memory_has_a_limit),
		cmocka_unit_test(a_size_is_kept_to),
		cmocka_unit_test(a_ring_of_files),
		cmocka_unit_test(a_name_is_before_what_refers_to_it),
		cmocka_unit_test(a_chunk_that_is_too_large),
		cmocka_unit_test(a_name_that_is_longer_than_all_text),
		cmocka_unit_test(what_is_no_recording),
		cmocka_unit_test(chunks_say_of_what_time_they_are),
		cmocka_unit_test(beginning_and_end_are_as_written),
		cmocka_unit_test(protocols_of_servers),
		cmocka_unit_test(hostile_servers),
		cmocka_unit_test(replayed),
		cmocka_unit_test(rows_have_all_of_an_operation_or_request),
		cmocka_unit_test(names_replace_each_other),
		cmocka_unit_test(losses_belong_to_their_time),
		cmocka_unit_test(waits_for_others_add_up),
		cmocka_unit_test(losses_beyond_the_limit_have_no_time),
		cmocka_unit_test(layers_are_those_of_all_recordings),
		cmocka_unit_test(rows_have_the_key_that_is_asked_for),
		cmocka_unit_test(the_slowest_are_whole),
		cmocka_unit_test(requests_find_their_operation),
		cmocka_unit_test(parts_of_the_time),
		cmocka_unit_test(columns_of_events_are_what_they_say),
		cmocka_unit_test(the_slowest_have_what_overlayfs_copied),
		cmocka_unit_test(figures_that_are_not_known_are_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
