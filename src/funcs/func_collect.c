// SPDX-License-Identifier: GPL-2.0-only
/*
 * func_collect.c - adds up the counters of the programs on functions.
 *
 * Programs only ever add to their counters and never stop, so new counts are the difference from
 * the last look. A look may catch a returning call after its time was added and before its count
 * was. So calls are counted from the histogram, and count and histogram always agree.
 */
#include "funcs/func_collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <bpf/bpf.h>

#include "funcs/func_rows.h"
#include "host/lookup.h"

/* A row with its values at the last look. */
struct row {
	struct func_key key; /* with bucket 0 */
	struct func_row sum; /* since the last snapshot */
	struct func_sums last;
	uint64_t last_unreturned;
	bool again;       /* look once more, as the histogram is updated after the sums */
	uint64_t counted; /* calls counted by the histogram since the last snapshot */
	UT_hash_handle hh;
};

/* An entry of the programs' hash: one bucket of a row with a key. */
struct entry {
	struct func_key key;
	struct func_sums last;
	UT_hash_handle hh;
};

struct func_collect {
	struct func_memory mem;
	struct row *funcs;    /* [n_funcs] */
	unsigned int **hists; /* [n_funcs][HIST_N] at the last look, or NULL */
	struct row *rows;     /* by key */
	struct entry *entries;
};

struct func_collect *func_collect_open(const struct func_memory *mem)
{
	struct func_collect *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->mem = *mem;
	c->funcs = calloc(mem->n_funcs, sizeof(*c->funcs));
	c->hists = calloc(mem->n_funcs, sizeof(*c->hists));
	if (c->funcs && c->hists)
		return c;
	func_collect_free(c);
	return NULL;
}

void func_collect_free(struct func_collect *c)
{
	struct entry *e, *next_entry;
	struct row *r, *next;

	if (!c)
		return;
	for (size_t i = 0; i < c->mem.n_funcs && c->funcs && c->hists; i++) {
		free(c->funcs[i].sum.hist.bins);
		free(c->hists[i]);
	}
	HASH_ITER (hh, c->rows, r, next) {
		HASH_DEL(c->rows, r);
		free(r->sum.hist.bins);
		free(r);
	}
	HASH_ITER (hh, c->entries, e, next_entry) {
		HASH_DEL(c->entries, e);
		free(e);
	}
	free(c->funcs);
	free(c->hists);
	free(c);
}

/* Adds the difference between @now and @last, of @count calls, to @f; then sets @last to @now.
 * Maxima restart at each snapshot. */
static void figures_more(struct func_figures *f, struct func_sums *last,
			 const struct func_sums *now, uint64_t count)
{
	struct func_figures more = {
		.count = count,
		.total_ns = now->total_ns - last->total_ns,
		.self_ns = now->self_ns - last->self_ns,
		.probe_ns = now->probe_ns - last->probe_ns,
		.preempted_ns = now->preempted_ns - last->preempted_ns,
		.max_ns = now->max_ns,
		.min_ns = now->min_inverse ? ~now->min_inverse : now->max_ns,
	};

	func_figures_add(f, &more);
	*last = *now;
}

/* Adds the sums of one CPU to @sum. */
static void sums_merge(struct func_sums *sum, const struct func_sums *one)
{
	sum->count += one->count;
	sum->total_ns += one->total_ns;
	sum->self_ns += one->self_ns;
	sum->probe_ns += one->probe_ns;
	sum->preempted_ns += one->preempted_ns;
	sum->parent |= one->parent;
	if (sum->max_ns < one->max_ns)
		sum->max_ns = one->max_ns;
	if (sum->min_inverse < one->min_inverse)
		sum->min_inverse = one->min_inverse;
}

/* Adds the counts of the histogram since the last look, to the row and to *@count. Returns 0 or
 * -ENOMEM. */
static int hist_more(struct func_collect *c, unsigned int func, uint64_t *count)
{
	const struct func_memory *m = &c->mem;
	size_t len = (size_t)m->n_funcs + 1;
	unsigned int *last = c->hists[func], now;
	int err;

	if (!last)
		last = c->hists[func] = calloc(HIST_N, sizeof(*last));
	if (!last)
		return -ENOMEM;
	for (unsigned int b = 0; b < HIST_N; b++) {
		now = 0;
		for (unsigned int i = 0; i < m->n_hists; i++)
			now += m->hists[(i * len + func) * HIST_N + b];
		err = now == last[b] ? 0 : hist_add(&c->funcs[func].sum.hist, b, now - last[b]);
		if (err)
			return err;
		*count += now - last[b];
		last[b] = now;
	}
	return 0;
}

static int func_more(struct func_collect *c, unsigned int func)
{
	const struct func_memory *m = &c->mem;
	struct row *r = &c->funcs[func];
	struct func_sums now = {};
	uint64_t unreturned = m->unreturned[func], count = 0;
	bool changed;
	int err;

	r->sum.func = func;
	r->sum.unreturned += unreturned - r->last_unreturned;
	r->last_unreturned = unreturned;
	for (unsigned int cpu = 0; m->rows == FUNC_ROWS && cpu < m->n_cpus; cpu++)
		sums_merge(&now, &m->cells[(size_t)cpu * (m->n_funcs + 1) + func]);
	changed = now.total_ns != r->last.total_ns || now.min_inverse;
	if (m->rows == FUNC_ROWS && !changed && !r->again)
		return 0;
	r->again = changed;
	err = hist_more(c, func, &count);
	if (m->rows == FUNC_ROWS_TREE)
		r->counted += count;
	else if (!err)
		figures_more(&r->sum.sum, &r->last, &now, count);
	return err;
}

/* The row of a hash entry, made if needed. Returns NULL if out of memory. */
static struct row *row_get(struct func_collect *c, const struct func_key *key)
{
	struct func_key whole = *key;
	struct row *r;

	whole.bucket = 0;
	HASH_FIND(hh, c->rows, &whole, sizeof(whole), r);
	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->key = whole;
	r->sum.func = key->func;
	r->sum.path = key->path;
	HASH_ADD(hh, c->rows, key, sizeof(r->key), r);
	return r;
}

static struct entry *entry_get(struct func_collect *c, const struct func_key *key)
{
	struct entry *e;

	HASH_FIND(hh, c->entries, key, sizeof(*key), e);
	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->key = *key;
	HASH_ADD(hh, c->entries, key, sizeof(e->key), e);
	return e;
}

static int entry_more(struct func_collect *c, const struct func_key *key,
		      const struct func_sums *values)
{
	struct entry *e = entry_get(c, key);
	struct row *r = row_get(c, key);
	struct func_sums now = {};
	uint64_t more;

	if (!e || !r)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->mem.n_cpus; i++)
		sums_merge(&now, &values[i]);
	more = now.count - e->last.count;
	if (!more)
		return 0;
	r->sum.parent = now.parent;
	figures_more(&r->sum.sum, &e->last, &now, more);
	if (c->mem.rows == FUNC_ROWS_TREE || c->mem.counted_only)
		return 0;
	return hist_add(&r->sum.hist, key->bucket, more);
}

/* Reads all entries of the hash; an entry added meanwhile may be read or not. */
static int entries_more(struct func_collect *c)
{
	struct func_sums *values = calloc(c->mem.n_cpus, sizeof(*values));
	struct func_key key, *last = NULL, next;
	int err = values ? 0 : -ENOMEM;

	while (!err && !bpf_map_get_next_key(c->mem.rows_fd, last, &next)) {
		if (!bpf_map_lookup_elem(c->mem.rows_fd, &next, values))
			err = entry_more(c, &next, values);
		key = next;
		last = &key;
	}
	free(values);
	return err;
}

int func_collect_more(struct func_collect *c)
{
	int err = c->mem.rows == FUNC_ROWS ? 0 : entries_more(c);

	for (unsigned int i = 0; i < c->mem.n_funcs && !err; i++)
		err = func_more(c, i);
	return err;
}

static char *by_text(enum func_rows rows, const struct func_key *key)
{
	unsigned long long id = key->by[0];
	char *text = NULL;

	if (rows == FUNC_ROWS_COMM)
		return strndup((const char *)key->by, sizeof(key->by));
	if (rows == FUNC_ROWS_CGROUP)
		return lookup_cgroup(id);
	return asprintf(&text, "%llu", id) < 0 ? NULL : text;
}

/* Moves the sums of @from to @to and empties @from. */
static void row_move(struct func_row *to, struct func_row *from)
{
	*to = *from;
	from->sum = (struct func_figures){};
	from->unreturned = 0;
	from->hist = (struct hist){};
}

/* Makes the calls of a row those of unknown time. */
static void times_forget(struct func_row *r)
{
	r->unreturned = r->sum.count;
	r->sum = (struct func_figures){};
}

static int functions_take(struct func_collect *c, struct func_snapshot *sn)
{
	sn->rows = calloc(c->mem.n_funcs, sizeof(*sn->rows));
	if (!sn->rows)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->mem.n_funcs; i++) {
		struct row *r = &c->funcs[i];

		if (c->mem.rows == FUNC_ROWS_TREE)
			r->sum.sum.count = r->counted;
		r->counted = 0;
		if (r->sum.sum.count || r->sum.unreturned)
			row_move(&sn->rows[sn->n_rows++], &r->sum);
	}
	return 0;
}

static int keyed_take(struct func_collect *c, struct func_row **ret_rows, size_t *ret_n)
{
	struct func_row *rows = calloc(HASH_COUNT(c->rows) + 1, sizeof(*rows));
	struct row *r, *next;
	bool tree = c->mem.rows == FUNC_ROWS_TREE;

	if (!rows)
		return -ENOMEM;
	*ret_rows = rows;
	HASH_ITER (hh, c->rows, r, next) {
		if (!r->sum.sum.count)
			continue;
		row_move(&rows[*ret_n], &r->sum);
		if (c->mem.counted_only)
			times_forget(&rows[*ret_n]);
		if (tree)
			func_figures_add(&c->funcs[r->sum.func].sum.sum, &rows[*ret_n].sum);
		else
			rows[*ret_n].by = by_text(c->mem.rows, &r->key);
		if (!tree && !rows[(*ret_n)++].by)
			return -ENOMEM;
		*ret_n += tree;
	}
	return 0;
}

/* Restarts the maxima. If a program runs at the same time, an older maximum may remain. */
static void maxima_reset(struct func_collect *c)
{
	const struct func_memory *m = &c->mem;

	for (size_t i = 0; i < (size_t)m->n_cpus * (m->n_funcs + 1); i++)
		m->cells[i].max_ns = m->cells[i].min_inverse = 0;
}

int func_collect_take(struct func_collect *c, struct func_snapshot *sn)
{
	int err = func_collect_more(c);

	if (err)
		return err;
	maxima_reset(c);
	if (c->mem.rows == FUNC_ROWS_TREE)
		err = keyed_take(c, &sn->tree, &sn->n_tree);
	else if (c->mem.rows != FUNC_ROWS)
		return keyed_take(c, &sn->rows, &sn->n_rows);
	return err ? err : functions_take(c, sn);
}
