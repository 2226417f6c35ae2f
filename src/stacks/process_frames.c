// SPDX-License-Identifier: GPL-2.0-only
#include "stacks/process_frames.h"

#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

#include "event.h"

struct known_process_frame {
	struct process_frame frame;
	unsigned int number;
	UT_hash_handle hh;
};

bool process_frame_is(unsigned long long frame)
{
	return frame & STACK_PYTHON || !STACK_FRAME_FILE(frame);
}

/* Adds @f with the next number. Returns 0 or -ENOMEM. */
static int frame_add(struct process_frames *p, const struct process_frame *f,
		     struct known_process_frame **ret)
{
	struct known_process_frame *known = calloc(1, sizeof(*known));

	if (!p->list)
		p->list = calloc(PROCESS_FRAMES_MOST, sizeof(*p->list));
	if (!known || !p->list) {
		free(known);
		return -ENOMEM;
	}
	known->frame = *f;
	known->number = ++p->n;
	p->list[known->number] = known;
	HASH_ADD(hh, p->by_frame, frame, sizeof(known->frame), known);
	*ret = known;
	return 0;
}

int process_frames_number(struct process_frames *p, const struct process_frame *f,
			  unsigned long long *ret_frame)
{
	struct known_process_frame *known;
	int err;

	HASH_FIND(hh, p->by_frame, f, sizeof(*f), known);
	if (!known && p->n + 1 < PROCESS_FRAMES_MOST) {
		err = frame_add(p, f, &known);
		if (err)
			return err;
	}
	*ret_frame = STACK_FRAME((unsigned long long)STACK_OF_PROCESS, known ? known->number : 0);
	return 0;
}

const struct process_frame *process_frames_get(const struct process_frames *p,
					       unsigned long long number)
{
	return number && number <= p->n ? &p->list[number]->frame : NULL;
}

void process_frames_done(struct process_frames *p)
{
	struct known_process_frame *known, *next;

	HASH_ITER (hh, p->by_frame, known, next) {
		HASH_DEL(p->by_frame, known);
		free(known);
	}
	free(p->list);
	*p = (struct process_frames){};
}
