/* SPDX-License-Identifier: GPL-2.0-only */
/* maps.h - the files mapped by a process, from /proc/PID/maps. */
#ifndef IOSTRATA_FUNCS_MAPS_H
#define IOSTRATA_FUNCS_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct mapping {
	unsigned long long from, to; /* addresses; @to is the first behind */
	unsigned long long offset;   /* of @from in the file */
	unsigned long long ino;      /* 0: no file */
	bool executable;
	char path[PATH_MAX]; /* as the process sees it; "": no file; hostile text */
};

/* Opens the list of process @pid; 0: of this program. The caller closes it with fclose(). Returns
 * NULL if the process has ended, or may not be looked at. */
FILE *maps_open(unsigned int pid);

/* The next mapping. Returns false if there are no more. */
bool maps_next(FILE *maps, struct mapping *ret_mapping);

#endif
