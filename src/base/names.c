// SPDX-License-Identifier: GPL-2.0-only
/*
 * names.c - one table per enum of event.h; see names.h.
 */
#include "base/names.h"

#define NAME_OF(table, id) ((id) < sizeof(table) / sizeof((table)[0]) ? (table)[id] : "?")

const char *op_name(unsigned int op)
{
	static const char *const names[OP_N] = { "none",  "read",  "write", "open",
						 "close", "fsync", "copy",  "meta",
						 "uring", "aio",	 "fault" };

	return NAME_OF(names, op);
}

const struct opt_term strata_terms[] = {
	[ST_SYSCALL] = { "syscall", "syscall",
			 "on CPU in the call, or in the exception of a page fault, outside the "
			 "layers below" },
	[ST_VFS] = { "vfs", "vfs", "on CPU in the VFS, outside the file system" },
	[ST_FS] = { "fs", "fs",
		    "on CPU in the file system, shown under its name, and in all that it calls "
		    "(page cache, copying, submission of I/O)" },
	[ST_THROTTLE] = { "throttle", "throttle",
			  "asleep because it had dirtied too much memory, or while a limit of its "
			  "cgroup (io.max) kept its I/O back" },
	[ST_TAG] = { "tag", "tag",
		     "asleep until its I/O got a request: no tag was free, or a limit held it "
		     "back" },
	[ST_QUEUE] = { "queue", "queue",
		       "asleep while its request waited to be given to the driver" },
	[ST_DEVICE] = { "device", "device", "asleep while driver and device worked" },
	[ST_COMPLETE] = { "complete", "wake-up",
			  "asleep from the request's completion (an interrupt) to the wake-up" },
	[ST_RUNQ] = { "runq", "run queue", "woken, but waiting for a CPU" },
	[ST_PREEMPT] = { "preempt", "preempted", "runnable, but taken off its CPU" },
	[ST_HELPER] = { "helper", "kernel thread",
			"asleep while a kernel thread worked for it (journal, loop device, device "
			"mapper, workqueue); while that waited itself, for a request or a CPU, it "
			"is the stratum of that" },
	[ST_SLEEP] = { "sleep", "sleep", "asleep for any other reason" },
	[ST_LOCK] = { "lock", "lock",
		      "asleep for a lock of the kernel that somebody else held (of an inode, a "
		      "journal ...; Linux 5.19 and later, before that it is in sleep)" },
	{}
};

const char *stratum_name(unsigned int st)
{
	return st < ST_N ? strata_terms[st].name : "?";
}

const char *stratum_label(unsigned int st)
{
	return st < ST_N ? strata_terms[st].label : "?";
}

const char *cache_name(unsigned int cache)
{
	static const char *const names[CACHE_N] = { "-", "hit", "miss", "readahead", "direct" };

	return NAME_OF(names, cache);
}

const char *rq_op_name(unsigned int op)
{
	static const char *const names[RQ_N] = { "read",  "write",  "flush", "discard",
						 "erase", "zeroes", "zone",  "other" };

	return NAME_OF(names, op);
}

const char *rq_op_code(unsigned int op)
{
	static const char *const codes[RQ_N] = { "R", "W", "F", "D", "DE", "WZ", "Z", "N" };

	return NAME_OF(codes, op);
}

const char *by_name(unsigned int by)
{
	static const char *const names[] = { "-",   "pid",   "comm", "file", "cgroup",
					     "dev", "cache", "tid",  "task", "container" };

	return NAME_OF(names, by);
}

const char *layer_name(unsigned int layer)
{
	static const char *const names[] = { "ops", "syscall", "vfs", "fs", "blk" };

	return NAME_OF(names, layer);
}

const char *behalf_name(unsigned int behalf)
{
	static const char *const names[BEHALF_N] = { NULL, "writeback", "helper" };

	return behalf < BEHALF_N ? names[behalf] : NULL;
}

const char *lost_name(unsigned int lost)
{
	static const char *const names[LOST_N] = { "ring", "map_full", "unmatched_start",
						   "unmatched_end", "names", "unattributed",
						   "ops", "requests" };

	return NAME_OF(names, lost);
}

const char *lost_what(unsigned int lost, uint64_t n)
{
	static const char *const one[LOST_N + 1] = {
		[LOST_RING] = "record found no room in the ring buffer or the file",
		[LOST_MAP_FULL] = "row, request or thread found no room in a table",
		[LOST_UNMATCHED_START] = "operation or request began and was never seen to end",
		[LOST_NAMES] = "file has no name, only its inode",
		[LOST_UNATTRIBUTED] = "request or page fault may have been among those asked for",
		[LOST_OPS] = "operation was not recorded",
		[LOST_REQUESTS] = "request was not recorded",
		[LOST_N] = "probe hit was not run by the kernel",
	};
	static const char *const more[LOST_N + 1] = {
		[LOST_RING] = "records found no room in the ring buffer or the file",
		[LOST_MAP_FULL] = "rows, requests or threads found no room in a table",
		[LOST_UNMATCHED_START] = "operations or requests began and were never seen to end",
		[LOST_NAMES] = "files have no name, only their inode",
		[LOST_UNATTRIBUTED] = "requests or page faults may have been among those asked for",
		[LOST_OPS] = "operations were not recorded",
		[LOST_REQUESTS] = "requests were not recorded",
		[LOST_N] = "probe hits were not run by the kernel",
	};

	return n == 1 ? NAME_OF(one, lost) : NAME_OF(more, lost);
}
