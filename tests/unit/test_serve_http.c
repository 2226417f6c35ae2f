// SPDX-License-Identifier: GPL-2.0-only
/* The server of `serve` when its process is out of descriptors: it neither spins nor gives up. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "serve/http.h"

enum { FEW = 64 };

static void answer(void *arg, const struct http_request *rq, struct http_client *client)
{
	unsigned int *asked = arg;

	(void)rq;
	++*asked;
	http_answer(client,
		    &(struct http_answer){ .status = 200, .body = "it is here", .len = 10 });
}

static int listen_anywhere(struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)ret, len), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

/* A process that asks, and ends with 0 if the answer is right. */
static pid_t client_start(const struct sockaddr_in *to)
{
	const char *text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	char got[2048] = "";
	size_t n = 0;
	ssize_t more;
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) ||
	    write(fd, text, strlen(text)) < 0)
		_exit(1);
	while ((more = read(fd, got + n, sizeof(got) - 1 - n)) > 0)
		n += more;
	_exit(!strstr(got, "HTTP/1.1 200 OK\r\n") || !strstr(got, "\r\n\r\nit is here"));
}

static void run_for(struct event_base *base, int ms)
{
	const struct timeval time = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	event_base_loopexit(base, &time);
	event_base_dispatch(base);
}

static void test_no_descriptors(void **state)
{
	struct rlimit limit, few;
	struct sockaddr_in to;
	struct event_base *base = event_base_new();
	int listener = listen_anywhere(&to), taken[FEW], n = 0, status = -1;
	unsigned int asked = 0;
	struct http *h;
	uint64_t cpu;
	pid_t pid;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	h = http_open(base, listener, answer, &asked);
	assert_non_null(h);
	pid = client_start(&to);
	few = (struct rlimit){ FEW, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < FEW && (taken[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	assert_true(n > 0 && n < FEW);
	cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	run_for(base, 1500);
	/* libevent alone would take all of the 1.5 s */
	assert_true(clock_read(CLOCK_PROCESS_CPUTIME_ID) - cpu < 300000000);
	assert_int_equal(asked, 0);
	while (n)
		close(taken[--n]);
	for (int i = 0; i < 100 && waitpid(pid, &status, WNOHANG) != pid; i++)
		run_for(base, 100);
	assert_int_equal(asked, 1);
	assert_int_equal(status, 0);
	http_free(h);
	event_base_free(base);
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* With as many clients as there may be, the oldest that does not ask makes room. */
static void test_room(void **state)
{
	enum { IDLE = 40 };
	struct rlimit limit, few;
	struct sockaddr_in to;
	struct event_base *base = event_base_new();
	int listener = listen_anywhere(&to), status = -1;
	pid_t idle, pid;
	unsigned int asked = 0;
	struct http *h;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){ 32, limit.rlim_max };
	idle = fork();
	if (!idle) {
		for (int i = 0; i < IDLE; i++) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);

			if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
				_exit(1);
		}
		pause();
	}
	h = http_open(base, listener, answer, &asked);
	assert_non_null(h);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	run_for(base, 300);
	pid = client_start(&to);
	for (int i = 0; i < 30 && waitpid(pid, &status, WNOHANG) != pid; i++)
		run_for(base, 100);
	assert_int_equal(asked, 1);
	assert_int_equal(status, 0);
	kill(idle, SIGKILL);
	waitpid(idle, NULL, 0);
	http_free(h);
	event_base_free(base);
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
