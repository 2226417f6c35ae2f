// SPDX-License-Identifier: GPL-2.0-only
#include "run/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"
#include "run/caller.h"
#include "run/program.h"

static const char program[] = "debuginfod-find";

int debuginfod_check(struct reason *why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int err;

	if (!urls || !*urls) {
		reason_set(why, EXIT_FAILED,
			   "no server for debug files is known: DEBUGINFOD_URLS is "
			   "not set");
		reason_hint(why, "for example https://debuginfod.debian.net; sudo needs "
				 "--preserve-env=DEBUGINFOD_URLS");
		return -1;
	}
	err = program_check(program);
	if (!err)
		return 0;
	reason_set(why, EXIT_FAILED, "cannot start '%s': %s", program, strerror(-err));
	reason_hint(why, "its package is debuginfod or elfutils-debuginfod-client");
	return -1;
}

/* In the new process: does not return. The cache is below the home directory. */
static void become(const struct caller *c, const char *build_id, int out)
{
	if (dup2(out, STDOUT_FILENO) < 0 || (c->is_other && setenv("HOME", c->home, 1)) ||
	    caller_become(c))
		_exit(EXIT_NOT_EXECUTABLE);
	execlp(program, program, "debuginfo", build_id, (char *)NULL);
	_exit(EXIT_NOT_FOUND);
}

/* Reads a path and its newline. Returns whether it is one. */
static int path_read(int in, char path[PATH_MAX])
{
	size_t len = 0;
	ssize_t n;

	while (len < PATH_MAX &&
	       ((n = read(in, path + len, PATH_MAX - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? n : 0;
	if (len < 2 || *path != '/' || path[len - 1] != '\n')
		return 0;
	path[len - 1] = '\0';
	return strlen(path) == len - 1;
}

char *debuginfod_fetch(const struct caller *c, const char *build_id)
{
	char path[PATH_MAX];
	int ends[2], status = 0, is_path;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid)
		become(c, build_id, ends[1]);
	close(ends[1]);
	is_path = pid > 0 && path_read(ends[0], path);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return is_path && !status ? strdup(path) : NULL;
}
