/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - one tracing run: programs opened, configured, loaded, attached, read, detached.
 *
 * session.c is the only file that includes a skeleton. Nothing here prints.
 */
#ifndef IOSTRATA_SESSION_H
#define IOSTRATA_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf/conf.h"
#include "event.h"
#include "snapshot.h"

struct reason;
struct session;

/* What is asked for; const once a session is open. */
struct session_conf {
	enum layer layer;
	const char *fs;			/* LAYER_FS: only this type; NULL: all */
	enum by_key by;
	unsigned int kinds;		/* set of 1 << enum op_kind */
	bool queued;			/* request histograms from submission instead of dispatch */
	bool all_files;
	bool records;			/* session_poll() delivers slow operations */
	bool stats;			/* let the kernel time our programs */
	pid_t pid;			/* 0: everybody */
	bool follow;			/* only the process forked next, and its descendants */
	const char *comm;
	uint64_t cgroup;		/* id, 0: any */
	unsigned int cgroup_level;
	uint64_t min_ns;
	uint64_t file_ino;		/* 0: any; with file_dev */
	unsigned int file_dev;		/* kernel dev_t */
	unsigned int devs[MAX_DEVS];	/* kernel dev_t, with n_devs; 0: any */
	unsigned int n_devs;
};

/*
 * Loads and attaches all that @conf needs and this kernel has; the probes are live on return.
 * Returns 0 with @ret_session to be closed by the caller, or -1 with @why set.
 */
int session_open(const struct session_conf *conf, struct session **ret_session,
		 struct reason *why);
void session_close(struct session *s);	/* NULL is fine */

/* How many programs the kernel refused, which are left out; @ret_first is one of them, or NULL. */
int session_refused(const struct session *s, const char **ret_first);

/* What could not be measured, with reasons; lives as long as the session. */
const struct missing *session_missing(const struct session *s);

/*
 * What was summed up since the last call (or since the probes are live). The rows are the
 * caller's, see snapshot_free(). 0, or -1 with @why.
 */
int session_snapshot(struct session *s, struct snapshot *ret_sn, struct reason *why);

/* Receives an operation that took longer than the threshold. */
typedef void session_record_fn(void *arg, const struct op_record *r);
void session_on_record(struct session *s, session_record_fn *fn, void *arg);
void session_set_slow_ns(struct session *s, uint64_t threshold_ns);

/* Name of a file system by its identity in records and rows; "" if not known. Hostile text. */
void session_fs_name(struct session *s, uint64_t fs, char ret_name[FS_NAME_LEN]);

/*
 * Work that is to be done now and then, at least every second: delivers records, probes the
 * functions of file systems that were not there at the start.
 */
void session_tick(struct session *s);

/* Name of a module that was unloaded while its functions were probed, once; NULL if there is none.
 * The file systems in it are without their layer from then on. Lives until the next call. */
const char *session_module_gone(struct session *s);

/* A descriptor that becomes readable when records wait, or -1. */
int session_poll_fd(const struct session *s);

/* One program of ours, as 'doctor --probes' shows it. */
struct session_probe {
	const char *program;
	const char *hook;		/* "tp_btf/sys_enter"; "fentry/<function>" for templates */
	size_t insns;			/* before the kernel's rewriting */
	int err;			/* 0: it loads here; else why not (errno) */
	const char *why;		/* a reason, if there is a better one than err's; or NULL */
};

/* Tries every program by itself; calls @fn for each. 0, or -1 with @why. */
int session_try_probes(void (*fn)(void *arg, const struct session_probe *p), void *arg,
		       struct reason *why);

#endif
