/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conf.h - what session.c tells the programs before they are loaded.
 *
 * The numbers of struct conf are written into the instructions that name them, by CONF(field); see
 * constants_write(). The verifier folds what depends on them: what is off costs one instruction.
 */
#ifndef IOSTRATA_CONF_H
#define IOSTRATA_CONF_H

#include "../event.h"

enum {
	MAX_DEVS = 64,
	HELPER_WAITS = 8,	/* waits of a helper thread that are kept */
	BIO_WALK = 64,		/* bios of a request that are looked at */
	DONE_SLOTS = 4096,	/* threads whose last request is kept; a collision forgets one */
	TASK_SLOTS_LOG2 = 12,
	TASK_SLOTS = 1 << TASK_SLOTS_LOG2, /* threads whose state is found without a search */
	ROW_SLOTS = 64,		/* rows that are found without a search; see row.bpf.h */
	SLOT_SEARCH = 8,	/* slots that are tried for a row, or a type of file systems */
	FS_SLOTS = 128,		/* types of file systems */
	RQ_CPUS = 16,		/* CPUs whose rows of requests are apart; others share with them */
	IO_SLOTS = 8192,	/* bios that are found without a search; see io.bpf.h */
	MAX_SEARCH = 256,	/* CPUs whose bios are searched for one; the verifier walks it */
	MARK_SLOTS = 256,	/* CPUs whose completion is known; a collision forgets one */
	HANDLED_SLOTS = 4096,	/* threads whose last block events are kept, for twins */
	PID_LIMIT = 4 << 20,	/* PID_MAX_LIMIT, include/linux/threads.h */
};

/* Which argument of a system call names its file. */
enum call_file {
	FILE_NONE,	/* by path, or no file */
	FILE_ARG0,	/* descriptor */
	FILE_ARG1,
	FILE_ARG0_OR_2,	/* splice: whichever is not a pipe */
	FILE_RESULT,	/* open: the descriptor that it returns */
};

/* One system call: kind, file, and whether it goes through vfs_read or vfs_write; 0: not traced. */
#define CALL_DESC(kind, file) ((unsigned char)((kind) | (file) << 4))
#define CALL_THROUGH_VFS      0x80
#define CALL_KIND(desc)	      ((desc) & 15)
#define CALL_FILE(desc)	      ((desc) >> 4 & 7)

/* Where the call's offset comes from, for records. */
enum call_offset { OFFSET_NONE, OFFSET_POS, OFFSET_ARG3 };

struct conf {
	/* whose I/O */
	unsigned int tgid;		/* 0: everybody's; in the pid namespace below */
	unsigned int tool_tgid;		/* our own I/O is not traced */
	unsigned long long pidns_dev;	/* the tool's pid namespace; 0: the initial one */
	unsigned long long pidns_ino;
	unsigned long long cgroup;	/* id of a cgroup v2; 0: any */
	unsigned int cgroup_level;
	unsigned char tracked;		/* only the tool's child and descendants: on_fork() */
	unsigned char has_comm;
	unsigned char all_files;
	/* summaries, so that a program looks at one of them instead of many */
	unsigned char process_filter;	/* tgid, cgroup, comm or tracked */
	unsigned char file_filter;	/* file_ino or n_devs */
	unsigned char file_details;	/* inode, device or flags of a file are of use */
	unsigned char rdonly_cast;	/* any kernel pointer can be read as typed (6.2) */
	unsigned char guarded;		/* fentry's programs forbid that they are preempted */
	unsigned long long comm[COMM_LEN / 8];
	/* which I/O */
	unsigned long long min_ns;
	unsigned long long file_ino;	/* 0: any file */
	unsigned int file_dev;
	unsigned int n_devs;		/* of devs[]; 0: any device */
	unsigned int io_rows;		/* that are searched for a bio */
	unsigned int io_row_len;	/* how many of IO_SLOTS each CPU has; a power of two */
	/* what to do with it */
	unsigned char layer;		/* enum layer */
	unsigned char by;		/* enum by_key */
	unsigned char direct;		/* rows are found by operation and file system alone */
	unsigned char alone;		/* nobody else writes such a row meanwhile */
	unsigned char queued;		/* histogram of requests: queue and tag too */
	unsigned char records;		/* send slow operations as records */
	unsigned char call_noted;	/* the number of an operation's call is of use */
	unsigned char waits;		/* cut sleeps by layer */
	unsigned char twins;		/* programs on block tracepoints are there twice */
	/* which argument of a tracepoint is the bio, the request, ...: arity differs */
	unsigned char arg_bio_queue, arg_getrq, arg_backmerge, arg_frontmerge, arg_split;
	unsigned char arg_issue, arg_requeue, arg_rq_merge;
	unsigned char arg_pause;	/* balance_dirty_pages' pause */
	unsigned char rqf_flush_seq;	/* bit of RQF_FLUSH_SEQ in request.rq_flags */
	unsigned char has_prev_state;	/* sched_switch tells prev's state */
};

/* What stands for a field in a program, as a 64-bit constant: its high half, and the low half. */
#define CONF_MARK  0x636f6e66U
#define CONF_WHERE(field)                                                                          \
	(sizeof(((struct conf *)0)->field) << 16 | __builtin_offsetof(struct conf, field))
#define CONF_SIZE(where)   ((where) >> 16)
#define CONF_OFFSET(where) ((where) & 0xffff)

/* Which row of direct_cells: by CPU, interval (even or odd) and slot. */
#define DIRECT_CELLS(cpus)	       ((cpus) * 2 * ROW_SLOTS)
#define DIRECT_CELL(cpu, epoch, slot) (((cpu) * 2 + ((epoch) & 1)) * ROW_SLOTS + (slot))

/* What a row is of, beside its file system: call, operation and class as one number, never 0; or,
 * beside its disk, the operation of requests or of bios. */
#define ROW_WHAT(call, op, cache) ((unsigned int)(call) | (op) << 16 | (cache) << 24)
#define WHAT_CALL(what)		   ((what) & 0xffff)
#define WHAT_OP(what)		   ((what) >> 16 & 0xff)
#define WHAT_CACHE(what)	   ((what) >> 24)
#define ROW_REQUESTS		   0x80000000U
#define REQUESTS_WHAT(op, is_bio)  (ROW_REQUESTS | (op) << 16 | (is_bio))
#define WHAT_IS_BIO(what)	   ((what) & 1)

/* Who has a slot, for good. */
struct row_slot {
	unsigned long long fs;		/* or disk */
	unsigned int what;		/* 0: nobody */
	unsigned int pad;
};

/* A type of file systems, and the functions of its regular files. */
struct fs_seen {
	unsigned long long fs;		/* its identity; 0: a free slot */
	char name[FS_NAME_LEN];
	unsigned long long write_iter, fsync, open;
	unsigned long long read_iter;	/* 0: none is known yet */
};

/* Written by both sides while the programs run; shared by all objects. */
struct live {
	unsigned long long slow_ns;	/* operations that took longer are sent as records */
	unsigned long long lost[LOST_N];
	struct row_slot rows[ROW_SLOTS];
	struct fs_seen fs_seen[FS_SLOTS];
	unsigned int hashed;		/* bios and requests whose state is not */
	unsigned char epoch;		/* see session_snapshot() */
};

#endif
