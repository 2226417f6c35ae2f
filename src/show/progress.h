/* SPDX-License-Identifier: GPL-2.0-only */
/* progress.h - how far something is that takes longer than a second, in a line on a terminal. */
#ifndef IOSTRATA_PROGRESS_H
#define IOSTRATA_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

struct progress {
	uint64_t total; /* bytes; 0: not known */
	/* private */
	FILE *terminal; /* NULL: nothing is shown */
	uint64_t start_ns, shown_ns;
};

/* @total: bytes, 0: not known. @f: shown here, if it is a terminal. */
void progress_begin(struct progress *p, FILE *f, uint64_t total);

/* So many bytes are done. Costs a look at the clock. */
void progress_show(struct progress *p, uint64_t done);

/* Removes the line. */
void progress_end(struct progress *p);

#endif
