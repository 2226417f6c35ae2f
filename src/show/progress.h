/* SPDX-License-Identifier: GPL-2.0-only */
/* progress.h - a progress bar on a terminal, for work longer than a second. */
#ifndef IOSTRATA_SHOW_PROGRESS_H
#define IOSTRATA_SHOW_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

struct progress {
	uint64_t total; /* bytes; 0: not known */
	/* private */
	FILE *terminal; /* NULL: nothing is shown */
	uint64_t start_ns, shown_ns;
};

/* @total: bytes, 0: not known. @f: the output, if it is a terminal; otherwise nothing is shown. */
void progress_begin(struct progress *p, FILE *f, uint64_t total);

/* @done bytes are done. Reads the clock, and draws at most every 0.1 s. */
void progress_show(struct progress *p, uint64_t done);

/* Removes the line. */
void progress_end(struct progress *p);

#endif
