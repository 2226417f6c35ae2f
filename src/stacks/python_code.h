/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * python_code.h - the function, the source and the line of a frame of Python, from the memory of
 * its process. For the deputy: the memory is hostile, and may be used for something else by now.
 */
#ifndef IOSTRATA_STACKS_PYTHON_CODE_H
#define IOSTRATA_STACKS_PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stacks/frame_names.h"

/* Reads memory of the process. Returns false if not all @len bytes are there. */
typedef bool memory_read_fn(void *arg, uint64_t at, void *to, size_t len);

/* Fills in the name of STACK_PYTHON_FRAME() @frame. Returns false if there is no code object. */
bool python_code_name(unsigned long long frame, memory_read_fn *read, void *arg,
		      struct frame_name *ret_name);

/* The line of the instruction at @place (in 2 bytes) by a table of @len bytes of a code object
 * whose first line is @first, or 0. */
unsigned int python_line(const unsigned char *table, size_t len, int first, unsigned int place);

#endif
