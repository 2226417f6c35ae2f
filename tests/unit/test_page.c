// SPDX-License-Identifier: GPL-2.0-only
/* The data of a page: sums lose nothing, whatever the number of keys; the JSON has a limit. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/offsets.h"
#include "analyse/page_data.h"
#include "analyse/page_places.h"
#include "base/json.h"
#include "base/reason.h"
#include "base/stacks.h"
#include "capture/catalog.h"
#include "capture/stored.h"
#include "capture/writer.h"
#include "cell.h"
#include "json_seen.h"
#include "show/page.h"
#include "show/page_callers.h"
#include "show/page_index.h"
#include "show/page_json.h"
#include "show/page_pack.h"

enum { DEV = 7 << 20 | 3, OTHER = 8 << 20, FILES = PAGE_KEYS + 1009, KINDS = 9 };

static const char header[] = "{\"kernel\":\"6.1\",\"monotonic_ns\":0,\"realtime_ns\":5000,\"ops\":"
			     "true,\"requests\":true}";

static void name_put(struct writer *w, struct stored_name n, const char *text, size_t len)
{
	n.text_len = len;
	writer_name(w, &n, text);
}

/* FILES files on two disks, each with one operation of its own number in ns. */
static void ops_put(struct writer *w)
{
	struct stored_op op = { .owner = 1, .fs = STORED_FS_FIRST, .ret = 10 };
	char text[64];

	for (int i = 1; i <= FILES; i++) {
		int len = snprintf(text, sizeof(text), "f%d%cdir", i, 0) + 1;

		name_put(w,
			 (struct stored_name){ NAME_FILE, i, FILE_KEY(i % 2 ? DEV : OTHER, 0, 0), i,
					       STORED_FILE_COMPLETE, 0 },
			 text, len);
		op.start_ns = 1000 * i;
		op.file = i;
		op.kind = OP_READ + i % KINDS;
		op.call = i % 7;
		op.strata[i % ST_N] = i;
		writer_op(w, &op);
		op.strata[i % ST_N] = 0;
		if (i % 1000 == 0)
			writer_flush(w);
	}
}

/* Reads what @put wrote, as a page does. */
static void data_read(struct page_data *d, void (*put)(struct writer *w))
{
	struct writer w = {};
	FILE *f = tmpfile();
	struct recording rec;
	struct stored_event ev;
	struct reason why;

	assert_int_equal(writer_begin(&w, fileno(f), header), 0);
	name_put(&w, (struct stored_name){ NAME_FS, STORED_FS_FIRST, ~0U, 0, 0, 0 }, "ext4", 4);
	name_put(&w, (struct stored_name){ NAME_DEVICE, DEV, 0, 0, 0, 0 }, "loop3", 5);
	name_put(&w, (struct stored_name){ NAME_THREAD, 1, 100, 101, 42, 0 }, "one", 3);
	put(&w);
	writer_close(&w);
	assert_true(writer_end(&w, "{\"duration_ns\":50000000}"));
	writer_done(&w);
	rewind(f);
	*d = (struct page_data){};
	assert_int_equal(recording_open(&rec, f, "made", &why), 0);
	assert_int_equal(page_data_begin(d, &rec), 0);
	while (recording_next(&rec, &ev, &why) > 0)
		assert_int_equal(page_data_add(d, &rec, &ev, stored_event_end(&ev)), 0);
	assert_int_equal(page_data_end(d, &rec), 0);
	page_data_measure(d, 50000000);
	recording_close(&rec);
	fclose(f);
}

static struct op_row sums_of(const struct snapshot *sn)
{
	struct op_row all = {};

	for (size_t i = 0; i < sn->n_ops; i++)
		assert_int_equal(op_row_merge(&all, &sn->ops[i]), 0);
	free(all.hist.bins);
	return all;
}

static void sums_lose_no_operation_whatever_the_number_of_keys(void **state)
{
	static const enum by_key all[] = { BY_DEV, BY_FILE, BY_PID, BY_CGROUP };
	static const size_t rows[] = { 2, PAGE_KEYS + 2, 1, 1 };
	struct page_data d;

	(void)state;
	data_read(&d, ops_put);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct snapshot sn;
		struct op_row sums;

		assert_int_equal(page_data_rows(&d, all[i], &sn), 0);
		sums = sums_of(&sn);
		assert_int_equal(sums.count, FILES);
		assert_int_equal(sums.total_ns, (uint64_t)FILES * (FILES + 1) / 2);
		assert_int_equal(sums.max_ns, FILES);
		assert_int_equal(sn.n_ops, rows[i]);
		for (size_t r = 0; r < sn.n_ops; r++)
			assert_non_null(sn.ops[r].by);
		if (all[i] == BY_FILE) {
			assert_string_equal(sn.ops[0].by, "/dir/f1");
			assert_string_equal(sn.ops[PAGE_KEYS].by, "(other keys)");
		}
		if (all[i] == BY_DEV) {
			assert_string_equal(sn.ops[0].by, "loop3");
			assert_string_equal(sn.ops[1].by, "8:0");
			assert_int_equal(sn.ops[0].count, (FILES + 1) / 2);
		}
		snapshot_free(&sn);
	}
	page_data_done(&d);
}

/* Three files: the path of the first is that of a block device, too. */
static void replaced_put(struct writer *w)
{
	struct stored_op op = { .owner = 1, .fs = STORED_FS_FIRST, .kind = OP_READ, .ret = 10 };

	for (int i = 1; i <= 3; i++) {
		struct stored_name n = {
			NAME_FILE, i, FILE_KEY(DEV, i == 2, 0), i, STORED_FILE_COMPLETE, 0
		};

		name_put(w, n, i == 3 ? "other\0dir" : "same\0dir", i == 3 ? 10 : 9);
		op.file = i;
		for (int k = 0; k < 23; k++) {
			op.start_ns = 1000 * (23 * i + k);
			op.strata[ST_DEVICE] = 100 * i;
			writer_op(w, &op);
		}
	}
}

static void files_at_one_path_keep_their_rows(void **state)
{
	static const char *const names[] = { "/dir/same", "/dir/same", "/dir/other" };
	struct page_data d;
	struct snapshot sn;

	(void)state;
	data_read(&d, replaced_put);
	assert_int_equal(page_data_rows(&d, BY_FILE, &sn), 0);
	assert_int_equal(sn.n_ops, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_string_equal(sn.ops[i].by, names[i]);
		assert_int_equal(sn.ops[i].count, 23);
		assert_int_equal(sn.ops[i].total_ns, 2300 * (i + 1));
		assert_int_equal(hist_percentile(&sn.ops[i].hist, 99, sn.ops[i].max_ns),
				 100 * (i + 1));
	}
	snapshot_free(&sn);
	page_data_done(&d);
}

/* Files of one path. Those of generation 0xffffffff are known by their path alone; 0: the place is
 * not known. */
static const struct {
	uint64_t key;
	unsigned int directory, row;
} at_path[] = {
	{ FILE_KEY(0, 0, GENERATION_OF_PATH), 0, 0 },
	{ FILE_KEY(DEV, 0, 3), 19, 0 }, /* the same file, now opened */
	{ FILE_KEY(0, 0, GENERATION_OF_PATH), 0, 0 },
	{ FILE_KEY(DEV, 0, 5), 19, 0 },   /* made anew */
	{ FILE_KEY(OTHER, 0, 3), 19, 1 }, /* in another mount namespace */
	{ FILE_KEY(DEV, 0, 3), 23, 2 },   /* likewise */
	{ FILE_KEY(DEV, 0, GENERATION_OF_PATH), 23, 2 },
	{ FILE_KEY(DEV, 0, GENERATION_OF_PATH), 29, 3 },
	{ FILE_KEY(DEV, 0, 7), 29, 3 },
	{ FILE_KEY(DEV, 1, 7), 29, 4 }, /* a block device */
};

enum { AT_PATH = sizeof(at_path) / sizeof(*at_path), PATH_ROWS = 5 };

static void by_path_put(struct writer *w)
{
	struct stored_op op = { .owner = 1, .fs = STORED_FS_FIRST, .kind = OP_META };

	for (int i = 0; i < AT_PATH; i++) {
		struct stored_name n = { .type = NAME_FILE,
					 .id = i + 1,
					 .a = at_path[i].key,
					 .b = 100 + i,
					 .c = STORED_FILE_COMPLETE |
					      at_path[i].directory << STORED_FILE_DIRECTORY };

		name_put(w, n, "same\0dir", 9);
		op.file = i + 1;
		op.start_ns = 1000 * i;
		op.strata[ST_DEVICE] = 1 << i;
		writer_op(w, &op);
	}
}

static void a_file_known_by_its_path_has_the_row_of_its_inode(void **state)
{
	static const char *const names[PATH_ROWS] = {
		"/dir/same", "/dir/same (inode 104 on 8:0)", "/dir/same (inode 105 on 7:3)",
		"/dir/same", "/dir/same (inode 109 on 7:3)",
	};
	uint64_t want[PATH_ROWS] = {};
	struct page_data d;
	struct snapshot sn;

	(void)state;
	for (int i = 0; i < AT_PATH; i++)
		want[at_path[i].row] |= 1 << i;
	data_read(&d, by_path_put);
	assert_int_equal(page_data_rows(&d, BY_FILE, &sn), 0);
	assert_int_equal(sn.n_ops, PATH_ROWS);
	for (unsigned int i = 0; i < PATH_ROWS; i++) {
		assert_int_equal(sn.ops[i].total_ns, want[i]);
		assert_string_equal(sn.ops[i].by, names[i]);
	}
	snapshot_free(&sn);
	page_data_done(&d);
}

/* A row of @kind and @call, with the time @ns. */
static struct op_row row_of(unsigned int kind, unsigned int call, uint64_t ns)
{
	struct op_row row = { .key = { .fs = 16, .op = kind, .call = call },
			      .fs = "ext4",
			      .count = 1,
			      .total_ns = ns,
			      .max_ns = ns,
			      .strata = { ns } };

	assert_int_equal(hist_add(&row.hist, hist_bucket(ns), 1), 0);
	return row;
}

static void calls_are_rows_and_kinds_are(void **state)
{
	struct snapshot sn = { .ops = calloc(4, sizeof(struct op_row)), .n_ops = 4 }, calls;

	(void)state;
	sn.ops[0] = row_of(OP_READ, 0, 3);
	sn.ops[1] = row_of(OP_READ, 17, 5);
	sn.ops[2] = row_of(OP_URING, CALL_URING | 22, 7);
	sn.ops[3] = row_of(OP_URING, CALL_URING | 23, 11);
	assert_int_equal(page_data_calls(&sn, &calls), 0);
	assert_int_equal(sn.n_ops, 3);
	assert_int_equal(calls.n_ops, 4);
	assert_int_equal(sn.ops[0].total_ns, 8);
	assert_int_equal(sn.ops[0].hist.n, 2);
	assert_string_equal(sn.ops[0].fs, "ext4");
	assert_int_equal(calls.ops[1].key.call, 17);
	assert_int_equal(calls.ops[1].total_ns, 5);
	snapshot_free(&sn);
	snapshot_free(&calls);
}

/* Two reads of 30 ns on ext4, one of 1 us on proc. */
static void pseudo_put(struct writer *w)
{
	struct stored_op op = { .owner = 1, .fs = STORED_FS_FIRST, .kind = OP_READ };

	name_put(w, (struct stored_name){ NAME_FS, STORED_FS_FIRST + 1, ~0U, 0, 0, 0 }, "proc", 4);
	for (int i = 0; i < 3; i++) {
		op.start_ns = 1000 * (i + 1);
		op.fs = STORED_FS_FIRST + (i == 2);
		op.strata[ST_VFS] = i == 2 ? 1000 : 30;
		writer_op(w, &op);
	}
}

/* The text of the page, for free(). */
static char *page_text(const struct page *p)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(page_put(f, p), 0);
	fclose(f);
	return text;
}

/* Whether the table @id of the page has a row which begins with @key and has @cell. */
static bool has_cell(const char *page, const char *id, const char *key, const char *cell)
{
	char table[64], *row = NULL, *at;
	bool has;

	snprintf(table, sizeof(table), "<table id=\"%s\">", id);
	at = strstr(page, table);
	assert_non_null(at);
	while ((at = strstr(at + 1, "<tr><t")) && !row)
		if (!strncmp(strchr(at + 5, '>') + 1, key, strlen(key)))
			row = strndup(at, strstr(at, "</tr>") - at);
	assert_non_null(row);
	has = strstr(row, cell);
	free(row);
	return has;
}

static void what_does_not_count_is_left_out_of_the_sum_not_of_the_row(void **state)
{
	struct snapshot sn = { .ops = calloc(2, sizeof(struct op_row)), .n_ops = 2 };
	struct breakdown_view v = { .layer = LAYER_OPS };
	struct page_data d;
	struct page p = { .view = &v, .sn = &sn, .data = &d };
	char *text;

	(void)state;
	data_read(&d, pseudo_put);
	sn.ops[0] = row_of(OP_READ, 1, 60);
	sn.ops[1] = row_of(OP_READ, 1, 1000);
	sn.ops[1].key.fs = 17;
	strcpy(sn.ops[1].fs, "proc");
	text = page_text(&p);
	/* the file has all of the time, the share of I/O is without proc */
	assert_true(has_cell(text, "by-file", "(no file)", ">1.06 us<"));
	assert_true(has_cell(text, "by-file", "(no file)", ">100%<"));
	assert_non_null(strstr(text, "\"is_pseudo\":true"));
	free(text);
	snapshot_free(&sn);
	page_data_done(&d);
}

static void times_on_proc_are_known_by_key(void **state)
{
	struct snapshot sn;
	struct page_data d;

	(void)state;
	data_read(&d, pseudo_put);
	assert_int_equal(page_data_rows(&d, BY_PID, &sn), 0);
	assert_int_equal(sn.n_ops, 1);
	assert_int_equal(sn.ops[0].kinds, 1U << OP_READ);
	assert_int_equal(sn.ops[0].total_ns, 1060);
	assert_int_equal(sn.ops[0].thread_ns, 1060);
	assert_int_equal(sn.ops[0].pseudo_ns, 1000);
	snapshot_free(&sn);
	page_data_done(&d);
}

/* A recording may have kinds that no recorder writes, or only a later version. */
static void unknown_put(struct writer *w)
{
	struct stored_op op = { .owner = 1, .fs = STORED_FS_FIRST, .kind = 4711, .start_ns = 1000 };

	name_put(w, (struct stored_name){ NAME_THREAD, 1, 42, 43, 0, 0 }, "a", 1);
	name_put(w, (struct stored_name){ NAME_FS, STORED_FS_FIRST, ~0U, 0, 0, 0 }, "ext4", 4);
	writer_op(w, &op);
}

static void unknown_kinds_are_none(void **state)
{
	struct snapshot sn;
	struct page_data d;

	(void)state;
	data_read(&d, unknown_put);
	assert_int_equal(page_data_rows(&d, BY_PID, &sn), 0);
	assert_int_equal(sn.n_ops, 1);
	assert_int_equal(sn.ops[0].kinds, 1U << OP_NONE);
	snapshot_free(&sn);
	page_data_done(&d);
}

/* The number of times that @what is in @text. */
static unsigned int count_of(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

enum { LEAVES = 3001, STACK_OPS = 97 };

/* main() calls LEAVES functions; the first one also calls a second level. Operation i took i ns,
 * and has the stack i. */
static struct stacks *stacks_made(struct stack_frame frames[LEAVES + 1])
{
	struct stacks *s = calloc(1, sizeof(*s));

	s->n = s->n_ops = s->taken = s->of = LEAVES;
	s->stacks = calloc(LEAVES, sizeof(*s->stacks));
	s->ops = calloc(LEAVES, sizeof(*s->ops));
	frames[LEAVES] = (struct stack_frame){ .function = "main" };
	for (int i = 0; i < LEAVES; i++) {
		struct stack *stack = &s->stacks[i];

		frames[i].at = i;
		stack->frames = calloc(3, sizeof(*stack->frames));
		stack->frames[stack->n++] = &frames[i];
		if (i % 2)
			stack->frames[stack->n++] = &frames[LEAVES - 2];
		stack->frames[stack->n++] = &frames[LEAVES];
		s->ops[i] = row_of(OP_READ, 0, i + 1);
		snprintf(s->ops[i].fs, sizeof(s->ops[i].fs), "fs%d", i % STACK_OPS);
		s->ops[i].key.by[0] = i + 1;
	}
	s->stacks[7].end = STACK_MEMORY;
	s->ended[STACK_MEMORY] = 1;
	frames[5].function = "<script>\n\x1b";
	return s;
}

static void json_keeps_to_its_limit(void **state)
{
	struct stack_frame *frames = calloc(LEAVES + 1, sizeof(*frames));
	struct snapshot with_stacks = { .stacks = stacks_made(frames) };
	const struct breakdown_view view = { .source.kernel = "6.1" };
	char *const recordings[] = { "dir/made" };
	struct page_data d;
	struct page page = { .view = &view,
			     .data = &d,
			     .sn = &with_stacks,
			     .begin_ns = 5000,
			     .recordings = recordings,
			     .n_recordings = 1 };
	struct snapshot files, disks, processes, cgroups, none = {};
	const struct page_names names = { .ops = &none,
					  .calls = &none,
					  .files = &files,
					  .disks = &disks,
					  .processes = &processes,
					  .cgroups = &cgroups };
	size_t len, shorter;
	char *json;

	(void)state;
	data_read(&d, ops_put);
	assert_int_equal(page_data_rows(&d, BY_DEV, &disks), 0);
	assert_int_equal(page_data_rows(&d, BY_FILE, &files), 0);
	assert_int_equal(page_data_rows(&d, BY_PID, &processes), 0);
	assert_int_equal(page_data_rows(&d, BY_CGROUP, &cgroups), 0);
	json = page_json(&page, &names, PAGE_JSON_MAX, &len);
	assert_true(len < PAGE_JSON_MAX);
	assert_non_null(strstr(json, "\"recordings\":[\"made\"]"));
	/* 21 kinds and calls, as those of io_uring and libaio; the 20 busiest have a map */
	assert_int_equal(count_of(json, "\"is_request\":false"), 20);
	assert_non_null(strstr(json, "\"shares\":[{\"letter\":\"D\",\"name\":\"device\","));
	assert_non_null(strstr(json, "{\"letter\":\"C\",\"name\":\"cpu\",\"mostly\":\"on CPU\","
				     "\"strata\":[\"syscall\",\"vfs\",\"fs\"]}"));
	assert_non_null(strstr(json, "{\"code\":\"DE\",\"name\":\"erase\"}"));
	assert_non_null(strstr(json, "\"callers\":{\"words\":[\"the stacks of 3,001 operations"));
	json_seen(json);
	free(json);
	json = page_json(&page, &names, 200000, &shorter);
	assert_true(shorter < 200000 && shorter < len);
	json_seen(json);
	free(json);
	stacks_free(with_stacks.stacks);
	free(frames);
	snapshot_free(&files);
	snapshot_free(&disks);
	snapshot_free(&processes);
	snapshot_free(&cgroups);
	page_data_done(&d);
}

static void numbers_are_packed(void **state)
{
	static const int64_t ints[] = { 0, -1, 1, -2, 63, -64, 64 };
	struct json j = {};
	struct pack p = {};
	char *text = NULL;
	size_t len;

	(void)state;
	j.out.f = open_memstream(&text, &len);
	for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++)
		pack_int(&p, ints[i]);
	pack_uint(&p, UINT64_MAX);
	assert_int_equal(pack_put(&p, &j, NULL), 0);
	assert_int_equal(pack_put(&p, &j, NULL), 0);
	fclose(j.out.f);
	/* bytes 0 1 2 3 126 127 128+0 1, then nine of 255 and a 1 */
	assert_string_equal(text, "\"AAECA35/gAH///////////8B\",null");
	free(text);
}

static void pattern_is(const struct access *a, uint64_t count, uint64_t sequential,
		       uint64_t strided)
{
	assert_int_equal(a->count, count);
	assert_int_equal(a->sequential, sequential);
	assert_int_equal(a->strided, strided);
}

static void patterns_are_told_apart(void **state)
{
	struct access a = {};
	uint64_t n;

	(void)state;
	for (int i = 0; i < 23; i++)
		access_add(&a, 131072 * i, 131072);
	pattern_is(&a, 23, 23, 0);
	assert_int_equal(access_size(&a, &n), 131072);
	assert_int_equal(n, 23);
	assert_int_equal(a.distance, 0);

	a = (struct access){};
	for (int i = 0; i < 23; i++)
		access_add(&a, 1000000 * i, 4096);
	pattern_is(&a, 23, 1, 21);
	assert_int_equal(a.distance, 22 * (1000000 - 4096));

	/* two streams by turns, which a thread reads each */
	a = (struct access){};
	for (int i = 0; i < 46; i++)
		access_add(&a, 512 * (i / 2) + i % 2 * 77777777ULL, 512);
	pattern_is(&a, 46, 45, 0);

	a = (struct access){};
	for (uint64_t i = 0; i < 23; i++)
		access_add(&a, (i * i * i * 7919 % 100003) << 12, 4096 + i % 5);
	pattern_is(&a, 23, 1, 0); /* the first, at 0 */
	assert_int_equal(access_size(&a, &n), 4096);
	assert_int_equal(n, 5);
	assert_int_equal(a.max_bytes, 4100);
}

static void medians_are_exact_for_few_sizes(void **state)
{
	struct access_pattern *p = calloc(1, sizeof(*p)), *more = calloc(1, sizeof(*more));

	(void)state;
	assert_int_equal(access_pattern_median(p), 0);
	for (uint64_t i = 0; i < 23; i++)
		assert_int_equal(access_pattern_add(p, i << 20, i < 12 ? 4096 : 131072), 0);
	assert_int_equal(access_pattern_median(p), 4096);
	assert_int_equal(access_pattern_add(more, 0, 65536), 0);
	assert_int_equal(access_pattern_add(more, 0, 65536), 0);
	assert_int_equal(access_pattern_merge(p, more), 0);
	assert_int_equal(p->access.count, 25);
	assert_int_equal(p->access.max_bytes, 131072);
	assert_int_equal(access_pattern_median(p), 65536);
	/* with many sizes, near */
	for (uint64_t i = 0; i < 10007; i++)
		assert_int_equal(access_pattern_add(p, i << 20, 50000 + i), 0);
	assert_true(llabs((long long)access_pattern_median(p) - 55003) < 55003 * 16 / 1000);
	access_pattern_free(p);
	access_pattern_free(more);
	access_pattern_free(NULL);
}

static void maps_lose_no_access_however_far(void **state)
{
	struct offset_map *m = calloc(1, sizeof(*m));
	uint64_t reads = 0, writes = 0;

	(void)state;
	for (uint64_t i = 0; i < 60; i++)
		for (uint64_t k = 0; k < 7; k++)
			offset_map_add(m, (1ULL << i) + k, k % 2, (1ULL << i) - 1 + (k << i), 1);
	offset_map_add(m, UINT64_MAX, true, UINT64_MAX, 1);
	for (int t = 0; t < OFFSETS_TIMES; t++) {
		for (int p = 0; p < OFFSETS_PLACES; p++) {
			reads += m->cells[t][p][ACCESS_READ];
			writes += m->cells[t][p][ACCESS_WRITE];
		}
	}
	assert_int_equal(reads, 60 * 4);
	assert_int_equal(writes, 60 * 3 + 1);
	free(m);
}

/* A recording of 10 s whose page begins after 1 s. */
static void losses_are_at_their_times_and_none_is_lost(void **state)
{
	struct stored_loss list[] = {
		{ 3000000000, 5000000000, LOST_OPS, 1009 },
		{ 7000000007, 7000000007, LOST_RING, 23 },      /* at a moment */
		{ 500000000, 1500000000, LOST_OPS, 200 },       /* half of it before the page */
		{ 1, 2, LOST_OPS, 5 },                          /* before the page */
		{ 9500000000, UINT64_MAX, LOST_REQUESTS, 101 }, /* hostile: after the end */
		{ 9, 3, LOST_OPS, 7 },                          /* hostile: ends before it begins */
	};
	struct recording rec = { .header = { .monotonic_ns = 0 },
				 .reader = { .ended = true },
				 .ending = { .duration_ns = 10000000000 },
				 .to_ns = UINT64_MAX,
				 .losses = { .list = list, .n = 6 } };
	struct page_data d = {};
	uint64_t ops = 0, ring = 0, first = CUBE_BINS;

	(void)state;
	page_data_losses(&d, &rec, 1000000000);
	page_data_measure(&d, 9000000000);
	assert_true(8999999999 >> d.cube.shift < CUBE_BINS);
	for (uint64_t i = 0; i < CUBE_BINS; i++) {
		ops += d.losses.lost[LOST_OPS][i];
		ring += d.losses.lost[LOST_RING][i];
		if (d.losses.lost[LOST_OPS][i] && i << d.cube.shift >= 1000000000 && i < first)
			first = i;
	}
	assert_int_equal(ops, 1009 + 100);
	assert_int_equal(ring, 23);
	assert_int_equal(d.losses.lost[LOST_RING][6000000007 >> d.cube.shift], 23);
	assert_int_equal(first, 2000000000 >> d.cube.shift);
	page_data_done(&d);
}

/* Numbers of a member that are packed. */
struct packed {
	unsigned char bytes[1 << 18];
	size_t n, at;
};

static void packed_read(struct packed *p, const char *json, const char *name)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned int bits = 0, n = 0;
	char member[32];

	*p = (struct packed){};
	snprintf(member, sizeof(member), "\"%s\":\"", name);
	json = strstr(json, member);
	assert_non_null(json);
	for (json += strlen(member); *json && strchr(digits, *json); json++) {
		bits = bits << 6 | (unsigned int)(strchr(digits, *json) - digits);
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		assert_true(p->n < sizeof(p->bytes));
		p->bytes[p->n++] = bits >> n;
	}
}

static uint64_t packed_next(struct packed *p)
{
	uint64_t n = 0;

	for (int shift = 0;; shift += 7) {
		assert_true(p->at < p->n);
		n |= (uint64_t)(p->bytes[p->at] & 127) << shift;
		if (p->bytes[p->at++] < 128)
			return n;
	}
}

/* The sum of the times of a node by kind of operations, of which there are @kinds. */
static uint64_t times_next(struct packed *p, size_t kinds)
{
	uint64_t sum = 0;

	for (uint64_t n = packed_next(p); n; n--) {
		assert_true(packed_next(p) < kinds);
		for (uint64_t set = packed_next(p); set; set &= set - 1)
			sum += packed_next(p);
	}
	return sum;
}

static void callers_lose_no_time_whatever_the_number_of_functions(void **state)
{
	struct stack_frame *frames = calloc(LEAVES + 1, sizeof(*frames));
	struct packed *p = calloc(1, sizeof(*p));
	struct stacks *s = stacks_made(frames);
	uint64_t own = 0, more = 0, folded = 0, n = 0, called;
	struct json j = {};
	char *text = NULL;
	size_t len;

	(void)state;
	j.out.f = open_memstream(&text, &len);
	assert_int_equal(page_callers_put(&j, s), 0);
	fclose(j.out.f);
	packed_read(p, text, "nodes");
	for (; p->at < p->n; n++) {
		assert_true(packed_next(p) <= n); /* the caller is before */
		packed_next(p);
		own += times_next(p, CALLERS_OPERATIONS);
		called = packed_next(p);
		folded += called;
		more += called ? times_next(p, CALLERS_OPERATIONS) : 0;
	}
	assert_int_equal(n, CALLERS_MOST);
	assert_int_equal(own + more, (uint64_t)LEAVES * (LEAVES + 1) / 2);
	/* those left out are narrow: each took less than any in the tree, main() and its callee
	 * have theirs */
	assert_true(folded >= LEAVES + 1 - CALLERS_MOST && more < own);
	assert_non_null(strstr(text, "\"1 stack ended early: "));
	assert_non_null(strstr(text, "{\"op\":null,\"fs\":null}"));
	assert_null(strstr(text, "\x1b"));
	free(text);
	free(p);
	stacks_free(s);
	free(frames);
}

static void callers_without_stacks_are_words(void **state)
{
	struct stacks *s = calloc(1, sizeof(*s));
	struct json j = {};
	char *text = NULL;
	size_t len;

	(void)state;
	j.out.f = open_memstream(&text, &len);
	assert_int_equal(page_callers_put(&j, s), 0);
	fclose(j.out.f);
	assert_string_equal(text,
			    "\"callers\":{\"words\":[\"the stacks of 0 operations were taken\"],"
			    "\"operations\":[],\"names\":[],\"nodes\":\"AAAAAA==\"}");
	free(text);
	stacks_free(s);
}

/* Two names with one FNV hash: anybody can find some, and give them to files in one directory. */
static void files_with_one_hash_keep_their_rows(void **state)
{
	struct catalog_file a = { .key = FILE_KEY(8U << 20, false, 1U),
				  .ino = 11,
				  .flags = STORED_FILE_COMPLETE,
				  .len = 18,
				  .names = (char[]){ "dXKQE22AR3s.W82N8S" } },
			    b = a;
	struct page_places p = {};

	(void)state;
	b.names = (char[]){ "dYFwE04C9,R,Z4o_IT" };
	assert_int_equal(page_places_add(&p, 0, &a, 7), 0);
	assert_int_equal(page_places_find(&p, 0, &a), 7);
	assert_int_equal(page_places_find(&p, 0, &b), 0);
	assert_int_equal(page_places_add(&p, 0, &b, 11), 0);
	assert_int_equal(page_places_find(&p, 0, &b), 11);
	assert_int_equal(page_places_find(&p, 0, &a), 7);
	assert_int_equal(page_places_find(&p, 1, &a), 0);
	page_places_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_lose_no_time_whatever_the_number_of_functions),
		cmocka_unit_test(callers_without_stacks_are_words),
		cmocka_unit_test(sums_lose_no_operation_whatever_the_number_of_keys),
		cmocka_unit_test(files_at_one_path_keep_their_rows),
		cmocka_unit_test(a_file_known_by_its_path_has_the_row_of_its_inode),
		cmocka_unit_test(files_with_one_hash_keep_their_rows),
		cmocka_unit_test(calls_are_rows_and_kinds_are),
		cmocka_unit_test(what_does_not_count_is_left_out_of_the_sum_not_of_the_row),
		cmocka_unit_test(times_on_proc_are_known_by_key),
		cmocka_unit_test(unknown_kinds_are_none),
		cmocka_unit_test(json_keeps_to_its_limit),
		cmocka_unit_test(numbers_are_packed),
		cmocka_unit_test(patterns_are_told_apart),
		cmocka_unit_test(medians_are_exact_for_few_sizes),
		cmocka_unit_test(maps_lose_no_access_however_far),
		cmocka_unit_test(losses_are_at_their_times_and_none_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
