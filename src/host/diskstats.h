/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * diskstats.h - how busy disks were, as the kernel counts it in /proc/diskstats: the figures of
 * which iostat makes %util and aqu-sz.
 */
#ifndef IOSTRATA_HOST_DISKSTATS_H
#define IOSTRATA_HOST_DISKSTATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/snapshot.h"

struct diskstats {
	int fd;                 /* /proc/diskstats; -1: not there */
	struct disk_busy *last; /* since the boot, in the kernel's order */
	size_t n;
	uint64_t last_ns; /* when, by clock_ns() */
};

/* Opens the file and reads it. Later calls need no privilege. */
void diskstats_open(struct diskstats *d);
void diskstats_done(struct diskstats *d);

/* Sets .disks of @sn: what each disk did since the last call, in .disks_ns. There are no disks if
 * the file cannot be read. Partitions are left out as far as @sn->devices knows them. */
void diskstats_interval(struct diskstats *d, struct snapshot *sn);

/* Parses the text of the file into @ret_list, which the caller frees. The number of disks; 0: none,
 * or out of memory. */
size_t diskstats_parse(const char *text, struct disk_busy **ret_list);

#endif
