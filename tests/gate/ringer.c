// SPDX-License-Identifier: GPL-2.0-only
/*
 * ringer: requests of io_uring, by its system calls alone. Prints "ready", works when a line
 * arrives on stdin, and prints a line of JSON: of each opcode how many requests completed, with how
 * many bytes and errors, and how many were silent (IOSQE_CQE_SKIP_SUCCESS).
 *
 *   ringer all FILE N      N direct reads, and fewer of all else: buffered, by workers, writes,
 *                          fsyncs, opened and closed, fixed, failed, linked, cancelled, silent
 *   ringer direct FILE N   N direct reads, 16 at a time
 *   ringer merged FILE N   the same, each behind the one before
 *   ringer fronted FILE N  the same, each before the one before
 *   ringer joined FILE N   while two writes keep the device busy, one read and, 10 ms later, the
 *                          two before it; N times
 *   ringer large FILE N    N direct reads of 64 KiB, one at a time
 *   ringer poll FILE N     as direct; a thread of the kernel polls for requests
 *   ringer mixed FILE N    as poll, four direct reads after each of N buffered reads of 1 MiB, of
 *                          what follows the one before in FILE.other
 *   ringer finish FILE N   as direct; the completions are polled for (IORING_SETUP_IOPOLL)
 *   ringer silent FILE N   the same as poll, and after each read one of 32 KiB that is silent
 *   ringer cached FILE N   N buffered reads, one at a time
 *   ringer overflow FILE N N direct reads, of which more complete than the ring has room for
 *
 * FILE has 1 MiB or more. Without io_uring it says so instead of "ready", and ends with 77.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SIZE = 4096, BLOCKS = 256, DEPTH = 16, ENTRIES = 64, ROOM = 2 * ENTRIES, BAD_FD = 999 };
enum { JOINED_LATER_US = 10000 };

struct ring {
	int fd;
	unsigned int flags;
	unsigned int *sq_head, *sq_tail, *sq_mask, *sq_flags, *sq_array, *cq_head, *cq_tail,
		*cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned int queued;   /* and not yet submitted */
	unsigned int expected; /* completions */
};

/* Completions by opcode; the opcode is in the user data. */
static struct counts {
	const char *name;
	long count, bytes, errors;
} counts[64] = {
	[IORING_OP_READV] = { "readv" },   [IORING_OP_WRITE] = { "write" },
	[IORING_OP_FSYNC] = { "fsync" },   [IORING_OP_READ_FIXED] = { "read_fixed" },
	[IORING_OP_OPENAT] = { "openat" }, [IORING_OP_CLOSE] = { "close" },
	[IORING_OP_STATX] = { "statx" },   [IORING_OP_READ] = { "read" },
};
static long silent;

static struct ring ring;
static char *buffer; /* BLOCKS of them */
static struct iovec vec;
static struct statx statx_buffer;

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void ring_open(struct ring *r, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 100 };
	size_t len;
	char *map;

	r->fd = syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (r->fd < 0) {
		check(errno == ENOSYS || errno == EPERM, "io_uring_setup");
		exit(puts("no io_uring") < 0 ? 1 : 77);
	}
	r->flags = flags;
	len = p.sq_off.array + p.sq_entries * sizeof(unsigned int);
	if (len < p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe))
		len = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	check(p.features & IORING_FEAT_SINGLE_MMAP, "IORING_FEAT_SINGLE_MMAP");
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->sqes = mmap(NULL, p.sq_entries * sizeof(*r->sqes), PROT_READ | PROT_WRITE, MAP_SHARED,
		       r->fd, IORING_OFF_SQES);
	check(map != MAP_FAILED && r->sqes != MAP_FAILED, "mmap");
	r->sq_head = (unsigned int *)(map + p.sq_off.head);
	r->sq_tail = (unsigned int *)(map + p.sq_off.tail);
	r->sq_mask = (unsigned int *)(map + p.sq_off.ring_mask);
	r->sq_flags = (unsigned int *)(map + p.sq_off.flags);
	r->sq_array = (unsigned int *)(map + p.sq_off.array);
	r->cq_head = (unsigned int *)(map + p.cq_off.head);
	r->cq_tail = (unsigned int *)(map + p.cq_off.tail);
	r->cq_mask = (unsigned int *)(map + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(map + p.cq_off.cqes);
}

/* The next request, to be filled in; it is queued already. */
static struct io_uring_sqe *sqe(unsigned char opcode, int fd, unsigned long at, unsigned int len)
{
	unsigned int tail = *ring.sq_tail + ring.queued, i = tail & *ring.sq_mask;
	struct io_uring_sqe *s = &ring.sqes[i];

	memset(s, 0, sizeof(*s));
	s->opcode = opcode;
	s->fd = fd;
	s->addr = (uintptr_t)buffer + ring.queued % DEPTH * SIZE;
	s->off = at;
	s->len = len;
	s->user_data = opcode;
	ring.sq_array[i] = i;
	ring.queued++;
	ring.expected++;
	return s;
}

static void complete(const struct io_uring_cqe *c)
{
	struct counts *n = &counts[c->user_data & 63];

	n->count++;
	if (c->res < 0)
		n->errors++;
	else if (c->user_data == IORING_OP_READ || c->user_data == IORING_OP_WRITE ||
		 c->user_data == IORING_OP_READV || c->user_data == IORING_OP_READ_FIXED)
		n->bytes += c->res;
}

static unsigned int reap(void)
{
	unsigned int head = *ring.cq_head, tail = __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE),
		     n;

	for (n = 0; head != tail; head++, n++)
		complete(&ring.cqes[head & *ring.cq_mask]);
	__atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
	return n;
}

/* Submits all queued requests, and waits until at most @left completions are still expected. */
static void go(unsigned int left)
{
	unsigned int n = ring.queued, flags = IORING_ENTER_GETEVENTS;
	int done;

	__atomic_store_n(ring.sq_tail, *ring.sq_tail + n, __ATOMIC_SEQ_CST);
	ring.queued = 0;
	do {
		if (__atomic_load_n(ring.sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
			flags |= IORING_ENTER_SQ_WAKEUP;
		/* one that fails at once ends a submission, without those after it */
		done = syscall(SYS_io_uring_enter, ring.fd, n, ring.expected > left, flags, NULL,
			       0);
		check(done >= 0 || errno == EINTR, "io_uring_enter");
		n -= done > 0 ? done : 0;
		ring.expected -= reap();
	} while (n || ring.expected > left);
}

/* Submits all queued requests, and leaves completions in the kernel as long as the kernel does. */
static void push(void)
{
	unsigned int n = ring.queued;
	int done;

	__atomic_store_n(ring.sq_tail, *ring.sq_tail + n, __ATOMIC_SEQ_CST);
	ring.queued = 0;
	while (n) {
		done = syscall(SYS_io_uring_enter, ring.fd, n, 0, 0, NULL, 0);
		check(done >= 0 || errno == EINTR || errno == EBUSY, "io_uring_enter");
		n -= done > 0 ? done : 0;
		if (done < 0 && errno == EBUSY)
			ring.expected -= reap();
	}
}

static int step = 101; /* blocks from one place to the next */

static unsigned long place(int i)
{
	return (unsigned long)(i * step % BLOCKS) * SIZE;
}

/* @n requests of a kind, DEPTH at a time. */
static void many(unsigned char opcode, int fd, int n, unsigned char flags)
{
	struct io_uring_sqe *s;

	for (int i = 0; i < n; i++) {
		s = sqe(opcode, fd, place(i), SIZE);
		s->flags = flags;
		if (opcode == IORING_OP_READV) {
			s->addr = (uintptr_t)&vec;
			s->len = 1;
		}
		if (opcode == IORING_OP_FSYNC)
			s->addr = s->off = s->len = 0;
		if (ring.queued == DEPTH)
			go(0);
	}
	go(0);
}

/* Fixed buffer and fixed file. */
static void fixed(int direct, int n)
{
	struct iovec all = { buffer, DEPTH * SIZE };
	struct io_uring_sqe *s;

	check(!syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &all, 1),
	      "buffers");
	check(!syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &direct, 1), "files");
	for (int i = 0; i < n; i++) {
		s = sqe(IORING_OP_READ_FIXED, 0, place(i), SIZE);
		s->flags = IOSQE_FIXED_FILE;
		go(0);
	}
}

static void opened(const char *file, int n)
{
	struct io_uring_sqe *s;
	int fd;

	for (int i = 0; i < n; i++) {
		s = sqe(IORING_OP_OPENAT, AT_FDCWD, 0, 0);
		s->addr = (uintptr_t)file;
		s->open_flags = O_RDONLY;
		go(0);
		fd = ring.cqes[(*ring.cq_head - 1) & *ring.cq_mask].res;
		check(fd >= 0, "openat");
		s = sqe(IORING_OP_CLOSE, fd, 0, 0);
		s->addr = 0;
		s = sqe(IORING_OP_STATX, AT_FDCWD, (uintptr_t)&statx_buffer, STATX_BASIC_STATS);
		s->addr = (uintptr_t)file;
		go(0);
	}
}

/* A write and its fsync; then a read that fails, which cancels the one after it; then one that
 * waits for the read of a pipe, which is cancelled. */
static void linked(int fd, int n)
{
	int pipes[2];
	char byte;

	check(!pipe(pipes), "pipe");
	for (int i = 0; i < n; i++) {
		sqe(IORING_OP_WRITE, fd, place(i), SIZE)->flags = IOSQE_IO_LINK;
		sqe(IORING_OP_FSYNC, fd, 0, 0)->addr = 0;
		sqe(IORING_OP_READ, BAD_FD, 0, SIZE)->flags = IOSQE_IO_LINK;
		sqe(IORING_OP_READ, fd, place(i), SIZE);
		go(0);
		sqe(IORING_OP_READ, pipes[0], 0, 1)->flags = IOSQE_IO_LINK;
		ring.sqes[(*ring.sq_tail + ring.queued - 1) & *ring.sq_mask].user_data = 63;
		ring.sqes[(*ring.sq_tail + ring.queued - 1) & *ring.sq_mask].addr =
			(uintptr_t)&byte;
		sqe(IORING_OP_READ, fd, place(i), SIZE);
		go(2);
		sqe(IORING_OP_ASYNC_CANCEL, -1, 0, 0)->addr = 63;
		go(0);
	}
}

static void skipped(int fd, int n)
{
	for (int i = 0; i < n; i++) {
		sqe(IORING_OP_WRITE, fd, place(i), SIZE)->flags =
			IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
		ring.expected--;
		silent++;
		sqe(IORING_OP_NOP, -1, 0, 0)->addr = 0;
		go(0);
	}
}

/* Each read is still in flight when the silent one is submitted. */
static void silenced(int fd, int n)
{
	for (int i = 0; i < n; i++) {
		sqe(IORING_OP_READ, fd, place(i), SIZE);
		sqe(IORING_OP_READ, fd, 0, 8 * SIZE)->flags = IOSQE_CQE_SKIP_SUCCESS;
		ring.expected--;
		silent++;
		go(0);
	}
}

/* The device has one request, and its dispatcher holds one, which are not merged. The second of the
 * two before a read joins the first with the one that came long before both. */
static void joined(int fd, int n)
{
	for (int i = 0; i < n; i++) {
		for (int busy = 1; busy <= 3; busy += 2, push())
			sqe(IORING_OP_WRITE, fd, (BLOCKS - busy) * SIZE, SIZE);
		sqe(IORING_OP_READ, fd, place(3 * i) + 2 * SIZE, SIZE);
		push();
		usleep(JOINED_LATER_US);
		sqe(IORING_OP_READ, fd, place(3 * i), SIZE);
		push();
		sqe(IORING_OP_READ, fd, place(3 * i) + SIZE, SIZE);
		go(0);
	}
}

static void overflow(int fd, int n)
{
	for (int i = 0; i < n; i++) {
		sqe(IORING_OP_READ, fd, place(i), SIZE);
		if (ring.queued == DEPTH)
			push();
		if (ring.expected >= 2 * ROOM)
			go(0);
	}
	go(0);
}

static void mixed(const char *file, int direct, int n)
{
	char other[4096];
	int fd;

	snprintf(other, sizeof(other), "%s.other", file);
	fd = open(other, O_RDONLY);
	check(fd >= 0, other);
	for (int i = 0; i < n; i++) {
		sqe(IORING_OP_READ, fd, (unsigned long)i * BLOCKS * SIZE, BLOCKS * SIZE)->addr =
			(uintptr_t)buffer; /* all of it */
		for (int k = 0; k < 4; k++)
			sqe(IORING_OP_READ, direct, place(4 * i + k), SIZE);
		go(0);
	}
}

static void all(const char *file, int direct, int n)
{
	int fd = open(file, O_RDWR);

	check(fd >= 0, file);
	many(IORING_OP_READ, direct, n, 0);
	many(IORING_OP_READ, direct, 23, IOSQE_ASYNC);
	many(IORING_OP_READV, fd, 101, 0);
	many(IORING_OP_WRITE, fd, 53, 0);
	many(IORING_OP_WRITE, direct, 29, 0);
	many(IORING_OP_FSYNC, fd, 7, 0);
	many(IORING_OP_READ, BAD_FD, 5, 0);
	many(IORING_OP_READ, fd, 3, 1 << 7); /* no such flag */
	opened(file, 13);
	linked(fd, 11);
	skipped(fd, 19);
	fixed(direct, 17);
}

static void print(void)
{
	printf("{\"silent\": %ld, \"uring\": {", silent);
	for (int i = 0, n = 0; i < 64; i++)
		if (counts[i].name && counts[i].count)
			printf("%s\"%s\": [%ld, %ld, %ld]", n++ ? ", " : "", counts[i].name,
			       counts[i].count, counts[i].bytes, counts[i].errors);
	printf("}}\n");
}

static int is_mode(const char *what)
{
	static const char *const modes[] = { "all",    "direct", "merged",   "fronted",
					     "joined", "large",  "poll",     "finish",
					     "silent", "cached", "overflow", "mixed" };

	for (unsigned int i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(what, modes[i]))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc == 4 ? argv[1] : "";
	int fd, n = argc == 4 ? atoi(argv[3]) : 0;
	char line[16];

	if (!is_mode(what))
		return 2;
	fd = open(argv[2], O_RDWR | (strcmp(what, "cached") ? O_DIRECT : 0));
	buffer = mmap(NULL, BLOCKS * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	check(fd >= 0 && buffer != MAP_FAILED, argv[2]);
	vec = (struct iovec){ buffer, SIZE };
	if (!strcmp(what, "poll") || !strcmp(what, "silent") || !strcmp(what, "mixed"))
		ring_open(&ring, IORING_SETUP_SQPOLL);
	else
		ring_open(&ring, strcmp(what, "finish") ? 0 : IORING_SETUP_IOPOLL);
	if (!strcmp(what, "merged") || !strcmp(what, "joined"))
		step = 1;
	else if (!strcmp(what, "fronted"))
		step = BLOCKS - 1;
	check(write(1, "ready\n", 6) == 6, "stdout");
	check(read(0, line, sizeof(line)) > 0, "stdin");
	if (!strcmp(what, "all"))
		all(argv[2], fd, n);
	else if (!strcmp(what, "cached"))
		for (int i = 0; i < n; i++, go(0))
			sqe(IORING_OP_READ, fd, place(i), SIZE);
	else if (!strcmp(what, "large"))
		for (int i = 0; i < n; i++, go(0))
			sqe(IORING_OP_READ, fd, place(i * DEPTH), DEPTH * SIZE);
	else if (!strcmp(what, "joined"))
		joined(fd, n);
	else if (!strcmp(what, "mixed"))
		mixed(argv[2], fd, n);
	else if (!strcmp(what, "overflow"))
		overflow(fd, n);
	else if (!strcmp(what, "silent"))
		silenced(fd, n);
	else
		many(IORING_OP_READ, fd, n, 0);
	print();
	return 0;
}
