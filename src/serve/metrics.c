// SPDX-License-Identifier: GPL-2.0-only
#include "serve/metrics.h"

#include <stddef.h>
#include <string.h>

#include "base/names.h"
#include "base/protocols.h"
#include "base/text.h"
#include "serve/totals.h"
#include "show/breakdown.h"

enum {
	LABEL_CAP = 2048,           /* a value with its escapes */
	LABELS_CAP = 6 * LABEL_CAP, /* all labels of a row */
	EXTRA_CAP = LABEL_CAP + 64, /* one label more */
};

struct writer {
	struct text_out out;
	const struct metrics *m;
	const struct totals *totals;
	bool open;
	const char *family;      /* without "_total" */
	char labels[LABELS_CAP]; /* of the present row, without braces */
	size_t labels_len;
	struct total zero; /* see shown() */
	char bounds[BOUNDS_MAX + 1][sizeof(",le=\"18446744073.709551615\"")];
};

void metrics_escape(char *dst, size_t cap, const char *safe)
{
	size_t n = 0, need;

	for (; *safe; safe++, n += need) {
		need = *safe == '\\' || *safe == '"' ? 2 : 1;
		if (n + need >= cap)
			break;
		if (need == 2)
			dst[n] = '\\';
		dst[n + need - 1] = *safe;
	}
	dst[n] = '\0';
}

/* Begins a family. For the older format, a counter's family ends in "_total" as its series does. */
static void put_family(struct writer *w, const char *name, const char *type, const char *help)
{
	const char *total = !w->open && !strcmp(type, "counter") ? "_total" : "";

	w->family = name;
	text_put(&w->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, total, help, name, total, type);
}

/* Adds a label to those of the present row. */
static void add_label(struct writer *w, const char *name, const char *safe)
{
	char text[LABEL_CAP];
	int n;

	metrics_escape(text, sizeof(text), safe);
	n = snprintf(w->labels + w->labels_len, sizeof(w->labels) - w->labels_len, "%s%s=\"%s\"",
		     w->labels_len ? "," : "", name, text);
	w->labels_len += n;
}

/* Adds a label whose value is hostile text. */
static void add_text_label(struct writer *w, const char *name, const char *text)
{
	char safe[LABEL_CAP];

	text_label(safe, sizeof(safe), text, strlen(text));
	add_label(w, name, safe);
}

static void labels_begin(struct writer *w)
{
	w->labels_len = 0;
	w->labels[0] = '\0';
}

/* Adds the labels @names of a key. An empty label is the same as none. */
static void add_labels(struct writer *w, const char *const *names, const struct key *key)
{
	for (int i = 0; names[i]; i++)
		add_label(w, names[i], key ? key->labels[i] : names[i + 1] ? "" : "other");
}

/* Adds the labels of the key of --by. */
static void add_key(struct writer *w, const struct total_key *total, const struct key *key)
{
	if (total->id)
		add_labels(w, key_label_names(w->totals->by), key);
}

static const char *op_label(unsigned int op)
{
	return op == OPS_OTHER ? "other" : op_name(op);
}

static void labels_of_op(struct writer *w, const struct total *t)
{
	labels_begin(w);
	add_label(w, "op", op_label(t->key.op));
	add_label(w, "fs", t->key.of);
	add_key(w, &t->key, t->owner);
}

static void labels_of_rq(struct writer *w, const struct total *t)
{
	labels_begin(w);
	add_label(w, "disk", t->key.of);
	add_label(w, "op", rq_op_name(t->key.op));
	add_key(w, &t->key, t->owner);
}

static void labels_of_server(struct writer *w, const struct total *t)
{
	labels_begin(w);
	add_label(w, "protocol", protocol_at(t->key.op)->name);
	add_labels(w, server_label_names, t->owner);
	add_label(w, "op", t->key.of);
}

/* A line with the labels of the present row and @extra: ",le=...", or "". */
static void put_count(struct writer *w, const char *suffix, const char *extra, uint64_t n)
{
	text_put(&w->out, "%s%s{%s%s} %llu\n", w->family, suffix, w->labels, extra,
		 (unsigned long long)n);
}

static void put_seconds(struct writer *w, const char *suffix, const char *extra, uint64_t ns)
{
	text_put(&w->out, "%s%s{%s%s} %llu.%09llu\n", w->family, suffix, w->labels, extra,
		 (unsigned long long)ns / 1000000000, (unsigned long long)ns % 1000000000);
}

/* A line without labels. */
static void put_one(struct writer *w, const char *suffix, uint64_t n)
{
	text_put(&w->out, "%s%s %llu\n", w->family, suffix, (unsigned long long)n);
}

static void put_one_seconds(struct writer *w, const char *suffix, uint64_t ns)
{
	text_put(&w->out, "%s%s %llu.%09llu\n", w->family, suffix,
		 (unsigned long long)ns / 1000000000, (unsigned long long)ns % 1000000000);
}

static void bounds_print(struct writer *w)
{
	const struct bounds *b = &w->totals->bounds;

	for (unsigned int i = 0; i < b->n; i++)
		snprintf(w->bounds[i], sizeof(w->bounds[i]), ",le=\"%llu.%09llu\"",
			 (unsigned long long)b->ns[i] / 1000000000,
			 (unsigned long long)b->ns[i] % 1000000000);
	snprintf(w->bounds[b->n], sizeof(w->bounds[b->n]), ",le=\"+Inf\"");
}

/* The histogram of the present row; each bucket has all values up to its bound. */
static void put_hist(struct writer *w, const uint64_t *buckets, uint64_t sum_ns)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i <= w->totals->bounds.n; i++) {
		n += buckets[i];
		put_count(w, "_bucket", w->bounds[i], n);
	}
	put_seconds(w, "_sum", "", sum_ns);
	put_count(w, "_count", "", n);
}

/* What to show for @t: a new row is shown with 0 until a scraper has seen it. Valid until the next
 * call. */
static const struct total *shown(struct writer *w, const struct total *t)
{
	if (!t->place || t->place->counts)
		return t;
	w->zero = (struct total){ .key = t->key, .owner = t->owner };
	if (t->key.kind == PLACE_OPS)
		w->zero.measured = t->measured;
	return &w->zero;
}

static void put_strata(struct writer *w, const struct total *t)
{
	char extra[32];

	labels_of_op(w, t);
	for (int i = 0; i < ST_N; i++) {
		if (!(t->measured >> i & 1))
			continue;
		snprintf(extra, sizeof(extra), ",stratum=\"%s\"", stratum_name(i));
		put_seconds(w, "_total", extra, t->strata[i]);
	}
}

/* A counter of each row of a list: the member at @offset. */
static void put_counts(struct writer *w, const struct total *list,
		       void (*labels_of)(struct writer *w, const struct total *t), size_t offset)
{
	for (const struct total *t = list; t; t = t->hh.next) {
		labels_of(w, t);
		put_count(w, "_total", "", *(const uint64_t *)((const char *)shown(w, t) + offset));
	}
}

static void put_errors(struct writer *w, const struct total *t)
{
	put_count(w, "_total", ",class=\"io\"", t->io_errors);
	put_count(w, "_total", ",class=\"other\"", t->errors - t->io_errors);
}

static void put_ops(struct writer *w)
{
	const struct total *t, *ops = w->totals->ops;

	put_family(w, "iostrata_operation_duration_seconds", "histogram",
		   "Elapsed time of I/O operations that ended.");
	for (t = ops; t; t = t->hh.next) {
		labels_of_op(w, t);
		put_hist(w, shown(w, t)->buckets, shown(w, t)->total_ns);
	}
	put_family(w, "iostrata_operation_seconds", "counter",
		   "The same time by stratum: the strata add up to it.");
	for (t = ops; t; t = t->hh.next)
		put_strata(w, shown(w, t));
	put_family(w, "iostrata_operation_bytes", "counter",
		   "Bytes read or written by operations.");
	put_counts(w, ops, labels_of_op, offsetof(struct total, bytes));
	put_family(w, "iostrata_operation_errors", "counter",
		   "Operations that failed: with an I/O error, or with another error.");
	for (t = ops; t; t = t->hh.next) {
		labels_of_op(w, t);
		put_errors(w, shown(w, t));
	}
}

static void put_parts(struct writer *w, const struct total *t)
{
	labels_of_rq(w, t);
	put_seconds(w, "_total", ",part=\"tag\"", t->tag_ns);
	put_seconds(w, "_total", ",part=\"queue\"", t->queue_ns);
	put_seconds(w, "_total", ",part=\"device\"", t->device_ns);
}

static void put_rqs(struct writer *w)
{
	const struct total *t, *rqs = w->totals->rqs;

	put_family(w, "iostrata_request_duration_seconds", "histogram",
		   "Time of block requests in driver and device, from dispatch to completion: "
		   "the part device alone. iostrata_request_seconds has tag and queue, too.");
	for (t = rqs; t; t = t->hh.next) {
		labels_of_rq(w, t);
		put_hist(w, shown(w, t)->buckets, shown(w, t)->device_ns);
	}
	put_family(w, "iostrata_request_seconds", "counter",
		   "Time of block requests by part: waiting for a tag, in a queue, at the device. "
		   "Only the part device is in iostrata_request_duration_seconds.");
	for (t = rqs; t; t = t->hh.next)
		put_parts(w, shown(w, t));
	put_family(w, "iostrata_request_bytes", "counter", "Bytes of block requests.");
	put_counts(w, rqs, labels_of_rq, offsetof(struct total, bytes));
	put_family(w, "iostrata_request_errors", "counter", "Block requests that failed.");
	put_counts(w, rqs, labels_of_rq, offsetof(struct total, errors));
}

static void put_server_parts(struct writer *w, const struct total *t)
{
	labels_of_server(w, t);
	if (protocol_at(t->key.op)->has_waits) {
		put_seconds(w, "_total", ",part=\"tag\"", t->served.tag_ns);
		put_seconds(w, "_total", ",part=\"queue\"", t->served.queue_ns);
	}
	put_seconds(w, "_total", ",part=\"server\"", t->served.server_ns);
}

/* Nothing on a machine that asks no server. */
static void put_servers(struct writer *w)
{
	const struct total *t, *list = w->totals->to_servers;

	if (!list)
		return;
	put_family(w, "iostrata_server_request_duration_seconds", "histogram",
		   "Time of requests to file servers and FUSE daemons, from sending to answer: "
		   "the part server alone.");
	for (t = list; t; t = t->hh.next) {
		labels_of_server(w, t);
		put_hist(w, shown(w, t)->buckets, shown(w, t)->served.server_ns);
	}
	put_family(w, "iostrata_server_request_seconds", "counter",
		   "Time of requests to servers by part: waiting for a slot, waiting to be sent, "
		   "with the server.");
	for (t = list; t; t = t->hh.next)
		put_server_parts(w, shown(w, t));
	put_family(w, "iostrata_server_request_bytes", "counter",
		   "Bytes sent to servers and received from them, headers included.");
	for (t = list; t; t = t->hh.next) {
		if (!protocol_at(t->key.op)->has_bytes)
			continue;
		labels_of_server(w, t);
		put_count(w, "_total", ",direction=\"sent\"", shown(w, t)->bytes);
		put_count(w, "_total", ",direction=\"received\"",
			  shown(w, t)->served.received_bytes);
	}
	put_family(w, "iostrata_server_request_errors", "counter",
		   "Requests to servers that were answered with an error.");
	put_counts(w, list, labels_of_server, offsetof(struct total, errors));
	put_family(w, "iostrata_server_request_resent", "counter",
		   "Requests to servers that were sent again.");
	put_counts(w, list, labels_of_server, offsetof(struct total, served.resent));
}

/* By Little's law: the time spent at the device in an interval, divided by the interval. */
static void put_depths(struct writer *w)
{
	const struct disk_total *t = w->totals->disks;

	put_family(w, "iostrata_device_queue_depth", "gauge",
		   "Mean number of requests at the device in the last interval, computed from the "
		   "device time of the requests that ended.");
	for (; t && w->totals->duration_ns; t = t->hh.next) {
		labels_begin(w);
		add_label(w, "disk", t->key.of);
		text_put(&w->out, "%s{%s} %.6f\n", w->family, w->labels,
			 (double)t->device_ns / w->totals->duration_ns);
	}
}

/* Of the kernel, as iostat has it: rate() of it is %util. */
static void put_busy_times(struct writer *w)
{
	const struct disk_total *t = w->totals->disks;

	put_family(w, "iostrata_device_busy_seconds", "counter",
		   "Time in which the disk had requests in progress, as iostat counts it.");
	for (; t; t = t->hh.next) {
		if (!t->has_busy)
			continue;
		labels_begin(w);
		add_label(w, "disk", t->key.of);
		put_seconds(w, "_total", "", t->busy_ns);
	}
}

static void put_folded(struct writer *w, const char *of, enum place_kind kind)
{
	labels_begin(w);
	add_label(w, "of", of);
	put_count(w, "", "", places_folded(&w->totals->places, kind));
}

/* What the budget of series allows, and what it costs. */
static void put_budget(struct writer *w)
{
	put_family(w, "iostrata_series_budget", "gauge", "Series at most, by --series.");
	put_one(w, "", w->m->series);
	put_family(w, "iostrata_series", "gauge",
		   "Series of this budget that are taken, with those held for all others.");
	put_one(w, "", totals_series(w->totals));
	put_family(w, "iostrata_series_folded", "gauge",
		   "Rows of the last minutes that count in \"other\", for lack of series.");
	put_folded(w, "operations", PLACE_OPS);
	put_folded(w, "requests", PLACE_RQS);
	put_folded(w, "server_requests", PLACE_SERVERS);
}

static void labels_of_busy(struct writer *w, const struct busy_total *t)
{
	labels_begin(w);
	add_label(w, "op", op_label(t->key.op));
	add_label(w, "fs", t->key.of);
	if (t->key.disk[0])
		add_label(w, "disk", t->key.disk);
}

static void put_in_progress(struct writer *w)
{
	const struct busy_total *t, *busy = w->totals->busy;

	put_family(w, "iostrata_in_progress", "gauge", "Operations that have not ended.");
	for (t = busy; t; t = t->hh.next) {
		labels_of_busy(w, t);
		put_count(w, "", "", t->count);
	}
	put_family(w, "iostrata_oldest_in_progress_seconds", "gauge",
		   "Time since the oldest operation that has not ended began.");
	for (t = busy; t; t = t->hh.next) {
		labels_of_busy(w, t);
		put_seconds(w, "", "", t->oldest_ns);
	}
}

static void put_lost(struct writer *w, const char *kind, uint64_t n)
{
	labels_begin(w);
	add_label(w, "kind", kind);
	put_count(w, "_total", "", n);
}

static void put_gap(struct writer *w, const char *layer, const char *reason)
{
	labels_begin(w);
	add_text_label(w, "layer", layer);
	add_text_label(w, "reason", reason);
	put_count(w, "", "", 1);
}

/* The figures that requests to servers of @protocol do not have. */
static void put_protocol_gaps(struct writer *w, unsigned int protocol)
{
	const struct protocol *p = protocol_at(protocol);
	char reason[128];

	if (!p->has_waits) {
		snprintf(reason, sizeof(reason), "no event of %s shows waits for a slot", p->name);
		put_gap(w, "server_tag", reason);
		snprintf(reason, sizeof(reason),
			 "for %s, the part server includes the time before sending", p->name);
		put_gap(w, "server_queue", reason);
	}
	if (!p->has_bytes) {
		snprintf(reason, sizeof(reason), "no event of %s has the bytes of a request",
			 p->name);
		put_gap(w, "server_bytes", reason);
	}
}

/* Whether there are series of requests of @protocol: only then figures are missing. */
static bool has_protocol(const struct totals *totals, unsigned int protocol)
{
	const struct total *t = totals->to_servers;

	while (t && t->key.op != protocol)
		t = t->hh.next;
	return t;
}

/* An end whose beginning was not seen is no loss: it began before the run. */
static void put_honesty(struct writer *w)
{
	put_family(w, "iostrata_lost", "counter",
		   "Lost events, missing in all other figures, by kind.");
	for (int i = 0; i < LOST_N; i++)
		if (i != LOST_UNMATCHED_END)
			put_lost(w, lost_name(i), w->totals->lost[i]);
	put_lost(w, "missed", w->totals->missed);
	put_family(w, "iostrata_not_measured", "gauge",
		   "1 for each figure that this run cannot measure.");
	for (int i = 0; i < MISSING_N; i++)
		if (breakdown_missing(w->m->view, i))
			put_gap(w, breakdown_missing_name(i), breakdown_missing(w->m->view, i));
	for (unsigned int i = 0; i < SERVER_PROTOCOLS; i++)
		if (has_protocol(w->totals, i))
			put_protocol_gaps(w, i);
}

static void put_costs(struct writer *w)
{
	if (w->totals->has_overhead) {
		put_family(w, "iostrata_bpf_seconds", "counter", "CPU time of the BPF programs.");
		put_one_seconds(w, "_total", w->totals->bpf_run_ns);
		put_family(w, "iostrata_bpf_runs", "counter", "Runs of the BPF programs.");
		put_one(w, "_total", w->totals->bpf_run_cnt);
	}
	put_family(w, "process_cpu_seconds", "counter", "CPU time of the tool's two processes.");
	put_one_seconds(w, "_total", w->m->cpu_ns);
	if (w->m->resident_bytes) {
		put_family(w, "process_resident_memory_bytes", "gauge",
			   "Resident memory of the tool's two processes.");
		put_one(w, "", w->m->resident_bytes);
	}
	put_family(w, "process_start_time_seconds", "gauge", "Start of the run since 1970.");
	put_one_seconds(w, "", w->m->start_ns);
}

int metrics_write(FILE *f, const struct metrics *m, bool open)
{
	struct writer w = { .out = { .f = f }, .m = m, .totals = m->totals, .open = open };

	bounds_print(&w);
	put_family(&w, "iostrata_build_info", "gauge", "The version of the tool.");
	add_label(&w, "version", m->version);
	put_count(&w, "", "", 1);
	put_ops(&w);
	put_rqs(&w);
	put_servers(&w);
	put_depths(&w);
	put_busy_times(&w);
	put_in_progress(&w);
	put_honesty(&w);
	put_budget(&w);
	put_costs(&w);
	if (open)
		text_put(&w.out, "# EOF\n");
	return text_end(&w.out);
}
