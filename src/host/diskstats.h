/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * diskstats.h - how long disks were busy, as the kernel counts it in /proc/diskstats: the figure of
 * which iostat makes %util.
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
};

/* Opens the file. After diskstats_interval() was called once, it needs no further privilege. */
void diskstats_open(struct diskstats *d);
void diskstats_done(struct diskstats *d);

/* The time in which each disk had requests in progress since the last call, @ret_n disks; the
 * caller frees the list. The first call has none. NULL with 0 disks: not known. */
struct disk_busy *diskstats_interval(struct diskstats *d, size_t *ret_n);

/* Parses the text of the file into @ret_list, which the caller frees. The number of disks; 0: none,
 * or out of memory. */
size_t diskstats_parse(const char *text, struct disk_busy **ret_list);

#endif
