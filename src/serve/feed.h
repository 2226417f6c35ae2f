/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * feed.h - snapshots on their way from the tracing process to the listener.
 *
 * Both are forks of one another, so a snapshot is sent as it is in memory, pointers to constant
 * text included. The reader trusts these pointers, since the writer has more privileges, but checks
 * all numbers and lengths.
 */
#ifndef IOSTRATA_SERVE_FEED_H
#define IOSTRATA_SERVE_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/snapshot.h"
#include "host/devices.h"

/* Figures of this process. */
struct feed_self {
	uint64_t until_ns;       /* the time of this, since 1970 */
	uint64_t cpu_ns;         /* its CPU time */
	uint64_t resident_bytes; /* its memory; 0: not known */
};

/* @statm: /proc/self/statm of this process, opened, or -1 if not known. */
void feed_self(struct feed_self *ret, int statm);

struct feed {
	struct snapshot sn; /* operations, requests, also to servers, unfinished operations,
			     * devices, losses */
	struct devices devices;
	struct missing missing; /* texts are owned by @text */
	struct feed_self self;
	char *text;
};

/* The snapshot and the rest as one frame. The caller frees it. Returns NULL if out of memory. */
char *feed_pack(const struct snapshot *sn, const struct missing *missing,
		const struct feed_self *self, size_t *ret_len);

enum { FEED_HEAD = sizeof(uint64_t), FEED_MAX = 1 << 30 /* bytes of a frame */ };

/* Length of the frame whose first FEED_HEAD bytes are @head. */
uint64_t feed_frame_len(const void *head);

/* Unpacks a whole frame. Returns 0 with @ret, for feed_done(); -EBADMSG or -ENOMEM. */
int feed_unpack(const void *frame, size_t len, struct feed *ret);

void feed_done(struct feed *f);

#endif
