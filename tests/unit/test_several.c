// SPDX-License-Identifier: GPL-2.0-only
/* Runs in processes, one after the other: a signal at any time ends the run and those after it. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/reason.h"
#include "run/several.h"

static int signal_after_fork;

/* In the calling process, between its fork and its wait. */
static void after_fork(void)
{
	if (signal_after_fork)
		raise(signal_after_fork);
}

/* The exit status of a process with three runs, which gets signal @after, if not 0, after each
 * fork. Each run waits for a signal, or ends with @code. */
static int runs(bool waits, int code, int after, uint64_t *ret_at)
{
	static const struct sigaction heeded = { .sa_handler = SIG_DFL };
	struct reason why;
	int ends[2], status, run_exit;
	uint64_t at = 99;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		sigaction(SIGINT, &heeded, NULL); /* a shell's background jobs ignore it */
		signal_after_fork = after;
		status = several_fork(3, &at, &run_exit, &why);
		if (!status && waits) {
			alarm(60); /* so that a signal that nobody passed on fails this test */
			pause();
		}
		if (!status)
			_exit(code);
		if (write(ends[1], &at, sizeof(at)) != sizeof(at))
			_exit(99);
		_exit(run_exit);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(read(ends[0], ret_at, sizeof(*ret_at)), sizeof(*ret_at));
	close(ends[0]);
	close(ends[1]);
	return WEXITSTATUS(status);
}

static void runs_follow_one_another_until_one_fails(void **state)
{
	uint64_t at;

	(void)state;
	assert_int_equal(runs(false, 0, 0, &at), 0);
	assert_int_equal(at, 3);
	assert_int_equal(runs(false, 7, 0, &at), 7);
	assert_int_equal(at, 0);
}

/* A signal that comes before the wait has begun is passed on as one that comes later. */
static void a_signal_between_fork_and_wait_ends_the_run(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT };
	uint64_t at;

	(void)state;
	pthread_atfork(NULL, after_fork, NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(runs(true, 0, signals[i], &at), 128 + SIGTERM);
		assert_int_equal(at, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_follow_one_another_until_one_fails),
		cmocka_unit_test(a_signal_between_fork_and_wait_ends_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
