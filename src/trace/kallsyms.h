/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kallsyms.h - the symbols of the kernel and of its modules.
 *
 * Reading all of /proc/kallsyms costs 300 to 600 million kernel instructions. So the text is
 * cached, some MiB, until kallsyms_forget(). Only one thread at a time may use these functions.
 */
#ifndef IOSTRATA_TRACE_KALLSYMS_H
#define IOSTRATA_TRACE_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* All lines of /proc/kallsyms; the caller closes the stream with fclose(). NULL: see errno. */
FILE *kallsyms_open(void);

void kallsyms_forget(void); /* frees the cached text */

/* The address of the only symbol called @name in the cached text. Returns 0 if nothing is cached,
 * no symbol or several have this name, or the kernel hides addresses. */
uint64_t kallsyms_cached(const char *name);

/* As kallsyms_cached(), but searches @text. */
uint64_t kallsyms_find(const char *text, const char *name);

/* A function of the kernel. @from, @to: its addresses; @to is that of the next symbol, or of the
 * next page if there is none. Both are 0 if no symbol or several have its name, or the kernel hides
 * addresses. */
struct kallsyms_function {
	const char *name;
	uint64_t from, to;
	unsigned int symbols; /* with this name */
};

/* Finds all @n functions of @list in one pass over @text. */
void kallsyms_find_functions(const char *text, struct kallsyms_function *list, size_t n);

/* The same in the cached text, if there is one. */
void kallsyms_cached_functions(struct kallsyms_function *list, size_t n);

#endif
