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
struct sent_stack;
struct session;
struct snapshot;
struct stack_begin;
struct stack_run;

enum { STACKS_PER_CPU = 200 /* a second, the default */ };

/* A stack of the run: @number in stack_run_take()'s stacks, from 1 on, 0: it is not among them;
 * @fs_slot: see session_fs_slot(). */
typedef void stack_sink(void *arg, const struct sent_stack *s, unsigned int number, int fs_slot);

struct stack_conf {
	struct opt_strings hide;      /* libraries that are not the program's own code */
	const struct opt_strings *fs; /* only on these types of file systems; NULL: all */
	uint64_t per_second;          /* stacks on all CPUs; 0: of all operations */
	stack_sink *sink;             /* is shown each stack; NULL: nobody */
	void *sink_arg;
};

/* The default of .per_second on this machine. */
uint64_t stacks_per_second(void);

/* Forks the deputy, while the tool has its privileges. Returns 0 with @ret, or -1 with @why. */
int stack_run_start(const struct stack_conf *conf, const struct stack_begin *begin,
		    struct stack_run **ret, struct reason *why);

/* The session is open. Returns 0, or -1 with @why. */
int stack_run_open(struct stack_run *r, struct session *s, struct reason *why);

/* Periodic work, after session_beat(). */
void stack_run_beat(struct stack_run *r);

/* Adds the stacks since the last call to @sn. Returns 0 or -ENOMEM. */
int stack_run_take(struct stack_run *r, struct snapshot *sn);

void stack_run_end(struct stack_run *r); /* NULL is fine */

#endif
