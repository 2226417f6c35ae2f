// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/latencies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct latency_key) == 16, "keys of latencies have no holes");

unsigned int latency_half(uint64_t ns)
{
	return hist_bucket(ns) >> LATENCY_HALF_LOG2;
}

/* Gives @row its arrays. Returns 0 or -ENOMEM. */
static int row_begin(struct latency_row *row)
{
	bool is_request = row->key.is_request;

	row->heat = calloc(CUBE_BINS, sizeof(*row->heat));
	if (!is_request) {
		row->longest = calloc(CUBE_BINS, sizeof(*row->longest));
		row->halves = calloc(LATENCY_JOINED, sizeof(*row->halves));
	}
	return row->heat && (is_request || (row->longest && row->halves)) ? 0 : -ENOMEM;
}

/* The row of @key, or the last one with the same kind of rows. Returns NULL if out of memory. */
static struct latency_row *row_search(struct latencies *l, const struct latency_key *key)
{
	size_t *n = key->is_request ? &l->n_requests : &l->n_ops;
	size_t most = key->is_request ? LATENCY_REQUESTS : LATENCY_OPS;
	struct latency_key others = { .is_request = key->is_request, .is_others = true };
	struct latency_row *row;

	for (size_t i = 0; i < l->n; i++)
		if (!memcmp(&l->rows[i].key, key, sizeof(*key)))
			return &l->rows[i];
	if (*n >= most - 1 && !key->is_others)
		return row_search(l, &others);
	row = &l->rows[l->n];
	row->key = *key;
	l->n++; /* latencies_done() frees what row_begin() could get */
	(*n)++;
	return row_begin(row) ? NULL : row;
}

/* As row_search(), which most calls need not do. */
static struct latency_row *row_find(struct latencies *l, const struct latency_key *key)
{
	unsigned int hash = key->dev + 31 * key->kind + 7 * key->fs + key->call;
	uint8_t *recent = &l->recent[hash % sizeof(l->recent)];
	struct latency_row *row;

	if (*recent && !memcmp(&l->rows[*recent - 1].key, key, sizeof(*key)))
		return &l->rows[*recent - 1];
	row = row_search(l, key);
	if (row)
		*recent = row - l->rows + 1;
	return row;
}

static void example_keep(struct example *place, const struct example *op)
{
	if (op->total_ns > place->total_ns)
		*place = *op;
}

/* Moves the example at @i down to its place in the heap. */
static void heap_down(struct latencies *l, size_t i)
{
	struct example moved = l->all[i];
	size_t child;

	while ((child = 2 * i + 1) < l->n_all) {
		if (child + 1 < l->n_all && l->all[child + 1].total_ns < l->all[child].total_ns)
			child++;
		if (l->all[child].total_ns >= moved.total_ns)
			break;
		l->all[i] = l->all[child];
		i = child;
	}
	l->all[i] = moved;
}

/* Keeps the longest of all. Returns 0 or -ENOMEM. */
static int longest_keep(struct latencies *l, const struct example *op)
{
	if (!l->all)
		l->all = calloc(LATENCY_LONGEST, sizeof(*l->all));
	if (!l->all)
		return -ENOMEM;
	if (l->n_all < LATENCY_LONGEST) {
		l->all[l->n_all++] = *op;
		for (size_t i = l->n_all / 2; l->n_all == LATENCY_LONGEST && i-- > 0;)
			heap_down(l, i);
	} else if (op->total_ns > l->all[0].total_ns) {
		l->all[0] = *op;
		heap_down(l, 0);
	}
	return 0;
}

int latencies_op(struct latencies *l, const struct latency_key *key, const struct example *op,
		 unsigned int bin)
{
	unsigned int half = latency_half(op->total_ns);
	struct latency_row *row = row_find(l, key);

	if (!row)
		return -ENOMEM;
	row->count++;
	row->total_ns += op->total_ns;
	row->heat[bin][half]++;
	example_keep(&row->longest[bin], op);
	example_keep(&row->halves[bin >> LATENCY_JOINED_LOG2][half], op);
	return longest_keep(l, op);
}

int latencies_request(struct latencies *l, const struct latency_key *key, uint64_t ns,
		      unsigned int bin)
{
	struct latency_row *row = row_find(l, key);

	if (!row)
		return -ENOMEM;
	row->count++;
	row->total_ns += ns;
	row->heat[bin][latency_half(ns)]++;
	return 0;
}

/* Joins the examples in pairs. */
static void examples_halve(struct example *list, size_t n, size_t step)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < step; k++) {
			struct example *from = &list[i * step + k];
			struct example moved = *from;

			*from = (struct example){};
			example_keep(&list[i / 2 * step + k], &moved);
		}
	}
}

static void row_halve(struct latency_row *row)
{
	for (size_t i = 0; i < CUBE_BINS; i++) {
		for (size_t k = 0; k < LATENCY_HALVES; k++) {
			uint32_t moved = row->heat[i][k];

			row->heat[i][k] = 0;
			row->heat[i / 2][k] += moved;
		}
	}
	if (row->key.is_request)
		return;
	examples_halve(row->longest, CUBE_BINS, 1);
	examples_halve(row->halves[0], LATENCY_JOINED, LATENCY_HALVES);
}

void latencies_halve(struct latencies *l)
{
	for (size_t i = 0; i < l->n; i++)
		row_halve(&l->rows[i]);
}

void latencies_done(struct latencies *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->rows[i].heat);
		free(l->rows[i].longest);
		free(l->rows[i].halves);
	}
	free(l->all);
	*l = (struct latencies){};
}
