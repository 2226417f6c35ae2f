/* SPDX-License-Identifier: GPL-2.0-only */
/* kprobe.h - probes by perf's events, one each for the entry and the return of a function. */
#ifndef IOSTRATA_KPROBE_H
#define IOSTRATA_KPROBE_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

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
