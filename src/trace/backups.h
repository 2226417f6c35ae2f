/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * backups.h - second copies of programs that the kernel may preempt (those on tracepoints since
 * 7.0), and of those on functions that interrupts call, too.
 *
 * A program is refused while a preempted thread, or the code that was interrupted, is inside it on
 * the same CPU. Its backup, on the same hook, then does the work. See first_to_see() in
 * backup.bpf.h, aio_completed() and on_fault_handled().
 */
#ifndef IOSTRATA_BACKUPS_H
#define IOSTRATA_BACKUPS_H

#include <stdint.h>

struct bpf_program;
struct program;

enum { MAX_BACKUPS = 24 };

struct backups {
	struct {
		int original;		/* descriptor, not owned */
		int prog, link;
	} at[MAX_BACKUPS];
	int n;
};

/* Loads a copy of @prog, which is attached to the hook of @row, and attaches it after @prog; to a
 * tracepoint with the cookie 1. 0 or -errno: the hook has only @prog. */
int backups_add(struct backups *b, const struct bpf_program *prog, const struct program *row);

/* Descriptor of the backup of program @prog_fd; -1 if it has none. */
int backups_of(const struct backups *b, int prog_fd);

void backups_done(struct backups *b);	/* detaches */

#endif
