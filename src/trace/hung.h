/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hung.h - threads that have waited since before the tracing began. No event tells of their calls,
 * so /proc is looked at twice: when the probes are live, and when a table is printed.
 *
 * Reads nothing that waits for a file system or for a lock of a hung process: no file of another
 * process is opened, no memory of a process is read. All text in /proc is hostile.
 */
#ifndef IOSTRATA_TRACE_HUNG_H
#define IOSTRATA_TRACE_HUNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/snapshot.h"

struct bpf_program;
struct listed_task;
struct session_conf;
struct state_layout;

/* Threads that waited at the first look, without those whose wait was seen to end. All 0 if there
 * are none. */
struct hung_threads {
	struct waiting_thread *list;
	size_t n, cap;
	uint64_t since_ns;
};

/* Where to look: directories; the last is without its end, see /sys/fs/fuse/connections. */
struct hung_places {
	const char *proc, *fuse;
};
extern const struct hung_places hung_places;

/* Threads that wait, by the kernel's own list (task_list()), sorted by thread. */
struct hung_list {
	struct listed_task *list;
	size_t n;
	bool known; /* false: there is no list, so /proc tells which threads wait */
};

/* Whether a run with this configuration looks for such threads. A command begins after the start;
 * and files and cgroups of threads would cost too much. */
bool hung_wanted(const struct session_conf *conf);

/* Reads the list by the iterator @prog. The caller frees ret_list->list. If @prog is not loaded, or
 * in a pid namespace with other numbers, there is no list. Returns 0 or -ENOMEM. */
int hung_list_read(const struct bpf_program *prog, struct hung_list *ret_list);

/*
 * The first look, at @now (CLOCK_MONOTONIC): notes all threads in an uninterruptible wait that pass
 * the filters of @conf, and those that wait for a FUSE daemon. Anything but a thread's state and
 * name needs the rights of ptrace. Returns 0 with @ret_threads, freed by the caller, or -ENOMEM.
 * Without /proc there are none.
 */
int hung_look(const struct hung_places *at, const struct session_conf *conf,
	      const struct hung_list *listed, uint64_t now, struct hung_threads *ret_threads);
void hung_done(struct hung_threads *h);

/*
 * Names the calls of operations in @sn that have been in progress for a second or more, and the
 * paths that they look up, by the kernel's list @listed of threads. Nothing is noted for this as a
 * call begins. Returns 0 or -ENOMEM.
 */
int hung_name_calls(const struct session_conf *conf, const struct hung_list *listed,
		    struct snapshot *sn);

/* Whether @sn has operations for hung_name_calls(). */
bool hung_has_unnamed(const struct snapshot *sn);

/* The states of threads by which a call is known to last still; .layout NULL: not known. */
struct hung_states {
	const struct state_layout *layout;
	const void *bss; /* as for unfinished_read() */
};

/*
 * A later look, at @now: adds to @sn the threads of @h that still wait, if they have done so for
 * @min_ns; others leave @h. Operations in progress are in @sn before. Returns 0 or -ENOMEM.
 */
int hung_read(struct hung_threads *h, const struct hung_places *at,
	      const struct hung_states *states, uint64_t now, uint64_t min_ns, struct snapshot *sn);

#endif
