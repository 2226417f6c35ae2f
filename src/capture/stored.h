/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stored.h - the chunks of a recording, and the records in chunks. docs/FORMAT.md describes the
 * bytes.
 *
 * A record is a row of uint64_t; each member is a column. Ids and columns are only appended.
 */
#ifndef IOSTRATA_CAPTURE_STORED_H
#define IOSTRATA_CAPTURE_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/async.h"
#include "base/machine_load.h"
#include "cell.h"
#include "event.h"

#define CAPTURE_MAGIC       "iostrata"
#define CAPTURE_INDEX_MAGIC "iosindex"

enum {
	CAPTURE_VERSION = 1,
	CAPTURE_HEAD = 16,        /* bytes before the first chunk */
	CAPTURE_TRAILER = 16,     /* bytes after the index */
	CHUNK_MAGIC = 0x4b4e4843, /* "CHNK" */
	CHUNK_HEAD = 40,
	CHUNK_ROWS = 16384,   /* at most, in one chunk; not for the index */
	CHUNK_RAW = 8 << 20,  /* at most, bytes of a chunk when unpacked */
	CHUNK_TEXT = 1 << 20, /* at most, bytes of names in one chunk */
};

enum chunk_kind {
	CHUNK_HEADER = 1, /* JSON */
	CHUNK_NAMES,
	CHUNK_OPS,
	CHUNK_REQUESTS,
	CHUNK_LOSSES,
	CHUNK_END, /* JSON */
	CHUNK_INDEX,
	CHUNK_HANDLES, /* struct stored_op, of kind OP_HANDLE */
	CHUNK_SERVER_REQUESTS,
	CHUNK_MACHINE_LOADS,
	CHUNK_STACKS,
	CHUNK_KINDS,
};

/* The head of a chunk, as numbers. */
struct chunk_head {
	unsigned int kind, packed, raw, rows;
	uint64_t first_ns, last_ns; /* earliest and latest end of its records */
};

/* The length that the call of @s asked for; ~0: it has none. @waited: as for stored_op_set(). */
static inline uint64_t sent_op_len(const struct sent_op *s, const struct sent_op_waited *waited)
{
	return s->kind == OP_SERVED || (waited && waited->copied_up) ? ~0ULL : s->len;
}

/*
 * The columns of operations and handles, in their order in a recording; they are only appended.
 * docs/FORMAT.md has the same list. A row has:
 *   the name in docs/FORMAT.md, and the member of struct stored_op
 *   how it is packed where its values differ
 *   its value, from @s, a struct sent_op. ID: not set by stored_op_set(), but where ids are known
 * A row STRATUM is the member strata[ST_...], from on_cpu or waits.
 */
/* clang-format off */
#define OP_COLUMNS(COLUMN, ID, STRATUM)                                                            \
	COLUMN(start, start_ns, DELTA, s->start_ns) /* the end: this + all strata */               \
	ID(owner, owner, DELTA) /* the thread, NAME_THREAD; 0: not known */                        \
	ID(file, file, DELTA)   /* NAME_FILE; 0: none, or not known */                             \
	COLUMN(kind, kind, VALUE, s->kind)                                                         \
	COLUMN(call, call, VALUE, s->call)                                                         \
	COLUMN(cache, cache, VALUE, s->cache)                                                      \
	COLUMN(fs_type, fs, VALUE, s->fs) /* NAME_FS, or STORED_FS_... */                          \
	COLUMN(open_flags, open_flags, VALUE, s->open_flags) /* of the open file: O_... */         \
	COLUMN(offset, offset, DELTA, s->offset)                                                   \
	COLUMN(len, len, DELTA, sent_op_len(s, waited))                                            \
	COLUMN(ret, ret, DELTA, s->ret)        /* signed */                                        \
	COLUMN(fd, fd, DELTA, (int64_t)s->fd)  /* signed; -1: none */                              \
	COLUMN(requests, requests, VALUE, s->requests)                                             \
	STRATUM(SYSCALL)                                                                           \
	STRATUM(VFS)                                                                               \
	STRATUM(FS)                                                                                \
	STRATUM(THROTTLE)                                                                          \
	STRATUM(TAG)                                                                               \
	STRATUM(QUEUE)                                                                             \
	STRATUM(DEVICE)                                                                            \
	STRATUM(COMPLETE)                                                                          \
	STRATUM(RUNQ)                                                                              \
	STRATUM(PREEMPT)                                                                           \
	STRATUM(HELPER)                                                                            \
	STRATUM(SLEEP)                                                                             \
	STRATUM(LOCK)                                                                              \
	/* read from devices by its own bios */                                                    \
	COLUMN(device_bytes, device_bytes, VALUE, waited ? waited->device_bytes : 0)               \
	/* bytes of its segments, in the column of bytes; see segments.h */                        \
	COLUMN(segments, segments, VALUE, 0)                                                       \
	STRATUM(SERVER)                                                                            \
	/* the thread that ended its longest sleep with a helper at work for it, NAME_THREAD; */   \
	/* 0: none */                                                                              \
	ID(helper_thread, helper, VALUE)                                                           \
	STRATUM(REAP)                                                                              \
	/* of a request that was served, + 1; 0: not known */                                      \
	COLUMN(xid, xid, VALUE, s->kind == OP_SERVED ? s->len + 1 : 0)                             \
	/* of a copy: the file to which it wrote, NAME_FILE, 0: none; its file system */           \
	ID(copied_to, copied_to, VALUE)                                                            \
	COLUMN(copied_fs, copied_fs, VALUE, waited ? waited->copied_fs : 0)                        \
	/* who its longest wait for somebody else was due to: kind, 0: none; ns; NAME_THREAD; */   \
	/* the kind of this thread's own operation, 0: none */                                     \
	ID(who, who, VALUE)                                                                        \
	ID(who_ns, who_ns, VALUE)                                                                  \
	ID(who_thread, who_thread, VALUE)                                                          \
	ID(who_op, who_op, VALUE)                                                                  \
	/* of WHO_LIMIT: NAME_LIMIT, 0: none */                                                    \
	ID(who_limit, who_limit, VALUE) \
	/* bytes that overlayfs copied to its upper layer, or 0 if none are known */               \
	COLUMN(copied_up, copied_up, VALUE, waited ? waited->copied_up : 0)
/* clang-format on */

/* Recordings of all versions have the strata before this one. Older ones do not have the others:
 * the header says which there are. */
enum { STRATA_ALWAYS = ST_SERVER };

#define STORED_MEMBER(name, member, ...) uint64_t member;
#define STORED_NONE(...)

/* One finished operation; it ended at start_ns plus its strata. */
struct stored_op {
	OP_COLUMNS(STORED_MEMBER, STORED_MEMBER, STORED_NONE)
	uint64_t strata[ST_N];
};

/* Sets all members of an operation but the ids of names. Returns its duration, ns. @waited: @s with
 * waits; NULL: @s has no waits. Inlined into the loop over operations. */
static inline __attribute__((always_inline)) uint64_t
stored_op_set(struct stored_op *op, const struct sent_op *s, const struct sent_op_waited *waited)
{
	uint64_t total = 0;

#define SET(name, member, code, value) op->member = (value);
	OP_COLUMNS(SET, STORED_NONE, STORED_NONE)
#undef SET
	for (int i = 0; i < SENT_ON_CPU; i++)
		total += op->strata[i] = s->on_cpu[i];
	for (int i = SENT_ON_CPU; i < ST_N; i++)
		total += op->strata[i] = waited ? waited->waits[i - SENT_ON_CPU] : 0;
	return total;
}

/* The kind of somebody to whom a wait was due, in an operation that began at @start_ns and returned
 * @ret; WHO_NONE: nobody. A wait for a file lock that failed was ended by a signal, not by the
 * lock's holder. */
static inline unsigned int sent_by_who(const struct sent_by *by, uint64_t start_ns, int64_t ret)
{
	if (by->start_ns != start_ns || !by->thread.tid || by->thread.who >= WHO_N)
		return WHO_NONE;
	return by->thread.who == WHO_FILE_LOCK && ret < 0 ? WHO_WAKER : by->thread.who;
}

enum { STORED_FS_UNKNOWN, STORED_FS_BDEV, STORED_FS_FIRST };

/* Duration of an operation, ns. */
static inline uint64_t stored_op_total(const struct stored_op *op)
{
	uint64_t total = 0;

#pragma GCC unroll 32
	for (int i = 0; i < ST_N; i++)
		total += op->strata[i];
	return total;
}

/* @kind, if such an operation is a sleep in no other one: it has the number of the call in which or
 * after which the thread slept, but is no call. Else 0. */
static inline unsigned int stored_op_outside(uint64_t kind)
{
	return kind < OP_N && OUTSIDE_KINDS >> kind & 1 ? kind : 0;
}

/* The sums of one operation. */
static inline void stored_op_sums(const struct stored_op *op, struct op_sums *ret)
{
	unsigned int acts = async_acts(op->kind, op->call);
	int64_t result = op->ret;

	*ret = (struct op_sums){ .device_bytes = op->device_bytes };
	sums_add(ret, stored_op_total(op), result < 0 && result >= -MAX_ERRNO ? result : 0,
		 result > 0 && op_returns_bytes(acts) ? result : 0, acts, 1);
	memcpy(ret->strata, op->strata, sizeof(ret->strata));
}

enum stored_rq_flag {
	STORED_RQ_UNQUEUED = 1,
	STORED_RQ_FAILED = 2,
	STORED_RQ_BIO_BASED = 4,
	STORED_RQ_OUTSIDE = 8,
};

/* The columns of requests, as OP_COLUMNS; @s is a struct sent_request. */
/* clang-format off */
#define REQUEST_COLUMNS(COLUMN, ID)                                                                \
	/* submission; dispatch, if the submission was not traced */                               \
	COLUMN(q, q_ns, DELTA, s->q ? s->q : s->g)                                                 \
	COLUMN(tag, tag_ns, VALUE, s->q ? s->g - s->q : 0)                                         \
	COLUMN(queue, queue_ns, VALUE, s->d - s->g)                                                \
	COLUMN(device, device_ns, VALUE, s->c - s->d)                                              \
	ID(owner, owner, DELTA) /* the submitter, NAME_THREAD; 0: not known */                     \
	ID(file, file, DELTA)   /* NAME_FILE; 0: none, or not known */                             \
	COLUMN(dev, dev, DELTA, s->dev)       /* dev_t of the whole disk, NAME_DEVICE */           \
	COLUMN(sector, sector, DELTA, s->sector) /* of 512 bytes */                                \
	COLUMN(bytes, bytes, DELTA, s->bytes) /* done */                                           \
	COLUMN(op, op, VALUE, s->op)          /* enum rq_op */                                     \
	COLUMN(cmd_flags, cmd_flags, VALUE, s->cmd_flags) /* the kernel's, with its operation */   \
	COLUMN(flags, flags, VALUE, stored_request_flags(s))                                       \
	COLUMN(requeues, requeues, VALUE, s->requeues)                                             \
	COLUMN(merges, merges, VALUE, s->merges)                                                   \
	/* blk_status_t or errno, from the kernel; 0: none */                                      \
	COLUMN(error, error, VALUE, (unsigned int)(s->error < 0 ? -s->error : s->error))
/* clang-format on */

static inline uint64_t stored_request_flags(const struct sent_request *s)
{
	return (s->q ? 0 : STORED_RQ_UNQUEUED) | (s->flags & SENT_FAILED ? STORED_RQ_FAILED : 0) |
	       (s->flags & SENT_OUTSIDE ? STORED_RQ_OUTSIDE : 0) |
	       (s->bio_based ? STORED_RQ_BIO_BASED : 0);
}

/* One finished request; it completed at q_ns plus the three times. */
struct stored_request {
	REQUEST_COLUMNS(STORED_MEMBER, STORED_MEMBER)
};

/* Sets all members of a request but the ids of names. */
static inline void stored_request_set(struct stored_request *rq, const struct sent_request *s)
{
#define SET(name, member, code, value) rq->member = (value);
	REQUEST_COLUMNS(SET, STORED_NONE)
#undef SET
}

/* The time of completion, ns. */
static inline uint64_t stored_request_end(const struct stored_request *rq)
{
	return rq->q_ns + rq->tag_ns + rq->queue_ns + rq->device_ns;
}

/* One request to a server, which is done. */
struct stored_server_request {
	uint64_t q_ns;                        /* it was made */
	uint64_t tag_ns, queue_ns, server_ns; /* until a slot was free, it was sent, and answered */
	uint64_t xid;                         /* of NFS, + 1; 0: not known */
	uint64_t server, op;                  /* NAME_TEXT */
	uint64_t protocol;                    /* enum server_protocol */
	uint64_t dev;                         /* of FUSE: dev_t of the file system; else 0 */
};

/* The time of the answer, ns. */
static inline uint64_t stored_server_request_end(const struct stored_server_request *rq)
{
	return rq->q_ns + rq->tag_ns + rq->queue_ns + rq->server_ns;
}

/*
 * An operation whose user stack was taken, once more: the operation is also among the others. The
 * stack was taken with the probability min(1, total / @threshold_ns). Strata come last, since new
 * ones are appended.
 */
struct stored_stack {
	uint64_t start_ns;
	uint64_t owner, file;    /* as in struct stored_op */
	uint64_t kind, call, fs; /* likewise */
	uint64_t ret;            /* signed */
	uint64_t device_bytes;
	uint64_t stack; /* NAME_STACK */
	uint64_t threshold_ns;
	uint64_t strata[ST_N];
};

/* A name: text and numbers, by the id in records. A later name with the same type and id replaces
 * it. */
struct stored_name {
	uint64_t type; /* enum stored_name_type */
	uint64_t id;
	uint64_t a, b, c;
	uint64_t text_len; /* of this name, in the column of bytes */
};

enum stored_name_type {
	NAME_THREAD = 1, /* id from 1 on; a pid, b tid, c cgroup; text: comm */
	NAME_FILE,       /* id from 1 on; a FILE_KEY(), b inode, c enum stored_file_flag;
			  * text: struct file_name.names */
	NAME_CGROUP,     /* id the cgroup's; text: path */
	NAME_DEVICE,     /* id dev_t; text: name or mount point */
	NAME_FS, /* id from STORED_FS_FIRST on; a: kinds of operations whose file system layer is
		    probed, 1 << kind; text: type */
	NAME_CONTAINER, /* id that of a cgroup in it; text: "NAMESPACE/POD/NAME", or "NAME" */
	NAME_TEXT,      /* id the number of the text; text: address of a server, or procedure */
	NAME_COMMAND,   /* id the process; text: its command line. Before its threads */
	NAME_DISK,      /* id dev_t << 32 | dev_t of a device below, 0: none; a when this was
			 * noted, CLOCK_MONOTONIC ns; text: the kernel's name of the first */
	/* user stacks and their parts are named at the end of the recording; ids from 1 on */
	NAME_CODE,  /* a program or library; a what to add to a place in it for its address (modulo
		     * 2^64); text: name without directories; then, if it has one, NUL, build id in
		     * hexadecimal digits */
	NAME_FRAME, /* a NAME_CODE, 0: none; b place in it, or address; c line, 0: not known; text:
		     * function, NUL, source as the compiler had it; "": not known */
	NAME_STACK, /* a enum stack_end; b 1: found by frame pointers in part; text: each frame,
		     * NAME_FRAME, as 4 bytes, the innermost first */
	NAME_LIMIT, /* id limit_id(); text: as in limits.h */
	NAME_TYPES,
};

enum stored_file_flag {
	STORED_FILE_COMPLETE = 1,
	STORED_FILE_UNMOUNTED = 2,
	STORED_FILE_DELETED = 4,
	STORED_FILE_NAMELESS = 8,
	STORED_FILE_MISSING = 16,   /* NAME_MISSING */
	STORED_FILE_DIRECTORY = 16, /* from this bit on, 16 bits: directory of struct file_name */
};

/* A loss: @count records of a kind were lost at this point. */
struct stored_loss {
	uint64_t from_ns, to_ns;
	uint64_t kind; /* enum lost */
	uint64_t count;
};

/* How busy the machine was from one reading to the next. */
struct stored_machine_load {
	uint64_t from_ns, to_ns;
	uint64_t known; /* set of 1 << enum machine_source */
	uint64_t figure[MACHINE_FIGURES];
};

struct stored_index {
	uint64_t offset, kind, rows, first_ns, last_ns;
};

#define STORED_COLUMNS(type)     (sizeof(type) / sizeof(uint64_t))
#define STORED_OP_COLUMN(member) (offsetof(struct stored_op, member) / sizeof(uint64_t))

#endif
