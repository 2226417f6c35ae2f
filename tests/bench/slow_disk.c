// SPDX-License-Identifier: GPL-2.0-only
/*
 * slow_disk DIR MIB: a FUSE server, mounted at DIR until its stdin ends, with one file, "disk", of
 * MIB MiB in memory. A READ or WRITE is answered after a delay. Each line of stdin is a new delay,
 * in us; the server then prints "ok". A loop device over the file is a disk with that delay. The
 * server runs before all other threads: a disk does not wait for a CPU.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { ROOT = 1, FILE_NODE = 2, MAX_IO = 1 << 17 };

static int fd;
static char *disk;
static size_t disk_bytes;
static long delay_us;

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = sizeof(out) + len,
				       .error = -error,
				       .unique = in->unique };
	struct iovec iov[] = { { &out, sizeof(out) }, { (void *)data, len } };

	if (writev(fd, iov, len ? 2 : 1) < 0 && errno != ENOENT)
		perror("writev");
}

static struct fuse_attr attributes(unsigned long node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0644;
	a.size = node == ROOT ? 0 : disk_bytes;
	return a;
}

static void greet(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = init->max_readahead,
				     .flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES,
				     .max_background = 12,
				     .max_write = MAX_IO };

	answer(in, 0, &out, sizeof(out));
	printf("ready\n");
	fflush(stdout);
}

static void delay(void)
{
	nanosleep(&(struct timespec){ delay_us / 1000000, delay_us % 1000000 * 1000 }, NULL);
}

static void serve_read(const struct fuse_in_header *in, const struct fuse_read_in *args)
{
	size_t left = args->offset < disk_bytes ? disk_bytes - args->offset : 0;

	delay();
	answer(in, 0, disk + args->offset, args->size < left ? args->size : left);
}

static void serve_write(const struct fuse_in_header *in, const struct fuse_write_in *args)
{
	struct fuse_write_out written = { .size = args->size };

	delay();
	if (args->offset > disk_bytes || args->size > disk_bytes - args->offset) {
		answer(in, ENOSPC, NULL, 0);
		return;
	}
	memcpy(disk + args->offset, args + 1, args->size);
	answer(in, 0, &written, sizeof(written));
}

static void serve_node(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					.entry_valid = 60,
					.attr_valid = 60,
					.attr = attributes(FILE_NODE) };
	struct fuse_attr_out attr = { .attr_valid = 60, .attr = attributes(in->nodeid) };

	if (in->opcode != FUSE_LOOKUP)
		answer(in, 0, &attr, sizeof(attr));
	else if (strcmp(name, "disk") == 0)
		answer(in, 0, &entry, sizeof(entry));
	else
		answer(in, ENOENT, NULL, 0);
}

static void serve(const struct fuse_in_header *in)
{
	struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };
	const void *args = in + 1;

	switch (in->opcode) {
	case FUSE_INIT:
		greet(in, args);
		break;
	case FUSE_LOOKUP:
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		serve_node(in, args);
		break;
	case FUSE_OPEN:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		serve_read(in, args);
		break;
	case FUSE_WRITE:
		serve_write(in, args);
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, ENOSYS, NULL, 0);
	}
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

static int mount_at(const char *dir)
{
	char options[64];

	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	return fd < 0 ? -1 : mount("slow_disk", dir, "fuse", MS_NOSUID | MS_NODEV, options);
}

int main(int argc, char **argv)
{
	static char request[MAX_IO + 4096] __attribute__((aligned(8)));
	struct pollfd ready[] = { { .events = POLLIN }, { .fd = STDIN_FILENO, .events = POLLIN } };

	if (argc != 3)
		return 2;
	disk_bytes = strtoul(argv[2], NULL, 10) << 20;
	disk = calloc(1, disk_bytes);
	prctl(PR_SET_TIMERSLACK, 1000);
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 50 });
	mlockall(MCL_CURRENT | MCL_FUTURE);
	if (!disk || mount_at(argv[1])) {
		perror("slow_disk");
		return 1;
	}
	ready[0].fd = fd;
	while (poll(ready, 2, -1) >= 0) {
		if (ready[1].revents && !told())
			break;
		if (ready[0].revents & POLLERR)
			break;
		if (ready[0].revents && read(fd, request, sizeof(request)) > 0)
			serve((void *)request);
	}
	umount2(argv[1], MNT_DETACH);
	return 0;
}
