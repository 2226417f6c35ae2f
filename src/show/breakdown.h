/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown.h - how to show a snapshot: the rows, their order, their names. Common to text and
 * JSON; prints nothing.
 */
#ifndef IOSTRATA_SHOW_BREAKDOWN_H
#define IOSTRATA_SHOW_BREAKDOWN_H

#include "base/opts.h"
#include "base/snapshot.h"
#include "capture/slow_op.h"
#include "show/device_tree.h"

struct column;
struct join;

enum { VIEW_FILES = 64 }; /* files of a row that are listed, at most */

/* How the rows are written. */
struct view_form {
	bool csv;          /* the rows as CSV, in place of text */
	bool folded;       /* user stacks as lines for flame graphs, in place of text */
	bool no_hist;      /* JSON without histograms */
	bool pattern;      /* sizes and patterns of rows that have them; this and all below: text */
	bool stacks;       /* also the callers of operations */
	bool timeline;     /* the slowest operations have their strata in order */
	bool milliseconds; /* -m */
	bool histograms;   /* -H */
	bool color;
	bool terminal;     /* text is for a terminal: paths are cut to its width */
	int width;         /* columns of the text, 0: 80 */
	int detail;        /* 0 the first screen, 1 operations (-v), 2 all rows (-vv) */
	uint64_t rows_max; /* rows of a table, also in JSON; 0: in text as many as there is room
			    * for, in JSON all */
	const struct column *sort; /* of op_columns (LAYER_BLK: rq_columns); NULL: by total time */
};

/* The filters, as far as the tables mention them. */
struct view_chosen {
	const char *filters;   /* as typed, "-p 12 --comm dd"; NULL: none. Hostile */
	const char *of_ops;    /* those that do not choose requests: "--op, --min" */
	struct opt_strings fs; /* rows of other file systems are not shown; empty: all */
	bool processes;        /* only requests of chosen processes, on any disk, are shown */
	uint64_t min_ns;       /* operations that took less are not shown; 0: all are */
};

/* Where the rows come from: this machine, or recordings. */
struct view_source {
	const char *kernel;  /* release */
	unsigned int cpus;   /* CPUs of the machine; 0: not known */
	const char *command; /* name of the traced command; NULL: none, or not it alone. Hostile */
	char *const *words;  /* of it, ended by NULL; NULL as @command. Hostile */
	const char *recorded_command; /* of recordings, likewise; for JSON */
	const char *recording;        /* name of the recording shown; NULL: live. Hostile */
	unsigned int more_recordings; /* number of further recordings */
	uint64_t without_ns; /* time at the end of recordings that their records do not cover */
	const char *(*call_name)(unsigned short call); /* may be NULL, and may return NULL */
};

/* The interval that is shown. */
struct view_interval {
	uint64_t every_ns; /* length of each interval; 0: there is only one */
	uint64_t until_ns; /* when the interval ended, since 1970 */
	bool later;        /* not the first interval: skip lines without news */
};

/* What a table shows, and how. */
struct breakdown_view {
	enum layer layer;
	const char *layer_name; /* as the user typed it: "ext4" */
	enum by_key by;
	uint64_t depth;            /* of directories; 0: no limit */
	bool queued;               /* -Q: hist and max of requests include tag and queue */
	bool helpers;              /* also show the work of helpers */
	bool sites;                /* also show where threads slept for unknown reasons */
	const struct join *joined; /* of a report with both sides of NFS; NULL: none */
	const struct missing *missing;
	struct view_form form;
	struct view_chosen chosen;
	struct view_source source;
	struct view_interval interval;
};

/* The totals for the shares of a row: .ctx of its columns. */
struct breakdown_whole {
	const struct breakdown_view *v;
	const struct snapshot *sn;
	uint64_t duration_ns;
	uint64_t io_ns;              /* total time of all operations shown */
	uint64_t strata[ST_N];       /* the same by stratum */
	uint64_t all_threads_ns;     /* the part of it in which threads ran or were blocked */
	uint64_t async_ns;           /* time of requests of io_uring and libaio, all added up */
	uint64_t async_strata[ST_N]; /* the same by stratum */
	/* the same as all_threads_ns, without pseudo file systems unless these were asked for */
	uint64_t thread_ns, thread_strata[ST_N];
	uint64_t pseudo_ns; /* time of operations on pseudo file systems that is left out there */
	bool has_others;    /* there are operations on other file systems */
	uint64_t minor_faults;   /* minor page faults; they are not operations */
	struct device_tree tree; /* of the requests */
};

/* The rows to show, in order. The snapshot owns the rows, breakdown_rows_done() frees the lists. */
struct breakdown_rows {
	const struct op_row **ops;
	size_t n_ops;
	const struct op_row **minor; /* minor page faults, in no order, then NULL */
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

/* Replaces the rows of operations by one for each key of --by, with their sums, in order. Returns 0
 * or -ENOMEM. */
int breakdown_rows_merge(struct breakdown_rows *r);

/*
 * The part of the time of @r in which threads ran or were blocked; ns. A thread that submits a
 * request of io_uring or libaio goes on meanwhile, so these count with their time on the CPU only.
 */
uint64_t breakdown_thread_ns(const struct op_row *r);

/* The time of @r as breakdown_thread_ns() has it; 0 if @r is left out of the first lines and of
 * shares: see struct breakdown_whole. */
uint64_t breakdown_counted_ns(const struct breakdown_whole *whole, const struct op_row *r);

/* Name of the file system @fs from the rows of @sn, "" if none has it; hostile. Points into
 * op_row.fs: at most FS_NAME_LEN bytes, maybe without a NUL. */
const char *breakdown_fs_name(const struct snapshot *sn, unsigned long long fs);

/* Layers not probed for the operation @r; see op_row.missing_layers. */
unsigned int breakdown_missing_layers(const struct snapshot *sn, const struct slow_op *r);

/* Path of the file of @r; hostile, for free(). NULL: no file, or out of memory. */
char *breakdown_record_path(const struct slow_op *r);

/* A row's text @by (or NULL) as tables show it, and how many bytes of it. For a container: its
 * name, or the usual prefix of its id. */
const char *breakdown_key(const char *by, bool contained, size_t *ret_len);

/* Whether whole operations are traced. */
bool breakdown_has_ops(const struct breakdown_view *v);

/* Whether the bytes read from devices are known by operation. */
bool breakdown_has_device_bytes(const struct breakdown_view *v);

/* Whether the bytes read from devices are known for operations on file system type @fs. */
bool breakdown_fs_has_device_bytes(const struct breakdown_view *v, const char *fs);

/* Whether minor page faults are counted. */
bool breakdown_has_minor_faults(const struct breakdown_view *v);

/* Whether the operations of @r are reads whose bytes from devices are known. */
bool breakdown_row_reads(const struct breakdown_view *v, const struct op_row *r);

/* Whether the traced layer has requests. */
bool breakdown_has_requests(const struct breakdown_view *v);

/*
 * The list of further figures that can be missing, after the strata. A row has:
 *   the end of the id, and the member of struct missing with the reason
 *   the name in JSON, and in text
 *   whether @v, a struct breakdown_view, would have the figure
 */
/* clang-format off */
#define MISSING_LIST(ROW)                                                                          \
	ROW(REQUESTS, requests, "requests", "requests", breakdown_has_requests(v))                 \
	ROW(SYSCALLS, syscalls, "calls", "operations", (v)->layer != LAYER_BLK)                    \
	ROW(URING, uring, "uring", "io_uring", breakdown_has_async(v))                             \
	ROW(AIO, aio, "aio", "aio (libaio)", breakdown_has_async(v))                              \
	ROW(FAULTS, faults, "fault", "page faults", (v)->layer == LAYER_OPS)                       \
	ROW(PAGES, pages, "pages", "pages of zram, brd and pmem", breakdown_has_requests(v))      \
	ROW(PATHS, paths, "paths", "calls by absolute path (left out by --fs, -d and --file)",     \
	    (v)->layer == LAYER_OPS || (v)->layer == LAYER_SYSCALL)
/* clang-format on */

#define MISSING_ID(id, ...) MISSING_##id,

enum { MISSING_IS_STRATUM = ST_N - 1, MISSING_LIST(MISSING_ID) MISSING_N };

/* The reason why @i, a stratum or one of these, could not be measured. Returns NULL if it was
 * measured, or is not in the traced layer. */
const char *breakdown_missing(const struct breakdown_view *v, int i);

/* The name of @i in JSON, and in text. */
const char *breakdown_missing_name(unsigned int i);
const char *breakdown_missing_label(int i);

/* The time in the histogram of a request row: device, with -Q tag, queue and device; ns. */
uint64_t breakdown_rq_total(const struct breakdown_view *v, const struct rq_row *r);

/* The rows of @sn with helpers' time (@times) or with their requests, in order, then NULL; freed by
 * the caller. Returns NULL if out of memory. */
const struct helper_row **breakdown_helpers(const struct snapshot *sn, bool times);

/* The rows of @sn with requests to servers, most time first; likewise. */
const struct server_row **breakdown_servers(const struct snapshot *sn);

/* The rows of @sn with the places where threads slept, in order; likewise. */
const struct site_row **breakdown_sites(const struct snapshot *sn);

/* Time of the helper's requests from submission to completion, or of the helper on the CPU; ns. */
uint64_t breakdown_helper_ns(const struct helper_row *r);

/* Last value (inclusive) of bucket @b: the last bucket takes all up to @max_ns. */
uint64_t breakdown_hist_high(unsigned int b, uint64_t max_ns);

/* The name of a row's operation in text: "read", "uring read", "aio pread". May be in @buf. */
const char *breakdown_op_name(const struct breakdown_view *v, const struct op_row *r, char buf[32]);

/* Name of the system call of a row with LAYER_SYSCALL, or of an opcode of io_uring or libaio; "call
 * 4711", in @buf, if there is no name. */
const char *breakdown_call_name(const struct breakdown_view *v, unsigned short call, char buf[16]);

#endif
