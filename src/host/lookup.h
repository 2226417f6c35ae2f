/* SPDX-License-Identifier: GPL-2.0-only */
/* lookup.h - the names of devices and cgroups on this machine, by the kernel's numbers. All names
 * are hostile. */
#ifndef IOSTRATA_HOST_LOOKUP_H
#define IOSTRATA_HOST_LOOKUP_H

#include <stddef.h>

struct mounts;

/* Name of the block device @dev (major << 20 | minor). Without a block device, the mount point of
 * file system @dev; without a mount, "major:minor". */
void lookup_dev(const struct mounts *mounts, unsigned int dev, char *name, size_t cap);

/* The path of a cgroup (v2), or "cgroup 12" if the cgroup is gone. The caller frees it. Returns
 * NULL if out of memory. */
char *lookup_cgroup(unsigned long long id);

#endif
