// SPDX-License-Identifier: GPL-2.0-only
/*
 * issuer: reads by others than the thread that a process began with.
 *
 *   issuer WHO FILE N    N reads of 4 KiB, O_DIRECT, one after the other, by WHO:
 *       plain      this thread
 *       async      io_uring's workers
 *       sqpoll     io_uring's submission thread
 *       orphan     a thread, when the first has ended
 *       exec       a program that a thread, not the first, executes
 *       vfork      a program that a child executes
 *       daemon     a grandchild, when its parent has ended
 *
 * Like tests/workload.c -w, when a line has come on stdin:
 *
 *   issuer denied FILE N    N new threads that may not fsync FILE: seccomp returns an error, and
 *                           the call is never begun; two such calls each
 *   issuer pipes FILE N     makes and closes N pipes, and does nothing else
 *   issuer crowd FILE N     N threads, each of which reads a byte of the fifo FILE, all at once
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4096 };

static char **args;
static char buf[SIZE] __attribute__((aligned(SIZE)));

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		_exit(1);
	}
}

static int file_open(void)
{
	int fd = open(args[2], O_RDONLY | O_DIRECT);

	check(fd >= 0, args[2]);
	return fd;
}

static int count(void)
{
	return atoi(args[3]);
}

static void plain(void)
{
	int fd = file_open();

	for (int i = 0; i < count(); i++)
		check(pread(fd, buf, SIZE, (off_t)i * 2 * SIZE) == SIZE, "pread");
}

/* ---- io_uring, with one request at a time ---- */

struct uring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *sq_flags;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void *uring_map(int fd, off_t what, size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);

	check(at != MAP_FAILED, "mmap");
	return at;
}

static void uring_open(struct uring *u, unsigned int flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 1000 };
	char *sq, *cq;

	u->fd = syscall(SYS_io_uring_setup, 8, &p);
	if (u->fd < 0 && (errno == ENOSYS || errno == EPERM))
		_exit(77);
	check(u->fd >= 0, "io_uring_setup");
	sq = uring_map(u->fd, IORING_OFF_SQ_RING, p.sq_off.array + p.sq_entries * 4);
	cq = uring_map(u->fd, IORING_OFF_CQ_RING,
		       p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe));
	u->sqes = uring_map(u->fd, IORING_OFF_SQES, p.sq_entries * sizeof(struct io_uring_sqe));
	u->sq_tail = (void *)(sq + p.sq_off.tail);
	u->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	u->sq_array = (void *)(sq + p.sq_off.array);
	u->sq_flags = (void *)(sq + p.sq_off.flags);
	u->cq_head = (void *)(cq + p.cq_off.head);
	u->cq_tail = (void *)(cq + p.cq_off.tail);
	u->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	u->cqes = (void *)(cq + p.cq_off.cqes);
}

static void uring_enter(struct uring *u, int sqpoll)
{
	unsigned int flags = IORING_ENTER_GETEVENTS;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (sqpoll && __atomic_load_n(u->sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
		flags |= IORING_ENTER_SQ_WAKEUP;
	check(syscall(SYS_io_uring_enter, u->fd, !sqpoll, 1, flags, NULL, 0) >= 0,
	      "io_uring_enter");
}

static void uring_read(struct uring *u, int fd, off_t offset, int sqpoll)
{
	unsigned int tail = *u->sq_tail, slot = tail & *u->sq_mask, head = *u->cq_head;

	u->sqes[slot] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.fd = fd,
		.addr = (unsigned long)buf,
		.len = SIZE,
		.off = offset,
		.flags = sqpoll ? 0 : IOSQE_ASYNC,
	};
	u->sq_array[slot] = slot;
	__atomic_store_n(u->sq_tail, tail + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE) == head)
		uring_enter(u, sqpoll);
	check(u->cqes[head & *u->cq_mask].res == SIZE, "io_uring read");
	__atomic_store_n(u->cq_head, head + 1, __ATOMIC_RELEASE);
}

static void uring_reads(int sqpoll)
{
	int fd = file_open();
	struct uring u;

	uring_open(&u, sqpoll ? IORING_SETUP_SQPOLL : 0);
	for (int i = 0; i < count(); i++)
		uring_read(&u, fd, (off_t)i * 2 * SIZE, sqpoll);
}

static void async(void)
{
	uring_reads(0);
}

static void sqpoll(void)
{
	uring_reads(1);
}

/* ---- threads and processes ---- */

static pthread_t first;

static void *orphan_run(void *arg)
{
	/* a leader that has ended stays a zombie, which its thread can join */
	check(!pthread_join(first, NULL), "join");
	plain();
	_exit(arg != NULL);
}

static void orphan(void)
{
	pthread_t thread;

	first = pthread_self();
	check(!pthread_create(&thread, NULL, orphan_run, NULL), "thread");
	pthread_exit(NULL);
}

static void *execute(void *arg)
{
	execl("/proc/self/exe", args[0], "plain", args[2], args[3], NULL);
	check(0, "exec");
	return arg;
}

static void exec(void)
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, execute, NULL), "thread");
	pause();
}

static void wait_for_child(pid_t pid)
{
	int status;

	check(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "child");
}

static void vforked(void)
{
	pid_t pid = vfork();

	if (!pid)
		execute(NULL);
	wait_for_child(pid);
}

static void daemonised(void)
{
	int up[2], gone[2];
	char byte;
	pid_t pid;

	check(!pipe(up) && !pipe(gone), "pipe");
	pid = fork();
	if (!pid) {
		if (fork())
			_exit(0);
		close(gone[1]);
		check(read(gone[0], &byte, 1) == 0, "pipe");
		plain();
		_exit(write(up[1], "", 1) != 1);
	}
	wait_for_child(pid);
	close(gone[1]);
	close(up[1]);
	check(read(up[0], &byte, 1) == 1, "grandchild");
}

/* ---- calls that end in an unusual way ---- */

static void wait_for_line(void)
{
	char line[16];

	check(write(1, "ready\n", 6) == 6 && read(0, line, sizeof(line)) > 0, "stdin");
}

static void pipes(void)
{
	int fd[2];

	wait_for_line();
	for (int i = 0; i < count(); i++)
		check(!pipe(fd) && !close(fd[0]) && !close(fd[1]), "pipe");
	printf("{\"closed\":%d}\n", 2 * count());
}

static void *denied_run(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };
	int *fd = arg;

	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), "seccomp");
	for (int i = 0; i < 2; i++)
		check(fsync(*fd) < 0 && errno == EACCES, "fsync");
	return NULL;
}

static void denied(void)
{
	int fd = open(args[2], O_RDWR);
	pthread_t thread;

	check(fd >= 0, args[2]);
	wait_for_line();
	for (int i = 0; i < count(); i++)
		check(!pthread_create(&thread, NULL, denied_run, &fd) &&
			      !pthread_join(thread, NULL),
		      "thread");
	printf("{\"denied\":%d}\n", 2 * count());
}

static int came;

static void *crowd_run(void *arg)
{
	char byte;

	__atomic_add_fetch(&came, 1, __ATOMIC_RELAXED);
	check(read(*(int *)arg, &byte, 1) == 1, args[2]);
	return NULL;
}

static void crowd(void)
{
	enum { STACK = 32 << 10 };
	int fd = open(args[2], O_RDWR), n = count();
	pthread_t threads[n];
	char bytes[n];
	pthread_attr_t attr;

	check(fd >= 0, args[2]);
	check(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, STACK), "stack");
	wait_for_line();
	for (int i = 0; i < n; i++)
		check(!pthread_create(&threads[i], &attr, crowd_run, &fd), "thread");
	while (__atomic_load_n(&came, __ATOMIC_RELAXED) < n)
		usleep(1000);
	usleep(100000); /* the last one is in its read, too */
	check(write(fd, bytes, n) == n, args[2]);
	for (int i = 0; i < n; i++)
		check(!pthread_join(threads[i], NULL), "thread");
	printf("{\"reads\":%d}\n", n);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} who[] = { { "plain", plain },       { "async", async },   { "sqpoll", sqpoll },
		    { "orphan", orphan },     { "exec", exec },     { "vfork", vforked },
		    { "daemon", daemonised }, { "denied", denied }, { "pipes", pipes },
		    { "crowd", crowd } };

	args = argv;
	for (size_t i = 0; argc == 4 && i < sizeof(who) / sizeof(*who); i++) {
		if (strcmp(argv[1], who[i].name))
			continue;
		who[i].run();
		return 0;
	}
	fprintf(stderr, "usage: issuer WHO FILE N\n");
	return 2;
}
