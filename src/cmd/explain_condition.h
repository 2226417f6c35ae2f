/* SPDX-License-Identifier: GPL-2.0-only */
/* explain_condition.h - which operations are slow: "fsync>100ms", "read>p99", "request vda>p99".
 * The conditions of 'record --until' (analyse/until.h) are about a live run, and know other limits.
 */
#ifndef IOSTRATA_CMD_EXPLAIN_CONDITION_H
#define IOSTRATA_CMD_EXPLAIN_CONDITION_H

#include <stdint.h>

struct reason;

struct condition {
	unsigned int kinds; /* of operations: set of 1 << enum op_kind; 0: requests */
	uint64_t above_ns;  /* longer than this; or, if not 0: */
	double percentile;  /* than this percentile, 0 < percentile < 100 */
	char disk[32];      /* of requests; "": any */
};

/* Reads "KIND>TIME" or "KIND>pN": KIND is an operation, any, request, or request with the name of a
 * disk. 0, or -1 with @why. */
int condition_parse(const char *text, struct condition *ret_condition, struct reason *why);

/* "fsyncs", "requests": the kind for @n > 1 of them, without the disk. */
const char *condition_noun(const struct condition *c);

#endif
