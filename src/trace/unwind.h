/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unwind.h - the tables by which programs walk user stacks: room for the rows of all files, and the
 * entry of each file. Does not know where rows come from.
 */
#ifndef IOSTRATA_TRACE_UNWIND_H
#define IOSTRATA_TRACE_UNWIND_H

#include <stddef.h>

#include "event.h"

struct reason;
struct trace_bpf;

struct unwind {
	struct unwind_row *rows; /* mapped, rows_len bytes; NULL: not in use */
	size_t rows_len;
	unsigned int used; /* rows */
	int files_fd;
};

/* Returns 0, or -1 with @why. */
int unwind_open(struct unwind *u, const struct trace_bpf *obj, struct reason *why);
void unwind_close(struct unwind *u); /* fine if @u is all 0 */

/* Gives programs the @n @rows of file @key, whose frames get @number, and the Python in it. Without
 * room for the rows, or if @n is 0, its frames are walked by frame pointers. Returns 0 or -errno.
 */
int unwind_add(struct unwind *u, const struct unwind_key *key, unsigned int number,
	       const struct unwind_row *rows, size_t n, const struct unwind_python *python);

/* Lets programs tell of file @key again. */
void unwind_forget(struct unwind *u, const struct unwind_key *key);

#endif
