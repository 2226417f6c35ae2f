/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kallsyms.h - the symbols of the kernel and of its modules.
 *
 * Reading all of /proc/kallsyms is 300 to 600 million instructions of the kernel. So what was read
 * once is kept, some MiB, until it is told to be forgotten. For one thread at a time.
 */
#ifndef IOSTRATA_KALLSYMS_H
#define IOSTRATA_KALLSYMS_H

#include <stdint.h>
#include <stdio.h>

/* The lines of /proc/kallsyms, from the first one on, for fclose(); NULL: see errno. */
FILE *kallsyms_open(void);

void kallsyms_forget(void);

/* The address of the only symbol of that name in what is kept; 0: nothing is kept, there is none,
 * there are several, or the kernel hides addresses. */
uint64_t kallsyms_kept(const char *name);

/* As kallsyms_kept(), in @text. */
uint64_t kallsyms_find(const char *text, const char *name);

#endif
