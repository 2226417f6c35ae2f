/* SPDX-License-Identifier: GPL-2.0-only */
/* time_counts.h - how many operations took how long, within 0.1 %, in 450 KB. */
#ifndef IOSTRATA_ANALYSE_TIME_COUNTS_H
#define IOSTRATA_ANALYSE_TIME_COUNTS_H

#include <stdint.h>

struct time_counts {
	uint64_t *counts; /* owned */
	uint64_t n;
};

/* Returns 0 or -ENOMEM. */
int time_counts_init(struct time_counts *t);
void time_counts_done(struct time_counts *t);
void time_counts_add(struct time_counts *t, uint64_t ns);

/* The longest time of the fastest @part of all, 0 <= @part < 1; 0 if there is none. */
uint64_t time_counts_within(const struct time_counts *t, double part);

#endif
