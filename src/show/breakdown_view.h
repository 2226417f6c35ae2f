/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_view.h - how a snapshot is to be shown, and which rows in what order: what the text
 * and the JSON have in common.
 */
#ifndef IOSTRATA_BREAKDOWN_VIEW_H
#define IOSTRATA_BREAKDOWN_VIEW_H

#include "snapshot.h"

struct mounts;

struct breakdown_view {
	enum layer layer;
	const char *layer_name;		/* as the user typed it: "ext4" */
	enum by_key by;
	bool queued;			/* -Q: hist and max of requests include tag and queue */
	bool milliseconds;		/* -m; text only */
	bool histograms;		/* -H; text only */
	bool color;			/* text only */
	int width;			/* columns of the text, 0: 80 */
	const char *kernel;		/* release */
	const char *fs_filter;		/* rows of other file systems are not shown; NULL: all */
	const char *looked_for;		/* filters as the user gave them, "-p 12 --comm dd", for the
					 * line that says nothing was found; NULL: none. Hostile */
	const struct missing *missing;
	const struct mounts *mounts;	/* for the paths of records; NULL: none known */
	const char *(*call_name)(unsigned short call);	/* NULL, or may return NULL */
};

/* Rows to show, biggest total first, owned by the snapshot; the lists are the caller's to free. */
struct breakdown_rows {
	const struct op_row **ops;
	size_t n_ops;
	const struct rq_row **rqs;
	size_t n_rqs;
};

int breakdown_rows_init(struct breakdown_rows *r, const struct breakdown_view *v,
			const struct snapshot *sn);
void breakdown_rows_done(struct breakdown_rows *r);

/* Name of the file system @fs as the rows of @sn know it, "" if none does; hostile. Bytes of
 * op_row.fs, so maybe without a NUL: FS_NAME_LEN of them at most. */
const char *breakdown_fs_name(const struct snapshot *sn, unsigned long long fs);

/* Layers that are not told of the operation @r; see op_row.untold. */
unsigned int breakdown_untold(const struct snapshot *sn, const struct op_record *r);

/* Path of the file of @r; hostile, for free(). NULL: no file, or out of memory. */
char *breakdown_record_path(const struct breakdown_view *v, const struct op_record *r);

/* What a histogram shows of a request row: device time, with -Q tag, queue and device. */
uint64_t breakdown_rq_total(const struct breakdown_view *v, const struct rq_row *r);

/* Last value (inclusive) that bucket @b stands for: the last bucket takes all up to @max_ns. */
uint64_t breakdown_hist_high(unsigned int b, uint64_t max_ns);

/* Name of the call of a row with LAYER_SYSCALL, in @buf if it has none ("call 4711"). */
const char *breakdown_call_name(const struct breakdown_view *v, unsigned short call,
				char buf[16]);

#endif
