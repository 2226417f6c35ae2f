/* SPDX-License-Identifier: GPL-2.0-only */
/* privilege.h - giving up what is not needed once the probes are live. */
#ifndef IOSTRATA_PRIVILEGE_H
#define IOSTRATA_PRIVILEGE_H

#include <stdbool.h>

/*
 * Keeps what reading maps and probing further functions takes (CAP_BPF and CAP_PERFMON, where the
 * kernel has them; CAP_SYSLOG for symbol addresses; CAP_DAC_READ_SEARCH to name cgroups), drops all
 * else for good. 0 or -errno.
 */
int privilege_drop(void);

#endif
