// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown_json.c - writes a snapshot as JSON. Works row by row, so it needs memory for only one
 * row at a time.
 */
#include "show/breakdown_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hist.h"
#include "base/json.h"
#include "base/names.h"
#include "capture/slow_requests.h"
#include "host/devices.h"
#include "show/columns.h"
#include "show/daemons.h"
#include "show/device_tree.h"
#include "show/joined.h"
#include "base/limit_text.h"
#include "show/stacks_json.h"
#include "show/breakdown_members.h"

struct writer {
	struct json json;
	const struct breakdown_view *v;
	const struct snapshot *sn;
	const struct breakdown_whole *whole;
};

static void put_known(struct json *j, const char *name, uint64_t n, bool known)
{
	if (known)
		json_put_uint(j, name, n);
	else
		json_put_null(j, name);
}

/* @missing_layers: as in struct op_row. */
static void put_strata(struct writer *w, const uint64_t *ns, unsigned int missing_layers)
{
	const struct missing *m = w->v->missing;

	json_put_begin(&w->json, "strata", '{');
	for (int i = 0; i < ST_N; i++)
		put_known(&w->json, stratum_name(i), ns[i],
			  (!m || !m->stratum[i]) && (ns[i] || !(missing_layers >> i & 1)));
	json_put_end(&w->json, '}');
}

static void put_hist(struct writer *w, const struct hist *h, uint64_t max_ns)
{
	struct json *j = &w->json;

	if (w->v->form.no_hist) {
		json_put_null(j, "hist");
		return;
	}
	json_put_begin(j, "hist", '[');
	for (unsigned int i = 0; i < h->n; i++) {
		unsigned int b = h->bins[i].bucket;

		json_put_begin(j, NULL, '[');
		json_put_uint(j, NULL, hist_low(b));
		json_put_uint(j, NULL, breakdown_hist_high(b, max_ns));
		json_put_uint(j, NULL, h->bins[i].count);
		json_put_end(j, ']');
	}
	json_put_end(j, ']');
}

/* Member "pattern"; null: the row has no reads or writes with a known offset. */
static void put_pattern(struct writer *w, const struct column *list, const void *row, bool known)
{
	const struct columns columns = { .list = list, .ctx = w->whole };

	if (!known) {
		json_put_null(&w->json, "pattern");
		return;
	}
	json_put_begin(&w->json, "pattern", '{');
	columns_json(&w->json, &columns, row);
	json_put_end(&w->json, '}');
}

static void put_file_id(struct json *j, const unsigned long long by[2])
{
	unsigned int dev = FILE_KEY_DEV(by[0]);
	char text[24];

	snprintf(text, sizeof(text), "%u:%u", DEV_MAJOR(dev), DEV_MINOR(dev));
	json_put_begin(j, NULL, '{');
	json_put_string(j, "dev", text);
	json_put_uint(j, "ino", by[1]);
	json_put_uint(j, "generation", by[0] >> 32);
	json_put_end(j, '}');
}

/* Members "files", the first VIEW_FILES files of the row, and "files_count"; null: rows are not by
 * file, or there is no file. */
static void put_files(struct writer *w, const struct op_row *r)
{
	const struct row_file *list;
	size_t n = 1;

	if (w->v->by != BY_FILE || !r->key.by[1] || FILE_KEY_IS_PATH(r->key.by[0])) {
		json_put_null(&w->json, "files");
		json_put_null(&w->json, "files_count");
		return;
	}
	list = snapshot_files(w->sn, r->key.by, &n);
	json_put_begin(&w->json, "files", '[');
	for (size_t i = 0; i < n && i < VIEW_FILES; i++)
		put_file_id(&w->json, list ? list[i].by : r->key.by);
	json_put_end(&w->json, ']');
	json_put_uint(&w->json, "files_count", n);
}

static void put_op(struct writer *w, const struct op_row *r)
{
	const struct columns columns = { .list = op_columns, .ctx = w->whole };
	enum layer layer = w->v->layer;
	struct json *j = &w->json;
	char buf[16];

	json_put_begin(j, NULL, '{');
	if (layer != LAYER_OPS)
		json_put_string(j, "layer", layer_name(layer));
	if (layer == LAYER_SYSCALL || r->key.op == OP_URING || r->key.op == OP_AIO ||
	    r->key.op == OP_OUTSIDE || r->key.call)
		json_put_string(j, "call", breakdown_call_name(w->v, r->key.call, buf));
	columns_json(j, &columns, r);
	if (layer == LAYER_OPS) {
		put_strata(w, r->strata, r->key.op == OP_COPY_TO ? ~0U : r->missing_layers);
		put_pattern(w, op_pattern_columns, r, r->pattern);
		put_files(w, r);
	}
	put_hist(w, &r->hist, r->max_ns);
	json_put_end(j, '}');
}

/* Member "parent": the disks directly above the disk of @r. */
static void put_parent(struct writer *w, const struct rq_row *r)
{
	const struct devices *d = w->sn->devices;
	struct json *j = &w->json;
	char name[DEVICE_NAME];
	unsigned int dev;
	size_t at = 0;

	if (!d) {
		json_put_null(j, "parent");
		return;
	}
	json_put_begin(j, "parent", '[');
	while ((dev = devices_above(d, r->key.dev, &at))) {
		devices_label(d, dev, name);
		json_put_text(j, NULL, name, sizeof(name));
	}
	json_put_end(j, ']');
}

static void put_rq(struct writer *w, const struct rq_row *r)
{
	const struct columns columns = { .list = rq_columns, .ctx = w->whole };

	json_put_begin(&w->json, NULL, '{');
	columns_json(&w->json, &columns, r);
	put_parent(w, r);
	put_pattern(w, rq_pattern_columns, r, r->pattern);
	put_hist(w, &r->hist, r->max_ns);
	json_put_end(&w->json, '}');
}

static void put_file(struct json *j, const struct slow_op *r)
{
	char *path = breakdown_record_path(r), dev[24];
	bool ranged = op_has_range(r->kind);

	snprintf(dev, sizeof(dev), "%u:%u", DEV_MAJOR(r->dev), DEV_MINOR(r->dev));
	json_put_string(j, "path", path);
	json_put_string(j, "dev", dev);
	json_put_uint(j, "ino", r->ino);
	put_known(j, "offset", r->offset, ranged && r->offset != ~0ULL);
	put_known(j, "len", r->len, ranged && r->len != ~0ULL);
	free(path);
}

static void put_result(struct json *j, long long ret)
{
	json_put_int(j, "result", ret);
	json_put_string(j, "error", ret < 0 && ret >= -MAX_ERRNO ? strerrorname_np(-ret) : NULL);
}

/* Member "lock": the holder of the lock that the operation waited for longest; null: no wait. */
static void put_lock(struct json *j, const struct slow_op *r)
{
	const struct waker *h = &r->lock_holder;

	if (!r->lock_ns) {
		json_put_null(j, "lock");
		return;
	}
	json_put_begin(j, "lock", '{');
	json_put_uint(j, "wait_ns", r->lock_ns);
	put_known(j, "pid", h->pid, h->tid);
	put_known(j, "tid", h->tid, h->tid);
	if (h->tid)
		json_put_text(j, "comm", h->comm, sizeof(h->comm));
	else
		json_put_null(j, "comm");
	json_put_string(j, "op", h->op ? op_name(h->op) : NULL);
	json_put_string(j, "stratum", h->op ? stratum_name(h->stratum) : NULL);
	json_put_end(j, '}');
}

/* The name of a helper or submitter. */
static void put_thread(struct json *j, unsigned int pid, unsigned int tid,
		       const char comm[COMM_LEN])
{
	put_known(j, "pid", pid, tid);
	put_known(j, "tid", tid, tid);
	if (tid)
		json_put_text(j, "comm", comm, COMM_LEN);
	else
		json_put_null(j, "comm");
}

/* Member "woken_by": the thread that ended its longest sleep for an unknown reason; null: none. */
static void put_woken_by(struct json *j, const struct slow_op *r)
{
	if (!r->slept_ns || !r->woken_by.tid) {
		json_put_null(j, "woken_by");
		return;
	}
	json_put_begin(j, "woken_by", '{');
	json_put_uint(j, "sleep_ns", r->slept_ns);
	put_thread(j, r->woken_by.pid, r->woken_by.tid, r->woken_by.comm);
	json_put_end(j, '}');
}

/* Member "who": who the longest wait for somebody else was due to; null: nobody. */
static void put_who(struct json *j, const struct slow_op *r)
{
	const struct waker *w = &r->by.thread;

	if (!w->who) {
		json_put_null(j, "who");
		return;
	}
	json_put_begin(j, "who", '{');
	json_put_string(j, "kind", who_known(w->who));
	json_put_uint(j, "wait_ns", r->by.ns);
	put_thread(j, w->pid, w->tid, w->who == WHO_LIMIT ? r->who.comm : w->comm);
	json_put_string(j, "command", r->by_command);
	json_put_string(j, "op", w->op ? op_name(w->op) : NULL);
	json_put_limit(j, w->limit, r->by_limit);
	json_put_end(j, '}');
}

/* Member "who" of an interval: all those to whom waits were due; null: not measured. */
static void put_whos(struct json *j, const struct snapshot *sn)
{
	if (!sn->has_whos) {
		json_put_null(j, "who");
		return;
	}
	json_put_begin(j, "who", '[');
	for (size_t i = 0; i < sn->n_whos; i++) {
		const struct who_row *r = &sn->whos[i];

		json_put_begin(j, NULL, '{');
		json_put_string(j, "kind", who_known(r->key.who));
		json_put_string(j, "op", op_name(r->key.op));
		json_put_uint(j, "count", r->sums.count);
		json_put_uint(j, "total_ns", r->sums.total_ns);
		json_put_uint(j, "max_ns", r->sums.max_ns);
		json_put_uint(j, "pid", r->key.pid);
		if (r->key.who == WHO_LIMIT)
			json_put_string(j, "comm", limit_known(r->key.limit));
		else
			json_put_text(j, "comm", r->key.comm, sizeof(r->key.comm));
		json_put_string(j, "command", r->command);
		json_put_limit(j, r->key.limit, r->limit);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

/* Member "helper": the helper of the operation; null: none, or not recorded. */
static void put_helper_of(struct json *j, const struct slow_op *r)
{
	if (!r->helper.tid) {
		json_put_null(j, "helper");
		return;
	}
	json_put_begin(j, "helper", '{');
	put_thread(j, r->helper.pid, r->helper.tid, r->helper.comm);
	json_put_end(j, '}');
}

static void put_request_of(struct json *j, const struct slow_request *rq)
{
	json_put_begin(j, NULL, '{');
	json_put_text(j, "dev", rq->disk, sizeof(rq->disk));
	json_put_string(j, "op", rq_op_code(rq->op));
	json_put_int(j, "at_ns", rq->at_ns);
	json_put_uint(j, "bytes", rq->bytes);
	put_known(j, "tag_ns", rq->tag_ns, !rq->unqueued);
	put_known(j, "queue_ns", rq->queue_ns, !rq->unqueued);
	json_put_uint(j, "device_ns", rq->device_ns);
	json_put_bool(j, "failed", rq->failed);
	put_thread(j, rq->who.pid, rq->who.tid, rq->who.comm);
	json_put_end(j, '}');
}

/* Members "disk_requests" and "disk_requests_count"; null: live, so they are not known. */
static void put_requests_of(struct writer *w, const struct slow_op *r)
{
	const struct slow_requests *s = r->requests;
	struct json *j = &w->json;

	if (!w->v->source.recording) {
		json_put_null(j, "disk_requests");
		json_put_null(j, "disk_requests_count");
		return;
	}
	json_put_begin(j, "disk_requests", '[');
	for (size_t i = 0; s && i < s->n; i++)
		put_request_of(j, &s->list[i]);
	json_put_end(j, ']');
	json_put_uint(j, "disk_requests_count", s ? s->count : 0);
}

/* Members "segments" and "segments_merged"; null: the order is not known. */
static void put_segments(struct json *j, const struct slow_op *r)
{
	if (!r->has_segments) {
		json_put_null(j, "segments");
		json_put_null(j, "segments_merged");
		return;
	}
	json_put_begin(j, "segments", '[');
	for (unsigned int i = 0; i < r->segments.n; i++) {
		json_put_begin(j, NULL, '[');
		json_put_string(j, NULL, stratum_name(SEGMENT_STRATUM(r->segments.at[i])));
		json_put_uint(j, NULL, SEGMENT_NS(r->segments.at[i]));
		json_put_end(j, ']');
	}
	json_put_end(j, ']');
	json_put_uint(j, "segments_merged", r->segments.merged);
}

static void put_record(struct writer *w, const struct slow_op *r)
{
	struct json *j = &w->json;
	char buf[16];

	json_put_begin(j, NULL, '{');
	json_put_string(j, "op", op_name(r->kind));
	json_put_string(j, "call", breakdown_call_name(w->v, r->call, buf));
	json_put_text(j, "fs", breakdown_fs_name(w->sn, r->fs), FS_NAME_LEN);
	json_put_string(j, "cache", cache_known(r->cache));
	json_put_uint(j, "start_ns", r->start_ns);
	put_known(j, "at_ns", r->at_ns, r->real_ns);
	json_put_uint(j, "total_ns", r->total_ns);
	put_strata(w, r->strata, breakdown_missing_layers(w->sn, r));
	put_segments(j, r);
	put_file(j, r);
	device_chain_json(j, w->sn->devices, r->disk ? r->disk : r->dev);
	put_result(j, r->ret);
	json_put_uint(j, "requests", r->n_requests);
	put_known(j, "device_bytes", r->device_bytes,
		  breakdown_fs_has_device_bytes(w->v, breakdown_fs_name(w->sn, r->fs)));
	put_known(j, "copied_up", r->copied_up, r->copied_up);
	json_put_uint(j, "pid", r->who.pid);
	json_put_uint(j, "tid", r->who.tid);
	json_put_text(j, "comm", r->who.comm, sizeof(r->who.comm));
	json_put_string(j, "command", r->command);
	json_put_uint(j, "cgroup", r->who.cgroup);
	put_lock(j, r);
	put_helper_of(j, r);
	put_woken_by(j, r);
	put_who(j, r);
	put_requests_of(w, r);
	json_put_end(j, '}');
}

static void put_busiest(struct json *j, const struct busiest *b)
{
	if (!b->io_ns) {
		json_put_null(j, "busiest");
		return;
	}
	json_put_begin(j, "busiest", '{');
	json_put_uint(j, "pid", b->pid);
	json_put_uint(j, "tid", b->tid);
	if (b->comm[0])
		json_put_text(j, "comm", b->comm, sizeof(b->comm));
	else
		json_put_null(j, "comm");
	json_put_uint(j, "io_ns", b->io_ns);
	json_put_uint(j, "lived_ns", b->lived_ns);
	json_put_end(j, '}');
}

/* The figures of the first screen's first lines. */
static void put_io(struct writer *w)
{
	struct json *j = &w->json;

	json_put_string(j, "command",
			w->v->source.command ? w->v->source.command
					     : w->v->source.recorded_command);
	put_known(j, "threads_ns", w->sn->threads_ns, w->sn->threads_ns);
	put_busiest(j, &w->sn->busiest);
	if (w->v->layer != LAYER_OPS) {
		json_put_null(j, "io_ns");
		json_put_null(j, "thread_ns");
		json_put_null(j, "in_flight");
		return;
	}
	put_known(j, "io_ns", w->whole->io_ns, breakdown_has_ops(w->v));
	put_known(j, "thread_ns", w->whole->all_threads_ns, breakdown_has_ops(w->v));
	if (breakdown_has_ops(w->v) && w->sn->duration_ns)
		json_put_real(j, "in_flight", (double)w->whole->async_ns / w->sn->duration_ns);
	else
		json_put_null(j, "in_flight");
	put_strata(w, w->whole->strata, breakdown_has_ops(w->v) ? 0 : ~0U);
}

static void put_head(struct writer *w)
{
	struct json *j = &w->json;

	json_put_string(j, "schema", breakdown_schema.id);
	json_put_string(j, "kernel", w->v->source.kernel);
	json_put_time(j, "time", w->v->interval.until_ns);
	json_put_uint(j, "duration_ns", w->sn->duration_ns);
	if (w->v->source.without_ns)
		json_put_uint(j, "without_ns", w->v->source.without_ns);
	put_io(w);
	json_put_begin(j, "missing", '[');
	for (int i = 0; i < MISSING_N; i++)
		if (breakdown_missing(w->v, i))
			json_put_string(j, NULL, breakdown_missing_name(i));
	json_put_end(j, ']');
}

/* How many of @n rows -n lets through. */
static size_t rows_let(const struct writer *w, size_t n)
{
	return w->v->form.rows_max && w->v->form.rows_max < n ? w->v->form.rows_max : n;
}

static void put_ops(struct writer *w, const char *name, const struct breakdown_rows *rows,
		    bool these)
{
	size_t n = these ? rows_let(w, rows->n_ops) : 0;

	json_put_begin(&w->json, name, '[');
	for (size_t i = 0; i < n; i++)
		put_op(w, rows->ops[i]);
	json_put_end(&w->json, ']');
}

/* Member "left_out": the numbers of rows that -n keeps out of the lists. */
static void put_left_out(struct writer *w, const struct breakdown_rows *rows)
{
	struct json *j = &w->json;

	if (!w->v->form.rows_max)
		return;
	json_put_begin(j, "left_out", '{');
	json_put_uint(j, w->v->layer == LAYER_OPS ? "ops" : "layers",
		      rows->n_ops - rows_let(w, rows->n_ops));
	json_put_uint(j, "requests", rows->n_rqs - rows_let(w, rows->n_rqs));
	json_put_end(j, '}');
}

static void put_requests(struct writer *w, const struct breakdown_rows *rows)
{
	if (!breakdown_has_requests(w->v) || breakdown_missing(w->v, ST_N)) {
		json_put_null(&w->json, "requests");
		return;
	}
	json_put_begin(&w->json, "requests", '[');
	for (size_t i = 0; i < rows_let(w, rows->n_rqs); i++)
		put_rq(w, rows->rqs[i]);
	json_put_end(&w->json, ']');
}

/* Member @name: a list with the columns @list of @rows. @rows ends with NULL. */
static void put_rows(struct writer *w, const char *name, const struct column *list,
		     const void *const *rows)
{
	const struct columns columns = { .list = list };

	json_put_begin(&w->json, name, '[');
	for (size_t i = 0; rows[i]; i++) {
		json_put_begin(&w->json, NULL, '{');
		columns_json(&w->json, &columns, rows[i]);
		json_put_end(&w->json, '}');
	}
	json_put_end(&w->json, ']');
}

static void put_minor_faults(struct writer *w, const struct breakdown_rows *rows)
{
	if (!breakdown_has_minor_faults(w->v)) {
		json_put_null(&w->json, "minor_faults");
		return;
	}
	put_rows(w, "minor_faults", minor_columns, (const void *const *)rows->minor);
}

static int put_helpers(struct writer *w, const char *name, bool times)
{
	const struct helper_row **rows;

	if (breakdown_missing(w->v, times ? ST_HELPER : MISSING_REQUESTS)) {
		json_put_null(&w->json, name);
		return 0;
	}
	rows = breakdown_helpers(w->sn, times);
	if (!rows)
		return -ENOMEM;
	put_rows(w, name, times ? helper_time_columns : helper_columns, (const void *const *)rows);
	free(rows);
	return 0;
}

int breakdown_json_servers(struct json *j, const struct snapshot *sn, const struct missing *missing)
{
	const struct columns columns = { .list = server_columns };
	const struct server_row **rows = breakdown_servers(sn);

	if (!rows)
		return -ENOMEM;
	json_put_begin(j, "servers", '[');
	for (size_t i = 0; rows[i]; i++) {
		json_put_begin(j, NULL, '{');
		columns_json(j, &columns, rows[i]);
		daemon_json(j, rows[i], missing);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	free(rows);
	return 0;
}

static int put_sites(struct writer *w)
{
	const struct site_row **rows;

	if (breakdown_missing(w->v, ST_SLEEP)) {
		json_put_null(&w->json, "sleep_why");
		return 0;
	}
	rows = breakdown_sites(w->sn);
	if (!rows)
		return -ENOMEM;
	put_rows(w, "sleep_why", site_columns, (const void *const *)rows);
	free(rows);
	return 0;
}

static void put_losses(struct json *j, const char *name, const uint64_t lost[LOST_N],
		       uint64_t missed)
{
	json_put_begin(j, name, '{');
	for (int i = 0; i < LOST_N; i++)
		json_put_uint(j, lost_name(i), lost[i]);
	json_put_uint(j, "missed", missed);
	json_put_end(j, '}');
}

void breakdown_json_disks(struct json *j, const struct snapshot *sn)
{
	if (!sn->disks || !sn->disks_ns) {
		json_put_null(j, "disks");
		return;
	}
	json_put_begin(j, "disks", '[');
	for (size_t i = 0; i < sn->n_disks; i++) {
		const struct disk_busy *d = &sn->disks[i];

		if (!d->busy_ns && !d->requests_ns)
			continue;
		json_put_begin(j, NULL, '{');
		json_put_text(j, "disk", d->disk, sizeof(d->disk));
		json_put_uint(j, "ns", sn->disks_ns);
		put_known(j, "busy_ns", d->busy_ns, d->busy_ns != BUSY_UNKNOWN);
		if (d->busy_ns != BUSY_UNKNOWN)
			json_put_real(j, "busy", (double)d->busy_ns / sn->disks_ns);
		else
			json_put_null(j, "busy");
		json_put_real(j, "depth", snapshot_disk_depth(sn, d));
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_machine(struct json *j, const struct machine_load *l)
{
	if (!l->ns) {
		json_put_null(j, "machine");
		return;
	}
	json_put_begin(j, "machine", '{');
	json_put_uint(j, "ns", l->ns);
	for (unsigned int i = 0; i < MACHINE_FIGURES; i++)
		put_known(j, machine_figure_name(i), l->figure[i], machine_load_knows(l, i));
	json_put_end(j, '}');
}

static void put_costs(struct writer *w)
{
	const struct snapshot *sn = w->sn;
	struct json *j = &w->json;

	put_losses(j, "lost", sn->lost, sn->missed);
	if (sn->is_part)
		put_losses(j, "lost_untimed", sn->untimed.lost, sn->untimed.missed);
	if (!sn->has_overhead) {
		json_put_null(j, "overhead");
		return;
	}
	json_put_begin(j, "overhead", '{');
	json_put_uint(j, "bpf_run_ns", sn->bpf_run_ns);
	json_put_uint(j, "bpf_run_cnt", sn->bpf_run_cnt);
	json_put_end(j, '}');
}

/* Threads that have waited since before the start; only there if there are any. */
static void put_hung(struct writer *w)
{
	const struct snapshot *sn = w->sn;
	struct json *j = &w->json;

	if (sn->n_hung)
		json_put_begin(j, "in_progress_before", '[');
	for (size_t i = 0; i < sn->n_hung; i++) {
		const struct hung *h = &sn->hung[i];

		json_put_begin(j, NULL, '{');
		json_put_string(j, "op", h->op == OP_NONE ? NULL : op_name(h->op));
		json_put_string(j, "call", h->call);
		json_put_text(j, "fs", h->fs, sizeof(h->fs));
		json_put_uint(j, "age_ns", h->age_ns);
		json_put_string(j, "stratum", stratum_name(h->stratum));
		json_put_text(j, "symbol", h->symbol, sizeof(h->symbol));
		json_put_string(j, "what", h->what);
		json_put_uint(j, "pid", h->pid);
		json_put_uint(j, "tid", h->tid);
		json_put_text(j, "comm", h->comm, sizeof(h->comm));
		json_put_string(j, "file", h->file);
		json_put_string(j, "server", h->server);
		json_put_text(j, "suspended", h->suspended, sizeof(h->suspended));
		put_known(j, "holder_pid", h->holder_pid, h->holder_pid);
		json_put_text(j, "holder_comm", h->holder_comm, sizeof(h->holder_comm));
		json_put_end(j, '}');
	}
	if (sn->n_hung)
		json_put_end(j, ']');
	if (sn->hung_refused)
		json_put_uint(j, "unseen_before", sn->hung_refused);
}

static void put_unfinished(struct writer *w)
{
	struct json *j = &w->json;

	json_put_begin(j, "in_progress", '[');
	for (size_t i = 0; i < w->sn->n_unfinished; i++) {
		const struct unfinished *u = &w->sn->unfinished[i];
		char disk[DEVICE_NAME];

		devices_label(w->sn->devices, u->dev, disk);
		json_put_begin(j, NULL, '{');
		json_put_string(j, "op", op_name(u->op));
		json_put_text(j, "call", u->call, sizeof(u->call));
		json_put_text(j, "fs", u->fs, sizeof(u->fs));
		json_put_uint(j, "age_ns", u->age_ns);
		json_put_string(j, "stratum", stratum_name(u->stratum));
		json_put_bool(j, "frozen", u->frozen);
		json_put_text(j, "dev", disk, sizeof(disk));
		json_put_uint(j, "pid", u->pid);
		json_put_uint(j, "tid", u->tid);
		json_put_text(j, "comm", u->comm, sizeof(u->comm));
		json_put_string(j, "file", u->file);
		json_put_string(j, "server", u->server);
		json_put_text(j, "suspended", u->suspended, sizeof(u->suspended));
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	put_hung(w);
	json_put_uint(j, "unseen_threads", w->sn->unfinished_lost);
	json_put_uint(j, "unnamed_cgroups", w->sn->unnamed_cgroups);
	json_put_uint(j, "unpatterned", w->sn->unpatterned);
	if (w->sn->has_unreaped)
		json_put_uint(j, "unreaped", w->sn->unreaped);
	else
		json_put_null(j, "unreaped");
}

static void put_slowest(struct writer *w, const struct slow_op *slowest, size_t n)
{
	json_put_begin(&w->json, "slowest", '[');
	for (size_t i = 0; i < n; i++)
		put_record(w, &slowest[i]);
	json_put_end(&w->json, ']');
}

int breakdown_json(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct slow_op *slowest, size_t n_slowest)
{
	struct writer w = { .json = { .out = { .f = f } }, .v = v, .sn = sn };
	struct breakdown_rows rows;
	int err = breakdown_rows_init(&rows, v, sn);

	if (err)
		return err;
	w.whole = &rows.whole;
	json_put_begin(&w.json, NULL, '{');
	put_head(&w);
	put_ops(&w, "ops", &rows, v->layer == LAYER_OPS);
	put_ops(&w, "layers", &rows, v->layer != LAYER_OPS);
	put_requests(&w, &rows);
	put_left_out(&w, &rows);
	put_minor_faults(&w, &rows);
	put_unfinished(&w);
	put_whos(&w.json, sn);
	put_machine(&w.json, &sn->machine);
	breakdown_json_disks(&w.json, sn);
	put_costs(&w);
	if (slowest)
		put_slowest(&w, slowest, n_slowest);
	if (v->helpers)
		err = put_helpers(&w, "helpers", false);
	if (v->helpers && !err)
		err = put_helpers(&w, "helper_times", true);
	if (v->sites && !err)
		err = put_sites(&w);
	if (sn->n_servers && !err)
		err = breakdown_json_servers(&w.json, sn, v->missing);
	if (sn->stacks)
		stacks_json(&w.json, sn->stacks, v->missing);
	if (v->joined)
		joined_json(&w.json, v->joined);
	json_put_end(&w.json, '}');
	breakdown_rows_done(&rows);
	return err ? err : json_end_line(&w.json);
}
