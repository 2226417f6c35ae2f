/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - one tracing run: programs planned, loaded, attached, drained, detached.
 *
 * Owns everything the run has in the kernel. Prints nothing.
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
#include "trace/syscalls.h"

struct reason;
struct session;

/* Settings of the command; const once a session is open. */
struct session_conf {
	enum layer layer;
	const char *fs; /* LAYER_FS: only this file system type; NULL: all */
	enum by_key by;
	unsigned int kinds;         /* set of 1 << enum op_kind */
	struct syscall_choice only; /* of some of these kinds only some calls */
	bool cpu_whole;             /* LAYER_OPS: do not split time on the CPU by layer */
	bool tag_in_queue;          /* LAYER_BLK: do not separate tag from queue */
	bool queued;                /* request histograms from submission instead of dispatch */
	bool rq_sums_only;          /* no histograms of requests: all are in the first bucket */
	bool all_files;
	bool all_faults;   /* also count minor page faults (they found their page) as operations */
	bool op_requests;  /* count and send only requests submitted in operations */
	bool minor_faults; /* count minor page faults in separate rows, unless all_faults */
	bool records;      /* session_beat() delivers slow operations */
	bool sent_ops, sent_requests; /* each operation or request is sent; see session_on_sent() */
	bool stacks;                  /* user stacks are taken; see session_on_stacks() */
	bool segments;                /* operations sent or slow have their segments */
	bool commands;                /* session_command() knows processes that have ended */
	bool uncounted;               /* nothing is summed up: there are no rows */
	size_t buffer_bytes;          /* for records sent but not yet delivered */
	bool meta_calls; /* operations of kind meta and fsync have a row for each system call */
	bool sites; /* LAYER_OPS: also sum up where in the kernel threads slept for unknown reasons
		     */
	bool whos;  /* LAYER_OPS: also sum up to whom waits were due, unless operations are chosen
		     * when they end */
	bool patterns; /* sizes and order of requests by disk; with BY_FILE, of operations by file
			*/
	bool helpers;  /* LAYER_OPS: also rows for the work of kernel helpers */
	bool hung;     /* LAYER_OPS: name threads that have waited since before the start */
	bool stats;    /* let the kernel measure the run time of our programs */
	bool follow;   /* trace only the process forked next, and its descendants */
	bool children; /* trace also the descendants of lists.pids, living and to come */
	uint64_t min_ns;
	struct filter_lists lists;
	const char *const *file_names; /* those of lists.files, as the user typed them */
	/* called when the maps are there, before a program runs; returns 0, or -1 with @why */
	int (*prepare)(struct session *s, void *arg, struct reason *why);
	void *prepare_arg;
};

/*
 * Loads and attaches all programs needed by @conf and supported by this kernel; the probes are live
 * on return. Returns 0 with @ret_session, closed by the caller, or -1 with @why.
 */
int session_open(const struct session_conf *conf, struct session **ret_session, struct reason *why);
void session_close(struct session *s); /* NULL is fine */

/* Whether detaching is slow, since functions are probed. False if @s is NULL. */
bool session_is_slow_to_close(const struct session *s);

/* Number of programs refused by the kernel and left out of this run. @ret_first is the name of the
 * first, or NULL. */
int session_refused(const struct session *s, const char **ret_first);

/* Figures that cannot be measured, each with its reason; lives as long as the session. */
const struct missing *session_missing(const struct session *s);

/*
 * Takes the rows summed up since the last call, or since the probes went live. The caller frees
 * them with snapshot_free(). Returns 0, or -1 with @why.
 */
int session_snapshot(struct session *s, struct snapshot *ret_sn, struct reason *why);

/* Receives an operation slower than the threshold, through session_beat(). */
typedef void session_slow_op_fn(void *arg, const struct sent_slow_op *s);
void session_on_slow_op(struct session *s, session_slow_op_fn *fn, void *arg);
void session_set_slow_ns(struct session *s, uint64_t threshold_ns);

/* Receives user stacks, and the files that they meet, through session_beat(). Finished requests, of
 * which .frames is not there, and the stacks of their submissions: see submissions.h. */
struct session_stacks {
	void (*stack)(void *arg, const struct sent_stack *s);
	void (*request)(void *arg, const struct sent_stack *s);
	void (*submission)(void *arg, const struct sent_stack *s);
	void (*file)(void *arg, const struct sent_stack_file *f);
	void *arg;
};
void session_on_stacks(struct session *s, const struct session_stacks *to);

/* As unwind_add() and unwind_forget(). */
int session_unwind_add(struct session *s, const struct unwind_key *key, unsigned int number,
		       const struct unwind_row *rows, size_t n, const struct unwind_python *python);
void session_unwind_forget(struct session *s, const struct unwind_key *key);

/* Operations that took less than @threshold_ns, below 2^32, have their stack taken less often. */
void session_set_stack_ns(struct session *s, uint64_t threshold_ns);

/* One of @each requests of io_uring and libaio, below 2^32, has its stack taken. */
void session_set_stack_requests(struct session *s, uint64_t each);

/* Number of stacks that found no room in the ring since the last call; @ret_ns: the time of their
 * operations. */
uint64_t session_stacks_lost(struct session *s, uint64_t *ret_ns);

/* Type of file system @fs, "" if not known; and as op_row.missing_layers, for a row made of
 * stacks. */
void session_fs_name(const struct session *s, unsigned long long fs, char ret_name[FS_NAME_LEN]);
unsigned int session_missing_layers(const struct session *s, const struct op_row *row);

/* The slot of file system @fs, as in sent records, or -1 if not known. */
int session_fs_slot(const struct session *s, unsigned long long fs);

/* Delivers the stacks that have come. */
void session_take_stacks(struct session *s);

/* Makes session_poll_fd() readable when @fd is. Returns 0 or -errno. */
int session_watch(struct session *s, int fd);

/* Receives finished operations and requests from the programs (struct sent_...), through
 * session_beat(). Their content may be hostile. */
typedef void session_sent_fn(void *arg, const void *data, size_t len);
void session_on_sent(struct session *s, session_sent_fn *record, session_sent_fn *name, void *arg);

/* Delivers the names of files sent up to now, possibly ahead of records. */
void session_sent_names(struct session *s);

/* Lets the names of all files be sent again, each with the next operation on it. */
void session_names_again(struct session *s);

/*
 * The command line of the process @pid whose first thread has, or had, the name @comm; NULL: of any
 * name. If it has ended, the one of its exec, with conf.commands. Hostile. The caller frees it.
 * Returns NULL if it is not known.
 */
char *session_command(struct session *s, unsigned int pid, const char *comm);

/* Type of the file system in @slot of sent records, and the kinds of operations for which its layer
 * is probed: set of 1 << enum op_kind. Returns false if there is no such file system. */
bool session_fs(const struct session *s, unsigned int slot, char ret_name[FS_NAME_LEN],
		unsigned int *ret_probed);

/* Kinds of operations for which the VFS is probed: set of 1 << enum op_kind. */
unsigned int session_vfs_kinds(const struct session *s);

/* Number of losses of kind @what since the probes went live. */
uint64_t session_lost(const struct session *s, enum lost what);

/*
 * Periodic work; call it at least every second. Delivers records, drains the rows, and probes
 * functions of file systems new since the start.
 */
void session_beat(struct session *s);

/* Name of a module unloaded while its functions were probed, reported once, or NULL if there is
 * none. From then on the layer of its file systems is not measured. The text lives until the next
 * call. */
const char *session_module_gone(struct session *s);

/* A descriptor that becomes readable when session_beat() has work to do. */
int session_poll_fd(const struct session *s);

#endif
