// SPDX-License-Identifier: GPL-2.0-only
#include "show/page_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/json.h"
#include "base/names.h"
#include "show/page.h"
#include "show/page_callers.h"
#include "show/page_index.h"
#include "show/page_maps.h"
#include "show/page_pack.h"
#include "show/view_parts.h"

enum {
	ROWS_OPS = 20, /* rows of operations with a map of latencies */
	ROWS_REQUESTS = 12,
	DISK_ROWS = 24,       /* kinds of requests of disks */
	EXAMPLES_MOST = 4000, /* operations with a place of their own */
	CELLS_FIRST = 26000,  /* cells of the cube on a page, and combinations; fewer if */
	COMBOS_FIRST = 2000,  /* the page would be too large */
};

#define MEMBER_PACKED(member, text)                                                                \
	{                                                                                          \
		member, MEMBER_ASCII, .what = text "; packed", .null = "there is none"             \
	}

static const struct member latency_members[] = {
	{ "is_request", MEMBER_BOOL, .what = "whether these are requests; else operations" },
	{ "what", MEMBER_TEXT, .what = "kind of the operations or requests",
	  .null = "all kinds without a row" },
	{ "where", MEMBER_TEXT, .what = "file system type or disk", .null = "not known" },
	{ "operation", MEMBER_ID, .what = "its number among operations", .null = "no operations" },
	{ "count", MEMBER_COUNT, .what = "how many there are" },
	MEMBER_PACKED("cells",
		      "for each interval and half octave with a count: interval * 74 + half "
		      "octave, less the same of the cell before, and the count. Half octave "
		      "n begins at 2^(n/2 + 4) ns for even n, and in the middle of the octave "
		      "for odd n; of requests the time in the device"),
	{}
};
static const struct object latency_object = { "latency", "how many took how long",
					      latency_members };

static const struct member disk_members[] = {
	{ "disk", MEMBER_ID, .what = "its number among disks", .null = "all other disks" },
	{ "kind", MEMBER_ASCII, .what = "code of the kind of requests", .words = &rq_words },
	MEMBER_PACKED("cells",
		      "for each interval with a request: interval + 1, 0 for the time "
		      "before, less the same of the cell before; count, errors, bytes, whole "
		      "time of those that ended there; time in flight there"),
	{}
};
static const struct object disk_object = { "disk", "requests of one kind and disk", disk_members };

static const struct member map_members[] = {
	{ "name", MEMBER_TEXT, .what = "path of the file, or name of the disk",
	  .null = "not known" },
	{ "is_disk", MEMBER_BOOL, .what = "whether this is a disk; else a file" },
	{ "words", MEMBER_ASCII, .what = "the pattern in words" },
	{ "since_ns", MEMBER_TIME,
	  .what = "accesses before this time, since the begin, are not in the map" },
	{ "interval_ns", MEMBER_TIME, .what = "length of an interval of time" },
	{ "range_bytes", MEMBER_BYTES, .what = "length of a range of offsets" },
	MEMBER_PACKED("cells", "for each interval and range with accesses four numbers: interval, "
			       "range, reads, writes"),
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

static const struct member lost_members[] = {
	{ "name", MEMBER_ASCII, .what = "its name in JSON", .words = &lost_words },
	{ "what", MEMBER_ASCII, .what = "the end of a sentence that begins with a number",
	  .null = "it is no loss" },
	{ "what_one", MEMBER_ASCII, .what = "the end of a sentence that begins with 1",
	  .null = "it is no loss" },
	{}
};
static const struct object lost_object = { NULL, "a kind", lost_members };

static const struct member loss_members[] = {
	{ "kind", MEMBER_ID, .what = "its number among kinds of losses" },
	MEMBER_PACKED("cells", "for each interval with a loss two numbers: interval, less the same "
			       "of the cell before, and the count"),
	{}
};
static const struct object loss_object = { "loss", "losses of one kind over time", loss_members };

static const struct member page_members[] = {
	{ "kernel", MEMBER_TEXT, .what = "release of the kernel", .null = "not known" },
	{ "host", MEMBER_TEXT, .what = "name of the machine", .null = "not known" },
	{ "recordings", MEMBER_TEXT, .what = "names of the recordings", .list = 1,
	  .item = "a name" },
	{ "filters", MEMBER_TEXT, .what = "the filters as typed", .null = "none" },
	{ "from_ns", MEMBER_TIME, .what = "begin of the page in the recording" },
	{ "begin_ns", MEMBER_TIME, .what = "begin of the time axis, since 1970" },
	{ "duration_ns", MEMBER_TIME, .what = "length of the time axis" },
	{ "strata", MEMBER_ASCII, .what = "names of all strata, in their order",
	  .words = &strata_words, .list = 1, .item = "name of a stratum" },
	{ "shares", MEMBER_OBJECT,
	  .what = "groups of strata under one letter and colour, in the order of all bars",
	  .object = &share_object, .list = 1 },
	{ "kinds", MEMBER_OBJECT, .what = "kinds of requests", .object = &kind_object, .list = 1 },
	{ "lost_kinds", MEMBER_OBJECT, .what = "kinds of losses", .object = &lost_object,
	  .list = 1 },
	{ "machine_figures", MEMBER_ASCII,
	  .what = "figures of the machine, as breakdown's JSON calls them",
	  .words = &machine_figure_words, .list = 1, .item = "name of a figure" },
	{ "machine_levels", MEMBER_BOOL,
	  .what = "whether each of them is a level: the highest one counts, not the sum", .list = 1,
	  .item = "whether it is" },
	{ "bin_ns", MEMBER_TIME,
	  .what = "length of an interval; the last one may be shorter. Count, errors, bytes and "
		  "maximum are in the interval in which an operation or request ended; the time is "
		  "in all intervals in which it lived" },
	{ "bins", MEMBER_COUNT, .what = "number of intervals" },
	MEMBER_PACKED("combos",
		      "combinations, most time first: the numbers of operation, call, disk, file "
		      "(0: all other files, or none) and thread (0: all others), the level, and "
		      "the number of cells, which are 1 << level intervals each"),
	MEMBER_PACKED("cells",
		      "for each cell of each combination: interval + 1, 0 for the time before the "
		      "page, less the same of the cell before; count, errors, bytes, maximum; time "
		      "of those that ended there, as a signed difference from the sum of the "
		      "shares; the set of shares with time, and their times, in their order"),
	MEMBER_PACKED("examples",
		      "operations, by their begin: begin, as a signed difference from the one "
		      "before; time; the numbers of operation, call, disk, file and thread; id of "
		      "the thread; error; the set of shares with time, and their times"),
	MEMBER_PACKED("details",
		      "for each operation in the section of the slowest: begin, signed; id of the "
		      "thread; time; number of segments, and for each its stratum and its time"),
	{ "latencies", MEMBER_OBJECT, .what = "operations, then requests; most time first",
	  .object = &latency_object, .list = 1 },
	{ "disk_rows", MEMBER_OBJECT, .what = "requests over time; most time first",
	  .object = &disk_object, .list = 1 },
	{ "losses", MEMBER_OBJECT, .what = "losses whose time the recorder knew",
	  .object = &loss_object, .list = 1 },
	MEMBER_PACKED("machine",
		      "for each interval in which it is known how busy the machine was: "
		      "interval, less the same of the interval before, time measured in it, and "
		      "each of machine_figures + 1, or 0 if not known"),
	{ .also = page_index_members },
	{ "offsets", MEMBER_OBJECT,
	  .what = "where reads and writes of a file, or read and write requests of a disk went; "
		  "those with most accesses first",
	  .object = &map_object, .list = 1 },
	{ "callers", MEMBER_OBJECT, .what = "functions of programs that made operations",
	  .object = &page_callers_object, .only = "of a recording with user stacks" },
	{}
};
static const struct object page_object = { NULL, "the data of a page", page_members };

const struct schema page_schema = {
	"iostrata.page/2", .what = "the data of a page of report --html, in its element of id data",
	.first = &page_object
};

/* The JSON being written, and the numbers of its names. */
struct page_json {
	struct json j;
	const struct page *page;
	struct page_data *data;
	struct page_index index;
	size_t examples; /* at most */
};

void page_shares_pack(struct pack *p, const uint64_t shares[SHARE_N])
{
	uint64_t set = 0;

	for (int i = 0; i < SHARE_N; i++)
		set |= (uint64_t)(shares[share_ordered(i)] != 0) << i;
	pack_uint(p, set);
	for (int i = 0; i < SHARE_N; i++)
		if (set >> i & 1)
			pack_uint(p, shares[share_ordered(i)]);
}

static void pack_numbers(struct pack *p, const struct page_numbers *n)
{
	pack_uint(p, n->op);
	pack_uint(p, n->call);
	pack_uint(p, n->disk);
	pack_uint(p, n->file);
	pack_uint(p, n->thread);
}

static void pack_cell(struct pack *p, const struct cube_cell *cell, uint32_t before)
{
	uint64_t spread = 0;

	for (int i = 0; i < SHARE_N; i++)
		spread += cell->shares[i];
	pack_uint(p, cell->bin - before);
	pack_uint(p, cell->count);
	pack_uint(p, cell->errors);
	pack_uint(p, cell->bytes);
	pack_uint(p, cell->max_ns);
	pack_int(p, (int64_t)(cell->ended_ns - spread));
	page_shares_pack(p, cell->shares);
}

static int combo_order(const void *a, const void *b)
{
	const struct cube_combo *x = a, *y = b;
	int order = compare_u64(y->total_ns, x->total_ns);

	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

static int put_cube(struct page_json *w)
{
	struct cube *c = &w->data->cube;
	struct pack combos = {}, cells = {};
	int err;

	if (c->n) /* no operation is added from now on, so the index may point elsewhere */
		qsort(c->combos, c->n, sizeof(*c->combos), combo_order);
	for (size_t i = 0; i < c->n; i++) {
		const struct cube_combo *combo = &c->combos[i];
		const struct page_numbers n = page_index_key(&w->index, &combo->key);

		pack_numbers(&combos, &n);
		pack_uint(&combos, combo->level);
		pack_uint(&combos, combo->n);
		for (uint32_t k = 0; k < combo->n; k++)
			pack_cell(&cells, &combo->cells[k], k ? combo->cells[k - 1].bin : 0);
	}
	err = pack_put(&combos, &w->j, "combos");
	return pack_put(&cells, &w->j, "cells") ? -1 : err;
}

static int latency_order(const void *a, const void *b)
{
	const struct latency_row *x = *(const struct latency_row *const *)a;
	const struct latency_row *y = *(const struct latency_row *const *)b;

	if (x->key.is_request != y->key.is_request)
		return x->key.is_request - y->key.is_request;
	return compare_u64(y->total_ns, x->total_ns);
}

/* The rows of latencies on the page, operations first. Returns their number. */
static size_t latency_rows(const struct latencies *l, const struct latency_row *ret[LATENCY_ROWS])
{
	size_t n = 0, ops = 0, requests = 0;

	for (size_t i = 0; i < l->n; i++)
		ret[i] = &l->rows[i];
	qsort(ret, l->n, sizeof(*ret), latency_order);
	for (size_t i = 0; i < l->n; i++)
		if (ret[i]->key.is_request ? requests++ < ROWS_REQUESTS : ops++ < ROWS_OPS)
			ret[n++] = ret[i];
	return n;
}

/* Examples, those to be kept first in front, then in the order of their begins. */
struct examples {
	const struct example **list; /* owned */
	size_t n;
};

static void example_add(struct examples *e, const struct example *one)
{
	if (one->total_ns)
		e->list[e->n++] = one;
}

static int begin_order(const void *a, const void *b)
{
	const struct example *x = *(const struct example *const *)a;
	const struct example *y = *(const struct example *const *)b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return compare_u64(y->total_ns, x->total_ns);
}

/* Leaves out examples that are there twice, and puts the others in the order of their begins. */
static void examples_sort(struct examples *e)
{
	size_t n = 0;

	qsort(e->list, e->n, sizeof(*e->list), begin_order);
	for (size_t i = 0; i < e->n; i++)
		if (!n || begin_order(&e->list[n - 1], &e->list[i]))
			e->list[n++] = e->list[i];
	e->n = n;
}

/* The longest of all, one for each cell of a map where 16 bins are joined, and one for each bin; as
 * many as there is room for. Returns 0 or -ENOMEM. */
static int examples_find(struct examples *e, const struct latencies *l, size_t room)
{
	const struct latency_row *rows[LATENCY_ROWS];
	size_t n = latency_rows(l, rows);
	size_t most = l->n_all + n * (LATENCY_JOINED * LATENCY_HALVES + CUBE_BINS);

	e->list = calloc(most + 1, sizeof(*e->list));
	if (!e->list)
		return -1;
	for (size_t i = 0; i < l->n_all; i++)
		example_add(e, &l->all[i]);
	for (size_t i = 0; i < n && !rows[i]->key.is_request && e->n < room; i++)
		for (size_t joined = 0; joined < LATENCY_JOINED; joined++)
			for (size_t half = 0; half < LATENCY_HALVES; half++)
				example_add(e, &rows[i]->halves[joined][half]);
	for (size_t i = 0; i < n && !rows[i]->key.is_request && e->n < room; i++)
		for (size_t k = 0; k < CUBE_BINS; k++)
			example_add(e, &rows[i]->longest[k]);
	e->n = e->n < room ? e->n : room;
	examples_sort(e);
	return 0;
}

static int put_examples(struct page_json *w)
{
	struct examples e = {};
	struct pack p = {};
	uint64_t before = 0;

	if (examples_find(&e, &w->data->latencies, w->examples))
		return -1;
	for (size_t i = 0; i < e.n; i++) {
		const struct example *one = e.list[i];
		const struct page_numbers n = page_index_key(&w->index, &one->key);

		pack_int(&p, (int64_t)((uint64_t)one->begin_ns - before));
		pack_uint(&p, one->total_ns);
		pack_numbers(&p, &n);
		pack_uint(&p, one->tid);
		pack_uint(&p, one->error);
		page_shares_pack(&p, one->shares);
		before = one->begin_ns;
	}
	free(e.list);
	return pack_put(&p, &w->j, "examples");
}

/* The order of the time of the slowest operations. */
static int put_details(struct page_json *w)
{
	struct pack p = {};

	for (size_t i = 0; i < w->page->n_slowest; i++) {
		const struct slow_op *r = &w->page->slowest[i];
		unsigned int n = r->has_segments ? r->segments.n : 0;

		pack_int(&p, (int64_t)(r->real_ns - w->page->begin_ns));
		pack_uint(&p, r->who.tid);
		pack_uint(&p, r->total_ns);
		pack_uint(&p, n);
		for (unsigned int k = 0; k < n; k++) {
			pack_uint(&p, SEGMENT_STRATUM(r->segments.at[k]));
			pack_uint(&p, SEGMENT_NS(r->segments.at[k]));
		}
	}
	return pack_put(&p, &w->j, "details");
}

static int put_latency_cells(struct json *j, const struct latency_row *row)
{
	uint64_t before = 0;
	struct pack p = {};

	for (uint64_t bin = 0; bin < CUBE_BINS; bin++) {
		for (uint64_t half = 0; half < LATENCY_HALVES; half++) {
			if (!row->heat[bin][half])
				continue;
			pack_uint(&p, bin * LATENCY_HALVES + half - before);
			pack_uint(&p, row->heat[bin][half]);
			before = bin * LATENCY_HALVES + half;
		}
	}
	return pack_put(&p, j, "cells");
}

/* The names of a row, and the number of its operation. */
static void put_latency_names(struct page_json *w, const struct latency_row *row)
{
	const struct latency_key *k = &row->key;
	struct op_row name = { .key = { .op = k->kind, .call = k->call } };
	char buf[32], safe[TEXT_SAFE_CAP(FS_NAME_LEN)] = "";
	const char *what =
		k->is_request ? rq_op_name(k->kind) : breakdown_op_name(w->page->view, &name, buf);

	if (!k->is_request && k->fs)
		text_safe_utf8(safe, sizeof(safe), w->data->fs[k->fs - 1].name,
			       strnlen(w->data->fs[k->fs - 1].name, FS_NAME_LEN));
	json_put_string(&w->j, "what", k->is_others ? NULL : what);
	json_put_string(&w->j, "where", safe);
	if (k->is_others)
		json_put_null(&w->j, "operation");
	else if (k->is_request)
		json_put_uint(&w->j, "operation", page_index_disk(&w->index, k->dev, k->host));
	else
		json_put_uint(&w->j, "operation",
			      page_index_op(&w->index, k->kind, k->call, k->fs));
}

static int put_latencies(struct page_json *w)
{
	const struct latency_row *rows[LATENCY_ROWS];
	size_t n = latency_rows(&w->data->latencies, rows);
	int err = 0;

	json_put_begin(&w->j, "latencies", '[');
	for (size_t i = 0; i < n && !err; i++) {
		json_put_begin(&w->j, NULL, '{');
		json_put_bool(&w->j, "is_request", rows[i]->key.is_request);
		put_latency_names(w, rows[i]);
		json_put_uint(&w->j, "count", rows[i]->count);
		err = put_latency_cells(&w->j, rows[i]);
		json_put_end(&w->j, '}');
	}
	json_put_end(&w->j, ']');
	return err;
}

static int put_disk_cells(struct json *j, const struct disk_times *row)
{
	uint32_t before = 0;
	struct pack p = {};

	for (uint32_t bin = 0; bin <= CUBE_BINS; bin++) {
		const struct disk_cell *cell = &row->cells[bin];

		if (!cell->count && !cell->flight_ns)
			continue;
		pack_uint(&p, bin - before);
		pack_uint(&p, cell->count);
		pack_uint(&p, cell->errors);
		pack_uint(&p, cell->bytes);
		pack_uint(&p, cell->ended_ns);
		pack_uint(&p, cell->flight_ns);
		before = bin;
	}
	return pack_put(&p, j, "cells");
}

static int disk_order(const void *a, const void *b)
{
	const struct disk_times *x = *(const struct disk_times *const *)a;
	const struct disk_times *y = *(const struct disk_times *const *)b;

	return compare_u64(y->total_ns, x->total_ns);
}

static int put_disks(struct page_json *w)
{
	const struct disks *d = &w->data->disks;
	const struct disk_times *rows[DISK_TIMES];
	int err = 0;

	for (size_t i = 0; i < d->n; i++)
		rows[i] = &d->rows[i];
	qsort(rows, d->n, sizeof(*rows), disk_order);
	json_put_begin(&w->j, "disk_rows", '[');
	for (size_t i = 0; i < d->n && i < DISK_ROWS && !err; i++) {
		json_put_begin(&w->j, NULL, '{');
		if (rows[i]->is_others)
			json_put_null(&w->j, "disk");
		else
			json_put_uint(&w->j, "disk",
				      page_index_disk(&w->index, rows[i]->dev, rows[i]->host));
		json_put_string(&w->j, "kind", rq_op_code(rows[i]->op));
		err = put_disk_cells(&w->j, rows[i]);
		json_put_end(&w->j, '}');
	}
	json_put_end(&w->j, ']');
	return err;
}

static int put_map_cells(struct json *j, const struct offset_map *m)
{
	struct pack pack = {};

	for (int t = 0; t < OFFSETS_TIMES; t++) {
		for (int p = 0; p < OFFSETS_PLACES; p++) {
			const uint32_t *n = m->cells[t][p];

			if (!n[ACCESS_READ] && !n[ACCESS_WRITE])
				continue;
			pack_uint(&pack, t);
			pack_uint(&pack, p);
			pack_uint(&pack, n[ACCESS_READ]);
			pack_uint(&pack, n[ACCESS_WRITE]);
		}
	}
	return pack_put(&pack, j, "cells");
}

/* How busy the machine was in each interval. Without figures there is null, and no row on the page.
 */
static int put_machine(struct page_json *w)
{
	const struct page_data *d = w->data;
	const struct machine_loads *loads = w->page->loads;
	uint64_t begin = w->page->begin_ns, length = 1ULL << d->cube.shift, before = 0;
	struct machine_load load;
	struct pack p = {};

	if (!loads || !loads->n) {
		json_put_null(&w->j, "machine");
		return 0;
	}
	for (uint64_t bin = 0; bin < CUBE_BINS; bin++) {
		machine_loads_between(loads, begin + bin * length, begin + (bin + 1) * length,
				      &load);
		if (!load.ns)
			continue;
		pack_uint(&p, bin - before);
		pack_uint(&p, load.ns);
		for (unsigned int i = 0; i < MACHINE_FIGURES; i++)
			pack_uint(&p, machine_load_knows(&load, i) ? load.figure[i] + 1 : 0);
		before = bin;
	}
	return pack_put(&p, &w->j, "machine");
}

static int put_losses(struct page_json *w)
{
	const struct loss_times *l = &w->data->losses;
	int err = 0;

	json_put_begin(&w->j, "losses", '[');
	for (unsigned int kind = 0; kind < LOST_N && !err; kind++) {
		struct pack p = {};
		uint64_t before = 0;

		for (uint64_t bin = 0; bin < CUBE_BINS && lost_what(kind, 2); bin++) {
			if (!l->lost[kind][bin])
				continue;
			pack_uint(&p, bin - before);
			pack_uint(&p, l->lost[kind][bin]);
			before = bin;
		}
		if (!p.n)
			continue;
		json_put_begin(&w->j, NULL, '{');
		json_put_uint(&w->j, "kind", kind);
		err = pack_put(&p, &w->j, "cells");
		json_put_end(&w->j, '}');
	}
	json_put_end(&w->j, ']');
	return err;
}

/* A name that is hostile, made safe. */
static void put_safe(struct json *j, const char *name, const char *text)
{
	char *safe = text ? malloc(TEXT_SAFE_CAP(strlen(text))) : NULL;

	if (safe)
		text_safe_utf8(safe, TEXT_SAFE_CAP(strlen(text)), text, strlen(text));
	json_put_string(j, name, safe);
	free(safe);
}

static int put_maps(struct page_json *w)
{
	const struct page_map *maps[PAGE_MAPS];
	size_t n = page_maps(w->data, maps);
	char words[PAGE_MAP_WORDS];
	struct json *j = &w->j;
	int err = 0;

	json_put_begin(j, "offsets", '[');
	for (size_t i = 0; i < n && !err; i++) {
		json_put_begin(j, NULL, '{');
		put_safe(j, "name", page_map_name(w->index.names, maps[i]));
		json_put_bool(j, "is_disk", !maps[i]->row);
		page_map_words(words, maps[i]);
		json_put_string(j, "words", words);
		json_put_uint(j, "since_ns", maps[i]->since_ns);
		json_put_uint(j, "interval_ns", 1ULL << maps[i]->map->time_shift);
		json_put_uint(j, "range_bytes", 1ULL << maps[i]->map->place_shift);
		err = put_map_cells(j, maps[i]->map);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	return err;
}

static void put_shares(struct json *j)
{
	json_put_begin(j, "shares", '[');
	for (int i = 0; i < SHARE_N; i++) {
		enum share s = share_ordered(i);

		json_put_begin(j, NULL, '{');
		json_put_string(j, "letter", (char[]){ share_letter(s), '\0' });
		json_put_string(j, "name", share_name(s));
		json_put_string(j, "mostly", share_mostly(s));
		json_put_begin(j, "strata", '[');
		for (int st = 0; st < ST_N; st++)
			if (share_strata(s) >> st & 1)
				json_put_string(j, NULL, stratum_name(st));
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
	json_put_begin(j, "lost_kinds", '[');
	for (int i = 0; i < LOST_N; i++) {
		json_put_begin(j, NULL, '{');
		json_put_string(j, "name", lost_name(i));
		json_put_string(j, "what", lost_what(i, 2));
		json_put_string(j, "what_one", lost_what(i, 1));
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	json_put_begin(j, "machine_figures", '[');
	for (unsigned int i = 0; i < MACHINE_FIGURES; i++)
		json_put_string(j, NULL, machine_figure_name(i));
	json_put_end(j, ']');
	json_put_begin(j, "machine_levels", '[');
	for (unsigned int i = 0; i < MACHINE_FIGURES; i++)
		json_put_bool(j, NULL, machine_figure_is_level(i));
	json_put_end(j, ']');
}

static void put_head(struct page_json *w)
{
	const struct breakdown_view *v = w->page->view;
	const struct page_data *d = w->data;
	struct json *j = &w->j;

	json_put_string(j, "schema", page_schema.id);
	json_put_string(j, "kernel", v->source.kernel);
	json_put_string(j, "host", w->page->host);
	json_put_begin(j, "recordings", '[');
	for (size_t i = 0; i < w->page->n_recordings; i++)
		put_safe(j, NULL, basename(w->page->recordings[i]));
	json_put_end(j, ']');
	put_safe(j, "filters", v->chosen.filters);
	json_put_uint(j, "from_ns", w->page->from_ns);
	json_put_uint(j, "begin_ns", w->page->begin_ns);
	json_put_uint(j, "duration_ns", d->duration_ns);
	page_words(j);
	json_put_uint(j, "bin_ns", 1ULL << d->cube.shift);
	json_put_uint(j, "bins", ((d->duration_ns - 1) >> d->cube.shift) + 1);
}

/* For free(), or NULL if out of memory. */
static char *json_make(const struct page *p, const struct page_names *names, size_t examples,
		       size_t *ret_len)
{
	struct page_json w = { .page = p,
			       .data = p->data,
			       .examples = examples,
			       .index = { .data = p->data, .names = names, .view = p->view } };
	char *text = NULL;
	int err;

	w.j.out.f = open_memstream(&text, ret_len);
	if (!w.j.out.f)
		return NULL;
	json_put_begin(&w.j, NULL, '{');
	put_head(&w);
	err = put_cube(&w);
	err = err ? err : put_examples(&w);
	err = err ? err : put_details(&w);
	err = err ? err : put_latencies(&w);
	err = err ? err : put_disks(&w);
	err = err ? err : put_losses(&w);
	err = err ? err : put_machine(&w);
	err = err ? err : page_index_put(&w.index, &w.j);
	err = err ? err : put_maps(&w);
	if (!err && p->sn->stacks)
		err = page_callers_put(&w.j, p->sn->stacks);
	json_put_end(&w.j, '}');
	page_index_done(&w.index);
	if (!fclose(w.j.out.f) && !w.j.out.err && !err)
		return text;
	free(text);
	return NULL;
}

char *page_json(const struct page *p, const struct page_names *names, size_t max, size_t *ret_len)
{
	size_t cells = CELLS_FIRST, combos = COMBOS_FIRST, examples = EXAMPLES_MOST;
	char *json = NULL;

	do {
		free(json);
		if (cube_limit(&p->data->cube, cells, combos))
			return NULL;
		json = json_make(p, names, examples, ret_len);
		examples = examples * 3 / 4;
		cells = cells * 3 / 4;
		combos = combos * 3 / 4;
	} while (json && *ret_len > max && cells > 16);
	return json;
}
