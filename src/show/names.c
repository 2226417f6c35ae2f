// SPDX-License-Identifier: GPL-2.0-only
/*
 * names.c - one table per enum of event.h; see names.h.
 */
#include "names.h"

#define NAME_OF(table, id) ((id) < sizeof(table) / sizeof((table)[0]) ? (table)[id] : "?")

const char *op_name(unsigned int op)
{
	static const char *const names[OP_N] = { "none",  "read",  "write", "open",
						 "close", "fsync", "copy",  "meta" };

	return NAME_OF(names, op);
}

const char *stratum_name(unsigned int st)
{
	static const char *const names[ST_N] = {
		"syscall", "vfs",      "fs",   "throttle", "tag",    "queue",
		"device",  "complete", "runq", "preempt",  "helper", "sleep",
	};

	return NAME_OF(names, st);
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
	static const char *const names[] = { "-", "pid", "comm", "file", "cgroup", "dev", "cache" };

	return NAME_OF(names, by);
}

const char *layer_name(unsigned int layer)
{
	static const char *const names[] = { "ops", "syscall", "vfs", "fs", "blk" };

	return NAME_OF(names, layer);
}

const char *lost_name(unsigned int lost)
{
	static const char *const names[LOST_N] = { "ring", "map_full", "unmatched_start",
						   "unmatched_end" };

	return NAME_OF(names, lost);
}
