// SPDX-License-Identifier: GPL-2.0-only
#include "run/copy.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"

/* Closes all descriptors but the standard ones, @a and @b. */
static void close_but(unsigned int a, unsigned int b)
{
	unsigned int low = a < b ? a : b, high = a < b ? b : a;

	if (low > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

pid_t copy_start(int (*work)(void *arg), void *arg, const int keep[2])
{
	pid_t pid = fork();

	if (!pid) {
		close_but(keep[0], keep[1]);
		_exit(work(arg) ? EXIT_FAILED : 0);
	}
	return pid < 0 ? -errno : pid;
}

void copy_end_no_memory(void)
{
	_exit(COPY_NO_MEMORY);
}

bool copy_had_no_memory(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == COPY_NO_MEMORY;
}

enum copy_state copy_look(pid_t pid, bool wait)
{
	int status;
	pid_t ended;

	while ((ended = waitpid(pid, &status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	if (!ended)
		return COPY_RUNS;
	return ended == pid && !status ? COPY_WORKED : COPY_FAILED;
}
