/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * recorded_stacks.h - user stacks into a recording, and out of recordings. A recording has an
 * operation with a stack as a separate record, and names the stacks at its end.
 */
#ifndef IOSTRATA_COMMON_RECORDED_STACKS_H
#define IOSTRATA_COMMON_RECORDED_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/opts.h"
#include "base/stacks.h"
#include "capture/recording.h"
#include "capture/replay.h"
#include "capture/writer.h"
#include "stacks/stack_rows.h"

struct snapshot;

/* Writes the stacks @s of a run, each under its number, and their frames. */
void recorded_stacks_write(struct writer *w, const struct stacks *s);

/* The operations with stacks of all recordings. Starts as all 0, but .hide. */
struct recorded_stacks {
	struct opt_strings hide; /* libraries that are not the program's own code */
	/* private */
	struct stack_rows rows;
	struct stack *stacks; /* of all recordings */
	size_t n, cap;
	struct recorded_frames *frames;
	unsigned int *counts; /* of this recording: operations by id of the stack */
	size_t n_counts, counts_cap;
	uint64_t ended[STACK_END_N], by_frame_pointers;
	uint64_t lost, lost_ns;
};

/* Index of the innermost frame of the program's own code, as of stack_own_frame(). */
int recorded_own_frame(const struct opt_strings *hide, const struct catalog *c,
		       const struct catalog_stack *s);

/* Adds an operation of CHUNK_STACKS. Returns 0 or -ENOMEM. */
int recorded_stacks_add(struct recorded_stacks *s, struct replay *replay,
			const struct recording *rec, const struct stored_event *ev);

/* Call after the last record of @rec: takes its stacks. Returns 0 or -ENOMEM. */
int recorded_stacks_end(struct recorded_stacks *s, const struct recording *rec);

/* Gives all stacks to @sn, whose rows come from @replay; frames stay in @s. Returns 0 or
 * -ENOMEM. */
int recorded_stacks_take(struct recorded_stacks *s, const struct replay *replay,
			 struct snapshot *sn);

void recorded_stacks_done(struct recorded_stacks *s);

#endif
