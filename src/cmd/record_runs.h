/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_runs.h - several recordings, one after the other: of one command, or of two in turn, as
 * compare takes them. A process is forked for each.
 */
#ifndef IOSTRATA_CMD_RECORD_RUNS_H
#define IOSTRATA_CMD_RECORD_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/run.h"

struct reason;

/* At first all 0. */
struct record_runs {
	/* options */
	uint64_t n;     /* recordings, of each command; 0: not given */
	bool alternate; /* two commands of the shell are the arguments */
	/* the caller's */
	const char *prefix; /* the names of files begin with it; NULL: not given */
	bool replace;       /* files may exist */
	char **words;       /* argv, before it was parsed */
	/* results, in the process of a recording */
	char name[256];      /* of the file */
	char *shell[4];      /* the command */
	char **header_words; /* argv for the recording's header; owned */
};

/* Refuses options and arguments that do not fit. Returns 0, or -1 with @why. */
int record_runs_check(const struct record_runs *runs, const struct run *r, struct reason *why);

/* Makes all recordings. Returns 1 if they are made, and r->exit is set; 0 in the process of one
 * recording; or -1 with @why. */
int record_runs_fork(struct record_runs *runs, struct run *r, struct reason *why);

void record_runs_done(struct record_runs *runs);

#endif
