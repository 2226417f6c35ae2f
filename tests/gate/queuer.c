// SPDX-License-Identifier: GPL-2.0-only
/*
 * queuer: requests of libaio, by its system calls alone. Prints "ready", works when a line arrives
 * on stdin, and prints a line of JSON: of each opcode how many events there were, with how many
 * bytes and errors; how many iocbs were refused, which have no event; and how often io_submit() and
 * io_getevents() were called.
 *
 *   queuer all FILE N      N direct reads, and fewer of all else: buffered, vectored, large and
 *                          short, writes, fsyncs, failed, refused, polls that are cancelled
 *   queuer direct FILE N   N direct reads, 16 at a time
 *   queuer single FILE N   N direct reads, one at a time
 *   queuer cached FILE N   N buffered reads, one at a time
 *   queuer fsync FILE N    N buffered writes, each with its fsync
 *   queuer sync FILE N     N direct writes with RWF_SYNC, one at a time
 *
 * FILE has 1 MiB or more. Without libaio it says so instead of "ready", and ends with 77.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SIZE = 4096, BLOCKS = 256, DEPTH = 16, LARGE = BLOCKS * SIZE, BAD_FD = 999 };

static struct counts {
	const char *name;
	long count, bytes, errors;
} counts[] = {
	[IOCB_CMD_PREAD] = { "pread" },     [IOCB_CMD_PWRITE] = { "pwrite" },
	[IOCB_CMD_FSYNC] = { "fsync" },     [IOCB_CMD_FDSYNC] = { "fdsync" },
	[IOCB_CMD_POLL] = { NULL },         [IOCB_CMD_PREADV] = { "preadv" },
	[IOCB_CMD_PWRITEV] = { "pwritev" },
};
enum { COUNTS = sizeof(counts) / sizeof(*counts) };
static long refused, submits, waits;

static aio_context_t ctx;
static struct iocb iocbs[DEPTH], *queue[DEPTH];
static int queued;
static char *buffer; /* LARGE */
static struct iovec vecs[2];

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void reap(int n)
{
	struct io_event events[DEPTH];
	struct counts *c;
	int got;

	while (n) {
		got = syscall(SYS_io_getevents, ctx, n, n, events, NULL);
		waits++;
		check(got > 0 || errno == EINTR, "io_getevents");
		for (int i = 0; i < got; i++, n--) {
			c = &counts[events[i].data];
			c->count++;
			if (events[i].res < 0)
				c->errors++;
			else
				c->bytes += events[i].res;
		}
	}
}

/*
 * Submits all queued iocbs, and waits for their ends. A refused iocb ends the call of io_submit().
 */
static void go(void)
{
	int at = 0, done, accepted = 0;

	while (at < queued) {
		done = syscall(SYS_io_submit, ctx, queued - at, queue + at);
		submits++;
		refused += done < 0;
		accepted += done > 0 ? done : 0;
		at += done > 0 ? done : 1;
	}
	queued = 0;
	reap(accepted);
}

/* The next iocb, queued already. */
static struct iocb *iocb(int opcode, int fd, void *from, size_t len, long long offset)
{
	struct iocb *io = &iocbs[queued];

	*io = (struct iocb){
		.aio_data = opcode,
		.aio_lio_opcode = opcode,
		.aio_fildes = fd,
		.aio_buf = (uintptr_t)from,
		.aio_nbytes = len,
		.aio_offset = offset,
	};
	queue[queued++] = io;
	return io;
}

static long long place(int i)
{
	return (long long)(i * 101 % BLOCKS) * SIZE;
}

/* @n requests of a kind, @depth at a time. */
static void many(int opcode, int fd, int n, int depth, int flags)
{
	for (int i = 0; i < n; i++) {
		if (opcode == IOCB_CMD_FSYNC || opcode == IOCB_CMD_FDSYNC)
			iocb(opcode, fd, NULL, 0, 0);
		else if (opcode == IOCB_CMD_PREADV || opcode == IOCB_CMD_PWRITEV)
			iocb(opcode, fd, vecs, 2, place(i));
		else
			iocb(opcode, fd, buffer + queued * SIZE, SIZE, place(i))->aio_rw_flags =
				flags;
		if (queued == depth)
			go();
	}
	go();
}

/* Polls of a pipe, which are no operations, and are cancelled: the event tells. */
static void cancelled(int n)
{
	struct io_event event;
	struct iocb poll;
	int pipes[2];

	check(!pipe(pipes), "pipe");
	for (int i = 0; i < n; i++) {
		poll = *iocb(IOCB_CMD_POLL, pipes[0], (void *)POLLIN, 0, 0);
		queue[0] = &poll;
		queued = 0;
		check(syscall(SYS_io_submit, ctx, 1, queue) == 1, "io_submit");
		submits++;
		syscall(SYS_io_cancel, ctx, &poll, &event);
		reap(1);
	}
}

static void all(const char *file, int direct, int n)
{
	int fd = open(file, O_RDWR), readonly = open(file, O_RDONLY);

	check(fd >= 0 && readonly >= 0, file);
	many(IOCB_CMD_PREAD, direct, n, DEPTH, 0);
	many(IOCB_CMD_PREAD, direct, 23, 1, 0);
	many(IOCB_CMD_PREAD, fd, 101, DEPTH, 0);
	many(IOCB_CMD_PREADV, fd, 13, 3, 0);
	many(IOCB_CMD_PREADV, direct, 17, DEPTH, 0);
	many(IOCB_CMD_PWRITE, fd, 53, DEPTH, 0);
	many(IOCB_CMD_PWRITE, direct, 29, DEPTH, 0);
	many(IOCB_CMD_PWRITEV, fd, 11, 2, 0);
	many(IOCB_CMD_FSYNC, fd, 7, 3, 0);
	many(IOCB_CMD_FDSYNC, fd, 5, 1, 0);
	for (int i = 0; i < 3; i++, go()) /* all of it at once */
		iocb(IOCB_CMD_PREAD, direct, buffer, LARGE, 0);
	for (int i = 0; i < 7; i++, go()) { /* short, and none at all */
		iocb(IOCB_CMD_PREAD, fd, buffer, SIZE, lseek(fd, 0, SEEK_END) - 1009);
		iocb(IOCB_CMD_PREAD, fd, buffer, SIZE, lseek(fd, 0, SEEK_END));
	}
	for (int i = 0; i < 19; i++, go()) /* fail: not aligned */
		iocb(IOCB_CMD_PREAD, direct, buffer + 1, SIZE, 1);
	many(IOCB_CMD_PREAD, BAD_FD, 5, DEPTH, 0);
	many(IOCB_CMD_PWRITE, readonly, 3, DEPTH, 0);
	check(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
	many(IOCB_CMD_PREAD, fd, 31, DEPTH, RWF_NOWAIT); /* some fail: EAGAIN */
	cancelled(3);
}

static void print(void)
{
	printf("{\"refused\": %ld, \"submits\": %ld, \"waits\": %ld, \"aio\": {", refused, submits,
	       waits);
	for (int i = 0, n = 0; i < COUNTS; i++)
		if (counts[i].name && counts[i].count)
			printf("%s\"%s\": [%ld, %ld, %ld]", n++ ? ", " : "", counts[i].name,
			       counts[i].count, counts[i].bytes, counts[i].errors);
	printf("}}\n");
}

static int is_mode(const char *what)
{
	static const char *const modes[] = { "all", "direct", "single", "cached", "fsync", "sync" };

	for (unsigned int i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(what, modes[i]))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc == 4 ? argv[1] : "";
	int buffered = !strcmp(what, "cached") || !strcmp(what, "fsync");
	int fd, n = argc == 4 ? atoi(argv[3]) : 0;
	char line[16];

	if (!is_mode(what))
		return 2;
	fd = open(argv[2], O_RDWR | (buffered ? 0 : O_DIRECT));
	buffer = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(fd >= 0 && buffer != MAP_FAILED, argv[2]);
	vecs[0] = (struct iovec){ buffer, SIZE };
	vecs[1] = (struct iovec){ buffer + 2 * SIZE, SIZE };
	if (syscall(SYS_io_setup, DEPTH, &ctx)) {
		check(errno == ENOSYS || errno == EPERM, "io_setup");
		return puts("no libaio") < 0 ? 1 : 77;
	}
	check(write(1, "ready\n", 6) == 6, "stdout");
	check(read(0, line, sizeof(line)) > 0, "stdin");
	if (!strcmp(what, "all"))
		all(argv[2], fd, n);
	else if (!strcmp(what, "fsync"))
		for (int i = 0; i < n; i++) {
			many(IOCB_CMD_PWRITE, fd, 1, 1, 0);
			many(IOCB_CMD_FSYNC, fd, 1, 1, 0);
		}
	else if (!strcmp(what, "sync"))
		many(IOCB_CMD_PWRITE, fd, n, 1, RWF_SYNC);
	else
		many(IOCB_CMD_PREAD, fd, n, strcmp(what, "direct") ? 1 : DEPTH, 0);
	print();
	return 0;
}
