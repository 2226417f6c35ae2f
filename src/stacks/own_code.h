/* SPDX-License-Identifier: GPL-2.0-only */
/* own_code.h - which frames are a program's own code, and which are the C library's, a language's
 * runtime's, or hidden by the user. */
#ifndef IOSTRATA_STACKS_OWN_CODE_H
#define IOSTRATA_STACKS_OWN_CODE_H

#include <stdbool.h>

#include "base/opts.h"
#include "base/stacks.h"

/* Whether @f is not the program's own code. @hide: names of libraries, as "libsqlite3", or of
 * files, as "libsqlite3.so.0". */
bool frame_is_hidden(const struct stack_frame *f, const struct opt_strings *hide);

/* Index of the innermost frame of the program's own code, or -1: none is known. A worker of a pool
 * (libuv's, in Node) has none: see stack_unknown_reason(). */
int stack_own_frame(const struct stack *s);

/* Sets s->end by the names of the frames: nothing calls the function with which Go begins a
 * goroutine or a thread, and no rows say so. */
void stack_end_judge(struct stack *s);

#endif
