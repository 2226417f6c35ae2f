/* SPDX-License-Identifier: GPL-2.0-only */
/* report_heat.h - the heat maps of 'report --heat': one of operations, one of requests. */
#ifndef IOSTRATA_REPORT_HEAT_H
#define IOSTRATA_REPORT_HEAT_H

#include <stdint.h>
#include <stdio.h>

#include "capture/reader.h"
#include "show/heat.h"

struct report_heat {
	struct heat ops, requests;
};

/* Adds @ev, an operation or a request of @rec. @first_ns: where the maps begin, CLOCK_REALTIME. */
void report_heat_add(struct report_heat *h, const struct recording *rec,
		     const struct cap_event *ev, uint64_t first_ns);

/* Draws both, up to @end_ns after the beginning; but not that of requests if @of_ops, the filters
 * that do not choose them, are any. 0 or -errno. */
int report_heat_print(FILE *out, struct report_heat *h, const char *of_ops,
		      uint64_t end_ns);

#endif
