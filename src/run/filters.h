/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filters.h - the options that select I/O, by whom and of which kind: the same in every command,
 * and translated for the kernel here.
 */
#ifndef IOSTRATA_RUN_FILTERS_H
#define IOSTRATA_RUN_FILTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opts.h"
#include "bpf/conf.h"
#include "trace/session.h"

struct reason;

struct filters {
	struct opt_uints pids;
	struct opt_strings comms, disks, cgroups, files;
	const char *fs;
	unsigned int ops; /* set of 1 << enum op_kind, 0: all */
	uint64_t min_ns;
	bool all_files, all_faults, system;
};

extern const struct opt_choice filter_ops[]; /* kinds of operations */
extern const struct opt filter_opts[];       /* over struct filters, but for its last row, which is
					      * set by options of run.h */

/* Translates them into @conf, with look-ups in /proc and /sys. 0, or -1 with @why. */
int filters_resolve(const struct filters *f, struct session_conf *conf, struct reason *why);

/* Whether process @pid is a kernel thread: it makes no system calls, but has requests. */
bool filters_kernel_thread(uint64_t pid);

/* Writes those in use that choose operations and cannot choose requests: "--op, --min"; "": there
 * are none. */
void filters_of_ops(const struct filters *f, char *text, size_t cap);

/* Where @option ("-T blk") leaves only requests: that no filter is one of these. 0, or -1 with
 * @why. */
int filters_check_requests(const struct filters *f, const char *option, struct reason *why);

enum { FILTERS_TEXT = 8192 }; /* bytes; a path may be as long as half of them */

/* Writes the filters as they were given, for messages: "-p 12 --comm dd"; raw, hostile. */
void filters_text(const struct filters *f, char *text, size_t cap);

/* Checks that the operations chosen can exist if only @layer, called @layer_name after -T, is
 * traced. 0, or -1 with @why. */
int filters_check_kinds(const struct filters *f, enum layer layer, const char *layer_name,
			struct reason *why);

/* Files, directories and cgroups given by path: how the kernel knows them. */

/* From user space's dev_t to the kernel's. */
unsigned int filter_kernel_dev(dev_t dev);

/* Adds the file or directory at @path to @lists, which have room for it. 0, or -1 with @why. */
int filter_add_file(const char *path, struct filter_lists *lists, struct reason *why);

/* Adds a cgroup in the same way, given by its directory or by its path in the hierarchy as the
 * tool's cgroup namespace shows it. */
int filter_add_cgroup(const char *path, struct filter_lists *lists, struct reason *why);

#endif
