// SPDX-License-Identifier: GPL-2.0-only
/*
 * breakdown_text.c - prints a snapshot as text. Owns the sections and their order: operations,
 * requests, patterns, sleeps, helpers, slowest, losses, missing figures, overhead.
 */
#include "show/breakdown_text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/rows.h"
#include "base/snapshot.h"
#include "base/text.h"
#include "host/devices.h"
#include "show/breakdown.h"
#include "show/columns.h"
#include "show/daemons.h"
#include "show/first_screen.h"
#include "show/joined.h"
#include "show/slowest.h"
#include "show/stacks_text.h"
#include "show/view_parts.h"

/* The work of helpers: for which process, and for how long. */

enum {
	ROWS_MOST = 8,   /* of a table of helpers or of sleeps, without -v and -n */
	FILES_FIRST = 4, /* files of a row that -v lists; -vv lists VIEW_FILES */
};

/* The key of a row in text. Workers with the same work for the same process are one row, however
 * the process is known. */
static struct helper_key key_in_text(const struct helper_key *k)
{
	static const char worker[] = "kworker/";
	struct helper_key key = *k;

	if (!*key.work)
		memcpy(key.work, key.comm, sizeof(key.work));
	if (!strncmp(key.work, worker, strlen(worker)))
		memset(key.work + strlen(worker) - 1, 0, sizeof(key.work) - strlen(worker) + 1);
	memset(key.comm, 0, sizeof(key.comm));
	key.tid = 0;
	key.behalf = !!key.behalf;
	return key;
}

/* Adds up the rows of @sn with helpers' time (@times) or with their requests. */
static int rows_in_text(struct rows *rows, const struct snapshot *sn, bool times)
{
	for (size_t i = 0; i < sn->n_helpers; i++) {
		const struct helper_row *from = &sn->helpers[i];
		struct helper_key key = key_in_text(&from->key);
		struct helper_row *row;

		if ((key.op == HELPER_TIME) != times)
			continue;
		row = rows_helper(rows, &key);
		if (!row)
			return -ENOMEM;
		helper_row_add(row, &from->sums);
		memcpy(row->disk, from->disk, sizeof(row->disk));
	}
	return 0;
}

static void put_table(struct text_out *o, const struct breakdown_view *v,
		      const struct column *columns, const void *const *rows, size_t n)
{
	const struct columns t = { .list = columns,
				   .ctx = &(struct breakdown_whole){ .v = v },
				   .width = view_width(v),
				   .uncut = !v->form.terminal,
				   .milliseconds = v->form.milliseconds };
	size_t most = v->form.rows_max ? v->form.rows_max : v->form.detail ? n : ROWS_MOST;
	size_t shown = n > most + !v->form.rows_max ? most : n;

	text_put(o, "\n");
	columns_text(o, &t, rows, shown);
	if (shown < n)
		text_put(o, "%s more; %s\n", text_count(n - shown).s, view_more(v));
}

static int put_rows(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		    bool times)
{
	const struct helper_row **sorted;
	struct snapshot merged = {};
	struct rows rows = {};
	int err = rows_in_text(&rows, sn, times);

	rows_take(&rows, &merged);
	sorted = err ? NULL : breakdown_helpers(&merged, times);
	if (sorted && merged.n_helpers)
		put_table(o, v, times ? helper_time_columns : helper_columns,
			  (const void *const *)sorted, merged.n_helpers);
	err = sorted ? 0 : -ENOMEM;
	free(sorted);
	snapshot_free(&merged);
	return err;
}

/* Writes how many requests of helpers are for an unknown process. */
static void put_unknown(struct text_out *o, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	uint64_t all = 0, unknown = 0;
	char text[128];

	for (size_t i = 0; i < sn->n_helpers; i++) {
		const struct helper_row *r = &sn->helpers[i];

		if (r->key.op == HELPER_TIME)
			continue;
		all += r->sums.count;
		unknown += r->key.behalf ? 0 : r->sums.count;
	}
	if (!all)
		snprintf(text, sizeof(text), "no request of a kernel thread or io worker");
	else if (unknown)
		snprintf(text, sizeof(text),
			 "%s of %s requests of helpers are for unknown processes",
			 text_count(unknown).s, text_count(all).s);
	else
		return;
	text_put(o, "%s", all ? "" : "\n");
	view_line(o, v, text);
}

/* Requests to servers, if there were any. Returns 0 or -ENOMEM. */
static int servers_put(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn)
{
	const struct server_row **rows = sn->n_servers ? breakdown_servers(sn) : NULL;

	if (!sn->n_servers)
		return 0;
	if (!rows)
		return -ENOMEM;
	put_table(o, v, server_columns, (const void *const *)rows, sn->n_servers);
	free(rows);
	return daemons_put(o, v, sn);
}

/* Two tables; nothing unless v->helpers. Returns 0 or -ENOMEM. */
static int helpers_put(struct text_out *o, const struct breakdown_view *v,
		       const struct snapshot *sn)
{
	int err;

	if (!v->helpers)
		return 0;
	err = put_rows(o, v, sn, false);
	put_unknown(o, v, sn);
	return err ? err : put_rows(o, v, sn, true);
}

/* Where in the kernel threads slept for unknown reasons. */

/* A table; nothing unless v->why. Returns 0 or -ENOMEM. */
static int site_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	const struct columns t = { .list = site_columns,
				   .width = view_width(v),
				   .uncut = !v->form.terminal,
				   .milliseconds = v->form.milliseconds };
	size_t most = v->form.rows_max ? v->form.rows_max
		      : v->form.detail ? SIZE_MAX - 1
				       : ROWS_MOST;
	size_t n = sn->n_sites;
	const struct site_row **rows;

	if (!v->sites)
		return 0;
	text_put(o, "\n");
	if (!n) {
		view_line(o, v, "no sleep for unknown reasons");
		return 0;
	}
	rows = breakdown_sites(sn);
	if (!rows)
		return -ENOMEM;
	if (n > most + !v->form.rows_max)
		n = most;
	text_put(o, "%ssleep, by where%s\n", view_paint(v, PAINT_TITLE).s,
		 view_paint(v, PAINT_OFF).s);
	columns_text(o, &t, (const void *const *)rows, n);
	if (n < sn->n_sites)
		text_put(o, "%s more; %s\n", text_count(sn->n_sites - n).s, view_more(v));
	free(rows);
	return 0;
}

enum {
	TITLE_CAP = TEXT_SAFE_CAP(2 * PATH_MAX),
	TITLE_LEAST = 20, /* columns of a title; with fewer left, its sums are on their own line */
};

static void put_safe(char *dst, size_t cap, const char *src, size_t max)
{
	text_safe_n(dst, cap, src, strnlen(src, max));
}

static void put_head(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn)
{
	char safe[256], text[512];

	text_safe(safe, sizeof(safe), v->source.kernel ? v->source.kernel : "");
	if (v->interval.every_ns)
		snprintf(text, sizeof(text), "%s, %s", view_clock(v).s, text_ns(sn->duration_ns).s);
	else
		snprintf(text, sizeof(text), "traced %s%s%s", text_ns(sn->duration_ns).s,
			 *safe ? " on Linux " : "", safe);
	view_line(o, v, text);
}

/* The key of --by, safe. */
static void put_key(char *dst, size_t cap, const struct op_row *r)
{
	size_t len;
	const char *text = breakdown_key(r->by, r->contained, &len);

	text_safe_n(dst, cap, text, len);
}

/* Writes the heading of a row: "read ext4", "vfs read ext4", "pread64 ext4", "meta unlink",
 * "fdatasync ext4", then the key, if there is one. */
static void row_title(char *dst, size_t cap, const struct breakdown_view *v, const struct op_row *r)
{
	char fs[TEXT_SAFE_CAP(FS_NAME_LEN)], key[TITLE_CAP - 128] = "", op_buf[32], buf[16];
	const char *layer = v->layer == LAYER_VFS ? "vfs " : "";
	const char *op = breakdown_op_name(v, r, op_buf), *call = "";

	put_safe(fs, sizeof(fs), r->fs, sizeof(r->fs));
	if (r->by)
		put_key(key, sizeof(key), r);
	if (v->layer == LAYER_SYSCALL || (r->key.op == OP_FSYNC && r->key.call))
		op = "";
	if (v->layer == LAYER_SYSCALL ||
	    ((r->key.op == OP_META || r->key.op == OP_FSYNC) && r->key.call))
		call = breakdown_call_name(v, r->key.call, buf);
	snprintf(dst, cap, "%s%s%s%s%s%s%s%s%s%s", layer, op, *op && *call ? " " : "", call,
		 *fs ? " " : "", fs, *key ? ", " : "", *key ? by_name(v->by) : "", *key ? " " : "",
		 key);
}

/* Writes a title. It can contain a path, so it is cut on terminals only. */
static void put_title(struct text_out *o, const struct breakdown_view *v, const char *title,
		      int room)
{
	char fit[TITLE_CAP];

	text_fit(fit, sizeof(fit), title, v->form.terminal ? view_width(v) - room : TITLE_CAP,
		 TEXT_CUT_MIDDLE);
	text_put(o, "\n%s%s%s", view_paint(v, PAINT_TITLE).s, fit, view_paint(v, PAINT_OFF).s);
}

/* Writes the bytes read from devices, if they differ from the bytes asked for. */
static void put_read_in(struct text_out *o, const struct breakdown_view *v, const struct op_row *r)
{
	bool reads = breakdown_row_reads(v, r) && r->bytes;
	char text[128];
	int n;

	if (!r->device_bytes || !breakdown_fs_has_device_bytes(v, r->fs) ||
	    (reads && r->device_bytes == r->bytes))
		return;
	n = snprintf(text, sizeof(text), "  read from devices: %s", text_bytes(r->device_bytes).s);
	if (reads)
		snprintf(text + n, sizeof(text) - n, ", %.2f times the bytes returned",
			 (double)r->device_bytes / r->bytes);
	view_line(o, v, text);
}

static void put_op(struct text_out *o, const struct breakdown_view *v,
		   const struct breakdown_whole *whole, const struct op_row *r)
{
	struct waterfall w = { .fs = r->fs,
			       .strata = r->strata,
			       .total_ns = r->total_ns,
			       .count = r->count,
			       .indent = 2 };
	char title[TITLE_CAP];

	row_title(title, sizeof(title), v, r);
	put_title(o, v, title, 0);
	text_put(o, "\n");
	view_figures(o, v, whole, r);
	put_read_in(o, v, r);
	waterfall_put(o, v, &w);
	if (v->form.histograms)
		hist_put(o, &r->hist, r->max_ns, v->form.milliseconds, view_width(v));
}

/* Writes the heading of a histogram: @title, count, total and mean time. */
static void put_hist_title(struct text_out *o, const struct breakdown_view *v, const char *title,
			   uint64_t count, uint64_t total_ns)
{
	char sums[128];

	snprintf(sums, sizeof(sums), ": count %s, total %s, mean %s", text_count(count).s,
		 view_time(v, total_ns).s, view_time(v, total_ns / count).s);
	if (view_width(v) - (int)strlen(sums) < TITLE_LEAST) {
		put_title(o, v, title, 0);
		text_put(o, "\n");
		view_line(o, v, sums + 2);
	} else {
		put_title(o, v, title, strlen(sums));
		text_put(o, "%s\n", sums);
	}
}

static void put_op_hist(struct text_out *o, const struct breakdown_view *v, const struct op_row *r)
{
	char title[TITLE_CAP];

	row_title(title, sizeof(title), v, r);
	put_hist_title(o, v, title, r->count, r->total_ns);
	hist_put(o, &r->hist, r->max_ns, v->form.milliseconds, view_width(v));
}

static void put_rq_hist(struct text_out *o, const struct breakdown_view *v, const struct rq_row *r)
{
	char disk[TEXT_SAFE_CAP(sizeof(r->disk))], title[sizeof(disk) + 64];

	put_safe(disk, sizeof(disk), r->disk, sizeof(r->disk));
	snprintf(title, sizeof(title), "%s %s%s", disk, rq_op_name(r->key.op),
		 v->queued ? " with tag and queue" : "");
	put_hist_title(o, v, title, r->count, breakdown_rq_total(v, r));
	hist_put(o, &r->hist, r->max_ns, v->form.milliseconds, view_width(v));
}

/* Writes the names of all figures missing for the same reason as @first, included: "vfs, fs"; "" if
 * an earlier one already listed them. */
static void missing_alike(char *dst, size_t cap, const struct breakdown_view *v, int first)
{
	size_t len = 0;

	*dst = '\0';
	for (int i = 0; i < MISSING_N && len < cap; i++) {
		const char *reason = breakdown_missing(v, i);

		if (!reason || strcmp(reason, breakdown_missing(v, first)))
			continue;
		if (i < first)
			return;
		len += snprintf(dst + len, cap - len, "%s%s", len ? ", " : "",
				breakdown_missing_label(i));
	}
}

static void put_missing(struct text_out *o, const struct breakdown_view *v)
{
	char names[128], text[512];
	bool told = false;

	for (int i = 0; i < MISSING_N; i++) {
		const char *reason = breakdown_missing(v, i);

		if (!reason)
			continue;
		missing_alike(names, sizeof(names), v, i);
		if (!*names)
			continue;
		snprintf(text, sizeof(text), "not measured: %s (%s)", names, reason);
		text_put(o, "%s", told ? "" : "\n");
		view_wrap(o, v, text);
		told = true;
	}
}

/* Writes losses below @title. A lost name is told here, too, but leaves the figures complete. */
static void put_losses(struct text_out *o, const struct breakdown_view *v, const char *title,
		       const uint64_t lost[LOST_N], uint64_t missed)
{
	bool told = false;

	for (int i = 0; i <= LOST_N; i++) {
		uint64_t n = i < LOST_N ? lost[i] : missed;

		if (!n || !lost_what(i, n))
			continue;
		if (!told)
			text_put(o, "\n%s%s:\n", title,
				 lost_sum(lost, missed) > lost[LOST_NAMES]
					 ? ", so the figures are not complete"
					 : "");
		text_put(o, "%13s ", text_count(n).s);
		text_wrap(o, lost_what(i, n), 14, 14, view_width(v));
		told = true;
	}
}

/* Writes a line with a number that is in no table, between two texts; nothing if it is 0. */
static void put_beside(struct text_out *o, const struct breakdown_view *v, const char *before,
		       uint64_t n, const char *after)
{
	char text[160];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%s%s%s", before, text_count(n).s, after);
	text_put(o, "\n");
	view_line(o, v, text);
}

/* Numbers that are in no table. None is a loss. */
static void put_all_beside(struct text_out *o, const struct breakdown_view *v,
			   const struct snapshot *sn, const struct breakdown_rows *rows)
{
	if (breakdown_has_minor_faults(v))
		put_beside(
			o, v,
			"page faults that found their page in memory, not counted as operations: ",
			rows->whole.minor_faults, "");
	put_beside(o, v, "cgroups removed before their container was known: ", sn->unnamed_cgroups,
		   "");
	put_beside(o, v, "reads and writes without a pattern, because a table was full: ",
		   sn->unpatterned, "");
	put_beside(o, v, "completions of io_uring without a reap time: ", sn->unreaped, "");
	put_beside(o, v, "", sn->lost[LOST_UNMATCHED_END],
		   " in progress when tracing began: not counted");
}

void breakdown_notes(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     const struct breakdown_rows *rows)
{
	put_losses(o, v, "lost", sn->lost, sn->missed);
	put_losses(o, v, "lost at unknown times in the whole recording", sn->untimed.lost,
		   sn->untimed.missed);
	put_all_beside(o, v, sn, rows);
	if (!v->interval.later)
		put_missing(o, v);
}

static void overhead_text(char *text, size_t cap, uint64_t run_ns, uint64_t run_cnt)
{
	snprintf(text, cap, "overhead: %s probe runs took %s of CPU time, %s each",
		 text_count(run_cnt).s, text_ns(run_ns).s, text_ns(run_ns / run_cnt).s);
}

static void put_overhead(struct text_out *o, const struct breakdown_view *v,
			 const struct snapshot *sn)
{
	char text[128];

	if (!sn->has_overhead || !sn->bpf_run_cnt)
		return;
	overhead_text(text, sizeof(text), sn->bpf_run_ns, sn->bpf_run_cnt);
	view_line(o, v, text);
}

void overhead_say(FILE *f, uint64_t run_ns, uint64_t run_cnt)
{
	char text[128];

	if (!run_cnt)
		return;
	overhead_text(text, sizeof(text), run_ns, run_cnt);
	text_message(f, text);
}

/* Writes what was looked for, if nothing was found. */
static void put_nothing(struct text_out *o, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	char none[VIEW_NONE_ENDED], text[sizeof(none) + 128];

	view_none_ended(none, v);
	snprintf(text, sizeof(text), "%s%sno I/O seen in %s: %s",
		 v->interval.every_ns ? view_clock(v).s : "", v->interval.every_ns ? ", " : "",
		 text_ns(sn->duration_ns).s, none);
	view_wrap(o, v, text);
}

/* Writes a line for each disk and operation with requests whose submission was not traced. */
static void put_unqueued(struct text_out *o, const struct breakdown_view *v,
			 const struct breakdown_rows *rows)
{
	const struct devices *d = rows->whole.tree.devices;

	for (size_t i = 0; i < rows->n_rqs; i++) {
		const struct rq_row *r = rows->rqs[i];
		char disk[TEXT_SAFE_CAP(sizeof(r->disk))], text[sizeof(disk) + 160];
		size_t at = 0;
		bool below = d && devices_above(d, r->key.dev, &at);

		if (!r->unqueued || r->key.bio_based)
			continue;
		put_safe(disk, sizeof(disk), r->disk, sizeof(r->disk));
		snprintf(text, sizeof(text),
			 below ? "%s %s: no time in tag and queue for %s request%s, handed over by "
				 "a device above: the time is in the queue there"
			       : "%s %s: no time in tag and queue for %s request%s, because the "
				 "submission was not traced",
			 disk, rq_op_name(r->key.op), text_count(r->unqueued).s,
			 text_plural(r->unqueued));
		view_wrap(o, v, text);
	}
}

/* Writes a line for each disk below several others: its rows stand only once in the tree. */
static void put_below_several(struct text_out *o, const struct breakdown_view *v,
			      const struct device_tree *t)
{
	char disk[TEXT_SAFE_CAP(DEVICE_NAME)], name[DEVICE_NAME], above[512], text[1024];

	for (size_t i = 0; t->disks && i < t->n; i++) {
		if (device_tree_above_text(t, &t->disks[i], above, sizeof(above)) < 2)
			continue;
		devices_label(t->devices, t->disks[i].dev, name);
		put_safe(disk, sizeof(disk), name, sizeof(name));
		snprintf(text, sizeof(text), "%s is below %s: its rows have the requests of all",
			 disk, above);
		view_wrap(o, v, text);
	}
}

static size_t rows_at_most(const struct breakdown_view *v, size_t n)
{
	return v->form.rows_max && v->form.rows_max < n ? v->form.rows_max : n;
}

static void put_more(struct text_out *o, const struct breakdown_view *v, size_t n, const char *what)
{
	if (n)
		text_put(o, "\n%s more rows of %s; %s\n", text_count(n).s, what, view_more(v));
}

static void put_ops(struct text_out *o, const struct breakdown_view *v,
		    const struct breakdown_rows *rows)
{
	size_t n = rows_at_most(v, rows->n_ops);
	bool table = v->by != BY_NONE && v->layer == LAYER_OPS && v->form.detail < 2 && rows->n_ops;

	if (table) {
		text_put(o, "\n");
		view_ops(o, v, rows, n);
	}
	for (size_t i = 0; i < n; i++) {
		if (v->layer != LAYER_OPS || (table && v->form.histograms))
			put_op_hist(o, v, rows->ops[i]);
		else if (!table)
			put_op(o, v, &rows->whole, rows->ops[i]);
	}
	put_more(o, v, rows->n_ops - n, "operations");
}

/* "500 files on 254:0, one after another: inode 131 (generation 5), ...". */
static void put_files_of(struct text_out *o, const struct breakdown_view *v, const struct op_row *r,
			 const struct row_file *files, size_t n)
{
	unsigned int dev = FILE_KEY_DEV(files->by[0]);
	char text[VIEW_FILES * 64 + TEXT_SAFE_CAP(2 * PATH_MAX)];
	size_t most = v->form.detail > 1 ? VIEW_FILES : FILES_FIRST, at;

	at = text_safe_n(text, TEXT_SAFE_CAP(2 * PATH_MAX), r->by, strlen(r->by));
	at += sprintf(text + at, ": %s files on %u:%u, one after another:", text_count(n).s,
		      DEV_MAJOR(dev), DEV_MINOR(dev));
	for (size_t i = 0; i < n && i < most; i++)
		at += sprintf(text + at, "%s inode %llu (generation %llu)", i ? "," : "",
			      files[i].by[1], files[i].by[0] >> 32);
	if (n > most)
		sprintf(text + at, ", %s more", text_count(n - most).s);
	view_wrap(o, v, text);
}

/* Says which files the rows shown have, if several; once for each key. */
static void put_files(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		      const struct breakdown_rows *rows)
{
	size_t n_ops = v->by == BY_FILE ? rows_at_most(v, rows->n_ops) : 0, n;
	bool *told = calloc(sn->n_files + 1, sizeof(*told)); /* by the first file of the row */
	const struct row_file *files;

	for (size_t i = 0; i < n_ops && told; i++) {
		files = snapshot_files(sn, rows->ops[i]->key.by, &n);
		if (!files || told[files - sn->files])
			continue;
		told[files - sn->files] = true;
		put_files_of(o, v, rows->ops[i], files, n);
	}
	free(told);
}

static bool any_own(const struct breakdown_rows *rows)
{
	const struct columns t = { .list = rq_columns, .ctx = &rows->whole };
	const struct column *own = columns_find(rq_columns, "own");
	struct value value = { .unknown = true };

	for (size_t i = 0; i < rows->n_rqs && value.unknown; i++)
		columns_value(&value, &t, own, rows->rqs[i]);
	return !value.unknown;
}

/* Writes a line for each disk with rows: how busy the disk was, with the requests of everybody. */
static void put_busy(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     const struct breakdown_rows *rows)
{
	for (size_t i = 0; i < sn->n_disks; i++) {
		const struct disk_busy *d = &sn->disks[i];
		char disk[TEXT_SAFE_CAP(sizeof(d->disk))], text[sizeof(disk) + 128];
		char busy[64] = "had";
		bool shown = false;

		for (size_t j = 0; j < rows->n_rqs && !shown; j++)
			shown = !strncmp(rows->rqs[j]->disk, d->disk, sizeof(d->disk));
		if (!shown || !sn->disks_ns)
			continue;
		put_safe(disk, sizeof(disk), d->disk, sizeof(d->disk));
		if (d->busy_ns != BUSY_UNKNOWN)
			snprintf(busy, sizeof(busy), "was busy for %.0f%% of the time, with",
				 100.0 * d->busy_ns / sn->disks_ns);
		snprintf(text, sizeof(text), "%s %s %.2f %srequests in progress on average", disk,
			 busy, snapshot_disk_depth(sn, d),
			 d->busy_ns != BUSY_UNKNOWN ? "" : "of these ");
		view_wrap(o, v, text);
	}
}

static void put_requests(struct text_out *o, const struct breakdown_view *v,
			 const struct breakdown_rows *rows)
{
	size_t n = rows_at_most(v, rows->n_rqs);
	char text[256];

	if (!rows->n_rqs || (v->layer != LAYER_OPS && v->layer != LAYER_BLK))
		return;
	text_put(o, "\n");
	view_requests(o, v, rows, n);
	snprintf(text, sizeof(text), "tag, queue and device are means; %sp99 and max are of %s%s%s",
		 any_own(rows) ? "own is device without the disks below; " : "",
		 v->queued ? "all three" : "device",
		 v->chosen.of_ops && *v->chosen.of_ops ? "; only operations are filtered by " : "",
		 v->chosen.of_ops ? v->chosen.of_ops : "");
	view_wrap(o, v, text);
	put_busy(o, v, rows->whole.sn, rows);
	put_below_several(o, v, &rows->whole.tree);
	put_unqueued(o, v, rows);
	without_rows_put(o, v, rows);
	for (size_t i = 0; i < n && (v->form.histograms || v->layer == LAYER_BLK); i++)
		put_rq_hist(o, v, rows->rqs[i]);
	put_more(o, v, rows->n_rqs - n, "requests");
}

/* Says that there is no table of patterns, and how to get one. */
static void put_no_pattern(struct text_out *o, const struct breakdown_view *v)
{
	text_put(o, "\n");
	if (v->by == BY_FILE)
		view_wrap(o, v, "no patterns: no read or write of a file was seen");
	else
		view_wrap(o, v,
			  "no patterns: no request to a disk was seen; with --by file, patterns "
			  "are about files");
}

/* Sizes and patterns: a table for files, one for disks. Nothing unless v->pattern. Returns 0 or
 * -ENOMEM. */
static int patterns_put(struct text_out *o, const struct breakdown_view *v,
			const struct snapshot *sn)
{
	struct breakdown_rows rows;
	const void **list;
	size_t n_ops = 0, n = 0;
	int err = v->form.pattern ? breakdown_rows_init(&rows, v, sn) : 0;

	if (err || !v->form.pattern)
		return err;
	list = calloc(rows.n_ops + rows.n_rqs + 1, sizeof(*list));
	for (size_t i = 0; list && i < rows.n_ops; i++)
		if (rows.ops[i]->pattern)
			list[n_ops++] = rows.ops[i];
	if (n_ops)
		put_table(o, v, op_pattern_columns, list, n_ops);
	for (size_t i = 0; list && i < rows.n_rqs; i++)
		if (rows.rqs[i]->pattern)
			list[n++] = rows.rqs[i];
	if (n)
		put_table(o, v, rq_pattern_columns, list, n);
	if (list && !n && !n_ops)
		put_no_pattern(o, v);
	free(list);
	breakdown_rows_done(&rows);
	return list ? 0 : -ENOMEM;
}

static bool is_nothing(const struct breakdown_view *v, const struct breakdown_rows *rows)
{
	return !rows->n_ops && (!breakdown_has_requests(v) || !rows->n_rqs);
}

int breakdown_text(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct slow_op *slowest, size_t n_slowest)
{
	bool first = v->layer == LAYER_OPS && !v->form.detail && !v->form.histograms, told = false;
	struct text_out o = { .f = f };
	struct breakdown_rows rows;
	int err = breakdown_rows_init(&rows, v, sn);

	if (err)
		return err;
	if (first && !is_nothing(v, &rows)) {
		err = first_screen_put(&o, v, sn, &rows);
		told = true;
	} else {
		text_put(&o, "%s", v->interval.later ? "\n" : "");
		unfinished_put(&o, v, sn);
		if (is_nothing(v, &rows)) {
			put_nothing(&o, v, sn);
		} else {
			put_head(&o, v, sn);
			first_screen_no_ops(&o, v, &rows);
			first_screen_whos(&o, v, sn, &rows);
			put_ops(&o, v, &rows);
			put_files(&o, v, sn, &rows);
			put_requests(&o, v, &rows);
		}
	}
	if (!err)
		err = servers_put(&o, v, sn);
	if (!err && v->joined)
		joined_put(&o, v, v->joined);
	if (!err)
		err = patterns_put(&o, v, sn);
	if (!err)
		err = site_put(&o, v, sn);
	if (!err)
		err = helpers_put(&o, v, sn);
	if (!err)
		err = stacks_put(&o, v, sn);
	if (slowest)
		slowest_put(&o, v, sn, slowest, n_slowest);
	if (!told)
		breakdown_notes(&o, v, sn, &rows);
	put_overhead(&o, v, sn);
	breakdown_rows_done(&rows);
	return err ? err : text_end(&o);
}
