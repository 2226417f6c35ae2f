// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/report_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "show/compare.h"

enum { TEXT_ROWS = 10 }; /* as many as the command compare shows */

const struct opt report_page_opts[] = {
	{ 0, "html", OPT_STRING(struct report_page, html), .arg = "OUT.html",
	  .help = "write a page for browsers to this new file, which needs no other file: the "
		  "answer, pictures, tables" },
	{ 0, "base", OPT_STRING(struct report_page, base), .arg = "FILE",
	  .help = "with --html: begin the page with the differences from this recording, as "
		  "'iostrata compare' shows them" },
	{ 0, "commands", OPT_FLAG(struct report_page, commands), .help = PAGE_COMMANDS_HELP },
	{},
};

int report_page_check(const struct report_page *p, char *const *names, int n, const char *other,
		      struct reason *why)
{
	if (!p->html && p->base) {
		reason_set(why, EXIT_USAGE, "--base is for --html only");
		return reason_hint(why, "'iostrata compare BASE NEW' compares recordings");
	}
	if (!p->html && p->commands)
		return reason_set(why, EXIT_USAGE, "--commands is for --html: tables have them");
	if (p->html && other)
		return reason_set(why, EXIT_USAGE,
				  "--html has all tables and pictures, %s is about one: choose one",
				  other);
	if (p->base && (n > 1 || !strcmp(names[0], "-")))
		return reason_set(why, EXIT_USAGE, "--base compares with one recording, a file");
	return 0;
}

int report_page_add(struct report_page *p, const struct recording *rec,
		    const struct stored_event *ev, uint64_t first_ns, struct reason *why)
{
	uint64_t real_ns =
		stored_event_end(ev) - rec->header.monotonic_ns + rec->header.realtime_ns;
	int64_t at = real_ns - first_ns;

	if (ev->kind != CHUNK_OPS && ev->kind != CHUNK_REQUESTS)
		return 0;
	if (!page_data_add(&p->data, rec, ev, at < 0 ? 0 : at))
		return 0;
	return reason_no_memory(why);
}

static int series_open(struct series *s, const char *name, const struct series_conf *conf,
		       struct reason *why)
{
	FILE *f = fopen(name, "re");
	int got;

	if (!f)
		return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", name,
				  strerror(errno));
	got = series_read(s, f, name, conf, why);
	fclose(f);
	return got < 0 ? -1
		       : 0; /* if one is damaged, the part before is compared; report said so */
}

/* The comparison as text, as the command compare prints it. The caller frees the result; NULL if
 * out of memory. */
static char *compared_text(const struct compare *c)
{
	const struct compare_view v = { .c = c, .rows_max = TEXT_ROWS };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int err = f ? compare_text(f, &v) : -ENOMEM;

	if (f && !fclose(f) && !err)
		return text;
	free(text);
	return NULL;
}

/* Adds up all intervals of @row as its side @side of @to. */
static void compared_add(struct page_compared_row *to, int side, const struct series *s,
			 const struct series_row *row)
{
	for (unsigned int i = 0; i < s->intervals; i++) {
		to->of[side].count += row->cells[i].count;
		to->of[side].total_ns += row->cells[i].total_ns;
		for (int st = 0; st < ST_N; st++)
			to->of[side].strata[st] += row->cells[i].strata[st];
	}
}

/* The most time of both sides. */
static uint64_t compared_most(const struct page_compared_row *row)
{
	uint64_t base = row->of[COMPARED_BASE].total_ns, new = row->of[COMPARED_NEW].total_ns;

	return base > new ? base : new;
}

/* Puts @row among the rows with most time. */
static void compared_keep(struct page_compared *c, const struct page_compared_row *row)
{
	size_t at = c->n_rows;

	while (at > 0 && compared_most(&c->rows[at - 1]) < compared_most(row))
		at--;
	if (at == COMPARED_ROWS)
		return;
	c->n_rows += c->n_rows < COMPARED_ROWS;
	memmove(&c->rows[at + 1], &c->rows[at], (c->n_rows - 1 - at) * sizeof(*c->rows));
	c->rows[at] = *row;
}

/* Sets the rows of the operations that are in both recordings. */
static void compared_rows(struct page_compared *c, const struct series *base,
			  const struct series *new)
{
	for (size_t i = 0; i < new->n_rows; i++) {
		const struct series_row *n = &new->rows[i];
		struct page_compared_row row = {};

		if (n->key.is_request)
			continue;
		snprintf(row.name, sizeof(row.name), "%s%s%s", n->key.what,
			 *n->key.where ? " " : "", n->key.where);
		compared_add(&row, COMPARED_NEW, new, n);
		for (size_t k = 0; k < base->n_rows; k++)
			if (!series_key_compare(&base->rows[k].key, &n->key))
				compared_add(&row, COMPARED_BASE, base, &base->rows[k]);
		if (row.of[COMPARED_BASE].count && row.of[COMPARED_NEW].count)
			compared_keep(c, &row);
	}
}

int report_page_compare(struct report_page *p, const char *name, const struct series_conf *conf,
			struct reason *why)
{
	struct series base = {}, new = {};
	struct compare c = { .runs = { &base, &new }, .n_runs = { 1, 1 } };
	int err;

	if (!p->base)
		return 0;
	err = series_open(&base, p->base, conf, why);
	if (!err)
		err = series_open(&new, name, conf, why);
	if (!err)
		err = compare_runs(&c, why);
	if (!err) {
		p->compared = (struct page_compared){ .base = p->base,
						      .answer = compare_answer(&c),
						      .text = compared_text(&c) };
		compared_rows(&p->compared, &base, &new);
		if (!p->compared.answer || !p->compared.text)
			err = reason_no_memory(why);
	}
	compare_done(&c);
	series_done(&base);
	series_done(&new);
	return err;
}

int report_page_put(FILE *f, struct report_page *p, struct page *page, uint64_t across_ns)
{
	page_data_measure(&p->data, across_ns);
	page->data = &p->data;
	page->compared = &p->compared;
	return page_put(f, page);
}

void report_page_done(struct report_page *p)
{
	page_data_done(&p->data);
	free(p->compared.answer);
	free(p->compared.text);
}
