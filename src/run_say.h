/* SPDX-License-Identifier: GPL-2.0-only */
/* run_say.h - the messages of a run on stderr. */
#ifndef IOSTRATA_RUN_SAY_H
#define IOSTRATA_RUN_SAY_H

#include "run.h"

/* That the kernel refused programs, if it did. */
void run_say_refused(const struct run *r);

/* That a module with a file system that was probed is gone, if one is. */
void run_say_module_gone(const struct run *r);

/* That a process of --pid is a kernel thread, which has no operations. */
void run_say_kernel_threads(const struct run *r);

/* That rows by process or thread have all processes outside of our pid namespace in one. */
void run_say_outsiders(const struct run *r);

/* That the filters @of_ops, if there are any, do not choose requests. */
void run_say_of_ops(const char *of_ops);

/* A bar on a terminal, if there are many probes; gone when all are there. */
void run_say_attaching(size_t done, size_t all);

/* The line that all probes are live. @interruptible: SIGINT ends it. */
void run_say_tracing(const struct run *r, bool interruptible);

/* That intervals took longer than requested, if they did: a report waits until all programs in
 * progress have ended, some 10 ms or more. */
void run_say_interval_reached(const struct run *r, uint64_t intervals, uint64_t took_ns);

/* All processes of --pid have ended. */
void run_say_ended(const struct run *r);

/* A signal ends the run. */
void run_say_interrupted(int signo);

#endif
