/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recording.h - the records of a capture file, one by one, with all that is known of them.
 */
#ifndef IOSTRATA_RECORDING_H
#define IOSTRATA_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/catalog.h"
#include "capture/header.h"
#include "capture/reader.h"

struct reason;

struct cap_event {
	enum chunk_kind kind;		/* which of these it is */
	union {
		struct cap_op op;	/* of CHUNK_HANDLES, too */
		struct cap_request request;
		struct cap_loss loss;
	};
};

struct recording {
	struct reader reader;
	struct catalog catalog;
	struct header header;
	unsigned int strata_missing;	/* set of 1 << stratum: those that were not measured */
	struct ending ending;		/* what was lost: so far, until reader.ended */
	/* May leave out records that ended before from_ns, or not before to_ns. CLOCK_MONOTONIC. */
	uint64_t from_ns, to_ns;
	uint64_t last_ns;		/* end of the last record that could be read */
	/* private */
	struct cursor rows;
	bool in_chunk;
};

/* Reads the header of @f, called @name in messages. 0, or -1 with @why; call recording_close() in
 * any case. @f stays the caller's. */
int recording_open(struct recording *r, FILE *f, const char *name, struct reason *why);
void recording_close(struct recording *r);

/*
 * The next record. 1; 0 at the end; -1 with @why if the file is damaged, or ends without an end
 * (the recorder was killed, say): everything readable has been read by then.
 */
int recording_next(struct recording *r, struct cap_event *ret_event, struct reason *why);

/* When an operation or request ended, and how long it took. */
uint64_t cap_event_end(const struct cap_event *ev);
uint64_t cap_event_total(const struct cap_event *ev);

#endif
