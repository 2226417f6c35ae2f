// SPDX-License-Identifier: GPL-2.0-only
/* manual.c - opens the manual page of a command in man(1), for 'iostrata help COMMAND'. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/cmd.h"

enum { SHELL_FOUND_NO_COMMAND = 127 };

/* Asks man(1) for the path of @page. NULL if man(1) has the page, else why not. */
static const char *page_missing(const char *page)
{
	char command[64], path[2] = "";
	FILE *found;
	int status;

	snprintf(command, sizeof(command), "man -w %s 2>/dev/null", page);
	found = popen(command, "r");
	if (!found)
		return strerror(errno);
	/* some distributions have a substitute for man(1) that prints an excuse and succeeds */
	if (!fgets(path, sizeof(path), found))
		path[0] = '\0';
	status = pclose(found);
	if (path[0] == '/')
		return NULL;
	return WIFEXITED(status) && WEXITSTATUS(status) == SHELL_FOUND_NO_COMMAND
		       ? "man(1) is not installed"
		       : "the page is not installed";
}

void cmd_open_manual(const char *name)
{
	char page[32];
	const char *why;

	snprintf(page, sizeof(page), "iostrata-%s", name);
	why = page_missing(page);
	if (!why) {
		execlp("man", "man", page, NULL);
		why = strerror(errno);
	}
	cmd_say("warning: cannot open the manual page '%s': %s", page, why);
	cmd_say("hint: 'iostrata %s --help' follows instead", name);
}
