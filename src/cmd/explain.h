/* SPDX-License-Identifier: GPL-2.0-only */
/* explain.h - the command explain, and its part for several recordings. */
#ifndef IOSTRATA_CMD_EXPLAIN_H
#define IOSTRATA_CMD_EXPLAIN_H

#include "analyse/condition.h"
#include "analyse/explain.h"
#include "common/recorded_symbols.h"
#include "common/recording_filter.h"
#include "show/progress.h"

struct reason;

struct explain_cmd {
	/* options */
	const char *text, *output;
	struct recording_part part;
	struct recording_filter filter;
	struct recorded_symbols symbols;
	struct opt_strings hide; /* libraries that are not the program's own code */
	int detail;
	bool json;
	/* state */
	char **files; /* owned, with the names */
	size_t n_files;
	const char *file; /* the only one */
	bool is_refused;  /* something in a directory could not be read: it was told */
	struct condition condition;
	struct explain_conf conf;
	struct explain result;
	struct progress progress;
	FILE *out;
};

/* Sets the files: those in @given, and all recordings in directories in @given and below. Returns
 * 0, or -1 with @why. */
int explain_files_set(struct explain_cmd *o, char *const *given, int n, struct reason *why);
void explain_files_done(struct explain_cmd *o);

/* Explains several recordings. Returns the exit code. */
int explain_hosts(struct explain_cmd *o);

/* Writes the user's filters, but none for @option: a finding or the condition has another. */
void explain_put_filters(FILE *f, const struct explain_cmd *o, const char *option);

#endif
