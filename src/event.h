/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * event.h - THE contract: what an operation, a stratum and a request are.
 *
 * Shared by the BPF programs and user space, so it includes nothing of ours and holds no code.
 * Ids are stored and scripted against: append, never reorder.
 */
#ifndef IOSTRATA_EVENT_H
#define IOSTRATA_EVENT_H

/* The kind of an operation: one I/O call of one thread, one request of io_uring or libaio, one
 * page fault, or one request served. The table of system calls has the kind of each call. */
/*
 * The list of all kinds of operations; docs/ADD.md says how to add one. A row has:
 *   the number, which recordings store: never used again, and not one of those below the list
 *   the end of the id, and the name as typed, printed and stored in JSON
 *   the noun for one operation of this kind, and for several
 *
 * uring: a request of io_uring, from its submission to its completion
 * aio: a request of libaio, likewise; or calls of libaio, where its functions are not probed
 * fault: a page fault of user code on a mapped file, or one that swaps in a page
 * served: a request of a client that a file server of the kernel serves
 * exec: a program is executed, and the thread waits for the program's file
 * lock: a call that takes, releases or asks about a lock or lease on a file
 * exit: a sleep for storage while a thread exits; core: while it dumps core
 * outside: a sleep for storage in no operation: in a call that is none, or after a call's end
 * getevents: a thread waits in io_uring_enter() until requests of its ring complete
 * submit: the waits of a thread while it executes a request of io_uring or libaio that it submits
 */
/* clang-format off */
#define OP_LIST(ROW)                                                                               \
	ROW(1, READ, "read", "read", "reads")                                                      \
	ROW(2, WRITE, "write", "write", "writes")                                                  \
	ROW(3, OPEN, "open", "open", "opens")                                                      \
	ROW(4, CLOSE, "close", "close", "closes")                                                  \
	ROW(5, FSYNC, "fsync", "fsync", "fsyncs")                                                  \
	ROW(6, COPY, "copy", "copy", "copies")                                                     \
	ROW(7, META, "meta", "metadata operation", "metadata operations")                          \
	ROW(8, URING, "uring", "request of io_uring", "requests of io_uring")                      \
	ROW(9, AIO, "aio", "request of libaio", "requests of libaio")                              \
	ROW(10, FAULT, "fault", "page fault", "page faults")                                       \
	ROW(11, SERVED, "served", "served request", "served requests")                             \
	ROW(12, EXEC, "exec", "exec", "execs")                                                     \
	ROW(13, LOCK, "lock", "file lock", "file locks")                                           \
	ROW(14, EXIT, "exit", "wait of an exit", "waits of exits")                                 \
	ROW(16, CORE, "core", "wait of a core dump", "waits of core dumps")                        \
	ROW(17, OUTSIDE, "outside", "wait outside", "waits outside")                               \
	ROW(18, GETEVENTS, "getevents", "wait for completions", "waits for completions")           \
	ROW(19, SUBMIT, "submit", "wait in a submission", "waits in submissions")
/* clang-format on */

#define OP_KIND_ID(number, id, ...) OP_##id = (number),

enum op_kind { OP_NONE, OP_LIST(OP_KIND_ID) OP_N };

/* Kinds which are sleeps; see outside.bpf.h. */
#define OUTSIDE_KINDS (1U << OP_EXIT | 1U << OP_CORE | 1U << OP_OUTSIDE)

/* No operation: a call that only changes a descriptor (dup, lseek, fcntl). It is sent and recorded
 * like an operation, and counted in no row. Recordings store this number. */
enum { OP_HANDLE = 15 };

/* No operation: a minor page fault: it found its page. It is counted in a separate row, without
 * times. */
enum { OP_MINOR_FAULT = 254 };

/* No operation: the second file of a copy: the copy wrote to it. Its row has number and bytes of
 * such copies; the row of the file that was read has their times. */
enum { OP_COPY_TO = 255 };

/*
 * A named share of an operation's elapsed time. The strata of an operation are disjoint and their
 * sum equals its elapsed time: every instant of an operation is charged to exactly one.
 *
 * The list of all strata; docs/ADD.md says how to add one. A row has:
 *   the end of the id, and the name as typed, printed and stored in JSON
 *   the label in text
 *   the letter of its segments in the order of time
 *   its share (enum share), which also gives its colour
 *   its rank among the columns of joined requests: in short lines the highest is left out first
 *   the words for an operation that spent most of its time in it; NULL: those of its share
 *   the activity of the thread in it, for the manual
 */
/* clang-format off */
#define STRATUM_LIST(ROW)                                                                          \
	ROW(SYSCALL, syscall, "syscall", 'C', CPU, 8, NULL,                                        \
	    "on CPU in the call, or in the exception of a page fault, outside the layers below")   \
	ROW(VFS, vfs, "vfs", 'C', CPU, 9, NULL,                                                    \
	    "on CPU in the VFS, outside the file system")                                          \
	ROW(FS, fs, "fs", 'C', CPU, 7, NULL,                                                       \
	    "on CPU in the file system, shown under the file system's name, and in the "           \
	    "functions it calls (page cache, copying, submission of I/O)")                         \
	ROW(THROTTLE, throttle, "throttle", 't', OTHER, 14, "throttled",                           \
	    "asleep because it had dirtied too much memory, or because a limit of "                \
	    "its cgroup (io.max) held its I/O back")                                               \
	ROW(TAG, tag, "tag", 'g', QUEUE, 13, NULL,                                                 \
	    "asleep until there was a request for its I/O: no tag was free, or a limit "           \
	    "held the I/O back")                                                                   \
	ROW(QUEUE, queue, "queue", 'q', QUEUE, 6, NULL,                                            \
	    "asleep while its request waited in the queue before the driver")                      \
	ROW(DEVICE, device, "device", 'D', DEVICE, 1, NULL,                                        \
	    "asleep while driver and device worked on its request")                                \
	ROW(COMPLETE, complete, "wake-up", 'w', OTHER, 15, "waiting for the wake-up",              \
	    "asleep from the request's completion (an interrupt) to the wake-up")                  \
	ROW(RUNQ, runq, "run queue", 'r', RUNQ, 5, NULL,                                           \
	    "woken, but waiting for a CPU")                                                        \
	ROW(PREEMPT, preempt, "preempted", 'p', RUNQ, 16, NULL,                                    \
	    "runnable, but taken off its CPU")                                                     \
	ROW(HELPER, helper, "kernel thread", 'k', HELPER, 10, NULL,                                \
	    "asleep while a kernel thread worked for it (journal, loop device, device mapper, "    \
	    "workqueue); the kernel thread's own waits for a request or a CPU count as such")      \
	ROW(SLEEP, sleep, "sleep", 's', OTHER, 4, "asleep",                                        \
	    "asleep for any other reason")                                                         \
	ROW(LOCK, lock, "lock", 'l', LOCK, 3, NULL,                                                \
	    "asleep for a kernel lock (of an inode, a journal ...) held by another "               \
	    "thread; before Linux 5.19 part of sleep")                                             \
	ROW(SERVER, server, "server", 'S', SERVER, 11, NULL,                                       \
	    "asleep from sending a request to a file server or a daemon (NFS, SMB, 9p, "           \
	    "FUSE, virtiofs ...) until the answer")                                                \
	ROW(REAP, reap, "reap", 'R', OTHER, 17,                                                    \
	    "complete, not yet fetched by the program",                                            \
	    "busy in the kernel, while the completion of its finished request of "                 \
	    "io_uring lay in the ring")
/* clang-format on */

#define STRATUM_ID(id, ...) ST_##id,
enum stratum { STRATUM_LIST(STRATUM_ID) ST_N };
#undef STRATUM_ID

/* Sets of strata are numbers of 32 bits, 1 << stratum. */
_Static_assert(ST_N <= 32, "sets of strata have 32 bits");

/*
 * Who: somebody else whose doing a wait was. The list of all kinds; a row has:
 *   the number, which recordings store
 *   the end of the id, and the name in JSON and recordings
 *   the words between "waited 20 ms" and the name of the thread, and the words after the name
 *   the functions of the kernel in which a thread sleeps for it, separated by spaces; "": the
 *   programs know it from other events
 *   the strata of such waits, a set of 1 << enum stratum
 *
 * A wait has a who only if it lasted for WHO_LEAST_NS, or CPU_TAKEN_LEAST_NS.
 */
/* clang-format off */
#define WHO_LIST(ROW)                                                                              \
	ROW(1, LOCK, "lock", "for a lock that", "had", "", 1 << ST_LOCK)                           \
	ROW(2, FILE_LOCK, "file_lock", "for a file lock that", "had", "", 1 << ST_SLEEP)           \
	ROW(3, CPU, "cpu", "for a CPU on which", "ran", "", 1 << ST_RUNQ | 1 << ST_PREEMPT)        \
	ROW(4, SCANNER, "scanner", "until", "had answered fanotify's question",                    \
	    "fanotify_handle_event fanotify_get_response", 1 << ST_SLEEP)                          \
	ROW(5, FREEZE, "freeze", "for a frozen file system until", "thawed it",                    \
	    "percpu_rwsem_wait __percpu_down_read", 1 << ST_LOCK)                                  \
	ROW(6, USERFAULT, "userfault", "for memory until", "supplied it", "handle_userfault",      \
	    1 << ST_SLEEP)                                                                         \
	ROW(7, HELPER, "helper", "while", "worked for it", "", 1 << ST_HELPER)                     \
	ROW(8, SERVER, "server", "until", "had answered its request", "", 1 << ST_SERVER)          \
	ROW(9, FREEZER, "freezer", "for a frozen cgroup until", "thawed it",                       \
	    "__refrigerator do_freezer_trap", 1 << ST_SLEEP)                                       \
	ROW(10, WAKER, "waker", "until", "woke it", "", 1 << ST_SLEEP)                             \
	ROW(11, DIRTIER, "dirtier", "for dirty data, most of which", "had written", "",            \
	    1 << ST_THROTTLE)                                                                      \
	ROW(12, LIMIT, "limit", "for", "", "", 1 << ST_THROTTLE | 1 << ST_TAG)
/* clang-format on */

#define WHO_ID(number, id, ...) WHO_##id = (number),

enum who { WHO_NONE, WHO_LIST(WHO_ID) WHO_N };

enum { WHO_LEAST_NS = 100000, CPU_TAKEN_LEAST_NS = 1000000 };

/*
 * A limit that the kernel keeps: WHO_LIMIT is nobody. The list of all; a row has:
 *   the number, which recordings store
 *   the end of the id, and the name in text and JSON
 *   the functions of the kernel in which a thread sleeps for it, as in WHO_LIST
 *
 * wbt: the writes that a disk may have in progress for it to answer reads in time. dirty: the dirty
 * data that may be in memory.
 */
/* clang-format off */
#define LIMIT_LIST(ROW)                                                                            \
	ROW(1, IO_MAX, "io.max", "")                                                               \
	ROW(2, IO_LATENCY, "io.latency",                                                           \
	    "blkcg_iolatency_throttle __blkcg_iolatency_throttle")                                 \
	ROW(3, IO_COST, "io.cost", "ioc_rqos_throttle")                                            \
	ROW(4, WBT, "wbt", "wbt_wait __wbt_wait")                                                  \
	ROW(5, DIRTY, "dirty", "")
/* clang-format on */

#define LIMIT_ID(number, id, ...) LIMIT_##id = (number),

enum io_limit { LIMIT_NONE, LIMIT_LIST(LIMIT_ID) LIMIT_N };

/* How the page cache served a read or write, from events inside the operation. */
enum cache_class {
	CACHE_NONE,      /* not a read or write of a file */
	CACHE_HIT,       /* waited for no read */
	CACHE_MISS,      /* waited for a read that it submitted itself */
	CACHE_READAHEAD, /* waited for a read that another operation or thread started */
	CACHE_DIRECT,    /* O_DIRECT */
	CACHE_UNKNOWN,   /* slept, on a file system without a block device: not known what for */
	CACHE_HIT_AHEAD, /* waited for no read; readahead for the same open file brought the data */
	CACHE_N,
};

/* Block request operations, named as blkparse names them (R W F D ...). */
enum rq_op {
	RQ_READ,
	RQ_WRITE,
	RQ_FLUSH, /* the internal flush request of the flush machinery; or a flush without data on a
		   * device without requests */
	RQ_DISCARD,
	RQ_SECURE_ERASE,
	RQ_WRITE_ZEROES,
	RQ_ZONE,  /* open, close, finish, append, reset */
	RQ_OTHER, /* passthrough and driver private */
	RQ_N,
};

/* The part of a row's key other than operation and file system. */
enum by_key {
	BY_NONE,
	BY_PID,
	BY_COMM,
	BY_FILE,
	BY_CGROUP,
	BY_DEV,
	BY_CACHE,
	BY_TID,
	BY_THREAD,    /* BY_TID with the process, and the threads of rows listed: struct thread */
	BY_CONTAINER, /* only for tables: of rows that are BY_CGROUP */
	BY_HOST,      /* only of recordings */
	BY_SERVER,    /* only for tables: of rows that are BY_DEV in the programs */
	BY_CLIENT,    /* address of the client whose request nfsd or ksmbd serves */
	BY_DIR,       /* only for tables: of rows that are BY_FILE */
	/* only for tables, of rows with user stacks: the innermost frame of the program's own code;
	 * or the whole stack */
	BY_FUNCTION,
	BY_LINE,
	BY_LIBRARY,
	BY_STACK,
};

/* Why a request counts for a thread other than its submitter. */
enum behalf {
	BEHALF_NONE,      /* it counts for its submitter */
	BEHALF_WRITEBACK, /* for the dirtier of its first page */
	BEHALF_HELPER,    /* for the client of the kernel thread that submitted it */
	BEHALF_N,
};

#define BY_NEEDS_STACKS(by) ((by) >= BY_FUNCTION && (by) <= BY_STACK)

/* A layer timed as a whole (inclusive time), as single-layer tools do. */
enum layer {
	LAYER_OPS, /* no single layer: whole operations with strata */
	LAYER_SYSCALL,
	LAYER_VFS,
	LAYER_FS,
	LAYER_BLK,
};

/*
 * The list of all ways to lose an event; docs/ADD.md says how to add one. Each has a counter, and
 * the tool prints it. Recordings store the position in the list. A row has:
 *   the end of the id, and the name in JSON
 *   the end of a sentence that begins with "1", and of one that begins with another number; NULL:
 *   no loss, since such calls mostly began before the tracing did
 *
 * names: the name of a file could not be read any more
 * unattributed: the owner of a request is not known, or the file of a page fault
 */
/* clang-format off */
#define LOST_LIST(ROW)                                                                             \
	ROW(RING, "ring",                                                                          \
	    "record found no room in the ring buffer or the file",                                 \
	    "records found no room in the ring buffer or the file")                                \
	ROW(MAP_FULL, "map_full",                                                                  \
	    "row, request or thread found no room in a table",                                     \
	    "rows, requests or threads found no room in a table")                                  \
	ROW(UNMATCHED_START, "unmatched_start",                                                    \
	    "operation began and was never seen to end",                                           \
	    "operations began and were never seen to end")                                         \
	ROW(UNMATCHED_END, "unmatched_end", NULL, NULL)                                            \
	ROW(NAMES, "names",                                                                        \
	    "file has no name, only its inode",                                                    \
	    "files have no name, only their inode")                                                \
	ROW(UNATTRIBUTED, "unattributed",                                                          \
	    "request or page fault may have been among those asked for",                           \
	    "requests or page faults may have been among those asked for")                         \
	ROW(OPS, "ops",                                                                            \
	    "operation was not recorded",                                                          \
	    "operations were not recorded")                                                        \
	ROW(REQUESTS, "requests",                                                                  \
	    "request was not recorded",                                                            \
	    "requests were not recorded")                                                          \
	ROW(UNMATCHED_REQUESTS, "unmatched_requests",                                              \
	    "request was dispatched, and no program saw its completion",                           \
	    "requests were dispatched, and no program saw their completion")
/* clang-format on */

#define LOST_ID(id, ...) LOST_##id,

enum lost { LOST_LIST(LOST_ID) LOST_N };

/* Identities of file systems without a type: of block devices themselves, and of operations whose
 * file is not known. Any other identity is an address. */
enum { FS_BDEV = 1, FS_UNKNOWN = 2 };

/* The first bytes of a name, "bdev", as a number. */
#define FS_BDEV_NAME 0x76656462

enum { COMM_LEN = 16, FS_NAME_LEN = 16, PATH_BYTES = 512, PATH_DEPTH = 32 };

/* file_name.deleted: there was no such file when a call named it. */
enum { NAME_MISSING = 2 };

/* The path of a file as its process sees it: names from the file up to the root directory of the
 * process, across all mounts in between, each ending with a NUL. The first may be a path with
 * several names, as a program gave it. */
struct file_name {
	unsigned short len;
	unsigned char complete;  /* the path is not truncated */
	unsigned char unmounted; /* not mounted: the path begins at the root of the file system */
	unsigned char deleted;   /* 1; or NAME_MISSING */
	unsigned char nameless;  /* the path could not be read */
	/* tells files of one path on one file system apart, as in containers: hash of the inode of
	 * its directory, or 0 if not known */
	unsigned short directory;
	char names[PATH_BYTES];
};

/* The name of a thread. With BY_THREAD, also the id of its cgroup and the time at which it had this
 * name (CLOCK_MONOTONIC, ns): other CPUs may know an older name. */
struct thread_name {
	unsigned long long cgroup;
	char comm[COMM_LEN];
	unsigned long long at;
};

/* The waker of a thread: its ids as the tool's pid namespace numbers them, and its own operation,
 * if it was in one. tid 0: not known. */
struct waker {
	unsigned int pid, tid;
	unsigned char op;      /* enum op_kind */
	unsigned char stratum; /* enum stratum in which it ran */
	unsigned char who;     /* enum who; only in struct sent_by */
	unsigned char limit;   /* enum io_limit, if WHO_LIMIT; the thread itself waited */
	unsigned char pad[4];
	union {
		char comm[COMM_LEN];
		unsigned long long cgroup; /* with @limit: id of the thread's cgroup */
	};
};

/* Bits in addition to the number of a call. With CALL_URING or CALL_AIO the number is an opcode of
 * io_uring or libaio. CALL_FAULT: a page fault. CALL_SERVED: a request to nfsd; with CALL_SMB, to
 * ksmbd, and the number is the command of SMB2, or SMB_COMMANDS if it is not known. */
enum {
	CALL_COMPAT = 0x8000,
	CALL_URING = 0x4000,
	CALL_AIO = 0x2000,
	CALL_FAULT = 0x1000,
	CALL_SERVED = 0x0800,
	CALL_SMB = 0x0400,
	CALL_MAX = 512,
	URING_OPS = 64,
	SMB_COMMANDS = 19,
	CALL_URING_ENTER = 426, /* of an operation getevents; also the number of the 32-bit call */
};

/* Bits beside CALL_FAULT. A fault on memory without a file reads a page that was swapped out, or
 * waits until other pages are swapped out. A fault of the kernel in a call that is no operation. */
enum { FAULT_SWAPS_IN = 1, FAULT_SWAPS_OUT = 2, FAULT_OF_KERNEL = 4, FAULT_CALLS = 8 };

/* The records that the programs send for each finished operation and request. Records are whole
 * words without holes; the first byte is their type. */
enum sent {
	SENT_OP = 1, /* an operation that neither left the CPU nor read from a device */
	SENT_OP_WAITED,
	SENT_REQUEST,
	SENT_FILE,
	SENT_SLOW_OP,
	SENT_OP_ORDERED,
	SENT_SERVER_REQUEST,
	SENT_STACK,
	SENT_STACK_FILE,
	SENT_SUBMITTED,
	SENT_SUBMISSION,
};

/* The thread of a record: pid and tid as the tool's pid namespace numbers them. */
struct sent_who {
	unsigned int pid, tid;
	unsigned long long cgroup;
	char comm[COMM_LEN];
};

/* The identity of a file: FILE_KEY() and inode; inode 0: no file, or not known. */
struct sent_file_id {
	unsigned long long key, ino;
};

enum { SENT_ON_CPU = ST_FS + 1 }; /* strata of an operation that never left the CPU */

/* One finished operation; times in ns, CLOCK_MONOTONIC. The members that are often the same in many
 * records come first. */
struct sent_op {
	unsigned char what;
	unsigned char kind;        /* enum op_kind */
	unsigned char cache;       /* enum cache_class */
	unsigned char fs;          /* slot of the file system type + SENT_FS_FIRST */
	unsigned short call;       /* system call number, | CALL_COMPAT; or CALL_URING ... */
	unsigned short open_flags; /* low half of RECORDED_FLAGS() of the open file */
	unsigned int requests;     /* number of bios that the operation submitted */
	int fd;                    /* descriptor; -1: none */
	struct sent_who who;
	struct sent_file_id file;
	unsigned long long start_ns;
	unsigned long long offset, len; /* ~0: not known; len: bytes requested, or the xid served */
	long long ret;
	unsigned long long on_cpu[SENT_ON_CPU];
};

enum { SENT_FS_UNKNOWN, SENT_FS_BDEV, SENT_FS_FIRST };

struct sent_op_waited {
	struct sent_op op;
	unsigned long long waits[ST_N - SENT_ON_CPU];
	unsigned long long device_bytes; /* bytes that its own bios read from devices */
	/* of a copy: the file to which it wrote, and its file system as sent_op.fs; else all 0 */
	struct sent_file_id copied_to;
	unsigned long long copied_fs;
	/* bytes that overlayfs copied to its upper layer; if there are any, op.len means nothing */
	unsigned long long copied_up;
};

/*
 * The order of an operation's time: its segments, each a stratum and a duration, one after the
 * other. Two segments in a row have different strata. Segments after the last one that has a place
 * are in the strata alone; their number is @merged.
 */
enum { SEGMENTS_MAX = 64, SEGMENTS_FEW = 12 };

#define SEGMENT(stratum, ns)     ((unsigned long long)(ns) << 8 | (stratum))
#define SEGMENT_STRATUM(segment) ((segment)&0xff)
#define SEGMENT_NS(segment)      ((segment) >> 8)

struct segments {
	unsigned int n, merged;
	unsigned long long at[SEGMENTS_MAX]; /* SEGMENT(); the first @n */
};

/* The segments in a record of an operation with few of them. */
struct few_segments {
	unsigned int n, merged;
	unsigned long long at[SEGMENTS_FEW];
};

/* Who the longest wait that has one was due to. It is another operation's if that began at another
 * time. */
struct sent_by {
	unsigned long long ns, start_ns;
	struct waker thread;
};

/* An operation that waited, with its segments. A record is cut off after the last one. @helper
 * ended the longest sleep in which a helper worked for the operation; tid 0: none did. */
struct sent_op_ordered {
	struct sent_op_waited waited;
	struct waker helper;
	struct sent_by by;
	struct segments segments;
};

/* An operation slower than a threshold. User space shows it separately, with names. */
struct sent_slow_op {
	struct sent_op_ordered op;
	unsigned long long fs; /* identity of the file system type, see struct fs_entry */
	/* dev_t of the file system that has the file of overlayfs; of the whole btrfs; else 0 */
	unsigned long long disk;
	unsigned long long lock_ns;  /* its longest wait for a lock; 0: none */
	struct waker lock_holder;    /* the thread that released this lock */
	unsigned long long slept_ns; /* its longest sleep for an unknown reason; 0: none */
	struct waker woken_by;       /* the thread that ended this sleep; tid 0: an interrupt or a
				      * helper, or not known: see waker_is_sure() */
	struct file_name file;
};

enum sent_request_flag { SENT_FAILED = 1, SENT_OUTSIDE = 2 };

struct sent_request {
	unsigned char what;
	unsigned char op;               /* enum rq_op */
	unsigned char flags, bio_based; /* flags: enum sent_request_flag */
	unsigned int dev;               /* dev_t of the whole disk */
	unsigned int cmd_flags;
	int error; /* as the tracepoint reports it */
	unsigned int requeues;
	unsigned int
		merges; /* bios other than the first; if bio_based, parts that were split off */
	unsigned long long sector, bytes;
	unsigned long long q, g, d, c; /* q 0: submission not seen */
	struct sent_file_id file;
	struct sent_who who; /* tid 0: not known */
};

enum { SERVER_LEN = 48, SERVER_OP_LEN = 24 };

/* One finished request to a server; times in ns, CLOCK_MONOTONIC, as in server.bpf.h. */
struct sent_server_request {
	unsigned char what;
	unsigned char protocol; /* enum server_protocol */
	unsigned short opcode;  /* of other protocols than NFS */
	unsigned int dev;       /* of FUSE: kernel dev_t of the file system; else 0 */
	unsigned long long xid; /* of NFS, + 1; 0: not known */
	unsigned long long q, g, d, c;
	char server[SERVER_LEN]; /* as in struct server_key */
	char op[SERVER_OP_LEN];  /* of NFS: name of the procedure */
};

/* Kinds of operations whose user stack can be taken: the calls that a function of the program makes
 * and waits for, its page faults, and the requests that it submits. */
#define STACK_KINDS                                                                                \
	(1U << OP_READ | 1U << OP_WRITE | 1U << OP_OPEN | 1U << OP_CLOSE | 1U << OP_FSYNC |        \
	 1U << OP_COPY | 1U << OP_META | 1U << OP_LOCK | 1U << OP_FAULT | 1U << OP_URING |         \
	 1U << OP_AIO | 1U << OP_GETEVENTS | 1U << OP_SUBMIT)

enum { STACK_FRAMES = 64 };

/* A frame of a user stack: the number of its mapped file, and the place of the call in this file.
 * File 0: an address in memory without a file, such as code made at run time. */
#define STACK_FRAME(file, at)   ((unsigned long long)(file) << 48 | (at))
#define STACK_FRAME_FILE(frame) ((unsigned int)((frame) >> 48))
#define STACK_FRAME_AT(frame)   ((frame)&0xffffffffffffULL)
#define STACK_FILES             4096 /* numbers of files are below */

/*
 * A frame of Python: where the code object is, in 16 bytes, and the place of the instruction in it,
 * in 2 bytes. STACK_PYTHON_PLACES: the place does not fit.
 */
#define STACK_PYTHON (1ULL << 63)
#define STACK_PYTHON_FRAME(version, code, place)                                                   \
	(STACK_PYTHON | (unsigned long long)(version) << 60 |                                      \
	 ((code) >> 4 & 0x7ffffffffffULL) << 17 | (place))
#define STACK_PYTHON_VERSION(frame) ((unsigned int)((frame) >> 60 & 7)) /* enum python_version */
#define STACK_PYTHON_CODE(frame)    (((frame) >> 17 & 0x7ffffffffffULL) << 4)
#define STACK_PYTHON_PLACE(frame)   ((unsigned int)((frame)&STACK_PYTHON_PLACES))
#define STACK_PYTHON_PLACES         0x1ffff

/* Only in user space: in place of the number of a file, with the number of a frame that a process
 * alone can name: of Python, or in memory without a file. */
#define STACK_OF_PROCESS STACK_FILES

/* Versions of Python whose frames programs can read. */
enum python_version { PYTHON_UNKNOWN, PYTHON_3_11, PYTHON_3_12, PYTHON_3_13, PYTHON_N };

/*
 * The list of all ends of a user stack. A row has:
 *   the end of the id, and the name in JSON
 *   the reason in text, after "N stacks ended early:"; NULL: the stack is whole
 */
/* clang-format off */
#define STACK_END_LIST(ROW)                                                                        \
	ROW(WHOLE, "whole", NULL)                                                                  \
	ROW(NOT_READY, "not_ready", "the table of a file was not ready yet")                       \
	ROW(NO_ROWS, "no_rows", "a file has no rows to unwind by, and no frame pointer was there") \
	ROW(NO_ROOM, "no_room", "the tables of files have no room left")                           \
	ROW(EXPRESSION, "expression", "no usable row describes the frame of a function")           \
	ROW(OUTSIDE, "outside", "code is in memory without a file, without a frame pointer")       \
	ROW(MEMORY, "memory", "the memory of the stack was not there")                             \
	ROW(BUSY, "busy", "the process was changing its mappings")                                 \
	ROW(DEEP, "deep", "more than 64 frames")                                                   \
	ROW(COMPAT, "compat", "the call is a 32-bit one")                                          \
	ROW(UNNAMED, "unnamed", "the recording was cut off before its stacks")                     \
	ROW(NO_PYTHON, "no_python", "frames of Python could not be read")                          \
	ROW(NO_PROBE, "no_probe", "no program could take the stack at the end of a page fault")    \
	ROW(BY_KERNEL, "by_kernel", "a thread of the kernel submitted the request")                \
	ROW(NO_SUBMISSION, "no_submission", "the stack of the submission did not come")
/* clang-format on */

#define STACK_END_ID(id, ...) STACK_##id,

enum stack_end { STACK_END_LIST(STACK_END_ID) STACK_END_N };

/* The identity of a mapped file for the tables of rows. */
struct unwind_key {
	unsigned long long ino;
	unsigned int dev, generation;
};

/*
 * A finished operation with its user stack. It stands for max(1, threshold_ns / total) operations:
 * it was taken with the probability min(1, total / threshold_ns).
 *
 * SENT_SUBMITTED: a finished request of io_uring or libaio, without @frames and what belongs to
 * them. SENT_SUBMISSION: its stack, sent when the call ended that submitted it, at @start_ns. If an
 * operation ended with this call, the stack comes with the operation, as SENT_STACK. Request and
 * stack have the same thread and the same number @submission.
 */
struct sent_stack {
	unsigned char what;
	unsigned char kind;              /* enum op_kind */
	unsigned char end;               /* enum stack_end */
	unsigned char by_frame_pointers; /* part of the stack */
	unsigned short n;                /* frames */
	unsigned short call;             /* as in struct sent_op, with sent_ops */
	struct sent_who who;
	struct sent_file_id file; /* with sent_ops */
	unsigned long long fs;    /* identity of the file system type */
	unsigned long long start_ns;
	unsigned long long total_ns, threshold_ns;
	long long ret;
	unsigned long long device_bytes;
	unsigned long long strata[ST_N];
	unsigned int submission; /* its number among those of the thread; 0: none */
	unsigned int submitted;  /* with a stack: how many requests are drawn; at most 65,535 */
	unsigned long long process_start; /* tells processes with the same number apart */
	/* STACK_FRAME() or STACK_PYTHON_FRAME(), innermost first; the first @n */
	unsigned long long frames[STACK_FRAMES];
};

/* A stack has met a mapped file without a table. */
struct sent_stack_file {
	unsigned char what;
	unsigned char pad[3];
	unsigned int pid;
	struct unwind_key key;
	unsigned long long start, end; /* of the mapping */
};

/*
 * How to unwind a frame at an address of a file, up to the address of the next row: where the
 * frame's canonical address (CFA) is, and where the caller's frame pointer was saved. The return
 * address is right below the CFA.
 */
struct unwind_row {
	unsigned int at; /* place in the file */
	short cfa;       /* offset from the register, in 8 bytes: frames may be above 32 KiB */
	unsigned char rule;
	signed char fp; /* at CFA + 8 * fp; 0: not saved */
};

enum unwind_rule {
	UNWIND_UNKNOWN, /* an expression, or another register; or no function is here */
	UNWIND_SP,
	UNWIND_FP,
	UNWIND_PLT,   /* as the linker describes its stubs */
	UNWIND_LAST,  /* the outermost frame */
	UNWIND_BY_FP, /* code without rows that keeps frame pointers */
};

/* Python in a file: the function that runs its code, and where the runtime's state is. */
struct unwind_python {
	unsigned int from, to; /* places of the function in the file; to 0: there is no Python */
	unsigned int version;  /* enum python_version */
	unsigned int pad;
	long long runtime; /* distance from the address at which the file begins */
};

/* The table of a file in the array of rows. Programs make an entry without a number when they meet
 * the file; then user space alone writes it. It removes the entry, and waits until no program can
 * have found it, before it gives the rows to another file. */
struct unwind_file {
	unsigned int number;   /* 0: its table is not ready */
	unsigned int first, n; /* rows; n 0: the file has none */
	unsigned int full;     /* there was no room for its rows */
	struct unwind_python python;
};

enum { UNWIND_ROWS = 1 << 21, UNWIND_SEARCH = 21 /* steps of a search in all rows */ };

/* The name of a file, sent in a ring for names before the first record with this file. */
struct sent_file {
	unsigned long long what;
	struct sent_file_id id;
	struct file_name name;
};

_Static_assert(sizeof(struct file_name) == 8 + PATH_BYTES, "file_name is stored");
_Static_assert(sizeof(struct sent_op) == 120, "sent_op has no holes");
_Static_assert(sizeof(struct sent_op_waited) % sizeof(unsigned long long) == 0,
	       "sent_op_waited is whole words");
_Static_assert(sizeof(struct sent_slow_op) == sizeof(struct sent_op_waited) + 128 + 48 + 8 +
						      SEGMENTS_MAX * 8 + 8 + PATH_BYTES,
	       "sent_slow_op has no holes");
_Static_assert(sizeof(struct sent_request) == 120, "sent_request has no holes");
_Static_assert(sizeof(struct unwind_row) == 8, "a million rows take 8 MB");
_Static_assert(sizeof(struct sent_stack) % 8 == 0, "sent_stack has no holes");
_Static_assert(sizeof(struct sent_server_request) == 120, "sent_server_request has no holes");

#endif
