/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * missing.h - what was requested but cannot be measured here, and why.
 */
#ifndef IOSTRATA_MISSING_H
#define IOSTRATA_MISSING_H

#include "base/snapshot.h"

struct attached;
struct feature;
struct plan;
struct reason;
struct trace_bpf;

/* Fills @m from the table of programs and from what was attached. Its texts live as long as @f. */
void missing_fill(struct missing *m, const struct plan *plan, const struct trace_bpf *obj,
		  const struct attached *a, const struct feature *f);

/* Checks that a layer requested by name is measured: 0, or -1 with @why. */
int missing_check(const struct missing *m, enum layer layer, const struct attached *a,
		  struct reason *why);

#endif
