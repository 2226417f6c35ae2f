/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h - the command after "--": held until the probes are live, run as the caller, with the
 * signals and limits that the caller gave us.
 */
#ifndef IOSTRATA_RUN_CHILD_H
#define IOSTRATA_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/privilege.h"

struct reason;

/* Under sudo: the user who called it; a command runs as that user. */

struct caller {
	bool is_other; /* the caller is not who we run as; if false, the rest is not set */
	uid_t uid;
	gid_t gid, *groups;
	int n_groups;
	char *name, *home, *shell;
};

/* Reads the files of users and groups, so that caller_become() need not. 0, or -1 with @why. */
int caller_find(struct caller *c, struct reason *why);

/* Becomes that user for good, without reading a file; without sudo, gives up the privileges of this
 * process that its user does not have. 0, or -1 with errno. */
int caller_become(const struct caller *c);

void caller_done(struct caller *c);

struct child {
	struct rlimits limits; /* the caller's, for the command */
	struct caller caller;
	int self; /* a pidfd of the tool */
	int go;   /* an eventfd; any number lets the child go on */
	pid_t pid;
	int ended;  /* a pidfd: readable when it has ended */
	int failed; /* errno of a failed exec; end of file: the command runs */
	bool released;
	bool output_to_stderr; /* the command's, since our stdout is for our own output */
	const char *name;      /* of the command */
};

/* No child; child_done() takes it. */
#define CHILD_NONE                                                                                 \
	{                                                                                          \
		.self = -1, .go = -1, .ended = -1, .failed = -1                                    \
	}

/*
 * Does what reads files or may fail early. Call it before the probes are live, since from
 * child_start() on, what the child does counts as the command's. @name is what will be executed; if
 * there is no such file, this fails already. 0, or -1 with @why.
 */
int child_prepare(struct child *c, const char *name, struct reason *why);

/*
 * Forks a child that waits to become @argv; under sudo, as the user who called sudo. Signals must
 * be as we got them. 0, or -1 with @why.
 */
int child_start(struct child *c, char **argv, struct reason *why);

/* Lets it run; c->failed reports the result. */
void child_release(struct child *c);

/* Call it when c->failed is readable: 0 if the command runs, or -1 with @why (.exit is 126 or 127).
 * Does not wait. */
int child_executed(struct child *c, struct reason *why);

/* Call it when c->ended is readable. Returns the command's exit code, or @if_0 in place of 0, or
 * 128 + its signal. */
int child_reap(struct child *c, int if_0);

/*
 * Forks a process that shares our programs and links until child_let_go(). What the kernel takes
 * long to detach (seconds for some functions, minutes for hundreds of kprobes) it detaches then,
 * after we have closed ours, and does not delay us. Returns what child_let_go() takes; -1 if the
 * fork fails, and detaching takes that long.
 */
int child_hold_open(void);
void child_let_go(int hold);

/* A process of the tool's own that works after the run, when the tool itself can do little more. */
struct helper {
	pid_t pid;
	int go; /* any byte lets it work; closed: it gives up */
};

/* What it does: at once, to see whether it can, then, or if that is not wanted. 0 or -errno; the
 * exit code; nothing. All run as the caller under sudo, and not as what the tool is. */
struct helper_work {
	int (*prepare)(void *arg);
	int (*work)(void *arg);
	void (*give_up)(void *arg);
	void *arg;
};

/* Forks it, as the tool is now; signals do not end it until it works. 0, or -errno of
 * .prepare. */
int helper_start(struct helper *h, const struct helper_work *work);

/* Lets it work, or give up, and waits for it to end. Returns its exit code. */
int helper_end(struct helper *h, bool work);

/* Closes what belongs to @c, and ends a child that was not released. (If the tool has given up what
 * that takes, the child ends when the tool does.) */
void child_done(struct child *c);

#endif
