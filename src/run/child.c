// SPDX-License-Identifier: GPL-2.0-only
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"
#include "host/pidns.h"
#include "host/rlimits.h"
#include "run/program.h"

enum { WIDE_GAP = 1024 };

/*
 * The child is traced already. Until exec, any I/O of the child, even a read or a close of a pipe,
 * would count as the command's. So the child polls, and closes nothing.
 */
static int wait_for_release(const struct child *c)
{
	struct pollfd fds[] = { { .fd = c->go, .events = POLLIN },
				{ .fd = c->self, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return -1;
	return fds[0].revents & POLLIN ? 0 : -1;
}

static void child_run(const struct child *c, char **argv, int failed)
{
	int err;

	if (wait_for_release(c))
		_exit(EXIT_TOOL);
	if (c->output_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(EXIT_TOOL);
	if (!rlimits_restore(&c->limits) && !caller_become(&c->caller))
		execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(EXIT_TOOL);
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* Whether @name is a command that only a shell has. */
static bool is_of_shells(const char *name)
{
	static const char *const names[] = { "alias", "cd",     "exec",   "export", "for",
					     "if",    "source", "ulimit", "umask",  "while" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int cannot_execute(const struct child *c, int err, struct reason *why)
{
	reason_set(why, err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
		   "cannot execute '%.200s': %s", c->name, strerror(err));
	if (err == ENOENT && is_of_shells(c->name))
		return reason_hint(why, "only a shell has this command: -- sh -c '...'");
	if (err == ENOENT && strpbrk(c->name, " ;|&<>"))
		return reason_hint(why, "a command line in quotes needs a shell: -- sh -c '...'");
	return -1;
}

static int cannot(struct reason *why, const char *verb, int err)
{
	return reason_set(why, EXIT_TOOL, "cannot %s the command: %s", verb, strerror(err));
}

int child_prepare(struct child *c, const char *name, struct reason *why)
{
	int err = program_check(name);

	c->name = name;
	if (err)
		return cannot_execute(c, -err, why);
	if (caller_find(&c->caller, why))
		return -1;
	c->go = eventfd(0, EFD_CLOEXEC);
	c->self = syscall(SYS_pidfd_open, getpid(), 0);
	if (c->go < 0 || c->self < 0)
		return cannot(why, "prepare", errno);
	return 0;
}

int child_start(struct child *c, char **argv, struct reason *why)
{
	int failed[2];

	if (pipe2(failed, O_CLOEXEC))
		return cannot(why, "start", errno);
	c->pid = fork();
	if (c->pid == 0)
		child_run(c, argv, failed[1]);
	c->failed = failed[0];
	if (c->pid > 0)
		c->ended = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->ended < 0)
		cannot(why, "start", errno);
	close(failed[1]);
	return c->ended < 0 ? -1 : 0;
}

void child_release(struct child *c)
{
	c->released = true;
	eventfd_write(c->go, 1); /* the counter has room for it */
}

int child_executed(struct child *c, struct reason *why)
{
	int err = 0;
	ssize_t n = read(c->failed, &err, sizeof(err));

	close(c->failed);
	c->failed = -1;
	if (n != sizeof(err))
		return 0;
	waitpid(c->pid, NULL, 0);
	return cannot_execute(c, err, why);
}

int child_reap(struct child *c, int if_0)
{
	int status;

	if (waitpid(c->pid, &status, 0) < 0)
		return EXIT_TOOL;
	return status ? program_status(status) : if_0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void child_done(struct child *c)
{
	/* the waiting child holds our pipes open; readers would hang */
	if (c->pid > 0 && !c->released && !kill(c->pid, SIGKILL))
		waitpid(c->pid, NULL, 0);
	caller_done(&c->caller);
	close_fd(&c->self);
	close_fd(&c->go);
	close_fd(&c->ended);
	close_fd(&c->failed);
}

/*
 * Closes all descriptors with a type of file; programs, links, maps and events have none, and
 * stay. An open output would make its readers wait for the end of this process. New descriptors
 * take the lowest free number, so after a wide gap of numbers there are no more.
 */
static void close_files(int except)
{
	struct stat st;

	for (int fd = 0, gap = 0; gap < WIDE_GAP; fd++) {
		if (fstat(fd, &st)) {
			gap++;
			continue;
		}
		gap = 0;
		if (fd != except && st.st_mode & S_IFMT)
			close(fd);
	}
}

/* Leaves the terminal, and holds the programs open until the tool closes its end of @parent. */
static void hold_open(int parent)
{
	char none;

	setsid();
	close_files(parent);
	while (read(parent, &none, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/*
 * Not in a pid namespace: it may end with the tool. There the first process waits for the end of
 * the others, and the detaching process waits for the first. Neither can be killed (seen on 6.1).
 */
int child_hold_open(void)
{
	int ends[2];
	pid_t pid;

	if (!pidns_is_first() || pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		hold_open(ends[0]);
	}
	close(ends[0]);
	if (pid >= 0)
		return ends[1];
	close(ends[1]);
	return -1;
}

void child_let_go(int hold)
{
	if (hold >= 0)
		close(hold);
}
