/* SPDX-License-Identifier: GPL-2.0-only */
/* nearest.h - the name that somebody who typed another may have meant. */
#ifndef IOSTRATA_NEAREST_H
#define IOSTRATA_NEAREST_H

struct nearest {
	const char *typed;
	const char *name;	/* the nearest of those tried; NULL: none is near */
	int distance;		/* letters that were added, left out, mistaken or swapped */
};

void nearest_try(struct nearest *n, const char *name);

#endif
