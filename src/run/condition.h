/* SPDX-License-Identifier: GPL-2.0-only */
/* condition.h - a condition on the time of an operation or request: "fsync>100ms", "read>p99". */
#ifndef IOSTRATA_RUN_CONDITION_H
#define IOSTRATA_RUN_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

struct reason;

struct condition {
	unsigned int kinds; /* of operations: set of 1 << enum op_kind; 0: requests */
	uint64_t above_ns;  /* longer than this; or, if not 0: */
	double percentile;  /* than this percentile, 0 < percentile < 100 */
	char disk[32];      /* of requests; "": any */
	const char *text;   /* as given; not owned */
};

/* What a condition may have beside KIND>TIME. */
enum condition_form { CONDITION_TIME, CONDITION_RECORDED };

/*
 * Reads "KIND>TIME": KIND is an operation, any or request. With CONDITION_RECORDED, TIME may be a
 * percentile, and a disk may follow request: "request vda>p99.9". @what names the condition in
 * messages. 0, or -1 with @why.
 */
int condition_parse(const char *text, enum condition_form form, const char *what,
		    struct condition *ret_condition, struct reason *why);

/* "fsyncs", "requests": the kind for @n > 1 of them, without the disk. */
const char *condition_noun(const struct condition *c);

#endif
