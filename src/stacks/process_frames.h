/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process_frames.h - numbers for frames that a process alone can name: of Python, and in memory
 * without a file. For the tool; the deputy is told of each new one while the process is there.
 */
#ifndef IOSTRATA_STACKS_PROCESS_FRAMES_H
#define IOSTRATA_STACKS_PROCESS_FRAMES_H

#include <stdbool.h>

enum { PROCESS_FRAMES_MOST = 1 << 16 };

struct process_frame {
	unsigned long long frame; /* as a program sent it */
	unsigned long long process_start;
	unsigned int pid;
	unsigned int pad; /* 0 */
};

struct known_process_frame;

struct process_frames {
	struct known_process_frame **list; /* by number; [0] is none */
	unsigned int n;
	struct known_process_frame *by_frame;
	unsigned int told; /* the deputy knows those with a number up to this */
};

/* Whether a process alone can name @frame. */
bool process_frame_is(unsigned long long frame);

/* The frame that takes the place of @f->frame: STACK_FRAME(STACK_OF_PROCESS, its number). The
 * number is 0 if there are too many. Returns 0 or -ENOMEM. */
int process_frames_number(struct process_frames *p, const struct process_frame *f,
			  unsigned long long *ret_frame);

/* Frame @number, or NULL. */
const struct process_frame *process_frames_get(const struct process_frames *p,
					       unsigned long long number);

void process_frames_done(struct process_frames *p);

#endif
