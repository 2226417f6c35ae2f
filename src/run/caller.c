// SPDX-License-Identifier: GPL-2.0-only
#include "run/caller.h"

#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reason.h"
#include "host/privilege.h"

static int find_groups(struct caller *c)
{
	int n = 0;

	getgrouplist(c->name, c->gid, NULL, &n);
	c->groups = calloc(n, sizeof(*c->groups));
	if (!c->groups || getgrouplist(c->name, c->gid, c->groups, &n) < 0)
		return -ENOMEM;
	c->n_groups = n;
	return 0;
}

/* Finds name, home and shell as login(1) does. A user without an entry gets "/" and the usual
 * shell. */
static int find_home(struct caller *c, const char *user)
{
	const struct passwd *pw = getpwuid(c->uid);
	char number[16];

	snprintf(number, sizeof(number), "%u", c->uid);
	c->name = strdup(user ? user : pw ? pw->pw_name : number);
	c->home = strdup(pw && *pw->pw_dir ? pw->pw_dir : "/");
	c->shell = strdup(pw && *pw->pw_shell ? pw->pw_shell : "/bin/sh");
	return c->name && c->home && c->shell ? 0 : -ENOMEM;
}

int caller_find(struct caller *c, struct reason *why)
{
	const char *user = getenv("SUDO_USER");
	int by_sudo, err;

#ifdef STATIC /* a static glibc can only load modules of the same version */
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("initgroups", "files");
#endif
	*c = (struct caller){};
	by_sudo = privilege_sudo_ids(&c->uid, &c->gid, why);
	if (by_sudo <= 0)
		return by_sudo;
	c->is_other = true;
	err = find_home(c, user);
	if (!err)
		err = find_groups(c);
	if (err)
		return reason_set(why, EXIT_TOOL, "cannot look up who called sudo: %s",
				  strerror(-err));
	return 0;
}

int caller_become(const struct caller *c)
{
	if (!c->is_other)
		return geteuid() ? privilege_clear() : 0;
	if (setgroups(c->n_groups, c->groups) || setresgid(c->gid, c->gid, c->gid) ||
	    setresuid(c->uid, c->uid, c->uid))
		return -1;
	if (setenv("HOME", c->home, 1) || setenv("SHELL", c->shell, 1) ||
	    setenv("USER", c->name, 1) || setenv("LOGNAME", c->name, 1))
		return -1;
	return 0;
}

void caller_done(struct caller *c)
{
	free(c->groups);
	free(c->name);
	free(c->home);
	free(c->shell);
	*c = (struct caller){};
}
