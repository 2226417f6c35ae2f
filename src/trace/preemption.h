/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * preemption.h - whether this kernel preempts the threads that our programs run in.
 *
 * A program that is preempted is busy on that CPU and misses what other threads do there, and plain
 * additions to a CPU's cells race. So a kernel is taken for preemptible unless known otherwise.
 */
#ifndef IOSTRATA_PREEMPTION_H
#define IOSTRATA_PREEMPTION_H

#include <stddef.h>

struct feature;

enum preemption_model { PREEMPTION_UNKNOWN, PREEMPTION_NONE, PREEMPTION_FULL };

/* Fills in the preemption members of @f. */
void preemption_probe(struct feature *f);

/*
 * The model according to one source: "none voluntary (full) lazy" with the one in force in brackets
 * (/sys/kernel/debug/sched/preempt); the last preempt=MODEL of a command line; one line of a
 * kernel's configuration; the kernel's version line (utsname.version).
 */
enum preemption_model preemption_of_debugfs(const char *text);
enum preemption_model preemption_of_cmdline(const char *text);
enum preemption_model preemption_of_config_line(const char *line);
enum preemption_model preemption_of_version(const char *version);

#endif
