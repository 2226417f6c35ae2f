/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fail_if.h - limits for the changes in a comparison: "fsync p99 +10%". A limit is judged alone,
 * not together with all figures: broken, held, or undecided.
 */
#ifndef IOSTRATA_ANALYSE_FAIL_IF_H
#define IOSTRATA_ANALYSE_FAIL_IF_H

#include "analyse/compare.h"

enum fail_if_state {
	FAIL_IF_ABSENT, /* no row on both sides is meant: nothing was judged */
	FAIL_IF_HELD,
	FAIL_IF_UNDECIDED,
	FAIL_IF_BROKEN,
};

enum fail_if_way {
	FAIL_IF_BY_TEST,
	FAIL_IF_BY_VALUES,  /* a number is the same in every run of each side */
	FAIL_IF_AS_COUNTED, /* a side has too few runs for a test, but the number is known */
	FAIL_IF_BY_NOTHING, /* too few runs, or too few events in them */
};

/* The result for one row, or for the whole run. */
struct fail_if_result {
	enum fail_if_state state;
	enum fail_if_way way;
	const struct series_key *key; /* NULL: the whole run */
	struct compare_figure figure;
	/* By a test: the difference of logarithms is above .low and below .high, each sure in 95 of
	 * 100 comparisons. */
	double low, high;
	unsigned int runs_needed; /* on each side, if the change is as found; 0: too many */
};

struct fail_if {
	const char *text;        /* as it was given; not owned, hostile */
	char what[32];           /* "fsync", "any", "request", "all" */
	char where[SERIES_NAME]; /* file system or disk; "": all */
	bool whole;              /* of the whole run: .which is an enum whole_figure */
	int which;               /* else an enum figure */
	double share;            /* 0.1: 10 % more or, if .less, at most 10 % less */
	bool less;
	/* set by fail_if_judge() */
	struct fail_if_result result; /* of the row that decided */
	unsigned int rows, few;       /* rows meant; of these without a test */
};

/*
 * Reads "[WHAT [WHERE]] FIGURE +N%": an operation, any, request, or all for the whole run; a file
 * system or a disk; a figure. Returns 0, or -1 with @why.
 */
int fail_if_parse(const char *text, struct fail_if *ret_limit, struct reason *why);

/* Broken if any of the rows meant is, held if all are that can be judged. Returns 0 or -ENOMEM. */
int fail_if_judge(struct fail_if *limit, const struct compare *c);

/* The smallest limit that these runs can hold, as a share: 0.5 is +50 %. */
double fail_if_holds(const struct fail_if *limit);

#endif
