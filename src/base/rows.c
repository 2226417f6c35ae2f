// SPDX-License-Identifier: GPL-2.0-only
#include "base/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_MIN = 64 };

/* Multiplicative hash of a key, a whole number of words without padding; its high bits are well
 * mixed. */
static size_t key_hash(const void *key, size_t size)
{
	uint64_t h = 0, word;

	for (size_t i = 0; i < size; i += sizeof(word)) {
		memcpy(&word, (const char *)key + i, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	return h;
}

/* Place of @key in the index, or the free place to put it. */
static size_t index_find(const struct row_table *t, size_t row_size, const void *key,
			 size_t key_size)
{
	size_t i = key_hash(key, key_size);

	for (;; i++) {
		i &= t->index_len - 1;
		if (!t->index[i] || !memcmp(t->rows + (t->index[i] - 1) * row_size, key, key_size))
			return i;
	}
}

/* Doubles the index: it stays at most half full. */
static int index_grow(struct row_table *t, size_t row_size, size_t key_size)
{
	struct row_table longer = *t;

	longer.index_len = t->index_len ? 2 * t->index_len : INDEX_MIN;
	longer.index = calloc(longer.index_len, sizeof(*longer.index));
	if (!longer.index)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		longer.index[index_find(&longer, row_size, t->rows + i * row_size, key_size)] =
			i + 1;
	free(t->index);
	*t = longer;
	return 0;
}

static int rows_grow(struct row_table *t, size_t row_size)
{
	size_t cap = t->cap + t->cap / 4 + 16;
	char *rows = reallocarray(t->rows, cap, row_size);

	if (!rows)
		return -ENOMEM;
	t->rows = rows;
	t->cap = cap;
	return 0;
}

static void *table_row(struct row_table *t, size_t row_size, const void *key, size_t key_size)
{
	char *row;
	size_t i;

	if (2 * t->n >= t->index_len && index_grow(t, row_size, key_size))
		return NULL;
	i = index_find(t, row_size, key, key_size);
	if (t->index[i])
		return t->rows + (t->index[i] - 1) * row_size;
	if (t->n == t->cap && rows_grow(t, row_size))
		return NULL;
	row = t->rows + t->n * row_size;
	memset(row, 0, row_size);
	memcpy(row, key, key_size);
	t->index[i] = ++t->n;
	return row;
}

struct op_row *rows_op(struct rows *r, const struct op_key *key)
{
	struct op_key k = *key;

	k.bucket = 0;
	return table_row(&r->ops, sizeof(struct op_row), &k, sizeof(k));
}

struct op_row *rows_op_find(const struct rows *r, const struct op_key *key)
{
	const struct row_table *t = &r->ops;
	struct op_key k = *key;
	size_t i;

	k.bucket = 0;
	if (!t->index_len)
		return NULL;
	i = index_find(t, sizeof(struct op_row), &k, sizeof(k));
	return t->index[i] ? (struct op_row *)t->rows + t->index[i] - 1 : NULL;
}

struct rq_row *rows_rq(struct rows *r, const struct rq_key *key)
{
	struct rq_key k = *key;

	k.bucket = 0;
	return table_row(&r->rqs, sizeof(struct rq_row), &k, sizeof(k));
}

struct helper_row *rows_helper(struct rows *r, const struct helper_key *key)
{
	return table_row(&r->helpers, sizeof(struct helper_row), key, sizeof(*key));
}

struct site_row *rows_site(struct rows *r, const struct site_key *key)
{
	return table_row(&r->sites, sizeof(struct site_row), key, sizeof(*key));
}

struct server_row *rows_server(struct rows *r, const struct server_key *key)
{
	struct server_key k = *key;

	k.bucket = 0;
	return table_row(&r->servers, sizeof(struct server_row), &k, sizeof(k));
}

struct who_row *rows_who(struct rows *r, const struct who_key *key)
{
	return table_row(&r->whos, sizeof(struct who_row), key, sizeof(*key));
}

_Static_assert(!offsetof(struct op_row, key) && !offsetof(struct rq_row, key) &&
		       !offsetof(struct helper_row, key) && !offsetof(struct site_row, key) &&
		       !offsetof(struct server_row, key) && !offsetof(struct who_row, key),
	       "keys are first");

_Static_assert(offsetof(struct op_row, device_bytes) - offsetof(struct op_row, count) ==
		       offsetof(struct op_sums, device_bytes),
	       "the sums of a row are in the order of struct op_sums");

/* The maximum of @max_ns, the cell's maximum and its mean. Concurrent writers may lose the cell's
 * maximum (cell.h). It cannot be less than the mean. */
static uint64_t max_with(uint64_t max_ns, uint64_t cell_ns, uint64_t total_ns, uint64_t count)
{
	uint64_t mean = count ? total_ns / count + !!(total_ns % count) : 0;

	if (cell_ns < mean)
		cell_ns = mean;
	return max_ns < cell_ns ? cell_ns : max_ns;
}

uint64_t op_sums_thread_ns(const struct op_sums *s, bool is_async)
{
	uint64_t ns = 0;

	if (!is_async)
		return s->total_ns;
	for (int st = 0; st <= ST_FS; st++)
		ns += s->strata[st];
	return ns;
}

void op_row_add(struct op_row *row, const struct op_sums *s)
{
	uint64_t max_ns = max_with(row->max_ns, s->max_ns, s->total_ns, s->count);
	/* restrict: the compiler adds several at once */
	const unsigned long long *restrict from = (const unsigned long long *)s;
	uint64_t *restrict to = &row->count; /* the first of OP_SUMS */

	for (size_t i = 0; i < sizeof(*s) / sizeof(*from); i++)
		to[i] += from[i];
	row->max_ns = max_ns;
}

void rq_row_add(struct rq_row *row, const struct rq_sums *s)
{
	row->count += s->count;
	row->errors += s->errors;
	row->bytes += s->bytes;
	row->requeues += s->requeues;
	row->unqueued += s->unqueued;
	row->outside += s->outside;
	row->tag_ns += s->tag_ns;
	row->queue_ns += s->queue_ns;
	row->device_ns += s->device_ns;
	if (row->max_ns < s->max_ns)
		row->max_ns = s->max_ns;
}

void helper_row_add(struct helper_row *row, const struct helper_sums *s)
{
	row->sums.count += s->count;
	row->sums.errors += s->errors;
	row->sums.bytes += s->bytes;
	row->sums.tag_ns += s->tag_ns;
	row->sums.queue_ns += s->queue_ns;
	row->sums.device_ns += s->device_ns;
	row->sums.cpu_ns += s->cpu_ns;
	row->sums.runq_ns += s->runq_ns;
	row->sums.waited_ns += s->waited_ns;
}

void site_row_add(struct site_row *row, const struct site_sums *s)
{
	row->sums.count += s->count;
	row->sums.total_ns += s->total_ns;
	row->sums.max_ns = max_with(row->sums.max_ns, s->max_ns, s->total_ns, s->count);
}

void server_row_add(struct server_row *row, const struct server_sums *s)
{
	row->sums.count += s->count;
	row->sums.errors += s->errors;
	row->sums.resent += s->resent;
	row->sums.sent_bytes += s->sent_bytes;
	row->sums.received_bytes += s->received_bytes;
	row->sums.tag_ns += s->tag_ns;
	row->sums.queue_ns += s->queue_ns;
	row->sums.server_ns += s->server_ns;
	row->sums.max_ns = max_with(row->sums.max_ns, s->max_ns, s->server_ns, s->count);
	row->sums.split += s->split;
	row->sums.before_read_ns += s->before_read_ns;
	for (int st = 0; st < ST_N; st++)
		row->sums.daemon_ns[st] += s->daemon_ns[st];
}

void who_row_add(struct who_row *row, const struct who_sums *s)
{
	row->sums.count += s->count;
	row->sums.total_ns += s->total_ns;
	row->sums.max_ns = max_with(row->sums.max_ns, s->max_ns, s->total_ns, s->count);
}

/* Adds @more, if not NULL, to a row's pattern. Returns 0 or -ENOMEM. */
static int patterns_merge(struct access_pattern **pattern, const struct access_pattern *more)
{
	if (!more)
		return 0;
	if (!*pattern)
		*pattern = calloc(1, sizeof(**pattern));
	return *pattern ? access_pattern_merge(*pattern, more) : -ENOMEM;
}

int op_row_merge(struct op_row *row, const struct op_row *more)
{
	struct op_sums sums;
	int err;

	memcpy(&sums, &more->count, sizeof(sums));
	op_row_add(row, &sums);
	row->certain += more->certain;
	err = patterns_merge(&row->pattern, more->pattern);
	return err ? err : hist_merge(&row->hist, &more->hist);
}

int rq_row_merge(struct rq_row *row, const struct rq_row *more)
{
	struct rq_sums sums = {
		.count = more->count,
		.errors = more->errors,
		.bytes = more->bytes,
		.requeues = more->requeues,
		.unqueued = more->unqueued,
		.outside = more->outside,
		.tag_ns = more->tag_ns,
		.queue_ns = more->queue_ns,
		.device_ns = more->device_ns,
		.max_ns = more->max_ns,
	};
	int err;

	rq_row_add(row, &sums);
	err = patterns_merge(&row->pattern, more->pattern);
	return err ? err : hist_merge(&row->hist, &more->hist);
}

void rows_take(struct rows *r, struct snapshot *sn)
{
	sn->ops = (struct op_row *)r->ops.rows;
	sn->n_ops = r->ops.n;
	sn->rqs = (struct rq_row *)r->rqs.rows;
	sn->n_rqs = r->rqs.n;
	sn->helpers = (struct helper_row *)r->helpers.rows;
	sn->n_helpers = r->helpers.n;
	free(r->ops.index);
	free(r->rqs.index);
	sn->sites = (struct site_row *)r->sites.rows;
	sn->n_sites = r->sites.n;
	sn->servers = (struct server_row *)r->servers.rows;
	sn->n_servers = r->servers.n;
	sn->whos = (struct who_row *)r->whos.rows;
	sn->n_whos = r->whos.n;
	free(r->helpers.index);
	free(r->sites.index);
	free(r->servers.index);
	free(r->whos.index);
	*r = (struct rows){};
}

void rows_done(struct rows *r)
{
	struct snapshot sn = {};

	rows_take(r, &sn);
	snapshot_free(&sn);
}

int rows_join(struct snapshot *sn)
{
	struct snapshot old = { .ops = sn->ops, .n_ops = sn->n_ops, .rqs = sn->rqs };
	struct rows rows = {};
	int err = 0;

	old.n_rqs = sn->n_rqs;
	for (size_t i = 0; i < old.n_ops && !err; i++) {
		struct op_row *row = rows_op(&rows, &old.ops[i].key);

		if (!row || row->count) {
			err = row ? op_row_merge(row, &old.ops[i]) : -ENOMEM;
			continue;
		}
		*row = old.ops[i];
		old.ops[i] = (struct op_row){};
	}
	for (size_t i = 0; i < old.n_rqs && !err; i++) {
		struct rq_row *row = rows_rq(&rows, &old.rqs[i].key);

		if (!row || row->count) {
			err = row ? rq_row_merge(row, &old.rqs[i]) : -ENOMEM;
			continue;
		}
		*row = old.rqs[i];
		old.rqs[i] = (struct rq_row){};
	}
	sn->ops = (struct op_row *)rows.ops.rows;
	sn->n_ops = rows.ops.n;
	sn->rqs = (struct rq_row *)rows.rqs.rows;
	sn->n_rqs = rows.rqs.n;
	free(rows.ops.index);
	free(rows.rqs.index);
	snapshot_free(&old);
	return err;
}
