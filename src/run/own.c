// SPDX-License-Identifier: GPL-2.0-only
#include "run/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/program.h"

enum { FIRST = 16384, CANNOT_START = 126 };

/* In the new process: does not return. */
static void become(char *const argv[], int out, unsigned int seconds, bool messages)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(messages ? out : null, STDERR_FILENO) < 0)
		_exit(CANNOT_START);
	alarm(seconds); /* stays over the exec */
	execv("/proc/self/exe", argv);
	_exit(CANNOT_START);
}

/* Reads up to @max bytes, and closes @in: so a program with more to say ends. */
static int take(int in, size_t max, struct own_output *o)
{
	size_t cap = 0;
	ssize_t n = 1;
	char *more;

	while (n && !o->cut) {
		if (o->len + 1 >= cap) {
			cap = cap ? 2 * cap : FIRST;
			more = realloc(o->text, cap);
			if (!more)
				break;
			o->text = more;
		}
		n = read(in, o->text + o->len, cap - 1 - o->len);
		if (n < 0 && errno != EINTR)
			break;
		o->len += n > 0 ? n : 0;
		n = n < 0 ? 1 : n;
		o->cut = o->len > max;
	}
	close(in);
	if (n && !o->cut)
		return -ENOMEM;
	o->len = o->cut ? max : o->len;
	o->text[o->len] = '\0';
	return 0;
}

int own_run(char *const argv[], size_t max, unsigned int seconds, bool messages,
	    struct own_output *ret)
{
	struct own_output o = {};
	int ends[2], status = 0, err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		become(argv, ends[1], seconds, messages);
	err = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		err = take(ends[0], max, &o);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (err) {
		free(o.text);
		return err;
	}
	o.status = program_status(status);
	*ret = o;
	return 0;
}
