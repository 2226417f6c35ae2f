// SPDX-License-Identifier: GPL-2.0-only
#include "show/page_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/json.h"
#include "base/names.h"
#include "show/page.h"
#include "show/view_parts.h"

enum {
	ROWS_MOST = 32, /* rows with separate pictures; the others are in the sums */
	HALF_OCTAVE_LOG2 = HIST_SUB_BITS - 1,
	HALF_OCTAVES = HIST_N >> HALF_OCTAVE_LOG2,
	PATTERN_LEAST = 5, /* fewer accesses have no pattern */
};

#define MEMBER_BY_INTERVAL(member, type, text)                                                     \
	{                                                                                          \
		member, type, .what = text ", for each interval", .list = 1,                       \
			      .item = "figure of an interval"                                      \
	}

static const struct member strata_members[] = { { .each = &strata_words,
						  .type = MEMBER_TIME,
						  .what = "times in the stratum",
						  .list = 1,
						  .item = "time in an interval",
						  .only = "if it has any time" },
						{} };
static const struct object times_object = { "strata",
					    "by stratum, a list with a time for each interval",
					    strata_members };

static const struct member heat_members[] = {
	{ "low", MEMBER_COUNT,
	  .what = "the lowest half-octave with a count. Half-octave n begins at 2^(n/2 + 4) ns for "
		  "even n, "
		  "and in the middle of the octave for odd n; of requests the time in the device" },
	{ "cells", MEMBER_COUNT,
	  .what = "for each half-octave from low on: interval, count, interval, count ...",
	  .list = 2, .item = "an interval, or the count of the interval before it" },
	{}
};
static const struct object heat_object = { NULL, "how many took how long", heat_members };

static const struct member row_members[] = {
	{ "is_request", MEMBER_BOOL, .what = "whether these are requests; else operations" },
	{ "what", MEMBER_TEXT, .what = "kind of the operations or requests" },
	{ "where", MEMBER_TEXT, .what = "file system type or disk", .null = "not known" },
	MEMBER_BY_INTERVAL("count", MEMBER_COUNT, "how many ended"),
	MEMBER_BY_INTERVAL("errors", MEMBER_COUNT, "how many of them failed"),
	MEMBER_BY_INTERVAL("bytes", MEMBER_BYTES, "bytes read or written"),
	MEMBER_BY_INTERVAL("total", MEMBER_TIME, "their time"),
	{ "strata", MEMBER_OBJECT,
	  .what = "their time by stratum; of requests tag, queue and device",
	  .object = &times_object },
	{ "heat", MEMBER_OBJECT, .what = "how many took how long", .object = &heat_object },
	{}
};
static const struct object row_object = { "row", "operations or requests of one kind",
					  row_members };

static const struct member map_members[] = {
	{ "name", MEMBER_TEXT, .what = "path of the file, or name of the disk",
	  .null = "not known" },
	{ "is_disk", MEMBER_BOOL, .what = "whether this is a disk; else a file" },
	{ "words", MEMBER_ASCII, .what = "the pattern in words" },
	{ "since_ns", MEMBER_TIME,
	  .what = "accesses before this time, since the begin, are not in the map" },
	{ "interval_ns", MEMBER_TIME, .what = "length of an interval of time" },
	{ "range_bytes", MEMBER_BYTES, .what = "length of a range of offsets" },
	{ "cells", MEMBER_COUNT,
	  .what = "for each interval and range with accesses four numbers: interval, range, reads, "
		  "writes",
	  .list = 1, .item = "one of the four numbers" },
	{}
};
static const struct object map_object = { "map", "a map of offset and time", map_members };

static const struct member share_members[] = {
	{ "letter", MEMBER_ASCII, .what = "its letter in bars" },
	{ "name", MEMBER_ASCII, .what = "its name in text" },
	{ "mostly", MEMBER_ASCII,
	  .what = "words for an operation with most of its time there: 'waiting for the device'" },
	{ "strata", MEMBER_ASCII, .what = "its strata", .words = &strata_words, .list = 1,
	  .item = "name of a stratum" },
	{}
};
static const struct object share_object = { NULL, "a group", share_members };

static const struct member kind_members[] = { { "code", MEMBER_ASCII, .what = "its code in JSON",
						.words = &rq_words },
					      { "name", MEMBER_ASCII, .what = "its name in text" },
					      {} };
static const struct object kind_object = { NULL, "a kind", kind_members };

static const struct member all_members[] = {
	MEMBER_BY_INTERVAL("count", MEMBER_COUNT, "operations"),
	MEMBER_BY_INTERVAL("total", MEMBER_TIME, "their time"),
	{ "strata", MEMBER_OBJECT, .what = "their time by stratum", .object = &times_object },
	{}
};
static const struct object all_object = { NULL, "sums of all operations", all_members };

static const struct member page_members[] = {
	{ "kernel", MEMBER_TEXT, .what = "release of the kernel", .null = "not known" },
	{ "host", MEMBER_TEXT, .what = "name of the machine", .null = "not known" },
	{ "begin_ns", MEMBER_TIME, .what = "begin of the time axis, since 1970" },
	{ "duration_ns", MEMBER_TIME, .what = "length of the time axis" },
	{ "strata", MEMBER_ASCII, .what = "names of all strata, in their order",
	  .words = &strata_words, .list = 1, .item = "name of a stratum" },
	{ "shares", MEMBER_OBJECT, .what = "groups of strata under one letter and colour",
	  .object = &share_object, .list = 1 },
	{ "kinds", MEMBER_OBJECT, .what = "kinds of requests", .object = &kind_object, .list = 1 },
	{ "interval_ns", MEMBER_TIME,
	  .what = "length of an interval; the last one may be shorter. An operation or request "
		  "counts in "
		  "the interval in which it ended" },
	{ "intervals", MEMBER_COUNT, .what = "number of intervals" },
	{ "all", MEMBER_OBJECT, .what = "sums of all operations", .object = &all_object },
	{ "rows", MEMBER_OBJECT,
	  .what = "operations by kind and file system, and requests by operation and disk; most "
		  "time first",
	  .object = &row_object, .list = 1 },
	{ "more_rows", MEMBER_COUNT,
	  .what = "rows that are left out; their operations are in all" },
	{ "offsets", MEMBER_OBJECT,
	  .what = "where reads and writes of a file, or read and write requests of a disk went; "
		  "those with "
		  "most accesses first",
	  .object = &map_object, .list = 1 },
	{}
};
static const struct object page_object = { NULL, "the data of a page", page_members };

const struct schema page_schema = {
	"iostrata.page/1",
	.what = "the data of the pictures in a page of report --html, in its element of id data",
	.first = &page_object
};

/* A number of an interval. */
typedef uint64_t (*cell_value)(const struct series_cell *cell, int stratum);

static uint64_t cell_count(const struct series_cell *cell, int stratum)
{
	(void)stratum;
	return cell->count;
}

static uint64_t cell_errors(const struct series_cell *cell, int stratum)
{
	(void)stratum;
	return cell->errors;
}

static uint64_t cell_bytes(const struct series_cell *cell, int stratum)
{
	(void)stratum;
	return cell->bytes;
}

static uint64_t cell_total(const struct series_cell *cell, int stratum)
{
	(void)stratum;
	return cell->total_ns;
}

static uint64_t cell_stratum(const struct series_cell *cell, int stratum)
{
	return cell->strata[stratum];
}

static bool any(const struct series *s, const struct series_cell *cells, cell_value get,
		int stratum)
{
	for (unsigned int i = 0; i < s->intervals; i++)
		if (get(&cells[i], stratum))
			return true;
	return false;
}

static void put_list(struct json *j, const char *name, const struct series *s,
		     const struct series_cell *cells, cell_value get, int stratum)
{
	json_put_begin(j, name, '[');
	for (unsigned int i = 0; i < s->intervals; i++)
		json_put_uint(j, NULL, get(&cells[i], stratum));
	json_put_end(j, ']');
}

static void put_strata(struct json *j, const struct series *s, const struct series_cell *cells)
{
	json_put_begin(j, "strata", '{');
	for (int i = 0; i < ST_N; i++)
		if (any(s, cells, cell_stratum, i))
			put_list(j, stratum_name(i), s, cells, cell_stratum, i);
	json_put_end(j, '}');
}

/* The number of times of @cell in the half-octave @half. */
static uint64_t half_count(const struct series_cell *cell, unsigned int half)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < cell->hist.n; i++)
		if (cell->hist.bins[i].bucket >> HALF_OCTAVE_LOG2 == half)
			n += cell->hist.bins[i].count;
	return n;
}

/* The lowest and the highest half-octave with a count. Returns false if there is none. */
static bool heat_range(const struct series *s, const struct series_cell *cells,
		       unsigned int *ret_low, unsigned int *ret_high)
{
	unsigned int low = HALF_OCTAVES, high = 0, first, last;

	for (unsigned int i = 0; i < s->intervals; i++) {
		const struct hist *h = &cells[i].hist;

		if (!h->n)
			continue;
		first = h->bins[0].bucket >> HALF_OCTAVE_LOG2;
		last = h->bins[h->n - 1].bucket >> HALF_OCTAVE_LOG2;
		low = first < low ? first : low;
		high = last > high ? last : high;
	}
	*ret_low = low;
	*ret_high = high;
	return low < HALF_OCTAVES;
}

static void put_heat(struct json *j, const struct series *s, const struct series_cell *cells)
{
	unsigned int low, high;
	uint64_t n;

	json_put_begin(j, "heat", '{');
	if (!heat_range(s, cells, &low, &high))
		low = high + 1;
	json_put_uint(j, "low", low);
	json_put_begin(j, "cells", '[');
	for (unsigned int half = low; half <= high; half++) {
		json_put_begin(j, NULL, '[');
		for (unsigned int i = 0; i < s->intervals; i++) {
			n = half_count(&cells[i], half);
			if (!n)
				continue;
			json_put_uint(j, NULL, i);
			json_put_uint(j, NULL, n);
		}
		json_put_end(j, ']');
	}
	json_put_end(j, ']');
	json_put_end(j, '}');
}

static void put_row(struct json *j, const struct series *s, const struct series_row *row)
{
	json_put_begin(j, NULL, '{');
	json_put_bool(j, "is_request", row->key.is_request);
	json_put_string(j, "what", row->key.what);
	json_put_string(j, "where", row->key.where);
	put_list(j, "count", s, row->cells, cell_count, 0);
	put_list(j, "errors", s, row->cells, cell_errors, 0);
	put_list(j, "bytes", s, row->cells, cell_bytes, 0);
	put_list(j, "total", s, row->cells, cell_total, 0);
	put_strata(j, s, row->cells);
	put_heat(j, s, row->cells);
	json_put_end(j, '}');
}

static uint64_t row_total(const struct series *s, const struct series_row *row)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < s->intervals; i++)
		ns += row->cells[i].total_ns;
	return ns;
}

static int row_order(const void *a, const void *b, void *arg)
{
	uint64_t x = row_total(arg, *(const struct series_row *const *)a);
	uint64_t y = row_total(arg, *(const struct series_row *const *)b);

	return compare_u64(y, x);
}

/* The sums of all operations. */
static void put_all(struct json *j, const struct series *s)
{
	struct series_cell cells[SERIES_INTERVALS] = {};

	for (size_t i = 0; i < s->n_rows; i++) {
		const struct series_row *row = &s->rows[i];

		for (unsigned int at = 0; at < s->intervals && !row->key.is_request; at++) {
			cells[at].count += row->cells[at].count;
			cells[at].total_ns += row->cells[at].total_ns;
			for (int st = 0; st < ST_N; st++)
				cells[at].strata[st] += row->cells[at].strata[st];
		}
	}
	json_put_begin(j, "all", '{');
	put_list(j, "count", s, cells, cell_count, 0);
	put_list(j, "total", s, cells, cell_total, 0);
	put_strata(j, s, cells);
	json_put_end(j, '}');
}

static int put_rows(struct json *j, struct series *s)
{
	const struct series_row **rows = calloc(s->n_rows + 1, sizeof(*rows));
	size_t n = s->n_rows < ROWS_MOST ? s->n_rows : ROWS_MOST;

	if (!rows)
		return -1;
	for (size_t i = 0; i < s->n_rows; i++)
		rows[i] = &s->rows[i];
	qsort_r(rows, s->n_rows, sizeof(*rows), row_order, s);
	json_put_begin(j, "rows", '[');
	for (size_t i = 0; i < n; i++)
		put_row(j, s, rows[i]);
	json_put_end(j, ']');
	json_put_uint(j, "more_rows", s->n_rows - n);
	free(rows);
	return 0;
}

static int map_order(const void *a, const void *b)
{
	const struct access *x = (*(const struct page_map *const *)a)->map->access;
	const struct access *y = (*(const struct page_map *const *)b)->map->access;

	return compare_u64(y[ACCESS_READ].count + y[ACCESS_WRITE].count,
			   x[ACCESS_READ].count + x[ACCESS_WRITE].count);
}

size_t page_maps(const struct page *p, const struct page_map *ret[PAGE_MAPS])
{
	const struct page_map *all[PAGE_FILE_MAPS + PAGE_DISK_MAPS];
	const struct page_data *d = p->data;
	size_t n = 0;

	for (size_t i = 0; i < d->n_file_maps; i++)
		all[n++] = &d->file_maps[i];
	for (size_t i = 0; i < d->n_disk_maps; i++)
		all[n++] = &d->disk_maps[i];
	qsort(all, n, sizeof(*all), map_order);
	n = n < PAGE_MAPS ? n : PAGE_MAPS;
	memcpy(ret, all, n * sizeof(*all));
	return n;
}

const char *page_map_name(const struct page_names *names, const struct page_map *m)
{
	if (m->row)
		return names->files->ops[m->row - 1].by;
	for (size_t i = 0; i < names->disks->n_ops; i++)
		if (names->disks->ops[i].key.by[0] == m->dev &&
		    names->disks->ops[i].key.fs == m->host)
			return names->disks->ops[i].by;
	return NULL;
}

/* "92 % sequential reads of 128 KiB"; without a pattern that most have: "reads of 4 KiB: 40 %
 * sequential, 20 % strided, 40 % random". Returns the length. */
static int kind_words(char *dst, size_t cap, const struct access *k, const char *noun)
{
	static const char *const patterns[] = { "sequential", "strided", "random" };
	uint64_t counts[] = { k->sequential, k->strided, k->count - k->sequential - k->strided };
	uint64_t same, size = access_size(k, &same);
	const char *about = same == k->count ? "of" : "mostly of", *mean = "";
	int most = 0, n;

	if (2 * same < k->count) {
		size = k->bytes / k->count;
		about = "of";
		mean = " on average";
	}
	if (k->count < PATTERN_LEAST)
		return snprintf(dst, cap, "%s %s%s %s %s%s", text_count(k->count).s, noun,
				text_plural(k->count), about, text_bytes(size).s, mean);
	for (int i = 1; i < 3; i++)
		most = counts[i] > counts[most] ? i : most;
	if (2 * counts[most] > k->count)
		return snprintf(dst, cap, "%s %s %s%s %s %s%s",
				text_percent_whole(counts[most], k->count).s, patterns[most], noun,
				text_plural(k->count), about, text_bytes(size).s, mean);
	n = snprintf(dst, cap, "%s%s %s %s%s:", noun, text_plural(k->count), about,
		     text_bytes(size).s, mean);
	for (int i = 0; i < 3; i++)
		n += snprintf(dst + n, cap - n, "%s %s %s", i ? "," : "",
			      text_percent_whole(counts[i], k->count).s, patterns[i]);
	return n;
}

void page_map_words(char ret[PAGE_MAP_WORDS], const struct page_map *m)
{
	const struct access *reads = &m->map->access[ACCESS_READ];
	const struct access *writes = &m->map->access[ACCESS_WRITE];
	int n = 0;

	ret[0] = '\0';
	if (reads->count)
		n = kind_words(ret, PAGE_MAP_WORDS, reads, "read");
	if (reads->count && writes->count)
		n += snprintf(ret + n, PAGE_MAP_WORDS - n, "; ");
	if (writes->count)
		kind_words(ret + n, PAGE_MAP_WORDS - n, writes, "write");
}

static void put_map_cells(struct json *j, const struct offset_map *m)
{
	json_put_begin(j, "cells", '[');
	for (int t = 0; t < OFFSETS_TIMES; t++) {
		for (int p = 0; p < OFFSETS_PLACES; p++) {
			const uint32_t *n = m->cells[t][p];

			if (!n[ACCESS_READ] && !n[ACCESS_WRITE])
				continue;
			json_put_uint(j, NULL, t);
			json_put_uint(j, NULL, p);
			json_put_uint(j, NULL, n[ACCESS_READ]);
			json_put_uint(j, NULL, n[ACCESS_WRITE]);
		}
	}
	json_put_end(j, ']');
}

static void put_maps(struct json *j, const struct page *p, const struct page_names *names)
{
	const struct page_map *maps[PAGE_MAPS];
	size_t n = page_maps(p, maps);
	char words[PAGE_MAP_WORDS];

	json_put_begin(j, "offsets", '[');
	for (size_t i = 0; i < n; i++) {
		json_put_begin(j, NULL, '{');
		json_put_string(j, "name", page_map_name(names, maps[i]));
		json_put_bool(j, "is_disk", !maps[i]->row);
		page_map_words(words, maps[i]);
		json_put_string(j, "words", words);
		json_put_uint(j, "since_ns", maps[i]->since_ns);
		json_put_uint(j, "interval_ns", 1ULL << maps[i]->map->time_shift);
		json_put_uint(j, "range_bytes", 1ULL << maps[i]->map->place_shift);
		put_map_cells(j, maps[i]->map);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_shares(struct json *j)
{
	json_put_begin(j, "shares", '[');
	for (int s = 0; s < SHARE_N; s++) {
		json_put_begin(j, NULL, '{');
		json_put_string(j, "letter", (char[]){ share_letter(s), '\0' });
		json_put_string(j, "name", share_name(s));
		json_put_string(j, "mostly", share_mostly(s));
		json_put_begin(j, "strata", '[');
		for (int i = 0; i < ST_N; i++)
			if (share_strata(s) >> i & 1)
				json_put_string(j, NULL, stratum_name(i));
		json_put_end(j, ']');
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

void page_words(struct json *j)
{
	json_put_begin(j, "strata", '[');
	for (int i = 0; i < ST_N; i++)
		json_put_string(j, NULL, stratum_name(i));
	json_put_end(j, ']');
	put_shares(j);
	json_put_begin(j, "kinds", '[');
	for (int i = 0; i < RQ_N; i++) {
		json_put_begin(j, NULL, '{');
		json_put_string(j, "code", rq_op_code(i));
		json_put_string(j, "name", rq_op_name(i));
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_head(struct json *j, const struct page *p)
{
	const struct series *s = &p->data->series;

	json_put_string(j, "schema", page_schema.id);
	json_put_string(j, "kernel", p->view->kernel);
	json_put_string(j, "host", p->host);
	json_put_uint(j, "begin_ns", p->begin_ns);
	json_put_uint(j, "duration_ns", s->duration_ns);
	page_words(j);
	json_put_uint(j, "interval_ns", 1ULL << s->shift);
	json_put_uint(j, "intervals", s->intervals);
}

/* The caller frees the result; NULL if out of memory. Sets @ret_series to the length without
 * offsets. */
static char *json_make(const struct page *p, const struct page_names *names, size_t *ret_series,
		       size_t *ret_len)
{
	struct json j = {};
	char *text = NULL;
	int err;

	j.out.f = open_memstream(&text, ret_len);
	if (!j.out.f)
		return NULL;
	json_put_begin(&j, NULL, '{');
	put_head(&j, p);
	put_all(&j, &p->data->series);
	err = put_rows(&j, &p->data->series);
	*ret_series = ftell(j.out.f);
	put_maps(&j, p, names);
	json_put_end(&j, '}');
	if (!fclose(j.out.f) && !j.out.err && !err)
		return text;
	free(text);
	return NULL;
}

char *page_json(const struct page *p, const struct page_names *names, size_t max, size_t *ret_len)
{
	struct series *s = &p->data->series;
	size_t series;
	char *json = json_make(p, names, &series, ret_len);

	while (json && series > max && s->intervals > 1) {
		free(json);
		if (series_halve(s))
			return NULL;
		json = json_make(p, names, &series, ret_len);
	}
	return json;
}
