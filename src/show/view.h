/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * view.h - how to show a snapshot, and which rows in what order: what text and JSON have
 * in common.
 */
#ifndef IOSTRATA_SHOW_VIEW_H
#define IOSTRATA_SHOW_VIEW_H

#include "base/snapshot.h"
#include "show/devices.h"

struct column;

struct breakdown_view {
	enum layer layer;
	const char *layer_name; /* as the user typed it: "ext4" */
	enum by_key by;
	bool queued;                  /* -Q: hist and max of requests include tag and queue */
	bool milliseconds;            /* -m; text only */
	bool histograms;              /* -H; text only */
	bool color;                   /* text only */
	bool terminal;                /* text is for a terminal: paths are cut to its width */
	int width;                    /* columns of the text, 0: 80 */
	int detail;                   /* of text: 0 the first screen, 1 operations, 2 all rows */
	uint64_t rows_max;            /* of a text table; 0: as many as there is room for */
	const struct column *sort;    /* of op_columns, with LAYER_BLK of rq_columns; NULL: by
				       * total time */
	uint64_t every_ns;            /* it is one of several intervals of this length; 0: not */
	bool helpers;                 /* what kernel helpers did is shown, too */
	bool why;                     /* also where threads slept for unknown reasons */
	bool later;                   /* not the first: skip what never changes */
	const char *command;          /* its name, if it alone is traced; else NULL. Hostile */
	unsigned int cpus;            /* of the machine; 0: not known */
	const char *kernel;           /* release */
	const char *fs_filter;        /* rows of other file systems are not shown; NULL: all */
	const char *looked_for;       /* filters as the user gave them, "-p 12 --comm dd", for the
				       * line that says nothing was found; NULL: none. Hostile */
	const char *recording;        /* whose records are shown; NULL: live. Hostile */
	unsigned int more_recordings; /* whose records are shown, too */
	const char *of_ops;           /* filters that do not choose requests: "--op, --min" */
	uint64_t until_ns;            /* when the interval ended, since 1970 */
	const struct missing *missing;
	const char *(*call_name)(unsigned short call); /* NULL, or may return NULL */
};

/* The totals that the figures of a row are shares of: .ctx of its columns. */
struct breakdown_whole {
	const struct breakdown_view *v;
	uint64_t duration_ns;
	uint64_t io_ns;          /* total time of all operations that are shown */
	uint64_t strata[ST_N];   /* the same by stratum */
	uint64_t minor_faults;   /* those that found their page; no operations */
	struct device_tree tree; /* of the requests */
};

/* Rows to show in order, owned by the snapshot; the lists are the caller's to free. */
struct breakdown_rows {
	const struct op_row **ops;
	size_t n_ops;
	const struct op_row **minor; /* faults that found their page, in no order */
	size_t n_minor;
	const struct rq_row **rqs;
	size_t n_rqs;
	struct breakdown_whole whole;
	struct op_row *merged; /* see breakdown_rows_merge() */
	size_t n_merged;
};

int breakdown_rows_init(struct breakdown_rows *r, const struct breakdown_view *v,
			const struct snapshot *sn);
void breakdown_rows_done(struct breakdown_rows *r);

/* Replaces the rows of operations by one for each key of --by, with their sums, in order. 0 or
 * -ENOMEM. */
int breakdown_rows_merge(struct breakdown_rows *r);

/* Name of the file system @fs from the rows of @sn, "" if none has it; hostile. Points into
 * op_row.fs: at most FS_NAME_LEN bytes, maybe without a NUL. */
const char *breakdown_fs_name(const struct snapshot *sn, unsigned long long fs);

/* Layers that are not probed for the operation @r; see op_row.unprobed_layers. */
unsigned int breakdown_unprobed_layers(const struct snapshot *sn, const struct op_record *r);

/* Path of the file of @r; hostile, for free(). NULL: no file, or out of memory. */
char *breakdown_record_path(const struct op_record *r);

/* Bytes of a row's text @by, which may be NULL, that tables show: of a container's id as many as
 * people use. */
size_t breakdown_key_len(const char *by, bool contained);

/* Whether whole operations are traced. */
bool breakdown_has_ops(const struct breakdown_view *v);

/* Whether it is known what operations read from devices. */
bool breakdown_has_device_bytes(const struct breakdown_view *v);

/* Whether faults that found their page are counted. */
bool breakdown_has_minor_faults(const struct breakdown_view *v);

/* Whether the operations of @r are reads, of which that is known, too. */
bool breakdown_row_reads(const struct breakdown_view *v, const struct op_row *r);

/* Whether requests are traced, and not just another layer. */
bool breakdown_has_requests(const struct breakdown_view *v);

/* What can be missing beside strata. */
enum {
	MISSING_REQUESTS = ST_N,
	MISSING_CALLS,
	MISSING_URING,
	MISSING_AIO,
	MISSING_FAULTS,
	MISSING_N,
};

/* Why @i, a stratum or one of these, could not be measured; NULL if it was, or is not in the traced
 * layer. */
const char *breakdown_missing(const struct breakdown_view *v, int i);

/* What @i is called: in JSON, and in text. */
const char *breakdown_missing_name(int i);
const char *breakdown_missing_label(int i);

/* What a histogram shows of a request row: device time, with -Q tag, queue and device. */
uint64_t breakdown_rq_total(const struct breakdown_view *v, const struct rq_row *r);

/* The rows of @sn that are of @times, or else of requests, in order, and a NULL; to be freed. NULL:
 * out of memory. */
const struct helper_row **breakdown_helpers(const struct snapshot *sn, bool times);

/* Those of @sn where threads slept, in order; likewise. */
const struct why_row **breakdown_whys(const struct snapshot *sn);

/* Time of its requests from submission to completion, or on the CPU. */
uint64_t breakdown_helper_ns(const struct helper_row *r);

/* Last value (inclusive) that bucket @b stands for: the last bucket takes all up to @max_ns. */
uint64_t breakdown_hist_high(unsigned int b, uint64_t max_ns);

/* What a row's operation is called in text: "read", "uring read", "aio pread". It may be in
 * @buf. */
const char *breakdown_op_name(const struct breakdown_view *v, const struct op_row *r, char buf[32]);

/* Name of the call of a row with LAYER_SYSCALL, or of an opcode of io_uring or libaio; in @buf if
 * it has none ("call 4711"). */
const char *breakdown_call_name(const struct breakdown_view *v, unsigned short call, char buf[16]);

#endif
