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
	FIG_BYTES,  /* of one operation or request */
	FIG_BESIDE, /* requests submitted by an operation; bios merged into a request */
	FIG_DEPTH,  /* mean number of requests in the device at a time; requests only */
	FIG_STRATA, /* from here on: the time of one operation or request in each stratum */
	FIG_N = FIG_STRATA + ST_N,
};

/* The figures of a whole run: of its operations or, if no run has any, of its requests. In
 * recordings without a command, they are divided by the seconds of the run. */
enum whole_figure {
	WHOLE_TIME,   /* ns in operations */
	WHOLE_NOWAIT, /* the same without waiting for a CPU; of operations only */
	WHOLE_COUNT,
	WHOLE_N,
};

enum verdict {
	VERDICT_NONE,     /* not judged: too few events or runs, or too small a part of the run */
	VERDICT_NOT_SURE, /* chance may explain it */
	VERDICT_DRIFT,    /* a steady change over all runs explains it as well */
	VERDICT_DIFFERS,  /* more than chance within the run explains; COMPARE_BLOCKS only */
	VERDICT_LIKELY,
	VERDICT_SURE,
};

struct compare_figure {
	double value[SIDES];      /* of all runs of the side together */
	double typical[SIDES];    /* mean of the runs' figures; geometric, unless it may be 0 */
	unsigned int runs[SIDES]; /* runs that have the figure */
	bool known;    /* false: the row has no such figure, or a side did not measure it */
	bool tested;   /* false: a side has too few events or runs for a test */
	bool constant; /* the same in all runs of each side */
	bool first;    /* judged together with all others of the first level */
	/* The difference of the logarithms of (figure + start): its standard error and degrees of
	 * freedom. */
	double start, change, error, df;
	double p;                        /* probability of such a difference by chance alone */
	double drift_p;                  /* likewise, beyond a steady change over all runs */
	double adjusted, drift_adjusted; /* both, adjusted for all figures that were judged */
	enum verdict verdict;
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
	double typical_mean_ns; /* geometric mean of the runs' means, or 0 if no run has the row */
	struct compare_figure figures[FIG_N];
};

/* A key of one side only. */
struct compare_lone {
	const struct series_key *key;
	unsigned int kind;
	enum compare_side side;       /* of the key */
	uint64_t count, total_ns;     /* of all its runs */
	struct compare_figure number; /* FIG_COUNT or FIG_RATE */
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
	COMPARE_NONE,    /* a side has fewer than three runs: no time is judged */
	COMPARE_BLOCKS,  /* two parts of a run: blocks of time, bootstrapped */
	COMPARE_STUDENT, /* runs, as many on each side */
	COMPARE_WELCH,   /* runs */
};

enum {
	COMPARE_RUNS = 3, /* least number of runs on each side */
	COMPARE_RUNS_CACHE =
		5,           /* the same for a sure number of requests: caches make it two-valued */
	COMPARE_EVENTS = 10, /* least number of events in a run for its mean */
	COMPARE_COUNT = 30,  /* least number of operations for a test of blocks, or of errors */
	COMPARE_FILLED = 8,  /* least number of intervals with an operation, for blocks */
	COMPARE_BEYOND = 10, /* least number of operations above a percentile, for blocks */
};

/* Of comparisons of equal runs, at most this share calls any difference sure, or likely. */
#define COMPARE_SURE   0.01
#define COMPARE_LIKELY 0.05
/* The smallest relative difference worth telling. */
#define COMPARE_LEAST 0.01
/* The chance to find a difference that is called large enough to be found. */
#define COMPARE_POWER 0.8

/* A difference worth telling. */
struct compare_claim {
	const struct compare_figure *figure;
	const struct compare_row *row;   /* NULL: of the whole run, or of .lone */
	const struct compare_lone *lone; /* NULL: none */
	int which;                       /* enum figure; of the whole run enum whole_figure */
	int64_t gain_ns;                 /* of the row: its part of the change of a run's time */
};

/* An operation whose number differs more than equal runs do. */
struct compare_work {
	const struct series_key *key;
	double number[SIDES]; /* of a run */
	int64_t gain_ns;
};

struct compare {
	/* the caller's */
	struct series *runs[SIDES];
	size_t n_runs[SIDES];
	bool parts; /* both sides are parts of one run */
	/* results; owned */
	struct compare_row *rows;  /* operations, then requests: largest change first */
	size_t n_rows, n_ops;      /* n_ops: of these rows */
	struct compare_lone *lone; /* operations, then requests: biggest total first */
	size_t n_lone;
	struct compare_figure whole[WHOLE_N];
	bool whole_is_of_requests;
	struct compare_change change;
	enum compare_method method;
	size_t n_tests; /* figures judged: of the first level, and those below what moved */
	size_t n_first; /* figures judged together */
	size_t n_sure;
	struct compare_claim *claims; /* sure ones first, then by the gain of their row */
	size_t n_claims;
	struct compare_work *work; /* with COMPARE_NONE; largest gain first */
	size_t n_work;
	/* Squared correlation of the side with the order of the runs: 0 in turn, 0.75 or more one
	 * side after the other; negative: the order is not known. */
	double blocked;
	unsigned int *order[SIDES];  /* rank of each run by its begin */
	uint64_t duration_ns[SIDES]; /* mean of the runs */
	bool identical;              /* the sides have the same figures throughout */
	char **doubts;               /* why the comparison may mislead; hostile text */
	size_t n_doubts;
};

/* Compares c->runs, of which each side has one at least. Returns 0, or -1 with @why; compare_done()
 * in any case. */
int compare_runs(struct compare *c, struct reason *why);
void compare_done(struct compare *c);

/* The difference of a figure in whole numbers, as the row's integers give it, else rounded. */
int64_t compare_difference(const struct compare_row *row, enum figure f);

/* Where the difference is with 95 % confidence, in the figure's unit. */
struct compare_range {
	double low, high;
};
struct compare_range compare_range(const struct compare_figure *f);

/* New divided by base, in typical runs, as logarithms; of a figure above 0 on both sides. */
struct compare_ratios {
	double change, low, high; /* low and high with 95 % confidence, if it was tested */
};
struct compare_ratios compare_ratios(const struct compare_figure *f);

/* Whether a figure is above 0 on both sides. */
bool compare_has_ratio(const struct compare_figure *f);

/* The smallest difference to be sure in 95 of 100 comparisons, if no other figure differs. */
double compare_seen(const struct compare *c, const struct compare_figure *f);

/* The relative difference found at least likely in 4 of 5 comparisons: 0.5 is half more. */
double compare_shows(const struct compare *c, const struct compare_figure *f);

/* The runs a side to find a relative difference of @share at least likely in 4 of 5 comparisons; 0:
 * more than COMPARE_RUNS_MOST. */
enum { COMPARE_RUNS_MOST = 300 };
unsigned int compare_runs_for(const struct compare *c, const struct compare_figure *f,
			      double share);

/* The figure's name in JSON and CSV: "p99", "device". */
const char *compare_figure_name(const struct compare_row *row, enum figure f);

/* Whether the figure is a time, in ns. */
bool compare_figure_is_time(enum figure f);

/* Whether differences between runs of a side were counted. If not, runs of the same work may differ
 * as much as any difference found. */
bool compare_is_between_runs(const struct compare *c);

/* Whether each run is the recording of a command: its length is then a result of the run. */
bool compare_is_of_commands(const struct compare *c);

/* Whether one side was recorded after the other, so that a drift looks like a difference. */
bool compare_is_one_after_the_other(const struct compare *c);

/* Whether the figures of @key, or of a whole run if it is NULL, are estimated: not all user stacks
 * were taken. */
bool compare_is_estimated(const struct compare *c, const struct series_key *key);

/* Sets c->doubts. Returns 0 or -ENOMEM. */
int compare_doubt(struct compare *c);

#endif
