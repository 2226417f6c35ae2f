// SPDX-License-Identifier: GPL-2.0-only
#include "show/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/columns.h"
#include "base/json.h"
#include "base/names.h"
#include "capture/slow_requests.h"
#include "host/container.h"
#include "show/breakdown_text.h"
#include "show/columns.h"
#include "show/first_screen.h"
#include "show/page_findings.h"
#include "show/page_index.h"
#include "show/page_json.h"
#include "show/page_maps.h"
#include "show/slowest.h"
#include "show/view_parts.h"

/* Embeds a file that src/page/assemble made, between the symbols name_begin and name_end. */
#define EMBEDDED(name)                                                                             \
	__asm__(".section .rodata\n" #name "_begin: .incbin \"" OBJECTS_DIR #name                  \
		".html\"\n" #name "_end:\n.previous\n");                                           \
	extern const char name##_begin[], name##_end[]

EMBEDDED(page_head);
EMBEDDED(page_tail);
EMBEDDED(page_live);

/* Writes the data of a page without pictures, or of the live page. */
static void put_words(struct text_out *o, bool live)
{
	struct json j = { .out = *o };

	json_put_begin(&j, NULL, '{');
	json_put_bool(&j, "live", live);
	page_words(&j);
	json_put_end(&j, '}');
	*o = j.out;
}

char *page_live(size_t *ret_len)
{
	static const char mark[] = "@data@";
	const char *at =
		memmem(page_live_begin, page_live_end - page_live_begin, mark, strlen(mark));
	struct text_out o = {};
	char *text = NULL;

	o.f = open_memstream(&text, ret_len);
	if (!o.f)
		return NULL;
	text_write(&o, page_live_begin, at - page_live_begin);
	put_words(&o, true);
	at += strlen(mark);
	text_write(&o, at, page_live_end - at);
	if (!fclose(o.f) && !o.err)
		return text;
	free(text);
	return NULL;
}

enum {
	BAR = 20,       /* letters of a bar */
	LIST_MAX = 20,  /* columns of a table, the empty last one included */
	WIDE = 1000000, /* text is not cut into lines: the browser does it */
};

struct page_out {
	struct text_out o;
	const struct page *p;
	struct breakdown_view view; /* for text, which goes through text_html_safe() */
	struct snapshot calls, disks, files, processes, cgroups; /* rows by these; of a recording */
	struct snapshot keys; /* rows by view.by; not of a recording */
};

/* Writes text that ends in newlines as items of a list. A title ("lost:") goes before each of the
 * indented lines below it. */
static void put_items(struct text_out *o, char *text)
{
	char *line, *rest = text, *title = NULL;
	size_t indent;

	while (rest && (line = strsep(&rest, "\n"))) {
		indent = strspn(line, " ");
		if (!line[indent])
			continue;
		title = indent ? title : NULL;
		if (!indent && line[strlen(line) - 1] == ':') {
			title = line;
			continue;
		}
		text_put(o, "<li>");
		if (title)
			text_html_safe(o, title);
		text_put(o, title ? " " : "");
		text_html_safe(o, line + indent);
		text_put(o, "</li>\n");
	}
}

/* The letters of the biggest shares first, as in text; each share has a colour. Readers of screens
 * get words. */
static void put_bar(struct text_out *o, const uint64_t strata[ST_N], uint64_t total_ns)
{
	const char *comma = "";
	uint64_t before = 0;
	int at = 0, end;

	text_put(o, "<span class=letters role=img aria-label=\"");
	for (enum share s = share_next(strata, SHARE_N); s < SHARE_N; s = share_next(strata, s)) {
		text_put(o, "%s%s %s", comma, share_name(s),
			 text_percent_whole(share_ns(s, strata), total_ns).s);
		comma = ", ";
	}
	text_put(o, "\">");
	for (enum share s = share_next(strata, SHARE_N); s < SHARE_N && total_ns;
	     s = share_next(strata, s)) {
		before += share_ns(s, strata);
		end = (double)before * BAR / total_ns + 0.5;
		if (end <= at)
			continue;
		text_put(o, "<i class=%c>", share_letter(s));
		text_fill(o, share_letter(s), end - at);
		text_put(o, "</i>");
		at = end;
	}
	text_put(o, "</span>");
}

/* The cell with the bar; data-strata has the times of all strata, in their order. */
static void put_bar_cell(struct text_out *o, const struct op_row *r)
{
	text_put(o, "<td data-strata=\"");
	for (int i = 0; i < ST_N; i++)
		text_put(o, "%s%llu", i ? " " : "", (unsigned long long)r->strata[i]);
	text_put(o, "\">");
	put_bar(o, r->strata, r->total_ns);
	text_put(o, "</td>");
}

/* Copies the columns with these titles; the list ends with NULL. */
static void columns_pick(struct column list[LIST_MAX], const struct column *from,
			 const char *const *titles, const char *key_title)
{
	int n = 0;

	for (; *titles && n < LIST_MAX - 1; titles++) {
		for (const struct column *c = from; column_is(c); c++)
			if (c->title && !strcmp(c->title, *titles))
				list[n] = *c;
		if (!strcmp(list[n].title, "key"))
			list[n].title = key_title;
		n++;
	}
	list[n] = (struct column){};
}

/* A table begins; @id and @title are ours. */
static void table_begin(struct text_out *o, const char *id, const char *title,
			const struct columns *t, bool bar)
{
	text_put(o, "<div class=scroll><table id=\"%s\"><caption>%s</caption>\n<thead><tr>", id,
		 title);
	columns_html_titles(o, t);
	if (bar)
		text_put(o, "<th scope=col data-name=strata title=\"shares of the time, biggest "
			    "first\">where it went</th>");
	text_put(o, "</tr></thead>\n<tbody>\n");
}

static void table_end(struct text_out *o)
{
	text_put(o, "</tbody></table></div>\n");
}

/* Adds the rows beyond PAGE_ROWS up to one line below the table. */
static void put_more(struct text_out *o, const struct breakdown_rows *rows, const char *what)
{
	uint64_t count = 0, total_ns = 0, counted_ns = 0;

	if (rows->n_ops <= PAGE_ROWS)
		return;
	for (size_t i = PAGE_ROWS; i < rows->n_ops; i++) {
		count += rows->ops[i]->count;
		total_ns += rows->ops[i]->total_ns;
		counted_ns += breakdown_counted_ns(&rows->whole, rows->ops[i]);
	}
	text_put(o, "<p class=more>%s more %s: %s operations, %s, %s of I/O</p>\n",
		 text_count(rows->n_ops - PAGE_ROWS).s, what, text_count(count).s,
		 text_ns(total_ns).s, text_percent(counted_ns, rows->whole.thread_ns).s);
}

/* One table of operations. */
struct page_table {
	const char *id, *title, *key_title, *what;
	enum by_key by;
	const char *const *titles;
};

/* Whether several rows have the same key: live rows are by operation, too. */
static bool is_split(const struct page_out *out, const struct page_table *table)
{
	return table->key_title && out->p->view->by;
}

static int put_table(struct page_out *out, const struct page_table *table, struct snapshot *sn)
{
	struct breakdown_view v = *out->p->view;
	struct column list[LIST_MAX];
	struct columns t = { .list = list };
	struct breakdown_rows rows;
	int err;

	v.by = table->by;
	err = breakdown_rows_init(&rows, &v, sn);
	if (!err && is_split(out, table))
		err = breakdown_rows_merge(&rows);
	if (err)
		return err;
	t.ctx = &rows.whole;
	columns_pick(list, op_columns, table->titles, table->key_title);
	table_begin(&out->o, table->id, table->title, &t, true);
	for (size_t i = 0; i < rows.n_ops && i < PAGE_ROWS; i++) {
		text_put(&out->o, "<tr>");
		columns_html(&out->o, &t, rows.ops[i]);
		put_bar_cell(&out->o, rows.ops[i]);
		text_put(&out->o, "</tr>\n");
	}
	table_end(&out->o);
	put_more(&out->o, &rows, table->what);
	breakdown_rows_done(&rows);
	return 0;
}

static const char *const key_titles[] = { "key", "name", "count", "failed", "bytes", "mean",
					  "p50", "p99",  "max",   "total",  "I/O",   NULL },
			 *const file_titles[] = { "key", "count", "failed", "bytes", "mean", "p50",
						  "p99", "max",   "total",  "I/O",   NULL };

static void put_more_rows(struct text_out *o, size_t n)
{
	if (n)
		text_put(o, "<p class=more>%s more row%s</p>\n", text_count(n).s, text_plural(n));
}

/* Writes the table of requests; nothing without requests. */
static int put_requests(struct page_out *out)
{
	static const char *const titles[] = { "disk", "requests", "count",  "rate", "bytes",
					      "tag",  "queue",    "device", "own",  "p99",
					      "max",  "failed",   NULL };
	struct breakdown_view v = *out->p->view;
	struct column list[LIST_MAX];
	struct columns t = { .list = list };
	struct breakdown_rows rows;
	int err;

	v.by = BY_DEV; /* disks as a tree */
	if (!out->p->sn->n_rqs)
		return 0;
	err = breakdown_rows_init(&rows, &v, out->p->sn);
	if (err)
		return err;
	t.ctx = &rows.whole;
	columns_pick(list, rq_columns, titles, NULL);
	table_begin(&out->o, "requests", "Requests by disk", &t, false);
	for (size_t i = 0; i < rows.n_rqs && i < PAGE_ROWS; i++) {
		text_put(&out->o, "<tr>");
		columns_html(&out->o, &t, rows.rqs[i]);
		text_put(&out->o, "</tr>\n");
	}
	table_end(&out->o);
	put_more_rows(&out->o, rows.n_rqs > PAGE_ROWS ? rows.n_rqs - PAGE_ROWS : 0);
	breakdown_rows_done(&rows);
	return 0;
}

/* Writes rows as a table; nothing without rows. @rows ends with NULL, and is freed. Returns 0, or
 * -ENOMEM if @rows is NULL. */
static int put_list(struct page_out *out, const char *id, const char *title,
		    const struct column *columns, const void **rows)
{
	const struct breakdown_whole whole = { .v = &out->view,
					       .duration_ns = out->p->sn->duration_ns };
	struct columns t = { .list = columns, .ctx = &whole };
	size_t n = 0, more = 0;

	if (!rows)
		return -ENOMEM;
	if (*rows)
		table_begin(&out->o, id, title, &t, false);
	for (; rows[n] && n < PAGE_ROWS; n++) {
		text_put(&out->o, "<tr>");
		columns_html(&out->o, &t, rows[n]);
		text_put(&out->o, "</tr>\n");
	}
	if (*rows)
		table_end(&out->o);
	while (rows[n + more])
		more++;
	put_more_rows(&out->o, more);
	free(rows);
	return 0;
}

/* Tables that a recording does not have. */
static int put_live_tables(struct page_out *out)
{
	const struct breakdown_view *v = out->p->view;
	char id[32], title[64];
	const struct page_table keys = {
		id,     title, by_name(v->by),
		"rows", v->by, v->by == BY_PID || v->by == BY_TID ? key_titles : file_titles
	};
	int err = 0;

	snprintf(id, sizeof(id), "by-%s", by_name(v->by));
	snprintf(title, sizeof(title), "Operations by %s", by_name(v->by));
	if (v->by)
		err = put_table(out, &keys, &out->keys);
	if (!err && v->sites)
		err = put_list(out, "sleeps", "Sleeps", site_columns,
			       (const void **)breakdown_sites(out->p->sn));
	if (!err && v->helpers)
		err = put_list(out, "helpers", "Requests of helpers", helper_columns,
			       (const void **)breakdown_helpers(out->p->sn, false));
	if (!err && v->helpers)
		err = put_list(out, "helper-times", "Times of helpers", helper_time_columns,
			       (const void **)breakdown_helpers(out->p->sn, true));
	return err;
}

/* The table of files of a recording. */
static int put_recorded_tables(struct page_out *out)
{
	static const struct page_table by_file = { "by-file", "Operations by file", "file", "files",
						   BY_FILE,   file_titles };

	out->files.duration_ns = out->p->sn->duration_ns;
	return put_table(out, &by_file, &out->files);
}

static int put_tables(struct page_out *out)
{
	static const char *const titles[] = { "operation", "fs",    "count", "rate", "failed",
					      "bytes",     "mean",  "p50",   "p99",  "p99.9",
					      "max",       "total", "I/O",   NULL };
	static const struct page_table ops = { "ops", "Operations", NULL, "rows", BY_NONE, titles };
	int err;

	text_put(&out->o,
		 out->p->data ? "<section id=static>\n" : "<section id=tables>\n<h2>Tables</h2>\n");
	err = put_table(out, &ops, out->p->sn);
	if (!err && out->p->data) {
		err = put_recorded_tables(out);
		text_put(&out->o, "</section>\n<section id=tables>\n");
	}
	if (!err && breakdown_has_requests(out->p->view))
		err = put_requests(out);
	if (!err)
		err = put_list(out, "servers", "Requests to servers", server_columns,
			       (const void **)breakdown_servers(out->p->sn));
	if (!err && !out->p->data)
		err = put_live_tables(out);
	text_put(&out->o, "</section>\n");
	return err;
}

/* "db1, Linux 6.1.9, 2026-01-31 12:00:00, 7.00 s" */
static void put_about(struct page_out *out)
{
	const struct page *p = out->p;
	time_t s = p->begin_ns / 1000000000;
	struct text_out *o = &out->o;
	char day[64] = "";
	struct tm tm;

	text_put(o, "<p class=about>");
	if (p->host) {
		text_html(o, p->host, strlen(p->host));
		text_put(o, ", ");
	}
	if (p->view->source.kernel) {
		text_put(o, "Linux ");
		text_html(o, p->view->source.kernel, strlen(p->view->source.kernel));
		text_put(o, ", ");
	}
	if (p->begin_ns && localtime_r(&s, &tm) && strftime(day, sizeof(day), "%F %T %z", &tm))
		text_put(o, "begun %s, ", day);
	text_put(o, "%s long</p>\n", text_ns(p->sn->duration_ns).s);
}

/* Captures what breakdown_notes() writes. The caller frees the result; NULL if out of memory. */
static char *notes_text(const struct page_out *out, const struct breakdown_rows *rows)
{
	struct text_out notes = {};
	char *text = NULL;
	size_t len;

	notes.f = open_memstream(&text, &len);
	if (!notes.f)
		return NULL;
	breakdown_notes(&notes, &out->view, out->p->sn, rows);
	if (!fclose(notes.f) && !notes.err)
		return text;
	free(text);
	return NULL;
}

/* The shares as a strip, in the order of all bars, and their names and figures below. */
static void put_strip(struct text_out *o, const uint64_t strata[ST_N], uint64_t total_ns)
{
	double at = 0, width;

	text_put(o, "<svg class=strip aria-hidden=true>");
	for (int i = 0; i < SHARE_N; i++) {
		width = 100.0 * share_ns(share_ordered(i), strata) / total_ns;
		if (width)
			text_put(o, "<rect class=%c x=%.3f%% width=%.3f%% height=100%%></rect>",
				 share_letter(share_ordered(i)), at, width);
		at += width;
	}
	text_put(o, "</svg>\n<ul class=key>");
	for (int i = 0; i < SHARE_N; i++) {
		enum share s = share_ordered(i);
		uint64_t ns = share_ns(s, strata);

		if (ns)
			text_put(o, "<li><i class=%c></i>%s <b>%s</b> %s</li>", share_letter(s),
				 share_name(s), text_percent_whole(ns, total_ns).s, text_ns(ns).s);
	}
	text_put(o, "</ul>\n");
}

/* The shares of the time of threads; then those of asynchronous requests, which overlap. */
static void put_shares(struct page_out *out, const struct breakdown_rows *rows)
{
	const struct breakdown_whole *whole = &rows->whole;
	char text[FIRST_SCREEN_ANSWER];

	text_put(&out->o, "<div class=shares id=shares>\n");
	if (whole->thread_ns)
		put_strip(&out->o, whole->thread_strata, whole->thread_ns);
	first_screen_async(text, sizeof(text), &out->view, out->p->sn, rows);
	if (*text && whole->async_ns) {
		text_put(&out->o, "<p class=async>");
		text_html_safe(&out->o, text);
		text_put(&out->o, "</p>\n");
		put_strip(&out->o, whole->async_strata, whole->async_ns);
	}
	text_put(&out->o, "</div>\n");
}

/* Those for whom operations waited. Command lines are in the rows only if asked for. */
static void put_whos(struct page_out *out, const struct breakdown_rows *rows)
{
	char text[FIRST_SCREEN_ANSWER];

	for (unsigned int i = 0; i < FIRST_SCREEN_WHOS; i++) {
		if (!first_screen_who(text, sizeof(text), &out->view, out->p->sn, &rows->whole, i,
				      true))
			return;
		text_put(&out->o, "<p class=whos>");
		text_html_safe(&out->o, text);
		text_put(&out->o, "</p>\n");
	}
}

/* What is lost or not measured, as a line to be opened. */
static void put_notes(struct page_out *out, char *notes)
{
	const struct snapshot *sn = out->p->sn;
	struct text_out *o = &out->o;
	uint64_t lost = lost_sum(sn->lost, sn->missed);

	if (lost > sn->lost[LOST_NAMES])
		text_put(o, "<details class=\"losses lost\" open><summary>some events were lost: "
			    "the figures are not complete</summary>");
	else
		text_put(o, "<details class=losses open><summary>%s</summary>",
			 lost ? "names of some files were lost" : "nothing lost");
	text_put(o, "<ul class=notes id=notes>\n");
	if (*notes)
		put_items(o, notes);
	if (!lost)
		text_put(o, "<li>nothing lost</li>\n");
	if (out->view.chosen.of_ops && *out->view.chosen.of_ops) {
		text_put(o, "<li>only operations are filtered by ");
		text_html(o, out->view.chosen.of_ops, strlen(out->view.chosen.of_ops));
		text_put(o, "</li>\n");
	}
	text_put(o, "</ul></details>\n");
}

static int put_answer(struct page_out *out)
{
	const struct snapshot *sn = out->p->sn;
	char text[FIRST_SCREEN_ANSWER], *notes;
	struct text_out *o = &out->o;
	struct breakdown_rows rows;
	int err = breakdown_rows_init(&rows, &out->view, sn);

	if (err)
		return err;
	notes = notes_text(out, &rows);
	text_put(o, "<section id=answer>\n");
	put_about(out);
	first_screen_answer(text, sizeof(text), &out->view, sn, &rows);
	text_put(o, "<h1 id=sentence>");
	text_html_safe(o, text);
	text_put(o, "</h1>\n");
	put_shares(out, &rows);
	put_whos(out, &rows);
	if (notes)
		put_notes(out, notes);
	text_put(o, "</section>\n");
	free(notes);
	breakdown_rows_done(&rows);
	return notes ? 0 : -ENOMEM;
}

/* The mean time of the operations on one side, as a bar at @y; @most_ns fills the width. */
static void put_mean(struct text_out *o, const struct page_compared_row *row, int side,
		     double most_ns)
{
	double at = 0, width;

	for (int i = 0; i < SHARE_N; i++) {
		width = 100.0 * share_ns(share_ordered(i), row->of[side].strata) /
			row->of[side].count / most_ns;
		if (width)
			text_put(o, "<rect class=%c x=%.3f%% width=%.3f%% y=%d height=11></rect>",
				 share_letter(share_ordered(i)), at, width, side * 12);
		at += width;
	}
}

static uint64_t mean_ns(const struct page_compared_row *row, int side)
{
	return row->of[side].total_ns / row->of[side].count;
}

/* The mean times of both recordings, the base above, all on one scale; and the same in words. */
static void put_compared_rows(struct text_out *o, const struct page_compared *c)
{
	uint64_t most = 1;

	for (size_t i = 0; i < c->n_rows; i++)
		for (int side = 0; side < COMPARED_N; side++)
			most = mean_ns(&c->rows[i], side) > most ? mean_ns(&c->rows[i], side)
								 : most;
	if (c->n_rows)
		text_put(o, "<p class=hint>mean time of an operation; the base above</p>\n"
			    "<ul class=means>\n");
	for (size_t i = 0; i < c->n_rows; i++) {
		const struct page_compared_row *r = &c->rows[i];
		uint64_t base = mean_ns(r, COMPARED_BASE), new = mean_ns(r, COMPARED_NEW);

		text_put(o, "<li><b>");
		text_html(o, r->name, strlen(r->name));
		text_put(o, "</b> %s, then %s operations; mean %s,",
			 text_count(r->of[COMPARED_BASE].count).s,
			 text_count(r->of[COMPARED_NEW].count).s, text_ns(base).s);
		text_put(o, " then %s (%.2f times)<svg class=means height=24 aria-hidden=true>",
			 text_ns(new).s, base ? (double)new / base : 0);
		put_mean(o, r, COMPARED_BASE, most);
		put_mean(o, r, COMPARED_NEW, most);
		text_put(o, "</svg></li>\n");
	}
	if (c->n_rows)
		text_put(o, "</ul>\n");
}

/* The differences from another recording. */
static void put_compared(struct page_out *out)
{
	const struct page_compared *c = out->p->compared;
	struct text_out *o = &out->o;
	const char *base, *line;
	size_t len;

	if (!c || !c->base)
		return;
	base = basename(c->base);
	text_put(o, "<section id=compared><h2>Compared with ");
	text_html(o, base, strlen(base));
	text_put(o, "</h2>\n<p class=verdict>");
	for (line = c->answer; *line; line += len + !!line[len]) {
		len = strcspn(line, "\n");
		text_put(o, line == c->answer ? "" : "<br>\n");
		text_html(o, line, len);
	}
	text_put(o, "</p>\n");
	put_compared_rows(o, c);
	text_put(o, "<details><summary>by operation and stratum</summary><pre>");
	text_html_safe(o, c->text);
	text_put(o, "</pre></details>\n</section>\n");
}

/* The place of everything that the script shows. */
static void put_pictures(struct text_out *o)
{
	text_put(o, "<noscript><p>The pictures need JavaScript; the tables below do not."
		    "</p></noscript>\n<div id=app></div>\n");
}

/* The parts of a page without a recording. */
static void put_not_recorded(struct text_out *o)
{
	text_put(o,
		 "<section id=missing><h2>Not on this page</h2>\n<p>Strata, requests and latencies "
		 "over time, offsets, requests of single operations, and tables by other keys: "
		 "<code>iostrata breakdown</code> keeps sums only. <code>iostrata record --html "
		 "OUT.html</code> makes a page with all of them.</p></section>\n");
}

static struct page_names page_names(const struct page_out *out)
{
	return (struct page_names){ .ops = out->p->sn,
				    .calls = &out->calls,
				    .files = &out->files,
				    .disks = &out->disks,
				    .processes = &out->processes,
				    .cgroups = &out->cgroups,
				    .containers = out->p->names };
}

/* The patterns of files and disks in words. */
static void put_offsets(struct page_out *out)
{
	const struct page_names names = page_names(out);
	const struct page_map *maps[PAGE_MAPS];
	size_t n = page_maps(out->p->data, maps);
	struct text_out *o = &out->o;
	char words[PAGE_MAP_WORDS];
	const char *name;

	if (!n)
		return;
	text_put(o, "<section id=offsets><h2>Offsets over time</h2>\n<ul class=notes>\n");
	for (size_t i = 0; i < n; i++) {
		name = page_map_name(&names, maps[i]);
		page_map_words(words, maps[i]);
		text_put(o, "<li>%s", maps[i]->row ? "" : "disk ");
		text_html(o, name ? name : "?", strlen(name ? name : "?"));
		text_put(o, ": %s</li>\n", words);
	}
	text_put(o, "</ul></section>\n");
}

/* The times of all strata of an operation, in their order. */
static void put_strata(struct text_out *o, const uint64_t strata[ST_N], uint64_t total_ns,
		       const char *fs)
{
	text_put(o, "<ul class=key>");
	for (int i = 0; i < ST_N; i++) {
		if (!strata[i])
			continue;
		text_put(o, "<li><i class=%c>%c</i>", share_letter(stratum_share(i)),
			 stratum_letter(i));
		if (i == ST_FS && *fs)
			text_html(o, fs, strnlen(fs, FS_NAME_LEN));
		else
			text_put(o, "%s", stratum_label(i));
		text_put(o, " %s, %s</li>", text_ns(strata[i]).s,
			 text_percent(strata[i], total_ns).s);
	}
	text_put(o, "</ul>\n");
}

/* Heights in a waterfall, in pixels: of the segments, and of the line of a request. */
enum { FALL_SEGMENTS = 20, FALL_REQUEST = 9 };

/* Room for a letter on a wide page, and on a phone, in percent of the width. */
enum { LETTER_LEAST = 1, LETTER_PHONE = 4 };

/* A part of a waterfall: [@from, @to) ns of an operation that took @total_ns. */
struct fall_part {
	uint64_t from, to, total_ns;
	unsigned int stratum; /* ST_N: of merged segments, so not known */
	int y, height;
};

/* Draws a part that begins within the operation; a wide one with its letter. */
static void put_fall_part(struct text_out *o, const struct fall_part *p)
{
	char letter = p->stratum < ST_N ? stratum_letter(p->stratum) : '~';
	double end = p->to < p->total_ns ? p->to : p->total_ns;
	double x = 100.0 * p->from / p->total_ns, width = 100.0 * end / p->total_ns - x;

	if (p->from >= p->to || p->from >= p->total_ns)
		return;
	text_put(o, "<rect class=%c x=%.3f%% width=%.3f%% y=%d height=%d><title>%s: ",
		 share_letter(stratum_share(p->stratum)), x, width, p->y, p->height,
		 p->stratum < ST_N ? stratum_label(p->stratum) : "later ones");
	text_put(o, "%s at %s</title></rect>", text_ns(p->to - p->from).s, text_ns(p->from).s);
	if (p->height == FALL_SEGMENTS && width >= LETTER_LEAST)
		text_put(o, "<text class=\"%c%s\" x=%.3f%% y=15>%c</text>",
			 share_letter(stratum_share(p->stratum)),
			 width < LETTER_PHONE ? " thin" : "", x + width / 2, letter);
}

/* A request as a line of a waterfall: tag, queue, device. */
static void put_fall_request(struct text_out *o, const struct slow_request *rq, uint64_t total_ns,
			     int y)
{
	const uint64_t times[] = { rq->tag_ns, rq->queue_ns, rq->device_ns };
	static const unsigned int strata[] = { ST_TAG, ST_QUEUE, ST_DEVICE };
	int64_t at = rq->at_ns, end;

	for (int i = 0; i < 3; i++, at = end) {
		end = at + times[i];
		if (end > 0)
			put_fall_part(o, &(struct fall_part){ .from = at > 0 ? at : 0,
							      .to = end,
							      .total_ns = total_ns,
							      .stratum = strata[i],
							      .y = y,
							      .height = FALL_REQUEST - 2 });
	}
}

/* The segments of an operation in order and to scale, and below, on the same scale, its requests.
 */
static void put_fall(struct text_out *o, const struct slow_op *r)
{
	size_t n = r->requests ? r->requests->n : 0;
	struct fall_part part = { .total_ns = r->total_ns, .height = FALL_SEGMENTS };

	if (!r->total_ns)
		return;
	text_put(o,
		 "<svg class=fall height=%zu role=img aria-label=\"strata in order, to scale; "
		 "the table of segments has them as text\">",
		 FALL_SEGMENTS + (n ? 4 + n * FALL_REQUEST : 0));
	for (unsigned int i = 0; i < r->segments.n; i++, part.from = part.to) {
		part.to = part.from + SEGMENT_NS(r->segments.at[i]);
		part.stratum = SEGMENT_STRATUM(r->segments.at[i]);
		put_fall_part(o, &part);
	}
	part.to = r->total_ns;
	part.stratum = ST_N;
	put_fall_part(o, &part);
	for (size_t i = 0; i < n; i++)
		put_fall_request(o, &r->requests->list[i], r->total_ns,
				 FALL_SEGMENTS + 4 + i * FALL_REQUEST);
	text_put(o, "</svg>\n");
}

/* The titles of a table that is not sorted; @titles ends with NULL. The first column has text. */
static void put_titles(struct text_out *o, const char *const *titles)
{
	text_put(o, "<thead><tr>");
	for (int i = 0; titles[i]; i++)
		text_put(o, "<th scope=col%s>%s</th>", i ? " class=n" : "", titles[i]);
	text_put(o, "</tr></thead><tbody>\n");
}

static void put_segments(struct text_out *o, const struct slow_op *r)
{
	static const char *const titles[] = { "stratum", "at", "for", "share", NULL };
	const struct segments *s = &r->segments;
	uint64_t at = 0, ns;

	text_put(o, "<details><summary>%u segments in order</summary><div class=scroll><table>",
		 s->n);
	put_titles(o, titles);
	for (unsigned int i = 0; i < s->n; i++, at += ns) {
		ns = SEGMENT_NS(s->at[i]);
		text_put(o,
			 "<tr><td>%s</td><td class=n>%s</td><td class=n>%s</td><td "
			 "class=n>%s</td></tr>\n",
			 stratum_label(SEGMENT_STRATUM(s->at[i])), text_ns(at).s, text_ns(ns).s,
			 text_percent(ns, r->total_ns).s);
	}
	if (s->merged)
		text_put(o,
			 "<tr><td>%u later ones</td><td class=n>%s</td><td class=n>%s</td><td "
			 "class=n>%s</td></tr>\n",
			 s->merged, text_ns(at).s, text_ns(r->total_ns - at).s,
			 text_percent(r->total_ns - at, r->total_ns).s);
	text_put(o, "</tbody></table></div></details>\n");
}

static void put_slow_request(struct text_out *o, const struct breakdown_view *v,
			     const struct slow_request *rq, unsigned int tid)
{
	text_put(o, "<tr><td>");
	text_html(o, rq->disk, strnlen(rq->disk, sizeof(rq->disk)));
	text_put(o, " %s%s</td>", rq_op_name(rq->op), rq->failed ? ", failed" : "");
	text_put(o, "<td class=n>%s</td><td class=n>%s</td>", slowest_request_at(v, rq).s,
		 rq->bytes ? text_bytes(rq->bytes).s : "-");
	text_put(o, "<td class=n>%s</td><td class=n>%s</td><td class=n>%s</td>",
		 rq->unqueued ? "-" : text_ns(rq->tag_ns).s,
		 rq->unqueued ? "-" : text_ns(rq->queue_ns).s, text_ns(rq->device_ns).s);
	if (rq->who.tid != tid) {
		text_put(o, "<td class=n>");
		text_html(o, rq->who.comm, strnlen(rq->who.comm, COMM_LEN));
		text_put(o, "</td>");
	}
	text_put(o, "</tr>\n");
}

/* The requests that belong to an operation. */
static void put_slow_requests(struct page_out *out, const struct slow_op *r)
{
	const char *titles[] = {
		"request", "at", "bytes", "tag", "queue", "device", "from another thread", NULL
	};
	const struct slow_requests *s = r->requests;
	bool others = false;

	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		others |= s->list[i].who.tid != r->who.tid;
	titles[6] = others ? titles[6] : NULL;
	text_put(&out->o, "<div class=scroll><table class=requests>");
	put_titles(&out->o, titles);
	for (size_t i = 0; i < s->n; i++)
		put_slow_request(&out->o, &out->view, &s->list[i], r->who.tid);
	text_put(&out->o, "</tbody></table></div>\n");
	if (s->count > s->n)
		text_put(&out->o, "<p class=more>%s shorter ones</p>\n",
			 text_count(s->count - s->n).s);
}

static int put_slow(struct page_out *out, const struct slow_op *r)
{
	const char *fs = breakdown_fs_name(out->p->sn, r->fs);
	struct text_out details = {}, *o = &out->o;
	char title[192], *text = NULL;
	size_t len;

	details.f = open_memstream(&text, &len);
	if (!details.f)
		return -ENOMEM;
	slowest_details(&details, &out->view, out->p->sn, r);
	if (fclose(details.f) || details.err) {
		free(text);
		return -ENOMEM;
	}
	slowest_title(title, sizeof(title), &out->view, fs, r);
	text_put(o, "<li><p><b>");
	text_html_safe(o, title);
	text_put(o, "</b></p>\n");
	if (r->has_segments)
		put_fall(o, r);
	else
		put_bar(o, r->strata, r->total_ns);
	put_strata(o, r->strata, r->total_ns, fs);
	text_put(o, "<ul class=notes>");
	put_items(o, text);
	text_put(o, "</ul>\n");
	if (r->has_segments)
		put_segments(o, r);
	put_slow_requests(out, r);
	text_put(o, "</li>\n");
	free(text);
	return 0;
}

static int put_slowest(struct page_out *out)
{
	int err = 0;

	if (!out->p->n_slowest)
		return 0;
	text_put(&out->o, "<section id=slowest><h2>Slowest operations</h2>\n<ol class=slow>\n");
	for (size_t i = 0; i < out->p->n_slowest && !err; i++)
		err = put_slow(out, &out->p->slowest[i]);
	text_put(&out->o, "</ol></section>\n");
	return err;
}

/* Writes the JSON of the pictures. Returns 0 or -ENOMEM. */
static int put_pictures_data(struct page_out *out)
{
	const struct page_names names = page_names(out);
	size_t len;
	char *json = page_json(out->p, &names, PAGE_JSON_MAX, &len);

	if (!json)
		return -ENOMEM;
	text_script(&out->o, json, len);
	free(json);
	return 0;
}

static int put_data(struct page_out *out)
{
	int err = 0;

	text_put(&out->o, "<script type=\"application/json\" id=\"data\">");
	if (out->p->data)
		err = put_pictures_data(out);
	else
		put_words(&out->o, false);
	text_put(&out->o, "</script>\n");
	return err;
}

static int put_body(struct page_out *out)
{
	int err;

	text_put(&out->o, "<main>\n");
	put_compared(out);
	err = put_answer(out);
	if (out->p->data) {
		page_findings_put(&out->o, out->p);
		put_pictures(&out->o);
		put_offsets(out);
	}
	if (!err)
		err = put_slowest(out);
	/* the data comes before the tables: these take the rows with the names */
	if (!err)
		err = put_data(out);
	if (!err)
		err = put_tables(out);
	if (!out->p->data)
		put_not_recorded(&out->o);
	text_put(&out->o, "</main>\n");
	return err;
}

/* Sets the rows by keys. Returns 0 or -ENOMEM. */
static int rows_set(struct page_out *out)
{
	const struct page *p = out->p;
	int err = p->data       ? page_data_calls(p->sn, &out->calls)
		  : p->view->by ? page_data_kinds(p->sn, &out->keys)
				: 0;

	if (err || !p->data)
		return err;
	/* by disk before by file: see page_data_rows() */
	err = page_data_rows(p->data, BY_DEV, &out->disks);
	err = err ? err : page_data_rows(p->data, BY_FILE, &out->files);
	err = err ? err : page_data_rows(p->data, BY_PID, &out->processes);
	return err ? err : page_data_rows(p->data, BY_CGROUP, &out->cgroups);
}

/* Writes the head, with the title of the browser's tab: the name of the recording. */
static void put_head(struct page_out *out)
{
	static const char mark[] = "@title@";
	const char *at =
		memmem(page_head_begin, page_head_end - page_head_begin, mark, strlen(mark));
	const char *name = out->view.source.recording;

	text_write(&out->o, page_head_begin, at - page_head_begin);
	if (name)
		text_html(&out->o, name, strlen(name));
	text_put(&out->o, name ? " - iostrata" : "iostrata");
	at += strlen(mark);
	text_write(&out->o, at, page_head_end - at);
}

int page_put(FILE *f, const struct page *p)
{
	struct page_out out = { .o = { .f = f }, .p = p, .view = *p->view };
	int err;

	out.view.by = BY_NONE; /* of the answer */
	out.view.form.terminal = out.view.form.color = false;
	out.view.form.width = WIDE;
	if (out.view.source.recording) /* the reader of the page has other directories */
		out.view.source.recording = basename(out.view.source.recording);
	put_head(&out);
	err = rows_set(&out);
	if (!err)
		err = put_body(&out);
	text_write(&out.o, page_tail_begin, page_tail_end - page_tail_begin);
	snapshot_free(&out.calls);
	snapshot_free(&out.disks);
	snapshot_free(&out.files);
	snapshot_free(&out.processes);
	snapshot_free(&out.cgroups);
	snapshot_free(&out.keys);
	return err ? err : text_end(&out.o);
}
