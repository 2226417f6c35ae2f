/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hist_text.h - a histogram of times as text: a line per power of two, with a bar.
 */
#ifndef IOSTRATA_HIST_TEXT_H
#define IOSTRATA_HIST_TEXT_H

#include "base/snapshot.h"
#include "base/text.h"
#include "cell.h"

/* From the first line that is not empty to the last; @max_ns ends the last bucket if times were too
 * long for it. Lines have at most @width columns (at least 40). */
void hist_put(struct text_out *o, const struct hist *h, uint64_t max_ns, bool milliseconds,
	      int width);

#endif
