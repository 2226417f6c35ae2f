// SPDX-License-Identifier: GPL-2.0-only
#include "show/first_screen.h"

#include <errno.h>
#include <string.h>

#include "base/names.h"
#include "show/shares.h"
#include "show/view_text.h"
#include "show/waterfall.h"

enum {
	SCREEN_LINES = 24,
	UNFINISHED_ROWS = 2,
	LONG_NS = 100000000,
	ROWS_MOST = 12,		/* of operations, however much room there is */
	LEAST_PERCENT = 1,	/* of I/O: smaller rows go into the line about the others */
	MOST_PERCENT = 50,	/* "mostly" */
	SUBJECT_COLUMNS = 30,
	TITLE_COLUMNS = 16,	/* what the waterfall is of */
	NARROW = 70,		/* below this width, the title has its own line */
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static bool is_narrow(const struct breakdown_view *v)
{
	return view_width(v) < NARROW;
}

static int strata_lines(const struct breakdown_view *v)
{
	return is_narrow(v) ? 3 : 4;
}

/* Rows of requests to show. A single row left over takes no more room than the line about it. */
static size_t rq_rows(const struct breakdown_view *v, size_t n)
{
	size_t max = v->rows_max ? v->rows_max : is_narrow(v) ? 1 : 3;

	return n > max + !v->rows_max ? max : n;
}

/* Operations in progress for too long to be there by chance. */
static size_t long_ones(const struct snapshot *sn)
{
	size_t n = 0;

	while (n < sn->n_unfinished && sn->unfinished[n].age_ns >= LONG_NS)
		n++;
	return n;
}

static int unfinished_lines(const struct snapshot *sn)
{
	size_t n = long_ones(sn);

	return n > UNFINISHED_ROWS ? UNFINISHED_ROWS + 1 : n;
}

/* Rows of operations that the screen has room for: what all other parts leave, each at its
 * longest. */
static size_t room(const struct breakdown_view *v, const struct snapshot *sn,
		   const struct breakdown_rows *rows)
{
	int used = is_narrow(v) ? 4 + 3 : 2 + 2;	/* the answer, the shares */
	int left;

	used += 1 + 1 + 1;				/* titles, what is left out */
	used += v->by == BY_NONE ? 1 + is_narrow(v) + strata_lines(v) : 0;
	used += rows->n_rqs ? 2 + (int)rq_rows(v, rows->n_rqs) + 1 : 0;
	used += unfinished_lines(sn);
	used += 1 + v->later + (v->ignored && *v->ignored) + sn->has_overhead;
	left = SCREEN_LINES - used;
	return left < 1 ? 1 : left > ROWS_MOST ? ROWS_MOST : left;
}

/* Whose I/O it is. */
static void subject(char *dst, size_t cap, const struct breakdown_view *v)
{
	char safe[TEXT_SAFE_CAP(512)];

	text_safe(safe, sizeof(safe), v->command ? v->command : v->looked_for ? v->looked_for : "");
	text_fit(dst, cap, *safe ? safe : "everybody", SUBJECT_COLUMNS, TEXT_CUT_TAIL);
}

/* What took most of an operation's time, for the end of a sentence; "" if nothing did. */
static const char *cause(const struct op_row *r)
{
	static const char *const causes[SHARE_N] = {
		[SHARE_CPU] = ", mostly on CPU",
		[SHARE_DEVICE] = ", mostly waiting for the device",
		[SHARE_QUEUE] = ", mostly waiting in the queues of the block layer",
		[SHARE_RUNQ] = ", mostly waiting for a CPU",
		[SHARE_HELPER] = ", mostly waiting for a kernel thread",
		[SHARE_LOCK] = ", mostly waiting for a lock",
	};

	if (percent(r->strata[ST_THROTTLE], r->total_ns) > MOST_PERCENT)
		return ", mostly throttled";
	for (int s = 0; s < SHARE_N; s++)
		if (causes[s] && percent(share_ns(s, r->strata), r->total_ns) > MOST_PERCENT)
			return causes[s];
	return "";
}

/* "fsync ext4"; for a key, its name. */
static void row_name(char *dst, size_t cap, const struct breakdown_view *v, const struct op_row *r,
		     int columns)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], text[TEXT_SAFE_CAP(512)];
	char comm[TEXT_SAFE_CAP(sizeof(r->comm))], op[32];

	text_safe_n(comm, sizeof(comm), r->comm, strnlen(r->comm, sizeof(r->comm)));
	text_safe_n(fs, sizeof(fs), r->fs, strnlen(r->fs, sizeof(r->fs)));
	if (v->by == BY_NONE)
		snprintf(text, sizeof(text), "%s%s%s", breakdown_op_name(v, r, op),
			 *fs ? " " : "", fs);
	else if (*r->comm)
		snprintf(text, sizeof(text), "%s %s", comm, r->by ? r->by : "");
	else
		text_safe(text, sizeof(text), r->by ? r->by : cache_name(r->key.cache));
	text_fit(dst, cap, text, columns, TEXT_CUT_MIDDLE);
}

/* The operation that took most, whatever the rows are sorted by. */
static const struct op_row *most_of(const struct breakdown_rows *rows)
{
	const struct op_row *most = rows->ops[0];

	for (size_t i = 1; i < rows->n_ops; i++)
		most = rows->ops[i]->total_ns > most->total_ns ? rows->ops[i] : most;
	return most;
}

void unfinished_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	size_t n = long_ones(sn), lines = n > UNFINISHED_ROWS ? UNFINISHED_ROWS : n;
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], text[192];

	for (size_t i = 0; i < lines; i++) {
		const struct unfinished *u = &sn->unfinished[i];

		text_safe_n(fs, sizeof(fs), u->fs, strnlen(u->fs, sizeof(u->fs)));
		snprintf(text, sizeof(text), "not finished: %s%s%s, for %s, in %s", op_name(u->op),
			 *fs ? " " : "", fs, text_ns(u->age_ns).s, stratum_label(u->stratum));
		view_line(o, v, text);
	}
	if (lines < n)
		text_put(o, "and %zu more\n", n - lines);
}

/* Requests of io_uring overlap: their time is no share of their thread's. */
static bool any_overlaps(const struct breakdown_rows *rows)
{
	for (size_t i = 0; i < rows->n_ops; i++)
		if (rows->ops[i]->key.op == OP_URING || rows->ops[i]->kinds >> OP_URING & 1)
			return true;
	return false;
}

static void put_answer(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn, const struct breakdown_rows *rows)
{
	char who[128], name[128], text[512];
	const struct op_row *most = rows->n_ops ? most_of(rows) : NULL;
	uint64_t io_ns = rows->whole.io_ns;
	int n;

	subject(who, sizeof(who), v);
	if (v->repeats)
		n = snprintf(text, sizeof(text), "%s, %s: %s in I/O", view_clock(v).s,
			     text_ns(sn->duration_ns).s, text_ns(io_ns).s);
	else
		n = snprintf(text, sizeof(text), "traced %s for %s: %s in I/O", who,
			     text_ns(sn->duration_ns).s, text_ns(io_ns).s);
	if (sn->threads_ns && !any_overlaps(rows))
		n += snprintf(text + n, sizeof(text) - n, " (%.0f %% of its threads' time)",
			      percent(io_ns, sn->threads_ns));
	if (most && io_ns) {
		row_name(name, sizeof(name), v, most, SUBJECT_COLUMNS);
		snprintf(text + n, sizeof(text) - n, ", %.0f %% of it %s%s",
			 percent(most->total_ns, io_ns), name, cause(most));
	}
	text_put(o, "%s", view_paint(v, PAINT_TITLE));
	text_wrap(o, text, 0, 2, view_width(v));
	text_put(o, "%s", view_paint(v, PAINT_OFF));
}

/* Where the time of all operations went, with the letters of the bars below. */
static void put_shares(struct text_out *o, const struct breakdown_view *v,
		       const struct breakdown_whole *whole)
{
	uint64_t cpu = share_ns(SHARE_CPU, whole->strata), ns, rest_ns = 0;
	char text[512];
	size_t n = 0;

	if (!whole->io_ns)
		return;
	for (enum share s = share_next(whole->strata, SHARE_N); s < SHARE_N;
	     s = share_next(whole->strata, s)) {
		ns = share_ns(s, whole->strata);
		if (percent(ns, whole->io_ns) < LEAST_PERCENT)
			rest_ns += ns;
		else
			n += snprintf(text + n, sizeof(text) - n, "%s%c %s %.0f %%", n ? ", " : "",
				      share_letter(s), share_name(s), percent(ns, whole->io_ns));
	}
	if (rest_ns)
		n += snprintf(text + n, sizeof(text) - n, ", rest %s",
			      text_percent(rest_ns, whole->io_ns).s);
	if (v->cpus && !v->command)
		snprintf(text + n, sizeof(text) - n, "; on CPU %s of %u CPU%s",
			 text_percent(cpu, whole->duration_ns * v->cpus).s, v->cpus,
			 v->cpus == 1 ? "" : "s");
	text_wrap(o, text, 0, 2, view_width(v));
}

/* How many rows to show. A single row left over takes no more room than the line about it. */
static size_t rows_shown(const struct breakdown_view *v, const struct snapshot *sn,
			 const struct breakdown_rows *rows)
{
	size_t max = v->rows_max ? v->rows_max : room(v, sn, rows), n = 0;

	while (n < rows->n_ops && n < max &&
	       (!n || v->sort || v->rows_max ||
		percent(rows->ops[n]->total_ns, rows->whole.io_ns) >= LEAST_PERCENT))
		n++;
	return !v->rows_max && n + 1 == rows->n_ops ? n + 1 : n;
}

static void put_ops(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		    const struct breakdown_rows *rows)
{
	size_t n = rows_shown(v, sn, rows);
	uint64_t rest_ns = 0;

	if (!n)
		return;
	text_put(o, "\n");
	view_ops(o, v, rows, n);
	for (size_t i = n; i < rows->n_ops; i++)
		rest_ns += rows->ops[i]->total_ns;
	if (n < rows->n_ops)
		text_put(o, "%zu more, %s of I/O; -v shows them\n", rows->n_ops - n,
			 text_percent(rest_ns, rows->whole.io_ns).s);
}

static void put_waterfall(struct text_out *o, const struct breakdown_view *v,
			  const struct op_row *r)
{
	struct waterfall w = { .fs = r->fs, .strata = r->strata, .total_ns = r->total_ns,
			       .count = r->count, .indent = TITLE_COLUMNS,
			       .lines = strata_lines(v) };
	char name[128];

	row_name(name, sizeof(name), v, r, TITLE_COLUMNS - 1);
	text_put(o, "\n%s%s%s", view_paint(v, PAINT_TITLE), name, view_paint(v, PAINT_OFF));
	w.at = text_width(name);
	if (is_narrow(v)) {
		text_put(o, "\n");
		w.at = 0;
		w.indent = 2;
	}
	waterfall_put(o, v, &w);
}

static void put_requests(struct text_out *o, const struct breakdown_view *v,
			 const struct breakdown_rows *rows)
{
	size_t n = rq_rows(v, rows->n_rqs);
	char text[128];

	if (!n)
		return;
	text_put(o, "\n");
	view_requests(o, v, rows, n);
	if (n < rows->n_rqs)
		text_put(o, "%zu more; -v shows them\n", rows->n_rqs - n);
	snprintf(text, sizeof(text), "requests are not chosen by %s", v->ignored ? v->ignored : "");
	if (v->ignored && *v->ignored)
		view_line(o, v, text);
}

/* "; not measured: vfs, fs" */
static int missing_text(char *dst, size_t cap, const struct breakdown_view *v)
{
	int n = 0;

	for (int i = 0; i < MISSING_N; i++)
		if (breakdown_missing(v, i))
			n += snprintf(dst + n, cap - n, "%s%s", n ? ", " : "; not measured: ",
				      breakdown_missing_label(i));
	return n;
}

/* What is missing from the figures above, in one line. */
static void put_notes(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	char text[512];
	uint64_t lost = sn->missed;
	int n;

	for (int i = 0; i < LOST_N; i++)
		lost += i == LOST_UNMATCHED_END ? 0 : sn->lost[i];
	n = lost ? snprintf(text, sizeof(text), "%s lost", text_count(lost).s) :
		   snprintf(text, sizeof(text), "nothing lost");
	n += v->later ? 0 : missing_text(text + n, sizeof(text) - n, v);
	if (lost || strchr(text, ';'))
		n += snprintf(text + n, sizeof(text) - n, "; -v says why");
	if (sn->lost[LOST_UNMATCHED_END])
		n += snprintf(text + n, sizeof(text) - n, "; %s had begun before",
			      text_count(sn->lost[LOST_UNMATCHED_END]).s);
	if (sn->n_unfinished)
		snprintf(text + n, sizeof(text) - n, "; %zu in progress", sn->n_unfinished);
	view_line(o, v, text);
}

int first_screen_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     struct breakdown_rows *rows)
{
	if (v->by != BY_NONE && breakdown_rows_merge(rows))
		return -ENOMEM;
	text_put(o, "%s", v->later ? "\n" : "");
	unfinished_put(o, v, sn);
	put_answer(o, v, sn, rows);
	put_shares(o, v, &rows->whole);
	put_ops(o, v, sn, rows);
	if (v->by == BY_NONE && rows->n_ops)
		put_waterfall(o, v, most_of(rows));
	put_requests(o, v, rows);
	put_notes(o, v, sn);
	return 0;
}
