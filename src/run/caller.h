/* SPDX-License-Identifier: GPL-2.0-only */
/* caller.h - the user who called sudo, as whom commands and deputies run. */
#ifndef IOSTRATA_RUN_CALLER_H
#define IOSTRATA_RUN_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

struct reason;

/* Under sudo: the user who called sudo. Commands run as this user. */
struct caller {
	bool is_other; /* the caller is not the tool's user; if false, the rest is not set */
	uid_t uid;
	gid_t gid, *groups;
	int n_groups;
	char *name, *home, *shell;
};

/* Reads the files of users and groups, so that caller_become() need not do this. Returns 0, or -1
 * with @why.
 */
int caller_find(struct caller *c, struct reason *why);

/* Becomes the caller for good, without reading a file. Without sudo, drops those privileges of this
 * process that its user does not have. Returns 0, or -1 with errno. */
int caller_become(const struct caller *c);

void caller_done(struct caller *c);

#endif
