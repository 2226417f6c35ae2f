/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach.h - attaches loaded programs to their hooks, in an order that misses no event other
 * programs rely on.
 *
 * Owns the links, the backup programs and the probes of file systems.
 */
#ifndef IOSTRATA_TRACE_ATTACH_H
#define IOSTRATA_TRACE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/links.h"

struct bpf_link;
struct bpf_program;
struct feature;
struct fs_entry;
struct fsprobes;
struct plan;
struct program;
struct session_conf;
struct trace_bpf;

/*
 * A program on the kernel's software events of page faults, on every CPU that is online.
 *
 * The kernel raises them when it has handled a fault, major or minor, in the thread that had it.
 */

struct fault_links {
	struct bpf_link **list;
	int n;
};

/* Attaches @prog. 0, or -errno: then nothing is attached. */
int faults_attach(struct fault_links *l, struct bpf_program *prog);

void faults_done(struct fault_links *l); /* detaches; fine if nothing was attached */

/*
 * Second copies of programs that the kernel may preempt (those on tracepoints since
 * 7.0), and of those on functions that interrupts call, too.
 *
 * A program is refused while a preempted thread, or the code that was interrupted, is inside it on
 * the same CPU. Its backup, on the same hook, then does the work. See first_to_see() in
 * backup.bpf.h, aio_completed() and on_fault_handled().
 */

enum { MAX_BACKUPS = 24 };

struct backups {
	struct {
		int original; /* descriptor, not owned */
		int prog, link;
	} at[MAX_BACKUPS];
	int n;
};

/* Loads a copy of @prog, which is attached to the hook of @row, and attaches it after @prog; to a
 * tracepoint with the cookie 1. 0 or -errno: the hook has only @prog. */
int backups_add(struct backups *b, const struct bpf_program *prog, const struct program *row);

/* Descriptor of the backup of program @prog_fd; -1 if it has none. */
int backups_of(const struct backups *b, int prog_fd);

void backups_done(struct backups *b); /* detaches */

struct attached {
	struct links links;
	struct backups backups;
	struct fault_links faults;
	struct fsprobes *fs;    /* NULL: functions of file systems are not probed */
	unsigned int vfs_kinds; /* operations whose VFS functions are probed, 1 << op */
	int err;                /* errno of the first failure to attach, or 0 */
};

/* Attaches the programs of @plan that were loaded into @obj. A program that cannot be attached is
 * unloaded and counts as missing. @obj, @f and @seen (FS_SLOTS types) outlive @a. */
void attach_all(struct attached *a, struct trace_bpf *obj, const struct plan *plan,
		const struct session_conf *sc, struct feature *f, const struct fs_entry *seen);

void attach_done(struct attached *a); /* detaches; fine if nothing was attached */

#endif
