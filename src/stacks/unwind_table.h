/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * unwind_table.h - the rows to unwind by, made from .eh_frame of an ELF file. The file is hostile:
 * rows and time are bounded.
 */
#ifndef IOSTRATA_STACKS_UNWIND_TABLE_H
#define IOSTRATA_STACKS_UNWIND_TABLE_H

#include <stddef.h>

#include "event.h"

struct unwind_table {
	struct unwind_row *rows; /* ordered; owned */
	size_t n, cap;
};

/* Makes the table of ELF file @fd. Returns 0 (also with no rows), -ENOEXEC: it is no ELF file of
 * this machine, -ENOMEM, or -E2BIG: it has too many rows, or they take too long. */
int unwind_table_make(struct unwind_table *t, int fd);
void unwind_table_done(struct unwind_table *t);

#endif
