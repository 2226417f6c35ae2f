/* SPDX-License-Identifier: GPL-2.0-only */
/* deputy.h - a process forked early, for work with files: the tool has dropped its privileges
 * by then. */
#ifndef IOSTRATA_RUN_DEPUTY_H
#define IOSTRATA_RUN_DEPUTY_H

#include <stdbool.h>
#include <sys/types.h>

/* A deputy: a process of the tool. It works after the run or during it, since the tool itself has
 * dropped its privileges. */
struct deputy {
	pid_t pid;
	int go; /* any byte lets the deputy work; closed: it gives up; -1: it works already */
};

/* The functions of a deputy. Under sudo, all run as the caller. */
struct deputy_work {
	int (*prepare)(void *arg);  /* now, to see whether .work can succeed; 0 or -errno */
	int (*work)(void *arg);     /* after the run or during it; returns the exit code */
	void (*give_up)(void *arg); /* instead of .work */
	void *arg;
	bool stays; /* signals do not end the deputy while it works, either: .work ends by itself */
};

/* Forks a deputy with the tool's present privileges. Signals do not end a deputy before it works.
 * Returns 0, or -errno of .prepare. */
int deputy_start(struct deputy *h, const struct deputy_work *work);

/* Lets the deputy work during the run. */
void deputy_go(struct deputy *h);

/* Whether the deputy has ended before deputy_end(). Then deputy_end() does nothing. */
bool deputy_has_ended(struct deputy *h);

/* Lets the deputy work, or give up, and waits for its end. Returns its exit code. */
int deputy_end(struct deputy *h, bool work);

/* For a deputy: waits until something can be read from @fd, at most @ms; -1: for ever. Returns
 * whether it can. */
bool deputy_wait(int fd, int ms);

/* Sets what the signals that end the tool do in this process: SIG_IGN or SIG_DFL. */
void deputy_signals(void (*action)(int));

/* SIGUSR1 is for the tool, but 'pkill -USR1' and 'systemctl kill' send it to all its processes. */
void deputy_ignore_usr1(void);

#endif
