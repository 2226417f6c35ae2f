/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * confine.h - what this process can no longer do, whatever its user: change or create files, start
 * programs, talk to services. What is open stays open. It cannot be undone, and children inherit
 * it.
 */
#ifndef IOSTRATA_CONFINE_H
#define IOSTRATA_CONFINE_H

/*
 * Both need no_new_privs, and return 0 or -errno.
 *
 * Landlock (5.13): only files below /proc and /sys can be read, and none can be written, created,
 * removed or executed. Returns 0 also if the kernel has no Landlock.
 */
int confine_files(void);

/* seccomp: system calls that would do any of this fail with EPERM, those of later kernels with
 * ENOSYS. */
int confine_calls(void);

#endif
