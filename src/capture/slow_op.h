/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow_op.h - one operation to be shown by itself, with its names. Either the programs sent it
 * (--slowest), or it comes from a recording: both have the same members here.
 */
#ifndef IOSTRATA_CAPTURE_SLOW_OP_H
#define IOSTRATA_CAPTURE_SLOW_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell.h"
#include "event.h"

struct slow_requests;
struct stored_op;

struct slow_op {
	unsigned int kind;    /* enum op_kind */
	unsigned int call;    /* as in struct sent_op */
	unsigned int cache;   /* enum cache_class */
	uint64_t start_ns;    /* CLOCK_MONOTONIC */
	uint64_t offset, len; /* ~0: not known */
	int64_t ret;
	uint64_t n_requests;   /* number of bios that it submitted */
	uint64_t device_bytes; /* that its own bios read from devices */
	uint64_t copied_up;    /* bytes of files that overlayfs copied to its upper layer; 0:
				* none, or not known */
	uint64_t strata[ST_N], total_ns;
	uint64_t fs; /* identity of the file system type, as in the rows of the snapshot */
	struct sent_who who;
	char *command;            /* of its process, for free(); NULL: not known. Hostile */
	unsigned int dev;         /* kernel dev_t of the file system */
	unsigned int disk;        /* the file system with the file of overlayfs; else 0 */
	uint64_t ino;             /* 0: no file */
	struct segments segments; /* valid if has_segments: else the order is not known */
	bool has_segments;
	struct file_name file;
	uint64_t lock_ns;         /* its longest wait for a lock; 0: none, or not recorded */
	struct waker lock_holder; /* the thread that released this lock */
	uint64_t slept_ns;        /* its longest sleep for an unknown reason; 0: none, or not
				   * recorded */
	struct waker woken_by; /* the thread that ended this sleep; tid 0: not known; op, stratum:
				* what it was doing, as of lock_holder */
	struct waker helper;   /* ended its longest sleep with a helper at work for it; tid 0:
				* none; op, stratum: not known */
	struct sent_by by;     /* who its longest wait for somebody else was due to */
	char *by_command;      /* the command line of this thread, as @command */
	char *by_limit; /* of WHO_LIMIT, as in limits.h; for free(); NULL: not known. Hostile */
	unsigned int recording;         /* number of its recording, from 0 on */
	uint64_t real_ns;               /* begin of the operation since 1970, or 0 if live */
	uint64_t at_ns;                 /* the same since the beginning of the recording */
	struct slow_requests *requests; /* for free(); NULL: none. Only of recordings */
};

/* The operation in @s, a record of the programs. */
void slow_op_set_sent(struct slow_op *ret, const struct sent_slow_op *s);

/* Sets @ret to the figures in @s, a record of a recording. The caller adds the names of its ids. */
void slow_op_set_stored(struct slow_op *ret, const struct stored_op *s);

/* Frees what @op owns. */
void slow_op_done(struct slow_op *op);

/* Makes a place in @list, the slowest @n of at most @max operations, slowest first, for one of
 * @total_ns. The fastest of @max gives way, and is freed. The caller fills the place. Returns NULL
 * if @max others were slower. */
struct slow_op *slowest_place(struct slow_op *list, size_t *n, size_t max, uint64_t total_ns);

#endif
