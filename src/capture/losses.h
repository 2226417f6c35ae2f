/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * losses.h - the losses of one recording by time, to say how much of a part of it is lost.
 */
#ifndef IOSTRATA_CAPTURE_LOSSES_H
#define IOSTRATA_CAPTURE_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "capture/stored.h"
#include "event.h"

struct losses {
	struct stored_loss *list; /* as they stand in the file; owned */
	size_t n, cap;
	uint64_t told[LOST_N]; /* sums of the list */
};

/* Losses with a time, at most: hours of them. Few bytes of a hostile file may hold many more. */
enum { LOSSES_TIMED = 1 << 18 };

/* Adds @loss. Losses of an unknown kind are left out, and so are those beyond LOSSES_TIMED: these
 * have no time. Returns 0 or -ENOMEM. */
int losses_add(struct losses *l, const struct stored_loss *loss);

/* How many of @loss fall in the time from @from_ns to before @to_ns. They are taken to be spread
 * evenly over the time of @loss. Parts that follow each other add up to the whole. */
uint64_t loss_part(const struct stored_loss *loss, uint64_t from_ns, uint64_t to_ns);

/* Adds those from @from_ns to before @to_ns to @lost. */
void losses_between(const struct losses *l, uint64_t from_ns, uint64_t to_ns,
		    uint64_t lost[LOST_N]);

/* Adds those of @total that have no time to @lost. */
void losses_untimed(const struct losses *l, const uint64_t total[LOST_N], uint64_t lost[LOST_N]);

void losses_done(struct losses *l);

#endif
