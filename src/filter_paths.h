/* SPDX-License-Identifier: GPL-2.0-only */
/* filter_paths.h - files, directories and cgroups given by path: how the kernel knows them. */
#ifndef IOSTRATA_FILTER_PATHS_H
#define IOSTRATA_FILTER_PATHS_H

#include <sys/types.h>

#include "bpf/conf.h"

struct reason;

/* From user space's dev_t to the kernel's. */
unsigned int filter_kernel_dev(dev_t dev);

/* Adds the file or directory at @path to @lists, which have room for it. 0, or -1 with @why. */
int filter_add_file(const char *path, struct filter_lists *lists, struct reason *why);

/* Adds a cgroup in the same way, given by its directory or by its path in the hierarchy as the
 * tool's cgroup namespace shows it. */
int filter_add_cgroup(const char *path, struct filter_lists *lists, struct reason *why);

#endif
