/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stack_rows.h - adds up operations by their user stack, and names the frames at the end of the
 * interval. Names come from the deputy; without it, frames have only their place.
 */
#ifndef IOSTRATA_STACKS_STACK_ROWS_H
#define IOSTRATA_STACKS_STACK_ROWS_H

#include "base/opts.h"
#include "base/rows.h"
#include "base/stacks.h"
#include "stacks/frame_names.h"
#include "stacks/process_frames.h"

enum {
	STACKS_MOST = 1 << 16, /* different stacks in an interval */
	FRAMES_MOST = 1 << 18, /* frames that get a name, in a run: some 60 MB */
};

struct stack_entry;
struct known_frame;

struct stack_rows {
	struct rows rows;
	struct stack_entry *stacks; /* by frames and end */
	size_t n;
	struct known_frame *frames;  /* by frame; stay for the whole run */
	struct stack_frame too_many; /* all frames beyond FRAMES_MOST */
	struct process_frames of_processes;
	char *libraries[STACK_FILES]; /* by number of the file; NULL: not known */
	char *build_ids[STACK_FILES]; /* likewise */
	struct stacks sums;           /* only its sums */
	double carry;                 /* of rounding: see sums_of() */
};

/* Adds a stack of an operation on file system type @fs. Returns 0 or -ENOMEM. @ret_number: of the
 * stack in the interval, from 1 on; 0: there are too many. */
int stack_rows_add(struct stack_rows *r, const struct sent_stack *s, const char *fs,
		   unsigned int *ret_number);

/* Adds an operation to the row with @key, without its frames. Returns 0 or -ENOMEM. */
int stack_rows_sum(struct stack_rows *r, const struct sent_stack *s, const struct op_key *key,
		   const char *fs);

/* Notes the path of the file with @number. */
void stack_rows_file(struct stack_rows *r, unsigned int number, const char *path);

/* Looks up the name of a frame of a file. Returns 0 or -errno. */
typedef int frame_name_fn(void *arg, unsigned long long frame, struct frame_name *ret_name);

/* Moves all stacks to @ret_stacks, freed by the caller; frames live as long as @r. @hide: see
 * own_code.h. Returns 0 or -ENOMEM. */
int stack_rows_take(struct stack_rows *r, const struct opt_strings *hide, frame_name_fn *name,
		    void *arg, struct stacks **ret_stacks);

/* Counts a stack that is in no row. */
void stack_rows_drop(struct stack_rows *r, const struct sent_stack *s);

/* Moves the rows and sums to @to. */
void stack_rows_take_sums(struct stack_rows *r, struct stacks *to);

void stack_rows_done(struct stack_rows *r);

#endif
