// SPDX-License-Identifier: GPL-2.0-only
#include "show/said.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

enum { SAID_LINE = 512, SAID_MAX = 64 << 10, SAID_S = 10 };

/* Global, as stderr is: the descriptor that replaces it, or -1; and the original one. */
static int said = -1, real = -1;

/* How much was kept when it was last looked at, and since when it is so much. */
static off_t seen;
static uint64_t seen_ns;

void said_keep(void)
{
	if (!isatty(STDERR_FILENO))
		return;
	said = memfd_create("said", MFD_CLOEXEC);
	real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (said >= 0 && real >= 0)
		dup2(said, STDERR_FILENO);
}

void said_give_back(void)
{
	char text[4096];
	off_t at = 0;
	ssize_t n;

	if (real >= 0)
		dup2(real, STDERR_FILENO);
	while (said >= 0 && at < SAID_MAX && (n = pread(said, text, sizeof(text), at)) > 0) {
		n = write(STDERR_FILENO, text, n);
		at += n > 0 ? n : SAID_MAX;
	}
	close(said);
	close(real);
	said = real = -1;
	seen = 0;
}

const char *said_last(void)
{
	static char text[SAID_LINE];
	off_t size = said < 0 ? 0 : lseek(said, 0, SEEK_END);
	off_t at = size < SAID_LINE ? 0 : size - SAID_LINE + 1;
	ssize_t n = size ? pread(said, text, SAID_LINE - 1, at) : 0;
	char *line;

	if (size != seen)
		seen_ns = clock_ns();
	seen = size;
	if (clock_ns() - seen_ns > (uint64_t)SAID_S * NS_PER_S)
		return "";
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return "";
	text[n] = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}
