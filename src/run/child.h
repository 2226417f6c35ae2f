/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h - the command after "--", held until the probes are live. It runs as the caller, with the
 * caller's signals and limits. Another process holds programs open while the kernel detaches them.
 * Nothing here prints.
 */
#ifndef IOSTRATA_RUN_CHILD_H
#define IOSTRATA_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/rlimits.h"
#include "run/caller.h"

struct reason;

/* The command. */
struct child {
	struct rlimits limits; /* the caller's, for the command */
	struct caller caller;
	int self; /* a pidfd of the tool */
	int go;   /* an eventfd; any number lets the child go on */
	pid_t pid;
	int ended;  /* a pidfd: readable when the command has ended */
	int failed; /* a pipe with the errno of a failed exec; end of file: the command runs */
	bool released;
	bool output_to_stderr; /* the command's stdout becomes stderr: stdout is the tool's own */
	const char *name;      /* of the command */
};

/* No child; child_done() accepts it. */
#define CHILD_NONE                                                                                 \
	{                                                                                          \
		.self = -1, .go = -1, .ended = -1, .failed = -1                                    \
	}

/*
 * Reads files, and does all other work with early failures. Call it before the probes are live:
 * from child_start() on, the child's I/O counts as the command's. Fails if there is no file called
 * @name to be executed. Returns 0, or -1 with @why.
 */
int child_prepare(struct child *c, const char *name, struct reason *why);

/*
 * Forks a child. It waits to become @argv; under sudo, as the user who called sudo. Signals must
 * have the actions inherited by the tool. Returns 0, or -1 with @why.
 */
int child_start(struct child *c, char **argv, struct reason *why);

/* Lets the child become the command; c->failed reports the result. */
void child_release(struct child *c);

/* Call it when c->failed is readable: 0 if the command runs, or -1 with @why (.exit is 126 or 127).
 * Does not wait. */
int child_executed(struct child *c, struct reason *why);

/* Call it when c->ended is readable. Returns the command's exit code, or @if_0 in place of 0, or
 * 128 + its signal. */
int child_reap(struct child *c, int if_0);

/* Frees and closes all of @c, and kills an unreleased child. (If the tool has dropped the
 * privilege to kill the child, the child ends when the tool ends.) */
void child_done(struct child *c);

/*
 * Forks a process that shares the tool's programs and links until child_let_go(). Detaching can
 * take the kernel seconds for some functions, and minutes for hundreds of kprobes. With this
 * process, the kernel detaches them after child_let_go(), and the tool does not wait. Returns the
 * argument for child_let_go(); -1 if the fork fails, then the tool waits while they are detached.
 */
int child_hold_open(void);
void child_let_go(int hold);

#endif
