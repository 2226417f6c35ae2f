/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * first_screen.h - the answer first: what a person sees without asking for more. At most 24 lines,
 * whatever was seen; what is left out is counted, and -v shows it.
 */
#ifndef IOSTRATA_FIRST_SCREEN_H
#define IOSTRATA_FIRST_SCREEN_H

#include "base/text.h"
#include "show/view.h"

/*
 * A sentence with the answer, the time as a whole, a table of operations (of keys with --by), the
 * strata of the operation that took most, requests by disk, and what is missing from the figures.
 * Changes @rows: with --by, to one for each key. 0 or -ENOMEM; a failed write is in @o.
 */
int first_screen_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     struct breakdown_rows *rows);

#endif
