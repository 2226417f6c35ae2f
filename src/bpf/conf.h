/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conf.h - the settings of a run, written by user space before it loads the programs, and the few
 * variables that both sides write while the programs run.
 *
 * struct bpf_conf is in the instructions or the read-only data of the programs: the verifier
 * removes code that depends on a feature that is off, so such a feature costs nothing, or one or
 * two instructions. Includes only event.h.
 */
#ifndef IOSTRATA_CONF_H
#define IOSTRATA_CONF_H

#include "../event.h"

enum {
	MAX_DEVS = 64,
	MAX_PIDS = 16, /* as many as the option takes */
	MAX_COMMS = 16,
	MAX_CGROUPS = 16,
	MAX_FILES = 16,
	MAX_FS_TYPES = 16,
	CGROUP_LEVELS = 32, /* of the hierarchy, searched for a cgroup */
	DIR_LEVELS = 32,    /* above a file, searched for a directory */
	HELPER_WAITS = 8,   /* last waits of a helper in its state */
	BIO_WALK = 256,     /* bios of a request that programs visit: NVME_DSM_MAX_RANGES */
	ABSORB_WALK = 8,
	DONE_SLOTS = 4096, /* threads with a note of their last request; a collision drops one */
	TASK_SLOTS_LOG2 = 12,
	TASK_SLOTS = 1 << TASK_SLOTS_LOG2, /* threads whose state is found without a search */
	ROW_SLOTS = 64,                    /* rows found without a search; see row_in_slot() */
	SLOT_SEARCH = 8,                   /* slots tried for a row, or for a file system type */
	FS_SLOTS = 128,                    /* file system types */
	RQ_CPUS = 16,        /* CPUs with separate rows of requests; further CPUs share them */
	HIST_CPUS = 32,      /* CPUs with histograms of operations, likewise; a power of two */
	IO_SLOTS = 8192,     /* bios found without a search */
	MAX_SEARCH = 256,    /* CPUs whose slots are searched; the verifier walks them all */
	REAP_RINGS_LOG2 = 7, /* rings whose completions are followed; see conf.reap_rings */
	REAP_RINGS = 1 << REAP_RINGS_LOG2,
	REAP_PLACES = 128,    /* completions of a ring that are followed at once */
	MARK_SLOTS = 256,     /* CPUs with separate marks; a collision drops one */
	MARK_LEVELS = 4,      /* threads, software and hardware interrupts; one is not used */
	HANDLED_SLOTS = 4096, /* threads with notes of their last block events, for backups */
	IDLE_SLOTS = 1024,    /* CPUs whose idle thread has such notes */
	MAX_RINGS = 16,       /* rings for records, one for each group of CPUs */
	MAX_LANES = 128,      /* CPUs with a lane: a power of two; see struct lane */
	FILES_SENT = 4096,    /* files whose name was sent; a collision drops one */
	SLEEP_SITES = 13,     /* functions in WHO_LIST and LIMIT_LIST, and connect()'s */
	KIOCB_COMPLETES = 3,  /* functions that complete reads and writes of io_uring or libaio */
	PID_LIMIT = 4 << 20,  /* PID_MAX_LIMIT, include/linux/threads.h */
};

/*
 * Numbers in programs that stand for types and addresses of the running kernel. User space replaces
 * them before it loads the programs. libbpf would search all types of the kernel for each, and all
 * types of all modules if the kernel has none.
 */
enum blank {
	BLANK_RDONLY_CAST = 0x4d61726b, /* number of a BPF helper, for bpf_rdonly_cast() */
	BLANK_TASK_STRUCT,              /* ids of types, from here */
	BLANK_REQUEST,
	BLANK_BIO,
	BLANK_KIOCB,         /* to here */
	BLANK_PREEMPT_COUNT, /* addresses of variables, from here; 0: the kernel has none */
	BLANK_PCPU_HOT,
	BLANK_END,
	BLANK_ENDS = BLANK_END, /* 1; 0 in programs in which no operation ends: see op_may_end() */
};

/* The blank of a setting: its place in struct bpf_conf and its size, in bytes. */
#define BLANK_CONF(offset, size) (0x4d600000 | (size) << 12 | (offset))
#define BLANK_IS_CONF(blank)     (((blank)&0xffff0000) == 0x4d600000)
#define BLANK_CONF_OFFSET(blank) ((blank)&0xfff)
#define BLANK_CONF_SIZE(blank)   ((blank) >> 12 & 0xf)

/* The argument of a system call that names its file. */
enum call_file {
	FILE_NONE,      /* by path, or no file */
	FILE_ARG0,      /* descriptor */
	FILE_ARG1,      /* sendfile; its first argument is the file written to */
	FILE_ARG0_OR_2, /* copies: from the first to the third. splice: the descriptor that is no
			 * pipe */
	FILE_BY_ARGS = FILE_ARG0_OR_2, /* kinds other than copy: the arguments decide whether the
					* call is an operation; see enum call_offset */
	FILE_RESULT,  /* open: the descriptor that the call returns; exec: the new program */
	FILE_MAPPED,  /* mmap: its descriptor, only if mmap reads the file at once */
	FILE_MAPPING, /* the file of the mapping at the first argument */
	FILE_ADVISED, /* madvise: like FILE_MAPPING, only if madvise reads the file */
};

/* The descriptor of a system call: enum op_kind, enum call_file, and whether the call goes through
 * vfs_read() or vfs_write(), or 0 if the call is not traced. */
#define CALL_DESC(kind, file) ((unsigned char)((kind) | (file) << 4))
#define CALL_THROUGH_VFS      0x80
#define CALL_KIND(desc)       ((desc)&15)
#define CALL_FILE(desc)       ((desc) >> 4 & 7)

/* The source of a call's offset. The length of a vector is not known. With FILE_BY_ARGS: which
 * calls are operations. */
enum call_offset {
	OFFSET_NONE,
	OFFSET_POS,
	OFFSET_ARG3,
	OFFSET_VECTOR_POS,
	OFFSET_VECTOR_ARG3,
	OFFSET_VECTOR_FLAGS, /* preadv2, pwritev2: -1 is the file's position; the last argument has
			      * flags */
	OFFSET_ARGS,         /* OP_HANDLE: second and third argument, as length and offset */
	OFFSET_FLOCK, /* the same, but the third is flock.l_type at that address; an operation if
		       * the second is a command about locks or leases */
	OFFSET_SEEK,  /* lseek: like OFFSET_ARGS; an operation if it looks for data or a hole */
	OFFSET_IOCTL, /* an operation if the second argument is a command for file systems or block
		       * devices; this and the rest have neither offset nor length */
	OFFSET_DUP, /* dup2: an operation if the second argument is an open file: the call closes it
		     */
	OFFSET_OF_MAPPING, /* munmap: an operation if the mapping is known to have a file */
	OFFSET_BPF_PATH,   /* an operation if the first argument is a command with a path */
	OFFSET_SIGRETURN,  /* never an operation: a signal's handler returns */
	/* calls by path, without offset: OFFSET_PATH, the number of the argument with the path,
	 * and bits: the argument before is the descriptor of a directory; the call makes or removes
	 * the last name of the path; the argument is the address of a socket, and the call an
	 * operation if this address is a path */
	OFFSET_HAS_DIRECTORY = 4,
	OFFSET_MAKES = 8,
	OFFSET_PATH = 16,
	OFFSET_SOCKET = 32,
	OFFSET_PATH_ARG1 = OFFSET_PATH | 1,
	OFFSET_AT_PATH = OFFSET_PATH | OFFSET_HAS_DIRECTORY | 1,
	OFFSET_PARENT = OFFSET_PATH | OFFSET_MAKES,
	OFFSET_PARENT_ARG1 = OFFSET_PARENT | 1,
	OFFSET_AT_PARENT = OFFSET_PARENT | OFFSET_HAS_DIRECTORY | 1,
	OFFSET_AT_PARENT_ARG2 = OFFSET_PARENT | OFFSET_HAS_DIRECTORY | 2,
	OFFSET_SOCKET_PATH = OFFSET_SOCKET | OFFSET_PATH_ARG1,
	OFFSET_SOCKET_PARENT = OFFSET_SOCKET | OFFSET_PARENT_ARG1,
};

#define OFFSET_IS_PATH(where)     ((where) >= OFFSET_PATH)
#define OFFSET_PATH_NUMBER(where) ((where)&3)
/* Bytes from the address in the argument to the path: a socket's address begins with its family. */
#define OFFSET_PATH_BEGIN(where) ((where) >> 4 & 2)

/* A file to trace, or a directory: with all files below it in its file system. */
struct filter_file {
	unsigned long long ino;
	unsigned int dev;
	unsigned int is_dir;
};

/* The next three are in the state of threads and bios; user space reads them, too. */

/* How far an operation has come. Up to OP_BEGUN, call_ends() needs a closer look. */
enum op_progress {
	OP_IDLE,     /* no operation */
	OP_ASYNC,    /* a request of io_uring or libaio */
	OP_FAULTS,   /* a page fault */
	OP_SLEEPS,   /* a sleep in no call that is traced; see outside.bpf.h */
	OP_AWAITS,   /* a wait for completions of a ring of io_uring; see reap.bpf.h */
	OP_EXECS,    /* a call of kind exec, whose file is known when it has succeeded */
	OP_RESTARTS, /* no operation: the thread may go on with one that is put aside; see
		      * restart.bpf.h */
	OP_BEGUN,    /* a call whose file is learnt in vfs_read() or vfs_write() */
	OP_ACTIVE,   /* a call whose file is known */
	OP_RETURNS,  /* a call that returns from the file system */
};

/* The lock for which an operation waits. */
enum locked {
	LOCKED_NOT,
	LOCKED,        /* some lock */
	LOCKED_FROZEN, /* the one of a frozen file system */
};

/* Whether blk-throttle holds back a bio. */
enum throttled {
	THROTTLED_NOT,
	THROTTLED,       /* before its submission was seen */
	THROTTLED_AGAIN, /* after its submission, until it has a request */
};

/* The filters: processes, files and devices to trace. An empty list lets all pass. I/O must pass
 * each list. Read-only data of the programs. The lengths are in struct bpf_conf. */
struct filter_lists {
	unsigned int n_pids, n_comms, n_cgroups, n_files, n_devs, n_fs;
	unsigned int pids[MAX_PIDS]; /* thread groups; numbers of the tool's pid namespace */
	unsigned long long comms[MAX_COMMS][COMM_LEN / 8];
	unsigned long long cgroups[MAX_CGROUPS]; /* ids of cgroups v2, with those below them */
	struct filter_file files[MAX_FILES];
	unsigned int devs[MAX_DEVS]; /* dev_t of file systems and of disks */
	/* types of file systems, "bdev" for block devices; chosen by the programs only for records,
	 * by user space for rows */
	unsigned long long fs[MAX_FS_TYPES][FS_NAME_LEN / 8];
};

enum {
	FUNCTION_WORDS = 4,     /* of 8 characters of a function's name; longer names are cut */
	SITE_CONNECT = 1 << 15, /* connect() waits for the listener of a unix socket */
};

/* A function of the kernel in which threads sleep. @from and @to: its code; 0 if its name is
 * enough, or its address is not known. @who: the kind of somebody else for whom they sleep, enum
 * who, with WHO_LIMIT enum io_limit << 8 more; or SITE_CONNECT. */
struct sleep_site {
	unsigned long long name[FUNCTION_WORDS], from, to, who;
};

/* Offsets in bytes of members of kernel structures that tell of requests to servers, or 0 if not
 * known.
 */
struct server_members {
	/* of struct fuse_req: its headers, its mount; the mount's connection; its number */
	unsigned short fuse_in, fuse_out, fuse_mount, fuse_conn, fuse_dev;
	unsigned short fuse_copy_req; /* of struct fuse_copy_state: the struct fuse_req */
	/* of struct rpc_task: procedure, struct rpc_rqst, transport, result, flags, the time at
	 * which it was made */
	unsigned short rpc_msg, rpc_rqst, rpc_xprt, rpc_status, rpc_flags, rpc_start;
	unsigned short rpc_name; /* of struct rpc_procinfo */
	/* of struct rpc_xprt: its addresses as text, the queue for its slots */
	unsigned short rpc_address, rpc_backlog;
	/* of struct rpc_rqst: when it was sent, how often, the time to the answer, the lengths, its
	 * xid */
	unsigned short rpc_sent, rpc_transmits, rpc_rtt, rpc_sent_bytes, rpc_received, rpc_xid;
	/* of struct svc_rqst, a request to a server here: its service, version, result, client and
	 * xid */
	unsigned short svc_program, svc_version, svc_result, svc_client, svc_xid;
	unsigned short nfsd_file; /* of struct nfsd_file: the open file */
	/* of struct ksmbd_work, a message to a server here: its work_struct, connection, message
	 * and answer */
	unsigned short ksmbd_work, ksmbd_conn, ksmbd_request, ksmbd_response;
	/* of struct ksmbd_conn: the client's struct sockaddr_storage, and its bare address */
	unsigned short ksmbd_client, ksmbd_address;
	unsigned short ksmbd_file; /* of struct ksmbd_file: the open file */
	/* of struct p9_client: its transport, and what that is; the name of this; of struct
	 * virtio_chan: the device's name */
	unsigned short p9_trans, p9_module, p9_name, p9_tag;
	unsigned short smb_host; /* of struct TCP_Server_Info: the server's name */
	unsigned short smb_iov;  /* of struct smb_rqst: its parts */
	/* for user space: the protocols whose module is loaded, a set of 1 << enum server_protocol
	 */
	unsigned short protocols;
};

enum { SERVER_FS = 16 }; /* most types of file systems that have a server */

/* The first request of a disk in an epoch, in the same ring: user space looks for the disk, which
 * may be gone before the rows are drained. */
struct met_disk {
	unsigned int dev, of_disk; /* of_disk is 1 */
};

/* A new cgroup, in the ring that also wakes user space. */
struct made_cgroup {
	unsigned long long id;
	char path[504]; /* in its hierarchy */
};

/* A process that has executed a program: its id as the tool's pid namespace numbers it, its new
 * name, and @len bytes of its arguments, each ending with a NUL, as in /proc/PID/cmdline. */
enum { EXECUTED_BYTES = 1024 };
struct executed {
	unsigned int pid, len;
	char comm[COMM_LEN];
	char text[EXECUTED_BYTES];
};

/* Whether ioctl() with FICLONE or FICLONERANGE is traced, as a copy, and with other commands. */
enum clones { CLONES_NONE, CLONES_TOO, CLONES_ONLY };

struct bpf_conf {
	/* the processes to trace */
	unsigned int tool_tgid;       /* the tool, whose I/O is not traced */
	unsigned long long pidns_dev; /* the tool's pid namespace; 0: the initial one */
	unsigned long long pidns_ino;
	unsigned char n_pids, n_comms, n_cgroups; /* lengths of struct filter_lists; 0: all pass */
	unsigned char tracked; /* only the tool's child and its descendants, or those of --pid with
				* theirs; see on_fork() */
	unsigned char all_young; /* the tracked processes were born after the tracing began */
	unsigned char all_files;
	/* summaries, so that a program tests one member instead of many */
	unsigned char thread_filter;   /* n_pids, n_comms or tracked */
	unsigned char process_filter;  /* thread_filter or n_cgroups */
	unsigned char file_filter;     /* n_files or n_devs */
	unsigned char file_details;    /* inode, device or flags of a file are needed */
	unsigned char op_extras;       /* op_extras() has work */
	unsigned char rdonly_cast;     /* any kernel pointer can be read as typed (6.2) */
	unsigned char names_functions; /* programs can name functions of the kernel (5.13) */
	/* the I/O to trace */
	unsigned long long min_ns;
	unsigned char n_files, n_devs, n_fs; /* lengths of struct filter_lists; 0: all pass */
	unsigned char has_dirs;              /* struct filter_lists has directories */
	unsigned int cpus;        /* for user space: CPUs up to the last one online at the start */
	unsigned int io_cpus;     /* CPUs whose slots are searched for a bio */
	unsigned int async_slots; /* slots of async_ops other than the first; a power of two */
	unsigned int reap_rings;  /* rings whose completions are followed until a thread takes
				   * them: REAP_RINGS, or 0; see reap.bpf.h */
	unsigned char ring_waits; /* waits for completions of these rings are operations */
	unsigned char submit_waits; /* waits in submissions are operations */
	unsigned short io_submit;   /* the number of the call io_submit() */
	unsigned int
		access_slots; /* slots in access_slots, a power of two, or 0 without patterns */
	unsigned int access_sizes_limit; /* as op_rows_limit */
	unsigned int io_slots_per_cpu;   /* IO_SLOTS of each CPU; a power of two */
	unsigned int op_rows_limit; /* rows in the hash at which user space is woken to drain */
	unsigned int rq_rows_limit;
	unsigned int helper_rows_limit, site_rows_limit, server_rows_limit, who_rows_limit;
	/* what to do with this I/O */
	unsigned char layer;               /* enum layer */
	unsigned char by;                  /* enum by_key */
	unsigned char rq_by;               /* rows of requests have the key @by, too */
	unsigned char issuers;             /* the submitter of a bio matters: rq_by, process_filter,
					    * helpers */
	unsigned char helpers;             /* the work of helpers has separate rows */
	unsigned char sites;               /* sites of sleeps without a known reason have rows */
	unsigned char behalf;              /* clients and dirtiers are needed: BY_THREAD, helpers */
	unsigned char row_slots;           /* rows are found by operation and file system alone */
	unsigned char single_writer;       /* the end of a call is never preempted by another */
	unsigned char fault_single_writer; /* nor the end of a page fault */
	unsigned char queued;              /* the histogram of requests includes queue and tag */
	unsigned char rq_sums_only;        /* requests have no histogram */
	unsigned char stacks;              /* take user stacks; live.stack_ns says of which calls */
	unsigned char records;             /* send slow operations as records */
	unsigned char sent_ops,
		sent_requests;    /* send each operation, each request: struct sent_... */
	unsigned char uncounted;  /* add nothing to rows */
	unsigned char segments;   /* note the order of an operation's time: struct segments */
	unsigned char who;        /* note who a wait was due to: with segments, or in rows */
	unsigned char no_level;   /* the kernel hides whether an interrupt wakes a thread */
	unsigned char who_rows;   /* those to whom waits were due have rows */
	unsigned char rings;      /* number of rings for these records; at most MAX_RINGS */
	unsigned int wake_mask;   /* user space is woken after wake_mask + 1 bytes */
	unsigned int lane_mask;   /* a lane has lane_mask + 1 records; 0: no lanes */
	unsigned int lane_wake;   /* user space is woken after lane_wake + 1 records of a lane */
	unsigned char meta_calls; /* operations of kind meta and fsync have a row for each call */
	unsigned char paths;      /* operations of calls by path have a file; see path.bpf.h */
	unsigned char clones;     /* enum clones */
	unsigned char call_noted; /* the number of an operation's call is needed */
	unsigned char waits;      /* cut sleeps by layer */
	unsigned char cpu_split;  /* cut the time on the CPU by layer, too */
	unsigned char marks;      /* completions in progress are marked */
	unsigned char misses_counted; /* the kernel counts returns that fexit misses */
	unsigned char hists_apart;    /* slot_cells are sums only; see row_hist_add() */
	unsigned char rq_in_cells;    /* slot_cells has the rows of requests, too */
	unsigned char uring, aio;     /* requests of io_uring, of libaio are operations */
	unsigned char async;          /* uring or aio */
	unsigned char aio_calls;      /* calls of libaio are operations instead of requests */
	unsigned char faults;         /* page faults are operations */
	unsigned char all_faults;     /* minor page faults are operations, too */
	unsigned char minor_faults;   /* minor page faults are counted */
	unsigned char outside;        /* sleeps in no operation are some: 1 << (kind - OP_EXIT) */
	unsigned char op_requests;    /* requests submitted in no operation do not count */
	unsigned char busiest;        /* the thread with most time in operations is noted */
	unsigned char page_shift;     /* log2 of a page's size */
	unsigned char op_owner;       /* the submitter of async operations is needed at their end */
	unsigned char backups;        /* programs on block tracepoints are attached twice */
	struct sleep_site sleep_sites[SLEEP_SITES];
	/* functions that complete reads and writes of io_uring and libaio; 0: not known, or not
	 * traced */
	unsigned long long completes[KIOCB_COMPLETES];
	/* offsets in bytes, or 0 if not known. btrfs: from an inode back to its root, and from the
	 * root to its device. overlayfs: from an inode to the dentry of the upper layer. */
	unsigned short btrfs_root, btrfs_dev, overlay_upper;
	unsigned char overlay_file;  /* file.private_data leads to struct ovl_file (6.13), else to
				      * the open file of a layer */
	unsigned char file_identity; /* one of these offsets is known */
	unsigned char servers;       /* requests to servers have rows */
	unsigned char n_server_fs;
	/* the first 8 bytes of the names of file system types whose server is traced */
	unsigned long long server_fs[SERVER_FS];
	unsigned char daemons;                  /* rows of FUSE tell what the daemon's thread did */
	unsigned char op_accesses, rq_accesses; /* operations by file, requests by disk have
						 * patterns; with access_slots */
	unsigned char served;                   /* requests to nfsd or ksmbd are operations */
	unsigned char transports_told;          /* live.transports is up to date */
	struct server_members at;
	/* for programs that may not refer to the interrupt level: its place, relative to the
	 * address that @cpu_offsets has for each CPU; 0: not known, or not needed */
	unsigned long long preempt_count, cpu_offsets;
	/* number of the argument that is the bio, the request ...: kernels differ */
	unsigned char arg_bio_queue, arg_getrq, arg_backmerge, arg_frontmerge, arg_split;
	unsigned char arg_issue, arg_requeue, arg_rq_merge;
	unsigned char arg_pause;     /* the pause of balance_dirty_pages */
	unsigned char result_told;   /* argument 3 of io_uring_complete is the result */
	unsigned char rqf_flush_seq; /* bit of RQF_FLUSH_SEQ in request.rq_flags */
};
_Static_assert(sizeof(struct bpf_conf) <= 0x1000, "BLANK_CONF()");

/* Index in slot_cells: by CPU, epoch (0 or 1) and slot. */
#define SLOT_CELLS(cpus)            ((cpus)*2 * ROW_SLOTS)
#define SLOT_CELL(cpu, epoch, slot) (((cpu)*2 + (epoch)) * ROW_SLOTS + (slot))

/* A bit of the inode number in the key of a file's name: the name was read again. */
#define FILE_ID_AGAIN (1ULL << 63)

/* The part of a row's key other than its file system: call, operation and cache class as one
 * number, never 0. Or, for a row of requests, the part other than its disk: their operation, and
 * whether they are bios. */
#define ROW_WHAT(call, op, cache) ((unsigned int)(call) | (op) << 16 | (cache) << 24)
#define WHAT_CALL(what)           ((what)&0xffff)
#define WHAT_OP(what)             ((what) >> 16 & 0xff)
#define WHAT_CACHE(what)          ((what) >> 24)
#define ROW_REQUESTS              0x80000000U
#define REQUESTS_WHAT(op, is_bio) (ROW_REQUESTS | (op) << 16 | (is_bio))
#define WHAT_IS_BIO(what)         ((what)&1)

/* The row that owns a slot, until the end of the run. */
#define SLOT_OF_DEV (1ULL << 32)
struct row_slot {
	unsigned long long fs; /* or SLOT_OF_DEV | disk; never 0 */
	unsigned int what;     /* ROW_WHAT() or REQUESTS_WHAT(); 0: a free slot */
	unsigned int pad;
};

/* A file system type, and the functions of its regular files. */
struct fs_entry {
	unsigned long long fs; /* its identity; 0: a free slot */
	char name[FS_NAME_LEN];
	unsigned long long write_iter, fsync, open;
	unsigned long long read_iter; /* 0: none is known yet */
};

/* A thread that waits, as an iterator lists it; see task_list(). Its path is hostile. */
struct listed_task {
	unsigned int pid, tid; /* of the first pid namespace */
	unsigned int dev; /* of the file system in which it looks up a path; 0: it looks up none */
	int call;         /* its number, | CALL_COMPAT; -1: none (a page fault), or not known */
	char path[244];   /* the path as the process gave it, or its beginning; "": none */
};

/* Whether rows by this key have names of threads. */
#define BY_NAMES_THREADS(by) ((by) == BY_PID || (by) == BY_TID || (by) == BY_THREAD)

/*
 * The total time of the tracked threads at time t is living * t + time. A thread subtracts the time
 * of its birth from @time, and adds the time of its end. Times count from live.since_ns, in ns; all
 * sums are modulo 2^64. A program adds to @begun first and to @done last: while the two are equal
 * and do not change, the members between belong together.
 */
struct threads {
	unsigned long long begun, living, time, done;
};

/*
 * The tracked thread with most time in calls and page faults, of those seen by one CPU in one
 * interval. A thread takes its time along to other CPUs, so the largest time of all CPUs is right.
 */
struct busy_thread {
	unsigned long long io_ns;   /* in this interval */
	unsigned long long id;      /* as task_state.id */
	unsigned long long born_ns; /* CLOCK_MONOTONIC */
	unsigned long long gone_ns; /* likewise; 0: it lives */
	char comm[COMM_LEN];        /* only if it is gone */
	unsigned int interval;      /* live.interval */
	unsigned int pad;
	unsigned long long check; /* exclusive or of io_ns, id, born_ns and gone_ns: where programs
				   * can be preempted, two may write at once */
};

/*
 * A lane: a ring of struct sent_op for one CPU, for operations that end where one program runs at a
 * time. It needs no locks, and user space reads it in place. The counts of records only grow.
 */
struct lane {
	unsigned long long written; /* by the programs on this CPU, as all members but @read */
	unsigned long long fs;      /* file system of the last record; see fs_sent_as() */
	unsigned long long fs_sent_as;
	struct sent_file_id named; /* the last file whose name was sent */
	unsigned long long read;   /* by user space */
	unsigned long long pad[2]; /* to a cache line */
};

/* Written by both sides while the programs run; shared by all objects. */
struct live {
	unsigned long long slow_ns;  /* slower operations are sent as records */
	unsigned long long stack_ns; /* operations that took less have their stack taken with a
				      * smaller probability; below 2^32 */
	unsigned long long stack_requests; /* one of so many requests of io_uring and libaio has its
					    * stack taken, or each one if it is 0; below 2^32 */
	unsigned long long stacks_lost, stacks_lost_ns; /* no room in the ring, and their time */
	unsigned long long since_ns;  /* when all probes were live, CLOCK_MONOTONIC; 0: not yet */
	unsigned long long layers_ns; /* when the layers' last functions were probed, as above */
	unsigned long long lost[LOST_N];
	struct threads threads;
	unsigned long long unpatterned;    /* accesses in no pattern: no slot was free */
	unsigned long long unreaped;       /* operations of io_uring without the stratum reap */
	unsigned long long returns_missed; /* returns of functions; 0 if the kernel counts them */
	struct row_slot rows[ROW_SLOTS];
	struct fs_entry fs_types[FS_SLOTS];
	unsigned int hashed;          /* bios and requests whose state is in the map @ios */
	unsigned int transports;      /* how often a transport of SunRPC was made or moved */
	unsigned int async_bios;      /* entries of the map @async_bios */
	unsigned int queued_calls;    /* entries of the map @queued_calls */
	unsigned int op_rows_made[2]; /* entries made in the hash, by epoch */
	unsigned int rq_rows_made[2];
	unsigned int helper_rows_made[2], site_rows_made[2], server_rows_made[2];
	unsigned int who_rows_made[2];
	unsigned int access_sizes_made[2];
	unsigned int drain_wanted;   /* a hash of rows has reached its limit */
	unsigned int interval;       /* number of the interval; with conf.busiest */
	unsigned int child;          /* the tool's child, until its exec; only for the programs */
	unsigned char paths, splits; /* the map of this name has, or had, entries */
	unsigned char epoch;         /* 0 or 1: the rows to which programs add */
};

#endif
