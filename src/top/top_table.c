// SPDX-License-Identifier: GPL-2.0-only
/*
 * top_table.c - joins the rows of a snapshot, and sums up intervals.
 *
 * An open hash of row indexes finds a row by its key: there may be 20,000 rows, and 100,000 rows of
 * the kernel, every second. Strata and histograms are summed up only for the rows that are shown.
 */
#include "top/top_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "event.h"
#include "host/container_names.h"
#include "host/devices.h"
#include "host/mounts.h"

const char *top_view_name(enum top_view view)
{
	static const char *const names[TOP_VIEWS] = { "pid",      "tid",    "comm",      "file",
						      "dev",      "cgroup", "container", "server",
						      "function", "line",   "library" };

	return names[view];
}

enum by_key top_view_callers(enum top_view view)
{
	return view == TOP_CALLER_FUNCTION  ? BY_FUNCTION
	       : view == TOP_CALLER_LINE    ? BY_LINE
	       : view == TOP_CALLER_LIBRARY ? BY_LIBRARY
					    : BY_NONE;
}

/* The number of a container is the id of its first cgroup. All cgroups outside of containers share
 * a number, too, except those with an unknown path. */
static uint64_t owner_number(const struct top_names *names, const struct top_name *of)
{
	if (!of->path || !container_is_path(of->path))
		return of->id;
	for (const struct top_name *n = names->list; n; n = n->hh.next)
		if (n->path && container_is_path(n->path) &&
		    !strcmp(n->container.id, of->container.id))
			return n->owner;
	return of->id;
}

const struct top_name *top_names_find(struct top_names *names, uint64_t id)
{
	struct top_name *name;

	HASH_FIND(hh, names->list, &id, sizeof(id), name);
	if (name && names->containers && name->container.id[0])
		container_names_find(names->containers, &name->container);
	if (name)
		return name;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->id = id;
	name->path = names->cgroup_path ? names->cgroup_path(names->arg, id) : NULL;
	if (name->path && container_find(name->path, &name->container) && names->containers)
		container_names_find(names->containers, &name->container);
	name->owner = owner_number(names, name);
	HASH_ADD(hh, names->list, id, sizeof(name->id), name);
	return name;
}

void top_names_done(struct top_names *names)
{
	struct top_name *name, *next;

	HASH_ITER (hh, names->list, name, next) {
		HASH_DEL(names->list, name);
		free(name->path);
		free(name);
	}
}

_Static_assert(sizeof(((struct top_key *)0)->who) == COMM_LEN, "a name is a key");

static int thread_order(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static const struct thread *thread_of(const struct snapshot *sn, uint64_t id)
{
	struct thread key = { .id = id };

	if (!sn->n_threads)
		return NULL;
	return bsearch(&key, sn->threads, sn->n_threads, sizeof(key), thread_order);
}

static const struct top_name *name_of(struct top_names *names, const struct thread *thread)
{
	return thread && names ? top_names_find(names, thread->cgroup) : NULL;
}

/* Sets the key of @t's view for a row of the kernel with the owner @by. */
static void who_set(uint64_t who[2], const struct top_table *t, struct top_names *names,
		    const unsigned long long by[2])
{
	/* only where needed, since there are many rows */
	const struct thread *thread = t->view > TOP_THREAD ? thread_of(t->sn, by[0]) : NULL;
	const struct top_name *name;

	switch (t->view) {
	case TOP_PROCESS:
		who[0] = by[0] >> 32;
		break;
	case TOP_THREAD:
		who[0] = by[0];
		break;
	case TOP_COMM:
		if (thread)
			memcpy(who, thread->comm, strnlen(thread->comm, COMM_LEN));
		break;
	case TOP_CGROUP:
		who[0] = thread ? thread->cgroup : 0;
		break;
	case TOP_CONTAINER:
		name = name_of(names, thread);
		who[0] = name ? name->owner : 0;
		break;
	case TOP_FILE:
		if (by[1]) /* an inode; 0: not a file */
			memcpy(who, by, 2 * sizeof(*who));
		break;
	case TOP_CALLER_FUNCTION:
	case TOP_CALLER_LINE:
	case TOP_CALLER_LIBRARY:
		memcpy(who, by, 2 * sizeof(*who));
		break;
	default:
		break;
	}
}

static uint64_t key_hash(const struct top_key *key)
{
	uint64_t h = key->who[0] * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32 ^ key->who[1]) * 0x9e3779b97f4a7c15ULL;
	h = (h ^ h >> 32 ^ ((uint64_t)key->dev << 32 | key->op)) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

/* Place of @key in the index. The index is never full. */
static unsigned int *place_of(const struct top_table *t, const struct top_key *key)
{
	size_t i = key_hash(key) & (t->index_len - 1);

	while (t->index[i] && memcmp(&t->rows[t->index[i] - 1].key, key, sizeof(*key)) != 0)
		i = (i + 1) & (t->index_len - 1);
	return &t->index[i];
}

struct top_row *top_table_find(const struct top_table *t, const struct top_key *key)
{
	unsigned int number = t->index ? *place_of(t, key) : 0;

	return number ? &t->rows[number - 1] : NULL;
}

/* Gives @r the thread @id, unless @r has one. The first thread of a process, if it has rows, takes
 * precedence: its name is the name of the process. */
static void row_set_thread(struct top_row *r, const struct top_table *t, struct top_names *names,
			   uint64_t id)
{
	const struct thread *thread;
	const struct top_name *name;

	if (r->thread && (r->thread->id == id || id >> 32 != (uint32_t)id))
		return;
	thread = thread_of(t->sn, id);
	r->thread = thread ? thread : r->thread;
	name = r->cgroup ? NULL : name_of(names, thread);
	if (!name)
		return;
	r->cgroup = name->path;
	r->container = name->container.id[0] ? &name->container : NULL;
}

/* The row of @key, made if needed, for a row of the kernel owned by thread @id. */
static struct top_row *row_of(struct top_table *t, struct top_names *names,
			      const struct top_key *key, uint64_t id)
{
	unsigned int *place = place_of(t, key);
	struct top_row *r;

	if (!*place) {
		r = &t->rows[t->n++];
		r->key = *key;
		*place = t->n;
	}
	r = &t->rows[*place - 1];
	row_set_thread(r, t, names, id);
	return r;
}

static void side_add(struct top_side *s, const struct top_side *more)
{
	s->count += more->count;
	s->errors += more->errors;
	s->bytes += more->bytes;
	s->total_ns += more->total_ns;
	if (s->max_ns < more->max_ns)
		s->max_ns = more->max_ns;
}

static void op_add(struct top_table *t, struct top_names *names, size_t i)
{
	const struct op_row *op = &t->sn->ops[i];
	bool second = op->key.op == OP_COPY_TO; /* file of a copy: a copy counts once */
	const struct top_side side = { .count = second && t->split != TOP_OPS ? 0 : op->count,
				       .errors = op->errors,
				       .bytes = op->bytes,
				       .total_ns = op->total_ns,
				       .max_ns = op->max_ns };
	struct top_key key = {};
	struct top_row *r;

	if (second && t->view != TOP_FILE)
		return;
	who_set(key.who, t, names, op->key.by);
	if (t->split == TOP_OPS)
		key.op = op->key.op;
	r = row_of(t, names, &key, top_view_callers(t->view) ? 0 : op->key.by[0]);
	side_add(&r->ops, &side);
	if (t->view == TOP_FILE)
		r->file = op->by;
	if (top_view_callers(t->view))
		r->caller = op->by;
	t->next_op[i] = r->first_op;
	r->first_op = i + 1;
}

/* Whether @upper lies on @lower, maybe on other disks in between. */
static bool lies_on(const struct devices *d, unsigned int upper, unsigned int lower, int depth)
{
	enum { DEEPEST = 8 };
	unsigned int above;
	size_t at = 0;

	while (depth < DEEPEST && (above = devices_above(d, lower, &at)))
		if (above == upper || lies_on(d, upper, above, depth + 1))
			return true;
	return false;
}

static int owner_order(const void *a, const void *b, void *sn)
{
	const struct rq_row *rows = ((const struct snapshot *)sn)->rqs;
	const unsigned long long *x = rows[*(const size_t *)a].key.by;
	const unsigned long long *y = rows[*(const size_t *)b].key.by;

	return x[0] == y[0] ? 0 : x[0] < y[0] ? -1 : 1;
}

/* Whether one of the @n rows of an owner is of a disk on that of @row. */
static bool any_above(const struct snapshot *sn, const size_t *rows, size_t n,
		      const struct rq_row *row)
{
	for (size_t i = 0; i < n; i++)
		if (sn->rqs[rows[i]].key.dev != row->key.dev &&
		    lies_on(sn->devices, sn->rqs[rows[i]].key.dev, row->key.dev, 0))
			return true;
	return false;
}

bool *top_stacked(const struct snapshot *sn)
{
	bool *stacked = calloc(sn->n_rqs + 1, sizeof(*stacked));
	size_t *order = calloc(sn->n_rqs + 1, sizeof(*order)), n;

	for (size_t i = 0; order && i < sn->n_rqs; i++)
		order[i] = i;
	if (order && stacked && sn->devices && sn->devices->n_links) {
		qsort_r(order, sn->n_rqs, sizeof(*order), owner_order, (void *)sn);
		for (size_t first = 0; first < sn->n_rqs; first += n) {
			for (n = 1; first + n < sn->n_rqs; n++)
				if (owner_order(&order[first], &order[first + n], (void *)sn))
					break;
			for (size_t i = first; i < first + n; i++)
				stacked[order[i]] =
					any_above(sn, &order[first], n, &sn->rqs[order[i]]);
		}
	}
	if (!order) {
		free(stacked);
		stacked = NULL;
	}
	free(order);
	return stacked;
}

static void rq_add(struct top_table *t, struct top_names *names, size_t i)
{
	const struct rq_row *rq = &t->sn->rqs[i];
	const struct top_side side = { .count = rq->count,
				       .errors = rq->errors,
				       .bytes = rq->bytes,
				       .total_ns = rq->tag_ns + rq->queue_ns + rq->device_ns,
				       .max_ns = rq->max_ns };
	uint32_t behalf = names->by_file ? BEHALF_NONE : rq->key.by[1];
	struct top_key key = {};
	struct top_row *r;

	who_set(key.who, t, names, rq->key.by);
	if (t->split == TOP_REQUESTS)
		key.op = rq->key.op | behalf << 8;
	if (t->split == TOP_REQUESTS || t->view == TOP_DISK)
		key.dev = rq->key.dev;
	r = row_of(t, names, &key, rq->key.by[0]);
	if (t->stacked[i] && !key.dev)
		return;
	side_add(&r->rqs, &side);
	r->tag_ns += rq->tag_ns;
	r->queue_ns += rq->queue_ns;
	r->device_ns += rq->device_ns;
	if (behalf)
		r->behalf_bytes += rq->bytes;
	if (!r->disk || rq->bytes > r->disk_bytes) {
		r->disk = rq->disk;
		r->major = rq->major;
		r->minor = rq->minor;
		r->disk_bytes = rq->bytes;
	}
	if (t->view == TOP_FILE)
		r->file = rq->by;
	t->next_rq[i] = r->first_rq;
	r->first_rq = i + 1;
}

static void server_add(struct top_table *t, size_t i)
{
	const struct server_row *s = &t->sn->servers[i];
	const struct top_side side = { .count = s->sums.count,
				       .errors = s->sums.errors,
				       .bytes = s->sums.sent_bytes + s->sums.received_bytes,
				       .total_ns = s->sums.server_ns,
				       .max_ns = s->sums.max_ns };
	struct top_key key = { .who = { mount_server_number(s->key.server),
					(uint64_t)s->key.protocol << 60 |
						(uint64_t)s->key.pid << 32 | s->key.dev } };
	struct top_row *r;

	if (t->split == TOP_REQUESTS)
		key.op = s->key.opcode ? s->key.opcode : (uint32_t)mount_server_number(s->key.op);
	r = row_of(t, NULL, &key, 0);
	side_add(&r->rqs, &side);
	r->tag_ns += s->sums.tag_ns;
	r->queue_ns += s->sums.queue_ns;
	if (!r->server)
		r->server = s;
	t->next_rq[i] = r->first_rq;
	r->first_rq = i + 1;
}

static int table_alloc(struct top_table *t, size_t n_ops, size_t n_rqs)
{
	for (t->index_len = 64; t->index_len < 2 * (n_ops + n_rqs); t->index_len *= 2)
		;
	t->rows = calloc(n_ops + n_rqs + 1, sizeof(*t->rows));
	t->next_op = calloc(n_ops + 1, sizeof(*t->next_op));
	t->next_rq = calloc(n_rqs + 1, sizeof(*t->next_rq));
	t->index = calloc(t->index_len, sizeof(*t->index));
	t->stacked = top_stacked(t->sn);
	return t->rows && t->next_op && t->next_rq && t->index && t->stacked ? 0 : -ENOMEM;
}

int top_table_init(struct top_table *t, const struct snapshot *sn, enum top_view view,
		   enum top_split split, struct top_names *names)
{
	/* the disk of an operation is not known, and the server only from its file system */
	bool no_ops = split == TOP_REQUESTS || view == TOP_DISK || view == TOP_SERVER;
	size_t n_ops = no_ops ? 0 : sn->n_ops;
	/* nor is the caller of a request */
	bool no_rqs = split == TOP_OPS || top_view_callers(view);
	size_t n_rqs = no_rqs ? 0 : view == TOP_SERVER ? sn->n_servers : sn->n_rqs;
	int err;

	*t = (struct top_table){ .view = view, .split = split, .sn = sn };
	err = table_alloc(t, n_ops, n_rqs);
	if (err) {
		top_table_done(t);
		return err;
	}
	for (size_t i = 0; i < n_ops; i++)
		if (sn->ops[i].count)
			op_add(t, names, i);
	for (size_t i = 0; i < n_rqs; i++) {
		if (view == TOP_SERVER)
			server_add(t, i);
		else if (sn->rqs[i].count)
			rq_add(t, names, i);
	}
	return 0;
}

void top_table_done(struct top_table *t)
{
	free(t->rows);
	free(t->next_op);
	free(t->next_rq);
	free(t->index);
	free(t->stacked);
	*t = (struct top_table){};
}

int top_row_hists(const struct top_table *t, const struct top_row *r, struct hist *ret_ops,
		  struct hist *ret_rqs)
{
	struct hist ops = {}, rqs = {};
	int err = 0;

	for (unsigned int i = r->first_op; i && !err; i = t->next_op[i - 1])
		err = hist_merge(&ops, &t->sn->ops[i - 1].hist);
	for (unsigned int i = r->first_rq; i && !err; i = t->next_rq[i - 1])
		err = hist_merge(&rqs,
				 r->server ? &t->sn->servers[i - 1].hist : &t->sn->rqs[i - 1].hist);
	if (err) {
		free(ops.bins);
		free(rqs.bins);
		return err;
	}
	*ret_ops = ops;
	*ret_rqs = rqs;
	return 0;
}

void top_row_p99(const struct top_table *t, struct top_row *r)
{
	struct hist ops, rqs;

	if (r->p99_known || top_row_hists(t, r, &ops, &rqs))
		return;
	r->ops.p99_ns = hist_percentile(&ops, 99, r->ops.max_ns);
	r->rqs.p99_ns = hist_percentile(&rqs, 99, r->rqs.max_ns);
	r->p99_known = true;
	free(ops.bins);
	free(rqs.bins);
}

struct top_strata top_row_strata(const struct top_table *t, const struct top_row *r)
{
	struct top_strata s = {};

	for (unsigned int i = r->first_op; i; i = t->next_op[i - 1])
		for (int st = 0; st < ST_N; st++)
			s.ns[st] += t->sn->ops[i - 1].strata[st];
	return s;
}

unsigned int top_strata_largest(const struct top_strata *s)
{
	unsigned int largest = ST_N;
	uint64_t ns = 0;

	for (unsigned int i = 0; i < ST_N; i++) {
		if (s->ns[i] <= ns)
			continue;
		ns = s->ns[i];
		largest = i;
	}
	return largest;
}

/* Copies the text of a new row. */
static int text_copy(char **to, const char *by, bool is_new)
{
	if (!is_new || !by)
		return 0;
	*to = strdup(by);
	return *to ? 0 : -ENOMEM;
}

static int op_merge(struct top_total *t, const struct op_row *more)
{
	struct op_row *row = rows_op(&t->rows, &more->key);

	if (!row || text_copy(&row->by, more->by, !row->count))
		return -ENOMEM;
	memcpy(row->fs, more->fs, sizeof(row->fs));
	return op_row_merge(row, more);
}

static int rq_merge(struct top_total *t, const struct rq_row *more)
{
	struct rq_row *row = rows_rq(&t->rows, &more->key);

	if (!row || text_copy(&row->by, more->by, !row->count))
		return -ENOMEM;
	memcpy(row->disk, more->disk, sizeof(row->disk));
	row->major = more->major;
	row->minor = more->minor;
	return rq_row_merge(row, more);
}

static int server_merge(struct top_total *t, const struct server_row *more)
{
	struct server_row *row = rows_server(&t->rows, &more->key);

	if (!row || text_copy(&row->mount, more->mount, !row->sums.count))
		return -ENOMEM;
	server_row_add(row, &more->sums);
	return hist_merge(&row->hist, &more->hist);
}

/* Both lists are sorted by id. If a thread is in both, the newer entry is taken. */
static int threads_merge(struct snapshot *sum, const struct snapshot *sn)
{
	struct thread *all = malloc((sum->n_threads + sn->n_threads + 1) * sizeof(*all));
	size_t a = 0, b = 0, n = 0;

	if (!all)
		return -ENOMEM;
	while (a < sum->n_threads || b < sn->n_threads) {
		if (b == sn->n_threads ||
		    (a < sum->n_threads && sum->threads[a].id < sn->threads[b].id)) {
			all[n++] = sum->threads[a++];
			continue;
		}
		if (a < sum->n_threads && sum->threads[a].id == sn->threads[b].id)
			a++;
		all[n++] = sn->threads[b++];
	}
	free(sum->threads);
	sum->threads = all;
	sum->n_threads = n;
	return 0;
}

static void sum_show(struct top_total *t, const struct snapshot *sn)
{
	struct snapshot *sum = &t->sum;

	sum->ops = (struct op_row *)t->rows.ops.rows;
	sum->n_ops = t->rows.ops.n;
	sum->rqs = (struct rq_row *)t->rows.rqs.rows;
	sum->n_rqs = t->rows.rqs.n;
	sum->servers = (struct server_row *)t->rows.servers.rows;
	sum->n_servers = t->rows.servers.n;
	sum->devices = sn->devices;
	if (sn->stacks) {
		stacks_sums_add(&t->stacks, sn->stacks);
		sum->stacks = &t->stacks;
	}
	sum->duration_ns += sn->duration_ns;
	sum->missed += sn->missed;
	for (int i = 0; i < LOST_N; i++)
		sum->lost[i] += sn->lost[i];
}

int top_total_add(struct top_total *t, const struct snapshot *sn)
{
	int err = 0;

	for (size_t i = 0; i < sn->n_ops && !err; i++) {
		if (t->rows.ops.n < TOP_TOTAL_ROWS)
			err = op_merge(t, &sn->ops[i]);
		else
			t->sum.lost[LOST_MAP_FULL] += sn->ops[i].count;
	}
	for (size_t i = 0; i < sn->n_rqs && !err; i++) {
		if (t->rows.rqs.n < TOP_TOTAL_ROWS)
			err = rq_merge(t, &sn->rqs[i]);
		else
			t->sum.lost[LOST_MAP_FULL] += sn->rqs[i].count;
	}
	for (size_t i = 0; i < sn->n_servers && !err; i++) {
		if (t->rows.servers.n < TOP_TOTAL_ROWS)
			err = server_merge(t, &sn->servers[i]);
		else
			t->sum.lost[LOST_MAP_FULL] += sn->servers[i].sums.count;
	}
	if (!err)
		err = threads_merge(&t->sum, sn);
	sum_show(t, sn);
	return err;
}

void top_total_done(struct top_total *t)
{
	free(t->sum.threads);
	t->sum = (struct snapshot){};
	t->stacks = (struct stacks){};
	rows_done(&t->rows);
}
