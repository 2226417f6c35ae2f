/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filters.h - options to select I/O by process, file, disk or kind: the same in every
 * command. Translates them for the kernel, with look-ups in /proc and /sys, and into text for
 * messages. It does not print.
 */
#ifndef IOSTRATA_RUN_FILTERS_H
#define IOSTRATA_RUN_FILTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opts.h"
#include "bpf/conf.h"
#include "event.h"
#include "trace/syscalls.h"

struct reason;

struct filters {
	struct opt_uints pids;
	struct opt_strings comms, disks, cgroups, containers, files, fs;
	struct opt_strings op_names; /* kinds of operations, and names of system calls */
	/* set by filters_ops() */
	unsigned int ops;           /* set of 1 << enum op_kind, 0: all */
	struct syscall_choice only; /* of some of these kinds only some calls */
	uint64_t min_ns;
	bool all_files, all_faults, op_requests, system, children;
};

extern const struct opt_choice filter_ops[]; /* kinds of operations */
extern const struct opt filter_opts[]; /* over struct filters, except for the bools of the last row:
					* options of run.h */

/* Sets .ops and .only from .op_names. Returns 0, or -1 with @why. */
int filters_ops(struct filters *f, struct reason *why);

/* Checks the filters and adds them to the empty @lists. Returns 0, or -1 with @why. */
int filters_resolve(const struct filters *f, struct filter_lists *lists, struct reason *why);

/* Whether the filters choose processes: most requests of kernel threads then do not pass. */
bool filters_choose_processes(const struct filters *f);

/* Whether process @pid is a kernel thread: it makes no system calls, but has requests. */
bool filters_kernel_thread(uint64_t pid);

/* Writes the given options that choose operations, but cannot choose requests, into @text: "--op,
 * --min"; "" if there are none. @by_file: requests have a row for each file, so --file chooses
 * them, too. */
void filters_of_ops(const struct filters *f, bool by_file, char *text, size_t cap);

/* For an @option ("-T blk") that leaves only requests: fails if a filter is about operations alone.
 * Returns 0, or -1 with @why. */
int filters_check_requests(const struct filters *f, const char *option, struct reason *why);

/* Fails if --op chooses sleeps in no other operation (exit, core, outside). A live run that traces
 * only some kinds would take the sleeps of all other kinds for these. Returns 0, or -1 with @why.
 */
int filters_check_live(const struct filters *f, struct reason *why);

/* Fails if a chosen kind of operations does not exist when only @layer is traced. @layer_name: the
 * text given with -T. Returns 0, or -1 with @why. */
int filters_check_kinds(const struct filters *f, enum layer layer, const char *layer_name,
			struct reason *why);

enum { FILTERS_TEXT = 8192 }; /* bytes; a path may have half of them */

/* Writes the filters as the user gave them, for messages: "-p 12 --comm dd"; raw, hostile. */
void filters_text(const struct filters *f, char *text, size_t cap);

/* The kernel's device number for dev_t of user space. */
unsigned int filter_kernel_dev(dev_t dev);

#endif
