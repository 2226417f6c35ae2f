// SPDX-License-Identifier: GPL-2.0-only
/*
 * speedscope.c - the file format of speedscope. An "evented"
 * profile has the beginnings and ends of frames, a "sampled" one sums. Times are whole ns, so
 * frames nest exactly. See speedscope.h.
 */
#include "export/speedscope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/json.h"
#include "base/list.h"
#include "base/names.h"
#include "base/reason.h"
#include "capture/event_row.h"
#include "export/order.h"
#include "host/newfile.h"

/* Key of a disk's profile; tids are below. */
#define DISK_KEY     (1ULL << 32)
#define OVERLAP_MARK (1ULL << 63) /* operations that overlap with others of their thread */

enum { FRAME_NONE = UINT32_MAX, PROFILES_MAX = 1 << 20 };

/* The name of a call or stratum. */
struct frame {
	uint32_t number;
	UT_hash_handle hh;
	char name[];
};

/* The time of a call in one stratum. */
struct sum {
	uint32_t call, stratum;
	uint64_t ns;
};

/* A beginning or an end. */
struct edge {
	uint64_t at_ns;
	uint32_t frame;
	bool is_end;
};

struct profile {
	uint64_t key;
	char *name; /* owned */
	struct sum *sums;
	size_t n_sums, sums_cap;
	struct edge *edges;
	size_t n_edges, edges_cap;
	uint64_t last_ns; /* the last end */
	UT_hash_handle hh;
};

struct exporting {
	const char *dir;
	const char *(*call_name)(unsigned short call);
	struct speedscope_counts *counts;
	uint64_t first_ns, n_edges, max_edges;
	struct frame *frames;
	struct profile *profiles;
	struct event_names names;
};

/* The number of frame @name, or FRAME_NONE if out of memory. */
static uint32_t frame_find(struct exporting *x, const char *name)
{
	size_t len = strlen(name);
	struct frame *f;

	HASH_FIND(hh, x->frames, name, len, f);
	if (f)
		return f->number;
	f = calloc(1, sizeof(*f) + len + 1);
	if (!f)
		return FRAME_NONE;
	memcpy(f->name, name, len);
	f->number = HASH_COUNT(x->frames);
	HASH_ADD_KEYPTR(hh, x->frames, f->name, len, f);
	return f->number;
}

/* The profile of @key, called @name if new. Returns NULL if out of memory. */
static struct profile *profile_find(struct exporting *x, uint64_t key, const char *name)
{
	struct profile *p;

	HASH_FIND(hh, x->profiles, &key, sizeof(key), p);
	if (p || HASH_COUNT(x->profiles) >= PROFILES_MAX)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = key;
	p->name = strdup(name);
	if (!p->name) {
		free(p);
		return NULL;
	}
	HASH_ADD(hh, x->profiles, key, sizeof(p->key), p);
	return p;
}

static struct profile *thread_profile(struct exporting *x, const struct catalog_thread *t,
				      bool overlaps)
{
	char name[COMM_LEN + 64];

	if (!t)
		return profile_find(x, overlaps ? OVERLAP_MARK : 0, "not known");
	snprintf(name, sizeof(name), "%.*s (pid %u, tid %u)%s", COMM_LEN, t->comm, t->pid, t->tid,
		 overlaps ? ", overlapping" : "");
	return profile_find(x, t->tid | (overlaps ? OVERLAP_MARK : 0), name);
}

static int sum_add(struct profile *p, uint32_t call, uint32_t stratum, uint64_t ns)
{
	size_t i = 0;

	if (!ns)
		return 0;
	while (i < p->n_sums && (p->sums[i].call != call || p->sums[i].stratum != stratum))
		i++;
	if (i == p->n_sums) {
		if (list_reserve((void **)&p->sums, &p->sums_cap, i, sizeof(*p->sums)))
			return -ENOMEM;
		p->sums[p->n_sums++] = (struct sum){ call, stratum, 0 };
	}
	p->sums[i].ns += ns;
	return 0;
}

static void edges_free(struct exporting *x)
{
	struct profile *p, *next;

	HASH_ITER (hh, x->profiles, p, next) {
		free(p->edges);
		p->edges = NULL;
		p->n_edges = p->edges_cap = 0;
	}
}

/* Adds an edge, unless there are too many: then none stays. */
static int edge_add(struct exporting *x, struct profile *p, uint64_t ns, uint32_t frame,
		    bool is_end)
{
	if (x->counts->is_summed)
		return 0;
	if (x->n_edges == x->max_edges) {
		x->counts->is_summed = true;
		edges_free(x);
		return 0;
	}
	if (list_reserve((void **)&p->edges, &p->edges_cap, p->n_edges, sizeof(*p->edges)))
		return -ENOMEM;
	p->edges[p->n_edges++] = (struct edge){ ns - x->first_ns, frame, is_end };
	x->n_edges++;
	return 0;
}

/* Adds the beginning and the end of a call, with its segments between. */
static int edges_add(struct exporting *x, struct profile *p, const struct event_row *s,
		     uint32_t call)
{
	const struct stored_op *op = s->op;
	uint64_t ns = s->start_ns;
	struct segments segments;
	uint32_t frame;
	int err = edge_add(x, p, ns, call, false);

	if (!op->segments || !segments_unpack(&segments, op->strata, s->segments, op->segments))
		segments.n = 0;
	for (unsigned int i = 0; i < segments.n && !err; i++) {
		frame = frame_find(x, stratum_label(SEGMENT_STRATUM(segments.at[i])));
		if (frame == FRAME_NONE)
			return -ENOMEM;
		err = edge_add(x, p, ns, frame, false);
		ns += SEGMENT_NS(segments.at[i]);
		err = err ? err : edge_add(x, p, ns, frame, true);
	}
	p->last_ns = s->start_ns + s->total_ns;
	return err ? err : edge_add(x, p, p->last_ns, call, true);
}

static int op_take(struct exporting *x, const struct recording *rec, const struct stored_event *ev,
		   bool overlaps)
{
	struct event_row s;
	struct profile *p;
	uint32_t call, stratum;
	int err = 0;

	event_row_fill(&s, &x->names, rec, ev, x->call_name);
	p = thread_profile(x, s.who, overlaps);
	if (p && !overlaps && s.start_ns < p->last_ns) {
		overlaps = true; /* a damaged or odd recording: frames must nest */
		p = thread_profile(x, s.who, overlaps);
	}
	call = frame_find(x, s.call && *s.call != '?' ? s.call : s.op_name);
	if (!p || call == FRAME_NONE)
		return -ENOMEM;
	x->counts->ops++;
	for (int st = 0; st < ST_N && !err; st++) {
		if (!s.op->strata[st])
			continue;
		stratum = frame_find(x, stratum_label(st));
		err = stratum == FRAME_NONE ? -ENOMEM : sum_add(p, call, stratum, s.op->strata[st]);
	}
	return err || overlaps ? err : edges_add(x, p, &s, call);
}

static int op_put(void *arg, const struct recording *rec, const struct stored_event *ev,
		  struct reason *why)
{
	if (ev->op.kind == OP_HANDLE)
		return 0;
	return op_take(arg, rec, ev, false) ? reason_no_memory(why) : 0;
}

static int request_take(struct exporting *x, const struct recording *rec,
			const struct stored_event *ev)
{
	static const enum stratum strata[] = { ST_TAG, ST_QUEUE, ST_DEVICE };
	const uint64_t ns[] = { ev->request.tag_ns, ev->request.queue_ns, ev->request.device_ns };
	uint32_t op, stratum;
	struct event_row s;
	struct profile *p;
	const char *disk;
	char name[128];
	int err = 0;

	event_row_fill(&s, &x->names, rec, ev, x->call_name);
	disk = event_row_disk(&s);
	snprintf(name, sizeof(name), "requests of %s", disk ? disk : s.dev ? s.dev->text : "disk");
	p = profile_find(x, DISK_KEY + ev->request.dev, name);
	op = frame_find(x, s.op_name);
	if (!p || op == FRAME_NONE)
		return -ENOMEM;
	x->counts->requests++;
	for (size_t i = 0; i < sizeof(strata) / sizeof(*strata) && !err; i++) {
		stratum = frame_find(x, stratum_label(strata[i]));
		err = stratum == FRAME_NONE ? -ENOMEM : sum_add(p, op, stratum, ns[i]);
	}
	return err;
}

static int step_put(void *arg, const struct recording *rec, const struct step_event *step,
		    struct reason *why)
{
	struct stored_event ev = { .kind = step->kind, .segments = step->segments };
	int err;

	if (step->step != STEP_END)
		return 0;
	if (step->kind == CHUNK_OPS) {
		ev.op = step->op;
		err = op_take(arg, rec, &ev, true);
	} else {
		ev.request = step->rq;
		err = request_take(arg, rec, &ev);
	}
	return err ? reason_no_memory(why) : 0;
}

/* Losses have no place in this format: counts.lost tells them. */
static int loss_skip(void *arg, const struct stored_loss *loss, struct reason *why)
{
	(void)arg;
	(void)loss;
	(void)why;
	return 0;
}

static void put_edges(struct json *j, const struct profile *p)
{
	json_put_uint(j, "startValue", 0);
	json_put_uint(j, "endValue", p->edges[p->n_edges - 1].at_ns);
	json_put_begin(j, "events", '[');
	for (size_t i = 0; i < p->n_edges; i++) {
		const struct edge *e = &p->edges[i];

		json_put_begin(j, NULL, '{');
		json_put_string(j, "type", e->is_end ? "C" : "O");
		json_put_uint(j, "frame", e->frame);
		json_put_uint(j, "at", e->at_ns);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
}

static void put_sums(struct json *j, const struct profile *p)
{
	uint64_t all = 0;

	json_put_begin(j, "samples", '[');
	for (size_t i = 0; i < p->n_sums; i++) {
		json_put_begin(j, NULL, '[');
		json_put_uint(j, NULL, p->sums[i].call);
		json_put_uint(j, NULL, p->sums[i].stratum);
		json_put_end(j, ']');
		all += p->sums[i].ns;
	}
	json_put_end(j, ']');
	json_put_begin(j, "weights", '[');
	for (size_t i = 0; i < p->n_sums; i++)
		json_put_uint(j, NULL, p->sums[i].ns);
	json_put_end(j, ']');
	json_put_uint(j, "startValue", 0);
	json_put_uint(j, "endValue", all);
}

static void put_profile(struct json *j, const struct profile *p)
{
	json_put_begin(j, NULL, '{');
	json_put_string(j, "type", p->n_edges ? "evented" : "sampled");
	json_put_text(j, "name", p->name, SIZE_MAX);
	json_put_string(j, "unit", "nanoseconds");
	if (p->n_edges)
		put_edges(j, p);
	else
		put_sums(j, p);
	json_put_end(j, '}');
}

static void put_file(struct exporting *x, struct json *j, const char *name)
{
	json_put_begin(j, NULL, '{');
	json_put_string(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_put_string(j, "exporter", "iostrata");
	json_put_text(j, "name", name, SIZE_MAX);
	json_put_begin(j, "shared", '{');
	json_put_begin(j, "frames", '[');
	for (const struct frame *f = x->frames; f; f = f->hh.next) { /* in the order of numbers */
		json_put_begin(j, NULL, '{');
		json_put_text(j, "name", f->name, SIZE_MAX);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	json_put_end(j, '}');
	json_put_begin(j, "profiles", '[');
	for (const struct profile *p = x->profiles; p; p = p->hh.next) {
		put_profile(j, p);
		x->counts->profiles++;
	}
	json_put_end(j, ']');
	json_put_end(j, '}');
}

static int file_write(struct exporting *x, const char *name, struct reason *why)
{
	struct newfile out;
	struct json j = {};
	int err, named;

	if (newfile_begin(&out, x->dir, "trace.speedscope.json", why))
		return -1;
	j.out.f = out.f;
	put_file(x, &j, name);
	err = json_end_line(&j);
	named = newfile_end(&out, !err);
	err = err ? err : named;
	return err ? reason_set(why, EXIT_FAILED, "cannot write into '%.200s': %s", x->dir,
				strerror(-err))
		   : 0;
}

static void exporting_done(struct exporting *x)
{
	struct profile *p, *next;
	struct frame *f, *after;

	edges_free(x);
	HASH_ITER (hh, x->profiles, p, next) {
		HASH_DEL(x->profiles, p);
		free(p->sums);
		free(p->name);
		free(p);
	}
	HASH_ITER (hh, x->frames, f, after) {
		HASH_DEL(x->frames, f);
		free(f);
	}
	event_names_done(&x->names);
	free(x);
}

int speedscope_export(FILE *f, const char *name, const char *dir, uint64_t max_events,
		      const char *(*call_name)(unsigned short call),
		      struct speedscope_counts *ret_counts, struct reason *why)
{
	struct exporting *x = calloc(1, sizeof(*x));
	const struct order_target to = { op_put, step_put, loss_skip, x, false };
	struct reason writing;
	struct recording rec;
	struct order order;
	int got;

	if (!x)
		return reason_no_memory(why);
	*ret_counts = (struct speedscope_counts){};
	x->dir = dir;
	x->call_name = call_name;
	x->counts = ret_counts;
	x->max_edges = max_events;
	got = order_learn(&order, f, name, why);
	if (!got) {
		rewind(f);
		x->first_ns = order.span.first_ns;
		got = recording_open(&rec, f, name, why);
		if (!got)
			got = order_deliver(&order, &rec, &to, why);
		ret_counts->lost = recording_lost(&rec, 0);
		recording_close(&rec);
	}
	order_done(&order);
	if (got >= 0 && file_write(x, name, &writing)) {
		*why = writing;
		got = -1;
	}
	exporting_done(x);
	return got;
}
