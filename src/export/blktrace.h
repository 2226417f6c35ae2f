/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blktrace.h - the requests of a recording in the format of blktrace(8), a file for each disk:
 * DIR/DISK.blktrace.0, for blkparse, btt and btreplay.
 */
#ifndef IOSTRATA_EXPORT_BLKTRACE_H
#define IOSTRATA_EXPORT_BLKTRACE_H

#include <stdint.h>
#include <stdio.h>

struct reason;

struct blktrace_counts {
	uint64_t requests, events, disks;
};

/* Writes into the existing directory @dir, from the seekable @f, called @name in messages. Returns
 * 0, 1 with @why if the recording is cut off (the files have all before the damage), or -1 with
 * @why. */
int blktrace_export(FILE *f, const char *name, const char *dir, struct blktrace_counts *ret_counts,
		    struct reason *why);

#endif
