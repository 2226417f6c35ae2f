/* SPDX-License-Identifier: GPL-2.0-only */
/* privilege.h - what this process may do: who runs it, and what it gives up once the probes are
 * live. */
#ifndef IOSTRATA_PRIVILEGE_H
#define IOSTRATA_PRIVILEGE_H

#include <stdbool.h>

struct reason;

/* For callers whom the kernel refuses BPF. */
#define PRIVILEGE_HINT                                                                             \
	"run as root, or with CAP_SYS_ADMIN, CAP_BPF and CAP_PERFMON (setpriv --ambient-caps)"

/*
 * Gives up for good what is not needed once the probes are live: root becomes the user who called
 * sudo, or nobody. Of the capabilities it keeps CAP_BPF and CAP_PERFMON (to read maps, to probe
 * functions of further file systems), CAP_SYSLOG (symbol addresses) and, with @names_cgroups,
 * CAP_DAC_READ_SEARCH. Then see confine.h. Does each as far as the kernel allows: 0, or -1 with
 * @why of the first that failed. Children forked earlier keep everything.
 */
int privilege_drop(bool names_cgroups, struct reason *why);

/* Whether CAP_SYS_ADMIN is effective, which libbpf 1.1 needs to read the types of modules. */
bool privilege_is_admin(void);

/* Whether the program's file gives privileges that its user does not have: it is setuid or setgid,
 * or has file capabilities. */
bool privilege_by_file(void);

#endif
