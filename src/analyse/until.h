/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * until.h - tells when a condition of --until (condition.h) is met by the operations and requests
 * of a live run. Knows nothing about the source of records, or the consequences.
 */
#ifndef IOSTRATA_ANALYSE_UNTIL_H
#define IOSTRATA_ANALYSE_UNTIL_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/condition.h"
#include "base/hist.h"
#include "base/text.h"

struct devices;
struct reason;

enum {
	UNTIL_MAX = 16,   /* conditions of a run */
	UNTIL_STEPS = 10, /* a window moves in steps of a tenth */
	/* the steps of a window, and of the time until all of its records have come */
	UNTIL_SLOTS = 24,
};

/* A step of a window, from .step * .step_ns on. */
struct until_slot {
	uint64_t step, count, errors, sum_ns, max_ns;
	struct hist times; /* only for CONDITION_PERCENTILE; owned */
};

/* Latencies of the last 5 to 10 minutes; see CONDITION_USUAL. */
struct until_usual {
	struct hist now, before; /* owned */
	uint64_t since_ns, max_ns, count, count_before;
	uint64_t limit_ns; /* UINT64_MAX: too few so far */
};

struct until_cond {
	struct condition asked;
	unsigned int dev; /* requests of this disk, a dev_t; 0: of all disks */
	/* since the caller cleared .met */
	bool met;
	uint64_t first_ns, last_ns; /* the first and the last time at which it was met */
	uint64_t value;             /* the largest value that met it: ns, or a number */
	/* private */
	uint64_t step_ns, began_ns, looked_ns;
	struct until_slot slots[UNTIL_SLOTS];
	struct until_usual usual;
};

struct until {
	struct until_cond *conds; /* owned */
	unsigned int n;
	/* set of 1 << kind, and whether requests matter: other records need not be shown */
	unsigned int ops;
	bool requests;
};

/* An operation or request at its end. */
struct until_event {
	bool is_request;
	unsigned int kind; /* enum op_kind of an operation */
	unsigned int dev;  /* of a request */
	bool failed;       /* of a request */
	int error;         /* errno of a failed operation; else 0 */
	uint64_t end_ns, took_ns;
};

/* Adds the condition @text. It must outlive @u. @devices: of this machine. Returns 0, or -1 with
 * @why: .exit is EXIT_USAGE, or EXIT_FAILED for an unknown disk. */
int until_add(struct until *u, const char *text, const struct devices *devices, struct reason *why);

void until_done(struct until *u);

/* Takes an event. The events of a window may come up to a second late, and in any order. */
void until_see(struct until *u, const struct until_event *e);

/* Looks at the windows; call it every second at least. @now: clock_ns(). */
void until_look(struct until *u, uint64_t now);

/* Looks a last time, when all events up to @now were seen: failures in the last second, too. */
void until_end(struct until *u, uint64_t now);

/* Whether any condition is met. */
bool until_met(const struct until *u);

/* Text of .value: "132 ms", "3". */
struct text_num until_value(const struct until_cond *c);

#endif
