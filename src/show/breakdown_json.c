// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown_json.c - writes a snapshot as JSON; see breakdown_json.h.
 *
 * Row by row, so that memory is that of one row however many there are.
 */
#include "breakdown_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "text.h"

struct writer {
	struct text_out out;
	const struct breakdown_view *v;
	const struct snapshot *sn;
	bool first;		/* no comma before the next element */
};

static int to_stream(const char *buf, size_t len, void *out)
{
	struct text_out *o = out;

	if (fwrite(buf, 1, len, o->f) == len)
		return 0;
	o->err = errno ? -errno : -EIO;
	return -1;
}

/* Writes and frees @j; NULL means that there was no memory to build it. */
static void put_json(struct writer *w, json_t *j)
{
	if (!j && !w->out.err)
		w->out.err = -ENOMEM;
	if (!w->out.err && json_dump_callback(j, to_stream, &w->out,
					      JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) &&
	    !w->out.err)
		w->out.err = -ENOMEM;
	json_decref(j);
}

static void put_member(struct writer *w, const char *name, json_t *j)
{
	text_put(&w->out, ",\"%s\":", name);
	put_json(w, j);
}

static void begin_list(struct writer *w, const char *name)
{
	text_put(&w->out, ",\"%s\":[", name);
	w->first = true;
}

static void put_element(struct writer *w, json_t *j)
{
	text_put(&w->out, "%s", w->first ? "" : ",");
	w->first = false;
	put_json(w, j);
}

static void end_list(struct writer *w)
{
	text_put(&w->out, "]");
}

/* Any text of at most @max bytes, hostile; null if it is NULL or empty. */
static json_t *text_n(const char *s, size_t max)
{
	size_t len = s ? strnlen(s, max) : 0;
	char *utf8;
	json_t *j;

	if (!len)
		return json_null();
	utf8 = text_json_n(s, len);
	j = utf8 ? json_string(utf8) : NULL;
	free(utf8);
	return j;
}

static json_t *text(const char *s)
{
	return text_n(s, SIZE_MAX);
}

static json_t *number_or_null(uint64_t n, bool known)
{
	return known ? json_integer(n) : json_null();
}

static json_t *identity(uint64_t id)
{
	char digits[24];

	if (id <= INT64_MAX)
		return json_integer(id);
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)id);
	return json_string(digits);
}

/* Adds to @j, takes @value; both may be NULL: what could not be built makes the whole NULL. */
static json_t *with(json_t *j, const char *name, json_t *value)
{
	if (!json_object_set_new_nocheck(j, name, value))
		return j;
	json_decref(j);
	return NULL;
}

/* @untold: as in struct op_row. */
static json_t *strata(const struct writer *w, const uint64_t *ns, unsigned int untold)
{
	const struct missing *m = w->v->missing;
	json_t *j = json_object();

	for (int i = 0; i < ST_N; i++) {
		bool known = (!m || !m->stratum[i]) && (ns[i] || !(untold >> i & 1));

		j = with(j, stratum_name(i), number_or_null(ns[i], known));
	}
	return j;
}

static json_t *hist(const uint64_t counts[HIST_N], uint64_t max_ns)
{
	json_t *j = json_array();

	for (unsigned int b = 0; b < HIST_N; b++) {
		json_t *bucket;

		if (!counts[b])
			continue;
		bucket = json_pack("[I,I,I]", (json_int_t)hist_low(b),
				   (json_int_t)breakdown_hist_high(b, max_ns),
				   (json_int_t)counts[b]);
		if (json_array_append_new(j, bucket)) {
			json_decref(j);
			return NULL;
		}
	}
	return j;
}

static json_t *with_sums(json_t *j, const struct op_row *r)
{
	j = with(j, "count", json_integer(r->count));
	j = with(j, "errors", json_integer(r->errors));
	j = with(j, "bytes", json_integer(r->bytes));
	j = with(j, "total_ns", json_integer(r->total_ns));
	j = with(j, "max_ns", json_integer(r->max_ns));
	j = with(j, "p50_ns", json_integer(hist_percentile(r->hist, 50, r->max_ns)));
	j = with(j, "p90_ns", json_integer(hist_percentile(r->hist, 90, r->max_ns)));
	j = with(j, "p99_ns", json_integer(hist_percentile(r->hist, 99, r->max_ns)));
	return with(j, "p999_ns", json_integer(hist_percentile(r->hist, 99.9, r->max_ns)));
}

static json_t *cache(unsigned int class)
{
	return class == CACHE_NONE ? json_null() : json_string(cache_name(class));
}

static json_t *op_json(const struct writer *w, const struct op_row *r)
{
	enum layer layer = w->v->layer;
	json_t *j = json_object();
	char buf[16];

	if (layer != LAYER_OPS)
		j = with(j, "layer", json_string(layer_name(layer)));
	if (layer == LAYER_SYSCALL)
		j = with(j, "call", text(breakdown_call_name(w->v, r->key.call, buf)));
	j = with(j, "op", json_string(op_name(r->key.op)));
	j = with(j, "fs", text_n(r->fs, sizeof(r->fs)));
	j = with(j, "cache", cache(r->key.cache));
	j = with(j, "key", text(r->by));
	j = with_sums(j, r);
	if (layer == LAYER_OPS)
		j = with(j, "strata", strata(w, r->strata, r->untold));
	return with(j, "hist", hist(r->hist, r->max_ns));
}

static json_t *rq_json(const struct rq_row *r)
{
	bool queued = !r->key.bio_based;
	json_t *j = json_object();

	j = with(j, "dev", text_n(r->disk, sizeof(r->disk)));
	j = with(j, "major", json_integer(r->major));
	j = with(j, "minor", json_integer(r->minor));
	j = with(j, "op", json_string(rq_op_code(r->key.op)));
	j = with(j, "count", json_integer(r->count));
	j = with(j, "errors", json_integer(r->errors));
	j = with(j, "bytes", json_integer(r->bytes));
	j = with(j, "requeues", json_integer(r->requeues));
	j = with(j, "unqueued", json_integer(r->unqueued));
	j = with(j, "tag_ns", number_or_null(r->tag_ns, queued));
	j = with(j, "queue_ns", number_or_null(r->queue_ns, queued));
	j = with(j, "device_ns", json_integer(r->device_ns));
	j = with(j, "max_ns", json_integer(r->max_ns));
	return with(j, "hist", hist(r->hist, r->max_ns));
}

static json_t *error_json(long long ret)
{
	const char *name = ret < 0 && ret >= -4095 ? strerrorname_np(-ret) : NULL;

	return name ? json_string(name) : json_null();
}

static json_t *path_json(const struct breakdown_view *v, const struct op_record *r)
{
	char *path = breakdown_record_path(v, r);
	json_t *j = path ? text_n(path, strlen(path)) : text_n("", 0);

	free(path);
	return j;
}

static json_t *dev_json(unsigned int dev)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%u:%u", dev >> 20, dev & 0xfffff);
	return json_string(buf);
}

static json_t *with_file(json_t *j, const struct breakdown_view *v, const struct op_record *r)
{
	j = with(j, "path", path_json(v, r));
	j = with(j, "dev", dev_json(r->dev));
	j = with(j, "ino", identity(r->ino));
	j = with(j, "offset", number_or_null(r->offset, r->offset != ~0ULL));
	j = with(j, "len", identity(r->len));
	j = with(j, "result", json_integer(r->ret));
	j = with(j, "error", error_json(r->ret));
	return with(j, "requests", json_integer(r->requests));
}

static json_t *record_json(const struct writer *w, const struct op_record *r)
{
	json_t *j = json_object();
	uint64_t ns[ST_N];
	char buf[16];

	for (int i = 0; i < ST_N; i++)
		ns[i] = r->strata[i];
	j = with(j, "op", json_string(op_name(r->kind)));
	j = with(j, "call", text(breakdown_call_name(w->v, r->call, buf)));
	j = with(j, "fs", text_n(breakdown_fs_name(w->sn, r->fs), FS_NAME_LEN));
	j = with(j, "cache", cache(r->cache));
	j = with(j, "start_ns", json_integer(r->start_ns));
	j = with(j, "total_ns", json_integer(r->total_ns));
	j = with(j, "strata", strata(w, ns, breakdown_untold(w->sn, r)));
	j = with_file(j, w->v, r);
	j = with(j, "pid", json_integer(r->pid));
	j = with(j, "tid", json_integer(r->tid));
	j = with(j, "comm", text_n(r->comm, sizeof(r->comm)));
	return with(j, "cgroup", identity(r->cgroup));
}

static json_t *missing_json(const struct missing *m)
{
	json_t *j = json_array();

	for (int i = 0; m && i < ST_N; i++) {
		if (m->stratum[i] && json_array_append_new(j, json_string(stratum_name(i))))
			goto fail;
	}
	if (m && m->requests && json_array_append_new(j, json_string("requests")))
		goto fail;
	return j;
fail:
	json_decref(j);
	return NULL;
}

static void put_head(struct writer *w)
{
	text_put(&w->out, "{\"schema\":\"iostrata.breakdown/1\"");
	put_member(w, "kernel", text(w->v->kernel));
	put_member(w, "duration_ns", json_integer(w->sn->duration_ns));
	put_member(w, "missing", missing_json(w->v->missing));
}

static void put_rows(struct writer *w, const struct breakdown_rows *rows)
{
	bool layer = w->v->layer != LAYER_OPS;

	begin_list(w, "ops");
	for (size_t i = 0; !layer && i < rows->n_ops; i++)
		put_element(w, op_json(w, rows->ops[i]));
	end_list(w);
	begin_list(w, "layers");
	for (size_t i = 0; layer && i < rows->n_ops; i++)
		put_element(w, op_json(w, rows->ops[i]));
	end_list(w);
}

static void put_requests(struct writer *w, const struct breakdown_rows *rows)
{
	if (w->v->missing && w->v->missing->requests) {
		put_member(w, "requests", json_null());
		return;
	}
	begin_list(w, "requests");
	for (size_t i = 0; i < rows->n_rqs; i++)
		put_element(w, rq_json(rows->rqs[i]));
	end_list(w);
}

static void put_costs(struct writer *w)
{
	const struct snapshot *sn = w->sn;
	json_t *lost = json_object(), *overhead = json_null();

	for (int i = 0; i < LOST_N; i++)
		lost = with(lost, lost_name(i), json_integer(sn->lost[i]));
	put_member(w, "lost", with(lost, "missed", json_integer(sn->missed)));
	if (sn->has_overhead) {
		overhead = with(json_object(), "bpf_run_ns", json_integer(sn->bpf_run_ns));
		overhead = with(overhead, "bpf_run_cnt", json_integer(sn->bpf_run_cnt));
	}
	put_member(w, "overhead", overhead);
}

int breakdown_json(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct op_record *slowest, size_t n_slowest)
{
	struct writer w = { .out = { .f = f }, .v = v, .sn = sn };
	struct breakdown_rows rows;
	int err = breakdown_rows_init(&rows, v, sn);

	if (err)
		return err;
	put_head(&w);
	put_rows(&w, &rows);
	put_requests(&w, &rows);
	put_costs(&w);
	if (slowest) {
		begin_list(&w, "slowest");
		for (size_t i = 0; i < n_slowest; i++)
			put_element(&w, record_json(&w, &slowest[i]));
		end_list(&w);
	}
	text_put(&w.out, "}\n");
	breakdown_rows_done(&rows);
	return text_end(&w.out);
}
