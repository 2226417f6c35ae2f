/* SPDX-License-Identifier: GPL-2.0-only */
/* lookup.h - turns the kernel's numbers into this machine's names. All names are hostile. */
#ifndef IOSTRATA_BASE_LOOKUP_H
#define IOSTRATA_BASE_LOOKUP_H

#include <stddef.h>

struct mounts;

/* Name of a block device, or for another dev_t (major << 20 | minor) where it is mounted;
 * "major:minor" if neither is known. */
void lookup_dev(const struct mounts *mounts, unsigned int dev, char *name, size_t cap);

/* The path of a cgroup (v2), or "cgroup 12" if it is gone. For free(); NULL: out of memory. */
char *lookup_cgroup(unsigned long long id);

#endif
