// SPDX-License-Identifier: GPL-2.0-only
#include "run/deputy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/reason.h"
#include "run/caller.h"

void deputy_signals(void (*action)(int))
{
	signal(SIGINT, action);
	signal(SIGTERM, action);
	signal(SIGHUP, action);
}

void deputy_ignore_usr1(void)
{
	signal(SIGUSR1, SIG_IGN);
}

bool deputy_wait(int fd, int ms)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ms) > 0;
}

static void deputy_run(const struct deputy_work *w, int go, int ready)
{
	struct caller caller = {};
	struct reason why;
	ssize_t n;
	int err;
	char any;

	deputy_signals(SIG_IGN);
	deputy_ignore_usr1();
	err = caller_find(&caller, &why) ? -EPERM : caller_become(&caller) ? -errno : 0;
	if (!err)
		err = w->prepare(w->arg);
	if (write(ready, &err, sizeof(err)) < 0 || err)
		_exit(EXIT_TOOL);
	close(ready);
	while ((n = read(go, &any, 1)) < 0 && errno == EINTR)
		;
	if (!w->stays || n != 1)
		deputy_signals(SIG_DFL);
	if (n == 1)
		_exit(w->work(w->arg));
	w->give_up(w->arg);
	_exit(0);
}

int deputy_start(struct deputy *h, const struct deputy_work *work)
{
	int go[2], ready[2], err = -EIO;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(ready, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	h->pid = fork();
	if (!h->pid) {
		close(go[1]);
		close(ready[0]);
		deputy_run(work, go[0], ready[1]);
	}
	if (h->pid < 0)
		err = -errno;
	close(go[0]);
	close(ready[1]);
	if (h->pid > 0 && read(ready[0], &err, sizeof(err)) != sizeof(err))
		err = -EIO;
	close(ready[0]);
	h->go = go[1];
	if (err)
		deputy_end(h, false);
	return err;
}

void deputy_go(struct deputy *h)
{
	if (write(h->go, "", 1) == 1) {
		close(h->go);
		h->go = -1;
	}
}

bool deputy_has_ended(struct deputy *h)
{
	if (h->pid <= 0 || waitpid(h->pid, NULL, WNOHANG) != h->pid)
		return false;
	h->pid = 0;
	return true;
}

int deputy_end(struct deputy *h, bool work)
{
	int status = 0;

	if (h->pid <= 0)
		return 0;
	if (work && h->go >= 0)
		deputy_go(h);
	if (h->go >= 0)
		close(h->go);
	while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_TOOL;
}
