// SPDX-License-Identifier: GPL-2.0-only
#include "run/several.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"
#include "run/run.h"

/* Signals of the user end a run; the calling process only waits for it. */
static void signals_default(void)
{
	static const int signals[] = { SIGINT, SIGTERM };
	struct sigaction was;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
			signal(signals[i], SIG_DFL);
}

/* The exit code of a run. A signal to the calling process alone is passed on. */
static int process_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return EXIT_FAILED;
		if (interrupt_came())
			kill(pid, SIGTERM);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int several_fork(uint64_t n, uint64_t *ret_at, int *ret_exit, struct reason *why)
{
	pid_t pid;

	*ret_exit = 0;
	interrupt_catch();
	for (*ret_at = 0; *ret_at < n; ++*ret_at) {
		fflush(NULL);
		pid = fork();
		if (pid < 0)
			return reason_set(why, EXIT_FAILED, "cannot fork: %s", strerror(errno));
		if (!pid) {
			signals_default();
			return 0;
		}
		*ret_exit = process_wait(pid);
		if (*ret_exit || interrupt_came())
			return 1;
	}
	return 1;
}
