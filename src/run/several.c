// SPDX-License-Identifier: GPL-2.0-only
#include "run/several.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
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

/*
 * Waits until process @pid has ended. The user's signals are blocked, and come only while this
 * waits: none is overlooked before. A signal to the calling process alone is passed on. Without
 * pidfds, which Linux has since 5.3, the signals are overlooked until the process has ended.
 */
static void process_watch(pid_t pid, const sigset_t *open)
{
	struct pollfd end = { .fd = syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	while (end.fd >= 0 && ppoll(&end, 1, NULL, open) < 0 && errno == EINTR)
		if (interrupt_came())
			kill(pid, SIGTERM);
	if (end.fd >= 0)
		close(end.fd);
}

/* The exit code of a run. */
static int process_wait(pid_t pid, const sigset_t *open)
{
	int status;

	process_watch(pid, open);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One run, with the user's signals blocked until the calling process waits for it. Returns 0
 * in the process of the run, 1 in the calling process, or -1 with @why. */
static int one_fork(int *ret_exit, struct reason *why)
{
	sigset_t users, open;
	pid_t pid;

	sigemptyset(&users);
	sigaddset(&users, SIGINT);
	sigaddset(&users, SIGTERM);
	sigprocmask(SIG_BLOCK, &users, &open);
	fflush(NULL);
	pid = fork();
	if (pid > 0)
		*ret_exit = process_wait(pid, &open);
	else if (pid < 0)
		reason_set(why, EXIT_FAILED, "cannot fork: %s", strerror(errno));
	else
		signals_default();
	sigprocmask(SIG_SETMASK, &open, NULL);
	return pid < 0 ? -1 : pid > 0;
}

int several_fork(uint64_t n, uint64_t *ret_at, int *ret_exit, struct reason *why)
{
	int done = 1;

	*ret_exit = 0;
	interrupt_catch();
	for (*ret_at = 0; *ret_at < n; ++*ret_at) {
		done = one_fork(ret_exit, why);
		if (done <= 0 || *ret_exit || interrupt_came())
			return done;
	}
	return 1;
}
