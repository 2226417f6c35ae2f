/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * event.h - THE contract: what an operation, a stratum and a request are.
 *
 * Shared by the BPF programs and user space, so it includes nothing of ours and holds no code.
 * Ids are stored and scripted against: append, never reorder.
 */
#ifndef IOSTRATA_EVENT_H
#define IOSTRATA_EVENT_H

/* One I/O call of one thread; which system call is which kind is decided in syscalls.c. */
enum op_kind {
	OP_NONE,
	OP_READ,
	OP_WRITE,
	OP_OPEN,
	OP_CLOSE,
	OP_FSYNC,
	OP_COPY,
	OP_META,
	OP_N,
};

/*
 * A named share of an operation's elapsed time. The strata of an operation are disjoint and their
 * sum equals its elapsed time: every instant of an operation is charged to exactly one.
 */
enum stratum {
	ST_SYSCALL,	/* on CPU in the call, outside the layers below */
	ST_VFS,		/* on CPU in the VFS, outside the file system */
	ST_FS,		/* on CPU in the file system and all that it calls */
	ST_THROTTLE,	/* asleep in balance_dirty_pages */
	ST_TAG,		/* asleep until its bio got a request */
	ST_QUEUE,	/* asleep while its request waited in plug, scheduler or requeue */
	ST_DEVICE,	/* asleep while driver and device worked */
	ST_COMPLETE,	/* asleep from completion to the wake-up */
	ST_RUNQ,	/* woken, waiting for a CPU */
	ST_PREEMPT,	/* runnable, but taken off the CPU */
	ST_HELPER,	/* asleep while a kernel thread worked for it */
	ST_SLEEP,	/* asleep for any other reason */
	ST_N,
};

/* How the page cache served a read or write, from events inside the operation. */
enum cache_class {
	CACHE_NONE,	/* not a read or write of a file */
	CACHE_HIT,	/* waited for no read */
	CACHE_MISS,	/* waited for a read it submitted itself */
	CACHE_READAHEAD,/* waited for a read that somebody else started */
	CACHE_DIRECT,	/* O_DIRECT */
	CACHE_N,
};

/* Block request operations, named as blkparse names them (R W F D ...). */
enum rq_op {
	RQ_READ,
	RQ_WRITE,
	RQ_FLUSH,	/* the internal flush request of the flush machinery */
	RQ_DISCARD,
	RQ_SECURE_ERASE,
	RQ_WRITE_ZEROES,
	RQ_ZONE,	/* open, close, finish, append, reset */
	RQ_OTHER,	/* passthrough and driver private */
	RQ_N,
};

/* What a row of a table stands for beside operation and file system. */
enum by_key {
	BY_NONE,
	BY_PID,
	BY_COMM,
	BY_FILE,
	BY_CGROUP,
	BY_DEV,
	BY_CACHE,
};

/* A layer timed as a whole (inclusive time), as single-layer tools do. */
enum layer {
	LAYER_OPS,	/* none alone: whole operations with strata */
	LAYER_SYSCALL,
	LAYER_VFS,
	LAYER_FS,
	LAYER_BLK,
};

/* Every way to lose something. Each has a counter that a person will see. */
enum lost {
	LOST_RING,		/* no room in the ring buffer */
	LOST_MAP_FULL,		/* a row, bio, request or thread that found no room */
	LOST_UNMATCHED_START,	/* began, never seen to end */
	LOST_UNMATCHED_END,	/* ended, never seen to begin */
	LOST_N,
};

/* Identity of the file system of block devices themselves; that of others is an address. */
enum { FS_BDEV = 1 };

enum { COMM_LEN = 16, FS_NAME_LEN = 16, PATH_BYTES = 512, PATH_DEPTH = 24 };

/* The path of a file as the kernel holds it: names from the file up to the root of its file
 * system, each ended by a NUL; unclipped if complete. */
struct file_name {
	unsigned short len;
	unsigned char complete;
	unsigned char pad[5];
	char names[PATH_BYTES];
};

/* One finished operation as a record; times in ns, CLOCK_MONOTONIC. */
struct op_record {
	unsigned long long start_ns;
	unsigned long long total_ns;
	unsigned long long strata[ST_N];
	unsigned long long fs;		/* identity of the file system type, see struct fs_seen */
	unsigned long long ino;
	unsigned long long offset;	/* ~0: not known */
	unsigned long long len;		/* bytes asked for */
	long long ret;
	unsigned long long cgroup;
	unsigned int dev;		/* kernel dev_t of the file system */
	unsigned int pid;		/* thread group */
	unsigned int tid;
	unsigned int requests;		/* bios this operation submitted */
	unsigned short call;		/* system call number, | CALL_COMPAT */
	unsigned char kind;		/* enum op_kind */
	unsigned char cache;		/* enum cache_class */
	unsigned int pad;
	char comm[COMM_LEN];
	struct file_name file;
};

enum { CALL_COMPAT = 0x8000, CALL_MAX = 512 };

_Static_assert(sizeof(struct file_name) == 8 + PATH_BYTES, "file_name is stored");
_Static_assert(sizeof(struct op_record) == 200 + 8 + PATH_BYTES, "op_record is stored");

#endif
