// SPDX-License-Identifier: GPL-2.0-only
/*
 * parquet.c - rows to pages, pages to row groups, row groups to a file; see parquet.h. The layout
 * and the numbers are those of Parquet's parquet.thrift.
 */
#include "export/parquet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/encode.h"
#include "base/text.h"
#include "export/parquet_encode.h"
#include "export/thrift.h"

enum {
	GROUP_ROWS = 131072,
	GROUP_BYTES = 8 << 20, /* a row group also ends at this size of its finished pages */
	PAGE_ROWS = 16384,
	PAGE_TEXT = 1 << 20, /* bytes of a page of texts without a dictionary */
	DICT_INTS = 64,      /* values in a dictionary of integers */
	DICT_TEXTS = 32768,
	DICT_BYTES = 1 << 20,
	RANGE_TEXT = 256, /* of a longer text, a bound as long is the minimum or maximum */
	ZSTD_LEVEL = 1,   /* level 3 is slower, and files are no smaller */
	TRY_EVERY = 8,    /* row groups until encodings are tried again */
	CACHE_LINE = 64,
	MEMORY_PAGE = 4096,
};

/* Numbers from parquet.thrift. */
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_TIMESTAMP_MICROS = 10 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICT = 8 };
enum { PAGE_DATA = 0, PAGE_DICT = 2 };
enum { OPTIONAL = 1, CODEC_ZSTD = 6, FILE_VERSION = 2 };

struct dict_text {
	uint64_t hash;
	size_t at, len; /* in dict.raw */
};

/* Values of a column in a row group, in the order of their first appearance. */
struct dict {
	size_t n;
	int64_t ints[DICT_INTS];
	uint8_t int_slots[4 * DICT_INTS]; /* 1 + index; 0: empty */
	struct dict_text *texts;
	uint32_t *slots;   /* 1 + index; 0: empty */
	size_t n_slots;    /* a power of 2, at least twice the texts */
	uint32_t last;     /* index of the last text that was looked up */
	struct bytes raw;  /* texts before they are escaped */
	struct bytes page; /* escaped texts of the dictionary page */
};

/* Minimum and maximum of a column in a row group. */
struct range {
	bool any;
	bool least_cut, most_cut; /* the text is longer */
	int64_t least, most;
	size_t least_len, most_len;
	char least_text[RANGE_TEXT], most_text[RANGE_TEXT];
};

struct column_state {
	enum parquet_type type;
	/* the page */
	size_t n, n_values; /* rows; rows that are not null */
	char *block;        /* has the three arrays; owned */
	uint8_t *defined;   /* whether a row is not null */
	int64_t *ints;
	uint32_t *indices; /* of texts in the dictionary */
	struct bytes text; /* escaped texts without a dictionary */
	/* the row group */
	bool no_dict; /* the dictionary is full */
	bool plain;   /* the plain encoding is smaller than differences */
	struct dict dict;
	struct range range;
	struct bytes pages;              /* finished pages */
	uint64_t rows, nulls, raw_bytes; /* raw_bytes: of the pages before compression */
	unsigned int encodings;          /* set of 1 << encoding */
};

struct parquet {
	FILE *f;
	const char *writer;
	const struct parquet_column *columns;
	struct column_state *states;
	size_t n_columns;
	uint64_t at; /* bytes written */
	uint64_t rows, group_rows, group_bytes;
	struct bytes groups; /* the row groups for the footer */
	size_t n_groups;
	uint32_t *scratch;              /* PAGE_ROWS */
	struct bytes raw, packed, head; /* of one page */
	ZSTD_CCtx *zstd;
	int err; /* the first error; 0 or -errno */
};

static void failed(struct parquet *p, int err)
{
	p->err = p->err ? p->err : err;
}

/* Takes the error of @b, if any. */
static void check(struct parquet *p, const struct bytes *b)
{
	if (b->failed)
		failed(p, -ENOMEM);
}

static void write_out(struct parquet *p, const void *data, size_t n)
{
	if (!p->err && fwrite(data, 1, n, p->f) != n)
		failed(p, errno ? -errno : -EIO);
	p->at += n;
}

/* Doubles the room for texts, or makes the first room. Returns false if out of memory. */
static bool dict_grow(struct dict *d)
{
	size_t n_slots = d->n_slots ? 2 * d->n_slots : 256;
	struct dict_text *texts = reallocarray(d->texts, n_slots / 2, sizeof(*texts));
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (texts)
		d->texts = texts;
	if (!texts || !slots) {
		free(slots);
		return false;
	}
	for (size_t t = 0; t < d->n; t++) {
		size_t i = texts[t].hash & (n_slots - 1);

		while (slots[i])
			i = (i + 1) & (n_slots - 1);
		slots[i] = (uint32_t)t + 1;
	}
	free(d->slots);
	d->slots = slots;
	d->n_slots = n_slots;
	return true;
}

/* Allocates the arrays of column @i. Each column begins in another line of its page: a row writes
 * to the same element of all columns, and a CPU's cache keeps few lines with the same place in
 * pages. */
static bool state_alloc(struct column_state *c, size_t i)
{
	size_t value = c->type == PARQUET_TEXT ? sizeof(*c->indices) : sizeof(*c->ints);
	size_t skew = i * CACHE_LINE % MEMORY_PAGE;

	c->block = malloc(skew + PAGE_ROWS * value + PAGE_ROWS);
	if (!c->block)
		return false;
	c->defined = (uint8_t *)c->block + skew + PAGE_ROWS * value;
	if (c->type != PARQUET_TEXT) {
		c->ints = (int64_t *)(c->block + skew);
		return true;
	}
	c->indices = (uint32_t *)(c->block + skew);
	return dict_grow(&c->dict);
}

static void state_free(struct column_state *c)
{
	free(c->block);
	free(c->dict.texts);
	free(c->dict.slots);
	bytes_done(&c->dict.raw);
	bytes_done(&c->dict.page);
	bytes_done(&c->text);
	bytes_done(&c->pages);
}

struct parquet *parquet_begin(FILE *f, const char *writer, const struct parquet_column *columns,
			      size_t n)
{
	struct parquet *p = calloc(1, sizeof(*p));
	bool ok;

	if (!p)
		return NULL;
	*p = (struct parquet){ .f = f, .writer = writer, .columns = columns, .n_columns = n };
	p->states = calloc(n, sizeof(*p->states));
	p->scratch = malloc(PAGE_ROWS * sizeof(*p->scratch));
	p->zstd = ZSTD_createCCtx();
	ok = p->states && p->scratch && p->zstd;
	for (size_t i = 0; i < n && ok; i++) {
		p->states[i].type = columns[i].type;
		ok = state_alloc(&p->states[i], i);
	}
	if (!ok) {
		parquet_free(p);
		return NULL;
	}
	write_out(p, "PAR1", 4);
	return p;
}

void parquet_free(struct parquet *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_columns && p->states; i++)
		state_free(&p->states[i]);
	free(p->states);
	free(p->scratch);
	bytes_done(&p->groups);
	bytes_done(&p->raw);
	bytes_done(&p->packed);
	bytes_done(&p->head);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

uint64_t parquet_rows(const struct parquet *p)
{
	return p->rows;
}

static int text_order(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* The beginning of a text is no greater than the text. So the least beginning is a lower bound, and
 * text_after() the greatest one an upper bound. */
static void range_add_text(struct range *r, const char *text, size_t len)
{
	bool cut = len > RANGE_TEXT;
	int order;

	len = cut ? RANGE_TEXT : len;
	order = r->any ? text_order(text, len, r->least_text, r->least_len) : -1;
	if (order < 0) {
		memcpy(r->least_text, text, len);
		r->least_len = len;
		r->least_cut = cut;
	} else if (!order) {
		r->least_cut &= cut;
	}
	order = r->any ? text_order(text, len, r->most_text, r->most_len) : 1;
	if (order > 0) {
		memcpy(r->most_text, text, len);
		r->most_len = len;
		r->most_cut = cut;
	} else if (!order) {
		r->most_cut |= cut;
	}
	r->any = true;
}

/* The length of the beginning of @text, of RANGE_TEXT bytes, that ends with a whole character. */
static size_t text_whole(const char *text)
{
	size_t len = RANGE_TEXT;

	while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	return len && (unsigned char)text[len - 1] >= 0xc0 ? len - 1 : len;
}

/* Makes of the first RANGE_TEXT bytes of a text the least text that is certain to be greater: its
 * last character that can be raised is raised by 1. Returns the length, or 0 if there is none. */
static size_t text_after(char text[RANGE_TEXT])
{
	size_t len = text_whole(text);

	while (len && (unsigned char)text[len - 1] >= 0x7e)
		len--;
	if (len)
		text[len - 1]++;
	return len;
}

static void range_add_ints(struct range *r, const int64_t *v, size_t n)
{
	int64_t least = r->any ? r->least : INT64_MAX, most = r->any ? r->most : INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		least = v[i] < least ? v[i] : least;
		most = v[i] > most ? v[i] : most;
	}
	r->least = least;
	r->most = most;
	r->any |= n > 0;
}

/* Appends @text as in a page: the length, and the escaped text. */
static void put_safe(struct bytes *b, struct range *range, const char *text, size_t len)
{
	char *at = (char *)bytes_room(b, 4 + TEXT_SAFE_CAP(len));
	size_t safe;

	if (!at)
		return;
	safe = text_safe_utf8(at + 4, TEXT_SAFE_CAP(len), text, len);
	range_add_text(range, at + 4, safe);
	bytes_put_u32(b, (uint32_t)safe);
	b->n += safe;
}

static uint64_t hash_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static uint64_t text_hash(const char *text, size_t len)
{
	uint64_t h = len, v;

	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&v, text, 8);
		h = hash_mix(h, v);
	}
	v = 0;
	memcpy(&v, text, len);
	return hash_mix(h, v);
}

/* The slot of @text in the dictionary; an empty slot if @text is not in the dictionary. */
static uint32_t *dict_slot(struct dict *d, uint64_t hash, const char *text, size_t len)
{
	const struct dict_text *t;
	size_t i = hash;

	for (;; i++) {
		uint32_t *slot = &d->slots[i & (d->n_slots - 1)];

		if (!*slot)
			return slot;
		t = &d->texts[*slot - 1];
		if (t->hash == hash && t->len == len && !memcmp(d->raw.at + t->at, text, len))
			return slot;
	}
}

/* The index of @text. Returns false if the dictionary is full. */
static bool dict_text_index(struct column_state *c, const char *text, size_t len, uint32_t *ret)
{
	const struct dict_text *last = &c->dict.texts[c->dict.last];
	struct dict *d = &c->dict;
	uint32_t *slot;
	uint64_t hash;

	*ret = d->last; /* texts often repeat */
	if (d->n && last->len == len && !memcmp(d->raw.at + last->at, text, len))
		return true;
	hash = text_hash(text, len);
	slot = dict_slot(d, hash, text, len);
	if (*slot) {
		*ret = d->last = *slot - 1;
		return true;
	}
	if (d->n == DICT_TEXTS || d->raw.n + len > DICT_BYTES)
		return false;
	if (d->n == d->n_slots / 2) {
		if (!dict_grow(d))
			return false; /* the dictionary is full */
		slot = dict_slot(d, hash, text, len);
	}
	d->texts[d->n] = (struct dict_text){ hash, d->raw.n, len };
	bytes_put(&d->raw, text, len);
	put_safe(&d->page, &c->range, text, len);
	*ret = d->last = (uint32_t)d->n;
	*slot = (uint32_t)++d->n;
	return true;
}

static bool dict_int_index(struct dict *d, int64_t v, uint32_t *ret)
{
	enum { SLOTS = sizeof(d->int_slots) };
	size_t i = hash_mix(0, (uint64_t)v) % SLOTS;

	while (d->int_slots[i] && d->ints[d->int_slots[i] - 1] != v)
		i = (i + 1) % SLOTS;
	if (d->int_slots[i]) {
		*ret = d->int_slots[i] - 1u;
		return true;
	}
	if (d->n == DICT_INTS)
		return false;
	*ret = (uint32_t)d->n;
	d->ints[d->n++] = v;
	d->int_slots[i] = (uint8_t)d->n;
	return true;
}

static void dict_clear(struct dict *d)
{
	if (d->slots && d->n)
		memset(d->slots, 0, d->n_slots * sizeof(*d->slots));
	memset(d->int_slots, 0, sizeof(d->int_slots));
	d->n = d->raw.n = d->page.n = d->last = 0;
}

/* The whole page of integers as indices. Returns false if the dictionary is full. Then it keeps
 * what was added, unless it was empty before. */
static bool page_ints_find(struct parquet *p, struct column_state *c)
{
	size_t before = c->dict.n;

	for (size_t i = 0; i < c->n_values; i++) {
		if (dict_int_index(&c->dict, c->ints[i], &p->scratch[i]))
			continue;
		if (!before)
			dict_clear(&c->dict);
		return false;
	}
	return true;
}

/* Definition levels: 1, or 0 if the row is null. */
static void put_levels(struct parquet *p, const struct column_state *c)
{
	struct bytes *b = &p->raw;
	size_t length_at = b->n;
	uint32_t length;

	bytes_put_u32(b, 0);
	if (!c->n_values || c->n_values == c->n) {
		encode_run(b, c->n_values > 0, c->n, 1);
	} else {
		for (size_t i = 0; i < c->n; i++)
			p->scratch[i] = c->defined[i];
		encode_hybrid(b, p->scratch, c->n, 1);
	}
	length = (uint32_t)(b->n - length_at - 4);
	if (!b->failed)
		for (int i = 0; i < 4; i++)
			b->at[length_at + i] = (uint8_t)(length >> 8 * i);
}

static void put_indices(struct parquet *p, const struct column_state *c, const uint32_t *indices)
{
	unsigned int width = bits_of(c->dict.n - 1);
	uint8_t byte = (uint8_t)(width ? width : 1);

	bytes_put(&p->raw, &byte, 1);
	encode_hybrid(&p->raw, indices, c->n_values, byte);
}

/* Compresses p->raw to p->packed. */
static void page_pack(struct parquet *p)
{
	size_t bound = ZSTD_compressBound(p->raw.n), n;
	uint8_t *at;

	p->packed.n = 0;
	at = bytes_room(&p->packed, bound);
	if (!at)
		return;
	n = ZSTD_compressCCtx(p->zstd, at, bound, p->raw.at, p->raw.n, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		failed(p, -ENOMEM);
	else
		p->packed.n = n;
}

static void put_ints(struct parquet *p, const struct column_state *c, bool plain)
{
	if (plain)
		encode_plain(&p->raw, c->ints, c->n_values);
	else
		encode_delta(&p->raw, c->ints, c->n_values);
}

/* The size of the page if its integers have the encoding. */
static size_t ints_size(struct parquet *p, const struct column_state *c, bool plain)
{
	size_t before = p->raw.n;

	put_ints(p, c, plain);
	page_pack(p);
	p->raw.n = before;
	return p->packed.n;
}

/* Appends the values of the page to p->raw; returns their encoding. */
static int put_values(struct parquet *p, struct column_state *c)
{
	if (!c->n_values)
		return ENCODING_PLAIN;
	if (c->type == PARQUET_TEXT && c->no_dict) {
		bytes_put(&p->raw, c->text.at, c->text.n);
		return ENCODING_PLAIN;
	}
	if (c->type == PARQUET_TEXT) {
		put_indices(p, c, c->indices);
		return ENCODING_DICT;
	}
	range_add_ints(&c->range, c->ints, c->n_values);
	if (!c->no_dict && page_ints_find(p, c)) {
		put_indices(p, c, p->scratch);
		return ENCODING_DICT;
	}
	c->no_dict = true;
	if (!c->rows && p->n_groups % TRY_EVERY == 0)
		c->plain = ints_size(p, c, true) < ints_size(p, c, false);
	put_ints(p, c, c->plain);
	return c->plain ? ENCODING_PLAIN : ENCODING_DELTA;
}

/* Packs p->raw as a page of @values, and appends it to @to with its head; returns how long it would
 * be unpacked. */
static uint64_t page_append(struct parquet *p, struct bytes *to, int type, size_t values,
			    int encoding)
{
	struct thrift t = { .out = &p->head };
	uint64_t raw;

	page_pack(p);
	p->head.n = 0;
	thrift_begin(&t, 0);
	thrift_i32(&t, 1, type);
	thrift_i32(&t, 2, (int32_t)p->raw.n);
	thrift_i32(&t, 3, (int32_t)p->packed.n);
	thrift_begin(&t, type == PAGE_DATA ? 5 : 7);
	thrift_i32(&t, 1, (int32_t)values);
	thrift_i32(&t, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_i32(&t, 3, ENCODING_RLE);
		thrift_i32(&t, 4, ENCODING_RLE);
	}
	thrift_end(&t);
	thrift_end(&t);
	bytes_put(to, p->head.at, p->head.n);
	bytes_put(to, p->packed.at, p->packed.n);
	raw = p->head.n + p->raw.n;
	check(p, &p->raw);
	check(p, &p->packed);
	check(p, &p->head);
	check(p, to);
	return raw;
}

static void page_end(struct parquet *p, struct column_state *c)
{
	size_t before = c->pages.n;
	int encoding;

	if (!c->n)
		return;
	p->raw.n = 0;
	put_levels(p, c);
	encoding = put_values(p, c);
	c->encodings |= 1u << encoding | 1u << ENCODING_RLE;
	c->raw_bytes += page_append(p, &c->pages, PAGE_DATA, c->n, encoding);
	p->group_bytes += c->pages.n - before;
	c->rows += c->n;
	c->nulls += c->n - c->n_values;
	c->n = c->n_values = c->text.n = 0;
	check(p, &c->dict.raw);
	check(p, &c->dict.page);
	check(p, &c->text);
}

/* Counts a row of the page. */
static void row_add(struct parquet *p, struct column_state *c, bool defined)
{
	c->defined[c->n++] = defined;
	c->n_values += defined;
	if (c->n == PAGE_ROWS || c->text.n >= PAGE_TEXT)
		page_end(p, c);
}

void parquet_put_null(struct parquet *p, size_t column)
{
	row_add(p, &p->states[column], false);
}

void parquet_put_int(struct parquet *p, size_t column, int64_t v)
{
	struct column_state *c = &p->states[column];

	c->ints[c->n_values] = v;
	row_add(p, c, true);
}

void parquet_put_text(struct parquet *p, size_t column, const char *text, size_t len)
{
	struct column_state *c = &p->states[column];

	if (!c->no_dict && !dict_text_index(c, text, len, &c->indices[c->n_values])) {
		page_end(p, c); /* of the indices so far */
		c->no_dict = true;
	}
	if (c->no_dict)
		put_safe(&c->text, &c->range, text, len);
	row_add(p, c, true);
}

/* Writes the dictionary of @c, if any; returns its bytes before packing. */
static uint64_t dict_write(struct parquet *p, struct column_state *c)
{
	uint64_t raw;

	if (!c->dict.n)
		return 0;
	p->raw.n = 0;
	if (c->type == PARQUET_TEXT)
		bytes_put(&p->raw, c->dict.page.at, c->dict.page.n);
	else
		encode_plain(&p->raw, c->dict.ints, c->dict.n);
	c->dict.page.n = 0; /* from here on the whole page */
	raw = page_append(p, &c->dict.page, PAGE_DICT, c->dict.n, ENCODING_PLAIN);
	c->encodings |= 1u << ENCODING_PLAIN;
	write_out(p, c->dict.page.at, c->dict.page.n);
	return raw;
}

static void put_text_range(struct thrift *t, const struct range *r)
{
	char most[RANGE_TEXT];
	size_t len = r->most_len;

	memcpy(most, r->most_text, len);
	len = r->most_cut ? text_after(most) : len;
	if (!len && r->most_cut)
		return;
	thrift_bytes(t, 5, most, len);
	thrift_bytes(t, 6, r->least_text, r->least_cut ? text_whole(r->least_text) : r->least_len);
	thrift_bool(t, 7, !r->most_cut); /* is_max_value_exact */
	thrift_bool(t, 8, !r->least_cut);
}

static void put_statistics(struct thrift *t, const struct column_state *c)
{
	const struct range *r = &c->range;
	uint8_t least[8], most[8];

	thrift_begin(t, 12);
	thrift_i64(t, 3, (int64_t)c->nulls);
	if (r->any && c->type == PARQUET_TEXT) {
		put_text_range(t, r);
	} else if (r->any) {
		put_u64(least, (uint64_t)r->least);
		put_u64(most, (uint64_t)r->most);
		thrift_bytes(t, 5, most, sizeof(most));
		thrift_bytes(t, 6, least, sizeof(least));
	}
	thrift_end(t);
}

/* The footer's entry of a column that begins at @begin in the file. */
static void put_chunk(struct parquet *p, const struct column_state *c, const char *name,
		      uint64_t begin, uint64_t raw)
{
	struct thrift t = { .out = &p->groups };

	thrift_begin(&t, 0);
	thrift_i64(&t, 2, (int64_t)begin);
	thrift_begin(&t, 3);
	thrift_i32(&t, 1, c->type == PARQUET_TEXT ? TYPE_BYTE_ARRAY : TYPE_INT64);
	thrift_list(&t, 2, THRIFT_I32, (size_t)__builtin_popcount(c->encodings));
	for (int e = 0; e < 32; e++)
		if (c->encodings >> e & 1)
			thrift_item_i32(&t, e);
	thrift_list(&t, 3, THRIFT_BINARY, 1);
	thrift_item_text(&t, name);
	thrift_i32(&t, 4, CODEC_ZSTD);
	thrift_i64(&t, 5, (int64_t)c->rows);
	thrift_i64(&t, 6, (int64_t)raw);
	thrift_i64(&t, 7, (int64_t)(p->at - begin));
	thrift_i64(&t, 9, (int64_t)(p->at - c->pages.n));
	if (c->dict.n)
		thrift_i64(&t, 11, (int64_t)begin);
	put_statistics(&t, c);
	thrift_end(&t);
	thrift_end(&t);
}

static void state_clear(struct column_state *c)
{
	dict_clear(&c->dict);
	c->range.any = c->range.least_cut = c->range.most_cut = false;
	c->no_dict = false;
	c->pages.n = 0;
	c->rows = c->nulls = c->raw_bytes = 0;
	c->encodings = 0;
}

static void group_end(struct parquet *p)
{
	struct thrift t = { .out = &p->groups };
	uint64_t begin = p->at, raw, raw_sum = 0, column;

	if (!p->group_rows)
		return;
	thrift_begin(&t, 0);
	thrift_list(&t, 1, THRIFT_STRUCT, p->n_columns);
	for (size_t i = 0; i < p->n_columns; i++) {
		struct column_state *c = &p->states[i];

		column = p->at;
		page_end(p, c);
		raw = dict_write(p, c) + c->raw_bytes;
		write_out(p, c->pages.at, c->pages.n);
		put_chunk(p, c, p->columns[i].name, column, raw);
		raw_sum += raw;
		state_clear(c);
	}
	thrift_i64(&t, 2, (int64_t)raw_sum);
	thrift_i64(&t, 3, (int64_t)p->group_rows);
	thrift_i64(&t, 5, (int64_t)begin);
	thrift_i64(&t, 6, (int64_t)(p->at - begin));
	thrift_end(&t);
	check(p, &p->groups);
	p->n_groups++;
	p->group_rows = p->group_bytes = 0;
}

int parquet_row(struct parquet *p)
{
	p->rows++;
	p->group_rows++;
	if (p->group_rows == GROUP_ROWS || p->group_bytes > GROUP_BYTES)
		group_end(p);
	return p->err;
}

static void put_logical_type(struct thrift *t, enum parquet_type type)
{
	thrift_i32(t, 6, type == PARQUET_TEXT ? CONVERTED_UTF8 : CONVERTED_TIMESTAMP_MICROS);
	thrift_begin(t, 10);
	if (type == PARQUET_TEXT) {
		thrift_begin(t, 1);
	} else {
		thrift_begin(t, 8);
		thrift_bool(t, 1, true); /* UTC */
		thrift_begin(t, 2);
		thrift_begin(t, 2); /* us */
		thrift_end(t);
		thrift_end(t);
	}
	thrift_end(t);
	thrift_end(t);
}

static void put_schema(struct thrift *t, const struct parquet *p)
{
	thrift_list(t, 2, THRIFT_STRUCT, p->n_columns + 1);
	thrift_begin(t, 0);
	thrift_text(t, 4, "schema");
	thrift_i32(t, 5, (int32_t)p->n_columns);
	thrift_end(t);
	for (size_t i = 0; i < p->n_columns; i++) {
		enum parquet_type type = p->columns[i].type;

		thrift_begin(t, 0);
		thrift_i32(t, 1, type == PARQUET_TEXT ? TYPE_BYTE_ARRAY : TYPE_INT64);
		thrift_i32(t, 3, OPTIONAL);
		thrift_text(t, 4, p->columns[i].name);
		if (type != PARQUET_INT)
			put_logical_type(t, type);
		thrift_end(t);
	}
}

static void put_footer(struct parquet *p, struct bytes *b, const struct parquet_pair *pairs,
		       size_t n)
{
	struct thrift t = { .out = b };

	thrift_begin(&t, 0);
	thrift_i32(&t, 1, FILE_VERSION);
	put_schema(&t, p);
	thrift_i64(&t, 3, (int64_t)p->rows);
	thrift_list(&t, 4, THRIFT_STRUCT, p->n_groups);
	bytes_put(b, p->groups.at, p->groups.n);
	thrift_list(&t, 5, THRIFT_STRUCT, n);
	for (size_t i = 0; i < n; i++) {
		thrift_begin(&t, 0);
		thrift_text(&t, 1, pairs[i].key);
		thrift_text(&t, 2, pairs[i].value);
		thrift_end(&t);
	}
	thrift_text(&t, 6, p->writer);
	thrift_list(&t, 7, THRIFT_STRUCT, p->n_columns);
	for (size_t i = 0; i < p->n_columns; i++) {
		thrift_begin(&t, 0); /* the order of the type */
		thrift_begin(&t, 1);
		thrift_end(&t);
		thrift_end(&t);
	}
	thrift_end(&t);
}

int parquet_end(struct parquet *p, const struct parquet_pair *pairs, size_t n)
{
	struct bytes footer = {};
	size_t length;

	group_end(p);
	put_footer(p, &footer, pairs, n);
	length = footer.n;
	bytes_put_u32(&footer, (uint32_t)length);
	bytes_put(&footer, "PAR1", 4);
	check(p, &footer);
	write_out(p, footer.at, footer.n);
	bytes_done(&footer);
	if (fflush(p->f))
		failed(p, errno ? -errno : -EIO);
	return p->err;
}
