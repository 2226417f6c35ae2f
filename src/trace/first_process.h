/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * first_process.h - whether the kernel runs programs while process 1 is current. Some kernels do
 * not, not even in an interrupt: the completion of a request is not seen then. This was seen on
 * Linux 6.18 in a guest of a hypervisor.
 */
#ifndef IOSTRATA_TRACE_FIRST_PROCESS_H
#define IOSTRATA_TRACE_FIRST_PROCESS_H

enum first_process {
	FIRST_PROCESS_SEEN,
	FIRST_PROCESS_UNSEEN,
	FIRST_PROCESS_IDLE,   /* it did not run meanwhile */
	FIRST_PROCESS_HIDDEN, /* not in this pid namespace, or no program can be loaded */
};

/* Counts the switches away from process 1 by a program, for at most a second, and compares the
 * number with the kernel's. */
enum first_process first_process_watch(void);

#endif
