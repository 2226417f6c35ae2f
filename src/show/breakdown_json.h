/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_json.h - a snapshot as one line of JSON, schema "iostrata.breakdown/1".
 *
 * Others rely on it: members are added, never renamed, removed or given another meaning.
 *
 *	schema, kernel, duration_ns
 *	missing		names of the strata that this run could not measure, and "requests"
 *	ops		a row per operation, file system and key (empty with a layer alone):
 *			op, fs (null: not known), cache (null: not asked for by --by cache, or not a
 *			read or write), key (null without --by), count, errors, bytes, total_ns,
 *			max_ns, p50_ns, p90_ns, p99_ns, p999_ns, strata, hist
 *	strata		a member per stratum, null if missing (fs also in the rows of a file
 *			system whose functions are not probed); the others add up to total_ns
 *	hist		[low_ns, high_ns, count] per bucket that is not empty; both ends inclusive
 *	layers		with a layer alone the same rows without strata, with layer (syscall, vfs,
 *			fs) and, for syscall, call
 *	requests	null if missing; a row per disk and operation: dev, major, minor, op (as
 *			blkparse: R W F D DE WZ Z N), count, errors, bytes, requeues, unqueued (of
 *			count: tag and queue time not known), tag_ns and queue_ns (null if the disk
 *			has none), device_ns, max_ns, hist (of device time; of all three with -Q)
 *	lost		ring, map_full, unmatched_start, unmatched_end, missed
 *	overhead	bpf_run_ns, bpf_run_cnt; null if not measured
 *	slowest		only if asked for: op, call, fs, cache, start_ns, total_ns, strata, path
 *			(".../" in front: upper directories not known; null: not known), dev, ino,
 *			offset (null: none), len, result, error (name, null: none), requests, pid,
 *			tid, comm, cgroup (id)
 *
 * Times are integers in ns. Text that is not UTF-8 has U+FFFD for each byte that is wrong. Beyond
 * ASCII everything is escaped, so the line is safe on any terminal. An ino, cgroup or len above
 * 2^63 - 1 is a string.
 */
#ifndef IOSTRATA_BREAKDOWN_JSON_H
#define IOSTRATA_BREAKDOWN_JSON_H

#include <stdio.h>

#include "breakdown_view.h"

/* Writes the line and flushes. @slowest NULL: not asked for. 0 or -errno. */
int breakdown_json(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct op_record *slowest, size_t n_slowest);

#endif
