/* SPDX-License-Identifier: GPL-2.0-only */
/* screen_table.h - tables on the screen, and the intervals at which they change. */
#ifndef IOSTRATA_SCREEN_TABLE_H
#define IOSTRATA_SCREEN_TABLE_H

#include "base/columns.h"
#include "show/screen.h"

/* Draws the titles at line @y and the rows below; @style says how row i looks. NULL: normal. */
void screen_table(int y, const struct columns *t, const void *const *rows, size_t n,
		  enum screen_style (*style)(const void *ctx, size_t i), const void *ctx);

/* The next shorter and longer interval to choose from, from a tenth of a second to a minute;
 * @interval_ns itself if there is none. */
uint64_t interval_faster(uint64_t interval_ns);
uint64_t interval_slower(uint64_t interval_ns);

#endif
