/* SPDX-License-Identifier: GPL-2.0-only */
/* listen.h - the address on which the tool serves. */
#ifndef IOSTRATA_SERVE_LISTEN_H
#define IOSTRATA_SERVE_LISTEN_H

#include <stdbool.h>

struct reason;

struct listening {
	int fd;
	bool loopback; /* only processes of this machine can reach it */
	char url[80];  /* "http://127.0.0.1:9740/" */
};

/* Listens on @text, an IP address and a port: "127.0.0.1:9740", "[::]:9740"; port 0 is any free
 * one. Returns 0, or -1 with @why. */
int listen_open(const char *text, struct listening *ret, struct reason *why);

#endif
