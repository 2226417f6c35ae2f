/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * first_screen.h - the default screen, answer first. At most 24 lines, however much was traced;
 * rows left out are counted, and -v shows them.
 */
#ifndef IOSTRATA_SHOW_FIRST_SCREEN_H
#define IOSTRATA_SHOW_FIRST_SCREEN_H

#include "base/text.h"
#include "show/view.h"

/*
 * Writes, from top to bottom: a sentence with the answer, the shares of all time, a table of
 * operations (of keys with --by), the strata of the operation with most time, requests by disk, and
 * what is missing from the figures.
 *
 * Changes @rows: with --by, to one for each key. 0 or -ENOMEM; a failed write is in @o.
 */
int first_screen_put(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     struct breakdown_rows *rows);

#endif
