// SPDX-License-Identifier: GPL-2.0-only
#include "terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/opts.h"

enum { WIDTH_LEAST = 40, WIDTH_MOST = 500 };

int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS"), *why;
	struct winsize size = {};
	uint64_t n = 0;

	if ((!columns || opts_uint(columns, &n, &why)) && !ioctl(fd, TIOCGWINSZ, &size))
		n = size.ws_col;
	if (!n)
		return 0;
	return n < WIDTH_LEAST ? WIDTH_LEAST : n > WIDTH_MOST ? WIDTH_MOST : n;
}
