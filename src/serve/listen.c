// SPDX-License-Identifier: GPL-2.0-only
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/opts.h"
#include "base/reason.h"

/* Clients that come at once wait here, until the tool takes them. */
enum { BACKLOG = 1024 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static void url_print(struct listening *l, const union address *a)
{
	char host[INET6_ADDRSTRLEN] = "";
	bool v4 = a->any.sa_family == AF_INET;

	inet_ntop(a->any.sa_family, v4 ? (void *)&a->v4.sin_addr : (void *)&a->v6.sin6_addr, host,
		  sizeof(host));
	snprintf(l->url, sizeof(l->url), v4 ? "http://%s:%u/" : "http://[%s]:%u/", host,
		 ntohs(v4 ? a->v4.sin_port : a->v6.sin6_port));
}

/* "1.2.3.4:5", "[::1]:5". Returns the length of the address, or 0 if it is none. */
static socklen_t address_parse(const char *text, union address *ret)
{
	const char *colon = strrchr(text, ':'), *what;
	char host[INET6_ADDRSTRLEN + 2];
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t port;

	if (!len || len >= sizeof(host) || opts_uint(colon + 1, &port, &what) || port > UINT16_MAX)
		return 0;
	memcpy(host, text, len);
	host[len] = '\0';
	*ret = (union address){};
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons(port);
		return inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1 ? sizeof(ret->v6) : 0;
	}
	ret->v4.sin_family = AF_INET;
	ret->v4.sin_port = htons(port);
	return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1 ? sizeof(ret->v4) : 0;
}

static int bind_to(int fd, union address *a, socklen_t len)
{
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &a->any, len) || listen(fd, BACKLOG) || getsockname(fd, &a->any, &len))
		return -errno;
	return 0;
}

int listen_open(const char *text, struct listening *ret, struct reason *why)
{
	union address a = {};
	socklen_t len = address_parse(text, &a);
	int fd, err;

	if (!len) {
		reason_set(why, EXIT_USAGE,
			   "--listen '%.60s': not an IP address and a port up to 65535", text);
		return reason_hint(why, "for example 127.0.0.1:9740, or [::]:9740 for everybody");
	}
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 ? -errno : bind_to(fd, &a, len);
	if (err) {
		if (fd >= 0)
			close(fd);
		reason_set(why, EXIT_FAILED, "cannot listen on '%.60s': %s", text, strerror(-err));
		if (err == -EADDRINUSE)
			reason_hint(why, "another process listens there: 'ss -ltnp' tells which");
		if (err == -EACCES)
			reason_hint(why,
				    "ports below 1024 need another privilege: use a higher port");
		if (err == -EINVAL && a.any.sa_family == AF_INET6)
			reason_hint(why, "link-local addresses (fe80::) are not supported");
		if (err == -EADDRNOTAVAIL)
			reason_hint(why, "no network device of this machine has this address: "
					 "'ip address' lists those that have one");
		return -1;
	}
	*ret = (struct listening){ .fd = fd, .loopback = is_loopback(&a) };
	url_print(ret, &a);
	return 0;
}
