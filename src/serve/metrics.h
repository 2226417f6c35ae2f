/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * metrics.h - sums as text, to be scraped by Prometheus and others. The exposition formats "0.0.4"
 * (Prometheus) and "1.0.0" (OpenMetrics) differ in the names of families and in the end. Names of
 * series and labels are a contract, as JSON members are; man/iostrata-serve.1.scd has them.
 */
#ifndef IOSTRATA_SERVE_METRICS_H
#define IOSTRATA_SERVE_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct breakdown_view;
struct totals;

struct metrics {
	const struct totals *totals;
	const char *version;
	const struct breakdown_view *view; /* .missing: the figures not measured; hostile */
	unsigned int series;               /* the budget */
	/* both processes of the tool together */
	uint64_t cpu_ns;
	uint64_t resident_bytes; /* 0: not known */
	uint64_t start_ns;       /* since 1970 */
};

/* Writes all series. @open: as OpenMetrics. Returns 0 or -errno. */
int metrics_write(FILE *f, const struct metrics *m, bool open);

/* Safe UTF-8 (text_label()) as the value of a label: with escapes for \ and ", the only characters
 * left to escape. At most @cap bytes with the NUL, whole escapes only. */
void metrics_escape(char *dst, size_t cap, const char *safe);

#endif
