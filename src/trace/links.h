/* SPDX-License-Identifier: GPL-2.0-only */
/* links.h - links of attached programs, detached together; and kprobes and uprobes as events of
 * perf. */
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

/* Takes @link. Returns false if @link is NULL, or there is no room and @link was destroyed. */
bool links_add(struct links *l, struct bpf_link *link);

/* Adds both links, or destroys both: the entry of a function is useless without its return, and the
 * reverse. False: not added. */
bool links_add_pair(struct links *l, struct bpf_link *leave, struct bpf_link *enter);

/* Detaches all, last first. */
void links_done(struct links *l);

/*
 * Hits missed by kprobes and kretprobes since these were attached. A kretprobe has one instance per
 * CPU, but at least ten, and each thread inside the function needs one. Kernels before 6.7 do not
 * report misses: 0.
 */
unsigned long long links_missed(const struct links *l);

/* Opens an event of @pmu ("kprobe" or "uprobe") for the entry or the return of a function. A kprobe
 * has either the function's name or its address, the other is NULL or 0. A uprobe has the path of a
 * file in @name, and the offset in this file in @address. Returns a descriptor or -errno. */
int kprobe_open(const char *pmu, const char *name, uint64_t address, bool is_return);

/*
 * As bpf_program__attach_kprobe(), but by address if kallsyms_cached() knows it. Before 6.2 the
 * kernel searches all its symbols for a name several times: 280 to 440 million instructions for a
 * pair of probes.
 */
struct bpf_link *kprobe_attach(const struct bpf_program *prog, const char *function,
			       bool is_return);

#endif
