/* SPDX-License-Identifier: GPL-2.0-only */
/* func_find_kernel.h - the kernel's functions: the existing ones, and those that must not or cannot
 * be traced. Probes nothing. */
#ifndef IOSTRATA_FUNCS_FUNC_FIND_KERNEL_H
#define IOSTRATA_FUNCS_FUNC_FIND_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct func_list;
struct pattern;
struct reason;

/*
 * Adds to @l the functions matched and not excluded by @patterns; func.refused says why a function
 * must not be traced.
 *
 * With @explain, functions without room for a probe are refused, too. This takes some 100 ms;
 * otherwise attaching finds them. Returns 0, or -1 with @why.
 */
int func_kernel_list(struct func_list *l, struct pattern *const patterns[], size_t n, bool explain,
		     struct reason *why);

/* As func_kernel_list(), but reads @symbols, a text like /proc/kallsyms. Returns 0 or -ENOMEM. */
int func_kernel_list_from(struct func_list *l, FILE *symbols, struct pattern *const patterns[],
			  size_t n, bool explain);

/* Writes up to three names of functions similar to @patterns: "a, b, c", or "". */
void func_kernel_nearest(struct pattern *const patterns[], size_t n, char *dst, size_t cap);

#endif
