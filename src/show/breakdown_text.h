/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * breakdown_text.h - a snapshot as text for people: 80 columns wide, or the view's width.
 */
#ifndef IOSTRATA_SHOW_BREAKDOWN_TEXT_H
#define IOSTRATA_SHOW_BREAKDOWN_TEXT_H

#include <stdio.h>

#include "base/text.h"
#include "show/breakdown.h"

/* Prints and flushes. @slowest may be NULL. Returns 0 or -errno (-ENOMEM, or of a failed write). */
int breakdown_text(FILE *f, const struct breakdown_view *v, const struct snapshot *sn,
		   const struct slow_op *slowest, size_t n_slowest);

/* Writes the losses, the numbers that are in no table, and the missing figures with their reasons.
 * Nothing if there are none. */
void breakdown_notes(struct text_out *o, const struct breakdown_view *v, const struct snapshot *sn,
		     const struct breakdown_rows *rows);

/* Writes the line about --overhead for a command without breakdown's tables. @run_ns: CPU time of
 * @run_cnt runs of the programs. Nothing if there were no runs. */
void overhead_say(FILE *f, uint64_t run_ns, uint64_t run_cnt);

#endif
