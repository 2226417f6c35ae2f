/* SPDX-License-Identifier: GPL-2.0-only */
/* privilege.h - what this process may do: who runs it, and what it gives up once the probes are
 * live. */
#ifndef IOSTRATA_BASE_PRIVILEGE_H
#define IOSTRATA_BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

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
	const char *name, *without; /* what is lost without it, one sentence */
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
	PRIVILEGE_CAPS,     /* capabilities, and its mode says who may run it: not everybody */
	PRIVILEGE_CAPS_ALL, /* capabilities, to everybody */
	PRIVILEGE_ID,       /* it is setuid or setgid */
};

enum privilege_file privilege_by_file(void);

/* Limits of this process that can prevent tracing. */

struct rlimits {
	struct rlimit files, locked;
};

/* Raises the limits on open files and on locked memory (kernels before 5.11 charge maps to it) as
 * far as this process may; it is no error if it may not. @ret_old: the old limits. */
void rlimits_raise(struct rlimits *ret_old);

/* Restores the limits for a child. 0, or -1 with errno. */
int rlimits_restore(const struct rlimits *old);

/* Whether so few files can be open that libbpf cannot try what the kernel can. */
bool rlimits_few_files(void);

/* What to do about error @err (positive) of a call that takes descriptors or memory; NULL if no
 * limit explains it. */
const char *rlimits_hint(int err);

/* Who called sudo, from the variables it sets. */

/*
 * 1: this process is root through sudo, and its caller has these ids. 0: it is not. -1 with @why
 * (.exit is EXIT_TOOL): the variables are incomplete, or make no sense.
 */
int sudo_ids(uid_t *ret_uid, gid_t *ret_gid, struct reason *why);

/* The pid namespace of this process, by which all ids of processes are told. */

/* Whether ids in /proc are those of this namespace: 0, or -1 with @why. Without that, a process of
 * a container would be taken for another of the host's. */
int pidns_check(struct reason *why);

/* Whether this is the first namespace, which has an id for every process. */
bool pidns_is_first(void);

/* Whether this is another namespace than the first; then also the device and inode of its file, by
 * which the kernel identifies a namespace. */
bool pidns_below_first(unsigned long long *ret_dev, unsigned long long *ret_ino);

/* Whether process @pid is in a namespace below this one. */
bool pidns_is_below(unsigned long long pid);

#endif
