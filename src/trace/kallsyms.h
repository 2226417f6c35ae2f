/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kallsyms.h - the symbols of the kernel and of its modules.
 *
 * Reading all of /proc/kallsyms costs 300 to 600 million kernel instructions. So the text is
 * cached, some MiB, until kallsyms_forget(). Only one thread at a time may use these functions.
 */
#ifndef IOSTRATA_TRACE_KALLSYMS_H
#define IOSTRATA_TRACE_KALLSYMS_H

#include <stdint.h>
#include <stdio.h>

/* All lines of /proc/kallsyms; the caller closes the stream with fclose(). NULL: see errno. */
FILE *kallsyms_open(void);

void kallsyms_forget(void); /* frees the cached text */

/* The address of the only symbol called @name in the cached text. Returns 0 if nothing is cached,
 * no symbol or several have this name, or the kernel hides addresses. */
uint64_t kallsyms_cached(const char *name);

/* As kallsyms_cached(). @ret_end: the address of the next symbol, or of the next page if there is
 * none. */
uint64_t kallsyms_cached_range(const char *name, uint64_t *ret_end);

/* As kallsyms_cached(), but searches @text. */
uint64_t kallsyms_find(const char *text, const char *name);

#endif
