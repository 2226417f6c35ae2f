/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slow_requests.h - the disk requests of single operations, found in a recording: a record of a
 * request names its thread, and no operation. Bounded memory: the last requests are kept, since
 * records come about in the order of their ends.
 */
#ifndef IOSTRATA_CAPTURE_SLOW_REQUESTS_H
#define IOSTRATA_CAPTURE_SLOW_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/recording.h"
#include "capture/slow_op.h"

enum { SLOW_REQUESTS = 12, SLOW_DISK = 32 };

struct slow_request {
	int64_t at_ns; /* submission, after the operation's beginning; negative: before */
	uint64_t tag_ns, queue_ns, device_ns, bytes;
	unsigned int op; /* enum rq_op */
	bool failed;
	bool unqueued;        /* the submission was not seen: @at_ns is of the dispatch */
	struct sent_who who;  /* submitter; tid 0: not known */
	char disk[SLOW_DISK]; /* hostile */
};

/* The requests of an operation, by their submission: the longest ones. */
struct slow_requests {
	size_t n;
	uint64_t count; /* of all, also of those without a place here */
	struct slow_request list[SLOW_REQUESTS];
};

enum { RECENT_REQUESTS = 4096 };

/* The last requests of a recording. At first all 0. */
struct recent_requests {
	struct stored_request *ring; /* owned */
	uint64_t n;                  /* requests so far */
};

/* Adds a request. Returns 0 or -ENOMEM. */
int recent_add(struct recent_requests *r, const struct stored_request *rq);
void recent_done(struct recent_requests *r);

/*
 * Whether @rq, submitted by thread @tid (0: not known), belongs to @op of the same recording: @op's
 * thread submitted it during the operation; or @op's helper had it in flight during the operation;
 * or a wait of @op for the device ended at its completion. The first does not count for requests of
 * io_uring and libaio: a thread has many of these at a time.
 */
bool request_belongs(const struct slow_op *op, const struct stored_request *rq, unsigned int tid);

/* Adds @rq of @rec to the requests of @op, if it belongs to @op. Returns 0 or -ENOMEM. */
int slow_request_add(struct slow_op *op, const struct recording *rec,
		     const struct stored_request *rq);

/* Adds the requests so far. Returns 0 or -ENOMEM. */
int slow_requests_find(struct slow_op *op, const struct recording *rec,
		       const struct recent_requests *recent);

#endif
