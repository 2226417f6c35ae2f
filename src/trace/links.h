/* SPDX-License-Identifier: GPL-2.0-only */
/* links.h - the attached programs, to be detached together. */
#ifndef IOSTRATA_TRACE_LINKS_H
#define IOSTRATA_TRACE_LINKS_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

enum { MAX_LINKS = 256 };

struct links {
	struct bpf_link *list[MAX_LINKS];
	int n;
};

/* Takes @link; false if there is no room (@link is destroyed then) or if it is NULL. */
bool links_add(struct links *l, struct bpf_link *link);

/* Adds both or neither: a function's entry without its return, or the reverse, is useless. */
bool links_add_pair(struct links *l, struct bpf_link *leave, struct bpf_link *enter);

/* Detaches all, last first. */
void links_done(struct links *l);

/*
 * Hits that kprobes and kretprobes missed since they were attached: a kretprobe has as many
 * instances as the machine has CPUs (ten at least), and each thread inside the function needs one.
 * 0 before 6.7, which does not report them.
 */
unsigned long long links_missed(const struct links *l);

/* Probes by perf's events, one each for the entry and the return of a function. */

/* An event of @pmu, "kprobe" or "uprobe", for the entry or the return of the function @name at
 * @address (a kprobe has either, the other is NULL or 0), or in the file @name. Its descriptor, or
 * -errno. */
int kprobe_open(const char *pmu, const char *name, uint64_t address, bool is_return);

/*
 * As bpf_program__attach_kprobe(), by address if that is known (see kallsyms.h): before 6.2 a name
 * is looked for in all symbols of the kernel several times, 280 to 440 million instructions for a
 * pair.
 */
struct bpf_link *kprobe_attach(const struct bpf_program *prog, const char *function,
			       bool is_return);

#endif
