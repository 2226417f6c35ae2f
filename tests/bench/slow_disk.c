// SPDX-License-Identifier: GPL-2.0-only
/*
 * slow_disk DIR MIB: a FUSE server, mounted at DIR until its stdin ends, with one file, "disk", of
 * MIB MiB in memory. A READ or WRITE is answered after a delay. Each line of stdin is a new delay,
 * in us; the server then prints "ok". A loop device over the file is a disk with that delay. The
 * server runs before all other threads: a disk does not wait for a CPU.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "../fuse_server.h"

static char *disk;
static long delay_us;

static void delay(void)
{
	nanosleep(&(struct timespec){ delay_us / 1000000, delay_us % 1000000 * 1000 }, NULL);
}

static void serve_read(const struct fuse_in_header *in, const struct fuse_read_in *args)
{
	size_t left = args->offset < server.bytes ? server.bytes - args->offset : 0;

	delay();
	answer(in, 0, disk + args->offset, args->size < left ? args->size : left);
}

static void serve_write(const struct fuse_in_header *in, const struct fuse_write_in *args)
{
	struct fuse_write_out written = { .size = args->size };

	delay();
	if (args->offset > server.bytes || args->size > server.bytes - args->offset) {
		answer(in, ENOSPC, NULL, 0);
		return;
	}
	memcpy(disk + args->offset, args + 1, args->size);
	answer(in, 0, &written, sizeof(written));
}

static void serve(const struct fuse_in_header *in)
{
	const void *args = in + 1;

	if (in->opcode == FUSE_READ)
		serve_read(in, args);
	else if (in->opcode == FUSE_WRITE)
		serve_write(in, args);
	else
		serve_other(in, FOPEN_DIRECT_IO);
}

/* Reads a new delay. Returns false at the end of stdin. */
static int told(void)
{
	char line[32];
	ssize_t got = read(STDIN_FILENO, line, sizeof(line) - 1);

	if (got <= 0)
		return 0;
	line[got] = '\0';
	delay_us = atol(line);
	printf("ok\n");
	fflush(stdout);
	return 1;
}

int main(int argc, char **argv)
{
	static char request[MAX_IO + 4096] __attribute__((aligned(8)));
	struct pollfd ready[] = { { .events = POLLIN }, { .fd = STDIN_FILENO, .events = POLLIN } };

	if (argc != 3)
		return 2;
	server.bytes = strtoul(argv[2], NULL, 10) << 20;
	server.file = "disk";
	disk = calloc(1, server.bytes);
	prctl(PR_SET_TIMERSLACK, 1000);
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 50 });
	mlockall(MCL_CURRENT | MCL_FUTURE);
	if (!disk || server_mount("slow_disk", argv[1])) {
		perror("slow_disk");
		return 1;
	}
	ready[0].fd = server.fd;
	while (poll(ready, 2, -1) >= 0) {
		if (ready[1].revents && !told())
			break;
		if (ready[0].revents & POLLERR)
			break;
		if (ready[0].revents && read(server.fd, request, sizeof(request)) > 0)
			serve((void *)request);
	}
	umount2(argv[1], MNT_DETACH);
	return 0;
}
