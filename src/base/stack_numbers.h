/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stack_numbers.h - numbers of operations, from user stacks of which some were drawn. An operation
 * is drawn with the probability total / threshold, or is certain to be taken if this is 1 or
 * more.
 */
#ifndef IOSTRATA_BASE_STACK_NUMBERS_H
#define IOSTRATA_BASE_STACK_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many operations a stack stands for: at least 1. */
double stack_stands_for(uint64_t threshold_ns, uint64_t total_ns);

/* @x, rounded up or down so that the mean of many is @x. @carry has what was rounded so far. */
uint64_t stack_whole(double x, double *carry);

/* Returns @n times @scale, at most 10^15. */
uint64_t stack_times(uint64_t n, double scale);

/* The operations of one kind on one file system type: those in a row, or all that were counted. */
struct stack_number {
	unsigned long long fs;
	unsigned int kind;
	uint64_t n;
	/* only in rows, whose .n is estimated from their stacks */
	uint64_t certain; /* operations in .n whose stack had to be taken */
	const char *caller;
	void *row; /* for the caller */
};

/*
 * Brings .n of @rows to the numbers in @counted, in proportion (a ratio estimate): one stack drawn
 * of short operations can stand for more than there were. Operations whose stack had to be taken
 * are counted, and stay. With @has_all false, stacks were lost, and the numbers of other callers do
 * not grow. Sorts @rows by caller, so that any reader of a recording rounds alike. Returns 0 or
 * -ENOMEM.
 */
int stack_numbers_scale(struct stack_number *rows, size_t n_rows,
			const struct stack_number *counted, size_t n_counted, bool has_all);

#endif
