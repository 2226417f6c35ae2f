/* SPDX-License-Identifier: GPL-2.0-only */
/* copy.h - a forked process of the tool, working on the tool's memory as it was. */
#ifndef IOSTRATA_RUN_COPY_H
#define IOSTRATA_RUN_COPY_H

#include <stdbool.h>
#include <sys/types.h>

/* A copy: a forked process, working on the tool's memory as it was at the fork, while the tool goes
 * on. It has the standard descriptors and the two of @keep only, so a copy that waits for a disk
 * does not keep programs in the kernel. It ends with 0 if @work returns 0. Returns its pid, or
 * -errno. */
pid_t copy_start(int (*work)(void *arg), void *arg, const int keep[2]);

enum { COPY_NO_MEMORY = 97 }; /* exit code of a process without memory */
/* Ends a copy, or another forked process, with this code. */
void copy_end_no_memory(void) __attribute__((noreturn));

enum copy_state { COPY_RUNS, COPY_WORKED, COPY_FAILED };

/* @wait: until it has ended. Not to be called again after its end. */
enum copy_state copy_look(pid_t pid, bool wait);

/* Waits until @pid has ended. Returns whether memory was out. */
bool copy_had_no_memory(pid_t pid);

#endif
