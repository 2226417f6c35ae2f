/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h - the processes forked by the tool. The command after "--" is held until the probes are
 * live. It runs as the caller, with the caller's signals and limits. Another process holds programs
 * open while the kernel detaches them. A deputy works after the run, a listener beside it. Nothing
 * here prints.
 */
#ifndef IOSTRATA_RUN_CHILD_H
#define IOSTRATA_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "host/privilege.h"

struct reason;

/* Under sudo: the user who called sudo. Commands run as this user. */
struct caller {
	bool is_other; /* the caller is not the tool's user; if false, the rest is not set */
	uid_t uid;
	gid_t gid, *groups;
	int n_groups;
	char *name, *home, *shell;
};

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
 * @name to be executed. 0, or -1 with @why.
 */
int child_prepare(struct child *c, const char *name, struct reason *why);

/*
 * Forks a child, which waits to become @argv; under sudo, as the user who called sudo. Signals must
 * have the actions inherited by the tool. 0, or -1 with @why.
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
 * Forks a process, which shares the tool's programs and links until child_let_go(). Detaching can
 * take the kernel seconds for some functions, and minutes for hundreds of kprobes. With this
 * process, the kernel detaches them after child_let_go(), and the tool does not wait. Returns the
 * argument for child_let_go(); -1 if the fork fails, then the tool waits while they are detached.
 */
int child_hold_open(void);
void child_let_go(int hold);

/* A deputy: a process of the tool. It works after the run or beside it, since the tool itself has
 * dropped its privileges. */
struct deputy {
	pid_t pid;
	int go; /* any byte lets the deputy work; closed: it gives up; -1: it works already */
};

/* The functions of a deputy. Under sudo, all run as the caller. */
struct deputy_work {
	int (*prepare)(void *arg);  /* now, to see whether .work can succeed; 0 or -errno */
	int (*work)(void *arg);     /* after the run or beside it; returns the exit code */
	void (*give_up)(void *arg); /* instead of .work */
	void *arg;
	bool stays; /* signals do not end the deputy while it works, either: .work ends by itself */
};

/* Forks a deputy with the tool's present privileges. Signals do not end a deputy before it works.
 * 0, or -errno of .prepare. */
int deputy_start(struct deputy *h, const struct deputy_work *work);

/* Lets the deputy work beside the run. */
void deputy_go(struct deputy *h);

/* Whether the deputy has ended before deputy_end(), which then does nothing. */
bool deputy_has_ended(struct deputy *h);

/* Lets the deputy work, or give up, and waits for its end. Returns its exit code. */
int deputy_end(struct deputy *h, bool work);

/* A copy: a forked process, which works on the tool's memory as it was at the fork, while the tool
 * goes on. It has no descriptors but the standard ones and the two of @keep: a copy that waits for
 * a disk holds no program in the kernel. It ends with 0 if @work returns 0. Returns its pid, or
 * -errno. */
pid_t copy_start(int (*work)(void *arg), void *arg, const int keep[2]);

enum copy_state { COPY_RUNS, COPY_WORKED, COPY_FAILED };

/* @wait: until it has ended. Not to be called again after its end. */
enum copy_state copy_look(pid_t pid, bool wait);

/* Whether the program @file can be executed, as far as is known now: 0, -ENOENT or -EACCES. */
int program_check(const char *file);

/* For a deputy: starts the program @file with one argument and the signals of a new program, and
 * does not wait. 0, or -errno if there is no process for it; a failed exec is the status 126 or
 * 127. */
int program_start(const char *file, const char *arg);

/* The exit status of a started program that has ended: 128 + its signal if one ended it. @wait:
 * wait for one to end. -1: none has ended. */
int program_ended(bool wait);

/*
 * A listener: a process of the tool. It works during the run with the data that the tool writes to
 * .feed, and ends when .feed is closed: so it does not outlive the tool. Nothing comes back from
 * it. Signals to the process group do not end it.
 */
struct listener {
	pid_t pid; /* 0: none */
	int feed;  /* a socket, for send(2); takes no data for FEED_WAIT_S: an error of time-out */
};

enum { FEED_WAIT_S = 10 };

/* Forks a listener, which calls @serve with the other end of .feed, and exits with its result. 0 or
 * -errno. */
int listener_start(struct listener *s, int (*serve)(void *arg, int feed), void *arg);

/* Whether the listener has ended by itself. */
bool listener_has_ended(struct listener *s);

/* Ends the listener, if there is one, and waits for its end. */
void listener_end(struct listener *s);

#endif
