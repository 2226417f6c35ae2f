/* SPDX-License-Identifier: GPL-2.0-only */
/* privilege.h - giving up what is not needed once the probes are live. */
#ifndef IOSTRATA_PRIVILEGE_H
#define IOSTRATA_PRIVILEGE_H

#include <stdbool.h>

/* To whom the kernel refuses BPF. */
#define PRIVILEGE_HINT "run as root, or grant CAP_SYS_ADMIN, CAP_BPF and CAP_PERFMON"

/*
 * Keeps what reading maps and probing further functions takes (CAP_BPF and CAP_PERFMON, where the
 * kernel has them; CAP_SYSLOG for symbol addresses; CAP_DAC_READ_SEARCH to name cgroups), drops all
 * else for good. 0 or -errno.
 */
int privilege_drop(void);

/* Whether CAP_SYS_ADMIN is in effect, with which libbpf 1.1 reads the types of modules. */
bool privilege_is_admin(void);

#endif
