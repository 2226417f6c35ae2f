/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twins.h - second copies of programs on tracepoints that the kernel may preempt (7.0).
 *
 * A program is refused while a preempted thread is inside it on the same CPU; then its twin, on the
 * same tracepoint, does its work. See first_to_see() in request.bpf.h.
 */
#ifndef IOSTRATA_TWINS_H
#define IOSTRATA_TWINS_H

#include <stdint.h>

struct bpf_program;
struct feature;

enum { MAX_TWINS = 16 };

struct twins {
	struct {
		int original;		/* descriptor, not owned */
		int prog, link;
	} at[MAX_TWINS];
	int n;
};

/* Loads the instructions of @prog (loaded, on tracepoint @name) once more and attaches that behind
 * it, with the cookie 1. 0 or -errno: the tracepoint has the one program only. */
int twins_add(struct twins *t, struct feature *feat, const struct bpf_program *prog,
	      const char *name);

/* Descriptor of the twin of program @prog_fd; -1 if it has none. */
int twins_of(const struct twins *t, int prog_fd);

void twins_done(struct twins *t);	/* detaches */

#endif
