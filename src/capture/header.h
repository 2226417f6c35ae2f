/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * header.h - what a capture file says of the run itself. At the beginning: the machine, and what
 * could not be measured. At the end: what is not in the file. Both are JSON.
 */
#ifndef IOSTRATA_CAPTURE_HEADER_H
#define IOSTRATA_CAPTURE_HEADER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/devices.h"
#include "base/machine.h"
#include "event.h"

struct devices;
struct json;
struct missing;
struct snapshot;

struct header_mount {
	unsigned int dev;     /* major << 20 | minor */
	char *point, *source; /* owned */
};

/* What may not have been measured beside strata. */
enum { UNSEEN_REQUESTS, UNSEEN_URING, UNSEEN_AIO, UNSEEN_FAULTS, UNSEEN_N };

/* Text is hostile; owned, and freed by header_done(). */
struct header {
	char *kernel, *host; /* NULL: not known */
	/* of the command line: without the name of the recording, and without a command, but with
	 * its "--"; NULL: not known */
	char *options;
	enum machine machine;                   /* whose numbers system calls have */
	char *stratum[ST_N], *unseen[UNSEEN_N]; /* why it was not measured; NULL: it was */
	unsigned int vfs_kinds;             /* operations for which the VFS is probed, 1 << op */
	uint64_t monotonic_ns, realtime_ns; /* the same moment on two clocks */
	bool has_ops, has_requests;
	bool has_device_bytes;       /* operations have them */
	struct header_mount *mounts; /* owned */
	size_t n_mounts;
	struct devices devices; /* when the recording began */
};

/* What header_text() needs to know of the run. */
struct header_run {
	const char *version; /* of the tool */
	char *const *argv;   /* its command line; NULL at the end */
	const struct missing *missing;
	unsigned int vfs_kinds;
	bool has_ops, has_requests;
	uint64_t begin_ns; /* where its time begins, CLOCK_MONOTONIC */
};

/* Describes a run on this machine, as JSON. For free(); NULL: out of memory. */
char *header_text(const struct header_run *run);

/* Reads @len hostile bytes. 0, -EBADMSG or -ENOMEM; call header_done() in any case. */
int header_parse(struct header *h, const char *text, size_t len);
void header_done(struct header *h);

/* Where file system @dev was mounted, or NULL. */
const struct header_mount *header_mount(const struct header *h, unsigned int dev);

/* How the run ended. */
struct ending {
	uint64_t duration_ns;
	uint64_t ops, requests; /* in the file */
	uint64_t lost[LOST_N], missed;
	uint64_t dropped_ops, dropped_requests; /* too old, with --keep; replaced, in a ring */
};

char *ending_text(const struct ending *e, const char *how);
int ending_parse(struct ending *ret_ending, const char *text, size_t len);

/* The devices of the machine in the header of a capture file. */

/* Disks and partitions of this machine: what each is part of, and what it lies on. */
void header_put_devices(struct json *j);

/* Reads them again from the hostile @list, which may be NULL. @d is all 0 before. */
void header_parse_devices(struct devices *d, const json_t *list);

#endif
