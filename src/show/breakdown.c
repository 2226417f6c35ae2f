// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown.c - chooses, orders and names the rows of a snapshot.
 */
#include "show/breakdown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "base/columns.h"
#include "base/names.h"
#include "base/protocols.h"
#include "base/rows.h"
#include "base/snapshot.h"
#include "host/container.h"
#include "host/mounts.h"
#include "host/path.h"

static bool op_shown(const struct breakdown_view *v, const struct op_row *r)
{
	if (v->layer == LAYER_BLK || !r->count)
		return false;
	return opt_strings_pass(&v->chosen.fs, r->fs, sizeof(r->fs));
}

static bool is_async(const struct op_row *r)
{
	return !r->kinds && async_is_request(r->key.op, r->key.call);
}

/* The time of @r in stratum @st, as far as a thread was in it. */
static uint64_t thread_stratum(const struct op_row *r, int st)
{
	return !is_async(r) || st <= ST_FS ? r->strata[st] : 0;
}

uint64_t breakdown_thread_ns(const struct op_row *r)
{
	struct op_sums sums;

	if (r->kinds)
		return r->thread_ns;
	memcpy(&sums, &r->count, sizeof(sums));
	return op_sums_thread_ns(&sums, is_async(r));
}

/* The part of breakdown_thread_ns() on pseudo file systems. */
static uint64_t pseudo_ns(const struct op_row *r)
{
	if (r->kinds)
		return r->pseudo_ns;
	return mounts_fs_is_pseudo(r->fs, sizeof(r->fs)) ? breakdown_thread_ns(r) : 0;
}

/* Whether @r has operations on other file systems. */
static bool has_others(const struct op_row *r)
{
	return r->kinds ? r->pseudo_ns < r->thread_ns : !mounts_fs_is_pseudo(r->fs, sizeof(r->fs));
}

/* Whether operations on pseudo file systems are left out: nobody asked for them, and there are
 * others. */
static bool leaves_out_pseudo(const struct breakdown_whole *whole)
{
	const struct breakdown_view *v = whole->v;

	return v->layer == LAYER_OPS && !v->chosen.fs.n && whole->has_others;
}

uint64_t breakdown_counted_ns(const struct breakdown_whole *whole, const struct op_row *r)
{
	return breakdown_thread_ns(r) - (leaves_out_pseudo(whole) ? pseudo_ns(r) : 0);
}

static void whole_add(struct breakdown_whole *whole, const struct op_row *r)
{
	bool counts = !leaves_out_pseudo(whole) || has_others(r);

	whole->io_ns += r->total_ns;
	whole->all_threads_ns += breakdown_thread_ns(r);
	whole->async_ns += is_async(r) ? r->total_ns : 0;
	whole->thread_ns += breakdown_counted_ns(whole, r);
	whole->pseudo_ns += counts ? 0 : r->total_ns;
	for (int i = 0; i < ST_N; i++) {
		whole->strata[i] += r->strata[i];
		whole->async_strata[i] += is_async(r) ? r->strata[i] : 0;
		whole->thread_strata[i] += counts ? thread_stratum(r, i) : 0;
	}
}

/* By --sort, then the most time of threads first. Ties go by key: every run has the same order. */
static int op_order(const void *a, const void *b, void *arg)
{
	const struct op_row *x = *(const struct op_row *const *)a;
	const struct op_row *y = *(const struct op_row *const *)b;
	const struct breakdown_whole *whole = arg;
	const struct columns columns = { .ctx = whole };
	int order = 0;

	if (whole->v->form.sort)
		order = columns_compare(&columns, whole->v->form.sort, x, y);
	if (!order)
		order = compare_u64(breakdown_counted_ns(whole, y), breakdown_counted_ns(whole, x));
	if (!order)
		order = compare_u64(y->total_ns, x->total_ns);
	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

static void ops_sort(struct breakdown_rows *r)
{
	qsort_r(r->ops, r->n_ops, sizeof(*r->ops), op_order, &r->whole);
}

static uint64_t rq_whole(const struct rq_row *r)
{
	return r->tag_ns + r->queue_ns + r->device_ns;
}

static int rq_order(const void *a, const void *b, void *arg)
{
	const struct rq_row *x = *(const struct rq_row *const *)a;
	const struct rq_row *y = *(const struct rq_row *const *)b;
	const struct breakdown_whole *whole = arg;
	const struct columns columns = { .ctx = whole };
	int order = 0;

	if (whole->v->form.sort && whole->v->layer == LAYER_BLK)
		order = columns_compare(&columns, whole->v->form.sort, x, y);
	if (!order)
		order = compare_u64(rq_whole(y), rq_whole(x));
	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

int breakdown_rows_init(struct breakdown_rows *r, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	*r = (struct breakdown_rows){
		.whole = { .v = v, .sn = sn, .duration_ns = sn->duration_ns },
		.ops = calloc(sn->n_ops + 1, sizeof(*r->ops)),
		.minor = calloc(sn->n_ops + 1, sizeof(*r->minor)),
		.rqs = calloc(sn->n_rqs + 1, sizeof(*r->rqs)),
	};
	if (!r->ops || !r->minor || !r->rqs) {
		breakdown_rows_done(r);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sn->n_ops; i++)
		r->whole.has_others |= op_shown(v, &sn->ops[i]) && has_others(&sn->ops[i]);
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (!op_shown(v, &sn->ops[i]))
			continue;
		if (sn->ops[i].key.op == OP_MINOR_FAULT) {
			r->minor[r->n_minor++] = &sn->ops[i];
			r->whole.minor_faults += sn->ops[i].count;
			continue;
		}
		r->ops[r->n_ops++] = &sn->ops[i];
		whole_add(&r->whole, &sn->ops[i]);
	}
	for (size_t i = 0; i < sn->n_rqs; i++) {
		if (sn->rqs[i].count)
			r->rqs[r->n_rqs++] = &sn->rqs[i];
	}
	ops_sort(r);
	qsort_r(r->rqs, r->n_rqs, sizeof(*r->rqs), rq_order, &r->whole);
	r->whole.tree =
		(struct device_tree){ .devices = sn->devices, .rows = r->rqs, .n_rows = r->n_rqs };
	if (v->by != BY_DEV || !device_tree_order(&r->whole.tree))
		return 0;
	breakdown_rows_done(r);
	return -ENOMEM;
}

uint64_t breakdown_helper_ns(const struct helper_row *r)
{
	return r->key.op == HELPER_TIME ? r->sums.cpu_ns
					: r->sums.tag_ns + r->sums.queue_ns + r->sums.device_ns;
}

static int helper_order(const void *a, const void *b)
{
	const struct helper_row *x = *(const struct helper_row *const *)a;
	const struct helper_row *y = *(const struct helper_row *const *)b;
	int order = compare_u64(breakdown_helper_ns(y), breakdown_helper_ns(x));

	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

const struct helper_row **breakdown_helpers(const struct snapshot *sn, bool times)
{
	const struct helper_row **rows = calloc(sn->n_helpers + 1, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; rows && i < sn->n_helpers; i++)
		if ((sn->helpers[i].key.op == HELPER_TIME) == times)
			rows[n++] = &sn->helpers[i];
	if (rows)
		qsort(rows, n, sizeof(*rows), helper_order);
	return rows;
}

static int site_order(const void *a, const void *b)
{
	const struct site_row *x = *(const struct site_row *const *)a;
	const struct site_row *y = *(const struct site_row *const *)b;
	int order = compare_u64(y->sums.total_ns, x->sums.total_ns);

	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

static int server_order(const void *a, const void *b)
{
	const struct server_row *x = *(const struct server_row *const *)a;
	const struct server_row *y = *(const struct server_row *const *)b;
	int order = compare_u64(y->sums.server_ns, x->sums.server_ns);

	return order ? order : memcmp(&x->key, &y->key, sizeof(x->key));
}

const struct server_row **breakdown_servers(const struct snapshot *sn)
{
	const struct server_row **rows = calloc(sn->n_servers + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < sn->n_servers; i++)
		rows[i] = &sn->servers[i];
	if (rows)
		qsort(rows, sn->n_servers, sizeof(*rows), server_order);
	return rows;
}

const struct site_row **breakdown_sites(const struct snapshot *sn)
{
	const struct site_row **rows = calloc(sn->n_sites + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < sn->n_sites; i++)
		rows[i] = &sn->sites[i];
	if (rows)
		qsort(rows, sn->n_sites, sizeof(*rows), site_order);
	return rows;
}

static int key_compare(const struct op_row *x, const struct op_row *y)
{
	int order = memcmp(x->key.by, y->key.by, sizeof(x->key.by));

	return order ? order : (int)x->key.cache - y->key.cache;
}

/* By key; within a key, the operation with most time comes first. */
static int by_key(const void *a, const void *b)
{
	const struct op_row *x = *(const struct op_row *const *)a;
	const struct op_row *y = *(const struct op_row *const *)b;
	int order = key_compare(x, y);

	return order ? order : compare_u64(y->total_ns, x->total_ns);
}

/* Whether the two files of a copy may have rows with two keys. */
static bool by_files(enum by_key by)
{
	return by == BY_FILE || by == BY_DEV || by == BY_DIR;
}

/* Adds @from to the row of its key. A name becomes unknown if it differs between them. A copy
 * counts once: the row of the file to which it wrote only gets its bytes. */
static int row_merge(const struct breakdown_whole *whole, struct op_row *to,
		     const struct op_row *from)
{
	if (from->key.op == OP_COPY_TO) {
		to->bytes += by_files(whole->v->by) ? from->bytes : 0;
		to->count += to->key.op == OP_COPY_TO ? from->count : 0;
		return 0;
	}
	to->thread_ns += breakdown_thread_ns(from);
	to->pseudo_ns += pseudo_ns(from);
	to->kinds |= from->kinds ? from->kinds : op_kind_set(from->key.op);
	if (memcmp(to->fs, from->fs, sizeof(to->fs)))
		to->fs[0] = '\0';
	return op_row_merge(to, from);
}

/* An empty row with the key and names of @first, the operation of the key with most time. */
static struct op_row row_of_key(const struct op_row *first)
{
	struct op_row row = { .key = first->key,
			      .by = first->by,
			      .command = first->command,
			      .contained = first->contained };

	memcpy(row.fs, first->fs, sizeof(row.fs));
	memcpy(row.comm, first->comm, sizeof(row.comm));
	return row;
}

int breakdown_rows_merge(struct breakdown_rows *r)
{
	struct op_row *to = NULL;
	int err = 0;

	r->merged = calloc(r->n_ops + 1, sizeof(*r->merged));
	if (!r->merged)
		return -ENOMEM;
	qsort(r->ops, r->n_ops, sizeof(*r->ops), by_key);
	for (size_t i = 0; i < r->n_ops && !err; i++) {
		if (!to || key_compare(to, r->ops[i])) {
			to = &r->merged[r->n_merged++];
			*to = row_of_key(r->ops[i]);
		}
		err = row_merge(&r->whole, to, r->ops[i]);
	}
	for (r->n_ops = 0; r->n_ops < r->n_merged; r->n_ops++)
		r->ops[r->n_ops] = &r->merged[r->n_ops];
	ops_sort(r);
	return err;
}

void breakdown_rows_done(struct breakdown_rows *r)
{
	for (size_t i = 0; i < r->n_merged; i++) {
		access_pattern_free(r->merged[i].pattern);
		free(r->merged[i].hist.bins);
	}
	free(r->merged);
	device_tree_done(&r->whole.tree);
	free(r->ops);
	free(r->minor);
	free(r->rqs);
	*r = (struct breakdown_rows){};
}

const char *breakdown_fs_name(const struct snapshot *sn, unsigned long long fs)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (fs && sn->ops[i].key.fs == fs)
			return sn->ops[i].fs;
	}
	return "";
}

unsigned int breakdown_missing_layers(const struct snapshot *sn, const struct slow_op *r)
{
	for (size_t i = 0; i < sn->n_ops; i++) {
		if (sn->ops[i].key.fs == r->fs && sn->ops[i].key.op == r->kind)
			return sn->ops[i].missing_layers;
	}
	return 0;
}

char *breakdown_record_path(const struct slow_op *r)
{
	struct path_file f = { r->dev, r->ino, &r->file };

	return r->ino ? path_full(&f) : NULL;
}

const char *breakdown_key(const char *by, bool contained, size_t *ret_len)
{
	const struct container *c = container_of_row(by, contained);

	if (c && *c->title)
		by = c->title;
	*ret_len = c && !*c->title ? c->shown : by ? strlen(by) : 0;
	return by;
}

/* Whether the traced layer has stratum @st; LAYER_OPS has all of them. */
static bool stratum_matters(const struct breakdown_view *v, int st)
{
	switch (v->layer) {
	case LAYER_OPS:
		return true;
	case LAYER_VFS:
		return st == ST_VFS;
	case LAYER_FS:
		return st == ST_FS;
	default:
		return false;
	}
}

bool breakdown_has_ops(const struct breakdown_view *v)
{
	return v->layer == LAYER_OPS && !(v->missing && v->missing->syscalls);
}

bool breakdown_has_device_bytes(const struct breakdown_view *v)
{
	return v->layer == LAYER_OPS && !(v->missing && v->missing->device_bytes);
}

bool breakdown_fs_has_device_bytes(const struct breakdown_view *v, const char *fs)
{
	return breakdown_has_device_bytes(v) && !fs_has_server(fs);
}

bool breakdown_has_minor_faults(const struct breakdown_view *v)
{
	return v->layer == LAYER_OPS &&
	       !(v->missing && (v->missing->faults || v->missing->minor_faults));
}

bool breakdown_row_reads(const struct breakdown_view *v, const struct op_row *r)
{
	return breakdown_fs_has_device_bytes(v, r->fs) && !(r->kinds & ~(1U << OP_READ)) &&
	       async_acts(r->key.op, r->key.call) == OP_READ;
}

bool breakdown_has_requests(const struct breakdown_view *v)
{
	return v->layer == LAYER_OPS || v->layer == LAYER_BLK;
}

/* Whether rows have requests of io_uring and libaio, or would have them if these were measured. */
static bool breakdown_has_async(const struct breakdown_view *v)
{
	return v->layer == LAYER_OPS || v->layer == LAYER_VFS || v->layer == LAYER_FS;
}

#define MISSING_REASON(id, member, name, label, has)                                               \
	case MISSING_##id:                                                                         \
		return (has) ? v->missing->member : NULL;

const char *breakdown_missing(const struct breakdown_view *v, int i)
{
	if (!v->missing)
		return NULL;
	switch (i) {
		MISSING_LIST(MISSING_REASON)
	default:
		return stratum_matters(v, i) ? v->missing->stratum[i] : NULL;
	}
}

#define MISSING_NAMES(id, member, name, label, has) [MISSING_##id] = { name, label },

static const struct {
	const char *name, *label;
} missing_names[MISSING_N] = { MISSING_LIST(MISSING_NAMES) };

const char *breakdown_missing_name(unsigned int i)
{
	return i < ST_N ? stratum_name(i) : missing_names[i].name;
}

const char *breakdown_missing_label(int i)
{
	return i < ST_N ? stratum_label(i) : missing_names[i].label;
}

uint64_t breakdown_rq_total(const struct breakdown_view *v, const struct rq_row *r)
{
	return v->queued ? rq_whole(r) : r->device_ns;
}

uint64_t breakdown_hist_high(unsigned int b, uint64_t max_ns)
{
	uint64_t high = hist_low(b + 1) - 1;

	return b == HIST_N - 1 && max_ns > high ? max_ns : high;
}

const char *breakdown_op_name(const struct breakdown_view *v, const struct op_row *r, char buf[32])
{
	char call[16];

	if (r->key.op == OP_FAULT && r->key.call && !r->kinds)
		return breakdown_call_name(v, r->key.call, buf);
	if ((r->key.op != OP_URING && r->key.op != OP_AIO && r->key.op != OP_OUTSIDE) ||
	    r->kinds) /* several kinds: any call */
		return op_name(r->key.op);
	snprintf(buf, 32, "%s %s", op_name(r->key.op), breakdown_call_name(v, r->key.call, call));
	return buf;
}

const char *breakdown_call_name(const struct breakdown_view *v, unsigned short call, char buf[16])
{
	const char *name = v->source.call_name ? v->source.call_name(call) : NULL;

	if (name)
		return name;
	snprintf(buf, 16, "call %u", call);
	return buf;
}
