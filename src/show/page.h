/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page.h - a recording, or what breakdown counted, as one HTML file (--html): the answer and tables
 * as HTML, the data of the pictures as JSON, and the style and the script of src/page. Also the
 * live page: it asks a server for the same data. All text is hostile.
 */
#ifndef IOSTRATA_SHOW_PAGE_H
#define IOSTRATA_SHOW_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "analyse/explain.h"
#include "analyse/page_data.h"
#include "show/breakdown.h"

struct container_names;

enum { COMPARED_BASE, COMPARED_NEW, COMPARED_N, COMPARED_ROWS = 6 };

/* Operations of one kind in both recordings. */
struct page_compared_row {
	char name[128]; /* hostile */
	struct {
		uint64_t count, total_ns;
		uint64_t strata[ST_N];
	} of[COMPARED_N];
};

/* A comparison, on top of the page. */
struct page_compared {
	const char *base;                             /* the recording compared with; NULL: none */
	char *answer;                                 /* raw, for free() */
	char *text;                                   /* as compare_text() writes it, for free() */
	struct page_compared_row rows[COMPARED_ROWS]; /* most time first */
	size_t n_rows;
};

enum { PAGE_FINDINGS = 3 };

/* What slow operations of one kind have in common. */
struct page_finding {
	unsigned int op; /* enum op_kind */
	struct explain e;
};

/* The help of the option that shows command lines. */
#define PAGE_COMMANDS_HELP                                                                         \
	"with --html: show the command lines of processes, which may hold secrets"

struct page {
	const struct breakdown_view *view; /* of a recording: without --by */
	/* of a recording: rows without --by, one for each call; else rows by view->by: the page
	 * changes them */
	struct snapshot *sn;
	struct page_data *data;        /* its rows are taken; NULL: not of a recording */
	const struct slow_op *slowest; /* biggest first */
	size_t n_slowest;
	struct container_names *names;        /* of containers */
	const struct page_compared *compared; /* NULL: none, as without a base in it */
	const struct page_finding *findings;  /* of the kinds with most time */
	size_t n_findings;
	const char *not_explained;         /* why findings were not looked for; NULL: they were */
	const struct machine_loads *loads; /* how busy the machine was, CLOCK_REALTIME */
	const char *host;                  /* NULL: not known */
	uint64_t begin_ns;                 /* since 1970 */
	char *const *recordings;           /* their names */
	size_t n_recordings;
	uint64_t from_ns; /* the begin of the page in the recording */
};

enum {
	PAGE_SLOWEST = 20, /* operations on a page, unless the user wants another number */
	PAGE_JSON_MAX = 1250 * 1024, /* the cube is joined until the JSON is smaller */
};

/* Writes the page and flushes. Returns 0 or -errno. */
int page_put(FILE *f, const struct page *p);

/* The live page: asks its server for /api/breakdown and /events. The caller frees the result; NULL
 * if out of memory.
 */
char *page_live(size_t *ret_len);

#endif
