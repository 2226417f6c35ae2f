/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loss_times.h - losses by kind and by interval of time, for the axis of a page. Only losses whose
 * time the recorder knew. Fixed memory.
 */
#ifndef IOSTRATA_ANALYSE_LOSS_TIMES_H
#define IOSTRATA_ANALYSE_LOSS_TIMES_H

#include <stdint.h>

#include "analyse/cube.h"
#include "capture/stored.h"
#include "event.h"

/* At first all 0. */
struct loss_times {
	uint64_t lost[LOST_N][CUBE_BINS];
};

/* Spreads @loss, whose times are ns since the begin of the page, evenly over its bins of
 * 1 << @shift ns. Its part outside the bins is left out. */
void loss_times_add(struct loss_times *l, const struct stored_loss *loss, unsigned int shift);

/* Joins bins in pairs. */
void loss_times_halve(struct loss_times *l);

#endif
