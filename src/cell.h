/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cell.h - the sums for each key, and the arithmetic of histograms.
 *
 * Plain C for programs and user space, without I/O. The same code adds up a live view and a
 * recording of the same run, so both give the same numbers.
 */
#ifndef IOSTRATA_CELL_H
#define IOSTRATA_CELL_H

#include "event.h"

/*
 * Log-linear histogram of ns, 5 sub-bits. Values below 32 have a bucket each. Above, every power of
 * two is cut into 32 buckets, so a bucket is at most 1/32 of its lower bound wide. The last bucket
 * takes all values from 2^41 ns (36 minutes) on. The sums have the exact maximum.
 */
enum {
	HIST_SUB_BITS = 5,
	HIST_SUB = 1 << HIST_SUB_BITS,
	HIST_MAX_LOG2 = 40,
	HIST_N = (HIST_MAX_LOG2 - HIST_SUB_BITS + 2) * HIST_SUB,
};

struct op_key {
	unsigned long long fs; /* identity of the file system type; see FS_UNKNOWN */
	unsigned short call;   /* -T syscall: number | CALL_COMPAT; else 0, but for
				* meta_calls */
	unsigned char op;      /* enum op_kind */
	unsigned char cache;   /* enum cache_class with BY_CACHE, else 0 */
	unsigned short bucket; /* in the hash of the programs: bucket of these operations; else 0 */
	unsigned char pad[2];
	unsigned long long by[2]; /* pid | tid | pid << 32 | tid | comm | FILE_KEY(), ino |
				   * cgroup | dev | IPv6 address, 0: none */
};

/* The members of struct op_sums. Rows of user space have them, too. All but max_ns add up. */
#define OP_SUMS(u64)                                                                               \
	u64 count;                                                                                 \
	u64 errors;                                                                                \
	u64 io_errors; /* of .errors: see errno_is_io() */                                         \
	u64 bytes;     /* returned, not requested */                                               \
	u64 total_ns;                                                                              \
	u64 max_ns;                                                                                \
	u64 strata[ST_N];                                                                          \
	u64 device_bytes /* read from devices by bios of these operations */

struct op_sums {
	OP_SUMS(unsigned long long);
};

/* A row in the hash of the programs. */
struct op_entry {
	struct op_sums sums;
	unsigned long long access; /* only for the programs: 1 + the number of its access_slot; 0:
				    * not known */
};

/* The counts of buckets wrap: they must be read at least once in 2^32 events. */
struct op_cell {
	struct op_sums sums;
	unsigned int hist[HIST_N]; /* of the elapsed time */
};

struct rq_key {
	unsigned int dev;         /* kernel dev_t of the whole disk */
	unsigned char op;         /* enum rq_op */
	unsigned char bio_based;  /* the device has neither tag nor queue */
	unsigned short bucket;    /* as in op_key, of the time that the histogram shows */
	unsigned long long by[2]; /* as in op_key, of the submitter; 0: not known. With
				   * BY_THREAD the second is enum behalf */
};

struct rq_sums {
	unsigned long long count;
	unsigned long long errors;
	unsigned long long bytes;
	unsigned long long requeues;
	unsigned long long unqueued; /* of count: submission not seen, so tag and queue unknown */
	unsigned long long outside;  /* of count: submitted outside of any operation */
	unsigned long long tag_ns;
	unsigned long long queue_ns;
	unsigned long long device_ns;
	unsigned long long max_ns; /* maximum of the time that the histogram shows */
	unsigned long long name; /* with BY_THREAD, only for the programs: hash of the thread's name
				  * in   this epoch */
};

/*
 * The work of a helper for one client: requests of one kind on one disk or, with HELPER_TIME, the
 * time at work. Names are padded with zeroes. A name that fills its field has no NUL.
 */
struct helper_key {
	char comm[COMM_LEN];     /* name of the helper */
	char work[COMM_LEN];     /* workqueue of a worker, "" if it is not known */
	char for_comm[COMM_LEN]; /* name of the client, "" if it is not known; then for_pid is 0 */
	unsigned int tid;        /* of the helper, in the initial pid namespace */
	unsigned int for_pid;    /* thread group of the client */
	unsigned int dev;        /* kernel dev_t of the whole disk */
	unsigned char op;        /* enum rq_op, or HELPER_TIME */
	unsigned char behalf;    /* enum behalf: how the client is known; 0 without a client */
	unsigned char bio_based; /* as in rq_key */
	unsigned char pad;
};

enum { HELPER_TIME = RQ_N };

struct helper_sums {
	unsigned long long count; /* requests; with HELPER_TIME, stretches on the CPU */
	unsigned long long errors;
	unsigned long long bytes;
	unsigned long long tag_ns;
	unsigned long long queue_ns;
	unsigned long long device_ns;
	/* only with HELPER_TIME */
	unsigned long long cpu_ns;    /* on the CPU */
	unsigned long long runq_ns;   /* waiting for the CPU */
	unsigned long long waited_ns; /* asleep for requests */
};

/* A site: where in the kernel a thread slept for a reason that is not known. */
enum { SITE_CALLERS = 4 };

struct site_key {
	unsigned long long fs;               /* as in op_key; 0: not known */
	unsigned long long at[SITE_CALLERS]; /* address of the caller of the scheduler or lock, then
					      * of its caller ...; 0: none */
	unsigned char op;                    /* enum op_kind */
	unsigned char pad[7];
};

struct site_sums {
	unsigned long long count, total_ns, max_ns;
};

/* Waits of operations that were due to one process: struct who_row has more. */
struct who_key {
	unsigned int pid;
	unsigned char op;    /* enum op_kind of the operations that waited */
	unsigned char who;   /* enum who */
	unsigned char limit; /* enum io_limit, if WHO_LIMIT: the process itself waited */
	unsigned char pad;
	union {
		char comm[COMM_LEN];       /* of the thread of this process */
		unsigned long long cgroup; /* with @limit: id of the cgroup that has waited */
	};
};

struct who_sums {
	unsigned long long count, total_ns, max_ns;
};

struct rq_cell {
	struct rq_sums sums;
	unsigned int hist[HIST_N]; /* of the device time; with -Q, of the whole time */
};

/* A device number as the kernel keeps it (dev_t inside the kernel): 12 bits of major, 20 of minor.
 */
#define DEV_OF(major, minor) ((unsigned int)(major) << 20 | ((unsigned int)(minor)&0xfffff))
#define DEV_MAJOR(dev)       ((unsigned int)(dev) >> 20)
#define DEV_MINOR(dev)       ((unsigned int)(dev)&0xfffff)

/* Results from -MAX_ERRNO to -1 are errors (include/linux/err.h). */
enum { MAX_ERRNO = 4095 };

/*
 * The identity of a file is device, inode and generation, since inode numbers are used again. The
 * high bit of a dev_t is free: majors of block devices end at 511 (BLKDEV_MAJOR_MAX). If this bit
 * is set, the file is the block device itself, not a file on it.
 */
#define FILE_KEY(dev, is_bdev, generation)                                                         \
	((unsigned long long)(generation) << 32 | (unsigned int)!!(is_bdev) << 31 | (dev))
/* The generation of files without an inode: a call has named them. Instead of the inode there is a
 * number for the path. */
#define GENERATION_OF_PATH    0xffffffffU
#define FILE_KEY_IS_PATH(key) ((key) >> 32 == GENERATION_OF_PATH)
#define FILE_KEY_DEV(key)     ((unsigned int)(key)&0x7fffffff)
#define FILE_KEY_IS_BDEV(key) ((key) >> 31 & 1)

/*
 * Requests of file systems to a server or a daemon. NFS: the address and the name of the procedure.
 * FUSE: the name and process of the daemon, the mount and the opcode; virtiofs: no process. 9p: the
 * name of the device and the type of the message. SMB: the name of the server and the command. In
 * user space, op has the name of these two.
 */
enum server_protocol { SERVER_NFS, SERVER_FUSE, SERVER_9P, SERVER_SMB, SERVER_PROTOCOLS };

struct server_key {
	char server[SERVER_LEN];
	char op[SERVER_OP_LEN]; /* of NFS; in user space of 9p and SMB, too; its longest name,
				 * BIND_CONN_TO_SESSION, has 20 */
	unsigned int dev;       /* FUSE: kernel dev_t of the file system; else 0 */
	unsigned int pid;       /* of the daemon; 0: none */
	unsigned short opcode;  /* of FUSE; in programs of 9p and SMB, too */
	unsigned short bucket;  /* as in op_key, of server_ns */
	unsigned int protocol;  /* enum server_protocol */
};

struct server_sums {
	unsigned long long count;
	unsigned long long errors;
	unsigned long long resent; /* how often a request was sent again */
	unsigned long long sent_bytes;
	unsigned long long received_bytes;
	unsigned long long tag_ns;
	unsigned long long queue_ns;
	unsigned long long server_ns;
	unsigned long long max_ns; /* of server_ns */
	/* FUSE: requests that one thread of the daemon read and answered, and parts of their
	 * server_ns: until the thread had read the request; then the thread's waits by stratum, and
	 * as ST_SYSCALL the rest, its time on the CPU */
	unsigned long long split;
	unsigned long long before_read_ns;
	unsigned long long daemon_ns[ST_N];
};

/* The rows of NFS of one server and procedure, by epoch. A slot keeps its name until the end of the
 * run. Names without a slot have entries in the hash. */
enum { SERVER_SLOTS = 64 };

struct server_cell {
	struct server_sums sums;
	unsigned int hist[HIST_N]; /* of server_ns */
};

struct server_slot {
	unsigned long long hash; /* of the name; 0: a free slot, or the name is not complete */
	char server[SERVER_LEN];
	char op[SERVER_OP_LEN];
	struct server_cell epochs[2];
};

_Static_assert(sizeof(struct op_key) == 32, "op_key has no holes");
_Static_assert(sizeof(struct rq_key) == 24, "rq_key has no holes");
_Static_assert(sizeof(struct helper_key) == 64, "helper_key has no holes");
_Static_assert(sizeof(struct server_key) == 88, "server_key has no holes");
_Static_assert(sizeof(struct site_key) == 48, "site_key has no holes");
_Static_assert(sizeof(struct who_key) == 24, "who_key has no holes");

/* floor(log2(v)) of a byte, v > 0. */
#define LOG2_16(n) n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n
static const unsigned char hist_log2_byte[256] = {
	0,          0,          1,          1,          2,          2,          2,
	2,          3,          3,          3,          3,          3,          3,
	3,          3,          LOG2_16(4), LOG2_16(5), LOG2_16(5), LOG2_16(6), LOG2_16(6),
	LOG2_16(6), LOG2_16(6), LOG2_16(7), LOG2_16(7), LOG2_16(7), LOG2_16(7), LOG2_16(7),
	LOG2_16(7), LOG2_16(7), LOG2_16(7),
};

/* floor(log2(v)), v > 0, without clz: BPF lacks it. Fast for values below 65 us. */
static inline __attribute__((always_inline)) unsigned long long hist_log2(unsigned long long v)
{
	unsigned long long r = 0;

	if (v >> 16) {
		if (v >> 32) {
			v >>= 32;
			r = 32;
		}
		if (v >> 16) {
			v >>= 16;
			r += 16;
		}
	}
	if (v >> 8) {
		v >>= 8;
		r += 8;
	}
	/* the compiler knows the limit already, but the verifier must see the mask */
	__asm__ volatile("" : "+r"(v));
	return r + hist_log2_byte[v & 0xff];
}

/*
 * The bucket of @ns: 0 .. HIST_N - 1, never outside. ns >> n keeps its leading one (HIST_SUB), so
 * the buckets of n follow those of n - 1.
 */
static inline __attribute__((always_inline)) unsigned int hist_bucket(unsigned long long ns)
{
	unsigned long long b = ns, n;

	if (ns >= HIST_SUB) {
		n = hist_log2(ns) - HIST_SUB_BITS;
		b = n * HIST_SUB + (ns >> n);
	}
	/* the verifier must see the limit of the very value used as index */
	__asm__ volatile("" : "+r"(b));
	return b < HIST_N ? b : HIST_N - 1;
}

/* The lowest value of bucket @b. The highest one is hist_low(b + 1) - 1. */
static inline __attribute__((always_inline)) unsigned long long hist_low(unsigned int b)
{
	if (b < HIST_SUB)
		return b;
	return (unsigned long long)(HIST_SUB + b % HIST_SUB) << (b / HIST_SUB - 1);
}

/* Relaxed: for a stronger order clang 22 uses an instruction that Linux 5.10 lacks. */
#define atomic_add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)

/*
 * Addition is atomic where a cell may have several writers at a time: CPUs that share the cell, or
 * threads that preempt one another on its CPU. With @single_writer addition is not atomic: this
 * saves 5 ns a number. After a race of several writers the maximum may be too low; the histogram
 * still has the true maximum's bucket.
 */
#define cell_sum(single_writer, dst, v)                                                            \
	do {                                                                                       \
		unsigned long long v_ = (v);                                                       \
		if (single_writer)                                                                 \
			(dst) += v_;                                                               \
		else if (v_)                                                                       \
			atomic_add(&(dst), v_);                                                    \
	} while (0)

static inline __attribute__((always_inline)) void cell_max(volatile unsigned long long *max,
							   unsigned long long v)
{
	if (*max < v) {
		*max = v;
		if (*max < v)
			*max = v;
	}
}

/*
 * The pattern of the reads or the writes of a file, or of a disk: whether each continues one of the
 * last ACCESS_STREAMS accesses (sequential), or is as far from the last one as that was from the
 * one before (strided). All others are random. The first access is sequential if it begins at 0.
 */
enum { ACCESS_STREAMS = 8, ACCESS_SIZES = 8 };

/* The last accesses, in their order of time. At first all 0. */
struct access_past {
	unsigned long long not_ends[ACCESS_STREAMS]; /* ~end of each; 0: none yet; a ring */
	unsigned long long not_end;                  /* that of the last access */
	unsigned long long last;                     /* where the last access began */
	long long stride;        /* from the one before to the last; 0 with fewer than two */
	unsigned long long next; /* the next access has place next % ACCESS_STREAMS in @not_ends */
};

enum access_step { ACCESS_RANDOM, ACCESS_SEQUENTIAL, ACCESS_STRIDED };

/* Whether an access continues one of the last ones. @not_begin: ~offset. */
static inline __attribute__((always_inline)) int access_continues(const struct access_past *p,
								  unsigned long long not_begin)
{
#ifdef __clang__
#pragma unroll
#endif
	for (int i = 0; i < ACCESS_STREAMS; i++)
		if (p->not_ends[i] == not_begin)
			return 1;
	return 0;
}

/*
 * Adds an access to @bytes bytes from @offset on; bytes > 0. @ret_distance: bytes from the end of
 * the last access to @offset, or 0 if there was none.
 *
 * Two CPUs at once may both compare with the same earlier accesses, and one of the two ends may be
 * forgotten. No count depends on it, only the class of these accesses.
 */
static inline __attribute__((always_inline)) enum access_step
access_step(struct access_past *p, unsigned long long offset, unsigned long long bytes,
	    unsigned long long *ret_distance)
{
	unsigned long long next = p->next, not_begin = ~offset, not_end = p->not_end, stride = 0;
	enum access_step step = ACCESS_SEQUENTIAL;
	long long last_stride = p->stride;

	*ret_distance = 0;
	if (not_end) {
		*ret_distance = not_end > not_begin ? not_end - not_begin : not_begin - not_end;
		stride = offset - p->last;
	}
	p->stride = (long long)stride;
	p->last = offset;
	p->not_end = ~(offset + bytes);
	if (not_end != not_begin && !access_continues(p, not_begin))
		step = !(not_end | offset)                          ? ACCESS_SEQUENTIAL
		       : stride && (long long)stride == last_stride ? ACCESS_STRIDED
								    : ACCESS_RANDOM;
	p->not_ends[next % ACCESS_STREAMS] = p->not_end;
	p->next = next + 1;
	return step;
}

/* Accesses of a row: operations with a file, or requests. The counts of one epoch. */
struct access_sums {
	unsigned long long of_size[ACCESS_SIZES]; /* accesses of each of access_slot.sizes */
	unsigned long long others, others_bytes, others_max; /* accesses of other sizes */
	unsigned long long sequential, strided;
	unsigned long long distance; /* sum of access_step()'s */
};

/* The accesses of a row in the whole run, with the row's key; the key's members are as in struct
 * op_key and rq_key. */
struct access_slot {
	unsigned long long fs; /* or SLOT_OF_DEV | disk */
	unsigned long long by[2];
	unsigned int what; /* as in struct row_slot; 0: a free slot */
	unsigned int pad;
	struct access_past past;
	unsigned long long sizes[ACCESS_SIZES]; /* the first different ones, in bytes; 0: free */
	struct access_sums sums[2];             /* by epoch */
};

/* The key of the accesses of a slot whose size has no place in access_slot.sizes. */
struct access_size {
	unsigned int slot;
	unsigned int bucket; /* hist_bucket() of the size in bytes */
};

/* Errors of I/O: of all operations, or only of those that move data. For other operations these
 * errors say that a file has no device or attribute, or is gone. By number, as on x86-64 and arm64,
 * since programs have no names of errors. */
enum { IO_ALWAYS = 1, IO_OF_DATA = 2, IO_ERRNOS = 128 };

static const unsigned char io_errnos[IO_ERRNOS] = {
	[5] = IO_ALWAYS,    /* EIO */
	[6] = IO_OF_DATA,   /* ENXIO */
	[19] = IO_OF_DATA,  /* ENODEV */
	[28] = IO_ALWAYS,   /* ENOSPC */
	[30] = IO_ALWAYS,   /* EROFS */
	[61] = IO_OF_DATA,  /* ENODATA */
	[67] = IO_ALWAYS,   /* ENOLINK */
	[74] = IO_ALWAYS,   /* EBADMSG */
	[84] = IO_ALWAYS,   /* EILSEQ */
	[110] = IO_ALWAYS,  /* ETIMEDOUT */
	[116] = IO_OF_DATA, /* ESTALE: a file handle outlives its file, as those of cgroups do */
	[117] = IO_ALWAYS,  /* EUCLEAN */
	[121] = IO_ALWAYS,  /* EREMOTEIO */
	[122] = IO_ALWAYS,  /* EDQUOT */
	[123] = IO_ALWAYS,  /* ENOMEDIUM */
};

/* Whether offset and length of an operation of @kind are a range of its file. Those of a file lock
 * are the arguments of its call. A wait in a submission has those of its request, which counts
 * them. */
static inline __attribute__((always_inline)) int op_has_range(unsigned int kind)
{
	return kind != OP_LOCK && kind != OP_SUBMIT;
}

/* Whether the result of an operation of kind @acts is a number of bytes. */
static inline __attribute__((always_inline)) int op_returns_bytes(unsigned int acts)
{
	return acts <= OP_WRITE || acts == OP_COPY || acts == OP_SERVED;
}

/*
 * Whether error @err (positive) of an operation of kind @acts (enum op_kind, of a request of
 * io_uring or libaio that of a call that does the same) is an error of I/O: the machine or the
 * network failed, or there was no room. Other failures are answers to what the process asked for:
 * no such file, no permission, try again.
 */
static inline __attribute__((always_inline)) int errno_is_io(unsigned long long err, int acts)
{
	int moves_data = acts != OP_META && acts != OP_OPEN && acts != OP_CLOSE;

	if (err >= IO_ERRNOS)
		return 0;
	/* the verifier must see the limit of the very value used as index */
	__asm__ volatile("" : "+r"(err));
	return !!(io_errnos[err % IO_ERRNOS] & (moves_data ? IO_ALWAYS | IO_OF_DATA : IO_ALWAYS));
}

/* Adds one operation of kind @acts to its sums. @ret: its result; below 0: its error. Only failed
 * operations pay for their class. @single_writer, here and below, is a constant; see cell_sum(). */
static inline __attribute__((always_inline)) void sums_add(struct op_sums *s,
							   unsigned long long total_ns,
							   long long ret, unsigned long long bytes,
							   int acts, int single_writer)
{
	cell_sum(single_writer, s->count, 1);
	cell_sum(single_writer, s->total_ns, total_ns);
	cell_sum(single_writer, s->bytes, bytes);
	if (ret < 0) {
		cell_sum(single_writer, s->errors, 1);
		cell_sum(single_writer, s->io_errors, errno_is_io(-ret, acts));
	}
	cell_max(&s->max_ns, total_ns);
}

/* Adds the strata @first .. @end - 1 of one operation. Both are constants. */
static inline __attribute__((always_inline)) void sums_add_strata(struct op_sums *s,
								  const unsigned long long *strata,
								  int first, int end,
								  int single_writer)
{
#ifdef __clang__
#pragma unroll
#endif
	for (int i = first; i < end; i++)
		cell_sum(single_writer, s->strata[i], strata[i]);
}

#endif
