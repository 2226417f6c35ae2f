/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reason.h - the message, hint and exit code of a failure. Modules fill it in, commands print it.
 */
#ifndef IOSTRATA_BASE_REASON_H
#define IOSTRATA_BASE_REASON_H

/* Exit codes; scripts depend on them. */
enum {
	EXIT_FAILED = 1, /* unknown disk, pid gone, output cannot be written */
	EXIT_USAGE = 2,
	EXIT_KERNEL = 3, /* this kernel cannot */
	EXIT_PERMISSION = 4,
	EXIT_INCOMPLETE = 5, /* something was lost, and --strict */
	EXIT_CHANGED = 6,    /* a change that --fail-if names was found */
	EXIT_TOOL = 125,     /* with -- CMD: the tool failed */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

struct reason {
	int exit;        /* one of the above */
	char error[320]; /* what failed, 'subject', why; no capital, no full stop */
	char hint[320];  /* what to do, or "" */
};

/* Each sets @r and returns -1, for "return reason_set(...)". */
int reason_set(struct reason *r, int exit, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int reason_hint(struct reason *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int reason_no_memory(struct reason *r);

#endif
