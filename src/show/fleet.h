/* SPDX-License-Identifier: GPL-2.0-only */
/* fleet.h - what bad hosts have in common, as text or JSON (iostrata.fleet/1). */
#ifndef IOSTRATA_SHOW_FLEET_H
#define IOSTRATA_SHOW_FLEET_H

#include <stdio.h>

#include "analyse/fleet.h"
#include "base/schema.h"
#include "show/explain.h"

struct fleet_view {
	const struct fleet *f;
	struct explain_view sums; /* about f->sums */
	char *const *names;       /* of the recordings */
	/* The next command to try: of a finding, explain on the recording with most of its slow
	 * ones. Raw. The caller frees the result; NULL if out of memory. */
	char *(*command)(const void *arg, const struct fleet_finding *found);
	const void *arg;
};

/* Returns 0 or -errno. */
int fleet_text(FILE *f, const struct fleet_view *v);
int fleet_json(FILE *f, const struct fleet_view *v);
extern const struct schema fleet_schema;

/* The result in some sentences; raw. The caller frees the result; NULL if out of memory. */
char *fleet_answer(const struct fleet_view *v);

/* The @i-th thing that the recordings do not tell, or NULL if there is no more. Raw, for free(). */
char *fleet_missing(const struct fleet *f, size_t i);

#endif
