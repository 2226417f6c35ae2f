/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process_names.h - names of frames that a process alone can name: of Python, by its memory, and of
 * code made at run time, by its perf map. For the deputy: what it reads is hostile.
 */
#ifndef IOSTRATA_STACKS_PROCESS_NAMES_H
#define IOSTRATA_STACKS_PROCESS_NAMES_H

#include "stacks/frame_names.h"
#include "stacks/process_frames.h"

struct process_names;

/* NULL: out of memory. */
struct process_names *process_names_new(void);
void process_names_free(struct process_names *p); /* NULL is fine */

/* Notes frame @number while its process is there. A function of Python is named at once; a perf map
 * is read when a name is asked for, since runtimes write it at any time. */
void process_names_note(struct process_names *p, unsigned int number,
			const struct process_frame *frame);

/* Fills in the name of frame @number, as far as it is known. */
void process_names_name(struct process_names *p, unsigned int number, struct frame_name *ret_name);

#endif
