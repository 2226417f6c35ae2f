/* SPDX-License-Identifier: GPL-2.0-only */
/* explain.h - the findings about slow operations, as text or JSON (iostrata.explain/1). */
#ifndef IOSTRATA_SHOW_EXPLAIN_H
#define IOSTRATA_SHOW_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "analyse/explain.h"
#include "base/json.h"
#include "base/schema.h"

struct explain_view {
	const struct explain *e;
	const struct explain_conf *conf;
	const char *condition; /* as given; hostile */
	const char *noun;      /* "fsyncs" */
	bool detail;           /* numbers about chance, and all properties */
	bool color;
	/* The command line that shows operations of @f; raw. The caller frees the result; NULL if
	 * out of memory. */
	char *(*command)(const void *arg, const struct explain_finding *f);
	const void *arg;
};

/* Returns 0 or -errno. */
int explain_text(FILE *f, const struct explain_view *v);
int explain_json(FILE *f, const struct explain_view *v);
extern const struct schema explain_schema;

/* The object @name: @sums of the strata, in ns; null if the recording @e does not measure one. */
void explain_put_strata(struct json *j, const char *name, const struct explain *e,
			const uint64_t sums[ST_N]);

/* The result in some sentences; raw. The caller frees the result; NULL if out of memory. */
char *explain_answer(const struct explain_view *v);

/* The @i-th sentence about all operations, before any finding: how many were slow, and for what
 * they waited. "" if there is none. Raw. The caller frees the result; NULL if out of memory. */
enum { EXPLAIN_OPENING = 2 };
char *explain_opening(const struct explain_view *v, int i);

/* What was lost, "in @where"; raw. The caller frees the result; NULL if nothing was lost, or out of
 * memory. */
char *explain_lost(const struct explain *e, const char *where);

/* The @i-th thing that the recording does not tell, or NULL if there is no more. Raw, for
 * free(). */
char *explain_missing(const struct explain *e, size_t i);

#endif
