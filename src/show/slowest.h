/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slowest.h - single operations as text, each with its strata, biggest first: a record has sums per
 * stratum, not their order in time.
 */
#ifndef IOSTRATA_SHOW_SLOWEST_H
#define IOSTRATA_SHOW_SLOWEST_H

#include "base/text.h"
#include "show/view.h"

/* Writes them in the order given; @sn has the names of the file systems. */
void slowest_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		 const struct slow_op *slowest, size_t n);

#endif
