/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conf.h - what session.c tells the programs before they are loaded.
 *
 * struct bpf_conf is read-only data of the programs: the verifier folds what depends on it, so a
 * feature that is off costs nothing, or one load.
 */
#ifndef IOSTRATA_CONF_H
#define IOSTRATA_CONF_H

#include "../event.h"

enum {
	MAX_DEVS = 64,
	MAX_PIDS = 16, /* as many as an option takes; see opts.h */
	MAX_COMMS = 16,
	MAX_CGROUPS = 16,
	MAX_FILES = 16,
	CGROUP_LEVELS = 32, /* of the hierarchy, searched for a cgroup */
	DIR_LEVELS = 32,    /* above a file, searched for a directory */
	HELPER_WAITS = 8,   /* waits of a helper thread that are kept */
	BIO_WALK = 256,     /* bios of a request that are looked at: NVME_DSM_MAX_RANGES */
	ABSORB_WALK = 8,
	DONE_SLOTS = 4096, /* threads whose last request is kept; a collision forgets one */
	TASK_SLOTS_LOG2 = 12,
	TASK_SLOTS = 1 << TASK_SLOTS_LOG2, /* threads whose state is found without a search */
	ROW_SLOTS = 64,                    /* rows that are found without a search; see row.bpf.h */
	SLOT_SEARCH = 8,      /* slots that are tried for a row, or a file system type */
	FS_SLOTS = 128,       /* file system types */
	RQ_CPUS = 16,         /* CPUs with rows of requests of their own; others share these */
	HIST_CPUS = 32,       /* the same for the histograms of operations; a power of two */
	IO_SLOTS = 8192,      /* bios that are found without a search; see io.bpf.h */
	MAX_SEARCH = 256,     /* CPUs whose slots are searched; the verifier walks them all */
	MARK_SLOTS = 256,     /* CPUs whose completion is known; a collision forgets one */
	MARK_LEVELS = 4,      /* threads, software and hardware interrupts; one is not used */
	HANDLED_SLOTS = 4096, /* threads whose last block events are kept, for backups */
	IDLE_SLOTS = 1024,    /* CPUs for whose idle threads they are kept */
	MAX_RINGS = 16,       /* for records, one for each group of CPUs */
	MAX_LANES = 128,      /* CPUs that have one: a power of two; see struct lane */
	FILES_SENT = 4096,    /* files whose name was sent; a collision forgets one */
	PID_LIMIT = 4 << 20,  /* PID_MAX_LIMIT, include/linux/threads.h */
};

/*
 * Numbers in programs that stand for what only the running kernel knows, and that are replaced when
 * they are loaded (blanks.c). libbpf would look through all types of the kernel for each, and
 * through those of all modules if the kernel has none.
 */
enum blank {
	BLANK_RDONLY_CAST = 0x4d61726b, /* a BPF helper's: the function bpf_rdonly_cast() */
	BLANK_TASK_STRUCT,
	BLANK_REQUEST,
	BLANK_BIO,
	BLANK_KIOCB, /* types */
	BLANK_PREEMPT_COUNT,
	BLANK_PCPU_HOT, /* addresses of variables; 0: there is none */
	BLANK_END,
};

/* Which argument of a system call names its file. */
enum call_file {
	FILE_NONE, /* by path, or no file */
	FILE_ARG0, /* descriptor */
	FILE_ARG1,
	FILE_ARG0_OR_2, /* splice: whichever is not a pipe */
	FILE_RESULT,    /* open: the descriptor that it returns */
	FILE_MAPPED,    /* mmap: its descriptor; only if it reads the file at once */
	FILE_MAPPING,   /* that of the mapping at its first argument */
	FILE_ADVISED,   /* likewise: madvise, only if that reads */
};

/* One system call: kind, file, and whether it goes through vfs_read or vfs_write; 0: not traced. */
#define CALL_DESC(kind, file) ((unsigned char)((kind) | (file) << 4))
#define CALL_THROUGH_VFS      0x80
#define CALL_KIND(desc)       ((desc)&15)
#define CALL_FILE(desc)       ((desc) >> 4 & 7)

/* Where the call's offset comes from, for records. */
enum call_offset {
	OFFSET_NONE,
	OFFSET_POS,
	OFFSET_ARG3,
	OFFSET_ARGS,  /* of OP_HANDLE: length and offset are the second and the third argument */
	OFFSET_FLOCK, /* the same; the third is the type in a struct flock there */
};

/* A file to trace, or a directory: then with all that is below it in its file system. */
struct filter_file {
	unsigned long long ino;
	unsigned int dev;
	unsigned int is_dir;
};

/* Whose and which I/O to trace. An empty list lets all pass; of several lists, I/O must pass each.
 * Read-only data of the programs, which take the lengths from struct bpf_conf. */
struct filter_lists {
	unsigned int n_pids, n_comms, n_cgroups, n_files, n_devs;
	unsigned int pids[MAX_PIDS]; /* of thread groups; in the tool's pid namespace */
	unsigned long long comms[MAX_COMMS][COMM_LEN / 8];
	unsigned long long cgroups[MAX_CGROUPS]; /* ids of cgroups v2, with those below them */
	struct filter_file files[MAX_FILES];
	unsigned int devs[MAX_DEVS]; /* dev_t, of files' file systems and of disks */
};

struct bpf_conf {
	/* whose I/O */
	unsigned int tool_tgid;       /* our own I/O is not traced */
	unsigned long long pidns_dev; /* the tool's pid namespace; 0: the initial one */
	unsigned long long pidns_ino;
	unsigned char n_pids, n_comms, n_cgroups; /* of struct filter_lists; 0: everybody's */
	unsigned char tracked; /* only the tool's child and descendants: on_fork() */
	unsigned char all_files;
	/* summaries, so that a program looks at one of them instead of many */
	unsigned char thread_filter;  /* pids, comms or tracked */
	unsigned char process_filter; /* these, or cgroups */
	unsigned char file_filter;    /* n_files or n_devs */
	unsigned char file_details;   /* inode, device or flags of a file are needed */
	unsigned char op_extras;      /* what op_extras() looks at is asked for */
	unsigned char rdonly_cast;    /* any kernel pointer can be read as typed (6.2) */
	/* which I/O */
	unsigned long long min_ns;
	unsigned long long record_fs[FS_NAME_LEN / 8]; /* records on this type only; 0: on all */
	unsigned char n_files, n_devs;                 /* of struct filter_lists; 0: all */
	unsigned char has_dirs;                        /* among those files */
	unsigned int io_cpus;                          /* CPUs that are searched for a bio */
	unsigned int async_slots;      /* of async_ops beside the first; a power of two */
	unsigned int io_slots_per_cpu; /* how many of IO_SLOTS each CPU has; a power of two */
	unsigned int op_rows_limit;    /* rows in a hash at which it must be drained */
	unsigned int rq_rows_limit;
	unsigned int helper_rows_limit, why_rows_limit;
	/* what to do with it */
	unsigned char layer;         /* enum layer */
	unsigned char by;            /* enum by_key */
	unsigned char rq_by;         /* rows of requests are keyed by it, too */
	unsigned char issuers;       /* the submitter of a bio matters: rq_by, process_filter,
				      * helpers */
	unsigned char helpers;       /* what kernel helpers do has rows of its own */
	unsigned char why;           /* where threads slept for reasons that are not known */
	unsigned char behalf;        /* for whom others do something matters: BY_TASK, helpers */
	unsigned char row_slots;     /* rows are found by operation and file system alone */
	unsigned char single_writer; /* nobody else is where a call ends on this CPU */
	unsigned char fault_single_writer;     /* the same of where a page fault ends */
	unsigned char queued;                  /* histogram of requests: queue and tag too */
	unsigned char rq_sums_only;            /* requests have no histogram */
	unsigned char records;                 /* send slow operations as records */
	unsigned char sent_ops, sent_requests; /* send all, struct sent_...; see send.bpf.h */
	unsigned char uncounted;               /* add nothing to rows */
	unsigned char rings;                   /* that they are sent in; at most MAX_RINGS */
	unsigned int wake_mask;                /* user space is woken after wake_mask + 1 bytes */
	unsigned int lane_mask;       /* a lane has lane_mask + 1 records; 0: there are none */
	unsigned int lane_wake;       /* user space is woken after lane_wake + 1 of them */
	unsigned char meta_calls;     /* operations of kind meta have a row for each call */
	unsigned char call_noted;     /* the number of an operation's call is needed */
	unsigned char waits;          /* cut sleeps by layer */
	unsigned char cpu_split;      /* and the time on the CPU, too */
	unsigned char marks;          /* completions in progress are marked */
	unsigned char misses_counted; /* the kernel counts returns that fexit misses */
	unsigned char hists_apart;    /* slot_cells are sums alone; see row_hist_add() */
	unsigned char uring, aio;     /* requests of io_uring, of libaio are operations */
	unsigned char async;          /* either of them are */
	unsigned char aio_calls;      /* libaio's calls are operations instead */
	unsigned char faults;         /* page faults are operations */
	unsigned char all_faults;     /* also those that found their page */
	unsigned char minor_faults;   /* these are counted */
	unsigned char page_shift;     /* log2 of a page's size */
	unsigned char op_owner;       /* whose they are matters when they are done */
	unsigned char backups;        /* programs on block tracepoints are attached twice */
	/* offsets in bytes: of btrfs from an inode back to its root, and from there to its device;
	 * of overlayfs from an inode to its upper layer's dentry; 0: not known */
	unsigned short btrfs_root, btrfs_dev, overlay_upper;
	unsigned char file_identity; /* any of these is known */
	/* where the interrupt level is, for programs that may not refer to it: relative to the
	 * address that @cpu_offsets has for each CPU; 0: not known, or not needed */
	unsigned long long preempt_count, cpu_offsets;
	/* which argument of a tracepoint is the bio, the request, ...: arity differs */
	unsigned char arg_bio_queue, arg_getrq, arg_backmerge, arg_frontmerge, arg_split;
	unsigned char arg_issue, arg_requeue, arg_rq_merge;
	unsigned char arg_pause;     /* balance_dirty_pages' pause */
	unsigned char rqf_flush_seq; /* bit of RQF_FLUSH_SEQ in request.rq_flags */
};

/* Which row of slot_cells: by CPU, epoch (0 or 1, see drain.h) and slot. */
#define SLOT_CELLS(cpus)            ((cpus)*2 * ROW_SLOTS)
#define SLOT_CELL(cpu, epoch, slot) (((cpu)*2 + (epoch)) * ROW_SLOTS + (slot))

/* A bit in the inode number of a file's name in the hash: the name was read again. */
#define FILE_ID_AGAIN (1ULL << 63)

/* What a row stands for, beside its file system: call, operation and cache class as one number,
 * never 0; or, beside its disk, the operation of requests or of bios. */
#define ROW_WHAT(call, op, cache) ((unsigned int)(call) | (op) << 16 | (cache) << 24)
#define WHAT_CALL(what)           ((what)&0xffff)
#define WHAT_OP(what)             ((what) >> 16 & 0xff)
#define WHAT_CACHE(what)          ((what) >> 24)
#define ROW_REQUESTS              0x80000000U
#define REQUESTS_WHAT(op, is_bio) (ROW_REQUESTS | (op) << 16 | (is_bio))
#define WHAT_IS_BIO(what)         ((what)&1)

/* The row that owns a slot, for good. */
#define SLOT_OF_DEV (1ULL << 32)
struct row_slot {
	unsigned long long fs; /* or SLOT_OF_DEV | disk; never 0 */
	unsigned int what;     /* 0: nobody */
	unsigned int pad;
};

/* A file system type, and the functions of its regular files. */
struct fs_entry {
	unsigned long long fs; /* its identity; 0: a free slot */
	char name[FS_NAME_LEN];
	unsigned long long write_iter, fsync, open;
	unsigned long long read_iter; /* 0: none is known yet */
};

/* Rows by such a key have the names of threads. */
#define BY_NAMES_TASKS(by) ((by) == BY_PID || (by) == BY_TID || (by) == BY_TASK)

/*
 * The total time of the tracked threads, as one number, so that it changes at once: each thread
 * that is alive adds THREAD_ONE less the time at which it began, each that has ended adds its
 * lifetime. Times are since live.since_ns, in units of 1 << THREAD_TIME_SHIFT ns.
 */
#define THREAD_ONE (1ULL << 48)
enum { THREAD_TIME_SHIFT = 10 };

/*
 * A CPU's own ring, of struct sent_op, for operations that end where one program runs at a time:
 * without locks, and read where it lies. The counts of records only grow.
 */
struct lane {
	unsigned long long written; /* by the programs on this CPU, as all but @read */
	unsigned long long fs;      /* of the last record; see fs_sent_as() */
	unsigned long long fs_sent_as;
	struct sent_file_id named; /* a file whose name was sent */
	unsigned long long read;   /* by user space */
	unsigned long long pad[2]; /* to a cache line */
};

/* Written by both sides while the programs run; shared by all objects. */
struct live {
	unsigned long long slow_ns;  /* operations that took longer are sent as records */
	unsigned long long since_ns; /* when all probes were live, CLOCK_MONOTONIC; 0: not yet */
	unsigned long long lost[LOST_N];
	unsigned long long threads;        /* see THREAD_ONE */
	unsigned long long returns_missed; /* of functions, unless the kernel counts them itself */
	struct row_slot rows[ROW_SLOTS];
	struct fs_entry fs_types[FS_SLOTS];
	unsigned int hashed;          /* bios and requests whose state is in the hash */
	unsigned int async_bios;      /* entries of that map */
	unsigned int op_rows_made[2]; /* in the hash of an epoch, so far */
	unsigned int rq_rows_made[2];
	unsigned int helper_rows_made[2], why_rows_made[2];
	unsigned int drain_wanted;   /* one of them has reached its limit */
	unsigned char paths, splits; /* these maps have some, or had */
	unsigned char epoch;         /* 0 or 1: which rows are added to; see drain.h */
};

#endif
