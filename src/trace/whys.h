/* SPDX-License-Identifier: GPL-2.0-only */
/* whys.h - names the places in the kernel where threads slept. */
#ifndef IOSTRATA_TRACE_WHYS_H
#define IOSTRATA_TRACE_WHYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/snapshot.h"

/* Addresses in functions of the kernel that were looked up. All 0: none. */
struct symbols {
	struct symbol_at {
		uint64_t at, from; /* from: where the function begins; 0: not found */
		char name[SYMBOL_LEN];
	} * list;
	size_t n, cap;
};

void symbols_done(struct symbols *s);

/* Names the places in the rows of @sn, and adds up those of one operation, file system and
 * function. 0 or -errno. */
int whys_name(struct symbols *s, struct snapshot *sn);

/* The same with what is read from @f, like /proc/kallsyms; NULL: nothing. */
int whys_name_from(FILE *f, struct symbols *s, struct snapshot *sn);

/* What threads wait for in the functions of the kernel in which they sleep. */

/* Whether what is waited for in @function depends on who calls it, so its caller says more. */
bool wchan_is_general(const char *function);

/* What is waited for in @function, "journal commit", which is without suffixes; @general: in a
 * general function that it calls. NULL: not known. */
const char *wchan_what(const char *function, bool general);

#endif
