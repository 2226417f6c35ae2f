/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * store FILE ROUNDS [LIBRARY]: waits for a line. Then, in each round, save_index() syncs FILE once
 * and save_rows() three times, below 9 callers. With LIBRARY both come from there (this file, built
 * with -DLIBRARY). Threads: with ROUNDS "N,N", another thread calls save_other() all the time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) long save_index(int fd)
{
	return fdatasync(fd) + 2;
}

__attribute__((noinline)) long save_rows(int fd)
{
	long sum = 0;

	for (int i = 0; i < 3; i++)
		sum += fdatasync(fd);
	return sum + 3;
}

#ifndef LIBRARY
typedef long save_fn(int fd);

static save_fn *saves[2] = { save_index, save_rows };
static volatile int over;

__attribute__((noinline)) long down(int depth, int fd, int which)
{
	volatile char pad[64];
	long sum;

	pad[0] = depth;
	sum = depth ? down(depth - 1, fd, which) + pad[0] : saves[which](fd);
	__asm__ volatile("" ::"r"(pad) : "memory");
	return sum + 1;
}

__attribute__((noinline)) static void *save_other(void *fd)
{
	while (!over)
		fsync(*(int *)fd);
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600), rounds = atoi(argv[2]);
	pthread_t other;
	char line[16];

	if (!fgets(line, sizeof(line), stdin) || fd < 0)
		return 1;
#ifndef STATIC
	if (argc > 3) {
		void *library = dlopen(argv[3], RTLD_NOW);

		saves[0] = (save_fn *)dlsym(library, "save_index");
		saves[1] = (save_fn *)dlsym(library, "save_rows");
	}
#endif
	if (strchr(argv[2], ','))
		pthread_create(&other, NULL, save_other, &fd);
	for (int i = 0; i < rounds; i++) {
		down(8, fd, 0);
		down(8, fd, 1);
	}
	over = 1;
	if (strchr(argv[2], ','))
		pthread_join(other, NULL);
	return 0;
}
#endif
