// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown_tables.c - columns and cells of the two tables; see breakdown_tables.h.
 */
#include "breakdown_tables.h"

#include <string.h>

#include "names.h"
#include "table.h"
#include "waterfall.h"

/* What a cell needs beside its row. */
struct cell_ctx {
	const struct breakdown_view *v;
	const struct snapshot *sn;
};

static void cell_safe(char *dst, const char *src, size_t max)
{
	text_safe_n(dst, TABLE_CELL, src, strnlen(src, max));
	if (!*dst)
		strcpy(dst, "-");
}

static void cell_text(char *dst, const char *text)
{
	snprintf(dst, TABLE_CELL, "%s", text);
}

static void cell_time(char *dst, const struct cell_ctx *c, uint64_t ns)
{
	cell_text(dst, view_cell(c->v, ns).s);
}

static void by_key_cell(char *dst, const void *row, const void *ctx)
{
	const struct cell_ctx *c = ctx;
	const struct op_row *r = row;

	if (r->by)
		cell_safe(dst, r->by, strlen(r->by));
	else
		cell_text(dst, c->v->by == BY_CACHE ? cache_name(r->key.cache) : "-");
}

static void by_op_cell(char *dst, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	cell_text(dst, op_name(r->key.op));
}

static void by_fs_cell(char *dst, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	cell_safe(dst, r->fs, sizeof(r->fs));
}

static void by_count_cell(char *dst, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	(void)ctx;
	cell_text(dst, text_short(r->count).s);
}

static void by_mean_cell(char *dst, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	cell_time(dst, ctx, r->total_ns / r->count);
}

static void by_p99_cell(char *dst, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	cell_time(dst, ctx, hist_percentile(r->hist, 99, r->max_ns));
}

static void by_total_cell(char *dst, const void *row, const void *ctx)
{
	const struct op_row *r = row;

	cell_time(dst, ctx, r->total_ns);
}

/* The share of the strata in @set (bits 1 << stratum); "-" if none of them was measured. */
static void share_cell(char *dst, const struct op_row *r, const struct cell_ctx *c,
		       unsigned int set)
{
	const struct missing *m = c->v->missing;
	bool measured = false;
	uint64_t ns = 0;

	for (int i = 0; i < ST_N; i++) {
		if (!(set & 1u << i))
			continue;
		ns += r->strata[i];
		measured |= !m || !m->stratum[i];
	}
	if (measured && r->total_ns)
		snprintf(dst, TABLE_CELL, "%.0f%%", 100.0 * ns / r->total_ns);
	else
		cell_text(dst, "-");
}

enum {
	SET_CPU = 1 << ST_SYSCALL | 1 << ST_VFS | 1 << ST_FS,
	SET_QUEUE = 1 << ST_TAG | 1 << ST_QUEUE,
	SET_DEVICE = 1 << ST_DEVICE,
	SET_RUNQ = 1 << ST_RUNQ | 1 << ST_PREEMPT,
	SET_OTHER = ((1 << ST_N) - 1) & ~(SET_CPU | SET_QUEUE | SET_DEVICE | SET_RUNQ),
};

static void cpu_cell(char *dst, const void *row, const void *ctx)
{
	share_cell(dst, row, ctx, SET_CPU);
}

static void queue_cell(char *dst, const void *row, const void *ctx)
{
	share_cell(dst, row, ctx, SET_QUEUE);
}

static void device_cell(char *dst, const void *row, const void *ctx)
{
	share_cell(dst, row, ctx, SET_DEVICE);
}

static void runq_cell(char *dst, const void *row, const void *ctx)
{
	share_cell(dst, row, ctx, SET_RUNQ);
}

static void other_cell(char *dst, const void *row, const void *ctx)
{
	share_cell(dst, row, ctx, SET_OTHER);
}

void by_table_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		  const struct breakdown_rows *rows)
{
	struct cell_ctx ctx = { v, sn };
	struct table t = {
		.cols = {
			{ by_name(v->by), 0, false, TEXT_CUT_TAIL, by_key_cell },
			{ "op", 5, false, TEXT_CUT_TAIL, by_op_cell },
			{ "fs", 7, false, TEXT_CUT_TAIL, by_fs_cell },
			{ "count", 5, true, TEXT_CUT_TAIL, by_count_cell },
			{ "mean", 7, true, TEXT_CUT_TAIL, by_mean_cell },
			{ "p99", 7, true, TEXT_CUT_TAIL, by_p99_cell },
			{ "total", 7, true, TEXT_CUT_TAIL, by_total_cell },
			{ "cpu", 4, true, TEXT_CUT_TAIL, cpu_cell },
			{ "que", 4, true, TEXT_CUT_TAIL, queue_cell },
			{ "dev", 4, true, TEXT_CUT_TAIL, device_cell },
			{ "run", 4, true, TEXT_CUT_TAIL, runq_cell },
			{ "oth", 4, true, TEXT_CUT_TAIL, other_cell },
		},
		.n_cols = 12, .width = view_width(v), .ctx = &ctx,
	};

	if (v->by == BY_FILE || v->by == BY_CGROUP)
		t.cols[0].cut = TEXT_CUT_HEAD;
	if (v->by == BY_FILE) { /* its path says where it is, and needs the room */
		t.n_cols--;
		memmove(&t.cols[2], &t.cols[3], (t.n_cols - 2) * sizeof(t.cols[0]));
	}
	text_put(o, "\n");
	table_put(o, &t, (const void *const *)rows->ops, rows->n_ops);
	text_put(o, "%sshares of the total: cpu is syscall+vfs+fs, que tag+queue, dev device,\n"
		    "run runq+preempt, oth the rest\n",
		 v->milliseconds ? "mean, p99 and total are in ms\n" : "");
}

/* The table of requests. */

static void rq_disk_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	cell_safe(dst, r->disk, sizeof(r->disk));
}

static void rq_op_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	cell_text(dst, rq_op_name(r->key.op));
}

static void rq_count_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	cell_text(dst, text_count7(r->count).s);
}

static void rq_errors_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	(void)ctx;
	cell_text(dst, text_short(r->errors).s);
}

static void rq_rate_cell(char *dst, const void *row, const void *ctx)
{
	const struct cell_ctx *c = ctx;
	const struct rq_row *r = row;

	cell_text(dst, text_rate(r->count, c->sn->duration_ns).s);
}

/* Mean of @ns over the requests whose submission was seen. */
static void queued_cell(char *dst, const struct rq_row *r, const struct cell_ctx *c, uint64_t ns)
{
	uint64_t seen = r->count > r->unqueued ? r->count - r->unqueued : 0;

	if (r->key.bio_based || !seen)
		cell_text(dst, "-");
	else
		cell_time(dst, c, ns / seen);
}

static void rq_tag_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	queued_cell(dst, r, ctx, r->tag_ns);
}

static void rq_queue_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	queued_cell(dst, r, ctx, r->queue_ns);
}

static void rq_device_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	cell_time(dst, ctx, r->device_ns / r->count);
}

static void rq_p99_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	cell_time(dst, ctx, hist_percentile(r->hist, 99, r->max_ns));
}

static void rq_max_cell(char *dst, const void *row, const void *ctx)
{
	const struct rq_row *r = row;

	cell_time(dst, ctx, r->max_ns);
}

/* A line for each disk and operation of which some submissions were not seen. */
static void put_unqueued(struct text_out *o, const struct breakdown_rows *rows, int width)
{
	for (size_t i = 0; i < rows->n_rqs; i++) {
		const struct rq_row *r = rows->rqs[i];
		char disk[TABLE_CELL], text[TABLE_CELL + 128];

		if (!r->unqueued || r->key.bio_based)
			continue;
		cell_safe(disk, r->disk, sizeof(r->disk));
		snprintf(text, sizeof(text), "%s %s: tag and queue not known of %s, submitted "
			 "unseen", disk, rq_op_name(r->key.op), text_count(r->unqueued).s);
		text_wrap(o, text, 0, 2, width);
	}
}

void rq_table_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		  const struct breakdown_rows *rows)
{
	struct cell_ctx ctx = { v, sn };
	struct table t = {
		.cols = {
			{ "disk", 0, false, TEXT_CUT_TAIL, rq_disk_cell },
			{ "requests", 8, false, TEXT_CUT_TAIL, rq_op_cell },
			{ "count", 7, true, TEXT_CUT_TAIL, rq_count_cell },
			{ "rate", 7, true, TEXT_CUT_TAIL, rq_rate_cell },
			{ "tag", 7, true, TEXT_CUT_TAIL, rq_tag_cell },
			{ "queue", 7, true, TEXT_CUT_TAIL, rq_queue_cell },
			{ "device", 7, true, TEXT_CUT_TAIL, rq_device_cell },
			{ "p99", 7, true, TEXT_CUT_TAIL, rq_p99_cell },
			{ "max", 7, true, TEXT_CUT_TAIL, rq_max_cell },
			{ "errors", 6, true, TEXT_CUT_TAIL, rq_errors_cell },
		},
		.n_cols = 10, .width = view_width(v), .ctx = &ctx,
	};

	text_put(o, "\n");
	table_put(o, &t, (const void *const *)rows->rqs, rows->n_rqs);
	text_put(o, "%stag, queue and device are means; p99 and max are of %s\n",
		 v->milliseconds ? "times in ms; " : "", v->queued ? "all three" : "device");
	put_unqueued(o, rows, t.width);
}
