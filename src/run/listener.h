/* SPDX-License-Identifier: GPL-2.0-only */
/* listener.h - a process of the tool, working during the run with the data sent to it. */
#ifndef IOSTRATA_RUN_LISTENER_H
#define IOSTRATA_RUN_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

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

/* Forks a listener. It calls @serve with the other end of .feed, and exits with the result. Returns
 * 0 or -errno. */
int listener_start(struct listener *s, int (*serve)(void *arg, int feed), void *arg);

/* Whether the listener has ended by itself. */
bool listener_has_ended(struct listener *s);

/* Ends the listener, if there is one, and waits for its end. */
void listener_end(struct listener *s);

#endif
