/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine_loads.h - how busy the machine was, by time, as a recording has it. Bounded memory: the
 * intervals of a long recording are joined in pairs.
 */
#ifndef IOSTRATA_CAPTURE_MACHINE_LOADS_H
#define IOSTRATA_CAPTURE_MACHINE_LOADS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/machine_load.h"
#include "capture/stored.h"

enum { MACHINE_LOADS = 1 << 14 }; /* intervals in memory: of a second, those of 4.5 hours */

struct machine_loads {
	struct stored_machine_load *list; /* owned */
	size_t n, cap;
	bool is_full; /* hardly any of these can be joined */
};

/* Adds @one. One that ends before it begins is left out, and so are those for which there is no
 * room because the intervals before do not follow each other. Returns 0 or -ENOMEM. */
int machine_loads_add(struct machine_loads *l, const struct stored_machine_load *one);

/* The part of @one from @from_ns to before @to_ns: sums are taken to be spread evenly over its
 * time. Parts that follow each other add up to the whole. False: there is none. */
bool machine_load_part(const struct stored_machine_load *one, uint64_t from_ns, uint64_t to_ns,
		       struct stored_machine_load *ret);

/* The sum of the parts of all intervals from @from_ns to before @to_ns. */
void machine_loads_between(const struct machine_loads *l, uint64_t from_ns, uint64_t to_ns,
			   struct machine_load *ret);

void machine_loads_done(struct machine_loads *l);

#endif
