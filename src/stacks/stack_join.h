/* SPDX-License-Identifier: GPL-2.0-only */
/* stack_join.h - rows by function, line, library or stack, from the stacks of a snapshot. */
#ifndef IOSTRATA_STACKS_STACK_JOIN_H
#define IOSTRATA_STACKS_STACK_JOIN_H

#include "event.h"

struct snapshot;

/* Puts rows by @by (BY_FUNCTION ...) in place of those of the programs, for kinds of operations
 * that have stacks. Rows of other kinds get a key that says so. Returns 0 or -ENOMEM. */
int stack_join(struct snapshot *sn, enum by_key by);

#endif
