// SPDX-License-Identifier: GPL-2.0-only
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opts.h"
#include "reason.h"

/* An id that sudo left in the environment; false if there is none that makes sense. */
static bool sudo_id(const char *variable, unsigned int *ret_id)
{
	const char *text = getenv(variable), *why;
	uint64_t id;

	if (!text || opts_uint(text, &id, &why) || id >= UINT_MAX)
		return false;
	*ret_id = id;
	return true;
}

/* Under sudo, back to who called it: all or nothing. */
static int become_caller(void)
{
	const char *user = getenv("SUDO_USER");
	unsigned int uid, gid;

	if (geteuid() != 0 || !user || !sudo_id("SUDO_UID", &uid) || !sudo_id("SUDO_GID", &gid))
		return 0;
	if (initgroups(user, gid) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -1;
	return 0;
}

static void child_run(char **argv, int go, int failed)
{
	sigset_t none;
	char byte;
	int err;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(go, &byte, 1) != 1)
		_exit(EXIT_TOOL);
	if (!become_caller())
		execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(EXIT_TOOL);
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int child_start(struct child *c, char **argv, struct reason *why)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC))
		return reason_set(why, EXIT_FAILED, "cannot start '%s': %s", argv[0],
				  strerror(errno));
	if (pipe2(failed, O_CLOEXEC)) {
		reason_set(why, EXIT_FAILED, "cannot start '%s': %s", argv[0], strerror(errno));
		close(go[0]);
		close(go[1]);
		return -1;
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		close(failed[0]);
		child_run(argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	c->go = go[1];
	c->failed = failed[0];
	if (c->pid > 0)
		return 0;
	reason_set(why, EXIT_FAILED, "cannot start '%s': %s", argv[0], strerror(errno));
	close(c->go);
	close(c->failed);
	return -1;
}

int child_release(struct child *c, struct reason *why)
{
	int err = 0;
	ssize_t n;

	n = write(c->go, "", 1);
	close(c->go);
	c->go = -1;
	if (n == 1)
		n = read(c->failed, &err, sizeof(err));
	close(c->failed);
	c->failed = -1;
	if (n == 0)
		return 0;
	if (n != sizeof(err))
		return reason_set(why, EXIT_TOOL, "cannot start the command: it is gone");
	waitpid(c->pid, NULL, 0);
	return reason_set(why, err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
			  "cannot execute the command: %s", strerror(err));
}

void child_abandon(struct child *c)
{
	close(c->go);
	close(c->failed);
	waitpid(c->pid, NULL, 0);
}

int child_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
