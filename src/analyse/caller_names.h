/* SPDX-License-Identifier: GPL-2.0-only */
/* caller_names.h - the functions, lines or libraries that made the calls of a recording, by the
 * number of the user stack. All text is hostile. */
#ifndef IOSTRATA_ANALYSE_CALLER_NAMES_H
#define IOSTRATA_ANALYSE_CALLER_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/stacks.h"
#include "event.h"

struct catalog;
struct catalog_stack;
struct caller_name;

/* The index of the innermost frame of the program's own code, or -1 if none is known. */
typedef int own_frame_fn(void *arg, const struct catalog *c, const struct catalog_stack *s);

/* At first all 0. */
struct caller_names {
	size_t n; /* different callers */
	/* private */
	struct caller_name *all;
	const struct caller_name **list; /* by number - 1; owned */
	size_t cap;
	uint32_t *of; /* by stack: number; owned */
	size_t n_of;
};

/* Names the callers of all stacks in @c, when the last record was read. @by: BY_FUNCTION, BY_LINE
 * or BY_LIBRARY; @form: of a function with a name. Returns 0 or -ENOMEM; caller_names_done() in any
 * case. */
int caller_names_make(struct caller_names *names, const struct catalog *c, enum by_key by,
		      enum frame_form form, own_frame_fn *own_frame, void *arg);
void caller_names_done(struct caller_names *names);

/* The number of the caller of stack @stack, from 1 on, or 0 if the caller is not known. */
uint32_t caller_number(const struct caller_names *names, uint64_t stack);

/* The text of caller @number. */
const char *caller_text(const struct caller_names *names, uint32_t number);

#endif
