/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - one tracing run: programs opened, configured, loaded, attached, read, detached.
 * Nothing here prints.
 */
#ifndef IOSTRATA_TRACE_SESSION_H
#define IOSTRATA_TRACE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/snapshot.h"
#include "bpf/conf.h"
#include "event.h"

struct reason;
struct session;

/* What the command requests; const once a session is open. */
struct session_conf {
	enum layer layer;
	const char *fs; /* LAYER_FS: only this type; NULL: all */
	enum by_key by;
	unsigned int kinds; /* set of 1 << enum op_kind */
	bool cpu_whole;     /* LAYER_OPS: time on the CPU is not split by layer */
	bool tag_in_queue;  /* LAYER_BLK: only the sum of both times is of interest */
	bool queued;        /* request histograms from submission instead of dispatch */
	bool rq_sums_only;  /* no request histograms: all are in the first bucket */
	bool all_files;
	bool all_faults;              /* also page faults that found their page */
	bool records;                 /* session_poll() delivers slow operations */
	const char *record_fs;        /* records, all or of slow operations, of files on this
				       * type only; NULL: all */
	bool sent_ops, sent_requests; /* every one is sent; see session_on_sent() */
	bool uncounted;               /* nothing is added up: there are no rows */
	size_t buffer_bytes;          /* for records sent but not yet delivered */
	bool meta_calls;              /* operations of kind meta have a row for each call */
	bool why;                     /* LAYER_OPS: where threads were that slept for
				       * reasons that are not known */
	bool helpers;                 /* LAYER_OPS: what kernel helpers do has rows, too */
	bool stats;                   /* let the kernel time our programs */
	bool follow;                  /* only the process forked next, and its descendants */
	uint64_t min_ns;
	struct filter_lists lists;
};

/*
 * Loads and attaches all that @conf needs and this kernel has; the probes are live on return.
 * Returns 0 with @ret_session to be closed by the caller, or -1 with @why set.
 */
int session_open(const struct session_conf *conf, struct session **ret_session, struct reason *why);
void session_close(struct session *s); /* NULL is fine */

/* Whether detaching is slow: functions are probed. NULL: no. */
bool session_is_slow_to_close(const struct session *s);

/* How many programs the kernel refused and the run left out; @ret_first is one of them, or NULL. */
int session_refused(const struct session *s, const char **ret_first);

/* What could not be measured, with reasons; lives as long as the session. */
const struct missing *session_missing(const struct session *s);

/*
 * What was summed up since the last call (or since the probes went live). The caller owns the rows,
 * see snapshot_free(). 0, or -1 with @why.
 */
int session_snapshot(struct session *s, struct snapshot *ret_sn, struct reason *why);

/* Receives an operation that took longer than the threshold. */
typedef void session_record_fn(void *arg, const struct op_record *r);
void session_on_record(struct session *s, session_record_fn *fn, void *arg);
void session_set_slow_ns(struct session *s, uint64_t threshold_ns);

/* Receives what the programs send of operations and requests, struct sent_...; may be hostile. */
typedef void session_sent_fn(void *arg, const void *data, size_t len);
void session_on_sent(struct session *s, session_sent_fn *record, session_sent_fn *name, void *arg);

/* Delivers the names of files sent up to now, possibly ahead of records. */
void session_sent_names(struct session *s);

/* Type of the file system that sent records call @slot, and the operations in which its layer is
 * probed, 1 << enum op_kind. False: there is none. */
bool session_fs(const struct session *s, unsigned int slot, char ret_name[FS_NAME_LEN],
		unsigned int *ret_probed);

/* Operations in which the VFS is probed, 1 << enum op_kind. */
unsigned int session_vfs_kinds(const struct session *s);

/* How much was lost of a kind since the probes went live. */
uint64_t session_lost(const struct session *s, enum lost what);

/*
 * Periodic work, to be called at least every second: delivers records, drains the rows, probes the
 * functions of file systems that appeared after the start.
 */
void session_tick(struct session *s);

/* Name of a module that was unloaded while its functions were probed, reported once; NULL if there
 * is none. From then on its file systems have no layer. Lives until the next call. */
const char *session_module_gone(struct session *s);

/* A descriptor that becomes readable when session_tick() has work to do. */
int session_poll_fd(const struct session *s);

#endif
