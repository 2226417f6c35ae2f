/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attach.h - attaches loaded programs to their hooks.
 *
 * The order matters: no program misses an event while another relies on it.
 *
 * Owns the links, the backup programs, and the probes on functions of file systems. Loads nothing
 * but the backup programs.
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
 * Links of one program to the kernel's software events of page faults, on every online CPU.
 *
 * The kernel raises these events once it has handled a fault, major or minor, in the faulting
 * thread.
 */
struct fault_links {
	struct bpf_link **list;
	int n;
};

enum { MAX_BACKUPS = 24 };

/*
 * Second copies of programs that the kernel may preempt (on tracepoints: since 7.0), and of
 * programs on functions that interrupts call.
 *
 * The kernel skips a program while a preempted thread, or the interrupted code, is inside the same
 * program on the same CPU. The backup on the same hook then does the work. See first_to_see(),
 * aio_completed() and on_fault_handled().
 */
struct backups {
	struct {
		int original; /* descriptor, not owned */
		int prog, link;
	} at[MAX_BACKUPS];
	int n;
};

/* Descriptor of the backup of program @prog_fd; -1 if it has none. */
int backups_of(const struct backups *b, int prog_fd);

struct attached {
	struct links links;
	struct backups backups;
	struct fault_links faults;
	struct fsprobes *fs;    /* NULL: file system functions are not probed */
	unsigned int vfs_kinds; /* kinds whose VFS functions are probed: set of 1 << enum op_kind */
	int err;                /* errno of the first failure to attach, or 0 */
};

/* Attaches the programs of @plan loaded into @obj. Unloads each program it cannot attach; the
 * program then counts as missing. @obj, @f and @seen (FS_SLOTS types) outlive @a. */
void attach_all(struct attached *a, struct trace_bpf *obj, const struct plan *plan,
		const struct session_conf *sc, struct feature *f, const struct fs_entry *seen);

void attach_done(struct attached *a); /* detaches; fine if nothing was attached */

#endif
