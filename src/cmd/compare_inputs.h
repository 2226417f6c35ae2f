/* SPDX-License-Identifier: GPL-2.0-only */
/* compare_inputs.h - the files that compare reads, and the part of each. */
#ifndef IOSTRATA_CMD_COMPARE_INPUTS_H
#define IOSTRATA_CMD_COMPARE_INPUTS_H

#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/compare.h"
#include "base/opts.h"

struct reason;

/* At first all 0. */
struct compare_inputs {
	/* options */
	struct opt_strings base, new; /* patterns */
	const char *at;               /* NULL: not given */
	/* results */
	const char *const *names[SIDES]; /* of files; "-" is the standard input */
	size_t n[SIDES];
	uint64_t at_ns; /* of --at, from the beginning of the recording; else 0 */
	/* private */
	glob_t globs[SIDES];
};

extern const struct opt compare_inputs_opts[]; /* over struct compare_inputs */

/* Sets the results, from the options and the @n arguments @rest. Returns 0, or -1 with @why; call
 * compare_inputs_done() in any case. */
int compare_inputs_set(struct compare_inputs *in, char **rest, int n, struct reason *why);
void compare_inputs_done(struct compare_inputs *in);

/* The time of day in @text: "12:30", "12:30:05", "12:30:05.25"; in ns since midnight. Returns false
 * if it is none. */
bool compare_clock_parse(const char *text, uint64_t *ret_ns);

/* How long after @real_ns, CLOCK_REALTIME, the local time of day @clock_ns comes for the first
 * time, or 0 if it is just then. */
uint64_t compare_clock_after(uint64_t real_ns, uint64_t clock_ns);

#endif
