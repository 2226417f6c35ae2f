// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown_text.c - prints a snapshot as text; see breakdown_text.h.
 *
 * Owns the sections and their order; bars, histograms, tables and single operations have files of
 * their own.
 */
#include "breakdown_text.h"

#include <errno.h>
#include <string.h>

#include "breakdown_tables.h"
#include "hist_text.h"
#include "names.h"
#include "slowest_text.h"
#include "waterfall.h"

enum { TITLE_COLUMNS = 14 };

static void put_safe(char *dst, size_t cap, const char *src, size_t max)
{
	text_safe_n(dst, cap, src, strnlen(src, max));
}

static void put_head(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	char safe[256], kernel[64];

	text_safe(safe, sizeof(safe), v->kernel ? v->kernel : "");
	text_fit(kernel, sizeof(kernel), safe, 50, TEXT_CUT_TAIL);
	text_put(o, "traced %s%s%s\n", text_ns(sn->duration_ns).s, *kernel ? " on Linux " : "",
		 kernel);
}

/* What stands for a row in a heading: "read ext4", "vfs read ext4", "pread64 ext4", then the key
 * if there is one. */
static void row_title(char *dst, size_t cap, const struct breakdown_view *v,
		      const struct op_row *r)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], key[512] = "", buf[16];
	const char *op = op_name(r->key.op), *layer = v->layer == LAYER_VFS ? "vfs " : "";

	put_safe(fs, sizeof(fs), r->fs, sizeof(r->fs));
	if (r->by)
		text_safe(key, sizeof(key), r->by);
	if (v->layer == LAYER_SYSCALL)
		op = breakdown_call_name(v, r->key.call, buf);
	snprintf(dst, cap, "%s%s%s%s%s%s%s%s", layer, op, *fs ? " " : "", fs, *key ? ", " : "",
		 *key ? by_name(v->by) : "", *key ? " " : "", key);
}

/* The titles above the figures of a row. */
static void put_titles(struct text_out *o, const struct breakdown_view *v, const struct op_row *r)
{
	const char *titles = v->milliseconds ? "mean ms  p50 ms  p99 ms p99.9 ms  max ms"
					     : "   mean     p50     p99   p99.9     max";
	char title[256], fit[64];
	int cols;

	row_title(title, sizeof(title), v, r);
	cols = text_fit(fit, sizeof(fit), title, TITLE_COLUMNS, TEXT_CUT_TAIL);
	text_put(o, "\n%s%s%s", view_paint(v, PAINT_TITLE), fit, view_paint(v, PAINT_OFF));
	text_fill(o, ' ', TITLE_COLUMNS - cols);
	text_put(o, "%8s%8s%9s %s\n", "count", "rate", "bytes", titles);
}

/* A row of the default view in columns of 8, 9 where the title is longer. */
static void put_figures(struct text_out *o, const struct breakdown_view *v,
			const struct snapshot *sn, const struct op_row *r)
{
	uint64_t p50 = hist_percentile(r->hist, 50, r->max_ns);
	uint64_t p99 = hist_percentile(r->hist, 99, r->max_ns);
	uint64_t p999 = hist_percentile(r->hist, 99.9, r->max_ns);
	char errors[40] = "";

	put_titles(o, v, r);
	if (r->errors)
		snprintf(errors, sizeof(errors), "  %s failed", text_short(r->errors).s);
	text_put(o, "%-*s%8s%8s%9s", TITLE_COLUMNS, errors, text_count7(r->count).s,
		 text_rate(r->count, sn->duration_ns).s, text_bytes(r->bytes).s);
	text_put(o, "%8s%8s%8s%*s%8s\n", view_cell(v, r->total_ns / r->count).s,
		 view_cell(v, p50).s, view_cell(v, p99).s, v->milliseconds ? 9 : 8,
		 view_cell(v, p999).s, view_cell(v, r->max_ns).s);
}

static void put_op(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct op_row *r)
{
	struct waterfall w = { .fs = r->fs, .strata = r->strata, .total_ns = r->total_ns,
			       .count = r->count };

	put_figures(o, v, sn, r);
	waterfall_put(o, v, &w);
	if (v->histograms)
		hist_put(o, r->hist, r->max_ns, v->milliseconds, view_width(v));
}

/* Heading of a histogram: @title, how many, how long. */
static void put_hist_title(struct text_out *o, const struct breakdown_view *v, const char *title,
			   uint64_t count, uint64_t total_ns)
{
	char sums[128], fit[256];

	snprintf(sums, sizeof(sums), ": count %s, total %s, mean %s", text_count(count).s,
		 view_time(v, total_ns).s, view_time(v, total_ns / count).s);
	text_fit(fit, sizeof(fit), title, view_width(v) - strlen(sums), TEXT_CUT_TAIL);
	text_put(o, "\n%s%s%s%s\n", view_paint(v, PAINT_TITLE), fit, view_paint(v, PAINT_OFF),
		 sums);
}

static void put_op_hist(struct text_out *o, const struct breakdown_view *v, const struct op_row *r)
{
	char title[1024];

	row_title(title, sizeof(title), v, r);
	put_hist_title(o, v, title, r->count, r->total_ns);
	hist_put(o, r->hist, r->max_ns, v->milliseconds, view_width(v));
}

static void put_rq_hist(struct text_out *o, const struct breakdown_view *v, const struct rq_row *r)
{
	char disk[TEXT_SAFE_CAP(sizeof(r->disk))], title[sizeof(disk) + 64];

	put_safe(disk, sizeof(disk), r->disk, sizeof(r->disk));
	snprintf(title, sizeof(title), "%s %s%s", disk, rq_op_name(r->key.op),
		 v->queued ? " with tag and queue" : "");
	put_hist_title(o, v, title, r->count, breakdown_rq_total(v, r));
	hist_put(o, r->hist, r->max_ns, v->milliseconds, view_width(v));
}

/* Strata that have something to do with what is shown; all with LAYER_OPS. */
static bool stratum_matters(const struct breakdown_view *v, int st)
{
	switch (v->layer) {
	case LAYER_OPS:
		return true;
	case LAYER_VFS:
		return st == ST_VFS;
	case LAYER_FS:
		return st == ST_FS;
	default:
		return false;
	}
}

/* Reason why stratum @i, or with ST_N the requests, could not be measured; NULL if it was, or does
 * not matter here. */
static const char *missing_reason(const struct breakdown_view *v, int i)
{
	bool requests_matter = v->layer == LAYER_OPS || v->layer == LAYER_BLK;

	if (!v->missing)
		return NULL;
	if (i == ST_N)
		return requests_matter ? v->missing->requests : NULL;
	return stratum_matters(v, i) ? v->missing->stratum[i] : NULL;
}

/* Names of all that is missing for the same reason as @first, it included: "vfs, fs"; "" if they
 * were told with one before it. */
static void missing_alike(char *dst, size_t cap, const struct breakdown_view *v, int first)
{
	size_t len = 0;

	*dst = '\0';
	for (int i = 0; i <= ST_N && len < cap; i++) {
		const char *reason = missing_reason(v, i);

		if (!reason || strcmp(reason, missing_reason(v, first)))
			continue;
		if (i < first)
			return;
		len += snprintf(dst + len, cap - len, "%s%s", len ? ", " : "",
				i < ST_N ? stratum_name(i) : "requests");
	}
}

static void put_missing(struct text_out *o, const struct breakdown_view *v)
{
	char names[128], text[512];
	bool told = false;

	for (int i = 0; i <= ST_N; i++) {
		const char *reason = missing_reason(v, i);

		if (!reason)
			continue;
		missing_alike(names, sizeof(names), v, i);
		if (!*names)
			continue;
		snprintf(text, sizeof(text), "not measured: %s (%s)", names, reason);
		text_put(o, "%s", told ? "" : "\n");
		text_wrap(o, text, 0, 2, view_width(v));
		told = true;
	}
}

static void put_lost(struct text_out *o, const struct snapshot *sn)
{
	static const char *const what[LOST_N + 1] = {
		[LOST_RING] = "records found the ring buffer full",
		[LOST_MAP_FULL] = "rows, requests or threads found no room in a table",
		[LOST_UNMATCHED_START] = "began and were never seen to end",
		[LOST_UNMATCHED_END] = "ended and were never seen to begin",
		[LOST_N] = "probe hits were not run by the kernel",
	};
	bool told = false;

	for (int i = 0; i <= LOST_N; i++) {
		uint64_t n = i < LOST_N ? sn->lost[i] : sn->missed;

		if (!n)
			continue;
		text_put(o, "%s%13s %s\n", told ? "" : "\nlost, so the figures are not complete:\n",
			 text_count(n).s, what[i]);
		told = true;
	}
}

static void put_overhead(struct text_out *o, const struct snapshot *sn)
{
	if (!sn->has_overhead || !sn->bpf_run_cnt)
		return;
	text_put(o, "\noverhead: %s probe runs took %s of CPU time, %s each\n",
		 text_count(sn->bpf_run_cnt).s, text_ns(sn->bpf_run_ns).s,
		 text_ns(sn->bpf_run_ns / sn->bpf_run_cnt).s);
}

/* What was looked for where nothing was found. */
static void put_nothing(struct text_out *o, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	static const char *const what[] = {
		[LAYER_OPS] = "operation", [LAYER_SYSCALL] = "system call",
		[LAYER_VFS] = "VFS call",  [LAYER_FS] = "file system call",
		[LAYER_BLK] = "block request",
	};
	char text[512], filters[256], fs[64];
	bool fs_named = v->fs_filter && v->layer != LAYER_BLK;

	text_safe(filters, sizeof(filters), v->looked_for ? v->looked_for : "");
	text_safe(fs, sizeof(fs), fs_named ? v->fs_filter : "");
	snprintf(text, sizeof(text), "no I/O seen in %s: no %s%s%s ended%s%s%s",
		 text_ns(sn->duration_ns).s, what[v->layer], *fs ? " on " : "", fs,
		 *filters ? " (looked for " : "", filters, *filters ? ")" : "");
	text_put(o, "\n");
	text_wrap(o, text, 0, 2, view_width(v));
}

static void put_ops(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		    const struct breakdown_rows *rows)
{
	bool table = v->by != BY_NONE && v->layer == LAYER_OPS && rows->n_ops;

	if (table)
		by_table_put(o, v, sn, rows);
	for (size_t i = 0; i < rows->n_ops; i++) {
		if (v->layer != LAYER_OPS || (table && v->histograms))
			put_op_hist(o, v, rows->ops[i]);
		else if (!table)
			put_op(o, v, sn, rows->ops[i]);
	}
}

static void put_requests(struct text_out *o, const struct breakdown_view *v,
			 const struct snapshot *sn, const struct breakdown_rows *rows)
{
	if (!rows->n_rqs || (v->layer != LAYER_OPS && v->layer != LAYER_BLK))
		return;
	rq_table_put(o, v, sn, rows);
	for (size_t i = 0; i < rows->n_rqs && (v->histograms || v->layer == LAYER_BLK); i++)
		put_rq_hist(o, v, rows->rqs[i]);
}

int breakdown_text(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct op_record *slowest, size_t n_slowest)
{
	struct text_out o = { .f = f };
	struct breakdown_rows rows;
	int err = breakdown_rows_init(&rows, v, sn);

	if (err)
		return err;
	put_head(&o, v, sn);
	if (v->layer == LAYER_BLK ? !rows.n_rqs : !rows.n_ops)
		put_nothing(&o, v, sn);
	put_ops(&o, v, sn, &rows);
	put_requests(&o, v, sn, &rows);
	if (slowest)
		slowest_put(&o, v, sn, slowest, n_slowest);
	put_lost(&o, sn);
	put_missing(&o, v);
	put_overhead(&o, sn);
	breakdown_rows_done(&rows);
	return text_end(&o);
}
