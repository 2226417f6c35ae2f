/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * io_stacks.h - user stacks in a run: hands files that stacks meet to the deputy, and its tables to
 * the session; sets how many stacks are taken; names frames at the end of an interval.
 */
#ifndef IOSTRATA_RUN_IO_STACKS_H
#define IOSTRATA_RUN_IO_STACKS_H

#include <stdint.h>

#include "base/opts.h"

struct reason;
struct session;
struct snapshot;
struct stack_run;

enum { STACKS_PER_CPU = 200 /* a second, the default */ };

struct stack_conf {
	struct opt_strings hide; /* libraries that are not the program's own code */
	uint64_t per_second;     /* stacks on all CPUs; 0: of all operations */
};

/* Forks the deputy, while the tool has its privileges. It begins with the files of the @n processes
 * @pids, and with those of the tool, whose C library is most programs'. Returns 0 with @ret, or -1
 * with @why. */
int stack_run_start(const struct stack_conf *conf, const unsigned int *pids, unsigned int n,
		    struct stack_run **ret, struct reason *why);

/* The session is open. Returns 0, or -1 with @why. */
int stack_run_open(struct stack_run *r, struct session *s, struct reason *why);

/* Periodic work, after session_beat(). */
void stack_run_beat(struct stack_run *r);

/* Adds the stacks since the last call to @sn. Returns 0 or -ENOMEM. */
int stack_run_take(struct stack_run *r, struct snapshot *sn);

void stack_run_end(struct stack_run *r); /* NULL is fine */

#endif
