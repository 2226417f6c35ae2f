// SPDX-License-Identifier: GPL-2.0-only
/*
 * chrome.c - the "Trace Event Format". Phases: X is a slice, b and e are the ends of an
 * asynchronous slice, s and f the ends of an arrow, C is counters, M a name. Times are in us. See
 * chrome.h.
 */
#include "export/chrome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>
#include <zlib.h>

#include "base/json.h"
#include "base/names.h"
#include "base/reason.h"
#include "capture/event_row.h"
#include "capture/server_request_row.h"
#include "export/order.h"
#include "host/newfile.h"

/* The first pid of disks and of servers, above all pids of processes. */
#define DISK_PIDS   (1ULL << 30)
#define SERVER_PIDS (1ULL << 31)

enum { ARGS_MAX = 64 };

/* A thread, disk or server. */
struct named {
	uint64_t key; /* of a server: the number of its name; else .id */
	uint64_t id;  /* of its track: pid << 32 | tid */
	char comm[COMM_LEN];
	uint64_t file; /* number of the last file that has its name */
	/* in flight, of a disk; of a server .requests only */
	int64_t requests, bytes;
	UT_hash_handle hh;
};

struct exporting {
	const char *dir;
	const char *(*call_name)(unsigned short call);
	struct chrome_counts *counts;
	const struct recording *rec;
	uint64_t first_ns, max_bytes;
	/* the file */
	struct json j; /* writes to pack() */
	struct text_buffer buffer;
	struct newfile out; /* packed bytes go there */
	gzFile gz;
	uint64_t bytes; /* so far, before packing */
	struct named *named, *servers;
	struct event_names names;
	/* a NULL ends each */
	const struct column *op_args[ARGS_MAX], *rq_args[ARGS_MAX], *server_args[ARGS_MAX];
	struct reason *why;
};

static ssize_t pack(void *cookie, const char *data, size_t n)
{
	struct exporting *x = cookie;

	x->bytes += n;
	return gzwrite(x->gz, data, (unsigned int)n) == (int)n ? (ssize_t)n : 0; /* 0: failed */
}

static int failed(struct exporting *x, int err)
{
	return reason_set(x->why, EXIT_FAILED, "cannot write into '%.200s': %s", x->dir,
			  strerror(err ? err : EIO));
}

/* Opens the stream that packs into x->out.f. Returns false if out of memory. */
static bool stream_open(struct exporting *x)
{
	int fd = dup(fileno(x->out.f));

	x->gz = fd < 0 ? NULL : gzdopen(fd, "wb1");
	if (!x->gz && fd >= 0)
		close(fd);
	if (x->gz)
		x->j.out.f = fopencookie(x, "w", (cookie_io_functions_t){ .write = pack });
	if (!x->j.out.f)
		return false;
	setvbuf(x->j.out.f, NULL, _IONBF, 0);
	x->buffer.n = 0;
	x->j.out.buffer = &x->buffer;
	return true;
}

static int file_open(struct exporting *x)
{
	char name[64], number[24] = "";

	if (x->counts->files)
		snprintf(number, sizeof(number), "-%llu", x->counts->files + 1ULL);
	snprintf(name, sizeof(name), "trace%s.json.gz", number);
	if (newfile_begin(&x->out, x->dir, name, x->why))
		return -1;
	x->counts->files++;
	x->bytes = 0;
	x->j = (struct json){};
	if (!stream_open(x))
		return failed(x, ENOMEM);
	json_put_begin(&x->j, NULL, '{');
	json_put_string(&x->j, "displayTimeUnit", "ns");
	json_put_begin(&x->j, "traceEvents", '[');
	return 0;
}

static void named_clear(struct named **set)
{
	struct named *n, *next;

	HASH_ITER (hh, *set, n, next) {
		HASH_DEL(*set, n);
		free(n);
	}
}

/* Closes the file; with @whole, ends the JSON before, else removes the file. Returns 0, or -1 with
 * x->why.
 */
static int file_close(struct exporting *x, bool whole)
{
	int err = 0, named;

	if (x->j.out.f) {
		if (whole) {
			json_put_end(&x->j, ']');
			json_put_end(&x->j, '}');
		}
		err = whole ? json_end_line(&x->j) : 0;
		fclose(x->j.out.f);
	}
	if (x->gz && gzclose(x->gz) != Z_OK && !err)
		err = -EIO;
	named = newfile_end(&x->out, whole && !err);
	err = err ? err : named;
	x->j.out.f = NULL;
	x->gz = NULL;
	return err ? failed(x, -err) : 0;
}

/* Begins another file if this file has reached its size. */
static int room(struct exporting *x)
{
	if (x->bytes < x->max_bytes)
		return 0;
	return file_close(x, true) || file_open(x) ? -1 : 0;
}

/*
 * A time of a slice in units of 1/1024 us. Viewers add times and durations in us as doubles: these
 * sums are exact then, so slices that nest in ns nest there. Rounded to ns, each end is what it
 * was.
 */
static uint64_t ticks(uint64_t ns)
{
	return (ns * 128 + 62) / 125;
}

/* The time from @from_ns to @to_ns, both after the first one of the recording. */
static void put_us(struct json *j, const char *name, uint64_t from_ns, uint64_t to_ns)
{
	json_put_1024ths(j, name, ticks(to_ns) - ticks(from_ns));
}

/* The duration of a slice. */
static void put_dur(struct exporting *x, uint64_t ns, uint64_t dur_ns)
{
	put_us(&x->j, "dur", ns - x->first_ns, ns - x->first_ns + dur_ns);
}

/* Begins an event. @cat: its category, or NULL if there is none. */
static void event_begin(struct exporting *x, const char *phase, const char *name, const char *cat,
			uint64_t id, uint64_t ns)
{
	struct json *j = &x->j;

	json_put_begin(j, NULL, '{');
	json_put_string(j, "ph", phase);
	json_put_string(j, "name", name);
	if (cat)
		json_put_string(j, "cat", cat);
	json_put_uint(j, "pid", id >> 32);
	json_put_uint(j, "tid", id & 0xffffffff);
	if (*phase == 'X')
		put_us(j, "ts", 0, ns - x->first_ns);
	else
		json_put_thousandths(j, "ts", ns - x->first_ns);
}

static void put_name(struct exporting *x, const char *what, uint64_t id, const char *text,
		     size_t max)
{
	struct json *j = &x->j;

	event_begin(x, "M", what, NULL, id, x->first_ns);
	json_put_begin(j, "args", '{');
	json_put_text(j, "name", text, max);
	json_put_end(j, '}');
	json_put_end(j, '}');
}

/* The item of @key in @set; a new one gets the track @id. @ret_new: this file has no name of it
 * yet. Returns NULL if out of memory. */
static struct named *named_find(struct exporting *x, struct named **set, uint64_t key, uint64_t id,
				bool *ret_new)
{
	struct named *n;

	HASH_FIND(hh, *set, &key, sizeof(key), n);
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return NULL;
		n->key = key;
		n->id = id;
		HASH_ADD(hh, *set, key, sizeof(n->key), n);
	}
	*ret_new = n->file != x->counts->files;
	n->file = x->counts->files;
	return n;
}

/* The track of a thread; writes its name if new. Returns 0 or -ENOMEM. */
static int thread_track(struct exporting *x, const struct catalog_thread *t, uint64_t *ret_id)
{
	uint64_t id = t ? (uint64_t)t->pid << 32 | t->tid : 0;
	bool is_new;
	struct named *n = named_find(x, &x->named, id, id, &is_new);

	if (!n)
		return -ENOMEM;
	*ret_id = id;
	if (!t || (!is_new && !memcmp(n->comm, t->comm, COMM_LEN)))
		return 0;
	memcpy(n->comm, t->comm, COMM_LEN);
	put_name(x, "thread_name", id, t->comm, COMM_LEN);
	if (t->pid == t->tid)
		put_name(x, "process_name", id, t->comm, COMM_LEN);
	return 0;
}

/* The track of a disk: a separate process, with a number above all pids. Returns NULL if out of
 * memory. */
static struct named *disk_track(struct exporting *x, const struct event_row *s)
{
	bool is_new;
	uint64_t id = (DISK_PIDS + s->rq->dev) << 32;
	struct named *n = named_find(x, &x->named, id, id, &is_new);

	if (n && is_new)
		put_name(x, "process_name", n->id,
			 event_row_disk(s) ? event_row_disk(s)
			 : s->dev          ? s->dev->text
					   : "disk",
			 SIZE_MAX);
	return n;
}

/* The track of a server: a process with a number above those of disks. Returns NULL if out of
 * memory. */
static struct named *server_track(struct exporting *x, uint64_t number, const char *server)
{
	uint64_t id = (SERVER_PIDS + HASH_COUNT(x->servers)) << 32;
	bool is_new;
	struct named *n = named_find(x, &x->servers, number, id, &is_new);

	if (n && is_new)
		put_name(x, "process_name", n->id, server[0] ? server : "server", SIZE_MAX);
	return n;
}

/* Whether the slice, or the slices in it, have the value of the column already. */
static bool is_said(const struct column *c)
{
	static const char *const said[] = {
		"type", "start_ns", "op", "pid", "tid", "comm", "disk", "segments", "server",
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
		if (!strcmp(c->name, said[i]))
			return true;
	return false;
}

/* The columns of @list for the events @of, or all columns if @of is 0. */
static void args_init(const struct column **args, const struct column *list, unsigned int of)
{
	size_t n = 0;

	for (const struct column *c = list; column_is(c) && n < ARGS_MAX - 1; c++)
		if ((!of || c->of & of) && !is_said(c))
			args[n++] = c;
}

/* Writes the known columns of @row. @merged: the number of segments without a slice. */
static void put_args(struct exporting *x, const struct column *const *args, const void *row,
		     unsigned int merged)
{
	static const struct columns none;
	struct json *j = &x->j;
	struct value v;

	json_put_begin(j, "args", '{');
	for (size_t i = 0; args[i]; i++) {
		const struct column *c = args[i];

		columns_value(&v, &none, c, row);
		if (v.unknown || (c->kind == VALUE_TIME && !v.n))
			continue;
		if (c->kind == VALUE_TEXT)
			json_put_text(j, c->name, v.text, v.max);
		else if (c->kind == VALUE_SIGNED)
			json_put_int(j, c->name, (int64_t)v.n);
		else
			json_put_uint(j, c->name, v.n);
	}
	if (merged)
		json_put_uint(j, "segments_merged", merged);
	json_put_end(j, '}');
}

static const char *op_title(const struct event_row *s)
{
	return s->call && *s->call != '?' ? s->call : s->op_name;
}

static void async_put(struct exporting *x, const char *phase, const char *name, const char *cat,
		      uint64_t track, uint64_t number, uint64_t ns)
{
	event_begin(x, phase, name, cat, track, ns);
	json_put_uint(&x->j, "id", number);
}

static void async_whole(struct exporting *x, const char *phase, const char *name, const char *cat,
			uint64_t track, uint64_t number, uint64_t ns)
{
	async_put(x, phase, name, cat, track, number, ns);
	json_put_end(&x->j, '}');
}

/* The segments of an operation; none if they are not recorded, or if it is a request. */
static void segments_of(const struct event_row *s, struct segments *ret)
{
	if (!s->op || !s->op->segments ||
	    !segments_unpack(ret, s->op->strata, s->segments, s->op->segments))
		ret->n = ret->merged = 0;
}

/* Writes a slice that may overlap with others of its track, and the slices of its segments. */
static void async_slice(struct exporting *x, const struct event_row *s, const char *cat,
			uint64_t track, uint64_t number)
{
	const char *name = s->op ? op_title(s) : s->op_name, *stratum;
	uint64_t ns = s->start_ns;
	struct segments segments;

	segments_of(s, &segments);
	async_put(x, "b", name, cat, track, number, ns);
	put_args(x, s->op ? x->op_args : x->rq_args, s, segments.merged);
	json_put_end(&x->j, '}');
	for (unsigned int i = 0; i < segments.n; i++) {
		stratum = stratum_name(SEGMENT_STRATUM(segments.at[i]));
		async_whole(x, "b", stratum, cat, track, number, ns);
		ns += SEGMENT_NS(segments.at[i]);
		async_whole(x, "e", stratum, cat, track, number, ns);
	}
	async_whole(x, "e", name, cat, track, number, s->start_ns + s->total_ns);
}

static void row_fill(struct exporting *x, const struct recording *rec, struct event_row *ret,
		     const struct stored_event *ev)
{
	x->rec = rec;
	event_row_fill(ret, &x->names, rec, ev, x->call_name);
}

/* Writes a slice for each segment. */
static void segments_put(struct exporting *x, const struct event_row *s, uint64_t track,
			 const struct segments *segments)
{
	uint64_t ns = s->start_ns;

	for (unsigned int i = 0; i < segments->n; i++) {
		event_begin(x, "X", stratum_name(SEGMENT_STRATUM(segments->at[i])), "stratum",
			    track, ns);
		put_dur(x, ns, SEGMENT_NS(segments->at[i]));
		json_put_end(&x->j, '}');
		ns += SEGMENT_NS(segments->at[i]);
	}
}

static int op_put(void *arg, const struct recording *rec, const struct stored_event *ev,
		  struct reason *why)
{
	struct exporting *x = arg;
	struct segments segments;
	struct event_row s;
	uint64_t track;

	x->why = why;
	if (ev->op.kind == OP_HANDLE)
		return 0;
	if (room(x))
		return -1;
	row_fill(x, rec, &s, ev);
	if (thread_track(x, s.who, &track))
		return reason_no_memory(why);
	segments_of(&s, &segments);
	event_begin(x, "X", op_title(&s), s.op_name, track, s.start_ns);
	put_dur(x, s.start_ns, s.total_ns);
	put_args(x, x->op_args, &s, segments.merged);
	json_put_end(&x->j, '}');
	segments_put(x, &s, track, &segments);
	x->counts->ops++;
	return x->j.out.err ? failed(x, -x->j.out.err) : 0;
}

static void counter_put(struct exporting *x, const char *title, const char *of, uint64_t track,
			uint64_t ns, int64_t n)
{
	event_begin(x, "C", title, NULL, track, ns);
	json_put_begin(&x->j, "args", '{');
	json_put_int(&x->j, of, n);
	json_put_end(&x->j, '}');
	json_put_end(&x->j, '}');
}

static void counters_put(struct exporting *x, const struct named *disk, uint64_t ns)
{
	counter_put(x, "under way", "requests", disk->id, ns, disk->requests);
	counter_put(x, "bytes under way", "bytes", disk->id, ns, disk->bytes);
}

/* Writes an arrow from the call during which its thread submitted the request. */
static int arrow_put(struct exporting *x, const struct event_row *s, const struct named *disk,
		     uint64_t number)
{
	uint64_t track;

	if (!s->who || !s->who->pid || s->rq->flags & (STORED_RQ_OUTSIDE | STORED_RQ_UNQUEUED))
		return 0;
	if (thread_track(x, s->who, &track))
		return -ENOMEM;
	async_whole(x, "s", "submits", "submits", track, number, s->start_ns);
	async_put(x, "f", "submits", "submits", disk->id, number, s->start_ns);
	json_put_string(&x->j, "bp", "e");
	json_put_end(&x->j, '}');
	return 0;
}

static int request_put(struct exporting *x, const struct event_row *s, const struct step_event *ev)
{
	struct named *disk = disk_track(x, s);

	if (!disk)
		return -ENOMEM;
	if (ev->step == STEP_BEGIN) {
		disk->requests++;
		disk->bytes += (int64_t)s->len;
		counters_put(x, disk, ev->at_ns);
		return 0;
	}
	disk->requests -= disk->requests > 0;
	disk->bytes -= disk->bytes >= (int64_t)s->len ? (int64_t)s->len : 0;
	counters_put(x, disk, ev->at_ns);
	async_slice(x, s, "request", disk->id, ev->number);
	x->counts->requests++;
	return arrow_put(x, s, disk, ev->number);
}

static int server_request_put(struct exporting *x, const struct recording *rec,
			      const struct step_event *ev)
{
	struct server_request_row s;
	struct named *server;
	const char *op;

	server_request_row_fill(&s, rec, &ev->server_rq);
	server = server_track(x, ev->server_rq.server, s.server);
	if (!server)
		return -ENOMEM;
	server->requests += ev->step == STEP_BEGIN ? 1 : -(server->requests > 0);
	counter_put(x, "under way", "requests", server->id, ev->at_ns, server->requests);
	if (ev->step == STEP_BEGIN)
		return 0;
	op = s.op[0] ? s.op : "request";
	async_put(x, "b", op, s.protocol, server->id, ev->number, s.start_ns);
	put_args(x, x->server_args, &s, 0);
	json_put_end(&x->j, '}');
	async_whole(x, "e", op, s.protocol, server->id, ev->number, s.start_ns + s.total_ns);
	x->counts->server_requests++;
	return 0;
}

static int async_op_put(struct exporting *x, const struct event_row *s, uint64_t number)
{
	uint64_t track;

	if (thread_track(x, s->who, &track))
		return -ENOMEM;
	async_slice(x, s, "asynchronous", track, number);
	x->counts->ops++;
	return 0;
}

static int step_put(void *arg, const struct recording *rec, const struct step_event *step,
		    struct reason *why)
{
	struct stored_event ev = { .kind = step->kind, .segments = step->segments };
	struct exporting *x = arg;
	struct event_row s;
	int err;

	x->why = why;
	if (step->step == STEP_ISSUED || (step->kind == CHUNK_OPS && step->step == STEP_BEGIN))
		return 0;
	if (room(x))
		return -1;
	if (step->kind == CHUNK_SERVER_REQUESTS) {
		err = server_request_put(x, rec, step);
	} else if (step->kind == CHUNK_OPS) {
		ev.op = step->op;
		row_fill(x, rec, &s, &ev);
		err = async_op_put(x, &s, step->number);
	} else {
		ev.request = step->rq;
		row_fill(x, rec, &s, &ev);
		err = request_put(x, &s, step);
	}
	if (err)
		return reason_no_memory(why);
	return x->j.out.err ? failed(x, -x->j.out.err) : 0;
}

/* Writes a time of lost records, on a track without a thread. */
static int loss_put(void *arg, const struct stored_loss *loss, struct reason *why)
{
	struct exporting *x = arg;

	x->why = why;
	event_begin(x, "X", "lost", "lost", 0, loss->from_ns);
	put_dur(x, loss->from_ns, loss->to_ns > loss->from_ns ? loss->to_ns - loss->from_ns : 0);
	json_put_begin(&x->j, "args", '{');
	json_put_string(&x->j, "kind", lost_name(loss->kind));
	json_put_uint(&x->j, "count", loss->count);
	json_put_end(&x->j, '}');
	json_put_end(&x->j, '}');
	return x->j.out.err ? failed(x, -x->j.out.err) : 0;
}

int chrome_export(FILE *f, const char *name, const char *dir, uint64_t max_bytes,
		  const char *(*call_name)(unsigned short call), struct chrome_counts *ret_counts,
		  struct reason *why)
{
	struct exporting *x = calloc(1, sizeof(*x));
	const struct order_target to = { op_put, step_put, loss_put, x, true };
	struct reason closing;
	struct recording rec;
	struct order order;
	int got;

	if (!x)
		return reason_no_memory(why);
	*ret_counts = (struct chrome_counts){};
	x->dir = dir;
	x->call_name = call_name;
	x->counts = ret_counts;
	x->max_bytes = max_bytes;
	x->why = why;
	args_init(x->op_args, event_columns, EVENT_OF_OPS);
	args_init(x->rq_args, event_columns, EVENT_OF_REQUESTS);
	args_init(x->server_args, server_request_columns, 0);
	got = order_learn(&order, f, name, why);
	if (!got) {
		rewind(f);
		x->first_ns = order.span.first_ns;
		got = recording_open(&rec, f, name, why);
		if (!got)
			got = file_open(x);
		if (!got)
			got = order_deliver(&order, &rec, &to, why);
		recording_close(&rec);
	}
	order_done(&order);
	x->why = &closing;
	if (file_close(x, got >= 0) && got >= 0) {
		*why = closing;
		got = -1;
	}
	event_names_done(&x->names);
	named_clear(&x->named);
	named_clear(&x->servers);
	free(x);
	return got;
}
