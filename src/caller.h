/* SPDX-License-Identifier: GPL-2.0-only */
/* caller.h - under sudo: the user who called it; a command runs as that user. */
#ifndef IOSTRATA_CALLER_H
#define IOSTRATA_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

struct reason;

struct caller {
	bool is_other;		/* the caller is not who we run as; if false, the rest is not set */
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

#endif
