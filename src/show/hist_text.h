/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hist_text.h - a histogram of times as text: a line per power of two, with a bar.
 */
#ifndef IOSTRATA_HIST_TEXT_H
#define IOSTRATA_HIST_TEXT_H

#include "cell.h"
#include "text.h"

/* From the first line that is not empty to the last; @max_ns is where the last bucket ends if
 * times were too long for it. Lines have at most @width columns (60 at least). */
void hist_put(struct text_out *o, const uint64_t hist[HIST_N], uint64_t max_ns, bool milliseconds,
	      int width);

#endif
