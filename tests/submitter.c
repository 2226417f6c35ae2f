// SPDX-License-Identifier: GPL-2.0-only
/*
 * submitter.c - requests of io_uring or libaio by two functions: of four, submit_rows() submits
 * three, and submit_index() one.
 *
 * submitter uring|polled|aio FILE ROUNDS
 *
 * FILE is made, and 4 * ROUNDS pages are read from it, directly if it can be. With "polled", a
 * thread of the kernel takes the requests. Each request is waited for before the next.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

static char page[PAGE] __attribute__((aligned(PAGE)));
static int file, ring;
static unsigned int *sq, *cq;
static struct io_uring_params params;
static struct io_uring_sqe *entry;
static aio_context_t context;

static long call[6]; /* the number of the call that submits, and its arguments */

/* Makes a request to read the page at @at ready. */
static void prepare(off_t at)
{
	static struct iocb one, *list = &one;

	if (context) {
		one = (struct iocb){ .aio_fildes = file,
				     .aio_lio_opcode = IOCB_CMD_PREAD,
				     .aio_buf = (unsigned long)page,
				     .aio_nbytes = PAGE,
				     .aio_offset = at };
		memcpy(call, (long[]){ SYS_io_submit, context, 1, (long)&list }, 4 * sizeof(*call));
		return;
	}
	*entry = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
					.fd = file,
					.addr = (unsigned long)page,
					.len = PAGE,
					.off = at };
	sq[params.sq_off.array / 4] = 0;
	__atomic_add_fetch(&sq[params.sq_off.tail / 4], 1, __ATOMIC_RELEASE);
	memcpy(call, (long[]){ SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS },
	       5 * sizeof(*call));
	if (params.flags & IORING_SETUP_SQPOLL)
		call[4] |= IORING_ENTER_SQ_WAKEUP;
}

#define SUBMITS(name)                                                                              \
	__attribute__((noinline, no_icf)) int name(void)                                           \
	{                                                                                          \
		return syscall(call[0], call[1], call[2], call[3], call[4], NULL, 0) == 1;         \
	}

SUBMITS(submit_rows)
SUBMITS(submit_index)

static int wait_for_it(void)
{
	struct io_event event;

	if (context)
		return syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1 &&
		       event.res == PAGE;
	while (__atomic_load_n(&cq[params.cq_off.tail / 4], __ATOMIC_ACQUIRE) ==
	       cq[params.cq_off.head / 4])
		if (syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return 0;
	cq[params.cq_off.head / 4]++;
	return 1;
}

static void *mapped(off_t at, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, at);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static void open_uring(unsigned int flags)
{
	params.flags = flags;
	params.sq_thread_idle = 1000;
	ring = syscall(SYS_io_uring_setup, 1, &params);
	if (ring < 0) {
		perror("io_uring_setup");
		exit(1);
	}
	sq = mapped(IORING_OFF_SQ_RING, params.sq_off.array + params.sq_entries * 4);
	cq = mapped(IORING_OFF_CQ_RING,
		    params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe));
	entry = mapped(IORING_OFF_SQES, params.sq_entries * sizeof(*entry));
}

int main(int argc, char **argv)
{
	int rounds = argc == 4 ? atoi(argv[3]) : 0;

	if (!rounds)
		return 2;
	file = open(argv[2], O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (file < 0) /* as on tmpfs */
		file = open(argv[2], O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, 4L * rounds * PAGE))
		return 1;
	if (strcmp(argv[1], "aio") != 0)
		open_uring(strcmp(argv[1], "polled") ? 0 : IORING_SETUP_SQPOLL);
	else if (syscall(SYS_io_setup, 1, &context))
		return 1;
	for (int i = 0; i < 4 * rounds; i++) {
		prepare(i * (off_t)PAGE);
		if ((i % 4 ? submit_rows : submit_index)() != 1 || !wait_for_it())
			return 1;
	}
	return 0;
}
