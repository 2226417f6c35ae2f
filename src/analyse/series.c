// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/reason.h"

enum { FIRST_SHIFT = 16 }; /* 65 us */

struct series_index {
	struct series_id id;
	size_t row;
	UT_hash_handle hh;
};

static int cell_add(struct series_cell *to, struct series_cell *from)
{
	int err = 0;

	to->count += from->count;
	to->errors += from->errors;
	to->bytes += from->bytes;
	to->samples += from->samples;
	to->certain += from->certain;
	to->total_ns += from->total_ns;
	for (int i = 0; i < ST_N; i++)
		to->strata[i] += from->strata[i];
	to->beside += from->beside;
	if (to->hist.n) {
		err = hist_merge(&to->hist, &from->hist);
		free(from->hist.bins);
	} else {
		free(to->hist.bins);
		to->hist = from->hist;
	}
	*from = (struct series_cell){};
	return err;
}

static int row_add(const struct series *s, struct series_row *to, struct series_row *from)
{
	int err = 0;

	for (unsigned int i = 0; i < s->intervals && !err; i++)
		err = cell_add(&to->cells[i], &from->cells[i]);
	return err;
}

static void row_done(const struct series *s, struct series_row *row)
{
	for (unsigned int i = 0; i < s->intervals_max; i++)
		free(row->cells[i].hist.bins);
	free(row->cells);
	free(row->key.by);
}

static struct series_index *row_begin(struct series *s, const struct series_id *id)
{
	struct series_index *entry = calloc(1, sizeof(*entry));
	struct series_row *rows;
	size_t cap = s->rows_cap ? 2 * s->rows_cap : 32;

	if (s->n_rows == s->rows_cap) {
		rows = reallocarray(s->rows, cap, sizeof(*rows));
		s->rows = rows ? rows : s->rows;
		s->rows_cap = rows ? cap : s->rows_cap;
	}
	if (!s->intervals_max) {
		s->intervals_max = SERIES_INTERVALS;
		s->shift = FIRST_SHIFT;
	}
	if (!entry || s->n_rows == s->rows_cap) {
		free(entry);
		return NULL;
	}
	rows = &s->rows[s->n_rows];
	*rows = (struct series_row){ .id = *id, .kind = id->kind };
	rows->cells = calloc(s->intervals_max, sizeof(*rows->cells));
	if (!rows->cells) {
		free(entry);
		return NULL;
	}
	entry->id = *id;
	entry->row = s->n_rows++;
	HASH_ADD(hh, s->index, id, sizeof(entry->id), entry);
	return entry;
}

/* The id of the row for all keys without a separate row: one row for each operation. */
static struct series_id others(const struct series_id *id)
{
	struct series_id o = *id;

	o.by[0] = o.by[1] = ~0ULL;
	o.fs = 0;
	return o;
}

bool series_is_others(const struct series_id *id)
{
	return id->by[0] == ~0ULL && id->by[1] == ~0ULL;
}

static struct series_index *row_find(struct series *s, const struct series_id *id)
{
	struct series_index *entry;
	struct series_id other;

	HASH_FIND(hh, s->index, id, sizeof(*id), entry);
	if (entry || s->n_rows < SERIES_KEYS || series_is_others(id))
		return entry ? entry : row_begin(s, id);
	s->more_keys++;
	other = others(id);
	return row_find(s, &other);
}

static unsigned int recent_at(const struct series_id *id)
{
	uint64_t n = id->by[0] + 31 * id->by[1] + id->fs + ((uint64_t)id->kind << 8) +
		     ((uint64_t)id->acts << 16) + ((uint64_t)id->is_request << 24);

	return (n * 0x9e3779b97f4a7c15ULL >> 32) % SERIES_RECENT;
}

struct series_row *series_row(struct series *s, const struct series_id *id)
{
	uint32_t *recent = &s->recent[recent_at(id)];
	struct series_index *entry;

	if (*recent && !memcmp(&s->rows[*recent - 1].id, id, sizeof(*id)))
		return &s->rows[*recent - 1];
	entry = row_find(s, id);
	if (!entry)
		return NULL;
	if (!series_is_others(&entry->id)) /* these are counted one by one */
		*recent = entry->row + 1;
	return &s->rows[entry->row];
}

int series_halve(struct series *s)
{
	unsigned int half = (s->intervals + 1) / 2;
	int err = 0;

	for (size_t i = 0; i < s->n_rows; i++) {
		struct series_cell *cells = s->rows[i].cells;

		for (unsigned int at = 0; at < s->intervals && !err; at++) {
			if (at % 2)
				err = cell_add(&cells[at / 2], &cells[at]);
			else if (at) {
				cells[at / 2] = cells[at];
				cells[at] = (struct series_cell){};
			}
		}
	}
	for (unsigned int at = 1; at < s->intervals; at++) {
		s->length_ns[at / 2] = (at % 2 ? s->length_ns[at / 2] : 0) + s->length_ns[at];
		s->length_ns[at] = 0;
	}
	s->intervals = half;
	s->shift++;
	return err;
}

int series_interval(struct series *s, uint64_t ns)
{
	if (!s->intervals_max) {
		s->intervals_max = SERIES_INTERVALS;
		s->shift = FIRST_SHIFT;
	}
	while (s->shift < 63 && ns >> s->shift >= s->intervals_max)
		if (series_halve(s))
			return -ENOMEM;
	if (ns >> s->shift >= s->intervals)
		s->intervals = (ns >> s->shift) + 1;
	return ns >> s->shift;
}

/* Bytes of all cells and histograms. */
static size_t bytes_of(const struct series *s)
{
	size_t bytes = s->n_rows * s->intervals_max * sizeof(struct series_cell);

	for (size_t i = 0; i < s->n_rows; i++)
		for (unsigned int at = 0; at < s->intervals; at++)
			bytes += s->rows[i].cells[at].hist.cap * sizeof(struct hist_bin);
	return bytes;
}

/* From now on there are at most half as many intervals. */
static int intervals_limit(struct series *s)
{
	struct series_cell *cells;

	while (s->intervals > s->intervals_max / 2)
		if (series_halve(s))
			return -ENOMEM;
	s->intervals_max /= 2;
	for (size_t i = 0; i < s->n_rows; i++) {
		cells = reallocarray(s->rows[i].cells, s->intervals_max, sizeof(*cells));
		s->rows[i].cells = cells ? cells : s->rows[i].cells;
	}
	return 0;
}

int series_look(struct series *s)
{
	while (s->intervals_max > SERIES_INTERVALS_LEAST && bytes_of(s) > SERIES_BYTES)
		if (intervals_limit(s))
			return -ENOMEM;
	return 0;
}

int series_join(struct series *s, unsigned int most)
{
	while (s->intervals > most)
		if (series_halve(s))
			return -ENOMEM;
	while (s->intervals_max / 2 >= most)
		if (intervals_limit(s))
			return -ENOMEM;
	return 0;
}

int series_key_compare(const struct series_key *a, const struct series_key *b)
{
	int order = a->is_request - b->is_request;

	if (!order)
		order = strcmp(a->what, b->what);
	if (!order)
		order = strcmp(a->where, b->where);
	if (!order)
		order = strcmp(a->by ? a->by : "", b->by ? b->by : "");
	return order;
}

static int row_compare(const void *a, const void *b)
{
	return series_key_compare(&((const struct series_row *)a)->key,
				  &((const struct series_row *)b)->key);
}

static void index_done(struct series *s)
{
	struct series_index *entry, *next;

	HASH_ITER (hh, s->index, entry, next) {
		HASH_DEL(s->index, entry);
		free(entry);
	}
	memset(s->recent, 0, sizeof(s->recent));
}

int series_unite(struct series *s)
{
	size_t n = 0;
	int err = 0;

	index_done(s); /* rows move, and are known by text from now on */
	if (s->n_rows)
		qsort(s->rows, s->n_rows, sizeof(*s->rows), row_compare);
	for (size_t i = 0; i < s->n_rows; i++) {
		if (!n || row_compare(&s->rows[n - 1], &s->rows[i])) {
			s->rows[n++] = s->rows[i];
			continue;
		}
		err = err ? err : row_add(s, &s->rows[n - 1], &s->rows[i]);
		row_done(s, &s->rows[i]);
	}
	s->n_rows = n;
	return err;
}

int series_fold(struct series *s, bool (*is_known)(const struct series_key *key, const void *arg),
		const void *arg)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		struct series_key *key = &s->rows[i].key;

		if (!key->by || is_known(key, arg))
			continue;
		free(key->by);
		key->by = strdup(SERIES_OTHERS);
		key->where[0] = '\0';
		if (!key->by)
			return -ENOMEM;
	}
	return series_unite(s);
}

void series_done(struct series *s)
{
	index_done(s);
	caller_names_done(&s->callers);
	for (size_t i = 0; i < s->n_rows; i++)
		row_done(s, &s->rows[i]);
	free(s->rows);
	free(s->counted);
	free(s->name);
	free(s->kernel);
	free(s->host);
	free(s->options);
	*s = (struct series){};
}

int series_read(struct series *s, FILE *f, const char *name, const struct series_conf *conf,
		struct reason *why)
{
	int first = getc(f), got;

	if (first != EOF)
		ungetc(first, f);
	s->name = strdup(name);
	if (!s->name)
		return reason_no_memory(why);
	got = first == '{' ? series_read_json(s, f, name, conf, why)
			   : series_read_recording(s, f, name, conf, why);
	if (got >= 0 && conf->whole && series_join(s, 1))
		return reason_no_memory(why);
	if (got >= 0 && s->stacks.sampled && series_callers_scale(s))
		return reason_no_memory(why);
	return got;
}
