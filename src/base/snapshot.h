/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * snapshot.h - the rows of a run, or of one interval, as plain data in user space.
 *
 * session_snapshot() fills a snapshot from the kernel's rows, replay_take() from a recording;
 * printers only read it. Knows nothing of BPF.
 */
#ifndef IOSTRATA_BASE_SNAPSHOT_H
#define IOSTRATA_BASE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/access.h"
#include "base/hist.h"
#include "base/machine_load.h"
#include "cell.h"

struct devices;
struct stacks;
struct opt_strings;

enum { SYMBOL_LEN = 64 };

/* One row of operations: key and sums. Its key's bucket is 0. */
struct op_row {
	struct op_key key;
	char fs[FS_NAME_LEN]; /* name of the file system type, "" if not known; hostile text */
	char *by;             /* the --by key as text (pid, comm, path, cgroup path, disk), NULL
			       * without --by; owned by the snapshot; hostile text */
	char comm[COMM_LEN];  /* with BY_PID, BY_TID: its name, "" if not known; hostile text, may
			       * lack a NUL */
	char *command;        /* with BY_PID: its command line or title; NULL: not known; hostile
			       * text; owned */
	/* the strata add up to total_ns; strata and device_bytes are 0 with a layer alone (-T) */
	OP_SUMS(uint64_t);
	/* set of 1 << stratum: layers whose functions are not probed for such operations, the
	 * server if its requests are not traced, and async_unmeasured(); if one of these strata is
	 * 0, it was not measured */
	unsigned int missing_layers;
	unsigned int kinds; /* of several operations: set of 1 << enum op_kind; else 0 */
	bool contained;     /* after container_rows(): see container_of_row() */
	uint64_t certain;   /* by stack: of .count, those that are counted, not estimated; else 0 */
	uint64_t thread_ns; /* only of several operations: see breakdown_thread_ns() */
	uint64_t pseudo_ns; /* likewise: the part of thread_ns on pseudo file systems */
	struct access_pattern *pattern; /* of reads or writes of a file; NULL: not known. Owned */
	struct hist hist;
};

/* The set for .kinds of one kind, which may come from a recording. Kinds that are not known here
 * count as OP_NONE. */
static inline unsigned int op_kind_set(uint64_t kind)
{
	_Static_assert(OP_N <= 8 * sizeof(((struct op_row *)0)->kinds), "a set has all kinds");
	return 1U << (kind < OP_N ? kind : OP_NONE);
}

struct rq_row {
	struct rq_key key;
	char disk[32]; /* kernel's name, "major:minor" if not known */
	unsigned int major, minor;
	char *by;            /* the submitter's, as in op_row; NULL if not known, and with
			      * BY_DEV, BY_CACHE */
	bool contained;      /* as in op_row */
	char comm[COMM_LEN]; /* likewise */
	uint64_t count, errors, bytes, requeues, unqueued, outside;
	uint64_t tag_ns, queue_ns, device_ns, max_ns;
	struct access_pattern *pattern; /* of reads or writes of a disk; NULL: not known. Owned */
	struct hist hist;
};

/* The work of a helper for a client; see struct helper_key. Names are hostile. */
struct helper_row {
	struct helper_key key;
	char disk[32]; /* as in rq_row; "" with HELPER_TIME */
	struct helper_sums sums;
};

/* Requests to a server or a daemon; see struct server_key. Names are hostile. */
struct server_row {
	struct server_key key;
	char *mount; /* where the FUSE file system is mounted; NULL: not known; owned */
	struct server_sums sums;
	struct hist hist; /* of the time with the server */
};

/* Where in the kernel threads slept, for sleeps without another explanation; see struct site_key.
 */
struct site_row {
	struct site_key key;
	char fs[FS_NAME_LEN];    /* as in struct op_row */
	char symbol[SYMBOL_LEN]; /* the kernel's function; "": not known; hostile text */
	const char *what;        /* what is waited for there, in words; NULL: not known */
	struct site_sums sums;
};

/* Waits of operations for somebody else, by the process to which they were due. From a recording,
 * only the longest of each operation. */
struct who_row {
	struct who_key key; /* its comm is hostile text */
	char *command;      /* the command line of the process; NULL: not known; owned; hostile */
	char *limit;        /* of WHO_LIMIT, as in limits.h; NULL: not known; owned; hostile */
	struct who_sums sums;
};

enum { SUSPENDED_LEN = 64, CALL_NAME_LEN = 32 };

/* An operation still in progress. */
struct unfinished {
	uint64_t age_ns;
	unsigned int op;      /* enum op_kind */
	unsigned int stratum; /* the stratum of its time now, as far as known */
	unsigned int dev;     /* kernel dev_t of the disk, if it waits for a bio that it submitted;
			       * 0: it waits for none, or not known */
	bool frozen;          /* with ST_LOCK: the file system is frozen */
	bool in_call;         /* it is a call of its thread: no fault, no request */
	char call[CALL_NAME_LEN]; /* name of the call, if it lasts for long; "" if not known */
	/* the suspended device of device mapper below its disk or file; "": none, or not known;
	 * hostile */
	char suspended[SUSPENDED_LEN];
	unsigned int pid, tid;
	char fs[FS_NAME_LEN];     /* as in struct op_row */
	char comm[COMM_LEN];      /* of the thread, "" if not known; hostile text */
	unsigned long long by[2]; /* its FILE_KEY() and inode; inode 0: not known */
	char *file;               /* as text, NULL if not known; owned by the snapshot; hostile */
	char *server; /* with ST_SERVER: the server's address, if possible with what is mounted, or
		       * the mount point of a daemon; NULL: not known; likewise */
};

/* A thread that has waited since before the tracing began. All text is hostile. */
struct hung {
	uint64_t age_ns;         /* since the tracing began: the wait is older */
	unsigned int op;         /* enum op_kind; OP_NONE: the call is none, or not known */
	const char *call;        /* system call; NULL: a page fault, or not known */
	unsigned int stratum;    /* ST_SERVER, ST_LOCK or ST_SLEEP */
	char symbol[SYMBOL_LEN]; /* the kernel's function in which it waits; "": not known */
	const char *what;        /* what is waited for there, in words; NULL: not known */
	unsigned int pid, tid;
	char suspended[SUSPENDED_LEN]; /* as in struct unfinished */
	char fs[FS_NAME_LEN];          /* as in struct op_row */
	char comm[COMM_LEN];
	char *file;   /* its path; NULL: the call has no descriptor; owned */
	char *server; /* as in struct unfinished; owned */
	/* for a lock of a file: the process that took the lock, 0: not known; "": it has ended */
	unsigned int holder_pid;
	char holder_comm[COMM_LEN];
};

/* One of several files made one after another at one path: a journal, a file that an editor
 * replaces, a rotated log. */
struct row_file {
	unsigned long long row[2]; /* key.by of the row */
	unsigned long long by[2];  /* its own FILE_KEY() and inode */
};

/* A thread with rows, with BY_THREAD. */
struct thread {
	unsigned long long id;     /* its process's id << 32 | its own */
	unsigned long long cgroup; /* id; 0: not known */
	char comm[COMM_LEN];       /* its last name in the interval; as in op_row */
};

/* The thread of a traced command with most time in operations. */
struct busiest {
	uint64_t io_ns;    /* in calls and page faults; 0: no thread is known */
	uint64_t lived_ns; /* of the interval */
	unsigned int pid, tid;
	char comm[COMM_LEN]; /* hostile text; "": not known */
};

/* Losses by kind. */
struct losses_sum {
	uint64_t lost[LOST_N];
	uint64_t missed;
};

#define BUSY_UNKNOWN UINT64_MAX

/* How busy a disk was in an interval. Live, the kernel counts this, with the requests of everybody;
 * see snapshot_disks_sum() for recordings. */
struct disk_busy {
	char disk[32];        /* as in rq_row, but ends in NUL */
	uint64_t busy_ns;     /* time with requests in progress; or BUSY_UNKNOWN */
	uint64_t requests_ns; /* time of the requests that ended, all added up */
};

struct snapshot {
	struct op_row *ops; /* not sorted */
	size_t n_ops;
	struct rq_row *rqs; /* not sorted */
	size_t n_rqs;
	struct helper_row *helpers; /* not sorted */
	size_t n_helpers;
	struct server_row *servers; /* not sorted */
	size_t n_servers;
	struct site_row *sites; /* not sorted */
	size_t n_sites;
	struct who_row *whos; /* the most time first */
	size_t n_whos;
	bool has_whos;                 /* such waits were noted */
	struct unfinished *unfinished; /* oldest first; none if a layer is measured alone */
	size_t n_unfinished;
	uint64_t unfinished_lost; /* whose operations in progress are not among them */
	struct hung *hung;        /* for a server first; none if a layer is measured alone */
	size_t n_hung;
	uint64_t hung_refused;  /* threads that may belong there, but cannot be read */
	uint64_t unpatterned;   /* reads, writes and requests in no pattern: no room for more
				 * files or disks */
	bool has_unreaped;      /* @unreaped was counted */
	uint64_t unreaped;      /* requests of io_uring that are counted without reap */
	struct row_file *files; /* with BY_FILE: those of rows with several, by row */
	size_t n_files;
	struct thread *threads; /* by id */
	size_t n_threads;
	struct disk_busy *disks; /* in the kernel's order, without partitions */
	size_t n_disks;
	uint64_t disks_ns;             /* the time between the kernel's two figures */
	struct stacks *stacks;         /* user stacks; NULL: none were taken. Owned */
	const struct devices *devices; /* of the machine; NULL: not known */
	struct machine_load machine;   /* in the interval, as far as known */
	uint64_t unnamed_cgroups; /* after container_rows(): cgroups whose container is not known */
	uint64_t duration_ns;
	uint64_t taken_ns;   /* when, CLOCK_MONOTONIC; 0 in a report */
	uint64_t threads_ns; /* sum over the traced threads; 0: not known */
	struct busiest busiest;
	uint64_t lost[LOST_N];
	bool is_part;              /* the rows are of a part of a recording's time */
	struct losses_sum untimed; /* then: losses without a time, of the whole recording */
	uint64_t missed;           /* hits without a run of the program (recursion, nmissed) */
	bool has_overhead;
	uint64_t bpf_run_ns, bpf_run_cnt;
};

/* The files of the row with the key @by, @ret_n of them; NULL: only the one that the key names. */
const struct row_file *snapshot_files(const struct snapshot *sn, const unsigned long long by[2],
				      size_t *ret_n);

/* Puts .files in order, when they or their keys have changed. */
void snapshot_files_sort(struct snapshot *sn);

/* Puts .whos in order. */
void snapshot_whos_sort(struct snapshot *sn);

/* Reasons why figures could not be measured; the same for the whole run. */
struct missing {
	const char *stratum[ST_N]; /* reason, NULL if the stratum is measured */
	const char *requests;      /* reason why there are no requests, or NULL */
	const char *syscalls;      /* reason why system calls are not traced, or NULL */
	const char *uring;         /* reason why those of io_uring are not traced, or NULL */
	const char *aio;           /* the same of libaio: then its calls are */
	const char *faults;        /* the same of page faults */
	const char *device_bytes;  /* reason why bytes that operations read from devices are not
				      known, or NULL */
	const char *minor_faults;  /* why faults that found their page are not counted */
	const char *pages;         /* why pages of zram, brd and pmem are not counted, or NULL */
	const char *paths;         /* why filters by file leave out calls by absolute path, or
				    * NULL: they do not, or are not used */
};

/* The number of losses, names included. Operations that began before tracing are not lost. */
uint64_t lost_sum(const uint64_t lost[LOST_N], uint64_t missed);

/* The same without the kinds in @but: 1 << enum lost; LOST_N: @missed. */
uint64_t lost_sum_but(const uint64_t lost[LOST_N], uint64_t missed, unsigned int but);

/* How busy @disk was. Returns NULL if the kernel did not tell. */
const struct disk_busy *snapshot_disk(const struct snapshot *sn, const char *disk);

/* For a recording, which lacks the kernel's figures: sets .disks of @sn from its rows of requests,
 * with unknown busy times. Their time is from the allocation on, as the kernel counts it. Needs
 * .duration_ns. Returns 0 or -ENOMEM. */
int snapshot_disks_sum(struct snapshot *sn);

/* Mean number of requests in progress at @disk, of @sn: by Little's law, the time of the requests
 * that ended, divided by the interval. iostat has it as aqu-sz. */
double snapshot_disk_depth(const struct snapshot *sn, const struct disk_busy *disk);

/* Drops all command lines: they may hold secrets. */
void snapshot_forget_commands(struct snapshot *sn);

/* Drops operations, finished or not, and threads that wait for them, on file systems of types that
 * are not in the list @fs. Empty or NULL: drops none. */
void snapshot_keep_fs(struct snapshot *sn, const struct opt_strings *fs);

/* Drops operations of kinds outside the set @ops of 1 << enum op_kind; 0: drops none. For a layer
 * traced alone: its rows have all its functions. */
void snapshot_keep_ops(struct snapshot *sn, unsigned int ops);

/* Drops requests for whose key @wanted is false. */
typedef bool snapshot_rq_fn(const void *ctx, const struct rq_key *key);
void snapshot_keep_rqs(struct snapshot *sn, snapshot_rq_fn *wanted, const void *ctx);

void snapshot_free(struct snapshot *sn); /* frees rows and their text, leaves it empty */

#endif
