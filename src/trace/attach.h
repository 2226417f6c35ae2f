/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach.h - attaches loaded programs to their hooks, in an order that misses no event other
 * programs rely on.
 *
 * Owns the links, the backup programs and the probes of file systems.
 */
#ifndef IOSTRATA_ATTACH_H
#define IOSTRATA_ATTACH_H

#include <stdbool.h>

#include "trace/backups.h"
#include "trace/faults.h"
#include "trace/links.h"

struct feature;
struct fs_entry;
struct fsprobes;
struct plan;
struct session_conf;
struct trace_bpf;

struct attached {
	struct links links;
	struct backups backups;
	struct fault_links faults;
	struct fsprobes *fs;		/* NULL: functions of file systems are not probed */
	unsigned int vfs_kinds;		/* operations whose VFS functions are probed, 1 << op */
	int err;			/* errno of the first failure to attach, or 0 */
};

/* Attaches the programs of @plan that were loaded into @obj. A program that cannot be attached is
 * unloaded and counts as missing. @obj, @f and @seen (FS_SLOTS types) outlive @a. */
void attach_all(struct attached *a, struct trace_bpf *obj, const struct plan *plan,
		const struct session_conf *sc, struct feature *f, const struct fs_entry *seen);

void attach_done(struct attached *a);	/* detaches; fine if nothing was attached */

#endif
