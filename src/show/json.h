/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * json.h - a snapshot as one line of JSON, schema "iostrata.breakdown/1".
 *
 * Others rely on it: members are added, never renamed, removed or given another meaning.
 *
 *	schema, kernel
 *	time		when the interval ended, RFC 3339
 *	duration_ns	how long it was
 *	command		its name, if it alone is traced; null: none
 *	threads_ns	time of all its threads, each from its beginning to its end; null: none
 *	io_ns, strata	time of all ops, and by stratum; io_ns is null with a single layer, and
 *			both of what has no operations
 *	missing		names of what was wanted but could not be measured: strata, "requests",
 *			"calls" (all operations), "uring", "aio", "fault"
 *	ops		a row per operation, file system and key (empty with a single layer): the
 *			columns of op_columns.c that have a name, strata, hist
 *	strata		a member per stratum, null if missing (fs also in the rows of a file
 *			system whose functions are not probed); the others add up to total_ns
 *	hist		[low_ns, high_ns, count] per bucket that is not empty; both ends inclusive
 *	layers		with a single layer, the same rows without strata, but with layer (syscall,
 *			vfs, fs) and, for syscall, call
 *	requests	null if missing, or not traced (another single layer); a row per disk and
 *			operation: the columns of rq_columns.c that have a name, parent (names of
 *			the disks that lie on it or on a partition of it; null: not known), hist (of
 *			device time; of all three with -Q)
 *	minor_faults	page faults that found their page: a row per file system and key, the
 *			columns of minor_columns; null: not counted
 *	in_progress	operations that had not ended, oldest first (empty with a single layer): op,
 *			fs, age_ns, stratum (that it is in, if this is known before its end), pid,
 *			tid, comm (null: not known)
 *	unseen_threads	threads whose operations in progress are not looked at
 *	unnamed_cgroups	with --by container: cgroups that were gone before they could be named; each
 *			is a key of its own, "cgroup 12"
 *	lost		ring, map_full, unmatched_start, unmatched_end, names, unattributed, missed
 *	overhead	bpf_run_ns, bpf_run_cnt; null if not measured
 *	slowest		only with --slowest: op, call, fs, cache, start_ns, total_ns, strata, path
 *			(as the process saw it, see path_full(); null: no file), dev, ino, offset
 *			and len (null: none), disks (that of the file system, and what it lies on:
 *			lists of names, each of what those of the one before lie on; null: not
 *			known), result, error (name, null: none), requests, pid,
 *			tid, comm, cgroup (id)
 *
 * Times are integers in ns. In text that is not UTF-8, U+FFFD replaces each invalid byte, and a
 * second member, NAME_bytes, has all bytes in base64. Everything beyond ASCII is escaped, so the
 * line is safe on any terminal. A number above 2^63 - 1 (an ino, cgroup or len) is a string.
 */
#ifndef IOSTRATA_SHOW_JSON_H
#define IOSTRATA_SHOW_JSON_H

#include <stdio.h>

#include "show/view.h"

/* Writes the line and flushes. @slowest NULL: not wanted. 0 or -errno. */
int breakdown_json(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct op_record *slowest, size_t n_slowest);

#endif
