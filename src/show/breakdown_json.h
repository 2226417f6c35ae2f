/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_json.h - a snapshot as one line of JSON, schema "iostrata.breakdown/1".
 *
 * A contract for other programs: members are added, never renamed, removed or given another
 * meaning.
 *
 *	schema, kernel
 *	time		when the interval ended, RFC 3339
 *	duration_ns	length of the interval
 *	command		name of the command, if only a command is traced; null: none
 *	threads_ns	time of all its threads, each from its beginning to its end; null: none
 *	busiest		the one of these threads with most time in calls and page faults: pid, tid,
 *			comm (null: not known), io_ns (this time), lived_ns (its life in the
 *			interval); null: no such thread
 *	io_ns, strata	time of all operations, and by stratum. io_ns is null with a single layer.
 *			Both are null where operations are not traced
 *	missing		figures that could not be measured: names of strata, "requests", "calls"
 *			(all operations), "uring", "aio", "fault"
 *	ops		a row per operation, file system and key (empty with a single layer): the
 *			named columns of op_columns, strata, pattern, hist
 *	strata		a member per stratum, null if missing (fs also in the rows of a file
 *			system whose functions are not probed); the others add up to total_ns
 *	hist		[low_ns, high_ns, count] per bucket that is not empty; both ends inclusive
 *	layers		with a single layer, the same rows without strata. They have layer (syscall,
 *			vfs, fs) and, for syscall, call
 *	requests	a row per disk and operation: the named columns of rq_columns, parent,
 *			pattern, hist. null: missing, or another single layer is traced
 *			parent: names of the disks above this disk or a partition of it; null: not
 *			known. pattern: rq_pattern_columns; null: not known, as in ops.
 *			hist: of device time, with -Q of tag, queue and device
 *	minor_faults	page faults that found their page in memory: a row per file system and key,
 *			the columns of minor_columns; null: not counted
 *	in_progress	operations that had not ended, oldest first (empty with a single layer): op,
 *			fs, age_ns, stratum (the present one, if known before its end), frozen (it
 *			waits until its file system is thawed), dev (null:
 *			waits for no request of its own), pid, tid, comm (null: not known), file
 *	in_progress_before
 *			threads which have waited since before the tracing began; only if there are
 *			any: op (null: the call is none, or not known), call (null: a page fault, or
 *			not known), fs, age_ns (at least), stratum, symbol, what, pid, tid, comm,
 *			file, server (null: not known)
 *	unseen_before	threads which may belong there, but cannot be read; only if there are any
 *	unseen_threads	threads whose operations in progress are not in in_progress
 *	unnamed_cgroups	with --by container: cgroups that were removed before their name was read;
 *			each is a key of its own, "cgroup 12"
 *	unpatterned	with --pattern: reads and writes in no pattern, for want of room
 *	unreaped	requests of io_uring without the stratum reap; null: not counted
 *	lost		ring, map_full, unmatched_start, unmatched_end, names, unattributed, missed
 *	overhead	bpf_run_ns, bpf_run_cnt; null if not measured
 *	slowest		only with --slowest: op, call, fs, cache, start_ns, total_ns, strata, path,
 *			dev, ino, offset and len (null: none), disks, result, error (name, null:
 *			none), requests, device_bytes, pid, tid, comm, cgroup (id), lock,
 *			segments, segments_merged, helper, woken_by, disk_requests,
 *			disk_requests_count
 *			path: as the process saw it, see path_full(); null: no file
 *			disks: a list of names per level, from the disk of the file system
 *			down; null: not known
 *	helpers, helper_times
 *			only with --helpers: helper_columns, helper_time_columns; null: missing
 *	sleep_why	only with --why: site_columns; null: missing
 *	servers		only if there were requests to servers: server_columns
 *	joined		only of recordings with requests of NFS and operations that served some:
 *			rows (joined_columns and strata), and how many are not joined:
 *			requests, served (count, no_xid, elsewhere, outside, alone)
 *
 * Times are integers in ns. In text that is not UTF-8, U+FFFD replaces each invalid byte, and a
 * second member, NAME_bytes, has all bytes in base64. Everything beyond ASCII is escaped, so the
 * line is safe on any terminal. A number above 2^63 - 1 (an ino, cgroup or len) is a string.
 */
#ifndef IOSTRATA_SHOW_BREAKDOWN_JSON_H
#define IOSTRATA_SHOW_BREAKDOWN_JSON_H

#include <stdio.h>

#include "base/json.h"
#include "show/breakdown.h"

/* Writes the line and flushes. @slowest NULL: no member "slowest". 0 or -errno. */
int breakdown_json(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct slow_op *slowest, size_t n_slowest);

/* Writes the member "servers" into the open object. 0 or -ENOMEM. */
int breakdown_json_servers(struct json *j, const struct snapshot *sn,
			   const struct missing *missing);

#endif
