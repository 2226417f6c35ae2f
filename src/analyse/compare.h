/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compare.h - the differences between two sides of runs, and whether chance explains them. The
 * method is in docs/design/compare.md.
 */
#ifndef IOSTRATA_ANALYSE_COMPARE_H
#define IOSTRATA_ANALYSE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/series.h"

struct reason;

enum compare_side { BASE, NEW, SIDES };

/* The figures of a row; times are in ns. */
enum figure {
	FIG_COUNT, /* operations or requests, of a run */
	FIG_RATE,  /* a second */
	FIG_MEAN,
	FIG_P50, /* percentiles of requests are those of the time in the device, as in report */
	FIG_P99,
	FIG_P999,
	FIG_TOTAL,  /* of a run */
	FIG_LOAD,   /* sum of the times a second; never shown */
	FIG_BYTES,  /* of one operation or request */
	FIG_BESIDE, /* requests submitted by an operation; bios merged into a request */
	FIG_DEPTH,  /* mean number of requests in the device at a time; requests only */
	FIG_STRATA, /* from here on: the time of one operation or request in each stratum */
	FIG_N = FIG_STRATA + ST_N,
};

struct compare_figure {
	double value[SIDES];
	bool known;       /* false: the row has no such figure, or a side did not measure it */
	bool tested;      /* false: a side has too few events for a test */
	double error, df; /* standard error and degrees of freedom of the difference */
	double p;         /* probability of such a difference by chance alone */
	bool sure; /* chance does not explain the difference (within the runs, with COMPARE_BLOCKS);
		    * see COMPARE_FALSE */
};

struct compare_row {
	const struct series_key *key;
	unsigned int kind;     /* enum op_kind or enum rq_op */
	uint64_t count[SIDES]; /* of all runs of the side */
	uint64_t errors[SIDES];
	uint64_t total_ns[SIDES]; /* mean of the runs, rounded down */
	/* Whole ns. The strata add up to the mean exactly, and so do their differences. */
	uint64_t mean_ns[SIDES], strata_ns[SIDES][ST_N];
	uint64_t block_ns[SIDES]; /* of the bootstrap; 0: runs are compared */
	struct compare_figure figures[FIG_N];
};

/* A key of one side only. */
struct compare_lone {
	const struct series_key *key;
	enum compare_side side;   /* of the key */
	uint64_t count, total_ns; /* of all its runs */
};

/* How the total time of the operations of a run changed. The last three members add up to the
 * difference. */
struct compare_change {
	bool known; /* false: a side has no operation */
	int64_t total_ns[SIDES];
	int64_t more_ns;   /* more operations, each as long as the mean in base */
	int64_t mix_ns;    /* more of the long operations; operations on one side only */
	int64_t slower_ns; /* the same operations take longer */
};

enum compare_method {
	COMPARE_BLOCKS,      /* blocks of time, bootstrapped: a side has fewer than three runs */
	COMPARE_WELCH,       /* runs, too few of them to be exchanged */
	COMPARE_PERMUTATION, /* runs */
};

enum {
	COMPARE_RUNS = 3,    /* runs on each side from which on runs are compared, not blocks */
	COMPARE_COUNT = 30,  /* least number of operations for a test */
	COMPARE_FILLED = 8,  /* least number of intervals with an operation for a test */
	COMPARE_BEYOND = 10, /* least number of operations above a percentile for a test of it */
};

/* At most this share of the differences called sure is chance. */
#define COMPARE_FALSE 0.01

struct compare {
	/* the caller's */
	struct series *runs[SIDES];
	size_t n_runs[SIDES];
	/* results; owned */
	struct compare_row *rows;  /* operations, then requests: largest change first */
	size_t n_rows, n_ops;      /* n_ops: of these rows */
	struct compare_lone *lone; /* operations, then requests: biggest total first */
	size_t n_lone;
	struct compare_change change;
	enum compare_method method;
	size_t n_tests, n_sure;      /* figures of all rows */
	uint64_t duration_ns[SIDES]; /* mean of the runs */
	bool identical;              /* the sides have the same figures throughout */
	char **doubts;               /* why the comparison may mislead; hostile text */
	size_t n_doubts;
};

/* Compares c->runs. Each side has one at least. Returns 0, or -1 with @why; compare_done() in any
 * case. */
int compare_runs(struct compare *c, struct reason *why);
void compare_done(struct compare *c);

/* The difference of a figure in whole numbers, as the row's integers give it, else rounded. */
int64_t compare_difference(const struct compare_row *row, enum figure f);

/* Half the width of the 95 % confidence interval of the difference. */
double compare_half(const struct compare_figure *f);

/* The smallest difference to be sure in 95 of 100 comparisons, if no other figure differs. */
double compare_seen(const struct compare *c, const struct compare_figure *f);

/* The figure's name in JSON and CSV: "p99", "device". NULL: FIG_LOAD is not shown. */
const char *compare_figure_name(const struct compare_row *row, enum figure f);

/* Whether the figure is a time, in ns. */
bool compare_figure_is_time(enum figure f);

/* Whether differences between runs of a side were counted. If not, runs of the same work may differ
 * as much as a sure figure does. */
bool compare_is_between_runs(const struct compare *c);

/* Whether each run is the recording of a command: its length is then a result of the run. */
bool compare_is_of_commands(const struct compare *c);

/* Sets c->doubts. Returns 0 or -ENOMEM. */
int compare_doubt(struct compare *c);

#endif
