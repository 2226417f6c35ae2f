// SPDX-License-Identifier: GPL-2.0-only
#include "run/program.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"
#include "run/deputy.h"

/* Whether @name is the path of a file without any x: execve(2) refuses it to root, too. A name
 * without a slash is looked up in $PATH, so the answer is no. */
static bool nobody_may_execute(const char *name)
{
	struct stat st;

	return strchr(name, '/') && !stat(name, &st) &&
	       (S_ISDIR(st.st_mode) || !(st.st_mode & 0111));
}

/* Whether execvp(3) would find a file called @name, of any kind. */
static bool is_found(const char *name)
{
	char path[PATH_MAX], standard[PATH_MAX] = "";
	const char *dir = getenv("PATH");
	int len;

	if (!dir && confstr(_CS_PATH, standard, sizeof(standard)))
		dir = standard;
	if (strchr(name, '/') || !dir)
		return !access(name, F_OK) || errno != ENOENT;
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		snprintf(path, sizeof(path), "%.*s%s%s", len, dir, len ? "/" : "", name);
		if (!access(path, F_OK) || errno != ENOENT)
			return true;
		if (!dir[len])
			return false;
	}
}

int program_check(const char *file)
{
	return !is_found(file) ? -ENOENT : nobody_may_execute(file) ? -EACCES : 0;
}

int program_start(const char *file, const char *arg)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : 0;
	deputy_signals(SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	execlp(file, file, arg, (char *)NULL);
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int program_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int program_ended(bool wait)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	return pid > 0 ? program_status(status) : -1;
}
