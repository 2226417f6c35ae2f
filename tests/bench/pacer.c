// SPDX-License-Identifier: GPL-2.0-only
/*
 * pacer.c - reads from a file at a constant rate, for recorders that must keep up with it.
 *
 * pacer FILE RATE SECONDS
 *
 * RATE cached reads a second, of changing lengths and offsets so that they take room in a
 * recording; 0: as many as there can be. Prints how many there were.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 100, LENGTHS = 4096, OFFSETS = 1 << 20 };

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int fd = argc == 4 ? open(argv[1], O_RDONLY) : -1;
	double rate = argc == 4 ? atof(argv[2]) : 0, seconds = argc == 4 ? atof(argv[3]) : 0;
	static char to[LENGTHS];
	double began = now(), ahead;
	unsigned long n = 0;

	if (fd < 0)
		err(1, "usage: pacer FILE RATE SECONDS");
	while (now() - began < seconds) {
		for (int i = 0; i < BURST; i++, n++)
			if (pread(fd, to, 1 + n * 7 % LENGTHS, n * 4093 % OFFSETS) < 0)
				err(1, "pread");
		ahead = rate > 0 ? n / rate - (now() - began) : 0;
		if (ahead > 0)
			usleep(ahead * 1e6);
	}
	printf("%lu\n", n);
	return 0;
}
