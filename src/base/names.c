// SPDX-License-Identifier: GPL-2.0-only
/*
 * names.c - one table per enum of event.h; see names.h.
 */
#include "base/names.h"

#include <stddef.h>
#include <string.h>

#include "base/protocols.h"
#include "cell.h"

struct request {
	unsigned char opcode; /* of linux/io_uring.h or linux/aio_abi.h; never renumbered */
	unsigned char kind;   /* of a call that does the same */
	const char *name;
};

/* Left out: sockets, polls, timeouts, management of the ring, and commands of drivers. */
static const struct request uring_list[] = {
	{ 1, OP_READ, "readv" },          { 2, OP_WRITE, "writev" },
	{ 3, OP_FSYNC, "fsync" },         { 4, OP_READ, "read_fixed" },
	{ 5, OP_WRITE, "write_fixed" },   { 8, OP_META, "sync_file_range" },
	{ 17, OP_META, "fallocate" },     { 18, OP_OPEN, "openat" },
	{ 19, OP_CLOSE, "close" },        { 21, OP_META, "statx" },
	{ 22, OP_READ, "read" },          { 23, OP_WRITE, "write" },
	{ 24, OP_META, "fadvise" },       { 28, OP_OPEN, "openat2" },
	{ 30, OP_COPY, "splice" },        { 35, OP_META, "renameat" },
	{ 36, OP_META, "unlinkat" },      { 37, OP_META, "mkdirat" },
	{ 38, OP_META, "symlinkat" },     { 39, OP_META, "linkat" },
	{ 41, OP_META, "fsetxattr" },     { 42, OP_META, "setxattr" },
	{ 43, OP_META, "fgetxattr" },     { 44, OP_META, "getxattr" },
	{ 55, OP_META, "ftruncate" },     { 60, OP_READ, "readv_fixed" },
	{ 61, OP_WRITE, "writev_fixed" },
};

/* Numbers of IOCB_CMD_...; polls are no operations. */
static const struct request aio_list[] = {
	{ 0, OP_READ, "pread" },   { 1, OP_WRITE, "pwrite" }, { 2, OP_FSYNC, "fsync" },
	{ 3, OP_FSYNC, "fdsync" }, { 7, OP_READ, "preadv" },  { 8, OP_WRITE, "pwritev" },
};

enum {
	URING_N = sizeof(uring_list) / sizeof(*uring_list),
	AIO_N = sizeof(aio_list) / sizeof(*aio_list),
};

static const struct request *find_in(const struct request *list, size_t n, unsigned int opcode)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].opcode == opcode)
			return &list[i];
	return NULL;
}

static const struct request *find(unsigned short call)
{
	if (call & CALL_COMPAT)
		return NULL;
	if (call & CALL_URING)
		return find_in(uring_list, URING_N, call & ~CALL_URING);
	return call & CALL_AIO ? find_in(aio_list, AIO_N, call & ~CALL_AIO) : NULL;
}

void uring_fill(unsigned char kinds[URING_OPS])
{
	memset(kinds, OP_NONE, URING_OPS);
	for (size_t i = 0; i < URING_N; i++)
		kinds[uring_list[i].opcode] = uring_list[i].kind;
}

unsigned int async_acts(unsigned int kind, unsigned short call)
{
	const struct request *r = async_is_request(kind, call) ? find(call) : NULL;

	return r ? r->kind : kind;
}

bool async_is_request(unsigned int kind, unsigned short call)
{
	return kind == OP_URING || (kind == OP_AIO && call & CALL_AIO);
}

unsigned int async_layers(unsigned int kind, unsigned short call)
{
	unsigned int acts = async_acts(kind, call);

	if (async_is_request(kind, call) && acts != OP_READ && acts != OP_WRITE)
		return OP_NONE;
	return acts;
}

unsigned int async_unmeasured(unsigned int kind, unsigned short call)
{
	return kind == OP_AIO && call & CALL_AIO ? 1U << ST_REAP : 0;
}

const char *async_call_name(unsigned short call)
{
	const struct request *r = find(call);

	if (call == CALL_FAULT)
		return "page_fault";
	if (call == CALL_SERVED || (call & ~0xff) == (CALL_SERVED | CALL_SMB))
		return served_call_name(call);
	return r ? r->name : NULL;
}

#define NAME_OF(table, id) ((id) < sizeof(table) / sizeof((table)[0]) ? (table)[id] : "?")

const char *op_name(unsigned int op)
{
	static const char *const names[] = {
		[OP_NONE] = "none", [OP_READ] = "read",       [OP_WRITE] = "write",
		[OP_OPEN] = "open", [OP_CLOSE] = "close",     [OP_FSYNC] = "fsync",
		[OP_COPY] = "copy", [OP_META] = "meta",       [OP_URING] = "uring",
		[OP_AIO] = "aio",   [OP_FAULT] = "fault",     [OP_SERVED] = "served",
		[OP_N] = "?",       [OP_COPY_TO] = "copy_to",
	};

	return NAME_OF(names, op);
}

const struct opt_term strata_terms[] = {
	[ST_SYSCALL] = { "syscall", "syscall",
			 "on CPU in the call, or in the exception of a page fault, outside the "
			 "layers below" },
	[ST_VFS] = { "vfs", "vfs", "on CPU in the VFS, outside the file system" },
	[ST_FS] = { "fs", "fs",
		    "on CPU in the file system, shown under the file system's name, and in the "
		    "functions it calls (page cache, copying, submission of I/O)" },
	[ST_THROTTLE] = { "throttle", "throttle",
			  "asleep because it had dirtied too much memory, or because a limit of "
			  "its cgroup (io.max) held its I/O back" },
	[ST_TAG] = { "tag", "tag",
		     "asleep until there was a request for its I/O: no tag was free, or a limit "
		     "held the I/O back" },
	[ST_QUEUE] = { "queue", "queue",
		       "asleep while its request waited in the queue before the driver" },
	[ST_DEVICE] = { "device", "device",
			"asleep while driver and device worked on its request" },
	[ST_COMPLETE] = { "complete", "wake-up",
			  "asleep from the request's completion (an interrupt) to the wake-up" },
	[ST_RUNQ] = { "runq", "run queue", "woken, but waiting for a CPU" },
	[ST_PREEMPT] = { "preempt", "preempted", "runnable, but taken off its CPU" },
	[ST_HELPER] = { "helper", "kernel thread",
			"asleep while a kernel thread worked for it (journal, loop device, device "
			"mapper, workqueue); the kernel thread's own waits for a request or a CPU "
			"count as such" },
	[ST_SLEEP] = { "sleep", "sleep", "asleep for any other reason" },
	[ST_LOCK] = { "lock", "lock",
		      "asleep for a kernel lock (of an inode, a journal ...) held by another "
		      "thread; before Linux 5.19 part of sleep" },
	[ST_SERVER] = { "server", "server",
			"asleep from sending a request to a file server or a daemon (NFS, SMB, 9p, "
			"FUSE, virtiofs ...) until the answer" },
	[ST_REAP] = { "reap", "reap",
		      "busy in the kernel, while the completion of its finished request of "
		      "io_uring lay in the ring" },
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

char stratum_letter(unsigned int st)
{
	static const char letters[ST_N + 1] = {
		[ST_SYSCALL] = 'C', [ST_VFS] = 'C',     [ST_FS] = 'C',     [ST_THROTTLE] = 't',
		[ST_TAG] = 'g',     [ST_QUEUE] = 'q',   [ST_DEVICE] = 'D', [ST_COMPLETE] = 'w',
		[ST_RUNQ] = 'r',    [ST_PREEMPT] = 'p', [ST_HELPER] = 'k', [ST_SLEEP] = 's',
		[ST_LOCK] = 'l',    [ST_SERVER] = 'S',  [ST_REAP] = 'R',
	};

	return st < ST_N && letters[st] ? letters[st] : '?';
}

const char *cache_name(unsigned int cache)
{
	static const char *const names[CACHE_N] = {
		"-", "hit", "miss", "readahead", "direct", "not known", "hit (read ahead)"
	};

	return NAME_OF(names, cache);
}

const char *cache_known(unsigned int cache)
{
	if (cache == CACHE_HIT_AHEAD)
		return "hit_ahead";
	return cache == CACHE_NONE || cache == CACHE_UNKNOWN ? NULL : cache_name(cache);
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
	static const char *const names[] = { "-",    "pid",    "comm",  "file", "cgroup",
					     "dev",  "cache",  "tid",   "task", "container",
					     "host", "server", "client" };

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
	static const char *const names[LOST_N] = { "ring",          "map_full", "unmatched_start",
						   "unmatched_end", "names",    "unattributed",
						   "ops",           "requests" };

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
