/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unwind.h - the tables by which programs walk user stacks: room for the rows of all files, and the
 * entry of each file. Without room for a new file, files leave that no stack has met for the
 * longest time. Does not know where rows come from.
 */
#ifndef IOSTRATA_TRACE_UNWIND_H
#define IOSTRATA_TRACE_UNWIND_H

#include <stddef.h>

#include "event.h"

struct grace;
struct reason;
struct trace_bpf;
struct unwind_area;

struct unwind {
	struct unwind_row *rows; /* mapped, rows_len bytes; NULL: not in use */
	size_t rows_len;
	struct unwind_area *areas; /* of files with rows, in the order of their rows; owned */
	unsigned int n_areas;
	unsigned long long *used_ns; /* by number: when a stack met the file last; owned */
	int files_fd;
	const struct grace *grace;
};

/* @grace must be open when a table is added. Returns 0, or -1 with @why. */
int unwind_open(struct unwind *u, const struct trace_bpf *obj, const struct grace *grace,
		struct reason *why);
void unwind_close(struct unwind *u); /* fine if @u is all 0 */

/*
 * Gives programs the @n @rows of file @key, whose frames get @number, and the Python in it. Without
 * room for the rows, or if @n is 0, its frames are walked by frame pointers. Files that leave for
 * it have no entry any more: the next stack there tells of them again. Returns 0 or -errno.
 *
 * A file keeps its number when it comes back. Two files never have the same number, except
 * without rows.
 */
int unwind_add(struct unwind *u, const struct unwind_key *key, unsigned int number,
	       const struct unwind_row *rows, size_t n, const struct unwind_python *python);

/* Notes the files that @s has met. */
void unwind_use(struct unwind *u, const struct sent_stack *s);

/* Lets programs tell of file @key again. */
void unwind_forget(struct unwind *u, const struct unwind_key *key);

#endif
