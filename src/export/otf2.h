/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * otf2.h - a recording as an OTF2 archive: threads and disks as locations, calls as regions with
 * I/O operations, requests as non-blocking operations of their disk, strata as attributes.
 */
#ifndef IOSTRATA_OTF2_H
#define IOSTRATA_OTF2_H

#include <stdint.h>
#include <stdio.h>

struct reason;

struct otf2_counts {
	uint64_t ops, requests; /* in the archive */
	uint64_t locations, handles, lost;
};

/*
 * Writes the archive "traces" into the empty directory @dir, from the seekable @f, called @name in
 * messages. @call_name gives the name of a system call, or NULL. 0; 1 with @why: the recording is
 * cut off, and the archive has all before the damage; -1 with @why.
 */
int otf2_export(FILE *f, const char *name, const char *dir,
		const char *(*call_name)(unsigned short call), struct otf2_counts *ret_counts,
		struct reason *why);

#endif
