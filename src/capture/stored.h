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

#include "base/async.h"
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
	CHUNK_KINDS,
};

/* The head of a chunk, as numbers. */
struct chunk_head {
	unsigned int kind, packed, raw, rows;
	uint64_t first_ns, last_ns; /* earliest and latest end of its records */
};

/* The strata from here on have columns of their own, after the others. */
#define STORED_STRATA ST_SERVER

/* One finished operation; it ended at start_ns plus its strata. */
struct stored_op {
	uint64_t start_ns;
	uint64_t owner;             /* the thread, NAME_THREAD; 0: not known */
	uint64_t file;              /* NAME_FILE; 0: none, or not known */
	uint64_t kind, call, cache; /* see struct sent_op */
	uint64_t fs;                /* NAME_FS, or CAP_FS_... */
	uint64_t open_flags;        /* of the open file: O_..., the low 16 bits */
	uint64_t offset, len, ret;  /* ret is signed */
	uint64_t fd;                /* signed; -1: none */
	uint64_t requests;
	uint64_t strata[STORED_STRATA];
	uint64_t device_bytes; /* read from devices by its own bios */
	uint64_t segments;     /* bytes of its segments, in the column of bytes; see segments.h */
	uint64_t server_ns;    /* the stratum after those above */
	uint64_t helper;  /* the thread that ended its longest sleep with a helper at work for it,
			   * NAME_THREAD; 0: none */
	uint64_t reap_ns; /* the stratum after server_ns */
	uint64_t xid;     /* of a request that was served, + 1; 0: not known */
};

/* Sets all members of an operation but the ids of names. Returns its duration, ns. @waited: @s with
 * waits; NULL: @s has no waits. Inlined into the loop over operations. */
static inline __attribute__((always_inline)) uint64_t
stored_op_set(struct stored_op *op, const struct sent_op *s, const struct sent_op_waited *waited)
{
	uint64_t total = 0;

	op->start_ns = s->start_ns;
	op->kind = s->kind;
	op->call = s->call;
	op->cache = s->cache;
	op->open_flags = s->open_flags;
	op->offset = s->offset;
	op->len = s->kind == OP_SERVED ? ~0ULL : s->len;
	op->xid = s->kind == OP_SERVED ? s->len + 1 : 0;
	op->ret = s->ret;
	op->fd = (int64_t)s->fd;
	op->requests = s->requests;
	op->device_bytes = waited ? waited->device_bytes : 0;
	op->segments = 0;
	for (int i = 0; i < SENT_ON_CPU; i++)
		total += op->strata[i] = s->on_cpu[i];
	for (int i = SENT_ON_CPU; i < STORED_STRATA; i++)
		total += op->strata[i] = waited ? waited->waits[i - SENT_ON_CPU] : 0;
	op->server_ns = waited ? waited->waits[ST_SERVER - SENT_ON_CPU] : 0;
	op->reap_ns = waited ? waited->waits[ST_REAP - SENT_ON_CPU] : 0;
	return total + op->server_ns + op->reap_ns;
}

/* Where the time of a stratum is, ns. */
static inline uint64_t *stored_op_at(struct stored_op *op, enum stratum st)
{
	if (st < STORED_STRATA)
		return &op->strata[st];
	return st == ST_SERVER ? &op->server_ns : &op->reap_ns;
}

static inline uint64_t stored_op_stratum(const struct stored_op *op, enum stratum st)
{
	return *stored_op_at((struct stored_op *)op, st);
}

/* All strata of an operation. */
static inline void stored_op_strata(const struct stored_op *op, uint64_t ret[ST_N])
{
	for (int i = 0; i < STORED_STRATA; i++)
		ret[i] = op->strata[i];
	ret[ST_SERVER] = op->server_ns;
	ret[ST_REAP] = op->reap_ns;
}

enum { STORED_FS_UNKNOWN, STORED_FS_BDEV, STORED_FS_FIRST };

/* Duration of an operation, ns. */
static inline uint64_t stored_op_total(const struct stored_op *op)
{
	uint64_t total = 0;

#pragma GCC unroll 16
	for (int i = 0; i < STORED_STRATA; i++)
		total += op->strata[i];
	return total + op->server_ns + op->reap_ns;
}

/* Whether the result of an operation of kind @acts is a number of bytes. */
static inline bool stored_op_returns_bytes(unsigned int acts)
{
	return acts <= OP_WRITE || acts == OP_COPY || acts == OP_SERVED;
}

/* The sums of one operation. */
static inline void stored_op_sums(const struct stored_op *op, struct op_sums *ret)
{
	unsigned int acts = async_acts(op->kind, op->call);
	int64_t result = op->ret;

	*ret = (struct op_sums){ .device_bytes = op->device_bytes };
	sums_add(ret, stored_op_total(op), result < 0 && result >= -MAX_ERRNO ? result : 0,
		 result > 0 && stored_op_returns_bytes(acts) ? result : 0, acts, 1);
#pragma GCC unroll 16
	for (int i = 0; i < ST_N; i++)
		ret->strata[i] = stored_op_stratum(op, i);
}

/* One finished request; it completed at q_ns plus the three times. */
struct stored_request {
	uint64_t q_ns; /* submission; dispatch, if the submission was not traced */
	uint64_t tag_ns, queue_ns, device_ns;
	uint64_t owner;         /* the submitter, NAME_THREAD; 0: not known */
	uint64_t file;          /* NAME_FILE; 0: none, or not known */
	uint64_t dev;           /* dev_t of the whole disk, NAME_DEVICE */
	uint64_t sector, bytes; /* of 512 bytes; bytes done */
	uint64_t op;            /* enum rq_op */
	uint64_t cmd_flags;     /* the kernel's, with its operation */
	uint64_t flags;         /* enum stored_rq_flag */
	uint64_t requeues, merges;
	uint64_t error; /* blk_status_t or errno, from the kernel; 0: none */
};

/* The time of completion, ns. */
static inline uint64_t stored_request_end(const struct stored_request *rq)
{
	return rq->q_ns + rq->tag_ns + rq->queue_ns + rq->device_ns;
}

enum stored_rq_flag {
	STORED_RQ_UNQUEUED = 1,
	STORED_RQ_FAILED = 2,
	STORED_RQ_BIO_BASED = 4,
	STORED_RQ_OUTSIDE = 8,
};

/* One request of NFS to a server, which is done. */
struct stored_server_request {
	uint64_t q_ns;                        /* the task of SunRPC began */
	uint64_t tag_ns, queue_ns, server_ns; /* until a slot was free, it was sent, and answered */
	uint64_t xid;                         /* + 1; 0: not known */
	uint64_t server, op;                  /* its address, and the procedure: NAME_TEXT */
};

/* The time of the answer, ns. */
static inline uint64_t stored_server_request_end(const struct stored_server_request *rq)
{
	return rq->q_ns + rq->tag_ns + rq->queue_ns + rq->server_ns;
}

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
	NAME_TYPES,
};

enum stored_file_flag {
	STORED_FILE_COMPLETE = 1,
	STORED_FILE_UNMOUNTED = 2,
	STORED_FILE_DELETED = 4,
	STORED_FILE_NAMELESS = 8,
	STORED_FILE_DIRECTORY = 16, /* from this bit on, 16 bits: directory of struct file_name */
};

/* A loss: @count records of a kind were lost at this point. */
struct stored_loss {
	uint64_t from_ns, to_ns;
	uint64_t kind; /* enum lost */
	uint64_t count;
};

struct stored_index {
	uint64_t offset, kind, rows, first_ns, last_ns;
};

#define STORED_COLUMNS(type)     (sizeof(type) / sizeof(uint64_t))
#define STORED_OP_COLUMN(member) (offsetof(struct stored_op, member) / sizeof(uint64_t))

#endif
