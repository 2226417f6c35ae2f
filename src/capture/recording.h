/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recording.h - the records of a recording, one by one, with the names known so far. Names can be
 * any bytes.
 */
#ifndef IOSTRATA_CAPTURE_RECORDING_H
#define IOSTRATA_CAPTURE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/catalog.h"
#include "capture/header.h"
#include "capture/losses.h"
#include "capture/machine_loads.h"
#include "capture/reader.h"
#include "capture/stored.h"

struct reason;

struct stored_event {
	enum chunk_kind kind;  /* selects one of the members below */
	uint64_t stack;        /* of CHUNK_STACKS: id in the catalog, and struct stored_stack's */
	uint64_t threshold_ns; /* threshold */
	const uint8_t
		*segments; /* of an operation, op.segments bytes, until the next record; hostile */
	union {
		struct stored_op op; /* of CHUNK_HANDLES and CHUNK_STACKS, too */
		struct stored_request request;
		struct stored_server_request server_request;
		struct stored_loss loss;
	};
};

/* Gives frames of user stacks names that the recording does not have. Returns 0 or -ENOMEM. */
struct frame_namer {
	int (*name)(void *arg, struct catalog *c);
	void *arg;
};

struct recording {
	struct reader reader;
	struct catalog catalog;
	struct header header;
	unsigned int strata_missing; /* set of 1 << stratum: strata not measured */
	struct ending ending;        /* records lost so far; the total once reader.ended */
	struct losses losses;        /* those with a time, so far */
	struct machine_loads loads;  /* how busy the machine was, so far; empty in older files */
	/* Records that ended before from_ns, or at or after to_ns, may be skipped. CLOCK_MONOTONIC.
	 * */
	uint64_t from_ns, to_ns;
	bool server_requests; /* records of requests to servers are wanted, too */
	bool stacks;          /* operations with user stacks are wanted, too */
	/* called once, after the last record; NULL: nothing is */
	const struct frame_namer *namer;
	uint64_t last_ns; /* end of the last readable record */
	/* private */
	struct cursor rows;
	bool in_chunk;
};

/* Reads the header of @f, called @name in messages. Returns 0, or -1 with @why; call
 * recording_close() in any case. @f stays the caller's. */
int recording_open(struct recording *r, FILE *f, const char *name, struct reason *why);
void recording_close(struct recording *r);

/* Returns 0 if @r has user stacks, else -1 with @why. */
int recording_need_stacks(const struct recording *r, struct reason *why);

/*
 * The next record. 1; 0 at the end; -1 with @why if the file is damaged or has no end (for example,
 * the recorder was killed), after all readable records.
 */
int recording_next(struct recording *r, struct stored_event *ret_event, struct reason *why);

/* Time from the beginning of @r to its end; or, without an end or with an early one, to the end of
 * the last record. In ns; call it when all records are read. */
uint64_t recording_covers(const struct recording *r);

/* Whether only a part of the time is read. */
bool recording_is_part(const struct recording *r);

/* The losses of the part of the time that is read, and those that may belong to it, because their
 * time is not known. Without the kinds in @but, as for lost_sum_but(). Call it when all records are
 * read. */
uint64_t recording_lost(const struct recording *r, unsigned int but);

/* The end of an operation or request, and its duration, in ns. */
uint64_t stored_event_end(const struct stored_event *ev);
uint64_t stored_event_total(const struct stored_event *ev);

#endif
