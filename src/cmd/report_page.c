// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/report_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/reason.h"
#include "show/compare.h"

enum { TEXT_ROWS = 10 }; /* as many as the command compare shows */

/* Findings of slow operations: the page is to be made in seconds. */
enum {
	EXPLAIN_LEAST_OF = 500,   /* operations of a kind */
	EXPLAINED_MOST = 1000000, /* operations and requests of a recording */
	SLOW_PERCENTILE = 99,
};

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

/* The time of the operations of kind @op. */
static uint64_t kind_ns(const struct report_page *p, unsigned int op, uint64_t *ret_count)
{
	const struct latencies *l = &p->data.latencies;
	uint64_t sum = 0;

	*ret_count = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct latency_row *row = &l->rows[i];

		if (row->key.is_request || row->key.is_others || row->key.kind != op)
			continue;
		sum += row->total_ns;
		*ret_count += row->count;
	}
	return sum;
}

/* The kind of operations with most time below @most_ns; OP_N if there is none. Few operations tell
 * nothing. */
static unsigned int kind_next(const struct report_page *p, uint64_t most_ns, uint64_t *ret_ns)
{
	unsigned int best = OP_N;
	uint64_t ns, count;

	*ret_ns = 0;
	for (unsigned int op = OP_READ; op < OP_N; op++) {
		ns = kind_ns(p, op, &count);
		if (count < EXPLAIN_LEAST_OF || ns >= most_ns || ns <= *ret_ns)
			continue;
		best = op;
		*ret_ns = ns;
	}
	return best;
}

/* Why findings are not looked for, or NULL. */
static const char *explain_refused(const struct report_page *p, char *const *names, size_t n)
{
	uint64_t count = 0;
	struct stat st;

	for (size_t i = 0; i < p->data.latencies.n; i++)
		count += p->data.latencies.rows[i].count;
	if (n > 1)
		return "there are several recordings";
	if (!strcmp(names[0], "-") || stat(names[0], &st) || !S_ISREG(st.st_mode))
		return "the recording is no file that can be read again";
	return count > EXPLAINED_MOST ? "the recording is long" : NULL;
}

int report_page_explain(struct report_page *p, char *const *names, size_t n,
			const struct explain_conf *conf, struct reason *why)
{
	struct explain_conf one = *conf;
	uint64_t most_ns = UINT64_MAX;
	unsigned int op;
	int got = 0;

	if (!p->html)
		return 0;
	p->not_explained = explain_refused(p, names, n);
	while (!p->not_explained && got >= 0 && p->n_findings < PAGE_FINDINGS &&
	       (op = kind_next(p, most_ns, &most_ns)) < OP_N) {
		struct page_finding *found = &p->findings[p->n_findings++];
		FILE *f = fopen(names[0], "re");

		if (!f)
			return reason_set(why, EXIT_FAILED, "cannot open '%.200s': %s", names[0],
					  strerror(errno));
		found->op = op;
		one.kinds = 1U << op;
		one.percentile = SLOW_PERCENTILE;
		/* of a damaged recording, the part before is explained; report said so */
		got = explain_read(&found->e, f, names[0], &one, why);
		fclose(f);
	}
	return got < 0 ? -1 : 0;
}

void report_page_losses(struct report_page *p, const struct recording *rec, uint64_t first_ns)
{
	page_data_losses(&p->data, rec,
			 first_ns - rec->header.realtime_ns + rec->header.monotonic_ns);
}

int report_page_put(FILE *f, struct report_page *p, struct page *page, uint64_t across_ns)
{
	page_data_measure(&p->data, across_ns);
	page->data = &p->data;
	page->compared = &p->compared;
	page->findings = p->findings;
	page->n_findings = p->n_findings;
	page->not_explained = p->not_explained;
	return page_put(f, page);
}

void report_page_done(struct report_page *p)
{
	page_data_done(&p->data);
	for (size_t i = 0; i < p->n_findings; i++)
		explain_done(&p->findings[i].e);
	free(p->compared.answer);
	free(p->compared.text);
}
