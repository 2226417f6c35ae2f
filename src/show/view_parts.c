// SPDX-License-Identifier: GPL-2.0-only
#include "show/view_parts.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/names.h"
#include "base/opts.h"
#include "base/share.h"
#include "host/mounts.h"
#include "host/processes.h"
#include "show/columns.h"

enum {
	LIST_MAX = 48, /* columns of a table, the empty last one included */
	NARROW = 70,   /* columns of a line below that it is narrow */
};

/* Copies @from. The key column's title is the name of the key; the sort column is always shown. */
static void columns_of(const struct breakdown_view *v, const struct column *from,
		       struct column list[LIST_MAX])
{
	int n = 0;

	for (; column_is(from) && n < LIST_MAX - 1; from++, n++) {
		list[n] = *from;
		if (from->title && !strcmp(from->title, "key"))
			list[n].title = by_name(v->by);
		if (from->title && !strcmp(from->title, "name") && v->form.detail &&
		    v->by == BY_PID) {
			list[n].max = 0;
			list[n].get = from->name ? from->get : columns_op_name;
		}
		if (from != v->form.sort)
			continue;
		list[n].title = list[n].title ? list[n].title : from->name;
		list[n].rank = 0;
		list[n].optional = false;
	}
	list[n] = (struct column){};
}

int view_width(const struct breakdown_view *v)
{
	return v->form.width ? v->form.width : 80;
}

int view_cut(const struct breakdown_view *v)
{
	return v->form.terminal ? view_width(v) : INT_MAX;
}

bool view_is_narrow(const struct breakdown_view *v)
{
	return view_width(v) < NARROW;
}

struct text_num view_time(const struct breakdown_view *v, uint64_t ns)
{
	struct text_num t = v->form.milliseconds ? text_ms(ns) : text_ns(ns);

	if (v->form.milliseconds)
		strcat(t.s, " ms");
	return t;
}

struct text_num view_clock(const struct breakdown_view *v)
{
	return text_clock(v->interval.until_ns, v->interval.every_ns);
}

/* Select Graphic Rendition, ECMA-48: 30 to 37 are the eight colours, 90 to 97 the bright ones. */
struct text_num view_paint(const struct breakdown_view *v, unsigned int paint)
{
	unsigned int colour = paint >= PAINT_SHARE ? share_colour(paint - PAINT_SHARE) : 0;
	struct text_num t = {};

	if (v->form.color && paint >= PAINT_SHARE)
		snprintf(t.s, sizeof(t.s), "\033[%um", colour < 8 ? 30 + colour : 82 + colour);
	else if (v->form.color)
		snprintf(t.s, sizeof(t.s), "\033[%um", paint == PAINT_TITLE);
	return t;
}

void view_line(struct text_out *o, const struct breakdown_view *v, const char *safe)
{
	int indent = strspn(safe, " ");

	text_fill(o, ' ', indent);
	text_wrap(o, safe, indent, indent + 2, view_cut(v));
}

void view_wrap(struct text_out *o, const struct breakdown_view *v, const char *safe)
{
	(v->form.terminal ? text_wrap : text_wrap_whole)(o, safe, 0, 2, view_width(v));
}

void view_none_ended(char dst[VIEW_NONE_ENDED], const struct breakdown_view *v)
{
	static const char *const what[] = {
		[LAYER_OPS] = "operation",     [LAYER_SYSCALL] = "system call",
		[LAYER_VFS] = "VFS call",      [LAYER_FS] = "file system call",
		[LAYER_BLK] = "block request",
	};
	char filters[VIEW_NONE_ENDED - 256], fs[64], names[64] = "";

	text_safe(filters, sizeof(filters), v->chosen.filters ? v->chosen.filters : "");
	for (unsigned int i = 0, n = 0; i < v->chosen.fs.n && v->layer != LAYER_BLK; i++)
		n += snprintf(names + n, n < sizeof(names) ? sizeof(names) - n : 0, "%s%s",
			      i ? " or " : "", v->chosen.fs.at[i]);
	text_safe(fs, sizeof(fs), names);
	snprintf(dst, VIEW_NONE_ENDED, "no %s%s%s ended%s%s%s",
		 what[v->layer == LAYER_OPS && !breakdown_has_ops(v) ? LAYER_BLK : v->layer],
		 *fs ? " on " : "", fs, *filters ? " (looked for " : "", filters,
		 *filters ? ")" : "");
}

const char *view_more(const struct breakdown_view *v)
{
	return v->form.rows_max ? "a larger -n shows them" : "-v shows them";
}

/* Names of functions are known by their start, also "(caller unknown: ...". Stacks begin alike, and
 * end with the function that made the call. */
static enum text_cut key_cut(enum by_key by)
{
	if (by == BY_STACK)
		return TEXT_CUT_HEAD;
	return BY_NEEDS_STACKS(by) ? TEXT_CUT_TAIL : TEXT_CUT_MIDDLE;
}

void view_row_name(char *dst, size_t cap, const struct breakdown_view *v, const struct op_row *r,
		   int columns)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], text[TEXT_SAFE_CAP(2 * PATH_MAX)];
	char comm[TEXT_SAFE_CAP(PROCESS_TITLE)], op[32];
	size_t key_len;
	const char *key = breakdown_key(r->by, r->contained, &key_len);

	if (r->command && process_is_titled(r->command))
		text_safe_n(comm, sizeof(comm), r->command, strnlen(r->command, PROCESS_TITLE - 1));
	else
		text_safe_n(comm, sizeof(comm), r->comm, strnlen(r->comm, sizeof(r->comm)));
	text_safe_n(fs, sizeof(fs), r->fs, strnlen(r->fs, sizeof(r->fs)));
	if (v->by == BY_NONE)
		snprintf(text, sizeof(text), "%s%s%s", breakdown_op_name(v, r, op), *fs ? " " : "",
			 fs);
	else if (*r->comm)
		snprintf(text, sizeof(text), "%s %s", comm, r->by ? r->by : "");
	else if (v->by == BY_CACHE)
		snprintf(text, sizeof(text), "%s",
			 r->key.cache == CACHE_NONE ? "neither read nor write"
						    : cache_name(r->key.cache));
	else
		text_safe_n(text, sizeof(text), key ? key : "", key_len);
	text_fit(dst, cap, text, columns, key_cut(v->by));
}

void view_ops(struct text_out *o, const struct breakdown_view *v, const struct breakdown_rows *rows,
	      size_t n)
{
	struct column list[LIST_MAX];
	const struct columns t = { .list = list,
				   .ctx = &rows->whole,
				   .width = view_width(v),
				   .uncut = !v->form.terminal, /* a key may be searched for */
				   .milliseconds = v->form.milliseconds };

	columns_of(v, op_columns, list);
	if (v->by != BY_NONE)
		list[0].cut = key_cut(v->by);
	columns_text(o, &t, (const void *const *)rows->ops, n);
}

void view_figures(struct text_out *o, const struct breakdown_view *v,
		  const struct breakdown_whole *whole, const struct op_row *r)
{
	struct column list[LIST_MAX], *to = list;
	const struct columns t = { .list = list,
				   .ctx = whole,
				   .width = view_width(v),
				   .milliseconds = v->form.milliseconds };

	for (const struct column *c = op_columns; column_is(c); c++)
		if (c->kind != VALUE_TEXT && c->kind != VALUE_SHARE)
			*to++ = *c;
	*to = (struct column){};
	columns_text(o, &t, (const void *const *)&r, 1);
}

void view_requests(struct text_out *o, const struct breakdown_view *v,
		   const struct breakdown_rows *rows, size_t n)
{
	struct column list[LIST_MAX];
	const struct columns t = { .list = list,
				   .ctx = &rows->whole,
				   .width = view_width(v),
				   .uncut = !v->form.terminal,
				   .milliseconds = v->form.milliseconds };

	columns_of(v, rq_columns, list);
	columns_text(o, &t, (const void *const *)rows->rqs, n);
}

#define STRATUM_LOOK(id, name, label, letter, share, rank, mostly, help) [ST_##id] = mostly,

/* NULL: as its share */
static const char *const mostly_in[ST_N] = { STRATUM_LIST(STRATUM_LOOK) };

const char *stratum_mostly(unsigned int st)
{
	return mostly_in[st];
}

/*
 * Histograms: log-linear buckets are summed up by powers of two.
 */

enum {
	HIST_ROWS = HIST_MAX_LOG2 + 1,
	HIST_FIXED_COLUMNS = 39, /* of a line, without the bar */
	BAR_LEAST = 1,
	BAR_MOST = 60, /* even on wide terminals */
};

/* Row r counts times in [2^r, 2^(r+1)) ns; row 0 also counts 0. */
static void fold(const struct hist *h, uint64_t rows[HIST_ROWS])
{
	for (int i = 0; i < HIST_ROWS; i++)
		rows[i] = 0;
	for (unsigned int i = 0; i < h->n; i++)
		rows[hist_log2(hist_low(h->bins[i].bucket) | 1)] += h->bins[i].count;
}

static struct text_num time_text(uint64_t ns, bool milliseconds)
{
	return milliseconds ? text_ms(ns) : text_ns(ns);
}

/* The scale of a histogram's lines. */
struct scale {
	uint64_t most;   /* the largest count, as long as the bar */
	uint64_t max_ns; /* end of the last bucket, if times were too long for it */
	int bar;         /* columns */
	bool milliseconds;
};

static void put_row(struct text_out *o, int row, uint64_t count, const struct scale *s)
{
	uint64_t low = row ? 1ULL << row : 0, end = 2ULL << row;
	int stars = (double)count * s->bar / s->most + 0.5;

	if (row == HIST_ROWS - 1 && s->max_ns > end)
		end = s->max_ns;
	text_put(o, "  %8s -> %-8s : %11s |", time_text(low, s->milliseconds).s,
		 time_text(end, s->milliseconds).s, text_count(count).s);
	text_fill(o, '*', stars);
	text_fill(o, ' ', s->bar - stars);
	text_put(o, "|\n");
}

void hist_put(struct text_out *o, const struct hist *h, uint64_t max_ns, bool milliseconds,
	      int width)
{
	struct scale s = { .max_ns = max_ns, .milliseconds = milliseconds };
	int first = HIST_ROWS, last = -1, bar = width - HIST_FIXED_COLUMNS;
	uint64_t rows[HIST_ROWS];

	fold(h, rows);
	for (int i = 0; i < HIST_ROWS; i++) {
		if (!rows[i])
			continue;
		first = first < i ? first : i;
		last = i;
		s.most = s.most > rows[i] ? s.most : rows[i];
	}
	if (last < 0)
		return;
	s.bar = bar < BAR_LEAST ? BAR_LEAST : bar > BAR_MOST ? BAR_MOST : bar;
	text_put(o, "  %8s    %-8s   %11s%s\n", "from", milliseconds ? "to (ms)" : "to", "count",
		 s.bar < (int)strlen("distribution") ? "" : "  distribution");
	for (int i = first; i <= last; i++)
		put_row(o, i, rows[i], &s);
}

enum {
	NAME_COLUMNS = 13,
	BAR_FIXED_COLUMNS = NAME_COLUMNS + 1 + 7 + 1 + 10 + 2, /* of a line, without the bar */
	BAR_COLUMNS = 40, /* even on wide terminals: longer bars say no more */
};

/* A share too small for a column of the bar is a dot. */
static void put_bar(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w,
		    uint64_t ns)
{
	int columns = view_width(v) - w->indent - BAR_FIXED_COLUMNS;
	double length;

	columns = columns < BAR_COLUMNS ? columns : BAR_COLUMNS;
	length = w->total_ns ? (double)ns * columns / w->total_ns + 0.5 : 0;
	if (length < 1 && columns > 0)
		text_put(o, ".");
	else
		text_fill(o, '#', length < columns ? length : columns);
}

/* Writes the label of a stratum; for ST_FS the name of the file system, if known. */
static void put_name(struct text_out *o, const char *fs, int st)
{
	char safe[TEXT_SAFE_CAP(FS_NAME_LEN)], fit[sizeof(safe)];
	int cols;

	text_safe_n(safe, sizeof(safe), fs, strnlen(fs, FS_NAME_LEN));
	cols = text_fit(fit, sizeof(fit), st == ST_FS && *safe ? safe : stratum_label(st),
			NAME_COLUMNS, TEXT_CUT_TAIL);
	text_put(o, "%s", fit);
	text_fill(o, ' ', NAME_COLUMNS + 1 - cols);
}

static void put_stratum(struct text_out *o, const struct breakdown_view *v,
			const struct waterfall *w, int st)
{
	uint64_t ns = w->strata[st];

	put_name(o, w->fs, st);
	text_put(o, "%7s %10s  %s", text_percent(ns, w->total_ns).s, view_time(v, ns / w->count).s,
		 view_paint(v, PAINT_SHARE + stratum_share(st)).s);
	put_bar(o, v, w, ns);
	text_put(o, "%s\n", view_paint(v, PAINT_OFF).s);
}

static void put_sum(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w)
{
	char text[128], fit[128];
	uint64_t sum = 0;

	for (int st = 0; st < ST_N; st++)
		sum += w->strata[st];
	snprintf(text, sizeof(text), "%-*s %7s %10s  = total %s%s%s", NAME_COLUMNS, "sum",
		 text_percent(sum, w->total_ns).s, view_time(v, sum / w->count).s,
		 view_time(v, sum).s, sum == w->total_ns ? "" : ", but was ",
		 sum == w->total_ns ? "" : view_time(v, w->total_ns).s);
	text_fit(fit, sizeof(fit), text, view_cut(v) - w->indent, TEXT_CUT_TAIL);
	text_put(o, "%s\n", fit);
}

/* Writes "run queue 1.5, wake-up 1.3, rest 0.6" about the strata in @list: the first ones of them,
 * as many as fit in @columns. */
static void rest_text(char *dst, size_t cap, const struct waterfall *w, const int *list, int n,
		      int columns)
{
	for (int told = n; told >= 0; told--) {
		uint64_t rest = 0;
		int len = 0;

		*dst = '\0';
		for (int i = 0; i < n; i++) {
			if (i < told)
				len += snprintf(dst + len, cap - len, "%s%s %.1f", i ? ", " : "",
						stratum_label(list[i]),
						100.0 * w->strata[list[i]] / w->total_ns);
			else
				rest += w->strata[list[i]];
		}
		if (told && told < n)
			len += snprintf(dst + len, cap - len, ", rest %.1f",
					100.0 * rest / w->total_ns);
		if (len <= columns)
			return;
	}
}

/* Writes one line for the remaining strata. */
static void put_rest(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w,
		     const int *list, int n)
{
	char text[256];
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += w->strata[list[i]];
	rest_text(text, sizeof(text), w, list, n, view_cut(v) - w->indent - BAR_FIXED_COLUMNS);
	text_put(o, "%-*s %7s %10s%s%s\n", NAME_COLUMNS, "other", text_percent(sum, w->total_ns).s,
		 view_time(v, sum / w->count).s, *text ? "  " : "", text);
}

/* Lists all strata above 0; with @by_size, biggest first. Returns their number. */
static int strata_list(const uint64_t *strata, bool by_size, int list[ST_N])
{
	int n = 0, at;

	for (int st = 0; st < ST_N; st++) {
		if (!strata[st])
			continue;
		for (at = n++; by_size && at > 0 && strata[list[at - 1]] < strata[st]; at--)
			list[at] = list[at - 1];
		list[at] = st;
	}
	return n;
}

void waterfall_put(struct text_out *o, const struct breakdown_view *v, const struct waterfall *w)
{
	int list[ST_N], n = strata_list(w->strata, w->lines || w->by_size, list);
	int lines = w->lines && n > w->lines ? w->lines - 1 : n, at = w->at;

	if (!w->count)
		return;
	for (int i = 0; i < lines; i++, at = 0) {
		text_fill(o, ' ', w->indent - at);
		put_stratum(o, v, w, list[i]);
	}
	text_fill(o, ' ', lines < n || !w->lines ? w->indent - at : 0);
	if (lines < n)
		put_rest(o, v, w, list + lines, n - lines);
	else if (!w->lines)
		put_sum(o, v, w);
}

enum {
	UNFINISHED_ROWS = 2, /* operations in progress shown, at most */
	LONG_NS = 100000000, /* shown from this age on: younger ones may be there by chance */
	FILE_COLUMNS = 16,   /* fewer cannot tell files apart */
	FILE_CAP = TEXT_SAFE_CAP(PATH_MAX),
};

/* Number of operations in progress for 0.1 s or more. */
static size_t long_ones(const struct snapshot *sn)
{
	size_t n = 0;

	while (n < sn->n_unfinished && sn->unfinished[n].age_ns >= LONG_NS)
		n++;
	return n;
}

/* Columns for an operation in progress: on narrow terminals it takes two lines. */
static int unfinished_columns(const struct breakdown_view *v)
{
	return view_is_narrow(v) ? 2 * view_width(v) - 16 : view_width(v);
}

/* Writes ", on /a/b", cut in its middle to @columns; "" if too few are left to tell files apart. */
static void file_fit(char *text, size_t cap, const char *file, int columns)
{
	char safe[FILE_CAP];
	int n;

	text[0] = '\0';
	if (!file || columns < FILE_COLUMNS)
		return;
	text_safe_n(safe, sizeof(safe), file, strlen(file));
	n = snprintf(text, cap, ", on ");
	text_fit(text + n, cap - n, safe, columns - n, TEXT_CUT_MIDDLE);
}

/* "waiting for the server 10.0.0.7:/home", "waiting for the daemon of /mnt" */
static void server_text(char *text, size_t cap, const char *server)
{
	char safe[160];

	text_safe_n(safe, sizeof(safe), server, strlen(server));
	snprintf(text, cap, "waiting for the %s%s%s",
		 safe[0] == '/' ? "daemon of" : stratum_label(ST_SERVER), *safe ? " " : "", safe);
}

/* "in sleep", "in lock of a frozen file system", or as server_text(). */
static void where_now(char *text, size_t cap, const struct unfinished *u)
{
	if (u->stratum == ST_SERVER)
		server_text(text, cap, u->server ? u->server : "");
	else
		snprintf(text, cap, "in %s%s", stratum_label(u->stratum),
			 u->frozen ? " of a frozen file system" : "");
}

/* The words of a line. Names are hostile. */
struct not_finished {
	const char *name, *fs, *comm, *file; /* fs, comm: as in struct unfinished */
	const char *suspended;               /* likewise */
	const char *since, *at;              /* safe */
	unsigned int pid;
};

/* "not finished: fsync ext4, for 12.0 s, in sleep, by dd (1234), on /a/b" */
static void put_not_finished(struct text_out *o, const struct breakdown_view *v,
			     const struct not_finished *w)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], comm[TEXT_SAFE_CAP(COMM_LEN)], text[768];
	char dm[TEXT_SAFE_CAP(SUSPENDED_LEN)];
	char line[sizeof(text) + FILE_CAP];
	int columns = v->form.terminal ? unfinished_columns(v) : INT_MAX, used;
	size_t len;

	text_safe_n(fs, sizeof(fs), w->fs, strnlen(w->fs, FS_NAME_LEN));
	text_safe_n(comm, sizeof(comm), w->comm, strnlen(w->comm, COMM_LEN));
	text_safe_n(dm, sizeof(dm), w->suspended, strnlen(w->suspended, SUSPENDED_LEN));
	snprintf(text, sizeof(text), "not finished: %s%s%s, %s, %s%s%s%s, by %s (%u)", w->name,
		 *fs ? " " : "", fs, w->since, w->at, *dm ? "; " : "", dm,
		 *dm ? " is suspended" : "", *comm ? comm : "pid", w->pid);
	used = text_fit(line, sizeof(text), text, columns, TEXT_CUT_TAIL);
	len = strlen(line);
	file_fit(line + len, sizeof(line) - len, w->file, columns - used);
	text_wrap(o, line, 0, 2, view_cut(v));
}

/* The kind meta has many calls. */
static const char *call_now(const struct unfinished *u)
{
	return u->op == OP_META && u->call[0] ? u->call : op_name(u->op);
}

static void put_unfinished(struct text_out *o, const struct breakdown_view *v,
			   const struct unfinished *u)
{
	char at[256], since[32];

	where_now(at, sizeof(at), u);
	snprintf(since, sizeof(since), "for %s", text_ns(u->age_ns).s);
	put_not_finished(o, v,
			 &(struct not_finished){ .name = call_now(u),
						 .fs = u->fs,
						 .since = since,
						 .at = at,
						 .suspended = u->suspended,
						 .comm = u->comm,
						 .pid = u->pid,
						 .file = u->file });
}

static void unfinished_ops_put(struct text_out *o, const struct breakdown_view *v,
			       const struct snapshot *sn)
{
	size_t n = long_ones(sn), lines = n > UNFINISHED_ROWS ? UNFINISHED_ROWS : n;

	for (size_t i = 0; i < lines; i++)
		put_unfinished(o, v, &sn->unfinished[i]);
	if (lines < n)
		text_put(o, "and %s more\n", text_count(n - lines).s);
}

/* "waiting for the server 10.0.0.7:/home", "waiting for the NFS server", "in sleep (journal
 * commit)".
 */
static void where_hung(char *text, size_t cap, const struct hung *h)
{
	const char *why = h->what ? h->what : h->symbol;
	char safe[160], comm[TEXT_SAFE_CAP(COMM_LEN)];

	if (h->server && h->stratum == ST_SERVER) {
		server_text(text, cap, h->server);
		return;
	}
	text_safe_n(safe, sizeof(safe), why, strnlen(why, SYMBOL_LEN));
	if (h->holder_pid) {
		text_safe_n(comm, sizeof(comm), h->holder_comm, strnlen(h->holder_comm, COMM_LEN));
		snprintf(text, cap, "waiting for a file lock that %s (%u) took",
			 *comm ? comm : "a process that has ended", h->holder_pid);
	} else if (h->stratum == ST_SERVER) {
		snprintf(text, cap, "waiting for the %s", safe);
	} else {
		snprintf(text, cap, "in %s%s%s%s", stratum_label(h->stratum), *safe ? " (" : "",
			 safe, *safe ? ")" : "");
	}
}

/* "not finished: read nfs4, since before the start, waiting for the server 10.0.0.7:/home, by ls
 * (1234), on /srv/a" */
static void put_hung(struct text_out *o, const struct breakdown_view *v, const struct hung *h)
{
	bool by_call = h->op == OP_NONE || h->op == OP_META || h->op == OP_LOCK;
	const char *name = by_call && h->call ? h->call
			   : h->op == OP_NONE ? "call"
					      : op_name(h->op);
	char at[256];

	where_hung(at, sizeof(at), h);
	put_not_finished(o, v,
			 &(struct not_finished){ .name = name,
						 .fs = h->fs,
						 .since = "since before the start",
						 .at = at,
						 .suspended = h->suspended,
						 .comm = h->comm,
						 .pid = h->pid,
						 .file = h->file });
}

static void hung_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	size_t n = sn->n_hung && sn->hung[0].age_ns >= LONG_NS ? sn->n_hung : 0;
	size_t lines = n > UNFINISHED_ROWS ? UNFINISHED_ROWS : n;

	for (size_t i = 0; i < lines; i++)
		put_hung(o, v, &sn->hung[i]);
	if (lines < n)
		text_put(o, "and %s more since before the start\n", text_count(n - lines).s);
}

void unfinished_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	hung_put(o, v, sn);
	unfinished_ops_put(o, v, sn);
}

static bool any_libaio(const struct snapshot *sn)
{
	for (size_t i = 0; i < sn->n_ops; i++)
		if (sn->ops[i].key.op == OP_AIO)
			return true;
	return false;
}

enum { MISSING_FIRST = 4 }; /* what is missing, on a terminal: further names are counted */

/* Writes "; not measured: vfs, fs (this kernel)". Among operations libaio is named only if it was
 * used: its calls show this. */
static int missing_text(char *dst, size_t cap, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	int n = 0, more = 0, told = 0;

	for (int i = 0; i < MISSING_N; i++) {
		if (!breakdown_missing(v, i) ||
		    (i == MISSING_AIO && v->layer == LAYER_OPS && !any_libaio(sn)))
			continue;
		if (v->form.terminal && told == MISSING_FIRST)
			more++;
		else
			n += snprintf(dst + n, cap - n, "%s%s", told++ ? ", " : "; not measured: ",
				      breakdown_missing_label(i));
	}
	if (more)
		n += snprintf(dst + n, cap - n, " and %d more", more);
	if (n && !v->source.recording && v->layer != LAYER_VFS)
		n += snprintf(dst + n, cap - n, " (this kernel)");
	return n;
}

/* Whether the file system of @r has a layer for such operations, but none of its functions is
 * probed in a run that has this layer for other file systems. */
static bool lacks_probes(const struct breakdown_view *v, const struct op_row *r)
{
	return v->layer == LAYER_OPS && !breakdown_missing(v, ST_FS) && *r->fs &&
	       (r->key.op == OP_READ || r->key.op == OP_WRITE) && r->missing_layers & 1U << ST_FS &&
	       strncmp(r->fs, "bdev", sizeof(r->fs)) != 0 &&
	       !mounts_fs_is_pseudo(r->fs, sizeof(r->fs));
}

/* Writes "; functions of ntfs3 not probed": their time is in the layer above. */
static int without_probes_text(char *dst, size_t cap, const struct breakdown_view *v,
			       const struct snapshot *sn)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)];
	int n = 0;

	for (size_t i = 0; i < sn->n_ops; i++) {
		const struct op_row *r = &sn->ops[i];
		bool again = !lacks_probes(v, r);

		for (size_t k = 0; k < i && !again; k++)
			again = lacks_probes(v, &sn->ops[k]) &&
				!strncmp(sn->ops[k].fs, r->fs, sizeof(r->fs));
		if (again || n > (int)cap / 2)
			continue;
		text_safe_n(fs, sizeof(fs), r->fs, strnlen(r->fs, sizeof(r->fs)));
		n += snprintf(dst + n, cap - n, "%s%s", n ? ", " : "; functions not probed: ", fs);
	}
	return n;
}

/* The number of operations and requests in the rows of @sn. */
static uint64_t events_seen(const struct snapshot *sn)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sn->n_ops; i++)
		n += sn->ops[i].count;
	for (size_t i = 0; i < sn->n_rqs; i++)
		n += sn->rqs[i].count;
	return n;
}

/* "no program saw the completion of 5 of 47,921 requests", if nothing else was lost; else "". */
static int unended_text(char *dst, size_t cap, const struct snapshot *sn, uint64_t events)
{
	uint64_t lost = sn->lost[LOST_UNMATCHED_REQUESTS], all = lost;

	*dst = '\0';
	for (size_t i = 0; i < sn->n_rqs; i++)
		all += sn->rqs[i].count;
	if (!lost || lost != events)
		return 0;
	return snprintf(dst, cap, "no program saw the completion of %s of %s requests",
			text_count(lost).s, text_count(all).s);
}

/* "23 events lost of 51,000 (0.045 %), and the names of 5 files" */
static int lost_text(char *dst, size_t cap, const struct snapshot *sn)
{
	uint64_t names = sn->lost[LOST_NAMES], events = lost_sum(sn->lost, sn->missed) - names;
	const char *were_lost = " lost";
	int n = 0;

	if (!events && !names)
		return snprintf(dst, cap, "nothing lost%s", sn->is_part ? " in this part" : "");
	n = unended_text(dst, cap, sn, events);
	if (n)
		were_lost = names == 1 ? " was lost" : " were lost";
	else if (events)
		were_lost = "";
	if (events && !n) {
		n = snprintf(dst, cap, "%s event%s lost ", text_count(events).s,
			     text_plural(events));
		n += text_share(dst + n, cap - n, events, events + events_seen(sn));
	}
	if (events && names)
		n += snprintf(dst + n, cap - n, ", and ");
	if (names)
		n += snprintf(dst + n, cap - n, "the name%s of %s file%s%s", text_plural(names),
			      text_count(names).s, text_plural(names), were_lost);
	return n;
}

/* "; the whole recording lost 23 events and the names of 5 files at unknown times" */
static int untimed_text(char *dst, size_t cap, const struct snapshot *sn)
{
	const struct losses_sum *u = &sn->untimed;
	uint64_t names = u->lost[LOST_NAMES], events = lost_sum(u->lost, u->missed) - names;
	int n = 0;

	if (!events && !names)
		return 0;
	n = snprintf(dst, cap, "; the whole recording lost ");
	if (events)
		n += snprintf(dst + n, cap - n, "%s event%s%s", text_count(events).s,
			      text_plural(events), names ? " and " : "");
	if (names)
		n += snprintf(dst + n, cap - n, "the name%s of %s file%s", text_plural(names),
			      text_count(names).s, text_plural(names));
	return n + snprintf(dst + n, cap - n, " at unknown times");
}

void without_rows_put(struct text_out *o, const struct breakdown_view *v,
		      const struct breakdown_rows *rows)
{
	char disks[512], text[640];

	if (!v->chosen.processes && !v->source.recorded_command)
		return;
	if (!device_tree_without_rows_text(&rows->whole.tree, disks, sizeof(disks)))
		return;
	snprintf(text, sizeof(text), "no rows: %s (requests of kernel threads are filtered out)",
		 disks);
	view_wrap(o, v, text);
}

void notes_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	char text[512];
	int n = lost_text(text, sizeof(text), sn), missing;

	n += untimed_text(text + n, sizeof(text) - n, sn);
	if (sn->unnamed_cgroups)
		n += snprintf(text + n, sizeof(text) - n,
			      "; %s cgroup%s removed before the name was known",
			      text_count(sn->unnamed_cgroups).s, text_plural(sn->unnamed_cgroups));
	if (sn->unpatterned)
		n += snprintf(text + n, sizeof(text) - n,
			      "; %s read%s or write%s without a pattern",
			      text_count(sn->unpatterned).s, text_plural(sn->unpatterned),
			      text_plural(sn->unpatterned));
	if (sn->unreaped)
		n += snprintf(text + n, sizeof(text) - n, "; %s completion%s without a reap time",
			      text_count(sn->unreaped).s, text_plural(sn->unreaped));
	if (sn->n_unfinished)
		n += snprintf(text + n, sizeof(text) - n, "; %s operation%s in progress",
			      text_count(sn->n_unfinished).s, text_plural(sn->n_unfinished));
	if (sn->unfinished_lost)
		n += snprintf(text + n, sizeof(text) - n, ", %s thread%s could not be checked",
			      text_count(sn->unfinished_lost).s, text_plural(sn->unfinished_lost));
	if (sn->hung_refused)
		n += snprintf(text + n, sizeof(text) - n,
			      "; %s thread%s %s waited since before the start, in unknown calls",
			      text_count(sn->hung_refused).s, text_plural(sn->hung_refused),
			      sn->hung_refused == 1 ? "has" : "have");
	missing = v->interval.later ? 0 : missing_text(text + n, sizeof(text) - n, v, sn);
	n += missing;
	n += v->interval.later ? 0 : without_probes_text(text + n, sizeof(text) - n, v, sn);
	if (lost_sum(sn->lost, sn->missed) || lost_sum(sn->untimed.lost, sn->untimed.missed) ||
	    missing)
		n += snprintf(text + n, sizeof(text) - n, "; -v says why");
	if (sn->lost[LOST_UNMATCHED_END])
		snprintf(text + n, sizeof(text) - n, "; %s operation%s had begun before",
			 text_count(sn->lost[LOST_UNMATCHED_END]).s,
			 text_plural(sn->lost[LOST_UNMATCHED_END]));
	view_line(o, v, text);
}

enum {
	WIDTH_LEAST = 40, /* columns; no narrower output is readable */
	WIDTH_MOST = 500,
};

int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS"), *why;
	struct winsize size = {};
	uint64_t n = 0;

	if ((!columns || opts_uint(columns, &n, &why)) && !ioctl(fd, TIOCGWINSZ, &size))
		n = size.ws_col;
	if (!n)
		return 0;
	return n < WIDTH_LEAST ? WIDTH_LEAST : n > WIDTH_MOST ? WIDTH_MOST : n;
}
