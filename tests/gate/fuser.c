// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuser DIR MODE MS [FILE]: a FUSE server, mounted at DIR until its stdin ends. The server has one
 * file, "f" of 16 MiB, and prints "ready". At its end, the server prints the number and bytes of
 * answered requests, by kind.
 *
 * MODE is the work before each answer to a READ or a WRITE. For MS milliseconds: sleep, or spin, or
 * keep, which sleeps and remembers what was written. For any time: disk, read from FILE past the
 * page cache; or pass, sleep, and let another thread answer.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../fuse_server.h"

enum { FILE_BYTES = 16 << 20, KINDS = 64 };

static struct {
	unsigned long count, bytes;
} answered[KINDS];

static const char *const kinds[KINDS] = {
	[FUSE_LOOKUP] = "LOOKUP", [FUSE_GETATTR] = "GETATTR", [FUSE_OPEN] = "OPEN",
	[FUSE_READ] = "READ",     [FUSE_WRITE] = "WRITE",     [FUSE_RELEASE] = "RELEASE",
	[FUSE_FSYNC] = "FSYNC",   [FUSE_FLUSH] = "FLUSH",
};

static int disk;
static char kept[FILE_BYTES + MAX_IO]; /* all 0, but with keep */
static char from_disk[MAX_IO] __attribute__((aligned(4096)));

static long long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void work(const char *mode, long ms, long long at)
{
	long long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;

	if (!strcmp(mode, "disk") && pread(disk, from_disk, 4096, at) < 0)
		perror("pread");
	else if (!strcmp(mode, "disk"))
		return;
	if (!strcmp(mode, "sleep") || !strcmp(mode, "pass") || !strcmp(mode, "keep"))
		nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
	else
		while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
			;
}

/* The byte of the file at @offset; MAX_IO bytes follow. */
static char *at(unsigned long long offset)
{
	return kept + (offset < FILE_BYTES ? offset : FILE_BYTES);
}

/* The answer to a READ of another thread. */
static void *answer_read(void *in)
{
	const struct fuse_read_in *read_in = (void *)((struct fuse_in_header *)in + 1);

	answer(in, 0, at(read_in->offset), read_in->size);
	return NULL;
}

static void serve_read(const struct fuse_in_header *in, const char *mode, long ms)
{
	const struct fuse_read_in *read_in = (const void *)(in + 1);
	pthread_t thread;

	work(mode, ms, read_in->offset);
	answered[FUSE_READ].bytes += read_in->size;
	if (strcmp(mode, "pass") || pthread_create(&thread, NULL, answer_read, (void *)in))
		answer(in, 0, at(read_in->offset), read_in->size);
	else
		pthread_join(thread, NULL);
}

static void serve(const struct fuse_in_header *in, const char *mode, long ms)
{
	const struct fuse_write_in *write_in = (const void *)(in + 1);
	struct fuse_write_out written = { .size = write_in->size };

	if (in->opcode < KINDS && in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET &&
	    in->opcode != FUSE_INTERRUPT)
		answered[in->opcode].count++;
	if (in->opcode == FUSE_READ) {
		serve_read(in, mode, ms);
	} else if (in->opcode == FUSE_WRITE) {
		work(mode, ms, write_in->offset);
		answered[FUSE_WRITE].bytes += write_in->size;
		if (!strcmp(mode, "keep") && write_in->size <= MAX_IO)
			memcpy(at(write_in->offset), write_in + 1, write_in->size);
		answer(in, 0, &written, sizeof(written));
	} else {
		serve_other(in, 0);
	}
}

static void tell(void)
{
	for (int i = 0; i < KINDS; i++)
		if (kinds[i] && answered[i].count)
			printf("%s %lu %lu\n", kinds[i], answered[i].count, answered[i].bytes);
}

int main(int argc, char **argv)
{
	static char request[MAX_IO + 4096] __attribute__((aligned(8)));
	struct pollfd ready[] = { { .events = POLLIN }, { .fd = 0, .events = POLLIN } };

	if (argc != 4 && argc != 5)
		return 2;
	disk = argc == 5 ? open(argv[4], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
	server.file = "f";
	server.bytes = FILE_BYTES;
	if (server_mount("fuser", argv[1])) {
		perror("fuse");
		return 1;
	}
	ready[0].fd = server.fd;
	while (poll(ready, 2, -1) >= 0 && !ready[1].revents) {
		if (ready[0].revents && read(server.fd, request, sizeof(request)) > 0)
			serve((void *)request, argv[2], atol(argv[3]));
		else if (ready[0].revents & POLLERR)
			break;
	}
	umount2(argv[1], MNT_DETACH);
	tell();
	return 0;
}
