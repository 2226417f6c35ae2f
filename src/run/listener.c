// SPDX-License-Identifier: GPL-2.0-only
#include "run/listener.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/deputy.h"

/* The feed is a pair of sockets, since a write to a socket can time out. Only one direction is
 * open. */
static int feed_open(int ret_ends[2])
{
	struct timeval wait = { .tv_sec = FEED_WAIT_S };
	int err = 0, bytes = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret_ends))
		return -errno;
	if (shutdown(ret_ends[0], SHUT_RD) ||
	    setsockopt(ret_ends[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)))
		err = -errno;
	/* fewer wake-ups of the server; the kernel's limit may be less */
	setsockopt(ret_ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (err) {
		close(ret_ends[0]);
		close(ret_ends[1]);
	}
	return err;
}

int listener_start(struct listener *s, int (*serve)(void *arg, int feed), void *arg)
{
	int ends[2], err = feed_open(ends);

	if (err)
		return err;
	s->pid = fork();
	if (!s->pid) {
		close(ends[0]);
		deputy_signals(SIG_IGN);
		deputy_ignore_usr1();
		_exit(serve(arg, ends[1]));
	}
	err = s->pid < 0 ? -errno : 0;
	close(ends[1]);
	s->feed = ends[0];
	if (err)
		close(ends[0]);
	return err;
}

bool listener_has_ended(struct listener *s)
{
	if (s->pid <= 0 || waitpid(s->pid, NULL, WNOHANG) != s->pid)
		return false;
	close(s->feed);
	s->pid = 0;
	return true;
}

/* A server that is stopped would not see the end of its feed. */
void listener_end(struct listener *s)
{
	if (s->pid <= 0)
		return;
	close(s->feed);
	if (!kill(s->pid, SIGKILL))
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	s->pid = 0;
}
