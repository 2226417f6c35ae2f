/* SPDX-License-Identifier: GPL-2.0-only */
/* compare_runs.h - the figures of single runs, and a test of one figure by its values in all runs.
 * Nothing within a run is an observation. */
#ifndef IOSTRATA_ANALYSE_COMPARE_RUNS_H
#define IOSTRATA_ANALYSE_COMPARE_RUNS_H

#include "analyse/compare.h"

/* The FIG_N figures of a key in each run: NAN if the run has too few events for one. */
struct compare_values {
	double *x[SIDES];          /* figure after figure, as many as there are runs; owned */
	double sums[SIDES][FIG_N]; /* of all runs together; counts and totals: of a run */
	size_t n[SIDES];
	double start_of_rate; /* an event a run, a second */
	double mean_ns;       /* geometric mean of the runs' means, or 0 if no run has the row */
};

/* Each run has been joined to one interval. Returns 0 or -ENOMEM, with nothing to free. */
int compare_values_fill(const struct compare *c, const struct series_key *key,
			struct compare_values *ret_values);
void compare_values_done(struct compare_values *v);

/* One number of each run. */
struct compare_numbers {
	const double *x[SIDES]; /* NAN: not of this run */
	size_t n[SIDES];
	double start;     /* added before the logarithm is taken */
	double floor;     /* least variance of a logarithm */
	bool may_be_zero; /* its typical value is then no geometric mean */
};

/* The numbers of figure @f. */
struct compare_numbers compare_numbers_of(const struct compare_values *v, enum figure f);

/* Tests @numbers; sets the members from .typical to .drift_p, without .first. */
void compare_test(const struct compare *c, const struct compare_numbers *numbers,
		  struct compare_figure *f);

/* The figures of whole runs, tested; sets c->whole. Returns 0 or -ENOMEM. */
int compare_whole(struct compare *c);

#endif
