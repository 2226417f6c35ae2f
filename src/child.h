/* SPDX-License-Identifier: GPL-2.0-only */
/* child.h - the command after "--": held until the probes are live, run as the caller. */
#ifndef IOSTRATA_CHILD_H
#define IOSTRATA_CHILD_H

#include <sys/types.h>

struct reason;

struct child {
	pid_t pid;
	int go;		/* a byte releases it, closing ends it */
	int failed;	/* errno of a failed exec comes from here */
};

/*
 * Forks a child that waits to become @argv. Under sudo it will run as the user who called sudo.
 * 0, or -1 with @why.
 */
int child_start(struct child *c, char **argv, struct reason *why);

/* Lets it run. 0, or -1 with @why (.exit is 126 or 127) if it could not be executed. */
int child_release(struct child *c, struct reason *why);

/* Ends a child that was not released, and waits for it. */
void child_abandon(struct child *c);

/* Exit code for others of a wait status: the child's, or 128 + its signal. */
int child_exit_code(int status);

#endif
