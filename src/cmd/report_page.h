/* SPDX-License-Identifier: GPL-2.0-only */
/* report_page.h - the page of report --html: gathers its data, and compares with --base. */
#ifndef IOSTRATA_CMD_REPORT_PAGE_H
#define IOSTRATA_CMD_REPORT_PAGE_H

#include <stdio.h>

#include "analyse/series.h"
#include "base/opts.h"
#include "show/page.h"

struct reason;

struct report_page {
	const char *html; /* the file; NULL: no page */
	const char *base; /* a recording to compare with; NULL: none */
	bool commands;    /* the page shows command lines */
	/* private */
	struct page_data data;
	struct page_compared compared;
	struct page_finding findings[PAGE_FINDINGS];
	size_t n_findings;
	const char *not_explained;
};

extern const struct opt report_page_opts[]; /* over struct report_page */

/* Fails if options do not fit: @names are the recordings, @other is an option that the page would
 * ignore, or NULL. Returns 0, or -1 with @why. */
int report_page_check(const struct report_page *p, char *const *names, int n, const char *other,
		      struct reason *why);

/* Adds @ev, if it is an operation or request. @first_ns: the begin of the page, CLOCK_REALTIME.
 * Returns 0, or -1 with @why. */
int report_page_add(struct report_page *p, const struct recording *rec,
		    const struct stored_event *ev, uint64_t first_ns, struct reason *why);

/* Compares p->base with the recording @name. Nothing without p->base. @conf: the part and the
 * filters. Returns 0, or -1 with @why. */
int report_page_compare(struct report_page *p, const char *name, const struct series_conf *conf,
			struct reason *why);

/* Looks for what the slow operations of the recordings @names have in common, if there is one and
 * it is not too long. @conf: the part and the filters. Returns 0, or -1 with @why. */
int report_page_explain(struct report_page *p, char *const *names, size_t n,
			const struct explain_conf *conf, struct reason *why);

/* Adds the losses of @rec, after its last event. @first_ns: as above. */
void report_page_losses(struct report_page *p, const struct recording *rec, uint64_t first_ns);

/* Writes the page. @page: all but its data and its comparison is set; @across_ns: the length of its
 * time axis. Returns 0 or -errno. */
int report_page_put(FILE *f, struct report_page *p, struct page *page, uint64_t across_ns);

void report_page_done(struct report_page *p);

#endif
