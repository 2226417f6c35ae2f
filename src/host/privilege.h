/* SPDX-License-Identifier: GPL-2.0-only */
/* privilege.h - the privileges of this process: its capabilities, the user behind sudo; and how it
 * gives up privileges once the probes are live. */
#ifndef IOSTRATA_HOST_PRIVILEGE_H
#define IOSTRATA_HOST_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct reason;

/*
 * Checks for the capabilities needed to trace: CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN. Returns
 * 0, or -1 with @why naming the missing ones. The kernel may refuse all the same; see
 * privilege_refused().
 */
int privilege_check(struct reason *why);

/* Adds the hint for a kernel that refuses BPF in spite of the capabilities. Returns -1. */
int privilege_refused(struct reason *why);

/* A capability that is useful, but not required. */
struct privilege {
	const char *name, *without; /* the effect of its absence, one sentence */
	int cap;
};

/* Ends with a NULL name. */
extern const struct privilege privileges[];

/* Whether capability @cap is effective. */
bool privilege_has(int capability);

/* Whether CAP_SYS_ADMIN is effective. The kernel requires it to read the BTF of modules. */
bool privilege_is_admin(void);

/*
 * Gives up the privileges not needed once the probes are live, for good: root becomes the user who
 * called sudo, or nobody. Keeps CAP_BPF and CAP_PERFMON (to read maps, to probe functions of
 * further file systems), CAP_SYSLOG (symbol addresses) and, with @names_cgroups,
 * CAP_DAC_READ_SEARCH and the files of container_names.h. Then confines the process: files,
 * programs and services become inaccessible. A step that fails does not stop the next: 0, or -1
 * with @why of the first failure. Children forked earlier keep everything.
 */
int privilege_drop(bool names_cgroups, struct reason *why);

/*
 * Gives up all privileges for good, in a process that needs only its open descriptors. The process
 * keeps no capability, and cannot read any file. Returns 0, or -1 with @why of the first failure.
 */
int privilege_drop_all(struct reason *why);

/*
 * As privilege_drop(), for the process that reads the mapped files of others: it keeps
 * CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE, and may read any file that these
 * allow. Returns 0, or -1 with @why of the first failure.
 */
int privilege_drop_but_reading(struct reason *why);

/* Gives up all capabilities of a process not run by root. Returns 0, or -1 with errno. */
int privilege_clear(void);

/* Privileges given by the program's file (setuid, file capabilities) beyond those of its user. */
enum privilege_file {
	PRIVILEGE_NONE,
	PRIVILEGE_CAPABILITIES, /* capabilities, and its mode says who may run it: not everybody */
	PRIVILEGE_CAPABILITIES_ALL, /* capabilities, to everybody */
	PRIVILEGE_ID,               /* it is setuid or setgid */
};

enum privilege_file privilege_by_file(void);

/* The caller of sudo, from its environment variables. */

/*
 * Returns 1 if this process is root through sudo, and its caller has these ids. Returns 0 if it is
 * not, or -1 with @why (.exit is EXIT_TOOL) if the variables are incomplete, or make no sense.
 */
int privilege_sudo_ids(uid_t *ret_uid, gid_t *ret_gid, struct reason *why);

#endif
