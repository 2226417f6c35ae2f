// SPDX-License-Identifier: GPL-2.0-only
/*
 * slowest.c - prints records of single operations. No text in a record is trusted.
 */
#include "show/slowest.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/names.h"
#include "capture/slow_requests.h"
#include "cell.h"
#include "show/device_tree.h"
#include "base/limit_text.h"
#include "show/view_parts.h"

/* Writes a line of safe text; on a terminal, cut to its width. */
static void put_line(struct text_out *o, const struct breakdown_view *v, const char *line)
{
	char fit[TEXT_SAFE_CAP(PATH_MAX)];

	text_fit(fit, sizeof(fit), line, v->form.terminal ? view_width(v) - 3 : (int)sizeof(fit),
		 TEXT_CUT_MIDDLE);
	text_put(o, "   %s\n", fit);
}

static void put_path(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	char *path = breakdown_record_path(r), safe[TEXT_SAFE_CAP(PATH_MAX)];

	if (!path)
		return;
	text_safe_n(safe, sizeof(safe), path, strlen(path));
	put_line(o, v, safe);
	free(path);
}

static void put_who(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	char comm[TEXT_SAFE_CAP(COMM_LEN)], line[128];

	text_safe_n(comm, sizeof(comm), r->who.comm, strnlen(r->who.comm, sizeof(r->who.comm)));
	snprintf(line, sizeof(line), "pid %u  tid %u  %s", r->who.pid, r->who.tid, comm);
	put_line(o, v, line);
}

/* A line that a command line may make long: cut, or with -v whole, in several lines. */
static void put_long(struct text_out *o, const struct breakdown_view *v, const char *text)
{
	if (v->form.detail) {
		text_fill(o, ' ', 3);
		text_wrap(o, text, 3, 5, view_cut(v));
	} else {
		put_line(o, v, text);
	}
}

/* "command python3 report.py" */
static void put_command(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	size_t cap = r->command ? TEXT_SAFE_CAP(strlen(r->command)) : 0;
	char *safe = cap ? malloc(cap + sizeof("command ")) : NULL;

	if (!safe)
		return;
	strcpy(safe, "command ");
	text_safe(safe + strlen(safe), cap, r->command);
	put_long(o, v, safe);
	free(safe);
}

/* "4,096", or the name of the error. */
static struct text_num result_text(long long ret)
{
	const char *name = ret < 0 && ret >= -MAX_ERRNO ? strerrorname_np(-ret) : NULL;
	struct text_num t;

	if (ret >= 0)
		return text_count(ret);
	if (name)
		snprintf(t.s, sizeof(t.s), "%.20s", name);
	else
		snprintf(t.s, sizeof(t.s), "%lld", ret);
	return t;
}

static void put_range(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	char line[160];
	int n = 0;

	if (r->offset != ~0ULL && op_has_range(r->kind))
		n = snprintf(line, sizeof(line), "offset %" PRIu64 "  ", r->offset);
	if (r->len != ~0ULL && op_has_range(r->kind))
		n += snprintf(line + n, sizeof(line) - n, "length %s  ", text_count(r->len).s);
	n += snprintf(line + n, sizeof(line) - n, "result %s  %" PRIu64 " request%s",
		      result_text(r->ret).s, r->n_requests, text_plural(r->n_requests));
	if (r->cache != CACHE_NONE)
		n += snprintf(line + n, sizeof(line) - n, "  %s", cache_name(r->cache));
	if (r->device_bytes && breakdown_has_device_bytes(v))
		snprintf(line + n, sizeof(line) - n, "  read in %s", text_count(r->device_bytes).s);
	put_line(o, v, line);
}

/* "overlayfs copied the file to its upper layer: 20.0 MiB" */
static void put_copied_up(struct text_out *o, const struct breakdown_view *v,
			  const struct slow_op *r)
{
	char line[96];

	if (!r->copied_up)
		return;
	snprintf(line, sizeof(line), "overlayfs copied the file to its upper layer: %s",
		 text_bytes(r->copied_up).s);
	put_line(o, v, line);
}

/* A time for --from and --to, in ms. */
static struct text_num part_time(uint64_t ms)
{
	struct text_num t;

	snprintf(t.s, sizeof(t.s), "%" PRIu64 ".%03us", ms / 1000, (unsigned int)(ms % 1000));
	return t;
}

/* "began at 14:05:09.301, 5.301 s after the beginning of the recording", and how to look closer. */
static void put_when(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	uint64_t from = r->at_ns / 1000000, to = (r->at_ns + r->total_ns) / 1000000 + 2;
	char line[TEXT_SAFE_CAP(PATH_MAX) + 128], *command = NULL;
	size_t len;
	FILE *f;

	if (!r->real_ns)
		return;
	snprintf(line, sizeof(line), "began at %s, %s after the beginning of the recording",
		 text_clock(r->real_ns, 2000000).s, part_time(from).s);
	put_line(o, v, line);
	if (!v->source.recording || v->source.more_recordings)
		return;
	f = open_memstream(&command, &len);
	if (!f)
		return;
	fprintf(f, "closer: iostrata report --from %s --to %s", part_time(from ? from - 1 : 0).s,
		part_time(to).s);
	text_shell_word(f, v->source.recording);
	if (!fclose(f)) {
		text_safe(line, sizeof(line), command);
		put_line(o, v, line);
	}
	free(command);
}

/* "disk loop0, on dm-0, on sda and sdb" */
static void put_disks(struct text_out *o, const struct breakdown_view *v, const struct devices *d,
		      const struct slow_op *r)
{
	char chain[512], line[sizeof(chain) + 8];

	if (!device_chain_text(d, r->disk ? r->disk : r->dev, chain, sizeof(chain)))
		return;
	snprintf(line, sizeof(line), "disk %s", chain);
	put_line(o, v, line);
}

void slowest_title(char *dst, size_t cap, const struct breakdown_view *v, const char *fs,
		   const struct slow_op *r)
{
	char safe[TEXT_SAFE_CAP(FS_NAME_LEN)], buf[16];

	text_safe_n(safe, sizeof(safe), fs, strnlen(fs, FS_NAME_LEN));
	snprintf(dst, cap, "%s (%s): %s%s%s", op_name(r->kind),
		 breakdown_call_name(v, r->call, buf), view_time(v, r->total_ns).s,
		 *safe ? " on " : "", safe);
}

/* "1. read (pread64): 780 us on ext4" */
static void put_title(struct text_out *o, const struct breakdown_view *v, const char *fs,
		      const struct slow_op *r, size_t number)
{
	char text[192], fit[192];
	int n = snprintf(text, sizeof(text), "%zu. ", number);

	slowest_title(text + n, sizeof(text) - n, v, fs, r);
	text_fit(fit, sizeof(fit), text, view_cut(v), TEXT_CUT_TAIL);
	text_put(o, "\n%s%s%s\n", view_paint(v, PAINT_TITLE).s, fit, view_paint(v, PAINT_OFF).s);
}

/* "waited 20.1 ms for a lock that dd had (pid 100, tid 101, in write)" */
static void put_lock(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	const struct waker *h = &r->lock_holder;
	char comm[TEXT_SAFE_CAP(COMM_LEN)], line[192];
	int n;

	if (!r->lock_ns || r->by.thread.who == WHO_LOCK || r->by.thread.who == WHO_FREEZE)
		return;
	text_safe_n(comm, sizeof(comm), h->comm, strnlen(h->comm, sizeof(h->comm)));
	n = snprintf(line, sizeof(line), "waited %s for a lock", view_time(v, r->lock_ns).s);
	if (h->tid)
		n += snprintf(line + n, sizeof(line) - n, " that %s had (pid %u, tid %u%s%s)", comm,
			      h->pid, h->tid, h->op ? ", in " : "", h->op ? op_name(h->op) : "");
	put_line(o, v, line);
}

/* "helped by jbd2/vda1-8 (pid 300, tid 300)" */
static void put_helper(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	const struct waker *h = &r->helper;
	char comm[TEXT_SAFE_CAP(COMM_LEN)], line[160];

	if (!h->tid || r->by.thread.who == WHO_HELPER)
		return;
	text_safe_n(comm, sizeof(comm), h->comm, strnlen(h->comm, sizeof(h->comm)));
	snprintf(line, sizeof(line), "helped by %s (pid %u, tid %u)", comm, h->pid, h->tid);
	put_line(o, v, line);
}

/* "slept 20.1 ms until bindfs woke it (pid 1234, tid 1235)" */
static void put_woken(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	const struct waker *w = &r->woken_by;
	char comm[TEXT_SAFE_CAP(COMM_LEN)], line[192];

	if (!r->slept_ns || !w->tid || w->tid == r->by.thread.tid)
		return;
	text_safe_n(comm, sizeof(comm), w->comm, strnlen(w->comm, sizeof(w->comm)));
	snprintf(line, sizeof(line), "slept %s until %s woke it (pid %u, tid %u)",
		 view_time(v, r->slept_ns).s, comm, w->pid, w->tid);
	put_line(o, v, line);
}

char *slowest_who(const struct breakdown_view *v, const struct slow_op *r)
{
	const struct waker *w = &r->by.thread;
	size_t cap = r->by_command ? TEXT_SAFE_CAP(strlen(r->by_command)) : 1, n;
	char comm[TEXT_SAFE_CAP(COMM_LEN)], *line;

	if (!w->who)
		return NULL;
	line = malloc(cap + LIMIT_TEXT + 320);
	if (!line)
		return NULL;
	n = snprintf(line, 320, "waited %s %s ", view_time(v, r->by.ns).s, who_before(w->who));
	if (w->who == WHO_LIMIT) {
		limit_text(line + n, w->limit, r->by_limit);
		return line;
	}
	text_safe_n(comm, sizeof(comm), w->comm, strnlen(w->comm, sizeof(w->comm)));
	n += snprintf(line + n, 320 - n, "%s %s (pid %u, tid %u%s%s)", comm, who_after(w->who),
		      w->pid, w->tid, w->op ? ", in " : "", w->op ? op_name(w->op) : "");
	if (r->by_command) {
		strcpy(line + n, ": ");
		text_safe(line + n + 2, cap, r->by_command);
	}
	return line;
}

static void put_by(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	char *line = slowest_who(v, r);

	if (line)
		put_long(o, v, line);
	free(line);
}

enum { TIMELINE_MAX = 200, TIMELINE_LINES = 16 };

/* @i / @n of @total, without an overflow. */
static uint64_t part_of(uint64_t total, unsigned int i, unsigned int n)
{
	return total / n * i + total % n * i / n;
}

static int shorter_first(const void *a, const void *b)
{
	return compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* The letter of the stratum that most of [from, to) of the operation belongs to. */
static char letter_at(const struct segments *s, uint64_t from, uint64_t to)
{
	uint64_t begin = 0, end, lo, hi, most = 0;
	unsigned int stratum = ST_N;

	for (unsigned int i = 0; i < s->n; i++, begin = end) {
		end = begin + SEGMENT_NS(s->at[i]);
		lo = begin > from ? begin : from;
		hi = end < to ? end : to;
		if (hi <= lo || hi - lo <= most)
			continue;
		most = hi - lo;
		stratum = SEGMENT_STRATUM(s->at[i]);
	}
	return stratum < ST_N ? stratum_letter(stratum) : '~';
}

/* A bar to scale, a letter for each column: "CDDDDDrrC"; '~': merged segments, at the end. */
static void put_bar(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r)
{
	int columns = view_width(v) - 3;
	char bar[TIMELINE_MAX + 1];

	columns = columns > TIMELINE_MAX ? TIMELINE_MAX : columns;
	for (int i = 0; i < columns; i++)
		bar[i] = letter_at(&r->segments, part_of(r->total_ns, i, columns),
				   part_of(r->total_ns, i + 1, columns));
	bar[columns] = '\0';
	text_put(o, "   %s\n", bar);
}

/* The least time of a segment among the TIMELINE_LINES longest. */
static uint64_t timeline_shortest(const struct segments *s)
{
	uint64_t ns[SEGMENTS_MAX];

	if (s->n <= TIMELINE_LINES)
		return 0;
	for (unsigned int i = 0; i < s->n; i++)
		ns[i] = SEGMENT_NS(s->at[i]);
	qsort(ns, s->n, sizeof(*ns), shorter_first);
	return ns[s->n - TIMELINE_LINES];
}

static void put_segment(struct text_out *o, const struct breakdown_view *v, const struct slow_op *r,
			uint64_t at, unsigned long long segment)
{
	unsigned int st = SEGMENT_STRATUM(segment);
	uint64_t ns = SEGMENT_NS(segment);

	text_put(o, "   %9s  %c %-14s %9s %7s\n", view_time(v, at).s, stratum_letter(st),
		 stratum_label(st), view_time(v, ns).s, text_percent(ns, r->total_ns).s);
}

/* The segments in order: a bar, and a line for each of the longest. */
static void put_timeline(struct text_out *o, const struct breakdown_view *v,
			 const struct slow_op *r)
{
	const struct segments *s = &r->segments;
	uint64_t shortest = timeline_shortest(s), at = 0, left = 0, ns;
	unsigned int shorter = 0;

	put_bar(o, v, r);
	text_put(o, "          at  stratum               for   share\n");
	for (unsigned int i = 0; i < s->n; i++, at += ns) {
		ns = SEGMENT_NS(s->at[i]);
		if (ns >= shortest) {
			put_segment(o, v, r, at, s->at[i]);
			continue;
		}
		shorter++;
		left += ns;
	}
	if (shorter)
		text_put(o, "              %u shorter      %9s %7s\n", shorter,
			 view_time(v, left).s, text_percent(left, r->total_ns).s);
	if (s->merged)
		text_put(o, "   %9s  ~ %u later ones %9s %7s\n", view_time(v, at).s, s->merged,
			 view_time(v, r->total_ns - at).s,
			 text_percent(r->total_ns - at, r->total_ns).s);
}

void slowest_details(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     const struct slow_op *r)
{
	put_when(o, v, r);
	put_path(o, v, r);
	put_disks(o, v, sn->devices, r);
	put_range(o, v, r);
	put_copied_up(o, v, r);
	put_who(o, v, r);
	put_command(o, v, r);
	put_by(o, v, r);
	put_lock(o, v, r);
	put_helper(o, v, r);
	put_woken(o, v, r);
}

struct text_num slowest_request_at(const struct breakdown_view *v, const struct slow_request *rq)
{
	struct text_num t =
		view_time(v, rq->at_ns < 0 ? -(uint64_t)rq->at_ns : (uint64_t)rq->at_ns);

	if (rq->at_ns < 0) {
		memmove(t.s + 1, t.s, sizeof(t.s) - 1);
		t.s[0] = '-';
		t.s[sizeof(t.s) - 1] = '\0';
	}
	return t;
}

/* A line of the table of requests. @tid: the operation's thread. */
static void put_request(struct text_out *o, const struct breakdown_view *v,
			const struct slow_request *rq, unsigned int tid)
{
	char disk[TEXT_SAFE_CAP(SLOW_DISK)], comm[TEXT_SAFE_CAP(COMM_LEN)];
	char name[sizeof(disk) + 32], line[sizeof(name) + sizeof(comm) + 128];

	text_safe_n(disk, sizeof(disk), rq->disk, strnlen(rq->disk, sizeof(rq->disk)));
	snprintf(name, sizeof(name), "%s %s%s", disk, rq_op_name(rq->op),
		 rq->failed ? ", failed" : "");
	text_safe_n(comm, sizeof(comm), rq->who.comm, strnlen(rq->who.comm, COMM_LEN));
	snprintf(line, sizeof(line), "%-14s %9s %8s %8s %8s %8s%s%s", name,
		 slowest_request_at(v, rq).s, rq->bytes ? text_bytes(rq->bytes).s : "-",
		 rq->unqueued ? "-" : view_time(v, rq->tag_ns).s,
		 rq->unqueued ? "-" : view_time(v, rq->queue_ns).s, view_time(v, rq->device_ns).s,
		 *comm && rq->who.tid != tid ? "  " : "", rq->who.tid != tid ? comm : "");
	put_line(o, v, line);
}

/* The requests that belong to the operation. */
static void put_requests(struct text_out *o, const struct breakdown_view *v,
			 const struct slow_op *r)
{
	const struct slow_requests *s = r->requests;

	if (!s)
		return;
	put_line(o, v,
		 "requests              at    bytes      tag    queue   device  from another "
		 "thread");
	for (size_t i = 0; i < s->n; i++)
		put_request(o, v, &s->list[i], r->who.tid);
	if (s->count > s->n)
		text_put(o, "   %s shorter\n", text_count(s->count - s->n).s);
}

static void put_record(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn, const struct slow_op *r, size_t number)
{
	const char *fs = breakdown_fs_name(sn, r->fs);
	const struct waterfall w = { .fs = fs,
				     .strata = r->strata,
				     .total_ns = r->total_ns,
				     .count = 1,
				     .indent = 2,
				     .by_size = true };

	put_title(o, v, fs, r, number);
	slowest_details(o, v, sn, r);
	if (v->form.timeline && r->has_segments)
		put_timeline(o, v, r);
	else
		waterfall_put(o, v, &w);
	if (v->form.timeline)
		put_requests(o, v, r);
}

void slowest_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		 const struct slow_op *slowest, size_t n)
{
	if (!n)
		return;
	text_put(o, "\nslowest operations, strata %s\n",
		 v->form.timeline ? "in the order of time" : "by size");
	for (size_t i = 0; i < n; i++)
		put_record(o, v, sn, &slowest[i], i + 1);
}
