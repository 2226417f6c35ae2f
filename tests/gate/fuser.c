// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuser DIR MODE MS [FILE]: a FUSE server, mounted at DIR until its stdin ends. The server has one
 * file, "f" of 16 MiB, and prints "ready". At its end, the server prints the number and bytes of
 * answered requests, by kind.
 *
 * MODE is the work before each answer to a READ or a WRITE. For MS milliseconds: sleep, or spin.
 * For any time: disk, read from FILE past the page cache; or pass, sleep, and let another thread
 * answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { ROOT = 1, FILE_NODE = 2, FILE_BYTES = 16 << 20, MAX_IO = 1 << 17, KINDS = 64 };

static struct {
	unsigned long count, bytes;
} answered[KINDS];

static const char *const kinds[KINDS] = {
	[FUSE_LOOKUP] = "LOOKUP", [FUSE_GETATTR] = "GETATTR", [FUSE_OPEN] = "OPEN",
	[FUSE_READ] = "READ",     [FUSE_WRITE] = "WRITE",     [FUSE_RELEASE] = "RELEASE",
	[FUSE_FSYNC] = "FSYNC",   [FUSE_FLUSH] = "FLUSH",
};

static int fd, disk;
static char zeroes[MAX_IO], from_disk[MAX_IO] __attribute__((aligned(4096)));

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
	if (!strcmp(mode, "sleep") || !strcmp(mode, "pass"))
		nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
	else
		while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
			;
}

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = sizeof(out) + len,
				       .error = -error,
				       .unique = in->unique };
	struct iovec iov[] = { { &out, sizeof(out) }, { (void *)data, len } };

	if (in->opcode < KINDS)
		answered[in->opcode].count++;
	if (writev(fd, iov, len ? 2 : 1) < 0 && errno != ENOENT)
		perror("writev");
}

/* The answer to a READ of another thread. */
static void *answer_read(void *in)
{
	const struct fuse_read_in *read_in = (void *)((struct fuse_in_header *)in + 1);

	answer(in, 0, zeroes, read_in->size);
	return NULL;
}

static void serve_read(const struct fuse_in_header *in, const char *mode, long ms)
{
	const struct fuse_read_in *read_in = (const void *)(in + 1);
	pthread_t thread;

	work(mode, ms, read_in->offset);
	answered[FUSE_READ].bytes += read_in->size;
	if (strcmp(mode, "pass") || pthread_create(&thread, NULL, answer_read, (void *)in))
		answer(in, 0, zeroes, read_in->size);
	else
		pthread_join(thread, NULL);
}

static struct fuse_attr attributes(unsigned long node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0644;
	a.size = node == ROOT ? 0 : FILE_BYTES;
	return a;
}

static void lookup(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { .nodeid = FILE_NODE, .entry_valid = 60, .attr_valid = 60 };

	out.attr = attributes(FILE_NODE);
	answer(in, strcmp(name, "f") ? ENOENT : 0, &out, strcmp(name, "f") ? 0 : sizeof(out));
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

static void serve(const struct fuse_in_header *in, const char *mode, long ms)
{
	const void *args = in + 1;
	const struct fuse_write_in *write_in = args;
	struct fuse_attr_out attr = { .attr_valid = 60, .attr = attributes(in->nodeid) };
	struct fuse_open_out opened = {};
	struct fuse_write_out written = { .size = write_in->size };

	switch (in->opcode) {
	case FUSE_INIT:
		greet(in, args);
		break;
	case FUSE_LOOKUP:
		lookup(in, args);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		serve_read(in, mode, ms);
		break;
	case FUSE_WRITE:
		work(mode, ms, write_in->offset);
		answered[FUSE_WRITE].bytes += write_in->size;
		answer(in, 0, &written, sizeof(written));
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
	char options[64];

	if (argc != 4 && argc != 5)
		return 2;
	disk = argc == 5 ? open(argv[4], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd < 0 || mount("fuser", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("fuse");
		return 1;
	}
	ready[0].fd = fd;
	while (poll(ready, 2, -1) >= 0 && !ready[1].revents) {
		if (ready[0].revents && read(fd, request, sizeof(request)) > 0)
			serve((void *)request, argv[2], atol(argv[3]));
		else if (ready[0].revents & POLLERR)
			break;
	}
	umount2(argv[1], MNT_DETACH);
	tell();
	return 0;
}
