// SPDX-License-Identifier: GPL-2.0-only
#include "show/first_screen.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/async.h"
#include "base/names.h"
#include "base/limit_text.h"
#include "show/stacks_text.h"
#include "show/view_parts.h"

enum {
	SCREEN_LINES = 22,   /* lines of a terminal without "tracing" above and the prompt below */
	ROWS_MOST = 12,      /* most rows of operations, however much room there is */
	OPS_LEAST = 4,       /* lines of a table with one operation */
	OPS_USUAL = 6,       /* with three, for which lines of strata are left out */
	LEAST_PERCENT = 1,   /* share of I/O; smaller rows go into the line about the rest */
	MOST_PERCENT = 50,   /* "mostly" */
	DISK_PERCENT = 90,   /* the least share of all requests' device time to name the disk */
	WHO_PERCENT = 10,    /* the least share of I/O for which somebody is named */
	WHOLE_PERCENT = 105, /* the most that counts as the whole of a stratum */
	WHO_ROWS = 64,       /* rows of waits among which this is looked for */
	SUBJECT_COLUMNS = 30,
	STACK_COLUMNS = 60,    /* also where names are not cut: a stack may have 64 functions */
	COMMAND_COLUMNS = 100, /* not on a terminal; --slowest has all of a command line */
	TITLE_COLUMNS = 16,    /* columns for the operation's name, left of its strata */
	NAME = TEXT_SAFE_CAP(2 * PATH_MAX),
	CAUSE = 64 + TEXT_SAFE_CAP(32),
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static int strata_lines(const struct breakdown_view *v)
{
	return view_is_narrow(v) ? 3 : 4;
}

/* How many rows of requests to show. If one row would be left over, it is shown: the line about it
 * takes as much room. */
static size_t rq_rows(const struct breakdown_view *v, size_t n)
{
	size_t max = v->form.rows_max ? v->form.rows_max : view_is_narrow(v) ? 1 : 3;

	return n > max + !v->form.rows_max ? max : n;
}

/* Columns for a possible path: @most on terminals, else no limit. */
static int columns_for(const struct breakdown_view *v, int most)
{
	return v->form.terminal ? most : INT_MAX;
}

/* Columns for the name of a row. */
static int row_columns(const struct breakdown_view *v)
{
	if (v->by == BY_STACK)
		return STACK_COLUMNS;
	return columns_for(v, SUBJECT_COLUMNS);
}

/* Writes @text, safe, and shortened for a terminal. */
static void put_short(char *dst, size_t cap, const struct breakdown_view *v, const char *text)
{
	char safe[NAME];

	text_safe(safe, sizeof(safe), text);
	text_fit(dst, cap, safe, columns_for(v, SUBJECT_COLUMNS), TEXT_CUT_MIDDLE);
}

/* Writes whose I/O was traced and for how long: "traced sqlite3 for 5.00 s with --fs ext4". */
static int subject(char *dst, size_t cap, const struct breakdown_view *v, uint64_t ns)
{
	char who[NAME] = "", filters[NAME] = "", more[32] = "", of[80] = "";

	if (v->source.more_recordings)
		snprintf(more, sizeof(more), " and %u more", v->source.more_recordings);
	if (v->source.command || v->source.recording)
		put_short(who, sizeof(who), v,
			  v->source.command ? v->source.command : v->source.recording);
	if (v->chosen.filters)
		put_short(filters, sizeof(filters), v, v->chosen.filters);
	else if (!*who)
		strcpy(who, "everybody");
	if (v->source.without_ns)
		snprintf(of, sizeof(of), " (the first part of %s: then it was full)",
			 text_ns(ns + v->source.without_ns).s);
	return snprintf(dst, cap, "%s%s%s%s for %s%s%s%s",
			v->source.recording ? "recorded in" : "traced", *who ? " " : "", who, more,
			text_ns(ns).s, of, *filters ? " with " : "", filters);
}

/*
 * The disk the operation waited for, as far as the figures tell. It has 90 % of the requests'
 * device time, and the rest is less than a tenth of the operation's device time. Returns NULL if
 * there is none.
 */
static const struct rq_row *disk_of(const struct breakdown_rows *rows, const struct op_row *r)
{
	uint64_t all_ns = 0, disk_ns = 0;
	const struct rq_row *most = NULL;

	for (size_t i = 0; i < rows->n_rqs; i++) {
		all_ns += rows->rqs[i]->device_ns;
		if (!most || rows->rqs[i]->device_ns > most->device_ns)
			most = rows->rqs[i];
	}
	for (size_t i = 0; i < rows->n_rqs; i++)
		if (rows->rqs[i]->key.dev == most->key.dev)
			disk_ns += rows->rqs[i]->device_ns;
	all_ns -= disk_ns;
	return percent(disk_ns, all_ns + disk_ns) >= DISK_PERCENT &&
			       10 * all_ns <= r->strata[ST_DEVICE]
		       ? most
		       : NULL;
}

/* The cause of most of an operation's time: "waiting for the device", or NULL if there is none. */
static const char *cause(const struct op_row *r)
{
	for (int i = 0; i < ST_N; i++)
		if (stratum_mostly(i) && percent(r->strata[i], r->total_ns) > MOST_PERCENT)
			return stratum_mostly(i);
	for (int s = 0; s < SHARE_N; s++)
		if (percent(share_ns(s, r->strata), r->total_ns) > MOST_PERCENT)
			return share_mostly(s);
	return NULL;
}

/* Writes ", mostly waiting for the device vda", or nothing. */
static void cause_text(char *dst, size_t cap, const struct breakdown_rows *rows,
		       const struct op_row *r)
{
	bool device = percent(r->strata[ST_DEVICE], r->total_ns) > MOST_PERCENT;
	const struct rq_row *rq = device ? disk_of(rows, r) : NULL;
	const char *why = cause(r);
	int n = snprintf(dst, cap, "%s%s%s", why ? ", mostly " : "", why ? why : "", rq ? " " : "");

	if (rq)
		text_safe_n(dst + n, cap - n, rq->disk, strnlen(rq->disk, sizeof(rq->disk)));
}

/* The operation with most time, in any order of the rows. */
static const struct op_row *most_of(const struct breakdown_rows *rows)
{
	const struct breakdown_whole *w = &rows->whole;
	const struct op_row *most = rows->ops[0];

	for (size_t i = 1; i < rows->n_ops; i++)
		if (breakdown_counted_ns(w, rows->ops[i]) > breakdown_counted_ns(w, most))
			most = rows->ops[i];
	return most;
}

static bool is_async(const struct op_row *r)
{
	return !r->kinds && async_is_request(r->key.op, r->key.call);
}

/* Percent of a row: of the time of threads, or of the time of all requests of io_uring and
 * libaio. */
static double row_share(const struct breakdown_rows *rows, const struct op_row *r)
{
	const struct breakdown_whole *w = &rows->whole;
	double share = percent(breakdown_counted_ns(w, r), w->thread_ns);
	double async = is_async(r) ? percent(r->total_ns, w->async_ns) : 0;

	return share > async ? share : async;
}

/* The kind of request of io_uring or libaio with most time, or NULL if there is none. */
static const struct op_row *async_most(const struct breakdown_rows *rows)
{
	const struct op_row *most = NULL;

	for (size_t i = 0; i < rows->n_ops; i++)
		if (is_async(rows->ops[i]) && (!most || rows->ops[i]->total_ns > most->total_ns))
			most = rows->ops[i];
	return most;
}

/* What does not count if most time is CPU time of @most, requests of io_uring or libaio. */
static const char *async_rest(const struct breakdown_rows *rows, const struct op_row *most)
{
	for (size_t i = 0; i < rows->n_ops; i++)
		if (most->key.op == OP_URING && rows->ops[i]->key.op == OP_GETEVENTS)
			return "";
	return "; waits for its requests do not count";
}

/* Commands whose I/O is done by a server, a process that is no descendant. */
static const struct {
	const char *command, *server;
} clients[] = {
	{ "pgbench", "postgres" },       { "psql", "postgres" },
	{ "pg_dump", "postgres" },       { "pg_restore", "postgres" },
	{ "mysqlslap", "mysqld" },       { "mysqldump", "mysqld" },
	{ "mysql", "mysqld" },           { "mariadb-slap", "mariadbd" },
	{ "mariadb-dump", "mariadbd" },  { "mariadb", "mariadbd" },
	{ "redis-cli", "redis-server" }, { "redis-benchmark", "redis-server" },
	{ "mongosh", "mongod" },         { "mongodump", "mongod" },
};

/* Commands that execute the command among their arguments. */
static const char *const wrappers[] = { "sudo",   "runuser", "setpriv", "env",    "nice",
					"ionice", "chrt",    "taskset", "timeout" };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_wrapper(const char *name)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
		if (!strcmp(name, wrappers[i]))
			return true;
	return false;
}

static int client_named(const char *name)
{
	for (size_t i = 0; i < sizeof(clients) / sizeof(*clients); i++)
		if (!strcmp(name, clients[i].command))
			return i;
	return -1;
}

/*
 * Index in clients[] of the traced command, or of the command that it executes, as sudo does; -1:
 * none. A word after an option may be its value, the name of a user: "sudo -u mysql". A number or a
 * variable is an argument of the wrapper: "timeout 5", "env A=b".
 */
static int client_of(char *const *words)
{
	for (size_t w = 0; words && words[w]; w++) {
		const char *before = w ? words[w - 1] : "", *name = base_name(words[w]);
		int i = client_named(name);

		if (words[w][0] == '-' || (before[0] == '-' && strcmp(before, "--") != 0))
			continue;
		if (i >= 0)
			return i;
		if (!is_wrapper(name) && !(w && (strchr("0123456789", *name) || strchr(name, '='))))
			return -1;
	}
	return -1;
}

/* For a command that asks a server of this machine: how the server's I/O is seen. */
static void put_server(struct text_out *o, const struct breakdown_view *v)
{
	int i = client_of(v->source.words);
	char text[192];

	if (i < 0)
		return;
	snprintf(text, sizeof(text),
		 "%s asks a server, which is not traced: --system --comm %s -- %s ... shows the "
		 "server's I/O",
		 clients[i].command, clients[i].server, base_name(v->source.words[0]));
	view_wrap(o, v, text);
}

static void put_pseudo(struct text_out *o, const struct breakdown_view *v,
		       const struct breakdown_rows *rows)
{
	char text[128];

	if (!rows->whole.pseudo_ns)
		return;
	snprintf(text, sizeof(text),
		 "not counted above: %s on proc, sysfs and other file systems without a disk",
		 text_ns(rows->whole.pseudo_ns).s);
	view_wrap(o, v, text);
}

/* Writes "; busiest thread: cc1, 97 % of 10.0 s", if that is a larger share of its life than the
 * one of all threads: parents and others that only wait make the latter small. The busiest thread's
 * time includes time on proc and the like: this must not matter. */
static void busiest_text(char *dst, size_t cap, const struct snapshot *sn,
			 const struct breakdown_whole *whole)
{
	const struct busiest *b = &sn->busiest;
	double share = percent(b->io_ns, b->lived_ns);
	char name[TEXT_SAFE_CAP(COMM_LEN)];

	*dst = '\0';
	if (!b->io_ns || b->io_ns > b->lived_ns ||
	    percent(whole->pseudo_ns, b->io_ns) >= LEAST_PERCENT ||
	    share < percent(whole->thread_ns, sn->threads_ns) + LEAST_PERCENT)
		return;
	text_safe_n(name, sizeof(name), b->comm, strnlen(b->comm, COMM_LEN));
	if (!*name)
		snprintf(name, sizeof(name), "tid %u", b->tid);
	snprintf(dst, cap, "; busiest thread: %s, %s of %s", name,
		 text_percent_whole(b->io_ns, b->lived_ns).s, text_ns(b->lived_ns).s);
}

void first_screen_answer(char *text, size_t cap, const struct breakdown_view *v,
			 const struct snapshot *sn, const struct breakdown_rows *rows)
{
	char name[NAME], why[CAUSE] = "", caller[NAME] = "";
	const struct op_row *most = rows->n_ops ? most_of(rows) : NULL;
	uint64_t io_ns = rows->whole.thread_ns;
	char busiest[TEXT_SAFE_CAP(COMM_LEN) + 128];
	int n;

	if (v->interval.every_ns)
		n = snprintf(text, cap, "%s, %s", view_clock(v).s, text_ns(sn->duration_ns).s);
	else
		n = subject(text, cap, v, sn->duration_ns);
	if (breakdown_has_ops(v) && v->chosen.min_ns && !rows->n_ops)
		n += snprintf(text + n, cap - n, ": no operation took %s or longer",
			      text_ns(v->chosen.min_ns).s);
	else if (breakdown_has_ops(v))
		n += snprintf(text + n, cap - n, ": %s in I/O", text_ns(io_ns).s);
	else
		n += snprintf(text + n, cap - n, ": no operations (%.80s)", v->missing->syscalls);
	/* an operation counts in the interval of its end: io_ns may be above threads_ns */
	if (breakdown_has_ops(v) && rows->n_ops && io_ns <= sn->threads_ns && sn->threads_ns) {
		busiest_text(busiest, sizeof(busiest), sn, &rows->whole);
		n += snprintf(text + n, cap - n, " (%s of its threads' time%s)",
			      text_percent_whole(io_ns, sn->threads_ns).s, busiest);
	}
	if (most && io_ns) {
		view_row_name(name, sizeof(name), v, most, row_columns(v));
		if (!is_async(most))
			cause_text(why, sizeof(why), rows, most);
		if (v->by == BY_NONE)
			stacks_caller(caller, sizeof(caller), sn, most);
		snprintf(text + n, cap - n, ", %s of it %s%s%s%s",
			 text_percent_whole(breakdown_counted_ns(&rows->whole, most), io_ns).s,
			 is_async(most) ? "on CPU for " : "", name, caller,
			 is_async(most) ? async_rest(rows, most) : why);
	}
}

static void put_answer(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn, const struct breakdown_rows *rows)
{
	char text[FIRST_SCREEN_ANSWER];

	first_screen_answer(text, sizeof(text), v, sn, rows);
	text_put(o, "%s", view_paint(v, PAINT_TITLE).s);
	view_wrap(o, v, text);
	text_put(o, "%s", view_paint(v, PAINT_OFF).s);
}

/* Writes "o other 12 % (wake-up 9 %)", with the largest stratum of "other". */
static int share_text(char *dst, size_t cap, enum share s, const uint64_t strata[ST_N],
		      uint64_t total_ns)
{
	int most = -1, n;

	n = snprintf(dst, cap, "%c %s %.0f %%", share_letter(s), share_name(s),
		     percent(share_ns(s, strata), total_ns));
	for (int i = 0; s == SHARE_OTHER && i < ST_N; i++)
		if (share_strata(s) & 1U << i && (most < 0 || strata[i] > strata[most]))
			most = i;
	if (most >= 0)
		n += snprintf(dst + n, cap - n, " (%s %.0f %%)", stratum_label(most),
			      percent(strata[most], total_ns));
	return n;
}

/* Writes "D device 49 %, C cpu 40 %, rest 1.0 %". Returns the length. */
static size_t shares_text(char *text, size_t cap, const uint64_t strata[ST_N], uint64_t total_ns)
{
	uint64_t ns, rest_ns = 0;
	size_t n = 0;

	for (enum share s = share_next(strata, SHARE_N); s < SHARE_N; s = share_next(strata, s)) {
		ns = share_ns(s, strata);
		if (percent(ns, total_ns) < LEAST_PERCENT) {
			rest_ns += ns;
			continue;
		}
		n += snprintf(text + n, cap - n, "%s", n ? ", " : "");
		n += share_text(text + n, cap - n, s, strata, total_ns);
	}
	if (rest_ns)
		n += snprintf(text + n, cap - n, ", rest %s", text_percent(rest_ns, total_ns).s);
	return n;
}

void first_screen_shares(char *text, size_t cap, const struct breakdown_view *v,
			 const struct breakdown_whole *whole)
{
	uint64_t cpu = share_ns(SHARE_CPU, whole->thread_strata);
	size_t n = 0;

	*text = '\0';
	if (!whole->thread_ns)
		return;
	if (whole->async_ns)
		n = snprintf(text, cap, "time of threads: ");
	n += shares_text(text + n, cap - n, whole->thread_strata, whole->thread_ns);
	if (v->source.cpus && !v->source.command)
		snprintf(text + n, cap - n, "; on CPU %s of %u CPU%s",
			 text_percent(cpu, whole->duration_ns * v->source.cpus).s, v->source.cpus,
			 text_plural(v->source.cpus));
}

void first_screen_async(char *text, size_t cap, const struct breakdown_view *v,
			const struct snapshot *sn, const struct breakdown_rows *rows)
{
	const struct breakdown_whole *whole = &rows->whole;
	const struct op_row *most = async_most(rows);
	char name[NAME], why[CAUSE];
	size_t n;

	*text = '\0';
	if (!whole->async_ns || !sn->duration_ns)
		return;
	n = snprintf(text, cap, "time of asynchronous requests: %s, ", text_ns(whole->async_ns).s);
	n += shares_text(text + n, cap - n, whole->async_strata, whole->async_ns);
	if (most) {
		view_row_name(name, sizeof(name), v, most, row_columns(v));
		cause_text(why, sizeof(why), rows, most);
		n += snprintf(text + n, cap - n, "; %s of it %s%s",
			      text_percent_whole(most->total_ns, whole->async_ns).s, name, why);
	}
	snprintf(text + n, cap - n, "; %.3g in flight on average",
		 (double)whole->async_ns / sn->duration_ns);
}

/* Waits for the threads of one name, and for one reason. */
struct who_group {
	const struct who_row *most; /* the process with most of it */
	uint64_t total_ns;
	size_t processes;
};

static bool who_is_alike(const struct who_row *a, const struct who_row *b)
{
	return a->key.who == b->key.who && a->key.limit == b->key.limit &&
	       !memcmp(a->key.comm, b->key.comm, COMM_LEN);
}

static int pid_order(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The number of different pids. Orders them. */
static size_t pids_count(unsigned int *pids, size_t n)
{
	size_t different = 0;

	qsort(pids, n, sizeof(*pids), pid_order);
	for (size_t i = 0; i < n; i++)
		different += !i || pids[i] != pids[i - 1];
	return different;
}

/* The group whose first row is row @i. @pids: room for those of all rows. Returns false if that row
 * is not the first of a group. */
static bool who_group(const struct snapshot *sn, size_t i, unsigned int *pids,
		      struct who_group *ret)
{
	struct who_group g = { .most = &sn->whos[i] };
	size_t n = 0;

	for (size_t j = 0; j < i; j++)
		if (who_is_alike(&sn->whos[j], g.most))
			return false;
	for (size_t j = i; j < sn->n_whos; j++) {
		if (!who_is_alike(&sn->whos[j], g.most))
			continue;
		g.total_ns += sn->whos[j].sums.total_ns;
		pids[n++] = sn->whos[j].key.pid;
	}
	g.processes = pids_count(pids, n);
	*ret = g;
	return true;
}

/* Whether a group is worth a line. Answers of kernel threads say nothing about a server. The time
 * in which a helper works is mostly in strata of the requests that it waits for: then these say
 * more. */
static bool who_is_shown(const struct who_group *g, const struct breakdown_whole *whole)
{
	uint64_t ns = 0;

	for (int st = 0; st < ST_N; st++)
		if (who_strata(g->most->key.who) & 1U << st)
			ns += whole->thread_strata[st];
	return percent(g->total_ns, whole->thread_ns) >= WHO_PERCENT &&
	       percent(g->total_ns, ns) > MOST_PERCENT &&
	       percent(g->total_ns, ns) < WHOLE_PERCENT &&
	       (g->most->key.who != WHO_SERVER || g->most->command);
}

static void who_text(char *text, size_t cap, const struct breakdown_view *v,
		     const struct who_group *g, bool commands)
{
	char comm[TEXT_SAFE_CAP(COMM_LEN)], command[NAME], safe[NAME];
	const struct who_key *k = &g->most->key;
	char limit[LIMIT_TEXT];
	int n;

	if (k->who == WHO_LIMIT) {
		limit_text(limit, k->limit, g->most->limit);
		snprintf(text, cap, "waited %s %s %s", text_ns(g->total_ns).s, who_before(k->who),
			 limit);
		return;
	}
	text_safe_n(comm, sizeof(comm), k->comm, strnlen(k->comm, COMM_LEN));
	n = snprintf(text, cap, "waited %s %s %s %s (", text_ns(g->total_ns).s, who_before(k->who),
		     comm, who_after(k->who));
	if (g->processes > 1) {
		snprintf(text + n, cap - n, "%s processes)", text_count(g->processes).s);
		return;
	}
	n += snprintf(text + n, cap - n, "pid %u)", k->pid);
	if (!commands || !g->most->command)
		return;
	text_safe(safe, sizeof(safe), g->most->command);
	text_fit(command, sizeof(command), safe,
		 v->form.terminal ? SUBJECT_COLUMNS : COMMAND_COLUMNS, TEXT_CUT_MIDDLE);
	snprintf(text + n, cap - n, ": %s", command);
}

bool first_screen_who(char *text, size_t cap, const struct breakdown_view *v,
		      const struct snapshot *sn, const struct breakdown_whole *whole,
		      unsigned int nth, bool commands)
{
	unsigned int *pids = calloc(sn->n_whos + 1, sizeof(*pids));
	struct who_group g;
	bool found = false;

	/* the rows are in order: groups after those of the first rows are too small */
	for (size_t i = 0; pids && !found && i < sn->n_whos && i < WHO_ROWS; i++)
		if (who_group(sn, i, pids, &g) && who_is_shown(&g, whole) && !nth--) {
			who_text(text, cap, v, &g, commands);
			found = true;
		}
	free(pids);
	return found;
}

void first_screen_whos(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn, const struct breakdown_rows *rows)
{
	char text[FIRST_SCREEN_ANSWER];

	for (unsigned int i = 0; i < FIRST_SCREEN_WHOS; i++)
		if (first_screen_who(text, sizeof(text), v, sn, &rows->whole, i, true))
			view_wrap(o, v, text);
}

void first_screen_no_ops(struct text_out *o, const struct breakdown_view *v,
			 const struct breakdown_rows *rows)
{
	char text[VIEW_NONE_ENDED];

	if (rows->n_ops || !v->chosen.filters || !breakdown_has_ops(v))
		return;
	view_none_ended(text, v);
	view_wrap(o, v, text);
}

/* Writes the shares of all operations' time, with the letters of the bars below. */
static void put_shares(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn, const struct breakdown_rows *rows)
{
	char text[FIRST_SCREEN_ANSWER];

	if (!rows->whole.io_ns)
		return;
	first_screen_shares(text, sizeof(text), v, &rows->whole);
	if (*text)
		view_wrap(o, v, text);
	first_screen_async(text, sizeof(text), v, sn, rows);
	if (*text)
		view_wrap(o, v, text);
}

/* How many rows of operations to show, if all else takes @others lines. If one row would be left
 * over, it is shown: the line about it takes as much room. */
static size_t rows_shown(const struct breakdown_view *v, const struct breakdown_rows *rows,
			 int others)
{
	int room = SCREEN_LINES - others - (OPS_LEAST - 1);
	size_t max = room < 1 ? 1 : room > ROWS_MOST ? ROWS_MOST : room, n = 0;

	if (v->form.rows_max)
		max = v->form.rows_max;
	while (n < rows->n_ops && n < max &&
	       (!n || v->form.sort || v->form.rows_max ||
		row_share(rows, rows->ops[n]) >= LEAST_PERCENT))
		n++;
	return !v->form.rows_max && n + 1 == rows->n_ops ? n + 1 : n;
}

static void put_ops(struct text_out *o, const struct breakdown_view *v,
		    const struct breakdown_rows *rows, int others)
{
	size_t n = rows_shown(v, rows, others);
	uint64_t rest_ns = 0;

	if (!n)
		return;
	text_put(o, "\n");
	view_ops(o, v, rows, n);
	for (size_t i = n; i < rows->n_ops; i++)
		rest_ns += breakdown_counted_ns(&rows->whole, rows->ops[i]);
	if (n < rows->n_ops)
		text_put(o, "%s more, %s of I/O; %s\n", text_count(rows->n_ops - n).s,
			 text_percent(rest_ns, rows->whole.thread_ns).s, view_more(v));
}

static void put_waterfall(struct text_out *o, const struct breakdown_view *v,
			  const struct op_row *r, int lines)
{
	struct waterfall w = { .fs = r->fs,
			       .strata = r->strata,
			       .total_ns = r->total_ns,
			       .count = r->count,
			       .indent = TITLE_COLUMNS,
			       .lines = lines };
	char name[NAME];

	view_row_name(name, sizeof(name), v, r, columns_for(v, TITLE_COLUMNS - 1));
	text_put(o, "\n%s%s%s", view_paint(v, PAINT_TITLE).s, name, view_paint(v, PAINT_OFF).s);
	w.at = text_width(name);
	if (view_is_narrow(v))
		w.indent = 2;
	if (w.at >= w.indent || view_is_narrow(v)) {
		text_put(o, "\n");
		w.at = 0;
	}
	waterfall_put(o, v, &w);
}

/* Whether all operations of threads are traced: then the other requests come from kernel
 * threads. */
static bool all_kinds_traced(const struct breakdown_view *v)
{
	return !v->missing || !(v->missing->uring || v->missing->aio || v->missing->faults);
}

/* Writes "23 of 1,009 submitted by kernel threads (writeback, journal)". Nothing with filters that
 * choose operations but not requests: most requests then belong to operations left out. */
static int outside_text(char *dst, size_t cap, const struct breakdown_view *v,
			const struct breakdown_rows *rows)
{
	uint64_t outside = 0, all = 0;

	for (size_t i = 0; i < rows->n_rqs; i++) {
		outside += rows->rqs[i]->outside;
		all += rows->rqs[i]->count;
	}
	if (!outside || !breakdown_has_ops(v) || (v->chosen.of_ops && *v->chosen.of_ops))
		return 0;
	return snprintf(dst, cap, "%s of %s submitted %s", text_count(outside).s, text_count(all).s,
			all_kinds_traced(v) ? "by kernel threads (writeback, journal)"
					    : "outside of these operations");
}

static void put_requests(struct text_out *o, const struct breakdown_view *v,
			 const struct breakdown_rows *rows)
{
	size_t n = rq_rows(v, rows->n_rqs);
	char text[192];
	int len;

	if (!n)
		return;
	text_put(o, "\n");
	view_requests(o, v, rows, n);
	len = outside_text(text, sizeof(text), v, rows);
	if (n < rows->n_rqs)
		snprintf(text + len, sizeof(text) - len, "%s%s more; %s", len ? "; " : "",
			 text_count(rows->n_rqs - n).s, view_more(v));
	if (len || n < rows->n_rqs)
		view_line(o, v, text);
	snprintf(text, sizeof(text), "only operations are filtered by %s",
		 v->chosen.of_ops ? v->chosen.of_ops : "");
	if (v->chosen.of_ops && *v->chosen.of_ops)
		view_line(o, v, text);
	without_rows_put(o, v, rows);
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Text in memory. Does not move: the stream points into it. */
struct memory {
	struct text_out o;
	char *text;
	size_t len;
};

static bool memory_open(struct memory *m)
{
	*m = (struct memory){};
	m->o.f = open_memstream(&m->text, &m->len);
	return m->o.f;
}

/* Ends the text, freed by the caller. Returns NULL if out of memory. */
static char *memory_take(struct memory *m)
{
	if (fclose(m->o.f) || m->o.err) {
		free(m->text);
		return NULL;
	}
	return m->text;
}

/* The part above the table of operations, freed by the caller. Returns NULL if out of memory. */
static char *above_ops(const struct breakdown_view *v, const struct snapshot *sn,
		       const struct breakdown_rows *rows)
{
	struct memory m;

	if (!memory_open(&m))
		return NULL;
	text_put(&m.o, "%s", v->interval.later ? "\n" : "");
	unfinished_put(&m.o, v, sn);
	put_answer(&m.o, v, sn, rows);
	first_screen_no_ops(&m.o, v, rows);
	put_shares(&m.o, v, sn, rows);
	first_screen_whos(&m.o, v, sn, rows);
	put_pseudo(&m.o, v, rows);
	put_server(&m.o, v);
	return memory_take(&m);
}

/* The part below the table of operations, with @strata lines of strata; likewise. */
static char *below_ops(const struct breakdown_view *v, const struct snapshot *sn,
		       const struct breakdown_rows *rows, int strata)
{
	struct memory m;

	if (!memory_open(&m))
		return NULL;
	if (v->by == BY_NONE && rows->n_ops)
		put_waterfall(&m.o, v, most_of(rows), strata);
	put_requests(&m.o, v, rows);
	notes_put(&m.o, v, sn);
	return memory_take(&m);
}

int first_screen_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     struct breakdown_rows *rows)
{
	int strata = strata_lines(v), others = 0;
	char *above, *below;

	if (v->by != BY_NONE && breakdown_rows_merge(rows))
		return -ENOMEM;
	above = above_ops(v, sn, rows);
	below = below_ops(v, sn, rows, strata);
	while (above && below) {
		/* the line about the overhead comes last */
		others = lines_of(above) + lines_of(below) + sn->has_overhead;
		if (others + OPS_USUAL <= SCREEN_LINES || strata == 1)
			break;
		free(below);
		below = below_ops(v, sn, rows, --strata);
	}
	if (above && below) {
		text_put(o, "%s", above);
		put_ops(o, v, rows, others);
		text_put(o, "%s", below);
	}
	free(above);
	free(below);
	return above && below ? 0 : -ENOMEM;
}
