/* SPDX-License-Identifier: GPL-2.0-only */
/* sites.h - names the sites in the kernel where threads slept, and what they waited for there. */
#ifndef IOSTRATA_TRACE_SITES_H
#define IOSTRATA_TRACE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/snapshot.h"

/* Looked up kernel addresses, and their functions. All 0: none. */
struct symbols {
	struct symbol_at {
		uint64_t at, from; /* from: start of the function; 0: not found */
		char name[SYMBOL_LEN];
	} * list;
	size_t n, cap;
};

void symbols_done(struct symbols *s);

/* Names the sites in the rows of @sn, and adds up rows of the same operation, file system and
 * function. Returns 0 or -errno. */
int sites_name(struct symbols *s, struct snapshot *sn);

/* As sites_name(), but reads @f, a text like /proc/kallsyms. NULL: there are no names. */
int sites_name_from(FILE *f, struct symbols *s, struct snapshot *sn);

/* Whether the reason of a wait in @function depends on the caller, whose name then says more. */
bool wchan_is_general(const char *function);

/* The cause for which a thread in @function waits, such as "journal commit", or NULL if not known.
 * @function has no suffix. @general: the thread slept in a general function called by @function. */
const char *wchan_what(const char *function, bool general);

/* The same for an operation @op on a file system @fs, if wchan_what() said @what: a reader that
 * waits for the lock of a folio may wait for a server. */
const char *wchan_what_on(const char *what, unsigned int op, const char fs[FS_NAME_LEN]);

#endif
