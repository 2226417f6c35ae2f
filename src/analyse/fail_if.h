/* SPDX-License-Identifier: GPL-2.0-only */
/* fail_if.h - limits for the changes in a comparison: "fsync p99 +10%". */
#ifndef IOSTRATA_ANALYSE_FAIL_IF_H
#define IOSTRATA_ANALYSE_FAIL_IF_H

#include "analyse/compare.h"

enum fail_if_state {
	FAIL_IF_ABSENT, /* no row on both sides is meant: nothing was judged */
	FAIL_IF_FEW,    /* there are rows, but too little in each to be judged */
	FAIL_IF_HELD,   /* the change is smaller, or not sure */
	FAIL_IF_FAILED,
};

struct fail_if {
	const char *text;        /* as it was given; not owned, hostile */
	char what[32];           /* "fsync", "any", "request" */
	char where[SERIES_NAME]; /* file system or disk; "": all */
	enum figure figure;
	double share; /* 0.1: 10 % more or, if it is negative, less */
	/* set by fail_if_judge() */
	enum fail_if_state state;
	const struct compare_row *row; /* the first failed one; NULL: none */
};

/*
 * Reads "[WHAT [WHERE]] FIGURE +N%": an operation, any or request; a file system or disk; mean,
 * p50, p99, p99.9, rate or total. Returns 0, or -1 with @why.
 */
int fail_if_parse(const char *text, struct fail_if *ret_limit, struct reason *why);

/* Whether any of the rows meant has a sure change as large. */
void fail_if_judge(struct fail_if *limit, const struct compare *c);

#endif
