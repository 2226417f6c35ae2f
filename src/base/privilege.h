/* SPDX-License-Identifier: GPL-2.0-only */
/* privilege.h - what this process may do: who runs it, and what it gives up once the probes are
 * live. */
#ifndef IOSTRATA_PRIVILEGE_H
#define IOSTRATA_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

struct reason;

/*
 * What the kernel asks for to trace: CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN. 0, or -1 with @why,
 * which names what is missing. The kernel may refuse all the same; see privilege_refused().
 */
int privilege_check(struct reason *why);

/* Adds what to do if the kernel refuses BPF to who may trace: -1. */
int privilege_refused(struct reason *why);

/* A capability that is of use, but not needed. */
struct privilege {
	const char *name, *without;	/* what is lost without it, one sentence */
	int cap;
};

/* All of them; ends with a name that is NULL. */
extern const struct privilege privileges[];

/* Whether capability @cap is effective. */
bool privilege_has(int cap);

/* Whether CAP_SYS_ADMIN is effective, which it takes to read the types of modules. */
bool privilege_is_admin(void);

/*
 * Gives up for good what is not needed once the probes are live: root becomes the user who called
 * sudo, or nobody. Of the capabilities it keeps CAP_BPF and CAP_PERFMON (to read maps, to probe
 * functions of further file systems), CAP_SYSLOG (symbol addresses) and, with @names_cgroups,
 * CAP_DAC_READ_SEARCH. Then see confine.h. Does each as far as the kernel allows: 0, or -1 with
 * @why of the first that failed. Children forked earlier keep everything.
 */
int privilege_drop(bool names_cgroups, struct reason *why);

/* Gives up all capabilities of a process that is not root's. 0, or -1 with errno. */
int privilege_clear(void);

/* What the program's file gives that its user does not have. */
enum privilege_file {
	PRIVILEGE_NONE,
	PRIVILEGE_CAPS,		/* capabilities, and its mode says who may run it: not everybody */
	PRIVILEGE_CAPS_ALL,	/* capabilities, to everybody */
	PRIVILEGE_ID,		/* it is setuid or setgid */
};

enum privilege_file privilege_by_file(void);

#endif
